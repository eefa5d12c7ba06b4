//! The transcript of a session, read by stream offset while its host writes it, or long after.
//!
//! Offsets count from the first byte that the child ever printed. A terminal session keeps its output in segments:
//! `output-<start>.log` are the older ones, `output.log` is the newest and begins where the newest of the others ends.
//! The oldest may vanish at any time; what was opened before stays readable. A session without a terminal has but one
//! file, the tail of its output.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::Dir;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::host::folder::{self, Folder, OUTPUT};
use crate::host::{self, Standing};
use crate::transcript::archive_name;

/// The output of a session.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    folder: Folder,
    segments: Vec<Segment>,
    /// How much was printed in all, of a live session without a terminal.
    total: Option<u64>,
}

#[derive(Debug)]
struct Segment {
    start: u64,
    file: File,
}

/// What is kept of a stream: the bytes of `[first, end)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// The offset of the first byte that is still there.
    pub first: u64,
    /// The offset after the last byte.
    pub end: u64,
}

/// Bytes that were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The offset of the first of them: later than what was asked for if that is no longer there.
    pub at: u64,
    /// How many; none if there is nothing from there on.
    pub count: usize,
}

/// The part of a spec that tells a terminal session.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    terminal: Option<IgnoredAny>,
}

impl Transcript {
    /// Opens the transcript of the session in this folder; `None` if there is no such folder.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.to_owned();
        let Some(folder) = Folder::open(folder)? else { return Ok(None) };
        let mut transcript = Self { path, folder, segments: Vec::new(), total: None };
        transcript.refresh()?;
        Ok(Some(transcript))
    }

    /// What is kept now.
    pub fn extent(&mut self) -> io::Result<Extent> {
        self.refresh()?;
        let first = self.segments.first().map_or(0, |segment| segment.start);
        let end = self.segments.last().map(Segment::end).transpose()?.unwrap_or(0);
        Ok(Extent { first, end })
    }

    /// Reads from an offset on, as much as fits and stands in one segment.
    pub fn read(&mut self, from: u64, into: &mut [u8]) -> io::Result<Piece> {
        if let Some(piece) = self.look(from, into)? {
            return Ok(piece);
        }
        self.refresh()?;
        Ok(self.look(from, into)?.unwrap_or(Piece { at: from, count: 0 }))
    }

    /// All bytes of `[from, to)` that are there, and the offset of the first of them.
    pub fn span(&mut self, from: u64, to: u64) -> io::Result<(u64, Vec<u8>)> {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 << 10];
        let (mut at, mut first) = (from, None);
        while at < to {
            let most = usize::try_from(to - at).unwrap_or(usize::MAX).min(chunk.len());
            let piece = self.read(at, &mut chunk[..most])?;
            if piece.count == 0 || piece.at >= to {
                break;
            }
            first.get_or_insert(piece.at);
            let count = piece.count.min(usize::try_from(to - piece.at).unwrap_or(usize::MAX));
            bytes.extend_from_slice(&chunk[..count]);
            at = piece.at + count as u64;
        }
        Ok((first.unwrap_or(from), bytes))
    }

    /// Tells how much a live session has printed by now, which places a tail that it keeps.
    pub(crate) fn printed(&mut self, total: u64) -> io::Result<()> {
        self.total = Some(total);
        self.refresh()
    }

    /// Reads from the segments that are open.
    fn look(&self, from: u64, into: &mut [u8]) -> io::Result<Option<Piece>> {
        for (index, segment) in self.segments.iter().enumerate() {
            let at = from.max(segment.start);
            // Where segments overlap the later one counts: a tail that was replaced is read anew.
            let room = self.segments.get(index + 1).map_or(u64::MAX, |next| next.start.saturating_sub(at));
            let most = usize::try_from(room).unwrap_or(usize::MAX).min(into.len());
            let count = segment.file.read_at(&mut into[..most], at - segment.start)?;
            if count > 0 {
                return Ok(Some(Piece { at, count }));
            }
        }
        Ok(None)
    }

    /// Opens what is there now. The names are read before and after: a host that moves on in between would make us
    /// take a segment for another.
    fn refresh(&mut self) -> io::Result<()> {
        let mut names = self.list()?;
        loop {
            let opened = self.open_all(&names)?;
            let now = self.list()?;
            if let Some(segments) = opened.filter(|_| now == names) {
                self.segments = segments;
                return Ok(());
            }
            names = now;
        }
    }

    /// The segments by name, oldest first.
    fn list(&self) -> io::Result<Vec<(u64, String)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let start = if name == OUTPUT { Some(u64::MAX) } else { archive_start(name) };
            found.extend(start.map(|start| (start, name.to_owned())));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Opens these; `None` if one of them is gone.
    fn open_all(&self, names: &[(u64, String)]) -> io::Result<Option<Vec<Segment>>> {
        let mut segments: Vec<Segment> = Vec::with_capacity(names.len());
        for (start, name) in names {
            let Some(file) = self.folder.read_only(name)? else { return Ok(None) };
            let start = match segments.last() {
                _ if name != OUTPUT => *start,
                Some(before) => before.end()?,
                None => self.start_of_tail(&file)?,
            };
            segments.push(Segment { start, file });
        }
        Ok(Some(segments))
    }

    /// Where `output.log` begins when it stands alone: at the start, but for the tail that a session without a terminal
    /// keeps. While such a session runs and nobody said how much it has printed, offsets count from what is kept.
    fn start_of_tail(&self, file: &File) -> io::Result<u64> {
        let total = match (self.total, host::standing(&self.path)?) {
            (_, Standing::Ended(receipt)) => receipt.output_bytes,
            (Some(total), Standing::Live) => total,
            _ => return Ok(0),
        };
        let before = total.saturating_sub(file.metadata()?.len());
        Ok(if before == 0 || self.is_terminal()? { 0 } else { before })
    }

    fn is_terminal(&self) -> io::Result<bool> {
        let spec =
            self.folder.read(folder::SPEC)?.and_then(|bytes| serde_json::from_slice::<Kind>(&bytes).ok());
        Ok(spec.is_some_and(|spec| spec.terminal.is_some()))
    }
}

