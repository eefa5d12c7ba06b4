//! Decisions, good and bad, by table and by chance.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::catalogue::{ACTIONS, COMMON, Field, Kind, fields_of};
use super::parse;
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;

fn refused(value: &Value) -> String {
    parse(value).unwrap_err().to_string()
}

/// A smallest good decision of each action.
fn good(name: &str) -> Value {
    match name {
        "noop" => json!({"action": name}),
        "run_shell" => json!({"action": name, "cmd": "true"}),
        "write_goal" => json!({"action": name, "id": "a", "body": "b"}),
        "write_sensor" => json!({"action": name, "name": "a", "script": "#!/bin/sh\n"}),
        "write_playbook" => json!({"action": name, "body": "b"}),
        "start_worker" => json!({"action": name, "id": "a", "prompt": "p"}),
        "steer_session" => json!({"action": name, "id": "a", "input": "i"}),
        "send_key" => json!({"action": name, "id": "a", "keys": ["Enter"]}),
        "archive_goal" | "restart_session" | "kill_worker" => json!({"action": name, "id": "a"}),
        "send_notification" => json!({"action": name, "message": "m"}),
        "ask_human" => json!({"action": name, "prompt": "p"}),
        "write_schedule" => json!({"action": name, "name": "a", "in_s": 1}),
        "drop_schedule" => json!({"action": name, "name": "a"}),
        other => panic!("the table has {other}, this test has not"),
    }
}

fn sample(field: &Field) -> Value {
    match field.kind {
        Kind::Text(_) => "x".into(),
        Kind::Name | Kind::Worker => "n".into(),
        Kind::Texts(_) => json!(["x"]),
        Kind::Whole(_) => 60.into(),
    }
}

#[test]
fn every_action_and_every_field_of_the_table_arrives_in_the_move() {
    for action in ACTIONS {
        let least = parse(&good(action.name)).unwrap_or_else(|error| panic!("{}: {error}", action.name));
        assert_eq!(least.action.action(), action.name);
        assert_eq!(least.action.is_worker_move(), action.worker, "{}", action.name);
        if action.name == "write_schedule" {
            continue;
        }
        let mut full = good(action.name);
        for field in action.fields {
            if full.get(field.name).is_none() {
                full[field.name] = sample(field);
            }
        }
        let back = serde_json::to_value(parse(&full).unwrap().action).unwrap();
        for field in action.fields {
            assert_eq!(back[field.name], full[field.name], "{} {}", action.name, field.name);
        }
    }
}

#[test]
fn every_required_field_is_missed_and_every_wrong_type_is_named() {
    for action in ACTIONS {
        for field in action.fields.iter().filter(|field| field.required) {
            let mut map = good(action.name);
            map.as_object_mut().unwrap().shift_remove(field.name);
            let text = format!("{} needs the field \"{}\"", action.name, field.name);
            assert_eq!(refused(&map), text);
            map[field.name] = Value::Null;
            assert_eq!(refused(&map), text);
        }
        for field in fields_of(action) {
            let mut map = good(action.name);
            map[field.name] = json!({"deep": 1});
            let text = format!("\"{}\" must be {}, not an object", field.name, field.kind.expected());
            assert!(refused(&map).contains(&text), "{}", refused(&map));
        }
    }
}

#[test]
fn what_goes_beside_the_move_is_taken() {
    let said = json!({"action": "noop", "journal": "j", "goal": "g", "deferred_goals": ["a", "b"], "next_interval_s": 0});
    let proposal = parse(&said).unwrap();
    assert_eq!(proposal.journal.as_deref(), Some("j"));
    assert_eq!(proposal.goal, Name::new("g").ok());
    assert_eq!((proposal.deferred_goals.len(), proposal.next_interval_s), (2, Some(0)));
}

