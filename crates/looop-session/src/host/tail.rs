//! The tail of an output: bounded in memory and on disk at every moment, and readable while it grows.

use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use rustix::fs::OFlags;

use super::folder::{self, Folder};

/// How often the file follows while output comes. A flood so costs memory copies, not disk.
const PACE: Duration = Duration::from_millis(50);

/// The last bytes of a stream, and the file that shows them.
#[derive(Debug)]
pub(super) struct Tail {
    keep: usize,
    /// At most twice `keep`; its end is the end of the stream.
    recent: Vec<u8>,
    total: u64,
    /// How far the file shows the stream, and how long the file is.
    shown: u64,
    file: Option<File>,
    length: u64,
    due: Option<Duration>,
    last: Duration,
}

impl Tail {
    /// An empty tail with an empty file.
    pub(super) fn new(folder: &Folder, keep: u64) -> io::Result<Self> {
        let file = Some(folder.create(folder::OUTPUT, OFlags::TRUNC)?);
        let keep = usize::try_from(keep).unwrap_or(usize::MAX / 2);
        let (recent, last) = (Vec::new(), Duration::ZERO);
        Ok(Self { keep, recent, total: 0, shown: 0, file, length: 0, due: None, last })
    }

    /// How much has come in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], now: Duration) {
        self.total += bytes.len() as u64;
        self.due.get_or_insert(now.max(self.last + PACE));
        let bytes = &bytes[bytes.len().saturating_sub(self.keep)..];
        if self.recent.len() + bytes.len() > self.keep.saturating_mul(2) {
            let surplus = (self.recent.len() + bytes.len()).saturating_sub(self.keep).min(self.recent.len());
            self.recent.drain(..surplus);
        }
        self.recent.extend_from_slice(bytes);
    }

    /// When the file should follow.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Brings the file up to date. A file that cannot be written is given up: output is a courtesy, the end of the
    /// child and the receipt are not.
    pub(super) fn show(&mut self, folder: &Folder, now: Duration) {
        (self.due, self.last) = (None, now);
        if self.file.is_some() && self.shown < self.total && self.write(folder).is_err() {
            self.file = None;
        }
    }

    fn write(&mut self, folder: &Folder) -> io::Result<()> {
        let kept = self.recent.len().min(self.keep);
        let fresh = usize::try_from(self.total - self.shown).unwrap_or(usize::MAX).min(kept);
        let fits = self.length + fresh as u64 <= self.keep as u64;
        let last = |count: usize| &self.recent[self.recent.len() - count..];
        match &mut self.file {
            Some(file) if fits => file.write_all(last(fresh))?,
            _ => self.file = Some(replace(folder, last(kept))?),
        }
        self.length = if fits { self.length + fresh as u64 } else { kept as u64 };
        self.shown = self.total;
        Ok(())
    }
}

/// Puts a new file in place of the old one, so that a reader always sees a whole tail.
fn replace(folder: &Folder, bytes: &[u8]) -> io::Result<File> {
    let temporary = folder::temporary(folder::OUTPUT);
    let mut file = folder.create(&temporary, OFlags::TRUNC)?;
    file.write_all(bytes)?;
    folder.rename(&temporary, folder::OUTPUT)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_file_is_the_tail(
            keep in 0_u64..40,
            chunks in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..60), any::<bool>()), 0..20),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let folder = Folder::open(dir.path()).unwrap().unwrap();
            let mut tail = Tail::new(&folder, keep).unwrap();
            let mut all = Vec::new();
            for (chunk, show) in &chunks {
                tail.push(chunk, Duration::ZERO);
                all.extend_from_slice(chunk);
                prop_assert!(tail.recent.len() as u64 <= 2 * keep);
                if *show {
                    tail.show(&folder, Duration::ZERO);
                    let seen = folder.read(folder::OUTPUT).unwrap().unwrap();
                    prop_assert_eq!(seen.len() as u64, keep.min(all.len() as u64));
                    prop_assert!(all.ends_with(&seen));
                }
            }
            prop_assert_eq!(tail.total(), all.len() as u64);
        }
    }
}
