//! Texts by chance: goals, decisions, nonsense.

use looop_core::model::moves::Move;
use serde_json::{Value, json};

use super::site::Site;
use crate::disk_dice::Dice;

/// Names of goals.
pub(super) const GOALS: [&str; 6] = ["ship", "tidy", "mail", "rest", "beds", "pay"];
/// Names of sensors.
pub(super) const SENSORS: [&str; 4] = ["ci", "load", "inbox", "moon"];
/// Names of schedules.
pub(super) const SCHEDULES: [&str; 3] = ["daily", "soon", "often"];
/// Names of workers.
pub(super) const WORKERS: [&str; 4] = ["w", "ship", "digger", "painter"];

/// What a decider may know of the world that it decides upon.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) goals: Vec<String>,
    workers: Vec<String>,
    round: u64,
    /// Whether workers cost money, so that there should be some.
    costs: bool,
}

impl Known {
    pub(super) fn of(site: &Site) -> Self {
        let goals = site.disk.names("goals");
        let goals = goals.iter().filter_map(|name| name.strip_suffix(".md")).map(str::to_owned).collect();
        let living = site.yard.living(true);
        let worker = |session: &String| looop_core::world::fleet::worker_of(session).to_owned();
        Self {
            goals,
            workers: living.iter().map(worker).collect(),
            round: site.clock.t,
            costs: site.bank.is_some(),
        }
    }

    fn goal(&self, dice: &mut Dice) -> String {
        if self.goals.is_empty() || dice.below(5) == 0 {
            (*dice.pick(&GOALS)).to_owned()
        } else {
            dice.pick(&self.goals).clone()
        }
    }

    fn worker(&self, dice: &mut Dice) -> String {
        if self.workers.is_empty() || dice.below(4) == 0 {
            (*dice.pick(&WORKERS)).to_owned()
        } else {
            dice.pick(&self.workers).clone()
        }
    }
}

/// A goal, as a person writes it.
pub(super) fn goal(dice: &mut Dice, round: u64) -> String {
    let command = format!("do {}", dice.below(12));
    let head = match dice.below(12) {
        0..=2 => return format!("# Prose, round {round}\n"),
        3 | 4 => format!("check: ran {command}\nrun: {command}\n"),
        5 => format!("check: false\nrun: {command}\n"),
        6 => format!("check: ran {command}\nworker: see to it\n"),
        7 => "check: false\nworker: see to it\n".to_owned(),
        8 => format!("every: {}m\nrun: {command}\n", dice.between(20, 400)),
        9 => format!("when: ci.red > 0\nrun: {command}\n"),
        10 => format!("check: {}\nrun: {command}\n", dice.pick(&["error", "hang", "true"])),
        _ => "check: false\n".to_owned(),
    };
    let priority = dice.below(3);
    let budget = dice.pick(&["", "", "", "budget_usd: 1\n", "budget_usd: 5\n"]);
    format!("---\n{head}{budget}priority: {priority}\n---\n\n# Round {round}\n")
}

/// A goal that asks for nothing.
pub(super) fn quiet_goal(round: u64) -> String {
    format!("---\ncheck: true\nrun: do nothing\n---\n\n# Round {round}\n")
}

/// A schedule's file.
pub(super) fn schedule(dice: &mut Dice, wall: i64) -> Vec<u8> {
    let when = match dice.below(4) {
        0 => json!({"at": wall + i64::try_from(dice.between(1_000, 7_200_000)).unwrap_or(0)}),
        1 => json!({"every": {"seconds": dice.between(10, 120) * 60, "from": wall}}),
        2 => json!({"cron": {"line": format!("{} {} * * *", dice.below(60), dice.below(24))}}),
        _ => json!({"cron": {"line": "30 2 * * *", "zone": "Europe/Berlin"}}),
    };
    let missed = dice.pick(&["once", "skip"]);
    let schedule = json!({"v": 1, "name": "x", "when": when, "missed": missed, "created": wall});
    schedule.to_string().into_bytes()
}

/// A decision: any move, mostly one that can be made.
pub(super) fn decision(dice: &mut Dice, known: &Known) -> Value {
    let goal = known.goal(dice);
    let choice = if known.costs && dice.below(3) == 0 { 11 } else { dice.below(20) };
    let mut said = match choice {
        0..=2 => json!({"action": "noop", "reason": "all is well"}),
        3..=5 => json!({"action": "run_shell", "cmd": format!("do {}", dice.below(12))}),
        6 | 7 => json!({"action": "write_goal", "id": goal, "body": self::goal(dice, known.round)}),
        8 => json!({"action": "archive_goal", "id": goal}),
        9 => {
            json!({"action": "write_sensor", "name": dice.pick(&SENSORS), "script": format!("#!/bin/sh\n# {}\n", known.round)})
        }
        10 => json!({"action": "write_playbook", "body": format!("# Round {}\n", known.round)}),
        11 | 12 => {
            json!({"action": "start_worker", "id": dice.pick(&WORKERS), "prompt": "see to it", "goal": goal})
        }
        13 => json!({"action": "steer_session", "id": known.worker(dice), "input": "go on"}),
        14 => json!({"action": "send_key", "id": known.worker(dice), "keys": ["Enter"]}),
        15 => json!({"action": "restart_session", "id": known.worker(dice)}),
        16 => json!({"action": "kill_worker", "id": known.worker(dice)}),
        17 => json!({"action": "send_notification", "message": "look"}),
        18 => json!({"action": "ask_human", "prompt": format!("Which of {}?", known.round)}),
        _ if dice.coin() => json!({"action": "drop_schedule", "name": dice.pick(&SCHEDULES)}),
        _ => {
            json!({"action": "write_schedule", "name": dice.pick(&SCHEDULES), "every_s": dice.between(600, 9_000)})
        }
    };
    if dice.coin() {
        said["goal"] = known.goal(dice).into();
    }
    if dice.below(6) == 0 {
        said["next_interval_s"] = dice.between(1, 5_000).into();
    }
    if dice.below(8) == 0 {
        said["deferred_goals"] = json!(GOALS);
    }
    if dice.below(8) == 0 {
        said["mood"] = "curious".into();
    }
    said
}

/// What is no decision, or none that can be made.
pub(super) fn nonsense(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => json!("do it"),
        1 => json!({"action": "launch_missiles"}),
        2 => json!({"action": "run_shell"}),
        3 => json!({"action": "run_shell", "cmd": "x".repeat(70_000)}),
        4 => json!({"action": "noop", "jornal": "near miss"}),
        5 => json!({"action": "write_goal", "id": "../../etc/passwd", "body": "x"}),
        6 => json!([{"action": "noop"}, {"action": "noop"}]),
        _ => json!({"action": "write_schedule", "name": "soon", "cron": "not cron", "zone": "No/Where"}),
    }
}

/// A person's move.
pub(super) fn by_hand(dice: &mut Dice, site_known: &Known) -> Option<Move> {
    let proposal = looop_core::intake::parse(&decision(dice, site_known)).ok()?;
    Some(proposal.action)
}
