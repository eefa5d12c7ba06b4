//! The ledger: what the entries so far add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::{Cause, Force};
use super::undo::Undoable;
use crate::approval::{Lapsed, Parked};
use crate::gate::Why;
use crate::meter::Micros;
use crate::model::digest::Digest;
use crate::model::letter::{AskKind, Topic};
use crate::model::money::{Allowance, Used};
use crate::model::outcome::Ended;
use crate::model::plan::{Author, BeatId, Plan, RunId};
use crate::model::rights::Rights;
use crate::model::work::{Answered, Proof, Settle, Settled, Work};
use crate::time::Stamp;
use crate::world::baseline::{Delta, Items};
use crate::world::fleet::{Stray, WorkerState};

/// Which rules made a ledger what it is. Entries of a log add up to the same only under the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form(u32);

impl Default for Form {
    /// Those of this version.
    fn default() -> Self {
        Self(1)
    }
}

impl Form {
    /// Those of versions that did not say.
    fn unsaid() -> Self {
        Self(0)
    }
}

/// All that the loop remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By which rules.
    #[serde(default = "Form::unsaid")]
    pub form: Form,
    /// Number of the last append.
    pub seq: u64,
    /// When that was.
    pub at: Option<Stamp>,
    /// Number of the last beat that left an entry.
    pub beats: u64,
    /// Number of the last decide.
    pub runs: u64,
    /// Number of the last hosted session that is no worker's.
    pub sessions: u64,
    /// Number of the last ask of the loop's own.
    pub asks_made: u64,
    /// Whether the starter files were put in place.
    pub seeded: bool,
    /// How far the interview of a first run is.
    pub interview: Interview,
    /// Whether it was ever offered.
    pub interview_offered: bool,
    /// The world as the last model decision saw it.
    pub baseline: Items,
    /// The decide under way.
    pub deciding: Option<Deciding>,
    /// The move under way.
    pub acting: Option<Acting>,
    /// Failures in a row.
    pub failures: Option<Failures>,
    /// The decider's wish for the next beat.
    pub nudge: Option<Nudge>,
    /// Decides in a row that only our own doing forced.
    pub chain: u32,
    /// When the last decide started.
    pub last_decide: Option<Stamp>,
    /// Starts of the decides of the last hour.
    pub decides: Vec<Stamp>,
    /// The last decision, if it was to do nothing.
    pub noop: Option<Stamp>,
    /// When an overdue goal last forced a decide.
    pub overdue: BTreeMap<String, Stamp>,
    /// What is known of each goal.
    pub goals: BTreeMap<String, GoalRecord>,
    /// Readings as the last beat saw them, and how often each changed in a row.
    pub readings: BTreeMap<String, ReadingRecord>,
    /// Sensors that fail, or failed lately.
    pub failing: BTreeMap<String, FailingRecord>,
    /// Asks that wait for a person.
    pub asks: BTreeMap<String, AskRecord>,
    /// Asks that were settled lately, by the time they were asked: their letters may still be there after a crash.
    pub settled: BTreeMap<String, i64>,
    /// What the next brief must show once.
    pub notes: Vec<Note>,
    /// Bytes that moves of a decider wrote, by path.
    pub written: BTreeMap<String, Digest>,
    /// Of these, those that were written from what a stranger wrote, and that no person has edited or approved since.
    pub tainted: BTreeMap<String, Digest>,
    /// The last moves of files, newest last: what can be taken back.
    pub undo: Vec<Undoable>,
    /// The last journal lines.
    pub journal: Vec<String>,
    /// Of these, those of tainted beats.
    pub tainted_lines: Vec<String>,
    /// Moves that wait for a person's consent, by ask.
    pub parked: BTreeMap<String, Parked>,
    /// Moves that waited and can no longer be approved, with the reason, by ask.
    pub lapsed: BTreeMap<String, Lapsed>,
    /// Rules that a person's "always" adds to the policy and that are not written yet, by ask.
    pub rules_due: BTreeMap<String, String>,
    /// Whether deciding is paused.
    pub paused: Option<Paused>,
    /// Why the last beat did nothing, if it did nothing.
    pub skipped: Option<Skip>,
    /// What was spent by local day, the newest days.
    pub spend: BTreeMap<String, DaySpend>,
    /// Decides in a row that left no receipt.
    pub unmetered: Option<Unmetered>,
    /// Deciders whose provider takes no calls for a while.
    pub limited: BTreeMap<String, Limited>,
    /// Letters about money that were counted lately, and when each was written: they may still be there after a crash.
    pub expenses: BTreeMap<String, i64>,
    /// Sessions of workers, as long as something of them is kept.
    pub workers: BTreeMap<String, WorkerRecord>,
    /// The highest number that a session of each worker had, also of those of which nothing is kept.
    pub generations: BTreeMap<String, u64>,
    /// Answers that were brought to a worker which had died, by ask: the session that was told.
    pub redelivered: BTreeMap<String, String>,
    /// When things were noted that are remembered only so that they are not done twice, by kind and name: the number of
    /// the append. What is not here is older than all that is.
    pub noted: BTreeMap<Noted, BTreeMap<String, u64>>,
    /// Tells that were noted lately.
    pub tells: BTreeMap<String, i64>,
    /// Schedules by name: the last time that each was noticed to be due, in milliseconds since the epoch.
    pub due: BTreeMap<String, i64>,
    /// What is wrong with the configuration, if something is; the last good one is in use.
    pub config_error: Option<String>,
    /// What the person was told of that waits for them, by need.
    pub notices: BTreeMap<String, NoticeRecord>,
    /// Channels that did not take the last notice.
    pub undelivered: BTreeMap<String, UndeliveredRecord>,
}

