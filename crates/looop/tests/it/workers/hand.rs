//! Workers by hand: started, listed, refused, restarted, ended, removed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use looop_sim::profile::Profile;
use looop_sim::waiting::finish;
use looop_store::Reader;
use serde_json::{Value, json};

use super::yard::{IDLE, LOOOP, Yard};

#[test]
fn a_worker_is_started_listed_and_killed() {
    let yard = Yard::new();
    assert_eq!(yard.start("ship", IDLE).ok().stdout, "started worker ship (ship~1)\n");
    let row = yard.row("ship");
    let seen = json!([row["session"], row["state"], row["alive"], row["health"], row["ended_unix"]]);
    assert_eq!(seen, json!(["ship~1", "alive", true, "busy", null]));
    assert!(yard.run(&["ls"]).ok().stdout.lines().nth(1).is_some_and(|line| line.starts_with("ship ")));

    assert_eq!(yard.run(&["kill", "ship"]).ok().stdout, "killed ship\n");
    let row = yard.row("ship");
    assert_eq!(json!([row["state"], row["health"], row["silent_s"]]), json!(["killed", "dead", null]));
    assert!(row["ended_unix"].is_i64());
    yard.run(&["kill", "ship"]).fails(1, "worker \"ship\" does not run: killed");
    yard.run(&["worker", "kill", "nobody"]).fails(1, "there is no worker \"nobody\"");
}

#[test]
fn several_are_killed_each_with_its_line() {
    let yard = Yard::new();
    yard.start("a", IDLE).ok();
    yard.start("b", IDLE).ok();
    let ran = yard.run(&["kill", "a", "nobody", "looop-b"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "killed a\nkilled b\n"), "{}", ran.stderr);
    assert!(yard.rows(&[]).iter().all(|row| row["state"] == "killed"));
    yard.run(&["kill", "--all"]).ok();
}

#[test]
fn a_worker_is_told_the_contract_its_task_and_its_place() {
    let profile = Profile::bare(LOOOP).goal("green", "CI is green.\n");
    let here = profile.fifo("here");
    let (got, env) = (profile.outside().join("got"), profile.outside().join("env"));
    let command = format!(
        "cp {{{{prompt_file}}}} '{}'; env > '{}'; echo there > '{}'; exec sleep 1000",
        got.display(),
        env.display(),
        here.path().display()
    );
    let profile = profile.config(&format!("[runners.fake]\ninteractive = {}\n", Value::from(command)));
    let yard = Yard::of(profile.env("LOOOP_RUN_ID", "7").env("LINES", "3"));
    yard.run(&["worker", "start", "ship", "--goal", "green", "-", "--json"]).fails(1, "the prompt is empty");
    let started = yard.run(&["worker", "start", "--goal", "green", "ship", "--", "-make", "it", "so"]).ok();
    assert_eq!(started.stdout, "started worker ship for goal green (ship~1)\n");
    assert_eq!(here.hear(), "there\n");

    let prompt = yard.read_outside("got");
    assert!(prompt.starts_with("# Contract\n") && prompt.ends_with("\n# Task\n\n-make it so\n"), "{prompt}");
    let env = yard.read_outside("env");
    let value = |name: &str| {
        let prefix = format!("{name}=");
        env.lines().find_map(|line| line.strip_prefix(prefix.as_str())).map(str::to_owned)
    };
    let data = yard.profile.data().to_string_lossy().into_owned();
    let expected = [
        ("LOOOP_SESSION_ID", Some("ship~1")),
        ("BABYSIT_SESSION_ID", Some("ship~1")),
        ("LOOOP_GOAL", Some("green")),
        ("LOOOP_DATA_DIR", Some(data.as_str())),
        ("PWD", Some(data.as_str())),
        ("TERM", Some("xterm-256color")),
        ("LOOOP_RUN_ID", None),
        ("LINES", None),
    ];
    for (name, expected) in expected {
        assert_eq!(value(name).as_deref(), expected, "{name}");
    }
    assert!(Path::new(&value("LOOOP_BIN").unwrap()).is_file());
    let row = yard.row("ship");
    assert_eq!(json!([row["goal"], row["runner"]]), json!(["green", "fake"]));
}

