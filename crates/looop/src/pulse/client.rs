//! A verb that finds the lock held speaks to the holder.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::entry::Line;

use super::wire::{Call, VERSION, What, Word, receive, send};
use crate::failure::{Failure, Result};

/// Sends a request to the lock holder. `None`: nobody listens there (yet, or any more) and nothing was begun.
pub(crate) fn call(data: &Path, request: &Request, on_line: &mut dyn FnMut(&Line)) -> Result<Option<Reply>> {
    let Ok(stream) = connect(data) else { return Ok(None) };
    converse(stream, request, on_line)
}

/// The same for a question that is answered at once: a holder that says nothing for this long is given up, as if it
/// had ended.
pub(crate) fn call_within(data: &Path, request: &Request, patience: Duration) -> Result<Option<Reply>> {
    let Ok(stream) = connect(data) else { return Ok(None) };
    let bounded = stream.set_read_timeout(Some(patience)).and(stream.set_write_timeout(Some(patience)));
    bounded.map_err(|error| Failure::new(format!("the lock holder cannot be asked: {error}")))?;
    converse(stream, request, &mut |_| {})
}

fn converse(
    mut stream: UnixStream,
    request: &Request,
    on_line: &mut dyn FnMut(&Line),
) -> Result<Option<Reply>> {
    if send(&mut stream, &Call { v: VERSION, request: request.clone() }).is_err() {
        return Ok(None);
    }
    let mut reader = BufReader::new(stream);
    let mut heard = false;
    let lost = || {
        Failure::new("the process that holds the profile ended before it answered")
            .hint("looop events -n 5 shows what was done")
    };
    loop {
        match receive::<Word>(&mut reader) {
            Ok(Some(Word { what: What::Heard(_), .. })) => heard = true,
            Ok(Some(Word { what: What::Line(line), .. })) => on_line(&line),
            Ok(Some(Word { what: What::Reply(reply), .. })) => return Ok(Some(*reply)),
            Ok(Some(Word { what: What::Error(error), .. })) => return Err(Failure::new(error)),
            Ok(None) | Err(_) if heard => return Err(lost()),
            Ok(None | Some(Word { what: What::Leaving(_), .. })) | Err(_) => return Ok(None),
        }
    }
}

#[cfg(target_os = "linux")]
fn connect(data: &Path) -> std::io::Result<UnixStream> {
    use std::os::fd::AsRawFd;
    let folder = std::fs::File::open(data)?;
    UnixStream::connect(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn connect(data: &Path) -> std::io::Result<UnixStream> {
    UnixStream::connect(data.join("sock"))
}
