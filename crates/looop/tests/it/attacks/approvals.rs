//! Moves that would be approved unseen: a person's yes is to the bytes that they were shown, in every order of letters,
//! beats and verbs.

use std::path::PathBuf;

use looop_sim::profile::Profile;
use serde_json::{Value, json};

use super::field::LOOOP;

fn guarded() -> Profile {
    let profile = Profile::bare(LOOOP).guarded().goal("ship", "# Ship\n");
    profile.decider(&json!({"action": "noop"}))
}

/// What a command leaves behind where it ran.
fn mark(profile: &Profile, name: &str) -> PathBuf {
    profile.outside().join(name)
}

/// Puts a letter in place as a worker can, with whatever it wants in it.
fn propose(profile: &Profile, id: &str, from: &str, action: &Value, asked: i64) {
    let letter = json!({
        "v": 1, "id": id, "from": from, "kind": "proposal", "prompt": "write a harmless note",
        "proposal": action, "asked": asked,
    });
    profile.write(&format!("asks/{id}.json"), letter.to_string());
}

fn touching(profile: &Profile, name: &str, before: &str) -> Value {
    json!({"action": "run_shell", "cmd": format!(": {before}; touch '{}'", mark(profile, name).display())})
}

/// Before a beat has seen a proposal, a yes ran all of it although the list showed its first 200 characters.
#[test]
fn what_no_beat_has_seen_is_shown_whole_or_not_approved() {
    let profile = guarded();
    profile.beat();
    propose(&profile, "w-1", "w~1", &touching(&profile, "evil", &"a".repeat(300)), 1_700_000_000_000);
    profile.run(&["answer", "w-1", "yes"]).fails(1, "you have not been shown all of w-1 yet");
    profile.run(&["answer", "w-1", "always"]).fails(1, "looop asks show w-1");
    profile.run(&["asks", "--json"]).ok();
    profile.run(&["answer", "w-1", "yes"]).fails(1, "nothing was done");
    assert!(!mark(&profile, "evil").exists());
    let shown = profile.run(&["asks"]).ok().stdout;
    assert!(shown.contains("touch '") && shown.contains("w~1 proposes to run"), "{shown}");
    assert!(!shown.contains("harmless"), "the words are made from the move: {shown}");
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert!(mark(&profile, "evil").exists(), "it was shown whole");
}

#[test]
fn a_long_move_says_what_it_hides_and_is_not_approved_before_it_was_shown() {
    let profile = guarded();
    propose(&profile, "w-1", "w~1", &touching(&profile, "evil", &"a".repeat(9000)), 1_700_000_000_000);
    for beats in [false, true] {
        if beats {
            profile.beat();
        }
        let shown = profile.run(&["asks"]).ok().stdout;
        assert!(!shown.contains("touch"), "{shown}");
        assert!(shown.contains(" more characters; looop asks show w-1\n"), "{shown}");
        profile.run(&["answer", "w-1", "yes"]).fails(1, "you have not been shown all of w-1 yet");
        assert!(!mark(&profile, "evil").exists());
    }
    let shown = profile.run(&["asks", "show", "w-1"]).ok().stdout;
    assert!(shown.contains("; touch '") && !shown.contains("more characters"), "{shown}");
    profile.run(&["answer", "w-1", "yes"]).ok();
    assert!(mark(&profile, "evil").exists());
    profile.run(&["asks", "show", "w-1"]).fails(1, "there is no ask \"w-1\"");
}

/// A face of its own says which bytes it has shown.
#[test]
fn a_digest_says_what_was_shown() {
    let profile = guarded();
    propose(&profile, "w-1", "w~1", &touching(&profile, "good", ""), 1_700_000_000_000);
    let asks = profile.run(&["asks", "--json"]).ok().json();
    let digest = asks[0]["waiting"]["digest"].as_str().unwrap().to_owned();
    propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), 1_700_000_000_000);
    profile
        .run(&["answer", "--digest", &digest, "w-1", "yes"])
        .fails(1, "w-1 is not the move that you were shown");
    assert!(!mark(&profile, "evil").exists() && !mark(&profile, "good").exists());
}

