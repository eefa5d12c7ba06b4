//! Every operation, with every one of its disk calls failing once and being the machine's last once.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use looop_core::ledger::entry::Line;
use looop_core::ledger::fold::apply_line;
use looop_core::model::digest::Digest;
use looop_sim::disk::MemDisk;
use looop_sim::disk_faults::Fault;
use looop_store::disk::durable_write;
use looop_store::{Reader, Recovered, Writer, kept_path};

use crate::harness::{archive_plan, file_plan, journaled, line};

const NOW: i64 = 1_800_000_000_000;
const SEEDS: u64 = 12;

pub(crate) fn reader(disk: &MemDisk) -> Reader {
    Reader::on(Arc::new(disk.clone()), Path::new("/profile")).unwrap()
}

pub(crate) fn writer(disk: &MemDisk) -> Writer {
    reader(disk).lock().unwrap()
}

/// A profile with every folder.
pub(crate) fn fresh() -> MemDisk {
    let disk = MemDisk::new();
    writer(&disk).layout().unwrap();
    disk
}

/// What the disk looks like after the machine stopped: killed, or without power in several ways.
fn ruins(disk: &MemDisk) -> Vec<MemDisk> {
    let mut found: Vec<MemDisk> = (0..SEEDS).map(|seed| disk.crash(seed)).collect();
    found.push(disk.kill());
    found.extend((0..SEEDS).map(|seed| disk.kill().crash(seed)));
    found
}

/// Runs a scenario with a cut at each of its calls, before and after it took effect. `check` gets each ruin with what
/// the scenario had returned, which it stored itself.
pub(crate) fn cut_everywhere<S>(
    set_up: impl Fn() -> MemDisk,
    run: impl Fn(&MemDisk) -> S,
    check: impl Fn(&MemDisk, &S),
) {
    let calls = {
        let disk = set_up();
        disk.arm(None);
        run(&disk);
        disk.counted()
    };
    assert!(calls > 0);
    for at in 0..calls {
        for half in [false, true] {
            let disk = set_up();
            disk.arm(Some(Fault::Cut { at, half }));
            let said = run(&disk);
            for ruin in ruins(&disk) {
                check(&ruin, &said);
            }
        }
    }
}

/// Runs a scenario with a failure of each of its calls, then checks the living disk and what a crash leaves of it.
pub(crate) fn fail_everywhere<S>(
    set_up: impl Fn() -> MemDisk,
    run: impl Fn(&MemDisk) -> S,
    check: impl Fn(&MemDisk, &S),
) {
    let calls = {
        let disk = set_up();
        disk.arm(None);
        run(&disk);
        disk.counted()
    };
    for at in 0..calls {
        for (kind, half) in
            [(ErrorKind::StorageFull, true), (ErrorKind::Other, false), (ErrorKind::Other, true)]
        {
            let disk = set_up();
            disk.arm(Some(Fault::Fail { at, kind, half }));
            let said = run(&disk);
            disk.arm(None);
            for ruin in ruins(&disk) {
                check(&ruin, &said);
            }
        }
    }
}

/// What a writer of the log was told.
#[derive(Default)]
struct Told {
    /// Appends that were said to be on the disk.
    synced: u64,
    /// Appends that were begun.
    begun: u64,
}

/// Appends, rotates, and opens again after a failure, as the loop does; stops when nothing helps.
fn keep_a_log(disk: &MemDisk) -> Told {
    let mut told = Told::default();
    let Ok(writer) = reader_or_none(disk).ok_or(()).and_then(|reader| reader.lock().map_err(drop)) else {
        return told;
    };
    let Some((mut log, mut ledger, _)) = (0..3).find_map(|_| writer.open_log().ok()) else { return told };
    let mut failures = 0;
    while log.last() < 9 && failures < 4 {
        let next = line(log.last() + 1);
        told.begun = told.begun.max(next.seq);
        let sync = next.seq % 3 != 1;
        let mut went = log.append(&next, sync);
        if went.is_ok() {
            if sync {
                told.synced = next.seq;
            }
            apply_line(&mut ledger, &next);
            if next.seq.is_multiple_of(4) {
                went = log.rotate(&ledger).map(drop);
            }
        }
        if went.is_err() {
            failures += 1;
            if let Some((again, _)) = (0..2).find_map(|_| log.reopen().ok()) {
                assert!(again.seq >= told.synced, "a failed append took others with it");
                assert_eq!(again, fold(again.seq), "what is replayed is what was appended");
                ledger = again;
            }
        }
    }
    told
}

pub(crate) fn reader_or_none(disk: &MemDisk) -> Option<Reader> {
    Reader::on(Arc::new(disk.clone()), Path::new("/profile")).ok()
}

