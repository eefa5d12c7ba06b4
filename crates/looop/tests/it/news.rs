//! Waiting for news and following the log, through the real binary.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::time::Stamp;
use looop_sim::profile::{Profile, Ran};
use looop_sim::waiting::{finish, signal, within};
use looop_store::Reader;
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// A loop in the foreground, ended with the test.
struct Pulse(Child);

impl Pulse {
    /// Starts it, and waits until it has looked once.
    fn start(profile: &Profile) -> Self {
        let child = Self(profile.command(&["--json"]).stdout(Stdio::null()).spawn().unwrap());
        let number = child.0.id().to_string();
        profile.until_is("the loop", || profile.file("lock").is_some_and(|pid| pid.trim() == number));
        profile.beat().ok();
        child
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            drop(self.0.kill().and_then(|()| self.0.wait()));
        }
    }
}

fn bare() -> Profile {
    let profile = Profile::bare(LOOOP);
    profile.beat().ok();
    profile
}

/// Posts an ask that nobody waits for.
fn ask(profile: &Profile, prompt: &str) {
    profile.run(&["ask", "w~1", "--prompt", prompt, "--timeout", "0"]).fails(124, "nobody has answered");
}

/// Waits, for JSON.
fn wait(profile: &Profile, args: &[&str]) -> Ran {
    finish(profile.start(&[&["wait", "--json"], args].concat()))
}

