//! The rule that an `always` answer appends.

use super::render::rule_text;
use super::rule::{Rule, Then, When};
use super::scene::{Scene, case};
use crate::approval::Parked;
use crate::model::moves::Move;
use crate::shell::stages;

/// The rule behind "always": this very command, or what is done to this very file, for this goal. It allows nothing that
/// the person has not seen, so what carries a text of its own is refused: the next text is another one.
pub fn always_rule(action: &Move, goal: Option<&str>, confined: bool) -> Result<Rule, String> {
    if !confined
        && let Move::RunShell { cmd, .. } = action
        && let Err(why) = stages(cmd)
    {
        return Err(format!("it can be allowed once, not for always: {why}"));
    }
    let goal: Vec<String> = goal.filter(|goal| !goal.is_empty()).map(str::to_owned).into_iter().collect();
    let when = match action {
        Move::RunShell { cmd, .. } => When { command: vec![cmd.clone()], goal, ..When::default() },
        Move::ArchiveGoal { id } => When { path: vec![format!("goals/{id}.md")], goal, ..When::default() },
        Move::DropSchedule { name } => {
            When { path: vec![format!("schedules/{name}.json")], goal, ..When::default() }
        }
        Move::Noop { .. }
        | Move::WriteGoal { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => {
            let word = action.action();
            return Err(format!(
                "it can be allowed once, not for always: a rule would allow every later {word}, which you have not seen"
            ));
        }
    };
    Ok(Rule { action: action.action().to_owned(), when, then: Then::Allow, message: None })
}

/// The same for a move that waits, as text for `policy.toml`.
pub fn always_text(scene: &Scene<'_>, parked: &Parked, ask: &str) -> Result<String, String> {
    if parked.own {
        return Err(format!(
            "{} says that it waits, and your rules come first: edit policy.toml, or answer yes",
            parked.rule
        ));
    }
    let judged = case(scene, &parked.proposal.action, parked.goal(), parked.tainted);
    let rule = always_rule(&parked.proposal.action, judged.goal, judged.confined)?;
    Ok(rule_text(&rule, &format!("always, said to {ask} ({})", parked.digest)))
}
