//! `looop undo`: what a move did to a file is taken back, once, and never over what a person wrote since.

use std::os::unix::process::ExitStatusExt;

use looop_core::ledger::entry::Entry;
use looop_core::model::digest::Digest;
use looop_sim::profile::Profile;
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const SENSOR: &str = "#!/bin/sh\necho '{\"signal\":1}'\n";
const NOTHING: &str = "there is no move that could be taken back";

/// A profile with a goal, a sensor, a PLAYBOOK and a schedule of the person.
fn furnished() -> Profile {
    let profile =
        Profile::bare(LOOOP).goal("g", "Mine.\n").sensor("s", SENSOR.trim_start_matches("#!/bin/sh\n"));
    profile.run(&["schedule", "write", "t", "--every", "7d"]).ok();
    profile
}

/// The journal without its times.
fn journal(profile: &Profile) -> Vec<String> {
    let text = profile.file("journal.md").unwrap_or_default();
    text.lines().map(|line| line[19..].to_owned()).collect()
}

/// The policy files.
fn files(profile: &Profile) -> Vec<(String, Vec<u8>)> {
    let below = |path: &std::path::Path| {
        path.strip_prefix(profile.data()).expect("below it").to_string_lossy().into_owned()
    };
    let ours = |path: &String| {
        path == "PLAYBOOK.md"
            || ["goals/", "sensors/", "schedules/"].iter().any(|folder| path.starts_with(folder))
    };
    let tree = profile.tree().into_iter().map(|(path, bytes)| (below(&path), bytes));
    tree.filter(|(path, _)| ours(path)).collect()
}

#[test]
fn each_kind_of_move_by_a_person_is_taken_back() {
    let table: [(&[&str], &str, &str); 8] = [
        (&["goal", "write", "new", "New."], "wrote goal new", "goals/new.md"),
        (&["goal", "write", "g", "Other."], "wrote goal g", "goals/g.md"),
        (&["goal", "archive", "g"], "archived goal g", "goals/g.md"),
        (&["sensor", "write", "s", "#!/bin/sh\necho 2"], "wrote sensor s", "sensors/s.sh"),
        (&["sensor", "rm", "s"], "removed sensor s", "sensors/s.sh"),
        (&["playbook", "write", "# New"], "wrote PLAYBOOK.md", "PLAYBOOK.md"),
        (&["schedule", "write", "t", "--every", "1h"], "wrote schedule t", "schedules/t.json"),
        (&["schedule", "rm", "t"], "dropped schedule t", "schedules/t.json"),
    ];
    let furnished = furnished();
    for (call, what, file) in table {
        let profile = furnished.twin();
        let before = files(&profile);
        profile.run(call).ok();
        let after = files(&profile);
        assert_ne!(before, after, "{call:?}");
        let rows = profile.run(&["undo", "--list", "--json"]).ok().json();
        assert_eq!(
            (&rows[0]["what"], &rows[0]["file"], &rows[0]["by"]),
            (&json!(what), &json!(file), &json!("you"))
        );
        assert_eq!(rows[0]["kept"], json!(true));
        let dry = profile.run(&["undo", "--dry-run"]).ok();
        assert!(dry.stdout.contains(file), "{dry:?}");
        assert_eq!(files(&profile), after, "a dry run changes nothing");
        let ran = profile.run(&["undo"]).ok();
        assert!(ran.stdout.starts_with(&format!("took back: {what}; ")), "{ran:?}");
        assert_eq!(files(&profile), before, "{call:?}");
        assert_eq!(journal(&profile).last().unwrap(), &format!("you took back: {what}"));
    }
}