#[test]
fn the_goal_of_a_worker_is_the_goal_that_is_served() {
    let said = json!({"action": "start_worker", "id": "looop-w", "prompt": "p", "goal": "ship"});
    let proposal = parse(&said).unwrap();
    let ship = Name::new("ship").ok();
    assert_eq!(proposal.goal, ship);
    let Move::StartWorker { id, goal, .. } = proposal.action else { panic!("{:?}", proposal.action) };
    assert_eq!((id.as_str(), goal), ("w", ship));
}

#[test]
fn errors_say_what_was_expected() {
    let table = [
        (json!([]), "the decision is a list; one JSON object is expected"),
        (json!({"action": 3}), "the decision: \"action\" must be a text, not a number"),
        (
            json!({"action": "run_shel", "cmd": "x"}),
            "unknown action \"run_shel\"; did you mean \"run_shell\"?",
        ),
        (json!({"action": "noop", "jornal": "x"}), "noop has no field \"jornal\"; did you mean \"journal\"?"),
        (
            json!({"action": "run_shell", "cmd": "x", "resaon": "y"}),
            "run_shell has no field \"resaon\"; did you mean \"reason\"?",
        ),
        (json!({"action": "run_shell", "cmd": " \n"}), "run_shell: \"cmd\" is empty"),
        (json!({"action": "run_shell", "cmd": "a\0b"}), "run_shell: \"cmd\" has a NUL character"),
        (
            json!({"action": "noop", "next_interval_s": -1}),
            "noop: \"next_interval_s\" must be a whole number, not a negative number",
        ),
        (
            json!({"action": "noop", "next_interval_s": 1.5}),
            "noop: \"next_interval_s\" must be a whole number, not a fraction",
        ),
        (
            json!({"action": "noop", "next_interval_s": "60"}),
            "noop: \"next_interval_s\" must be a whole number, not a text",
        ),
        (
            json!({"action": "write_sensor", "name": "a", "script": "echo"}),
            "write_sensor: \"script\" must start with #!",
        ),
        (
            json!({"action": "start_worker", "id": "pulse", "prompt": "p"}),
            "start_worker: \"pulse\" is reserved",
        ),
        (json!({"action": "kill_worker", "id": "looop-pulse"}), "kill_worker: \"pulse\" is reserved"),
        (
            json!({"action": "send_key", "id": "a", "keys": ["Enter", 3]}),
            "send_key: \"keys\" must be a list of texts, not a number",
        ),
    ];
    for (said, text) in table {
        assert_eq!(refused(&said), text);
    }
    for (said, part) in [
        (json!({"action": "remove_sensor", "name": "a"}), "unknown action \"remove_sensor\""),
        (json!({"action": "undo", "beat": 1, "path": "goals/a.md", "what": "x"}), "unknown action \"undo\""),
        (json!({"action": "launch"}), "expected one of noop, run_shell, write_goal"),
        (json!({"move": "noop"}), "has no \"action\"; expected one of noop"),
        (json!({"action": "archive_goal", "id": "../x"}), "cannot be a name: use 1 to 64"),
        (json!({"action": "archive_goal", "id": "looop-\n"}), "cannot be a name"),
    ] {
        assert!(refused(&said).contains(part), "{}", refused(&said));
    }
}

#[test]
fn limits_are_exact() {
    let of = |bytes: usize| json!({"action": "send_notification", "message": "x".repeat(bytes)});
    assert!(parse(&of(4096)).is_ok());
    assert_eq!(
        refused(&of(4097)),
        "send_notification: \"message\" is 4097 bytes; at most 4096 bytes is taken"
    );
    let options = |count| json!({"action": "ask_human", "prompt": "p", "options": vec!["x"; count]});
    assert!(parse(&options(100)).is_ok());
    assert!(refused(&options(101)).contains("101 items"));
    assert!(
        refused(&json!({"action": "write_schedule", "name": "a", "in_s": u64::MAX}))
            .contains("at most 315360000")
    );
}