/// Everything up to now.
fn cursor(profile: &Profile) -> String {
    text(&wait(profile, &["--timeout", "0"]).fails(124, "nothing new came").json()["cursor"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What came since a cursor, by a field, and the next cursor.
fn since(profile: &Profile, cursor: &str, args: &[&str], field: &str) -> (Vec<String>, String) {
    let found = wait(profile, &[&["--since", cursor], args].concat()).ok().json();
    let events = found["events"].as_array().unwrap();
    (events.iter().map(|event| text(&event[field])).collect(), text(&found["cursor"]))
}

/// Nothing comes. That it takes a moment to know is no matter: it can only be too short to notice a fault.
#[track_caller]
fn nothing(profile: &Profile, cursor: &str, args: &[&str]) -> String {
    let args = [&["--since", cursor, "--timeout", "200ms"], args].concat();
    let found = wait(profile, &args).fails(124, "nothing new came").json();
    assert_eq!(found["events"], json!([]));
    text(&found["cursor"])
}

#[test]
fn an_ask_is_told_once_however_often_one_waits() {
    let profile = bare();
    let _pulse = Pulse::start(&profile);
    let before = cursor(&profile);
    ask(&profile, "Merge?");
    let (asks, held) = since(&profile, &before, &["--only-asks"], "ask");
    assert_eq!(asks, ["w-1"]);
    let later = nothing(&profile, &held, &["--only-asks"]);
    // The loop takes the letter up, and it is the same ask.
    profile.beat().ok();
    assert!(profile.ledger().asks.contains_key("w-1"));
    let later = nothing(&profile, &later, &["--only-asks"]);
    let later = nothing(&profile, &later, &["--actionable"]);
    nothing(&profile, &held, &["--only-asks"]);
    // Whoever knows nothing of it hears of it from the log.
    assert_eq!(since(&profile, &before, &["--only-asks"], "ask").0, ["w-1"]);
    profile.run(&["answer", "w-1", "yes"]).ok();
    profile.beat().ok();
    let (events, last) = since(&profile, &later, &[], "event");
    assert_eq!(events, ["answered"]);
    nothing(&profile, &last, &[]);
}

#[test]
fn who_waits_is_woken_by_each_ask_as_it_comes() {
    let profile = bare();
    let _pulse = Pulse::start(&profile);
    let mut cursor = cursor(&profile);
    for n in 1..=5 {
        let waiting = profile.start(&["wait", "--json", "--actionable", "--since", &cursor]);
        ask(&profile, &format!("{n}?"));
        let found = finish(waiting).ok().json();
        let events = found["events"].as_array().unwrap();
        let asks: Vec<&Value> = events.iter().map(|event| &event["ask"]).collect();
        assert_eq!(asks, [&json!(format!("w-{n}"))], "{found}");
        cursor = text(&found["cursor"]);
    }
}

#[test]
fn what_waits_already_is_mentioned_and_is_no_news() {
    let profile = bare();
    let _pulse = Pulse::start(&profile);
    ask(&profile, "One?");
    let ran = wait(&profile, &["--timeout", "0"]).fails(124, "1 ask waits already; looop asks shows it");
    let cursor = text(&ran.json()["cursor"]);
    nothing(&profile, &cursor, &["--only-asks"]);
    ask(&profile, "Two?");
    assert_eq!(since(&profile, &cursor, &["--only-asks"], "ask").0, ["w-2"]);
    wait(&profile, &["--timeout", "0"]).fails(124, "2 asks wait already; looop asks shows them");
}

#[test]
fn the_loops_own_ask_is_told_once_too() {
    let profile = bare().decider(&json!({"action": "ask_human", "prompt": "Ship it?"}));
    profile.beat().ok();
    profile.decide_next(&json!({"action": "noop"}));
    let (asks, held) = since(&profile, "0", &["--only-asks"], "ask");
    assert_eq!(asks, ["ask-1"]);
    let human = profile.run(&["wait", "--only-asks", "--since", "0"]).ok().stdout;
    let lines: Vec<&str> = human.lines().collect();
    assert!(lines[0].ends_with("? looop asks you (ask-1): Ship it?"), "{human}");
    assert_eq!(lines[1..], [format!("cursor {held}")]);
    let _pulse = Pulse::start(&profile);
    nothing(&profile, &held, &["--only-asks"]);
}

#[test]
fn filters_pass_over_and_the_cursor_goes_on() {
    let profile = bare();
    let _pulse = Pulse::start(&profile);
    let before = cursor(&profile);
    profile.run(&["pause"]).ok();
    let after = nothing(&profile, &before, &["--actionable"]);
    assert_ne!(after, before);
    assert_eq!(since(&profile, &before, &[], "event"), (vec!["paused".to_owned()], after.clone()));
    // A session is running as long as its lock is held.
    profile.write("sessions/w~1/lock", "");
    let lock = profile.data().join("sessions/w~1/lock");
    let lock = std::fs::File::options().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    profile.run(&["flag", "w~1", "--reason", "stuck"]).ok();
    let (events, after) = since(&profile, &after, &["--actionable"], "event");
    assert_eq!(events, ["asked"]);
    let human = finish(profile.start(&["wait", "--since", &before])).ok();
    assert!(human.stdout.contains("‖ paused") && human.stdout.contains("w~1 wants you at its terminal"));
    assert!(human.stdout.ends_with(&format!("\ncursor {after}\n")), "{}", human.stdout);
    assert_eq!(human.stderr, "");
}

#[test]
fn a_cursor_that_makes_no_sense_is_refused() {
    let profile = bare();
    for odd in ["x", "", "1:", "1:a", "01", "-1", "3@1"] {
        profile.run(&["wait", &format!("--since={odd}")]).fails(2, "is not a cursor");
    }
    let future =
        profile.run(&["wait", "--since", "999"]).fails(1, "the cursor is of append 999, and the log");
    assert_eq!(future.stdout, "");
    for wrong in [&["w", "--since", "1"][..], &["w", "--only-asks"], &["--only-asks", "--actionable"]] {
        profile.run(&[&["wait"], wrong].concat()).fails(2, "cannot be used with");
    }
    Profile::new(LOOOP).run(&["wait"]).fails(1, "there is no profile at");
}

#[test]
fn without_a_pulse_it_says_so() {
    let profile = bare();
    let ran = profile.run(&["wait"]).fails(3, "no pulse runs, so nothing new will come\nhint: looop up");
    let cursor = ran.stdout.trim_end().strip_prefix("cursor ").unwrap().to_owned();
    let ran = wait(&profile, &["--since", &cursor]).fails(3, "no pulse runs");
    assert_eq!(ran.json(), json!({"v": 1, "events": [], "cursor": cursor}));
    ask(&profile, "Merge?");
    let (asks, cursor) = since(&profile, &cursor, &[], "ask");
    assert_eq!(asks, ["w-1"], "what is there is news also without a pulse");
    wait(&profile, &["--since", &cursor]).fails(3, "no pulse runs");
}

#[test]
fn a_pulse_that_dies_is_missed() {
    let profile = bare();
    let pulse = Pulse::start(&profile);
    let cursor = cursor(&profile);
    let waiting = profile.start(&["wait", "--json", "--since", &cursor]);
    holds(&profile, &waiting, &["inotify", "pidfd"]);
    pulse.kill();
    let ran = finish(waiting).fails(3, "no pulse runs, so nothing new will come");
    assert_eq!(ran.json()["cursor"], json!(cursor));
}

#[test]
fn a_pulse_that_ends_in_order_is_missed_too() {
    let profile = bare();
    let pulse = Pulse::start(&profile);
    let waiting = profile.start(&["wait", "--only-asks"]);
    holds(&profile, &waiting, &["inotify", "pidfd"]);
    signal(&pulse.0, "TERM");
    finish(waiting).fails(3, "no pulse runs, so nothing new will come");
}

#[test]
fn a_pulse_that_is_followed_by_another_is_not_missed() {
    let profile = bare();
    let pulse = Pulse::start(&profile);
    let cursor = cursor(&profile);
    let waiting = profile.start(&["wait", "--json", "--only-asks", "--since", &cursor]);
    holds(&profile, &waiting, &["inotify", "pidfd"]);
    // However long the other one takes to start here: who waits notices nothing of it.
    signal(&waiting, "STOP");
    pulse.kill();
    let other = Pulse::start(&profile);
    signal(&waiting, "CONT");
    ask(&profile, "Merge?");
    let found = finish(waiting).ok().json();
    assert_eq!(found["events"][0]["ask"], "w-1");
    drop(other);
}

/// Waits until a process has opened what it will wait with.
#[cfg(target_os = "linux")]
fn holds(profile: &Profile, child: &Child, descriptors: &[&str]) {
    profile.until_is("to wait", || {
        let links = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
        let open: Vec<_> = links.filter_map(|link| std::fs::read_link(link.path()).ok()).collect();
        let has = |name: &&str| open.iter().any(|to| to.to_string_lossy().contains(*name));
        descriptors.iter().all(has)
    });
}

/// Elsewhere there is no telling, and no need: what comes before is noticed as well.
#[cfg(not(target_os = "linux"))]
fn holds(_profile: &Profile, _child: &Child, _descriptors: &[&str]) {}

// Following.

/// Somebody who follows the log.
struct Follower {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(profile: &Profile, args: &[&str]) -> Self {
        let mut child = profile.start(&[&["events", "-f"], args].concat());
        let lines = Some(BufReader::new(child.stdout.take().unwrap()));
        Self { child, lines }
    }

    /// The next lines, as they come.
    fn next(&mut self, count: usize) -> Vec<String> {
        let mut lines = self.lines.take().unwrap();
        let (read, lines) = within("the next events", move || {
            let mut read = Vec::new();
            for _ in 0..count {
                let mut line = String::new();
                assert!(lines.read_line(&mut line).unwrap() > 0, "it ended after {read:?}");
                read.push(line.trim_end().to_owned());
            }
            (read, lines)
        });
        self.lines = Some(lines);
        read
    }

    /// The numbers of the next events.
    fn numbers(&mut self, count: usize) -> Vec<u64> {
        let events = self.next(count);
        let number = |line: &String| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
        events.iter().map(number).collect()
    }

    /// Nobody reads it any more.
    fn leave(mut self) -> Ran {
        drop(self.lines.take());
        finish(self.child)
    }
}

/// The one writer of a profile: the test itself.
struct Hand {
    log: looop_store::Log,
    ledger: looop_core::ledger::state::Ledger,
}

impl Hand {
    fn of(profile: &Profile) -> Self {
        let writer = Reader::create(&profile.data()).unwrap().lock().unwrap();
        let (log, ledger, repair) = writer.open_log().unwrap();
        assert_eq!(repair.text(), None);
        Self { log, ledger }
    }

    fn append(&mut self, count: usize) {
        for _ in 0..count {
            let at = Stamp { wall: 1_800_000_000_000, up: 5, boot: 1 };
            let entries = vec![Entry::Dropped { what: "a thing".to_owned() }];
            let line = Line { seq: self.ledger.seq + 1, at, idle: 0, entries };
            self.log.append(&line, false).unwrap();
            apply_line(&mut self.ledger, &line);
        }
    }

    fn rotate(&mut self) {
        self.log.rotate(&self.ledger).unwrap();
    }
}

#[test]
fn events_are_followed_across_files() {
    let profile = Profile::bare(LOOOP);
    let mut hand = Hand::of(&profile);
    hand.append(3);
    let mut all = Follower::start(&profile, &["--json"]);
    let mut some = Follower::start(&profile, &["--json", "--since", "2"]);
    let mut last = Follower::start(&profile, &["--json", "-n", "1"]);
    assert_eq!((all.numbers(3), some.numbers(1), last.numbers(1)), (vec![1, 2, 3], vec![3], vec![3]));
    let mut expected = 3;
    for burst in [1, 2, 40] {
        hand.append(burst);
        hand.rotate();
        hand.append(burst);
        hand.rotate();
        let numbers: Vec<u64> = (expected + 1..).take(2 * burst).collect();
        for follower in [&mut all, &mut some, &mut last] {
            assert_eq!(follower.numbers(2 * burst), numbers);
        }
        expected += 2 * burst as u64;
    }
    let mut none = Follower::start(&profile, &["--json", "-n", "0", "--since", &(expected + 1).to_string()]);
    holds(&profile, &none.child, &["inotify"]);
    hand.append(2);
    assert_eq!(none.numbers(1), [expected + 2], "not what came before its number");
    for follower in [all, some, last, none] {
        let ran = follower.leave();
        assert_eq!(ran.stderr, "", "who is not read any more goes without a word");
    }
}

#[test]
fn a_follower_shows_what_a_person_reads() {
    let profile = bare();
    let mut follower = Follower::start(&profile, &["-n", "1"]);
    follower.next(1);
    profile.run(&["pause"]).ok();
    assert!(follower.next(1)[0].contains("‖ paused"));
    profile.run(&["resume"]).ok();
    assert!(follower.next(1)[0].contains("▸ resumed"));
    // Ctrl-C does the same, but a test that runs in the background is deaf to it.
    signal(&follower.child, "TERM");
    let ran = finish(follower.child);
    assert_eq!((ran.code, ran.stderr.as_str()), (143, ""));
}

#[test]
fn a_line_is_shown_once_it_is_whole() {
    let profile = Profile::bare(LOOOP);
    let mut hand = Hand::of(&profile);
    hand.append(2);
    let path = profile.data().join("log/000000000001.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let torn = whole.len() - 9;
    std::fs::File::options().write(true).open(&path).unwrap().set_len(torn as u64).unwrap();
    let mut follower = Follower::start(&profile, &["--json"]);
    assert_eq!(follower.numbers(1), [1]);
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    file.write_all(&whole[torn..torn + 3]).unwrap();
    file.write_all(&whole[torn + 3..]).unwrap();
    hand.append(1);
    assert_eq!(follower.numbers(2), [2, 3]);
    follower.leave();
}

#[test]
fn a_profile_that_goes_away_ends_the_waiting() {
    let profile = bare();
    let pulse = Pulse::start(&profile);
    let waiting = profile.start(&["wait"]);
    holds(&profile, &waiting, &["inotify", "pidfd"]);
    // It can neither end nor begin anew.
    signal(&pulse.0, "STOP");
    std::fs::remove_dir_all(profile.data()).unwrap();
    finish(waiting).fails(1, "there is no profile at");
}

#[test]
fn a_profile_that_goes_away_ends_the_following() {
    let profile = Profile::bare(LOOOP);
    let mut hand = Hand::of(&profile);
    hand.append(1);
    let mut follower = Follower::start(&profile, &["--json"]);
    assert_eq!(follower.numbers(1), [1]);
    drop(hand);
    std::fs::remove_dir_all(profile.data()).unwrap();
    finish(follower.child).fails(1, "there is no profile at");
    profile.run(&["events", "-f"]).fails(1, "there is no profile at");
    profile.run(&["wait"]).fails(1, "there is no profile at");
}
