//! What comes in and what must be done. Effects are never stored.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::entry::{Cause, FailureKind, Line, NOT_CHARGED, Spend};
use crate::ledger::state::Ledger;
use crate::model::digest::Digest;
use crate::model::letter::Ask;
use crate::model::moves::Proposal;
use crate::model::outcome::Outcome;
use crate::model::plan::{BeatId, Plan, RunId};
use crate::notice::Notice;
use crate::world::fleet::Fleet;
use crate::world::observation::{Docs, Observation, Scope};
use crate::world::reading::Reading;

/// Number of a request, given by the lock holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The log was replayed; what was under way must be settled first. The policy files come with it if something was.
    Opened(Option<Box<Docs>>),
    /// The starter files were put into a fresh profile.
    Seeded(Vec<String>),
    /// The highest numbers that are used on the disk.
    Numbered(Numbers),
    /// The loop was started, by a person or by whatever keeps it running.
    Began {
        /// Whether a person did.
        by_person: bool,
    },
    /// Time to look.
    Woke(Cause),
    /// The configuration was loaded: what is wrong with it, if something is.
    Configured(Option<String>),
    /// The world was looked at.
    Sensed(Box<Observation>),
    /// The world could not be looked at.
    Blind(String, Scope),
    /// A decide ended, with the policy files as they are now.
    Decided(RunId, Box<Record>, Box<Docs>),
    /// A decide that the log knows never ran.
    RunNeverRan(RunId),
    /// A move ended.
    Acted(BeatId, Outcome),
    /// A hosted move that the log knows never ran.
    ActNeverRan(BeatId),
    /// Claims were taken from sessions that have ended: each claim, and who held it.
    Reaped(Vec<(String, String)>),
    /// What was kept of ended sessions was removed: for whom, which, and those that could not be with the reason.
    Pruned(Option<RequestId>, Vec<String>, Vec<(String, String)>),
    /// A notice was sent: of which need, and what each channel said against it.
    Notified(String, Vec<(String, Option<String>)>),
    /// The rule of an "always" was added to the policy, or why not.
    RuleWritten(String, Option<String>),
    /// A verb wants something; with a move come the policy files as they are now.
    Asked(RequestId, Box<Request>, Option<Box<Docs>>),
    /// The workers were ended; with them comes who is there now, and what could not be done.
    Cleared(Box<Fleet>, Vec<String>),
    /// The loop shall end.
    Stop {
        /// Why.
        reason: String,
        /// Whether the workers go on.
        keep_workers: bool,
    },
}

/// The highest numbers that are used on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Of a decide.
    pub runs: u64,
    /// Of a hosted session that is no worker's.
    pub sessions: u64,
    /// Of an ask of the loop's own.
    pub asks: u64,
}

impl Numbers {
    /// Whether one of them is beyond what the log knows.
    pub fn are_ahead_of(&self, ledger: &Ledger) -> bool {
        self.runs > ledger.runs || self.sessions > ledger.sessions || self.asks > ledger.asks_made
    }
}

/// What must be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Append this line; nothing after it happens before it is on disk.
    Log(Line),
    /// Look at the world. A quick look runs anew the checks of these goals, and of those that changed.
    Sense(Scope, BTreeSet<String>),
    /// Write the readings where people and deciders find them.
    Snapshots(BTreeMap<String, Reading>),
    /// Start a decide.
    Decide(Box<DecideOrder>),
    /// Wait for a decide that an earlier lock holder started, or fetch anew what an ended one left.
    Adopt(RunId, String),
    /// Carry out a move.
    Act(BeatId, Box<Plan>),
    /// Find out what became of a move that an earlier lock holder began.
    Recover(BeatId, Box<Plan>),
    /// Write a journal line.
    Journal(String),
    /// Move an ask and its answer out of the way.
    Settle(String),
    /// Write the letter that asks for consent to a move.
    Post(Box<Ask>),
    /// Add a rule to the policy, because of the "always" that was said to this ask.
    Rule(String, String),
    /// Move a letter about money out of the way: it is counted.
    Counted(String),
    /// Stop a worker that passed its allowance.
    Freeze(String),
    /// Let a stopped worker go on.
    Thaw(String),
    /// End a hosted session.
    End(String),
    /// End all workers.
    Clear,
    /// Take claims from sessions that have ended, and put away what they were to be told.
    Reap,
    /// Remove what is kept of ended sessions.
    Prune(Option<RequestId>, Vec<String>),
    /// Remove the copy and the branch of a worker that changed nothing.
    Clean(String),
    /// Tell the person of something that needs them, over every channel.
    Notify(Box<Notice>),
    /// Ask again with fresh policy files: the request had to wait.
    Again(RequestId, Box<Request>),
    /// Answer a request.
    Reply(RequestId, Box<Reply>),
    /// The loop has ended.
    Exit,
}

/// What a decide needs.
#[derive(Clone, Debug)]
pub struct DecideOrder {
    /// Its number.
    pub run: RunId,
    /// The session that it runs in.
    pub session: String,
    /// The runner.
    pub decider: String,
    /// What it is shown.
    pub brief: String,
    /// Dollars set aside for it; zero is no bound.
    pub reserved_usd: f64,
    /// Whether moves about workers are on offer.
    pub workers: bool,
    /// What the brief shows that a stranger may have written.
    pub tainted: Vec<String>,
}