/// Things that are remembered only so that they are not done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noted {
    /// Asks that were settled.
    Settled,
    /// Answers that were brought to a worker which had died.
    Redelivered,
    /// Numbers of workers' sessions.
    Generation,
    /// Tells.
    Tell,
    /// Letters about money.
    Expense,
    /// Times at which schedules were due.
    Due,
}

/// How far the interview of a first run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interview {
    /// There is none, or it has begun.
    #[default]
    None,
    /// The person is to be asked.
    Due,
    /// The person was asked.
    Asked,
    /// The person wants it.
    Wanted,
}

/// What the person was told of one need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRecord {
    /// When first.
    pub first: Stamp,
    /// When last.
    pub last: Stamp,
    /// How often.
    pub count: u32,
}

/// A channel that did not take a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeliveredRecord {
    /// When the last one was not taken.
    pub at: Stamp,
    /// Why.
    pub error: String,
    /// How many in a row.
    pub count: u32,
}

/// A session of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// The goal that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The command that proves its work done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// With whose rights that command runs.
    #[serde(default, skip_serializing_if = "Rights::is_person")]
    pub rights: Rights,
    /// Who wanted it.
    pub author: Author,
    /// When it was started.
    pub at: Stamp,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<WorkerState>,
    /// Its processes that ran outside its session when it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
    /// Whether its work was proven, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
    /// The answered ask that it was started to be told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether a person was asked about its death.
    #[serde(default)]
    pub mourned: bool,
    /// Whether a move ended it: nobody waits for the answers to what it asked.
    #[serde(default)]
    pub discharged: bool,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Allowance::is_nothing")]
    pub allowance: Allowance,
    /// The runner that it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// What is known of its money.
    #[serde(default, skip_serializing_if = "Account::is_blank")]
    pub account: Account,
    /// The last time that something could not be typed into it, if nothing was typed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untyped: Option<Untyped>,
    /// The last time that it was told to go on because a limit of its provider was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken: Option<Woken>,
    /// The repository that it has a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// What it left in that copy, once it has ended and was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// What the command said that proves its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// What a person did with its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// What it asked, and what was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
}

/// Something could not be typed into a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untyped {
    /// When that was tried last.
    pub at: Stamp,
    /// How often in a row.
    pub tries: u32,
}

/// A worker was told to go on because a limit of its provider was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Woken {
    /// The flag that said that it waited.
    pub flag: String,
    /// When that was tried.
    pub at: Stamp,
}

impl WorkerRecord {
    /// A session that has just been started.
    pub fn new(author: Author, at: Stamp) -> Self {
        Self {
            goal: None,
            verify: None,
            rights: Rights::Person,
            author,
            at,
            ended: None,
            strays: Vec::new(),
            proven: None,
            after: None,
            mourned: false,
            discharged: false,
            allowance: Allowance::Nothing,
            runner: None,
            account: Account::default(),
            untyped: None,
            woken: None,
            repo: None,
            work: None,
            proof: None,
            settled: None,
            answers: Vec::new(),
        }
    }

    /// The work that it left and that a person has neither merged nor thrown away.
    pub fn unsettled(&self) -> Option<&Work> {
        let gone = |settled: &Settled| matches!(settled.how, Settle::Merge | Settle::Discard);
        let open = self.ended.is_some() && !self.settled.as_ref().is_some_and(gone);
        self.work.as_ref().filter(|work| open && !work.is_nothing())
    }

