//! The fold of the first lines of a file, kept beside it so that opening the log need not add them up again.
//!
//! It is no memory of the loop's own: it counts only while the bytes that it was made from are the same, and whoever
//! cannot use it reads all lines.

use looop_core::ledger::state::{Form, Ledger};
use serde::{Deserialize, Serialize};

use super::file::{LogFile, READ_LIMIT};
use super::frame::{decode_framed, framed};
use crate::disk::{Disk, Links, Stored, quick_write};
use crate::error::{StoreError, failed};

/// A new fold is kept when this was appended since the last one, or as much as the snapshot of the file has.
pub(super) const EVERY: u64 = 256 << 10;

#[derive(Deserialize)]
struct Kept {
    size: u64,
    sum: String,
    snapshot: Ledger,
}

#[derive(Serialize)]
struct KeptRef<'a> {
    size: u64,
    sum: String,
    snapshot: &'a Ledger,
}

/// Where the fold of a file of the log is kept.
pub(super) fn path_of(log: &str) -> String {
    format!("{}.fold", log.strip_suffix(".jsonl").unwrap_or(log))
}

fn sum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The ledger after the first lines of a file, and where these end. One that does not belong to these bytes is none.
pub(super) fn read(disk: &dyn Disk, file: &LogFile) -> Option<(Ledger, usize)> {
    let Stored::Value(content) = disk.read(&path_of(&file.path), READ_LIMIT, Links::Refuse) else {
        return None;
    };
    let kept: Kept = decode_framed(content.bytes.strip_suffix(b"\n")?).ok()?;
    let size = usize::try_from(kept.size).ok()?;
    let bytes = file.bytes_to(size)?;
    (kept.snapshot.form == Form::default() && sum(bytes) == kept.sum).then_some((kept.snapshot, size))
}

/// Keeps the fold of the first `size` bytes of a file.
pub(super) fn write(disk: &dyn Disk, log: &str, size: u64, ledger: &Ledger) -> Result<(), StoreError> {
    let path = path_of(log);
    let read = disk.read(log, READ_LIMIT, Links::Refuse).into_io().map_err(failed(log, "read"))?;
    let whole = read.as_ref().and_then(|content| content.bytes.get(..usize::try_from(size).ok()?));
    let Some(whole) = whole else { return Ok(()) };
    let kept = KeptRef { size, sum: sum(whole), snapshot: ledger };
    let bytes = framed(&kept).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
    quick_write(disk, &path, &bytes, 0o600)
}

/// Removes the fold of a file that is not the newest any more.
pub(super) fn remove(disk: &dyn Disk, log: &str) -> Result<(), StoreError> {
    let path = path_of(log);
    if disk.stat(&path).is_absent() {
        return Ok(());
    }
    disk.remove(&path).map_err(failed(&path, "removed"))
}
