//! Workers and the loop: recipes, proofs, answers that come too late, claims, and what a decider may do.

use looop_core::ledger::entry::Entry;
use looop_core::model::outcome::Outcome;
use looop_sim::profile::Profile;
use looop_sim::waiting::Fifo;
use serde_json::{Value, json};

use super::yard::{IDLE, LOOOP, Yard};

/// A profile with one runner, whose agent is this shell script; `$1` is its prompt file.
fn with_agent(script: &str) -> Profile {
    let profile = Profile::bare(LOOOP);
    let file = profile.outside().join("agent.sh");
    std::fs::write(&file, script).unwrap();
    let command = format!("bash '{}' {{{{prompt_file}}}}", file.display());
    profile
        .config(&format!("default = \"builtin\"\n[runners.agent]\ninteractive = {}\n", Value::from(command)))
}

fn asked(yard: &Yard) -> Vec<Value> {
    yard.run(&["asks", "--json"]).ok().json().as_array().unwrap().clone()
}

fn sessions(yard: &Yard) -> Vec<String> {
    let started = |entry| if let Entry::WorkerStarted { session, .. } = entry { Some(session) } else { None };
    yard.profile.entries().into_iter().filter_map(started).collect()
}

const FENCE: &str =
    "---\ncheck: test -e reports/fence\nworker: Paint the fence.\n---\nThe fence is painted.\n";

#[test]
fn a_recipe_that_is_a_worker_is_served_and_its_work_is_proven() {
    let agent = "cat \"$1\" > \"$LOOOP_REPORTS_DIR/prompt\"; touch \"$LOOOP_REPORTS_DIR/fence\"; read -r _";
    let yard = Yard::of(with_agent(agent).goal("fence", FENCE));
    yard.run(&["beat"]).ok();
    assert_eq!(yard.row("fence")["goal"], "fence");
    yard.run(&["expect", "--screen", "fence", ".*", "--timeout", "300s"]).ok();
    assert!(yard.run(&["beat"]).ok().stdout.contains("no goal to serve"), "its worker is on it");
    yard.run(&["key", "fence", "Enter"]).ok();
    yard.run(&["wait", "fence"]).ok();
    let said = yard.run(&["beat"]).ok().stdout;
    assert!(said.contains("worker fence~1 ended: exit 0"), "{said}");
    assert!(said.contains("the work of fence~1 is proven"), "{said}");
    let prompt = yard.profile.file("reports/prompt").unwrap();
    assert!(prompt.contains("Paint the fence.") && prompt.contains("The fence is painted."), "{prompt}");
    let written = yard.profile.lines().len();
    yard.run(&["beat"]).ok();
    assert_eq!(yard.profile.lines().len(), written, "what is done costs nothing more");
}

#[test]
fn workers_that_come_to_nothing_are_not_started_for_ever() {
    let profile = with_agent("read -r -t 1 _; exit 0").env("LOOOP_WORKER_RETRY_SECS", "0");
    let yard = Yard::of(profile.goal("fence", FENCE));
    for number in 1..=3 {
        yard.run(&["beat"]).ok();
        yard.wait(&format!("fence~{number}"));
        let said = yard.run(&["beat", "--json"]).ok().stdout;
        assert!(number == 3 || said.contains("\"pass\":false"), "an exit code is no proof: {said}");
    }
    for _ in 0..3 {
        yard.run(&["beat"]).ok();
    }
    assert_eq!(sessions(&yard), ["fence~1", "fence~2", "fence~3"]);
    let asks = asked(&yard);
    assert_eq!(asks.len(), 1, "{asks:?}");
    yard.run(&["answer", asks[0]["id"].as_str().unwrap(), "again"]).ok();
    yard.run(&["beat"]).ok();
    assert_eq!(sessions(&yard).len(), 4);
}

/// An agent that asks, or, if its task has an answer, says so on the FIFO and waits.
fn asking_agent(here: &Fifo, then: &str) -> String {
    format!(
        "if grep -q 'The person answered' \"$1\"; then cp \"$1\" \"$LOOOP_REPORTS_DIR/told\"; {then}; fi\n\
         echo asking > '{}'; \"$LOOOP_BIN\" ask --prompt 'which color?' > \"$LOOOP_REPORTS_DIR/color\"\n",
        here.path().display()
    )
}

