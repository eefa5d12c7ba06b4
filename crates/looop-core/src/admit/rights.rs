//! With whose rights a plan is carried out: authorship gives them.

use super::Context;
use super::consent::taints;
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::model::rights::Rights;
use crate::policy::{Text, run, with_goal};
use crate::world::observation::Doc;

/// The rights of a plan. What a decider wrote is confined: its commands, the sensors it wants to write, the commands
/// and proofs of workers it starts, and recipes and checks of goals that it wrote.
pub(super) fn of(cx: &Context<'_>, plan: &Plan) -> Rights {
    let grants = &cx.limits.policy.grants;
    let tainted = cx.tainted || taints(cx, plan.goal.as_deref());
    if let Move::RunShell { cmd, .. } = &plan.action {
        return match &plan.author {
            Author::Person | Author::Approved(_) => Rights::Person,
            Author::Builtin if !is_deciders(cx, plan.goal.as_deref()) => Rights::Person,
            Author::Builtin | Author::Decider(_) => {
                let grants = with_goal(grants, allowing(cx, plan.goal.as_deref()));
                run(&grants, Text::Command(cmd), tainted).rights
            }
        };
    }
    if let Move::WriteSensor { script, .. } = &plan.action {
        return match &plan.author {
            Author::Person | Author::Builtin => Rights::Person,
            Author::Decider(_) | Author::Approved(_) => run(grants, Text::Sensor(script), tainted).rights,
        };
    }
    if let (Move::StartWorker { command, verify, goal, .. }, Act::Worker { verify: proof, .. }) =
        (&plan.action, &plan.act)
    {
        // A proof that the move does not name is the check of the worker's goal, whichever goal the move says it serves.
        let own = command.is_some() || verify.is_some();
        let foreign = match &plan.author {
            Author::Person => false,
            Author::Decider(_) if own => true,
            Author::Builtin | Author::Decider(_) | Author::Approved(_) => {
                is_deciders(cx, goal.as_ref().map(Name::as_str))
            }
        };
        if !foreign {
            return Rights::Person;
        }
        let grants = with_goal(grants, allowing(cx, goal.as_ref().map(Name::as_str)));
        let proof = proof.as_deref().unwrap_or_default();
        return run(&grants, Text::Check(proof), tainted).rights;
    }
    Rights::Person
}

/// The goal whose `allow` counts: one that no decider wrote.
fn allowing<'a>(cx: &Context<'a>, goal: Option<&str>) -> Option<&'a str> {
    let docs = cx.docs;
    goal.filter(|goal| !is_deciders(cx, Some(goal))).and_then(|goal| docs.goals.get(goal)).and_then(Doc::text)
}

/// Whether a decider wrote a goal, as it stands.
pub(super) fn is_deciders(cx: &Context<'_>, goal: Option<&str>) -> bool {
    let Some(goal) = goal else { return false };
    let written = cx.ledger.written.get(&format!("goals/{goal}.md")).copied();
    written.is_some() && written == cx.docs.goals.get(goal).and_then(Doc::digest)
}
