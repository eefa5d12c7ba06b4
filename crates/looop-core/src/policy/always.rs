//! The rule that an `always` answer appends.

use super::rule::{Rule, Then, When};
use crate::model::moves::{Move, Object};
use crate::shell::{Danger, Screening, is_harmless};

/// The rule behind "always": this action for this goal, and not more than what was seen. Shell text is allowed by its
/// programs, or only as long as it is plain; without a goal the file or the programs are the scope. What nothing bounds
/// is refused, since it would allow the whole action for good.
pub fn always_rule(action: &Move, goal: Option<&str>, screening: &Screening) -> Result<Rule, String> {
    if screening.danger() != Danger::Plain {
        return Err(format!("it can be allowed once, not for always: {}", screening.reason()));
    }
    let goal = goal.filter(|goal| !goal.is_empty());
    let program = programs(screening);
    let has_command = matches!(
        action,
        Move::RunShell { .. } | Move::WriteSensor { .. } | Move::StartWorker { command: Some(_), .. }
    );
    let path = if goal.is_none() { path_of(action) } else { None };
    if has_command && program.is_empty() || goal.is_none() && path.is_none() && program.is_empty() {
        let word = action.action();
        return Err(format!("it can be allowed once, not for always: that would allow every {word}"));
    }
    // A text without shell now may have some the next time.
    let carries = matches!(action, Move::WriteGoal { .. } | Move::StartWorker { .. });
    let when = When {
        tainted: None,
        plain: (carries && program.is_empty()).then_some(true),
        program,
        goal: goal.map(str::to_owned).into_iter().collect(),
        runner: runner_of(action).into_iter().collect(),
        path: path.into_iter().collect(),
    };
    Ok(Rule { action: action.action().to_owned(), when, then: Then::Allow, message: None })
}

/// The programs that the rule names: those that do something, or all where none does.
fn programs(screening: &Screening) -> Vec<String> {
    let acting: Vec<String> =
        screening.programs.iter().filter(|program| !is_harmless(program)).cloned().collect();
    if acting.is_empty() { screening.programs.iter().cloned().collect() } else { acting }
}

/// A worker without a command of its own is allowed on its runner, or on whichever is taken where none is named; so
/// that the rule does not allow a command later.
fn runner_of(action: &Move) -> Option<String> {
    let Move::StartWorker { command: None, runner, .. } = action else { return None };
    Some(runner.clone().unwrap_or_else(|| "*".to_owned()))
}

/// The file that the move writes. A new sensor is a `.sh` file.
fn path_of(action: &Move) -> Option<String> {
    match action.object() {
        Object::Nothing => None,
        Object::Goal(id) => Some(format!("goals/{id}.md")),
        Object::Sensor(name) => Some(format!("sensors/{name}.sh")),
        Object::Schedule(name) => Some(format!("schedules/{name}.json")),
        Object::Playbook => Some("PLAYBOOK.md".to_owned()),
    }
}
