//! Names: what a goal, sensor, worker, ask or schedule may be called.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// 1 to 64 ASCII letters, digits, `-`, `_`, `.`; not starting with `.` or `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" cannot be a name: use 1 to 64 of letters, digits, '-', '_' and '.', not starting with '.' or '-'"
)]
pub struct NotAName(String);

impl Name {
    /// Checks a text and takes it as a name.
    pub fn new(text: &str) -> Result<Self, NotAName> {
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(NotAName(shown(text))) }
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text can be a name.
pub fn is_name(text: &str) -> bool {
    let fits = (1..=64).contains(&text.len());
    let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    fits && clean && !text.starts_with(['.', '-'])
}

/// A text from outside made safe to print on one line: control characters escaped, length bounded.
pub fn shown(text: &str) -> String {
    let escaped: String = text.chars().take(80).flat_map(char::escape_default).collect();
    if text.chars().count() > 80 { format!("{escaped}…") } else { escaped }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["a", "ship", "a.b-c_D9", &"x".repeat(64)] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../x", "-x", ".x", "a/b", "a b", "a\nb", "ä", "a\0", &"x".repeat(65)] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }
}
