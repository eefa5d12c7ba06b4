//! The detached loop: starting it, and being it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use looop_core::engine::io::{PulseView, Reply, Request};
use looop_core::ledger::entry::Line;
use looop_session::{Detached, Ended, Watched, detach};
use looop_store::Reader;

use super::forever::{self, Manner, Show};
use super::submit::{self, Holder};
use super::{Place, down};
use crate::cli::warn;
use crate::failure::{Failure, Result};
use crate::hands::await_file::Watch;
use crate::hands::environ;
use crate::pulse::client;
use crate::pulse::open::open_failure;
use crate::pulse::pulse_log::{self, PulseLog};
use crate::threads;

/// The exit code of a detached loop that found another one at work.
pub(crate) const OTHER_RUNS: u8 = 75;
/// After so long a person is told what is waited for.
const NOTE_AFTER: Duration = Duration::from_secs(1);
/// How long one waits for an event at most before one looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How soon one asks again who is there but does not listen yet.
const SOON: Duration = Duration::from_millis(5);
/// How much of what a loop printed before its early end is shown.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 10;

/// What came of `up`.
#[derive(Debug)]
pub(crate) enum Up {
    /// This loop was started.
    Started(PulseView),
    /// This one ended the one that ran before.
    Restarted(PulseView, u32),
    /// It runs already.
    Already(PulseView),
}

/// Sees to it that a detached loop runs and has looked at the world. `note` is told what is waited for, if it takes long.
pub(crate) fn up(place: &Place, restart: bool, note: &mut dyn FnMut(&str)) -> Result<Up> {
    for warning in &place.config()?.warnings {
        warn(&warning.to_string());
    }
    Reader::create(&place.data).map_err(|error| open_failure(&error))?;
    let mut before = None;
    loop {
        match submit::holder(place)? {
            Holder::Pulse(view) if restart && before.is_none() => {
                down::end_holder(place, view.pid, true)?;
                before = Some(view.pid);
            }
            Holder::Pulse(view) => {
                if let Some(seen) = first_look_of(place, &view, note)? {
                    return Ok(Up::Already(seen));
                }
            }
            Holder::Verb(pid) => await_verb(pid, note)?,
            Holder::Nobody => match (start(place, note)?, before) {
                (Some(view), None) => return Ok(Up::Started(view)),
                (Some(view), Some(before)) => return Ok(Up::Restarted(view, before)),
                (None, _) => {}
            },
        }
    }
}