#[test]
fn the_contract_names_verbs_that_are_there() {
    let yard = Yard::new();
    let command = format!("cp {{{{prompt_file}}}} '{}'; exec sleep 1000", yard.outside("got"));
    yard.run(&["worker", "start", "ship", "do it", "--command", &command]).ok();
    let prompt = std::fs::read_to_string(yard.session("ship~1").join("prompt.md")).unwrap();
    let calls = prompt.split("\"$LOOOP_BIN\" ").skip(1);
    let verbs: BTreeSet<&str> = calls.filter_map(|rest| rest.split([' ', '`']).next()).collect();
    for expected in ["ask", "flag", "told", "claim", "unclaim", "propose", "kill"] {
        assert!(verbs.contains(expected), "{expected} is not in {verbs:?}");
    }
    for verb in verbs {
        yard.run(&[verb, "--help"]).ok();
    }
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let config =
        "[runners.thinks]\ntick = \"cat\"\n[runners.gone]\ninteractive = \"no-such-agent {{prompt_file}}\"\n";
    let yard = Yard::of(Profile::bare(LOOOP).config(config));
    let start = |args: &[&str]| yard.run(&[&["worker", "start"], args].concat());
    start(&["ship", "do it", "--runner", "other"]).fails(1, "runner \"other\" is not configured");
    start(&["ship", "do it", "--runner", "thinks"]).fails(1, "runners.thinks.interactive is not set");
    start(&["ship", "do it", "--runner", "gone"])
        .fails(1, "no-such-agent of runner \"gone\" is not on the PATH");
    start(&["ship", "do it", "--command", "cat"]).fails(1, "the prompt would reach nobody");
    start(&["ship", "do it", "--command", "cat {{prompt}}"]).fails(1, "unknown placeholder {{prompt}}");
    start(&["ship", "--goal", "none", "--command", IDLE]).fails(1, "there is no goal none");
    start(&["pulse", "--command", IDLE]).fails(1, "call the worker something else");
    start(&["a/b", "--command", IDLE]).fails(2, "cannot be a name");
    start(&["ship"]).fails(1, "the prompt is empty");
    assert_eq!(yard.rows(&["--all"]), Vec::<Value>::new());
    yard.start("ship", IDLE).ok();
    yard.start("ship", IDLE).fails(1, "worker \"ship\" lives already, as ship~");
}

#[test]
fn without_a_runner_it_is_said_what_to_set() {
    let yard = Yard::new();
    yard.run(&["worker", "start", "ship", "do it"]).fails(1, "set runners.<name>.interactive in config.toml");
    yard.run(&["start-session", "ship", "do it", "other"]).fails(1, "runner \"other\" is not configured");
}

#[test]
fn one_that_dies_at_once_is_reported() {
    let yard = Yard::new();
    yard.start("ship", "echo; echo sorry; echo; exit 3").fails(1, "it died at once (exit 3): sorry");
    yard.start("tram", "no-such-program")
        .fails(1, "it died at once (exit 127): bash: line 1: no-such-program");
    yard.start("boat", "cd / && ls /no-such-file; exit 5").fails(1, "it died at once (exit 5): ls:");
    yard.start("bike", "kill -9 $$").fails(1, "it died at once (signal 9)");
    let row = yard.row("ship");
    assert_eq!(json!([row["session"], row["state"], row["exit_code"]]), json!(["ship~1", "exited", 3]));
}

#[test]
fn one_that_has_done_its_work_already_did_not_die() {
    let yard = Yard::new();
    let started = yard.start("ship", "echo done").ok();
    assert_eq!(started.stdout, "started worker ship (ship~1)\n");
    assert_eq!(started.stderr, "note: it has ended already: exit 0\n");
    yard.start("tram", "\"$LOOOP_BIN\" kill tram").ok();
    yard.wait("tram~1");
    assert_eq!(yard.row("tram")["state"], "exited", "it says itself that it is done");
    yard.run(&["wait", "tram"]).ok();
}

