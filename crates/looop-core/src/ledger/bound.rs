//! Entries within their bounds. What others wrote is cut here, in one place, before it goes into the log.

use super::entry::{Entry, Spend};
use super::reasons::SensorState;
use super::state::{Ledger, NoteKind};
use crate::bounds::{ANSWER, LAPSED, OUTPUT, PARKED, PROMPT, SENTENCE, STRAYS, cut, cut_name, json_width};
use crate::gate::Why;
use crate::model::outcome::{Ended, Outcome};
use crate::world::fleet::WorkerState;

impl Entry {
    /// Cuts every text that somebody else could make long. Moves are whole: they were bounded when they were taken in.
    pub fn bound(&mut self) {
        match self {
            Self::Skipped { why, .. } => why.bound(),
            Self::Decided { spend, .. } | Self::Spent { spend, .. } => spend.bound(),
            Self::Failed { run, reason, spend, .. } => {
                cut(reason, SENTENCE, &format!("runs/{run}/output.log"));
                spend.bound();
            }
            Self::Overtaken { reason, spend, .. } => {
                sentence(reason);
                spend.iter_mut().for_each(Spend::bound);
            }
            Self::Rejected { reason, .. } | Self::Lapsed { reason, .. } | Self::Stopped { reason } => {
                sentence(reason);
            }
            Self::Parked { parked, .. } => sentence(&mut parked.reason),
            Self::Declined { text, .. } => sentence(text),
            Self::Verified { text, tail, .. } => {
                sentence(text);
                cut(tail, OUTPUT, "");
            }
            Self::WorkFound { work, .. } => {
                cut_name(&mut work.branch);
                work.problem.iter_mut().for_each(sentence);
            }
            Self::RuleWritten { error, .. } => error.iter_mut().for_each(sentence),
            Self::ConfigError { error } | Self::Undelivered { error, .. } => sentence(error),
            Self::Dropped { what } => sentence(what),
            Self::Notified { message, .. } => sentence(message),
            Self::Intended { why, .. } => why.iter_mut().for_each(sentence),
            Self::Finished { outcome, .. } => outcome.bound(),
            Self::Asked { ask, from, prompt, goal, .. } => {
                cut(prompt, PROMPT, &format!("asks/{ask}.json"));
                cut_name(from);
                goal.iter_mut().for_each(cut_name);
            }
            Self::Answered { ask, text } => cut(text, ANSWER, &format!("mail.d/{ask}.answer.json")),
            Self::Told { tell, text, .. } => cut(text, PROMPT, &format!("tells/{tell}.json")),
            Self::WorkerEnded { state, strays, .. } => {
                state.bound();
                strays.truncate(STRAYS);
                strays.iter_mut().map(|stray| &mut stray.program).for_each(cut_name);
            }
            Self::SensorChanged { state: SensorState::Failing { reason }, .. } => sentence(reason),
            Self::Saw { broke, .. } => {
                broke.iter_mut().flat_map(|broke| broke.values_mut()).for_each(cut_name);
            }
            Self::Seeded { .. }
            | Self::SensorChanged { .. }
            | Self::Withdrawn { .. }
            | Self::Flapping { .. }
            | Self::DecideStarted { .. }
            | Self::Approved { .. }
            | Self::Reparked { .. }
            | Self::Restarted { .. }
            | Self::Dismissed { .. }
            | Self::Trusted { .. }
            | Self::WorkerStarted { .. }
            | Self::Granted { .. }
            | Self::ClaimReaped { .. }
            | Self::Pruned { .. }
            | Self::GoalsHold { .. }
            | Self::WorkerNoted { .. }
            | Self::ScheduleDue { .. }
            | Self::ConfigMended
            | Self::Delivered { .. }
            | Self::Forgot { .. }
            | Self::Renumbered { .. }
            | Self::Paused { .. }
            | Self::Resumed => {}
        }
    }
}

fn sentence(text: &mut String) {
    cut(text, SENTENCE, "");
}

