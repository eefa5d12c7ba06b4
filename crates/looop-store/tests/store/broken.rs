//! Every file of the profile, broken in every way: named, bounded, and nothing else is lost.

use looop_core::world::observation::{Doc, ScheduleDoc};
use looop_store::docs::DocsCache;
use looop_store::{LockError, LogError, Recovered};

use crate::harness::{Profile, break_with, breaks, file_plan, journaled, line};

const LATER: i64 = 4_000_000_000_000;

/// Ways that still give a readable text.
fn is_text(how: &str) -> bool {
    how == "garbage"
}

#[test]
fn a_broken_policy_file_never_reads_as_absent() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        profile.write("goals/good.md", "fine");
        for path in ["PLAYBOOK.md", "goals/bad.md", "schedules/bad.json"] {
            break_with(&profile.path(path), make);
        }
        let scan = profile.reader().scan(&mut DocsCache::default(), LATER);
        for (path, doc) in [("PLAYBOOK.md", &scan.docs.playbook), ("goals/bad.md", &scan.docs.goals["bad"])] {
            match doc {
                Doc::Broken { error } => assert!(error.contains(path) && !is_text(how), "{how}: {error}"),
                Doc::Text { .. } => assert!(is_text(how), "{how}: {path}"),
                Doc::Absent => panic!("{how}: {path} reads as absent"),
            }
        }
        let ScheduleDoc::Broken { error, .. } = &scan.docs.schedules["bad"] else { panic!("{how}") };
        assert!(error.contains("schedules/bad.json"), "{how}: {error}");
        assert_eq!(scan.docs.goals["good"], Doc::of("fine"), "{how}");
    }
}

#[test]
fn a_broken_folder_is_named_and_not_empty() {
    for (how, make) in breaks().into_iter().filter(|(how, _)| *how != "folder") {
        for folder in ["goals", "sensors", "schedules", "goals/archive"] {
            let profile = Profile::new();
            break_with(&profile.path(folder), make);
            let scan = profile.reader().scan(&mut DocsCache::default(), LATER);
            assert!(scan.broken.iter().any(|error| error.starts_with(folder)), "{how}: {folder}");
        }
    }
}

#[test]
fn a_broken_log_file_fails_closed_and_is_named() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        drop(profile.writer().open_log().unwrap());
        break_with(&profile.path("log/000000000001.jsonl"), make);
        for error in [profile.reader().ledger().unwrap_err(), profile.writer().open_log().unwrap_err()] {
            assert!(error.to_string().contains("log/000000000001.jsonl"), "{how}: {error}");
        }
        assert!(profile.reader().recent(5).is_err() && profile.reader().verify_log().is_err(), "{how}");
    }
}

#[test]
fn a_broken_log_folder_fails_closed() {
    for (how, make) in breaks().into_iter().filter(|(how, _)| *how != "folder") {
        let profile = Profile::new();
        break_with(&profile.path("log"), make);
        let error = profile.writer().open_log().unwrap_err();
        assert!(matches!(&error, LogError::Unreadable { path, .. } if path == "log"), "{how}: {error}");
    }
}

#[test]
fn a_broken_letter_is_listed_and_the_others_are_read() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        let ask = r#"{"v":1,"id":"good","from":"pulse","prompt":"?","asked":1}"#;
        profile.write("asks/good.json", ask);
        break_with(&profile.path("asks/bad.json"), make);
        break_with(&profile.path("answers/good.json"), make);
        let letters = profile.reader().letters();
        assert_eq!(letters.asks.keys().collect::<Vec<_>>(), ["good"], "{how}");
        let named: Vec<&str> = letters.broken.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(named, ["asks/bad.json", "answers/good.json"], "{how}");
        // An answer that cannot be read does not block the person.
        let answer =
            profile.reader().post_answer("good", "yes", 5).unwrap_or_else(|error| panic!("{how}: {error}"));
        assert_eq!(answer.text, "yes");
        let letters = profile.reader().letters();
        assert_eq!(letters.answers["good"].text, "yes", "{how}");
    }
}

#[test]
fn a_broken_lock_file_is_named() {
    for (how, make) in breaks().into_iter().filter(|(how, _)| !matches!(*how, "garbage" | "binary" | "huge"))
    {
        let profile = Profile::new();
        break_with(&profile.path("lock"), make);
        let error = profile.reader().lock().unwrap_err();
        assert!(matches!(&error, LockError::Unusable { path, .. } if path == "lock"), "{how}: {error}");
    }
}

#[test]
fn a_broken_journal_is_named_and_never_hangs() {
    for (how, make) in breaks().into_iter().filter(|(how, _)| !matches!(*how, "garbage" | "binary" | "huge"))
    {
        let profile = Profile::new();
        break_with(&profile.path("journal.md"), make);
        let writer = profile.writer();
        let error = writer.append_journal("- 2026-01-01 00:00 x").unwrap_err();
        assert!(error.to_string().contains("journal.md"), "{how}: {error}");
        assert!(writer.journal_tail(5).value().is_none(), "{how}");
        let ledger = journaled("- x");
        assert!(writer.mend_journal(&ledger).is_err(), "{how}");
    }
}

#[test]
fn a_move_does_not_replace_what_cannot_be_read() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        break_with(&profile.path("goals/a.md"), make);
        let writer = profile.writer();
        let plan = file_plan("goals/a.md", None, Some(b"new"));
        assert!(!writer.perform(&plan, Some(b"new"), 5).is_done(), "{how}");
        assert!(
            matches!(writer.recover(&plan), Recovered::Conflict(why) if why.contains("goals/a.md")),
            "{how}"
        );
        assert!(std::fs::symlink_metadata(profile.path("goals/a.md")).is_ok(), "{how}");
    }
}

#[test]
fn a_broken_snapshot_is_written_anew() {
    for (how, make) in breaks().into_iter().filter(|(how, _)| *how != "folder") {
        let profile = Profile::new();
        break_with(&profile.path("snapshots/sensor-a.json"), make);
        assert!(profile.writer().write_snapshot("sensor-a", b"{}").unwrap(), "{how}");
        assert_eq!(profile.reader().read_snapshot("sensor-a").value().unwrap().0, b"{}", "{how}");
    }
}

#[test]
fn other_names_in_the_log_folder_are_none_of_the_log() {
    let profile = Profile::new();
    let (mut log, ..) = profile.writer().open_log().unwrap();
    log.append(&line(1), true).unwrap();
    for name in ["notes", "1.jsonl", "00000000000x.jsonl", "000000000009.jsonl.bak", "9999999999999.jsonl"] {
        profile.write(&format!("log/{name}"), "garbage");
    }
    assert_eq!(profile.reader().ledger().unwrap().seq, 1);
}
