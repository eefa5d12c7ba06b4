//! What a sensor can do, and what the loop makes of it.

#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test that fails says where")]

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, set_mode};
use looop_sim::waiting::HANGS;
use serde_json::{Value, json};

fn bare() -> Profile {
    Profile::bare(env!("CARGO_BIN_EXE_looop"))
}

/// Puts a file into `sensors/` as it is.
fn put(profile: &Profile, name: &str, bytes: impl AsRef<[u8]>, mode: u32) {
    profile.write(&format!("sensors/{name}"), bytes);
    set_mode(&profile.data().join("sensors").join(name), mode);
}

/// The reading that the last beat left.
#[track_caller]
fn reading(profile: &Profile, name: &str) -> Value {
    let path = format!("snapshots/sensor-{name}.json");
    let text = profile.file(&path).unwrap_or_else(|| panic!("no {path}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
}

fn error(kind: &str, code: i32) -> Value {
    json!({"error": true, "kind": kind, "exit_code": code})
}

/// A beat, and what it noted as changed: nothing at all where the log did not grow.
#[track_caller]
fn changes(profile: &Profile) -> Vec<String> {
    let before = profile.lines().len();
    profile.beat().ok();
    let news = profile.lines().split_off(before).into_iter().flat_map(|line| line.entries);
    let noted = |entry| match entry {
        Entry::Saw { readings, .. } => readings.into_keys().collect(),
        Entry::SensorChanged { .. } => Vec::new(),
        Entry::Skipped { changes, .. } => changes.iter().map(|change| change.item.clone()).collect(),
        other => panic!("{other:?}"),
    };
    news.flat_map(|entry| -> Vec<String> { noted(entry) }).collect()
}

/// Every way to end, with its signal and a part of its message.
fn endings() -> Vec<(&'static str, &'static [u8], u32, Value, &'static str)> {
    let sh = 0o700;
    vec![
        ("exit", b"#!/bin/sh\nexit 3", sh, error("exit", 3), "exited with 3"),
        ("exit-printed", b"#!/bin/sh\necho '{}'; exit 1", sh, error("exit", 1), "exited with 1"),
        ("signal", b"#!/bin/sh\nkill -9 $$", sh, error("signal", 137), "signal 9"),
        (
            "late",
            b"#!/bin/sh\n# looop:timeout=200ms\necho '{}'; sleep 1000",
            sh,
            error("timeout", 124),
            "deadline",
        ),
        ("much", b"#!/bin/sh\nprintf '%9000s' 1", sh, error("too-large", 0), "8192 bytes"),
        ("cap", b"#!/bin/sh\n# looop:max_bytes=4\nprintf 12345", sh, error("too-large", 0), "4 bytes"),
        ("words", b"#!/bin/sh\necho hello", sh, error("not-json", 0), "not one JSON value"),
        ("two", b"#!/bin/sh\necho '{}'; echo '{}'", sh, error("not-json", 0), "trailing"),
        ("cut", b"#!/bin/sh\necho '{\"signal\":'", sh, error("not-json", 0), "not one JSON value"),
        ("bytes", b"#!/bin/sh\nprintf '\"\\377\"'", sh, error("not-json", 0), "not UTF-8 at byte 1"),
        ("nothing", b"#!/bin/sh\nprintf ''", sh, error("empty", 0), "printed nothing"),
        ("blank", b"#!/bin/sh\nprintf ' \\r\\n'", sh, error("empty", 0), "printed nothing"),
        ("no-exec", b"#!/bin/sh\necho '{}'", 0o600, error("spawn", 126), "chmod u+x"),
        ("no-line", b"echo '{}'", sh, error("spawn", 126), "could not be started"),
        ("no-shell", b"#!/no/such/shell\n", sh, error("spawn", 126), "could not be started"),
        ("header", b"#!/bin/sh\n# looop:intervall=5\necho 1", sh, error("spawn", 126), "intervall"),
        ("header-value", b"#!/bin/sh\n# looop:timeout=soon\necho 1", sh, error("spawn", 126), "soon"),
        ("crlf", b"#!/bin/sh\nprintf '{\"signal\":1}\\r\\n'", sh, json!(1), ""),
        ("bom", b"#!/bin/sh\nprintf '\\357\\273\\277{\"signal\":2}'", sh, json!(2), ""),
        ("whole", b"#!/bin/sh\necho '{\"a\":1}'", sh, json!({"a": 1}), ""),
        ("number", b"#!/bin/sh\necho 7", sh, json!(7), ""),
        ("null", b"#!/bin/sh\necho null", sh, json!(null), ""),
        ("full", b"#!/bin/sh\nprintf '%8192s' 1", sh, json!(1), ""),
        ("no-cap", b"#!/bin/sh\n# looop:max_bytes=0\nprintf '%9000s' 1", sh, json!(1), ""),
    ]
}

#[test]
fn every_ending_has_its_reading_and_is_said_once() {
    let profile = bare();
    for (name, script, mode, ..) in endings() {
        put(&profile, name, script, mode);
    }
    profile.beat().ok();
    for (name, _, _, signal, message) in endings() {
        let reading = reading(&profile, name);
        assert_eq!(reading["signal"], signal, "{name}: {reading}");
        assert_eq!(reading["failed"].as_bool().unwrap_or(false), !message.is_empty(), "{name}: {reading}");
        let said = reading["detail"]["message"].as_str().unwrap_or("");
        assert!(said.contains(message), "{name}: {reading}");
    }
    assert_eq!(changes(&profile), Vec::<String>::new(), "the same failures do not wake again");
    let failing = profile.run(&["status", "--json"]).ok().json()["failing"].clone();
    let expected: Vec<&str> =
        endings().into_iter().filter(|ending| !ending.4.is_empty()).map(|ending| ending.0).collect();
    let mut failing: Vec<&str> =
        failing.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    failing.sort_by_key(|name| expected.iter().position(|known| known == name));
    assert_eq!(failing, expected);
}

#[test]
fn run_shows_what_the_loop_would_see() {
    let profile = bare();
    for (name, script, mode, signal, message) in endings() {
        put(&profile, name, script, mode);
        let ran = profile.run(&["sensor", "run", name, "--json"]);
        let failed = !message.is_empty();
        assert_eq!(ran.code, i32::from(failed), "{name}: {ran:?}");
        assert!(ran.stderr.contains(message), "{name}: {ran:?}");
        let seen = ran.json();
        assert_eq!((&seen["signal"], seen["failed"] == json!(true)), (&signal, failed), "{name}");
    }
    assert!(profile.file("snapshots/sensor-exit.json").is_none(), "nothing is stored by it");
    profile.run(&["sensor", "run", "nobody"]).fails(1, "no sensor \"nobody\"");
}

#[test]
fn details_and_the_order_of_keys_do_not_wake() {
    let profile = bare()
        .sensor("detail", r#"n=$(cat n 2>/dev/null); echo "$n." >n; echo "{\"signal\":1,\"detail\":\"$n\"}""#)
        .sensor(
            "order",
            r#"[ -e o ] && echo '{"b":{"d":2,"c":1},"a":0}' || echo '{"a":0,"b":{"c":1,"d":2}}'; : >o"#,
        )
        .sensor("stderr", "date +%N >&2; exit 4");
    profile.beat().ok();
    assert_eq!(changes(&profile), Vec::<String>::new());
    assert_eq!(reading(&profile, "detail")["detail"], json!("."), "the snapshot has the newest detail");
    put(&profile, "stderr.sh", "#!/bin/sh\nexit 5", 0o700);
    assert_eq!(changes(&profile), ["stderr", "reading:stderr"], "another exit code is another failure");
}

#[test]
fn an_error_reading_keeps_the_last_good_one() {
    let profile = bare().sensor("ci", r#"echo '{"signal":{"red":1},"detail":"x"}'"#);
    profile.beat().ok();
    assert_eq!(reading(&profile, "ci"), json!({"signal": {"red": 1}, "detail": "x", "trust": "external"}));
    let profile = profile.sensor("ci", "echo broken >&2; exit 9");
    for _ in 0..2 {
        profile.beat().ok();
        let detail = reading(&profile, "ci")["detail"].clone();
        assert_eq!(detail["last_good"], json!({"red": 1}), "{detail}");
        assert_eq!((&detail["stderr"], &detail["message"]), (&json!("broken\n"), &json!("exited with 9")));
        assert!(detail["last_good_age_s"].is_u64(), "{detail}");
    }
}

#[test]
fn a_young_reading_is_used_again_until_its_interval_is_over() {
    let script = "# looop:interval=1h\necho run >>runs.txt; echo '{\"signal\":1}'";
    let profile = bare().sensor("slow", script);
    let runs = || profile.file("runs.txt").unwrap_or_default().lines().count();
    for _ in 0..3 {
        profile.beat().ok();
    }
    assert_eq!(runs(), 1);
    let snapshot = profile.data().join("snapshots/sensor-slow.json");
    let two_hours_ago = SystemTime::now() - Duration::from_hours(2);
    fs::File::options().write(true).open(&snapshot).unwrap().set_modified(two_hours_ago).unwrap();
    for _ in 0..3 {
        profile.beat().ok();
    }
    assert_eq!(runs(), 2, "a reading that was taken again and is the same is young again");
    let in_a_day = SystemTime::now() + Duration::from_hours(24);
    fs::File::options().write(true).open(&snapshot).unwrap().set_modified(in_a_day).unwrap();
    profile.beat().ok();
    assert_eq!(runs(), 3, "a reading from the future has no known age");
}

#[test]
fn a_sensor_that_vanishes_takes_its_reading_with_it() {
    let profile = bare().sensor("weather", "echo 1").sensor("stays", "echo 2");
    profile.beat().ok();
    fs::remove_file(profile.data().join("sensors/weather.sh")).unwrap();
    assert_eq!(changes(&profile), ["weather", "reading:weather"]);
    assert!(profile.file("snapshots/sensor-weather.json").is_none());
    assert_eq!(reading(&profile, "stays")["signal"], json!(2));
    let brief = profile.run(&["beat", "--dry-run"]).ok().stdout;
    assert!(brief.contains("stays") && !brief.contains("weather"), "{brief}");
}

#[test]
fn the_owner_may_vouch_for_a_sensor() {
    let profile = bare().sensor("mine", "# looop:trust=owner\necho 1").sensor("theirs", "echo 1");
    profile.beat().ok();
    assert_eq!(reading(&profile, "mine")["trust"], "owner");
    assert_eq!(reading(&profile, "theirs")["trust"], "external");
}

#[test]
fn odd_files_are_named_or_left_alone() {
    let profile = bare().sensor("good", "echo 1");
    let script = "#!/bin/sh\ntouch \"$LOOOP_DATA_DIR/ran-$(basename \"$0\")\"; echo 1";
    for name in ["two words", "new\nline", "\u{fc}nicode", "-dash", &"x".repeat(65)] {
        put(&profile, name, script, 0o700);
    }
    for name in [".hidden", "back~", "old.bak", "old.orig", ".x.swp", "x.swp"] {
        put(&profile, name, script, 0o700);
    }
    put(&profile, "twin.sh", "#!/bin/sh\necho 1", 0o700);
    put(&profile, "twin.py", "#!/bin/sh\necho 2", 0o700);
    let sensors = profile.data().join("sensors");
    fs::create_dir(sensors.join("folder")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, sensors.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    std::os::unix::fs::symlink("good.sh", sensors.join("inside")).unwrap();
    std::os::unix::fs::symlink("/bin/date", sensors.join("outside")).unwrap();
    std::os::unix::fs::symlink("loop", sensors.join("loop")).unwrap();

    profile.beat().ok();
    assert_eq!(changes(&profile), Vec::<String>::new());
    let ran: Vec<_> =
        profile.tree().into_keys().filter(|path| path.to_string_lossy().contains("ran-")).collect();
    assert!(ran.is_empty(), "{ran:?}");
    let table = [
        ("twin", "twin.py, twin.sh are two sensors of one name"),
        ("folder", "sensors/folder is a folder"),
        ("pipe", "sensors/pipe is a named pipe"),
        ("outside", "leads out of the profile"),
        ("loop", "leads to itself"),
    ];
    for (name, message) in table {
        let reading = reading(&profile, name);
        assert_eq!(reading["signal"], error("spawn", 126), "{name}");
        assert!(reading["detail"]["message"].as_str().unwrap().contains(message), "{name}: {reading}");
    }
    assert_eq!(reading(&profile, "inside")["signal"], json!(1), "a link inside the profile is fine");
    let status = profile.run(&["status"]).ok().stdout;
    for shown in ["two words", "new\\nline", "\\u{fc}nicode", "-dash", "xxxxx"] {
        assert!(
            status.lines().any(|line| line.contains(shown) && line.contains("cannot be used")),
            "{status}"
        );
    }
    for left in ["hidden", "sensors/back", "sensors/old", "swp"] {
        assert!(!status.contains(left), "{status}");
    }
}

/// Ways to leave a process behind; `$LOOOP_DATA_DIR` marks all of them.
const LEAVERS: [(&str, &str); 8] = [
    ("fork", "sleep 1000 >/dev/null 2>&1 &"),
    ("holds-stdout", "sleep 1000 &"),
    ("setsid", "setsid sleep 1000 >/dev/null 2>&1 &"),
    ("double", "(setsid sh -c 'sleep 1000 & sleep 1000 & exit' >/dev/null 2>&1 &)"),
    ("nohup", "nohup sleep 1000 >/dev/null 2>&1 &"),
    ("deaf", "trap '' TERM HUP INT; (trap '' TERM HUP INT; while :; do sleep 1000; done) >/dev/null 2>&1 &"),
    ("clean-env", "env -i setsid /bin/sh -c 'sleep 1000; :' \"$LOOOP_DATA_DIR\" >/dev/null 2>&1 &"),
    ("tree", "(for i in 1 2 3; do (setsid sh -c 'sleep 1000; :' & sleep 1000) & done) >/dev/null 2>&1 &"),
];

/// Living processes that carry the profile's path in arguments or environment.
fn survivors(profile: &Profile) -> Vec<String> {
    let mark = profile.data().into_os_string().into_encoded_bytes();
    let carries = |path: &Path, file: &str| {
        let bytes = fs::read(path.join(file)).unwrap_or_default();
        bytes.windows(mark.len()).any(|part| part == mark)
    };
    let dead = |path: &Path| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with(['Z', 'X']))
    };
    let is_process =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
    let all =
        fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()).filter(|path| is_process(path));
    all.filter(|path| (carries(path, "cmdline") || carries(path, "environ")) && !dead(path))
        .map(|path| {
            format!("{} {}", path.display(), fs::read_to_string(path.join("cmdline")).unwrap_or_default())
        })
        .collect()
}

#[test]
fn nothing_survives_a_sensor_or_command_that_ends_by_itself() {
    let mut profile = bare();
    for (name, leave) in LEAVERS {
        profile = profile.sensor(name, &format!("{leave}\necho '{{\"signal\":\"{name}\"}}'"));
    }
    profile.beat().ok();
    for (name, _) in LEAVERS {
        assert_eq!(reading(&profile, name)["signal"], json!(name));
    }
    assert_eq!(survivors(&profile), Vec::<String>::new());
    // The last look and the last fork can meet: once is not enough to see it.
    for _ in 0..10 {
        profile.run(&["sensor", "run", "double"]).ok();
        profile.run(&["run", LEAVERS[3].1]).ok();
    }
    assert_eq!(survivors(&profile), Vec::<String>::new());
}

#[test]
fn nothing_survives_a_sensor_that_passes_its_deadline() {
    // The first deadline by which all have left their processes.
    let enough = ["1500ms", "15s", "150s"].into_iter().any(|timeout| {
        let mut profile = bare();
        for (name, leave) in LEAVERS {
            let script =
                format!("# looop:timeout={timeout}\n{leave}\n: >begun-{name}\nwhile :; do sleep 1000; done");
            profile = profile.sensor(name, &script);
        }
        profile.beat().ok();
        assert_eq!(survivors(&profile), Vec::<String>::new());
        for (name, _) in LEAVERS {
            assert_eq!(reading(&profile, name)["signal"], error("timeout", 124), "{name}");
        }
        LEAVERS.iter().all(|(name, _)| profile.file(&format!("begun-{name}")).is_some())
    });
    assert!(enough, "some had left no processes");
}

#[test]
fn output_without_end_is_discarded_as_it_comes() {
    let profile = bare()
        .sensor("out", "head -c 300000000 /dev/zero; exit 0")
        .sensor("err", "head -c 300000000 /dev/zero >&2; exit 6")
        .sensor("endless", "# looop:timeout=1s\nwhile :; do echo '{\"signal\":1}'; done");
    let beat = profile.run_bounded(&["beat"], HANGS).expect("the beat ends");
    beat.ok();
    assert_eq!(reading(&profile, "out")["signal"], error("too-large", 0));
    assert_eq!(reading(&profile, "err")["signal"], error("exit", 6));
    assert_eq!(reading(&profile, "endless")["signal"], error("timeout", 124));
    let most = profile.tree().values().map(Vec::len).max().unwrap();
    assert!(most < 64 << 10, "{most} bytes of it are stored");
}

#[test]
fn sensors_run_together_and_not_too_many_of_them() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut profile = bare();
    fs::create_dir(profile.data().join("now")).unwrap();
    let count =
        ": >now/$$; ls now | wc -l >>counts; sh -c : ; sh -c :; ls now | wc -l >>counts; rm now/$$; echo 1";
    for n in 0..38 {
        profile = profile.sensor(&format!("s{n}"), count);
    }
    // Each of the two waits for the other: one after the other they would never end.
    profile = profile.sensor("a-reads", "read -r word <meet; echo \"\\\"$word\\\"\"");
    profile = profile.sensor("a-writes", "echo met >meet; echo 1");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        profile.data().join("meet"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    profile.beat().ok();
    assert_eq!(reading(&profile, "a-reads")["signal"], json!("met"));
    let counts = profile.file("counts").unwrap();
    let counts: Vec<usize> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(counts.len(), 76);
    assert!(counts.iter().all(|count| *count <= 2 * cores), "{counts:?} with {cores} cores");
}

#[test]
fn a_sensor_sees_the_persons_environment_and_ours() {
    let script = r#"printf '{"home":"%s","mine":"%s","data":"%s","reports":"%s","claims":"%s","cwd":"%s","stdin":"%s","bin":"%s"}' \
        "$HOME" "$MY_TOKEN" "$LOOOP_DATA_DIR" "$LOOOP_REPORTS_DIR" "$LOOOP_CLAIMS_DIR" "$(pwd -P)" "$(cat)" "$LOOOP_BIN""#;
    let profile = bare().env("MY_TOKEN", "secret").sensor("env", script);
    profile.beat().ok();
    let (data, home) = (profile.data(), profile.outside().join("home"));
    let seen = reading(&profile, "env")["signal"].clone();
    assert_eq!(seen["mine"], "secret");
    assert_eq!(seen["home"], home.to_str().unwrap());
    assert_eq!(seen["data"], data.to_str().unwrap());
    assert_eq!(seen["cwd"], data.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(seen["reports"], data.join("reports").to_str().unwrap());
    assert_eq!(seen["claims"], data.join("claims").to_str().unwrap());
    assert_eq!(seen["stdin"], "");
    let bin = fs::canonicalize(seen["bin"].as_str().unwrap()).unwrap();
    assert_eq!(bin, fs::canonicalize(profile.binary()).unwrap());
}
