//! The input that is being typed, step by step.
//!
//! A text is typed, and its echo is waited for. Where a program reads keys and does not ask to be told of pastes, the
//! first character is typed alone, and the rest only if that one was shown: keys that a menu takes are choices. Without
//! an echo Enter is not pressed, since it would confirm whatever has the keyboard. Enter is pressed in a write of its own,
//! because programs take an Enter that arrives with a text for a part of it. Then the program must react, and the text
//! must be gone from where it was typed; if it is not, Enter is pressed once more.

use std::time::Duration;

use super::action::Action;
use super::answer::Delivery;
use super::explain::{Step, Underway};
use super::job::{Job, Work};
use super::look::{self, Look, Reads};
use super::timer::Wait;
use super::turn::Turn;

/// A terminal that was quiet for so long has shown what was typed.
pub(super) const ECHO_QUIET: Duration = Duration::from_millis(40);
/// A terminal that is never quiet is looked at so often while the echo is waited for.
pub(super) const ECHO_LOOK: Duration = Duration::from_secs(1);
/// The echo is waited for no longer. A busy agent draws late.
pub(super) const ECHO_LIMIT: Duration = Duration::from_secs(8);
/// The quiet after something that nobody waits for is waited for no longer.
pub(super) const REST_LIMIT: Duration = Duration::from_secs(1);
/// A program that printed and then was quiet for so long has reacted.
pub(super) const REACTION_QUIET: Duration = Duration::from_millis(60);
/// The reaction is waited for no longer.
pub(super) const REACTION_LIMIT: Duration = Duration::from_secs(2);
/// A program that was quiet for so long while the text still stands has not taken it: Enter is pressed again.
pub(super) const DOUBT_QUIET: Duration = Duration::from_millis(300);
/// Its quiet is waited for no longer.
pub(super) const DOUBT_LIMIT: Duration = Duration::from_secs(2);
/// Programs that read two keys at once take only one of them.
pub(super) const KEY_GAP: Duration = Duration::from_millis(20);
/// How many bytes a terminal echoes for Enter.
pub(super) const ENTER_ECHO: u64 = 2;
/// A look that is not answered by then is done without.
pub(super) const LOOK_LIMIT: Duration = Duration::from_secs(1);

/// What came of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It waits for more.
    Waits,
    /// The text was typed, with this result. There is nothing more to do.
    Settled(Delivery),
    /// All was typed that is to be typed; what follows must wait a little.
    Typed,
    /// That wait is over.
    Rested,
}

/// The input that is being typed.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) job: Job,
    /// How many bytes were printed before.
    pub(super) at: u64,
    step: Step,
    /// What is looked for, or nothing.
    tail: String,
    /// When this step must be over.
    until: Duration,
    /// How many bytes were printed in this step.
    heard: u64,
    /// When the last of them was printed, or the step began.
    still_since: Duration,
    /// The screen before anything was typed, and then the screen before Enter.
    before: Look,
    /// What is typed once the first character was shown.
    rest: String,
    looking: Option<u64>,
}

impl Running {
    /// Types the first of it.
    pub(super) fn begin(job: Job, at: u64, turn: &mut Turn<'_>) -> (Self, Outcome) {
        let tail = match &job.work {
            Work::Text { text, .. } => look::tail_of(text),
            Work::Keys(_) => String::new(),
        };
        let mut running = Self {
            job,
            at,
            step: Step::Rest,
            tail,
            until: turn.now,
            heard: 0,
            still_since: turn.now,
            before: Look::default(),
            rest: String::new(),
            looking: None,
        };
        let outcome = running.first(turn);
        (running, outcome)
    }

    fn first(&mut self, turn: &mut Turn<'_>) -> Outcome {
        let (text, submit) = match &self.job.work {
            Work::Text { text, submit } => (text.clone(), *submit),
            Work::Keys(_) => return self.press(0, turn),
        };
        match (text.is_empty(), submit) {
            (true, false) => self.rest(turn),
            (false, false) => {
                turn.act(Action::Paste(text));
                self.rest(turn)
            }
            // Nothing of it would be seen.
            (_, true) if self.tail.is_empty() => Outcome::Settled(Delivery::NotTyped),
            (_, true) => {
                self.enter(Step::Before, LOOK_LIMIT, turn);
                self.ask(turn)
            }
        }
    }