    /// The word for what is known of its proof: `pass`, `fail`, or `unchanged` where it changed nothing.
    pub fn verify_word(&self) -> Option<&'static str> {
        let nothing = self.work.as_ref().is_some_and(Work::is_nothing);
        let word = |pass| if pass { "pass" } else { "fail" };
        if nothing { Some("unchanged") } else { self.proven.map(word) }
    }

    /// Whether its work is done and waits for a person: it is proven, or there was nothing to prove it by and it ended
    /// well.
    pub fn waits_for_review(&self) -> bool {
        let well = self.ended == Some(WorkerState::Exited(0));
        let done = self.proven == Some(true) || (self.verify.is_none() && well);
        done && self.unsettled().is_some()
    }

    /// Whether it has ended and it is not known yet what it left in its copy.
    pub fn is_unseen(&self) -> bool {
        self.repo.is_some() && self.work.is_none() && self.settled.is_none()
    }
}

/// A worker's money.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// What the worker recorded in all.
    pub recorded: Used,
    /// What its agent's own file says in all.
    pub metered: Used,
    /// What it recorded besides what its agent spends.
    pub extra: Used,
    /// What of it was settled so far.
    pub charged: Used,
    /// Whether nothing is set aside for it any more.
    pub closed: bool,
    /// How many further allowances it was granted.
    pub grants: u32,
    /// What it may use in all since the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Micros>,
    /// The ask whether it may go on, since it passed its allowance.
    pub ask: Option<String>,
    /// What the person said to that.
    pub said: Option<String>,
    /// When the person last dismissed that ask, and how often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<(Stamp, u32)>,
}

impl Account {
    fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// What its agent used, as far as is known. What it records and what its agent's file says are two accounts of the
    /// same money, so that the larger counts.
    pub fn by_agent(&self) -> Used {
        self.recorded.max(self.metered)
    }

    /// What it used in all, as far as is known.
    pub fn used(&self) -> Used {
        self.by_agent().plus(self.extra)
    }
}

/// Decides in a row that left no receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmetered {
    /// How many.
    pub runs: u32,
    /// The configuration that they ran with.
    pub config: Option<Digest>,
    /// The decider of the last one.
    #[serde(default)]
    pub decider: String,
    /// The model that it used and that has no price, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A decider whose provider takes no calls for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// Since when.
    pub at: Stamp,
    /// Until when, in milliseconds since the epoch.
    pub until: i64,
    /// The configuration then: another one may mean another account.
    pub config: Option<Digest>,
}

/// A decide under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// In which beat.
    pub beat: BeatId,
    /// Its number.
    pub run: RunId,
    /// The hosted session that it runs in.
    pub session: String,
    /// Who decides.
    pub decider: String,
    /// When it started.
    pub at: Stamp,
    /// The append that started it: notes up to here are in its brief.
    pub seq: u64,
    /// What let it through, if the world is unchanged.
    pub forced: Option<Force>,
    /// The world it is shown.
    pub sees: Delta,
    /// Digests of sensors and schedules by path.
    pub files: BTreeMap<String, Digest>,
    /// Dollars set aside for it; nothing once it is settled.
    pub reserved_usd: f64,
    /// Whether it costs nothing.
    #[serde(default)]
    pub free: bool,
    /// Digest of the configuration.
    #[serde(default)]
    pub config: Option<Digest>,
    /// Whether its brief shows what a stranger wrote.
    #[serde(default)]
    pub tainted: bool,
}

/// A move under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acting {
    /// In which beat.
    pub beat: BeatId,
    /// What is fixed about it.
    pub plan: Box<Plan>,
    /// The world that its decision saw, committed if it is done.
    pub sees: Option<Delta>,
    /// When it was intended.
    pub at: Stamp,
}

/// Failures in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    /// How many.
    pub count: u32,
    /// When the last was.
    pub at: Stamp,
    /// What it was.
    pub reason: String,
    /// The policy files and configuration then.
    pub policy: Digest,
    /// Whether a person ended the wait after the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

/// A wish for another look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nudge {
    /// When it was made.
    pub at: Stamp,
    /// Seconds after that.
    pub seconds: u64,
}

/// What is known of a goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GoalRecord {
    /// When a move for it last ended.
    pub served: Option<Stamp>,
    /// Since when it is ready, if it is.
    pub ready: Option<Stamp>,
    /// Moves for it since it last held.
    pub attempts: u32,
    /// Workers in a row for it that ended without proof of their work.
    pub fruitless: u32,
    /// How the last move for it ended, in words.
    pub last: Option<String>,
    /// Whether the last move for it was done.
    pub done: bool,
    /// The recipe that the attempts were made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Digest>,
    /// The recipe that a person wants left alone, since it was tried often enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Digest>,
    /// The ask that it waits for.
    pub ask: Option<String>,
    /// The body whose recipe a person did not consent to.
    pub declined: Option<Digest>,
    /// What counts against its budget: what it has cost, and what was reserved for it and not reported.
    pub spent: Micros,
    /// Of that, what was reserved and not reported.
    pub unreported: Micros,
    /// The budget that a person gave it, where a decider has rewritten it since.
    pub budget: Option<Micros>,
    /// Why no worker is started for it, where its budget does not allow one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<String>,
    /// The session whose work is done and waits for a person; the goal is not served meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// When the last of the workers ended that ended without proof of their work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Stamp>,
}

