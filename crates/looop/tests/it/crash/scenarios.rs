//! What is under way when the crash comes.

use std::fs;

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::time::Stamp;
use looop_sim::profile::Profile;
use looop_store::Reader;
use looop_store::log::LOG_FILES_KEPT;
use serde_json::json;

use super::checks::{done, intended, names, ran_by_hand, served, settled};

/// A command that leaves one line each time it runs.
const SHELL: &str = r#"echo "$LOOOP_SESSION_ID" >>"$LOOOP_DATA_DIR/ran""#;

pub(super) fn bare() -> Profile {
    Profile::bare(env!("CARGO_BIN_EXE_looop"))
}

/// A decider that does something until `file` is there, then nothing.
pub(super) fn until(profile: Profile, file: &str, decision: &serde_json::Value) -> Profile {
    profile.write("decision", decision.to_string());
    let noop = r#"echo '{"action":"noop"}'"#;
    let there = format!("ls {file} 2>/dev/null | grep -q .");
    let tick = format!("cd \"$LOOOP_DATA_DIR\"; if {there}; then {noop}; else cat decision; fi");
    // What is counted here lies where a confined command cannot write.
    let profile = profile.decider_command(&tick);
    let config = profile.file("config.toml").unwrap_or_default();
    profile.config(&format!("sandbox = \"off\"\n{config}"))
}

/// Has every new PLAYBOOK asked for, whatever the policy of the environment.
fn asking(profile: Profile) -> Profile {
    profile.write("policy.toml", "[[rule]]\nmove = \"write_playbook\"\nthen = \"ask\"\n");
    profile
}

/// A profile, the call that is crashed, and what must hold once the loop is quiet again. The flag says whether the
/// host died too: then a command has run at most once instead of exactly once.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) base: Profile,
    pub(super) call: Vec<&'static str>,
    pub(super) check: fn(&Profile, bool),
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let quiet = |profile: Profile| {
        profile.beat().ok();
        profile
    };
    let asked = || {
        let profile = until(
            bare(),
            "mail.d/*.ask.json asks/*.json",
            &json!({"action": "ask_human", "prompt": "Well?"}),
        );
        quiet(profile)
    };
    let answered = || {
        let profile = asked();
        profile.run(&["answer", "ask-1", "yes"]).ok();
        profile
    };
    let recipe = format!("---\ncheck: test -e ran\nrun: {SHELL}\n---\n");
    let scenario =
        |name, base, call: &[&'static str], check| Scenario { name, base, call: call.to_vec(), check };
    vec![
        scenario("a recipe", quiet(bare().sensor("s", "date +%N")).goal("g", &recipe), &["beat"], served),
        scenario("by hand", quiet(bare()), &["run", SHELL], ran_by_hand),
        scenario(
            "decided shell",
            until(quiet(bare()), "ran", &json!({"action": "run_shell", "cmd": SHELL})),
            &["beat"],
            served,
        ),
        scenario(
            "decided goal",
            until(
                quiet(bare()),
                "goals/new.md",
                &json!({"action": "write_goal", "id": "new", "body": "Be new.\n"}),
            ),
            &["beat"],
            |profile, host| {
                assert!(host || profile.file("goals/new.md").as_deref() == Some("Be new.\n"));
                assert!(host || done(profile, "write_goal") == 1);
            },
        ),
        scenario(
            "parked",
            until(
                asking(quiet(bare())),
                "asks/ask-1.json",
                &json!({"action": "write_playbook", "body": "# Bold\n"}),
            ),
            &["beat"],
            |profile, host| {
                let parked = profile.ledger().parked;
                assert!(host || parked.contains_key("ask-1"), "{parked:?}");
                assert_eq!(profile.file("asks/ask-1.json").is_some(), parked.contains_key("ask-1"));
                assert!(parked.len() <= 1 && !profile.file("PLAYBOOK.md").unwrap().contains("Bold"));
            },
        ),
        scenario("playbook", quiet(bare()), &["playbook", "write", "# New"], |profile, _| {
            let is_new = intended(profile, "write_playbook");
            assert_eq!(profile.file("PLAYBOOK.md").unwrap().contains("# New"), is_new);
            let kept = names(profile, "playbook.d").len();
            assert_eq!(kept, usize::from(is_new), "the earlier body is kept once");
        }),
        scenario("sensor", quiet(bare()), &["sensor", "write", "s", "#!/bin/sh\necho 1"], |profile, _| {
            assert_eq!(profile.file("sensors/s.sh").is_some(), intended(profile, "write_sensor"));
            assert_eq!(fs::read_dir(profile.data().join("scratch")).unwrap().count(), 0, "no trial is left");
        }),
        scenario("sensor gone", quiet(bare().sensor("s", "echo 1")), &["sensor", "rm", "s"], |profile, _| {
            assert_eq!(profile.file("sensors/s.sh").is_none(), intended(profile, "remove_sensor"));
        }),
        scenario("archive", quiet(bare().goal("g", "Old.")), &["goal", "archive", "g"], |profile, _| {
            let moved = profile.file("goals/archive/g.md").as_deref() == Some("Old.");
            assert_eq!(
                (moved, profile.file("goals/g.md").is_none()),
                (intended(profile, "archive_goal"), moved)
            );
        }),
        scenario("undo", rewritten(quiet(bare().goal("g", "Old."))), &["undo"], |profile, _| {
            let body = if intended(profile, "undo") { "Old." } else { "New.\n" };
            assert_eq!(profile.file("goals/g.md").as_deref(), Some(body));
            assert_eq!(done(profile, "undo"), usize::from(intended(profile, "undo")));
        }),
        scenario("schedule", quiet(bare()), &["schedule", "write", "t", "--every", "7d"], |profile, _| {
            assert_eq!(profile.file("schedules/t.json").is_some(), intended(profile, "write_schedule"));
        }),
        scenario(
            "a question",
            until(quiet(bare()), "asks/*.json", &json!({"action": "ask_human", "prompt": "Well?"})),
            &["beat"],
            |profile, host| {
                assert!(host || profile.run(&["asks", "--json"]).ok().json().as_array().unwrap().len() == 1);
            },
        ),
        scenario("an answer", asked(), &["answer", "ask-1", "yes"], settled),
        scenario("a settled answer", answered(), &["beat"], settled),
        scenario("a worker's ask", quiet(bare()), &ASK, |profile, _| {
            profile.run(&ASK).fails(124, "nobody has answered w-1");
            assert_eq!(names(profile, "asks"), ["w-1.json"]);
        }),
        scenario("a message", with(TELL), &["told", "w~1"], |profile, _| once(profile, "tells", TELL.1)),
        scenario("a claim", with(CLAIM), &["unclaim", "repo"], |profile, _| once(profile, "claims", CLAIM.1)),
        scenario("seeding", Profile::new(env!("CARGO_BIN_EXE_looop")), &["beat"], |profile, _| {
            for seed in ["PLAYBOOK.md", "sensors/today.sh", "goals/welcome.md", "goals/disk-report.md"] {
                assert!(profile.file(seed).is_some(), "{seed}");
            }
            let seeded = |entry: &&Entry| matches!(entry, Entry::Seeded { .. });
            assert_eq!(profile.entries().iter().filter(seeded).count(), 1);
        }),
        scenario("a torn log", torn(quiet(bare()).goal("g", &recipe)), &["beat"], served),
        scenario("a full log", full_log(bare()).goal("g", &recipe), &["beat"], served),
        scenario("a full journal", full_journal(quiet(bare())), &["run", SHELL], ran_by_hand),
    ]
}

