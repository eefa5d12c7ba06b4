//! An answer reaches a worker that does not block on it.

use std::os::unix::process::ExitStatusExt;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, Ran};
use looop_store::POINTS;
use serde_json::json;

use super::yard::{LOOOP, Yard};

/// Asks, has its ask killed as an agent's shell does, and then takes lines, as an agent that waits for its next prompt.
const KILLS: &str = r#""$LOOOP_BIN" ask --prompt "A or B?" & until [ -s "$LOOOP_DATA_DIR/asks/w-1.json" ]; do :; done
    kill -9 $!; wait $!; echo 'ask killed'; while IFS= read -r line; do echo "got <$line>"; done"#;
/// What it is told.
const TOLD: &str = r#"got <The person answered your question w-1 ("A or B?"): "B" Go on"#;

fn killed() -> Yard {
    let yard = Yard::new();
    yard.start("w", KILLS).ok();
    expect(&yard, "ask killed");
    yard
}

fn expect(yard: &Yard, text: &str) {
    let pattern: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '.' }).collect();
    yard.run(&["expect", "w", &pattern, "--since", "0", "--timeout", "300s"]).ok();
}

/// How often it was told.
fn told(yard: &Yard) -> usize {
    yard.run(&["log", "w"]).ok().stdout.replace('\n', "").matches(TOLD).count()
}

/// Asks the same again, in the worker's name.
fn asks_again(yard: &Yard) -> Ran {
    yard.run(&["ask", "w", "--prompt", "A or B?", "--timeout", "0s"])
}

#[test]
fn an_answer_is_typed_once_where_nobody_blocks_on_it() {
    let yard = killed();
    yard.run(&["beat"]).ok();
    let answered = yard.run(&["answer", "w-1", "B"]).ok();
    assert_eq!(answered.stdout, "answered w-1; it will be typed into w\n");
    assert!(answered.stderr.contains("the loop is not running"), "{}", answered.stderr);
    for _ in 0..3 {
        yard.run(&["beat"]).ok();
    }
    expect(&yard, TOLD);
    assert_eq!((told(&yard), yard.run(&["told", "w"]).ok().stdout.as_str()), (1, ""));
    assert!(yard.profile.file("journal.md").unwrap().contains("typed into w: The person answered"));
    // It may not have seen it: the same again is no second question.
    assert_eq!(asks_again(&yard).ok().stdout, "B\n");
    assert_eq!(yard.run(&["asks", "--json"]).ok().json(), json!([]));
}

#[test]
fn an_answer_is_handed_out_by_told_and_by_ask_and_not_typed_then() {
    for by_told in [true, false] {
        let yard = killed();
        yard.run(&["answer", "w-1", "B"]).ok();
        if by_told {
            assert_eq!(yard.run(&["told", "w"]).ok().stdout, "answer to w-1 (\"A or B?\"): B\n");
        } else {
            let other = yard
                .run(&["ask", "w", "--prompt", "C?", "--timeout", "0s"])
                .fails(124, "nobody has answered");
            assert!(other.stderr.contains("answer to w-1 (\"A or B?\"): B"), "{}", other.stderr);
        }
        yard.run(&["beat"]).ok();
        assert_eq!(told(&yard), 0);
    }
}

#[test]
fn an_ask_that_blocks_gets_the_answer_itself() {
    let yard = Yard::new();
    let asks = r#"echo "got <$("$LOOOP_BIN" ask --prompt "A or B?")>"; while IFS= read -r line; do echo "got <$line>"; done"#;
    yard.start("w", asks).ok();
    let asked = || yard.run(&["asks", "--json"]).ok().json()[0]["id"] == "w-1";
    yard.profile.until_is("the ask", asked);
    // The letter is there a moment before its asker blocks.
    yard.profile.until_is("a blocked ask", || {
        let letter = std::fs::File::open(yard.profile.data().join("asks/w-1.json")).unwrap();
        letter.try_lock().is_err()
    });
    assert_eq!(yard.run(&["answer", "w-1", "B"]).ok().stdout, "answered w-1; w goes on\n");
    expect(&yard, "got <B>");
    yard.run(&["beat"]).ok();
    assert_eq!(told(&yard), 0);
}

#[test]
fn neither_a_question_nor_its_answer_costs_a_decide() {
    let asks = r#""$LOOOP_BIN" ask --prompt "A or B?"; cat; : {{prompt_file}}"#;
    let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "command": asks});
    let yard = Yard::of(Profile::bare(LOOOP).decider(&start));
    yard.run(&["beat"]).ok();
    let unchanged = "would do nothing: nothing changed since the last decision";
    yard.profile.until_is("the ask", || yard.run(&["asks", "--json"]).ok().json()[0]["id"] == "w-1");
    assert_eq!(yard.profile.verdict(), unchanged);
    yard.run(&["answer", "w-1", "B"]).ok();
    expect(&yard, "B");
    assert_eq!(yard.profile.verdict(), unchanged);
    let decides =
        yard.profile.entries().into_iter().filter(|entry| matches!(entry, Entry::DecideStarted { .. }));
    assert_eq!(decides.count(), 1);
}

