//! Every verb as a person or a script calls it: exit codes, output, errors with hints, bodies, and no surprises.

use std::io::Read;
use std::process::Stdio;

use looop_sim::profile::{Profile, set_mode, write_program};
use looop_sim::waiting::finish;
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// A profile with something of everything in it.
fn full() -> Profile {
    let profile = Profile::bare(LOOOP)
        .decider(&json!({"action": "ask_human", "prompt": "Which one?", "goal": "ship"}))
        .goal("ship", "# Ship it\nSoon.\n")
        .sensor("ci", "echo '{\"signal\":{\"red\":0},\"detail\":\"fine\"}'");
    profile.run(&["schedule", "write", "daily", "--cron", "0 9 * * *"]).ok();
    profile.run(&["playbook", "write", "# Two"]).ok();
    profile.beat().ok();
    profile
}

/// Verbs that only show something, with their arguments.
const SHOWING: &[&[&str]] = &[
    &["status"],
    &["state"],
    &["why"],
    &["why", "ship"],
    &["goal", "list"],
    &["playbook", "history"],
    &["sensor", "list"],
    &["schedule", "list"],
    &["asks"],
    &["journal"],
    &["runs"],
    &["runs", "000001"],
    &["events"],
    &["sensor", "run", "ci"],
];

/// Verbs that show a file as it is.
const PLAIN: &[&[&str]] =
    &[&["goal", "show", "ship"], &["playbook", "show"], &["playbook", "diff"], &["sensor", "show", "ci"]];

