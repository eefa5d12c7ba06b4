//! Consent: whether a person has to agree to a planned move first.

use super::{Admission, Context};
use crate::approval::Wish;
use crate::model::digest::Digest;
use crate::model::moves::Proposal;
use crate::model::plan::{Author, Plan};
use crate::policy::{Ruling, Scene, Then, case, judge};
use crate::taint;
use crate::world::observation::Doc;

/// What the policy makes of a plan. A person's own moves and recipes are nobody else's business.
pub(super) fn consent(cx: &Context<'_>, proposal: Proposal, mut plan: Plan) -> Admission {
    let by = match &cx.author {
        Author::Person | Author::Approved(_) => return Admission::Execute(Box::new(plan)),
        Author::Builtin if !is_foreign(cx, plan.goal.as_deref()) => {
            return Admission::Execute(Box::new(plan));
        }
        Author::Builtin => "builtin",
        Author::Decider(name) => name,
    };
    plan.tainted = cx.tainted || taints(cx, plan.goal.as_deref());
    let scene = Scene { ledger: cx.ledger, docs: cx.docs, limits: cx.limits };
    let judged = case(&scene, &plan.action, plan.goal.as_deref(), plan.tainted);
    let Ruling { then, rule, own, reason } = judge(&cx.limits.policy, &judged);
    match then {
        Then::Allow => Admission::Execute(Box::new(plan)),
        Then::Deny => Admission::Reject(format!("{reason} ({rule})")),
        Then::Ask => {
            if let Some((ask, _)) = cx.ledger.parked.iter().find(|(_, parked)| parked.is_same(&proposal)) {
                return Admission::Reject(format!("it waits already for the person's word on {ask}"));
            }
            let by = by.to_owned();
            let wish = Wish { by, proposed: false, tainted: plan.tainted, reason, rule, own };
            Admission::Park(Box::new((wish, proposal)))
        }
    }
}

/// Whether a goal stands as a decider wrote it.
fn is_foreign(cx: &Context<'_>, goal: Option<&str>) -> bool {
    let Some((path, digest)) = file(cx, goal) else { return false };
    digest.is_some() && cx.ledger.written.get(&path).copied() == digest
}

/// Whether a recipe stands in a goal that was made from what strangers wrote.
pub(super) fn taints(cx: &Context<'_>, goal: Option<&str>) -> bool {
    cx.author == Author::Builtin
        && file(cx, goal).is_some_and(|(path, digest)| taint::of_file(cx.ledger, &path, digest))
}

fn file(cx: &Context<'_>, goal: Option<&str>) -> Option<(String, Option<Digest>)> {
    let goal = goal?;
    Some((format!("goals/{goal}.md"), cx.docs.goals.get(goal).and_then(Doc::digest)))
}
