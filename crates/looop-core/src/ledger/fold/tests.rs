//! The fold: what each entry makes of the ledger.

mod memory;
mod undo;
mod workers;

use serde_json::json;

use super::money::DAYS;
use super::{JOURNAL, NOTES, apply, apply_line};
use crate::gate::Why;
use crate::ledger::entry::{Cause, Entry, FailureKind, Force, Line, Spend};
use crate::ledger::state::{GoalRecord, Ledger, NoteKind, Nudge};
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::moves::Proposal;
use crate::model::outcome::{Ended, Outcome, Shell};
use crate::model::plan::{Act, Author, BeatId, Plan, RunId};
use crate::time::Stamp;
use crate::world::baseline::{Change, ChangeKind, Delta, Seen};

/// So many milliseconds after the log began.
fn at(ms: u64) -> Stamp {
    Stamp { wall: 1_800_000_000_000 + ms.cast_signed(), up: 1_000_000 + ms, boot: 1 }
}

fn folded(entries: &[Entry]) -> Ledger {
    let mut ledger = Ledger::default();
    then(&mut ledger, entries);
    ledger
}

/// Applies each entry as an append of its own, a second after the one before.
fn then(ledger: &mut Ledger, entries: &[Entry]) {
    for entry in entries {
        let (seq, at) = (ledger.seq + 1, at((ledger.seq + 1) * 1000));
        apply_line(ledger, &Line { seq, at, idle: 0, entries: vec![entry.clone()] });
    }
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn seen(text: &str) -> Seen {
    Seen { digest: digest(text), value: None }
}

fn saw(readings: &[(&str, Option<&str>)], quiet: u32) -> Entry {
    let readings = readings.iter().map(|(name, text)| ((*name).to_owned(), text.map(digest))).collect();
    Entry::Saw {
        readings,
        quiet,
        some: false,
        ready: None,
        held: Vec::new(),
        rewritten: Vec::new(),
        broke: None,
    }
}

fn saw_ready(ids: &[&str]) -> Entry {
    let ready = Some(ids.iter().map(|id| (*id).to_owned()).collect());
    Entry::Saw {
        readings: [].into(),
        quiet: 0,
        some: false,
        ready,
        held: Vec::new(),
        rewritten: Vec::new(),
        broke: None,
    }
}

fn decide(run: u64, forced: Option<Force>, changes: Vec<Change>) -> Entry {
    Entry::DecideStarted {
        tainted: Vec::new(),
        beat: BeatId(run),
        run: RunId(run),
        session: format!("decide~{run}"),
        decider: "m".into(),
        cause: Cause::Timer,
        forced,
        changes,
        sees: Delta([("playbook".to_owned(), Some(seen("seen")))].into()),
        files: [].into(),
        reserved_usd: 1.0,
        free: false,
        config: None,
    }
}

fn spend(day: &str, usd: f64) -> Spend {
    let source = "stream".into();
    Spend { day: day.into(), usd, source, tokens_in: 30, tokens_out: 2, tokens_cached: 7, ..Spend::default() }
}

fn decided(run: u64, proposal: serde_json::Value) -> Entry {
    let proposal: Proposal = serde_json::from_value(proposal).unwrap();
    Entry::Decided { beat: BeatId(run), run: RunId(run), proposal, spend: spend("2027-01-15", 0.5) }
}

fn failed(run: u64) -> Entry {
    let (beat, run, failure) = (BeatId(run), RunId(run), FailureKind::Runner);
    let (reason, spend) = ("no such model".to_owned(), spend("2027-01-15", 0.5));
    Entry::Failed { beat, run, failure, reason, spend, policy: digest("policy"), until: None }
}

fn model() -> Author {
    Author::Decider("m".into())
}

fn hosted(session: &str) -> Act {
    Act::Hosted { session: session.into() }
}

fn file(path: &str, after: Option<&str>) -> Act {
    Act::File { path: path.into(), before: None, after: after.map(digest) }
}

fn plan(author: Author, action: serde_json::Value, act: Act) -> Plan {
    let action = serde_json::from_value(action).unwrap();
    Plan::new(action, (author, act), at(0))
}

fn shell(author: Author) -> Plan {
    plan(author, json!({"action": "run_shell", "cmd": "x"}), hosted("move~1"))
}

fn intended(beat: u64, plan: Plan) -> Entry {
    let beat = BeatId(beat);
    Entry::Intended { beat, plan: Box::new(plan), cause: None, changes: Vec::new(), why: None }
}

fn finished(beat: u64, outcome: Outcome) -> Entry {
    Entry::Finished { beat: BeatId(beat), outcome, journal: None, policy: digest("policy") }
}

fn asked(ask: &str, goal: Option<&str>, asked: i64) -> Entry {
    let (from, prompt) = ("worker".to_owned(), "Really?".to_owned());
    Entry::Asked {
        ask: ask.into(),
        from,
        prompt,
        goal: goal.map(str::to_owned),
        kind: AskKind::Question,
        asked,
    }
}

fn notes(ledger: &Ledger) -> Vec<&NoteKind> {
    ledger.notes.iter().map(|note| &note.what).collect()
}

#[test]
fn an_append_moves_the_number_and_the_clock() {
    let ledger = folded(&[Entry::Seeded { files: vec![] }, Entry::Resumed]);
    assert_eq!((ledger.seq, ledger.at, ledger.seeded), (2, Some(at(2000)), true));
    assert!(!folded(&[Entry::Resumed]).seeded);
}

#[test]
fn a_streak_counts_changes_in_a_row_and_each_quiet_beat_counts_back() {
    let streak = |ledger: &Ledger| ledger.readings["n"].streak;
    let mut ledger = folded(&[saw(&[("n", Some("0"))], 0)]);
    assert_eq!(streak(&ledger), 0, "to appear is no change");
    then(
        &mut ledger,
        &[saw(&[("n", Some("1"))], 0), saw(&[("n", Some("2"))], 0), saw(&[("n", Some("3"))], 0)],
    );
    assert_eq!((streak(&ledger), ledger.readings["n"].digest), (3, digest("3")));
    then(&mut ledger, &[saw(&[("other", Some("0"))], 0)]);
    assert_eq!(streak(&ledger), 2, "a beat in which it was quiet");
    then(&mut ledger, &[saw(&[("n", Some("4"))], 2)]);
    assert_eq!(streak(&ledger), 1, "two quiet beats and a change");
    then(&mut ledger, &[saw(&[("n", Some("5"))], 9)]);
    assert_eq!(streak(&ledger), 1, "never below none");
    then(&mut ledger, &[saw(&[("n", None)], 0)]);
    assert!(!ledger.readings.contains_key("n"), "gone");
}

#[test]
fn a_goal_is_ready_since_it_was_first_seen_ready() {
    let since = |ledger: &Ledger, id: &str| ledger.goal(id).ready;
    let mut ledger = folded(&[saw_ready(&["a"]), saw_ready(&["a", "b"])]);
    assert_eq!((since(&ledger, "a"), since(&ledger, "b")), (Some(at(1000)), Some(at(2000))));
    then(&mut ledger, &[saw(&[], 0)]);
    assert_eq!(since(&ledger, "a"), Some(at(1000)), "an entry that says nothing of it");
    ledger.overdue = [("a".to_owned(), at(0)), ("b".to_owned(), at(0))].into();
    then(&mut ledger, &[saw_ready(&["b"])]);
    assert_eq!((since(&ledger, "a"), since(&ledger, "b")), (None, Some(at(2000))));
    assert_eq!(ledger.overdue.keys().collect::<Vec<_>>(), ["b"], "what is not ready is not overdue");
    then(&mut ledger, &[saw_ready(&["a", "b"])]);
    assert_eq!(since(&ledger, "a"), Some(at(5000)), "ready anew");
}

#[test]
fn a_goal_that_holds_starts_its_attempts_anew() {
    let mut ledger = Ledger::default();
    for id in ["a", "b"] {
        ledger.goals.insert(id.into(), GoalRecord { attempts: 2, ..GoalRecord::default() });
    }
    let held = vec!["a".to_owned()];
    then(
        &mut ledger,
        &[Entry::Saw {
            readings: [].into(),
            quiet: 0,
            some: false,
            ready: None,
            held,
            rewritten: Vec::new(),
            broke: None,
        }],
    );
    assert_eq!((ledger.goal("a").attempts, ledger.goal("b").attempts), (0, 2));
}

#[test]
fn a_skipped_beat_is_remembered_until_something_is_done() {
    let skip = |beat| Entry::Skipped {
        beat: BeatId(beat),
        cause: Cause::Timer,
        why: Why::Unchanged,
        changes: Vec::new(),
        sees: Some(Delta([("goal:x".to_owned(), Some(seen("x")))].into())),
    };
    let ledger = folded(&[skip(7)]);
    assert_eq!((ledger.beats, ledger.skipped.as_ref().map(|skip| skip.beat)), (7, Some(BeatId(7))));
    assert_eq!(
        ledger.baseline,
        [("goal:x".to_owned(), seen("x"))].into(),
        "the built-in decider has seen it"
    );
    assert_eq!(folded(&[skip(7), decide(8, None, vec![])]).skipped, None);
    assert_eq!(folded(&[skip(7), intended(8, shell(Author::Builtin))]).skipped, None);
    assert_eq!(folded(&[skip(7), intended(8, shell(model()))]).skipped, None);
    assert!(
        folded(&[skip(7), intended(8, shell(Author::Person))]).skipped.is_some(),
        "a person's move is no beat"
    );
}

#[test]
fn a_decide_counts_and_uses_up_the_nudge() {
    let mut ledger = Ledger { nudge: Some(Nudge { at: at(0), seconds: 5 }), ..Ledger::default() };
    then(&mut ledger, &[decide(3, Some(Force::Overdue("x".into())), vec![])]);
    assert_eq!((ledger.beats, ledger.runs, ledger.sessions), (3, 3, 1));
    assert_eq!((ledger.nudge.clone(), ledger.last_decide), (None, Some(at(1000))));
    assert_eq!(ledger.overdue, [("x".to_owned(), at(1000))].into());
    let deciding = ledger.deciding.clone().unwrap();
    assert_eq!((deciding.seq, deciding.at, deciding.session.as_str()), (1, at(1000), "decide~3"));
    then(&mut ledger, &[decide(4, None, vec![])]);
    assert_eq!((ledger.runs, ledger.sessions), (4, 2));
}

#[test]
fn a_chain_is_of_decides_that_only_our_own_doing_forced() {
    let change = Change { item: "goal:x".into(), kind: ChangeKind::Appeared, old: None, new: None };
    let table = [
        ("a nudge", Some(Force::Nudge), vec![], 3),
        ("shell output", Some(Force::Shell), vec![], 3),
        ("a nudge beside a change", Some(Force::Nudge), vec![change.clone()], 0),
        ("a person", Some(Force::Person), vec![], 0),
        ("an answer", Some(Force::Answer), vec![], 0),
        ("a change", None, vec![change], 0),
    ];
    for (name, forced, changes, chain) in table {
        let mut ledger = Ledger { chain: 2, ..Ledger::default() };
        then(&mut ledger, &[decide(1, forced, changes)]);
        assert_eq!(ledger.chain, chain, "{name}");
    }
}

#[test]
fn decides_are_kept_for_an_hour_by_the_better_clock() {
    let hour: u64 = 3_600_000;
    let boot = |stamp: Stamp, boot| Stamp { boot, up: 1, ..stamp };
    let ahead = Stamp { wall: at(0).wall + 2 * 3_600_000, ..at(0) };
    let table = [
        ("just now", at(0), at(1), true),
        ("nearly an hour", at(0), at(hour - 1), true),
        ("an hour", at(0), at(hour), false),
        ("the wall clock was set forward", at(0), Stamp { wall: at(9 * hour).wall, ..at(1) }, true),
        ("another boot, nearly an hour", at(0), boot(at(hour - 1), 2), true),
        ("another boot, an hour", at(0), boot(at(hour), 2), false),
        ("another boot, a moment that is yet to come", ahead, boot(at(1), 2), true),
        ("another boot, which has lasted for an hour", ahead, Stamp { up: hour, ..boot(at(1), 2) }, false),
    ];
    for (name, first, second, kept) in table {
        let mut ledger = Ledger::default();
        apply(&mut ledger, &first, &decide(1, None, vec![]));
        apply(&mut ledger, &second, &decide(2, None, vec![]));
        let expected = if kept { vec![first, second] } else { vec![second] };
        assert_eq!(ledger.decides, expected, "{name}");
    }
}

#[test]
fn a_decision_takes_the_notes_that_its_brief_showed_and_no_others() {
    let mut ledger = folded(&[asked("a", None, 1), asked("b", None, 1)]);
    let answer = |ask: &str| Entry::Answered { ask: ask.into(), text: "yes".into() };
    let noop = || json!({"action": "noop"});
    then(&mut ledger, &[answer("a"), decide(1, None, vec![]), answer("b"), decided(1, noop())]);
    let left: Vec<_> = ledger.notes.iter().map(|note| note.seq).collect();
    assert_eq!(left, [5], "the second came after the brief");
    let entries = vec![answer("c"), decide(3, None, vec![])];
    apply_line(&mut ledger, &Line { seq: 7, at: at(7000), idle: 0, entries });
    then(&mut ledger, &[decided(3, noop())]);
    assert_eq!(ledger.notes, [], "what the append of its start says is in its brief too");
    then(&mut ledger, &[answer("d")]);
    then(&mut ledger, &[decide(2, None, vec![]), decided(99, noop())]);
    assert_eq!(ledger.notes.len(), 1, "another run's brief is not known");
    then(&mut ledger, &[decided(2, json!({"action": "noop", "unknown": ["colour"]}))]);
    assert_eq!(notes(&ledger), [&NoteKind::Unknown { fields: vec!["colour".into()] }]);
}

#[test]
fn what_a_decide_cost_is_added_to_its_day() {
    let mut ledger = folded(&[decide(1, None, vec![]), decided(1, json!({"action": "noop"}))]);
    assert_eq!(ledger.deciding.as_ref().map(|deciding| deciding.reserved_usd), Some(0.0), "settled");
    then(
        &mut ledger,
        &[
            failed(1),
            Entry::Overtaken {
                beat: BeatId(1),
                reason: "edited".into(),
                spend: Some(spend("2027-01-15", 0.25)),
            },
        ],
    );
    let day = &ledger.spend["2027-01-15"];
    assert_eq!((day.spent.get(), day.tokens, day.decides), (1_250_000, 117, 3));
}

#[test]
fn the_newest_days_of_spend_are_kept() {
    let mut ledger = Ledger::default();
    for day in 0..=DAYS {
        let spend = Some(spend(&format!("day {day:02}"), 1.0));
        then(&mut ledger, &[Entry::Overtaken { beat: BeatId(1), reason: String::new(), spend }]);
    }
    assert_eq!(ledger.spend.len(), DAYS);
    assert_eq!(ledger.spend.first_key_value().map(|(day, _)| day.as_str()), Some("day 01"));
}

#[test]
fn failures_add_up_and_a_decide_that_is_overtaken_is_none() {
    let mut ledger = folded(&[decide(1, None, vec![]), failed(1)]);
    assert_eq!(ledger.deciding, None);
    let rejected = Entry::Rejected { beat: BeatId(2), reason: "no goal x".into(), policy: digest("later") };
    then(&mut ledger, &[decide(2, None, vec![]), rejected]);
    let failures = ledger.failures.clone().unwrap();
    assert_eq!((failures.count, failures.at, failures.policy), (2, at(4000), digest("later")));
    assert_eq!((failures.reason.as_str(), &ledger.deciding), ("no goal x", &None));
    let overtaken = Entry::Overtaken { beat: BeatId(3), reason: "edited".into(), spend: None };
    then(&mut ledger, &[decide(3, None, vec![]), overtaken]);
    assert_eq!((ledger.failures.clone(), &ledger.deciding), (Some(failures), &None));
    let said = [
        &NoteKind::Failure { reason: "no such model".into() },
        &NoteKind::Refused { reason: "no goal x".into() },
        &NoteKind::Overtaken { reason: "edited".into() },
    ];
    assert_eq!(notes(&ledger), said);
}

#[test]
fn the_failure_of_another_run_leaves_the_decide_under_way() {
    let ledger = folded(&[decide(2, None, vec![]), failed(1)]);
    assert_eq!(ledger.deciding.map(|deciding| deciding.run), Some(RunId(2)));
}

#[test]
fn an_intention_counts_sessions_and_asks_and_takes_the_decide_only_if_it_is_its_own() {
    let ask = json!({"action": "ask_human", "prompt": "Really?"});
    let table = [
        ("a model's command", shell(model()), (2, 0), false),
        ("a person's command", shell(Author::Person), (2, 0), true),
        ("a recipe's ask", plan(Author::Builtin, ask, file("asks/ask-1.json", Some("a"))), (1, 1), true),
        ("a noop", plan(model(), json!({"action": "noop"}), Act::Nothing), (1, 0), false),
    ];
    for (name, plan, counts, still) in table {
        let ledger = folded(&[decide(1, None, vec![]), intended(5, plan)]);
        assert_eq!((ledger.sessions, ledger.asks_made), counts, "{name}");
        assert_eq!(ledger.deciding.is_some(), still, "{name}");
        let acting = ledger.acting.unwrap();
        assert_eq!((acting.beat, acting.sees.is_some(), ledger.beats), (BeatId(5), !still, 5), "{name}");
    }
}

#[test]
fn a_restarted_move_goes_on_in_its_new_session() {
    let restarted = Entry::Restarted { beat: BeatId(1), session: "move~2".into() };
    let ledger = folded(&[intended(1, shell(model())), restarted]);
    assert_eq!((ledger.acting.unwrap().plan.act, ledger.sessions), (hosted("move~2"), 2));
}

#[test]
fn the_end_of_another_beat_leaves_the_move_under_way() {
    let ledger = folded(&[intended(2, shell(model())), finished(1, Outcome::done())]);
    assert_eq!(ledger.acting.map(|acting| acting.beat), Some(BeatId(2)));
    assert_eq!(ledger.journal, Vec::<String>::new());
}

#[test]
fn only_a_deciders_done_move_clears_failures_and_commits_what_it_saw() {
    let done = Outcome::done;
    let table = [
        ("a model's", shell(model()), done(), true),
        ("a person's", shell(Author::Person), done(), false),
        ("a recipe's", shell(Author::Builtin), done(), false),
        ("a model's that failed", shell(model()), Outcome::failed("exit 1"), false),
        (
            "a model's that was cut off",
            shell(model()),
            Outcome::Interrupted { reason: "crash".into() },
            false,
        ),
    ];
    for (name, plan, outcome, clears) in table {
        let plan = Plan { next_interval_s: Some(30), ..plan };
        let mut ledger = folded(&[failed(9), decide(1, None, vec![]), intended(1, plan)]);
        ledger.noop = Some(at(0));
        then(&mut ledger, &[finished(1, outcome)]);
        let nudge = clears.then(|| Nudge { at: at(4000), seconds: 30 });
        assert_eq!(ledger.acting, None, "{name}");
        assert_eq!(ledger.failures.is_none(), clears, "{name}");
        assert_eq!((ledger.nudge, ledger.noop.is_none()), (nudge, clears), "{name}");
        assert_eq!(ledger.baseline.contains_key("playbook"), clears, "{name}");
    }
}

#[test]
fn a_models_noop_is_remembered_as_such() {
    let noop = plan(model(), json!({"action": "noop"}), Act::Nothing);
    let ledger = folded(&[decide(1, None, vec![]), intended(1, noop), finished(1, Outcome::done())]);
    assert_eq!(ledger.noop, Some(at(3000)));
}

#[test]
fn a_failed_move_counts_for_a_model_and_is_told_unless_it_was_a_persons() {
    let told = NoteKind::Failure { reason: "ran x: exit 1".into() };
    for (author, counts, tells) in
        [(model(), true, true), (Author::Builtin, false, true), (Author::Person, false, false)]
    {
        let entries = [intended(1, shell(author.clone())), finished(1, Outcome::failed("exit 1"))];
        let ledger = folded(&entries);
        assert_eq!(ledger.failures.is_some(), counts, "{author:?}");
        assert_eq!(notes(&ledger), if tells { vec![&told] } else { vec![] }, "{author:?}");
    }
    let cut = Outcome::Interrupted { reason: "a crash".into() };
    let ledger = folded(&[intended(1, shell(Author::Person)), finished(1, cut)]);
    assert_eq!(notes(&ledger), [&NoteKind::Interrupted { reason: "ran x: a crash".into() }]);
}

#[test]
fn output_of_a_command_is_kept_with_who_wanted_it() {
    let shell_done = || Outcome::Done {
        note: None,
        shell: Some(Shell { ended: Ended::Exited(0), tail: "out".into(), bytes: 3 }),
    };
    for (author, own) in [(model(), true), (Author::Builtin, false), (Author::Person, false)] {
        let ledger = folded(&[intended(1, shell(author)), finished(1, shell_done())]);
        let (cmd, ended, tail) = ("x".into(), Ended::Exited(0), "out".into());
        assert_eq!(notes(&ledger), [&NoteKind::Shell { cmd, ended, tail, own }]);
    }
}

#[test]
fn a_goal_knows_when_and_how_it_was_served_and_only_recipes_count_as_attempts() {
    let long = "y".repeat(300);
    let cut = format!("{}…", "y".repeat(199));
    let interrupted = |reason: &str| Outcome::Interrupted { reason: reason.into() };
    let table = [
        (Author::Builtin, Outcome::done(), 1, "done".to_owned()),
        (Author::Builtin, Outcome::failed(long), 1, cut),
        (model(), Outcome::done(), 0, "done".to_owned()),
        (Author::Person, interrupted("a crash"), 0, "interrupted: a crash".to_owned()),
    ];
    for (author, outcome, attempts, last) in table {
        let plan = Plan { goal: Some("g".into()), ..shell(author) };
        let done = outcome.is_done();
        let record = folded(&[intended(1, plan), finished(1, outcome)]).goal("g");
        let (served, last) = (Some(at(2000)), Some(last));
        let expected = GoalRecord { served, attempts, last, done, ..GoalRecord::default() };
        assert_eq!(record, expected);
    }
}

#[test]
fn an_archived_goal_is_forgotten() {
    let act = Act::Archive { from: "goals/g.md".into(), to: "goals/archive/g.md".into(), body: digest("g") };
    let plan = plan(model(), json!({"action": "archive_goal", "id": "g"}), act);
    let plan = Plan { goal: Some("g".into()), ..plan };
    let mut ledger = folded(&[saw_ready(&["g"])]);
    ledger.baseline.insert("goal:g".into(), seen("g"));
    ledger.written.insert("goals/g.md".into(), digest("g"));
    then(&mut ledger, &[intended(1, plan), finished(1, Outcome::done())]);
    assert!(ledger.goals.is_empty() && ledger.baseline.is_empty() && ledger.written.is_empty(), "{ledger:?}");
}

#[test]
fn what_the_loop_writes_is_folded_into_the_baseline_and_what_a_person_writes_is_not() {
    let goal = |author| {
        let action = json!({"action": "write_goal", "id": "g", "body": "new"});
        plan(author, action, file("goals/g.md", Some("new")))
    };
    let playbook = json!({"action": "write_playbook", "body": "new"});
    let playbook = plan(model(), playbook, file("PLAYBOOK.md", Some("new")));
    let sensor = json!({"action": "write_sensor", "name": "s", "script": "#!"});
    let sensor = plan(model(), sensor, file("sensors/s.sh", Some("new")));
    let table = [
        ("a model's goal", goal(model()), Some("goal:g"), vec![("goals/g.md", "new")]),
        ("a recipe's goal", goal(Author::Builtin), Some("goal:g"), vec![]),
        ("a person's goal", goal(Author::Person), None, vec![]),
        ("the playbook", playbook, Some("playbook"), vec![("PLAYBOOK.md", "new"), ("goals/g.md", "old")]),
        ("a sensor", sensor, None, vec![("goals/g.md", "old"), ("sensors/s.sh", "new")]),
    ];
    for (name, plan, item, marks) in table {
        let mut ledger = Ledger::default();
        ledger.written.insert("goals/g.md".into(), digest("old"));
        then(&mut ledger, &[intended(1, plan), finished(1, Outcome::done())]);
        let baseline = item.map(|item| (item.to_owned(), seen("new")));
        assert_eq!(ledger.baseline, baseline.into_iter().collect(), "{name}");
        let marks = marks.into_iter().map(|(path, text)| (path.to_owned(), digest(text)));
        assert_eq!(ledger.written, marks.collect(), "{name}: what a decider wrote is marked as such");
    }
}

#[test]
fn a_file_that_the_loop_removed_is_gone_from_the_marks() {
    let mut ledger = Ledger::default();
    ledger.written.insert("schedules/s.json".into(), digest("s"));
    let action = json!({"action": "drop_schedule", "name": "s"});
    let plan = plan(model(), action, file("schedules/s.json", None));
    then(&mut ledger, &[intended(1, plan), finished(1, Outcome::done())]);
    assert!(ledger.written.is_empty() && ledger.baseline.is_empty());
}

#[test]
fn an_ask_of_our_own_waits_and_does_not_wake_us() {
    for (author, wakes) in [(model(), false), (Author::Builtin, false), (Author::Person, true)] {
        let action = json!({"action": "ask_human", "prompt": "Really?"});
        let plan =
            Plan { goal: Some("g".into()), ..plan(author, action, file("asks/ask-1.json", Some("a"))) };
        let ledger = folded(&[intended(1, plan), finished(1, Outcome::done())]);
        let ask = &ledger.asks["ask-1"];
        assert_eq!((ask.from.as_str(), ask.prompt.as_str(), ask.asked), ("pulse", "Really?", at(0).wall));
        assert_eq!((ask.at, ledger.goal("g").ask.as_deref()), (at(2000), Some("ask-1")));
        assert_eq!(!ledger.baseline.contains_key("reading:sys-asks"), wakes);
    }
}

#[test]
fn settling_an_ask_frees_the_goal_that_waits_for_it() {
    let answered = Entry::Answered { ask: "a".into(), text: "yes".into() };
    let dismissed = Entry::Dismissed { ask: "a".into() };
    for (settles, told) in [(answered, true), (dismissed, false)] {
        let mut ledger = folded(&[asked("a", Some("g"), 11), asked("b", Some("h"), 12)]);
        for id in ["g", "h"] {
            ledger.goals.get_mut(id).unwrap().attempts = 3;
        }
        then(&mut ledger, &[settles]);
        assert_eq!((ledger.goal("g").ask, ledger.goal("g").attempts), (None, 0));
        assert_eq!((ledger.goal("h").ask.as_deref(), ledger.goal("h").attempts), (Some("b"), 3));
        assert_eq!(ledger.asks.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(ledger.settled, [("a".to_owned(), 11)].into());
        let note = NoteKind::Answer { ask: "a".into(), prompt: "Really?".into(), text: "yes".into() };
        assert_eq!(notes(&ledger), if told { vec![&note] } else { vec![] });
    }
}

#[test]
fn the_newest_notes_and_journal_lines_are_kept() {
    let mut ledger = Ledger::default();
    for number in 0..=NOTES.max(JOURNAL) {
        let line = Some(format!("line {number}"));
        let finished = Entry::Finished {
            beat: BeatId(0),
            outcome: Outcome::done(),
            journal: line,
            policy: digest("policy"),
        };
        let reason = format!("note {number}");
        then(&mut ledger, &[finished, Entry::Overtaken { beat: BeatId(0), reason, spend: None }]);
    }
    assert_eq!((ledger.journal.len(), ledger.notes.len()), (JOURNAL, NOTES));
    assert_eq!(ledger.journal[0], "line 1");
    assert_eq!(ledger.notes[0].what, NoteKind::Overtaken { reason: "note 1".into() });
}

#[test]
fn a_pause_begins_and_ends() {
    let mut ledger = folded(&[Entry::Paused { until: Some(5) }]);
    assert_eq!(ledger.paused.as_ref().map(|paused| (paused.at, paused.until)), Some((at(1000), Some(5))));
    then(&mut ledger, &[Entry::Resumed]);
    assert_eq!(ledger.paused, None);
}
