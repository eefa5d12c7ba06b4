//! What the log does with snapshots and lines that are large, with files that cannot be removed, and with what a loss of
//! power leaves of lines that were not synced.

use std::sync::Arc;

use looop_core::bounds;
use looop_core::ledger::entry::{Cause, Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::{Ledger, Note, NoteKind};
use looop_core::model::plan::BeatId;
use looop_sim::disk::MemDisk;
use looop_sim::disk_faults::Fault;
use looop_store::log::{LOG_FILE_SIZE, LOG_FILES_KEPT};
use looop_store::{AppendError, Log, LogError, Reader, Repair, Writer};

use crate::harness::{Profile, line, stamp};

fn writer(disk: &MemDisk) -> Writer {
    let reader = Reader::on(Arc::new(disk.clone()), std::path::Path::new("/profile")).unwrap();
    let writer = reader.lock().unwrap();
    writer.layout().unwrap();
    writer
}

/// A line that need not be synced.
fn seen(seq: u64) -> Line {
    let why = looop_core::gate::Why::NothingReady { reason: format!("nothing {seq}, {}", "y".repeat(60)) };
    let (cause, changes, sees) = (Cause::Timer, Vec::new(), None);
    let entries = vec![Entry::Skipped { beat: BeatId(seq), cause, why, changes, sees }];
    Line { seq, at: stamp(), idle: 0, entries }
}

fn append(log: &mut Log, ledger: &mut Ledger, line: &Line) {
    log.append(line, line.needs_sync()).unwrap();
    apply_line(ledger, line);
}

/// A ledger whose snapshot has at least so many bytes.
fn heavy(seq: u64, bytes: usize) -> Ledger {
    let what = NoteKind::Failure { reason: "z".repeat(bytes) };
    Ledger { seq, notes: vec![Note { seq, tainted: false, what }], ..Ledger::default() }
}

#[test]
fn a_large_snapshot_does_not_make_the_log_rotate_at_every_step() {
    let disk = MemDisk::new();
    let (mut log, mut ledger, _) = writer(&disk).open_log().unwrap();
    ledger.notes = heavy(0, 2 * usize::try_from(LOG_FILE_SIZE).unwrap()).notes;
    log.rotate(&ledger).unwrap();
    let mut files = 1;
    for seq in 1..=50 {
        append(&mut log, &mut ledger, &line(seq));
        if log.is_full() {
            log.rotate(&ledger).unwrap();
            files += 1;
        }
    }
    assert_eq!((files, log.is_full()), (1, false), "50 small lines are no reason for a new file");
}

#[test]
fn a_line_that_is_too_long_is_refused_as_such_and_the_log_goes_on() {
    let disk = MemDisk::new();
    let (mut log, mut ledger, _) = writer(&disk).open_log().unwrap();
    let what = "w".repeat(bounds::LINE + 1);
    let bulky = Line { entries: vec![Entry::Dropped { what }], ..line(1) };
    let Err(AppendError::TooLong(bytes)) = log.append(&bulky, true) else { panic!("it was taken") };
    assert!(bytes > bounds::LINE);
    append(&mut log, &mut ledger, &line(1));
    assert_eq!(log.last(), 1);
}

#[test]
fn a_file_that_cannot_be_removed_does_not_fail_the_rotation() {
    let disk = MemDisk::new();
    let (mut log, mut ledger, _) = writer(&disk).open_log().unwrap();
    for seq in 1..=LOG_FILES_KEPT as u64 {
        append(&mut log, &mut ledger, &line(seq));
        if seq < LOG_FILES_KEPT as u64 {
            assert!(log.rotate(&ledger).unwrap().is_none());
        }
    }
    let calls = disk.calls().len();
    let probe = disk.kill();
    let (mut again, same, _) = writer(&probe).open_log().unwrap();
    let before = probe.calls().len();
    again.rotate(&same).unwrap();
    let at = probe.calls()[before..].iter().position(|call| call.starts_with("remove log/")).unwrap();
    assert!(calls > 0);
    disk.arm(Some(Fault::Fail { at, kind: std::io::ErrorKind::PermissionDenied, half: false }));
    let left = log.rotate(&ledger).unwrap().expect("what could not be removed is said");
    assert!(left.text().contains("log/000000000001.jsonl"), "{}", left.text());
    disk.arm(None);
    append(&mut log, &mut ledger, &line(LOG_FILES_KEPT as u64 + 1));
    assert!(log.rotate(&ledger).unwrap().is_none(), "it is removed the next time");
    assert_eq!(disk.names("log").len(), LOG_FILES_KEPT);
}

#[test]
fn all_files_of_the_log_together_have_a_bound_in_bytes() {
    let profile = Profile::new();
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    for seq in 1..=20 {
        append(&mut log, &mut ledger, &line(seq));
        log.rotate(&ledger).unwrap();
        // What older files hold is not looked at.
        let file = std::fs::File::options().write(true).open(profile.path(&format!("log/{seq:012}.jsonl")));
        file.unwrap().set_len(100 << 20).unwrap();
    }
    append(&mut log, &mut ledger, &line(21));
    log.rotate(&ledger).unwrap();
    let size = |name: &String| std::fs::metadata(profile.path(&format!("log/{name}"))).unwrap().len();
    let total: u64 = profile.names("log").iter().map(size).sum();
    assert!((400 << 20..=bounds::LOG_TOTAL).contains(&total), "{total}");
}

/// A log of one synced line and some that were not synced, and where the first of these begins.
fn unsynced(profile: &Profile, more: u64) -> (Ledger, usize) {
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    append(&mut log, &mut ledger, &line(1));
    let synced = std::fs::metadata(profile.path("log/000000000001.jsonl")).unwrap().len();
    let kept = ledger.clone();
    for seq in 2..2 + more {
        append(&mut log, &mut ledger, &seen(seq));
    }
    (kept, usize::try_from(synced).unwrap())
}

fn zero(profile: &Profile, from: usize, to: usize) {
    let mut bytes = std::fs::read(profile.path("log/000000000001.jsonl")).unwrap();
    bytes[from..to].fill(0);
    profile.write("log/000000000001.jsonl", bytes);
    profile.chmod("log/000000000001.jsonl", 0o600);
}

#[test]
fn zeros_in_lines_that_were_not_synced_are_cut_off_and_said() {
    let lengths = [1, 10, 100, 150, 250, 300];
    for length in lengths {
        for offset in [0, 5, 50, 120] {
            let profile = Profile::new();
            let (kept, synced) = unsynced(&profile, 4);
            zero(&profile, synced + offset, synced + offset + length);
            let at = format!("{length} zeros at {offset}");
            let ledger = profile.reader().ledger().unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(ledger.seq >= kept.seq && profile.reader().recent(9).is_ok(), "{at}");
            let (mut log, opened, repair) = profile.writer().open_log().unwrap();
            let Repair { cut: Some((_, bytes)), hole: true } = &repair else { panic!("{at}: {repair:?}") };
            assert!(*bytes > 0 && repair.text().unwrap().contains("zeros"), "{at}");
            assert_eq!(opened, ledger, "{at}");
            log.append(&line(opened.seq + 1), true).unwrap();
            drop(log);
            assert_eq!(profile.reader().verify_log().unwrap(), opened.seq + 1, "{at}");
        }
    }
}

#[test]
fn zeros_before_a_line_that_was_synced_are_damage() {
    let profile = Profile::new();
    let (_, synced) = unsynced(&profile, 2);
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    append(&mut log, &mut ledger, &line(4));
    append(&mut log, &mut ledger, &seen(5));
    drop(log);
    zero(&profile, synced + 40, synced + 60);
    let error = profile.reader().ledger().unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { line: 3, .. }), "{error}");
    assert!(profile.writer().open_log().is_err());
}