/// Every order of what a worker and a person can do with one id: a yes never carries out what was not shown last.
#[test]
fn a_yes_is_to_what_was_shown_in_every_order() {
    let orders = [
        "A s B y",
        "A b s B y",
        "A s b B y",
        "A s B b y",
        "A b s B b y",
        "A s b B b y",
        "A s B b s A y",
        "A b s B b A y",
        "A b s B b A b y",
        "A b s B b A b s B y",
        "A s n B y",
        "A b s n B b y",
        "A s n A b B y",
        "A s y B y",
        "A b s y B b y",
        "A b s y B b s y",
    ];
    for order in orders {
        let profile = guarded();
        let mut shown = String::new();
        for (at, step) in order.split(' ').enumerate() {
            let there = ["A", "B"].map(|name| mark(&profile, name).exists());
            match step {
                "A" | "B" => {
                    let asked = 1_700_000_000_000 + i64::try_from(at).unwrap() % 2;
                    propose(&profile, "w-1", "w~1", &touching(&profile, step, ""), asked);
                }
                "b" => drop(profile.beat()),
                "s" => shown = profile.run(&["asks"]).ok().stdout,
                "n" => drop(profile.run(&["answer", "w-1", "no"])),
                _ => drop(profile.run(&["answer", "w-1", "yes"])),
            }
            for (name, before) in ["A", "B"].into_iter().zip(there) {
                let seen = shown.contains(&mark(&profile, name).display().to_string());
                let ran = !before && mark(&profile, name).exists();
                assert!(!ran || seen, "{order}, step {at}: {name} was not what was shown");
            }
        }
    }
}

/// The id of a decider's ask, taken over by a worker after it made the ask lapse.
#[test]
fn nobody_takes_over_the_id_of_the_loops_own_ask() {
    let bold = "# PLAYBOOK\nBe bold.\n";
    let profile = Profile::bare(LOOOP).guarded().goal("ship", "# Ship\n");
    let profile = profile.decider(&json!({"action": "write_playbook", "body": bold}));
    profile.beat();
    profile.run(&["asks"]).ok();
    for (from, beats) in [("w~1", true), ("w~1", true), ("pulse", true), ("w~1", false), ("pulse", false)] {
        propose(&profile, "ask-1", from, &touching(&profile, "evil", ""), 1_700_000_000_000);
        if beats {
            profile.decide_next(&json!({"action": "noop"}));
            profile.beat();
        }
        let shown = profile.run(&["asks"]).ok();
        assert!(!shown.stdout.contains("touch"), "{from}: {shown:?}");
        profile.run(&["asks", "show", "ask-1"]);
        let said = profile.run(&["answer", "ask-1", "yes"]);
        assert!(said.code != 0 && !mark(&profile, "evil").exists(), "{from}: {said:?}");
        assert_ne!(profile.file("PLAYBOOK.md").as_deref(), Some(bold), "{from}");
    }
}

/// A question of the loop is shown as the loop asked it, whatever lies in its place.
#[test]
fn a_question_of_the_loop_is_shown_as_it_was_asked() {
    let profile = guarded();
    let ask = json!({"action": "ask_human", "prompt": "Tea or coffee?", "options": ["tea", "coffee"], "goal": "ship"});
    profile.decide_next(&ask);
    profile.beat().ok();
    let letter = profile.file("asks/ask-1.json").unwrap();
    let whole = profile.run(&["asks"]).ok();
    assert!(whole.stdout.contains("coffee") && !whole.stderr.contains("was changed"), "{whole:?}");
    let changed =
        [("Tea or coffee?", "Delete all?"), ("\"coffee\"", "\"Delete all\""), ("\"pulse\"", "\"w~1\"")];
    for text in changed.map(|(old, new)| letter.replace(old, new)) {
        assert_ne!(text, letter);
        profile.write("asks/ask-1.json", text);
        profile.beat();
        let shown = profile.run(&["asks"]).ok().stdout;
        assert!(shown.contains("Tea or coffee?") && !shown.contains("Delete"), "{shown}");
    }
    let forged = letter.replace("ask-1", "ask-7").replace("Tea or coffee?", "Delete all?");
    profile.write("asks/ask-7.json", forged);
    assert!(!profile.run(&["asks"]).ok().stdout.contains("Delete"));
    profile.beat();
    assert!(!profile.ledger().asks.contains_key("ask-7"));
    assert_eq!(profile.file("asks/ask-7.json"), None, "it is put away");
}

