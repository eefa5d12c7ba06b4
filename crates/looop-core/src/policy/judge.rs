//! The ruling on a case: the first rule that matches decides.

use super::case::{Case, Ruling};
use super::glob::glob;
use super::lists::{Builtin, builtin};
use super::rule::{Policy, Rule, Then, When};
use super::run::Run;
use crate::model::moves::Move;

/// Rules on a move of a decider: the person's own rules first, then the built-in list.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Ruling {
    let own = policy.rules.iter().enumerate().find(|(_, rule)| matches(rule, case));
    if let Some((at, rule)) = own {
        return own_ruling(at + 1, rule);
    }
    let list = builtin(policy.level);
    match list.iter().find(|rule| rule.applies(case)) {
        Some(rule) => builtin_ruling(policy, case, rule),
        // Every list ends with a rule that always applies; without one a person decides.
        None => Ruling {
            then: Then::Ask,
            rule: format!("{}: no rule", policy.level.word()),
            own: false,
            reason: "no rule is about it".to_owned(),
        },
    }
}

fn own_ruling(number: usize, rule: &Rule) -> Ruling {
    let said = rule.message.clone();
    let reason = said.unwrap_or_else(|| format!("your rule {number} in policy.toml says so"));
    Ruling { then: rule.then, rule: format!("policy.toml rule {number}"), own: true, reason }
}

fn builtin_ruling(policy: &Policy, case: &Case<'_>, rule: &Builtin) -> Ruling {
    let words = rule.words(case.action.action());
    let rule_words = format!("{}: {words}", policy.level.word());
    Ruling { then: rule.then, rule: rule_words, own: false, reason: rule.why.to_owned() }
}

/// Whether a rule is about this move: the move is the one that it names, and all that its `when` says holds.
pub fn matches(rule: &Rule, case: &Case<'_>) -> bool {
    let When { tainted, plain, program, command, goal, runner, path } = &rule.when;
    (rule.action == "*" || rule.action == case.action.action())
        && tainted.is_none_or(|tainted| tainted == case.tainted)
        && plain.is_none_or(|plain| plain == case.is_contained())
        && (program.is_empty() || runs(program, rule.then, case))
        && (command.is_empty() || is_command(command, case.action))
        && one_of(goal, case.goal)
        && one_of(runner, case.runner)
        && one_of(path, case.path.as_deref())
}

/// Whether a move runs one of these commands, letter by letter.
fn is_command(commands: &[String], action: &Move) -> bool {
    matches!(action, Move::RunShell { cmd, .. } if commands.contains(cmd))
}

/// Whether a move runs these programs. What is allowed must be a plain pipeline, of which all else is boxed; what is
/// asked or denied need only be named in the text, or a second program would lift the rule.
fn runs(listed: &[String], then: Then, case: &Case<'_>) -> bool {
    match then {
        Then::Allow => {
            !case.runs.is_empty() && case.runs.iter().all(|run| allows(listed, run, case.confined))
        }
        Then::Ask | Then::Deny => {
            listed.iter().any(|program| case.runs.iter().any(|run| run.may_run(program)))
        }
    }
}

fn allows(listed: &[String], run: &Run, confined: bool) -> bool {
    let Ok(programs) = &run.programs else { return false };
    let known = |program: &String| listed.contains(program);
    programs.iter().any(known) && (confined || programs.iter().all(known))
}

fn one_of(patterns: &[String], text: Option<&str>) -> bool {
    patterns.is_empty() || text.is_some_and(|text| patterns.iter().any(|pattern| glob(pattern, text)))
}
