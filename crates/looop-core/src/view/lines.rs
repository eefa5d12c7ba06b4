//! Human lines: `[HH:MM:SS] <glyph> <text>`.

use jiff::tz::TimeZone;

use crate::ledger::entry::{Entry, Line, SensorState};
use crate::model::letter::AskKind;
use crate::model::moves::{Move, one_line};
use crate::model::outcome::Outcome;
use crate::model::plan::{Author, Plan};
use crate::shown::Shown;
use crate::time::{Now, clock_text};
use crate::world::fleet::Stray;

/// How a line is meant; the face chooses the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// In passing.
    Dim,
    /// As it should be.
    Plain,
    /// Something was achieved.
    Good,
    /// Something failed.
    Bad,
    /// A person is wanted.
    Ask,
}

/// One human line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HumanLine {
    /// `HH:MM:SS`.
    pub clock: String,
    /// One sign.
    pub glyph: char,
    /// What happened.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
}

impl HumanLine {
    /// The line without colour.
    pub fn plain(&self) -> Shown {
        let (clock, text) = self.shown();
        clock.then(&text)
    }

    /// Its clock, and its sign and text.
    pub fn shown(&self) -> (Shown, Shown) {
        let text = format!("{} {}", self.glyph, self.text);
        (Shown::line(&format!("[{}]", self.clock)), Shown::line(&text))
    }
}

/// The human lines of one append.
pub fn lines(line: &Line, now: &Now) -> Vec<HumanLine> {
    let clock = clock_text(line.at.wall, &now.zone);
    let shown = line.entries.iter().flat_map(|entry| of_entry(entry, now));
    shown.map(|(glyph, tone, text)| HumanLine { clock: clock.clone(), glyph, text, tone }).collect()
}

/// The clock of a moment, for lines that no append stands behind.
pub fn clock(wall: i64, zone: &TimeZone) -> String {
    clock_text(wall, zone)
}

type Said = (char, Tone, String);

fn of_entry(entry: &Entry, now: &Now) -> Vec<Said> {
    match entry {
        Entry::Seeded { files } if files.is_empty() => Vec::new(),
        Entry::Seeded { files } => {
            vec![('+', Tone::Plain, format!("new profile: wrote {}", files.join(", ")))]
        }
        Entry::Asked { .. } | Entry::Answered { .. } | Entry::Dismissed { .. } | Entry::Withdrawn { .. } => {
            of_ask(entry).into_iter().collect()
        }
        Entry::Saw { .. }
        | Entry::Told { .. }
        | Entry::WorkerStarted { .. }
        | Entry::GoalsHold { .. }
        | Entry::WorkerNoted { .. }
        | Entry::Forgot { .. } => Vec::new(),
        Entry::WorkerEnded { .. }
        | Entry::Spent { .. }
        | Entry::Granted { .. }
        | Entry::Verified { .. }
        | Entry::WorkFound { .. }
        | Entry::ClaimReaped { .. }
        | Entry::Pruned { .. } => of_worker(entry).into_iter().collect(),
        Entry::SensorChanged { sensor, state } => vec![sensor_changed(sensor, state)],
        Entry::Flapping { reading } => vec![('≈', Tone::Bad, format!("{reading} changes at every beat"))],
        Entry::Skipped { why, .. } => vec![('·', Tone::Dim, why.text(now))],
        Entry::DecideStarted { run, decider, forced, changes, .. } => {
            let reason = match (forced, changes.len()) {
                (Some(force), _) => force.text(),
                (None, 1) => changes[0].text(),
                (None, count) => format!("{count} changes"),
            };
            vec![('?', Tone::Plain, format!("asking {decider} (run {run}): {}", one_line(&reason, 160)))]
        }
        Entry::Decided { proposal, .. } => {
            vec![('!', Tone::Plain, format!("decided {}", proposal.action.action()))]
        }
        Entry::Failed { reason, .. } => {
            vec![('✗', Tone::Bad, format!("deciding failed: {}", one_line(reason, 300)))]
        }
        Entry::Rejected { reason, .. } => {
            vec![('✗', Tone::Bad, format!("refused: {}", one_line(reason, 300)))]
        }
        Entry::Overtaken { reason, .. } => {
            vec![('~', Tone::Dim, format!("overtaken: {}", one_line(reason, 300)))]
        }
        Entry::Parked { .. }
        | Entry::Approved { .. }
        | Entry::Declined { .. }
        | Entry::Lapsed { .. }
        | Entry::Reparked { .. }
        | Entry::RuleWritten { .. } => of_consent(entry).into_iter().collect(),
        Entry::Intended { plan, why, .. } => intended(plan, why.as_deref()),
        Entry::Restarted { .. } => {
            vec![('↻', Tone::Dim, "it had not run before the crash; starting it".to_owned())]
        }
        Entry::Finished { outcome, .. } => finished(outcome),
        Entry::Trusted { path, .. } => vec![('✓', Tone::Good, format!("{path} is yours now"))],
        Entry::ScheduleDue { schedule, .. } => {
            vec![('◷', Tone::Plain, format!("schedule {schedule} is due"))]
        }
        Entry::ConfigError { error } => {
            let text = format!("{}; going on with the last good configuration", one_line(error, 400));
            vec![('✗', Tone::Bad, text)]
        }
        Entry::ConfigMended => vec![('✓', Tone::Good, "the configuration can be used again".to_owned())],
        Entry::Notified { .. } | Entry::Undelivered { .. } | Entry::Delivered { .. } => {
            of_notice(entry).into_iter().collect()
        }
        Entry::Paused { until } => {
            let text = crate::gate::Why::Paused { until: *until }.text(now);
            vec![('‖', Tone::Plain, text)]
        }
        Entry::Resumed => vec![('▸', Tone::Plain, "resumed".to_owned())],
        Entry::Renumbered { runs, sessions, .. } => vec![renumbered(*runs, *sessions)],
        Entry::Dropped { what } => vec![('-', Tone::Dim, format!("dropped {what}"))],
        Entry::Stopped { reason } => vec![('■', Tone::Plain, format!("stopped: {reason}"))],
    }
}

