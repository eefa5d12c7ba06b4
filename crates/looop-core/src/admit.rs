//! Admission: a proposal is checked against the world of now and becomes a plan, or does not.

use std::collections::BTreeMap;

use crate::approval::{Ground, PULSE, Wish};
use crate::bounds::{ASKS, MOVE, VERIFY, json_width, text_width};
use crate::gate::Limits;
use crate::ledger::state::{AskRecord, Deciding, Ledger};
use crate::model::digest::Digest;
use crate::model::goal;
use crate::model::letter::{Ask, AskKind, Topic};
use crate::model::moves::{Move, Object, Proposal};
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::model::rights::Rights;
use crate::schedule::{Missed, Schedule, When, parse_cron, parse_moment};
use crate::time::{Now, machine_text};
use crate::world::fleet::Worker;
use crate::world::observation::{Doc, Docs};
use crate::world::probe::is_overdue;

mod agent;
mod consent;
mod rights;
pub(crate) mod terms;
pub mod undo;
pub(crate) mod workers;
mod works;

pub use agent::{agent_of, names_agent};

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
    /// Whether that brief showed what a stranger wrote.
    pub tainted: bool,
}

/// What becomes of a proposal.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Admission {
    /// It is carried out.
    Execute(Box<Plan>),
    /// It is refused.
    Reject(String),
    /// It is refused, and a person is asked.
    Ask {
        /// Why.
        reason: String,
        /// The question, planned.
        instead: Box<Plan>,
    },
    /// It waits for a person.
    Park(Box<(Wish, Proposal)>),
    /// It came too late.
    Overtaken(String),
}

/// Judges a proposal. It only calls the rules in order.
pub fn admit(cx: &Context<'_>, proposal: Proposal) -> Admission {
    if let Some(what) = overtaken(cx, &proposal) {
        return Admission::Overtaken(what);
    }
    let proposal = terms::filled(cx, proposal);
    if let Some(reason) = oversize(cx, &proposal).or_else(|| unfair(cx, &proposal)) {
        return Admission::Reject(reason);
    }
    if let Some(question) = workers::instead(cx, &proposal) {
        return ask_instead(cx, question);
    }
    match plan(cx, proposal.clone()) {
        Ok(plan) => consent::consent(cx, proposal, plan),
        Err(reason) => Admission::Reject(reason),
    }
}

/// Refuses and asks. The question is the loop's own.
fn ask_instead(cx: &Context<'_>, question: Proposal) -> Admission {
    let reason = "its workers come to nothing; a person is asked".to_owned();
    let cx = Context { author: Author::Builtin, rests: None, ..*cx };
    match plan(&cx, question) {
        Ok(plan) => Admission::Ask { reason, instead: Box::new(plan) },
        Err(error) => Admission::Reject(error),
    }
}

/// What a proposal rests on or touches, if it differs from what its brief showed.
fn overtaken(cx: &Context<'_>, proposal: &Proposal) -> Option<String> {
    let rests = cx.rests?;
    let meanwhile = |what: &str| Some(format!("{what} changed while it was being decided"));
    if rests.playbook != cx.docs.playbook.digest() {
        return meanwhile("PLAYBOOK.md");
    }
    let object = proposal.action.object();
    let touched = match (object, &proposal.action) {
        (Object::Goal(id), _) => Some(id),
        (_, Move::StartWorker { goal, .. }) => goal.as_ref(),
        _ => None,
    };
    for goal in [touched, proposal.goal.as_ref()].into_iter().flatten() {
        let now = cx.docs.goals.get(goal.as_str()).and_then(Doc::digest);
        if rests.goals.get(goal.as_str()).copied() != now {
            return meanwhile(&format!("goal {goal}"));
        }
    }
    if let Some(id) = workers::named(&proposal.action) {
        let path = worker_path(id.as_str());
        let now = cx.docs.fleet.latest(id.as_str()).map(worker_digest);
        return if rests.files.get(&path).copied() == now {
            None
        } else {
            meanwhile(&format!("worker {id}"))
        };
    }
    match object {
        Object::Sensor(_) | Object::Schedule(_) => {
            let path = path_of(cx.docs, object)?;
            let same = rests.files.get(&path).copied() == digest_of(cx.docs, object);
            if same { None } else { meanwhile(&path) }
        }
        Object::Nothing | Object::Goal(_) | Object::Playbook => None,
    }
}

