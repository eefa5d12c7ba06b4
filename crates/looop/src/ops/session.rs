//! Which session is meant, and how it stands.

use std::path::{Path, PathBuf};

use looop_core::model::name::shown;
use looop_core::world::fleet::{generation, worker_of};
use looop_session::{Standing, host};

use super::Place;
use crate::failure::{Failure, Result};

pub(crate) use looop_session::Ended;

/// The name under which the read-only verbs know the loop itself.
pub(crate) const PULSE: &str = "pulse";

/// A session that is there.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) session: String,
    pub(super) folder: PathBuf,
}

/// What a read-only verb shows.
#[derive(Debug)]
pub(crate) enum Shown {
    Session(Target),
    /// The output of a detached loop, in this file.
    Pulse(PathBuf),
}

/// Finds the session that a text means: `<id>~<n>` is that one, `<id>` the live one of the worker, else its newest.
pub(crate) fn find(place: &Place, text: &str) -> Result<Target> {
    if text == PULSE {
        return Err(Failure::new("the pulse is no session: it can be looked at, not driven")
            .hint("looop log pulse, looop watch pulse"));
    }
    let reader = place.reader()?;
    let wanted = text.strip_prefix("looop-").filter(|rest| !rest.is_empty()).unwrap_or(text);
    let root = reader.path("sessions");
    let target = |session: String| Target { folder: root.join(&session), session };
    let names = sessions(&root)?;
    if wanted.contains('~') {
        return names.into_iter().find(|name| name == wanted).map(target).ok_or_else(|| absent(wanted));
    }
    let of_worker = names.into_iter().filter(|name| worker_of(name) == wanted);
    let newest = of_worker.max_by_key(|name| generation(name)).ok_or_else(|| absent(wanted))?;
    let live = unended(&root)?
        .into_iter()
        .filter(|name| worker_of(name) == wanted)
        .find(|name| is_live(&root, name));
    Ok(target(live.filter(|_| !is_live(&root, &newest)).unwrap_or(newest)))
}

fn is_live(root: &Path, session: &str) -> bool {
    matches!(host::standing(&root.join(session)), Ok(Standing::Live))
}

/// The same for verbs that only look: they know `pulse` too.
pub(crate) fn readable(place: &Place, text: &str) -> Result<Shown> {
    if text != PULSE {
        return find(place, text).map(Shown::Session);
    }
    let path = place.reader()?.path("pulse.log");
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => Ok(Shown::Pulse(path)),
        Ok(_) => Err(Failure::new("pulse.log is not a regular file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new("there is no pulse.log: no detached loop has run in this profile")
                .hint("looop events shows what the loop did"))
        }
        Err(error) => Err(Failure::new(format!("pulse.log cannot be read: {error}"))),
    }
}

/// The names of all sessions.
fn sessions(root: &Path) -> Result<Vec<String>> {
    Ok(names(root)?.into_iter().filter(|name| name.contains('~')).collect())
}

/// The sessions whose published status does not say that they ended. So hundreds that did are not looked at.
fn unended(root: &Path) -> Result<Vec<String>> {
    let session = |name: String| {
        Some(name.strip_suffix(".json")?.to_owned()).filter(|name| name.strip_suffix(".ended").is_none())
    };
    Ok(names(&root.join("status"))?.into_iter().filter_map(session).collect())
}

/// What is in a folder; nothing if it is absent.
fn names(folder: &Path) -> Result<Vec<String>> {
    let unreadable = |error| Failure::new(format!("{} cannot be read: {error}", folder.display()));
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(unreadable)?.file_name().into_string().ok());
    }
    Ok(names)
}

fn absent(text: &str) -> Failure {
    Failure::new(format!("there is no session \"{}\"", shown(text))).hint("looop ls lists the workers")
}

impl Target {
    /// How it stands.
    pub(super) fn standing(&self) -> Result<Standing> {
        host::standing(&self.folder).map_err(|error| self.unreadable(&error))
    }

    /// Whether it lives.
    pub(crate) fn is_live(&self) -> Result<bool> {
        Ok(self.standing()? == Standing::Live)
    }

    pub(super) fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("the files of {} cannot be read: {error}", self.session))
    }

    /// Why it cannot be driven: it does not live.
    pub(super) fn not_live(&self) -> Failure {
        let how = match self.standing() {
            Ok(standing) => standing_text(&standing),
            Err(failure) => return failure,
        };
        Failure::new(format!("{} {how}", self.session))
            .hint(format!("looop log {0} and looop shot {0} show what it left", self.session))
    }
}

/// How a session stands, in words that follow its name.
pub(crate) fn standing_text(standing: &Standing) -> String {
    match standing {
        Standing::Absent => "is not there any more".to_owned(),
        Standing::Live => "lives".to_owned(),
        Standing::Ended(receipt) => format!("has ended ({})", ended_text(&receipt.ended)),
        Standing::NeverRan => "never ran".to_owned(),
        Standing::Lost => "was lost: its host died".to_owned(),
        Standing::Corrupt(what) => format!("cannot be judged: {what}"),
    }
}

/// How its child ended, where that is known.
pub(crate) fn how(standing: &Standing) -> Option<&Ended> {
    match standing {
        Standing::Ended(receipt) => Some(&receipt.ended),
        Standing::Absent | Standing::Live | Standing::NeverRan | Standing::Lost | Standing::Corrupt(_) => {
            None
        }
    }
}

/// How a child ended, in a few words.
pub(crate) fn ended_text(ended: &Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("exit {code}"),
        Ended::Signalled(signal) => format!("signal {signal}"),
        Ended::TimedOut => "its deadline passed".to_owned(),
        Ended::Killed => "killed".to_owned(),
        Ended::Spawn(reason) => format!("could not be started: {reason}"),
    }
}

/// The exit code that stands for an end: the child's own, 128 + n for a signal, 137 for one that was killed.
pub(crate) fn exit_code(ended: &Ended) -> u8 {
    match ended {
        Ended::Exited(code) => u8::try_from(*code).unwrap_or(1),
        Ended::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(1),
        Ended::TimedOut => 124,
        Ended::Killed => 128 + 9,
        Ended::Spawn(_) => 127,
    }
}
