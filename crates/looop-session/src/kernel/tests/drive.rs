//! A machine with a clock of its own and a screen that shows what the test says.

use std::collections::VecDeque;
use std::time::Duration;

use crate::kernel::{Action, Answer, Input, Kernel, Look, Reads, Step};

/// The text stands at the cursor.
pub(super) const STANDS: Look = Look { stands: true, ..GONE };
/// It does not.
pub(super) const GONE: Look =
    Look { stands: false, up: 0, open: false, mark: 0, cursor: (0, 0), reads: Reads::Lines };

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A machine, what it did and when, and what the screen will show.
pub(super) struct Drive {
    pub(super) kernel: Kernel,
    pub(super) now: u64,
    pub(super) trace: Vec<(u64, Action)>,
    /// The answers to the next looks; `None` is no answer. Those beyond find nothing.
    pub(super) screens: VecDeque<Option<Look>>,
    /// What the screen shows before anything is typed.
    pub(super) before: Option<Look>,
    /// How often each timer is set off.
    pub(super) timers: usize,
}

impl Drive {
    pub(super) fn new(deadline: Option<u64>) -> Self {
        let kernel = Kernel::new(true, deadline.map(ms), ms(0));
        Self { kernel, now: 0, trace: Vec::new(), screens: VecDeque::new(), before: Some(GONE), timers: 1 }
    }

    /// One whose child runs.
    pub(super) fn live() -> Self {
        let mut drive = Self::new(None);
        drive.tell(Input::Spawned);
        drive
    }

    pub(super) fn seeing(mut self, screens: &[Option<Look>]) -> Self {
        self.screens = screens.iter().copied().collect();
        self
    }

    pub(super) fn before(mut self, before: Option<Look>) -> Self {
        self.before = before;
        self
    }

    /// What the screen shows to this look.
    fn shown(&mut self) -> Option<Look> {
        match self.kernel.explain().delivery.map(|delivery| delivery.step) {
            Some(Step::Before) => self.before,
            _ => self.screens.pop_front().unwrap_or(Some(GONE)),
        }
    }

    /// Tells it something now, and what the screen shows when it asks.
    pub(super) fn tell(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for action in self.kernel.step(input, ms(self.now)) {
                if let Action::Look { token, .. } = action
                    && let Some(look) = self.shown()
                {
                    inputs.push_back(Input::Looked { token, look });
                }
                self.trace.push((self.now, action));
            }
        }
    }

    /// Lets time pass, and sets off the timers on the way.
    pub(super) fn until(&mut self, time: u64) {
        while let Some(next) = self.kernel.next().filter(|next| *next <= ms(time)) {
            self.now = u64::try_from(next.as_millis()).unwrap().max(self.now);
            for _ in 0..self.timers {
                self.tell(Input::Timer);
            }
        }
        self.now = time;
    }

    /// The child prints something at this time.
    pub(super) fn prints(&mut self, time: u64) {
        self.until(time);
        self.tell(Input::Output { bytes: 10 });
    }

    pub(super) fn send(&mut self, caller: u64, text: &str) {
        self.tell(send(caller, None, text));
    }

    /// What was done, without the looks.
    pub(super) fn deeds(&self) -> Vec<String> {
        let looks = |action: &Action| matches!(action, Action::Look { .. });
        let deeds = self.trace.iter().filter(|(_, action)| !looks(action));
        deeds.map(|(time, action)| format!("{time} {}", told(action))).collect()
    }

    pub(super) fn answers(&self) -> Vec<(u64, &Answer)> {
        let mut answers = Vec::new();
        for (_, action) in &self.trace {
            if let Action::Reply { caller, answer } = action {
                answers.push((*caller, answer));
            }
        }
        answers
    }
}

pub(super) fn send(caller: u64, id: Option<&str>, text: &str) -> Input {
    Input::Send { caller, id: id.map(str::to_owned), text: text.to_owned(), submit: true }
}

pub(super) fn draft(caller: u64, id: Option<&str>, text: &str) -> Input {
    Input::Send { caller, id: id.map(str::to_owned), text: text.to_owned(), submit: false }
}

pub(super) fn press(caller: u64, id: Option<&str>, keys: &[&str]) -> Input {
    Input::Key { caller, id: id.map(str::to_owned), keys: keys.iter().map(|&key| key.to_owned()).collect() }
}

/// An action in a few words.
pub(super) fn told(action: &Action) -> String {
    match action {
        Action::BeginEnd => "begin end".to_owned(),
        Action::Freeze => "freeze".to_owned(),
        Action::Thaw => "thaw".to_owned(),
        Action::Paste(text) => format!("paste {text}"),
        Action::Press(key) => format!("press {key}"),
        Action::Write(bytes) => format!("write {}", bytes.escape_ascii()),
        Action::Look { tail, .. } => format!("look for {tail}"),
        Action::Reply { caller, answer } => format!("tell {caller}: {}", answered(answer)),
        Action::Publish(state) => format!("publish {state:?}"),
        Action::Over(ended) => format!("over {ended:?}"),
    }
}

fn answered(answer: &Answer) -> String {
    let known = |again: &bool| if *again { ", again" } else { "" };
    match answer {
        Answer::Done => "done".to_owned(),
        Answer::Sent { at, delivery, again } => format!("{delivery:?} at {at}{}", known(again)),
        Answer::Keyed { at, again } => format!("keyed at {at}{}", known(again)),
        Answer::Refused(refusal) => refusal.to_string(),
    }
}