fn fold(last: u64) -> looop_core::ledger::state::Ledger {
    let mut ledger = looop_core::ledger::state::Ledger::default();
    (1..=last).for_each(|seq| apply_line(&mut ledger, &line(seq)));
    ledger
}

/// The log is a prefix of what was begun, with all that was said to be on the disk, and goes on.
fn check_log(disk: &MemDisk, told: &Told) {
    let (mut log, ledger, _) =
        writer(disk).open_log().unwrap_or_else(|error| panic!("{error:?}: {:?}", disk.calls()));
    assert!(ledger.seq >= told.synced, "{} of {} are left", ledger.seq, told.synced);
    assert!(ledger.seq <= told.begun);
    assert_eq!(ledger, fold(ledger.seq));
    log.append(&line(ledger.seq + 1), true).unwrap();
    let after = disk.crash(7);
    assert_eq!(reader(&after).ledger().unwrap().seq, ledger.seq + 1);
    reader(&after).verify_log().unwrap();
    let mut lines: Vec<Line> = Vec::new();
    reader(&after).replay_all(&mut |line| lines.push(line.clone())).unwrap();
    let expected: Vec<Line> = (1..=ledger.seq + 1).map(line).collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_log_survives_a_cut_at_every_call() {
    cut_everywhere(fresh, keep_a_log, check_log);
}

#[test]
fn the_log_survives_a_failure_of_every_call() {
    fail_everywhere(fresh, keep_a_log, check_log);
}

#[test]
fn after_one_failure_the_log_goes_on_by_itself() {
    let calls = {
        let disk = fresh();
        disk.arm(None);
        keep_a_log(&disk);
        disk.counted()
    };
    for at in 0..calls {
        let disk = fresh();
        disk.arm(Some(Fault::Fail { at, kind: ErrorKind::StorageFull, half: true }));
        keep_a_log(&disk);
        disk.arm(None);
        // Taking the lock is the one step that is not tried again by the loop.
        if !disk.calls().iter().any(|call| call.starts_with("append")) {
            keep_a_log(&disk);
        }
        assert_eq!(reader(&disk).ledger().unwrap(), fold(9), "failure at call {at}");
    }
}

fn one_file(disk: &MemDisk) -> Result<(), looop_store::StoreError> {
    durable_write(disk, "goals/a.md", b"the new body, longer than before", 0o600)
}

fn old_goal() -> MemDisk {
    let disk = fresh();
    disk.put("goals/a.md", b"old");
    disk
}

fn check_one_file(disk: &MemDisk, said: &Result<(), looop_store::StoreError>) {
    let found = disk.get("goals/a.md").unwrap();
    match said {
        Ok(()) => assert_eq!(found, b"the new body, longer than before"),
        Err(_) => assert!(found == b"old" || found == b"the new body, longer than before", "{found:?}"),
    }
    writer(disk).sweep().unwrap();
    assert_eq!(disk.names("goals"), ["a.md", "archive"]);
}

#[test]
fn a_durable_write_is_all_or_nothing() {
    cut_everywhere(old_goal, one_file, check_one_file);
    fail_everywhere(old_goal, one_file, check_one_file);
}

/// Carries out a plan as the loop does; true if it was said to be done.
fn act(disk: &MemDisk, plan: &looop_core::model::plan::Plan, bytes: Option<&[u8]>) -> bool {
    let Some(writer) = reader_or_none(disk).and_then(|reader| reader.lock().ok()) else { return false };
    match writer.perform(plan, bytes, 5) {
        // A note says that the folder could not be synced: the change may still be lost with the power.
        looop_core::model::outcome::Outcome::Done { note, .. } => {
            note.is_none_or(|note| !note.contains("synced"))
        }
        looop_core::model::outcome::Outcome::Failed { .. }
        | looop_core::model::outcome::Outcome::Interrupted { .. } => false,
    }
}

/// Recovery finds a plan done or to do, never in between, and doing it leads to the end.
fn check_act(disk: &MemDisk, done: bool, plan: &looop_core::model::plan::Plan, bytes: Option<&[u8]>) {
    let writer = writer(disk);
    match writer.recover(plan) {
        Recovered::Done => {}
        Recovered::Todo => {
            assert!(!done, "what was said to be done is undone");
            assert!(writer.perform(plan, bytes, 5).is_done());
            assert_eq!(writer.recover(plan), Recovered::Done);
        }
        Recovered::Conflict(why) => panic!("{why}: {:?}", disk.names("goals")),
    }
    // What recovery calls done stays done when the power goes.
    for seed in 0..3 {
        let after = disk.crash(seed);
        assert_eq!(self::writer(&after).recover(plan), Recovered::Done);
    }
    writer.sweep().unwrap();
    for folder in ["", "goals", "goals/archive", "playbook.d", "undo.d", "sensors"] {
        assert!(disk.names(folder).iter().all(|name| !name.starts_with(".looop-tmp-")), "{folder}");
    }
}

#[test]
fn file_moves_are_done_or_to_do_after_a_cut_or_a_failure_at_every_call() {
    let set_up = || {
        let disk = fresh();
        disk.put("goals/a.md", b"old");
        disk.put("PLAYBOOK.md", b"old");
        disk.put("sensors/s.sh", b"#!/bin/sh\n");
        disk
    };
    let new: &[u8] = b"new";
    let table = [
        (file_plan("goals/b.md", None, Some(new)), Some(new)),
        (file_plan("goals/a.md", Some(b"old"), Some(new)), Some(new)),
        (file_plan("PLAYBOOK.md", Some(b"old"), Some(new)), Some(new)),
        (file_plan("sensors/s.sh", Some(b"#!/bin/sh\n"), None), None),
        (archive_plan("goals/a.md", "goals/archive/a.md", b"old"), None),
    ];
    for (plan, bytes) in &table {
        let run = |disk: &MemDisk| act(disk, plan, *bytes);
        cut_everywhere(set_up, run, |disk, done| check_act(disk, *done, plan, *bytes));
        fail_everywhere(set_up, run, |disk, done| check_act(disk, *done, plan, *bytes));
    }
}

#[test]
fn a_person_who_writes_at_the_last_moment_is_not_overwritten() {
    let plans = [
        (file_plan("goals/a.md", None, Some(b"new")), "rename_new"),
        (file_plan("goals/a.md", Some(b"old"), Some(b"new")), "sync"),
        (archive_plan("goals/b.md", "goals/a.md", b"body"), "rename_new"),
    ];
    for (plan, call) in plans {
        let disk = fresh();
        disk.put("goals/b.md", b"body");
        if call == "sync" {
            disk.put("goals/a.md", b"old");
        }
        disk.edit_before(call, "goals/a.md", b"a person's");
        let outcome = writer(&disk).perform(&plan, Some(b"new"), 5);
        assert!(!outcome.is_done(), "{outcome:?}");
        assert_eq!(disk.get("goals/a.md").unwrap(), b"a person's");
        assert_eq!(disk.names("goals"), ["a.md", "archive", "b.md"], "no temp file is left");
    }
}

#[test]
fn a_disk_that_is_full_leaves_no_half_line_in_the_journal() {
    let disk = fresh();
    disk.put("journal.md", b"- first\n");
    let writer = writer(&disk);
    let append = {
        disk.arm(None);
        writer.append_journal("- try").unwrap();
        disk.calls().iter().rev().take(disk.counted()).position(|call| call.starts_with("append")).unwrap()
    };
    let at = disk.counted() - 1 - append;
    disk.put("journal.md", b"- first\n");
    disk.arm(Some(Fault::Fail { at, kind: ErrorKind::StorageFull, half: true }));
    let error = writer.append_journal("- second").unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(disk.get("journal.md").unwrap(), b"- first\n");
}

#[test]
fn an_earlier_playbook_is_in_the_history_whenever_it_is_gone() {
    let set_up = || {
        let disk = fresh();
        disk.put("PLAYBOOK.md", b"old");
        disk
    };
    let plan = file_plan("PLAYBOOK.md", Some(b"old"), Some(b"new"));
    cut_everywhere(
        set_up,
        |disk| act(disk, &plan, Some(b"new")),
        |disk, _| {
            if disk.get("PLAYBOOK.md").unwrap() == b"new" {
                let kept = reader(disk).playbook_history().unwrap();
                assert_eq!(disk.get(&format!("playbook.d/{}", kept[0])).unwrap(), b"old");
            }
        },
    );
}

#[test]
fn what_a_file_was_is_kept_whenever_it_is_gone() {
    let new: &[u8] = b"new";
    let table = [
        ("goals/a.md", Some(new)),
        ("PLAYBOOK.md", Some(new)),
        ("sensors/s.sh", None),
        ("schedules/s.json", Some(new)),
    ];
    for (path, after) in table {
        // The same body was kept once before, or something else is at its place.
        for kept in [None, Some(&b"old"[..]), Some(b"half")] {
            let set_up = || {
                let disk = fresh();
                disk.put(path, b"old");
                if let Some(bytes) = kept {
                    disk.put(&kept_path(Digest::of(b"old")), bytes);
                }
                disk
            };
            let plan = file_plan(path, Some(b"old"), after);
            let run = |disk: &MemDisk| act(disk, &plan, after);
            let check = |disk: &MemDisk, done: &bool| {
                if disk.get(path).as_deref() != Some(b"old") {
                    assert_eq!(reader(disk).kept_body(Digest::of(b"old")).unwrap(), b"old", "{path}");
                }
                check_act(disk, *done, &plan, after);
            };
            cut_everywhere(set_up, run, check);
            fail_everywhere(set_up, run, check);
        }
    }
}

#[test]
fn an_answer_is_whole_or_not_there_and_settling_loses_nothing() {
    let set_up = || {
        let disk = fresh();
        disk.put("asks/p-1.json", br#"{"v":1,"id":"p-1","from":"pulse","prompt":"?","asked":1}"#);
        disk
    };
    let run = |disk: &MemDisk| {
        let reader = reader_or_none(disk)?;
        let posted = reader.post_answer("p-1", "yes", NOW).is_ok();
        let settled = posted && reader.lock().is_ok_and(|writer| writer.settle("p-1", NOW).is_ok());
        Some((posted, settled))
    };
    let check = |disk: &MemDisk, said: &Option<(bool, bool)>| {
        let (posted, settled) = said.unwrap_or_default();
        let writer = writer(disk);
        let letters = writer.letters();
        assert_eq!(letters.broken, []);
        let answered = letters.answers.contains_key("p-1") || disk.get("mail.d/p-1.answer.json").is_some();
        assert!(answered || !posted, "an answer that was taken is lost");
        assert!(!settled || (letters.asks.is_empty() && letters.answers.is_empty()));
        assert!(
            !disk.names("mail.d").contains(&"p-1.answer.json".to_owned()) || letters.asks.is_empty(),
            "an ask must not outlive its answer"
        );
        // Whatever happened, the ask can still be answered if it was not, and settled.
        if !answered {
            writer.post_answer("p-1", "yes", NOW).unwrap();
        }
        writer.settle("p-1", NOW).unwrap();
        writer.sweep_mail(NOW).unwrap();
        assert_eq!(disk.names("mail.d"), ["p-1.answer.json", "p-1.ask.json"]);
        assert!(disk.names("asks").iter().chain(&disk.names("answers")).all(|name| name == ".lock"));
    };
    cut_everywhere(set_up, run, check);
    fail_everywhere(set_up, run, check);
}

#[test]
fn a_journal_line_is_neither_lost_nor_doubled_nor_torn_into_another() {
    let set_up = || {
        let disk = fresh();
        disk.put("journal.md", b"- first\n");
        disk
    };
    let run = |disk: &MemDisk| {
        let writer = reader_or_none(disk)?.lock().ok()?;
        writer.append_journal("- second").ok()
    };
    let check = |disk: &MemDisk, said: &Option<()>| {
        let writer = writer(disk);
        let there = writer.journal_tail(9).value().unwrap().contains(&"- second".to_owned());
        assert!(there || said.is_none());
        let ledger = journaled("- second");
        writer.mend_journal(&ledger).unwrap();
        let text = String::from_utf8(disk.get("journal.md").unwrap()).unwrap();
        let lines = |wanted: &str| text.lines().filter(|line| *line == wanted).count();
        assert_eq!((lines("- first"), lines("- second")), (1, 1), "{text:?}");
    };
    cut_everywhere(set_up, run, check);
    fail_everywhere(set_up, run, check);
}

#[test]
fn a_journal_that_is_rotated_loses_no_generation() {
    let set_up = || {
        let disk = fresh();
        let full = |name: &str| format!("- {name}\n{}\n", "x".repeat(5 << 20));
        disk.put("journal.md", full("now").as_bytes());
        disk.put("journal.md.1", b"- one\n");
        disk.put("journal.md.2", b"- two\n");
        disk
    };
    let calls = {
        let disk = set_up();
        disk.arm(None);
        writer(&disk).append_journal("- next").unwrap();
        disk.counted()
    };
    for at in 0..calls {
        let disk = set_up();
        disk.arm(Some(Fault::Cut { at, half: true }));
        if let Some(Ok(writer)) = reader_or_none(&disk).map(|reader| reader.lock()) {
            assert!(writer.append_journal("- next").is_err());
        }
        for ruin in [disk.kill(), disk.crash(1), disk.crash(2), disk.crash(3)] {
            writer(&ruin).append_journal("- later").unwrap();
            let first = |name: &str| Some(ruin.get(name)?.split(|b| *b == b'\n').next()?.to_vec());
            let mut found: Vec<_> = (1..=4).filter_map(|n| first(&format!("journal.md.{n}"))).collect();
            found.extend(first("journal.md"));
            for wanted in [&b"- now"[..], b"- one", b"- two"] {
                assert_eq!(found.iter().filter(|line| *line == wanted).count(), 1, "cut at {at}: {found:?}");
            }
        }
    }
}
