//! `kill -9` at every named point: a child process runs through everything and dies there, and what it leaves is whole.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;
use looop_core::model::digest::Digest;
use looop_core::model::letter::{Ask, AskKind};
use looop_core::model::moves::Move;
use looop_core::model::plan::{Act, Author, Plan};
use looop_core::time::Stamp;
use looop_store::log::LOG_FILES_KEPT;
use looop_store::mail::{Lease, NewAsk};
use looop_store::{POINTS, Reader, Recovered, Writer};

const AT: Stamp = Stamp { wall: 1_800_000_000_000, up: 1, boot: 1 };
const CHILD: &str = "LOOOP_STORE_CHILD";

fn plan(act: Act) -> Plan {
    Plan::new(Move::Noop { reason: None }, (Author::Person, act), AT)
}

fn file(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Plan {
    plan(Act::File { path: path.to_owned(), before: before.map(Digest::of), after: after.map(Digest::of) })
}

/// The moves of the scenario, in order, each with its bytes.
fn moves() -> Vec<(Plan, Option<&'static [u8]>)> {
    let ask: &[u8] = br#"{"v":1,"id":"p-1","from":"pulse","prompt":"?","asked":1}"#;
    let archive = Act::Archive {
        from: "goals/a.md".into(),
        to: "goals/archive/a.md".into(),
        body: Digest::of(b"goal"),
    };
    vec![
        (file("goals/a.md", None, Some(b"goal")), Some(b"goal")),
        (file("PLAYBOOK.md", Some(b"first"), Some(b"second")), Some(b"second")),
        (file("sensors/old.sh", Some(b"#!/bin/sh\n"), None), None),
        (plan(archive), None),
        (file("asks/p-1.json", None, Some(ask)), Some(ask)),
    ]
}

fn line(seq: u64) -> Line {
    Line { seq, at: AT, idle: 0, entries: vec![Entry::Resumed] }
}

/// A profile in which every point is passed: a torn log, a full set of log files.
fn prepare(root: &Path) {
    let writer = Reader::create(root).unwrap().lock().unwrap();
    writer.layout().unwrap();
    writer.seed(&[("PLAYBOOK.md", b"first", 0o600), ("sensors/old.sh", b"#!/bin/sh\n", 0o700)]).unwrap();
    let (mut log, mut ledger, _) = writer.open_log().unwrap();
    for seq in 1..=LOG_FILES_KEPT as u64 {
        log.append(&line(seq), false).unwrap();
        apply_line(&mut ledger, &line(seq));
        log.rotate(&ledger).unwrap();
    }
    let newest = root.join(format!("log/{:012}.jsonl", LOG_FILES_KEPT + 1));
    let torn = [std::fs::read(&newest).unwrap(), b"{\"c\":\"half".to_vec()].concat();
    std::fs::write(newest, torn).unwrap();
}

/// A copy of the prepared profile for one child.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
    let mode = std::fs::metadata(from).unwrap().permissions();
    std::fs::set_permissions(to, mode).unwrap();
}

