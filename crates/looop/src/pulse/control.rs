//! The control socket, served by whoever holds the lock.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
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
use crate::clock;
use crate::failure::{Failure, Result};
use crate::threads;

/// How long a verb may take in all to say what it wants, or to take one line of the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most connections that have not said yet what they want. The oldest has to go for one more: a verb says it at once.
const UNHEARD: usize = 64;
/// Most connections at all. Further ones wait at the door.
const MOST: usize = 512;
/// How long nobody is let in where the kernel has no descriptor left, in milliseconds.
const REST: u64 = 200;

/// The bound socket; it goes with the lock.
pub(super) struct Control {
    path: PathBuf,
    /// Which file it is.
    file: Option<(u64, u64)>,
    listener: UnixListener,
    door: Door,
    /// Until when nobody is let in, by the boot-time clock.
    rests: Cell<u64>,
}

/// The door: who is being served, and whether no more are heard.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<Guests>, Condvar)>);

#[derive(Default)]
struct Guests {
    /// Connections so far, each of which has its number.
    came: u64,
    /// Those that have not said yet what they want, oldest first.
    unheard: BTreeMap<u64, Arc<UnixStream>>,
    /// Those that are served, heard or not.
    served: usize,
    /// Requests that were heard and are not answered to the end yet.
    inside: usize,
    closed: bool,
}

/// A connection that is served. Whoever waits at the door hears of its end.
struct Served {
    door: Door,
    number: u64,
    poster: Poster,
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut guests = self.door.guests();
        guests.unheard.remove(&self.number);
        guests.served -= 1;
        drop(guests);
        self.poster.ring();
    }
}

impl Door {
    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        self.guests().served < MOST
    }

    /// Takes a connection in. If too many have said nothing yet, the one that is silent for longest is ended.
    fn admit(&self, stream: &Arc<UnixStream>, poster: &Poster) -> Served {
        let mut guests = self.guests();
        guests.came += 1;
        guests.served += 1;
        let number = guests.came;
        if guests.unheard.len() >= UNHEARD
            && let Some((_, silent)) = guests.unheard.pop_first()
        {
            // One that is gone already is ended too.
            drop(silent.shutdown(Shutdown::Both));
        }
        guests.unheard.insert(number, Arc::clone(stream));
        Served { door: self.clone(), number, poster: poster.clone() }
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

/// A stream with one deadline for all that is read or written.
struct Timed<'a> {
    stream: &'a UnixStream,
    /// By the boot-time clock.
    until: u64,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a UnixStream) -> Self {
        Self { stream, until: clock::up() + u64::try_from(PATIENCE.as_millis()).unwrap_or(0) }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.checked_sub(clock::up()).filter(|left| *left > 0) {
            Some(left) => Ok(Some(Duration::from_millis(left))),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Control {
    /// Binds the socket.
    pub(super) fn bind(data: &Path) -> Result<Self> {
        let path = data.join("sock");
        let failed = |what: &str, error: io::Error| {
            Failure::new(format!("the control socket {} cannot be {what}: {error}", path.display()))
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("replaced", error));
            }
            Ok(()) | Err(_) => {}
        }
        let listener = bind(data).map_err(|error| failed("bound", error))?;
        listener.set_nonblocking(true).map_err(|error| failed("served", error))?;
        let file = file(&path);
        Ok(Self { path, file, listener, door: Door::default(), rests: Cell::new(0) })
    }

    /// Lets in everybody who waits at the door. Each is heard and answered in a thread of its own, so that nobody who
    /// is slow delays the loop.
    pub(super) fn welcome(&self, poster: &Poster) {
        while self.door.has_room() {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => Arc::new(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    // Who waits is still there: without a rest the poll would return at once, again and again.
                    return self.rests.set(clock::up() + REST);
                }
            };
            let (served, sock) = (self.door.admit(&stream, poster), self.path.clone());
            // A verb that cannot be served sees its connection end and tries again.
            drop(threads::start("request", move || drop(serve(&stream, &sock, &served))));
        }
    }

    /// Whether somebody can be let in now.
    pub(super) fn listens(&self, now: u64) -> bool {
        self.rests.get() <= now && self.door.has_room()
    }

    /// When somebody can be let in again, if that is later than now.
    pub(super) fn rests_until(&self, now: u64) -> Option<u64> {
        Some(self.rests.get()).filter(|rests| *rests > now)
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
fn bind(data: &Path) -> io::Result<UnixListener> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    let folder = std::fs::File::open(data)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()));
    let listener = UnixListener::bind(&short)?;
    std::fs::set_permissions(&short, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(not(target_os = "linux"))]
fn bind(data: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let path = data.join("sock");
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn serve(stream: &UnixStream, sock: &Path, served: &Served) -> io::Result<()> {
    let (guest, door) = (guest(stream, sock), &served.door);
    stream.set_nonblocking(false)?;
    let say = |what: What| send(&mut Timed::new(stream), &Word { v: VERSION, what });
    let call: Call = match receive(&mut BufReader::new(Timed::new(stream))) {
        Ok(Some(call)) => call,
        Ok(None) => return Ok(()),
        Err(error) => {
            return say(What::Error(format!(
                "not understood by looop {}: {error}",
                env!("CARGO_PKG_VERSION")
            )));
        }
    };
    door.guests().unheard.remove(&served.number);
    if call.v != VERSION {
        return say(What::Error(format!("protocol {} is not spoken here, only {VERSION}", call.v)));
    }
    if !door.enter() {
        return say(What::Leaving(std::process::id()));
    }
    let (said, heard) = channel();
    let answered = say(What::Heard(std::process::id())).and_then(|()| {
        post(&served.poster, Message::Asked(Box::new(call.request), said, guest));
        answer(stream, &heard)
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
fn answer(stream: &UnixStream, heard: &Receiver<Said>) -> io::Result<()> {
    let say = |what: What| send(&mut Timed::new(stream), &Word { v: VERSION, what });
    let leaving = What::Leaving(std::process::id());
    let mut taken = false;
    for said in heard {
        let (what, last) = match said {
            Said::Taken => {
                taken = true;
                continue;
            }
            Said::Again => (What::Leaving(std::process::id()), true),
            Said::Failed(error) => (What::Error(error), true),
            Said::Line(line) => (What::Line(line), false),
            Said::Reply(reply) => (What::Reply(reply), true),
        };
        say(what)?;
        if last {
            return Ok(());
        }
    }
    if taken { Ok(()) } else { say(leaving) }
}