    /// Types the text, or its first character, if a text belongs there.
    fn start(&mut self, turn: &mut Turn<'_>) -> Outcome {
        let Work::Text { text, .. } = &self.job.work else { return Outcome::Waits };
        let (first, rest) = match self.before.reads {
            Reads::Lines | Reads::Pastes => (text.as_str(), ""),
            Reads::Keys => look::split_first(text),
            Reads::Blindly => return Outcome::Settled(Delivery::NotTyped),
        };
        let step = if rest.is_empty() { Step::Echo } else { Step::First };
        let (first, rest) = (first.to_owned(), rest.to_owned());
        self.tail = look::tail_of(&first);
        self.rest = rest;
        turn.act(Action::Paste(first));
        self.await_echo(step, turn)
    }

    /// The first character was shown: types the rest.
    fn type_rest(&mut self, turn: &mut Turn<'_>) -> Outcome {
        let Work::Text { text, .. } = &self.job.work else { return Outcome::Waits };
        self.tail = look::tail_of(text);
        turn.act(Action::Paste(std::mem::take(&mut self.rest)));
        self.await_echo(Step::Echo, turn)
    }

    fn await_echo(&mut self, step: Step, turn: &mut Turn<'_>) -> Outcome {
        self.enter(step, ECHO_LIMIT, turn);
        turn.after(Wait::Limit, ECHO_LOOK);
        Outcome::Waits
    }

    /// Something was printed.
    pub(super) fn output(&mut self, bytes: u64, turn: &mut Turn<'_>) {
        self.heard = self.heard.saturating_add(bytes);
        self.still_since = turn.now;
        match self.step {
            Step::First | Step::Echo | Step::Rest => turn.after(Wait::Quiet, ECHO_QUIET),
            Step::Reaction { .. } | Step::Doubt => turn.after(Wait::Quiet, REACTION_QUIET),
            Step::Before | Step::Keys(_) => {}
        }
    }

    /// Nothing was printed for a while.
    pub(super) fn quiet(&mut self, turn: &mut Turn<'_>) -> Outcome {
        if self.looking.is_some() {
            return Outcome::Waits;
        }
        match self.step {
            Step::Reaction { .. } if !self.is_reaction() => Outcome::Waits,
            Step::First | Step::Echo | Step::Reaction { .. } | Step::Doubt => self.ask(turn),
            Step::Rest => Outcome::Rested,
            Step::Before | Step::Keys(_) => Outcome::Waits,
        }
    }

    /// This step has taken as long as it may.
    pub(super) fn limit(&mut self, turn: &mut Turn<'_>) -> Outcome {
        if self.looking.take().is_some() {
            return self.unseen();
        }
        match self.step {
            Step::Reaction { again: false } if !self.is_reaction() => Outcome::Settled(Delivery::Unseen),
            Step::Reaction { again: true } if !self.is_reaction() => Outcome::Settled(Delivery::Left),
            Step::Before | Step::First | Step::Echo | Step::Reaction { .. } | Step::Doubt => self.ask(turn),
            Step::Keys(done) => self.press(done, turn),
            Step::Rest => Outcome::Rested,
        }
    }

    /// The screen was looked at.
    pub(super) fn looked(&mut self, token: u64, look: Look, turn: &mut Turn<'_>) -> Outcome {
        if self.looking != Some(token) {
            return Outcome::Waits;
        }
        self.looking = None;
        self.judge(look, turn)
    }

