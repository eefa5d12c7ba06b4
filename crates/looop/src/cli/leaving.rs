//! Which of the keys that a viewer types mean that it wants to leave.

use std::time::{Duration, Instant};

use crate::config::DetachKey;

/// How long a first press of the key waits for a second one.
const PATIENCE: Duration = Duration::from_millis(500);

/// Watches for the detach key twice. One press alone is passed on, with the next key or when its time is up.
#[derive(Debug)]
pub(super) struct Leaving {
    key: DetachKey,
    /// What terminals send for the key: its byte, and the forms that carry modifiers in full; lock keys count as nothing.
    forms: Vec<Vec<u8>>,
    /// The key goes up again.
    release: Vec<u8>,
    /// A first press as it was typed, and until when it waits.
    held: Option<(Vec<u8>, Instant)>,
}

/// What keys mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Typed {
    /// These are for the session.
    Passed(Vec<u8>),
    /// These still are, and then the viewer leaves.
    Leave(Vec<u8>),
}

impl Leaving {
    /// Watches for this key.
    pub(super) fn new(key: DetachKey) -> Self {
        let code = u32::from(key.symbol());
        let long =
            ["5u", "69u", "133u", "197u", "5:1u"].map(|rest| format!("\x1b[{code};{rest}").into_bytes());
        let other = format!("\x1b[27;5;{code}~").into_bytes();
        let forms = [vec![key.byte()]].into_iter().chain(long).chain([other]).collect();
        Self { key, forms, release: format!("\x1b[{code};5:3u").into_bytes(), held: None }
    }

    /// The key.
    pub(super) fn key(&self) -> DetachKey {
        self.key
    }

    /// Takes what was typed.
    pub(super) fn take(&mut self, typed: &[u8], now: Instant) -> Typed {
        let mut passed = Vec::new();
        let mut rest = typed;
        while !rest.is_empty() {
            if let Some(form) = self.form(rest) {
                if self.held.take_if(|(_, until)| now < *until).is_some() {
                    return Typed::Leave(passed);
                }
                passed.extend(self.held.take().into_iter().flat_map(|(bytes, _)| bytes));
                rest = &rest[form.len()..];
                self.held = Some((form, now + PATIENCE));
            } else if rest.starts_with(&self.release) && self.held.is_some() {
                rest = &rest[self.release.len()..];
            } else {
                passed.extend(self.held.take().into_iter().flat_map(|(bytes, _)| bytes));
                passed.push(rest[0]);
                rest = &rest[1..];
            }
        }
        Typed::Passed(passed)
    }

    /// The press of the key that these bytes begin with.
    fn form(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.forms.iter().find(|form| bytes.starts_with(form)).cloned()
    }

    /// When a first press is passed on.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.as_ref().map(|(_, until)| *until)
    }

    /// What is to be passed on because its time is up.
    pub(super) fn late(&mut self, now: Instant) -> Vec<u8> {
        self.held.take_if(|(_, until)| *until <= now).map(|(bytes, _)| bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When, what, and what it means.
    type Step<'a> = (u64, &'a [u8], Typed);

    #[test]
    fn twice_leaves_and_once_is_passed_on() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let passed = |bytes: &[u8]| Typed::Passed(bytes.to_vec());
        let leave = |bytes: &[u8]| Typed::Leave(bytes.to_vec());
        let table: &[&[Step<'_>]] = &[
            &[(0, b"abc", passed(b"abc"))],
            &[(0, b"\x1c\x1c", leave(b""))],
            &[(0, b"ab\x1c\x1ccd", leave(b"ab"))],
            &[(0, b"\x1c", passed(b"")), (499, b"\x1c", leave(b""))],
            &[(0, b"\x1c", passed(b"")), (10, b"x", passed(b"\x1cx")), (20, b"\x1c", passed(b""))],
            &[(0, b"\x1c", passed(b"")), (600, b"\x1c", passed(b"\x1c")), (700, b"\x1c", leave(b""))],
            &[
                (0, b"\x1b[92;5u", passed(b"")),
                (10, b"\x1b[92;5:3u", passed(b"")),
                (20, b"\x1b[92;5u", leave(b"")),
            ],
            &[(0, b"\x1b[92;5u", passed(b"")), (10, b"q", passed(b"\x1b[92;5uq"))],
            &[(0, b"\x1b[27;5;92~\x1c", leave(b""))],
            &[(0, b"\x1b[93;5u", passed(b"\x1b[93;5u"))],
        ];
        for steps in table {
            let mut leaving = Leaving::new(DetachKey::default());
            for (ms, typed, expected) in *steps {
                assert_eq!(leaving.take(typed, at(*ms)), *expected, "{steps:?}");
            }
        }
    }

    #[test]
    fn a_single_one_is_passed_on_in_time() {
        let start = Instant::now();
        let mut leaving = Leaving::new(DetachKey::default());
        leaving.take(b"\x1c", start);
        assert_eq!(leaving.due(), Some(start + PATIENCE));
        assert_eq!(leaving.late(start + Duration::from_millis(499)), b"");
        assert_eq!(leaving.late(start + PATIENCE), b"\x1c");
        assert_eq!((leaving.due(), leaving.late(start + PATIENCE)), (None, Vec::new()));
    }

    #[test]
    fn another_key_leaves_and_the_usual_one_is_passed_on() {
        let start = Instant::now();
        let mut leaving = Leaving::new("C-q".parse().unwrap());
        assert_eq!(leaving.take(b"\x1c\x1c", start), Typed::Passed(b"\x1c\x1c".to_vec()));
        assert_eq!(leaving.take(b"\x11\x1b[113;5u", start), Typed::Leave(Vec::new()));
    }
}
