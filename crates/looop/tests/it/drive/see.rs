//! Looking at what a worker printed and shows, alive or not.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use looop_sim::waiting::{finish, within};

use super::ground::Ground;

/// Prints lines with all that is to be left out.
const PRINTS: &str = "printf '\\033[1;31mred\\033[0m line\\n10%%\\r20%%\\r100%%\\nplain\\n'; printf 'last'; ";

#[test]
fn a_log_is_what_a_person_would_read_live_and_ended() {
    let ground = Ground::new();
    let go = ground.profile.fifo("go");
    ground.worker("w", &format!("{PRINTS} read _ < '{}'", go.path().display())).expect("w", "last");
    let look = |args: &[&str]| ground.run(&[&["log", "w"], args].concat()).ok().stdout;
    for ended in [false, true] {
        assert_eq!(look(&[]), "red line\n100%\nplain\nlast\n", "ended: {ended}");
        assert_eq!(look(&["--tail", "2"]), "plain\nlast\n");
        assert_eq!(look(&["--tail", "0"]), "");
        assert_eq!(look(&["--tail", "99"]), look(&[]));
        assert_eq!(look(&["--grep", "^p|%$"]), "100%\nplain\n");
        assert_eq!(look(&["--grep", "i", "--tail", "1"]), "plain\n");
        assert_eq!(look(&["--raw"]), "\x1b[1;31mred\x1b[0m line\r\n10%\r20%\r100%\r\nplain\r\nlast");
        assert_eq!(look(&["--raw", "--tail", "2"]), "plain\r\nlast");
        let json = ground.run(&["log", "w~1", "--json"]).ok().json();
        assert_eq!((&json["first"], &json["session"]), (&0.into(), &"w~1".into()));
        let end = json["end"].as_u64().unwrap();
        assert_eq!(json["lines"].as_array().unwrap().len(), 4);
        assert_eq!(look(&["--since", &(end - 4).to_string()]), "last\n");
        assert_eq!(look(&["--since", &(end + 4).to_string()]), "");
        if !ended {
            go.say("\n");
            ground.run(&["wait", "w"]).ok();
        }
    }
    ground.run(&["log", "w", "--grep", "("]).fails(2, "not a pattern");
}

#[test]
fn a_log_is_followed_to_the_end_and_a_reader_that_leaves_ends_it_quietly() {
    let ground = Ground::new();
    let go = ground.profile.fifo("go");
    ground
        .worker("w", &format!("echo one; read _ < '{}'; echo two; printf three", go.path().display()))
        .expect("w", "one");
    let start = |args: &[&str]| {
        let mut command = ground.profile.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut all = start(&["log", "w", "-f"]);
    let raw = start(&["log", "w", "-f", "--raw"]);
    let json = start(&["log", "w", "-f", "--json", "--grep", "^t"]);
    let mut short = start(&["log", "w", "-f"]);
    for child in [&mut all, &mut short] {
        let mut first = String::new();
        let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap());
        let (line, lines) = within("the first line", move || {
            lines.read_line(&mut first).unwrap();
            (first, lines)
        });
        assert_eq!(line, "one\n");
        child.stdout = Some(lines.into_inner());
    }
    drop(short.stdout.take());
    go.say("\n");
    assert_eq!(finish(all).ok().stdout, "two\nthree\n");
    assert_eq!(finish(raw).ok().stdout, "one\r\ntwo\r\nthree");
    assert_eq!(finish(json).ok().stdout, "{\"v\":1,\"line\":\"two\"}\n{\"v\":1,\"line\":\"three\"}\n");
    let short = finish(short);
    assert_eq!((short.code, short.stderr.as_str()), (141, ""));
    // It has ended: there is nothing to wait for.
    assert_eq!(ground.run(&["log", "w", "-f"]).ok().stdout, "one\ntwo\nthree\n");
}

#[test]
fn a_screen_is_shown_live_and_last() {
    let ground = Ground::new();
    let go = ground.profile.fifo("go");
    let draws = "printf '\\033[2J\\033[3;5H\\033[32mgreen\\033[0m\\033]2;my title\\007'";
    ground.worker("w", &format!("{draws}; read _ < '{}'", go.path().display())).expect("w", "green");
    for source in ["live", "last"] {
        assert_eq!(ground.run(&["shot", "w"]).ok().stdout, "\n\n    green\n");
        let coloured = ground.run(&["shot", "w", "--ansi"]).ok().stdout;
        assert!(coloured.contains("\x1b[32mgreen") && !coloured.contains("\x1b[3;5H"), "{coloured:?}");
        let shot = ground.run(&["shot", "w", "--json"]).ok().json();
        assert_eq!((&shot["source"], &shot["title"]), (&source.into(), &"my title".into()));
        assert_eq!((&shot["lines"][2], &shot["ansi"]), (&"    green".into(), &serde_json::Value::Null));
        assert!(ground.run(&["shot", "w", "--json", "--ansi"]).ok().json()["ansi"].is_string());
        if source == "live" {
            go.say("\n");
            ground.run(&["wait", "w"]).ok();
        }
    }
}

