//! Notices: the channels that reach the person.

use looop_core::ledger::state::Ledger;

use super::programs::programs;
use super::{Finding, fine, untried, wrong};
use crate::hands::brakes::Brakes;
use crate::hands::notify::{self, Said};
use crate::ops::doctor::deciders::Subject;

/// One line a channel: with `send` by a test message, else by the last notice.
pub(super) fn findings(subject: &Subject<'_>, ledger: &Ledger, send: bool) -> Vec<Finding> {
    let (config, data) = (subject.config, subject.reader.root());
    let names = notify::channels(config);
    if names.is_empty() {
        let state = "no channel is set, so that nobody is told when looop waits for them";
        return vec![untried(
            "notices",
            format!("{state}; notification, ntfy or webhook in config.toml sets one"),
        )];
    }
    if send {
        let results = notify::send(data, config, &test(), &Brakes::default());
        return results.into_iter().map(|(name, error)| sent(&name, error)).collect();
    }
    let known = |name| missing(subject, name).or_else(|| unset(subject, name));
    names.into_iter().map(|name| known(name).unwrap_or_else(|| by_last(name, ledger))).collect()
}

/// The variable with the secret of a channel, if it has one that is not set.
fn unset(subject: &Subject<'_>, name: &str) -> Option<Finding> {
    let channel = match name {
        "ntfy" => subject.config.ntfy.as_ref(),
        "webhook" => subject.config.webhook.as_ref(),
        _ => None,
    };
    let variable = channel?.secret_env.as_ref()?;
    let is_set = subject.env.iter().any(|(known, value)| known == variable && !value.trim().is_empty());
    let state = format!("{name}: the variable {variable}, which {name} in config.toml names, is not set");
    (!is_set).then(|| wrong("notices", state, format!("set {variable}, or put it into env_file")))
}

/// The programs of the command that are not there, if this is the command and some are not.
fn missing(subject: &Subject<'_>, name: &str) -> Option<Finding> {
    let command = subject.config.notification.as_ref().filter(|_| name == "command")?;
    let missing = programs(command.as_str(), subject.env, subject.reader.root()).missing.join(", ");
    let fix = format!("install {missing}, or change notification in config.toml");
    (!missing.is_empty()).then(|| wrong("notices", format!("command: {missing} is not on your PATH"), fix))
}

fn test() -> Said {
    let message = "This is a test message of looop doctor --notify. Nothing is to be done.".to_owned();
    Said { kind: "test".to_owned(), id: String::new(), message }
}

fn sent(name: &str, error: Option<String>) -> Finding {
    match error {
        None => fine("notices", format!("{name}: it took a test message")),
        Some(error) => {
            wrong("notices", format!("{name}: it did not take a test message: {error}"), fix(name))
        }
    }
}

fn by_last(name: &str, ledger: &Ledger) -> Finding {
    match ledger.undelivered.get(name) {
        Some(record) => {
            wrong("notices", format!("{name}: it did not take the last notice: {}", record.error), fix(name))
        }
        None => untried("notices", format!("{name}: looop doctor --notify sends a test message")),
    }
}

fn fix(name: &str) -> String {
    let key = if name == "command" { "notification" } else { name };
    format!("correct {key} in config.toml, then looop doctor --notify")
}
