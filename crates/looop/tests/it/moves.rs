//! Every move that works today, driven by a decider that is a small program, by the built-in rules, and by a person.

use looop_core::ledger::entry::Entry;
use looop_core::schedule::{Missed, When};
use looop_core::world::observation::ScheduleDoc;
use looop_sim::profile::{Profile, write_program};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const UNCHANGED: &str = "nothing changed since the last decision";

/// A profile whose decider gives this decision.
fn decided(decision: &Value) -> Profile {
    Profile::bare(LOOOP).decider(decision)
}

/// The journal without its times.
fn journal(profile: &Profile) -> Vec<String> {
    let text = profile.file("journal.md").unwrap_or_default();
    text.lines().map(|line| line[19..].to_owned()).collect()
}

fn schedule(profile: &Profile, name: &str) -> looop_core::schedule::Schedule {
    let text = profile.file(&format!("schedules/{name}.json")).expect("a schedule");
    serde_json::from_str(&text).expect("a whole schedule")
}

/// Whether the loop would rest if nobody asked it for a beat.
#[track_caller]
fn rests(profile: &Profile) {
    let verdict = profile.verdict();
    assert!(verdict.contains(UNCHANGED), "{verdict}\n{}", profile.run(&["beat", "--dry-run"]).stdout);
}

#[track_caller]
fn wakes(profile: &Profile) {
    assert_eq!(profile.verdict(), "would ask fake: the world changed");
}

#[test]
fn a_noop_does_nothing_and_settles_the_world() {
    let profile = decided(&json!({"action": "noop", "reason": "all is well"}));
    wakes(&profile);
    profile.beat().ok();
    assert_eq!(journal(&profile), Vec::<String>::new());
    rests(&profile);

    profile.decide_next(&json!({"action": "noop", "journal": "looked at\neverything"}));
    profile.beat().ok();
    assert_eq!(journal(&profile), ["looked at everything"]);
}

#[test]
fn a_shell_move_runs_once_in_scratch_and_its_output_is_in_the_next_brief() {
    let profile = decided(
        &json!({"action": "run_shell", "cmd": "pwd > where; echo x >> count; echo seen >&2; exit 0"}),
    );
    let beat = profile.beat().ok();
    assert!(beat.stdout.contains("seen"), "{beat:?}");
    // bubblewrap puts the folder of what is confined in the place of the other.
    let places = ["scratch", "box/scratch"].map(|place| profile.data().canonicalize().unwrap().join(place));
    let found = profile.file("box/scratch/where").unwrap();
    assert!(places.iter().any(|place| place.to_str() == Some(found.trim())), "{found}");
    assert_eq!(profile.file("box/scratch/count").unwrap(), "x\n");
    assert_eq!(profile.verdict(), "would ask fake: a shell move left output to look at");

    profile.decide_next(&json!({"action": "noop"}));
    profile.beat().ok();
    let brief = profile.last_brief();
    assert!(brief.contains("SECTION SHELL") && brief.contains("\nseen\n"), "{brief}");
    assert_eq!(profile.file("box/scratch/count").unwrap(), "x\n");
    rests(&profile);
}

#[test]
fn a_failing_shell_move_fails_the_beat_and_backs_off() {
    let profile = decided(&json!({"action": "run_shell", "cmd": "echo no >&2; exit 3", "goal": "ship"}))
        .goal("ship", "Ship it.");
    let beat = profile.beat();
    assert_eq!(beat.code, 1, "{beat:?}");
    assert_eq!(journal(&profile), ["[ship] ran echo no >&2; exit 3 — failed: exit 3"]);
    assert_eq!(profile.ledger().goals["ship"].last.as_deref(), Some("exit 3"));
    let status = profile.run(&["status"]).ok().stdout;
    assert!(
        status.contains("1 in a row, next try in") && status.contains("looop beat tries now"),
        "{status}"
    );
    assert_eq!(profile.beat().code, 1, "whoever asks for a beat does not wait");
    assert_eq!(profile.ledger().runs, 2);
}

