//! Taking back the last move: how it is planned, and when it is refused.

use super::*;
use crate::admit::undo;
use crate::ledger::undo::Undoable;
use crate::model::moves::Move;

fn undoable(beat: u64, act: Act) -> Undoable {
    Undoable {
        beat: BeatId(beat),
        at: ago(1),
        summary: format!("did {beat}"),
        author: Author::Decider("m".into()),
        act,
        decided: false,
        tainted: false,
        goal: None,
    }
}

fn planned(act: Act, docs: &Docs) -> Result<Plan, String> {
    let ledger = Ledger { undo: vec![undoable(7, act)], ..Ledger::default() };
    undo::plan(&ledger, docs, Some(BeatId(7)), &noon())
}

fn archived() -> Act {
    Act::Archive { from: "goals/x.md".into(), to: "goals/archive/x-2.md".into(), body: digest("x") }
}

/// The world of `docs()`, with the bodies `old` kept and an archived goal.
fn world() -> Docs {
    let mut docs = docs();
    docs.kept.insert(digest("old"));
    docs.archive.push("x-2".into());
    docs.schedules.insert(
        "bad".into(),
        ScheduleDoc::Broken {
            error: "schedules/bad.json makes no sense".into(),
            digest: Some(digest("bad")),
        },
    );
    docs
}

#[test]
fn before_and_after_are_exchanged() {
    let table = [
        (file("goals/g.md", Some("old"), Some("# G\n")), file("goals/g.md", Some("# G\n"), Some("old"))),
        (file("goals/g.md", None, Some("# G\n")), file("goals/g.md", Some("# G\n"), None)),
        (file("goals/h.md", Some("old"), None), file("goals/h.md", None, Some("old"))),
        (
            file("PLAYBOOK.md", Some("old"), Some("Be careful.\n")),
            file("PLAYBOOK.md", Some("Be careful.\n"), Some("old")),
        ),
        (file("sensors/ci.py", Some("old"), Some("ci")), file("sensors/ci.py", Some("ci"), Some("old"))),
        (file("sensors/new.sh", Some("old"), None), file("sensors/new.sh", None, Some("old"))),
        (
            file("schedules/daily.json", None, Some("daily")),
            file("schedules/daily.json", Some("daily"), None),
        ),
        (file("schedules/bad.json", None, Some("bad")), file("schedules/bad.json", Some("bad"), None)),
        (
            archived(),
            Act::Archive { from: "goals/archive/x-2.md".into(), to: "goals/x.md".into(), body: digest("x") },
        ),
    ];
    for (did, back) in table {
        let plan = planned(did.clone(), &world()).unwrap_or_else(|reason| panic!("{did:?}: {reason}"));
        assert_eq!((&plan.act, &plan.author, plan.at), (&back, &Author::Person, noon().stamp()));
        let path = did.replaces().unwrap().0.to_owned();
        let what = "did 7".to_owned();
        assert_eq!(plan.action, Move::Undo { beat: BeatId(7), path, what });
        assert_eq!(plan.action.summary(), "took back: did 7");
    }
}

#[test]
fn what_was_changed_since_is_left_alone() {
    let table = [
        (
            file("goals/g.md", Some("old"), Some("theirs")),
            "goals/g.md was changed after \"did 7\", so that this is not taken back",
        ),
        (
            file("goals/h.md", Some("old"), Some("theirs")),
            "goals/h.md was removed after \"did 7\", so that this is not taken back",
        ),
        (
            file("goals/g.md", Some("old"), None),
            "goals/g.md was made anew after \"did 7\", so that this is not taken back",
        ),
        (file("goals/broken.md", Some("old"), Some("x")), "goals/broken.md is not UTF-8"),
        (
            file("PLAYBOOK.md", Some("old"), Some("x")),
            "PLAYBOOK.md was changed after \"did 7\", so that this is not taken back",
        ),
        (
            file("sensors/ci.py", Some("old"), Some("x")),
            "sensors/ci.py was changed after \"did 7\", so that this is not taken back",
        ),
        (
            file("schedules/daily.json", Some("old"), Some("x")),
            "schedules/daily.json was changed after \"did 7\", so that this is not taken back",
        ),
        (
            file("sensors/ci.sh", Some("old"), None),
            "there is sensors/ci.py now, and two sensors cannot have one name",
        ),
        (
            file("goals/g.md", Some("lost"), Some("# G\n")),
            "what goals/g.md was before \"did 7\" is no longer kept",
        ),
        (
            Act::Archive { from: "goals/x.md".into(), to: "goals/archive/x.md".into(), body: digest("x") },
            "goals/archive/x.md is gone",
        ),
    ];
    for (did, reason) in table {
        assert_eq!(planned(did, &world()), Err(reason.to_owned()));
    }
    let mut docs = world();
    docs.goals.insert("x".into(), Doc::of("another"));
    let reason =
        "goals/x.md was made anew after the goal was archived; goals/archive/x-2.md stays where it is";
    assert_eq!(planned(archived(), &docs), Err(reason.to_owned()));
    docs = world();
    docs.sensors.insert("big".into(), SensorFile { file: "big.sh".into(), digest: None });
    let reason = planned(file("sensors/big.sh", Some("old"), Some("x")), &docs).unwrap_err();
    assert_eq!(reason, "sensors/big.sh cannot be read");
}

#[test]
fn moves_of_one_file_are_taken_back_in_their_order_and_others_in_any() {
    let act = || file("goals/g.md", Some("old"), Some("# G\n"));
    let ledger = Ledger { undo: vec![undoable(5, act()), undoable(7, act())], ..Ledger::default() };
    let plan = |ledger: &Ledger, seen: Option<u64>| undo::plan(ledger, &world(), seen.map(BeatId), &noon());
    assert!(plan(&ledger, None).is_ok() && plan(&ledger, Some(7)).is_ok());
    let later =
        "goals/g.md was changed by a later move, \"did 7\" of beat 7, which is to be taken back first";
    assert_eq!(plan(&ledger, Some(5)), Err(later.to_owned()));
    let other = undoable(8, file("goals/other.md", None, Some("x")));
    let both = Ledger { undo: vec![undoable(5, act()), other], ..Ledger::default() };
    assert!(plan(&both, Some(5)).is_ok(), "a move of another file is no matter");
    let gone = "the move of beat 6 has been taken back, or cannot be taken back";
    assert_eq!(plan(&ledger, Some(6)), Err(gone.to_owned()));
    let none = Err("there is no move that could be taken back".to_owned());
    assert_eq!(plan(&Ledger::default(), None), none);
}