/// Where a segment of this name starts, if it is one.
fn archive_start(name: &str) -> Option<u64> {
    let start = name.strip_prefix("output-")?.strip_suffix(".log")?.parse().ok()?;
    (archive_name(start) == name).then_some(start)
}

impl Segment {
    fn end(&self) -> io::Result<u64> {
        Ok(self.start + self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn archive(start: usize) -> String {
        archive_name(start as u64)
    }

    fn open(folder: &Path) -> Transcript {
        Transcript::open(folder).unwrap().unwrap()
    }

    #[test]
    fn an_absent_folder_and_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Transcript::open(&dir.path().join("nobody")).unwrap().is_none());
        let mut transcript = open(dir.path());
        assert_eq!(transcript.extent().unwrap(), Extent::default());
        assert_eq!(transcript.read(0, &mut [0; 8]).unwrap(), Piece { at: 0, count: 0 });
    }

    #[test]
    fn what_is_no_file_is_an_error_and_not_an_empty_transcript() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(OUTPUT)).unwrap();
        assert_eq!(Transcript::open(dir.path()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_rotation_in_the_middle_of_a_read_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (newest, older) = (dir.path().join(OUTPUT), dir.path().join(archive(0)));
        fs::write(&newest, "abc").unwrap();
        let mut transcript = open(dir.path());
        let mut two = [0; 2];
        assert_eq!(transcript.read(0, &mut two).unwrap(), Piece { at: 0, count: 2 });
        // The host writes on, moves the segment away, begins another and drops the first.
        fs::write(&newest, "abcdef").unwrap();
        fs::rename(&newest, &older).unwrap();
        fs::write(&newest, "ghi").unwrap();
        fs::remove_file(&older).unwrap();
        assert_eq!(transcript.span(2, 6).unwrap(), (2, b"cdef".to_vec()));
    }

    #[test]
    fn a_dropped_head_is_told_by_the_offset() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(archive(10)), "klmno").unwrap();
        fs::write(dir.path().join(OUTPUT), "pq").unwrap();
        let mut transcript = open(dir.path());
        assert_eq!(transcript.extent().unwrap(), Extent { first: 10, end: 17 });
        assert_eq!(transcript.span(3, 17).unwrap(), (10, b"klmnopq".to_vec()));
        assert_eq!(transcript.span(14, 16).unwrap(), (14, b"op".to_vec()));
        assert_eq!(transcript.span(17, 99).unwrap(), (17, Vec::new()));
        assert_eq!(transcript.span(99, 120).unwrap(), (99, Vec::new()));
    }

    proptest! {
        /// A writer that rotates and drops at any time, a reader that reads in any steps: every byte it gives stands at
        /// its offset, and it misses only what was dropped before it got there.
        #[test]
        fn bytes_stand_at_their_offsets(steps in proptest::collection::vec((0_usize..40, 0..4_u8, 0_usize..60), 1..40)) {
            let dir = tempfile::tempdir().unwrap();
            let newest = dir.path().join(OUTPUT);
            let (mut written, mut start, mut archives) = (0_usize, 0_usize, Vec::new());
            let byte = |at: usize| u8::try_from(at % 251).unwrap();
            let (mut transcript, mut at) = (open(dir.path()), 0_u64);
            for (grow, what, most) in steps {
                let text: Vec<u8> = (start..written + grow).map(byte).collect();
                written += grow;
                fs::write(&newest, text).unwrap();
                if what == 1 && written > start {
                    fs::rename(&newest, dir.path().join(archive(start))).unwrap();
                    archives.push(start);
                    start = written;
                }
                if what == 2 && archives.len() > 1 {
                    fs::remove_file(dir.path().join(archive(archives.remove(0)))).unwrap();
                }
                let mut into = vec![0; most];
                let piece = transcript.read(at, &mut into).unwrap();
                prop_assert!(piece.at >= at);
                let there = usize::try_from(piece.at).unwrap();
                for (index, got) in into[..piece.count].iter().enumerate() {
                    prop_assert_eq!(*got, byte(there + index));
                }
                prop_assert!(piece.count > 0 || most == 0 || piece.at == written as u64, "nothing at {} of {}", at, written);
                at = piece.at + piece.count as u64;
            }
        }
    }
}