#[test]
fn a_restart_keeps_the_task_and_takes_the_next_number() {
    let yard = Yard::new();
    let command = format!("cat {{{{prompt_file}}}} >> '{}'; exec sleep 1000", yard.outside("got"));
    yard.run(&["worker", "start", "ship", "the task", "--command", &command, "--verify", "true"]).ok();
    let restarted = yard.run(&["restart", "ship", "--reason", "it hangs"]).ok();
    assert_eq!(restarted.stdout, "restarted ship: it hangs (ship~2)\n");
    let task = |session: &str| -> Value {
        serde_json::from_slice(&std::fs::read(yard.session(session).join("task.json")).unwrap()).unwrap()
    };
    let (mut first, second) = (task("ship~1"), task("ship~2"));
    first["session"] = "ship~2".into();
    assert_eq!(first, second);
    assert_eq!(second["verify"], "true");
    let states: Vec<Value> =
        yard.rows(&["--all"]).iter().map(|row| json!([row["session"], row["state"]])).collect();
    assert_eq!(states, [json!(["ship~1", "killed"]), json!(["ship~2", "alive"])]);
    assert_eq!(yard.rows(&[]).len(), 1, "the newest stands for the worker");

    yard.run(&["kill", "ship~1"]).fails(1, "ship~1 does not run: killed");
    yard.run(&["kill", "ship~9"]).fails(1, "there is no session \"ship~9\"");
    assert_eq!(yard.run(&["kill", "ship~2"]).ok().stdout, "killed ship\n");
    yard.run(&["restart", "ship"]).ok();
    assert_eq!(yard.row("ship")["session"], "ship~3", "an ended one is begun anew");
    yard.run(&["restart", "nobody"]).fails(1, "there is no worker \"nobody\"");
}