/// A worker rewrites the letter of a move that was shown as a question of its own: what a person says is still about the
/// move, and no answer to the question.
#[test]
fn a_word_on_a_move_that_was_shown_answers_no_question() {
    for (beats, word) in [(true, "yes"), (true, "no"), (false, "yes")] {
        let profile = guarded();
        let asked = 1_700_000_000_000;
        propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), asked);
        if beats {
            profile.beat();
        }
        profile.run(&["asks"]).ok();
        let question = json!({"v": 1, "id": "w-1", "from": "w~1", "prompt": "All of it?", "asked": asked});
        profile.write("asks/w-1.json", question.to_string());
        let said = profile.run(&["answer", "w-1", word]);
        assert_eq!(said.code == 0, word == "no", "{said:?}");
        assert!(!said.stdout.contains("answered"), "{said:?}");
        assert_eq!(profile.file("answers/w-1.json"), None, "{said:?}");
        profile.beat();
        assert!(!mark(&profile, "evil").exists());
        assert!(profile.ledger().parked.is_empty(), "a move whose letter changed waits no longer");
    }
}

/// Once a person has been shown the question that took the place of a move, they can answer it.
#[test]
fn a_question_in_the_place_of_a_move_is_answered_once_it_was_shown() {
    for show in [&["asks"][..], &["asks", "show", "w-1"]] {
        let profile = guarded();
        let asked = 1_700_000_000_000;
        propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), asked);
        profile.run(show).ok();
        let question = json!({"v": 1, "id": "w-1", "from": "w~1", "prompt": "All of it?", "asked": asked});
        profile.write("asks/w-1.json", question.to_string());
        for beats in [false, true] {
            if beats {
                profile.beat().ok();
            }
            profile.run(&["answer", "w-1", "yes"]).fails(1, "w-1 is not the move that you were shown");
        }
        assert!(profile.run(show).ok().stdout.contains("All of it?"));
        let said = profile.run(&["answer", "w-1", "yes"]).ok().stdout;
        assert!(said.starts_with("answered w-1"), "{said}");
        assert!(!mark(&profile, "evil").exists());
    }
}

/// A letter that became a question before anybody was shown the move: what is said answers the letter that is there, and carries out nothing.
#[test]
fn a_letter_that_became_a_question_carries_out_nothing() {
    for word in ["yes", "no", "always"] {
        let profile = guarded();
        let asked = 1_700_000_000_000;
        propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), asked);
        profile.beat();
        assert!(profile.ledger().parked.contains_key("w-1"));
        let question = json!({"v": 1, "id": "w-1", "from": "w~1", "prompt": "All of it?", "asked": asked});
        profile.write("asks/w-1.json", question.to_string());
        profile.run(&["answer", "w-1", word]);
        profile.beat();
        propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), asked);
        profile.beat();
        assert!(!mark(&profile, "evil").exists(), "{word}");
        assert!(profile.ledger().parked.is_empty(), "a move whose letter changed waits no longer");
    }
}

/// A worker that looks at the asks has shown them to nobody.
#[test]
fn a_worker_that_looks_shows_nothing_to_the_person() {
    let profile = guarded();
    propose(&profile, "w-1", "w~1", &touching(&profile, "evil", ""), 1_700_000_000_000);
    let script = "\"$LOOOP_BIN\" asks; \"$LOOOP_BIN\" asks show w-1";
    profile.run(&["worker", "start", "evil", "--command", script]).ok();
    profile.run(&["wait", "evil", "--timeout", "120s"]);
    profile.run(&["answer", "w-1", "yes"]).fails(1, "you have not been shown all of w-1 yet");
    assert!(!mark(&profile, "evil").exists());
}
