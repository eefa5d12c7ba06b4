//! Looking for what is wrong.

use std::path::Path;

use looop_core::engine::io::PulseView;
use looop_core::model::goal;
use looop_core::time::minute_text;
use looop_core::world::observation::{Docs, ScheduleDoc};
use looop_store::docs::DocsCache;
use looop_store::{LogSize, Reader};
use serde::Serialize;

use self::deciders::Subject;
use super::Place;
use super::submit::{self, Holder};
use crate::clock;
use crate::hands::{environ, fleet};

mod channels;
mod deciders;
mod programs;
mod sensors;

/// With fewer the loop, and a verb or two that wait, may have to look instead of being told.
#[cfg(target_os = "linux")]
const LEAST_INSTANCES: u64 = 64;
#[cfg(target_os = "linux")]
const LEAST_WATCHES: u64 = 1024;

/// One finding; without a fix nothing is known to be wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) state: String,
    pub(crate) fix: Option<String>,
    /// Whether it was tried or looked at; else it is only said.
    pub(crate) tried: bool,
}

pub(super) fn fine(what: &str, state: impl Into<String>) -> Finding {
    Finding { what: what.to_owned(), state: state.into(), fix: None, tried: true }
}

/// What was not tried, and why or how.
pub(super) fn untried(what: &str, state: impl Into<String>) -> Finding {
    Finding { tried: false, ..fine(what, state) }
}

pub(super) fn wrong(what: &str, state: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.to_owned(), state: state.into(), fix: Some(fix.into()), tried: true }
}

/// Examines everything; with `notify` each channel of notices gets a test message. It never fails: what cannot be looked
/// at is a finding.
pub(crate) fn examine(place: &Place, notify: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    config(place, &mut findings);
    bash(place, &mut findings);
    match place.reader() {
        Ok(reader) => {
            profile(&reader, &mut findings);
            calls(place, &reader, notify, &mut findings);
        }
        Err(failure) => findings.push(wrong("profile", failure.error, failure.hint.unwrap_or_default())),
    }
    pulse(place, &mut findings);
    findings.extend(super::confinement::findings(place));
    findings.extend(inotify());
    clock_finding(&mut findings);
    space(place, &mut findings);
    findings
}

fn config(place: &Place, findings: &mut Vec<Finding>) {
    let loaded = match place.config() {
        Ok(loaded) => loaded,
        Err(failure) => {
            return findings.push(wrong(
                "config",
                failure.error,
                failure.hint.unwrap_or_else(|| "correct that line".to_owned()),
            ));
        }
    };
    let file = loaded
        .file
        .as_ref()
        .map_or_else(|| "no file, all defaults".to_owned(), |file| file.display().to_string());
    findings.push(fine("config", file));
    for warning in &loaded.warnings {
        findings.push(wrong("config", warning.to_string(), "correct or remove it"));
    }
}

/// The log, which is whole, and how near it is to its bounds.
fn log_size(reader: &Reader, appends: u64) -> Finding {
    let Ok(Some(size)) = reader.log_size() else { return fine("log", format!("{appends} appends, whole")) };
    let near = size.near();
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    if near.is_empty() {
        let LogSize { file, snapshot, line, total, .. } = size;
        let kib = |bytes: u64| bytes.div_ceil(1 << 10);
        let newest = format!(
            "the newest file has {} KiB (snapshot {}, longest line {})",
            kib(file),
            kib(snapshot),
            kib(line)
        );
        return fine("log", format!("{appends} appends, whole; {newest}, all files {} MiB", mib(total)));
    }
    let near: Vec<String> = near
        .into_iter()
        .map(|(what, size, most)| format!("{what} has {} of at most {} MiB", mib(size), mib(most)))
        .collect();
    let fix = "answer or dismiss what looop asks shows, archive goals, looop prune";
    wrong("log", format!("{}: {}", size.path, near.join(", ")), fix)
}

/// What is called: deciders, workers and channels.
fn calls(place: &Place, reader: &Reader, notify: bool, findings: &mut Vec<Finding>) {
    // A configuration or a log that cannot be read is a finding of its own.
    let (Ok(loaded), ledger) = (place.config(), reader.ledger().unwrap_or_default()) else { return };
    let env = match environ::of_person(reader.root(), &loaded.config, &[]) {
        Ok(env) => env,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_else(|| "correct env_file".to_owned());
            return findings.push(wrong("config", failure.error, fix));
        }
    };
    let subject = Subject { reader, config: &loaded.config, env: &env };
    findings.extend(deciders::findings(&subject));
    findings.extend(channels::findings(&subject, &ledger, notify));
}

