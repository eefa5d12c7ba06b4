//! Reaching beyond one's own: typing into the person's terminal, sensors without bounds, and verbs that are the person's.

use serde_json::json;

use super::field::Field;

/// The person's own shell, in which whatever is typed runs with their rights.
#[test]
fn nothing_is_typed_into_the_persons_own_worker_unasked() {
    let field = Field::new("");
    let mark = field.profile.outside().join("typed");
    let typed = format!("touch '{}'\n", mark.display());
    let shell = format!("read -r line; eval \"$line\"; echo over > '{}.over'", mark.display());
    field.profile.run(&["worker", "start", "shell", "--command", &shell]).ok();
    let moves = [
        json!({"action": "steer_session", "id": "shell", "input": typed}),
        json!({"action": "steer_session", "id": "shell", "input": typed, "goal": "person"}),
        json!({"action": "send_key", "id": "shell", "keys": ["t", "Enter"]}),
    ];
    for action in moves {
        let said = field.beat(&action);
        assert!(said.contains("waits for your yes") || said.contains("waits already"), "{said}");
    }
    assert!(!mark.exists() && !field.profile.outside().join("typed.over").exists());
    let shown = field.profile.run(&["asks"]).ok().stdout;
    assert!(shown.contains("you started this worker"), "{shown}");
    field.profile.run(&["kill", "shell", "--force"]).ok();
}

/// Headers of a decider's sensor can only ask for less.
#[test]
fn the_headers_of_a_deciders_sensor_only_narrow() {
    let field = || Field::new("sensor_timeout = 1\nsensor_max_bytes = 1000\npolicy = \"open\"");
    let write = |name: &str, script: &str| json!({"action": "write_sensor", "name": name, "script": script});
    let said = field().beat(&write("hangs", "#!/bin/sh\n# looop:timeout=0\nsleep 60\n"));
    assert!(said.contains("did not end within its deadline"), "{said}");
    let large = "#!/bin/sh\n# looop:max_bytes=0\nhead -c 5000000 /dev/zero | tr '\\0' 'a'\n";
    let said = field().beat(&write("large", large));
    assert!(said.contains("printed more than its cap of 1000 bytes"), "{said}");
    let field = field();
    field.beat(&write("trusted", "#!/bin/sh\n# looop:trust=owner\necho '{\"signal\":1}'\n"));
    field.beat(&json!({"action": "noop"}));
    let reading = field.profile.file("snapshots/sensor-trusted.json").unwrap();
    assert!(reading.contains("external"), "{reading}");
}

/// Verbs that write policy, configuration or services, and that spend or ask for another session.
#[test]
fn a_worker_writes_no_policy_and_no_service_and_spends_for_itself_alone() {
    let field = Field::new("");
    let outside = field.profile.outside().to_owned();
    let tries = [
        ("grant", "\"$LOOOP_BIN\" init --grant gh"),
        ("other", "\"$LOOOP_BIN\" --data-dir OUT/fresh init"),
        ("service", "XDG_CONFIG_HOME=OUT/config \"$LOOOP_BIN\" service install"),
        ("gone", "XDG_CONFIG_HOME=OUT/config \"$LOOOP_BIN\" service uninstall"),
        ("spend", "\"$LOOOP_BIN\" cost record --usd 5 --session other~1"),
        ("forged", "LOOOP_SESSION_ID=other~1 \"$LOOOP_BIN\" cost record --usd 5"),
        ("ask", "\"$LOOOP_BIN\" ask other~1 --prompt 'May I?' --timeout 0"),
        ("propose", "echo '{\"action\":\"noop\"}' | \"$LOOOP_BIN\" propose - --session other~1"),
    ];
    let lines = tries.map(|(name, cmd)| format!("{cmd} > OUT/{name}.said 2>&1; echo $? > OUT/{name}\n"));
    let script = lines.concat().replace("OUT", &outside.to_string_lossy());
    let own = format!("\"$LOOOP_BIN\" cost record --usd 0.5; echo $? > '{}/own'\n", outside.display());
    std::fs::write(outside.join("tries.sh"), script + &own).unwrap();
    let cmd = format!("bash '{}/tries.sh'", outside.display());
    let policy = field.profile.file("policy.toml");
    field.profile.run(&["worker", "start", "evil", "--command", &cmd]).ok();
    field.profile.run(&["wait", "evil", "--timeout", "120s"]);
    let read = |name: &str| std::fs::read_to_string(outside.join(name)).unwrap_or_default();
    for (name, _) in tries {
        let said = read(&format!("{name}.said"));
        assert!(read(name) == "1\n" && said.contains("inside session evil~1"), "{name}: {said}");
    }
    assert_eq!(read("own"), "0\n", "its own spend is its own");
    assert_eq!(field.profile.file("policy.toml"), policy);
    assert!(!outside.join("config").exists() && !outside.join("fresh").exists());
    let spends = std::fs::read_dir(field.profile.data().join("spend")).unwrap().count();
    assert!(spends <= 2, "one letter, and the lock of the folder");
}
