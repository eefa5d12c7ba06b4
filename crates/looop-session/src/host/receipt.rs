//! The receipt, and the space for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::OFlags;

use super::folder::{self, Folder};
use super::spec::Receipt;
use crate::Ended;

/// No receipt is longer.
const SPACE: usize = 12 << 10;
/// So much of a reason fits, also when each byte needs six in JSON.
const LONGEST_REASON: usize = 512;
/// So many numbers of processes that do not die are listed.
const MOST_LEFT: usize = 200;
/// So many ids of inputs are listed, the newest, and none that is longer than so many bytes.
const MOST_INPUTS: usize = 16;
const LONGEST_INPUT: usize = 64;
/// So many processes outside the tree are listed.
const MOST_STRAYS: usize = 10;

/// Real bytes on the disk, so that a full disk cannot lose the receipt.
#[derive(Debug)]
pub(super) struct Reserve(File);

impl Reserve {
    /// Takes the space. Only this host needs it, so it need not survive a crash of the machine.
    pub(super) fn take(folder: &Folder) -> io::Result<Self> {
        let file = folder.create(&folder::temporary(folder::RECEIPT), OFlags::TRUNC)?;
        if !allocate(&file)? {
            // Only a sync says whether what was written found a place.
            file.write_all_at(&[b' '; SPACE], 0)?;
            file.sync_all()?;
        }
        Ok(Self(file))
    }

    /// Writes the receipt into the space and gives it its name, durably.
    pub(super) fn fill(&self, folder: &Folder, mut receipt: Receipt) -> io::Result<()> {
        receipt.left.truncate(MOST_LEFT);
        receipt.strays.truncate(MOST_STRAYS);
        receipt.ended = shorten(receipt.ended);
        receipt.inputs.retain(|id| id.len() <= LONGEST_INPUT && !id.contains(char::is_control));
        receipt.inputs.drain(..receipt.inputs.len().saturating_sub(MOST_INPUTS));
        let text = serde_json::to_vec(&receipt)?;
        self.0.write_all_at(&text, 0)?;
        self.0.set_len(text.len() as u64)?;
        folder.settle(&self.0, &folder::temporary(folder::RECEIPT), folder::RECEIPT)
    }

    /// Gives the space back.
    pub(super) fn release(self, folder: &Folder) {
        drop(self.0);
        // A folder that is gone has no space to give back.
        folder.remove(&folder::temporary(folder::RECEIPT)).ok();
    }
}

/// Has the file system set the space aside; says whether it can do that at all.
#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, SPACE as u64) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// There is no such call everywhere.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the twin on Linux can fail")]
fn allocate(_: &File) -> io::Result<bool> {
    Ok(false)
}

fn shorten(ended: Ended) -> Ended {
    match ended {
        Ended::Spawn(mut reason) => {
            reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
            Ended::Spawn(reason)
        }
        Ended::Exited(_) | Ended::Signalled(_) | Ended::TimedOut | Ended::Killed => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sign, Stray};

    #[test]
    fn the_longest_receipt_fits_the_space() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        let reserve = Reserve::take(&folder).unwrap();
        let ended = Ended::Spawn("\u{1}".repeat(10_000));
        let (started_ms, ended_ms, output_bytes) = (u64::MAX, u64::MAX, u64::MAX);
        let inputs = (0..100).map(|number| format!("\"{number:063}")).chain(["x".repeat(65)]).collect();
        // No name of a program is longer, by the kernel.
        let stray = Stray { pid: i32::MIN, program: "\u{1}".repeat(15), by: Sign::Folder, ended: false };
        let (left, strays) = (vec![i32::MIN; 10_000], vec![stray; 10_000]);
        let receipt = Receipt { v: 1, ended, started_ms, ended_ms, output_bytes, left, inputs, strays };
        reserve.fill(&folder, receipt).unwrap();
        let text = folder.read(folder::RECEIPT).unwrap().unwrap();
        assert!(text.len() <= SPACE, "{}", text.len());
        let read: Receipt = serde_json::from_slice(&text).unwrap();
        assert_eq!(read.ended, Ended::Spawn("\u{1}".repeat(LONGEST_REASON)));
        assert_eq!(read.inputs.last(), Some(&format!("\"{:063}", 99)));
    }
}
