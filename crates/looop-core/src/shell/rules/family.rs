//! Programs with verbs: which of them only look, and which change something.

use crate::shell::call::{Call, Verdict};
use crate::shell::screening::Danger;

/// A program, or several that take the same verbs.
pub(super) struct Family {
    pub(super) programs: &'static [&'static str],
    /// Options before the verb that take the next word along.
    pub(super) valued: &'static [&'static str],
    /// Verbs of up to three words that are plain.
    pub(super) plain: &'static [&'static str],
    pub(super) unknown: &'static [&'static str],
    pub(super) destructive: &'static [&'static str],
    /// What a verb is that no list names.
    pub(super) rest: Danger,
    /// What the verbs that are not plain do.
    pub(super) why: &'static str,
}

/// A family that is plain but for what it lists.
pub(super) const PLAIN: Family = Family {
    programs: &[],
    valued: &[],
    plain: &[],
    unknown: &[],
    destructive: &[],
    rest: Danger::Plain,
    why: "changes something outside",
};

impl Family {
    pub(super) fn knows(&self, program: &str) -> bool {
        self.programs.contains(&program)
    }

    /// Judges a call by its verb. A call without a verb only shows help.
    pub(super) fn judge(&self, call: &Call, verdict: &mut Verdict) {
        let verbs = call.verbs(self.valued, 3);
        let known: Vec<String> = verbs.iter().map_while(Clone::clone).collect();
        let hidden = known.len() < verbs.len();
        if known.is_empty() && hidden {
            return verdict.unknown(format!("{} hides what it does", call.shown()));
        }
        let (danger, words) = self.danger(&known);
        if hidden && words < known.len() + 1 && self.has_longer(&known) {
            verdict.unknown(format!("{} hides what it does", call.shown()));
        }
        if !known.is_empty() {
            verdict.add(danger, format!("{} {}", call.shown(), self.why));
        }
    }

    /// The danger of the longest listed verb that the words begin with, and its length.
    fn danger(&self, words: &[String]) -> (Danger, usize) {
        for count in (1..=words.len()).rev() {
            let verb = words[..count].join(" ");
            let listed = |list: &[&str]| list.iter().any(|entry| *entry == verb || is_start_of(entry, &verb));
            for (list, danger) in [
                (self.destructive, Danger::Destructive),
                (self.unknown, Danger::Unknown),
                (self.plain, Danger::Plain),
            ] {
                if listed(list) {
                    return (danger, count);
                }
            }
        }
        (self.rest, 0)
    }

    /// Whether a list names a verb that is longer than these words.
    fn has_longer(&self, words: &[String]) -> bool {
        let start = words.join(" ") + " ";
        [self.destructive, self.unknown, self.plain]
            .iter()
            .any(|list| list.iter().any(|entry| entry.starts_with(&start)))
    }
}

/// An entry that ends in `*` stands for all verbs that begin so.
fn is_start_of(entry: &str, verb: &str) -> bool {
    entry.strip_suffix('*').is_some_and(|start| verb.starts_with(start))
}