#[test]
fn a_goal_is_written_served_and_does_not_wake() {
    let write = json!({"action": "write_goal", "id": "ship", "body": "# Ship\nSoon.", "goal": "ship"});
    let profile = decided(&write);
    profile.beat().ok();
    assert_eq!(profile.file("goals/ship.md").unwrap(), "# Ship\nSoon.\n");
    assert_eq!(journal(&profile), ["[ship] wrote goal ship"]);
    assert!(profile.ledger().goals["ship"].served.is_some());
    rests(&profile);

    profile.write("goals/ship.md", "# Ship\nNow.\n");
    wakes(&profile);
}

#[test]
fn an_archive_never_overwrites_an_older_one() {
    let profile = decided(&json!({"action": "archive_goal", "id": "ship"})).goal("ship", "first\n");
    profile.beat().ok();
    rests(&profile);
    profile.write("goals/ship.md", "second\n");
    profile.beat().ok();
    profile.write("goals/ship.md", "third\n");
    profile.run(&["goal", "archive", "ship"]).ok();
    let archived = |name: &str| profile.file(&format!("goals/archive/{name}.md"));
    assert_eq!(
        [archived("ship"), archived("ship-2"), archived("ship-3")].map(Option::unwrap),
        ["first\n", "second\n", "third\n"]
    );
    assert_eq!(profile.file("goals/ship.md"), None);
    assert_eq!(journal(&profile).last().unwrap(), "you archived goal ship");
}

#[test]
fn a_good_sensor_is_tried_and_written_and_its_reading_wakes() {
    let script = "#!/bin/sh\necho '{\"signal\":{\"red\":0}}'\n";
    let profile = decided(&json!({"action": "write_sensor", "name": "ci", "script": script}));
    profile.beat().ok();
    assert_eq!(profile.file("sensors/ci.sh").unwrap(), script);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(profile.data().join("sensors/ci.sh")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
    wakes(&profile);
    assert_eq!(profile.tree().keys().filter(|path| path.ends_with("sensor")).count(), 0, "the trial is gone");
}

#[test]
fn a_sensor_that_prints_no_reading_is_never_written() {
    let cases = [
        ("#!/bin/sh\necho no json", "not one JSON value"),
        ("#!/bin/sh\necho oh dear >&2; exit 3", "oh dear"),
        ("#!/bin/sh\n", "printed nothing"),
        ("#!/nonexistent/interpreter\n", "not found"),
        ("#!/bin/sh\n# looop:timeout=1\nsleep 600", "deadline"),
        ("#!/bin/sh\n# looop:max_bytes=10\necho '{\"signal\":\"far too much\"}'", "10 bytes"),
    ];
    for (script, said) in cases {
        let profile = decided(&json!({"action": "write_sensor", "name": "bad", "script": script}));
        let beat = profile.beat();
        assert!(beat.code == 1 && beat.stdout.contains("tried and not written"), "{script}: {beat:?}");
        assert!(beat.stdout.contains(said), "{script}: expected {said:?} in {beat:?}");
        assert_eq!(profile.file("sensors/bad.sh"), None);
        assert_eq!(profile.survivors(), Vec::<String>::new());
    }
    let profile = decided(&json!({"action": "write_sensor", "name": "bad", "script": "echo '{}'"}));
    let beat = profile.beat();
    assert!(beat.code == 1 && beat.stdout.contains("must start with #!"), "{beat:?}");
    assert_eq!(profile.file("sensors/bad.sh"), None);
}

#[test]
fn a_playbook_keeps_its_history() {
    let profile = decided(&json!({"action": "write_playbook", "body": "# Second"}));
    profile.beat().ok();
    assert_eq!(profile.file("PLAYBOOK.md").unwrap(), "# Second\n");
    rests(&profile);
    profile.run(&["playbook", "write", "# Third"]).ok();
    wakes(&profile);

    let history = profile.run(&["playbook", "history", "--json"]).ok().json();
    let names: Vec<&str> = history.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names.len(), 2);
    assert_eq!(profile.file(&format!("playbook.d/{}", names[0])).unwrap(), "# PLAYBOOK\nBe careful.\n");
    let diff = profile.run(&["playbook", "diff"]).ok().stdout;
    assert!(diff.contains("-# Second") && diff.contains("+# Third"), "{diff}");
    profile.run(&["playbook", "restore", names[0]]).ok();
    assert_eq!(profile.run(&["playbook", "show"]).ok().stdout, "# PLAYBOOK\nBe careful.\n");
}

