//! The work of workers: what one left in its own copy of a repository, what became of it, and what the next one is told.

use serde::{Deserialize, Serialize};

use super::moves::one_line;

/// Most characters of a question, and of its answer, that the next worker is told.
const SAID: usize = 500;
/// Most questions of one worker that the next one is told.
const QUESTIONS: usize = 5;

/// What a worker left in its own copy of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The branch that has it.
    pub branch: String,
    /// Commits that the branch has more than the one that it was started from.
    #[serde(default)]
    pub commits: u64,
    /// Files that they change.
    #[serde(default)]
    pub files: u64,
    /// Why it is not known what it left, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Work {
    /// Whether it changed nothing.
    pub fn is_nothing(&self) -> bool {
        self.problem.is_none() && self.commits == 0 && self.files == 0
    }

    /// How much it is, in words.
    pub fn text(&self) -> String {
        let many = |count: u64, word: &str| match count {
            1 => format!("1 {word}"),
            _ => format!("{count} {word}s"),
        };
        match &self.problem {
            Some(problem) => format!("not known: {problem}"),
            None if self.is_nothing() => "no change".to_owned(),
            None => format!("{}, {}", many(self.commits, "commit"), many(self.files, "file")),
        }
    }
}

/// What a person does with the work of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// Merge it into the branch that is checked out.
    Merge,
    /// Throw it away.
    Discard,
    /// Push it and open a pull request. The work still waits then.
    PullRequest,
}

impl Settle {
    /// The verb that does it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Discard => "discard",
            Self::PullRequest => "pr",
        }
    }

    /// What was done, in words.
    pub fn done(self) -> &'static str {
        match self {
            Self::Merge => "merged",
            Self::Discard => "discarded",
            Self::PullRequest => "pushed for a pull request",
        }
    }

    /// The one that a verb does.
    pub fn of_verb(verb: &str) -> Option<Self> {
        [Self::Merge, Self::Discard, Self::PullRequest].into_iter().find(|settle| settle.verb() == verb)
    }
}

/// What a person did with the work of a worker, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// What.
    pub how: Settle,
    /// Why, where they said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What the command said that proves the work of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// How it ended, and its last line.
    pub text: String,
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

/// A question of a worker, and what the person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
}

impl Answered {
    /// Both within their bounds.
    pub fn new(question: &str, answer: &str) -> Self {
        Self { question: one_line(question, SAID), answer: one_line(answer, SAID) }
    }

    /// Adds one to those of a worker; the oldest goes where there are too many.
    pub(crate) fn add(all: &mut Vec<Self>, question: &str, answer: &str) {
        all.push(Self::new(question, answer));
        let extra = all.len().saturating_sub(QUESTIONS);
        all.drain(..extra);
    }
}

/// What a worker is told of the last one that served its goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// Its session.
    pub session: String,
    /// How it ended, in words.
    pub ended: String,
    /// The branch that has its work, if it left any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the command said that was to prove its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Whether a person threw its work away, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<String>,
    /// What it asked, and what was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_in_words() {
        let work = |commits, files| Work { commits, files, ..Work::default() };
        assert_eq!(work(0, 0).text(), "no change");
        assert_eq!(work(1, 2).text(), "1 commit, 2 files");
        let unknown = Work { problem: Some("no git".to_owned()), ..Work::default() };
        assert!(!unknown.is_nothing() && unknown.text() == "not known: no git");
    }

    #[test]
    fn the_newest_questions_are_kept() {
        let mut all = Vec::new();
        (0..8).for_each(|n| Answered::add(&mut all, &format!("q{n}"), &"a".repeat(5000)));
        assert_eq!((all.len(), all[0].question.as_str()), (QUESTIONS, "q3"));
        assert!(all.iter().all(|told| told.answer.chars().count() <= SAID));
    }
}
