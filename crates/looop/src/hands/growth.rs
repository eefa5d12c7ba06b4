//! Noticing at once that a worker passes its bound: the files of its agent are watched as they grow.
//!
//! A thread waits for events of the kernel, looks at what was added, and tells the loop only if a bound was passed. It
//! ends when it has told, when others are followed, or when the loop ends.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use looop_core::meter::{Metered, Micros};
use looop_core::world::fleet::Fleet;
use looop_store::Reader;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::WatchFlags;

use super::inotify::Inotify;
use super::usage::{Usages, places};
use crate::config::Config;
use crate::failure::Result;
use crate::pulse::{Message, Poster, post};
use crate::threads;

/// How long more is waited for after something was written: agents write several lines at once.
const BURST: Duration = Duration::from_millis(100);
/// Most folders that are watched: a user has only so many watches.
pub(super) const PLACES: usize = 128;

/// Who is followed.
pub(crate) struct Follow {
    pub(crate) reader: Reader,
    pub(crate) config: Arc<Config>,
    pub(crate) fleet: Fleet,
    /// The dollars that each session may use, as its files count them.
    pub(crate) bounds: BTreeMap<String, Micros>,
}

/// What is followed now. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct Followed {
    bounds: BTreeMap<String, Micros>,
    _leash: UnixStream,
}

/// Follows these sessions, and no others. Where there are no events or no thread to be had, what they use is seen at the
/// next look.
pub(crate) fn follow(usages: &Arc<Mutex<Usages>>, follow: Follow, sender: &Poster) -> Result<()> {
    let mut known = usages.lock().unwrap_or_else(PoisonError::into_inner);
    if known.followed.as_ref().is_some_and(|followed| followed.bounds == follow.bounds) {
        return Ok(());
    }
    known.followed = None;
    let pair = (UnixStream::pair(), Inotify::new());
    let ((Ok((leash, end)), Ok(events)), false) = (pair, follow.bounds.is_empty()) else { return Ok(()) };
    let (weak, sender, bounds) = (Arc::downgrade(usages), sender.clone(), follow.bounds.clone());
    threads::start("growth", move || {
        if watch(&weak, &follow, (&events, &end)) {
            post(&sender, Message::Grown);
        }
    })?;
    known.followed = Some(Followed { bounds, _leash: leash });
    Ok(())
}

/// Waits until a session has passed its bound. False: nobody wants to know any more.
fn watch(usages: &Weak<Mutex<Usages>>, follow: &Follow, (events, end): (&Inotify, &UnixStream)) -> bool {
    loop {
        let Some(usages) = usages.upgrade() else { return false };
        let mut usages = usages.lock().unwrap_or_else(PoisonError::into_inner);
        // Watched first and looked at then, so that nothing is added in between.
        for place in places(follow) {
            add(events, &place);
        }
        let Ok(sums) = usages.look_again(follow) else { return false };
        if sums.iter().any(|(session, metered)| is_over(follow, session, metered)) {
            usages.followed = None;
            return true;
        }
        drop(usages);
        if !wait(events, end) {
            return false;
        }
    }
}

fn is_over(follow: &Follow, session: &str, metered: &Metered) -> bool {
    let used = metered.usage().usd.unwrap_or_default();
    follow.bounds.get(session).is_some_and(|bound| used > *bound)
}

/// A folder that cannot be watched is looked at with the others.
fn add(events: &Inotify, place: &Path) {
    let comes = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MODIFY | WatchFlags::ONLYDIR;
    events.watch(place, comes).ok();
}

/// Waits until something was written, and a moment longer. False: it is over.
fn wait(events: &Inotify, end: &UnixStream) -> bool {
    let is_over = |also: Option<&Inotify>, most: Option<Duration>| {
        let mut fds = vec![PollFd::new(end, PollFlags::IN)];
        fds.extend(also.map(|events| PollFd::new(events, PollFlags::IN)));
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        poll(&mut fds, most.as_ref()).is_err() || !fds[0].revents().is_empty()
    };
    if is_over(Some(events), None) || is_over(None, Some(BURST)) {
        return false;
    }
    events.each(&mut |_, _| ()).is_ok()
}
