//! Which of the keys that a viewer types mean that it wants to leave.

use std::time::{Duration, Instant};

/// How long a first Ctrl-\ waits for a second one.
const PATIENCE: Duration = Duration::from_millis(500);
/// What terminals send for Ctrl-\ in the forms that carry modifiers in full; lock keys count as nothing.
const LONG_FORMS: [&[u8]; 6] =
    [b"\x1b[92;5u", b"\x1b[92;69u", b"\x1b[92;133u", b"\x1b[92;197u", b"\x1b[92;5:1u", b"\x1b[27;5;92~"];
/// The key goes up again.
const RELEASE: &[u8] = b"\x1b[92;5:3u";

/// Watches for Ctrl-\ twice. One alone is passed on, with the next key or when its time is up.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// A first Ctrl-\ as it was typed, and until when it waits.
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
    /// Takes what was typed.
    pub(super) fn take(&mut self, typed: &[u8], now: Instant) -> Typed {
        let mut passed = Vec::new();
        let mut rest = typed;
        while !rest.is_empty() {
            if let Some(form) = leaving_form(rest) {
                if self.held.take_if(|(_, until)| now < *until).is_some() {
                    return Typed::Leave(passed);
                }
                passed.extend(self.held.take().into_iter().flat_map(|(bytes, _)| bytes));
                self.held = Some((form.to_vec(), now + PATIENCE));
                rest = &rest[form.len()..];
            } else if rest.starts_with(RELEASE) && self.held.is_some() {
                rest = &rest[RELEASE.len()..];
            } else {
                passed.extend(self.held.take().into_iter().flat_map(|(bytes, _)| bytes));
                passed.push(rest[0]);
                rest = &rest[1..];
            }
        }
        Typed::Passed(passed)
    }

    /// When a first Ctrl-\ is passed on.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.as_ref().map(|(_, until)| *until)
    }

    /// What is to be passed on because its time is up.
    pub(super) fn late(&mut self, now: Instant) -> Vec<u8> {
        self.held.take_if(|(_, until)| *until <= now).map(|(bytes, _)| bytes).unwrap_or_default()
    }
}

/// The Ctrl-\ that these bytes begin with.
fn leaving_form(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.first() == Some(&0x1c) {
        return Some(&bytes[..1]);
    }
    LONG_FORMS.iter().find(|form| bytes.starts_with(form)).map(|form| &bytes[..form.len()])
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
            let mut leaving = Leaving::default();
            for (ms, typed, expected) in *steps {
                assert_eq!(leaving.take(typed, at(*ms)), *expected, "{steps:?}");
            }
        }
    }

    #[test]
    fn a_single_one_is_passed_on_in_time() {
        let start = Instant::now();
        let mut leaving = Leaving::default();
        leaving.take(b"\x1c", start);
        assert_eq!(leaving.due(), Some(start + PATIENCE));
        assert_eq!(leaving.late(start + Duration::from_millis(499)), b"");
        assert_eq!(leaving.late(start + PATIENCE), b"\x1c");
        assert_eq!((leaving.due(), leaving.late(start + PATIENCE)), (None, Vec::new()));
    }
}