fn on_path(place: &Place, program: &str) -> bool {
    if program.contains('/') {
        return std::path::Path::new(program).is_file();
    }
    let path = place.env.get("PATH").cloned().unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn bash(place: &Place, findings: &mut Vec<Finding>) {
    findings.push(if on_path(place, "bash") {
        fine("bash", "recipes, checks and runners can be run")
    } else {
        wrong("bash", "not on your PATH, so no recipe, check or runner can be run", "install bash")
    });
}

fn profile(reader: &Reader, findings: &mut Vec<Finding>) {
    findings.push(fine("profile", reader.root().display().to_string()));
    for found in reader.unsafe_paths() {
        findings.push(wrong("permissions", found.to_string(), found.fix));
    }
    match reader.verify_log() {
        Ok(appends) => findings.push(log_size(reader, appends)),
        Err(error) => findings.push(wrong(
            "log",
            error.to_string(),
            error.hint().unwrap_or_else(|| "restore it from a backup".to_owned()),
        )),
    }
    let scan = reader.scan(&mut DocsCache::default(), clock::now().wall);
    for broken in scan.broken.iter().chain(&scan.odd) {
        findings.push(wrong("files", broken.clone(), "correct, rename or remove it"));
    }
    for (_, error) in reader.letters().broken {
        findings.push(wrong("letters", error, "correct or remove it"));
    }
    for (name, sensor) in &scan.sensors {
        match &sensor.problem {
            Some(problem) => findings.push(wrong(
                "sensor",
                problem.clone(),
                format!("looop sensor run {name} shows what the loop sees"),
            )),
            None => findings.push(sensors::finding(reader, name)),
        }
    }
    docs(&scan.docs, findings);
    sessions(reader, findings);
}

/// The sessions of workers. One whose published status is broken is judged by its folder; any look at the workers
/// publishes it anew.
fn sessions(reader: &Reader, findings: &mut Vec<Finding>) {
    let what = "sessions";
    match fleet::inspect(reader) {
        Ok((count, faults)) => {
            let fix = "looop ls writes it anew; if it stays, look at that file's owner and kind";
            findings.extend(faults.into_iter().map(|fault| wrong(what, format!("sessions/{fault}"), fix)));
            findings.push(fine(what, format!("{count} of workers are kept")));
        }
        Err(error) => findings.push(wrong(what, error, "looop doctor runs as the owner of the profile")),
    }
}

fn docs(docs: &Docs, findings: &mut Vec<Finding>) {
    use looop_core::world::observation::Doc;
    match &docs.playbook {
        Doc::Text { .. } => findings.push(fine("playbook", "readable")),
        Doc::Absent => {
            findings.push(wrong("playbook", "there is no PLAYBOOK.md", "looop playbook write 'text'"));
        }
        Doc::Broken { error } => findings.push(wrong("playbook", error.clone(), "correct the file")),
    }
    for (id, doc) in &docs.goals {
        match doc {
            Doc::Text { text, .. } => {
                let problems = goal::parse(text).problems;
                findings.extend(
                    problems.into_iter().map(|problem| {
                        wrong("goal", format!("{id}: {problem}"), format!("edit goals/{id}.md"))
                    }),
                );
            }
            Doc::Broken { error } => findings.push(wrong("goal", error.clone(), "correct the file")),
            Doc::Absent => {}
        }
    }
    for doc in docs.schedules.values() {
        if let ScheduleDoc::Broken { error, .. } = doc {
            findings.push(wrong("schedule", error.clone(), "correct or remove it"));
        }
    }
}

fn pulse(place: &Place, findings: &mut Vec<Finding>) {
    let what = "pulse";
    // A profile that does not open is a finding of its own.
    let Ok(_) = place.reader() else { return };
    findings.push(match submit::holder(place) {
        Ok(Holder::Nobody) => fine(what, "none runs; looop up starts one"),
        Ok(Holder::Verb(pid)) => fine(what, format!("none runs; process {pid} works on the profile")),
        Ok(Holder::Pulse(view)) => {
            let up =
                format!("process {}, up since {}", view.pid, minute_text(view.since, &clock::now().zone));
            if is_older(&view) {
                let state = format!("{up}, runs another looop ({}) than this one", view.version);
                wrong(what, state, "looop up --restart")
            } else {
                fine(what, up)
            }
        }
        Err(failure) => wrong(what, failure.error, failure.hint.unwrap_or_default()),
    });
}

/// Whether a pulse runs another program than the one that is on the disk now.
fn is_older(view: &PulseView) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let disk = environ::bin();
    let image = identity(Path::new(&format!("/proc/{}/exe", view.pid)));
    let replaced = match (&disk, image) {
        (Some(disk), Some(image)) => identity(disk).is_some_and(|disk| disk != image),
        (Some(disk), None) => {
            disk.metadata().is_ok_and(|meta| meta.mtime().saturating_mul(1000) > view.since)
        }
        (None, _) => false,
    };
    replaced || view.version != env!("CARGO_PKG_VERSION")
}

/// Whether the kernel lets us wait for files: a user has only so many instances and watches.
#[cfg(target_os = "linux")]
fn inotify() -> Option<Finding> {
    use rustix::fs::inotify::{self, CreateFlags};
    let limit = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
    };
    let (instances, watches) = (limit("max_user_instances")?, limit("max_user_watches")?);
    let state = format!("{instances} instances and {watches} watches a user");
    Some(if inotify::init(CreateFlags::CLOEXEC).is_err() {
        wrong(
            "inotify",
            format!("no instance is left; {state}"),
            "sudo sysctl fs.inotify.max_user_instances=1024",
        )
    } else if instances < LEAST_INSTANCES {
        wrong("inotify", state, "sudo sysctl fs.inotify.max_user_instances=1024")
    } else if watches < LEAST_WATCHES {
        wrong("inotify", state, "sudo sysctl fs.inotify.max_user_watches=65536")
    } else {
        fine("inotify", state)
    })
}

#[cfg(not(target_os = "linux"))]
fn inotify() -> Option<Finding> {
    None
}

fn clock_finding(findings: &mut Vec<Finding>) {
    // 2024-01-01: no build of this program is older.
    let sane = clock::now().wall > 1_704_067_200_000;
    findings.push(if sane {
        fine("clock", "plausible")
    } else {
        wrong("clock", "it is set to a time before this program was written", "set the clock")
    });
}

fn space(place: &Place, findings: &mut Vec<Finding>) {
    let Ok(stat) = rustix::fs::statvfs(&place.data) else { return };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize) >> 20;
    findings.push(if free >= 100 {
        fine("disk", format!("{free} MiB free"))
    } else {
        wrong("disk", format!("only {free} MiB free"), "make room")
    });
}
