//! Admission: a proposal is checked against the world of now and becomes a plan, or does not.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::gate::Limits;
use crate::ledger::state::{Deciding, Ledger};
use crate::model::digest::Digest;
use crate::model::letter::Ask;
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::schedule::{Missed, Schedule, When, parse_cron, parse_moment};
use crate::time::{Now, machine_text};
use crate::world::observation::Docs;
use crate::world::probe::is_overdue;

/// Shortest interval that a decider may ask for.
const SHORTEST_NUDGE_S: u64 = 5;
/// Shortest period of a schedule.
const SHORTEST_EVERY_S: u64 = 60;

/// What a decision rests on: if the PLAYBOOK, the goal it serves or the file it touches changed meanwhile, it is
/// overtaken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rests {
    /// Digest of PLAYBOOK.md.
    pub playbook: Option<Digest>,
    /// Digests of goals.
    pub goals: BTreeMap<String, Digest>,
    /// Digests of sensors and schedules, by path.
    pub files: BTreeMap<String, Digest>,
}

/// What a proposal is judged against.
#[derive(Debug)]
pub struct Context<'a> {
    /// What the loop remembers.
    pub ledger: &'a Ledger,
    /// The policy files as they are now.
    pub docs: &'a Docs,
    /// Bounds.
    pub limits: &'a Limits,
    /// The moment.
    pub now: &'a Now,
    /// Who proposes.
    pub author: Author,
    /// What the decision rests on, if a decider made it from a brief.
    pub rests: Option<&'a Rests>,
}

/// What becomes of a proposal.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Admission {
    /// It is carried out.
    Execute(Box<Plan>),
    /// It is refused.
    Reject(String),
    /// It came too late.
    Overtaken(String),
}

/// Judges a proposal. It only calls the rules in order.
pub fn admit(cx: &Context<'_>, proposal: Proposal) -> Admission {
    if let Some(what) = overtaken(cx, &proposal) {
        return Admission::Overtaken(what);
    }
    if let Some(reason) = unfair(cx, &proposal) {
        return Admission::Reject(reason);
    }
    match plan(cx, proposal) {
        Ok(plan) => Admission::Execute(Box::new(plan)),
        Err(reason) => Admission::Reject(reason),
    }
}

/// The paths and goals that a proposal rests on or touches, if they differ from what its brief showed.
fn overtaken(cx: &Context<'_>, proposal: &Proposal) -> Option<String> {
    let rests = cx.rests?;
    if rests.playbook != cx.docs.playbook.digest() {
        return Some("PLAYBOOK.md changed while it was being decided".to_owned());
    }
    let touched = match &proposal.action {
        Move::WriteGoal { id, .. } | Move::ArchiveGoal { id } => Some(id),
        Move::StartWorker { goal, .. } => goal.as_ref(),
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. } => None,
    };
    for goal in [touched, proposal.goal.as_ref()].into_iter().flatten() {
        let now = cx.docs.goals.get(goal.as_str()).and_then(crate::world::observation::Doc::digest);
        if rests.goals.get(goal.as_str()).copied() != now {
            return Some(format!("goal {goal} changed while it was being decided"));
        }
    }
    let path = match &proposal.action {
        Move::WriteSensor { name, .. } => sensor_path(cx.docs, name),
        Move::WriteSchedule { name, .. } | Move::DropSchedule { name } => schedule_path(name),
        _ => return None,
    };
    let changed = rests.files.get(&path).copied() != digest_at(cx.docs, &proposal.action);
    changed.then(|| format!("{path} changed while it was being decided"))
}

/// A decision that passes over an overdue goal must say so.
fn unfair(cx: &Context<'_>, proposal: &Proposal) -> Option<String> {
    if !matches!(cx.author, Author::Decider(_)) || proposal.next_interval_s.is_some() {
        return None;
    }
    let served = proposal.goal.as_ref().map(Name::as_str);
    let passed_over = |id: &&String| {
        let named = served == Some(id.as_str()) || proposal.deferred_goals.contains(id);
        !named && is_overdue(cx.ledger, id, cx.now, cx.limits)
    };
    let id = cx.docs.goals.keys().find(passed_over)?;
    Some(format!(
        "it passes over goal {id}, which is overdue, without naming it in deferred_goals or asking for an early next beat"
    ))
}

fn plan(cx: &Context<'_>, proposal: Proposal) -> Result<Plan, String> {
    let Proposal { action, journal, goal, next_interval_s, .. } = proposal;
    let action = fixed(cx, action)?;
    let longest = cx.limits.max_next_interval.as_secs().max(SHORTEST_NUDGE_S);
    let mut plan = Plan {
        act: Act::Nothing,
        author: cx.author.clone(),
        goal: goal.map(|goal| goal.to_string()),
        journal,
        next_interval_s: next_interval_s.map(|wish| wish.clamp(SHORTEST_NUDGE_S, longest)),
        at: cx.now.stamp(),
        action,
    };
    plan.act = act(cx, &plan)?;
    Ok(plan)
}

