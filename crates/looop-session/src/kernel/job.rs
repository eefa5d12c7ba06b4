//! An input that is to be typed.

use super::answer::Answer;
use super::memory::Kind;

/// What a waiting input counts besides its text.
const OVERHEAD: usize = 64;

/// An input that is to be typed, and who waits for its result.
#[derive(Debug)]
pub(super) struct Job {
    /// The first asked for it; the others came later with the same id.
    pub(super) callers: Vec<u64>,
    pub(super) id: Option<String>,
    pub(super) work: Work,
}

/// What is to be typed.
#[derive(Debug)]
pub(super) enum Work {
    Text { text: String, submit: bool },
    Keys(Vec<String>),
}

impl Job {
    /// A text. Enter ends its last line, so the ends of lines after that are left off.
    pub(super) fn text(caller: u64, id: Option<String>, text: &str, submit: bool) -> Self {
        let text = text.replace("\r\n", "\n");
        let text = if submit { text.trim_end_matches('\n').to_owned() } else { text };
        Self { callers: vec![caller], id, work: Work::Text { text, submit } }
    }

    pub(super) fn keys(caller: u64, id: Option<String>, keys: Vec<String>) -> Self {
        Self { callers: vec![caller], id, work: Work::Keys(keys) }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.work {
            Work::Text { .. } => Kind::Text,
            Work::Keys(_) => Kind::Keys,
        }
    }

    /// How much room it takes while it waits.
    pub(super) fn bytes(&self) -> usize {
        OVERHEAD
            + match &self.work {
                Work::Text { text, .. } => text.len(),
                Work::Keys(keys) => keys.iter().map(|key| OVERHEAD + key.len()).sum(),
            }
    }

    /// Who is told what; those who came later are told that the id was known.
    pub(super) fn replies(&mut self, answer: &Answer) -> Vec<(u64, Answer)> {
        let callers = std::mem::take(&mut self.callers).into_iter();
        let told = |(place, caller)| (caller, if place == 0 { answer.clone() } else { answer.repeated() });
        callers.enumerate().map(told).collect()
    }
}