#[test]
fn the_last_line_goes_with_the_zeros_before_it_because_its_sync_was_under_way() {
    let profile = Profile::new();
    let (kept, synced) = unsynced(&profile, 1);
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    append(&mut log, &mut ledger, &line(3));
    drop(log);
    zero(&profile, synced + 40, synced + 60);
    assert_eq!(profile.writer().open_log().unwrap().1, kept);
}

#[test]
fn whatever_a_loss_of_power_leaves_opens_with_all_that_was_synced() {
    let mut holes = 0;
    for seed in 0..400 {
        let disk = MemDisk::new();
        let (mut log, mut ledger, _) = writer(&disk).open_log().unwrap();
        let mut synced = 0;
        for seq in 1..=12 {
            let next = if seq % 5 == seed % 5 { line(seq) } else { seen(seq) };
            append(&mut log, &mut ledger, &next);
            if next.needs_sync() {
                synced = seq;
            }
        }
        let after = disk.crash(seed);
        let (_, opened, repair) = writer(&after).open_log().unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert!(opened.seq >= synced, "seed {seed}: {} of {synced}", opened.seq);
        holes += u32::from(repair.hole);
    }
    assert!(holes > 10, "the disk left {holes} holes, which is too few to say anything");
}

#[test]
fn a_look_reads_only_the_letters_that_changed() {
    let disk = MemDisk::new();
    let writer = writer(&disk);
    let letter = |n: u32, prompt: &str| {
        let prompt = prompt.repeat(50_000);
        format!(r#"{{"v":1,"id":"w-{n}","from":"w~1","prompt":"{prompt}","asked":5}}"#)
    };
    for n in 0..100 {
        disk.put(&format!("asks/w-{n}.json"), letter(n, "x").as_bytes());
    }
    let look = || {
        let before = disk.calls().len();
        let found = writer.letters();
        let reads = disk.calls()[before..].iter().filter(|call| call.starts_with("read asks/")).count();
        (found.asks.len(), reads)
    };
    // A file may change right after it was first read and show the same times, so it is read twice.
    assert_eq!((look(), look()), ((100, 100), (100, 100)));
    assert_eq!((look(), look()), ((100, 0), (100, 0)), "nothing changed, nothing is read");
    disk.put("asks/w-7.json", letter(7, "y").as_bytes());
    assert_eq!(look(), (100, 1));
    assert!(writer.letters().asks["w-7"].prompt.starts_with('y'));
    disk.erase("asks/w-8.json");
    assert_eq!(look().0, 99);
}

#[test]
fn more_letters_than_can_be_looked_at_are_named_and_not_taken_for_gone() {
    let disk = MemDisk::new();
    let writer = writer(&disk);
    for n in 0..=bounds::LETTERS {
        let letter = format!(r#"{{"v":1,"id":"w-{n}","from":"w~1","prompt":"?","asked":5}}"#);
        disk.put(&format!("asks/w-{n}.json"), letter.as_bytes());
    }
    let found = writer.letters();
    assert_eq!(found.asks.len(), bounds::LETTERS);
    let [(folder, what)] = &found.broken[..] else { panic!("{:?}", found.broken) };
    assert!(folder == "asks" && what.contains("2001 letters"), "{folder}: {what}");
}