#[test]
fn what_shows_something_shows_it_to_people_and_to_scripts() {
    let profile = full();
    for args in SHOWING {
        let human = profile.run(args).ok();
        assert!(!human.stdout.is_empty() && human.stderr.is_empty(), "{args:?}: {human:?}");
        assert!(!human.stdout.contains('\u{1b}'), "{args:?}: colour where there is no terminal");
        let machine = profile.run(&[*args, &["--json"]].concat()).ok();
        assert!(machine.stderr.is_empty(), "{args:?}: {machine:?}");
        for line in machine.stdout.lines() {
            let value: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{args:?}: {error}: {line}"));
            assert!(value.is_object() || value.is_array(), "{args:?}: {line}");
        }
        assert_eq!(machine.stdout.lines().count() > 1, args[0] == "events", "{args:?}: {machine:?}");
    }
    for args in PLAIN {
        let shown = profile.run(args).ok();
        assert!(!shown.stdout.is_empty() && shown.stderr.is_empty(), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_profile_that_is_not_there_is_said_and_not_made() {
    for args in SHOWING.iter().chain(PLAIN) {
        let profile = Profile::new(LOOOP);
        profile.run(args).fails(1, "hint: looop init or looop beat makes one");
        assert!(!profile.data().exists(), "{args:?}");
    }
    let profile = Profile::new(LOOOP);
    assert_eq!(profile.run(&["doctor"]).code, 1);
    profile.run(&["answer", "ask-1", "x"]).fails(1, "hint: looop init");
    for args in [
        &["help"][..],
        &["version"],
        &["completions", "bash"],
        &["help", "beat"],
        &["--help"],
        &["--version"],
    ] {
        profile.run(args).ok();
    }
    assert!(!profile.data().exists());
}

#[test]
fn only_a_fresh_profile_is_announced_as_new() {
    let fresh = Profile::new(LOOOP).beat().ok().stdout;
    assert!(fresh.contains("new profile: wrote goals/welcome.md"), "{fresh}");
    let used = Profile::bare(LOOOP).beat().ok().stdout;
    assert!(!used.contains("new profile"), "{used}");
}

#[test]
fn events_are_numbered_versioned_and_can_be_cut() {
    let profile = full();
    let all = profile.run(&["events", "--json"]).ok().stdout;
    let events: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    for name in
        ["seeded", "sensed", "beat_started", "decide_started", "decided", "spend", "intended", "finished"]
    {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for pair in events.windows(2) {
        assert!(pair[0]["seq"].as_u64() <= pair[1]["seq"].as_u64());
    }
    assert!(events.iter().all(|event| event["v"] == 1 && event["ts"].as_str().unwrap().ends_with('Z')));
    let last = events.last().unwrap()["seq"].to_string();
    assert_eq!(profile.run(&["events", "--json", "--since", &last]).ok().stdout, "");
    assert!(profile.run(&["events", "-n", "1", "--json"]).ok().stdout.lines().count() < events.len());
    profile.decide_next(&json!({"action": "noop"}));
    let beat = profile.run(&["beat", "--json"]).ok();
    assert!(beat.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{beat:?}");
}

#[test]
fn wrong_calls_are_usage_errors_and_say_what_is_right() {
    let profile = full();
    let cases: &[(&[&str], &str)] = &[
        (&["frobnicate"], "frobnicate"),
        (&["goal"], "Usage"),
        (&["goal", "lst"], "list"),
        (&["status", "--jsn"], "--json"),
        (&["help", "nonsense"], "hint: looop help lists the verbs"),
        (&["help", "staus"], "did you mean looop status?"),
        (&["help", "goal", "wrte"], "did you mean looop goal write?"),
        (&["goal", "write", "../x", "body"], "\"../x\" cannot be a name"),
        (&["goal", "archive", ".hidden"], "cannot be a name"),
        (&["sensor", "write", "a/b", "#!/bin/sh"], "cannot be a name"),
        (&["schedule", "rm", ""], "cannot be a name"),
        (&["schedule", "write", "s"], "--cron"),
        (&["schedule", "write", "s", "--in", "5m", "--every", "5m"], "cannot be used with"),
        (&["schedule", "write", "s", "--in", "soon"], "soon"),
        (&["schedule", "write", "s", "--in", "5m", "--missed", "never"], "once"),
        (&["pause", "--for", "a while"], "a while"),
        (&["run"], "CMD"),
        (&["answer"], "ASK"),
        (&["completions", "tcl"], "bash"),
        (&["init", "--runner", "claud"], "did you mean claude?"),
    ];
    for (args, said) in cases {
        let ran = profile.run(args).fails(2, said);
        assert!(ran.stdout.is_empty(), "{args:?}: {ran:?}");
        assert_eq!(
            ran.stderr.matches("error:").count(),
            usize::from(args.len() > 1 || args[0] != "goal"),
            "{ran:?}"
        );
    }
}

#[test]
fn refusals_exit_with_1_and_name_what_they_are_about() {
    let profile = full();
    let cases: &[(&[&str], &str)] = &[
        (&["goal", "show", "nope"], "hint: looop goal list"),
        (&["goal", "show", "../PLAYBOOK"], "no goal"),
        (&["goal", "archive", "nope"], "there is no goal nope"),
        (&["sensor", "show", "nope"], "hint: looop sensor list"),
        (&["sensor", "run", "nope"], "hint: looop sensor list"),
        (&["sensor", "rm", "nope"], "there is no sensor nope"),
        (&["schedule", "rm", "nope"], "there is no schedule nope"),
        (&["playbook", "restore", "1999"], "hint: looop playbook history"),
        (&["why", "nope"], "nope"),
        (&["runs", "9"], "hint: looop runs"),
        (&["runs", "../x"], "hint: looop runs"),
        (&["answer", "nope", "x"], "hint: looop asks"),
        (&["answer", "../../x", "x"], "../../x"),
        (&["asks", "dismiss", "nope"], "nope"),
        (&["resume"], "nothing is paused"),
        (&["schedule", "write", "s", "--every", "5s"], "at least 60"),
        (&["schedule", "write", "s", "--cron", "whenever"], "whenever"),
    ];
    for (args, said) in cases {
        let ran = profile.run(args).fails(1, said);
        assert!(ran.stdout.is_empty(), "{args:?}: {ran:?}");
        assert_eq!(ran.stderr.matches("looop: error: ").count(), 1, "said once: {ran:?}");
    }
}

#[test]
fn bodies_come_as_words_or_from_stdin_and_are_never_empty() {
    let profile = Profile::bare(LOOOP);
    let goal = || profile.file("goals/g.md").unwrap_or_default();
    profile.run(&["goal", "write", "g", "two", "words"]).ok();
    assert_eq!(goal(), "two words\n");
    profile.run_with(&["goal", "write", "g", "-"], b"from stdin\n").ok();
    assert_eq!(goal(), "from stdin\n");
    profile.run_with(&["goal", "write", "g"], b"- a list\n- of things").ok();
    assert_eq!(goal(), "- a list\n- of things\n");
    profile.run(&["goal", "write", "g", "--", "- begins with a dash"]).ok();
    assert_eq!(goal(), "- begins with a dash\n");
    profile.run(&["goal", "write", "g", "--", "--- text"]).ok();
    assert_eq!(goal(), "--- text\n");
    for (args, input) in [
        (&["goal", "write", "g"][..], ""),
        (&["goal", "write", "g", "-"], " \n"),
        (&["goal", "write", "g", ""], ""),
    ] {
        profile.run_with(args, input.as_bytes()).fails(1, "is empty, so nothing was written");
    }
    profile.run_with(&["goal", "write", "g"], b"\xff\xfe").fails(1, "not UTF-8");
    profile.run_with(&["goal", "write", "g"], &vec![b'x'; (1 << 20) + 1]).fails(1, "longer than 1 MiB");
    assert_eq!(goal(), "--- text\n");
}

#[test]
fn help_is_never_taken_for_a_body() {
    let profile = Profile::bare(LOOOP);
    for verb in ["playbook", "goal", "sensor", "schedule"] {
        let help = profile.run(&[verb, "write", "--help"]).ok();
        assert!(help.stdout.contains(&format!("Usage: looop {verb} write")), "{help:?}");
    }
    assert_eq!(profile.file("PLAYBOOK.md").unwrap(), "# PLAYBOOK\nBe careful.\n");
    assert_eq!(profile.file("journal.md"), None);
}

#[test]
fn help_names_every_verb_and_each_has_its_own() {
    let profile = Profile::new(LOOOP);
    let help = profile.run(&["help"]).ok().stdout;
    assert_eq!(help, profile.run(&["--help"]).ok().stdout);
    let verbs = [
        "beat",
        "status",
        "why",
        "goal",
        "playbook",
        "sensor",
        "schedule",
        "run",
        "asks",
        "answer",
        "journal",
        "events",
        "runs",
        "pause",
        "resume",
        "init",
        "doctor",
        "completions",
        "version",
        "help",
    ];
    for verb in verbs {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))),
            "{verb} in {help}"
        );
        let own = profile.run(&["help", verb]).ok().stdout;
        assert!(own.contains(&format!("Usage: looop {verb}")), "{own}");
        assert_eq!(own, profile.run(&[verb, "--help"]).ok().stdout);
        for shell in ["bash", "zsh", "fish"] {
            assert!(profile.run(&["completions", shell]).ok().stdout.contains(verb));
        }
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    assert!(profile.run(&["help", "config"]).ok().stdout.contains("max_daily_usd"));
    assert!(profile.run(&["help", "goal", "write"]).ok().stdout.contains("Usage: looop goal write"));
    let version = format!("looop {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(profile.run(&["version"]).ok().stdout, version);
    for flag in ["--version", "-V"] {
        assert_eq!(profile.run(&[flag]).ok().stdout, version);
        assert_eq!(profile.run(&["--data-dir", "/nowhere", flag]).ok().stdout, version);
    }
}

#[test]
fn run_shows_the_output_and_exits_with_the_commands_code() {
    let profile = Profile::bare(LOOOP).env("LOOOP_SHELL_TIMEOUT_SECS", "1");
    assert_eq!(
        profile.run(&["run", "echo", "a  b", "it's", "$HOME", "*", "-n"]).ok().stdout,
        "a  b it's $HOME * -n\n"
    );
    assert_eq!(profile.run(&["run", "echo one; echo two >&2; pwd"]).ok().stdout.lines().count(), 3);
    assert_eq!(profile.run(&["run", "exit 7"]).code, 7);
    assert_eq!(profile.run(&["run", "kill -9 $$"]).code, 137);
    assert_eq!(profile.run(&["run", "printf", "%s", "--json"]).ok().stdout, "--json");
    assert_eq!(profile.run(&["run", "printf '\\377'"]).code, 0);
    profile.run(&["run", "sleep 3600"]).fails(124, "passed its deadline");
    let value = profile.run(&["run", "--json", "echo", "x"]).ok().json();
    assert_eq!((&value["output"], &value["outcome"]["result"]), (&json!("x\n"), &json!("done")));
    assert_eq!(profile.survivors(), Vec::<String>::new());
}

#[test]
fn pause_stops_deciding_and_resume_goes_on() {
    let profile = Profile::bare(LOOOP).goal("x", "---\ncheck: test -e X\nrun: touch X\n---\n");
    profile.run(&["pause", "--for", "2h"]).ok();
    assert!(profile.beat().ok().stdout.contains("paused until"));
    assert!(!profile.data().join("X").exists());
    assert!(profile.run(&["status"]).ok().stdout.contains("paused until"));
    profile.run(&["resume"]).ok();
    profile.run(&["pause"]).ok();
    assert!(profile.beat().ok().stdout.contains("paused until `looop resume`"));
    profile.run(&["resume"]).ok();
    profile.beat().ok();
    assert!(profile.data().join("X").exists());
}

#[test]
fn why_tells_the_chain_of_the_last_beat_and_of_a_goal() {
    let profile = full();
    let why = profile.run(&["why"]).ok().stdout;
    for part in ["you asked for it", "+ goal:ship", "fake", "looop runs 000001", "asked: Which one?"] {
        assert!(why.contains(part), "{part} in {why}");
    }
    let goal = profile.run(&["why", "ship"]).ok().stdout;
    assert!(goal.contains("ask-1") || goal.contains("only a model can serve it"), "{goal}");
    let list = profile.run(&["goal", "list", "--json"]).ok().json();
    assert_eq!((&list[0]["id"], &list[0]["title"]), (&json!("ship"), &json!("Ship it")));
}

#[test]
fn doctor_finds_what_is_wrong_and_says_the_fix() {
    let healthy = full();
    assert_eq!(healthy.run(&["doctor"]).ok().stdout.matches("fix:").count(), 0);
    let ill = Profile::bare(LOOOP)
        .goal("odd", "---\nevery: soon\n---\n")
        .config("default = \"agent\"\n[runners.agent]\ntick = \"nonexistent-agent -p\"\n");
    ill.write("schedules/broken.json", "{");
    let ran = ill.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    for part in ["nonexistent-agent is not on your PATH", "every: \"soon\"", "schedules/broken.json"] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    set_mode(&ill.data().join("goals"), 0o777);
    assert!(ill.run(&["doctor"]).stdout.contains("fix: chmod "));
    let findings = ill.run(&["doctor", "--json"]).json();
    assert!(findings.as_array().unwrap().iter().any(|finding| finding["fix"].is_string()));
}

#[test]
fn init_finds_the_installed_agent_and_leaves_what_is_there() {
    let profile = Profile::new(LOOOP);
    let bin = profile.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    write_program(&bin.join("claude"), "#!/bin/sh\necho '{\"action\":\"noop\"}'\n");
    let profile = profile.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let said = profile.run(&["init"]).ok().stdout;
    assert!(said.contains("claude decides") && said.contains("next: looop beat"), "{said}");
    let config = profile.file("config.toml").unwrap();
    let status = profile.run(&["status"]).ok().stdout;
    assert!(status.contains("claude"), "{status}");
    assert!(profile.run(&["init", "--runner", "builtin"]).ok().stdout.contains("left as it is"));
    assert_eq!(profile.file("config.toml").unwrap(), config);

    let without = Profile::new(LOOOP).env("PATH", "/usr/bin:/bin");
    assert!(without.run(&["init"]).ok().stdout.contains("builtin decides"));
    without.beat().ok();
    assert!(without.file("reports/welcome.md").is_some() || without.file("reports/disk.txt").is_some());
    let chosen = Profile::new(LOOOP).env("PATH", "/usr/bin:/bin");
    assert!(chosen.run(&["init", "--runner", "codex"]).ok().stdout.contains("codex is not on your PATH yet"));
}

#[test]
fn a_reader_that_goes_away_ends_a_verb_quietly() {
    let profile = full();
    for args in SHOWING
        .iter()
        .chain(PLAIN)
        .chain([&["help"][..], &["completions", "bash"], &["beat", "--dry-run"]].iter())
    {
        let mut child = profile.start(args);
        drop(child.stdout.take());
        let ran = finish(child);
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("error"), "{args:?}: {ran:?}");
        assert!([0, 141].contains(&ran.code), "{args:?}: {ran:?}");
    }
    let mut child = profile.start(&["events", "--json"]);
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1]).unwrap();
    drop(stdout);
    assert_eq!(finish(child).stderr, "");
}

