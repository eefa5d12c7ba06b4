//! Texts and keys, from the first byte to the verdict.

use super::drive::{Drive, GONE, STANDS, draft, press, send};
use crate::Ended;
use crate::kernel::{Input, Look, Reads};

fn check(drive: &Drive, expected: &[&str]) {
    assert_eq!(drive.deeds(), expected);
}

#[test]
fn a_text_is_typed_then_submitted_and_taken() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(GONE)]);
    drive.until(100);
    drive.send(1, "hello");
    drive.prints(110);
    drive.prints(170);
    drive.until(5000);
    check(&drive, &["0 publish Live", "100 paste hello", "150 write \\r", "230 tell 1: Taken at 0"]);
}

#[test]
fn the_echo_is_waited_for_until_it_is_seen() {
    let mut drive = Drive::live().seeing(&[Some(GONE), Some(STANDS)]);
    drive.send(1, "hello");
    for time in [10, 300] {
        drive.prints(time);
    }
    drive.until(600);
    check(&drive, &["0 publish Live", "0 paste hello", "340 write \\r"]);
}

#[test]
fn a_terminal_that_never_gets_quiet_is_looked_at_in_the_end() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(GONE)]);
    drive.send(1, "hello");
    for time in 0..400 {
        drive.prints(time * 10);
    }
    check(&drive, &["0 publish Live", "0 paste hello", "1000 write \\r", "3000 tell 1: Taken at 0"]);
}

#[test]
fn without_an_echo_it_is_not_submitted() {
    let mut drive = Drive::live();
    drive.send(1, "no, do not run that");
    drive.prints(1500);
    drive.until(20_000);
    check(&drive, &["0 publish Live", "0 paste no, do not run that", "8000 tell 1: NotTyped at 0"]);
}

#[test]
fn what_stood_there_before_is_no_echo() {
    let mut drive = Drive::live().before(Some(STANDS)).seeing(&[Some(STANDS); 99]);
    drive.send(1, "1. Yes");
    drive.prints(10);
    drive.until(20_000);
    check(&drive, &["0 publish Live", "0 paste 1. Yes", "8000 tell 1: NotTyped at 0"]);
    let moved = Look { cursor: (0, 6), ..STANDS };
    let mut drive = Drive::live().before(Some(STANDS)).seeing(&[Some(moved), Some(GONE)]);
    drive.send(1, "1. Yes");
    drive.prints(10);
    drive.until(60);
    check(&drive, &["0 publish Live", "0 paste 1. Yes", "50 write \\r"]);
}

#[test]
fn where_keys_are_read_the_first_character_is_tried_alone() {
    let keys = Some(Look { reads: Reads::Keys, cursor: (3, 2), ..GONE });
    let first = Some(Look { cursor: (3, 4), ..STANDS });
    let mut drive = Drive::live().before(keys).seeing(&[first, Some(STANDS)]);
    drive.send(1, " no");
    drive.prints(10);
    drive.prints(60);
    drive.until(100);
    check(&drive, &["0 publish Live", "0 paste  n", "50 paste o", "100 write \\r"]);
    // A menu that says what was chosen moves the cursor further than that.
    for other in [Look { cursor: (3, 9), ..STANDS }, Look { cursor: (4, 4), ..STANDS }, GONE] {
        let mut drive = Drive::live().before(keys).seeing(&[Some(other); 99]);
        drive.send(1, " no");
        drive.prints(10);
        drive.until(20_000);
        check(&drive, &["0 publish Live", "0 paste  n", "8000 tell 1: NotTyped at 0"]);
    }
}

#[test]
fn nothing_is_typed_where_nothing_would_be_seen() {
    for before in [Some(Look { reads: Reads::Blindly, ..GONE }), None] {
        let mut drive = Drive::live().before(before);
        drive.send(1, "secret");
        drive.until(20_000);
        let typed = drive.deeds().iter().any(|deed| deed.contains("paste") || deed.contains("write"));
        assert!(!typed, "{:?}", drive.deeds());
        assert!(drive.deeds().last().unwrap().ends_with("tell 1: NotTyped at 0"));
    }
}

#[test]
fn without_a_reaction_it_is_unseen_and_not_submitted_again() {
    let mut drive = Drive::live().seeing(&[Some(STANDS)]);
    drive.send(1, "hello");
    drive.prints(5);
    drive.until(5000);
    check(&drive, &["0 publish Live", "0 paste hello", "45 write \\r", "2045 tell 1: Unseen at 0"]);
}

