//! Entries: the facts that the log holds, in its own words. The public events are a mapping of these in `view`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::Parked;
use crate::gate::Why;
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::money::Used;
use crate::model::moves::Proposal;
use crate::model::outcome::Outcome;
use crate::model::plan::{BeatId, Plan, RunId};
use crate::model::work::Work;
use crate::notice::NoticeKind;
use crate::time::Stamp;
use crate::world::baseline::{Change, Delta};
use crate::world::fleet::{Stray, WorkerState};
use crate::world::observation::Scope;

pub use super::reasons::{FailureKind, SensorState, Withdrawal};
pub use super::spend::{AT_LEAST, FREE, NOT_CHARGED, RESERVED, Spend};

/// Version of the log's form.
pub const LOG_VERSION: u32 = 1;

/// One append: everything that one step of the engine had to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the append, without gaps.
    pub seq: u64,
    /// When.
    pub at: Stamp,
    /// How many beats since the line before did the same nothing for the same reason.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle: u32,
    /// The facts.
    pub entries: Vec<Entry>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Why the loop looked. Logged, and never decided upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The pulse has just started.
    Start,
    /// The interval was over.
    Timer,
    /// The decider had asked for another look.
    Nudge,
    /// A person asked for a beat.
    Person,
    /// A file changed.
    Files,
    /// A worker started or ended.
    Session,
    /// A schedule became due.
    Schedule,
    /// The clock was set.
    Clock,
    /// Something the loop did ended.
    Followup,
}

impl Cause {
    /// How wide a look for this cause is. What came from a file, a worker or the clock is seen without running sensors.
    pub fn scope(self) -> Scope {
        match self {
            Self::Start | Self::Timer | Self::Nudge | Self::Person => Scope::Full,
            Self::Files | Self::Session | Self::Schedule | Self::Clock | Self::Followup => Scope::Quick,
        }
    }

    /// The cause in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Start => "the pulse started",
            Self::Timer => "the interval was over",
            Self::Nudge => "the decider had asked for another look",
            Self::Person => "you asked for it",
            Self::Files => "a file changed",
            Self::Session => "a worker started or ended",
            Self::Schedule => "a schedule became due",
            Self::Clock => "the clock was set",
            Self::Followup => "something the loop did has ended",
        }
    }
}

/// What lets a decide through although the world is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// The decider asked to be asked again.
    Nudge,
    /// A person asked for a beat.
    Person,
    /// A person started the loop, and no decide was made lately.
    Start,
    /// A shell move of the loop left output that no brief has shown.
    Shell,
    /// The last decision was to do nothing, long ago, with work open.
    StaleNoop,
    /// A goal has waited too long.
    Overdue(String),
    /// A person answered, and no brief has shown it.
    Answer,
}

impl Force {
    /// Whether the loop's own doing is the reason.
    pub fn is_own_doing(&self) -> bool {
        matches!(self, Self::Nudge | Self::Shell)
    }

    /// The reason in words.
    pub fn text(&self) -> String {
        match self {
            Self::Nudge => "the decider asked for another look".to_owned(),
            Self::Person => "you asked for a beat".to_owned(),
            Self::Start => "you started the loop".to_owned(),
            Self::Shell => "a shell move left output to look at".to_owned(),
            Self::StaleNoop => "the last decision to do nothing is old and work is open".to_owned(),
            Self::Overdue(goal) => format!("goal {goal} has waited too long"),
            Self::Answer => "you answered".to_owned(),
        }
    }
}

