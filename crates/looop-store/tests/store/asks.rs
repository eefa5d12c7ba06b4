//! Workers' asks: numbered once, resumed, collected; flags and proposals.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};

use looop_core::model::letter::{Ask, AskKind};
use looop_core::model::outcome::Outcome;
use looop_store::mail::{AskError, MAIL_KEPT, MAIL_KEPT_MS, MOST_ASKS, NewAsk, PostError, SettleError};
use looop_store::{Reader, Stored};
use serde_json::json;

use crate::harness::{Profile, breaks, file_plan};

const NOW: i64 = 1_800_000_000_000;

fn question<'a>(from: &'a str, prompt: &'a str) -> NewAsk<'a> {
    NewAsk { from, prompt, ..NewAsk::default() }
}

fn flag<'a>(from: &'a str, prompt: &'a str) -> NewAsk<'a> {
    NewAsk { kind: AskKind::Flag, ..question(from, prompt) }
}

fn ask(reader: &Reader, from: &str, prompt: &str) -> String {
    reader.post_ask(&question(from, prompt), NOW).unwrap().ask.id
}

#[test]
fn a_hundred_asks_at_once_are_a_hundred_letters() {
    let profile = Profile::new();
    let start = Arc::new(Barrier::new(100));
    let workers: Vec<_> = (0..100)
        .map(|n| {
            let (reader, start) = (profile.reader(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                ask(&reader, "triage~1", &format!("question {n}"))
            })
        })
        .collect();
    let ids: BTreeSet<String> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    let prompts: BTreeSet<String> =
        profile.reader().letters().asks.into_values().map(|ask| ask.prompt).collect();
    assert_eq!((ids.len(), prompts.len()), (100, 100));
    assert!(ids.contains("triage-1") && ids.contains("triage-100"), "{ids:?}");
    assert_eq!(profile.mode("asks/triage-1.json"), 0o600);
}

#[test]
fn all_of_an_ask_is_in_its_letter() {
    let profile = Profile::new();
    let options = ["yes".to_owned(), "no".to_owned()];
    let new = NewAsk {
        from: "triage~2",
        prompt: "Merge?",
        options: &options,
        reference: Some("reports/x.md"),
        goal: Some("ship"),
        ..NewAsk::default()
    };
    let posted = profile.reader().post_ask(&new, NOW).unwrap();
    let text = r#"{"v":1,"id":"triage-1","from":"triage~2","prompt":"Merge?","options":["yes","no"],"ref":"reports/x.md","goal":"ship","asked":1800000000000}"#;
    assert_eq!(profile.text("asks/triage-1.json"), text);
    assert_eq!(profile.reader().letters().asks["triage-1"], posted.ask);
}

#[test]
fn the_same_question_of_the_same_session_is_the_same_ask_until_its_answer_is_collected() {
    let profile = Profile::new();
    let reader = profile.reader();
    let first = reader.post_ask(&question("triage~1", "Merge?"), NOW).unwrap();
    let again = |prompt, from| reader.post_ask(&question(from, prompt), NOW + 1).unwrap();
    assert!(!first.resumed);
    assert_eq!((again("Merge?", "triage~1").ask, again("Merge?", "triage~1").resumed), (first.ask, true));
    assert_eq!(again("Merge now?", "triage~1").ask.id, "triage-2");
    assert_eq!(again("Merge?", "triage~2").ask.id, "triage-3", "another session knows nothing of it");
    reader.post_answer("triage-1", "yes", NOW).unwrap();
    assert_eq!(again("Merge?", "triage~1").ask.id, "triage-1", "answered, and not collected");
    reader.collect("triage-1", NOW).unwrap();
    assert_eq!(again("Merge?", "triage~1").ask.id, "triage-4", "collected: this is a new question");
    assert_eq!(reader.settled_answer("triage-1").value().unwrap().text, "yes");
}

#[test]
fn many_who_collect_and_answer_at_once_leave_one_pair() {
    for _ in 0..20 {
        let profile = Profile::new();
        ask(&profile.reader(), "triage~1", "?");
        profile.reader().post_answer("triage-1", "yes", NOW).unwrap();
        let start = Arc::new(Barrier::new(8));
        let crowd: Vec<_> = (0..8)
            .map(|n| {
                let (reader, start) = (profile.reader(), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    if n % 2 == 0 {
                        return reader.collect("triage-1", NOW).unwrap();
                    }
                    let late = reader.post_answer("triage-1", "no", NOW).unwrap_err();
                    assert!(
                        matches!(late, PostError::AlreadyAnswered { ref text, .. } if text == "yes"),
                        "{late}"
                    );
                })
            })
            .collect();
        for one in crowd {
            one.join().unwrap();
        }
        assert_eq!(profile.names("mail.d"), ["triage-1.answer.json", "triage-1.ask.json"]);
        assert_eq!(profile.names("asks"), [".lock"]);
    }
}