    fn judge(&mut self, look: Look, turn: &mut Turn<'_>) -> Outcome {
        let left = look.is_left(self.before);
        let last = turn.now >= self.until;
        match self.step {
            Step::Before => {
                self.before = look;
                self.start(turn)
            }
            Step::First if look.is_first_echo(self.before, self.first_cells()) => self.type_rest(turn),
            Step::Echo if look.is_echo(self.before) => {
                self.before = look;
                self.strike(false, turn)
            }
            Step::First | Step::Echo if last => Outcome::Settled(Delivery::NotTyped),
            Step::First | Step::Echo => {
                turn.timers.set(Wait::Limit, self.until.min(turn.now.saturating_add(ECHO_LOOK)));
                Outcome::Waits
            }
            Step::Reaction { .. } | Step::Doubt if !left => Outcome::Settled(Delivery::Taken),
            Step::Reaction { again: false } => self.doubt(turn),
            Step::Reaction { again: true } if last => Outcome::Settled(Delivery::Left),
            Step::Reaction { again: true } => {
                turn.timers.set(Wait::Limit, self.until);
                Outcome::Waits
            }
            Step::Doubt if last || turn.now >= self.still_since.saturating_add(DOUBT_QUIET) => {
                self.before = look;
                self.strike(true, turn)
            }
            Step::Doubt => {
                turn.timers.set(Wait::Quiet, self.still_since.saturating_add(DOUBT_QUIET));
                turn.timers.set(Wait::Limit, self.until);
                Outcome::Waits
            }
            Step::Keys(_) | Step::Rest => Outcome::Waits,
        }
    }

    /// Nobody told what the screen shows.
    fn unseen(&self) -> Outcome {
        match self.step {
            Step::Before | Step::First | Step::Echo => Outcome::Settled(Delivery::NotTyped),
            Step::Reaction { .. } | Step::Doubt => Outcome::Settled(Delivery::Unseen),
            Step::Keys(_) | Step::Rest => Outcome::Waits,
        }
    }

    /// Whether more was printed than the terminal itself prints for Enter. That much comes also if nobody reads.
    fn is_reaction(&self) -> bool {
        self.heard > ENTER_ECHO
    }

    /// How many cells the first character takes, with the blanks before it.
    fn first_cells(&self) -> usize {
        let Work::Text { text, .. } = &self.job.work else { return 0 };
        look::cells(look::split_first(text).0)
    }

    /// Asks for a look.
    fn ask(&mut self, turn: &mut Turn<'_>) -> Outcome {
        let token = turn.timers.renew();
        self.looking = Some(token);
        turn.after(Wait::Limit, LOOK_LIMIT);
        turn.act(Action::Look { token, tail: self.tail.clone() });
        Outcome::Waits
    }

    /// Presses Enter.
    fn strike(&mut self, again: bool, turn: &mut Turn<'_>) -> Outcome {
        turn.act(Action::Write(b"\r".to_vec()));
        self.enter(Step::Reaction { again }, REACTION_LIMIT, turn)
    }

    /// Presses the key of this number.
    fn press(&mut self, number: usize, turn: &mut Turn<'_>) -> Outcome {
        let Work::Keys(keys) = &self.job.work else { return Outcome::Waits };
        let Some(key) = keys.get(number) else { return self.rest(turn) };
        turn.act(Action::Press(key.clone()));
        if number + 1 < keys.len() {
            self.enter(Step::Keys(number + 1), KEY_GAP, turn)
        } else {
            self.rest(turn)
        }
    }

    fn doubt(&mut self, turn: &mut Turn<'_>) -> Outcome {
        self.enter(Step::Doubt, DOUBT_LIMIT, turn);
        turn.after(Wait::Quiet, DOUBT_QUIET);
        Outcome::Waits
    }

    fn rest(&mut self, turn: &mut Turn<'_>) -> Outcome {
        self.enter(Step::Rest, REST_LIMIT, turn);
        turn.after(Wait::Quiet, ECHO_QUIET);
        Outcome::Typed
    }

    /// Begins a step that may take so long.
    fn enter(&mut self, step: Step, span: Duration, turn: &mut Turn<'_>) -> Outcome {
        self.step = step;
        self.heard = 0;
        self.still_since = turn.now;
        self.until = turn.now.saturating_add(span);
        turn.timers.renew();
        turn.timers.set(Wait::Limit, self.until);
        Outcome::Waits
    }

    pub(super) fn explain(&self) -> Underway {
        Underway {
            id: self.job.id.clone(),
            callers: self.job.callers.clone(),
            step: self.step,
            at: self.at,
            looking: self.looking,
        }
    }

    /// Whether Enter was pressed after a text.
    pub(super) fn is_submitted(&self) -> bool {
        matches!(self.step, Step::Reaction { .. } | Step::Doubt)
    }

    /// Whether its callers have their answer.
    pub(super) fn is_answered(&self) -> bool {
        self.step == Step::Rest
    }
}
