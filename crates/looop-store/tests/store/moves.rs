//! File moves: done once, never over a person's edit.

use looop_core::model::digest::Digest;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::Act;
use looop_store::Recovered;

use crate::harness::{Profile, archive_plan, file_plan, plan, stamp};

fn reason(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { reason, .. } => reason.clone(),
        Outcome::Done { .. } | Outcome::Interrupted { .. } => panic!("{outcome:?}"),
    }
}

#[test]
fn a_file_is_created_replaced_and_removed() {
    let profile = Profile::new();
    let writer = profile.writer();
    let create = file_plan("goals/a.md", None, Some(b"one"));
    assert_eq!(writer.recover(&create), Recovered::Todo);
    assert_eq!(writer.perform(&create, Some(b"one"), 5), Outcome::done());
    assert_eq!(writer.recover(&create), Recovered::Done);
    assert_eq!(writer.perform(&create, Some(b"one"), 5), Outcome::done(), "doing it again is harmless");
    assert_eq!(profile.mode("goals/a.md"), 0o600);
    let replace = file_plan("goals/a.md", Some(b"one"), Some(b"two"));
    assert_eq!(writer.perform(&replace, Some(b"two"), 5), Outcome::done());
    assert_eq!(profile.text("goals/a.md"), "two");
    let remove = file_plan("goals/a.md", Some(b"two"), None);
    assert_eq!(writer.recover(&remove), Recovered::Todo);
    assert!(writer.perform(&remove, None, 5).is_done());
    assert_eq!(writer.recover(&remove), Recovered::Done);
    assert!(!profile.path("goals/a.md").exists());
}

#[test]
fn a_sensor_can_be_executed() {
    let profile = Profile::new();
    let plan = file_plan("sensors/ci.sh", None, Some(b"#!/bin/sh\n"));
    assert!(profile.writer().perform(&plan, Some(b"#!/bin/sh\n"), 5).is_done());
    assert_eq!(profile.mode("sensors/ci.sh"), 0o700);
}

#[test]
fn an_edit_made_meanwhile_is_never_lost() {
    let profile = Profile::new();
    let writer = profile.writer();
    profile.write("goals/a.md", "a person's");
    let plans = [
        file_plan("goals/a.md", Some(b"one"), Some(b"two")),
        file_plan("goals/a.md", None, Some(b"two")),
        file_plan("goals/a.md", Some(b"one"), None),
        archive_plan("goals/a.md", "goals/archive/a.md", b"one"),
    ];
    for plan in plans {
        let outcome = writer.perform(&plan, Some(b"two"), 5);
        assert!(reason(&outcome).contains("goals/a.md was changed meanwhile"), "{outcome:?}");
        assert!(matches!(writer.recover(&plan), Recovered::Conflict(_)));
        assert_eq!(profile.text("goals/a.md"), "a person's");
    }
    assert_eq!(profile.names("goals"), ["a.md", "archive"], "no temp file is left");
}

#[test]
fn the_bytes_must_be_those_that_were_planned() {
    let profile = Profile::new();
    let plan = file_plan("goals/a.md", None, Some(b"one"));
    assert!(
        reason(&profile.writer().perform(&plan, Some(b"other"), 5)).contains("not those that were planned")
    );
    assert!(reason(&profile.writer().perform(&plan, None, 5)).contains("not those that were planned"));
    assert_eq!(profile.names("goals"), ["archive"]);
}

#[test]
fn an_archive_never_overwrites() {
    let profile = Profile::new();
    let writer = profile.writer();
    profile.write("goals/a.md", "body");
    profile.write("goals/archive/a.md", "older");
    let taken = archive_plan("goals/a.md", "goals/archive/a.md", b"body");
    assert!(!writer.perform(&taken, None, 5).is_done());
    assert_eq!(
        (profile.text("goals/a.md"), profile.text("goals/archive/a.md")),
        ("body".into(), "older".into())
    );
    let free = archive_plan("goals/a.md", "goals/archive/a-2.md", b"body");
    assert_eq!(writer.recover(&free), Recovered::Todo);
    assert!(writer.perform(&free, None, 5).is_done());
    assert_eq!(writer.recover(&free), Recovered::Done);
    assert!(writer.perform(&free, None, 5).is_done());
    assert_eq!(profile.text("goals/archive/a-2.md"), "body");
    profile.write("goals/a.md", "recreated");
    assert!(matches!(writer.recover(&free), Recovered::Conflict(_)));
}

