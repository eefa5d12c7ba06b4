//! Letters between workers and their person, through the real binary.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::Child;
use std::sync::Barrier;
use std::thread;

use looop_sim::profile::{Profile, Ran, set_mode};
use looop_sim::waiting::{finish, signal};
use serde_json::json;

fn bare() -> Profile {
    Profile::bare(env!("CARGO_BIN_EXE_looop"))
}

/// A session that lives as long as this is held: alive means that its lock is.
fn alive(profile: &Profile, session: &str) -> File {
    profile.write(&format!("sessions/{session}/lock"), "");
    let lock =
        File::options().write(true).open(profile.data().join(format!("sessions/{session}/lock"))).unwrap();
    lock.lock().unwrap();
    lock
}

/// Starts to ask, and waits until the ask is there.
fn asking(profile: &Profile, session: &str, prompt: &str, id: &str) -> Child {
    let child = profile.start(&["ask", session, "--prompt", prompt]);
    profile.until_is("the ask", || profile.file(&format!("asks/{id}.json")).is_some());
    child
}

fn settled(profile: &Profile) -> BTreeSet<String> {
    let entries = fs::read_dir(profile.data().join("mail.d")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn an_ask_blocks_until_it_is_answered_and_prints_the_answer_alone() {
    let profile = bare();
    let options = ["--options", "yes, no", "--ref", "reports/x.md"];
    let child = profile.start(&[&["ask", "triage~1", "--prompt", "Merge?"], &options[..]].concat());
    profile.until_is("the ask", || profile.file("asks/triage-1.json").is_some());
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert_eq!(asks[0]["id"], "triage-1");
    assert_eq!(asks[0]["from"], "triage~1");
    assert_eq!(asks[0]["options"], json!(["yes", "no"]));
    assert_eq!(asks[0]["ref"], "reports/x.md");
    profile.run(&["answer", "triage-1", "neither,", "for now"]).ok();
    let ran = finish(child).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("neither, for now\n", ""));
    assert_eq!(settled(&profile), set(["triage-1.answer.json", "triage-1.ask.json"]));
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
}

#[test]
fn letters_need_nobody_who_holds_the_profile() {
    let profile = bare();
    profile.beat().ok();
    let lock = File::options().write(true).open(profile.data().join("lock")).unwrap();
    lock.lock().unwrap();
    let _w = alive(&profile, "w~1");
    let child = asking(&profile, "w~1", "?", "w-1");
    profile.run(&["tell", "w", "look"]).ok();
    profile.run(&["answer", "w-1", "yes"]).ok();
    let ran = finish(child).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("yes\n", "looop: told: look\n"));
    profile.run(&["claim", "repo", "--session", "w"]).ok();
    profile.run(&["flag", "w"]).ok();
    profile.run(&["unflag", "w"]).ok();
}

/// The letter itself says that a worker asks; what the log says of other asks, and how long it is, does not matter.
#[test]
fn an_answer_to_a_worker_needs_no_log() {
    let profile = bare();
    profile.beat().ok();
    let child = asking(&profile, "w~1", "?", "w-1");
    profile.beat().ok();
    assert!(profile.ledger().asks.contains_key("w-1"), "the loop has taken it in");
    let proposal = json!({
        "v": 1, "id": "w-2", "from": "w~1", "kind": "proposal", "prompt": "", "asked": 1_700_000_000_000_i64,
        "proposal": {"action": "noop"},
    });
    profile.write("asks/w-2.json", proposal.to_string());
    let question =
        json!({"v": 1, "id": "ask-7", "from": "w~1", "prompt": "?", "asked": 1_700_000_000_000_i64});
    profile.write("asks/ask-7.json", question.to_string());
    let log = profile.data().join("log");
    fs::rename(&log, profile.outside().join("log")).unwrap();
    fs::write(&log, "no folder").unwrap();
    profile.run(&["asks"]).fails(1, "log");
    // What may be a move, and what may be the loop's own, is for the log to say.
    profile.run(&["answer", "w-2", "yes"]).fails(1, "log");
    profile.run(&["answer", "ask-7", "yes"]).fails(1, "log");
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert_eq!(finish(child).ok().stdout, "yes\n");
}

#[test]
fn a_plain_shell_is_no_worker() {
    let profile = bare();
    for verb in [&["ask", "--prompt", "?"][..], &["told"], &["flag"], &["unflag"], &["claim", "x"]] {
        profile.run(verb).fails(2, "LOOOP_SESSION_ID is not set");
    }
    profile.run(&["propose", "-"]).fails(1, "the move is empty");
    profile.run(&["ask", "two words", "--prompt", "?"]).fails(2, "is not a worker's session");
    profile.run(&["ask", "w", "--prompt", " "]).fails(2, "the question is empty");
    assert_eq!(profile.file("asks/w-1.json"), None);
}

