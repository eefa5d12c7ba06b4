//! Admission: what is carried out and how, what is refused, and what came too late.

mod rights;
mod terms;
mod undo;
mod workers;

use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Admission, Context, Rests, admit, content, file_digests, rests};
use crate::engine::tests::limits;
use crate::gate::Limits;
use crate::ledger::state::{AskRecord, Deciding, GoalRecord, Ledger};
use crate::model::digest::Digest;
use crate::model::letter::{Ask, AskKind};
use crate::model::moves::Proposal;
use crate::model::plan::{Act, Author, BeatId, Plan, RunId};
use crate::schedule::{Missed, Schedule, When};
use crate::time::{Now, Stamp};
use crate::world::baseline::{Delta, Seen};
use crate::world::observation::{Doc, Docs, ScheduleDoc, SensorFile};

/// 2027-01-14 12:00 UTC.
fn noon() -> Now {
    Now { wall: 1_799_928_000_000, up: 864_000_000, boot: 1, zone: TimeZone::UTC }
}

fn ago(hours: u64) -> Stamp {
    let ms = hours * 3_600_000;
    Stamp { wall: noon().wall - ms.cast_signed(), up: noon().up - ms, boot: 1 }
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn stored_schedule() -> Schedule {
    let when = When::Every { seconds: 60, from: 0 };
    Schedule { v: 1, name: "daily".into(), when, missed: Missed::Once, note: None, created: 0 }
}

/// A profile with one of each: goal `g`, sensor `ci` in a file of Python, schedule `daily`.
fn docs() -> Docs {
    let mut docs = Docs { playbook: Doc::of("Be careful.\n"), ..Docs::default() };
    docs.goals.insert("g".into(), Doc::of("# G\n"));
    docs.goals.insert("broken".into(), Doc::Broken { error: "goals/broken.md is not UTF-8".into() });
    docs.sensors.insert("ci".into(), SensorFile { file: "ci.py".into(), digest: Some(digest("ci")) });
    let schedule = ScheduleDoc::Good { schedule: stored_schedule(), digest: digest("daily") };
    docs.schedules.insert("daily".into(), schedule);
    let plus_two = TimeZone::fixed(jiff::tz::offset(2));
    docs.zones.insert("Europe/Helsinki".into(), plus_two);
    docs
}

/// What a brief about `docs()` showed.
fn shown() -> Rests {
    Rests {
        playbook: docs().playbook.digest(),
        goals: docs().goals.iter().map(|(id, doc)| (id.clone(), doc.digest().unwrap())).collect(),
        files: file_digests(&docs()),
    }
}

struct Desk {
    ledger: Ledger,
    docs: Docs,
    limits: Limits,
    author: Author,
    rests: Option<Rests>,
}

impl Desk {
    fn of(author: Author) -> Self {
        Self { ledger: Ledger::default(), docs: docs(), limits: limits(), author, rests: None }
    }

    fn person() -> Self {
        Self::of(Author::Person)
    }

    fn model() -> Self {
        Self { rests: Some(shown()), ..Self::of(Author::Decider("m".into())) }
    }

    fn judge(&self, proposal: Value) -> Admission {
        let proposal: Proposal = serde_json::from_value(proposal).unwrap();
        let cx = Context {
            tainted: false,
            ledger: &self.ledger,
            docs: &self.docs,
            limits: &self.limits,
            now: &noon(),
            author: self.author.clone(),
            rests: self.rests.as_ref(),
        };
        admit(&cx, proposal)
    }

    fn plan(&self, proposal: Value) -> Plan {
        match self.judge(proposal) {
            Admission::Execute(plan) => *plan,
            Admission::Reject(reason) | Admission::Overtaken(reason) | Admission::Ask { reason, .. } => {
                panic!("{reason}")
            }
            Admission::Park(waits) => panic!("{waits:?}"),
        }
    }

    fn refusal(&self, proposal: Value) -> String {
        match self.judge(proposal) {
            Admission::Reject(reason) => reason,
            Admission::Overtaken(what) => panic!("{what}"),
            Admission::Ask { instead, .. } => panic!("{instead:?}"),
            Admission::Execute(plan) => panic!("{plan:?}"),
            Admission::Park(waits) => panic!("{waits:?}"),
        }
    }

    fn overtaken(&self, proposal: Value) -> Option<String> {
        match self.judge(proposal) {
            Admission::Overtaken(reason) => Some(reason),
            Admission::Execute(_) => None,
            Admission::Reject(reason) | Admission::Ask { reason, .. } => panic!("{reason}"),
            Admission::Park(waits) => panic!("{waits:?}"),
        }
    }
}

fn file(path: &str, before: Option<&str>, after: Option<&str>) -> Act {
    Act::File { path: path.into(), before: before.map(digest), after: after.map(digest) }
}

fn hosted(session: &str) -> Act {
    Act::Hosted { session: session.into() }
}

#[test]
fn each_move_is_carried_out_in_its_way() {
    let table = [
        (json!({"action": "noop"}), Act::Nothing),
        (json!({"action": "run_shell", "cmd": "x"}), hosted("move~1")),
        (json!({"action": "send_notification", "message": "x"}), hosted("move~1")),
        (
            json!({"action": "write_goal", "id": "g", "body": "new"}),
            file("goals/g.md", Some("# G\n"), Some("new\n")),
        ),
        (
            json!({"action": "write_goal", "id": "h", "body": "new\n"}),
            file("goals/h.md", None, Some("new\n")),
        ),
        (
            json!({"action": "write_playbook", "body": "new"}),
            file("PLAYBOOK.md", Some("Be careful.\n"), Some("new\n")),
        ),
        (
            json!({"action": "write_sensor", "name": "ci", "script": "#!x"}),
            file("sensors/ci.py", Some("ci"), Some("#!x\n")),
        ),
        (
            json!({"action": "write_sensor", "name": "disk", "script": "#!x\n"}),
            file("sensors/disk.sh", None, Some("#!x\n")),
        ),
        (json!({"action": "remove_sensor", "name": "ci"}), file("sensors/ci.py", Some("ci"), None)),
        (
            json!({"action": "drop_schedule", "name": "daily"}),
            file("schedules/daily.json", Some("daily"), None),
        ),
    ];
    for (proposal, act) in table {
        assert_eq!(Desk::person().plan(proposal.clone()).act, act, "{proposal}");
    }
}

#[test]
fn a_session_never_takes_the_name_of_one_before() {
    let mut desk = Desk::person();
    desk.ledger.sessions = 7;
    assert_eq!(desk.plan(json!({"action": "run_shell", "cmd": "x"})).act, hosted("move~8"));
}

#[test]
fn an_archive_never_overwrites_an_older_one() {
    let table = [
        (vec![], "goals/archive/g.md"),
        (vec!["g"], "goals/archive/g-2.md"),
        (vec!["g", "g-2", "g-3"], "goals/archive/g-4.md"),
        (vec!["g-2"], "goals/archive/g.md"),
    ];
    for (taken, to) in table {
        let mut desk = Desk::person();
        desk.docs.archive = taken.iter().map(|stem| (*stem).to_owned()).collect();
        let act = desk.plan(json!({"action": "archive_goal", "id": "g"})).act;
        let expected = Act::Archive { from: "goals/g.md".into(), to: to.into(), body: digest("# G\n") };
        assert_eq!(act, expected, "{taken:?}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refuse = |proposal| Desk::person().refusal(proposal);
    let table = [
        (json!({"action": "run_shell", "cmd": " \n"}), "the command is empty"),
        (json!({"action": "write_goal", "id": "g", "body": " "}), "the body is empty"),
        (json!({"action": "write_playbook", "body": ""}), "the body is empty"),
        (json!({"action": "archive_goal", "id": "h"}), "there is no goal h"),
        (
            json!({"action": "archive_goal", "id": "broken"}),
            "goal broken cannot be read, so it is not archived",
        ),
        (
            json!({"action": "write_sensor", "name": "s", "script": "echo"}),
            "the script must start with #! and its interpreter",
        ),
        (json!({"action": "remove_sensor", "name": "s"}), "there is no sensor s"),
        (json!({"action": "drop_schedule", "name": "s"}), "there is no schedule s"),
        (json!({"action": "ask_human", "prompt": " "}), "the question is empty"),
        (json!({"action": "kill_worker", "id": "w"}), "there is no worker \"w\""),
        (
            json!({"action": "undo", "beat": 1, "path": "goals/g.md", "what": "x"}),
            "a move is taken back by looop undo only",
        ),
    ];
    for (proposal, reason) in table {
        assert_eq!(refuse(proposal.clone()), reason, "{proposal}");
    }
    let mut silent = Desk::person();
    silent.limits.can_notify = false;
    let reason = silent.refusal(json!({"action": "send_notification", "message": "x"}));
    assert!(reason.starts_with("there is no channel to reach you by"), "{reason}");
}

#[test]
fn a_wish_for_the_next_beat_is_kept_within_bounds() {
    for (wish, longest, kept) in
        [(1, 3600, 5), (5, 3600, 5), (6, 3600, 6), (3600, 3600, 3600), (9999, 3600, 3600), (9, 1, 5)]
    {
        let mut desk = Desk::person();
        desk.limits.max_next_interval = Duration::from_secs(longest);
        let plan = desk.plan(json!({"action": "noop", "next_interval_s": wish}));
        assert_eq!(plan.next_interval_s, Some(kept), "{wish} s of at most {longest} s");
    }
    assert_eq!(Desk::person().plan(json!({"action": "noop"})).next_interval_s, None);
}

#[test]
fn a_plan_keeps_what_goes_with_the_move() {
    let plan = Desk::model().plan(json!({"action": "noop", "journal": "all well", "goal_served": "g"}));
    assert_eq!((plan.journal.as_deref(), plan.goal.as_deref()), (Some("all well"), Some("g")));
    assert_eq!((plan.author, plan.at), (Author::Decider("m".into()), noon().stamp()));
}

// What came too late.

#[test]
fn a_decision_is_overtaken_by_an_edit_of_what_it_rests_on_or_touches() {
    type Edit = fn(&mut Docs);
    let playbook: Edit = |docs| docs.playbook = Doc::of("New.\n");
    let goal: Edit = |docs| drop(docs.goals.insert("g".into(), Doc::of("New.\n")));
    let appeared: Edit = |docs| drop(docs.goals.insert("h".into(), Doc::of("New.\n")));
    let sensor: Edit = |docs| docs.sensors.get_mut("ci").unwrap().digest = Some(digest("new"));
    let schedule: Edit = |docs| drop(docs.schedules.remove("daily"));
    let nothing: Edit = |_| {};
    let shell = json!({"action": "run_shell", "cmd": "x"});
    let shell_for_g = json!({"action": "run_shell", "cmd": "x", "goal_served": "g"});
    let write_g = json!({"action": "write_goal", "id": "g", "body": "x"});
    let write_h = json!({"action": "write_goal", "id": "h", "body": "x"});
    let write_ci = json!({"action": "write_sensor", "name": "ci", "script": "#!x"});
    let every = json!({"action": "write_schedule", "name": "daily", "every_s": 60});
    let table = [
        (playbook, &shell, Some("PLAYBOOK.md")),
        (goal, &shell, None),
        (goal, &shell_for_g, Some("goal g")),
        (goal, &write_g, Some("goal g")),
        (goal, &write_h, None),
        (appeared, &write_h, Some("goal h")),
        (sensor, &write_ci, Some("sensors/ci.py")),
        (sensor, &shell, None),
        (schedule, &every, Some("schedules/daily.json")),
        (schedule, &write_ci, None),
        (nothing, &write_g, None),
        (nothing, &write_h, None),
        (nothing, &write_ci, None),
        (nothing, &every, None),
    ];
    for (number, (edit, proposal, what)) in table.into_iter().enumerate() {
        let mut desk = Desk::model();
        edit(&mut desk.docs);
        let expected = what.map(|what| format!("{what} changed while it was being decided"));
        assert_eq!(desk.overtaken(proposal.clone()), expected, "row {number}: {proposal}");
        let by_hand = Desk { rests: None, author: Author::Person, ..desk };
        assert_eq!(by_hand.overtaken(proposal.clone()), None, "row {number}: a person's is never too late");
    }
}

#[test]
fn a_worker_is_overtaken_by_an_edit_of_its_goal() {
    let mut desk = Desk::model();
    desk.docs.goals.insert("g".into(), Doc::of("New.\n"));
    let worker = json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"});
    // `goal` of a worker is a field of the move itself.
    assert_eq!(
        desk.judge(worker),
        Admission::Overtaken("goal g changed while it was being decided".to_owned())
    );
}

#[test]
fn a_decide_rests_on_the_baseline_with_what_it_was_shown() {
    let seen = |text: &str| Seen { digest: digest(text), value: None };
    let mut ledger = Ledger::default();
    for (item, text) in [("playbook", "old"), ("goal:a", "a"), ("goal:b", "b"), ("reading:ci", "1")] {
        ledger.baseline.insert(item.into(), seen(text));
    }
    let delta = [("playbook".to_owned(), Some(seen("new"))), ("goal:b".to_owned(), None)];
    let deciding = Deciding {
        tainted: false,
        beat: BeatId(1),
        run: RunId(1),
        session: "decide~1".into(),
        decider: "m".into(),
        at: ago(0),
        seq: 1,
        forced: None,
        sees: Delta(delta.into()),
        files: file_digests(&docs()),
        reserved_usd: 0.0,
        free: false,
        config: None,
    };
    let expected = Rests {
        playbook: Some(digest("new")),
        goals: [("a".to_owned(), digest("a"))].into(),
        files: [
            ("sensors/ci.py".to_owned(), digest("ci")),
            ("schedules/daily.json".to_owned(), digest("daily")),
        ]
        .into(),
    };
    assert_eq!(rests(&ledger, &deciding), expected);
}

// Fairness.

#[test]
fn a_decision_that_passes_over_an_overdue_goal_must_say_so() {
    let noop = json!({"action": "noop"});
    let table = [
        ("passed over", 24, noop.clone(), false),
        ("not overdue", 23, noop, true),
        ("served", 24, json!({"action": "noop", "goal_served": "g"}), true),
        ("deferred", 24, json!({"action": "noop", "deferred_goals": ["g"]}), true),
        ("another deferred", 24, json!({"action": "noop", "deferred_goals": ["h"]}), false),
        ("an early next beat", 24, json!({"action": "noop", "next_interval_s": 30}), true),
    ];
    for (name, hours, proposal, fair) in table {
        let mut desk = Desk::model();
        let record = GoalRecord { ready: Some(ago(hours)), ..GoalRecord::default() };
        desk.ledger.goals.insert("g".into(), record);
        let admission = desk.judge(proposal.clone());
        assert_eq!(matches!(admission, Admission::Execute(_)), fair, "{name}: {admission:?}");
        if !fair {
            assert!(desk.refusal(proposal.clone()).starts_with("it passes over goal g, which is overdue"));
        }
        for author in [Author::Person, Author::Builtin] {
            let free = Desk { author, rests: None, ..Desk::of(Author::Person) };
            let free = Desk { ledger: desk.ledger.clone(), ..free };
            assert!(matches!(free.judge(proposal.clone()), Admission::Execute(_)), "{name}: only for models");
        }
    }
}

#[test]
fn a_goal_that_is_no_longer_there_cannot_be_passed_over() {
    let mut desk = Desk::model();
    let record = GoalRecord { ready: Some(ago(48)), ..GoalRecord::default() };
    desk.ledger.goals.insert("old".into(), record);
    assert_eq!(desk.plan(json!({"action": "noop"})).act, Act::Nothing);
}

// Asks.

#[test]
fn an_ask_takes_a_number_that_is_free_and_its_letter_says_all() {
    let mut desk = Desk::model();
    desk.ledger.asks_made = 2;
    let (from, prompt, kind) = ("w".to_owned(), String::new(), AskKind::Question);
    let pending = AskRecord {
        question: None,
        topic: None,
        tainted: false,
        from,
        prompt,
        goal: None,
        kind,
        at: ago(0),
        asked: 0,
    };
    desk.ledger.asks.insert("ask-3".into(), pending);
    let plan = desk.plan(json!({
        "action": "ask_human", "prompt": "Really?", "options": ["yes"], "ref": "goals/g.md", "goal_served": "g",
    }));
    let bytes = content(&plan).unwrap();
    let act = Act::File { path: "asks/ask-4.json".into(), before: None, after: Some(Digest::of(&bytes)) };
    assert_eq!(plan.act, act);
    let ask: Ask = serde_json::from_slice(&bytes).unwrap();
    let expected = Ask {
        limit: None,
        closed: false,
        fetched: false,
        v: 1,
        id: "ask-4".into(),
        from: "pulse".into(),
        kind: AskKind::Question,
        prompt: "Really?".into(),
        options: vec!["yes".into()],
        reference: Some("goals/g.md".into()),
        goal: Some("g".into()),
        proposal: None,
        asked: noon().wall,
    };
    assert_eq!(ask, expected);
    assert!(bytes.ends_with(b"}\n"));
}

#[test]
fn what_writes_no_file_has_no_content() {
    for proposal in [json!({"action": "noop"}), json!({"action": "run_shell", "cmd": "x"})] {
        assert_eq!(content(&Desk::person().plan(proposal)), None);
    }
}

// Schedules.

fn schedule(fields: &Value) -> Value {
    let mut proposal = json!({"action": "write_schedule", "name": "s"});
    proposal.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    proposal
}

/// The schedule that a plan stores.
fn stored(fields: &Value) -> Schedule {
    let plan = Desk::person().plan(schedule(fields));
    let bytes = content(&plan).unwrap();
    assert_eq!(
        plan.act,
        Act::File { path: "schedules/s.json".into(), before: None, after: Some(Digest::of(&bytes)) }
    );
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_times_of_a_schedule_become_absolute() {
    let noon_ms = noon().wall;
    let cron = |zone: Option<&str>| When::Cron { line: "0 9 * * *".into(), zone: zone.map(str::to_owned) };
    let ten_years = 10 * 365 * 86400;
    let table = [
        (json!({"in_s": 90}), When::At(noon_ms + 90_000)),
        (json!({"in_s": ten_years}), When::At(noon_ms + ten_years * 1000)),
        (json!({"every_s": 60}), When::Every { seconds: 60, from: noon_ms }),
        (json!({"at": "13:00"}), When::At(noon_ms + 3_600_000)),
        (json!({"at": "15:00", "zone": "Europe/Helsinki"}), When::At(noon_ms + 3_600_000)),
        (json!({"cron": "0 9 * * *"}), cron(None)),
        (json!({"cron": "0 9 * * *", "zone": "Europe/Helsinki"}), cron(Some("Europe/Helsinki"))),
    ];
    for (fields, when) in table {
        let found = stored(&fields);
        assert_eq!((found.when, found.name.as_str(), found.created), (when, "s", noon_ms), "{fields}");
    }
}

#[test]
fn a_schedule_keeps_its_note_and_what_becomes_of_missed_times() {
    for (missed, kept) in
        [(json!(null), Missed::Once), (json!("once"), Missed::Once), (json!("skip"), Missed::Skip)]
    {
        let found = stored(&json!({"every_s": 60, "missed": missed, "note": "look"}));
        assert_eq!((found.missed, found.note.as_deref()), (kept, Some("look")), "{missed}");
    }
}

#[test]
fn a_schedule_that_makes_no_sense_is_refused() {
    let one = "a schedule needs exactly one of in, every, at and cron";
    let table = [
        (json!({}), one),
        (json!({"in_s": 5, "every_s": 60}), one),
        (json!({"at": "13:00", "cron": "0 9 * * *"}), one),
        (json!({"every_s": 59}), "every is at least 60 seconds"),
        (json!({"in_s": 10 * 365 * 86400 + 1}), "in is at most ten years"),
        (json!({"in_s": u64::MAX}), "in is at most ten years"),
        (json!({"every_s": 60, "zone": "Europe/Helsinki"}), "a zone goes with cron or at"),
        (json!({"in_s": 60, "zone": "Europe/Helsinki"}), "a zone goes with cron or at"),
        (json!({"cron": "0 9 * * *", "zone": "Mars"}), "there is no time zone \"Mars\""),
        (json!({"every_s": 60, "missed": "never"}), "missed is \"once\" or \"skip\", not \"never\""),
    ];
    for (fields, reason) in table {
        assert_eq!(Desk::person().refusal(schedule(&fields)), reason, "{fields}");
    }
    for fields in [json!({"cron": "often"}), json!({"at": "soon"})] {
        let reason = Desk::person().refusal(schedule(&fields));
        assert!(reason.contains(" is not a "), "{fields}: {reason}");
    }
}