fn renumbered(runs: u64, sessions: u64) -> Said {
    let text =
        format!("the log had lost its end; decides are counted on from {runs}, sessions from {sessions}");
    ('!', Tone::Plain, text)
}

/// What an entry about a move that waits for a person says.
fn of_consent(entry: &Entry) -> Option<Said> {
    Some(if let Entry::Parked { ask, parked, .. } = entry {
        let parked = Some(parked).filter(|parked| !parked.proposed)?;
        ('?', Tone::Ask, format!("waits for your yes ({ask}): {}", one_line(&parked.prompt(), 400)))
    } else if let Entry::Approved { ask, .. } = entry {
        ('←', Tone::Good, format!("{ask} approved"))
    } else if let Entry::Declined { ask, text } = entry {
        ('←', Tone::Plain, format!("{ask}: {}", one_line(text, 200)))
    } else if let Entry::Lapsed { ask, reason } = entry {
        ('~', Tone::Dim, format!("{ask} can no longer be approved: {}", one_line(reason, 200)))
    } else if let Entry::RuleWritten { ask, error: Some(error) } = entry {
        ('✗', Tone::Bad, format!("the rule of {ask} could not be added to policy.toml: {error}"))
    } else if let Entry::RuleWritten { ask, error: None } = entry {
        ('+', Tone::Plain, format!("policy.toml: the like of {ask} needs no yes any more"))
    } else {
        return None;
    })
}

/// What an entry about workers says.
fn of_worker(entry: &Entry) -> Option<Said> {
    Some(if let Entry::WorkerEnded { session, state, strays } = entry {
        let strays = if strays.is_empty() { String::new() } else { format!("; {}", Stray::texts(strays)) };
        ('◦', Tone::Plain, format!("worker {session} ended: {}{strays}", state.text()))
    } else if let Entry::Spent { session, spend, .. } = entry {
        ('$', Tone::Dim, format!("{session} {}", spend.text()?))
    } else if let Entry::Granted { session, .. } = entry {
        ('▸', Tone::Plain, format!("{session} goes on with a further allowance"))
    } else if let Entry::Verified { session, pass: true, .. } = entry {
        ('✓', Tone::Good, format!("the work of {session} is proven"))
    } else if let Entry::Verified { session, text, .. } = entry {
        ('✗', Tone::Bad, format!("the work of {session} is not proven: {}", one_line(text, 200)))
    } else if let Entry::WorkFound { session, work } = entry {
        if work.is_nothing() {
            ('·', Tone::Dim, format!("{session} changed nothing"))
        } else {
            ('◆', Tone::Plain, format!("{session} left {} on {}", work.text(), work.branch))
        }
    } else if let Entry::ClaimReaped { claim, session } = entry {
        ('-', Tone::Dim, format!("claim {claim} of {session}, which has ended, is free"))
    } else if let Entry::Pruned { sessions } = entry {
        ('-', Tone::Dim, format!("removed what was kept of {}", one_line(&sessions.join(", "), 200)))
    } else {
        return None;
    })
}