const ASK: [&str; 6] = ["ask", "w~1", "--prompt", "Well?", "--timeout", "0"];
const TELL: (&str, &str) =
    ("tells/w-1.json", r#"{"v":1,"id":"w-1","to":"w~1","text":"look","sent":1800000000000}"#);
const CLAIM: (&str, &str) =
    ("claims/repo.json", r#"{"v":1,"name":"repo","session":"w~1","ts":1800000000000,"nonce":"1"}"#);

/// A goal that a move has rewritten.
fn rewritten(profile: Profile) -> Profile {
    profile.run(&["goal", "write", "g", "New."]).ok();
    profile
}

/// A profile with a letter in it.
fn with((path, text): (&str, &str)) -> Profile {
    let profile = bare();
    profile.beat().ok();
    profile.write(path, text);
    profile
}

/// A letter is where it was or put away, in one place.
fn once(profile: &Profile, folder: &str, text: &str) {
    let there = |folder: &str| {
        let files = names(profile, folder).into_iter();
        files.filter(|name| profile.file(&format!("{folder}/{name}")).as_deref() == Some(text)).count()
    };
    assert_eq!(there(folder) + there("mail.d"), 1);
}

/// A crash left half a line.
fn torn(profile: Profile) -> Profile {
    let log = fs::read_dir(profile.data().join("log")).unwrap().next().unwrap().unwrap().path();
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("{\"seq\":2,\"at\":{\"wal");
    fs::write(&log, text).unwrap();
    profile
}

/// As many files as are kept, the newest of them full: the next append begins a new one and the oldest is forgotten.
fn full_log(profile: Profile) -> Profile {
    profile.beat().ok();
    let writer = Reader::open(&profile.data()).unwrap().lock().unwrap();
    let (mut log, mut ledger, _) = writer.open_log().unwrap();
    let at = Stamp { wall: 1, up: 1, boot: 1 };
    let mut append = |entry, rotate: bool| {
        let line = Line { seq: log.last() + 1, at, idle: 0, entries: vec![entry] };
        log.append(&line, false).unwrap();
        apply_line(&mut ledger, &line);
        if rotate {
            log.rotate(&ledger).unwrap();
        }
    };
    for _ in 1..LOG_FILES_KEPT {
        append(Entry::Resumed, true);
    }
    append(Entry::Dropped { what: "x".repeat(5 << 20) }, false);
    drop((log, writer));
    profile
}

fn full_journal(profile: Profile) -> Profile {
    profile.write("journal.md", "- 2026-01-01 00:00 long ago\n".repeat(200_000));
    profile
}
