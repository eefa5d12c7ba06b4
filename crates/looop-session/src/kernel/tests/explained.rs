//! What a machine says about itself.

use super::drive::{Drive, draft, ms, press, send};
use crate::Ended;
use crate::kernel::{Input, Stage, Step, Wait};

#[test]
fn an_idle_session_waits_for_its_deadline_alone() {
    let mut drive = Drive::new(Some(5000));
    drive.until(10);
    drive.tell(Input::Spawned);
    let explained = drive.kernel.explain();
    assert_eq!((explained.stage, explained.since), (Stage::Live, ms(10)));
    assert_eq!(explained.timers.len(), 1);
    assert_eq!((explained.timers[0].what, explained.timers[0].at), (Wait::Deadline, ms(5000)));
    assert_eq!((explained.delivery, explained.waiting), (None, 0));
    assert_eq!(drive.kernel.next(), Some(ms(5000)));
}

#[test]
fn a_delivery_tells_its_steps_and_timers() {
    let mut drive = Drive::live().seeing(&[Some(super::drive::STANDS)]);
    drive.tell(send(1, Some("a"), "one"));
    drive.tell(send(2, Some("a"), "one"));
    drive.tell(press(3, None, &["x", "y"]));
    drive.tell(draft(4, None, "two"));
    let explained = drive.kernel.explain();
    let underway = explained.delivery.unwrap();
    assert_eq!((underway.id.as_deref(), &underway.callers[..]), (Some("a"), &[1, 2][..]));
    assert_eq!((underway.step, underway.looking, explained.waiting), (Step::Echo, None, 2));
    let steps: Vec<Step> = [999, 1000, 3000, 3020]
        .into_iter()
        .map(|time| {
            drive.until(time);
            drive.kernel.explain().delivery.unwrap().step
        })
        .collect();
    assert_eq!(steps, [Step::Echo, Step::Reaction { again: false }, Step::Keys(1), Step::Rest]);
    drive.until(9000);
    assert_eq!((drive.kernel.explain().delivery, drive.kernel.next()), (None, None));
}

#[test]
fn a_look_under_way_is_told() {
    let mut drive = Drive::live().seeing(&[None]);
    drive.send(1, "one");
    drive.prints(0);
    drive.until(40);
    let explained = drive.kernel.explain();
    let underway = explained.delivery.unwrap();
    assert_eq!(underway.looking, Some(explained.timers[0].epoch));
    drive.tell(Input::Looked { token: underway.looking.unwrap() + 1, look: super::drive::STANDS });
    drive.tell(Input::Looked { token: underway.looking.unwrap() - 1, look: super::drive::STANDS });
    assert_eq!(drive.kernel.explain().delivery.unwrap().looking, underway.looking);
}

#[test]
fn an_end_tells_its_reason_and_waits_for_nothing() {
    let mut drive = Drive::new(Some(100));
    drive.tell(Input::Spawned);
    drive.send(1, "one");
    drive.until(200);
    let explained = drive.kernel.explain();
    assert_eq!((explained.stage, explained.since), (Stage::Ending(Ended::TimedOut), ms(100)));
    assert_eq!((explained.timers, explained.delivery), (vec![], None));
    assert_eq!(drive.kernel.next(), None);
}

#[test]
fn what_is_done_is_remembered_once_and_waited_for_no_longer() {
    let mut drive = Drive::live();
    drive.tell(draft(1, Some("a"), "one"));
    assert!(drive.kernel.next().is_some());
    drive.tell(Input::Pause { caller: 2 });
    assert_eq!((drive.kernel.next(), drive.kernel.explain().remembered), (None, 1));
}