fn waits_for_an_answer(yard: &Yard, here: &Fifo, session: &str) -> String {
    yard.run(&["beat"]).ok();
    assert_eq!(here.hear(), "asking\n");
    yard.run(&["expect", session, "waits for an answer", "--timeout", "300s"]).ok();
    asked(yard)[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_answer_is_fetched_by_the_worker_that_asked() {
    let profile = with_agent("");
    let here = profile.fifo("here");
    std::fs::write(profile.outside().join("agent.sh"), asking_agent(&here, "exit 0")).unwrap();
    let yard = Yard::of(profile.goal("fence", FENCE));
    let ask = waits_for_an_answer(&yard, &here, "fence~1");
    yard.run(&["beat"]).ok();
    yard.run(&["kill", "fence"]).fails(1, "waiting for a person's answer");
    yard.run(&["answer", &ask, "green"]).ok();
    yard.run(&["wait", "fence"]).ok();
    assert_eq!(yard.profile.file("reports/color").as_deref(), Some("green\n"));
    yard.run(&["beat"]).ok();
    let answered = |entry: &Entry| matches!(entry, Entry::Answered { text, .. } if text == "green");
    assert_eq!(yard.profile.entries().iter().filter(|entry| answered(entry)).count(), 1);
    assert_eq!(yard.profile.ledger().asks.len(), 0);
}

#[test]
fn an_answer_reaches_a_worker_that_died_once_and_its_second_death_is_told() {
    for (then, asks_again) in [("exit 0", false), ("exit 3", true)] {
        let profile = with_agent("");
        let here = profile.fifo("here");
        std::fs::write(profile.outside().join("agent.sh"), asking_agent(&here, then)).unwrap();
        let yard = Yard::of(profile.goal("fence", FENCE));
        let ask = waits_for_an_answer(&yard, &here, "fence~1");
        let status = yard.profile.file("sessions/status/fence~1.json").unwrap();
        let host = serde_json::from_str::<Value>(&status).unwrap()["host"].to_string();
        assert!(std::process::Command::new("kill").args(["-9", &host]).status().unwrap().success());
        yard.wait("fence~1");
        yard.run(&["beat"]).ok();
        assert_eq!(yard.row("fence")["state"], "lost");
        yard.run(&["answer", &ask, "green"]).ok();
        // A worker that ends at once is a failed start; either way it was told.
        yard.run(&["beat"]);
        yard.wait("fence~2");
        let told = yard.profile.file("reports/told").unwrap();
        assert!(told.contains("which color?") && told.contains("green"), "{told}");
        for _ in 0..3 {
            yard.run(&["beat"]);
        }
        let about_death =
            asked(&yard).iter().filter(|ask| ask["prompt"].to_string().contains("died again")).count();
        assert_eq!(about_death, usize::from(asks_again), "{then}");
        let redelivered = yard.profile.ledger().redelivered;
        assert_eq!(redelivered.len(), 1, "{redelivered:?}");
    }
}

#[test]
fn a_claim_goes_with_its_holder_at_the_next_beat() {
    let yard = Yard::new();
    yard.start("a", IDLE).ok();
    yard.run(&["claim", "pr-7", "--session", "a~1"]).ok();
    yard.run(&["beat"]).ok();
    let claims: Value =
        serde_json::from_str(&yard.profile.file("snapshots/sys-claims.json").unwrap()).unwrap();
    assert_eq!(claims["signal"]["claims"][0]["claim"], "a~1");
    yard.run(&["kill", "a"]).ok();
    yard.run(&["beat"]).ok();
    let reaped = |entry: &Entry| matches!(entry, Entry::ClaimReaped { claim, .. } if claim == "pr-7");
    assert!(yard.profile.entries().iter().any(reaped));
    assert_eq!(yard.profile.file("claims/pr-7.json"), None);
}

#[test]
fn a_decider_starts_steers_and_ends_a_worker() {
    let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "command": "cat {{prompt_file}}; exec cat"});
    let yard = Yard::of(Profile::bare(LOOOP).decider(&start));
    yard.run(&["beat"]).ok();
    assert_eq!(yard.row("w")["state"], "alive");
    yard.profile.decide_next(&json!({"action": "steer_session", "id": "w", "input": "hello there"}));
    yard.run(&["beat"]).ok();
    yard.run(&["expect", "w", "hello there\\s+hello there", "--since", "0", "--timeout", "300s"]).ok();
    yard.profile.decide_next(&json!({"action": "send_key", "id": "w", "keys": ["C-c"]}));
    yard.run(&["beat"]).ok();
    yard.run(&["wait", "w"]).fails(130, "");
    yard.profile.decide_next(&json!({"action": "restart_session", "id": "w", "reason": "once more"}));
    yard.run(&["beat"]).ok();
    assert_eq!(yard.row("w")["session"], "w~2");
    yard.profile.decide_next(&json!({"action": "kill_worker", "id": "w"}));
    yard.run(&["beat"]).ok();
    assert_eq!(yard.row("w")["state"], "killed");
    let finished = yard.profile.entries();
    let failed = finished
        .iter()
        .filter(|entry| matches!(entry, Entry::Finished { outcome, .. } if !outcome.is_done()));
    assert_eq!(failed.count(), 0);
}

#[test]
fn a_decider_that_types_into_a_dialog_is_told_what_the_screen_shows() {
    let menu = "stty -echo -icanon min 1; printf '\\033[?2004h\\033[?25lRun it?\\r\\n> 1. Yes\\r\\n  2. No'; \
                sleep 1000; : {{prompt_file}}";
    let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "command": menu});
    let yard = Yard::of(Profile::bare(LOOOP).decider(&start));
    yard.run(&["beat"]).ok();
    yard.run(&["expect", "w", "2. No", "--timeout", "300s"]).ok();
    yard.profile.decide_next(&json!({"action": "steer_session", "id": "w", "input": "no, do not"}));
    yard.run(&["beat"]).fails(1, "");
    let mut told = None;
    for entry in yard.profile.entries() {
        if let Entry::Finished { outcome: Outcome::Failed { reason, .. }, .. } = entry {
            told = Some(reason);
        }
    }
    assert!(told.unwrap().ends_with("its screen shows: Run it? | > 1. Yes | 2. No"));
}

#[test]
fn what_the_loop_started_does_not_wake_it_and_what_becomes_of_it_does() {
    let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "command": "cat {{prompt_file}}; read -r _"});
    let yard = Yard::of(Profile::bare(LOOOP).decider(&start));
    yard.run(&["beat"]).ok();
    assert_eq!(yard.profile.verdict(), "would do nothing: nothing changed since the last decision");
    yard.run(&["key", "w", "Enter"]).ok();
    yard.run(&["wait", "w"]).ok();
    assert_eq!(yard.profile.verdict(), "would ask fake: the world changed");
}
