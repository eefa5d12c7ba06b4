//! What is wrong with a policy, value by value. The reader of `policy.toml` knows where each stands.

use super::glob::glob;
use super::rule::{Rule, When};
use crate::intake::catalogue::ACTIONS;

/// What a rule may be about: the actions of a decider, and `*` for all of them.
pub fn action_names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|action| action.name).chain(["*"])
}

/// What is wrong with the name of a program.
pub fn program_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("must not be empty");
    }
    if name.contains('/') {
        return Some("is the name of a program alone, without its folder");
    }
    let odd = |c: char| c.is_control() || c.is_whitespace() || "*?[]$`'\"\\|&;<>(){}".contains(c);
    (name.contains(odd) || name.starts_with('-')).then_some("cannot be the name of a program")
}

/// What is wrong with the name of a variable.
pub(super) fn env_fault(name: &str) -> Option<&'static str> {
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let is_name = letters && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    (!is_name).then_some("cannot be the name of a variable: letters, digits and _")
}

/// What is wrong with a path.
pub(super) fn read_fault(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') && !path.starts_with("~/") {
        return Some("must be absolute or begin with ~/");
    }
    if path.split('/').any(|part| part == "..") {
        return Some("must not lead upwards with ..");
    }
    if path.trim_start_matches('~').split('/').all(|part| matches!(part, "" | ".")) {
        return Some("is too much: name a folder or a file in it");
    }
    path.contains(char::is_control).then_some("contains a control character")
}

/// What is wrong with a pattern.
pub fn pattern_fault(pattern: &str) -> Option<&'static str> {
    match pattern {
        "" => Some("must not be empty"),
        pattern if pattern.contains(char::is_control) => Some("contains a control character"),
        pattern if pattern.starts_with('/') || pattern.starts_with("~/") => {
            Some("is a path below the profile, such as goals/*")
        }
        _ => None,
    }
}

/// What is wrong with a command that is compared letter by letter.
pub fn command_fault(command: &str) -> Option<&'static str> {
    command.is_empty().then_some("must not be empty")
}

/// Why a rule can never match, if it cannot: its key, and the reason.
pub fn never_matches(rule: &Rule) -> Option<(&'static str, String)> {
    let When { plain, program, command, runner, path, .. } = &rule.when;
    let action = rule.action.as_str();
    let is_one_of = |names: &[&str]| action == "*" || names.contains(&action);
    let never = |key: &'static str, what: &str| Some((key, format!("never matches: {action} {what}")));
    if !program.is_empty() && !is_one_of(&["run_shell", "write_goal", "write_sensor", "start_worker"]) {
        return never("program", "runs no program");
    }
    if *plain == Some(false) && !is_one_of(&["run_shell", "write_goal", "write_sensor", "start_worker"]) {
        return never("plain", "carries no shell text");
    }
    if !command.is_empty() && !is_one_of(&["run_shell"]) {
        return never("command", "has no such command");
    }
    let workers = ["start_worker", "steer_session", "send_key", "restart_session", "kill_worker"];
    if !runner.is_empty() && !is_one_of(&workers) {
        return never("runner", "is about no worker");
    }
    if path.is_empty() {
        return None;
    }
    let written: Vec<&str> =
        FILES.iter().filter(|(name, _)| is_one_of(&[name])).map(|(_, file)| *file).collect();
    if written.is_empty() {
        return never("path", "writes no file");
    }
    let reachable = |pattern: &String| written.iter().any(|file| may_match(pattern, file));
    match path.iter().find(|pattern| !reachable(pattern)) {
        Some(pattern) => never("path", &format!("writes {}, and never {pattern:?}", written.join(" or "))),
        None => None,
    }
}

/// The files that moves write, `<name>` standing for any name.
const FILES: [(&str, &str); 6] = [
    ("write_goal", "goals/<name>.md"),
    ("archive_goal", "goals/<name>.md"),
    ("write_sensor", "sensors/<name>"),
    ("write_schedule", "schedules/<name>.json"),
    ("drop_schedule", "schedules/<name>.json"),
    ("write_playbook", "PLAYBOOK.md"),
];

/// Whether a pattern matches some file of this kind.
fn may_match(pattern: &str, file: &str) -> bool {
    let Some((folder, name)) = file.split_once('/') else { return glob(pattern, file) };
    let Some((in_folder, in_name)) = pattern.split_once('/') else { return false };
    if !glob(in_folder, folder) || in_name.contains('/') || in_name.is_empty() {
        return false;
    }
    let ending = name.trim_start_matches("<name>");
    let open_end = in_name.rsplit_once('*').is_some_and(|(_, tail)| ending.ends_with(tail));
    open_end || in_name.ends_with(ending)
}

/// The earlier rule after which a rule is never reached, if there is one: it has no condition, and is about the same
/// moves. That is allowed, since it may be how a person shuts everything for a while.
pub fn unreached(rules: &[Rule], at: usize) -> Option<usize> {
    let rule = rules.get(at)?;
    let hides = |earlier: &Rule| {
        earlier.when == When::default() && (earlier.action == "*" || earlier.action == rule.action)
    };
    rules[..at].iter().position(hides)
}