#[test]
fn a_worker_is_known_by_its_environment_and_the_underscore_is_no_matter() {
    let profile = bare().env("LOOOP_SESSION_ID", "w~3").env("LOOOP_GOAL", "ship");
    let _w = alive(&profile, "w~3");
    profile.run(&["_", "ask", "--prompt", "?", "--timeout", "0"]).fails(124, "nobody has answered w-1");
    let ask: serde_json::Value = serde_json::from_str(&profile.file("asks/w-1.json").unwrap()).unwrap();
    assert_eq!((&ask["from"], &ask["goal"]), (&json!("w~3"), &json!("ship")));
    profile
        .run(&["_", "ask", "w", "--prompt", "?", "--timeout", "1ms"])
        .fails(124, "nobody has answered w-1");
    profile.run(&["answer", "w-1", "yes"]).fails(1, "only a person can answer");
    profile.run(&["_", "claim", "repo"]).ok();
    assert_eq!(profile.run(&["_", "claim", "repo"]).ok().stdout, "repo is yours already\n");
    profile.run(&["--data-dir", profile.data().to_str().unwrap(), "_", "unclaim", "repo"]).ok();
    assert_eq!(profile.run(&["_", "told"]).ok().stdout, "");
    assert_eq!(profile.run(&["_", "flag", "--reason", "stuck"]).ok().stdout, "w-2\n");
}

#[test]
fn ten_asks_are_answered_by_ten_people_each_at_once_and_each_once() {
    let profile = bare();
    let ids: Vec<String> = (1..=10).map(|n| format!("w-{n}")).collect();
    let asks: Vec<Child> =
        (1..=10).map(|n| asking(&profile, "w~1", &format!("{n}?"), &format!("w-{n}"))).collect();
    let barrier = Barrier::new(10);
    let answers: Vec<Vec<(String, Ran)>> = thread::scope(|scope| {
        let people: Vec<_> = (0..10)
            .map(|person| {
                let (profile, ids, barrier) = (&profile, &ids, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let answer = |id: &String| {
                        let text = format!("{id} by {person}");
                        let ran = profile.run(&["answer", id, &text]);
                        (text, ran)
                    };
                    ids.iter().map(answer).collect()
                })
            })
            .collect();
        people.into_iter().map(|person| person.join().unwrap()).collect()
    });
    for (n, ask) in asks.into_iter().enumerate() {
        let heard = finish(ask).ok().stdout;
        let of_ask: Vec<&(String, Ran)> = answers.iter().map(|of_person| &of_person[n]).collect();
        let won: Vec<&str> =
            of_ask.iter().filter(|(_, ran)| ran.code == 0).map(|(text, _)| text.as_str()).collect();
        assert_eq!(won, [heard.trim_end()]);
        let refused = of_ask.iter().filter(|(_, ran)| ran.code == 1);
        let said = refused.filter(|(_, ran)| ran.stderr.contains(&format!("answered already: {}", won[0])));
        assert_eq!(said.count(), 9, "{of_ask:?}");
    }
}

#[test]
fn an_ask_that_was_killed_is_resumed() {
    let profile = bare();
    let mut child = asking(&profile, "w~1", "Merge?", "w-1");
    child.kill().unwrap();
    child.wait().unwrap();
    let child = profile.start(&["ask", "w~1", "--prompt", "Merge?"]);
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert_eq!(finish(child).ok().stdout, "yes\n");
    // Also when the answer came while nobody listened, and when its listener died before it said it had heard it.
    let child = asking(&profile, "w~1", "Push?", "w-2");
    signal(&child, "TERM");
    assert_eq!(finish(child).code, 128 + 15);
    profile.run(&["answer", "w-2", "no"]).ok();
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
    let killed = profile
        .command(&["ask", "w~1", "--prompt", "Push?"])
        .env("LOOOP_CRASH_AT", "store.ask-moved")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(killed.stdout).unwrap(),
        "no\n",
        "it is heard before its letters are put away"
    );
    profile.run(&["beat"]).ok();
    assert_eq!(settled(&profile).len(), 4, "{:?}", settled(&profile));
    let fresh = asking(&profile, "w~1", "Push?", "w-3");
    profile.run(&["answer", "w-3", "now yes"]).ok();
    assert_eq!(finish(fresh).ok().stdout, "now yes\n", "what was heard is asked anew");
}