/// A move that has more bytes than an entry has room for, or that asks where too much waits already. It is not cut: what
/// is done is what was said.
fn oversize(cx: &Context<'_>, proposal: &Proposal) -> Option<String> {
    let bytes = json_width(proposal);
    if bytes > MOVE {
        return Some(format!("it has {bytes} bytes as JSON, and a move has {MOVE} at most"));
    }
    let asks = matches!(proposal.action, Move::AskHuman { .. }) && cx.ledger.asks.len() >= ASKS;
    asks.then(|| format!("{} questions wait already (looop asks)", cx.ledger.asks.len()))
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
    let goal = goal.or_else(|| {
        if let Move::StartWorker { goal, .. } = &action {
            goal.clone()
        } else if let Move::SettleWork { session, .. } = &action {
            works::goal(cx.ledger, session)
        } else {
            None
        }
    });
    let own = cx.author == Author::Builtin && matches!(action, Move::AskHuman { .. });
    let counts = cx.author != Author::Person;
    let recipe = goal.as_ref().filter(|_| counts).and_then(|goal| recipe(cx.ledger, cx.docs, goal.as_str()));
    let longest = cx.limits.max_next_interval.as_secs().max(SHORTEST_NUDGE_S);
    let mut plan = Plan {
        act: Act::Nothing,
        author: cx.author.clone(),
        goal: goal.map(|goal| goal.to_string()),
        journal,
        budget: match (&action, &cx.author) {
            (Move::WriteGoal { id, .. }, Author::Decider(_)) => {
                workers::budget(cx.ledger, cx.docs, id.as_str())
            }
            _ => None,
        },
        next_interval_s: next_interval_s.map(|wish| wish.clamp(SHORTEST_NUDGE_S, longest)),
        rights: Rights::Person,
        tainted: false,
        ground: Ground::new(),
        topic: own.then_some(Topic::StillFails),
        recipe,
        at: cx.now.stamp(),
        action,
    };
    plan.act = act(cx, &plan)?;
    plan.rights = rights::of(cx, &plan);
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
        return Err("a schedule needs exactly one of in, every, at and cron".to_owned());
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
        return Err(format!("every is at least {SHORTEST_EVERY_S} seconds"));
    }
    if let Some(line) = &cron {
        parse_cron(line)?;
    }
    let at = match (in_s, at) {
        (Some(seconds), _) => Some(after(cx.now.wall, seconds)?),
        (None, Some(text)) => {
            Some(ahead(&text, parse_moment(&text, cx.now.wall, named.unwrap_or(&cx.now.zone))?, cx.now)?)
        }
        (None, None) => None,
    };
    let zone = zone.filter(|_| cron.is_some());
    Ok(Move::WriteSchedule { name, in_s: None, every_s, at: at.map(machine_text), cron, zone, missed, note })
}

/// A moment that is still to come.
fn ahead(text: &str, at: i64, now: &Now) -> Result<i64, String> {
    if at > now.wall { Ok(at) } else { Err(format!("at: {} is in the past", text.trim())) }
}

fn after(wall: i64, seconds: u64) -> Result<i64, String> {
    const TEN_YEARS: u64 = 10 * 365 * 86400;
    let fits = (seconds <= TEN_YEARS).then(|| i64::try_from(seconds).ok()).flatten();
    fits.map(|seconds| wall.saturating_add(seconds * 1000))
        .ok_or_else(|| "in is at most ten years".to_owned())
}

