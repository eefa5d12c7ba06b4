//! The kernel's word on files, as one descriptor.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair,
};

/// One inotify instance. A user has only so many.
#[derive(Debug)]
pub(crate) struct Inotify(OwnedFd);

impl Inotify {
    pub(crate) fn new() -> rustix::io::Result<Self> {
        inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map(Self)
    }

    pub(crate) fn watch(&self, path: &Path, flags: WatchFlags) -> rustix::io::Result<()> {
        inotify::add_watch(&self.0, path, flags).map(drop)
    }

    /// Reads all events that wait: what happened, and to which name of a folder.
    pub(crate) fn each(&self, see: &mut dyn FnMut(ReadFlags, Option<&CStr>)) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => see(event.events(), event.file_name()),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Leaves the watch to the kernel.
    ///
    /// Whoever closes a watch waits for a grace period of the kernel, which takes several milliseconds, and whoever
    /// exits with one does so too, while somebody waits for that exit. A socket that holds the watch and itself in
    /// its own queue belongs to nobody once we have closed it; the kernel finds it and ends both in its own time.
    fn leave(&self) -> io::Result<()> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let both = [self.0.as_fd(), theirs.as_fd()];
        if !control.push(SendAncillaryMessage::ScmRights(&both)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        sendmsg(&ours, &[io::IoSlice::new(b"-")], &mut control, SendFlags::empty())?;
        Ok(())
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Inotify {
    fn drop(&mut self) {
        // Where that does not go the watch is closed here, which is as good and slower.
        drop(self.leave());
    }
}