/// What an entry about an ask says. The loop's own questions are told as moves.
fn of_ask(entry: &Entry) -> Option<Said> {
    if let Entry::Asked { ask, from, prompt, kind, .. } = entry {
        let what = match kind {
            AskKind::Question => "asks you",
            AskKind::Flag => "wants you at its terminal",
            AskKind::Proposal => "proposes",
        };
        let text = format!("{from} {what} ({ask}): {}", one_line(prompt, 400));
        (from != "pulse").then_some(('?', Tone::Ask, text))
    } else if let Entry::Answered { ask, text } = entry {
        Some(('←', Tone::Good, format!("{ask} answered: {}", one_line(text, 200))))
    } else if let Entry::Dismissed { ask } = entry {
        Some(('-', Tone::Dim, format!("{ask} dismissed")))
    } else if let Entry::Withdrawn { ask, reason } = entry {
        Some(('-', Tone::Dim, format!("{ask} is closed: {}", reason.text())))
    } else {
        None
    }
}

/// What an entry about notices says.
fn of_notice(entry: &Entry) -> Option<Said> {
    Some(if let Entry::Notified { message, .. } = entry {
        ('»', Tone::Dim, format!("telling you: {}", one_line(message, 200)))
    } else if let Entry::Undelivered { channel, error, .. } = entry {
        ('✗', Tone::Bad, format!("notice not delivered by {channel}: {}", one_line(error, 200)))
    } else if let Entry::Delivered { channel } = entry {
        ('✓', Tone::Dim, format!("{channel} no longer fails to deliver notices"))
    } else {
        return None;
    })
}

/// What is said of a sensor whose state changed, and of one that still fails.
pub fn sensor_changed(sensor: &str, state: &SensorState) -> (char, Tone, String) {
    match state {
        SensorState::Failing { reason } => {
            let text = format!("sensor {sensor} fails: {reason} (looop sensor run {sensor})");
            ('✗', Tone::Bad, text)
        }
        SensorState::Works => ('✓', Tone::Good, format!("sensor {sensor} works again")),
        SensorState::Removed => ('-', Tone::Dim, format!("sensor {sensor} is gone")),
    }
}

fn intended(plan: &Plan, why: Option<&str>) -> Vec<Said> {
    let goal = plan.goal.as_ref().map_or(String::new(), |goal| format!("[{goal}] "));
    if let Move::AskHuman { prompt, .. } = &plan.action {
        return vec![('?', Tone::Ask, format!("{goal}asks you: {}", one_line(prompt, 400)))];
    }
    let what = if let Move::RunShell { cmd, .. } = &plan.action {
        format!("{goal}$ {}", one_line(cmd, 200))
    } else {
        format!("{goal}{}", plan.action.summary())
    };
    let why = match (&plan.author, why) {
        (Author::Builtin | Author::Approved(_), Some(why)) => format!("  ({})", one_line(why, 160)),
        _ => String::new(),
    };
    vec![('→', Tone::Plain, format!("{what}{why}"))]
}

fn finished(outcome: &Outcome) -> Vec<Said> {
    let tail = |tail: &str| {
        let last: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = last.len().saturating_sub(5);
        last[from..]
            .iter()
            .map(|line| (' ', Tone::Dim, format!("  {}", one_line(line, 160))))
            .collect::<Vec<_>>()
    };
    let mut shown = outcome.shell().map(|shell| tail(&shell.tail)).unwrap_or_default();
    shown.push(match outcome {
        Outcome::Done { note: Some(note), .. } => ('✓', Tone::Good, format!("done: {note}")),
        Outcome::Done { note: None, .. } => ('✓', Tone::Good, "done".to_owned()),
        Outcome::Failed { reason, .. } => ('✗', Tone::Bad, format!("failed: {}", one_line(reason, 300))),
        Outcome::Interrupted { reason } => {
            ('✗', Tone::Bad, format!("interrupted: {}", one_line(reason, 300)))
        }
    });
    shown
}