/// What is wrong with a move in itself, or in the world as it is.
fn fault(cx: &Context<'_>, action: &Move) -> Option<String> {
    let docs = cx.docs;
    let wrong = |is_wrong: bool, what: String| is_wrong.then_some(what);
    match action {
        Move::RunShell { cmd, .. } => wrong(cmd.trim().is_empty(), "the command is empty".to_owned()),
        Move::SendNotification { .. } => wrong(
            !cx.limits.can_notify,
            "there is no channel to reach you by; set `notification`, `ntfy` or `webhook` in config.toml"
                .to_owned(),
        ),
        Move::WriteGoal { body, .. } | Move::WritePlaybook { body } => {
            wrong(body.trim().is_empty(), "the body is empty".to_owned())
        }
        Move::ArchiveGoal { id } => {
            wrong(!docs.goals.contains_key(id.as_str()), format!("there is no goal {id}"))
        }
        Move::WriteSensor { script, .. } => {
            wrong(!script.starts_with("#!"), "the script must start with #! and its interpreter".to_owned())
        }
        Move::RemoveSensor { name } => {
            wrong(!docs.sensors.contains_key(name.as_str()), format!("there is no sensor {name}"))
        }
        Move::AskHuman { prompt, .. } if prompt.trim().is_empty() => Some("the question is empty".to_owned()),
        Move::AskHuman { prompt, .. } => asked_already(cx, prompt),
        Move::DropSchedule { name } => {
            wrong(!docs.schedules.contains_key(name.as_str()), format!("there is no schedule {name}"))
        }
        Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. } => workers::fault(cx, action),
        Move::Undo { .. } => Some("a move is taken back by looop undo only".to_owned()),
        Move::SettleWork { session, how, .. } => works::fault(cx, session, *how),
        Move::Noop { .. } | Move::WriteSchedule { .. } => None,
    }
}

/// Why a decider's question is not asked: the same one waits for an answer.
fn asked_already(cx: &Context<'_>, prompt: &str) -> Option<String> {
    let Author::Decider(_) = cx.author else { return None };
    let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    let same = |ask: &AskRecord| {
        ask.from == PULSE && ask.kind == AskKind::Question && words(&ask.prompt) == words(prompt)
    };
    let (id, _) = cx.ledger.asks.iter().find(|(_, ask)| same(ask))?;
    Some(format!("{id} asks the same and waits for an answer"))
}

/// How a plan is carried out.
fn act(cx: &Context<'_>, plan: &Plan) -> Result<Act, String> {
    if let Some(fault) = fault(cx, &plan.action) {
        return Err(fault);
    }
    let object = plan.action.object();
    if let Move::ArchiveGoal { id } = &plan.action {
        return archive(cx.docs, id);
    }
    if let Some(path) = path_of(cx.docs, object) {
        let after = content(plan).map(|bytes| Digest::of(&bytes));
        return Ok(Act::File { path, before: digest_of(cx.docs, object), after });
    }
    if let Some(act) = workers::act(cx, plan) {
        let verify = if let Act::Worker { verify, .. } = &act { verify.as_deref() } else { None };
        return match verify.filter(|verify| text_width(verify) > VERIFY) {
            Some(long) => Err(format!(
                "the command that proves its work has {} bytes, and {VERIFY} are the most; put it into a script",
                long.len()
            )),
            None => Ok(act),
        };
    }
    let hosted = matches!(
        plan.action,
        Move::RunShell { .. } | Move::SendNotification { .. } | Move::SettleWork { .. }
    );
    if hosted {
        return Ok(Act::Hosted { session: session_name(cx.ledger, "move") });
    }
    if matches!(plan.action, Move::AskHuman { .. }) {
        return Ok(ask_act(cx.ledger, plan));
    }
    Ok(Act::Nothing)
}

/// The name of the next hosted session that is no worker's.
pub fn session_name(ledger: &Ledger, what: &str) -> String {
    format!("{what}~{}", ledger.sessions.saturating_add(1))
}

/// A planned question of the loop's own, with its letter fixed.
pub(crate) fn asking(ledger: &Ledger, plan: Plan) -> Plan {
    let act = ask_act(ledger, &plan);
    Plan { act, ..plan }
}

fn ask_act(ledger: &Ledger, plan: &Plan) -> Act {
    let id = ask_id(ledger);
    let after = Some(Digest::of(&ask_bytes(plan, &id)));
    Act::File { path: format!("asks/{id}.json"), before: None, after }
}

