//! A text is submitted in a composer, and nowhere else.

use std::path::Path;

use crate::support::Ground;
use crate::talk::{Follower, ask, screen, text};
use looop_session::{Client, client, host, kernel};
use serde_json::{Value, json};

/// A menu as agents draw it: Enter confirms the first choice, and every other key is ignored.
const MENU: &str = "printf '\\033[?25lRun rm -rf?\\r\\n> 1. Yes\\r\\n  2. No\\r\\nready'
    while key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do [ \"$key\" = ' 0a' ] && echo yes >>approved; done";

fn send(folder: &Path, text: &str) -> Value {
    ask(folder, &json!({"v": 2, "do": "send", "text": text, "submit": true, "echo": true}))
}

/// Runs a program, sends it a text once it is ready, and says what became of the text.
fn sent_to(ground: &Ground, body: &str, text: &str) -> Value {
    let (folder, launched) = ground.terminal(body);
    Follower::of(&folder).until("ready");
    let reply = send(&folder, text);
    host::end(&folder).unwrap();
    launched.wait().unwrap();
    reply["delivery"].clone()
}

#[test]
fn a_menu_that_takes_pastes_is_not_confirmed() {
    let ground = Ground::new();
    let body = format!("stty -echo -icanon min 1; printf '\\033[?2004h'; {MENU}");
    assert_eq!(sent_to(&ground, &body, "NO, do not run that"), json!("not_typed"));
    assert_eq!(ground.read("approved"), "");
}

#[test]
fn a_menu_that_hides_the_cursor_gets_no_key_at_all() {
    let ground = Ground::new();
    let body = "stty -echo -icanon min 1; printf '\\033[?25lready'; dd bs=1 count=1 of=key 2>/dev/null";
    assert_eq!(sent_to(&ground, body, "NO, do not run that"), json!("not_typed"));
    assert_eq!(ground.read("key"), "");
}

#[test]
fn a_menu_that_reads_one_key_gets_no_text_and_no_enter() {
    let ground = Ground::new();
    let body = "stty -echo -icanon min 1; printf '1. Yes 2. No ready'
        dd bs=1 count=1 of=key 2>/dev/null; printf 'you chose N'; dd bs=1 count=1 of=next 2>/dev/null";
    assert_eq!(sent_to(&ground, body, "NO, do not run that"), json!("not_typed"));
    assert_eq!((ground.read("key").as_str(), ground.read("next").as_str()), ("N", ""));
}

#[test]
fn prompts_that_show_nothing_or_take_single_keys_get_nothing() {
    for body in [
        "stty -echo; printf 'Password (ready): '; read -r word; echo \"$word\" >>word",
        "stty -icanon min 1; printf 'Go on? (ready) '; dd bs=1 count=1 of=word 2>/dev/null",
    ] {
        let ground = Ground::new();
        assert_eq!(sent_to(&ground, body, "secret"), json!("not_typed"), "{body}");
        assert_eq!(ground.read("word"), "", "{body}");
    }
}

#[test]
fn a_pager_is_not_left() {
    let ground = Ground::new();
    let body = "seq 500 >long; TERM=xterm LESS= exec less -Pready long";
    assert_eq!(sent_to(&ground, body, "next, please"), json!("not_typed"));
}

#[test]
fn a_shell_and_a_full_screen_composer_take_it() {
    for body in [
        "PS1='ready$ ' TERM=xterm exec bash --norc --noprofile -i",
        "PS1='$ ' TERM=xterm exec bash --norc --noprofile -ic 'printf \"\\033[?1049h\\033[2J\\033[9;1H\"
            while read -rep \"ready> \" line; do eval \"$line\"; done'",
        "stty -echo -icanon min 1; printf 'ready> '; n=''
            while key=$(dd bs=1 count=1 2>/dev/null; echo .); do
                if [ \"$key\" = '\n.' ]; then eval \"$n\"; n=''; printf '\\r\\n> '; else n=$n${key%.}; printf %s \"${key%.}\"; fi
            done",
    ] {
        let ground = Ground::new();
        let (folder, launched) = ground.terminal(body);
        let mut follower = Follower::of(&folder);
        follower.until("ready");
        let reply = send(&folder, "echo taken >>got; echo don''e");
        assert_eq!(reply["delivery"], json!("taken"), "{body}: {}", text(&screen(&folder)));
        follower.until("done");
        assert_eq!(ground.read("got"), "taken\n", "{body}");
        host::end(&folder).unwrap();
        launched.wait().unwrap();
    }
}

#[test]
fn a_caller_that_does_not_know_the_word_is_refused() {
    let ground = Ground::new();
    let (folder, launched) = ground.terminal("stty -echo; echo ready; cat");
    Follower::of(&folder).until("ready");
    let reply = ask(&folder, &json!({"v": 2, "do": "send", "text": "secret", "submit": true}));
    assert_eq!(reply["ok"], json!(false));
    assert!(reply["error"].as_str().unwrap().contains("not submitted"), "{reply}");
    let hello = ask(&folder, &json!({"v": 2, "do": "hello"}));
    assert_eq!(hello["echo"], json!(true));
    let mut client = Client::connect(&folder).unwrap();
    let sent: client::Sent = client.send(None, "secret", true).unwrap();
    assert_eq!(sent.delivery, kernel::Delivery::NotTyped);
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}
