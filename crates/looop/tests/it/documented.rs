//! The JSON of the verbs has the fields that docs/PROTOCOL.md lists, and no others.

use std::collections::BTreeSet;

use looop_sim::profile::Profile;
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const PROTOCOL: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/PROTOCOL.md"));

/// The verb as the table names it, and the same with real arguments, in an order in which each has something to print.
const VERBS: &[(&str, &[&str])] = &[
    ("status --json", &["status", "--json"]),
    ("cost --json", &["cost", "--json"]),
    ("why --json", &["why", "--json"]),
    ("beat --dry-run --json", &["beat", "--dry-run", "--json"]),
    ("goal list --json", &["goal", "list", "--json"]),
    ("sensor list --json", &["sensor", "list", "--json"]),
    ("sensor run NAME --json", &["sensor", "run", "ci", "--json"]),
    ("schedule list --json", &["schedule", "list", "--json"]),
    ("asks --json", &["asks", "--json"]),
    ("runs --json", &["runs", "--json"]),
    ("runs N --json", &["runs", "000001", "--json"]),
    ("doctor [--notify] --json", &["doctor", "--json"]),
    ("version --json", &["version", "--json"]),
    ("policy show --json", &["policy", "show", "--json"]),
    ("policy test --json", &["policy", "test", "--json", "move.json"]),
    ("run --json CMD", &["run", "--json", "true"]),
    ("undo --list --json", &["undo", "--list", "--json"]),
    ("undo --dry-run --json", &["undo", "--dry-run", "--json"]),
    ("undo --json", &["undo", "--json"]),
    ("worker start --json", &["worker", "start", "w", "--json", "--command", "echo herons; cat"]),
    ("expect --json", &["expect", "w", "herons", "--json"]),
    ("ls --json", &["ls", "--json"]),
    ("send --json", &["send", "w", "gulls", "--json"]),
    ("key --json", &["key", "w", "Enter", "--json"]),
    ("shot --json", &["shot", "w", "--json"]),
    ("resize --json", &["resize", "w", "100x30", "--json"]),
    ("wait-idle --json", &["wait-idle", "w", "--json"]),
    ("detach --json", &["detach", "w", "--json"]),
    ("log --json", &["log", "w", "--json"]),
    ("kill --json", &["kill", "w", "--json"]),
    ("wait ID --json", &["wait", "w", "--json"]),
    ("prune --json", &["prune", "--json"]),
    ("up --json", &["up", "--json"]),
    ("down --json", &["down", "--json"]),
];

#[test]
fn verbs_print_the_documented_fields() {
    let profile = Profile::bare(LOOOP)
        .decider(&json!({"action": "ask_human", "prompt": "Which one?", "goal": "ship"}))
        .goal("ship", "# Ship it\nSoon.\n")
        .sensor("ci", "echo '{\"signal\":{\"red\":0},\"detail\":\"fine\"}'");
    profile.run(&["schedule", "write", "daily", "--cron", "0 9 * * *"]).ok();
    profile.run(&["goal", "write", "ship", "# Ship it\nNow.\n"]).ok();
    profile.beat().ok();
    std::fs::write(profile.outside().join("move.json"), r#"{"action":"run_shell","cmd":"true"}"#).unwrap();
    let mut wrong = Vec::new();
    for (name, args) in VERBS {
        let ran = profile.run(args);
        let line = ran.stdout.lines().next().unwrap_or_else(|| panic!("{name} printed nothing: {ran:?}"));
        let printed: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
        let first = if printed.is_array() { &printed[0] } else { &printed };
        let printed = first.as_object().unwrap_or_else(|| panic!("{name} printed {line}"));
        let printed: BTreeSet<&str> = printed.keys().map(String::as_str).collect();
        let (must, may) = documented(name);
        let unknown: Vec<_> =
            printed.iter().filter(|key| !must.contains(*key) && !may.contains(*key)).collect();
        let missing: Vec<_> = must.difference(&printed).collect();
        if !unknown.is_empty() || !missing.is_empty() {
            wrong.push(format!("{name}: not documented {unknown:?}, missing {missing:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The fields of a verb by the table: those that are always there, and those with a question mark.
fn documented(name: &str) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let at =
        PROTOCOL.find(&format!("`{name}`")).unwrap_or_else(|| panic!("PROTOCOL.md does not have {name}"));
    let rest = &PROTOCOL[at..PROTOCOL[at..].find('\n').map_or(PROTOCOL.len(), |end| at + end)];
    let start = rest.find("`{").into_iter().chain(rest.find("`[")).min();
    let start = start.unwrap_or_else(|| panic!("PROTOCOL.md has no fields of {name}"));
    fields(rest[start + 1..].split('`').next().unwrap_or_default())
}

/// The keys of the outermost object in a shape such as `[{"id","last":{beat,at},"ansi"?}]`.
fn fields(shape: &'static str) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let (mut must, mut may, mut depth) = (BTreeSet::new(), BTreeSet::new(), 0);
    let parts: Vec<&str> = shape.trim_start_matches('[').split('"').collect();
    for at in (1..parts.len()).step_by(2) {
        for letter in parts[at - 1].chars() {
            match letter {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                _ => {}
            }
        }
        if depth == 1 {
            let is_optional = parts.get(at + 1).is_some_and(|after| after.starts_with('?'));
            if is_optional { &mut may } else { &mut must }.insert(parts[at]);
        }
    }
    (must, may)
}

#[test]
fn a_shape_is_read() {
    let (must, may) = fields(r#"[{"id","last":{beat,"at"},"next":[{"x"}],"ansi"?}]"#);
    assert_eq!((must, may), (BTreeSet::from(["id", "last", "next"]), BTreeSet::from(["ansi"])));
}
