//! Tells: heard once, in order, by one session.

use std::sync::{Arc, Barrier};

use looop_core::model::letter::Tell;
use looop_store::mail::{LONGEST_TELL, MOST_TELLS, TellError};

use crate::harness::{Profile, breaks};

const NOW: i64 = 1_800_000_000_000;

fn texts(tells: &[Tell]) -> Vec<&str> {
    tells.iter().map(|tell| tell.text.as_str()).collect()
}

#[test]
fn tells_are_heard_once_and_in_order() {
    let profile = Profile::new();
    let reader = profile.reader();
    let sent: Vec<String> = (0..12).map(|n| format!("message {n}")).collect();
    for text in &sent {
        // A clock that goes back does not turn the order round.
        reader.post_tell("triage~1", text, NOW - i64::try_from(text.len()).unwrap()).unwrap();
    }
    reader.post_tell("triage~2", "for another session", NOW).unwrap();
    assert_eq!(profile.mode("tells/triage-1.json"), 0o600);
    assert_eq!(reader.letters().tells.len(), 13);
    assert_eq!(texts(&reader.take_tells("triage~1").tells), sent);
    assert!(reader.take_tells("triage~1").tells.is_empty());
    assert_eq!(texts(&reader.take_tells("triage~2").tells), ["for another session"]);
    assert!(profile.names("mail.d").contains(&"triage-13.tell.json".to_owned()));
    assert_eq!(reader.post_tell("triage~1", "more", NOW).unwrap().id, "triage-14");
}

#[test]
fn of_many_who_listen_at_once_one_hears_each() {
    let profile = Profile::new();
    for n in 0..200 {
        profile.reader().post_tell("triage~1", &format!("{n}"), NOW).unwrap();
    }
    let start = Arc::new(Barrier::new(8));
    let listeners: Vec<_> = (0..8)
        .map(|_| {
            let (reader, start) = (profile.reader(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                reader.take_tells("triage~1").tells
            })
        })
        .collect();
    let mut heard: Vec<u32> = listeners
        .into_iter()
        .flat_map(|listener| listener.join().unwrap())
        .map(|tell| tell.text.parse().unwrap())
        .collect();
    heard.sort_unstable();
    assert_eq!(heard, (0..200).collect::<Vec<_>>());
    assert!(profile.reader().letters().tells.is_empty());
}

#[test]
fn a_tell_needs_a_session_and_is_bounded() {
    let profile = Profile::new();
    let reader = profile.reader();
    for session in ["triage", "", "a b~1", "~1", "../x~1"] {
        assert!(matches!(reader.post_tell(session, "x", NOW), Err(TellError::NotASession(_))), "{session}");
    }
    reader.post_tell("triage~1", &"x".repeat(LONGEST_TELL), NOW).unwrap();
    let refused = reader.post_tell("triage~1", &"x".repeat(LONGEST_TELL + 1), NOW);
    assert!(matches!(refused, Err(TellError::TooLong(_))));
    for n in 2..=MOST_TELLS {
        let tell = format!(r#"{{"v":1,"id":"triage-{n}","to":"triage~1","text":"x","sent":1}}"#);
        profile.write(&format!("tells/triage-{n}.json"), tell);
    }
    assert!(matches!(reader.post_tell("triage~1", "x", NOW), Err(TellError::TooMany(_))));
    reader.post_tell("triage~2", "x", NOW).unwrap();
    assert_eq!(reader.take_tells("triage~1").tells.len(), MOST_TELLS);
}

#[test]
fn what_was_told_to_the_dead_is_put_away() {
    let profile = Profile::new();
    let writer = profile.writer();
    writer.post_tell("triage~1", "too late", NOW).unwrap();
    writer.post_tell("triage~2", "in time", NOW).unwrap();
    profile.write("tells/old-1.json", r#"{"v":1,"id":"old-1","worker":"old","msg":"older","ts":5}"#);
    let reaped = writer.reap_tells(&|session| session == "triage~2", NOW).unwrap();
    assert_eq!(texts(&reaped), ["too late"]);
    assert!(writer.reap_tells(&|session| session == "triage~2", NOW).unwrap().is_empty());
    assert_eq!(writer.letters().tells.keys().collect::<Vec<_>>(), ["old-1", "triage-2"]);
    assert!(writer.take_tells("old~1").tells.is_empty(), "a new generation does not hear it");
}

#[test]
fn a_broken_tell_is_named_and_the_others_are_heard() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        let reader = profile.reader();
        reader.post_tell("triage~1", "one", NOW).unwrap();
        make(&profile.path("tells/triage-2.json"));
        reader.post_tell("triage~1", "three", NOW).unwrap();
        assert_eq!(reader.letters().broken[0].0, "tells/triage-2.json", "{how}");
        let taken = reader.take_tells("triage~1");
        assert_eq!(texts(&taken.tells), ["one", "three"], "{how}");
        assert!(taken.problems[0].starts_with("tells/triage-2.json"), "{how}: {:?}", taken.problems);
    }
}