#[test]
fn a_number_is_not_used_again_while_a_letter_has_it() {
    for (folder, name) in [
        ("asks", "triage-7.json"),
        ("answers", "triage-7.json"),
        ("mail.d", "triage-7.answer.json"),
        ("mail.d", "triage-7.ask.2.json"),
        ("mail.d", "triage-7.broken-answer.json"),
    ] {
        let profile = Profile::new();
        profile.write(&format!("{folder}/{name}"), "{}");
        assert_eq!(ask(&profile.reader(), "triage~1", "?"), "triage-8", "{folder}/{name}");
    }
    let profile = Profile::new();
    for name in ["triage-2-9.json", "triager-9.json", "triage-99999999999999999999.json", "triage-x.json"] {
        profile.write(&format!("asks/{name}"), "{}");
    }
    assert_eq!(ask(&profile.reader(), "triage~1", "?"), "triage-1", "these are others' letters");
}

#[test]
fn a_worker_with_the_longest_name_can_ask() {
    let profile = Profile::new();
    let session = format!("{}~1", "x".repeat(64));
    for n in 1..=2 {
        let id = ask(&profile.reader(), &session, &format!("question {n}"));
        assert_eq!(id, format!("{}-{n}", "x".repeat(53)));
    }
    profile.reader().post_answer(&format!("{}-1", "x".repeat(53)), "yes", NOW).unwrap();
    assert!(profile.reader().post_ask(&question(&session, "question 2"), NOW).unwrap().resumed);
}

#[test]
fn what_cannot_be_a_letter_is_refused() {
    let profile = Profile::new();
    let reader = profile.reader();
    for from in ["", "../x~1", "a b", "x~", "x~y", "~1"] {
        let refused = reader.post_ask(&question(from, "?"), NOW);
        assert!(matches!(refused, Err(AskError::NotASession(_))), "{from}");
    }
    let long = "x".repeat(1 << 20);
    let refused = reader.post_ask(&question("triage~1", &long), NOW);
    assert!(matches!(refused, Err(AskError::TooLong { .. })));
    for n in 0..MOST_ASKS {
        let letter = format!(r#"{{"v":1,"id":"triage-{n}","from":"triage~1","prompt":"{n}","asked":1}}"#);
        profile.write(&format!("asks/triage-{n}.json"), letter);
    }
    let refused = reader.post_ask(&question("triage~1", "one more"), NOW);
    assert!(matches!(refused, Err(AskError::TooMany(worker)) if worker == "triage"));
    assert!(reader.post_ask(&question("triage~1", "5"), NOW).unwrap().resumed, "it can still be waited for");
    assert_eq!(ask(&reader, "other~1", "?"), "other-1");
}

#[test]
fn a_broken_ask_does_not_keep_a_worker_from_asking() {
    for (how, make) in breaks() {
        let profile = Profile::new();
        make(&profile.path("asks/triage-1.json"));
        assert_eq!(ask(&profile.reader(), "triage~1", "?"), "triage-2", "{how}");
        assert_eq!(profile.reader().letters().broken[0].0, "asks/triage-1.json", "{how}");
    }
}

#[test]
fn a_flag_is_settled_by_attaching_and_by_nothing_else() {
    let profile = Profile::new();
    let reader = profile.reader();
    let id = reader.post_ask(&flag("triage~1", "look at this"), NOW).unwrap().ask.id;
    assert_eq!(reader.post_ask(&flag("triage~1", "look at this"), NOW).unwrap().ask.id, id);
    let other = reader.post_ask(&flag("triage~2", "look at this"), NOW).unwrap().ask.id;
    let refused = reader.post_answer(&id, "I looked", NOW);
    assert!(matches!(refused, Err(PostError::Flag { from, .. }) if from == "triage~1"));
    assert_eq!(reader.attached("triage~1", NOW).unwrap(), std::slice::from_ref(&id));
    assert!(reader.attached("triage~1", NOW).unwrap().is_empty(), "once");
    let letters = reader.letters();
    assert_eq!(letters.answers[&id].text, "attached");
    assert!(!letters.answers.contains_key(&other));
    let again = reader.post_ask(&flag("triage~1", "look at this"), NOW).unwrap();
    assert!(!again.resumed, "an answered flag is over");
    profile.writer().settle(&id, NOW).unwrap();
    assert_eq!(reader.attached("triage~1", NOW).unwrap(), [again.ask.id]);
}

#[test]
fn a_flag_is_taken_back_unless_somebody_came() {
    let profile = Profile::new();
    let reader = profile.reader();
    let seen = reader.post_ask(&flag("triage~1", "one"), NOW).unwrap().ask.id;
    reader.attached("triage~1", NOW).unwrap();
    let unseen = reader.post_ask(&flag("triage~1", "two"), NOW).unwrap().ask.id;
    ask(&reader, "triage~1", "a question stays");
    assert_eq!(reader.unflag("triage~1", NOW).unwrap(), [unseen]);
    assert!(reader.unflag("triage~1", NOW).unwrap().is_empty());
    let letters = reader.letters();
    assert_eq!(letters.asks.keys().collect::<Vec<_>>(), [&seen, "triage-3"]);
}

#[test]
fn a_proposal_is_not_approved_by_words() {
    let profile = Profile::new();
    let reader = profile.reader();
    let action = json!({"action": "write_goal", "id": "ship", "body": "Ship."});
    let new = NewAsk {
        kind: AskKind::Proposal,
        proposal: Some(&action),
        ..question("setup~1", "proposes to write goal ship")
    };
    let id = reader.post_ask(&new, NOW).unwrap().ask.id;
    assert!(reader.post_ask(&new, NOW).unwrap().resumed);
    let other = json!({"action": "write_goal", "id": "ship", "body": "Ship it."});
    assert!(!reader.post_ask(&NewAsk { proposal: Some(&other), ..new }, NOW).unwrap().resumed);
    assert!(matches!(reader.post_answer(&id, "yes", NOW), Err(PostError::Proposal(_))));
    assert_eq!(reader.letters().asks[&id].proposal, Some(action));
    profile.writer().dismiss(&id, NOW).unwrap();
    assert!(reader.settled_answer(&id).is_absent());
}

#[test]
fn an_ask_is_withdrawn_whatever_is_in_it() {
    let profile = Profile::new();
    let reader = profile.reader();
    ask(&reader, "triage~1", "?");
    reader.post_answer("triage-1", "yes", NOW).unwrap();
    profile.write("asks/odd.json", "{");
    reader.withdraw("triage-1", NOW).unwrap();
    reader.withdraw("odd", NOW).unwrap();
    for gone in ["triage-1", "odd", "never", "../lock"] {
        assert!(matches!(reader.withdraw(gone, NOW), Err(SettleError::NoSuchAsk(_))), "{gone}");
    }
    assert_eq!(profile.names("mail.d"), ["odd.ask.json", "triage-1.answer.json", "triage-1.ask.json"]);
}

#[test]
fn a_senseless_answer_is_set_aside_and_a_good_one_is_not() {
    let profile = Profile::new();
    let reader = profile.reader();
    let id = ask(&reader, "triage~1", "?");
    assert!(!reader.set_aside(&id).unwrap());
    profile.write("answers/triage-1.json", "{");
    assert!(matches!(reader.answer_of(&id), Stored::Corrupt(_)));
    assert!(reader.set_aside(&id).unwrap());
    assert!(profile.names("mail.d").contains(&"triage-1.broken-answer.json".to_owned()));
    reader.post_answer(&id, "yes", NOW).unwrap();
    assert!(!reader.set_aside(&id).unwrap());
    assert_eq!(reader.answer_of(&id).value().unwrap().text, "yes");
}

#[test]
fn settled_mail_is_bounded_in_number() {
    let profile = Profile::new();
    for n in 0..MAIL_KEPT + 3 {
        std::fs::write(profile.path(&format!("mail.d/t-{n}.tell.json")), "{}").unwrap();
    }
    let writer = profile.writer();
    let now = i64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis(),
    )
    .unwrap();
    assert_eq!(writer.sweep_mail(now).unwrap(), 3);
    assert_eq!(profile.names("mail.d").len(), MAIL_KEPT);
    assert_eq!(writer.sweep_mail(now + MAIL_KEPT_MS + 60_000).unwrap(), MAIL_KEPT);
}

