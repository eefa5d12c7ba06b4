//! What holds in every life.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::drive::{GONE, draft, ms, send};
use super::oracle::expected;
use super::scripts::{Script, anything, glance, script, timed, without_tokens};
use crate::kernel::{Action, Input, Kernel, Stage, Wait};

/// Inputs as no good host gives them: timers at any time or never, answers to looks that are late, twice or made up.
fn wild() -> impl Strategy<Value = Vec<(u64, Input)>> {
    let looked = (0_u64..40, glance()).prop_map(|(token, look)| Input::Looked { token, look });
    let input = prop_oneof![4 => anything(), 3 => Just(Input::Timer), 2 => looked];
    proptest::collection::vec((0_u64..600, input), 0..80).prop_map(timed)
}

/// A step of a machine, and what is said about all of them.
struct Watched {
    kernel: Kernel,
    actions: Vec<Action>,
    callers: BTreeMap<u64, usize>,
}

impl Watched {
    fn new(deadline: Option<u64>) -> Self {
        let kernel = Kernel::new(true, deadline.map(ms), Duration::ZERO);
        Self { kernel, actions: Vec::new(), callers: BTreeMap::new() }
    }

    fn step(&mut self, input: &Input, now: Duration) {
        if let Input::Send { caller, .. }
        | Input::Key { caller, .. }
        | Input::Pause { caller }
        | Input::GoOn { caller } = input
        {
            self.callers.insert(*caller, 0);
        }
        let actions = self.kernel.step(input.clone(), now);
        for action in &actions {
            if let Action::Reply { caller, .. } = action {
                *self.callers.get_mut(caller).expect("somebody who asked") += 1;
            }
        }
        let looks = actions.iter().position(|action| matches!(action, Action::Look { .. }));
        assert!(looks.is_none_or(|at| at + 1 == actions.len()), "a look may be answered on the spot");
        self.actions.extend(actions);
        let explained = self.kernel.explain();
        let timed = explained.timers.iter().any(|timer| timer.what != Wait::Deadline);
        assert_eq!(timed, explained.delivery.is_some(), "a delivery and nothing else waits: {explained:?}");
        if *input == Input::Timer {
            let next = self.kernel.next();
            assert!(next.is_none_or(|next| next > now), "{next:?} is not after {now:?}");
        }
    }

    fn count(&self, is_it: impl Fn(&Action) -> bool) -> usize {
        self.actions.iter().filter(|action| is_it(action)).count()
    }

    fn after(&self, is_it: impl Fn(&Action) -> bool) -> &[Action] {
        let at = self.actions.iter().position(is_it);
        at.map_or(&[], |at| &self.actions[at + 1..])
    }
}

fn types(action: &Action) -> bool {
    matches!(action, Action::Paste(_) | Action::Press(_) | Action::Write(_))
}

fn replies(action: &Action) -> bool {
    matches!(action, Action::Reply { .. })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_slow_one_does(script in script()) {
        let drive = script.play(1);
        let (actions, stage) = expected(&script);
        prop_assert_eq!(without_tokens(drive.trace), actions);
        prop_assert_eq!(drive.kernel.stage(), &stage);
    }

    #[test]
    fn more_timers_than_needed_change_nothing(script in script()) {
        let (once, thrice) = (script.play(1), script.play(3));
        prop_assert_eq!(once.trace, thrice.trace);
        prop_assert_eq!(once.kernel.explain(), thrice.kernel.explain());
    }

    #[test]
    fn a_kill_ends_whatever_happened(
        inputs in wild(),
        deadline in proptest::option::of(0_u64..20_000),
    ) {
        let mut watched = Watched::new(deadline);
        for (time, input) in &inputs {
            watched.step(input, ms(*time));
        }
        let now = ms(inputs.last().map_or(0, |(time, _)| *time));
        watched.step(&Input::Kill, now);
        watched.step(&Input::TreeGone, now);

        let spawned = watched.count(|action| *action == Action::BeginEnd) == 1;
        let never = watched.count(|action| matches!(action, Action::Over(crate::Ended::Spawn(_)))) == 1;
        prop_assert!(spawned || never);
        prop_assert_eq!(watched.count(|action| matches!(action, Action::Over(_))), 1);
        prop_assert!(matches!(watched.kernel.stage(), Stage::Over(_)));
        let twice = watched.callers.iter().find(|(_, count)| **count != 1);
        prop_assert_eq!(twice, None, "each caller is answered once");
        let begun = watched.after(|action| *action == Action::BeginEnd);
        prop_assert!(begun.iter().all(|action| replies(action) || matches!(action, Action::Over(_))));
        prop_assert!(watched.after(|action| matches!(action, Action::Over(_))).iter().all(replies));
        let explained = watched.kernel.explain();
        prop_assert_eq!((explained.timers, explained.delivery, explained.waiting, explained.waiting_bytes), (vec![], None, 0, 0));
    }

    #[test]
    fn nothing_is_typed_while_it_is_paused_or_has_not_started(inputs in wild()) {
        let mut watched = Watched::new(None);
        for (time, input) in &inputs {
            let stage = watched.kernel.stage().clone();
            let before = watched.actions.len();
            watched.step(input, ms(*time));
            let typed = watched.actions[before..].iter().any(types);
            let may = stage == Stage::Live || *watched.kernel.stage() == Stage::Live;
            prop_assert!(may || !typed, "{:?} while {:?}", input, stage);
        }
    }

    /// Texts of their own, so that it can be told from what is typed whose turn it is.
    #[test]
    fn deliveries_do_not_mix(
        kinds in proptest::collection::vec(any::<bool>(), 1..6),
        noise in proptest::collection::vec((0_u64..200, 0_u64..3), 0..60),
        screens in proptest::collection::vec(glance().prop_map(Some), 0..12),
    ) {
        let mut inputs = vec![(0, Input::Spawned)];
        for (number, submit) in (1..).zip(&kinds) {
            let text = format!("text {number}");
            inputs.push((0, if *submit { send(number, None, &text) } else { draft(number, None, &text) }));
        }
        let mut now = 0;
        for (gap, bytes) in noise {
            now += gap;
            inputs.push((now, Input::Output { bytes }));
        }
        let drive = Script { deadline: None, inputs, screens, before: Some(GONE), end: 60_000 }.play(1);
        let mut told = 0;
        let mut turn = 0;
        for (_, action) in &drive.trace {
            match action {
                Action::Paste(text) => {
                    turn += 1;
                    prop_assert_eq!(told + 1, turn, "all before it are answered");
                    prop_assert_eq!(text, &format!("text {turn}"));
                }
                Action::Write(_) => prop_assert!(kinds[turn - 1] && told + 1 == turn, "Enter belongs to the text before"),
                Action::Reply { caller, .. } => {
                    told += 1;
                    prop_assert_eq!((*caller, told), (u64::try_from(turn).unwrap(), turn));
                }
                Action::Look { .. } | Action::Publish(_) => {}
                Action::BeginEnd | Action::Freeze | Action::Thaw | Action::Press(_) | Action::Over(_) => {
                    prop_assert!(false, "nobody asked for {action:?}");
                }
            }
        }
        prop_assert_eq!(told, kinds.len(), "all are answered");
        let enters = drive.trace.iter().filter(|(_, action)| matches!(action, Action::Write(_))).count();
        prop_assert!(enters <= 2 * kinds.iter().filter(|submit| **submit).count());
    }
}