#[test]
fn a_notification_reaches_the_persons_command_with_its_text_unharmed() {
    let message = "it's \"done\"; $(touch /tmp/never) `x`\nsecond";
    let decision = json!({"action": "send_notification", "message": message, "id": "ship"});
    let profile = decided(&decision);
    let config = profile.file("config.toml").unwrap();
    let heard = profile.outside().join("heard");
    let script = profile.outside().join("notify");
    write_program(
        &script,
        &format!(
            "#!/bin/sh\nprintf '%s|%s|%s|%s' \"$1\" \"$LOOOP_MESSAGE\" \"$LOOOP_ID\" \"$LOOOP_KIND\" >> '{}'\n",
            heard.display()
        ),
    );
    let command = json!(format!("'{}' \"$LOOOP_MESSAGE\"", script.display()));
    profile.write("config.toml", format!("notification = {command}\n{config}"));
    profile.beat().ok();
    assert_eq!(std::fs::read_to_string(heard).unwrap(), format!("{message}|{message}|ship|notification"));
    assert_eq!(journal(&profile), ["notified: it's \"done\"; $(touch /tmp/never) `x` second"]);
}

#[test]
fn a_notification_without_a_command_is_refused_with_the_key_to_set() {
    let profile = decided(&json!({"action": "send_notification", "message": "hello"}));
    let beat = profile.beat();
    assert!(
        beat.code == 1 && beat.stdout.contains("set `notification`, `ntfy` or `webhook` in config.toml"),
        "{beat:?}"
    );
    assert_eq!(journal(&profile), Vec::<String>::new());
}

#[test]
fn an_ask_waits_for_the_person_and_its_answer_is_in_the_next_brief() {
    let ask = json!({"action": "ask_human", "prompt": "Which one?", "options": ["a", "b"], "ref": "x.md", "goal": "ship"});
    let profile = decided(&ask).goal("ship", "Ship it.");
    profile.beat().ok();
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert_eq!(
        (&asks[0]["id"], &asks[0]["prompt"], &asks[0]["options"], &asks[0]["ref"], &asks[0]["goal"]),
        (&json!("ask-1"), &json!("Which one?"), &json!(["a", "b"]), &json!("x.md"), &json!("ship"))
    );

    profile.run(&["answer", "ask-1", "the", "first"]).ok();
    profile.run(&["answer", "ask-1", "late"]).fails(1, "already");
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
    profile.decide_next(&json!({"action": "noop"}));
    profile.beat().ok();
    let brief = profile.last_brief();
    assert!(brief.contains("\nWhich one?\n") && brief.contains("\nthe first\n"), "{brief}");
    assert!(
        profile.entries().iter().any(|entry| matches!(entry, Entry::Answered { ask, .. } if ask == "ask-1"))
    );

    profile.beat().ok();
    assert!(!profile.last_brief().contains("the first"), "an answer is shown once");
    profile.run(&["answer", "ask-1", "again"]).fails(1, "ask-1");
    profile.run(&["answer", "ask-9", "x"]).fails(1, "looop asks");
}