/// A fact. Stored as an object of one key, its kind: a tag among the fields would be slower to read by half, and a log of
/// millions of entries is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The starter files were put into a fresh profile.
    Seeded {
        /// Which files.
        files: Vec<String>,
    },
    /// Readings changed since the beat before, or other goals are ready.
    Saw {
        /// Digests of the readings that changed; absent for those that are gone.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        readings: BTreeMap<String, Option<Digest>>,
        /// Beats since the last such entry in which nothing changed.
        #[serde(default)]
        quiet: u32,
        /// Whether only some sensors were run: the others are neither quiet nor changed.
        #[serde(default, skip_serializing_if = "is_false")]
        some: bool,
        /// The goals that are ready now, if the set differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ready: Option<Vec<String>>,
        /// Goals whose recipe was tried and that hold now: their count of attempts starts anew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<String>,
        /// Goals whose recipe was tried and is another now: their counts start anew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rewritten: Vec<String>,
        /// The goals whose budget stops their workers now, and how it stands, if there are others than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broke: Option<BTreeMap<String, String>>,
    },
    /// A sensor began to fail, fails in another way, works again, or is gone.
    SensorChanged {
        /// Which.
        sensor: String,
        /// How it is now.
        state: SensorState,
    },
    /// A reading has changed too often in a row.
    Flapping {
        /// Which.
        reading: String,
    },
    /// A beat ended without a move.
    Skipped {
        /// Which beat.
        beat: BeatId,
        /// Why it looked.
        cause: Cause,
        /// Why it did nothing.
        why: Why,
        /// What differed from the baseline.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// The world as the built-in decider saw it, where there is no model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sees: Option<Delta>,
    },
    /// A paid decide is about to start.
    DecideStarted {
        /// In which beat.
        beat: BeatId,
        /// Its number.
        run: RunId,
        /// The hosted session that it runs in.
        session: String,
        /// Who decides.
        decider: String,
        /// Why the loop looked.
        cause: Cause,
        /// What let it through, if the world is unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced: Option<Force>,
        /// What differed from the baseline.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// The world it is shown, as a delta on the baseline.
        #[serde(default)]
        sees: Delta,
        /// Digests of sensors and schedules by path; with the world it is shown, what its decision rests on.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, Digest>,
        /// Dollars set aside for it.
        #[serde(default)]
        reserved_usd: f64,
        /// Whether it costs nothing.
        #[serde(default, skip_serializing_if = "is_false")]
        free: bool,
        /// Digest of the configuration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        config: Option<Digest>,
        /// What its brief shows that a stranger may have written.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tainted: Vec<String>,
    },
    /// A decide ended with a usable proposal.
    Decided {
        /// In which beat.
        beat: BeatId,
        /// Which decide.
        run: RunId,
        /// What it said.
        proposal: Proposal,
        /// What it cost.
        spend: Spend,
    },
    /// A decide ended without one.
    Failed {
        /// In which beat.
        beat: BeatId,
        /// Which decide.
        run: RunId,
        /// How.
        failure: FailureKind,
        /// What happened, for the person and the next brief.
        reason: String,
        /// What it cost.
        spend: Spend,
        /// Digest of the policy files and the configuration: an edit of them cuts the backoff.
        policy: Digest,
        /// Until when its provider takes no calls, in milliseconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// A proposal was refused.
    Rejected {
        /// In which beat.
        beat: BeatId,
        /// Why.
        reason: String,
        /// Digest of the policy files and the configuration.
        policy: Digest,
    },
    /// A proposal came too late: what it rests on has changed.
    Overtaken {
        /// In which beat.
        beat: BeatId,
        /// What changed.
        reason: String,
        /// What the decide cost, where it ended without a proposal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Spend>,
    },
    /// A move waits for a person's consent.
    Parked {
        /// In which beat, where it was decided in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beat: Option<BeatId>,
        /// The ask.
        ask: String,
        /// The move, and what it rests on.
        parked: Box<Parked>,
    },
    /// A person consented to a move, which is carried out now.
    Approved {
        /// The ask.
        ask: String,
        /// The rule that such moves need no consent any more, where the person said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<String>,
    },
    /// A person refused a move.
    Declined {
        /// The ask.
        ask: String,
        /// What they said.
        text: String,
    },
    /// A move that waited can no longer be approved.
    Lapsed {
        /// The ask.
        ask: String,
        /// Why.
        reason: String,
    },
    /// A move that had lapsed waits again.
    Reparked {
        /// The ask that it waited as.
        ask: String,
        /// The ask that it waits as now.
        new: String,
    },
    /// The rule of an "always" is in the policy, or cannot be written.
    RuleWritten {
        /// The ask.
        ask: String,
        /// Why it is not, if it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A move is about to be carried out.
    Intended {
        /// In which beat.
        beat: BeatId,
        /// Everything that is fixed about it.
        plan: Box<Plan>,
        /// Why the loop looked, where no decide said so before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// What differed from the baseline, where no decide said so before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// Why this and not another, where the built-in decider chose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The hosted child never ran; it starts anew in another session.
    Restarted {
        /// In which beat.
        beat: BeatId,
        /// The new session.
        session: String,
    },
    /// A move ended.
    Finished {
        /// In which beat.
        beat: BeatId,
        /// What came of it.
        outcome: Outcome,
        /// The journal line, with its time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<String>,
        /// Digest of the policy files and the configuration.
        policy: Digest,
    },
    /// A letter with a question was found.
    Asked {
        /// Which.
        ask: String,
        /// Who asks.
        from: String,
        /// The question.
        prompt: String,
        /// The goal that waits for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// What is wanted.
        #[serde(default)]
        kind: AskKind,
        /// When, as the letter says, in milliseconds since the epoch.
        asked: i64,
    },
    /// A person's answer was found.
    Answered {
        /// Which ask.
        ask: String,
        /// The answer.
        text: String,
    },
    /// An ask was dismissed, or its letter is gone.
    Dismissed {
        /// Which.
        ask: String,
    },
    /// The loop took back a question of its own, because what it was about is over.
    Withdrawn {
        /// Which.
        ask: String,
        /// Why.
        reason: Withdrawal,
    },
    /// A person made a file that a decider wrote their own.
    Trusted {
        /// Path below the profile.
        path: String,
        /// The journal line.
        journal: String,
    },
    /// A session of a worker has been started.
    WorkerStarted {
        /// Which.
        session: String,
        /// The goal that it serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
    },
    /// A session of a worker has ended.
    WorkerEnded {
        /// Which.
        session: String,
        /// How.
        state: WorkerState,
        /// Its processes that ran outside it then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        strays: Vec<Stray>,
    },
    /// A worker spent money, or what was set aside for it settles without a receipt.
    Spent {
        /// Which session.
        session: String,
        /// The goal that it serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// What this adds to what was known.
        spend: Spend,
        /// The letter that says so, and when it was written, in milliseconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        letter: Option<(String, i64)>,
        /// What the worker has recorded in all.
        #[serde(default, skip_serializing_if = "Used::is_nothing")]
        recorded: Used,
        /// What its agent's own file says in all.
        #[serde(default, skip_serializing_if = "Used::is_nothing")]
        metered: Used,
        /// What it has recorded in all besides what its agent spends.
        #[serde(default, skip_serializing_if = "Used::is_nothing")]
        extra: Used,
        /// Whether nothing is set aside for it any more.
        #[serde(default, skip_serializing_if = "is_false")]
        closes: bool,
    },
    /// A person lets a worker that passed its allowance go on.
    Granted {
        /// Which session.
        session: String,
        /// How many further allowances it has had with this one.
        grants: u32,
        /// What it may use in all from here on: what it had used by then, and one more allowance. Entries of earlier
        /// versions lack it; there each grant is worth one allowance, whatever was used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        up_to: Option<crate::meter::Micros>,
    },
    /// The command that proves a worker's work was run after its end.
    Verified {
        /// Of which session.
        session: String,
        /// Whether the work is proven.
        pass: bool,
        /// How the command ended, and what it printed last.
        text: String,
        /// The end of what it printed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
        /// Whether the check of its goal failed all the same.
        #[serde(default, skip_serializing_if = "is_false")]
        red: bool,
    },
    /// It was looked at what an ended session left in its copy of a repository.
    WorkFound {
        /// Which session.
        session: String,
        /// What it left.
        work: Work,
    },
    /// Goals that wait for a review, or whose workers failed, are as they should be.
    GoalsHold {
        /// Which.
        goals: Vec<String>,
    },
    /// What is known of a worker's end, its proof and its cost, for the journal.
    WorkerNoted {
        /// Which session.
        session: String,
        /// The journal line.
        journal: String,
    },
    /// A claim was taken from a session that has ended.
    ClaimReaped {
        /// Which claim.
        claim: String,
        /// Who held it.
        session: String,
    },
    /// A person tells a worker something.
    Told {
        /// Which letter.
        tell: String,
        /// Who is told.
        session: String,
        /// What.
        text: String,
        /// When, as the letter says, in milliseconds since the epoch.
        told: i64,
    },
    /// What was kept of ended sessions is gone.
    Pruned {
        /// Which.
        sessions: Vec<String>,
    },
    /// A schedule became due.
    ScheduleDue {
        /// Which.
        schedule: String,
        /// Since when, in milliseconds since the epoch.
        due: i64,
    },
    /// The configuration cannot be used; the last good one is kept.
    ConfigError {
        /// What is wrong.
        error: String,
    },
    /// The configuration can be used again.
    ConfigMended,
    /// The person is about to be told of something that needs them.
    Notified {
        /// The need.
        key: String,
        /// What it is.
        kind: NoticeKind,
        /// The ask, where it is one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// What they are told.
        message: String,
    },
    /// A channel did not take a notice.
    Undelivered {
        /// The need that it told of.
        key: String,
        /// Which channel.
        channel: String,
        /// Why.
        error: String,
    },
    /// A channel that had not taken a notice takes them again, or is no longer there.
    Delivered {
        /// Which.
        channel: String,
    },
    /// What was known of goals and files that are gone for long is forgotten.
    Forgot {
        /// Goals by id.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        goals: Vec<String>,
        /// Files that a decider wrote, by path.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    /// The disk has higher numbers than the log, which has lost its end: counting goes on from these.
    Renumbered {
        /// The last decide.
        runs: u64,
        /// The last hosted session that is no worker's.
        sessions: u64,
        /// The last ask of the loop's own.
        asks: u64,
        /// The last beat. Beats leave no number on the disk, so that a thousand are passed over.
        beats: u64,
    },
    /// Deciding stops until resumed.
    Paused {
        /// Until when, in milliseconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// Deciding goes on.
    Resumed,
    /// A result named a run or beat that nobody waits for.
    Dropped {
        /// What it was.
        what: String,
    },
    /// The pulse ended.
    Stopped {
        /// Why.
        reason: String,
    },
}