#[test]
fn earlier_playbooks_are_kept_and_bounded() {
    let profile = Profile::new();
    let writer = profile.writer();
    let mut before: Option<Vec<u8>> = None;
    for n in 0..6_i64 {
        let body = format!("body {n}").into_bytes();
        let mut plan = file_plan("PLAYBOOK.md", before.as_deref(), Some(&body));
        plan.at.wall += n * 1000;
        assert!(writer.perform(&plan, Some(&body), 3).is_done());
        assert!(writer.perform(&plan, Some(&body), 3).is_done());
        before = Some(body);
    }
    let kept = writer.playbook_history().unwrap();
    let texts: Vec<String> = kept.iter().map(|name| profile.text(&format!("playbook.d/{name}"))).collect();
    assert_eq!(texts, ["body 2", "body 3", "body 4"]);
    assert!(kept[0].starts_with("20270115-080003.000-"), "{kept:?} at {}", stamp().wall);
    assert_eq!(profile.text("PLAYBOOK.md"), "body 5");
}

#[test]
fn no_move_reaches_other_files() {
    let profile = Profile::new();
    let writer = profile.writer();
    let paths = [
        "../x",
        "/etc/x",
        "log/000000000001.jsonl",
        "goals/../x",
        "goals/.x",
        "goals/a/b.md",
        "config.toml",
        "",
        "goals/",
        "journal.md",
        "lock",
        "goals/archive/../../x",
        "sensors/a\nb",
        "answers/a.json",
    ];
    for path in paths {
        let plan = file_plan(path, None, Some(b"x"));
        assert!(
            reason(&writer.perform(&plan, Some(b"x"), 5)).contains("not a file that a move may write"),
            "{path}"
        );
    }
    for act in [Act::Nothing, Act::Hosted { session: "x~1".into() }] {
        assert!(!writer.perform(&plan(act), None, 5).is_done());
    }
}

#[test]
fn what_a_move_replaces_or_removes_is_kept() {
    let profile = Profile::new();
    let writer = profile.writer();
    let kept = |body: &[u8]| writer.kept_body(Digest::of(body));
    assert!(writer.perform(&file_plan("goals/a.md", None, Some(b"one")), Some(b"one"), 5).is_done());
    assert_eq!(profile.names("undo.d"), Vec::<String>::new(), "nothing was there before");
    assert!(writer.perform(&file_plan("goals/a.md", Some(b"one"), Some(b"two")), Some(b"two"), 5).is_done());
    assert_eq!(kept(b"one").unwrap(), b"one");
    assert!(writer.perform(&file_plan("goals/a.md", Some(b"two"), None), None, 5).is_done());
    assert_eq!(kept(b"two").unwrap(), b"two");
    let path = looop_store::kept_path(Digest::of(b"two"));
    assert_eq!(profile.mode(&path), 0o600);
    profile.write(&path, "another");
    assert!(kept(b"two").unwrap_err().contains("is not what it was when it was kept"));
    assert!(kept(b"three").unwrap_err().contains("is no longer kept"));
    let known = writer.kept_bodies([b"one", b"two"].map(|body| Digest::of(body)));
    assert_eq!(known, [Digest::of(b"one")].into());
    // Kept anew, it is whole again.
    profile.write("goals/a.md", "two");
    assert!(writer.perform(&file_plan("goals/a.md", Some(b"two"), None), None, 5).is_done());
    assert_eq!(kept(b"two").unwrap(), b"two");
}

#[test]
fn what_is_kept_is_bounded_and_the_longest_unused_goes() {
    let profile = Profile::new();
    let writer = profile.writer();
    let swap = |before: &str, after: &str, n: i64| {
        profile.write("goals/a.md", before);
        let mut plan = file_plan("goals/a.md", Some(before.as_bytes()), Some(after.as_bytes()));
        plan.at.wall += n * 1000;
        assert!(writer.perform(&plan, Some(after.as_bytes()), 5).is_done(), "{n}");
    };
    for n in 0..60 {
        swap(&format!("body {n}"), "after", n);
        // This one is used again and again.
        swap("often", "after", n);
    }
    assert_eq!(profile.names("undo.d").len(), 40);
    let kept = |body: &str| writer.kept_body(Digest::of(body.as_bytes())).is_ok();
    assert!(kept("often") && kept("body 59") && kept("body 21") && !kept("body 20"));
    // What is put back is not pruned, however old it is.
    swap("newest", "body 21", 60);
    assert!(kept("body 21") && kept("newest") && !kept("body 22"));
    // Large ones are fewer; the one at hand stays.
    let large = |n: i64| format!("{n}{}", "x".repeat(3 << 20));
    for n in 61..75 {
        swap(&large(n), "after", n);
    }
    assert!(kept(&large(74)) && kept(&large(66)) && !kept(&large(61)) && !kept("often"));
}
