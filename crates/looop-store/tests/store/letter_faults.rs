//! Workers' letters, with every disk call failing once and being the machine's last once.

use std::io::ErrorKind;

use looop_core::model::letter::AskKind;
use looop_sim::disk::MemDisk;
use looop_sim::disk_faults::Fault;
use looop_store::mail::{Lease, NewAsk, Taken};

use crate::faults::{cut_everywhere, fail_everywhere, fresh, reader, reader_or_none, writer};

const NOW: i64 = 1_800_000_000_000;

const QUESTION: NewAsk<'_> = NewAsk {
    from: "w~1",
    kind: AskKind::Question,
    prompt: "Well?",
    options: &[],
    reference: None,
    goal: None,
    proposal: None,
    limit: None,
};

fn lease(alive: &dyn Fn(&str) -> bool) -> Lease<'_> {
    Lease { nonce: "n", wall: NOW, alive }
}

/// Names beside the lock and what interrupted writes left.
fn letters_in(disk: &MemDisk, folder: &str) -> Vec<String> {
    disk.names(folder).into_iter().filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn an_ask_that_was_posted_is_found_again_and_there_is_one() {
    let run = |disk: &MemDisk| Some(reader_or_none(disk)?.post_ask(&QUESTION, NOW).ok()?.ask);
    let check = |disk: &MemDisk, said: &Option<looop_core::model::letter::Ask>| {
        let writer = writer(disk);
        let letters = writer.letters();
        assert_eq!(letters.broken, []);
        assert!(said.as_ref().is_none_or(|ask| letters.asks.get(&ask.id) == Some(ask)), "it is lost");
        let again = writer.post_ask(&QUESTION, NOW).unwrap();
        assert_eq!(again.resumed, !letters.asks.is_empty());
        writer.sweep_mail(NOW).unwrap();
        assert_eq!(letters_in(disk, "asks"), ["w-1.json"]);
        assert_eq!(disk.names("asks"), [".lock", "w-1.json"], "no temp file is left");
    };
    cut_everywhere(fresh, run, check);
    fail_everywhere(fresh, run, check);
}

#[test]
fn an_answer_is_in_one_place_until_it_was_collected() {
    let set_up = || {
        let disk = fresh();
        let writer = writer(&disk);
        writer.post_ask(&QUESTION, NOW).unwrap();
        writer.post_answer("w-1", "yes", NOW).unwrap();
        disk
    };
    let run = |disk: &MemDisk| reader_or_none(disk).is_some_and(|reader| reader.collect("w-1", NOW).is_ok());
    let check = |disk: &MemDisk, _: &bool| {
        let writer = writer(disk);
        let letters = writer.letters();
        assert_eq!(letters.broken, []);
        let waits = writer.answer_of("w-1").value();
        let settled = writer.settled_answer("w-1").value();
        assert!(waits.is_some() != settled.is_some(), "{waits:?} {settled:?}");
        assert!(settled.is_none() || !writer.is_asked("w-1"), "an ask must not outlive its answer");
        // Asked again, the worker gets its answer if the ask is still there, and a new ask if not.
        let again = writer.post_ask(&QUESTION, NOW).unwrap();
        assert_eq!(again.resumed, writer.is_asked("w-1"));
        assert_eq!(again.ask.id == "w-1", again.resumed, "its number is not used again");
        writer.collect("w-1", NOW).unwrap();
        assert!(!writer.is_asked("w-1") && writer.settled_answer("w-1").value().is_some());
    };
    cut_everywhere(set_up, run, check);
    fail_everywhere(set_up, run, check);
}

#[test]
fn attaching_and_taking_back_leave_a_flag_whole() {
    let flag = NewAsk { kind: AskKind::Flag, ..QUESTION };
    let set_up = || {
        let disk = fresh();
        writer(&disk).post_ask(&flag, NOW).unwrap();
        disk
    };
    let attach = |disk: &MemDisk| {
        reader_or_none(disk)
            .and_then(|reader| reader.attached("w~1", NOW).ok())
            .is_some_and(|ids| !ids.is_empty())
    };
    let attached = |disk: &MemDisk, said: &bool| {
        let writer = writer(disk);
        assert_eq!(writer.letters().broken, []);
        let answered = writer.answer_of("w-1").value().is_some_and(|answer| answer.text == "attached");
        assert!(answered || !said);
        assert_eq!(writer.attached("w~1", NOW).unwrap().is_empty(), answered);
        writer.settle("w-1", NOW).unwrap();
        assert_eq!(writer.settled_answer("w-1").value().unwrap().text, "attached");
    };
    cut_everywhere(set_up, attach, attached);
    fail_everywhere(set_up, attach, attached);
    let unflag = |disk: &MemDisk| {
        reader_or_none(disk)
            .and_then(|reader| reader.unflag("w~1", NOW).ok())
            .is_some_and(|ids| !ids.is_empty())
    };
    let unflagged = |disk: &MemDisk, _: &bool| {
        let writer = writer(disk);
        writer.unflag("w~1", NOW).unwrap();
        assert!(writer.letters().asks.is_empty());
        assert_eq!(letters_in(disk, "mail.d"), ["w-1.ask.json"]);
    };
    cut_everywhere(set_up, unflag, unflagged);
    fail_everywhere(set_up, unflag, unflagged);
}

#[test]
fn a_tell_is_whole_or_not_there_and_heard_once_or_put_away() {
    let post = |disk: &MemDisk| {
        reader_or_none(disk).is_some_and(|reader| reader.post_tell("w~1", "look", NOW).is_ok())
    };
    let posted = |disk: &MemDisk, said: &bool| {
        let writer = writer(disk);
        assert_eq!(writer.letters().broken, []);
        let heard = writer.take_tells("w~1").tells;
        assert!(heard.len() == 1 || heard.is_empty() && !said);
        writer.sweep_mail(NOW).unwrap();
        assert!(letters_in(disk, "tells").is_empty());
    };
    cut_everywhere(fresh, post, posted);
    fail_everywhere(fresh, post, posted);
    let set_up = || {
        let disk = fresh();
        for text in ["one", "two"] {
            writer(&disk).post_tell("w~1", text, NOW).unwrap();
        }
        disk
    };
    let take =
        |disk: &MemDisk| reader_or_none(disk).map(|reader| reader.take_tells("w~1")).unwrap_or_default();
    let taken = |disk: &MemDisk, _: &Taken| {
        let left = writer(disk).take_tells("w~1");
        assert_eq!(left.problems, Vec::<String>::new());
        assert_eq!(letters_in(disk, "mail.d"), ["w-1.tell.json", "w-2.tell.json"], "nothing is lost");
    };
    cut_everywhere(set_up, take, taken);
    fail_everywhere(set_up, take, taken);
}

#[test]
fn a_tell_whose_taking_failed_is_heard_the_next_time() {
    let set_up = || {
        let disk = fresh();
        for text in ["one", "two", "three"] {
            writer(&disk).post_tell("w~1", text, NOW).unwrap();
        }
        disk.arm(None);
        disk
    };
    let calls = {
        let disk = set_up();
        assert_eq!(reader(&disk).take_tells("w~1").tells.len(), 3);
        disk.counted()
    };
    for at in 0..calls {
        let disk = set_up();
        let reader = reader(&disk);
        disk.arm(Some(Fault::Fail { at, kind: ErrorKind::Other, half: false }));
        let first = reader.take_tells("w~1");
        assert!(first.tells.len() == 3 || !first.problems.is_empty(), "{at}: {first:?}");
        let second = reader.take_tells("w~1");
        let mut heard: Vec<&str> =
            first.tells.iter().chain(&second.tells).map(|tell| tell.text.as_str()).collect();
        heard.sort_unstable();
        assert_eq!(heard, ["one", "three", "two"], "{at}");
    }
}

#[test]
fn a_claim_is_whole_and_has_one_holder() {
    let dead = || {
        let disk = fresh();
        writer(&disk).claim("repo", "old~1", &lease(&|_| true)).unwrap();
        disk
    };
    let run = |disk: &MemDisk| {
        reader_or_none(disk).is_some_and(|reader| reader.claim("repo", "w~1", &lease(&|_| false)).is_ok())
    };
    let check = |disk: &MemDisk, said: &bool| {
        let writer = writer(disk);
        let letters = writer.letters();
        assert_eq!(letters.broken, []);
        let holder = letters.claims.get("repo").map(|claim| claim.session.as_str());
        assert!(holder == Some("w~1") || !said, "a claim that was got is lost: {holder:?}");
        writer.claim("repo", "w~1", &lease(&|_| false)).unwrap();
        assert_eq!(writer.letters().claims["repo"].session, "w~1");
        writer.sweep_mail(NOW).unwrap();
        assert_eq!(disk.names("claims"), [".lock", "repo.json"]);
    };
    cut_everywhere(fresh, run, check);
    fail_everywhere(fresh, run, check);
    cut_everywhere(dead, run, check);
    fail_everywhere(dead, run, check);
}

#[test]
fn a_claim_that_was_given_back_or_reaped_is_free() {
    let set_up = || {
        let disk = fresh();
        writer(&disk).claim("repo", "w~1", &lease(&|_| true)).unwrap();
        disk
    };
    let unclaim = |disk: &MemDisk| {
        reader_or_none(disk)
            .is_some_and(|reader| reader.unclaim("repo", Some("w~1"), &lease(&|_| true)).is_ok())
    };
    let reap = |disk: &MemDisk| {
        let writer = reader_or_none(disk).and_then(|reader| reader.lock().ok());
        writer.is_some_and(|writer| writer.reap_claims(&|_| false, NOW).is_ok_and(|reaped| reaped.len() == 1))
    };
    let check = |disk: &MemDisk, said: &bool| {
        let writer = writer(disk);
        let letters = writer.letters();
        assert_eq!(letters.broken, []);
        assert!(letters.claims.is_empty() || !said, "it came back");
        writer.claim("repo", "next~1", &lease(&|session| session != "w~1")).unwrap();
    };
    cut_everywhere(set_up, unclaim, check);
    fail_everywhere(set_up, unclaim, check);
    cut_everywhere(set_up, reap, check);
    fail_everywhere(set_up, reap, check);
}