#[test]
fn an_own_ask_does_not_wake() {
    let profile = decided(&json!({"action": "ask_human", "prompt": "Which one?"}));
    profile.beat().ok();
    rests(&profile);
}

#[test]
fn an_answer_wakes_however_soon_it_comes() {
    let profile = decided(&json!({"action": "ask_human", "prompt": "Which one?"}));
    profile.beat().ok();
    profile.run(&["answer", "ask-1", "that one"]).ok();
    let verdict = profile.verdict();
    assert!(verdict.starts_with("would ask fake"), "{verdict}");
}

#[test]
fn a_dismissed_ask_is_gone() {
    let profile = decided(&json!({"action": "ask_human", "prompt": "Which one?"}));
    profile.beat().ok();
    profile.run(&["asks", "dismiss", "ask-1"]).ok();
    profile.run(&["asks", "dismiss", "ask-1"]).fails(1, "ask-1");
    let asks = profile.run(&["asks"]).ok();
    assert_eq!((asks.stdout.as_str(), asks.stderr.as_str()), ("", "nothing waits for you\n"));
}

#[test]
fn schedules_are_written_in_every_form() {
    let cases = [
        json!({"name": "soon", "in_s": 90}),
        json!({"name": "often", "every_s": 60}),
        json!({"name": "then", "at": "2030-01-31 09:00", "zone": "Europe/Berlin"}),
        json!({"name": "daily", "cron": "0 9 * * 1-5", "zone": "America/New_York", "missed": "skip", "note": "stand-up"}),
    ];
    let profile = decided(&json!({"action": "noop"}));
    for case in cases {
        let mut decision = case.clone();
        decision["action"] = json!("write_schedule");
        profile.decide_next(&decision);
        profile.beat().ok();
    }
    let (soon, often) = (schedule(&profile, "soon"), schedule(&profile, "often"));
    assert_eq!(soon.when, When::At(soon.created + 90_000));
    assert_eq!(often.when, When::Every { seconds: 60, from: often.created });
    assert_eq!(schedule(&profile, "then").when, When::At(1_896_076_800_000));
    let daily = schedule(&profile, "daily");
    assert_eq!((daily.missed, daily.note.as_deref()), (Missed::Skip, Some("stand-up")));
    assert_eq!(
        daily.when,
        When::Cron { line: "0 9 * * 1-5".to_owned(), zone: Some("America/New_York".to_owned()) }
    );
    let list = profile.run(&["schedule", "list", "--json"]).ok().json();
    assert_eq!(list.as_array().unwrap().len(), 4);

    profile.decide_next(&json!({"action": "drop_schedule", "name": "often"}));
    profile.beat().ok();
    assert_eq!(profile.file("schedules/often.json"), None);
    assert_eq!(journal(&profile).last().unwrap(), "dropped schedule often");
    rests(&profile);
}

#[test]
fn a_schedule_that_is_due_wakes_once() {
    let profile = decided(&json!({"action": "noop"}));
    profile.beat().ok();
    profile.run(&["schedule", "write", "past", "--at", "2020-01-01 00:00"]).fails(1, "is in the past");
    let past = r#"{"v":1,"name":"past","when":{"at":1577836800000},"missed":"once","created":1577836800000}"#;
    profile.write("schedules/past.json", past);
    wakes(&profile);
    profile.beat().ok();
    rests(&profile);
    profile.run(&["schedule", "rm", "past"]).ok();
    assert!(!matches!(
        profile.run(&["schedule", "list", "--json"]).ok().json().as_array().unwrap().as_slice(),
        [_, ..]
    ));
}

