//! Waiting for something to come into folders, by the kernel's word where it gives it.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often one looks although no event came: an event can be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often one looks where events cannot be had.
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// Watches folders for files that come or grow; names that begin with a dot are nothing to anybody. Make it first and
/// look then, so that nothing comes in between.
#[derive(Debug)]
pub(crate) struct Folders {
    paths: Vec<PathBuf>,
    events: Option<events::Events>,
}

/// What the kernel said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Nothing that anybody would want to know.
    Nothing,
    /// Something came or grew.
    Something,
    /// A folder is gone, and nothing more will be said.
    End,
}

/// Something else that ends a wait: a descriptor, and what must happen to it.
pub(crate) type Beside<'a> = (BorrowedFd<'a>, PollFlags);

impl Folders {
    /// Begins to watch. Where that cannot be done, waiting is looking every second.
    pub(crate) fn watch(paths: Vec<PathBuf>) -> Self {
        let events = events::Events::on(&paths);
        Self { paths, events }
    }

    /// Blocks until it is worth to look again: something happened in a folder or beside it, or enough time has passed,
    /// at most `most`. Returns whether an event ended the wait, rather than the time.
    pub(crate) fn wait(&mut self, beside: &[Beside<'_>], most: Duration) -> bool {
        let begun = Instant::now();
        let most = most.min(if self.events.is_some() { LOOK_AGAIN } else { LOOK_OFTEN });
        loop {
            let left = most.saturating_sub(begun.elapsed());
            let events = self.events.as_ref();
            let mut polled: Vec<PollFd<'_>> =
                beside.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
            polled.extend(events.map(|events| PollFd::new(events, PollFlags::IN)));
            // What cannot be waited for is looked at: an error here is as good as an event.
            let woke = poll(&mut polled, Timespec::try_from(left).ok().as_ref());
            let others = polled[..beside.len()].iter().any(|polled| !polled.revents().is_empty());
            let seen = events.map_or(Seen::Nothing, events::Events::take);
            if seen == Seen::End || events.is_none() {
                self.events = events::Events::on(&self.paths);
            }
            if others || seen != Seen::Nothing || !woke.is_ok_and(|ready| ready > 0) {
                return others || seen != Seen::Nothing;
            }
        }
    }
}

/// Whether something has happened to a descriptor.
pub(crate) fn is_ready((fd, flags): Beside<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(fd, flags)], Some(&now)).is_ok_and(|count| count > 0)
}

#[cfg(target_os = "linux")]
mod events {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::PathBuf;

    use rustix::fs::inotify::{ReadFlags, WatchFlags};

    use super::Seen;
    use crate::hands::inotify::Inotify;

    /// One inotify instance.
    #[derive(Debug)]
    pub(super) struct Events(Inotify);

    impl Events {
        /// Watches all or nothing.
        pub(super) fn on(paths: &[PathBuf]) -> Option<Self> {
            let events = Inotify::new().ok()?;
            let comes = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
            let gone = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
            paths.iter().try_for_each(|path| events.watch(path, comes | gone)).ok()?;
            Some(Self(events))
        }

        /// Takes all events that wait.
        pub(super) fn take(&self) -> Seen {
            let gone = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
            let (mut is_gone, mut something) = (false, false);
            let read = self.0.each(&mut |what, name| {
                is_gone |= what.intersects(gone);
                something |= what.contains(ReadFlags::QUEUE_OVERFLOW)
                    || name.is_some_and(|name| !name.to_bytes().starts_with(b"."));
            });
            match (is_gone || read.is_err(), something) {
                (true, _) => Seen::End,
                (false, true) => Seen::Something,
                (false, false) => Seen::Nothing,
            }
        }
    }

    impl AsFd for Events {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod events {
    use std::convert::Infallible;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::PathBuf;

    use super::Seen;

    /// There are none here.
    #[derive(Debug)]
    pub(super) struct Events(Infallible);

    impl Events {
        pub(super) fn on(_paths: &[PathBuf]) -> Option<Self> {
            None
        }

        pub(super) fn take(&self) -> Seen {
            match self.0 {}
        }
    }

    impl AsFd for Events {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;

    use super::*;

    /// Long enough to fail the test by its own deadline and no other.
    const LONG: Duration = Duration::from_mins(5);

    fn two() -> (tempfile::TempDir, Folders) {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b"].map(|name| dir.path().join(name)).into();
        for path in &paths {
            fs::create_dir(path).unwrap();
        }
        let folders = Folders::watch(paths);
        (dir, folders)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_came_before_the_wait_is_not_missed() {
        let (dir, mut folders) = two();
        fs::write(dir.path().join("a/x"), "1").unwrap();
        assert!(folders.wait(&[], LONG), "a file that was written");
        fs::write(dir.path().join("b/.temp"), "1").unwrap();
        fs::rename(dir.path().join("b/.temp"), dir.path().join("b/y")).unwrap();
        assert!(folders.wait(&[], LONG), "a file that was renamed");
        assert!(!folders.wait(&[], Duration::ZERO), "nothing has happened since");
        let empty = fs::File::create(dir.path().join("b/z")).unwrap();
        assert!(folders.wait(&[], LONG), "a file that is empty");
        empty.set_len(1).unwrap();
        assert!(folders.wait(&[], LONG), "a file that has grown");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_with_a_dot_are_nothing_to_anybody() {
        let (dir, folders) = two();
        let events = folders.events.as_ref().unwrap();
        fs::write(dir.path().join("a/.temp"), "1").unwrap();
        assert_eq!(events.take(), Seen::Nothing);
        fs::rename(dir.path().join("a/.temp"), dir.path().join("a/x")).unwrap();
        assert_eq!(events.take(), Seen::Something);
        assert_eq!(events.take(), Seen::Nothing);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_is_replaced_is_watched_again() {
        let (dir, mut folders) = two();
        let folder = dir.path().join("b");
        fs::rename(&folder, dir.path().join("old")).unwrap();
        assert!(folders.wait(&[], LONG));
        assert!(folders.events.is_none());
        fs::create_dir(&folder).unwrap();
        folders.wait(&[], Duration::ZERO);
        assert!(folders.events.is_some());
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        assert!(folders.wait(&[], LONG));
        fs::write(folder.join("x"), "1").unwrap();
        assert!(folders.wait(&[], LONG), "a file in the new folder");
    }

    #[test]
    fn what_happens_beside_ends_the_wait() {
        let (_dir, mut folders) = two();
        let (ours, theirs) = std::io::pipe().unwrap();
        let reader = (theirs.as_fd(), PollFlags::empty());
        assert!(!is_ready(reader));
        drop(ours);
        assert!(folders.wait(&[reader], LONG));
        assert!(is_ready(reader), "nobody reads it any more");
    }
}