/// What is known of a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadingRecord {
    /// Digest of its signal in the last beat.
    pub digest: Digest,
    /// In how many beats in a row it changed; quiet beats count back.
    pub streak: u32,
}

/// A sensor that fails, or failed lately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingRecord {
    /// Since when.
    pub at: Stamp,
    /// How, in one line.
    pub reason: String,
    /// Since when it works again, if it does. It is remembered for a while, so that a sensor that fails now and then is
    /// not told of each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub works: Option<Stamp>,
}

/// An ask that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Who asks.
    pub from: String,
    /// The question.
    pub prompt: String,
    /// The goal that waits for it.
    pub goal: Option<String>,
    /// What is wanted.
    #[serde(default)]
    pub kind: AskKind,
    /// Since when.
    pub at: Stamp,
    /// When it was asked, as its letter says, in milliseconds since the epoch.
    pub asked: i64,
    /// Whether it was made from what a stranger wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What it is about, where it is a question of the loop's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// Digest of the question and its options, where it is a question of the loop's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Digest>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub at: Stamp,
    /// Until when, in milliseconds since the epoch.
    pub until: Option<i64>,
}

/// A beat that did nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    /// Which beat.
    pub beat: BeatId,
    /// When.
    pub at: Stamp,
    /// Why it looked.
    pub cause: Cause,
    /// Why it did nothing.
    pub why: Why,
}

/// What a day cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredDay")]
pub struct DaySpend {
    /// Dollars that count against the cap: what was spent, and what was reserved and not reported.
    pub spent: Micros,
    /// Of these, the dollars that were reserved and not reported.
    pub unreported: Micros,
    /// The runner for which dollars were last reserved and not reported; empty for a command of a worker's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreported_by: Option<String>,
    /// The model that was used then and has no price, if that is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<String>,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Decides.
    pub decides: u64,
    /// When the first of it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Stamp>,
}

/// A day as it may be stored: earlier versions wrote dollars as a fraction.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredDay {
    usd: f64,
    spent: Option<Micros>,
    unreported: Micros,
    unreported_by: Option<String>,
    unpriced: Option<String>,
    tokens: u64,
    decides: u64,
    since: Option<Stamp>,
}

impl From<StoredDay> for DaySpend {
    fn from(stored: StoredDay) -> Self {
        let StoredDay { usd, spent, unreported, unreported_by, unpriced, tokens, decides, since } = stored;
        let spent = spent.or_else(|| Micros::from_dollars(usd)).unwrap_or_default();
        Self { spent, unreported, unreported_by, unpriced, tokens, decides, since }
    }
}

/// What the next brief must show once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The append that it belongs to.
    pub seq: u64,
    /// Whether it repeats what was made from a stranger's words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What it is.
    #[serde(flatten)]
    pub what: NoteKind,
}

/// Kinds of notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum NoteKind {
    /// Output of a shell move.
    Shell {
        /// The command.
        cmd: String,
        /// How it ended.
        ended: Ended,
        /// The end of its output.
        tail: String,
        /// Whether the loop's own decider wanted it.
        own: bool,
    },
    /// A decide or a move failed.
    Failure {
        /// What happened.
        reason: String,
    },
    /// A proposal was refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// A proposal came too late.
    Overtaken {
        /// What it was and what changed.
        reason: String,
    },
    /// A move may or may not have happened.
    Interrupted {
        /// Which, and what is known.
        reason: String,
    },
    /// A person answered.
    Answer {
        /// Which ask.
        ask: String,
        /// The question.
        prompt: String,
        /// The answer.
        text: String,
    },
    /// The last decision had fields that mean nothing here.
    Unknown {
        /// Their names.
        fields: Vec<String>,
    },
}

impl Ledger {
    /// What is known of a goal.
    pub fn goal(&self, id: &str) -> GoalRecord {
        self.goals.get(id).cloned().unwrap_or_default()
    }

    /// The move of this beat that can be taken back; the last one where none is named.
    pub fn undoable(&self, beat: Option<BeatId>) -> Option<&Undoable> {
        match beat {
            Some(beat) => self.undo.iter().find(|undoable| undoable.beat == beat),
            None => self.undo.last(),
        }
    }
}
