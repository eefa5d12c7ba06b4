//! The first run with an agent: the owner is asked whether they want to be interviewed, and their yes starts the worker
//! that does it. No model is needed for that.

use super::machine::Engine;
use super::workers::own_plan;
use crate::admit::{Admission, Context, admit, asking};
use crate::builtin::worker_prompt;
use crate::ledger::state::Interview;
use crate::model::goal;
use crate::model::letter::Topic;
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::time::Now;
use crate::world::observation::{Doc, Docs};

/// The goal, and the worker that serves it.
pub(crate) const SETUP: &str = "setup";

impl Engine {
    /// What is to be done about the interview, if something is.
    pub(super) fn interview(&self, docs: &Docs, now: &Now) -> Option<(Plan, String)> {
        let text = docs.goals.get(SETUP).and_then(Doc::text)?;
        match self.ledger.interview {
            Interview::Due => Some(self.invitation(now)),
            Interview::Wanted => self.interviewer(text, docs, now),
            Interview::None | Interview::Asked => None,
        }
    }

    fn invitation(&self, now: &Now) -> (Plan, String) {
        let runner = self.setup.limits.worker_runners.first().map_or("a worker", String::as_str);
        let question = Move::AskHuman {
            prompt: format!(
                "This profile is new. Shall {runner} interview you (a few minutes) and propose a PLAYBOOK, goals and \
                 sensors? Nothing it proposes takes effect without your yes."
            ),
            options: vec!["yes".to_owned(), "no".to_owned()],
            reference: Some(format!("goals/{SETUP}.md")),
        };
        let (goal, topic) = (Some(SETUP.to_owned()), Some(Topic::Interview));
        let plan = Plan { goal, topic, ..own_plan(question, Act::Nothing, now) };
        (asking(&self.ledger, plan), "a fresh profile is set up with its owner".to_owned())
    }

    fn interviewer(&self, text: &str, docs: &Docs, now: &Now) -> Option<(Plan, String)> {
        let (name, recipe) = (Name::new(SETUP).ok()?, goal::parse(text).worker?);
        let action = Move::StartWorker {
            sandbox: false,
            repo: None,
            cwd: None,
            id: name.clone(),
            prompt: worker_prompt(SETUP, &recipe, goal::split(text).1),
            goal: Some(name.clone()),
            runner: None,
            command: None,
            verify: None,
        };
        let cx = Context {
            ledger: &self.ledger,
            docs,
            limits: &self.setup.limits,
            now,
            author: Author::Builtin,
            rests: None,
            tainted: false,
        };
        // What stands in the way, such as a lack of money, may pass.
        let Admission::Execute(plan) = admit(&cx, Proposal { goal: Some(name), ..Proposal::of(action) })
        else {
            return None;
        };
        Some((*plan, "you want to be interviewed".to_owned()))
    }
}