#[test]
fn prune_removes_what_is_kept_of_ended_ones() {
    let yard = Yard::new();
    yard.start("a", IDLE).ok();
    yard.start("b", IDLE).ok();
    yard.start("c", IDLE).ok();
    yard.run(&["kill", "a", "b"]).ok();
    assert_eq!(yard.run(&["prune", "a"]).ok().stdout, "removed a~1\n");
    yard.run(&["prune", "a"]).fails(1, "nothing is kept of a worker \"a\"");
    assert_eq!(yard.run(&["prune"]).ok().stdout, "removed b~1\n");
    let left: Vec<String> = std::fs::read_dir(yard.profile.data().join("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !matches!(name.as_str(), "status" | ".start"))
        .collect();
    assert_eq!(left, ["c~1"]);
    assert_eq!(yard.rows(&["--all"]).len(), 1);
    yard.start("a", IDLE).ok();
    assert_eq!(yard.row("a")["session"], "a~2", "a number is never used again");
}

#[test]
fn kill_says_whether_it_killed() {
    let yard = Yard::new();
    for round in 0..6 {
        let gate = yard.profile.fifo(&format!("gate-{round}"));
        let id = format!("w{round}");
        yard.start(&id, &format!("cat '{}'", gate.path().display())).ok();
        let kill = yard.profile.start(&["kill", &id]);
        // Nobody may be left to hear it.
        let opened = std::fs::OpenOptions::new().write(true).read(true).open(gate.path());
        drop(opened.unwrap());
        let ran = finish(kill);
        yard.wait(&format!("{id}~1"));
        let row = yard.row(&id);
        let expected = if ran.code == 0 { "killed" } else { "exited" };
        assert_eq!(row["state"], expected, "{ran:?}");
    }
}

#[test]
fn one_that_has_just_ended_by_itself_was_not_killed() {
    let yard = Yard::new();
    let (here, gate, command) = yard.gated();
    yard.start("ship", &command).ok();
    assert_eq!(here.hear(), "there\n");
    gate.say("go\n");
    yard.wait("ship~1");
    yard.run(&["kill", "ship"]).fails(1, "does not run: exit 0");
    assert_eq!(yard.row("ship")["exit_code"], 0);
}

#[test]
fn a_worker_ends_itself_but_not_while_it_waits_for_a_person() {
    let yard = Yard::new();
    let said = yard.profile.fifo("said");
    let command = format!(
        "echo there > '{0}'; cat '{0}'; \"$LOOOP_BIN\" kill ship 2>&1 | cat > '{0}'; cat '{0}'; \"$LOOOP_BIN\" kill ship",
        said.path().display()
    );
    yard.start("ship", &command).ok();
    assert_eq!(said.hear(), "there\n");
    let reader = Reader::open(&yard.profile.data()).unwrap();
    let question = looop_store::mail::NewAsk {
        from: "ship~1",
        kind: looop_core::model::letter::AskKind::Question,
        prompt: "may I?",
        options: &[],
        reference: None,
        goal: None,
        proposal: None,
        limit: None,
    };
    let ask = reader.post_ask(&question, 0).unwrap().ask.id;
    said.say("go\n");
    assert!(said.hear().contains(&format!("you wait for a person's answer to {ask}")));
    assert_eq!(yard.row("ship")["waits_on"], ask.as_str());
    yard.run(&["kill", "ship"]).fails(1, "is waiting for a person's answer");
    yard.run(&["answer", &ask, "you may"]).ok();
    said.say("go\n");
    yard.wait("ship~1");
    assert_eq!((&yard.row("ship")["state"], &yard.row("ship")["exit_code"]), (&"exited".into(), &0.into()));
}

#[test]
fn silence_is_not_business() {
    let yard = Yard::new();
    yard.start("ship", IDLE).ok();
    let output = yard.session("ship~1").join("output.log");
    let touched = Command::new("touch").args(["-d", "1 hour ago"]).arg(&output).status().unwrap();
    assert!(touched.success());
    let row = yard.row("ship");
    assert_eq!(row["health"], "stuck");
    assert!(row["silent_s"].as_u64().is_some_and(|silent| silent >= 3600), "{row}");
}

#[test]
fn proofs_are_listed() {
    let yard = Yard::new();
    let flag = yard.outside("flag");
    for (id, verify) in [("good", format!("test -e '{flag}'")), ("bad", "exit 4".to_owned())] {
        let command = format!("touch '{flag}'; exec sleep 1000");
        yard.run(&["worker", "start", id, "--command", &command, "--verify", &verify]).ok();
    }
    assert_eq!(yard.row("good")["verify"], Value::Null, "it has not ended");
    yard.run(&["kill", "--all"]).ok();
    yard.run(&["beat"]).ok();
    for args in [&[][..], &["--all"]] {
        let proofs: Vec<Value> =
            yard.rows(args).iter().map(|row| json!([row["id"], row["verify"]])).collect();
        assert_eq!(proofs, [json!(["bad", "fail"]), json!(["good", "pass"])], "{args:?}");
    }
    yard.run(&["restart", "good"]).ok();
    assert_eq!(yard.row("good")["verify"], Value::Null, "a proof is of one session");
}

/// What a power cut can leave of a file that was renamed and never synced takes nothing else away.
#[test]
fn a_broken_status_file_takes_no_worker_away() {
    let yard = Yard::new();
    for id in ["a", "b", "c"] {
        yard.start(id, if id == "b" { "exit 0" } else { IDLE }).ok();
    }
    yard.wait("b~1");
    let spoil = || yard.profile.write("sessions/status/b~1.ended.json", "");
    spoil();
    let doctor = yard.run(&["doctor"]);
    assert!(doctor.stdout.contains("sessions/status/b~1.ended.json"), "{}", doctor.stdout);
    assert_eq!(yard.row("b")["state"], "exited");
    assert!(!yard.run(&["doctor"]).stdout.contains("b~1.ended.json"), "it was written anew");
    spoil();
    yard.start("d", IDLE).ok();
    spoil();
    assert!(yard.run(&["beat"]).ok().stdout.contains("worker b~1 ended: exit 0"));
    spoil();
    let removed = yard.run(&["prune"]).ok().stdout;
    assert!(removed.contains("removed b~1"), "{removed}");
    yard.profile.write("sessions/status/a~1.json", "\0\0\0\0");
    let mut ended = yard.run(&["kill", "--all", "--force", "--json"]).ok().stdout;
    ended.retain(|c| !c.is_whitespace());
    for id in ["a", "c", "d"] {
        assert_eq!(yard.row(id)["state"], "killed", "{ended}");
    }
    yard.start("a", IDLE).ok();
    yard.profile.write("sessions/status/a~2.json", "");
    yard.run(&["down"]).ok();
    assert_eq!(yard.row("a")["state"], "killed");
}
