//! Why there is no config.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use super::{policy::POLICY_FILE, problem::Problem, template::shell_word};

/// Why [`load`](super::load) gives no config. Absent, unreadable and corrupt are different answers.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `LOOOP_CONFIG` names a file that is not there. Without that variable an absent file means defaults.
    #[error("{} does not exist, but LOOOP_CONFIG names it", file.display())]
    Absent {
        /// The file.
        file: PathBuf,
    },
    /// The file is there and cannot be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A directory, a pipe or a device stands where a file should be.
    #[error("{} is {what}, not a regular file", file.display())]
    NotRegular {
        /// The file.
        file: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// More than a config can be.
    #[error("{} is larger than 1 MiB", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// A link in the profile that leads out of it.
    #[error("{} is a link that leads out of the profile, to {}", file.display(), target.display())]
    LeadsOut {
        /// The link.
        file: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Others could write commands into it.
    #[error("{} can be written by other users", file.display())]
    Exposed {
        /// The file.
        file: PathBuf,
    },
    /// Another user owns it.
    #[error("{} belongs to another user (uid {owner})", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// Who owns it.
        owner: u32,
    },
    /// The content of the file or of the environment is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The content of `policy.toml` is wrong.
    #[error(transparent)]
    Policy(Refusal),
}

/// Everything that is wrong with the content, not only the first of it. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, in the order of the file, then of the environment.
    pub problems: Vec<Problem>,
    /// How many more there are. A file of another kind has a problem on each line; nobody reads them all.
    pub left_out: usize,
}

/// So many problems are told in full.
pub(super) const MOST_PROBLEMS: usize = 10;

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl ConfigError {
    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Absent { .. } => Some("unset LOOOP_CONFIG, or name a file that exists".to_owned()),
            ConfigError::Unreadable { .. } => None,
            ConfigError::NotRegular { file, .. } | ConfigError::TooLarge { file } if is_policy(file) => {
                Some("move it away; without it the built-in list decides".to_owned())
            }
            ConfigError::NotRegular { .. } | ConfigError::TooLarge { .. } => {
                Some("move it away; looop init writes a fresh config".to_owned())
            }
            ConfigError::LeadsOut { file, .. } if is_policy(file) => {
                Some("put the file itself there, or a link that stays within the profile".to_owned())
            }
            ConfigError::LeadsOut { target, .. } => {
                Some(format!("name the file itself: LOOOP_CONFIG={}", shell_word(target)))
            }
            ConfigError::Exposed { file } => Some(format!("chmod go-w {}", shell_word(file))),
            ConfigError::Foreign { file, .. } => Some(format!("chown \"$(id -un)\" {}", shell_word(file))),
            ConfigError::Refused(_) => Some("looop help config lists every key".to_owned()),
            ConfigError::Policy(_) => Some("mend it; looop policy check tells when it is right".to_owned()),
        }
    }
}

fn is_policy(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == POLICY_FILE)
}
