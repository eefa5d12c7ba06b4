//! Programs in a terminal: what they get, what they print, and what stays of it.

use std::fs;
use std::path::Path;

use crate::support::{Ground, await_death, await_stopped};
use crate::talk::{Call, Follower, ask, screen, text, transcript};
use looop_session::{Ended, Receipt, Size, Spec, Standing, host};
use serde_json::{Value, json};

fn receipt(standing: Standing) -> Receipt {
    let Standing::Ended(receipt) = standing else { panic!("{standing:?}") };
    receipt
}

/// The screen that was kept at the end.
fn last_screen(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("screen.json")).unwrap()).unwrap()
}

#[test]
fn the_child_leads_a_session_on_a_terminal_of_its_own() {
    let ground = Ground::new();
    let body = "stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; \
                ps -o pid=,sid=,tpgid= -p $$ | tr -s ' '; echo $$; ls /proc/$$/fd > fds; tr '\\n' ' ' < fds; \
                echo through > /dev/tty; exit 3";
    let (folder, launched) = ground.terminal(body);
    let receipt = receipt(launched.wait().unwrap());
    assert_eq!(receipt.ended, Ended::Exited(3));
    let (start, bytes) = transcript(&folder);
    assert_eq!((start, bytes.len() as u64), (0, receipt.output_bytes));
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(&lines[..2], ["24 80", "terminal"]);
    let pid = lines[3];
    assert_eq!(lines[2].trim(), format!("{pid} {pid} {pid}"), "{text}");
    // The shell may keep its terminal at 10 and 255.
    let fds = lines[4].replace(" 10 ", " ").replace(" 255 ", " ");
    assert_eq!(fds, "0 1 2 through", "{text}");
}

#[test]
fn a_resize_reaches_the_child_and_the_screen() {
    let ground = Ground::new();
    let body = "trap 'stty size; kill $!' WINCH; echo ready; while :; do sleep 1000 & wait; done";
    let (folder, launched) = ground.terminal(body);
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    assert_eq!(
        ask(&folder, &json!({"v": 2, "do": "resize", "cols": 132, "rows": 50})),
        json!({"v": 2, "ok": true})
    );
    follower.until("50 132");
    let seen = screen(&folder);
    assert_eq!((&seen["cols"], &seen["rows"]), (&json!(132), &json!(50)));
    assert_eq!(seen["lines"].as_array().unwrap().len(), 50);
    for (cols, rows) in [(1, 24), (80, 0), (1001, 24)] {
        let refused = ask(&folder, &json!({"v": 2, "do": "resize", "cols": cols, "rows": rows}));
        assert_eq!(refused["ok"], json!(false), "{refused}");
    }
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

/// Bytes without an order that could hide a gap: numbers, and all byte values.
fn blob(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend((state >> 16).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[test]
fn every_byte_arrives_in_its_place() {
    let ground = Ground::new();
    let expected = blob(3 << 20);
    fs::write(ground.at("blob"), &expected).unwrap();
    let (folder, launched) = ground.terminal("stty -opost -echo; cat blob");
    let receipt = receipt(launched.wait().unwrap());
    assert_eq!(receipt.output_bytes, expected.len() as u64);
    let (start, bytes) = transcript(&folder);
    assert_eq!(start, 0);
    assert!(bytes == expected, "{} bytes of {}", bytes.len(), expected.len());
}

#[test]
fn what_is_printed_just_before_the_end_is_never_lost() {
    let ground = Ground::new();
    for round in 0..60 {
        let spec = ground.terminal_spec("stty -onlcr; head -c 20000 /dev/zero | tr '\\0' x; printf last");
        let (folder, launched) = ground.launch(&format!("s{round}"), &spec);
        let receipt = receipt(launched.wait().unwrap());
        let (_, bytes) = transcript(&folder);
        assert_eq!((bytes.len(), receipt.output_bytes), (20_004, 20_004), "round {round}");
        assert!(bytes.ends_with(b"xlast"), "round {round}");
        assert!(text(&last_screen(&folder)).ends_with("last"), "round {round}");
    }
}

#[test]
fn old_segments_go_and_offsets_stay() {
    let ground = Ground::new();
    let all = blob(1 << 20);
    fs::write(ground.at("blob"), &all).unwrap();
    let spec =
        Spec { output_keep: 256 << 10, ..ground.terminal_spec("stty -opost -echo; cat blob; echo; cat") };
    let (folder, launched) = ground.launch("s", &spec);
    let mut call = Call::to(&folder);
    // Whoever attaches late gets exactly what comes after `at`; the rest is in the files.
    let reply = call.ask(&json!({"v": 2, "do": "attach", "watch": true, "repaint": false}));
    let mut next = reply["at"].as_u64().unwrap();
    while next < all.len() as u64 + 1 {
        let Some((kind, bytes)) = call.frame() else { panic!("ended early") };
        assert_eq!(kind, b'o');
        next += bytes.len() as u64;
    }
    assert_eq!(next, all.len() as u64 + 1);
    host::end(&folder).unwrap();
    let receipt = receipt(launched.wait().unwrap());
    let (start, bytes) = transcript(&folder);
    assert_eq!(start + bytes.len() as u64, receipt.output_bytes);
    assert!(start > 0 && bytes.len() <= 256 << 10 && bytes.len() >= 192 << 10, "{start} {}", bytes.len());
    let from = usize::try_from(start).unwrap();
    assert!(bytes[..all.len() - from] == all[from..]);
}

#[test]
fn the_last_screen_stays() {
    let ground = Ground::new();
    let body =
        "printf '\\033]2;the title\\007\\033[31mred\\033[m and \\033[?1049h\\033[2;3Hfull 世界'; exit 1";
    let (folder, launched) = ground.terminal(body);
    launched.wait().unwrap();
    let screen = last_screen(&folder);
    assert_eq!(text(&screen), "\n  full 世界");
    assert_eq!(screen["title"], "the title");
    assert_eq!((&screen["alternate"], &screen["cursor"]), (&json!(true), &json!([1, 11])));
    assert!(screen["ansi"].as_str().unwrap().contains("full 世界"));
    assert_eq!(screen["at"].as_u64().unwrap(), transcript(&folder).1.len() as u64);
}

#[test]
fn a_session_that_prints_nothing_has_a_blank_screen() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("exit 0");
    launched.wait().unwrap();
    let screen = last_screen(&folder);
    assert_eq!((text(&screen), screen["lines"].as_array().unwrap().len()), (String::new(), 24));
}

/// What real programs printed, and what another terminal showed of it.
#[test]
fn recorded_programs_look_as_in_another_terminal() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pty");
    for name in ["claude", "codex", "opencode", "pi"] {
        let ground = Ground::new();
        let body = format!("stty -opost -echo; cat {}/{name}.raw", fixtures.display());
        let spec = Spec { terminal: Some(Size { cols: 110, rows: 32 }), ..ground.terminal_spec(&body) };
        let (folder, launched) = ground.launch("s", &spec);
        launched.wait().unwrap();
        let expected = fs::read_to_string(fixtures.join(format!("{name}.screen.txt"))).unwrap();
        let expected: Vec<&str> = expected.lines().map(|row| row.trim_end_matches(' ')).collect();
        assert_eq!(text(&last_screen(&folder)), expected.join("\n").trim_end(), "{name}");
    }
}

#[test]
fn programs_that_close_their_terminal_and_come_back_are_heard() {
    let ground = Ground::new();
    ground.fifo("go");
    let body = "echo one; exec < /dev/null > /dev/null 2>&1; read line < go; echo two > /dev/tty";
    let (folder, launched) = ground.terminal(body);
    Follower::of(&folder).until("one");
    fs::write(ground.at("go"), "\n").unwrap();
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Exited(0));
    assert_eq!(transcript(&folder).1, b"one\r\ntwo\r\n");
}