fn fill_journal(root: &Path) {
    std::fs::File::create(root.join("journal.md")).unwrap().set_len(5 << 20).unwrap();
    std::fs::set_permissions(root.join("journal.md"), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Everything once.
fn scenario(root: &Path) {
    let writer = Reader::open(root).unwrap().lock().unwrap();
    let (mut log, mut ledger, _) = writer.open_log().unwrap();
    for (plan, bytes) in moves() {
        let next = line(log.last() + 1);
        log.append(&next, true).unwrap();
        apply_line(&mut ledger, &next);
        assert!(writer.perform(&plan, bytes, 5).is_done());
    }
    // The last move has its end in the log before its ask is settled, as in the loop.
    let next = line(log.last() + 1);
    log.append(&next, true).unwrap();
    apply_line(&mut ledger, &next);
    log.rotate(&ledger).unwrap();
    writer.append_journal("- done").unwrap();
    writer.write_snapshot("sensor-a", b"{}").unwrap();
    writer.post_answer("p-1", "yes", AT.wall).unwrap();
    writer.settle("p-1", AT.wall).unwrap();
    writer.post_own(&own_letter()).unwrap();
    workers_letters(&writer);
}

/// A letter by which the loop asks for consent.
fn own_letter() -> Ask {
    Ask {
        v: 1,
        id: "ask-9".to_owned(),
        from: "pulse".to_owned(),
        kind: AskKind::Proposal,
        prompt: "May I?".to_owned(),
        options: Vec::new(),
        reference: None,
        goal: None,
        proposal: None,
        asked: AT.wall,
        closed: false,
        fetched: false,
        limit: None,
    }
}

const LEASE: Lease<'_> = Lease { nonce: "1", wall: AT.wall, alive: &|_| true };

/// A worker asks and collects the answer, hears what it was told, claims and gives back.
fn workers_letters(writer: &Writer) {
    let new = NewAsk { from: "w~1", prompt: "Well?", ..NewAsk::default() };
    let ask = writer.post_ask(&new, AT.wall).unwrap().ask.id;
    writer.post_answer(&ask, "yes", AT.wall).unwrap();
    writer.collect(&ask, AT.wall).unwrap();
    writer.post_tell("w~1", "look", AT.wall).unwrap();
    assert_eq!(writer.take_tells("w~1").tells.len(), 1);
    writer.claim("repo", "w~1", &LEASE).unwrap();
    writer.unclaim("repo", Some("w~1"), &LEASE).unwrap();
}

/// Whatever came of it, the worker that asks again gets the answer, a message is heard once, and the claim is free.
fn check_workers_letters(writer: &Writer, at: &str) {
    let letters = writer.letters();
    let new = NewAsk { from: "w~1", prompt: "Well?", ..NewAsk::default() };
    let posted = writer.post_ask(&new, AT.wall).unwrap();
    assert_eq!(posted.resumed, letters.asks.contains_key(&posted.ask.id), "{at}");
    if !letters.answers.contains_key(&posted.ask.id) {
        writer.post_answer(&posted.ask.id, "yes", AT.wall).unwrap_or_else(|error| panic!("{at}: {error}"));
    }
    assert_eq!(writer.answer_of(&posted.ask.id).value().unwrap().text, "yes", "{at}");
    writer.collect(&posted.ask.id, AT.wall).unwrap();
    assert_eq!(writer.take_tells("w~1").tells.len(), letters.tells.len(), "{at}");
    writer.claim("repo", "w~1", &LEASE).unwrap_or_else(|error| panic!("{at}: {error}"));
}

/// What the child left is whole: the log opens, every move is done or to do, and all of it can be brought to its end.
fn check(root: &Path, at: &str) {
    let writer = Reader::open(root).unwrap().lock().unwrap_or_else(|error| panic!("{at}: {error}"));
    writer.sweep().unwrap();
    let (mut log, ledger, _) = writer.open_log().unwrap_or_else(|error| panic!("{at}: {error}"));
    let logged = ledger.seq - LOG_FILES_KEPT as u64;
    finish_moves(&writer, usize::try_from(logged).unwrap(), at);
    log.append(&line(ledger.seq + 1), true).unwrap();
    writer.verify_log().unwrap_or_else(|error| panic!("{at}: {error}"));
    let ledger = Ledger { journal: vec!["- done".to_owned()], ..Ledger::default() };
    writer.mend_journal(&ledger).unwrap();
    let journal = std::fs::read_to_string(root.join("journal.md")).unwrap();
    assert_eq!(journal.lines().filter(|line| *line == "- done").count(), 1, "{at}");
    let letters = writer.letters();
    assert_eq!(letters.broken, [], "{at}");
    if letters.asks.contains_key("p-1") && !letters.answers.contains_key("p-1") {
        writer.post_answer("p-1", "yes", AT.wall).unwrap();
    }
    writer.settle("p-1", AT.wall).unwrap();
    assert!(
        root.join("mail.d/p-1.answer.json").exists() && root.join("mail.d/p-1.ask.json").exists(),
        "{at}"
    );
    writer.post_own(&own_letter()).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(writer.letters().asks.get("ask-9"), Some(&own_letter()), "{at}");
    check_workers_letters(&writer, at);
    let kept = writer.playbook_history().unwrap();
    assert_eq!(std::fs::read(root.join("playbook.d").join(&kept[0])).unwrap(), b"first", "{at}");
}

/// A move is recovered only if it was logged last; the ones before it are done, the ones after it were not begun.
fn finish_moves(writer: &Writer, logged: usize, at: &str) {
    for (n, (plan, bytes)) in moves().into_iter().enumerate() {
        // The goal is archived later, so its own move can be judged only while it is the last one.
        let stands = if n + 1 < logged { Recovered::Done } else { writer.recover(&plan) };
        match stands {
            Recovered::Done => assert!(n < logged, "{at}: move {n} ran before it was logged"),
            Recovered::Todo => assert!(writer.perform(&plan, bytes, 5).is_done(), "{at}: move {n}"),
            Recovered::Conflict(why) => panic!("{at}: move {n}: {why}"),
        }
    }
}

/// The child's part: without the variable there is nothing to do here.
#[test]
fn child() {
    if let Some(root) = std::env::var_os(CHILD) {
        scenario(Path::new(&root));
    }
}

fn run_child(root: &Path, at: &str) -> std::process::ExitStatus {
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new(me);
    command.args(["crash::child", "--exact", "--test-threads=1"]).env(CHILD, root).env("LOOOP_CRASH_AT", at);
    command.output().unwrap().status
}

#[test]
fn every_point_is_passed_and_a_kill_there_leaves_everything_whole() {
    let template = tempfile::tempdir().unwrap();
    prepare(&template.path().join("profile"));
    let run = |at: &str| {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("profile");
        copy(&template.path().join("profile"), &root);
        fill_journal(&root);
        (run_child(&root, at), root, dir)
    };
    let trace = template.path().join("trace");
    std::fs::write(&trace, "").unwrap();
    assert!(run(&format!("trace:{}", trace.display())).0.success());
    let trace = std::fs::read_to_string(trace).unwrap();
    for point in POINTS {
        let visits = trace.lines().filter(|name| name == point).count();
        assert!(visits > 0, "{point} is never passed");
        for visit in 1..=visits {
            let at = format!("{point}:{visit}");
            let (status, root, _dir) = run(&at);
            assert_eq!(status.signal(), Some(9), "{at}");
            check(&root, &at);
        }
    }
}
