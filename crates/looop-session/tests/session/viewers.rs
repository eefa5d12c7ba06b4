//! Those who look at a session.

use std::fs;

use crate::support::Ground;
use crate::talk::{Call, Follower, ask, screen, text, transcript};
use looop_session::host;
use serde_json::json;

#[test]
fn viewers_see_the_screen_then_all_that_comes_and_the_end() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo hello; read line; echo \"got $line\"; exit 4");
    Follower::of(&folder).until("hello");
    let follower = Follower::of(&folder);
    let mut viewer = Call::to(&folder);
    let reply =
        viewer.ask(&json!({"v": 2, "do": "attach", "cols": 90, "rows": 20, "watch": false, "repaint": true}));
    assert_eq!((&reply["at"], &reply["cols"], &reply["rows"]), (&json!(7), &json!(90), &json!(20)));
    let (kind, paint) = viewer.frame().unwrap();
    assert_eq!(kind, b'r');
    assert!(String::from_utf8(paint).unwrap().contains("hello"));
    assert_eq!(screen(&folder)["viewers"], json!(2));
    viewer.send(b'i', b"word\r");
    let mut typed = Vec::new();
    let ended = loop {
        match viewer.frame() {
            Some((b'o', bytes)) => typed.extend(bytes),
            Some((b'e', ended)) => break ended,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(String::from_utf8(typed).unwrap(), "word\r\ngot word\r\n");
    assert_eq!(ended, b"{\"exited\":4}");
    assert_eq!(viewer.frame(), None);
    let (seen, ended) = follower.into_end();
    assert_eq!((seen, ended), (b"hello\r\nword\r\ngot word\r\n".to_vec(), json!({"exited": 4})));
    launched.wait().unwrap();
}

#[test]
fn whoever_watches_neither_types_nor_changes_the_size() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("stty -echo; echo ready; cat");
    Follower::of(&folder).until("ready");
    let mut watcher = Call::to(&folder);
    let request = json!({"v": 2, "do": "attach", "cols": 10, "rows": 5, "watch": true, "repaint": true});
    let reply = watcher.ask(&request);
    assert_eq!((&reply["cols"], &reply["rows"]), (&json!(80), &json!(24)));
    watcher.send(b'i', b"forbidden\r");
    watcher.send(b's', &[10, 0, 5, 0]);
    let mut viewer = Call::to(&folder);
    viewer.ask(&json!({"v": 2, "do": "attach", "cols": 70, "rows": 21}));
    viewer.send(b's', &[60, 0, 20, 0]);
    viewer.send(b'i', b"allowed\r");
    let mut follower = Follower::of(&folder);
    assert!(!follower.until("allowed").contains("forbidden"));
    // The watcher was told both sizes, each with the screen in it.
    let mut sizes = Vec::new();
    while sizes.len() < 2 {
        match watcher.frame().unwrap() {
            (b's', size) => sizes.push(size),
            (b'r' | b'o', _) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(sizes, [[70, 0, 21, 0], [60, 0, 20, 0]]);
    assert_eq!(screen(&folder)["cols"], json!(60));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn viewers_can_be_sent_away() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("echo ready; sleep 1000");
    Follower::of(&folder).until("ready");
    let mut viewers: Vec<Call> = (0..3).map(|_| Call::to(&folder)).collect();
    for viewer in &mut viewers {
        assert_eq!(viewer.ask(&json!({"v": 2, "do": "attach"}))["ok"], json!(true));
    }
    assert_eq!(ask(&folder, &json!({"v": 2, "do": "detach"})), json!({"v": 2, "ok": true, "viewers": 3}));
    for viewer in &mut viewers {
        assert_eq!(viewer.frame(), Some((b'd', Vec::new())));
        assert!(viewer.is_over());
    }
    assert_eq!(screen(&folder)["viewers"], json!(0));
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

/// Whether the last words are in a frame. Some modes may come after them.
fn shows_the_end(payload: &[u8]) -> bool {
    let tail = &payload[payload.len().saturating_sub(200)..];
    String::from_utf8_lossy(tail).contains("the end")
}

#[test]
fn whoever_does_not_keep_up_gets_a_repaint_and_delays_nobody() {
    let ground = Ground::new();
    ground.fifo("go");
    let body = "read line < go; head -c 1500000 /dev/zero | base64; \
                printf 'the end'; read line < go; echo";
    let (folder, launched) = ground.terminal(body);
    let mut slow = Call::to(&folder);
    slow.ask(&json!({"v": 2, "do": "attach", "watch": true, "repaint": false}));
    let mut quick = Call::to(&folder);
    quick.ask(&json!({"v": 2, "do": "attach", "watch": true, "repaint": false}));
    fs::write(ground.at("go"), "\n").unwrap();
    // The quick one sees the end of it, in a repaint if it was too slow itself.
    while !shows_the_end(&quick.frame().unwrap().1) {}
    let (mut repaints, mut bytes) = (0, 0);
    loop {
        let (kind, payload) = slow.frame().unwrap();
        repaints += usize::from(kind == b'r');
        bytes += payload.len();
        if shows_the_end(&payload) {
            break;
        }
    }
    assert!(repaints > 0 && bytes < 1_700_000, "{repaints} repaints, {bytes} bytes");
    fs::write(ground.at("go"), "\n").unwrap();
    launched.wait().unwrap();
    assert_eq!(transcript(&folder).1.len(), 2_000_000 + 26_316 * 2 + "the end\r\n".len());
}

#[test]
fn what_a_viewer_typed_before_it_hung_up_counts() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("read a; read b; echo $a-$b > got");
    let mut viewer = Call::to(&folder);
    viewer.ask(&json!({"v": 2, "do": "attach"}));
    viewer.send(b'i', b"one\r");
    viewer.send(b'i', b"two\r");
    drop(viewer);
    launched.wait().unwrap();
    assert_eq!(ground.read("got"), "one-two\n");
}

#[test]
fn the_host_answers_a_terminals_questions_when_nobody_else_does() {
    let ground = Ground::new();
    let body = "stty -echo raw; printf 'ab\\033[6n\\033[c\\033]11;?\\007'; \
                dd bs=1 count=$(( 6 + 10 + 24 )) 2>/dev/null | od -An -c | tr -d ' \\n'; stty sane; echo; echo done";
    let (folder, launched) = ground.terminal(body);
    launched.wait().unwrap();
    let text = String::from_utf8(transcript(&folder).1).unwrap();
    assert!(text.contains("033[1;3R033[?62;22c033]11;rgb:0000/0000/"), "{text:?}");
}

#[test]
fn a_session_on_pipes_can_be_followed_and_has_no_screen() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("echo one; read line < go; echo two"));
    let mut follower = Follower::of(&folder);
    follower.until("one");
    let refused = ask(&folder, &json!({"v": 2, "do": "screen"}));
    assert_eq!(refused["error"], json!("the session has no terminal"));
    fs::write(ground.at("go"), "\n").unwrap();
    let (seen, ended) = follower.into_end();
    assert_eq!((seen, ended), (b"one\ntwo\n".to_vec(), json!({"exited": 0})));
    launched.wait().unwrap();
    assert!(!folder.join("screen.json").exists());
}

#[test]
fn a_stranger_who_talks_nonsense_is_let_go() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("sleep 1000");
    let mut call = Call::to(&folder);
    assert_eq!(call.ask(&json!({"v": 2, "do": "dance"}))["ok"], json!(false));
    assert_eq!(call.ask(&json!({"v": 2, "do": "send", "text": 7}))["ok"], json!(false));
    call.ask(&json!({"v": 2, "do": "attach"}));
    call.send(b'?', b"what");
    call.send(b's', b"odd");
    call.send(b'i', b"");
    assert_eq!(screen(&folder)["viewers"], json!(1));
    drop(call);
    let mut flood = Call::to(&folder);
    flood.say(&json!({"v": 2, "do": "attach"}));
    assert_eq!(flood.hear()["ok"], json!(true));
    assert_eq!(text(&screen(&folder)), "");
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}
