//! Deciders: whether their programs and keys are there, and what came of calling them.

use looop_core::ledger::entry::Entry;
use looop_core::model::moves::one_line;
use looop_core::model::plan::RunId;
use looop_core::time::span_text;
use looop_store::Reader;

use super::programs::programs;
use super::{Finding, fine, untried, wrong};
use crate::clock;
use crate::config::{Api, Config, Cost, Decider, Runner, Template, calls_no_model};
use crate::hands::decider::{Dry, dry_call};
use crate::hands::model::{Listed, list_models};

/// Appends that are looked through for the last call of a decider.
const LOOK_BACK: usize = 5000;

/// What is shown of why a call failed, in characters.
const SHOWN: usize = 400;

/// What is looked at.
pub(super) struct Subject<'a> {
    pub(super) reader: &'a Reader,
    pub(super) config: &'a Config,
    /// The environment that its commands get.
    pub(super) env: &'a [(String, String)],
}

/// How the last call of a decider ended.
enum Last {
    Never,
    Decided { run: RunId, ago: String },
    Failed { run: RunId, ago: String, reason: String },
}

/// One line a decider, and one for each command of workers.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for decider in subject.config.decider_chain() {
        match decider {
            Decider::Builtin => findings.push(fine("decider", "builtin: serves goals that carry a recipe")),
            Decider::Command(name) => {
                let runner = subject.config.runners.get(name.as_str());
                findings.extend(runner.and_then(|runner| decides(subject, name.as_str(), runner)));
            }
        }
    }
    for (name, runner) in &subject.config.runners {
        let command = runner.interactive.as_ref();
        findings.extend(command.map(|command| works(subject, name.as_str(), command)));
    }
    findings
}

fn decides(subject: &Subject<'_>, name: &str, runner: &Runner) -> Option<Finding> {
    if let Some(api) = &runner.api {
        return Some(model(subject, (name, runner), api));
    }
    let tick = runner.tick.as_ref()?;
    let key = format!("runners.{name}.tick");
    let there = match commands_there(subject, ("decider", name, &key), tick.as_str()) {
        Ok(there) => there,
        Err(missing) => return Some(missing),
    };
    if let Some(unset) = sign_in(subject, name, tick) {
        return Some(unset);
    }
    let costs =
        runner.cost != Cost::Free && (runner.cost != Cost::ByFormat || !calls_no_model(tick.as_str()));
    if costs {
        return Some(by_last(subject, name, &there));
    }
    Some(match dry_call(subject.reader, subject.config, tick) {
        Dry::Decided(action) => fine("decider", format!("{name}: a dry call decided {action}")),
        Dry::Slow(after) => {
            by_last(subject, name, &format!("a dry call gave no decision within {}", span_text(after)))
        }
        Dry::Failed(reason) => wrong(
            "decider",
            format!("{name}: a dry call failed: {reason}"),
            format!("correct {key}, then looop doctor again"),
        ),
    })
}

/// Whether all programs of a command are there: the list of them, or what is wrong.
fn commands_there(
    subject: &Subject<'_>,
    (what, name, key): (&str, &str, &str),
    command: &str,
) -> Result<String, Finding> {
    let programs = programs(command, subject.env, subject.reader.root());
    if programs.missing.is_empty() {
        let there = programs.there.join(", ");
        let is = if programs.there.len() == 1 { "is" } else { "are" };
        let none = || "looop cannot tell which programs it runs".to_owned();
        return Ok(if there.is_empty() { none() } else { format!("{there} {is} there") });
    }
    let missing = programs.missing.join(", ");
    let is = if programs.missing.len() == 1 { "is" } else { "are" };
    Err(wrong(
        what,
        format!("{name}: {missing} {is} not on your PATH"),
        format!("install {missing}, or change {key}"),
    ))
}

/// What an agent signs in with, where that is known and not set.
fn sign_in(subject: &Subject<'_>, name: &str, tick: &Template) -> Option<Finding> {
    const KEY: &str = "ANTHROPIC_API_KEY";
    let words: Vec<&str> = tick.as_str().split_whitespace().collect();
    let bare = words.contains(&"claude") && words.contains(&"--bare");
    let is_set = subject.env.iter().any(|(known, value)| known == KEY && !value.trim().is_empty());
    (bare && !is_set).then(|| {
        wrong(
            "decider",
            format!("{name}: claude --bare signs in with {KEY} only, and that variable is not set"),
            format!(
                "set {KEY} or put it into env_file; for a subscription take --bare out of runners.{name}.tick"
            ),
        )
    })
}

/// A model that decides: the list of models costs nothing, and tells whether the key is taken.
fn model(subject: &Subject<'_>, (name, runner): (&str, &Runner), api: &Api) -> Finding {
    let (reader, config) = (subject.reader, subject.config);
    let what = format!("{} at {}", api.model, api.endpoint());
    match list_models((reader, config), (name, runner), api) {
        Err(reason) => wrong(
            "decider",
            format!("{name}: {what}: {reason}"),
            format!("correct runners.{name}.api or its key, then looop doctor again"),
        ),
        Ok(Listed::NoList) => {
            by_last(subject, name, &format!("{what}: it has no list of models to try the key"))
        }
        Ok(Listed::Accepts) => match last(reader, name) {
            Last::Failed { .. } => by_last(subject, name, &format!("{what} answers")),
            Last::Never | Last::Decided { .. } => {
                fine("decider", format!("{name}: {what} answers and takes the key"))
            }
        },
    }
}

/// A decider that is not called here, by its last call.
fn by_last(subject: &Subject<'_>, name: &str, known: &str) -> Finding {
    match last(subject.reader, name) {
        Last::Never => untried(
            "decider",
            format!("{name}: {known}; it was never called, and a call may cost money: looop beat makes one"),
        ),
        Last::Decided { run, ago } => {
            fine("decider", format!("{name}: {known}; its last call decided ({ago} ago, run {run})"))
        }
        Last::Failed { run, ago, reason } => wrong(
            "decider",
            format!("{name}: {known}; its last call failed {ago} ago: {reason}"),
            format!("looop runs {run} shows the call; looop beat makes another"),
        ),
    }
}

/// How the last call of a decider ended, by the log.
fn last(reader: &Reader, name: &str) -> Last {
    // A log that cannot be read is a finding of its own.
    let lines = reader.recent(LOOK_BACK).unwrap_or_default();
    let (now, mut last, mut asked) = (clock::now(), Last::Never, None);
    for line in &lines {
        let ago = || span_text(now.since(&line.at));
        for entry in &line.entries {
            if let Entry::DecideStarted { run, decider, .. } = entry {
                asked = (decider == name).then_some(*run);
            } else if let Entry::Decided { run, .. } = entry {
                if asked == Some(*run) {
                    last = Last::Decided { run: *run, ago: ago() };
                }
            } else if let Entry::Failed { run, reason, .. } = entry
                && asked == Some(*run)
            {
                last = Last::Failed { run: *run, ago: ago(), reason: one_line(reason, SHOWN) };
            }
        }
    }
    last
}

fn works(subject: &Subject<'_>, name: &str, command: &Template) -> Finding {
    let key = format!("runners.{name}.interactive");
    match commands_there(subject, ("workers", name, &key), command.as_str()) {
        Ok(there) => {
            untried("workers", format!("{name}: {there}; looop worker start --runner {name} tries it"))
        }
        Err(missing) => missing,
    }
}
