//! What became of the last inputs that had an id.

use std::collections::VecDeque;

use super::answer::{Answer, Delivery};

/// How many are remembered.
pub(super) const REMEMBERED: usize = 64;

/// The kinds of input that have ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    Keys,
}

/// The last inputs that had an id, oldest first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    results: VecDeque<(String, Kind, Answer)>,
}

impl Memory {
    pub(super) fn keep(&mut self, id: String, kind: Kind, answer: Answer) {
        if self.results.len() == REMEMBERED {
            self.results.pop_front();
        }
        self.results.push_back((id, kind, answer));
    }

    /// The result under this id, and of what kind of input.
    pub(super) fn recall(&self, id: &str) -> Option<(Kind, Answer)> {
        let (_, kind, answer) = self.results.iter().find(|(known, ..)| known == id)?;
        Some((*kind, answer.repeated()))
    }

    /// The ids of what was typed, oldest first.
    pub(super) fn typed(&self) -> Vec<String> {
        let was_typed = |answer: &Answer| match answer {
            Answer::Sent { delivery, .. } => match delivery {
                Delivery::Typed | Delivery::Taken | Delivery::Unseen => true,
                Delivery::Left | Delivery::NotTyped => false,
            },
            Answer::Keyed { .. } => true,
            Answer::Done | Answer::Refused(_) => false,
        };
        let typed = self.results.iter().filter(|(_, _, answer)| was_typed(answer));
        typed.map(|(id, ..)| id.clone()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.results.len()
    }
}