#[test]
fn the_echo_of_enter_is_no_reaction() {
    for (bytes, verdict) in [(2, "2041 tell 1: Unseen at 0"), (3, "160 tell 1: Taken at 0")] {
        let mut drive = Drive::live().seeing(&[Some(STANDS), Some(GONE)]);
        drive.send(1, "hello");
        drive.prints(1);
        drive.until(100);
        drive.tell(Input::Output { bytes });
        drive.until(5000);
        assert_eq!(drive.deeds().last().unwrap(), verdict);
    }
}

#[test]
fn a_text_that_still_stands_is_submitted_once_more() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(STANDS), Some(STANDS), Some(GONE)]);
    drive.send(1, "hello");
    drive.prints(0);
    drive.prints(100);
    drive.prints(500);
    drive.until(5000);
    check(
        &drive,
        &["0 publish Live", "0 paste hello", "40 write \\r", "460 write \\r", "560 tell 1: Taken at 0"],
    );
}

#[test]
fn a_program_that_is_still_busy_is_given_time() {
    let mut drive = Drive::live().seeing(&[Some(STANDS); 9]);
    drive.send(1, "hello");
    for time in [0, 100, 200, 400, 600] {
        drive.prints(time);
    }
    drive.until(1000);
    check(&drive, &["0 publish Live", "0 paste hello", "40 write \\r", "900 write \\r"]);
}

#[test]
fn a_busy_program_is_looked_at_meanwhile() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(STANDS), Some(STANDS), Some(GONE)]);
    drive.send(1, "hello");
    for time in [0, 100, 200, 400, 600] {
        drive.prints(time);
    }
    drive.until(1000);
    check(&drive, &["0 publish Live", "0 paste hello", "40 write \\r", "460 tell 1: Taken at 0"]);
}

#[test]
fn a_program_that_is_busy_for_ever_is_not_waited_for() {
    let mut drive = Drive::live().seeing(&[Some(STANDS); 99]);
    drive.send(1, "hello");
    drive.prints(0);
    for time in 1..300 {
        drive.prints(time * 80);
    }
    assert_eq!(drive.deeds()[..4], ["0 publish Live", "0 paste hello", "40 write \\r", "2140 write \\r"]);
}

#[test]
fn a_text_that_goes_while_it_is_doubted_is_not_submitted_again() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(STANDS), Some(GONE)]);
    drive.send(1, "hello");
    drive.prints(0);
    drive.prints(100);
    drive.until(5000);
    check(&drive, &["0 publish Live", "0 paste hello", "40 write \\r", "460 tell 1: Taken at 0"]);
}

#[test]
fn a_text_that_stands_after_both_is_left() {
    let mut drive = Drive::live().seeing(&[Some(STANDS); 9]);
    drive.send(1, "hello");
    for time in [0, 100, 500, 700] {
        drive.prints(time);
    }
    drive.until(9000);
    check(
        &drive,
        &["0 publish Live", "0 paste hello", "40 write \\r", "460 write \\r", "2460 tell 1: Left at 0"],
    );
}

#[test]
fn a_second_enter_that_nothing_follows_leaves_it() {
    let mut drive = Drive::live().seeing(&[Some(STANDS); 3]);
    drive.send(1, "hello");
    drive.prints(0);
    drive.prints(100);
    drive.until(9000);
    check(
        &drive,
        &["0 publish Live", "0 paste hello", "40 write \\r", "460 write \\r", "2460 tell 1: Left at 0"],
    );
}

#[test]
fn what_was_submitted_before_the_end_was_not_refused() {
    let refused = "tell 1: the session ended before it was seen what became of the input";
    for (time, verdict) in [(20, refused), (50, "tell 1: Unseen at 0"), (130, "tell 1: Unseen at 0")] {
        let mut drive = Drive::live().seeing(&[Some(STANDS); 3]);
        drive.send(1, "hello");
        drive.prints(0);
        if time > 100 {
            drive.prints(100);
        }
        drive.until(time);
        drive.tell(Input::ChildEnded(Ended::Exited(0)));
        assert_eq!(drive.deeds().last().unwrap(), &format!("{time} {verdict}"));
    }
}

#[test]
fn where_the_text_stood_before_enter_counts() {
    let above = |up| Some(Look { up, ..STANDS });
    for (before, after, verdict) in [(3, 3, "2460 tell 1: Left at 0"), (3, 5, "160 tell 1: Taken at 0")] {
        let mut drive = Drive::live().seeing(&[above(before), above(after), above(after), above(after)]);
        drive.send(1, "hello");
        drive.prints(0);
        drive.prints(100);
        drive.until(9000);
        assert_eq!(drive.deeds().last().unwrap(), verdict);
    }
}

