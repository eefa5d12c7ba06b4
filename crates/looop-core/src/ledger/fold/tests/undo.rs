//! What can be taken back, and what taking it back makes of the ledger.

use super::*;
use crate::ledger::fold::undo::UNDOABLE;
use crate::meter::Micros;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Act {
    Act::File { path: path.into(), before: before.map(digest), after: after.map(digest) }
}

fn goal(author: Author, before: Option<&str>, after: &str) -> Plan {
    let action = json!({"action": "write_goal", "id": "g", "body": after});
    plan(author, action, change("goals/g.md", before, Some(after)))
}

fn archive(author: Author, body: &str) -> Plan {
    let (from, to) = ("goals/g.md".to_owned(), "goals/archive/g.md".to_owned());
    let act = Act::Archive { from, to, body: digest(body) };
    Plan { goal: Some("g".into()), ..plan(author, json!({"action": "archive_goal", "id": "g"}), act) }
}

fn made(beat: u64, plan: Plan) -> [Entry; 2] {
    [intended(beat, plan), finished(beat, Outcome::done())]
}

/// Takes back the last move, as the engine plans it.
fn undo(ledger: &mut Ledger, outcome: Outcome) {
    let last = ledger.undo.last().unwrap();
    let action = json!({"action": "undo", "beat": last.beat, "path": last.path(), "what": last.summary});
    let undo = plan(Author::Person, action, last.act.reversed().unwrap());
    let beat = ledger.beats + 1;
    then(ledger, &[intended(beat, undo), finished(beat, outcome)]);
}

fn beats(ledger: &Ledger) -> Vec<u64> {
    ledger.undo.iter().map(|undoable| undoable.beat.0).collect()
}

#[test]
fn moves_of_files_that_were_done_can_be_taken_back() {
    let table = [
        (
            json!({"action": "write_goal", "id": "g", "body": "x"}),
            change("goals/g.md", None, Some("x")),
            true,
        ),
        (
            json!({"action": "write_sensor", "name": "s", "script": "#!"}),
            change("sensors/s.sh", None, Some("x")),
            true,
        ),
        (json!({"action": "remove_sensor", "name": "s"}), change("sensors/s.sh", Some("x"), None), true),
        (json!({"action": "write_playbook", "body": "x"}), change("PLAYBOOK.md", Some("y"), Some("x")), true),
        (json!({"action": "write_schedule", "name": "s"}), change("schedules/s.json", None, Some("x")), true),
        (json!({"action": "drop_schedule", "name": "s"}), change("schedules/s.json", Some("x"), None), true),
        (json!({"action": "ask_human", "prompt": "?"}), change("asks/ask-1.json", None, Some("x")), false),
        (json!({"action": "run_shell", "cmd": "x"}), hosted("move~1"), false),
        (json!({"action": "noop"}), Act::Nothing, false),
        (
            json!({"action": "write_playbook", "body": "x"}),
            change("PLAYBOOK.md", Some("x"), Some("x")),
            false,
        ),
    ];
    for (action, act, can) in table {
        for author in [model(), Author::Builtin, Author::Person, Author::Approved("m".into())] {
            let plan = plan(author.clone(), action.clone(), act.clone());
            let ledger = folded(&made(7, plan.clone()));
            assert_eq!(beats(&ledger), if can { vec![7] } else { vec![] }, "{action}");
            if let [undoable] = &ledger.undo[..] {
                assert_eq!((&undoable.author, &undoable.act), (&author, &act));
                assert_eq!((undoable.at, &undoable.summary), (at(2000), &plan.action.summary()));
            }
            for outcome in [Outcome::failed("full"), Outcome::Interrupted { reason: "crash".into() }] {
                let ledger = folded(&[intended(7, plan.clone()), finished(7, outcome)]);
                assert_eq!(ledger.undo, [], "{action}");
            }
        }
    }
    assert_eq!(beats(&folded(&made(3, archive(model(), "x")))), [3]);
}

