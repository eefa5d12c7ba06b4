//! Random lives of sessions.

use proptest::prelude::*;

use super::drive::{Drive, GONE, STANDS, draft, press, send};
use crate::Ended;
use crate::kernel::{Action, Input, Look, Reads};

/// A life: what happens when, and what the screen shows each time it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) deadline: Option<u64>,
    /// What happens at which time, in order.
    pub(super) inputs: Vec<(u64, Input)>,
    pub(super) screens: Vec<Option<Look>>,
    /// What it shows before anything is typed.
    pub(super) before: Option<Look>,
    pub(super) end: u64,
}

impl Script {
    /// Plays it, with each timer set off so many times.
    pub(super) fn play(&self, timers: usize) -> Drive {
        let mut drive = Drive::new(self.deadline).seeing(&self.screens).before(self.before);
        drive.timers = timers;
        for (time, input) in &self.inputs {
            drive.until(*time);
            drive.tell(input.clone());
        }
        drive.until(self.end);
        drive
    }
}

/// The actions of a life, without the tokens of looks.
pub(super) fn without_tokens(trace: Vec<(u64, Action)>) -> Vec<(u64, Action)> {
    let blank = |action| {
        if let Action::Look { tail, .. } = action { Action::Look { token: 0, tail } } else { action }
    };
    trace.into_iter().map(|(time, action)| (time, blank(action))).collect()
}

fn id() -> impl Strategy<Value = Option<String>> {
    prop_oneof![3 => Just(None), 2 => "[ab]".prop_map(Some)]
}

/// Something that is typed. The caller is numbered later.
fn typing() -> impl Strategy<Value = Input> {
    let text = prop_oneof!["[a-c]{1,3}", Just(" ".to_owned()), Just(String::new())];
    let keys = proptest::collection::vec(prop_oneof![8 => Just("Up"), 1 => Just("none")], 0..4);
    prop_oneof![
        4 => (id(), text.clone()).prop_map(|(id, text)| send(0, id.as_deref(), &text)),
        2 => (id(), text).prop_map(|(id, text)| draft(0, id.as_deref(), &text)),
        2 => (id(), keys).prop_map(|(id, keys)| press(0, id.as_deref(), &keys)),
    ]
}

/// Something that happens in a life.
fn living() -> impl Strategy<Value = Input> {
    prop_oneof![
        30 => prop_oneof![0_u64..4, 4_u64..50].prop_map(|bytes| Input::Output { bytes }),
        20 => typing(),
        1 => Just(Input::Pause { caller: 0 }),
        3 => Just(Input::GoOn { caller: 0 }),
        1 => Just(Input::Spawned),
        1 => Just(Input::TreeGone),
    ]
}

/// Something that ends it, or is part of its end.
pub(super) fn ending() -> impl Strategy<Value = Input> {
    prop_oneof![
        Just(Input::Kill),
        Just(Input::Finish),
        Just(Input::StopSignal),
        (0..3).prop_map(|code| Input::ChildEnded(Ended::Exited(code))),
        Just(Input::SpawnFailed("no".to_owned())),
        Just(Input::TreeGone),
    ]
}

pub(super) fn anything() -> impl Strategy<Value = Input> {
    prop_oneof![40 => living(), 1 => ending()]
}

pub(super) fn glance() -> impl Strategy<Value = Look> {
    let other = (any::<bool>(), 0_u16..3, any::<bool>(), 0_u64..2, 0_u16..3);
    let other = other.prop_map(|(stands, up, open, mark, column)| Look {
        stands,
        up,
        open,
        mark,
        cursor: (0, column),
        ..GONE
    });
    let first = Look { mark: 1, cursor: (0, 1), ..STANDS };
    prop_oneof![4 => Just(STANDS), 2 => Just(GONE), 2 => Just(first), 3 => other]
}

/// What the screen shows before anything is typed.
fn before() -> impl Strategy<Value = Option<Look>> {
    let reads = prop_oneof![4 => Just(Reads::Lines), 2 => Just(Reads::Pastes), 3 => Just(Reads::Keys), 1 => Just(Reads::Blindly)];
    let look = (reads, any::<bool>()).prop_map(|(reads, stands)| Look { stands, reads, ..GONE });
    prop_oneof![9 => look.prop_map(Some), 1 => Just(None)]
}

/// How long nothing happens.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..5, 4 => 5_u64..70, 2 => 70_u64..400, 1 => 400_u64..2500]
}

/// Gives each caller a number of its own.
pub(super) fn number(inputs: &mut [(u64, Input)]) {
    for (number, (_, input)) in (1..).zip(inputs) {
        if let Input::Send { caller, .. }
        | Input::Key { caller, .. }
        | Input::Pause { caller }
        | Input::GoOn { caller } = input
        {
            *caller = number;
        }
    }
}

/// Puts inputs into a row by the gaps between them.
pub(super) fn timed(gaps: Vec<(u64, Input)>) -> Vec<(u64, Input)> {
    let mut now = 0;
    let mut inputs: Vec<(u64, Input)> = gaps
        .into_iter()
        .map(|(gap, input)| {
            now += gap;
            (now, input)
        })
        .collect();
    number(&mut inputs);
    inputs
}

/// A life that begins with its start most of the time.
pub(super) fn script() -> impl Strategy<Value = Script> {
    let start = prop_oneof![6 => Just(Input::Spawned), 1 => ending(), 1 => living()];
    let inputs = proptest::collection::vec((gap(), anything()), 0..40);
    let screens =
        proptest::collection::vec(prop_oneof![8 => glance().prop_map(Some), 1 => Just(None)], 0..12);
    let deadline = proptest::option::weighted(0.3, 0_u64..8000);
    (deadline, start, inputs, screens, before()).prop_map(|(deadline, start, inputs, screens, before)| {
        let inputs = timed(std::iter::once((0, start)).chain(inputs).collect());
        let end = inputs.last().map_or(0, |(time, _)| time + 12_000);
        Script { deadline, inputs, screens, before, end }
    })
}
