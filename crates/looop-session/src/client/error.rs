//! What can go wrong when a session is driven.

use std::io;

/// Why a host did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens: the session has ended, or its host is not up yet.
    #[error("no host listens")]
    Absent,
    /// A host of version 1.
    #[error("the host of this session is of an older version: it can be killed, its log read, not driven")]
    Old,
    /// The host says no; this is why.
    #[error("{0}")]
    Refused(String),
    /// The host went away before it answered.
    #[error("the session ended meanwhile")]
    Gone,
    /// The host does not answer in time.
    #[error("the host does not answer")]
    Mute,
    /// What came is no answer.
    #[error("the host's answer cannot be understood: {0}")]
    Garbled(String),
    /// A file of the session, or its socket, cannot be used.
    #[error("the session's files cannot be used")]
    Io(#[from] io::Error),
}

impl ClientError {
    /// For errors of a connection that stands.
    pub(super) fn of_stream(error: io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return Self::Mute;
        }
        if is_gone(&error) { Self::Gone } else { Self::Io(error) }
    }
}

/// Whether the other end of a connection is gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected
    )
}