#[test]
fn a_deciders_moves_are_taken_back_and_a_sensor_is_not_tried_again() {
    let table: [(Value, &str); 5] = [
        (json!({"action": "write_goal", "id": "g", "body": "Theirs."}), "wrote goal g"),
        (json!({"action": "archive_goal", "id": "g"}), "archived goal g"),
        (json!({"action": "write_sensor", "name": "s", "script": "#!/bin/sh\necho 2"}), "wrote sensor s"),
        (json!({"action": "write_schedule", "name": "t", "every_s": 3600}), "wrote schedule t"),
        (json!({"action": "drop_schedule", "name": "t"}), "dropped schedule t"),
    ];
    let furnished = furnished();
    // A trial would refuse it: it prints no reading any more.
    furnished.write("sensors/s.sh", "#!/bin/sh\nexit 3\n");
    looop_sim::profile::set_mode(&furnished.data().join("sensors/s.sh"), 0o700);
    for (decision, what) in table {
        let profile = furnished.twin().decider(&decision);
        let before = files(&profile);
        profile.beat().ok();
        assert_ne!(files(&profile), before, "{decision}");
        let table = profile.run(&["undo", "--list"]).ok().stdout;
        let row = table.lines().nth(1).unwrap_or_default();
        assert!(table.starts_with("BEAT") && row.contains(what) && row.ends_with("fake"), "{table}");
        profile.run(&["undo"]).ok();
        assert_eq!(files(&profile), before, "{decision}");
    }
}

#[test]
fn the_bytes_of_a_decider_are_a_deciders_again() {
    let profile = Profile::bare(LOOOP).decider(&json!({"action": "write_goal", "id": "g", "body": "First."}));
    profile.beat().ok();
    profile.run(&["goal", "write", "g", "Mine."]).ok();
    assert_eq!(profile.ledger().written.get("goals/g.md"), None);
    profile.run(&["undo"]).ok();
    assert_eq!(profile.ledger().written.get("goals/g.md"), Some(&Digest::of(b"First.\n")));
}

#[test]
fn one_undo_after_another_goes_further_back_and_what_was_taken_back_is_kept() {
    let profile = Profile::bare(LOOOP);
    for body in ["One.", "Two.", "Three."] {
        profile.run(&["goal", "write", "g", body]).ok();
    }
    for (body, lost) in [(Some("Two.\n"), "Three.\n"), (Some("One.\n"), "Two.\n"), (None, "One.\n")] {
        let undone = profile.run(&["undo", "--json"]).ok().json();
        assert_eq!(profile.file("goals/g.md").as_deref(), body);
        let kept = format!("undo.d/{}", Digest::of(lost.as_bytes()));
        assert!(undone["again"].as_str().unwrap().ends_with(&kept), "{undone}");
        assert_eq!(profile.file(&kept).as_deref(), Some(lost));
    }
    profile.run(&["undo"]).fails(1, NOTHING);
    assert_eq!(profile.run(&["undo", "--list", "--json"]).ok().json(), json!([]));
    assert_eq!(journal(&profile).len(), 6);
}

#[test]
fn a_diff_shows_what_would_change() {
    let profile = Profile::bare(LOOOP);
    profile.run(&["goal", "write", "g", "Same.\nOld."]).ok();
    profile.run(&["goal", "write", "g", "Same.\nNew."]).ok();
    for option in ["--dry-run", "--diff"] {
        let diff = profile.run(&["undo", option]).ok().stdout;
        assert!(diff.contains(" Same.\n-New.\n+Old."), "{diff}");
    }
    let preview = profile.run(&["undo", "--diff", "--json"]).ok().json();
    assert_eq!((&preview["file"], &preview["v"]), (&json!("goals/g.md"), &json!(1)));
    assert!(preview["diff"].as_str().unwrap().contains("-New."), "{preview}");
    profile.run(&["undo", "--diff", "--list"]).fails(2, "cannot be used with");
}

#[test]
fn a_file_that_was_changed_since_is_left_alone() {
    let profile = Profile::bare(LOOOP);
    profile.run(&["goal", "write", "g", "One."]).ok();
    profile.run(&["goal", "write", "g", "Two."]).ok();
    profile.write("goals/g.md", "Edited.\n");
    let lines = profile.lines().len();
    for call in [&["undo"][..], &["undo", "--dry-run"]] {
        profile.run(call).fails(1, "goals/g.md was changed after \"wrote goal g\"");
    }
    assert_eq!(profile.file("goals/g.md").unwrap(), "Edited.\n");
    assert_eq!(profile.lines().len(), lines, "what is refused leaves no trace");
    profile.write("goals/g.md", "Two.\n");
    profile.run(&["undo"]).ok();
    assert_eq!(profile.file("goals/g.md").unwrap(), "One.\n");
}

