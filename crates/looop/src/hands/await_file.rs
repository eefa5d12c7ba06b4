//! Waiting for a file to come, change or go, by the kernel's word where it gives it.

use std::path::PathBuf;
use std::time::Duration;

/// How often one looks although no event came: an event can be lost, and a folder can be replaced.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often one looks where events cannot be had. A user has only so many inotify instances.
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// Watches for a file to come, and for another one to go. Make it first and look then, so that nothing comes in
/// between.
#[derive(Debug)]
pub(crate) struct Watch {
    paths: Paths,
    events: Option<events::Events>,
}

/// What is watched.
#[derive(Debug)]
struct Paths {
    /// The folder into which the file comes.
    folder: PathBuf,
    /// What it is called there.
    name: String,
    /// The file that may go.
    other: PathBuf,
}

impl Watch {
    /// Begins to watch. Where that cannot be done, waiting is looking every second.
    pub(crate) fn new(folder: PathBuf, name: String, other: PathBuf) -> Self {
        let paths = Paths { folder, name, other };
        let events = events::Events::on(&paths);
        Self { paths, events }
    }

    /// Blocks until it is worth to look again: something happened to one of the files, or enough time has passed, at
    /// most `most`. Returns whether an event ended the wait, rather than the time.
    pub(crate) fn wait(&mut self, most: Duration) -> bool {
        let Some(events) = &self.events else {
            // There is no descriptor that could be waited for.
            std::thread::sleep(most.min(LOOK_OFTEN));
            self.events = events::Events::on(&self.paths);
            return false;
        };
        let came = events.wait(&self.paths.name, most.min(LOOK_AGAIN));
        if came.is_err() {
            self.events = events::Events::on(&self.paths);
        }
        came.unwrap_or(true)
    }
}

#[cfg(target_os = "linux")]
mod events {
    use std::io;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::Paths;
    use crate::hands::inotify::Inotify;

    /// One inotify instance.
    #[derive(Debug)]
    pub(super) struct Events(Inotify);

    impl Events {
        /// Watches both or nothing.
        pub(super) fn on(paths: &Paths) -> Option<Self> {
            let events = Inotify::new().ok()?;
            let gone = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            // A socket is neither written nor renamed: it is created.
            let comes = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
            let comes = comes | WatchFlags::ONLYDIR;
            events.watch(&paths.folder, comes | gone).ok()?;
            events.watch(&paths.other, gone | WatchFlags::DONT_FOLLOW).ok()?;
            Some(Self(events))
        }

        /// Blocks until the file came (`true`) or the time is over. An error means that what was watched is gone.
        pub(super) fn wait(&self, name: &str, most: Duration) -> io::Result<bool> {
            let begun = Instant::now();
            loop {
                let left = most.saturating_sub(begun.elapsed());
                let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
                match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout)) {
                    Ok(0) => return Ok(false),
                    Ok(_) if self.concerns(name)? => return Ok(true),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }

        /// Reads all events that wait; whether one of them is about the name.
        fn concerns(&self, name: &str) -> io::Result<bool> {
            let gone = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
            let (mut concerned, mut is_gone) = (false, false);
            self.0.each(&mut |what, file| {
                is_gone |= what.intersects(gone);
                concerned |= what.contains(ReadFlags::QUEUE_OVERFLOW)
                    || file.is_some_and(|file| file.to_bytes() == name.as_bytes());
            })?;
            if is_gone { Err(io::ErrorKind::NotFound.into()) } else { Ok(concerned) }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod events {
    use std::convert::Infallible;
    use std::io;
    use std::time::Duration;

    use super::Paths;

    /// There are none here.
    #[derive(Debug)]
    pub(super) struct Events(Infallible);

    impl Events {
        pub(super) fn on(_paths: &Paths) -> Option<Self> {
            None
        }

        pub(super) fn wait(&self, _name: &str, _most: Duration) -> io::Result<bool> {
            match self.0 {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Long enough to fail the test by its own deadline and no other.
    const LONG: Duration = Duration::from_mins(5);

    fn watch(folder: &Path) -> Watch {
        Watch::new(folder.join("in"), "a.json".to_owned(), folder.join("other"))
    }

    fn furnished() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("other"), "").unwrap();
        dir
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_came_before_the_wait_is_not_missed() {
        let dir = furnished();
        let inside = dir.path().join("in");
        let mut watch = watch(dir.path());
        std::fs::write(inside.join("b.json"), "1").unwrap();
        std::fs::write(inside.join(".tmp"), "1").unwrap();
        std::fs::rename(inside.join(".tmp"), inside.join("a.json")).unwrap();
        assert!(watch.wait(LONG), "a file that was renamed into the folder");
        std::fs::write(inside.join("a.json"), "2").unwrap();
        assert!(watch.wait(LONG), "a file that was written again");
        assert!(!watch.wait(Duration::ZERO), "nothing has happened since");
        std::fs::write(inside.join("b.json"), "2").unwrap();
        assert!(!watch.wait(Duration::ZERO), "a file of another name");
        std::fs::remove_file(inside.join("a.json")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(inside.join("a.json")).unwrap();
        assert!(watch.wait(LONG), "a socket");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_other_file_is_missed_when_it_goes() {
        for remove in [false, true] {
            let dir = furnished();
            let mut watch = watch(dir.path());
            let other = dir.path().join("other");
            if remove {
                std::fs::remove_file(&other).unwrap();
            } else {
                std::fs::rename(&other, dir.path().join("elsewhere")).unwrap();
            }
            assert!(watch.wait(LONG));
            assert!(watch.events.is_none(), "there is nothing to be watched any more");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_is_replaced_is_watched_again() {
        let dir = furnished();
        let inside = dir.path().join("in");
        let mut watch = watch(dir.path());
        std::fs::rename(&inside, dir.path().join("old")).unwrap();
        std::fs::create_dir(&inside).unwrap();
        assert!(watch.wait(LONG));
        assert!(watch.events.is_some());
        std::fs::write(inside.join("a.json"), "1").unwrap();
        assert!(watch.wait(LONG), "a file in the new folder");
    }

    #[test]
    fn without_events_it_looks_every_now_and_then() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = watch(dir.path());
        assert!(watch.events.is_none());
        assert!(!watch.wait(Duration::from_millis(1)), "there are no events");
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("other"), "").unwrap();
        assert!(!watch.wait(Duration::from_millis(1)));
        assert!(watch.events.is_some() || cfg!(not(target_os = "linux")));
    }
}
