//! The engine by scenarios: events in, effects and entries out.

mod acts;
mod answers;
mod bank;
mod beats;
mod bounds;
mod consent;
mod corners;
mod crash;
mod crew;
mod decides;
mod ending;
mod flood;
mod letters;
mod limits;
mod looks;
mod machine;
mod notices;
mod owed;
mod progress;
mod prune;
mod requests;
mod review;
mod sensors;
mod spend;
mod stuck;
mod undo;
mod wake;
mod waking;
mod walks;
mod workers;
mod worst;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::io::{Effect, Event, Record, Reply, Request, RequestId};
use super::machine::{Engine, PaidDecider, Setup};
use super::wake::Cadence;
use crate::check::violations;
use crate::gate::{Limits, Why};
use crate::ledger::entry::{Cause, Entry, FailureKind, Line};
use crate::ledger::fold::apply_line;
use crate::ledger::state::Ledger;
use crate::meter::Micros;
use crate::model::digest::Digest;
use crate::model::letter::Answer;
use crate::model::money::Allowance;
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;
use crate::model::outcome::{Ended, Outcome, Shell};
use crate::model::plan::{Act, BeatId, Plan, RunId};
use crate::time::Now;
use crate::world::observation::{Checked, Doc, Observation, Scope};
use crate::world::reading::{Reading, Trust};

/// The edge in miniature: a world that tests change, a clock that tests move, and the log.
struct World {
    engine: Engine,
    seen: Observation,
    now: Now,
    lines: Vec<Line>,
    effects: Vec<Effect>,
    asked: u64,
}

/// What a worker may cost where nothing is said.
pub(crate) fn paid() -> Allowance {
    Allowance::Paid(Micros::new(2_000_000))
}

pub(crate) fn limits() -> Limits {
    Limits {
        worker_retry: Duration::ZERO,
        can_notify: true,
        config: Digest::of(b"config"),
        worker_runners: vec!["claude".to_owned()],
        ..Limits::default()
    }
}

impl World {
    fn new(builtin: bool, paid: &[&str]) -> Self {
        let paid = paid
            .iter()
            .map(|name| PaidDecider { name: (*name).to_owned(), free: false, tool: false, bound: None })
            .collect();
        let setup = Setup { limits: limits(), builtin, paid };
        let now = Now { wall: 1_800_000_000_000, up: 1_000_000, boot: 1, zone: TimeZone::UTC };
        let mut seen = Observation::default();
        seen.docs.playbook = Doc::of("Be careful.\n");
        let engine = Engine::new(Ledger::default(), setup);
        Self { engine, seen, now, lines: Vec::new(), effects: Vec::new(), asked: 0 }
    }

    fn goal(mut self, id: &str, text: &str) -> Self {
        self.seen.docs.goals.insert(id.to_owned(), Doc::of(text));
        self
    }

    fn check(&mut self, id: &str, code: i32) {
        self.seen.checks.insert(id.to_owned(), Checked { ended: Ended::Exited(code), output: String::new() });
    }

    fn reading(&mut self, name: &str, value: Value) {
        self.seen.readings.insert(name.to_owned(), Reading::of_value(value, Trust::Owner));
    }

    fn pass(&mut self, span: Duration) {
        let ms = u64::try_from(span.as_millis()).unwrap();
        self.now.up += ms;
        self.now.wall += i64::try_from(ms).unwrap();
    }

    /// One event; what the log gets is checked and kept.
    fn step(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.engine.step(event, &self.now);
        let logs = effects.iter().filter(|effect| matches!(effect, Effect::Log(_))).count();
        assert!(logs <= 1, "one step is one append");
        if logs == 1 {
            let Effect::Log(line) = &effects[0] else { panic!("the append comes first: {effects:?}") };
            self.lines.push(line.clone());
        }
        self.effects.extend(effects.iter().filter(|effect| !matches!(effect, Effect::Log(_))).cloned());
        effects
    }

    /// A beat that a timer wakes, up to the point where the engine waits for a child.
    fn beat(&mut self) {
        self.effects.clear();
        self.step(Event::Woke(Cause::Timer));
        self.sense();
    }

    /// How long until the loop looks by itself, with an interval of a minute.
    fn wait(&self) -> Duration {
        self.waits(Duration::from_mins(1))
    }

    /// The same with another interval.
    fn waits(&self, interval: Duration) -> Duration {
        let cadence = Cadence { idle: interval, busy: interval, active: interval };
        let ring = self.engine.alarm(&cadence, &self.now).up.expect("a wait");
        Duration::from_millis(ring.at.saturating_sub(self.now.up))
    }

