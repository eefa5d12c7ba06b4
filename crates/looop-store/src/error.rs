//! What can go wrong when a file of the profile is changed.

use std::io;

/// A change of a file that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("{path} could not be {what}")]
pub struct StoreError {
    /// The file, below the profile.
    pub path: String,
    /// What was tried, as a participle: "written", "renamed".
    pub what: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

impl StoreError {
    /// Whether the disk is full: the one failure that passes by itself when somebody makes room.
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// The failure and its cause on one line.
    pub fn text(&self) -> String {
        format!("{self}: {}", self.source)
    }
}

impl From<StoreError> for String {
    fn from(error: StoreError) -> Self {
        error.text()
    }
}

/// Names the file and the deed in an I/O error.
pub(crate) fn failed(path: &str, what: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError { path, what, source }
}
