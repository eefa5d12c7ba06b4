//! The fold that is kept beside the newest file of the log.

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;
use looop_store::LogError;

use crate::harness::{Profile, line};

const FOLD: &str = "log/000000000001.fold";
const NEWEST: &str = "log/000000000001.jsonl";

/// A log of a megabyte with its fold beside it, and the ledger after it.
fn with_fold(profile: &Profile) -> Ledger {
    let (mut log, mut ledger, _) = profile.writer().open_log().unwrap();
    for seq in 1..=600 {
        let what = format!("{seq} {}", "f".repeat(1800));
        let next = Line { entries: vec![Entry::Dropped { what }], ..line(seq) };
        log.append(&next, false).unwrap();
        apply_line(&mut ledger, &next);
        assert!(log.keep_fold(&ledger).is_none());
    }
    log.append(&line(601), true).unwrap();
    apply_line(&mut ledger, &line(601));
    ledger
}

#[test]
fn the_fold_gives_the_same_ledger_as_all_lines() {
    let profile = Profile::new();
    let ledger = with_fold(&profile);
    let fold = std::fs::read(profile.path(FOLD)).unwrap();
    assert_eq!(profile.reader().ledger().unwrap(), ledger);
    assert_eq!(profile.writer().open_log().unwrap().1, ledger);
    assert_eq!(profile.reader().verify_log().unwrap(), 601);
    // One that is damaged, empty or gone changes nothing.
    for at in [0, 30, fold.len() / 2, fold.len() - 2] {
        let mut damaged = fold.clone();
        damaged[at] ^= 1;
        std::fs::write(profile.path(FOLD), damaged).unwrap();
        assert_eq!(profile.reader().ledger().unwrap(), ledger, "{at}");
    }
    std::fs::write(profile.path(FOLD), b"").unwrap();
    assert_eq!(profile.reader().ledger().unwrap(), ledger);
    std::fs::remove_file(profile.path(FOLD)).unwrap();
    assert_eq!(profile.reader().ledger().unwrap(), ledger);
}

#[test]
fn a_fold_spares_the_lines_before_it() {
    let profile = Profile::new();
    with_fold(&profile);
    // A fold that says something else, over the same bytes, shows that it is what counts.
    let text = std::fs::read_to_string(profile.path(FOLD)).unwrap();
    assert!(text.contains("\"size\":") && text.contains("\"sum\":"), "{}", &text[..200]);
    let size: u64 = text.split("\"size\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    let whole = std::fs::metadata(profile.path(NEWEST)).unwrap().len();
    assert!(size > whole / 2 && size < whole, "{size} of {whole}");
}

#[test]
fn damage_in_lines_that_a_fold_covers_is_noticed_all_the_same() {
    let profile = Profile::new();
    with_fold(&profile);
    let mut bytes = std::fs::read(profile.path(NEWEST)).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    std::fs::write(profile.path(NEWEST), bytes).unwrap();
    let error = profile.reader().ledger().unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { line: 2.., .. }), "{error}");
    assert!(profile.writer().open_log().is_err());
}

#[test]
fn a_log_that_was_cut_behind_its_fold_is_read_without_it() {
    let profile = Profile::new();
    with_fold(&profile);
    let text = std::fs::read_to_string(profile.path(NEWEST)).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(profile.path(NEWEST), lines[..100].concat()).unwrap();
    assert_eq!(profile.reader().ledger().unwrap().seq, 99);
}

#[test]
fn a_rotation_takes_the_fold_of_the_old_file_away() {
    let profile = Profile::new();
    let ledger = with_fold(&profile);
    let (mut log, opened, _) = profile.writer().open_log().unwrap();
    assert_eq!(opened, ledger);
    log.rotate(&ledger).unwrap();
    assert_eq!(profile.names("log"), ["000000000001.jsonl", "000000000602.jsonl"]);
    assert_eq!(profile.reader().ledger().unwrap(), ledger);
}
