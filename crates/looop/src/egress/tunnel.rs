//! Connections that are handed from process to process, and bytes in both directions between two of them.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::threads;

/// Hands one end of a connection to whoever has the other end of `control`.
pub(super) fn hand_over(control: &OwnedFd, end: &UnixStream) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let ends = [end.as_fd()];
    if !message.push(SendAncillaryMessage::ScmRights(&ends)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(control, &[IoSlice::new(&[1])], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next connection that is handed over; nothing if there is nobody any more who could.
pub(super) fn received(control: &OwnedFd) -> io::Result<Option<UnixStream>> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut messages = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let got =
            match recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut messages, RecvFlags::CMSG_CLOEXEC)
            {
                Err(rustix::io::Errno::INTR) => continue,
                got => got?,
            };
        if got.bytes == 0 {
            return Ok(None);
        }
        for message in messages.drain() {
            if let RecvAncillaryMessage::ScmRights(mut ends) = message
                && let Some(end) = ends.next()
            {
                return Ok(Some(UnixStream::from(end)));
            }
        }
    }
}

/// One end of a tunnel.
pub(super) trait End: Read + Write + Send + Sized + 'static {
    fn twin(&self) -> io::Result<Self>;
    fn close(&self, how: Shutdown) -> io::Result<()>;
}

impl End for TcpStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }
}

impl End for UnixStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }
}

/// Copies until both sides have ended; gives the bytes from the first to the second and back.
pub(super) fn tunnel(one: impl End, other: impl End) -> io::Result<(u64, u64)> {
    let (back_from, back_to) = (other.twin()?, one.twin()?);
    std::thread::scope(|scope| {
        let back = threads::scoped("tunnel", scope, move || copy(back_from, back_to))?;
        let there = copy(one, other);
        let back = back.join().map_err(|_| io::Error::other("a tunnel ended by a panic"))?;
        Ok((there, back))
    })
}

/// Copies until the end of input or until either side is gone, and passes the end on. How a connection ends is the
/// business of those who talk: here its bytes are counted.
fn copy(mut from: impl End, mut to: impl End) -> u64 {
    let mut copied = 0;
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break drop(to.close(Shutdown::Write)),
            Ok(count) if to.write_all(&buffer[..count]).is_ok() => copied += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                // The other direction ends, too: nobody would read what it brings, or send more.
                drop(from.close(Shutdown::Both));
                break drop(to.close(Shutdown::Both));
            }
        }
    }
    copied
}
