//! How large the log is.

use looop_core::bounds;

use super::error::LogError;
use super::file::{files, load, path_of};
use crate::dir::Reader;

/// The newest file of the log and its parts, in bytes, and all files together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Path of the newest file.
    pub path: String,
    /// The newest file.
    pub file: u64,
    /// Its snapshot.
    pub snapshot: u64,
    /// The longest line that was appended to it.
    pub line: u64,
    /// All files together.
    pub total: u64,
}

impl LogSize {
    /// What has passed three quarters of its bound, with both: beyond its bound a file cannot be read, or a line not be
    /// written.
    pub fn near(&self) -> Vec<(&'static str, u64, u64)> {
        let bounds = [
            ("the newest file", self.file, bounds::LOG_READ as u64),
            ("its snapshot", self.snapshot, bounds::SNAPSHOT as u64),
            ("its longest line", self.line, bounds::LINE as u64),
        ];
        bounds.into_iter().filter(|(_, size, most)| *size >= most - most / 4).collect()
    }
}

impl Reader {
    /// The size of the log, if there is one.
    pub fn log_size(&self) -> Result<Option<LogSize>, LogError> {
        let all = files(self.disk())?;
        let Some(first) = all.last() else { return Ok(None) };
        let (file, _) = load(self.disk(), *first)?;
        let length = |first: &u64| self.disk().stat(&path_of(*first)).value().map_or(0, |meta| meta.size);
        let total = all.iter().map(length).sum();
        let (snapshot, whole, line) = (file.head(), file.whole(), file.longest());
        Ok(Some(LogSize { path: file.path, file: whole, snapshot, line, total }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_its_bound_is_named() {
        let small = LogSize { path: String::new(), file: 10, snapshot: 5, line: 5, total: 10 };
        assert_eq!(small.near(), []);
        let (line, snapshot) = (bounds::LINE as u64, bounds::SNAPSHOT as u64);
        let large = LogSize { line: line - line / 4, snapshot: snapshot - 1, ..small };
        assert_eq!(
            large.near(),
            [("its snapshot", snapshot - 1, snapshot), ("its longest line", line - line / 4, line)]
        );
    }
}