#[test]
fn whoever_holds_the_terminal_open_is_ended_with_the_rest() {
    let ground = Ground::new();
    let body = "(trap '' HUP TERM; while :; do sleep 1000; done) & nohup sleep 1000 & setsid sleep 1000 & echo started";
    let (folder, launched) = ground.terminal(body);
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Exited(0));
    assert_eq!(ground.alive(), []);
    assert!(String::from_utf8(transcript(&folder).1).unwrap().contains("started"));
}

#[test]
fn a_lost_session_can_still_be_read() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo before; sleep 1000");
    Follower::of(&folder).until("before");
    let pid = i32::try_from(launched.pid()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    assert_eq!(launched.wait().unwrap(), Standing::Lost);
    assert_eq!(transcript(&folder), (0, b"before\r\n".to_vec()));
    assert_eq!(host::end(&folder).unwrap(), Standing::Lost);
    ground.await_nobody();
}

#[test]
fn no_descriptor_of_the_launcher_is_kept() {
    let ground = Ground::new();
    let spec = serde_json::to_string(&ground.terminal_spec("sleep 1000")).unwrap();
    let folder = ground.at("s");
    // The pipe is also at 7 in the launcher; output() returns once nobody holds it.
    let script = "exec 7>&1; \"$0\" start \"$1\" \"$2\"";
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .arg(crate::support::image())
        .args([folder.to_str().unwrap(), &spec])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(host::standing(&folder).unwrap(), Standing::Live);
    host::end(&folder).unwrap();
}

#[test]
fn the_old_words_are_still_understood() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("sleep 1000");
    let mut call = Call::to(&folder);
    assert_eq!(call.ask(&json!({"do": "hello"})), json!({"v": 1, "pid": launched.pid()}));
    let hello = call.ask(&json!({"v": 2, "do": "hello"}));
    assert_eq!((&hello["v"], &hello["ok"], &hello["pid"]), (&json!(2), &json!(true), &json!(launched.pid())));
    assert!(hello["program"].as_str().unwrap().starts_with("looop "));
    let child = i32::try_from(hello["child"].as_i64().unwrap()).unwrap();
    assert_eq!(call.ask(&json!({"do": "kill"})), json!({"v": 1, "ok": true}));
    assert!(call.is_over());
    assert!(await_death(child));
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Killed);
}

#[test]
fn a_pause_stops_all_of_it_and_the_end_does_not_wait() {
    let ground = Ground::new();
    let body = "sleep 1000 & setsid sleep 1000 & echo ready; while read line; do echo \"<$line>\"; done";
    let (folder, launched) = ground.terminal(body);
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    for round in 0..3 {
        assert_eq!(ask(&folder, &json!({"v": 2, "do": "pause"})), json!({"v": 2, "ok": true}));
        let stopped = ground.alive();
        assert_eq!(stopped.len(), 3, "{stopped:?}");
        for (pid, _) in stopped {
            // A signal takes a moment to arrive.
            await_stopped(pid, true);
        }
        let send = json!({"v": 2, "do": "send", "text": format!("line {round}"), "submit": true});
        assert_eq!(ask(&folder, &send)["ok"], json!(false));
        assert_eq!(ask(&folder, &json!({"v": 2, "do": "go_on"})), json!({"v": 2, "ok": true}));
        assert_eq!(ask(&folder, &send)["delivery"], json!("taken"));
        follower.until(&format!("<line {round}>"));
    }
    assert_eq!(ask(&folder, &json!({"v": 2, "do": "pause"})), json!({"v": 2, "ok": true}));
    host::end(&folder).unwrap();
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Killed);
    assert_eq!(ground.alive(), []);
}