    fn ask(&mut self, request: Request) -> RequestId {
        self.asked += 1;
        let docs = Some(Box::new(self.seen.docs.clone()));
        self.step(Event::Asked(RequestId(self.asked), Box::new(request), docs));
        RequestId(self.asked)
    }

    fn decided(&mut self, decision: &Value) {
        let run = self.engine.ledger().deciding.as_ref().expect("a decide").run;
        let record = record(run, Some(decision.clone()), None, self.now.wall);
        let docs = Box::new(self.seen.docs.clone());
        self.step(Event::Decided(run, Box::new(record), docs));
    }

    fn failed(&mut self, reason: &str) {
        let run = self.engine.ledger().deciding.as_ref().expect("a decide").run;
        let record = record(run, None, Some((FailureKind::Runner, reason.to_owned())), self.now.wall);
        let docs = Box::new(self.seen.docs.clone());
        self.step(Event::Decided(run, Box::new(record), docs));
    }

    fn acted(&mut self, outcome: Outcome) {
        let beat = self.engine.ledger().acting.as_ref().expect("a move").beat;
        self.step(Event::Acted(beat, outcome));
    }

    fn act(&self) -> Option<&Plan> {
        self.effects
            .iter()
            .find_map(|effect| if let Effect::Act(_, plan) = effect { Some(plan.as_ref()) } else { None })
    }

    fn decides(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::Decide(_))).count()
    }

    fn why(&self) -> Option<Why> {
        self.engine.ledger().skipped.as_ref().map(|skip| skip.why.clone())
    }

    /// The effects of one kind, in order.
    fn each<'a, T>(&'a self, pick: impl Fn(&'a Effect) -> Option<T>) -> Vec<T> {
        self.effects.iter().filter_map(pick).collect()
    }

    /// What a request heard last.
    fn reply(&self, id: RequestId) -> Option<Reply> {
        let mine = |effect: &Effect| {
            if let Effect::Reply(to, reply) = effect
                && *to == id
            {
                Some(reply.as_ref().clone())
            } else {
                None
            }
        };
        self.each(mine).pop()
    }

    fn sense(&mut self) {
        self.seen.docs.proposals = self.seen.letters.proposals();
        let seen = Box::new(self.seen.clone());
        self.step(Event::Sensed(seen));
    }

    /// Asks for a beat and lets it look.
    fn beat_by_person(&mut self) -> RequestId {
        self.effects.clear();
        let id = self.ask(Request::Beat);
        self.sense();
        id
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.iter().flat_map(|line| &line.entries)
    }

    fn replies(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::Reply(..))).count()
    }

    /// The ledger is the fold of the log, and the log breaks no rule.
    fn audit(&self) {
        let mut folded = Ledger::default();
        self.lines.iter().for_each(|line| apply_line(&mut folded, line));
        assert_eq!(&folded, self.engine.ledger());
        assert_eq!(violations(&self.lines), Vec::<String>::new());
        let text = serde_json::to_string(&self.lines).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Line>>(&text).unwrap(),
            self.lines,
            "the log survives a round trip"
        );
        let text = serde_json::to_string(&folded).unwrap();
        assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), folded, "and so does a snapshot");
    }

    /// As after a crash: the engine anew, from the log.
    fn crash(&mut self) {
        let mut folded = Ledger::default();
        self.lines.iter().for_each(|line| apply_line(&mut folded, line));
        self.engine = Engine::new(folded, self.engine.setup.clone());
        self.effects.clear();
        let docs = Some(Box::new(self.seen.docs.clone()));
        self.step(Event::Opened(docs));
    }
}

fn record(run: RunId, decision: Option<Value>, failure: Option<(FailureKind, String)>, ended: i64) -> Record {
    Record { decision, failure, ..Record::empty(run, ended) }
}

fn shell(code: i32) -> Outcome {
    let shell = Some(Shell { ended: Ended::Exited(code), tail: "out".into(), bytes: 3 });
    if code == 0 {
        Outcome::Done { note: None, shell }
    } else {
        Outcome::Failed { reason: format!("exit {code}"), shell }
    }
}

const RECIPE: &str = "---\ncheck: test -e x\nrun: touch x\n---\n";

#[test]
fn a_goal_with_a_recipe_converges_and_then_costs_nothing() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
    world.acted(shell(0));
    world.check("x", 0);
    world.beat();
    assert_eq!(world.act(), None);
    let written = world.lines.len();
    for _ in 0..10 {
        world.pass(Duration::from_mins(1));
        world.beat();
    }
    assert_eq!(world.lines.len(), written, "an idle beat writes nothing");
    world.audit();
}

