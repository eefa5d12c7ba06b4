//! Short ways to say what is judged.

use std::collections::BTreeSet;

pub(super) use super::super::*;
pub(super) use crate::model::moves::Move;
pub(super) use crate::model::name::Name;
pub(super) use crate::model::rights::{Granted, Rights, Stage};

pub(super) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// One move of each action that a decider can say.
pub(super) fn every_move() -> Vec<Move> {
    let said = [
        r#"{"action":"noop"}"#,
        r#"{"action":"run_shell","cmd":"x"}"#,
        r#"{"action":"write_goal","id":"g","body":"b"}"#,
        r#"{"action":"archive_goal","id":"g"}"#,
        r##"{"action":"write_sensor","name":"s","script":"#!/bin/sh"}"##,
        r#"{"action":"write_playbook","body":"b"}"#,
        r#"{"action":"start_worker","id":"w","prompt":"p"}"#,
        r#"{"action":"steer_session","id":"w","input":"i"}"#,
        r#"{"action":"send_key","id":"w","keys":["Enter"]}"#,
        r#"{"action":"restart_session","id":"w"}"#,
        r#"{"action":"kill_worker","id":"w"}"#,
        r#"{"action":"send_notification","message":"m"}"#,
        r#"{"action":"ask_human","prompt":"p"}"#,
        r#"{"action":"write_schedule","name":"s","every_s":60}"#,
        r#"{"action":"drop_schedule","name":"s"}"#,
    ];
    let moves: Vec<Move> = said.iter().map(|said| serde_json::from_str(said).unwrap()).collect();
    let named: BTreeSet<&str> = moves.iter().map(Move::action).chain(["*"]).collect();
    assert_eq!(named, action_names().collect(), "each action of a decider once");
    moves
}

pub(super) fn shell() -> Move {
    command("x")
}

pub(super) fn command(cmd: &str) -> Move {
    Move::RunShell { cmd: cmd.to_owned(), reason: None }
}

/// A case in which nothing is suspicious, no goal is served and nothing is run.
pub(super) fn plain(action: &Move) -> Case<'_> {
    Case {
        action,
        goal: None,
        goal_by_person: false,
        runner: None,
        configured: true,
        by_hand: false,
        path: None,
        tainted: false,
        runs: Vec::new(),
        confined: true,
    }
}

/// What these commands run, with `gh pr list` granted.
pub(super) fn runs(commands: &[&str]) -> Vec<Run> {
    commands.iter().map(|text| run(&[gh()], Text::Command(text), false)).collect()
}

/// A grant of `gh pr list` with its token.
pub(super) fn gh() -> Grant {
    let gives = Gives { env: texts(&["GH_TOKEN"]), net: Net::Open, ..Gives::default() };
    let pattern = Pattern::parse(&texts(&["gh", "pr", "list", "--json=*"])).unwrap();
    Grant::Command(CommandGrant { command: pattern, gives, tainted: OnTaint::Ask })
}

pub(super) fn rule(action: &str, when: When, then: Then) -> Rule {
    Rule { action: action.to_owned(), when, then, message: None }
}

pub(super) fn policy(level: Level, rules: Vec<Rule>) -> Policy {
    Policy { level, rules, grants: Vec::new() }
}

pub(super) fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}