#[test]
fn a_line_break_instead_of_a_submit_is_seen() {
    let broken = |up| Some(Look { up, open: true, ..STANDS });
    let mut drive = Drive::live().seeing(&[Some(STANDS), broken(1), broken(1), broken(2), broken(2)]);
    drive.send(1, "hello");
    for time in [0, 100, 500] {
        drive.prints(time);
    }
    drive.until(9000);
    check(
        &drive,
        &["0 publish Live", "0 paste hello", "40 write \\r", "460 write \\r", "2460 tell 1: Left at 0"],
    );
}

#[test]
fn a_screen_that_nobody_reads_holds_nothing_up() {
    let mut drive = Drive::live().seeing(&[None, None]);
    drive.send(1, "hello");
    drive.prints(0);
    drive.prints(1100);
    drive.until(9000);
    check(&drive, &["0 publish Live", "0 paste hello", "1040 tell 1: NotTyped at 0"]);
}

#[test]
fn a_text_that_shows_nothing_is_not_typed() {
    for text in [" \t", "\n"] {
        let mut drive = Drive::live();
        drive.send(1, text);
        drive.until(9000);
        check(&drive, &["0 publish Live", "0 tell 1: NotTyped at 0"]);
    }
}

#[test]
fn the_end_of_the_last_line_is_the_submit_itself() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(GONE)]);
    drive.send(1, "one\r\ntwo\n\n");
    drive.tell(draft(2, None, "one\r\ntwo\n"));
    drive.prints(0);
    drive.prints(50);
    drive.until(9000);
    check(
        &drive,
        &[
            "0 publish Live",
            "0 paste one\ntwo",
            "40 write \\r",
            "110 tell 1: Taken at 0",
            "110 paste one\ntwo\n",
            "110 tell 2: Typed at 20",
        ],
    );
}

#[test]
fn what_is_not_submitted_is_answered_at_once_and_followed_after_a_rest() {
    let mut drive = Drive::live();
    drive.tell(draft(1, None, "hel"));
    drive.tell(press(2, None, &["l"]));
    drive.prints(30);
    drive.until(9000);
    check(
        &drive,
        &["0 publish Live", "0 paste hel", "0 tell 1: Typed at 0", "70 press l", "70 tell 2: keyed at 10"],
    );
}

#[test]
fn a_rest_ends_even_if_the_terminal_is_never_quiet() {
    let mut drive = Drive::live();
    drive.tell(press(1, None, &["a"]));
    drive.tell(press(2, None, &["b"]));
    for time in 0..150 {
        drive.prints(time * 10);
    }
    check(
        &drive,
        &[
            "0 publish Live",
            "0 press a",
            "0 tell 1: keyed at 0",
            "1000 press b",
            "1000 tell 2: keyed at 1000",
        ],
    );
}

#[test]
fn keys_are_pressed_one_by_one() {
    let mut drive = Drive::live();
    drive.tell(press(1, None, &["Escape", ":", "q", "Enter"]));
    drive.until(9000);
    check(
        &drive,
        &[
            "0 publish Live",
            "0 press Escape",
            "20 press :",
            "40 press q",
            "60 press Enter",
            "60 tell 1: keyed at 0",
        ],
    );
}

#[test]
fn deliveries_wait_for_each_other_and_for_the_start() {
    let mut drive = Drive::new(None).seeing(&[Some(STANDS), Some(GONE), Some(STANDS), Some(GONE)]);
    drive.send(1, "one");
    drive.send(2, "two");
    drive.until(50);
    drive.tell(Input::Spawned);
    for time in [60, 110, 200, 300] {
        drive.prints(time);
    }
    drive.until(9000);
    check(
        &drive,
        &[
            "50 publish Live",
            "50 paste one",
            "100 write \\r",
            "170 tell 1: Taken at 0",
            "170 paste two",
            "240 write \\r",
            "360 tell 2: Taken at 20",
        ],
    );
}

#[test]
fn keys_that_do_not_exist_are_refused_before_anything_is_typed() {
    let mut drive = Drive::live();
    drive.tell(press(1, Some("x"), &["Up", "Entr"]));
    drive.tell(press(2, Some("x"), &[]));
    drive.tell(press(3, Some("x"), &["Up"]));
    check(
        &drive,
        &[
            "0 publish Live",
            "0 tell 1: there is no key \"Entr\"",
            "0 tell 2: no key was named",
            "0 press Up",
            "0 tell 3: keyed at 0",
        ],
    );
}

#[test]
fn only_so_much_waits() {
    let mut drive = Drive::live();
    let half = "x".repeat(500 << 10);
    for caller in 1..=4 {
        drive.send(caller, &half);
    }
    drive.tell(send(5, None, "short"));
    let full = "0 tell 4: too much input waits to be typed";
    assert_eq!(drive.deeds().iter().filter(|deed| deed.starts_with("0 tell")).collect::<Vec<_>>(), [full]);
    assert_eq!(drive.kernel.explain().waiting, 3);
}
