//! Typing into a worker, and waiting for what comes of it.

use looop_sim::waiting::{finish, within};

use super::ground::{Ground, MEASURES};

/// Answers each line.
const ANSWERS: &str = "echo ready; while IFS= read -r line; do echo \"got <$line>\"; done";

#[test]
fn what_is_sent_arrives_and_expect_sees_what_came_of_it_and_nothing_older() {
    let ground = Ground::new();
    ground.worker("w", ANSWERS).expect("w", "ready");
    for round in 0..10 {
        let sent = ground.run(&["send", "w", "same", "words", "--json"]).ok().json();
        assert_eq!(sent["delivery"], "taken");
        let since = sent["at"].as_u64().unwrap();
        let found =
            ground.run(&["expect", "w", "got <(.*)>", "--since", &since.to_string(), "--json"]).ok().json();
        assert_eq!(
            (&found["match"], &found["groups"][0]),
            (&"got <same words>".into(), &"same words".into())
        );
        let end = found["at"].as_u64().unwrap();
        // Nothing of it comes after it.
        ground
            .run(&["expect", "w", "got", "--since", &end.to_string(), "--timeout", "0"])
            .fails(124, "nothing that matches");
        assert!(end > since, "round {round}");
    }
    assert_eq!(ground.run(&["log", "w", "--grep", "got"]).ok().stdout.lines().count(), 10);
}

#[test]
fn words_keep_their_dashes_and_a_body_may_come_from_stdin() {
    let ground = Ground::new();
    ground.worker("w", ANSWERS).expect("w", "ready");
    ground.run(&["send", "w", "--", "-x", "--long", "y"]).ok();
    ground.expect("w", "got <-x --long y>");
    ground.profile.run_with(&["send", "w", "-"], b"from a pipe\n").ok();
    ground.expect("w", "got <from a pipe>");
    ground.run(&["send", "w", "not", "yet", "-n"]).ok();
    ground.expect("w", "not yet");
    assert!(!ground.run(&["log", "w"]).ok().stdout.contains("got <not yet>"));
    ground.run(&["key", "w", "BSpace", "BSpace", "BSpace", "n", "o", "w", "Enter"]).ok();
    ground.expect("w", "got <not now>");
    ground.profile.run_with(&["send", "w"], b"").fails(1, "empty");
}

#[test]
fn what_is_not_taken_is_a_failure() {
    let ground = Ground::new();
    ground.worker("w", "stty -echo raw; echo ready; exec sleep 1000").expect("w", "ready");
    let sent = ground.run(&["send", "w", "hello", "--json"]).fails(4, "not typed");
    assert_eq!((&sent.json()["delivery"], &sent.json()["screen"][0]), (&"not_typed".into(), &"ready".into()));
    ground.worker("v", "echo ready; exec sleep 1000").expect("v", "ready");
    let sent = ground.run(&["send", "v", "hello", "--json"]).fails(1, "did not take the text");
    assert_eq!(sent.json()["delivery"], "unseen");
    ground.run(&["key", "w", "Nokey"]).fails(2, "no key \"Nokey\"");
    ground.run(&["key", "w"]).fails(2, "KEY");
    assert!(ground.run(&["key", "w", "-", "--json"]).ok().json()["at"].is_u64());
    let names = ground.run(&["key", "--list"]).ok().stdout;
    for name in ["Enter", "Escape", "F12", "PageUp"] {
        assert!(names.contains(name), "{name} is not in {names}");
    }
}

#[test]
fn expect_looks_at_the_screen_and_says_why_it_gave_up() {
    let ground = Ground::new();
    ground
        .worker("w", "printf 'one\\033[10;20Htwo'; read -r line; printf '\\033[2J\\033[Hthree'; read -r line")
        .expect("w", "two");
    ground.run(&["expect", "w", "--screen", "^ +two$"]).ok();
    ground.run(&["expect", "w", "three", "--timeout", "10ms"]).fails(124, "nothing that matches \"three\"");
    let waiting = ground.profile.start(&["expect", "w", "--screen", "^three$", "--timeout", "300s"]);
    ground.run(&["key", "w", "Enter"]).ok();
    assert_eq!(finish(waiting).ok().stdout, "three\n");
    let waiting = ground.profile.start(&["expect", "w", "four", "--timeout", "300s"]);
    ground.run(&["key", "w", "Enter"]).ok();
    finish(waiting).fails(1, "w~1 has ended (exit 0) without a match");
    // Live and ended alike.
    assert_eq!(ground.run(&["expect", "w", "t..$"]).ok().stdout, "two\n");
    ground.run(&["expect", "w", "--screen", "three"]).ok();
    ground.run(&["expect", "w", "--screen", "two"]).fails(1, "has ended");
}