/// As in a confinement: the ask's own folder can be written, those of answers and of settled letters cannot.
#[test]
fn who_cannot_put_an_ask_away_marks_it() {
    let profile = Profile::new();
    let reader = profile.reader();
    let id = ask(&reader, "w~1", "go on?");
    reader.post_answer(&id, "yes", NOW).unwrap();
    std::fs::create_dir_all(profile.root().join("mail.d")).unwrap();
    for folder in ["mail.d", "answers"] {
        profile.chmod(folder, 0o500);
    }
    if std::fs::write(profile.root().join("mail.d/.probe"), "").is_ok() {
        // Root writes everywhere; the confined workers of the real binary are tested elsewhere.
        return;
    }
    reader.collect(&id, NOW).unwrap();
    for folder in ["mail.d", "answers"] {
        profile.chmod(folder, 0o700);
    }
    let letters = profile.reader().letters();
    assert!(letters.asks[&id].fetched && letters.unfetched().is_empty());
    assert_ne!(ask(&reader, "w~1", "go on?"), id, "the same question is a new one");
}

#[test]
fn what_the_loop_is_writing_is_not_swept_meanwhile() {
    let profile = Profile::new();
    let writer = profile.writer();
    let sweeper = writer.clone();
    let over = std::sync::atomic::AtomicBool::new(false);
    let first = ask(&writer, "w~1", "go on?");
    let own = Ask { id: "ask-1".to_owned(), ..writer.letters().asks[&first].clone() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                sweeper.sweep_mail(NOW).unwrap();
            }
        });
        let posted: Vec<_> = (0..200).map(|_| writer.post_own(&own).map_err(|error| error.text())).collect();
        let moves: Vec<_> = (0..200)
            .map(|number| {
                writer.perform(
                    &file_plan(&format!("asks/q-{number}.json"), None, Some(b"{}")),
                    Some(b"{}"),
                    5,
                )
            })
            .collect();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(posted, vec![Ok(()); 200]);
        assert_eq!(moves, vec![Outcome::done(); 200]);
    });
    assert_eq!(writer.letters().asks["ask-1"], own);
}