#[test]
fn a_worker_that_has_ended_begins_anew() {
    let yard = Yard::new();
    yard.start("w", r#""$LOOOP_BIN" ask --prompt "A or B?" --timeout 0s; exit 3; : {{prompt_file}}"#);
    yard.wait("w~1");
    let answered = yard.run(&["answer", "w-1", "B"]).ok();
    assert_eq!(answered.stdout, "answered w-1; w has ended, and its task begins anew with the answer\n");
}

#[test]
fn a_dialog_is_not_confirmed_and_the_answer_waits() {
    let yard = Yard::new();
    let menu = r#""$LOOOP_BIN" ask --prompt "A or B?" --timeout 0s; stty -echo -icanon min 1
        printf '\033[?2004h\033[?25lRun it?\r\n> 1. Yes\r\n  2. No'
        while key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do [ "$key" = ' 0a' ] && echo 'it is confirmed'; done"#;
    yard.start("w", menu).ok();
    expect(&yard, "2. No");
    yard.run(&["answer", "w-1", "B"]).ok();
    let beat = yard.run(&["beat"]);
    assert!(beat.code == 1 && beat.stdout.contains("not typed"), "{beat:?}");
    // As long as the same screen stands it is not tried again.
    yard.run(&["beat"]).ok();
    assert!(!yard.run(&["log", "w"]).ok().stdout.contains("it is confirmed"));
    assert_eq!(yard.run(&["told", "w"]).ok().stdout, "answer to w-1 (\"A or B?\"): B\n");
    assert_eq!(yard.run(&["told", "w"]).ok().stdout, "");
}

#[test]
fn killed_at_every_point_an_answer_is_typed_once() {
    let crash = |point: &str, visit: u32| {
        let yard = killed();
        yard.run(&["beat"]).ok();
        yard.run(&["answer", "w-1", "B"]).ok();
        let mut beat = yard.profile.command(&["beat"]);
        let status = beat.env("LOOOP_CRASH_AT", format!("{point}:{visit}")).output().unwrap().status;
        let crashed = status.signal() == Some(9);
        yard.run(&["beat"]);
        yard.run(&["beat"]);
        expect(&yard, TOLD);
        assert_eq!(told(&yard), 1, "{point}:{visit}");
        assert_eq!(looop_core::check::violations(&yard.profile.lines()), Vec::<String>::new());
        crashed
    };
    let mut crashes = 0;
    for point in POINTS.iter().chain(["answer.typed"].iter()) {
        crashes += (1..40).take_while(|visit| crash(point, *visit)).count();
    }
    assert!(crashes > 5, "{crashes}");
}

/// Takes one line, as an agent that has what it needs, and ends.
const ENDS: &str = r#""$LOOOP_BIN" ask --prompt "A or B?" & until [ -s "$LOOOP_DATA_DIR/asks/w-1.json" ]; do :; done
    kill -9 $!; wait $!; echo 'ask killed'; IFS= read -r line; echo "got" >> "$LOOOP_DATA_DIR/../got"; exit 0; : {{prompt_file}}"#;

#[test]
fn killed_at_every_point_an_answer_starts_no_second_worker() {
    let crash = |point: &str, visit: u32| {
        let yard = Yard::new();
        yard.start("w", ENDS).ok();
        expect(&yard, "ask killed");
        yard.run(&["beat"]).ok();
        yard.run(&["answer", "w-1", "B"]).ok();
        let mut beat = yard.profile.command(&["beat"]);
        let status = beat.env("LOOOP_CRASH_AT", format!("{point}:{visit}")).output().unwrap().status;
        let crashed = status.signal() == Some(9);
        if yard.read_outside("got") == "got\n" {
            yard.wait("w~1");
        }
        yard.run(&["beat"]);
        yard.wait("w~1");
        yard.run(&["beat"]);
        let started = yard.profile.entries().into_iter();
        let started = started.filter(|entry| matches!(entry, Entry::WorkerStarted { .. })).count();
        assert_eq!((started, yard.read_outside("got").as_str()), (1, "got\n"), "{point}:{visit}");
        assert_eq!(looop_core::check::violations(&yard.profile.lines()), Vec::<String>::new());
        crashed
    };
    let mut crashes = 0;
    for point in POINTS.iter().chain(["answer.typed"].iter()) {
        crashes += (1..40).take_while(|visit| crash(point, *visit)).count();
    }
    assert!(crashes > 5, "{crashes}");
}