#[test]
fn waits_end_with_the_worker() {
    let ground = Ground::new();
    ground.worker("w", "echo up; read -r line; exit 42").expect("w", "up");
    ground.run(&["wait", "w", "--timeout", "1ms"]).fails(124, "w~1 has not ended");
    let waiting = ground.profile.start(&["wait", "w"]);
    ground.run(&["wait-idle", "w", "--settle", "20ms"]).ok();
    ground.run(&["key", "w", "Enter"]).ok();
    assert_eq!(finish(waiting).code, 42);
    let json = ground.run(&["wait", "w", "--json"]);
    assert_eq!((json.code, &json.json()["ended"]["exited"]), (42, &42.into()));
    let idle = ground.run(&["wait-idle", "w", "--json"]).ok().json();
    assert_eq!((&idle["idle"], &idle["alive"]), (&true.into(), &false.into()));
    ground.worker("busy", "while :; do echo tick; read -t 0.01 _; done").expect("busy", "tick");
    ground.run(&["wait-idle", "busy", "--settle", "10s", "--timeout", "50ms"]).fails(124, "goes on printing");
    ground.run(&["kill", "busy"]).ok();
    assert_eq!(ground.run(&["wait", "busy"]).code, 137);
}

#[test]
fn sizes_are_checked_and_set() {
    let ground = Ground::new();
    ground.worker("w", MEASURES).expect("w", "ready");
    ground.run(&["resize", "w", "64x17"]).ok();
    ground.expect("w", "17 64");
    for odd in ["64", "x", "1x10", "10x1001", "-5x10", "70000x10"] {
        ground.run(&["resize", "w", odd]).fails(2, "");
    }
    ground.run(&["kill", "w"]).ok();
    for args in [&["resize", "w", "64x17"][..], &["send", "w", "x"], &["key", "w", "a"], &["detach", "w"]] {
        ground.run(args).fails(1, "w~1 has ended (killed)");
    }
}

#[test]
fn a_flood_does_not_stop_who_waits() {
    let ground = Ground::new();
    ground
        .worker("w", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
        .expect("w", "xxx");
    let timed_out = within("a wait that is over", {
        let mut command = ground.profile.command(&["expect", "w", "never", "--timeout", "100ms"]);
        move || command.output().unwrap().status.code()
    });
    assert_eq!(timed_out, Some(124));
    ground.run(&["kill", "w"]).ok();
}

/// A program that has the whole screen and says which bytes it is sent; `modes` turns modes of the terminal on.
fn full_screen(modes: &str, count: usize) -> String {
    format!(
        "stty -echo raw; printf '\\033[?1049h{modes}ready'; dd bs=1 count={count} 2> /dev/null | od -An -c -w99; \
         sleep 1000"
    )
}

#[test]
fn a_text_is_pasted_only_where_a_program_takes_pastes_and_a_full_screen_is_named() {
    let ground = Ground::new();
    let takes = "\\033[?2004h";
    for (id, modes, args, seen, note) in [
        ("typed", "", &["send", "-n", "typed", ":wq ", "--json"][..], ": w q", "typed as keys"),
        (
            "pasted",
            takes,
            &["send", "-n", "pasted", ":wq", "--json"],
            "033 \\[ 2 0 0 ~ : w q",
            "was pasted into it",
        ),
        ("keys", takes, &["send", "--keys", "keys", ":wq", "--json"], ": w q \\\\r", "typed as keys"),
    ] {
        let count = if id == "pasted" { 15 } else { 4 };
        ground.worker(id, &full_screen(modes, count)).expect(id, "ready");
        let sent = ground.run(args);
        assert!(sent.stderr.contains("full-screen program") && sent.stderr.contains(note), "{sent:?}");
        let json = sent.json();
        assert_eq!(
            (&json["full_screen"], &json["pasted"]),
            (&true.into(), &(id == "pasted").into()),
            "{json}"
        );
        ground.expect(id, &seen.replace(' ', " +"));
        ground.run(&["kill", id]).ok();
    }
    ground.worker("plain", ANSWERS).expect("plain", "ready");
    let sent = ground.run(&["send", "plain", "one", "--keys", "--json"]).ok();
    assert_eq!((sent.stderr.as_str(), &sent.json()["full_screen"]), ("", &false.into()));
    ground.expect("plain", "got <one>");
    ground.run(&["send", "--keys", "plain", &"x".repeat(201)]).fails(2, "too many for --keys");
}

/// A permission prompt as agents draw it: keys choose, and Enter confirms the first choice.
const ASKS: &str = "stty -echo -icanon min 1; printf '\\033[?2004h\\033[?25lRun rm -rf \\033[31mbuild\\033[m?\\r\\n> 1. Yes\\r\\n  2. No'
    while key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do [ \"$key\" = ' 0a' ] && echo ap''proved; done";

#[test]
fn a_permission_prompt_is_not_confirmed_by_a_text() {
    let ground = Ground::new();
    ground.worker("w", ASKS).expect("w", "2. No");
    let sent = ground.run(&["send", "w", "NO, do not run that"]).fails(4, "not typed");
    assert!(sent.stderr.contains("Run rm -rf build?\n") && sent.stderr.contains("1. Yes"), "{}", sent.stderr);
    assert!(!ground.run(&["log", "w"]).ok().stdout.contains("approved"));
    // Whoever wants to press keys can.
    ground.run(&["send", "--keys", "w", "y"]).ok();
    ground.expect("w", "approved");
}
