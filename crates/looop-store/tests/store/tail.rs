//! Following the log: each append once, in order and whole, whatever happens to its files.

use std::fs::OpenOptions;
use std::io::Write;

use looop_core::ledger::entry::Line;
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;
use looop_store::log::LogTail;
use looop_store::{Log, LogError};
use proptest::prelude::*;

use crate::harness::{Profile, line};

const FIRST: &str = "log/000000000001.jsonl";
const NONE: [u64; 0] = [];

/// A profile with its writer's log.
fn opened() -> (Profile, Log, Ledger) {
    let profile = Profile::new();
    let (log, ledger, _) = profile.writer().open_log().unwrap();
    (profile, log, ledger)
}

fn append(log: &mut Log, ledger: &mut Ledger) {
    let line = line(ledger.seq + 1);
    log.append(&line, false).unwrap();
    apply_line(ledger, &line);
}

fn more(tail: &mut LogTail) -> Vec<Line> {
    let mut given = Vec::new();
    tail.more(&mut |before, line| {
        assert_eq!(before.seq + 1, line.seq, "the ledger before it comes with it");
        given.push(line.clone());
    })
    .unwrap();
    given
}

fn numbers(tail: &mut LogTail) -> Vec<u64> {
    more(tail).iter().map(|line| line.seq).collect()
}

/// Bytes at the end of a file of the log.
fn leave(profile: &Profile, path: &str, bytes: &[u8]) {
    OpenOptions::new().append(true).open(profile.path(path)).unwrap().write_all(bytes).unwrap();
}

#[test]
fn it_begins_anywhere_and_goes_on_across_files() {
    let (profile, mut log, mut ledger) = opened();
    for seq in 1..=9 {
        append(&mut log, &mut ledger);
        if seq % 3 == 0 {
            log.rotate(&ledger).unwrap();
        }
    }
    let mut tails: Vec<LogTail> = (0..12).map(|since| profile.reader().tail(since)).collect();
    for (since, tail) in (0..).zip(&mut tails) {
        assert_eq!(numbers(tail), (since + 1..=9).collect::<Vec<u64>>(), "since {since}");
        assert_eq!(tail.seq(), 9, "never beyond the end of the log");
        assert_eq!(*tail.ledger(), ledger);
    }
    let mut last = profile.reader().tail(u64::MAX);
    assert_eq!(numbers(&mut last), NONE);
    append(&mut log, &mut ledger);
    log.rotate(&ledger).unwrap();
    append(&mut log, &mut ledger);
    for tail in tails.iter_mut().chain([&mut last]) {
        assert_eq!(numbers(tail), [10, 11]);
        assert_eq!(numbers(tail), NONE);
        assert_eq!(*tail.ledger(), ledger);
    }
}

#[test]
fn without_a_log_it_waits_for_one() {
    let profile = Profile::none();
    let mut tail = profile.reader().tail(u64::MAX);
    assert_eq!((numbers(&mut tail), tail.seq()), (vec![], 0));
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    append(&mut log, &mut ledger);
    assert_eq!(numbers(&mut tail), [1]);
}

#[test]
fn a_line_is_given_once_it_is_whole() {
    let (profile, mut log, mut ledger) = opened();
    append(&mut log, &mut ledger);
    let before = std::fs::read(profile.path(FIRST)).unwrap().len();
    append(&mut log, &mut ledger);
    let bytes = std::fs::read(profile.path(FIRST)).unwrap();
    drop(log);
    for cut in before..bytes.len() {
        std::fs::write(profile.path(FIRST), &bytes[..before]).unwrap();
        let mut tail = profile.reader().tail(0);
        assert_eq!(numbers(&mut tail), [1]);
        leave(&profile, FIRST, &bytes[before..cut]);
        assert_eq!(numbers(&mut tail), NONE, "cut at {cut}");
        leave(&profile, FIRST, &bytes[cut..]);
        assert_eq!(numbers(&mut tail), [2], "cut at {cut}");
    }
}