#[test]
fn no_verb_panics_without_any_stream() {
    let profile = full();
    let quoted = |args: &[&str]| args.iter().map(|arg| format!("'{arg}'")).collect::<Vec<_>>().join(" ");
    for args in
        SHOWING.iter().chain(PLAIN).chain([&["beat"][..], &["goal", "write", "g"], &["run", "true"]].iter())
    {
        let mut command = profile.command::<&str>(&[]);
        let line = format!("'{LOOOP}' {} <&- >&- 2>&-", quoted(args));
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(line).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null());
        let code = shell.status().unwrap().code();
        assert!(code.is_some_and(|code| code != 101 && code < 128 || code == 141), "{args:?}: {code:?}");
    }
}

#[test]
fn another_profile_is_named_by_flag_or_variable_and_a_broken_one_is_refused() {
    let profile = Profile::new(LOOOP);
    let other = profile.outside().join("other");
    profile.run(&["--data-dir", other.to_str().unwrap(), "goal", "write", "g", "text"]).ok();
    assert!(other.join("goals/g.md").exists() && !profile.data().exists());
    profile.run(&["goal", "write", "--data-dir", "relative", "g", "text"]).ok();
    assert!(profile.outside().join("relative/goals/g.md").exists());
    let broken = Profile::bare(LOOOP).config("defualt = \"builtin\"\n");
    broken.run(&["beat"]).fails(1, "default");
    assert_eq!(broken.run(&["status"]).fails(1, "defualt").stdout, "");
}

#[test]
fn a_number_of_lines_is_a_number_of_lines() {
    let profile = Profile::bare(LOOOP).goal("x", "---\ncheck: test -e X\nrun: touch X\n---\n");
    for _ in 0..3 {
        profile.beat().ok();
        profile.run(&["run", "true"]).ok();
    }
    for most in ["0", "1", "3"] {
        let count: usize = most.parse().expect("a number");
        assert_eq!(profile.run(&["events", "-n", most]).ok().stdout.lines().count(), count);
        assert_eq!(profile.run(&["events", "-n", most, "--json"]).ok().stdout.lines().count(), count);
        let journal = profile.run(&["journal", "-n", most]).ok();
        assert_eq!((journal.stdout.lines().count(), journal.stderr.as_str()), (count, ""));
    }
}
