//! The control socket, served by whoever holds the lock.

use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::inbox::{Message, Said, post};
use super::wire::{Call, VERSION, What, Word, receive, send};
use crate::failure::{Failure, Result};

/// How long a verb may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bound socket; it goes with the lock.
pub(super) struct Control {
    path: PathBuf,
}

impl Control {
    /// Binds the socket and serves it in the background.
    pub(super) fn serve(data: &Path, sender: Sender<Message>) -> Result<Self> {
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
        let serving =
            std::thread::Builder::new().name("control".to_owned()).spawn(move || accept(&listener, &sender));
        serving.map_err(|error| failed("served", error))?;
        Ok(Self { path })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The next lock holder replaces what cannot be removed.
        drop(std::fs::remove_file(&self.path));
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

fn accept(listener: &UnixListener, sender: &Sender<Message>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let sender = sender.clone();
        let serving = std::thread::Builder::new().name("request".to_owned());
        // A verb that cannot be served sees its connection end and tries again.
        drop(serving.spawn(move || drop(serve(stream, &sender))));
    }
}

fn serve(mut stream: UnixStream, sender: &Sender<Message>) -> std::io::Result<()> {
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
    let (said, heard) = channel();
    post(sender, Message::Asked(call.request, said));
    for said in heard {
        let (what, last) = match said {
            Said::Line(line) => (What::Line(line), false),
            Said::Reply(reply) => (What::Reply(reply), true),
        };
        send(&mut stream, &Word { v: VERSION, what })?;
        if last {
            break;
        }
    }
    Ok(())
}
