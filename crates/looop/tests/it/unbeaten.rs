//! What verbs show while no loop runs: letters and files as they are, not as the last beat saw them.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

use looop_sim::profile::Profile;
use serde_json::Value;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const RECIPE: &str = "---\ncheck: test -e ok\nrun: echo try >> tries; false\n---\n# There is an ok\n";

/// A profile whose goal was tried three times, and whose person is asked about it.
fn asked() -> Profile {
    let profile = Profile::bare(LOOOP).goal("x", RECIPE);
    for _ in 0..3 {
        assert_eq!(profile.beat().code, 1);
    }
    profile.beat().ok();
    assert_eq!(ids(&profile), ["ask-1"]);
    profile
}

/// What waits, by `asks` and by `status`, which must agree.
fn ids(profile: &Profile) -> Vec<String> {
    let of = |asks: &Value| -> Vec<String> {
        asks.as_array().unwrap().iter().map(|ask| ask["id"].as_str().unwrap().to_owned()).collect()
    };
    let asks = of(&profile.run(&["asks", "--json"]).ok().json());
    let status = of(&profile.run(&["status", "--json"]).ok().json()["asks"]);
    assert_eq!(asks, status, "asks and status say the same");
    asks
}

#[test]
fn an_answered_ask_waits_no_longer_and_the_answer_says_that_a_beat_takes_it_in() {
    let profile = asked();
    let answered = profile.run(&["answer", "ask-1", "again"]).ok();
    assert_eq!(answered.stdout, "answered ask-1\n");
    assert!(answered.stderr.contains("looop beat or looop up takes the answer in"), "{answered:?}");
    assert!(ids(&profile).is_empty());
    let why = profile.run(&["why", "x"]).ok().stdout;
    assert!(!why.contains("waits for your answer") && !why.contains("asks you"), "{why}");
}

#[test]
fn an_ask_that_no_beat_has_seen_is_shown() {
    let profile = Profile::bare(LOOOP).goal("x", "# Words\n");
    profile.beat().ok();
    let ask = r#"{"v":1,"id":"w-1","from":"w~1","prompt":"Merge?","goal":"x","asked":1794737782065}"#;
    profile.write("asks/w-1.json", ask);
    assert_eq!(ids(&profile), ["w-1"]);
    assert!(profile.run(&["why", "x"]).ok().stdout.contains("w-1"));
}

#[test]
fn the_question_about_a_goal_that_still_fails_goes_away_with_its_reason() {
    let archived = asked();
    archived.run(&["goal", "archive", "x"]).ok();
    let fixed = asked();
    fixed.write("ok", "");
    let rewritten = asked().goal("x", &RECIPE.replace("; false", "; touch ok"));
    for (profile, reason) in [(archived, "gone"), (fixed, "no longer fails"), (rewritten, "rewritten")] {
        let beat = profile.beat().ok();
        assert!(
            beat.stdout.contains("ask-1 is closed: its goal") && beat.stdout.contains(reason),
            "{beat:?}"
        );
        assert!(ids(&profile).is_empty());
        assert_eq!(profile.data().join("ok").exists(), reason != "gone", "a rewritten recipe is tried");
    }
}

#[test]
fn only_the_options_answer_it() {
    let profile = asked();
    let refused = "ask \"ask-1\" is answered with one of: again, leave";
    profile.run(&["answer", "ask-1", "I do not know"]).fails(1, refused);
    assert_eq!(ids(&profile), ["ask-1"]);
    profile.run(&["answer", "ask-1", "leave"]).ok();
    let beat = profile.beat().ok();
    assert!(beat.stdout.contains("1 left alone"), "{beat:?}");
    assert_eq!(profile.file("tries").unwrap(), "try\ntry\ntry\n");
    assert!(profile.run(&["why", "x"]).ok().stdout.contains("you said to leave it"));
}

#[test]
fn a_question_does_not_hide_how_the_last_attempt_ended() {
    let status = asked().run(&["status", "--json"]).ok().json();
    assert_eq!(status["goals"][0]["last"], "exit 1", "{status}");
}
