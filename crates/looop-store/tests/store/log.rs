//! The log on a real disk.

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;
use looop_store::log::{LOG_FILE_SIZE, LOG_FILES_KEPT};
use looop_store::{AppendError, LogError, Reader};
use proptest::prelude::*;

use crate::harness::{Profile, line, stamp};

const FIRST: &str = "log/000000000001.jsonl";

fn filled(lines: u64) -> (Profile, Vec<u8>) {
    let profile = Profile::new();
    let (mut log, ..) = profile.writer().open_log().unwrap();
    for seq in 1..=lines {
        log.append(&line(seq), seq % 2 == 0).unwrap();
    }
    drop(log);
    let bytes = std::fs::read(profile.path(FIRST)).unwrap();
    (profile, bytes)
}

fn all(reader: &Reader) -> Vec<Line> {
    let mut lines = Vec::new();
    reader.replay_all(&mut |line| lines.push(line.clone())).unwrap();
    lines
}

#[test]
fn a_fresh_log_begins_with_an_empty_ledger() {
    let profile = Profile::new();
    let (log, ledger, repair) = profile.writer().open_log().unwrap();
    assert_eq!((log.last(), ledger, repair.text()), (0, Ledger::default(), None));
    assert_eq!(profile.mode(FIRST), 0o600);
    let head: serde_json::Value = serde_json::from_str(profile.text(FIRST).trim()).unwrap();
    assert_eq!((&head["v"], &head["seq"]), (&1.into(), &0.into()));
}

#[test]
fn cut_at_any_byte_it_is_a_prefix_and_goes_on() {
    let (profile, bytes) = filled(4);
    let body = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    for cut in body..=bytes.len() {
        std::fs::write(profile.path(FIRST), &bytes[..cut]).unwrap();
        let whole = ends.iter().filter(|end| (body..cut).contains(*end)).count() as u64;
        let last_end = bytes[..cut].iter().rposition(|b| *b == b'\n').unwrap() + 1;
        assert_eq!(profile.reader().ledger().unwrap().seq, whole, "cut at {cut}");
        assert_eq!(std::fs::read(profile.path(FIRST)).unwrap().len(), cut, "a reader changes nothing");
        let (mut log, ledger, repair) = profile.writer().open_log().unwrap();
        assert_eq!((ledger.seq, log.last()), (whole, whole), "cut at {cut}");
        assert_eq!(repair.cut.map(|(_, bytes)| bytes), (cut > last_end).then_some((cut - last_end) as u64));
        log.append(&line(whole + 1), true).unwrap();
        assert_eq!(all(&profile.reader()).len() as u64, whole + 1, "cut at {cut}");
    }
    for cut in 0..body {
        std::fs::write(profile.path(FIRST), &bytes[..cut]).unwrap();
        assert!(matches!(profile.reader().ledger(), Err(LogError::Corrupt { line: 1, .. })), "cut at {cut}");
        assert!(profile.writer().open_log().is_err(), "cut at {cut}");
    }
}

#[test]
fn a_bad_last_line_is_torn_and_a_bad_line_in_the_middle_is_not() {
    let (profile, bytes) = filled(3);
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    let mut bad = bytes.clone();
    bad[ends[3] - 3] ^= 1;
    std::fs::write(profile.path(FIRST), &bad).unwrap();
    assert_eq!(profile.reader().ledger().unwrap().seq, 2);
    let mut bad = bytes.clone();
    bad[ends[2] - 3] ^= 1;
    std::fs::write(profile.path(FIRST), &bad).unwrap();
    let error = profile.writer().open_log().unwrap_err();
    assert_eq!(error.to_string(), format!("{FIRST}, line 3: it does not match its checksum"));
    assert!(error.hint().unwrap().contains("cut it before line 3"));
    assert_eq!(std::fs::read(profile.path(FIRST)).unwrap(), bad, "nothing is repaired by force");
    // Zeros at the end are what a file system may leave after a loss of power.
    let mut zeros = bytes.clone();
    zeros.extend([0; 600]);
    std::fs::write(profile.path(FIRST), &zeros).unwrap();
    assert_eq!(profile.writer().open_log().unwrap().1.seq, 3);
}

#[test]
fn a_line_that_is_whole_and_not_understood_is_no_torn_end() {
    let (profile, bytes) = filled(1);
    let body = r#"{"seq":2,"at":{"wall":1,"up":1,"boot":1},"entries":[{"from_the_future":{}}]}"#;
    let sum = blake3::hash(&body.as_bytes()[1..]).to_hex();
    let mut newer = bytes.clone();
    newer.extend(format!("{{\"c\":\"{}\",{}\n", &sum[..8], &body[1..]).bytes());
    std::fs::write(profile.path(FIRST), &newer).unwrap();
    let error = profile.writer().open_log().unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { line: 3, .. }), "{error}");
}