#[test]
fn three_attempts_without_result_ask_a_person_once() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    for code in [0, 1, 0] {
        world.beat();
        assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
        world.acted(shell(code));
    }
    world.beat();
    let plan = world.act().expect("an ask").clone();
    let Act::File { path, .. } = &plan.act else { panic!("{plan:?}") };
    assert_eq!((plan.action.action(), path.as_str()), ("ask_human", "asks/ask-1.json"));
    world.acted(Outcome::done());
    let bytes = crate::admit::content(&plan).unwrap();
    world.seen.letters.asks.insert("ask-1".into(), serde_json::from_slice(&bytes).unwrap());
    for _ in 0..3 {
        world.beat();
        assert_eq!(world.act(), None, "it waits for the answer");
    }
    let answer = Answer { v: 1, ask: "ask-1".into(), text: "again".into(), answered: 0 };
    world.seen.letters.answers.insert("ask-1".into(), answer);
    world.beat();
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Settle(ask) if ask == "ask-1")));
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"), "it is tried again");
    world.audit();
}

#[test]
fn the_world_wakes_a_model_once_and_its_noop_settles_it() {
    let mut world = World::new(false, &["m"]).goal("g", "# Prose\n");
    world.beat();
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop", "reason": "all well"}));
    world.beat();
    assert_eq!((world.decides(), world.why()), (0, Some(Why::Unchanged)));
    world.reading("ci", json!({"signal": {"red": 0}, "detail": 1}));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    world.reading("ci", json!({"detail": 2, "signal": {"red": 0}}));
    world.beat();
    assert_eq!(world.decides(), 0, "a detail does not wake");
    world.audit();
}

#[test]
fn our_own_writing_does_not_wake_and_a_persons_does() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "write_goal", "id": "new", "body": "# New"}));
    world.acted(Outcome::done());
    world.seen.docs.goals.insert("new".into(), Doc::of("# New\n"));
    world.beat();
    assert_eq!(world.decides(), 0);
    world.seen.docs.goals.insert("new".into(), Doc::of("# New, edited\n"));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.audit();
}

#[test]
fn failures_back_off_and_an_edit_cuts_the_wait() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.failed("no such model");
    world.pass(Duration::from_secs(59));
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { failures: 1, wait_s: 60, .. })), "{:?}", world.why());
    world.pass(Duration::from_secs(1));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.failed("again");
    world.pass(Duration::from_secs(61));
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { failures: 2, wait_s: 120, .. })), "{:?}", world.why());
    world.seen.docs.playbook = Doc::of("Be bold.\n");
    world.beat();
    assert_eq!(world.decides(), 1, "an edit of the PLAYBOOK cuts the backoff");
    world.audit();
}

#[test]
fn a_list_of_deciders_is_tried_in_order_before_any_wait() {
    let mut world = World::new(false, &["a", "b"]);
    let asked = |world: &World| world.engine.ledger().deciding.as_ref().map(|d| d.decider.clone());
    world.beat();
    assert_eq!(asked(&world).as_deref(), Some("a"));
    world.failed("x");
    world.beat();
    assert_eq!(asked(&world).as_deref(), Some("b"));
    world.failed("y");
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { .. })));
    world.audit();
}

#[test]
fn unusable_and_refused_decisions_execute_nothing() {
    let table = [
        json!({"action": "fly"}),
        json!({"action": "run_shell"}),
        json!({"action": "run_shell", "cmd": 3}),
        json!({"action": "start_worker", "id": "w", "prompt": "p", "runner": "nobody"}),
        json!({"action": "kill_worker", "id": "w"}),
        json!({"action": "archive_goal", "id": "nope"}),
        json!({"action": "drop_schedule", "name": "nope"}),
        json!({"action": "remove_sensor", "name": "x"}),
        json!({"action": "undo", "beat": 1, "path": "goals/g.md", "what": "x"}),
    ];
    for decision in table {
        let mut world = World::new(false, &["m"]);
        world.beat();
        world.decided(&decision);
        assert_eq!(world.act(), None, "{decision}");
        assert_eq!(world.engine.ledger().failures.as_ref().map(|f| f.count), Some(1), "{decision}");
        assert_eq!(world.engine.ledger().deciding, None, "{decision}");
        world.pass(Duration::from_mins(2));
        world.beat();
        assert_eq!(world.decides(), 1, "{decision}");
        world.audit();
    }
}

