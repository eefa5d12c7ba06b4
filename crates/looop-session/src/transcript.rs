//! The transcript of a terminal: all that was printed, in segments, the oldest of which go.
//!
//! A byte keeps its offset for ever: it counts from the first byte ever printed. `output.log` is the newest segment;
//! when it is full it becomes `output-<offset of its first byte>.log`.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::OFlags;

use crate::host::folder::{self, Folder};

/// So many segments are kept at most, the newest included.
const SEGMENTS: u64 = 4;
/// No segment is smaller.
const SMALLEST: u64 = 4096;

/// The writing end.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// The newest segment. A folder that is gone has none.
    file: Option<File>,
    /// Where it starts, and how much belongs into it so far.
    start: u64,
    length: u64,
    /// How long a segment gets.
    segment: u64,
    /// Where the older ones start.
    older: VecDeque<u64>,
    /// Something of the newest segment could not be written.
    holed: bool,
}

impl Transcript {
    /// An empty transcript that keeps about this much.
    pub(crate) fn new(folder: &Folder, keep: u64) -> io::Result<Self> {
        let file = Some(folder.create(folder::OUTPUT, OFlags::TRUNC)?);
        let segment = (keep / SEGMENTS).max(SMALLEST);
        Ok(Self { file, start: 0, length: 0, segment, older: VecDeque::new(), holed: false })
    }

    /// How much was printed in all.
    pub(crate) fn total(&self) -> u64 {
        self.start + self.length
    }

    /// Takes the next bytes.
    ///
    /// What cannot be written leaves a hole that reads as zeros, so that what follows keeps its offset: a transcript
    /// is a courtesy, the end of the child and the receipt are not.
    pub(crate) fn push(&mut self, folder: &Folder, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(self.segment - self.length).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if let Some(file) = &self.file {
                self.holed |= file.write_all_at(now, self.length).is_err();
            }
            self.length += now.len() as u64;
            bytes = later;
            if self.length == self.segment {
                self.turn(folder);
            }
        }
    }

    /// Gives the newest segment its full length, should the end of it be a hole.
    pub(crate) fn settle(&self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.holed) {
            // Where even that fails the folder is gone.
            file.set_len(self.length).ok();
        }
    }

    /// Puts the full segment aside and begins the next.
    fn turn(&mut self, folder: &Folder) {
        self.settle();
        let aside = folder.rename(folder::OUTPUT, &archive_name(self.start));
        if aside.is_ok() {
            self.older.push_back(self.start);
        }
        self.start += self.length;
        (self.length, self.holed) = (0, false);
        self.file = aside.and_then(|()| folder.create(folder::OUTPUT, OFlags::TRUNC)).ok();
        while self.older.len() as u64 >= SEGMENTS {
            if let Some(oldest) = self.older.pop_front() {
                // One that somebody else removed is what we want.
                folder.remove(&archive_name(oldest)).ok();
            }
        }
    }
}

/// The name of the segment that starts at this offset, once it is full.
pub(crate) fn archive_name(start: u64) -> String {
    format!("output-{start:012}.log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is kept, with the offset of its first byte, put together as a reader does.
    fn kept(dir: &std::path::Path) -> (u64, Vec<u8>) {
        let names =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut archives: Vec<String> = names.filter(|name| name.starts_with("output-")).collect();
        archives.sort();
        let start = archives.first().map_or(0, |name| name[7..19].parse().unwrap());
        let mut bytes = Vec::new();
        for name in &archives {
            assert_eq!(name[7..19].parse::<u64>().unwrap(), start + bytes.len() as u64);
            bytes.extend(std::fs::read(dir.join(name)).unwrap());
        }
        bytes.extend(std::fs::read(dir.join("output.log")).unwrap());
        (start, bytes)
    }

    proptest! {
        #[test]
        fn the_end_is_kept_at_its_offsets(
            keep in 0_u64..60_000,
            chunks in proptest::collection::vec((any::<u8>(), 0_usize..20_000), 0..20),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let folder = Folder::open(dir.path()).unwrap().unwrap();
            let mut transcript = Transcript::new(&folder, keep).unwrap();
            let mut all = Vec::new();
            for (fill, length) in chunks {
                let chunk: Vec<u8> = (0..=250).cycle().take(length).map(|at| fill ^ at).collect();
                transcript.push(&folder, &chunk);
                all.extend(chunk);
                let (start, bytes) = kept(dir.path());
                prop_assert_eq!(transcript.total(), all.len() as u64);
                prop_assert_eq!(start + bytes.len() as u64, all.len() as u64);
                prop_assert!(all.ends_with(&bytes));
                let bound = (keep / 4).max(4096) * 4;
                prop_assert!(bytes.len() as u64 <= bound);
                prop_assert!(start == 0 || bytes.len() as u64 >= bound / 4 * 3);
            }
        }
    }

    #[test]
    fn a_folder_that_is_gone_changes_nothing_but_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        let mut transcript = Transcript::new(&folder, 16 << 10).unwrap();
        dir.close().unwrap();
        transcript.push(&folder, &vec![b'x'; 50_000]);
        transcript.settle();
        assert_eq!(transcript.total(), 50_000);
    }
}
