//! The log of a detached pulse, followed as it grows and is rotated.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use crate::failure::{Failure, Result};

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// How often one looks although no event came.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often one looks where events cannot be had, and there is no descriptor that could be waited for.
const LOOK_OFTEN: Duration = Duration::from_millis(500);

/// Gives what is appended to an open file from an offset on, for ever. A file that was put in its place is read from its
/// start, once the old one is read to its end.
pub(super) fn follow(path: &Path, mut file: File, from: u64, show: &mut dyn FnMut(&[u8])) -> Result<()> {
    let failed = |error: io::Error| Failure::new(format!("{} cannot be followed: {error}", path.display()));
    let growth = Growth::of(path);
    let (mut at, mut piece) = (from, vec![0; PIECE]);
    loop {
        // Who writes goes on in the new file once there is one: what is read after it was seen is all of the old one.
        let next = replaced(path, &file).map_err(failed)?;
        loop {
            let count = file.read_at(&mut piece, at).map_err(failed)?;
            if count == 0 {
                break;
            }
            show(&piece[..count]);
            at += count as u64;
        }
        if let Some(next) = next {
            (file, at) = (next, 0);
            growth.watch(path);
        } else if file.metadata().map_err(failed)?.len() < at {
            at = 0;
        } else {
            growth.wait();
        }
    }
}

/// The file that stands in the place of this one. While there is none, somebody is about to make it.
fn replaced(path: &Path, file: &File) -> io::Result<Option<File>> {
    let identity = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino()));
    match File::open(path) {
        Ok(now) => Ok((identity(&now)? != identity(file)?).then_some(now)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a file to grow or to be replaced, by the kernel's word where it gives it.
#[derive(Debug)]
struct Growth {
    #[cfg(target_os = "linux")]
    events: Option<std::os::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Growth {
    fn of(path: &Path) -> Self {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let watch = || -> rustix::io::Result<std::os::fd::OwnedFd> {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let folder = path.parent().unwrap_or(Path::new("."));
            inotify::add_watch(&fd, folder, WatchFlags::CREATE | WatchFlags::MOVED_TO)?;
            Ok(fd)
        };
        let growth = Self { events: watch().ok() };
        growth.watch(path);
        growth
    }

    /// Watches the file that is there now. One that is not there comes by an event of its folder; one that cannot be
    /// watched is looked at every now and then.
    fn watch(&self, path: &Path) {
        use rustix::fs::inotify::{self, WatchFlags};
        if let Some(events) = &self.events {
            inotify::add_watch(events, path, WatchFlags::MODIFY | WatchFlags::MOVE_SELF).ok();
        }
    }

    fn wait(&self) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(events) = &self.events else { return std::thread::sleep(LOOK_OFTEN) };
        let most = Timespec { tv_sec: LOOK_AGAIN.as_secs().cast_signed(), tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(events, PollFlags::IN)], Some(&most));
        // What happened does not matter: the file is looked at again.
        while ready.is_ok() && rustix::io::read(events, &mut [0_u8; 4096]).is_ok_and(|count| count > 0) {}
    }
}

#[cfg(not(target_os = "linux"))]
impl Growth {
    fn of(_path: &Path) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "where there are events it has something to do")]
    fn watch(&self, _path: &Path) {}

    #[expect(clippy::unused_self, reason = "where there are events it has something to wait for")]
    fn wait(&self) {
        std::thread::sleep(LOOK_OFTEN);
    }
}
