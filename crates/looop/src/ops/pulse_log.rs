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
/// How often one looks where events cannot be had.
const LOOK_OFTEN: Duration = Duration::from_millis(500);

/// Gives what is appended from an offset on, for ever. A file that was put in its place is read from its start.
pub(super) fn follow(path: &Path, from: u64, show: &mut dyn FnMut(&[u8])) -> Result<()> {
    let failed = |error: io::Error| Failure::new(format!("{} cannot be followed: {error}", path.display()));
    let growth = Growth::of(path);
    let mut file = File::open(path).map_err(failed)?;
    let (mut at, mut piece) = (from, vec![0; PIECE]);
    loop {
        let count = file.read_at(&mut piece, at).map_err(failed)?;
        if count > 0 {
            show(&piece[..count]);
            at += count as u64;
            continue;
        }
        match File::open(path) {
            Ok(now) if identity(&now).map_err(failed)? != identity(&file).map_err(failed)? => {
                (file, at) = (now, 0);
            }
            Ok(now) if now.metadata().map_err(failed)?.len() < at => at = 0,
            Ok(_) => growth.wait(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => growth.wait(),
            Err(error) => return Err(failed(error)),
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|meta| (meta.dev(), meta.ino()))
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
            inotify::add_watch(&fd, path, WatchFlags::MODIFY | WatchFlags::MOVE_SELF)?;
            Ok(fd)
        };
        Self { events: watch().ok() }
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

    fn wait(&self) {
        std::thread::sleep(LOOK_OFTEN);
    }
}
