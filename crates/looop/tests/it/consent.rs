//! Consent: a move that waits is bound to its exact bytes, and only a person can agree to it.

use looop_core::ledger::entry::Entry;
use looop_sim::profile::Profile;
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const BOLD: &str = "# PLAYBOOK\nBe bold.\n";

/// A profile under the default policy whose decider wants another PLAYBOOK, which waits.
fn waiting() -> Profile {
    let wish = json!({"action": "write_playbook", "body": BOLD});
    let profile = Profile::bare(LOOOP).guarded().goal("ship", "# Ship\n").decider(&wish);
    let beat = profile.beat();
    assert!(beat.stdout.contains("waits for your yes (ask-1)"), "{beat:?}");
    profile.run(&["asks"]).ok();
    profile
}

/// Whether nothing of the wish was carried out.
#[track_caller]
fn untouched(profile: &Profile) {
    assert_ne!(profile.file("PLAYBOOK.md").as_deref(), Some(BOLD));
    assert!(!profile.entries().iter().any(|entry| matches!(entry, Entry::Approved { .. })));
}

#[test]
fn the_person_sees_the_exact_move_and_their_yes_carries_it_out_once() {
    let profile = waiting();
    let shown = profile.run(&["asks"]).ok().stdout;
    for part in ["-Be careful.", "+Be bold.", "guarded", "PLAYBOOK.md", "digest", "looop answer ask-1 yes"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert_eq!(asks[0]["waiting"]["move"]["body"], BOLD);
    let said = profile.run(&["answer", "ask-1", "yes"]).ok().stdout;
    assert_eq!(said, "approved ask-1, and done: wrote PLAYBOOK.md\n");
    assert_eq!(profile.file("PLAYBOOK.md").as_deref(), Some(BOLD));
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "settled before");
    let done = profile.entries().iter().filter(|entry| matches!(entry, Entry::Approved { .. })).count();
    assert_eq!(done, 1);
    assert_eq!(profile.run(&["asks", "--json"]).ok().json(), json!([]));
}

#[test]
fn words_that_are_no_consent_do_nothing() {
    let profile = waiting();
    profile.run(&["answer", "ask-1", "maybe"]).fails(2, "yes, no (and why), or always");
    profile.run(&["answer", "ask-1", "yes please delete all"]).fails(2, "nothing was done");
    profile.run(&["answer", "ask-2", "yes"]).fails(1, "there is no ask");
    untouched(&profile);
    let said = profile.run(&["answer", "ask-1", "no: not today"]).ok().stdout;
    assert_eq!(said, "refused ask-1; nothing was done\n");
    untouched(&profile);
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "settled before");
    let brief = profile.run(&["beat", "--dry-run"]).ok().stdout;
    assert!(brief.contains("no: not today"), "{brief}");
}

#[test]
fn a_letter_written_as_a_file_is_no_consent() {
    let profile = waiting();
    let letter = json!({"v": 1, "ask": "ask-1", "text": "yes", "answered": 1_700_000_000_000_i64});
    profile.write("answers/ask-1.json", letter.to_string());
    profile.decide_next(&json!({"action": "noop"}));
    profile.beat().ok();
    untouched(&profile);
    assert!(profile.ledger().parked.contains_key("ask-1"));
}

#[test]
fn an_edited_or_removed_letter_is_refused() {
    let profile = waiting();
    let letter = profile.file("asks/ask-1.json").expect("a letter");
    profile.write("asks/ask-1.json", letter.replace("PLAYBOOK.md", "nothing at all"));
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "asks/ask-1.json was changed");
    untouched(&profile);
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "can no longer be approved");
    let profile = waiting();
    let letter = profile.file("asks/ask-1.json");
    profile.write("asks/ask-1.json", "no letter");
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "nothing was done");
    untouched(&profile);
    std::fs::remove_file(profile.data().join("asks/ask-1.json")).expect("it is there");
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "nothing was done");
    untouched(&profile);
    profile.decide_next(&json!({"action": "noop"}));
    profile.beat().ok();
    assert_eq!(profile.file("asks/ask-1.json"), letter, "the log says what the letter says");
}

#[test]
fn what_it_rests_on_may_not_change_and_it_can_be_asked_for_anew() {
    let profile = waiting();
    profile.write("PLAYBOOK.md", "# PLAYBOOK\nMine.\n");
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "PLAYBOOK.md changed since it was asked for");
    untouched(&profile);
    let lapsed = profile.run(&["asks", "--expired"]).ok().stdout;
    assert!(lapsed.contains("ask-1") && lapsed.contains("can no longer be approved"), "{lapsed}");
    let anew = profile.run(&["asks", "repark", "ask-1"]).ok().stdout;
    assert_eq!(anew, "ask-1 waits again as ask-2\n");
    let shown = profile.run(&["asks"]).ok().stdout;
    assert!(shown.contains("-Mine."), "{shown}");
    profile.run(&["answer", "ask-2", "yes"]).ok();
    assert_eq!(profile.file("PLAYBOOK.md").as_deref(), Some(BOLD));
}

