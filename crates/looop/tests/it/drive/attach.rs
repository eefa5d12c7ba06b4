//! A person's terminal attached to a worker's.

use super::ground::{Ground, MEASURES};
use super::person::Person;

/// Ctrl-\.
const AWAY: &str = "\u{1c}";
/// Answers each line.
const ANSWERS: &str = "echo ready; while IFS= read -r line; do echo \"got $line\"; done";

fn is_reset(shown: &str) {
    for sequence in
        ["\x1b[?1049l", "\x1b[?1000l", "\x1b[?1003l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[<u", "\x1b[?25h"]
    {
        assert!(shown.contains(sequence), "{sequence:?} is not in {shown:?}");
    }
}

#[test]
fn one_types_sees_and_leaves_and_the_worker_goes_on() {
    let ground = Ground::new();
    ground.worker("w", ANSWERS).expect("w", "ready");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 90, 25);
    person.sees("ready");
    person.sees("w~1 · Ctrl-\\ twice detaches");
    assert!(!person.is_restored());
    person.types("hello\r");
    person.sees("got hello");
    assert_eq!(ground.run(&["shot", "w", "--json"]).ok().json()["cols"], 90);
    person.types(&AWAY.repeat(2));
    assert_eq!(person.leaves(), 0);
    person.sees("detached from w~1");
    is_reset(&person.all());
    assert!(person.is_restored() && ground.lives("w~1"));
    ground.run(&["send", "w", "still there"]).ok();
    ground.expect("w", "got still there");
}

#[test]
fn a_worker_has_its_own_size_again_when_the_last_viewer_has_left() {
    let ground = Ground::new();
    ground.worker("w", MEASURES).expect("w", "ready");
    let size = || {
        let shot = ground.run(&["shot", "w", "--json"]).ok().json();
        (shot["cols"].as_u64().unwrap(), shot["rows"].as_u64().unwrap())
    };
    let becomes = |wanted| ground.profile.until("another size", || (size() == wanted).then_some(()));
    let own = size();
    let mut small = Person::at_terminal(&ground, &["attach", "w"], 50, 12);
    small.sees("12 50");
    let mut other = Person::at_terminal(&ground, &["attach", "w"], 60, 14);
    other.sees("14 60");
    small.types(&AWAY.repeat(2));
    assert_eq!((small.leaves(), size()), (0, (60, 14)), "one is still there");
    other.types(&AWAY.repeat(2));
    assert_eq!(other.leaves(), 0);
    becomes(own);
    let mut third = Person::at_terminal(&ground, &["attach", "w"], 50, 12);
    third.sees("12 50");
    ground.run(&["resize", "w", "70x20"]).ok();
    third.types(&AWAY.repeat(2));
    assert_eq!(third.leaves(), 0);
    ground.run(&["detach", "w"]).ok();
    assert_eq!(size(), (70, 20), "what was asked for stays");
}

#[test]
fn the_terminal_is_given_back_after_a_signal_too() {
    let ground = Ground::new();
    ground
        .worker("w", "printf '\\033[?1049h\\033[?1003h\\033[?25lfull screen'; cat")
        .expect("w", "full screen");
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let mut person = Person::at_terminal(&ground, &["attach", "w"], 100, 30);
        person.sees("full screen");
        assert!(!person.is_restored());
        person.signals(name);
        assert_eq!(person.leaves(), code);
        assert!(person.is_restored(), "after SIG{name}");
        person.sees("\x1b[?25h");
        is_reset(&person.all());
    }
    assert!(ground.lives("w~1"));
}

#[test]
fn its_end_is_that_of_the_worker() {
    let ground = Ground::new();
    for (script, code, said) in [
        ("echo up; read -r line; exit 7", 7, "has ended (exit 7)"),
        ("echo up; read -r line; kill -TERM $$", 143, "has ended (signal 15)"),
    ] {
        ground.worker("w", script).expect("w", "up");
        let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
        person.sees("up");
        person.types("on\r");
        assert_eq!(person.leaves(), code);
        person.sees(said);
        assert!(person.is_restored());
    }
    ground.worker("w", "echo up; cat").expect("w", "up");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("up");
    ground.run(&["kill", "w"]).ok();
    assert_eq!(person.leaves(), 137);
    assert!(person.is_restored());
}

