//! Failures as the person sees them: what failed, on what, what to do.

use std::fmt;
use std::process::ExitCode;

/// What kind of failure it is; each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Refused or failed.
    Failed,
    /// The call itself was wrong.
    Usage,
    /// It needs a pulse, and none runs.
    NoPulse,
    /// A text was not typed, because no composer had the keyboard.
    NotTyped,
    /// It took too long.
    TimedOut,
}

/// A failure, printed once.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// What failed, on what.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Failure {
    /// Something was refused or failed.
    pub fn new(error: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, error: error.into(), hint: None }
    }

    /// The call was wrong.
    pub fn usage(error: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::new(error) }
    }

    /// It needs a pulse, and none runs.
    pub fn no_pulse(error: impl Into<String>) -> Self {
        Self { kind: Kind::NoPulse, ..Self::new(error) }
    }

    /// A text was not typed, because no composer had the keyboard.
    pub fn not_typed(error: impl Into<String>) -> Self {
        Self { kind: Kind::NotTyped, ..Self::new(error) }
    }

    /// It took too long.
    pub fn timed_out(error: impl Into<String>) -> Self {
        Self { kind: Kind::TimedOut, ..Self::new(error) }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The exit code of its kind.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::NoPulse => 3,
            Kind::NotTyped => 4,
            Kind::TimedOut => 124,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "looop: error: {}", self.error)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// What an operation gives.
pub type Result<T> = std::result::Result<T, Failure>;