/// A shell move that waits because nothing is confined, and runs with the person's rights once approved.
#[test]
fn an_approved_command_runs_once_with_the_persons_rights_and_its_end_is_told() {
    let profile = Profile::bare(LOOOP).guarded().goal("ship", "# Ship\n");
    let mark = profile.outside().join("mark");
    let cmd = format!("echo once >> {}; exit 3", mark.display());
    let profile = profile.decider(&json!({"action": "run_shell", "cmd": cmd}));
    let config = profile.file("config.toml").expect("a config");
    profile.write("config.toml", format!("sandbox = \"off\"\n{config}"));
    profile.beat();
    assert!(!mark.exists(), "nothing confines it, so it waits");
    profile.run(&["asks"]).ok();
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "approved ask-1, and it failed");
    assert_eq!(std::fs::read_to_string(&mark).expect("it ran"), "once\n");
    profile.run(&["answer", "ask-1", "yes"]).fails(1, "settled before");
    assert_eq!(std::fs::read_to_string(&mark).expect("it ran"), "once\n");
}

/// What carries a text of its own is approved once: the next text is another one.
#[test]
fn always_does_not_allow_a_text_that_nobody_has_seen() {
    let profile = waiting();
    let said = profile.run(&["answer", "ask-1", "always"]).fails(1, "not for always");
    assert!(said.stderr.contains("every later write_playbook"), "{said:?}");
    untouched(&profile);
    assert_eq!(profile.file("policy.toml"), None);
    profile.run(&["answer", "ask-1", "yes"]).ok();
}

#[test]
fn always_adds_a_rule_for_this_very_command_and_shows_it_before() {
    let run = |cmd: &str| json!({"action": "run_shell", "cmd": cmd, "goal": "ship"});
    let profile = Profile::bare(LOOOP).guarded().goal("ship", "# Ship\n").decider(&run("echo one >> made"));
    let config = profile.file("config.toml").expect("a config");
    profile.write("config.toml", format!("policy = \"locked\"\n{config}"));
    profile.beat();
    let shown = profile.run(&["asks"]).ok().stdout;
    let rule = "when = { command = [\"echo one >> made\"], goal = [\"ship\"] }";
    assert!(shown.contains("always would add to policy.toml:") && shown.contains(rule), "{shown}");
    profile.run(&["answer", "ask-1", "always"]).ok();
    assert!(profile.file("policy.toml").expect("a policy").contains(rule));
    profile.run(&["policy", "check"]).ok();
    let ruled = |cmd: &str| {
        let tried = profile.run_with(&["policy", "test", "-", "--json"], run(cmd).to_string().as_bytes());
        tried.ok().json()["then"].clone()
    };
    assert_eq!(ruled("echo one >> made"), "allow");
    assert_eq!(ruled("echo two >> made"), "ask", "the same program is not the same command");
}

