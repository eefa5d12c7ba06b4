//! Inputs with an id are typed once.

use super::drive::{Drive, GONE, STANDS, draft, press, send};
use crate::kernel::{Answer, Input, Refusal};

#[test]
fn a_known_id_gets_the_first_result() {
    let mut drive = Drive::live().seeing(&[Some(STANDS), Some(GONE)]);
    drive.tell(Input::Output { bytes: 7 });
    drive.tell(send(1, Some("a"), "hello"));
    drive.prints(0);
    drive.prints(50);
    drive.until(1000);
    drive.tell(send(2, Some("a"), "something else"));
    drive.tell(press(3, Some("a"), &["Up"]));
    assert_eq!(
        drive.deeds(),
        [
            "0 publish Live",
            "0 paste hello",
            "40 write \\r",
            "110 tell 1: Taken at 7",
            "1000 tell 2: Taken at 7, again",
            "1000 tell 3: the id \"a\" belongs to another input",
        ]
    );
}

#[test]
fn an_id_under_way_or_waiting_is_joined() {
    let mut drive = Drive::live().seeing(&[Some(STANDS)]);
    drive.tell(send(1, Some("a"), "one"));
    drive.tell(press(2, Some("b"), &["Up"]));
    drive.tell(send(3, Some("a"), "one"));
    drive.tell(press(4, Some("b"), &["Up"]));
    drive.tell(draft(5, Some("b"), "text"));
    drive.until(9000);
    assert_eq!(
        drive.deeds(),
        [
            "0 publish Live",
            "0 paste one",
            "0 tell 5: the id \"b\" belongs to another input",
            "1000 write \\r",
            "3000 tell 1: Unseen at 0",
            "3000 tell 3: Unseen at 0, again",
            "3000 press Up",
            "3000 tell 2: keyed at 0",
            "3000 tell 4: keyed at 0, again",
        ]
    );
}

#[test]
fn the_last_ids_are_remembered() {
    let mut drive = Drive::live();
    for number in 0..65 {
        drive.tell(press(number, Some(&format!("id {number}")), &["Up"]));
        drive.until(drive.now + 1000);
    }
    drive.tell(press(100, Some("id 1"), &["Up"]));
    drive.tell(press(101, Some("id 0"), &["Up"]));
    let again: Vec<(u64, bool)> =
        drive.answers().iter().rev().take(2).map(|(caller, answer)| (*caller, is_again(answer))).collect();
    assert_eq!(again, [(101, false), (100, true)]);
    assert_eq!(drive.kernel.explain().remembered, 64);
}

fn is_again(answer: &Answer) -> bool {
    matches!(answer, Answer::Keyed { again: true, .. } | Answer::Sent { again: true, .. })
}

#[test]
fn what_was_half_typed_is_remembered_and_what_was_not_may_come_again() {
    let mut drive = Drive::live();
    drive.tell(send(1, Some("half"), "one"));
    drive.tell(send(2, Some("none"), "two"));
    drive.tell(Input::Pause { caller: 3 });
    drive.tell(Input::GoOn { caller: 4 });
    drive.tell(send(5, Some("half"), "one"));
    drive.tell(draft(6, Some("none"), "two"));
    assert_eq!(
        drive.deeds(),
        [
            "0 publish Live",
            "0 paste one",
            "0 freeze",
            "0 publish Paused",
            "0 tell 1: the session was paused before it was seen what became of the input",
            "0 tell 2: the session was paused before anything was typed",
            "0 tell 3: done",
            "0 thaw",
            "0 publish Live",
            "0 tell 4: done",
            "0 tell 5: the session was paused before it was seen what became of the input",
            "0 paste two",
            "0 tell 6: Typed at 0",
        ]
    );
}

#[test]
fn an_id_has_an_end() {
    let mut drive = Drive::live();
    drive.tell(draft(1, Some(&"x".repeat(201)), "one"));
    drive.tell(draft(2, Some(&"x".repeat(200)), "one"));
    assert_eq!(
        drive.deeds(),
        [
            "0 publish Live",
            "0 tell 1: the id is longer than 200 bytes",
            "0 paste one",
            "0 tell 2: Typed at 0"
        ]
    );
}

#[test]
fn results_are_repeated_also_after_the_end() {
    let mut drive = Drive::live();
    drive.tell(draft(1, Some("a"), "one"));
    drive.tell(Input::Kill);
    drive.tell(draft(2, Some("a"), "one"));
    drive.tell(draft(3, Some("b"), "two"));
    let answers = drive.answers();
    assert!(is_again(answers[1].1), "{answers:?}");
    assert!(matches!(answers[2].1, Answer::Refused(Refusal::Ended(_))), "{answers:?}");
}