/// What a decide leaves behind in `runs/<run>/record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the stored form.
    pub v: u32,
    /// Which decide.
    pub run: RunId,
    /// The decision, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
    /// Where it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<(FailureKind, String)>,
    /// What it cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// What is known of a cost that is not: the tokens, and the dollars of those among them that have a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<Spend>,
    /// When the limit ends that it ran into, in milliseconds since the epoch, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// What its brief showed that a stranger may have written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted: Vec<String>,
    /// When it ended, in milliseconds since the epoch.
    pub ended: i64,
}

impl Record {
    /// The record of a decide that failed before it could make a call.
    pub fn uncalled(run: RunId, ended: i64, (kind, reason): (FailureKind, String)) -> Self {
        let spend = Spend { source: NOT_CHARGED.to_owned(), ..Spend::default() };
        Self { failure: Some((kind, reason)), spend: Some(spend), ..Self::empty(run, ended) }
    }

    /// A record that says nothing yet.
    pub fn empty(run: RunId, ended: i64) -> Self {
        let (decision, source, failure) = (None, None, None);
        let tainted = Vec::new();
        Self {
            v: 1,
            run,
            decision,
            source,
            failure,
            spend: None,
            unpriced: None,
            until: None,
            tainted,
            ended,
        }
    }
}

/// What a verb hands to the lock holder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one request is alive at a time")]
pub enum Request {
    /// One beat now.
    Beat,
    /// What a beat would show a decider and what the gates say, without doing it.
    DryRun,
    /// A person's move.
    Make {
        /// The move.
        proposal: Proposal,
    },
    /// Take back the last move of a file.
    Undo {
        /// The beat of the move that is meant; it is refused if another one is the last by now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beat: Option<BeatId>,
    },
    /// Stop deciding.
    Pause {
        /// Until when, in milliseconds since the epoch.
        until: Option<i64>,
    },
    /// Go on deciding.
    Resume,
    /// Drop an ask without an answer.
    Dismiss {
        /// Which.
        ask: String,
    },
    /// A person's word on a move that waits.
    Consent(Consent),
    /// Take in the move that a worker proposes, without waiting for the next look.
    TakeUp {
        /// The ask.
        ask: String,
    },
    /// Ask anew for a move that can no longer be approved.
    Repark {
        /// The ask that it waited as.
        ask: String,
    },
    /// Make a file that a decider wrote the person's.
    Trust {
        /// Path below the profile.
        path: String,
    },
    /// One beat now, without waiting for it.
    Wake,
    /// Who holds the lock, and when they look next.
    Pulse {
        /// Answer only once the world has been looked at.
        #[serde(default)]
        seen: bool,
    },
    /// End the loop, what is in flight and the workers.
    Down {
        /// Leave the workers alone.
        #[serde(default)]
        keep_workers: bool,
    },
    /// Remove what is kept of ended workers.
    Prune {
        /// Of this worker or session only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<String>,
    },
}

/// A person's word on a move that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The ask.
    pub ask: String,
    /// The digest of what the person was shown.
    pub digest: Digest,
    /// What they say.
    pub say: Say,
    /// Why, where they said so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What a person says to a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// Do it, once.
    Yes,
    /// Do it, and the like of it without asking.
    Always,
    /// Do not.
    No,
}

/// The lock holder, as it describes itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PulseView {
    /// Its process number.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Whether it is the loop, and not a verb that holds the lock for a moment.
    pub loops: bool,
    /// Whether it runs detached from any terminal.
    pub detached: bool,
    /// Since when, in milliseconds since the epoch.
    pub since: i64,
    /// When it last looked at the whole world, in milliseconds since the epoch.
    pub looked: Option<i64>,
    /// When it looks next by itself, if nothing happens before.
    pub next: Option<NextWake>,
}

/// When the loop looks next by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextWake {
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// Why then, in words.
    pub why: String,
}

/// What comes of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The beat is over.
    Beat {
        /// Why it did nothing, if it did nothing.
        why: Option<String>,
        /// Whether a decide failed, or its proposal was refused.
        failed: bool,
        /// The sensors that fail, and how.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        failing: BTreeMap<String, String>,
    },
    /// What a beat would do.
    DryRun {
        /// The brief.
        brief: String,
        /// What the gates say.
        verdict: String,
        /// What differs from the baseline.
        changes: Vec<String>,
    },
    /// The move is over.
    Made {
        /// In which beat.
        beat: BeatId,
        /// The session, where one ran.
        session: Option<String>,
        /// What it did, in words.
        summary: String,
        /// What came of it.
        outcome: Outcome,
    },
    /// The ended sessions that were kept are gone.
    Pruned {
        /// Which.
        sessions: Vec<String>,
        /// Those that stay, and why.
        kept: Vec<(String, String)>,
    },
    /// The move waits again.
    Reparked {
        /// Under this ask.
        ask: String,
    },
    /// Who holds the lock.
    Pulse(PulseView),
    /// Done, with nothing to add.
    Done,
    /// Not done.
    Refused {
        /// Why.
        reason: String,
    },
}