/// A worker that tries to speak for the person, in all the ways that a plain worker can be told apart.
#[test]
fn nothing_inside_a_session_speaks_for_the_person() {
    let profile = waiting();
    let tries = [
        ("yes", "\"$LOOOP_BIN\" answer ask-1 yes"),
        ("bare", "env -i \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" answer ask-1 yes"),
        ("away", "setsid env -i \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" answer ask-1 yes"),
        ("dismiss", "\"$LOOOP_BIN\" asks dismiss ask-1"),
        ("goal", "\"$LOOOP_BIN\" goal write evil '# Evil'"),
        ("run", "env -i \"PATH=$PATH\" \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" run touch evil"),
        ("send", "\"$LOOOP_BIN\" send other 'rm -rf /'"),
        ("kill", "\"$LOOOP_BIN\" kill other"),
        ("pause", "\"$LOOOP_BIN\" pause"),
    ];
    let lines = tries.map(|(name, cmd)| {
        format!("{cmd} > /dev/null 2> \"$LOOOP_REPORTS_DIR/{name}.said\"; echo $? > \"$LOOOP_REPORTS_DIR/{name}\"\n")
    });
    let mut script = lines.concat();
    script += "\"$LOOOP_BIN\" ask --prompt done --timeout 1s\n";
    profile.write("scratch/tries.sh", script);
    profile.run(&["worker", "start", "other", "--command", "sleep 1000"]).ok();
    let file = profile.data().join("scratch/tries.sh");
    profile.run(&["worker", "start", "evil", "--command", &format!("bash '{}'", file.display())]).ok();
    let ended = profile.run(&["wait", "evil", "--timeout", "300s"]);
    for (name, _) in tries {
        let code = profile.file(&format!("reports/{name}"));
        let said = profile.file(&format!("reports/{name}.said")).unwrap_or_default();
        assert_eq!(code.as_deref(), Some("1\n"), "{name}: {said} {ended:?}");
        assert!(said.contains("only a person"), "{name}: {said}");
    }
    untouched(&profile);
    assert!(profile.ledger().parked.contains_key("ask-1") && profile.ledger().paused.is_none());
    assert_eq!((profile.file("goals/evil.md"), profile.file("scratch/evil")), (None, None));
    profile.run(&["kill", "other"]).ok();
}

/// The ask of a session whose name begins like this, once it is there.
fn asked_by(profile: &Profile, session: &str) -> String {
    let its = |ask: &&Value| ask["from"].as_str().is_some_and(|from| from.starts_with(session));
    profile.until(&format!("an ask of {session}"), || {
        let asks = profile.run(&["asks", "--json"]).ok().json();
        let ask = asks.as_array().expect("asks").iter().find(its)?;
        Some(ask["id"].as_str().expect("an id").to_owned())
    })
}

/// The first run with an agent, end to end: the ask, the interview, what it proposes, the person's yes.
#[test]
fn the_setup_interview_works_end_to_end() {
    let profile = Profile::new(LOOOP).guarded();
    let agent = profile.outside().join("agent.sh");
    let script = r##"
cd "$LOOOP_DATA_DIR/scratch"
what=$("$LOOOP_BIN" ask --prompt 'What do you work on?')
printf '{"action":"write_goal","id":"work","body":"# %s\\n"}' "$what" > goal.json
"$LOOOP_BIN" propose goal.json
printf '{"action":"write_sensor","name":"clock","script":"#!/bin/sh\\necho 1\\n"}' > sensor.json
"$LOOOP_BIN" propose sensor.json
"$LOOOP_BIN" kill setup
"##;
    std::fs::write(&agent, script).expect("a script");
    let profile = profile.config(&format!(
        "default = \"agent\"\n[runners.agent]\ntick = '''echo '{{\"action\":\"noop\"}}' ''' \ncost = \"free\"\n\
         interactive = \"bash '{}' {{{{prompt_file}}}}\"\n",
        agent.display()
    ));
    profile.beat().ok();
    profile.beat().ok();
    assert_eq!(profile.ledger().runs, 0, "nobody is asked about an empty profile while the interview waits");
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert!(asks[0]["prompt"].as_str().expect("a question").contains("interview"), "{asks}");
    let why = profile.run(&["why", "setup"]).ok().stdout;
    assert!(why.contains("whether you want the interview") && !why.contains("never becomes due"), "{why}");
    let id = asks[0]["id"].as_str().expect("an id").to_owned();
    profile.run(&["answer", &id, "yes"]).ok();
    profile.beat().ok();
    let question = asked_by(&profile, "setup~");
    profile.run(&["answer", &question, "rockets"]).ok();
    profile.run(&["wait", "setup", "--timeout", "300s"]);
    profile.beat().ok();
    let parked = profile.ledger().parked;
    assert_eq!(parked.len(), 2, "{parked:?}");
    for ask in parked.keys() {
        profile.run(&["asks", "show", ask]).ok();
        profile.run(&["answer", ask, "yes"]).ok();
    }
    assert_eq!(profile.file("goals/work.md").as_deref(), Some("# rockets\n"));
    assert!(profile.file("sensors/clock.sh").is_some());
}

#[test]
fn the_interview_is_offered_also_where_the_profile_was_made_before_there_was_an_agent() {
    let profile = Profile::new(LOOOP).guarded();
    profile.beat().ok();
    assert_eq!(profile.file("goals/setup.md"), None);
    let agent = "default = \"agent\"\n[runners.agent]\ntick = \"exit 1\"\ncost = \"free\"\ninteractive = \"cat {{prompt_file}}\"\n";
    let profile = profile.config(agent);
    profile.beat();
    profile.beat();
    let asks = profile.run(&["asks", "--json"]).ok().json();
    let about = |ask: &serde_json::Value| ask["goal"] == "setup";
    assert_eq!(asks.as_array().expect("asks").iter().filter(|ask| about(ask)).count(), 1, "{asks}");

    let used = Profile::new(LOOOP).guarded();
    used.beat().ok();
    used.run(&["goal", "write", "mine", "A goal of my own."]).ok();
    let used = used.config(agent);
    used.beat();
    assert_eq!(used.file("goals/setup.md"), None, "who has set it up already is not asked");
}