/// Whether a process listens for file events, which an ask does once it waits.
#[cfg(target_os = "linux")]
fn listens(child: &Child) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|to| to.ends_with("anon_inode:inotify"))
}

#[test]
#[cfg(target_os = "linux")]
fn two_who_wait_for_one_answer_both_hear_it() {
    let profile = bare();
    let first = asking(&profile, "w~1", "?", "w-1");
    let second = profile.start(&["ask", "w~1", "--prompt", "?", "--json"]);
    profile.until_is("both wait", || listens(&first) && listens(&second));
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert_eq!(finish(first).ok().stdout, "yes\n");
    assert_eq!(finish(second).ok().json(), json!({"v": 1, "ask": "w-1", "answer": "yes"}));
}

#[test]
fn a_dismissed_ask_ends_the_wait() {
    let profile = bare();
    let child = asking(&profile, "w~1", "?", "w-1");
    profile.run(&["asks", "dismiss", "w-1"]).ok();
    let ran = finish(child).fails(1, "ask w-1 was dismissed");
    assert_eq!(ran.stdout, "");
    let child = asking(&profile, "w~1", "?", "w-2");
    fs::remove_file(profile.data().join("asks/w-2.json")).unwrap();
    finish(child).fails(1, "ask w-2 was dismissed");
    // Also one that the loop knows, and one that makes no sense.
    let child = asking(&profile, "w~1", "?", "w-2");
    profile.beat().ok();
    profile.run(&["asks", "dismiss", "w-2"]).ok();
    finish(child).fails(1, "ask w-2 was dismissed");
    profile.write("asks/odd.json", "{");
    profile.run(&["asks", "dismiss", "odd"]).ok();
    profile.run(&["asks", "dismiss", "odd"]).fails(1, "odd");
}

#[test]
fn an_answer_that_makes_no_sense_is_set_aside_and_the_ask_goes_on() {
    let profile = bare();
    let child = asking(&profile, "w~1", "?", "w-1");
    profile.write("answers/w-1.json", "{\"text\":");
    profile.until_is("setting it aside", || settled(&profile).contains("w-1.broken-answer.json"));
    profile.write("answers/w-1.json", "more nonsense");
    profile.until_is("setting it aside again", || settled(&profile).contains("w-1.broken-answer.2.json"));
    profile.run(&["answer", "w-1", "yes"]).ok();
    let ran = finish(child).ok();
    assert_eq!(ran.stdout, "yes\n");
    assert_eq!(
        ran.stderr.matches("answers/w-1.json is not an answer").count(),
        1,
        "said once: {}",
        ran.stderr
    );
}

#[test]
fn an_answer_that_cannot_be_read_makes_room_for_one_that_can() {
    let profile = bare();
    let child = asking(&profile, "w~1", "?", "w-1");
    fs::create_dir(profile.data().join("answers/w-1.json")).unwrap();
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert_eq!(finish(child).ok().stdout, "yes\n");
}

#[test]
fn a_wait_that_is_bounded_leaves_the_ask() {
    let profile = bare();
    profile.run(&["ask", "w~1", "--prompt", "?", "--timeout", "20ms"]).fails(124, "nobody has answered w-1");
    assert_eq!(profile.run(&["asks", "--json"]).ok().json()[0]["id"], "w-1");
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert_eq!(profile.run(&["ask", "w~1", "--prompt", "?", "--timeout", "0"]).ok().stdout, "yes\n");
}

/// Two workers claim the same names at the same moments; for each name, who got it.
fn race(names: &[String]) -> Vec<(bool, bool)> {
    let profile = bare();
    let _held = [alive(&profile, "a~1"), alive(&profile, "b~1")];
    let barrier = Barrier::new(2);
    let racer = |session: &str| -> Vec<bool> {
        let claim = |name: &String| {
            barrier.wait();
            let ran = profile.run(&["claim", name, "--session", session]);
            assert!(ran.code == 0 || ran.stderr.contains(&format!("\"{name}\" is claimed by")), "{ran:?}");
            ran.code == 0
        };
        names.iter().map(claim).collect()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| racer("a~1"));
        let mine = racer("b~1");
        other.join().unwrap().into_iter().zip(mine).collect()
    })
}

#[test]
fn two_workers_race_for_a_thousand_claims_and_each_has_one_winner() {
    let names: Vec<String> = (0..1000).map(|n| format!("repo-{n}")).collect();
    // Four pairs at once: most of the time of a claim is the disk's.
    let won: Vec<(bool, bool)> = thread::scope(|scope| {
        let races: Vec<_> = names.chunks(250).map(|names| scope.spawn(|| race(names))).collect();
        races.into_iter().flat_map(|race| race.join().unwrap()).collect()
    });
    assert_eq!(won.len(), 1000);
    for (name, (a, b)) in names.iter().zip(&won) {
        assert!(a != b, "{name}: {a} {b}");
    }
    assert!(won.contains(&(true, false)) && won.contains(&(false, true)), "nobody wins them all");
}

