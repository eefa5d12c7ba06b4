//! Letters.

use std::sync::{Arc, Barrier};

use looop_store::mail::{FolderBusy, MAIL_KEPT_MS, PostError, SettleError};

use crate::harness::{Profile, file_plan};

const NOW: i64 = 1_800_000_000_000;

fn with_ask(id: &str) -> Profile {
    let profile = Profile::new();
    let ask = format!(r#"{{"v":1,"id":"{id}","from":"pulse","prompt":"Merge?","asked":1}}"#);
    let plan = file_plan(&format!("asks/{id}.json"), None, Some(ask.as_bytes()));
    assert!(profile.writer().perform(&plan, Some(ask.as_bytes()), 1).is_done());
    profile
}

#[test]
fn the_first_of_a_hundred_answers_wins() {
    let profile = with_ask("pulse-1");
    let start = Arc::new(Barrier::new(100));
    let people: Vec<_> = (0..100)
        .map(|n| {
            let (reader, start) = (profile.reader(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                reader.post_answer("pulse-1", &format!("answer {n}"), NOW)
            })
        })
        .collect();
    let (won, lost): (Vec<_>, Vec<_>) =
        people.into_iter().map(|person| person.join().unwrap()).partition(Result::is_ok);
    let winner = won.into_iter().next().unwrap().unwrap().text;
    assert_eq!(lost.len(), 99);
    for error in lost {
        assert!(
            matches!(error, Err(PostError::AlreadyAnswered { ref text, .. }) if *text == winner),
            "{error:?}"
        );
    }
    assert_eq!(profile.reader().letters().answers["pulse-1"].text, winner);
    assert_eq!(profile.mode("answers/pulse-1.json"), 0o600);
}

#[test]
fn only_what_is_asked_can_be_answered() {
    let profile = with_ask("pulse-1");
    let reader = profile.reader();
    for id in ["pulse-2", "../asks/pulse-1", "", ".lock", "a/b", "x\ny"] {
        assert!(matches!(reader.post_answer(id, "yes", NOW), Err(PostError::NoSuchAsk(_))), "{id}");
    }
    profile.write("asks/bad.json", "{");
    assert!(matches!(reader.post_answer("bad", "yes", NOW), Err(PostError::BrokenAsk(_))));
    assert_eq!(profile.names("answers"), [".lock"]);
}

#[test]
fn settled_letters_move_and_age_out() {
    let profile = with_ask("pulse-1");
    profile.reader().post_answer("pulse-1", "yes", NOW).unwrap();
    let writer = profile.writer();
    writer.settle("pulse-1", NOW).unwrap();
    writer.settle("pulse-1", NOW).unwrap();
    let letters = writer.letters();
    assert!(letters.asks.is_empty() && letters.answers.is_empty() && letters.broken.is_empty());
    assert_eq!(profile.names("mail.d"), ["pulse-1.answer.json", "pulse-1.ask.json"]);
    let late = writer.post_answer("pulse-1", "no", NOW).unwrap_err();
    assert!(matches!(&late, PostError::AlreadyAnswered { text, .. } if text == "yes"), "{late:?}");
    assert_eq!(writer.sweep_mail(NOW + MAIL_KEPT_MS).unwrap(), 0);
    assert_eq!(writer.sweep_mail(NOW + MAIL_KEPT_MS + 1).unwrap(), 2);
    assert!(profile.names("mail.d").is_empty());
}

#[test]
fn the_same_id_can_be_settled_again() {
    let profile = with_ask("t-1");
    let writer = profile.writer();
    writer.dismiss("t-1", NOW).unwrap();
    assert!(matches!(writer.dismiss("t-1", NOW), Err(SettleError::NoSuchAsk(_))));
    profile.write("asks/t-1.json", r#"{"id":"t-1","worker":"t","prompt":"again?","ts":1}"#);
    writer.dismiss("t-1", NOW).unwrap();
    assert_eq!(profile.names("mail.d"), ["t-1.ask.2.json", "t-1.ask.json"]);
}

#[test]
fn an_answer_without_its_ask_is_seen_and_can_be_settled() {
    let profile = with_ask("pulse-1");
    profile.reader().post_answer("pulse-1", "yes", NOW).unwrap();
    std::fs::rename(profile.path("asks/pulse-1.json"), profile.path("mail.d/pulse-1.ask.json")).unwrap();
    let writer = profile.writer();
    assert_eq!(writer.letters().answers.len(), 1);
    writer.settle("pulse-1", NOW).unwrap();
    assert_eq!(profile.names("mail.d"), ["pulse-1.answer.json", "pulse-1.ask.json"]);
}

#[test]
fn whoever_holds_the_folder_is_named() {
    let profile = with_ask("pulse-1");
    let path = profile.path("answers/.lock");
    std::fs::write(&path, "4242\n").unwrap();
    let other = std::fs::File::open(&path).unwrap();
    other.lock().unwrap();
    let error = profile.writer().settle("pulse-1", NOW).unwrap_err();
    assert!(matches!(error, SettleError::Busy(FolderBusy::Held { pid: Some(4242), .. })), "{error:?}");
    assert_eq!(error.to_string(), "answers is locked by process 4242");
    other.unlock().unwrap();
    profile.writer().settle("pulse-1", NOW).unwrap();
}

#[test]
fn asks_of_older_versions_wait_and_answered_ones_are_history() {
    let profile = Profile::new();
    let older = |id: &str| {
        format!(r#"{{"id":"{id}","worker":"looop-triage","prompt":"Merge #12?","ts":1794734939}}"#)
    };
    for id in ["triage-1", "triage-2", "triage-3"] {
        profile.write(&format!("asks/{id}.json"), older(id));
    }
    profile.write("answers/triage-1.json", r#"{"answer":"yes","ts":1794734940}"#);
    profile.write("answers/triage-3.json", r#"{"answer":7}"#);
    profile.write("answers/gone-1.json", r#"{"answer":"x","ts":1}"#);
    profile.write("asks/.dirlock", "");
    let reader = profile.reader();
    let letters = reader.letters();
    assert_eq!(letters.asks.keys().collect::<Vec<_>>(), ["triage-2", "triage-3"]);
    assert_eq!(letters.asks["triage-2"].from, "triage");
    assert!(letters.answers.is_empty());
    assert_eq!(letters.broken[0].0, "answers/triage-3.json");
    reader.post_answer("triage-2", "no", NOW).unwrap();
    assert_eq!(reader.letters().answers["triage-2"].text, "no");
    let again = reader.post_answer("triage-1", "no", NOW).unwrap_err();
    assert!(matches!(again, PostError::AlreadyAnswered { ref text, .. } if text == "yes"));
}

#[test]
fn names_that_cannot_be_used_are_listed() {
    let profile = Profile::new();
    for name in ["...json", "a\\b.json", "a b.json", "-x.json"] {
        profile.write(&format!("asks/{name}"), "{}");
    }
    assert_eq!(
        profile.reader().letters().broken.len(),
        3,
        "a name that begins with a dot is nobody's letter"
    );
}