impl Why {
    /// Cuts what is too long. Two reasons that are the same stay the same.
    pub fn bound(&mut self) {
        match self {
            Self::Backoff { reason, .. } | Self::Purse { reason } | Self::NothingReady { reason } => {
                sentence(reason);
            }
            Self::BadFile { error } => sentence(error),
            Self::Busy { with } => sentence(with),
            Self::Stopping
            | Self::Paused { .. }
            | Self::Unchanged
            | Self::Chain { .. }
            | Self::DecidesPerHour { .. }
            | Self::Unmetered { .. }
            | Self::Limited { .. }
            | Self::Flapping { .. } => {}
        }
    }
}

impl Spend {
    fn bound(&mut self) {
        [&mut self.day, &mut self.source, &mut self.model, &mut self.runner].into_iter().for_each(cut_name);
    }
}

impl Outcome {
    fn bound(&mut self) {
        match self {
            Self::Done { note, .. } => note.iter_mut().for_each(sentence),
            Self::Failed { reason, .. } | Self::Interrupted { reason } => sentence(reason),
        }
        if let Self::Done { shell: Some(shell), .. } | Self::Failed { shell: Some(shell), .. } = self {
            cut(&mut shell.tail, OUTPUT, "the folder of its session");
            if let Ended::Spawn(error) = &mut shell.ended {
                sentence(error);
            }
        }
    }
}

impl NoteKind {
    /// Cuts what a brief would not show anyway.
    pub(super) fn bound(&mut self) {
        match self {
            Self::Shell { cmd, tail, .. } => {
                cut(cmd, PROMPT, "the log");
                cut(tail, OUTPUT, "the folder of its session");
            }
            Self::Failure { reason }
            | Self::Refused { reason }
            | Self::Overtaken { reason }
            | Self::Interrupted { reason } => sentence(reason),
            Self::Answer { ask, prompt, text } => {
                cut(prompt, PROMPT, &format!("mail.d/{ask}.ask.json"));
                cut(text, ANSWER, &format!("mail.d/{ask}.answer.json"));
            }
            Self::Unknown { fields } => fields.iter_mut().for_each(cut_name),
        }
    }
}

impl Ledger {
    /// Brings what an earlier version remembered within the bounds of this one.
    pub fn bound(&mut self) {
        self.form = super::state::Form::default();
        for (id, ask) in &mut self.asks {
            cut(&mut ask.prompt, PROMPT, &format!("asks/{id}.json"));
            cut_name(&mut ask.from);
            ask.goal.iter_mut().for_each(cut_name);
        }
        self.notes.iter_mut().for_each(|note| note.what.bound());
        self.undo.iter_mut().for_each(|undoable| sentence(&mut undoable.summary));
        self.config_error.iter_mut().for_each(sentence);
        if let Some(skip) = &mut self.skipped {
            skip.why.bound();
        }
        self.written.retain(|path, _| is_policy_file(path));
        self.tainted.retain(|path, _| is_policy_file(path));
        self.bound_moves();
    }

    /// Keeps as many moves that wait or waited as there is room for: the oldest of those that waited go first.
    pub(super) fn bound_moves(&mut self) {
        while self.lapsed.values().map(|lapsed| json_width(&lapsed.parked)).sum::<usize>() > LAPSED {
            let oldest =
                self.lapsed.iter().min_by_key(|(_, lapsed)| lapsed.at.wall).map(|(id, _)| id.clone());
            oldest.map(|id| self.lapsed.remove(&id));
        }
        while self.parked_width() > PARKED {
            let newest =
                self.parked.iter().max_by_key(|(_, parked)| parked.at.wall).map(|(id, _)| id.clone());
            if let Some(id) = newest {
                self.parked.remove(&id);
                self.asks.remove(&id);
            }
        }
    }

    /// Bytes of all moves that wait, as JSON.
    pub fn parked_width(&self) -> usize {
        self.parked.values().map(json_width).sum()
    }
}

/// Whether a path is one whose author matters.
pub(super) fn is_policy_file(path: &str) -> bool {
    path == "PLAYBOOK.md"
        || ["goals/", "sensors/", "schedules/"].iter().any(|folder| path.starts_with(folder))
}

impl WorkerState {
    fn bound(&mut self) {
        if let Self::Spawn(error) = self {
            sentence(error);
        }
    }
}
