//! Moves: the typed actions that a decider may propose and looop executes.

use serde::{Deserialize, Serialize};

use super::name::Name;
use super::plan::BeatId;
use super::work::Settle;
use crate::shown::Shown;

/// One typed action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Move {
    /// Nothing, on purpose.
    Noop {
        /// Why nothing is right.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// One shell command.
    RunShell {
        /// The command, for `bash -c`.
        cmd: String,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Create or replace a goal.
    WriteGoal {
        /// Which goal.
        id: Name,
        /// Its new text.
        body: String,
    },
    /// Move a goal to the archive.
    ArchiveGoal {
        /// Which goal.
        id: Name,
    },
    /// Create or replace a sensor.
    WriteSensor {
        /// Which sensor.
        name: Name,
        /// The script, starting with `#!`.
        script: String,
    },
    /// Remove a sensor. A person's verb; no decider can say it.
    RemoveSensor {
        /// Which sensor.
        name: Name,
    },
    /// Replace the PLAYBOOK.
    WritePlaybook {
        /// Its new text.
        body: String,
    },
    /// Start a worker.
    StartWorker {
        /// Its id.
        id: Name,
        /// What it shall do.
        prompt: String,
        /// The goal it serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<Name>,
        /// The configured runner that it uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<String>,
        /// A command instead of a runner's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// The command that proves its work done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verify: Option<String>,
        /// Whether it is confined whatever its runner says. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sandbox: bool,
        /// A repository instead of its goal's. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
        /// The folder that it works in; in a worktree, a folder of it. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Type a line into a live worker.
    SteerSession {
        /// Which worker.
        id: Name,
        /// The text.
        input: String,
    },
    /// Press keys in a live worker.
    SendKey {
        /// Which worker.
        id: Name,
        /// Key names.
        keys: Vec<String>,
    },
    /// End a worker, if it lives, and start it again.
    RestartSession {
        /// Which worker.
        id: Name,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Also while it waits on a person. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// End a worker.
    KillWorker {
        /// Which worker.
        id: Name,
        /// Others that are ended at the same time. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Name>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Also while it waits on a person. A person's word; no decider can say it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Reach the person.
    SendNotification {
        /// What to say.
        message: String,
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Ask the person; the answer is in a later brief.
    AskHuman {
        /// The question.
        prompt: String,
        /// Answers to choose from.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// What it refers to: a path or an address.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// Create or replace a schedule. Exactly one of the four times is set.
    WriteSchedule {
        /// Which schedule.
        name: Name,
        /// Seconds from now, once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_s: Option<u64>,
        /// Every so many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every_s: Option<u64>,
        /// At a moment, once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
        /// By a cron line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cron: Option<String>,
        /// The zone of `cron` and of an `at` without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// What becomes of a time that passed while nothing ran: `once` or `skip`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Remove a schedule.
    DropSchedule {
        /// Which schedule.
        name: Name,
    },
    /// Take back an earlier move of a file. A person's verb; no decider can say it.
    Undo {
        /// The beat of that move.
        beat: BeatId,
        /// The file that becomes what it was before.
        path: String,
        /// What that move did, in words.
        what: String,
    },
    /// Settle the work of a worker that has ended. A person's verb; no decider can say it.
    SettleWork {
        /// The session that did it.
        session: String,
        /// What becomes of it.
        how: Settle,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
}

/// The policy file that a move changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object<'a> {
    /// None.
    Nothing,
    /// A goal.
    Goal(&'a Name),
    /// A sensor.
    Sensor(&'a Name),
    /// A schedule.
    Schedule(&'a Name),
    /// The PLAYBOOK.
    Playbook,
}

/// What a decider said: a move and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The move.
    #[serde(flatten)]
    pub action: Move,
    /// The journal line it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// The goal that the move serves.
    #[serde(default, rename = "goal_served", skip_serializing_if = "Option::is_none")]
    pub goal: Option<Name>,
    /// Goals knowingly passed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred_goals: Vec<String>,
    /// Wish for the time of the next beat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_interval_s: Option<u64>,
    /// Fields that mean nothing here, shown in the next brief.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl Proposal {
    /// A bare move, with nothing beside it.
    pub fn of(action: Move) -> Self {
        Self {
            action,
            journal: None,
            goal: None,
            deferred_goals: Vec::new(),
            next_interval_s: None,
            unknown: Vec::new(),
        }
    }
}

impl Move {
    /// The value of the `action` field.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Noop { .. } => "noop",
            Self::RunShell { .. } => "run_shell",
            Self::WriteGoal { .. } => "write_goal",
            Self::ArchiveGoal { .. } => "archive_goal",
            Self::WriteSensor { .. } => "write_sensor",
            Self::RemoveSensor { .. } => "remove_sensor",
            Self::WritePlaybook { .. } => "write_playbook",
            Self::StartWorker { .. } => "start_worker",
            Self::SteerSession { .. } => "steer_session",
            Self::SendKey { .. } => "send_key",
            Self::RestartSession { .. } => "restart_session",
            Self::KillWorker { .. } => "kill_worker",
            Self::SendNotification { .. } => "send_notification",
            Self::AskHuman { .. } => "ask_human",
            Self::WriteSchedule { .. } => "write_schedule",
            Self::DropSchedule { .. } => "drop_schedule",
            Self::Undo { .. } => "undo",
            Self::SettleWork { .. } => "settle_work",
        }
    }

    /// The policy file that the move changes.
    pub fn object(&self) -> Object<'_> {
        match self {
            Self::WriteGoal { id, .. } | Self::ArchiveGoal { id } => Object::Goal(id),
            Self::WriteSensor { name, .. } | Self::RemoveSensor { name } => Object::Sensor(name),
            Self::WriteSchedule { name, .. } | Self::DropSchedule { name } => Object::Schedule(name),
            Self::WritePlaybook { .. } => Object::Playbook,
            Self::Noop { .. }
            | Self::RunShell { .. }
            | Self::StartWorker { .. }
            | Self::SteerSession { .. }
            | Self::SendKey { .. }
            | Self::RestartSession { .. }
            | Self::KillWorker { .. }
            | Self::SendNotification { .. }
            | Self::AskHuman { .. }
            | Self::Undo { .. }
            | Self::SettleWork { .. } => Object::Nothing,
        }
    }

    /// Whether the move is about a worker's session.
    pub fn is_worker_move(&self) -> bool {
        matches!(
            self,
            Self::StartWorker { .. }
                | Self::SteerSession { .. }
                | Self::SendKey { .. }
                | Self::RestartSession { .. }
                | Self::KillWorker { .. }
        )
    }

    /// One line that says what the move does, for the journal and the stream.
    pub fn summary(&self) -> String {
        match self {
            Self::Noop { reason } => with_reason("nothing to do", reason.as_deref()),
            Self::RunShell { cmd, reason } => {
                with_reason(&format!("ran {}", one_line(cmd, 120)), reason.as_deref())
            }
            Self::WriteGoal { id, .. } => format!("wrote goal {id}"),
            Self::ArchiveGoal { id } => format!("archived goal {id}"),
            Self::WriteSensor { name, .. } => format!("wrote sensor {name}"),
            Self::RemoveSensor { name } => format!("removed sensor {name}"),
            Self::WritePlaybook { .. } => "wrote PLAYBOOK.md".to_owned(),
            Self::StartWorker { id, goal: Some(goal), .. } => format!("started worker {id} for goal {goal}"),
            Self::StartWorker { id, goal: None, .. } => format!("started worker {id}"),
            Self::SteerSession { id, input } => format!("typed into {id}: {}", one_line(input, 80)),
            Self::SendKey { id, keys } => format!("pressed {} in {id}", keys.join(" ")),
            Self::RestartSession { id, reason, .. } => {
                with_reason(&format!("restarted {id}"), reason.as_deref())
            }
            Self::KillWorker { id, also, reason, .. } => {
                let all: Vec<&str> = std::iter::once(id).chain(also).map(Name::as_str).collect();
                with_reason(&format!("killed {}", one_line(&all.join(", "), 200)), reason.as_deref())
            }
            Self::SendNotification { message, .. } => format!("notified: {}", one_line(message, 120)),
            Self::AskHuman { prompt, .. } => format!("asked: {}", one_line(prompt, 120)),
            Self::WriteSchedule { name, .. } => format!("wrote schedule {name}"),
            Self::DropSchedule { name } => format!("dropped schedule {name}"),
            Self::Undo { what, .. } => format!("took back: {what}"),
            Self::SettleWork { session, how, because } => {
                with_reason(&format!("{} the work of {session}", how.done()), because.as_deref())
            }
        }
    }
}

fn with_reason(what: &str, reason: Option<&str>) -> String {
    match reason.map(str::trim) {
        Some(reason) if !reason.is_empty() => format!("{what}: {}", one_line(reason, 200)),
        _ => what.to_owned(),
    }
}

/// A text on one line and within `most` characters: white space folded, what is hidden escaped, the
/// cut marked.
pub fn one_line(text: &str, most: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = Shown::line(&folded).to_string();
    if clean.chars().count() <= most {
        return clean;
    }
    let head: String = clean.chars().take(most.saturating_sub(1)).collect();
    format!("{head}…")
}