#[test]
fn the_last_full_screen_of_a_program_that_ended_is_shown_and_marked() {
    let ground = Ground::new();
    let go = ground.profile.fifo("go");
    let (enter, leave) =
        ("printf '\\033[?1049h\\033[H\\033[Jthree tests fail'", "printf '\\033[?1049l'; echo Goodbye");
    let program = format!("{enter}; read _ < '{}'; {leave}", go.path().display());
    ground.worker("w", &program).expect("w", "three tests fail");
    assert_eq!(ground.run(&["shot", "w"]).ok().stdout, "three tests fail\n");
    go.say("\n");
    ground.run(&["wait", "w"]).ok();
    let expected = "[the last full screen, before the program left it]\nthree tests fail\n[the screen at the end]\nGoodbye\n";
    assert_eq!(ground.run(&["shot", "w"]).ok().stdout, expected);
    let shot = ground.run(&["shot", "w", "--json"]).ok().json();
    assert_eq!((&shot["left"][0], &shot["lines"][0]), (&"three tests fail".into(), &"Goodbye".into()));
}

#[test]
fn a_character_that_comes_in_two_pieces_costs_nothing_of_what_follows() {
    let ground = Ground::new();
    let halves = "stty -echo; printf 'begin\\320'; read -r line; printf '\\264 \\320\\264 end'; cat";
    ground.worker("w", halves).expect("w", "begin");
    ground.run(&["key", "w", "Enter"]).ok();
    ground.expect("w", "beginд д end");
    assert_eq!(ground.run(&["shot", "w"]).ok().stdout, "beginд д end\n");
    assert_eq!(ground.run(&["log", "w"]).ok().stdout, "beginд д end\n");
}

#[test]
fn moves_have_a_log_and_the_pulse_has_one_where_it_ran_detached() {
    let ground = Ground::new();
    ground.run(&["run", "echo", "moved"]).ok();
    assert_eq!(ground.run(&["log", "move~1"]).ok().stdout, "moved\n");
    assert_eq!(ground.run(&["log", "move"]).ok().stdout, "moved\n");
    let shot = ground.run(&["shot", "move~1"]).ok();
    assert_eq!(shot.stdout, "moved\n");
    assert!(shot.stderr.contains("put together"), "{shot:?}");
    for verb in ["log", "shot"] {
        ground.run(&[verb, "pulse"]).fails(1, "no pulse.log");
    }
    ground.profile.write("pulse.log", "beat 1\nbeat 2\n");
    assert_eq!(ground.run(&["log", "pulse", "--tail", "1"]).ok().stdout, "beat 2\n");
    assert_eq!(ground.run(&["shot", "pulse"]).ok().stdout, "beat 1\nbeat 2\n");
    for args in
        [&["send", "pulse", "x"][..], &["wait", "pulse"], &["expect", "pulse", "x"], &["key", "pulse", "a"]]
    {
        ground.run(args).fails(1, "pulse is no session");
    }
}

#[test]
fn the_log_of_the_pulse_is_followed_through_its_rotation() {
    let ground = Ground::new();
    ground.profile.write("pulse.log", "beat 1\n");
    let mut child = ground.profile.start(&["log", "pulse", "-f"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let mut taken =
            std::mem::replace(&mut lines, BufReader::new(std::process::ChildStdout::from(pipe())).lines());
        let (line, taken) = within("a line", move || (taken.next().unwrap().unwrap(), taken));
        lines = taken;
        line
    };
    assert_eq!(next(), "beat 1");
    let path = ground.profile.data().join("pulse.log");
    append(&path, "beat 2\n");
    assert_eq!(next(), "beat 2");
    std::fs::rename(&path, path.with_extension("old")).unwrap();
    ground.profile.write("pulse.log", "beat 3\n");
    assert_eq!(next(), "beat 3");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A pipe without anything in it, to stand in for one that is elsewhere.
fn pipe() -> std::os::fd::OwnedFd {
    std::io::pipe().unwrap().0.into()
}

fn append(path: &std::path::Path, text: &str) {
    use std::io::Write;
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn an_id_means_the_live_session_and_else_the_newest() {
    let ground = Ground::new();
    for round in 1..=2 {
        ground.worker("w", &format!("echo round {round}; read -r line; exit {round}"));
        ground.run(&["key", "w", "Enter"]).ok();
        assert_eq!(ground.run(&["wait", "w"]).code, round);
    }
    assert_eq!(ground.run(&["log", "w"]).ok().stdout, "round 2\n\n");
    assert_eq!(ground.run(&["log", "looop-w"]).ok().stdout, "round 2\n\n");
    assert_eq!(ground.run(&["log", "w~1"]).ok().stdout, "round 1\n\n");
    assert_eq!(ground.run(&["wait", "w~1"]).code, 1);
    for odd in ["w~9", "w~", "~1", "../w~1", "w~1/..", "status"] {
        ground.run(&["log", odd]).fails(1, "no session");
    }
}