#[test]
fn what_is_no_longer_kept_is_not_taken_back() {
    for broken in [None, Some("Another.\n")] {
        let profile = Profile::bare(LOOOP);
        profile.run(&["goal", "write", "g", "One."]).ok();
        profile.run(&["goal", "write", "g", "Two."]).ok();
        let kept = profile.data().join(format!("undo.d/{}", Digest::of(b"One.\n")));
        match broken {
            None => std::fs::remove_file(&kept).unwrap(),
            Some(text) => std::fs::write(&kept, text).unwrap(),
        }
        assert_eq!(profile.run(&["undo", "--list", "--json"]).ok().json()[0]["kept"], json!(false));
        profile.run(&["undo"]).fails(1, "what goals/g.md was before \"wrote goal g\" is no longer kept");
        assert_eq!(profile.file("goals/g.md").unwrap(), "Two.\n");
    }
}

#[test]
fn killed_in_the_middle_it_is_taken_back_once() {
    let furnished = furnished();
    furnished.run(&["goal", "write", "g", "One."]).ok();
    furnished.run(&["goal", "write", "g", "Two."]).ok();
    for point in ["store.log-synced", "store.body-kept", "store.before-replace", "store.replaced"] {
        let profile = furnished.twin();
        let output = profile.command(&["undo"]).env("LOOOP_CRASH_AT", point).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{point}");
        profile.run(&["run", "true"]).ok();
        assert_eq!(profile.file("goals/g.md").unwrap(), "One.\n", "{point}");
        let undos = profile.entries().into_iter();
        let undos = undos
            .filter(|entry| matches!(entry, Entry::Intended { plan, .. } if plan.action.action() == "undo"));
        assert_eq!(undos.count(), 1, "{point}");
        let said = journal(&profile);
        let times = said.iter().filter(|line| *line == "you took back: wrote goal g").count();
        assert_eq!(times, 1, "{point}: {said:?}");
        profile.run(&["undo"]).ok();
        assert_eq!(profile.file("goals/g.md").unwrap(), "Mine.\n", "{point}: the next goes one further");
    }
}

#[test]
fn a_decider_cannot_take_anything_back() {
    let profile = Profile::bare(LOOOP);
    profile.run(&["goal", "write", "g", "Mine."]).ok();
    let beat = profile.ledger().undo[0].beat;
    let profile =
        profile.decider(&json!({"action": "undo", "beat": beat, "path": "goals/g.md", "what": "x"}));
    let ran = profile.beat();
    assert!(ran.code == 1 && ran.stdout.contains("unknown action \"undo\""), "{ran:?}");
    assert_eq!(profile.file("goals/g.md").unwrap(), "Mine.\n");
}

#[test]
fn a_file_that_was_edited_by_hand_does_not_stand_in_the_way_of_the_others() {
    let profile = furnished();
    profile.run(&["playbook", "write", "One."]).ok();
    profile.run(&["goal", "write", "g", "Theirs."]).ok();
    profile.write("goals/g.md", "Edited by hand.\n");
    let refused = profile.run(&["undo"]).fails(1, "goals/g.md was changed after \"wrote goal g\"");
    assert!(refused.stderr.contains("looop undo BEAT takes back another one"), "{refused:?}");
    let rows = profile.run(&["undo", "--list", "--json"]).ok().json();
    let beat = rows.as_array().expect("rows").iter().find(|row| row["file"] == "PLAYBOOK.md").expect("it");
    let beat = beat["beat"].to_string();
    assert!(profile.run(&["undo", "--list"]).ok().stdout.contains(&format!("\n{beat} ")));
    profile.run(&["undo", &beat, "--dry-run"]).ok();
    profile.run(&["undo", &beat]).ok();
    assert_ne!(profile.file("PLAYBOOK.md").as_deref(), Some("One.\n"));
    assert_eq!(profile.file("goals/g.md").as_deref(), Some("Edited by hand.\n"));
    profile.run(&["undo", "9999"]).fails(1, "there is no move of beat 9999");
}