#[test]
fn a_bad_schedule_is_refused_and_says_why() {
    let cases = [
        (json!({"in_s": 5, "every_s": 60}), "exactly one"),
        (json!({}), "exactly one"),
        (json!({"every_s": 59}), "60"),
        (json!({"cron": "not a cron"}), "cron"),
        (json!({"cron": "0 9 * * *", "zone": "Mars/Olympus"}), "Mars/Olympus"),
        (json!({"at": "some day"}), "some day"),
        (json!({"in_s": 5, "missed": "never"}), "missed"),
        (json!({"in_s": 5, "zone": "Europe/Berlin"}), "zone"),
    ];
    for (fields, said) in cases {
        let mut decision = fields.clone();
        decision["action"] = json!("write_schedule");
        decision["name"] = json!("bad");
        let profile = decided(&decision);
        let beat = profile.beat();
        assert!(beat.code == 1 && beat.stdout.contains(said), "{fields}: expected {said:?} in {beat:?}");
        assert_eq!(profile.file("schedules/bad.json"), None);
    }
}

#[test]
fn worker_moves_without_a_runner_or_a_worker_are_refused() {
    let cases = [
        (json!({"action": "start_worker", "id": "w", "prompt": "do it"}), "no runner can start a worker"),
        (json!({"action": "steer_session", "id": "w", "input": "go on"}), "there is no worker"),
        (json!({"action": "send_key", "id": "w", "keys": ["Escape"]}), "there is no worker"),
        (json!({"action": "restart_session", "id": "w"}), "there is no worker"),
        (json!({"action": "kill_worker", "id": "w"}), "there is no worker"),
    ];
    for (decision, why) in cases {
        let profile = decided(&decision);
        let beat = profile.beat();
        assert!(beat.code == 1 && beat.stdout.contains(why), "{decision}: {beat:?}");
    }
}

#[test]
fn a_decider_may_ask_for_an_early_next_beat_once() {
    let profile = decided(&json!({"action": "noop", "next_interval_s": 1}));
    profile.beat().ok();
    assert_eq!(profile.ledger().nudge.map(|nudge| nudge.seconds), Some(5), "at least five seconds");
    profile.decide_next(&json!({"action": "noop", "next_interval_s": 999_999_999}));
    profile.beat().ok();
    assert_eq!(profile.ledger().nudge.map(|nudge| nudge.seconds), Some(3600), "at most an hour");
    profile.decide_next(&json!({"action": "noop"}));
    profile.beat().ok();
    assert_eq!(profile.ledger().nudge, None);
}

#[test]
fn a_person_writes_policy_files_and_each_is_journaled_and_wakes() {
    let profile = decided(&json!({"action": "noop"}));
    profile.beat().ok();
    profile.run(&["goal", "write", "ship", "Ship it."]).ok();
    wakes(&profile);
    profile.run_with(&["sensor", "write", "ci"], b"#!/bin/sh\necho '{\"signal\":1}'\n").ok();
    profile.run(&["schedule", "write", "soon", "--in", "90m", "--note", "tea"]).ok();
    profile.run(&["sensor", "rm", "ci"]).ok();
    profile.run(&["sensor", "write", "ci", "#!/bin/sh\nexit 1"]).fails(1, "tried and not written");
    profile.run(&["run", "true"]).ok();
    let expected = ["wrote goal ship", "wrote sensor ci", "wrote schedule soon", "removed sensor ci"];
    let lines = journal(&profile);
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!(*line, format!("you {expected}"));
    }
    assert!(lines[4].starts_with("you wrote sensor ci — failed: tried and not written"), "{}", lines[4]);
    assert_eq!(lines[5], "you ran true");
}

#[test]
fn broken_schedule_files_are_shown_and_named() {
    let profile = decided(&json!({"action": "noop"}));
    profile.write("schedules/odd.json", "{\"v\":1,");
    let reader = looop_store::Reader::open(&profile.data()).unwrap();
    let docs = reader.scan(&mut looop_store::docs::DocsCache::default(), 0).docs;
    assert!(matches!(docs.schedules["odd"], ScheduleDoc::Broken { .. }));
    let list = profile.run(&["schedule", "list"]).ok();
    assert!(list.stdout.contains("schedules/odd.json"), "{list:?}");
}
