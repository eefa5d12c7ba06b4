//! The key that detaches from a worker's terminal.

use std::fmt;
use std::str::FromStr;

/// Control and one more key, pressed twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetachKey(u8);

impl DetachKey {
    /// What a terminal sends for it.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// The key that is pressed with Control.
    pub fn symbol(self) -> char {
        char::from(self.0 | 0x40).to_ascii_lowercase()
    }
}

impl Default for DetachKey {
    /// Ctrl-\, which few programs use.
    fn default() -> Self {
        Self(0x1c)
    }
}

impl FromStr for DetachKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let symbol = text.strip_prefix("C-").or_else(|| text.strip_prefix('^'));
        let mut chars = symbol.unwrap_or_default().chars().map(|c| c.to_ascii_uppercase());
        match (chars.next(), chars.next()) {
            // Enter, Tab and Escape are keys of their own, and Ctrl-C is needed.
            (Some('M' | 'J' | 'I' | '[' | 'C'), None) => {
                Err(format!("{text} cannot be used: programs need it, or it is another key too"))
            }
            (Some(c @ ('A'..='Z' | '\\' | ']' | '^' | '_')), None) => {
                u8::try_from(u32::from(c) & 0x1f).map(Self).map_err(|error| error.to_string())
            }
            _ => Err(format!("{text} is not Control and a key, such as \"C-q\" or \"C-]\"")),
        }
    }
}

impl fmt::Display for DetachKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctrl-{}", self.symbol().to_ascii_uppercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_control_and_a_letter_or_sign() {
        for (text, byte, shown) in [
            ("C-\\", 0x1c, "Ctrl-\\"),
            ("C-q", 0x11, "Ctrl-Q"),
            ("^]", 0x1d, "Ctrl-]"),
            ("C-_", 0x1f, "Ctrl-_"),
        ] {
            let key: DetachKey = text.parse().unwrap();
            assert_eq!((key.byte(), key.to_string().as_str()), (byte, shown));
        }
        assert_eq!(
            ("C-\\".parse(), "C-q".parse::<DetachKey>().map(DetachKey::symbol)),
            (Ok(DetachKey::default()), Ok('q'))
        );
        for text in ["", "q", "C-", "C-qq", "C-1", "C-é", "C-c", "C-m", "C-[", "F5"] {
            assert!(text.parse::<DetachKey>().is_err(), "{text}");
        }
    }
}
