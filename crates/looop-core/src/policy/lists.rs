//! The three built-in lists, as data: what decides is what `looop policy show` prints.

use super::case::Case;
use super::rule::{Level, Then};
use crate::model::goal;
use crate::model::moves::Move;

/// A built-in rule.
#[derive(Debug)]
pub struct Builtin {
    /// The moves that it is about; all where none is named.
    pub moves: &'static [&'static str],
    /// When it applies: all of these hold.
    pub when: &'static [Fact],
    /// What becomes of the move.
    pub then: Then,
    /// Why, for the person and the decider.
    pub why: &'static str,
}

/// What a built-in rule asks about a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Its brief showed what strangers wrote.
    Tainted,
    /// Its command gets a grant that does not say `tainted = "allow"`.
    Granted,
    /// It writes a goal with a recipe that is a command.
    Recipe,
    /// It carries shell text, and nothing confines that on this machine.
    Unconfined,
    /// The worker has a command of its own.
    OwnCommand,
    /// The worker's runner is not configured.
    NoRunner,
    /// A person wrote the goal that it serves.
    GoalByPerson,
    /// A person started the worker by hand.
    ByHand,
}

impl Fact {
    /// The fact in words, after `when`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tainted => "tainted",
            Self::Granted => "it uses a grant",
            Self::Recipe => "it has a recipe",
            Self::Unconfined => "nothing confines it here",
            Self::OwnCommand => "it has a command of its own",
            Self::NoRunner => "its runner is not configured",
            Self::GoalByPerson => "a person wrote its goal",
            Self::ByHand => "a person started the worker by hand",
        }
    }

    fn holds(self, case: &Case<'_>) -> bool {
        let starts = matches!(case.action, Move::StartWorker { .. });
        let own = matches!(case.action, Move::StartWorker { command: Some(_), .. });
        match self {
            Self::Tainted => case.tainted,
            Self::Granted => case.asks_if_tainted(),
            Self::Recipe => {
                matches!(case.action, Move::WriteGoal { body, .. } if goal::parse(body).run.is_some())
            }
            Self::Unconfined => !case.is_contained(),
            Self::OwnCommand => own,
            Self::NoRunner => starts && !own && !case.configured,
            Self::GoalByPerson => case.goal_by_person,
            Self::ByHand => case.by_hand,
        }
    }
}

impl Builtin {
    pub(super) fn applies(&self, case: &Case<'_>) -> bool {
        let named = self.moves.is_empty() || self.moves.contains(&case.action.action());
        named && self.when.iter().all(|fact| fact.holds(case))
    }

    /// When it applies, in words; empty where it always does.
    pub fn condition(&self) -> String {
        self.when.iter().map(|fact| fact.words()).collect::<Vec<_>>().join(" and ")
    }

    /// The rule in words, for one of its moves: `write_playbook asks`.
    pub fn words(&self, action: &str) -> String {
        let when = if self.when.is_empty() { String::new() } else { format!(" when {}", self.condition()) };
        format!("{action} {}{when}", self.then.verb())
    }
}

/// The built-in list of a level. The first that applies decides, and the last always does.
pub fn builtin(level: Level) -> &'static [Builtin] {
    match level {
        Level::Open => OPEN,
        Level::Guarded => GUARDED,
        Level::Locked => LOCKED,
    }
}

const fn rule(
    moves: &'static [&'static str],
    when: &'static [Fact],
    then: Then,
    why: &'static str,
) -> Builtin {
    Builtin { moves, when, then, why }
}

const EVERY: &[&str] = &[];

const OPEN: &[Builtin] = &[rule(EVERY, &[], Then::Allow, "every well-formed move is allowed")];

const GUARDED: &[Builtin] = &[
    rule(
        &[
            "noop",
            "ask_human",
            "send_notification",
            "write_schedule",
            "drop_schedule",
            "archive_goal",
            "restart_session",
            "kill_worker",
        ],
        &[],
        Then::Allow,
        "it can be taken back, or only reaches you",
    ),
    rule(&["write_playbook"], &[], Then::Ask, "the PLAYBOOK is your judgment"),
    rule(&["start_worker"], &[Fact::OwnCommand], Then::Ask, "its command is not configured"),
    rule(&["start_worker"], &[Fact::NoRunner], Then::Deny, "no such runner is configured"),
    rule(
        &["run_shell", "write_sensor", "write_goal", "start_worker"],
        &[Fact::Unconfined],
        Then::Ask,
        "nothing on this machine confines what it runs",
    ),
    rule(
        &["run_shell", "write_goal", "start_worker"],
        &[Fact::Tainted, Fact::Granted],
        Then::Ask,
        "it uses what you granted, and what strangers wrote was read before it",
    ),
    rule(
        &["write_goal"],
        &[Fact::Tainted, Fact::Recipe],
        Then::Ask,
        "its recipe runs again and again, and what strangers wrote was read before it",
    ),
    rule(
        &["write_sensor"],
        &[Fact::Tainted],
        Then::Ask,
        "it runs again and again, and what strangers wrote was read before it",
    ),
    rule(
        &["steer_session", "send_key"],
        &[Fact::ByHand],
        Then::Ask,
        "you started this worker: what is typed into it may run with your rights",
    ),
    rule(
        &["start_worker", "steer_session", "send_key"],
        &[Fact::GoalByPerson],
        Then::Allow,
        "you wrote the goal that it serves",
    ),
    rule(
        &["start_worker", "steer_session", "send_key"],
        &[Fact::Tainted],
        Then::Ask,
        "it serves no goal that you wrote, and what strangers wrote was read before it",
    ),
    rule(&["run_shell", "write_sensor", "write_goal"], &[], Then::Allow, "what it runs is confined"),
    rule(
        &["start_worker", "steer_session", "send_key"],
        &[],
        Then::Allow,
        "the worker runs as you configured it, and nothing that strangers wrote was read before",
    ),
    rule(EVERY, &[], Then::Ask, "no rule allows it"),
];

const LOCKED: &[Builtin] = &[
    rule(&["noop", "send_notification", "ask_human"], &[], Then::Allow, "it changes nothing"),
    rule(EVERY, &[], Then::Ask, "the policy is locked"),
];