#[test]
fn unknown_fields_are_listed_and_kept_harmless() {
    let mut said =
        json!({"action": "noop", "confidence": 0.9, "x": 1, "to": 2, "cmd": "y", "a\nb\u{1b}\u{202e}": 3});
    let unknown = parse(&said).unwrap().unknown;
    assert_eq!(unknown, ["confidence", "x", "to", "cmd", "a\\nb\\u{1b}\\u{202e}"]);
    // Two letters are always two edits from "id"; that alone is no likeness.
    assert_eq!(
        parse(&json!({"action": "archive_goal", "id": "a", "to": 1, "x": 2})).unwrap().unknown,
        ["to", "x"]
    );
    assert!(
        refused(&json!({"action": "archive_goal", "id": "a", "ids": 1})).contains("did you mean \"id\"?")
    );
    for at in 0..100 {
        said[format!("{at}{}", "z".repeat(1000))] = 1.into();
    }
    let unknown = parse(&said).unwrap().unknown;
    assert!(unknown.len() == 20 && unknown.iter().all(|name| name.len() < 100));
}

#[test]
fn absent_null_and_empty_optionals_are_the_same() {
    for value in [Value::Null, "".into(), " ".into()] {
        let said = json!({"action": "noop", "reason": value, "journal": value});
        assert_eq!(parse(&said).unwrap(), Proposal::of(Move::Noop { reason: None }));
    }
    assert_eq!(parse(&json!({"action": "noop", "goal": ""})).unwrap().goal, None);
}

#[test]
fn a_schedule_has_exactly_one_good_time() {
    let of = |more: Value| {
        let mut said = json!({"action": "write_schedule", "name": "a"});
        for (key, value) in more.as_object().unwrap() {
            said[key] = value.clone();
        }
        parse(&said)
    };
    for good in [
        json!({"in_s": 0}),
        json!({"every_s": 60, "missed": "skip"}),
        json!({"at": "2030-01-31 09:00", "zone": "Europe/Berlin"}),
        json!({"at": "09:00"}),
        json!({"cron": "0 9 * * 1", "missed": "once", "note": "n"}),
    ] {
        assert!(of(good.clone()).is_ok(), "{good}");
    }
    for (bad, part) in [
        (json!({}), "not 0"),
        (json!({"in_s": 1, "every_s": 60}), "not 2"),
        (json!({"every_s": 59}), "less than 60"),
        (json!({"cron": "every day"}), "is not a cron line"),
        (json!({"at": "tomorrow"}), "is not a time"),
        (json!({"in_s": 1, "missed": "twice"}), "expected once or skip"),
    ] {
        let text = of(bad).unwrap_err().to_string();
        assert!(text.starts_with("write_schedule: ") && text.contains(part), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z#!./ -]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z_]{0,6}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_decision() -> impl Strategy<Value = Value> {
    let known: Vec<&str> =
        ACTIONS.iter().flat_map(|action| action.fields).chain(COMMON).map(|field| field.name).collect();
    let key = prop_oneof![proptest::sample::select(known).prop_map(str::to_owned), any::<String>()];
    let actions: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
    let more = proptest::collection::vec((key, any_json()), 0..4);
    (proptest::sample::select(actions), more).prop_map(|(action, more)| {
        let mut said = good(action);
        for (key, value) in more {
            said[key] = value;
        }
        said
    })
}

proptest! {
    #[test]
    fn any_decision_is_typed_or_refused_in_words(said in any_decision()) {
        match parse(&said) {
            Ok(proposal) => {
                let stored = serde_json::to_string(&proposal).unwrap();
                prop_assert_eq!(serde_json::from_str::<Proposal>(&stored).unwrap(), proposal);
            }
            Err(refusal) => {
                let text = refusal.to_string();
                prop_assert!(!text.chars().any(char::is_control) && text.len() < 2000, "{text:?}");
            }
        }
    }
}