#[test]
fn a_claim_is_free_once_its_holder_is_dead() {
    let profile = bare();
    let first = alive(&profile, "a~1");
    let _second = alive(&profile, "b~1");
    let claim = |session: &str| profile.run(&["claim", "repo", "--session", session]);
    assert_eq!(claim("a~1").ok().stdout, "claimed repo\n");
    claim("b~1").fails(1, "\"repo\" is claimed by a~1");
    profile.run(&["unclaim", "repo"]).fails(1, "\"repo\" is claimed by a~1");
    drop(first);
    claim("a~1").fails(1, "a~1 does not live");
    assert_eq!(claim("b").ok().stdout, "claimed repo, which a~1 left behind\n");
    assert_eq!(profile.run(&["unclaim", "repo", "--session", "b"]).ok().stdout, "unclaimed repo\n");
    assert_eq!(profile.run(&["unclaim", "repo"]).ok().stdout, "repo was not claimed\n");
    claim("../x").fails(2, "is not a worker's session");
    profile.run(&["claim", "a/b", "--session", "b~1"]).fails(2, "cannot be the name of a claim");
    profile.write("claims/odd.json", "{");
    profile.run(&["claim", "odd", "--session", "b~1"]).fails(1, "claims/odd.json is not a claim");
}

#[test]
fn claims_of_older_versions_belong_to_their_workers_until_those_are_dead() {
    let profile = bare();
    let _b = alive(&profile, "b~1");
    profile.write("claims/repo.json", r#"{"name":"repo","session":"looop-triage"}"#);
    let status = |state: &str, pid: u32| {
        profile.write("sessions/looop-triage/status.json", format!(r#"{{"state":"{state}"}}"#));
        profile.write("sessions/looop-triage/meta.json", format!(r#"{{"babysit_pid":{pid}}}"#));
    };
    status("running", std::process::id());
    profile.run(&["claim", "repo", "--session", "b"]).fails(1, "\"repo\" is claimed by triage");
    status("exited", std::process::id());
    assert_eq!(
        profile.run(&["claim", "repo", "--session", "b"]).ok().stdout,
        "claimed repo, which triage left behind\n"
    );
}

#[test]
fn a_tell_is_for_the_session_that_lives_now() {
    let profile = bare();
    profile.run(&["tell", "w", "hello"]).fails(1, "worker \"w\" is not running");
    profile.run(&["tell", "w~1", "hello"]).fails(1, "worker \"w~1\" is not running");
    let first = alive(&profile, "w~1");
    let told = profile.run(&["tell", "w", "--", "--look", "at this"]).ok();
    assert_eq!(told.stdout, "told w~1\n");
    assert!(told.stderr.contains("it hears it when it next calls told or ask"), "{}", told.stderr);
    profile.run(&["tell", "w", "-"]).fails(1, "the message is empty");
    profile.run(&["tell", "w", &"x".repeat(65 << 10)]).fails(1, "the message has");
    drop(first);
    let _second = alive(&profile, "w~2");
    assert_eq!(profile.run(&["told", "w"]).ok().stdout, "", "a new generation never gets it");
    profile.run(&["tell", "w", "to the second"]).ok();
    assert_eq!(profile.run(&["told", "w"]).ok().stdout, "to the second\n");
    assert_eq!(profile.run(&["told", "w"]).ok().stdout, "");
    assert_eq!(profile.run(&["told", "w~1", "--json"]).ok().json()[0]["text"], "--look at this");
}

#[test]
fn tells_are_heard_once_however_many_listen() {
    let profile = bare();
    let _w = alive(&profile, "w~1");
    let ask = asking(&profile, "w~1", "?", "w-1");
    let barrier = Barrier::new(6);
    let heard: Vec<String> = thread::scope(|scope| {
        let listeners: Vec<_> = (0..5)
            .map(|_| {
                let (profile, barrier) = (&profile, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..12).map(|_| profile.run(&["told", "w"]).ok().stdout).collect::<String>()
                })
            })
            .collect();
        barrier.wait();
        for n in 0..30 {
            profile.run(&["tell", "w", &format!("message {n}")]).ok();
        }
        profile.run(&["answer", "w-1", "yes"]).ok();
        listeners.into_iter().map(|listener| listener.join().unwrap()).collect()
    });
    let with_answer = finish(ask).ok();
    assert_eq!(with_answer.stdout, "yes\n");
    let rest = profile.run(&["told", "w"]).ok().stdout;
    let with_answer = with_answer.stderr.replace("looop: told: ", "");
    let all: String = heard.into_iter().chain([with_answer, rest]).collect();
    let mut numbers: Vec<u32> =
        all.lines().map(|line| line.strip_prefix("message ").unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<_>>());
}

#[test]
fn a_real_worker_claims_asks_is_told_and_leaves_nothing_held() {
    let profile = bare();
    let command = r#": {{prompt_file}}; looop() { "$LOOOP_BIN" "$@"; }
        looop claim repo >said; looop ask --prompt 'Well?' >>said 2>&1; looop flag >>said; exec sleep 60"#;
    profile.run(&["worker", "start", "w", "--command", command, "Do it."]).ok();
    profile.until_is("the ask", || profile.file("asks/w-1.json").is_some());
    profile.run(&["tell", "w", "be quick"]).ok();
    profile.run(&["answer", "w-1", "well"]).ok();
    profile.until_is("the flag", || profile.file("said").is_some_and(|said| said.ends_with("w-2\n")));
    assert_eq!(profile.file("said").unwrap(), "claimed repo\nwell\nlooop: told: be quick\nw-2\n");
    let _other = alive(&profile, "other~1");
    profile.run(&["claim", "repo", "--session", "other"]).fails(1, "\"repo\" is claimed by w~1");
    profile.run(&["kill", "w", "--force"]).ok();
    profile.run(&["tell", "w", "too late"]).fails(1, "worker \"w\" is not running");
    profile.run(&["claim", "repo", "--session", "other"]).ok();
}

#[test]
fn a_flag_wants_somebody_to_attach() {
    let profile = bare();
    profile.run(&["flag", "ghost"]).fails(1, "worker \"ghost\" is not running");
    let _w = alive(&profile, "w~1");
    let flag = profile.run(&["flag", "w~1", "--reason", "Look at my screen"]).ok().stdout;
    assert_eq!(flag, "w-1\n");
    let asks = profile.run(&["asks"]).ok().stdout;
    assert!(asks.contains("Look at my screen") && asks.contains("looop attach w"), "{asks}");
    let refused = profile.run(&["answer", "w-1", "I looked"]).fails(1, "is a flag, which attaching settles");
    assert!(refused.stderr.contains("hint: looop attach w"), "{refused:?}");
    assert_eq!(profile.run(&["unflag", "w~1"]).ok().stdout, "w-1\n");
    assert_eq!(profile.run(&["unflag", "w~1"]).ok().stdout, "");
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
}

#[test]
fn a_proposal_is_a_move_that_waits() {
    let profile = bare();
    let file = profile.outside().join("move.json");
    let action = json!({"action": "write_goal", "id": "ship", "body": "Ship it."});
    fs::write(&file, action.to_string()).unwrap();
    set_mode(&file, 0o600);
    let path = file.to_str().unwrap();
    assert_eq!(profile.run(&["propose", path, "--session", "setup~1"]).ok().stdout, "setup-1\n");
    assert_eq!(profile.run(&["propose", path, "--session", "setup~1"]).ok().stdout, "setup-1\n");
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert_eq!((&asks[0]["kind"], &asks[0]["proposal"]), (&json!("proposal"), &action));
    assert_eq!(asks[0]["prompt"], "setup~1 proposes to write goal ship");
    assert_eq!(profile.file("goals/ship.md"), None);
    profile.run(&["asks", "show", "setup-1"]).ok();
    let said = profile.run(&["answer", "setup-1", "yes"]).ok().stdout;
    assert_eq!(said, "approved setup-1, and done: wrote goal ship\n");
    assert_eq!(profile.file("goals/ship.md").as_deref(), Some("Ship it.\n"));
    let other = json!({"action": "write_goal", "id": "sink", "body": "Sink it."}).to_string();
    let posted = profile.run_with(&["propose", "-", "--session", "setup~1"], other.as_bytes()).ok().stdout;
    for (text, said) in [
        ("{", "the move is not JSON"),
        (r#"{"action":"write_gaol","id":"x"}"#, "write_goal"),
        (r#"{"action":"write_goal","id":"x"}"#, "body"),
        ("[]", "object"),
    ] {
        profile.run_with(&["propose", "-", "--session", "setup~1"], text.as_bytes()).fails(1, said);
    }
    profile.run(&["propose", "nowhere.json", "--session", "setup~1"]).fails(1, "nowhere.json");
    profile.run(&["asks", "dismiss", posted.trim()]).ok();
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
    assert_eq!(profile.file("goals/sink.md"), None);
}