#[test]
fn what_was_read_is_not_read_again() {
    let (profile, mut log, mut ledger) = opened();
    append(&mut log, &mut ledger);
    append(&mut log, &mut ledger);
    let mut tail = profile.reader().tail(0);
    assert_eq!(numbers(&mut tail), [1, 2]);
    let mut bytes = std::fs::read(profile.path(FIRST)).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    bytes[second] ^= 1;
    std::fs::write(profile.path(FIRST), &bytes).unwrap();
    append(&mut log, &mut ledger);
    assert_eq!(numbers(&mut tail), [3], "a line that went bad meanwhile disturbs nobody who has read it");
    assert!(matches!(profile.reader().ledger(), Err(LogError::Corrupt { line: 2, .. })));
    // What does not fit is read from the start, and then it is told.
    leave(&profile, FIRST, b"{\"c\":\"garbage\n");
    append(&mut log, &mut ledger);
    let error = tail.more(&mut |_, _| {}).unwrap_err();
    assert_eq!(error.to_string(), format!("{FIRST}, line 2: it does not match its checksum"));
}

#[test]
fn an_append_that_was_taken_back_makes_room_for_another() {
    for looks_between in [false, true] {
        let (profile, mut log, mut ledger) = opened();
        append(&mut log, &mut ledger);
        let kept = std::fs::read(profile.path(FIRST)).unwrap();
        let mut other = ledger.clone();
        append(&mut log, &mut ledger);
        drop(log);
        let mut tail = profile.reader().tail(0);
        assert_eq!(numbers(&mut tail), [1, 2]);
        // As after a sync that failed: a fresh file with the lines before, and another line of that number.
        profile.write("log/.fresh", &kept);
        profile.chmod("log/.fresh", 0o600);
        std::fs::rename(profile.path("log/.fresh"), profile.path(FIRST)).unwrap();
        if looks_between {
            assert_eq!((numbers(&mut tail), tail.seq()), (vec![], 1));
        }
        let (mut log, ..) = profile.writer().open_log().unwrap();
        let mut replaced = line(2);
        replaced.entries.pop();
        log.append(&replaced, true).unwrap();
        apply_line(&mut other, &replaced);
        assert_eq!(more(&mut tail), [replaced]);
        assert_eq!(*tail.ledger(), other);
        append(&mut log, &mut other);
        assert_eq!(numbers(&mut tail), [3]);
    }
}

#[test]
fn a_file_that_was_put_away_is_passed_over() {
    let (profile, mut log, mut ledger) = opened();
    let mut tail = profile.reader().tail(0);
    append(&mut log, &mut ledger);
    assert_eq!(numbers(&mut tail), [1]);
    append(&mut log, &mut ledger);
    log.rotate(&ledger).unwrap();
    append(&mut log, &mut ledger);
    std::fs::remove_file(profile.path(FIRST)).unwrap();
    assert_eq!(numbers(&mut tail), [3], "what is kept is given");
    std::fs::remove_dir_all(profile.path("log")).unwrap();
    assert_eq!((numbers(&mut tail), tail.seq()), (vec![], 3));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Append,
    Rotate,
    /// The writer dies in the middle of an append, and another one opens the log.
    Tear(u8),
    Look,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Append),
        1 => Just(Step::Rotate),
        1 => any::<u8>().prop_map(Step::Tear),
        3 => Just(Step::Look),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn every_append_is_given_once(steps in steps(), since in 0..20_u64) {
        let (profile, mut log, mut ledger) = opened();
        let mut tail = profile.reader().tail(since);
        let (mut given, mut first) = (Vec::new(), None);
        let mut path = FIRST.to_owned();
        for step in steps.into_iter().chain([Step::Look]) {
            match step {
                Step::Append => append(&mut log, &mut ledger),
                Step::Rotate => {
                    log.rotate(&ledger).unwrap();
                    path = format!("log/{:012}.jsonl", ledger.seq + 1);
                }
                Step::Tear(bytes) => {
                    drop(log);
                    let half = format!("{{\"c\":\"12345678\",\"seq\":{}", "7".repeat(usize::from(bytes)));
                    leave(&profile, &path, half.as_bytes());
                    given.extend(numbers(&mut tail));
                    first = first.or(Some(since.min(ledger.seq)));
                    log = profile.writer().open_log().unwrap().0;
                }
                Step::Look => {
                    given.extend(numbers(&mut tail));
                    // Whoever begins beyond the end begins at the end.
                    first = first.or(Some(since.min(ledger.seq)));
                }
            }
        }
        prop_assert_eq!(given, (first.unwrap() + 1..=ledger.seq).collect::<Vec<u64>>());
        prop_assert_eq!(tail.ledger(), &ledger);
    }
}
