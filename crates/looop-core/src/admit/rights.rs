//! With whose rights a plan is carried out: authorship gives them.

use super::Context;
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::model::rights::Rights;
use crate::policy::granted;
use crate::shell::{Screening, screen, screen_script};
use crate::world::observation::Doc;

/// The rights of a plan. What a decider wrote is confined: its commands, the sensors it wants to write, the commands
/// and proofs of workers it starts, and recipes and checks of goals that it wrote.
pub(super) fn of(cx: &Context<'_>, plan: &Plan) -> Rights {
    let confined = |screening: &Screening| Rights::Confined(granted(&cx.limits.policy, screening));
    if let Move::RunShell { cmd, .. } = &plan.action {
        return match &plan.author {
            Author::Person | Author::Approved(_) => Rights::Person,
            Author::Builtin if !is_deciders(cx, plan.goal.as_deref()) => Rights::Person,
            Author::Builtin | Author::Decider(_) => confined(&screen(cmd)),
        };
    }
    if let Move::WriteSensor { script, .. } = &plan.action {
        return match &plan.author {
            Author::Person | Author::Builtin => Rights::Person,
            Author::Decider(_) | Author::Approved(_) => confined(&screen_script(script)),
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
        let mut screening = Screening::default();
        command.iter().chain(proof).for_each(|text| screening.merge(screen(text)));
        return if foreign { confined(&screening) } else { Rights::Person };
    }
    Rights::Person
}

/// Whether a decider wrote a goal, as it stands.
pub(super) fn is_deciders(cx: &Context<'_>, goal: Option<&str>) -> bool {
    let Some(goal) = goal else { return false };
    let written = cx.ledger.written.get(&format!("goals/{goal}.md")).copied();
    written.is_some() && written == cx.docs.goals.get(goal).and_then(Doc::digest)
}
