//! The moment between the person's yes and the act: an editor at work, and a kill in the middle.

use std::os::unix::process::ExitStatusExt;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::Profile;
use looop_store::POINTS;
use serde_json::json;

use super::field::Field;

const BOLD: &str = "# Bold\n";
const EDIT: &str = "# Edited\n";

fn waiting() -> Field {
    let field = Field::new("");
    let said = field.beat(&json!({"action": "write_playbook", "body": BOLD, "goal": "person"}));
    assert!(said.contains("waits for your yes (ask-1)"), "{said}");
    field.profile.run(&["asks"]).ok();
    field
}

fn approvals(profile: &Profile) -> usize {
    profile.entries().iter().filter(|entry| matches!(entry, Entry::Approved { .. })).count()
}

/// Edits while the answer is on its way, at ever later moments: the edit is kept, or came after the act.
#[test]
fn an_edit_around_the_yes_is_never_lost() {
    for round in 0..30_u32 {
        let field = waiting();
        let child = field.profile.start(&["answer", "ask-1", "yes"]);
        // Each look at the clock of the machine takes a while; later rounds edit later.
        (0..round * 400).for_each(|_| drop(std::fs::metadata(field.profile.data())));
        let file = if round % 2 == 0 { "PLAYBOOK.md" } else { "goals/person.md" };
        let temporary = field.profile.outside().join("edit");
        std::fs::write(&temporary, EDIT).unwrap();
        std::fs::rename(&temporary, field.profile.data().join(file)).unwrap();
        let ran = looop_sim::waiting::finish(child);
        assert_eq!(field.profile.file(file).as_deref(), Some(EDIT), "round {round}: {ran:?}");
        let done = ran.stdout.contains("and done");
        assert!(done == (ran.code == 0), "{ran:?}");
        let bold = field.profile.file("PLAYBOOK.md").as_deref() == Some(BOLD);
        assert!(file == "PLAYBOOK.md" || bold == done, "round {round}: {ran:?}");
    }
}

/// Killed at each durable point of an approval: done at most once, never over an edit, and the ask is there or settled.
#[test]
fn a_kill_during_an_approval_neither_doubles_nor_loses_it() {
    let base = waiting();
    let mut reached = 0;
    for point in POINTS {
        for edits in [false, true] {
            let field = base.profile.twin().guarded();
            let mut command = field.command(&["answer", "ask-1", "yes"]);
            let output = command.env("LOOOP_CRASH_AT", format!("{point}:1")).output().unwrap();
            if output.status.signal() != Some(9) {
                continue;
            }
            reached += 1;
            let done = field.file("PLAYBOOK.md").as_deref() == Some(BOLD);
            if edits {
                field.write("PLAYBOOK.md", EDIT);
            }
            field.run(&["pause"]).ok();
            let again = field.run(&["answer", "ask-1", "yes"]);
            let (now, times) = (field.file("PLAYBOOK.md").unwrap(), approvals(&field));
            let text = format!("{point}, done {done}, edited {edits}, {times} times: {now:?} {again:?}");
            assert!(times <= 1, "{text}");
            assert_eq!(now == EDIT, edits, "{text}");
            assert!(edits || now == BOLD, "either by the first yes or by the second: {text}");
            assert!(!field.ledger().parked.contains_key("ask-1"), "{text}");
        }
    }
    assert!(reached > 6, "{reached}");
}