#[test]
fn the_size_follows() {
    let ground = Ground::new();
    ground.worker("w", MEASURES).expect("w", "ready");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 90, 25);
    person.sees("25 90");
    person.resizes(70, 20);
    person.sees("20 70");
    // Both see the size that was set last.
    let mut other = Person::at_terminal(&ground, &["attach", "w"], 66, 22);
    other.sees("22 66");
    person.sees("22 66");
    ground.run(&["resize", "w", "50x10"]).ok();
    person.sees("10 50");
    other.types(&AWAY.repeat(2));
    assert_eq!(other.leaves(), 0);
    assert!(other.is_restored() && ground.lives("w~1"));
}

#[test]
fn a_single_one_is_passed_on_with_the_next_key_or_by_itself() {
    let ground = Ground::new();
    let bytes = "stty raw -echo; printf 'ready\\r\\n'; for _ in 1 2 3; do head -c 1 | od -An -tx1; done; cat";
    ground.worker("w", bytes).expect("w", "ready");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("ready");
    person.types(AWAY);
    person.sees("1c");
    person.types(&format!("{AWAY}x"));
    person.sees("1c");
    person.sees("78");
    // The form of terminals that send all keys in full.
    person.types("\x1b[92;5u\x1b[92;5u");
    assert_eq!(person.leaves(), 0);
    assert!(person.is_restored());
}

#[test]
fn viewers_are_sent_away() {
    let ground = Ground::new();
    ground.worker("w", ANSWERS).expect("w", "ready");
    let mut first = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    let mut second = Person::at_terminal(&ground, &["watch", "w"], 80, 24);
    first.sees("ready");
    second.sees("ready");
    assert!(ground.run(&["detach", "w"]).ok().stdout.contains("sent 2 viewers"));
    assert_eq!((first.leaves(), second.leaves()), (0, 0));
    first.sees("sent away");
    assert!(first.is_restored() && second.is_restored());
    assert!(ground.run(&["detach", "w"]).ok().stdout.contains("nobody"));
}

#[test]
fn whoever_watches_touches_nothing() {
    let ground = Ground::new();
    ground.worker("w", ANSWERS).expect("w", "ready");
    for leave in ["q", "\u{3}", "\u{1c}\u{1c}"] {
        let mut person = Person::at_terminal(&ground, &["watch", "w"], 132, 43);
        person.sees("ready");
        person.types("xyz\r");
        person.types(leave);
        assert_eq!(person.leaves(), 0);
        assert!(person.is_restored());
    }
    let shot = ground.run(&["shot", "w", "--json"]).ok().json();
    assert_eq!((&shot["cols"], &shot["rows"]), (&100.into(), &30.into()));
    ground.run(&["send", "w", "end"]).ok();
    ground.expect("w", "got end");
    assert!(!ground.run(&["log", "w"]).ok().stdout.contains("xyz"));
}

#[test]
fn whoever_attaches_has_seen_the_flag() {
    let ground = Ground::new();
    ground.worker("w", "\"$LOOOP_BIN\" flag --reason 'look at me'; echo ready; cat").expect("w", "ready");
    assert!(ground.run(&["asks"]).ok().stdout.contains("look at me"));
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("ready");
    person.types(&AWAY.repeat(2));
    assert_eq!(person.leaves(), 0);
    assert!(!ground.run(&["asks"]).ok().stdout.contains("look at me"));
}