#[test]
fn a_decision_is_overtaken_by_an_edit_of_what_it_rests_on() {
    type Edit = fn(&mut World);
    let edits: [(&str, Edit); 3] = [
        ("playbook", |world| world.seen.docs.playbook = Doc::of("New.\n")),
        ("the goal", |world| drop(world.seen.docs.goals.insert("g".into(), Doc::of("Changed\n")))),
        ("gone", |world| drop(world.seen.docs.goals.remove("g"))),
    ];
    for (name, edit) in edits {
        let mut world = World::new(false, &["m"]).goal("g", "# G\n");
        world.beat();
        edit(&mut world);
        world.decided(&json!({"action": "run_shell", "cmd": "x", "goal": "g"}));
        assert_eq!(world.act(), None, "{name}");
        assert_eq!(world.engine.ledger().failures, None, "{name}: overtaken is no failure");
        world.beat();
        assert_eq!(world.decides(), 1, "{name}");
        world.audit();
    }
    let mut world = World::new(false, &["m"]).goal("g", "# G\n").goal("h", "# H\n");
    world.beat();
    world.seen.docs.goals.insert("h".into(), Doc::of("Changed\n"));
    world.decided(&json!({"action": "run_shell", "cmd": "x", "goal": "g"}));
    assert!(world.act().is_some(), "another goal's edit does not overtake it");
}

#[test]
fn results_that_name_another_run_or_beat_are_dropped() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let docs = Box::new(world.seen.docs.clone());
    let stray = record(RunId(99), Some(json!({"action": "run_shell", "cmd": "x"})), None, 0);
    world.step(Event::Decided(RunId(99), Box::new(stray), docs));
    world.step(Event::Acted(BeatId(99), Outcome::done()));
    assert_eq!(world.act(), None);
    assert!(world.engine.ledger().deciding.is_some());
    assert!(
        world.lines.iter().flat_map(|line| &line.entries).any(|entry| matches!(entry, Entry::Dropped { .. }))
    );
    world.audit();
}

#[test]
fn shell_output_forces_a_look_but_cannot_chain_for_ever() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let mut decides = 0;
    for _ in 0..20 {
        if world.decides() == 1 {
            decides += 1;
            world.decided(&json!({"action": "run_shell", "cmd": "true"}));
            world.acted(shell(0));
        }
        world.pass(Duration::from_mins(1));
        world.beat();
    }
    assert_eq!(decides, 6, "one for the change, five in a chain");
    assert!(matches!(world.why(), Some(Why::Chain { count: 5 })), "{:?}", world.why());
    world.reading("ci", json!(1));
    world.beat();
    assert_eq!(world.decides(), 1, "a change opens the gate");
    world.audit();
}

#[test]
fn a_nudge_is_one_shot_and_forces() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop", "next_interval_s": 30}));
    assert_eq!(world.wait(), Duration::from_secs(30));
    world.beat();
    assert_eq!(world.decides(), 0);
    world.pass(Duration::from_secs(30));
    assert_eq!(world.wait(), Duration::from_secs(30), "past due never spins: the interval is what is left");
    world.beat();
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    world.pass(Duration::from_mins(10));
    world.beat();
    assert_eq!(world.decides(), 0);
    world.audit();
}

#[test]
fn a_stale_noop_with_open_work_is_looked_at_again() {
    let mut world = World::new(false, &["m"]).goal("x", "---\ncheck: false\n---\n");
    world.check("x", 1);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.pass(Duration::from_hours(5));
    world.beat();
    assert_eq!(world.decides(), 0);
    world.pass(Duration::from_hours(1));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.audit();
}

#[test]
fn an_overdue_goal_forces_once_a_day_and_must_not_be_passed_over() {
    let mut world = World::new(false, &["m"]).goal("x", "---\ncheck: false\n---\n");
    world.check("x", 1);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.pass(Duration::from_hours(25));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    assert!(world.lines.last().unwrap().entries.iter().any(|entry| matches!(entry, Entry::Rejected { .. })));
    world.pass(Duration::from_mins(2));
    world.beat();
    world.decided(&json!({"action": "noop", "deferred_goals": ["x"]}));
    assert_eq!(world.engine.ledger().failures, None);
    world.audit();
}