/// Fixes what depends on the moment: a schedule's times become absolute.
fn fixed(cx: &Context<'_>, action: Move) -> Result<Move, String> {
    let Move::WriteSchedule { name, in_s, every_s, at, cron, zone, missed, note } = action else {
        return Ok(action);
    };
    if [in_s.is_some(), every_s.is_some(), at.is_some(), cron.is_some()].iter().filter(|set| **set).count()
        != 1
    {
        return Err("a schedule needs exactly one of in_s, every_s, at and cron".to_owned());
    }
    if zone.is_some() && cron.is_none() && at.is_none() {
        return Err("a zone goes with cron or at".to_owned());
    }
    let named = match &zone {
        Some(name) => {
            Some(cx.docs.zones.get(name).ok_or_else(|| format!("there is no time zone \"{name}\""))?)
        }
        None => None,
    };
    if let Some(missed) = &missed
        && !matches!(missed.as_str(), "once" | "skip")
    {
        return Err(format!("missed is \"once\" or \"skip\", not \"{missed}\""));
    }
    if every_s.is_some_and(|seconds| seconds < SHORTEST_EVERY_S) {
        return Err(format!("every_s is at least {SHORTEST_EVERY_S}"));
    }
    if let Some(line) = &cron {
        parse_cron(line)?;
    }
    let at = match (in_s, at) {
        (Some(seconds), _) => Some(after(cx.now.wall, seconds)?),
        (None, Some(text)) => Some(parse_moment(&text, cx.now.wall, named.unwrap_or(&cx.now.zone))?),
        (None, None) => None,
    };
    let zone = zone.filter(|_| cron.is_some());
    Ok(Move::WriteSchedule { name, in_s: None, every_s, at: at.map(machine_text), cron, zone, missed, note })
}

fn after(wall: i64, seconds: u64) -> Result<i64, String> {
    let ten_years = Duration::from_secs(10 * 365 * 86400).as_secs();
    let fits = (seconds <= ten_years).then(|| i64::try_from(seconds).ok()).flatten();
    fits.map(|seconds| wall.saturating_add(seconds * 1000))
        .ok_or_else(|| "in_s is at most ten years".to_owned())
}

fn act(cx: &Context<'_>, plan: &Plan) -> Result<Act, String> {
    let docs = cx.docs;
    let before = || digest_at(docs, &plan.action);
    let after = content(plan).map(|bytes| Digest::of(&bytes));
    let file = |path: String| Ok(Act::File { path, before: before(), after });
    match &plan.action {
        Move::Noop { .. } => Ok(Act::Nothing),
        Move::RunShell { cmd, .. } if cmd.trim().is_empty() => Err("the command is empty".to_owned()),
        Move::RunShell { .. } => Ok(hosted(cx)),
        Move::SendNotification { .. } if !cx.limits.can_notify => {
            Err("no notification command is configured; set `notification` in config.toml".to_owned())
        }
        Move::SendNotification { .. } => Ok(hosted(cx)),
        Move::WriteGoal { body, .. } | Move::WritePlaybook { body } if body.trim().is_empty() => {
            Err("the body is empty".to_owned())
        }
        Move::WriteGoal { id, .. } => file(format!("goals/{id}.md")),
        Move::ArchiveGoal { id } => archive(docs, id),
        Move::WriteSensor { script, .. } if !script.starts_with("#!") => {
            Err("the script must start with #! and its interpreter".to_owned())
        }
        Move::WriteSensor { name, .. } => file(sensor_path(docs, name)),
        Move::RemoveSensor { name } if !docs.sensors.contains_key(name.as_str()) => {
            Err(format!("there is no sensor {name}"))
        }
        Move::RemoveSensor { name } => file(sensor_path(docs, name)),
        Move::WritePlaybook { .. } => file("PLAYBOOK.md".to_owned()),
        Move::AskHuman { prompt, .. } if prompt.trim().is_empty() => Err("the question is empty".to_owned()),
        Move::AskHuman { .. } => Ok(Act::File {
            path: format!("asks/{}.json", ask_id(cx.ledger)),
            before: None,
            after: Some(Digest::of(&ask_bytes(plan, &ask_id(cx.ledger)))),
        }),
        Move::WriteSchedule { name, .. } => file(schedule_path(name)),
        Move::DropSchedule { name } if !docs.schedules.contains_key(name.as_str()) => {
            Err(format!("there is no schedule {name}"))
        }
        Move::DropSchedule { name } => file(schedule_path(name)),
        Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. } => {
            Err(format!("{} is not available yet in this version", plan.action.action()))
        }
    }
}

fn hosted(cx: &Context<'_>) -> Act {
    Act::Hosted { session: session_name(cx.ledger, "move") }
}

/// The name of the next hosted session that is no worker's.
pub fn session_name(ledger: &Ledger, what: &str) -> String {
    format!("{what}~{}", ledger.sessions + 1)
}

fn ask_id(ledger: &Ledger) -> String {
    let mut number = ledger.asks_made + 1;
    while ledger.asks.contains_key(&format!("ask-{number}")) {
        number += 1;
    }
    format!("ask-{number}")
}