#[test]
fn appends_are_numbered_without_gaps() {
    let profile = Profile::new();
    let (mut log, ..) = profile.writer().open_log().unwrap();
    assert!(matches!(log.append(&line(2), true), Err(AppendError::Gap { last: 0, found: 2 })));
    log.append(&line(1), true).unwrap();
    let (_, bytes) = filled(3);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    std::fs::write(profile.path(FIRST), [lines[0], lines[1], lines[3]].concat()).unwrap();
    let error = profile.reader().ledger().unwrap_err();
    assert_eq!(error.to_string(), format!("{FIRST}, line 3: append 3 follows 1"));
}

#[test]
fn a_full_file_makes_room_and_old_files_are_forgotten() {
    let profile = Profile::new();
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    let files = LOG_FILES_KEPT as u64 + 6;
    for seq in 1..=files * 2 {
        log.append(&line(seq), false).unwrap();
        apply_line(&mut ledger, &line(seq));
        if seq % 2 == 0 {
            log.rotate(&ledger).unwrap();
        }
    }
    let names = profile.names("log");
    assert_eq!(names.len(), LOG_FILES_KEPT);
    assert_eq!(names.last().unwrap(), &format!("{:012}.jsonl", files * 2 + 1));
    let reader = profile.reader();
    assert_eq!(reader.ledger().unwrap(), ledger);
    assert_eq!(reader.verify_log().unwrap(), (LOG_FILES_KEPT as u64 - 1) * 2);
    // The newest file is empty; the one before it is looked at too, and no more.
    assert_eq!(reader.recent(100).unwrap().iter().map(|line| line.seq).collect::<Vec<_>>(), [139, 140]);
    assert_eq!(reader.recent(1).unwrap()[0].seq, 140);
    assert_eq!(reader.recent(0).unwrap(), []);
    assert!(!log.is_full());
}

#[test]
fn a_file_is_full_at_its_size() {
    let profile = Profile::new();
    let (mut log, ..) = profile.writer().open_log().unwrap();
    let what = "x".repeat(1 << 20);
    for seq in 1..=5 {
        assert!(!log.is_full());
        let entries = vec![Entry::Dropped { what: what.clone() }];
        log.append(&Line { seq, at: stamp(), idle: 0, entries }, false).unwrap();
    }
    assert!(log.is_full());
    assert!(std::fs::metadata(profile.path(FIRST)).unwrap().len() >= LOG_FILE_SIZE);
}

#[test]
fn a_snapshot_that_is_not_the_fold_is_found() {
    let profile = Profile::new();
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    log.append(&line(1), true).unwrap();
    apply_line(&mut ledger, &line(1));
    ledger.chain = 7;
    log.rotate(&ledger).unwrap();
    let error = profile.reader().verify_log().unwrap_err();
    assert!(error.to_string().contains("log/000000000002.jsonl, line 1"), "{error}");
}

#[test]
fn money_comes_back_from_a_snapshot_bit_by_bit() {
    use looop_core::ledger::state::DaySpend;
    use looop_core::meter::Micros;
    let profile = Profile::new();
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    for (at, micros) in [300_000, 1, 123_456_789_013, u64::MAX].into_iter().enumerate() {
        let day =
            DaySpend { spent: Micros::new(micros), tokens: u64::MAX, decides: 1, ..DaySpend::default() };
        ledger.spend.insert(format!("2026-01-0{at}"), day);
    }
    log.rotate(&ledger).unwrap();
    assert_eq!(profile.reader().ledger().unwrap(), ledger);
}

#[test]
fn the_lock_lives_as_long_as_the_log() {
    let profile = Profile::new();
    let (log, ..) = profile.writer().open_log().unwrap();
    assert!(profile.reader().lock().is_err());
    drop(log);
    assert!(profile.reader().lock().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_appended_rotated_reopened_and_cut_is_a_prefix(
        steps in proptest::collection::vec(0_u8..8, 1..40),
        cut in 0_usize..400,
    ) {
        let profile = Profile::new();
        let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
        let mut kept: Vec<Line> = Vec::new();
        for step in steps {
            match step {
                0 => drop(log.rotate(&ledger).unwrap()),
                1 => {
                    drop(log);
                    let opened = profile.writer().open_log().unwrap();
                    prop_assert_eq!(&opened.1, &ledger);
                    log = opened.0;
                }
                2 => prop_assert_eq!(&log.reopen().unwrap().0, &ledger),
                _ => {
                    let next = line(log.last() + 1);
                    log.append(&next, step % 2 == 0).unwrap();
                    apply_line(&mut ledger, &next);
                    kept.push(next);
                }
            }
        }
        drop(log);
        let newest = profile.path(&format!("log/{}", profile.names("log").last().unwrap()));
        let bytes = std::fs::read(&newest).unwrap();
        let body = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        std::fs::write(&newest, &bytes[..bytes.len().saturating_sub(cut).max(body)]).unwrap();
        let left = all(&profile.reader());
        prop_assert_eq!(&left[..], &kept[..left.len()]);
        let (mut log, ledger, _) = profile.writer().open_log().unwrap();
        prop_assert_eq!(ledger.seq, left.len() as u64);
        log.append(&line(ledger.seq + 1), true).unwrap();
        prop_assert_eq!(profile.reader().verify_log().unwrap(), ledger.seq + 1);
    }
}
