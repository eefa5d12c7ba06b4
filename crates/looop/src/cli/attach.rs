//! `looop attach <id>`.

use std::process::ExitCode;

use clap::Args;

use super::print;
use super::viewer::{Left, Viewer};
use crate::config::DetachKey;
use crate::failure::{Failure, Result};
use crate::ops::session::{self, Target};
use crate::ops::{Place, worker_letters};

/// Take over a worker's terminal; Ctrl-\ twice detaches, and the worker goes on
///
/// The key is `detach_key` of the configuration. Your terminal's size becomes the worker's, and your screen comes back
/// when you leave. Several may be attached at once. If the worker ends while you are attached, the exit code is its own
/// (128 + n for a signal).
#[derive(Args, Debug)]
pub(super) struct Attach {
    /// Which worker or session
    id: String,
}

impl Attach {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        not_from_within(place, &target)?;
        let viewer = Viewer::attach(&target, detach_key(place), false)?;
        // Whoever attaches has seen the flag. A letter that cannot be written must not cost the terminal.
        let settled = worker_letters::attached(place, &target.session);
        let left = viewer.run();
        if let Err(failure) = settled {
            super::warn(&failure.error);
        }
        leave(&target, left?)
    }
}

/// The key that detaches. A configuration that does not load keeps nobody from looking at a worker.
pub(super) fn detach_key(place: &Place) -> DetachKey {
    match place.config() {
        Ok(loaded) => loaded.config.detach_key,
        Err(failure) => {
            super::warn(&format!("{}; {} detaches", failure.error, DetachKey::default()));
            DetachKey::default()
        }
    }
}

/// A session that shows itself would print for ever.
pub(super) fn not_from_within(place: &Place, target: &Target) -> Result<()> {
    let inside =
        place.env.get("LOOOP_SESSION_ID").is_some_and(|session| session.to_str() == Some(&target.session));
    if inside {
        return Err(Failure::new(format!("this is {} itself: it cannot look at itself", target.session)));
    }
    Ok(())
}

/// Says how the viewer left; its exit code.
pub(super) fn leave(target: &Target, left: Left) -> Result<ExitCode> {
    let name = &target.session;
    match left {
        Left::Detached => print::say(&format!("detached from {name}; looop attach {name} comes back")),
        Left::SentAway => print::say(&format!("{name}: sent away by looop detach")),
        Left::Signal(signal) => return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
        Left::Ended(ended) => return Ok(over(target, &ended)),
        Left::Gone => {
            return match target.ended(None)?.as_ref().and_then(session::how) {
                Some(ended) => Ok(over(target, ended)),
                None => Err(Failure::new(format!("{name} {}", target.over()))),
            };
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn over(target: &Target, ended: &session::Ended) -> ExitCode {
    let (name, how) = (&target.session, session::ended_text(ended));
    print::say(&format!("{name} has ended ({how}); looop shot {name} shows its last screen"));
    ExitCode::from(session::exit_code(ended))
}
