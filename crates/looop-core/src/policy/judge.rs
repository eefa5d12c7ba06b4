//! The ruling on a case: the first rule that matches decides.

use super::case::{Case, Ruling};
use super::glob::glob;
use super::lists::{Builtin, Fact, builtin};
use super::rule::{Grant, Policy, Rule, Then, When};
use crate::model::moves::Move;
use crate::model::rights::Granted;
use crate::shell::{Danger, Screening, is_harmless};

/// Rules on a move of a decider: the person's own rules first, then the built-in list.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Ruling {
    let own = policy.rules.iter().enumerate().find(|(_, rule)| matches(rule, case));
    if let Some((at, rule)) = own {
        return own_ruling(at + 1, rule);
    }
    let list = builtin(policy.level);
    match list.iter().find(|rule| rule.applies(policy, case)) {
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
    let about_shell = rule.when.iter().any(|fact| matches!(fact, Fact::Destructive | Fact::Unknown));
    let reason = match case.screening.reason() {
        found if about_shell && !found.is_empty() => format!("{}: {found}", rule.why),
        _ => rule.why.to_owned(),
    };
    let words = rule.words(case.action.action());
    Ruling { then: rule.then, rule: format!("{}: {words}", policy.level.word()), own: false, reason }
}

/// Whether a rule is about this move: the move is the one that it names, and all that its `when` says holds.
pub fn matches(rule: &Rule, case: &Case<'_>) -> bool {
    let When { tainted, plain, program, command, goal, runner, path } = &rule.when;
    (rule.action == "*" || rule.action == case.action.action())
        && tainted.is_none_or(|tainted| tainted == case.tainted)
        && plain.is_none_or(|plain| plain == (case.screening.danger() == Danger::Plain))
        && (program.is_empty() || runs(program, rule.then, &case.screening))
        && (command.is_empty() || is_command(command, case.action))
        && one_of(goal, case.goal)
        && one_of(runner, case.runner)
        && one_of(path, case.path.as_deref())
}

/// Whether a move runs one of these commands, letter by letter.
fn is_command(commands: &[String], action: &Move) -> bool {
    matches!(action, Move::RunShell { cmd, .. } if commands.contains(cmd))
}

/// Whether a text runs these programs. What is allowed must be all that it runs; what is asked or denied need only be
/// among it, or a second program would lift the rule.
fn runs(listed: &[String], then: Then, screening: &Screening) -> bool {
    let used = &screening.programs;
    match then {
        Then::Allow => {
            let known = |program: &String| listed.contains(program) || is_harmless(program);
            screening.danger() == Danger::Plain && !used.is_empty() && used.iter().all(known)
        }
        Then::Ask | Then::Deny => listed.iter().any(|program| used.contains(program)),
    }
}

fn one_of(patterns: &[String], text: Option<&str>) -> bool {
    patterns.is_empty() || text.is_some_and(|text| patterns.iter().any(|pattern| glob(pattern, text)))
}

/// Whether a variable is named outside the words of the programs that it is granted to: another command may show it.
/// `test` and the like look at it and say nothing.
fn is_shown(used: &[&Grant], name: &String, screening: &Screening) -> bool {
    let may = |program: &String| {
        matches!(program.as_str(), ":" | "[" | "test")
            || used.iter().any(|grant| grant.program == *program && grant.env.contains(name))
    };
    let given = screening.given.iter().filter(|(program, _)| may(program));
    let given: usize = given.filter_map(|(_, names)| names.get(name)).sum();
    screening.names.get(name).is_some_and(|all| *all > given)
}

/// What a command made only of granted and harmless programs gets: all that was granted to them. One other program, or
/// anything that cannot be told, and it gets nothing.
pub fn granted(policy: &Policy, screening: &Screening) -> Granted {
    let grant = |program: &String| policy.grants.iter().find(|grant| grant.program == *program);
    let known = |program: &String| grant(program).is_some() || is_harmless(program);
    let mut all = Granted::default();
    if screening.danger() != Danger::Plain || screening.peeks || !screening.programs.iter().all(known) {
        return all;
    }
    let used: Vec<&Grant> = screening.programs.iter().filter_map(grant).collect();
    if used.iter().flat_map(|grant| &grant.env).any(|name| is_shown(&used, name, screening)) {
        return all;
    }
    for grant in screening.programs.iter().filter_map(grant) {
        all.env.extend(grant.env.iter().cloned());
        all.read.extend(grant.read.iter().cloned());
        all.net |= grant.net;
    }
    for list in [&mut all.env, &mut all.read] {
        list.sort();
        list.dedup();
    }
    all
}
