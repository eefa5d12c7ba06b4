//! Whatever deciders, workers, sensors, letters and people say, and at whatever length: every append can be written, the
//! snapshot stays small, and a look brings a bounded number of further looks.

use proptest::prelude::*;

use super::*;
use crate::bounds::{self, json_width};
use crate::model::letter::{AskKind, Expense};
use crate::model::moves::Proposal;

/// Something that somebody says at some length, in characters that have one, two, four or six bytes in JSON.
#[derive(Clone, Debug)]
struct Words {
    bytes: usize,
    of: char,
}

impl Words {
    fn text(&self) -> String {
        self.of.to_string().repeat(self.bytes / self.of.len_utf8())
    }
}

#[derive(Clone, Debug)]
enum Input {
    Ask(u8, AskKind, Words),
    Propose(u8, Words),
    Answer(u8, Words),
    Tell(u8, Words),
    Spend(u8, Words),
    Reading(u8, Words),
    Goal(u8, Words),
    Check(u8, Words),
    Decide(Words),
    Fail(Words),
    Ends(Words),
    Make(Words),
    Config(Words),
    Blind(Words),
}

fn words() -> impl Strategy<Value = Words> {
    let bytes = prop_oneof![0_usize..300, 3000_usize..6000, 60_000_usize..70_000, 250_000_usize..1_100_000];
    let of = prop_oneof![Just('x'), Just('"'), Just('\u{1}'), Just('🦀'), Just('\n')];
    (bytes, of).prop_map(|(bytes, of)| Words { bytes, of })
}

fn kind() -> impl Strategy<Value = AskKind> {
    prop_oneof![Just(AskKind::Question), Just(AskKind::Flag)]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        (any::<u8>(), kind(), words()).prop_map(|(n, kind, words)| Input::Ask(n, kind, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Propose(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Answer(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Tell(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Spend(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Reading(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Goal(n, words)),
        (any::<u8>(), words()).prop_map(|(n, words)| Input::Check(n, words)),
        words().prop_map(Input::Decide),
        words().prop_map(Input::Fail),
        words().prop_map(Input::Ends),
        words().prop_map(Input::Make),
        words().prop_map(Input::Config),
        words().prop_map(Input::Blind),
    ]
}

impl World {
    fn flooded(&mut self, input: &Input) {
        let session = |n: &u8| format!("w{}~1", n % 7);
        match input {
            Input::Ask(n, kind, words) => {
                let id = format!("a-{n}");
                self.asks(&id, &session(n), *kind);
                let ask = self.seen.letters.asks.get_mut(&id).expect("the ask");
                (ask.prompt, ask.goal) = (words.text(), Some(format!("no-such-goal-{n}")));
                ask.asked = i64::from(*n) - 128;
            }
            Input::Propose(n, words) => {
                let id = format!("p-{n}");
                self.asks(&id, &session(n), AskKind::Proposal);
                let ask = self.seen.letters.asks.get_mut(&id).expect("the ask");
                ask.proposal = Some(json!({"action": "write_goal", "id": "g", "body": words.text()}));
            }
            Input::Answer(n, words) => self.answers(&format!("a-{n}"), &words.text()),
            Input::Tell(n, words) => {
                let id = format!("t-{n}");
                self.tells(&id, &session(n));
                self.seen.letters.tells.get_mut(&id).expect("the tell").text = words.text();
            }
            Input::Spend(n, words) => {
                let id = format!("s-{n}");
                let text = Some(words.text());
                let expense = Expense {
                    v: 1,
                    id: id.clone(),
                    session: session(n),
                    usd: 0.01,
                    tokens_in: u64::MAX,
                    tokens_out: 1,
                    tokens_cached: 1,
                    model: text.clone(),
                    runner: text,
                    goal: Some(format!("spent-{n}")),
                    extra: false,
                    recorded: i64::MIN,
                };
                self.seen.letters.expenses.insert(id, expense);
            }
            Input::Reading(n, words) => self.reading(&format!("r{}", n % 20), json!({"text": words.text()})),
            Input::Goal(n, words) => {
                let text =
                    format!("---\ncheck: test {n}\nrun: {}\n---\n{}", words.text().replace('\n', " "), n);
                self.seen.docs.goals.insert(format!("g{}", n % 9), Doc::of(text));
            }
            Input::Check(n, words) => {
                let checked = Checked { ended: Ended::Exited(1), output: words.text() };
                self.seen.checks.insert(format!("g{}", n % 9), checked);
            }
            Input::Decide(words) if self.engine.ledger().deciding.is_some() => {
                let action = json!({"action": "run_shell", "cmd": words.text(), "journal": words.text(), "x": words.text()});
                self.decided(&action);
            }
            Input::Fail(words) if self.engine.ledger().deciding.is_some() => self.failed(&words.text()),
            Input::Decide(_) | Input::Fail(_) => {}
            Input::Ends(words) => {
                if self.engine.ledger().acting.is_some() {
                    let shell = Shell { ended: Ended::Spawn(words.text()), tail: words.text(), bytes: 1 };
                    self.acted(Outcome::Failed { reason: words.text(), shell: Some(shell) });
                }
            }
            Input::Make(words) => {
                let action = Move::RunShell { cmd: words.text(), reason: Some(words.text()) };
                self.ask(Request::Make { proposal: Proposal::of(action) });
            }
            Input::Config(words) => drop(self.step(Event::Configured(Some(words.text())))),
            Input::Blind(words) => {
                self.step(Event::Woke(Cause::Timer));
                self.step(Event::Blind(words.text(), Scope::Full));
            }
        }
    }

    /// Looks, with all that follows from it; says how many looks that were.
    fn looks_on(&mut self) -> usize {
        self.effects.clear();
        self.step(Event::Woke(Cause::Timer));
        let mut looks = 0;
        let wanted = |effect: &Effect| if let Effect::Sense(scope, _) = effect { Some(*scope) } else { None };
        while let Some(scope) = self.effects.iter().find_map(wanted) {
            let left = self.effects.split_off(0);
            let others = left.into_iter().filter(|effect| wanted(effect) != Some(scope));
            self.effects.extend(others);
            self.seen.scope = scope;
            self.sense();
            self.settle();
            looks += 1;
            assert!(looks < 20, "one look brings another without end");
        }
        looks
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 10, ..ProptestConfig::default() })]

    #[test]
    fn no_flood_makes_an_append_or_a_snapshot_that_is_too_large(
        inputs in proptest::collection::vec(input(), 1..60),
    ) {
        let mut world = World::new(true, &["m"]);
        for (number, input) in inputs.iter().enumerate() {
            world.flooded(input);
            if number % 5 == 4 {
                world.pass(Duration::from_mins(2));
                world.looks_on();
            }
            let width = world.lines.last().map_or(0, json_width);
            prop_assert!(width < bounds::LINE / 2, "a line of {} bytes after {:?}", width, input);
            world.lines.clear();
        }
        world.looks_on();
        let width = json_width(world.engine.ledger());
        prop_assert!(width < bounds::SNAPSHOT / 4, "a snapshot of {} bytes", width);
        prop_assert!(world.engine.ledger().parked_width() <= bounds::PARKED);
    }
}
