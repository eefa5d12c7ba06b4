//! What a read can find.

use std::io;

/// A stored thing: absent, whole, unreadable and corrupt are four different things.
#[derive(Debug)]
pub enum Stored<T> {
    /// There is nothing of that name.
    Absent,
    /// It is there and whole.
    Value(T),
    /// It is there and cannot be read: no permission, not a regular file, a failing disk.
    Unreadable(io::Error),
    /// It was read, or is too large to be, and makes no sense.
    Corrupt(String),
}

impl<T> Stored<T> {
    /// The value, where it is whole.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Unreadable(_) | Self::Corrupt(_) => None,
        }
    }

    /// Whether there is nothing of that name.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Makes something else of a whole value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Stored<U> {
        self.and_then(|value| Stored::Value(make(value)))
    }

    /// Makes something else of a whole value, which may turn out to be corrupt.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> Stored<U>) -> Stored<U> {
        match self {
            Self::Absent => Stored::Absent,
            Self::Value(value) => make(value),
            Self::Unreadable(error) => Stored::Unreadable(error),
            Self::Corrupt(what) => Stored::Corrupt(what),
        }
    }

    /// The value or nothing, or else one sentence that names the file and what is wrong with it.
    pub fn known(self, path: &str) -> Result<Option<T>, String> {
        match self {
            Self::Absent => Ok(None),
            Self::Value(value) => Ok(Some(value)),
            Self::Unreadable(error) => Err(format!("{path} cannot be read: {error}")),
            Self::Corrupt(what) => Err(format!("{path} {what}")),
        }
    }

    /// The same for a caller that speaks I/O errors.
    pub(crate) fn into_io(self) -> io::Result<Option<T>> {
        match self {
            Self::Absent => Ok(None),
            Self::Value(value) => Ok(Some(value)),
            Self::Unreadable(error) => Err(error),
            Self::Corrupt(what) => Err(io::Error::new(io::ErrorKind::InvalidData, what)),
        }
    }
}

impl<T> From<io::Result<T>> for Stored<T> {
    fn from(result: io::Result<T>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Unreadable(error),
        }
    }
}
