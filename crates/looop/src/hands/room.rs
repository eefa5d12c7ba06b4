//! Room on the disk: while something confined runs it is looked at, and what fills the disk is ended before it is full.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::failure::Result;
use crate::threads;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(250);
/// What stays free: so many bytes, or on a small disk this part of it; and this part of its files.
const BYTES: u64 = 1 << 30;
const PART: u64 = 20;
const FILES_PART: u64 = 100;

/// Watches for as long as it is held.
#[derive(Debug)]
pub(crate) struct Watch {
    data: PathBuf,
    ended: Arc<AtomicBool>,
    _held: Sender<()>,
}

impl Watch {
    /// Why what was watched has been ended, if it was.
    pub(crate) fn reason(&self) -> Option<String> {
        self.ended.load(Ordering::SeqCst).then(|| short(&self.data))
    }
}

/// Has `end` called once there is too little room on the disk of the profile.
pub(crate) fn watch(data: &Path, end: impl Fn() + Send + 'static) -> Result<Watch> {
    let ended = Arc::new(AtomicBool::new(false));
    let (held, over) = channel();
    let watch = Watch { data: data.to_owned(), ended: Arc::clone(&ended), _held: held };
    let data = data.to_owned();
    threads::start("room", move || {
        while over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            if is_short(&data) {
                ended.store(true, Ordering::SeqCst);
                return end();
            }
        }
    })?;
    Ok(watch)
}

/// What is said where there is too little room.
pub(crate) fn short(data: &Path) -> String {
    let place = data.display();
    format!("the disk is nearly full, so nothing confined may write to it; free some, for one in {place}/box")
}

/// Whether there is too little room for what is confined. A disk that does not tell has enough.
pub(crate) fn is_short(data: &Path) -> bool {
    let Ok(disk) = rustix::fs::statvfs(data) else { return false };
    let total = disk.f_blocks.saturating_mul(disk.f_frsize);
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    free < BYTES.min(total / PART) || disk.f_files > 0 && disk.f_favail < disk.f_files / FILES_PART
}