#[test]
fn a_host_that_dies_gives_the_terminal_back_and_leaves_what_was_printed() {
    let ground = Ground::new();
    ground.worker("w", "printf 'one\\n\\033[1mtwo'; cat").expect("w", "two");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("two");
    ground.crash_host("w~1");
    assert_eq!(person.leaves(), 1);
    person.sees("w~1 was lost: its host died");
    assert!(person.is_restored());
    assert_eq!(ground.run(&["log", "w"]).ok().stdout, "one\ntwo\n");
    let shot = ground.run(&["shot", "w"]).ok();
    assert_eq!(shot.stdout, "one\ntwo\n");
    assert!(shot.stderr.contains("put together"), "{shot:?}");
    ground.run(&["wait", "w"]).fails(1, "w~1 was lost");
    ground.run(&["send", "w", "x"]).fails(1, "w~1 was lost");
    ground.run(&["expect", "w", "tw."]).ok();
    ground.run(&["expect", "w", "three"]).fails(1, "w~1 was lost");
}

#[test]
fn what_cannot_be_attached_is_refused_in_words() {
    let ground = Ground::new();
    ground.worker("w", "echo ready; cat").expect("w", "ready");
    for verb in ["attach", "watch"] {
        ground.run(&[verb, "w"]).fails(1, "must be a terminal");
        ground.run(&[verb, "nobody"]).fails(1, "no session \"nobody\"");
    }
    ground.run(&["attach", "pulse"]).fails(1, "pulse is no session");
    ground.run(&["watch", "pulse"]).fails(1, "no pulse.log");
    let inside = ground.profile.command(&["attach", "w"]).env("LOOOP_SESSION_ID", "w~1").output().unwrap();
    assert!(String::from_utf8_lossy(&inside.stderr).contains("itself"));
    ground.run(&["kill", "w"]).ok();
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    assert_eq!(person.leaves(), 1);
    person.sees("w~1 has ended (killed)");
    assert!(person.is_restored());
}

/// What a terminal of this size shows in the end that showed `before` and then all of this.
fn ends_with(before: &str, shown: &str) -> Vec<String> {
    let size = looop_session::Size { cols: 80, rows: 24 };
    let shot = looop_session::client::replayed(format!("{before}{shown}").as_bytes(), Some(size));
    shot.lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// The way out is shown also where the program has every row, and what the terminal showed comes back.
#[test]
fn the_way_out_is_shown_on_a_full_screen_and_the_own_screen_comes_back() {
    let ground = Ground::new();
    let full = "printf '\\033[?1049h\\033[2J\\033[999;1Hbottom row'; read -r _; printf '\\033[?1049l'; echo left; \
                read -r _; printf '\\033[?1049h\\033c\\033[3Jagain'; cat";
    ground.worker("w", full).expect("w", "bottom row");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("bottom row");
    person.sees("w~1 · Ctrl-\\ twice detaches");
    // The first key takes the hint away, and the row is shown again as it is.
    person.types("x");
    person.sees("bottom row");
    person.types("\r");
    person.sees("left");
    person.types("\r");
    person.sees("again");
    person.types(&AWAY.repeat(2));
    assert_eq!(person.leaves(), 0);
    person.sees("detached from w~1");
    is_reset(&person.all());
    let lines = ends_with("precious\r\n$ looop attach w\r\n", &person.all());
    assert_eq!(lines[..2], ["precious", "$ looop attach w"], "{lines:?}");
    assert!(lines[2].starts_with("detached from w~1"), "{lines:?}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn another_key_detaches_if_the_configuration_says_so() {
    let ground = Ground::new();
    ground.profile.write("config.toml", "detach_key = 'C-q'\n");
    ground.worker("w", ANSWERS).expect("w", "ready");
    let mut person = Person::at_terminal(&ground, &["attach", "w"], 80, 24);
    person.sees("ready");
    person.sees("w~1 · Ctrl-Q twice detaches");
    person.types("\u{11}\u{11}");
    assert_eq!(person.leaves(), 0);
    person.sees("detached from w~1");
    ground.profile.write("config.toml", "detach_key = 'C-c'\n");
    assert!(ground.run(&["doctor"]).stdout.contains("detach_key"));
}
