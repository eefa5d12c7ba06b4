//! What can be wrong with the log.

use std::io;

use crate::error::StoreError;

/// Why the log cannot be used. Each one names the file; nothing is decided without the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The folder or a file cannot be read, or is no regular file.
    #[error("{path} cannot be read")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line that is not the last one does not match its checksum or is no line of a log.
    #[error("{path}, line {line}: {what}")]
    Corrupt {
        /// Which file.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The file was written by a newer looop.
    #[error("{path} has version {version} of the log, and this looop knows versions up to {known}")]
    Newer {
        /// Which file.
        path: String,
        /// Its version.
        version: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The log could not be repaired or begun.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl LogError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Corrupt { path, line: 1, .. } => Some(format!(
                "restore {path} from a backup, or move it away: the file before it is then used"
            )),
            Self::Corrupt { path, line, .. } => Some(format!(
                "restore {path} from a backup, or cut it before line {line}: what came after is then forgotten"
            )),
            Self::Newer { .. } => Some("use the looop that wrote it, or a newer one".to_owned()),
            Self::Unreadable { .. } | Self::Write(_) => None,
        }
    }

    /// Whether trying again later may help: the disk is at fault, not what is on it.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Unreadable { .. })
    }
}

/// Why a line was not appended. Whatever the reason, nothing may be done before the log was opened again.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// It could not be written or made durable.
    #[error(transparent)]
    Write(#[from] StoreError),
    /// An earlier append failed, and the log has not been opened again since.
    #[error("the log must be opened again after a failed append")]
    Poisoned,
    /// The line does not follow the last one.
    #[error("append {found} does not follow {last}")]
    Gap {
        /// Number of the last append.
        last: u64,
        /// Number of this one.
        found: u64,
    },
    /// The line cannot be written as JSON.
    #[error("the line cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// The line is longer than any file of the log may be.
    #[error("the line has {0} bytes, which is more than a file of the log may hold")]
    TooLong(usize),
}
