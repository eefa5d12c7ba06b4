//! The profile: who may write it, where it is, what is put into it, and what older versions left there.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use looop_sim::profile::{Profile, Ran, set_mode, write_program};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_looop");
const NOBODY: u32 = 65534;

fn bare() -> Profile {
    Profile::bare(BINARY)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Calls the binary under a umask.
fn under(profile: &Profile, umask: &str, args: &[&str]) -> Ran {
    let mut line = vec!["-c", "umask \"$0\"; exec \"$@\"", umask, BINARY];
    line.extend(args);
    let plain = profile.command::<&str>(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(line).env_clear().current_dir(profile.outside());
    shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    for umask in ["000", "077", "027"] {
        let profile = Profile::new(BINARY);
        let call = |args: &[&str]| under(&profile, umask, args).ok().stdout;
        // A fresh profile is seeded and served; then every kind of file is made once.
        for _ in 0..3 {
            call(&["beat"]);
        }
        call(&["playbook", "write", "# mine"]);
        call(&["goal", "write", "prose", "Be well."]);
        call(&["sensor", "write", "one", "#!/bin/sh\necho 1"]);
        call(&["schedule", "write", "soon", "--in", "1h"]);
        call(&["goal", "archive", "prose"]);
        call(&["init", "--runner", "builtin"]);
        assert_eq!(
            call(&["run", "stat -c %a sock sessions/*/sock"]),
            "600\n600\n",
            "sockets, while they are there"
        );
        let profile = profile.decider(&json!({"action": "ask_human", "prompt": "Well?"}));
        let call = |args: &[&str]| under(&profile, umask, args).ok().stdout;
        call(&["beat"]);
        let ask = profile.run(&["asks", "--json"]).ok().json()[0]["id"].as_str().unwrap().to_owned();
        call(&["answer", &ask, "yes"]);
        profile.decide_next(&json!({"action": "run_shell", "cmd": "echo done"}));
        call(&["beat"]);

        let mut seen = Vec::new();
        for path in profile.tree().into_keys() {
            let below = path.strip_prefix(profile.data()).unwrap().to_str().unwrap().to_owned();
            // What a recipe writes is the recipe's business; what the test wrote is not ours.
            if below.starts_with("reports/") || below == "config.toml" {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let sensor = below.starts_with("sensors/") && meta.is_file();
            let expected = if meta.is_dir() || sensor { 0o700 } else { 0o600 };
            assert_eq!(meta.permissions().mode() & 0o7777, expected, "{below} under {umask}");
            seen.push(below);
        }
        assert_eq!(fs::metadata(profile.data()).unwrap().permissions().mode() & 0o7777, 0o700);
        let kinds =
            ["log/", "runs/", "sessions/move~", "sessions/decide~", "mail.d/", "snapshots/", "playbook.d/2"];
        for kind in kinds.into_iter().chain(["journal.md", "lock", "goals/archive/prose.md", ".gitignore"]) {
            assert!(seen.iter().any(|path| path.starts_with(kind)), "{kind} is not among {seen:#?}");
        }
    }
}

#[test]
fn config_toml_of_init_is_private() {
    let profile = Profile::new(BINARY);
    under(&profile, "000", &["init", "--runner", "builtin"]).ok();
    let mode = fs::metadata(profile.data().join("config.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

/// A profile in which everything that is guarded exists.
fn guarded() -> Profile {
    let profile = bare()
        .goal("g", "---\ncheck: \"false\"\nrun: echo goal >>ran\n---\n")
        .sensor("s", "echo sensor >>ran; echo 1")
        .config("interval = 60\n");
    for folder in ["schedules", "log", "asks", "answers"] {
        profile.write(&format!("{folder}/.keep"), "");
    }
    profile
}

const GUARDED: [&str; 9] =
    ["", "PLAYBOOK.md", "config.toml", "goals", "sensors", "schedules", "log", "asks", "answers"];

#[test]
fn what_others_can_write_is_refused_with_the_command_that_mends_it() {
    for below in GUARDED {
        for (bits, owner) in [(0o020, false), (0o002, false), (0, true)] {
            if owner && !is_root() {
                continue;
            }
            let profile = guarded();
            let path = if below.is_empty() { profile.data() } else { profile.data().join(below) };
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            set_mode(&path, mode | bits);
            if owner {
                std::os::unix::fs::chown(&path, Some(NOBODY), None).unwrap();
            }
            let mut fix = String::new();
            for verb in ["beat", "status"] {
                let ran = profile.run(&[verb]);
                let hint = ran.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or("none");
                let begins = if owner { "chown " } else { "chmod go-w " };
                let right = hint.starts_with(begins) && hint.contains(path.to_str().unwrap());
                // Nobody is told to take over a folder that may be the system's.
                let right =
                    right || owner && below.is_empty() && hint.starts_with("name a folder of your own");
                assert!(ran.code == 1 && right, "{below} {bits:o} {verb}: {ran:?}");
                hint.clone_into(&mut fix);
            }
            assert_eq!(profile.file("ran"), None, "{below}: nothing ran");
            if owner && below.is_empty() {
                continue;
            }
            let mended = std::process::Command::new("sh").args(["-c", &fix]).status().unwrap();
            assert!(mended.success());
            profile.beat().ok();
            assert!(profile.file("ran").is_some(), "{below}: it goes on");
        }
    }
}

#[test]
fn a_sensor_or_goal_that_others_can_write_is_not_run() {
    for (file, runs) in [("sensors/s.sh", "sensor"), ("goals/g.md", "goal"), ("schedules/t.json", "")] {
        let profile = guarded();
        profile.write("schedules/t.json", r#"{"v":1,"at":1}"#);
        let path = profile.data().join(file);
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        set_mode(&path, mode | 0o002);
        profile.run(&["beat"]);
        let ran = profile.file("ran").unwrap_or_default();
        assert!(runs.is_empty() || !ran.contains(runs), "{file}: {ran}");
        let fix = format!("chmod go-w '{}'", path.display());
        let shown = ["status", "why"].map(|verb| profile.run(&[verb]).stdout).concat();
        let reading = profile.run(&["sensor", "run", "s"]).stderr;
        let listed = profile.run(&["schedule", "list"]);
        let all = [shown, reading, listed.stdout, listed.stderr].concat();
        let unbroken = all.replace(['\n', '│', '┆'], " ");
        assert!(unbroken.contains(&fix), "{file}: {fix} is not in {all}");
    }
}

#[test]
fn the_profile_is_where_the_environment_says() {
    let profile = Profile::new(BINARY);
    let outside = profile.outside().to_owned();
    let beat = |set: &[(&str, &str)], args: &[&str]| {
        let mut command = profile.command(args);
        command.env_remove("LOOOP_DATA_DIR").envs(set.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let state = outside.join("state");
    let there = |path: &Path| path.join("log").is_dir();
    beat(&[], &["beat"]);
    assert!(there(&outside.join("home/.local/state/looop")));
    beat(&[("XDG_STATE_HOME", state.to_str().unwrap())], &["beat"]);
    assert!(there(&state.join("looop")));
    beat(&[("LOOOP_DATA_DIR", "near/by")], &["beat"]);
    assert!(there(&outside.join("near/by")));
    beat(&[("LOOOP_DATA_DIR", "near/by")], &["--data-dir", "flag", "beat"]);
    assert!(there(&outside.join("flag")));
    // Children get an absolute path, whatever the person wrote.
    beat(&[("LOOOP_DATA_DIR", "near/by")], &["run", "printf %s \"$LOOOP_DATA_DIR\" >said"]);
    assert_eq!(
        fs::read_to_string(outside.join("near/by/said")).unwrap(),
        outside.join("near/by").to_str().unwrap()
    );
}

#[test]
fn odd_and_long_folder_names_work() {
    let long = ["a-folder-with-a-long-name"; 12].join("/");
    for name in
        ["two words", "it's \"here\"", "new\nline", "\u{fc}n\u{ef}c\u{f6}de \u{1f600}", "$(id);`id`", &long]
    {
        let profile = Profile::named(BINARY, name)
            .playbook("# PLAYBOOK")
            .sensor("s", "echo '{\"signal\":1}'")
            .goal("g", "---\ncheck: test -e reports/x\nrun: touch reports/x\n---\n");
        profile.beat().ok();
        profile.beat().ok();
        assert!(profile.file("reports/x").is_some(), "{name}");
        assert_eq!(profile.run(&["run", "test -S sock && echo yes"]).ok().stdout, "yes\n", "{name}");
        assert!(profile.file("snapshots/sensor-s.json").is_some(), "{name}");
        let decided = profile.decider(&json!({"action": "run_shell", "cmd": "echo x >>decided"}));
        decided.beat().ok();
        assert_eq!(decided.file("box/scratch/decided").as_deref(), Some("x\n"), "{name}");
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/legacy").join(name)
}

#[test]
fn every_form_of_the_config_is_read() {
    let table = [
        ("0.9", "looop.json", "pi"),
        ("0.15", "config.json", "pi"),
        ("0.33", "config.json", "default"),
        ("0.40", "config.json", "default"),
        ("1.1", "config.json", "default"),
    ];
    for (version, name, decider) in table {
        let profile = bare();
        profile.write(name, fs::read(fixture("configs").join(format!("{version}.json"))).unwrap());
        assert_eq!(profile.run(&["status", "--json"]).ok().json()["deciders"], json!([decider]), "{version}");
    }
    let profile = bare();
    for (name, text) in [
        ("looop.json", r#"{"max_daily_usd": 1}"#),
        ("config.json", r#"{"max_daily_usd": 2}"#),
        ("config.toml", "max_daily_usd = 3"),
    ] {
        profile.write(name, text);
        let cap = profile.run(&["status", "--json"]).ok().json()["spend"]["cap_usd"].as_f64();
        let expected = text.chars().find(char::is_ascii_digit).unwrap().to_digit(10).map(f64::from);
        assert_eq!(cap, expected, "{name} is read before the others");
    }
    let elsewhere = profile.outside().join("my.toml");
    fs::write(&elsewhere, "max_daily_usd = 4").unwrap();
    set_mode(&elsewhere, 0o600);
    let profile = profile.env("LOOOP_CONFIG", &elsewhere);
    assert_eq!(profile.run(&["status", "--json"]).ok().json()["spend"]["cap_usd"], json!(4.0));
    let profile = profile.env("LOOOP_MAX_DAILY_USD", "5");
    assert_eq!(profile.run(&["status", "--json"]).ok().json()["spend"]["cap_usd"], json!(5.0));
}

#[test]
fn a_config_that_cannot_be_understood_refuses_to_start() {
    let table = [
        ("config.toml", "intervall = 5", "did you mean `interval`?"),
        ("config.toml", "interval = \"often\"", "interval"),
        ("config.toml", "interval = ", "config.toml:1"),
        ("config.json", r#"{"intervall": 5}"#, "did you mean `interval`?"),
        ("config.json", r#"{"interval": 5"#, "config.json"),
        ("looop.json", "[]", "looop.json"),
        ("config.toml", "[runners.x]\ntikc = \"x\"", "did you mean `tick`?"),
        ("config.toml", "default = \"nobody\"", "nobody"),
    ];
    for (name, text, said) in table {
        let profile = guarded();
        fs::remove_file(profile.data().join("config.toml")).unwrap();
        profile.write(name, text);
        profile.beat().fails(1, said);
        profile.run(&["status"]).fails(1, said);
        assert_eq!(profile.file("ran"), None, "{text}");
    }
    for (name, value, said) in
        [("LOOOP_INTERVAL", "often", "LOOOP_INTERVAL"), ("LOOOP_MAX_WORKERS", "-1", "LOOOP_MAX_WORKERS")]
    {
        guarded().env(name, value).beat().fails(1, said);
    }
    let ran = guarded().env("LOOOP_INTERVALL", "5").beat();
    assert!(ran.stderr.contains("LOOOP_INTERVAL"), "a misspelt variable is said: {ran:?}");
}

/// A copy of an older version's profile, with modes as that version left them.
fn older(version: &str) -> Profile {
    let profile = Profile::new(BINARY);
    copy(&fixture(version), &profile.data());
    for sensor in fs::read_dir(profile.data().join("sensors")).unwrap() {
        set_mode(&sensor.unwrap().path(), 0o755);
    }
    profile
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    set_mode(to, 0o755);
    for entry in fs::read_dir(from).unwrap() {
        let (entry, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
            set_mode(&target, 0o644);
        }
    }
}

#[test]
fn profiles_of_older_versions_open_and_nothing_of_them_is_lost() {
    for version in ["0.15", "1.1.0"] {
        let profile = older(version);
        let before = profile.tree();
        // Their deciders are not installed here; a fake one of that name decides nothing.
        let bin = profile.outside().join("bin");
        fs::create_dir(&bin).unwrap();
        for cli in ["pi", "claude"] {
            write_program(
                &bin.join(cli),
                "#!/bin/sh\necho '{\"action\":\"noop\"}' >\"$LOOOP_DECISION_FILE\"\n",
            );
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let profile = profile.env("PATH", path);
        let verbs: [&[&str]; 7] = [
            &["status"],
            &["goal", "list"],
            &["asks"],
            &["schedule", "list"],
            &["sensor", "list"],
            &["journal"],
            &["why"],
        ];
        for verb in verbs {
            profile.run(verb).ok();
        }
        for _ in 0..3 {
            profile.beat().ok();
        }
        for verb in verbs {
            profile.run(verb).ok();
        }
        let after = profile.tree();
        for (path, bytes) in &before {
            let now = after.get(path).unwrap_or_else(|| panic!("{version}: {path:?} is gone"));
            let ours =
                path.ends_with("journal.md") || path.parent().is_some_and(|p| p.ends_with("snapshots"));
            assert!(now == bytes || ours, "{version}: {path:?} was changed");
            assert!(
                !path.ends_with("journal.md") || now.starts_with(bytes),
                "{version}: the journal was cut"
            );
        }
        let executed =
            after.keys().any(|path| path.to_string_lossy().contains("left-over-decision-was-executed"));
        assert!(!executed, "{version}: a decision that another looop left was executed");
        assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new());
    }
}

#[test]
fn what_an_older_version_knew_is_shown() {
    let profile = older("1.1.0");
    profile.write("config.toml", "default = \"builtin\"");
    let ids = |value: Value| -> Vec<String> {
        let rows = value.as_array().unwrap().clone();
        let name = |row: &Value| {
            let named = [&row["id"], &row["name"], &row["schedule"]["name"]];
            named.into_iter().find_map(Value::as_str).unwrap().to_owned()
        };
        let mut names: Vec<String> = rows.iter().map(name).collect();
        names.sort_unstable();
        names
    };
    let listed = |args: &[&str]| ids(profile.run(args).ok().json());
    assert_eq!(listed(&["goal", "list", "--json"]), ["green-main", "release"]);
    assert_eq!(listed(&["sensor", "list", "--json"]), ["ci", "reviews"]);
    assert_eq!(listed(&["schedule", "list", "--json"]), ["after-release", "call-back", "weekly-review"]);
    assert_eq!(listed(&["asks", "--json"]), ["release-notes-1", "triage-1"]);
    assert!(profile.run(&["journal"]).ok().stdout.contains(profile.file("journal.md").unwrap().trim()));
    profile.run(&["answer", "triage-1", "yes"]).ok();
    profile.run(&["answer", "triage-2", "again"]).fails(1, "answered already");
    profile.beat().ok();
    assert_eq!(listed(&["asks", "--json"]), ["release-notes-1"]);
    let settled = profile.file("mail.d/triage-1.answer.json").expect("a settled answer");
    assert!(settled.contains("yes") && profile.file("mail.d/triage-1.ask.json").is_some());
    assert!(!profile.file("mail.d/triage-1.ask.json").unwrap().is_empty());
}

#[test]
fn a_fresh_profile_is_seeded_once() {
    let profile = Profile::new(BINARY);
    profile.beat().ok();
    let seeds = ["PLAYBOOK.md", "sensors/today.sh", "goals/welcome.md", "goals/disk-report.md"];
    for file in seeds {
        assert!(profile.file(file).is_some_and(|text| !text.is_empty()), "{file}");
    }
    for file in seeds {
        fs::remove_file(profile.data().join(file)).unwrap();
    }
    for _ in 0..2 {
        profile.beat().ok();
    }
    for file in seeds {
        assert_eq!(profile.file(file), None, "{file} came back");
    }
}

#[test]
fn a_persons_files_are_never_joined_by_seeds() {
    for (file, text) in
        [("PLAYBOOK.md", "mine"), ("goals/mine.md", "mine"), ("sensors/mine.sh", "#!/bin/sh\necho 1")]
    {
        let profile = Profile::new(BINARY);
        profile.write(file, text);
        profile.run(&["beat"]);
        for seed in ["PLAYBOOK.md", "sensors/today.sh", "goals/welcome.md", "goals/disk-report.md"] {
            let expected = (seed == file).then(|| text.to_owned());
            assert_eq!(profile.file(seed), expected, "{seed} beside {file}");
        }
    }
}

#[test]
fn read_verbs_create_nothing() {
    let verbs: [&[&str]; 14] = [
        &["status"],
        &["why"],
        &["goal", "list"],
        &["goal", "show", "x"],
        &["playbook", "show"],
        &["playbook", "history"],
        &["sensor", "list"],
        &["sensor", "run", "s"],
        &["schedule", "list"],
        &["asks"],
        &["journal"],
        &["events"],
        &["runs"],
        &["doctor"],
    ];
    let fresh = Profile::new(BINARY);
    for verb in verbs {
        let ran = fresh.run(verb);
        assert!(ran.code <= 1, "{verb:?}: {ran:?}");
        assert!(!fresh.data().exists(), "{verb:?} made the profile");
    }
    fresh.run(&["status"]).fails(1, "there is no profile at");
    let profile = bare().sensor("s", "echo 1");
    let before = profile.tree();
    for verb in verbs {
        profile.run(verb);
        assert_eq!(profile.tree(), before, "{verb:?}");
    }
}
