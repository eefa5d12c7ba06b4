//! The control socket, served by whoever holds the lock.

use std::io::BufReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::guest::Guest;
use super::inbox::{Message, Poster, Said, post};
use super::wire::{Call, VERSION, What, Word, receive, send};
use crate::failure::{Failure, Result};

/// How long a verb may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bound socket; it goes with the lock.
pub(super) struct Control {
    path: PathBuf,
    /// Which file it is.
    file: Option<(u64, u64)>,
    listener: UnixListener,
    door: Door,
}

/// The door: how many requests were heard and are not answered to the end yet, and whether no more are heard.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<Guests>, Condvar)>);

#[derive(Default)]
struct Guests {
    inside: usize,
    closed: bool,
}

impl Door {
    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request in, unless the door is closed. Who was let in is answered before the process ends.
    fn enter(&self) -> bool {
        let mut guests = self.guests();
        if !guests.closed {
            guests.inside += 1;
        }
        !guests.closed
    }

    fn leave(&self) {
        self.guests().inside -= 1;
        self.0.1.notify_all();
    }

    /// Closes the door and waits until everybody is out.
    fn close(&self) {
        let mut guests = self.guests();
        guests.closed = true;
        // A verb that does not take its answer is not waited for longer than it may take to.
        drop(self.0.1.wait_timeout_while(guests, PATIENCE, |guests| guests.inside > 0));
    }
}

impl Control {
    /// Binds the socket.
    pub(super) fn bind(data: &Path) -> Result<Self> {
        let path = data.join("sock");
        let failed = |what: &str, error: std::io::Error| {
            Failure::new(format!("the control socket {} cannot be {what}: {error}", path.display()))
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("replaced", error));
            }
            Ok(()) | Err(_) => {}
        }
        let listener = bind(data).map_err(|error| failed("bound", error))?;
        listener.set_nonblocking(true).map_err(|error| failed("served", error))?;
        let file = file(&path);
        Ok(Self { path, file, listener, door: Door::default() })
    }

    /// Lets in everybody who waits at the door. Each is heard and answered in a thread of its own, so that nobody who
    /// is slow delays the loop.
    pub(super) fn welcome(&self, poster: &Poster) {
        while let Ok((stream, _)) = self.listener.accept() {
            let (poster, door, sock) = (poster.clone(), self.door.clone(), self.path.clone());
            let serving = std::thread::Builder::new().name("request".to_owned());
            // A verb that cannot be served sees its connection end and tries again.
            drop(serving.spawn(move || drop(serve(stream, &sock, &poster, &door))));
        }
    }

    /// Takes the socket away and waits until everybody who was heard has their answer. The inbox is gone by then, so
    /// that who comes too late is told to ask again.
    pub(super) fn leave(self) {
        self.remove();
        self.door.close();
    }

    /// Removes the socket. In a profile that was replaced meanwhile, somebody else's is in its place.
    fn remove(&self) {
        if file(&self.path) == self.file {
            // The next lock holder replaces what cannot be removed.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Which file is there, if one is.
fn file(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Binds through the folder's descriptor, so that no path is too long for a socket.
#[cfg(target_os = "linux")]
fn bind(data: &Path) -> std::io::Result<UnixListener> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    let folder = std::fs::File::open(data)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()));
    let listener = UnixListener::bind(&short)?;
    std::fs::set_permissions(&short, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(not(target_os = "linux"))]
fn bind(data: &Path) -> std::io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let path = data.join("sock");
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn serve(mut stream: UnixStream, sock: &Path, poster: &Poster, door: &Door) -> std::io::Result<()> {
    let guest = guest(&stream, sock);
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let call: Call = match receive(&mut reader) {
        Ok(Some(call)) => call,
        Ok(None) => return Ok(()),
        Err(error) => {
            let what = What::Error(format!("not understood by looop {}: {error}", env!("CARGO_PKG_VERSION")));
            return send(&mut stream, &Word { v: VERSION, what });
        }
    };
    if call.v != VERSION {
        let what = What::Error(format!("protocol {} is not spoken here, only {VERSION}", call.v));
        return send(&mut stream, &Word { v: VERSION, what });
    }
    if !door.enter() {
        return send(&mut stream, &Word { v: VERSION, what: What::Leaving(std::process::id()) });
    }
    let (said, heard) = channel();
    let answered =
        send(&mut stream, &Word { v: VERSION, what: What::Heard(std::process::id()) }).and_then(|()| {
            post(poster, Message::Asked(Box::new(call.request), said, guest));
            answer(&mut stream, &heard)
        });
    door.leave();
    answered
}

/// Who is at the door. It is asked before anything is heard, while whoever connected is surely still there.
fn guest(stream: &UnixStream, sock: &Path) -> Guest {
    let data = sock.parent().unwrap_or(sock);
    match looop_session::peer(stream) {
        Ok(Some(pid)) => Guest::of(pid, data, Some(std::process::id())),
        // Where no kernel tells, the file's mode is all there is.
        Ok(None) => Guest::Person,
        Err(error) => Guest::Unknown(error.to_string()),
    }
}

/// Tells a verb what is said to it, to the end. Who was never taken, or is sent away, is told to ask again.
fn answer(stream: &mut UnixStream, heard: &Receiver<Said>) -> std::io::Result<()> {
    let leaving = What::Leaving(std::process::id());
    let mut taken = false;
    for said in heard {
        let (what, last) = match said {
            Said::Taken => {
                taken = true;
                continue;
            }
            Said::Again => (What::Leaving(std::process::id()), true),
            Said::Line(line) => (What::Line(line), false),
            Said::Reply(reply) => (What::Reply(reply), true),
        };
        send(stream, &Word { v: VERSION, what })?;
        if last {
            return Ok(());
        }
    }
    if taken { Ok(()) } else { send(stream, &Word { v: VERSION, what: leaving }) }
}