/// Waits until the loop that runs has looked at the world. `None`: it has ended meanwhile.
fn first_look_of(place: &Place, view: &PulseView, note: &mut dyn FnMut(&str)) -> Result<Option<PulseView>> {
    let (sender, news) = channel();
    let data = place.data.clone();
    threads::start("seen", move || {
        drop(sender.send(client::call(&data, &Request::Pulse { seen: true }, &mut |_| {})));
    })?;
    let what = format!("waiting for the first look of the pulse (process {})", view.pid);
    match awaited(&news, &what, note)? {
        Ok(Some(Reply::Pulse(seen))) if seen.loops => Ok(Some(seen)),
        // It is asked again who is there.
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Waits for the end of a verb that holds the profile.
fn await_verb(pid: u32, note: &mut dyn FnMut(&str)) -> Result<()> {
    let failed = |error| Failure::new(format!("process {pid} cannot be watched: {error}"));
    let Some(verb) = Watched::of(pid).map_err(failed)? else { return Ok(()) };
    if !verb.wait(NOTE_AFTER).map_err(failed)? {
        note(&format!("waiting for process {pid}, which works on this profile"));
        while !verb.wait(LOOK_AGAIN).map_err(failed)? {}
    }
    Ok(())
}

/// The next piece of news, and a word about it if it takes long.
fn awaited<T>(news: &Receiver<T>, what: &str, note: &mut dyn FnMut(&str)) -> Result<T> {
    let lost = |_| Failure::new(format!("{what} failed"));
    match news.recv_timeout(NOTE_AFTER) {
        Ok(heard) => Ok(heard),
        Err(RecvTimeoutError::Timeout) => {
            note(what);
            news.recv().map_err(lost)
        }
        Err(RecvTimeoutError::Disconnected) => Err(Failure::new(format!("{what} failed"))),
    }
}

/// What happens to a loop that was started.
enum News {
    /// A loop has looked at the world; it need not be ours.
    Seen(Box<PulseView>),
    Ended(Ended),
    Unwatchable(io::Error),
}

/// Starts the loop. `None`: another one was faster.
fn start(place: &Place, note: &mut dyn FnMut(&str)) -> Result<Option<PulseView>> {
    refuse_inside(place)?;
    let path = place.data.join(pulse_log::NAME);
    let unusable = |error: io::Error| Failure::new(format!("{} cannot be written: {error}", path.display()));
    let log = pulse_log::open(&path).map_err(unusable)?;
    let begin = log.metadata().map_err(unusable)?.len();
    let stale = identity(&place.data.join("sock"));
    let output = log.try_clone().map_err(unusable)?;
    let args = [OsString::from("_pulse"), place.data.clone().into_os_string()];
    let (sender, news) = channel();
    // Whoever watches is there first: a loop that was started and does not hold the lock yet could not be ended.
    let watcher = watch_child(sender.clone())?;
    let data = place.data.clone();
    threads::start("seen", move || drop(sender.send(News::Seen(Box::new(first_look(&data, stale))))))?;
    let child = detach(&environ::image(), &args, Some(&environment(place)), Path::new("/"), output)
        .map_err(|error| Failure::new(format!("the pulse cannot be started: {error}")))?;
    let pid = child.pid();
    watcher.send(child).map_err(|_| {
        Failure::new(format!("process {pid} was started and cannot be watched"))
            .hint("looop status shows how it stands; looop down ends it")
    })?;
    let what =
        format!("waiting for the first look at the world (process {pid}; looop log pulse -f shows it)");
    match awaited(&news, &what, note)? {
        News::Seen(view) if view.pid == pid => Ok(Some(*view)),
        News::Seen(_) => {
            // Ours is about to leave. Nobody shall find it once we are back, and take it for the loop.
            drop(news.recv_timeout(LOOK_AGAIN));
            Ok(None)
        }
        News::Ended(Ended::Exited(code)) if code == i32::from(OTHER_RUNS) => Ok(None),
        News::Ended(ended) => Err(early_end(&log, begin, &ended)),
        News::Unwatchable(error) => Err(Failure::new(format!("process {pid} cannot be watched: {error}"))),
    }
}

/// What a session starts ends with that session, however it detaches.
fn refuse_inside(place: &Place) -> Result<()> {
    let inside = ["LOOOP_SESSION_ID", "LOOOP_MARK"].iter().any(|name| place.env.contains_key(*name));
    if !inside {
        return Ok(());
    }
    Err(Failure::new("this is inside a session of looop, and a pulse that it starts would end with it")
        .hint("call looop up from a shell of your own"))
}

/// Our environment. A path in it must mean the same from elsewhere.
fn environment(place: &Place) -> Vec<(OsString, OsString)> {
    let here = |name: OsString, value: OsString| match std::path::absolute(&value) {
        Ok(path) if name == "LOOOP_CONFIG" && !value.is_empty() => (name, path.into_os_string()),
        Ok(_) | Err(_) => (name, value),
    };
    let mut env: Vec<_> = std::env::vars_os().map(|(name, value)| here(name, value)).collect();
    env.retain(|(name, _)| name != "LOOOP_DATA_DIR");
    env.push(("LOOOP_DATA_DIR".into(), place.data.clone().into_os_string()));
    env
}

/// Tells of the end of the child that it is given.
fn watch_child(sender: Sender<News>) -> Result<Sender<Detached>> {
    let (given, child) = channel::<Detached>();
    threads::start("watch", move || {
        // Without one there is nothing to tell.
        let Ok(mut child) = child.recv() else { return };
        let news = loop {
            match child.wait(LOOK_AGAIN) {
                Ok(Some(ended)) => break News::Ended(ended),
                Ok(None) => {}
                Err(error) => break News::Unwatchable(error),
            }
        };
        drop(sender.send(news));
    })?;
    Ok(given)
}

/// Waits until a loop listens and has looked at the world.
fn first_look(data: &Path, stale: Option<(u64, i64, i64)>) -> PulseView {
    let sock = data.join("sock");
    let mut watch = Watch::new(data.to_owned(), "sock".to_owned(), data.join(pulse_log::NAME));
    loop {
        let reply = client::call(data, &Request::Pulse { seen: true }, &mut |_| {});
        if let Ok(Some(Reply::Pulse(view))) = reply
            && view.loops
        {
            return view;
        }
        // A socket that came a moment ago may not be listened to yet; one that a dead loop left never will be.
        let fresh = identity(&sock).is_some_and(|now| Some(now) != stale);
        watch.wait(if fresh { SOON } else { LOOK_AGAIN });
    }
}

/// Which file it is. A number alone may be given again at once.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    path.symlink_metadata().ok().map(|meta| (meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

fn early_end(log: &File, begin: u64, ended: &Ended) -> Failure {
    let how = match ended {
        Ended::Exited(code) => format!("exit {code}"),
        Ended::Signalled(signal) => format!("signal {signal}"),
        Ended::TimedOut | Ended::Killed | Ended::Spawn(_) => "it was ended".to_owned(),
    };
    let said = tail(log, begin).unwrap_or_default();
    let said = if said.is_empty() { " and said nothing".to_owned() } else { format!(":\n{said}") };
    Failure::new(format!("the pulse ended before its first look at the world ({how}){said}"))
        .hint("looop log pulse shows all that it said; looop doctor may tell more")
}

/// The last lines of what was written from an offset on.
fn tail(log: &File, begin: u64) -> io::Result<String> {
    let end = log.metadata()?.len();
    let from = begin.max(end.saturating_sub(TAIL_BYTES));
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(from)).unwrap_or(0)];
    let count = log.read_at(&mut bytes, from)?;
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    Ok(last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"))
}

/// How a detached loop ended.
pub(crate) enum Beaten {
    /// As it was told.
    Ended,
    /// At once: another one is at work.
    OtherRuns,
}

/// Is the detached loop. `form` makes lines of what happens; they go to `pulse.log`.
pub(crate) fn pulse(place: &Place, form: &dyn Fn(&Line) -> Vec<String>) -> Result<Beaten> {
    name_ourselves();
    let mut log = PulseLog::take(place.data.join(pulse_log::NAME));
    let manner = Manner {
        heeds_signals: true,
        loops: true,
        detached: true,
        by_person: true,
        terminal: false,
        keep_workers: false,
    };
    let mut line = |line: &Line| form(line).iter().for_each(|text| log.write(text));
    let other = forever::forever(place, manner, &mut Show { line: &mut line, spinner: None })?;
    Ok(if other.is_some() { Beaten::OtherRuns } else { Beaten::Ended })
}

/// The image is started by a path that says nothing; the process table shall show a name.
fn name_ourselves() {
    #[cfg(target_os = "linux")]
    rustix::thread::set_name(c"looop").ok();
}