#[test]
fn a_flapping_reading_alone_wakes_every_ten_minutes() {
    let mut world = World::new(false, &["m"]);
    let mut decides = 0;
    for beat in 0..20 {
        world.reading("clock", json!(beat));
        world.beat();
        if world.decides() == 1 {
            decides += 1;
            world.decided(&json!({"action": "noop"}));
        }
        world.pass(Duration::from_secs(30));
    }
    assert!(decides <= 6, "{decides} decides");
    assert!(matches!(world.why(), Some(Why::Flapping { .. })));
    world.reading("other", json!(1));
    world.beat();
    assert_eq!(world.decides(), 1, "another change wakes at once");
    world.decided(&json!({"action": "noop"}));
    world.pass(Duration::from_mins(10));
    world.reading("clock", json!("again"));
    world.beat();
    assert_eq!(world.decides(), 1, "and so do ten minutes");
    world.audit();
}

#[test]
fn a_pause_stops_deciding_and_ends_by_itself() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    let until = world.now.wall + 60_000;
    world.ask(Request::Pause { until: Some(until) });
    world.beat();
    assert!(world.act().is_none() && world.decides() == 0);
    assert!(matches!(world.why(), Some(Why::Paused { .. })));
    world.pass(Duration::from_mins(1));
    world.beat();
    assert!(world.act().is_some());
    world.audit();
}

#[test]
fn a_broken_playbook_stops_everything_and_is_named() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    world.seen.docs.playbook = Doc::Broken { error: "PLAYBOOK.md is not UTF-8".into() };
    world.beat();
    assert!(world.act().is_none() && world.decides() == 0);
    assert_eq!(world.why(), Some(Why::BadFile { error: "PLAYBOOK.md is not UTF-8".into() }));
}

#[test]
fn what_was_not_seen_does_not_look_gone() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.reading("ci", json!(1));
    world.beat();
    world.decided(&json!({"action": "noop"}));
    let good = std::mem::take(&mut world.seen);
    world.seen.broken.push("goals cannot be read: Permission denied".into());
    world.beat();
    assert_eq!(world.decides(), 0);
    assert!(matches!(world.why(), Some(Why::BadFile { .. })));
    world.seen = good;
    world.beat();
    assert_eq!(world.decides(), 0, "the world is as it was");
    world.audit();
}

#[test]
fn a_persons_move_does_not_wait_for_a_decide() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let proposal = Proposal::of(Move::WriteGoal { id: Name::new("g").unwrap(), body: "text".into() });
    world.ask(Request::Make { proposal: proposal.clone() });
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("write_goal"));
    world.ask(Request::Make { proposal });
    world.acted(Outcome::done());
    assert_eq!(world.replies(), 1, "the second waits for the first");
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Again(..))));
    assert!(world.engine.ledger().deciding.is_some(), "the decide goes on");
    world.decided(&json!({"action": "noop"}));
    world.audit();
}

#[test]
fn a_dollar_cap_is_not_passed() {
    let mut world = World::new(false, &["m"]);
    let mut setup = Setup {
        limits: limits(),
        builtin: false,
        paid: vec![PaidDecider { name: "m".into(), free: false, tool: false, bound: None }],
    };
    setup.limits.daily_usd = Some(Micros::new(2_500_000));
    world.engine.configure(setup);
    let mut spent = 0;
    for beat in 0..5 {
        world.reading("n", json!({"signal": beat * 7 % 3, "detail": 0}));
        world.reading(&format!("s{beat}"), json!(1));
        world.beat();
        spent += world.decides();
        if world.decides() == 1 {
            world.decided(&json!({"action": "noop"}));
        }
    }
    assert_eq!(spent, 2, "a third decide may cost 1 of the 0.5 that are left");
    assert!(matches!(world.why(), Some(Why::Purse { .. })), "{:?}", world.why());
    world.audit();
}

#[test]
fn decides_per_hour_are_capped() {
    let mut world = World::new(false, &["m"]);
    let mut setup = Setup {
        limits: limits(),
        builtin: false,
        paid: vec![PaidDecider { name: "m".into(), free: true, tool: false, bound: None }],
    };
    setup.limits.decides_per_hour = 3;
    world.engine.configure(setup);
    let mut decides = BTreeSet::new();
    for minute in 0..70u64 {
        world.reading(&format!("s{minute}"), json!(1));
        world.beat();
        if world.decides() == 1 {
            decides.insert(minute);
            world.decided(&json!({"action": "noop"}));
        }
        world.pass(Duration::from_mins(1));
    }
    assert_eq!(decides.into_iter().collect::<Vec<_>>(), [0, 1, 2, 60, 61, 62]);
    world.audit();
}
