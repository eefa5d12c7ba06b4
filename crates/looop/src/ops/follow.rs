//! Following the log: what is there, then what comes.

use std::time::Duration;

use looop_core::ledger::entry::Line;
use looop_store::log::LogTail;

use super::Place;
use super::holder::Holder;
use crate::failure::Result;
use crate::hands::await_folders::{Beside, Folders, is_ready};
use crate::pulse::open::log_failure;

/// How often a process is asked whether it lives where the kernel does not say when it ends.
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// What ends the following. With neither it goes on for ever.
#[derive(Debug, Default)]
pub(crate) struct Until<'a> {
    /// The pulse has ended.
    pub(crate) holder: Option<&'a Holder>,
    /// Nobody reads any more what is shown.
    pub(crate) listener: Option<Beside<'a>>,
}

impl Until<'_> {
    fn is_over(&self) -> bool {
        self.listener.is_some_and(is_ready) || self.holder.is_some_and(Holder::has_ended)
    }

    fn wait(&self, folders: &mut Folders) {
        let end = self.holder.and_then(Holder::end);
        let most = if self.holder.is_some() && end.is_none() { LOOK_OFTEN } else { Duration::MAX };
        let beside: Vec<Beside<'_>> = end.into_iter().chain(self.listener).collect();
        folders.wait(&beside, most);
    }
}

/// Shows every append after a number, each once and whole, across all files of the log, and goes on as they come.
pub(crate) fn follow(
    place: &Place,
    mut since: u64,
    until: &Until<'_>,
    show: &mut dyn FnMut(&Line),
) -> Result<()> {
    let mut folders = Folders::watch(vec![place.data.join("log")]);
    let mut reader = place.reader()?;
    let mut tail = reader.tail(since);
    loop {
        // Whatever was written before the end is shown.
        let over = until.is_over();
        if !place.holds(&reader) {
            // Another profile is there, and all of it is new.
            reader = place.reader()?;
            (tail, since) = (reader.tail(0), 0);
        }
        more(&mut tail, since, show)?;
        if over {
            return Ok(());
        }
        until.wait(&mut folders);
    }
}

fn more(tail: &mut LogTail, since: u64, show: &mut dyn FnMut(&Line)) -> Result<()> {
    let shown = tail.more(&mut |_, line| {
        if line.seq > since {
            show(line);
        }
    });
    shown.map_err(|error| log_failure(&error))
}