pub(crate) fn ask_id(ledger: &Ledger) -> String {
    let mut number = ledger.asks_made.saturating_add(1);
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

/// Where a policy file is or will be: a sensor's present file, else `<name>.sh`.
pub(crate) fn path_of(docs: &Docs, object: Object<'_>) -> Option<String> {
    match object {
        Object::Nothing => None,
        Object::Goal(id) => Some(format!("goals/{id}.md")),
        Object::Sensor(name) => match docs.sensors.get(name.as_str()) {
            Some(sensor) => Some(format!("sensors/{}", sensor.file)),
            None => Some(format!("sensors/{name}.sh")),
        },
        Object::Schedule(name) => Some(format!("schedules/{name}.json")),
        Object::Playbook => Some("PLAYBOOK.md".to_owned()),
    }
}

/// The digest of a policy file as it is now.
pub(crate) fn digest_of(docs: &Docs, object: Object<'_>) -> Option<Digest> {
    match object {
        Object::Nothing => None,
        Object::Goal(id) => docs.goals.get(id.as_str())?.digest(),
        Object::Sensor(name) => docs.sensors.get(name.as_str())?.digest,
        Object::Schedule(name) => docs.schedules.get(name.as_str())?.digest(),
        Object::Playbook => docs.playbook.digest(),
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

/// Digest of what is tried for a goal. A body that a decider wrote does not count: a rewrite of it is no new recipe.
pub(crate) fn recipe(ledger: &Ledger, docs: &Docs, id: &str) -> Option<Digest> {
    let doc = docs.goals.get(id)?;
    let text = doc.text()?;
    let parsed = goal::parse(text);
    let own = doc.digest() != ledger.written.get(&format!("goals/{id}.md")).copied();
    let body = if own && parsed.run.is_none() { goal::split(text).1 } else { "" };
    let part = |part: &Option<String>| part.clone().unwrap_or_default().into_bytes();
    let parts = [part(&parsed.check), part(&parsed.run), part(&parsed.worker), body.as_bytes().to_vec()];
    Some(Digest::of_parts(&parts.each_ref().map(Vec::as_slice)))
}

pub(crate) fn worker_path(id: &str) -> String {
    format!("worker/{id}")
}

/// What a decision about a worker rests on: which session it is, and whether it runs.
pub(crate) fn worker_digest(worker: &Worker) -> Digest {
    Digest::of_parts(&[worker.session.as_bytes(), worker.state.word().as_bytes()])
}

/// Digests of the sensors and schedules, by path, and of the workers.
pub fn file_digests(docs: &Docs) -> BTreeMap<String, Digest> {
    let sensors = docs.sensors.values().filter_map(|s| Some((format!("sensors/{}", s.file), s.digest?)));
    let schedules = docs.schedules.iter();
    let schedules =
        schedules.filter_map(|(name, doc)| Some((format!("schedules/{name}.json"), doc.digest()?)));
    let workers = docs.fleet.newest().into_values();
    let workers = workers.map(|worker| (worker_path(&worker.id), worker_digest(worker)));
    sensors.chain(schedules).chain(workers).collect()
}

/// The bytes that a plan puts into its file. The same plan always gives the same bytes, also after a crash.
pub fn content(plan: &Plan) -> Option<Vec<u8>> {
    match (&plan.action, &plan.act) {
        (Move::WriteGoal { body, .. } | Move::WritePlaybook { body }, _) => Some(with_newline(body)),
        (Move::WriteSensor { script, .. }, _) => Some(with_newline(script)),
        (Move::AskHuman { .. }, Act::File { path, .. }) => {
            Some(ask_bytes(plan, path.trim_start_matches("asks/").trim_end_matches(".json")))
        }
        (Move::WriteSchedule { .. }, _) => schedule(plan).map(|schedule| json_bytes(&schedule)),
        _ => None,
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
        closed: plan.topic.is_some(),
        reference: reference.clone(),
        goal: plan.goal.clone(),
        asked: plan.at.wall,
        kind: AskKind::Question,
        proposal: None,
        fetched: false,
        limit: None,
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

#[cfg(test)]
mod tests;