fn archive(docs: &Docs, id: &Name) -> Result<Act, String> {
    let doc = docs.goals.get(id.as_str()).ok_or_else(|| format!("there is no goal {id}"))?;
    let body = doc.text().map(|text| Digest::of(text.as_bytes()));
    let body = body.ok_or_else(|| format!("goal {id} cannot be read, so it is not archived"))?;
    let taken = |stem: &String| docs.archive.contains(stem);
    let mut stem = id.to_string();
    let mut number = 2;
    while taken(&stem) {
        stem = format!("{id}-{number}");
        number += 1;
    }
    Ok(Act::Archive { from: format!("goals/{id}.md"), to: format!("goals/archive/{stem}.md"), body })
}

/// Where a sensor is or will be: its present file, else `<name>.sh`.
fn sensor_path(docs: &Docs, name: &Name) -> String {
    match docs.sensors.get(name.as_str()) {
        Some(sensor) => format!("sensors/{}", sensor.file),
        None => format!("sensors/{name}.sh"),
    }
}

fn schedule_path(name: &Name) -> String {
    format!("schedules/{name}.json")
}

/// The digest of the file that a move touches, as it is now.
fn digest_at(docs: &Docs, action: &Move) -> Option<Digest> {
    match action {
        Move::WriteGoal { id, .. } | Move::ArchiveGoal { id } => docs.goals.get(id.as_str())?.digest(),
        Move::WriteSensor { name, .. } | Move::RemoveSensor { name } => {
            docs.sensors.get(name.as_str())?.digest
        }
        Move::WritePlaybook { .. } => docs.playbook.digest(),
        Move::WriteSchedule { name, .. } | Move::DropSchedule { name } => {
            docs.schedules.get(name.as_str())?.digest()
        }
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. } => None,
    }
}

/// What a decide rests on, from the world that it was shown.
pub fn rests(ledger: &Ledger, deciding: &Deciding) -> Rests {
    let mut items = ledger.baseline.clone();
    deciding.sees.apply(&mut items);
    let goals =
        items.iter().filter_map(|(item, seen)| Some((item.strip_prefix("goal:")?.to_owned(), seen.digest)));
    Rests {
        playbook: items.get("playbook").map(|seen| seen.digest),
        goals: goals.collect(),
        files: deciding.files.clone(),
    }
}

/// Digests of the sensors and schedules, by path.
pub fn file_digests(docs: &Docs) -> BTreeMap<String, Digest> {
    let sensors = docs.sensors.values().filter_map(|s| Some((format!("sensors/{}", s.file), s.digest?)));
    let schedules = docs.schedules.iter();
    let schedules =
        schedules.filter_map(|(name, doc)| Some((format!("schedules/{name}.json"), doc.digest()?)));
    sensors.chain(schedules).collect()
}

/// The bytes that a plan puts into its file. The same plan always gives the same bytes, also after a crash.
pub fn content(plan: &Plan) -> Option<Vec<u8>> {
    match &plan.action {
        Move::WriteGoal { body, .. } | Move::WritePlaybook { body } => Some(with_newline(body)),
        Move::WriteSensor { script, .. } => Some(with_newline(script)),
        Move::AskHuman { .. } => match &plan.act {
            Act::File { path, .. } => {
                Some(ask_bytes(plan, path.trim_start_matches("asks/").trim_end_matches(".json")))
            }
            Act::Nothing | Act::Hosted { .. } | Act::Archive { .. } => None,
        },
        Move::WriteSchedule { .. } => schedule(plan).map(|schedule| json_bytes(&schedule)),
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::ArchiveGoal { .. }
        | Move::RemoveSensor { .. }
        | Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::DropSchedule { .. } => None,
    }
}

fn with_newline(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes
}

fn json_bytes(value: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn ask_bytes(plan: &Plan, id: &str) -> Vec<u8> {
    let Move::AskHuman { prompt, options, reference } = &plan.action else { return Vec::new() };
    json_bytes(&Ask {
        v: 1,
        id: id.to_owned(),
        from: "pulse".to_owned(),
        prompt: prompt.clone(),
        options: options.clone(),
        reference: reference.clone(),
        goal: plan.goal.clone(),
        asked: plan.at.wall,
    })
}

fn schedule(plan: &Plan) -> Option<Schedule> {
    let Move::WriteSchedule { name, every_s, at, cron, zone, missed, note, .. } = &plan.action else {
        return None;
    };
    let when = match (every_s, at, cron) {
        (Some(seconds), ..) => When::Every { seconds: *seconds, from: plan.at.wall },
        (None, Some(at), _) => When::At(at.parse::<jiff::Timestamp>().ok()?.as_millisecond()),
        (None, None, Some(line)) => When::Cron { line: line.clone(), zone: zone.clone() },
        (None, None, None) => return None,
    };
    let missed = if missed.as_deref() == Some("skip") { Missed::Skip } else { Missed::Once };
    Some(Schedule { v: 1, name: name.to_string(), when, missed, note: note.clone(), created: plan.at.wall })
}
