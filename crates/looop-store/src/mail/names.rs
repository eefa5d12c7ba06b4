//! What letters are called: `<worker>-<n>`, and a number is not used twice.

use looop_core::model::name::is_name;
use looop_core::world::fleet::worker_of;

use super::settle::SETTLED;
use crate::dir::Reader;
use crate::error::{StoreError, failed};

/// Most letters of a worker's id that go into the name of its letters: the number needs room in a name, too.
const LONGEST_STEM: usize = 53;
/// Longest number that is read in a name. A longer one is nobody's count.
const LONGEST_NUMBER: usize = 9;

/// Whether a text names a session, `<worker>~<n>`, or a worker as older versions did.
pub fn is_session(text: &str) -> bool {
    let number = text.strip_prefix(worker_of(text)).unwrap_or_default();
    let numbered =
        number.strip_prefix('~').is_none_or(|digits| (1..=20).contains(&digits.len()) && all_digits(digits));
    is_name(worker_of(text)) && numbered
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// How the names of a session's letters begin. `ask-<n>` is the loop's own.
pub(super) fn prefix(session: &str) -> String {
    let worker = worker_of(session);
    if worker == "ask" {
        return "worker-ask-".to_owned();
    }
    format!("{}-", worker.get(..LONGEST_STEM).unwrap_or(worker))
}

/// The number of a letter with that prefix, from its name or from what became of its name in `mail.d/`.
pub(super) fn number(prefix: &str, name: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?;
    let digits = rest.split('.').next().filter(|digits| digits.len() <= LONGEST_NUMBER)?;
    digits.parse().ok()
}

impl Reader {
    /// A number above that of every letter with this prefix that waits in one of the folders or was settled.
    ///
    /// Letters move from their folder to `mail.d/` and never back, so that looking there last misses none.
    pub(super) fn next_number(&self, prefix: &str, folders: &[&str]) -> Result<u64, StoreError> {
        let mut highest = 0;
        for folder in folders.iter().chain(&[SETTLED]) {
            let listed =
                self.disk().list(folder).into_io().map_err(failed(folder, "listed"))?.unwrap_or_default();
            let numbers = listed.iter().filter_map(|listed| number(prefix, listed.name.to_str()?));
            highest = numbers.fold(highest, u64::max);
        }
        Ok(highest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_told_from_other_texts() {
        for good in ["triage", "triage~1", "a.b-c~184", &format!("{}~1", "x".repeat(64))] {
            assert!(is_session(good), "{good}");
        }
        for bad in ["", "~1", "a~", "a~x", "a~1~2", "../a~1", "a b", "a~1/..", "a~-1", &"x".repeat(65)] {
            assert!(!is_session(bad), "{bad}");
        }
    }

    #[test]
    fn numbers_are_found_wherever_a_letter_went() {
        for (name, expected) in [
            ("triage-3.json", Some(3)),
            ("triage-3.ask.json", Some(3)),
            ("triage-12.broken-answer.2.json", Some(12)),
            ("triage-3-1.json", None),
            ("triage-.json", None),
            ("triage-9999999999.json", None),
            ("other-3.json", None),
        ] {
            assert_eq!(number("triage-", name), expected, "{name}");
        }
    }

    #[test]
    fn a_long_worker_leaves_room_for_the_number() {
        let id = format!("{}999999999", prefix(&format!("{}~7", "x".repeat(64))));
        assert!(is_name(&id), "{id}");
    }
}