#[test]
fn the_newest_stay_and_each_undo_takes_one() {
    let mut ledger = Ledger::default();
    for beat in 1..=25 {
        let (before, after) = (format!("{}", beat - 1), format!("{beat}"));
        then(&mut ledger, &made(beat, goal(Author::Person, Some(&before), &after)));
    }
    assert_eq!(beats(&ledger), (6..=25).collect::<Vec<_>>());
    assert_eq!(ledger.undo.len(), UNDOABLE);
    undo(&mut ledger, Outcome::done());
    undo(&mut ledger, Outcome::done());
    assert_eq!(beats(&ledger), (6..=23).collect::<Vec<_>>(), "an undo is not itself taken back");
    undo(&mut ledger, Outcome::failed("full"));
    undo(&mut ledger, Outcome::Interrupted { reason: "crash".into() });
    assert_eq!(beats(&ledger).last(), Some(&23), "what was not done takes nothing");
}

#[test]
fn a_file_has_the_author_again_that_it_had() {
    let mut ledger = Ledger::default();
    then(&mut ledger, &made(1, goal(Author::Person, None, "mine")));
    then(&mut ledger, &made(2, goal(model(), Some("mine"), "first")));
    then(&mut ledger, &made(3, goal(Author::Approved("m".into()), Some("first"), "second")));
    then(&mut ledger, &made(4, goal(Author::Person, Some("second"), "mine again")));
    let written = |ledger: &Ledger| ledger.written.get("goals/g.md").copied();
    assert_eq!(written(&ledger), None);
    for expected in [Some("second"), Some("first"), None, None] {
        undo(&mut ledger, Outcome::done());
        assert_eq!(written(&ledger), expected.map(digest));
    }
    // What a person edited in between is the person's.
    let mut ledger = folded(&made(1, goal(model(), None, "first")));
    then(&mut ledger, &made(2, goal(model(), Some("edited"), "second")));
    undo(&mut ledger, Outcome::done());
    assert_eq!(written(&ledger), None);
}

#[test]
fn an_archived_goal_comes_back_with_its_author_and_what_is_known_of_it() {
    let mut ledger = folded(&made(1, goal(model(), None, "body")));
    let spent = Micros::new(5);
    let known =
        GoalRecord { spent, attempts: 2, ready: Some(at(0)), ask: Some("a".into()), ..GoalRecord::default() };
    ledger.goals.insert("g".into(), known.clone());
    then(&mut ledger, &made(2, archive(model(), "body")));
    assert_eq!((ledger.goals.get("g"), ledger.written.get("goals/g.md")), (None, None));
    undo(&mut ledger, Outcome::done());
    assert_eq!(ledger.written.get("goals/g.md"), Some(&digest("body")));
    assert_eq!(ledger.goals["g"], GoalRecord { ready: None, ask: None, ..known });
}

#[test]
fn the_budget_that_a_person_gave_is_known_again() {
    let budget = |usd| Some(Micros::new(usd));
    let mut ledger = folded(&made(1, Plan { budget: budget(7), ..goal(model(), Some("mine"), "first") }));
    then(&mut ledger, &made(2, Plan { budget: budget(9), ..goal(model(), Some("edited"), "second") }));
    assert_eq!(ledger.goal("g").budget, budget(9));
    undo(&mut ledger, Outcome::done());
    assert_eq!(ledger.goal("g").budget, budget(7));
    undo(&mut ledger, Outcome::done());
    assert_eq!(ledger.goal("g").budget, None);
}

#[test]
fn what_is_restored_wakes_like_any_edit_of_a_person() {
    let mut ledger = folded(&made(1, goal(model(), Some("mine"), "first")));
    assert_eq!(ledger.baseline["goal:g"], seen("first"));
    undo(&mut ledger, Outcome::done());
    assert_eq!(ledger.baseline["goal:g"], seen("first"));
}
