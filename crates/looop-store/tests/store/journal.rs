//! The journal.

use crate::harness::{Profile, journaled};

#[test]
fn lines_are_appended_and_shown() {
    let profile = Profile::new();
    let writer = profile.writer();
    assert!(writer.journal_tail(5).is_absent());
    writer.append_journal("- 2026-01-01 00:00 a").unwrap();
    writer.append_journal("- 2026-01-01 00:01 b\nwith a newline").unwrap();
    assert_eq!(profile.text("journal.md"), "- 2026-01-01 00:00 a\n- 2026-01-01 00:01 b with a newline\n");
    assert_eq!(profile.mode("journal.md"), 0o600);
    assert_eq!(writer.journal_tail(1).value().unwrap(), ["- 2026-01-01 00:01 b with a newline"]);
}

#[test]
fn a_line_that_was_torn_stays_apart() {
    let profile = Profile::new();
    profile.write("journal.md", "- whole\n- tor");
    assert_eq!(profile.reader().journal_tail(5).value().unwrap(), ["- whole"], "half a line is no line");
    profile.writer().append_journal("- next").unwrap();
    assert_eq!(profile.text("journal.md"), "- whole\n- tor\n- next\n");
}

#[test]
fn a_line_that_a_crash_kept_out_is_written_once() {
    let profile = Profile::new();
    let writer = profile.writer();
    let mut ledger = journaled("- 10:00 ran");
    for _ in 0..2 {
        writer.mend_journal(&ledger).unwrap();
        assert_eq!(profile.text("journal.md"), "- 10:00 ran\n");
    }
    // A second move of the same minute that reads the same is another line.
    ledger.journal.push("- 10:00 ran".to_owned());
    for _ in 0..2 {
        writer.mend_journal(&ledger).unwrap();
        assert_eq!(profile.text("journal.md"), "- 10:00 ran\n- 10:00 ran\n");
    }
}

#[test]
fn a_line_that_lacks_only_its_newline_is_not_written_again() {
    let profile = Profile::new();
    profile.write("journal.md", "- 09:59 began\n- 10:00 ran");
    for _ in 0..2 {
        profile.writer().mend_journal(&journaled("- 10:00 ran")).unwrap();
        assert_eq!(profile.text("journal.md"), "- 09:59 began\n- 10:00 ran\n");
    }
}

#[test]
fn lines_that_a_full_disk_kept_out_come_in_order() {
    let profile = Profile::new();
    let writer = profile.writer();
    writer.append_journal("- a").unwrap();
    let journal = ["- a", "- b", "- c", "- b"].map(str::to_owned).to_vec();
    let ledger = looop_core::ledger::state::Ledger { journal, ..journaled("") };
    for _ in 0..2 {
        writer.mend_journal(&ledger).unwrap();
        assert_eq!(profile.text("journal.md"), "- a\n- b\n- c\n- b\n");
    }
    assert!(writer.journal_has("- c").unwrap() && !writer.journal_has("- d").unwrap());
}

#[test]
fn a_full_journal_makes_room_and_four_are_kept() {
    let profile = Profile::new();
    let writer = profile.writer();
    for n in 0..7 {
        profile.write("journal.md", format!("- {n}\n{}\n", "x".repeat(5 << 20)));
        writer.append_journal(&format!("- new {n}")).unwrap();
        assert_eq!(profile.text("journal.md"), format!("- new {n}\n"));
    }
    let first = |name: &str| profile.text(name).lines().next().unwrap().to_owned();
    let kept: Vec<String> = (1..=4).map(|n| first(&format!("journal.md.{n}"))).collect();
    assert_eq!(kept, ["- 6", "- 5", "- 4", "- 3"]);
    assert!(!profile.path("journal.md.5").exists());
}

#[test]
fn a_line_is_found_across_a_rotation_and_in_a_long_journal() {
    let profile = Profile::new();
    let writer = profile.writer();
    let ledger = journaled("- last");
    profile.write("journal.md", format!("{}\n- last\n", "x".repeat(5 << 20)));
    writer.mend_journal(&ledger).unwrap();
    writer.append_journal("- first of the new").unwrap();
    writer.mend_journal(&ledger).unwrap();
    assert_eq!(writer.journal_tail(9).value().unwrap(), ["- first of the new"]);
}
