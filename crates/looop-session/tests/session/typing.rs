//! Typing into a session.

use crate::support::Ground;
use crate::talk::{Call, Follower, ask, transcript};
use looop_session::host;
use serde_json::{Value, json};

fn send(text: &str, id: Option<&str>, submit: bool) -> Value {
    json!({"v": 2, "do": "send", "text": text, "id": id, "submit": submit})
}

#[test]
fn a_text_is_typed_and_submitted() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo ready; while read line; do echo \"<$line>\"; done");
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    let reply = ask(&folder, &send("hello there", None, true));
    assert_eq!(
        (&reply["ok"], &reply["at"], &reply["again"]),
        (&json!(true), &json!(7), &json!(false)),
        "{reply}"
    );
    assert_eq!(reply["delivery"], json!("taken"), "{reply}");
    follower.until("<hello there>");
    let reply = ask(&folder, &send("typed only", None, false));
    assert_eq!(reply["delivery"], json!("typed"));
    follower.until("typed only");
    assert!(!String::from_utf8(follower.seen.clone()).unwrap().contains("<typed only>"));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn an_input_id_is_typed_once() {
    let ground = Ground::new();
    let (folder, launched) =
        ground.terminal("echo ready; while read line; do echo \"<$line>\" | tee -a got; done");
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    let first = ask(&folder, &send("once", Some("a"), true));
    for _ in 0..3 {
        let again = ask(&folder, &send("once", Some("a"), true));
        assert_eq!((&again["again"], &again["at"]), (&json!(true), &first["at"]), "{again}");
        assert_eq!(again["delivery"], first["delivery"]);
    }
    let key = json!({"v": 2, "do": "key", "id": "k", "keys": ["x", "Enter"]});
    assert_eq!(ask(&folder, &key)["again"], json!(false));
    assert_eq!(ask(&folder, &key)["again"], json!(true));
    follower.until("<x>");
    ask(&folder, &send("last", None, true));
    follower.until("<last>");
    assert_eq!(ground.read("got"), "<once>\n<x>\n<last>\n");
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn unknown_keys_are_refused_before_anything_is_typed() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo ready; cat");
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    let refused = ask(&folder, &json!({"v": 2, "do": "key", "keys": ["a", "NoSuchKey"]}));
    assert_eq!(refused["ok"], json!(false));
    assert!(refused["error"].as_str().unwrap().contains("NoSuchKey"));
    let reply = ask(&folder, &json!({"v": 2, "do": "key", "keys": ["b", "Enter"]}));
    assert_eq!(reply["ok"], json!(true));
    assert!(follower.until("b\r\nb").starts_with("ready\r\nb\r\nb"));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn arrows_follow_the_mode_of_the_terminal() {
    let ground = Ground::new();
    let body = "stty -echo raw; printf 'ready\\033[?1h'; dd bs=3 count=1 2>/dev/null | od -An -c; stty sane";
    let (folder, launched) = ground.terminal(body);
    Follower::of(&folder).until("\u{1b}[?1h");
    ask(&folder, &json!({"v": 2, "do": "key", "keys": ["Up"]}));
    launched.wait().unwrap();
    let text = String::from_utf8(transcript(&folder).1).unwrap();
    assert!(text.contains("033   O   A"), "{text:?}");
}

#[test]
fn pasted_text_is_bracketed_when_the_program_wants_it() {
    let ground = Ground::new();
    let body = "stty -echo -icanon min 1; printf '\\033[?2004hready'; dd bs=1 count=16 2>/dev/null | od -An -c; stty sane";
    let (folder, launched) = ground.terminal(body);
    Follower::of(&folder).until("ready");
    ask(&folder, &send("a\nb!", None, false));
    launched.wait().unwrap();
    let text = String::from_utf8(transcript(&folder).1).unwrap();
    let text: String = text.split_whitespace().collect();
    assert!(text.contains("033[200~a\\nb!033[201~"), "{text:?}");
}

#[test]
fn input_that_nobody_reads_is_bounded() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("stty -echo raw; echo ready; sleep 1000");
    Follower::of(&folder).until("ready");
    let text = "x".repeat(200_000);
    let mut refused = 0;
    for _ in 0..12 {
        let reply = ask(&folder, &send(&text, None, false));
        refused += usize::from(reply["ok"] == json!(false));
    }
    assert!((5..=8).contains(&refused), "{refused} of 12 refused");
    let refused = ask(&folder, &send(&"y".repeat((1 << 20) + 1), None, false));
    assert_eq!(refused["ok"], json!(false));
    // It is still there for everybody else.
    assert_eq!(ask(&folder, &json!({"v": 2, "do": "hello"}))["ok"], json!(true));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn a_large_input_arrives_whole() {
    let ground = Ground::new();
    let body = "stty -echo raw; echo ready; head -c 900000 | md5sum; stty sane";
    let (folder, launched) = ground.terminal(body);
    let mut follower = Follower::of(&folder);
    follower.until("ready");
    let text: String = (0..).map(|number: u32| format!("{number} ")).take(200_000).collect();
    let reply = ask(&folder, &send(&text[..900_000], None, false));
    assert_eq!(reply["ok"], json!(true), "{reply}");
    launched.wait().unwrap();
    let sum = std::process::Command::new("sh")
        .args(["-c", "i=0; seq 0 199999 | tr '\\n' ' ' | head -c 900000 | md5sum"])
        .output()
        .unwrap();
    let expected = String::from_utf8(sum.stdout).unwrap();
    let seen = String::from_utf8(transcript(&folder).1).unwrap();
    assert!(seen.contains(expected.trim()), "{seen:?} {expected}");
}

#[test]
fn questions_on_one_line_are_answered_in_order() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo ready; cat");
    Follower::of(&folder).until("ready");
    let mut call = Call::to(&folder);
    call.say(&send("first", None, true));
    call.say(&json!({"v": 2, "do": "hello"}));
    call.say(&send("second", None, false));
    assert!(call.hear()["delivery"].is_string());
    assert!(call.hear()["program"].is_string());
    assert_eq!(call.hear()["delivery"], json!("typed"));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}
