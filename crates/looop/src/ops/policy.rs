//! The policy: what it says, whether it is right, and what it makes of a move.

use std::path::Path;

use looop_core::gate::Limits;
use looop_core::intake;
use looop_core::model::moves::Proposal;
use looop_core::model::name::Name;
use looop_core::model::rights::{Granted, Rights, Stage};
use looop_core::policy::{Case, Policy, Ruling, Run, Scene, case, gives_nothing, judge, unreached};
use serde::Serialize;

use super::{Place, propose, see};
use crate::config::{self, Config, POLICY_FILE};
use crate::failure::{Failure, Result};
use crate::hands::sandbox::{self, Means};
use crate::pulse::open::config_failure;
use crate::setup::limits;

/// The policy in force, and whether what a decider wrote is confined.
pub(crate) fn in_force(place: &Place) -> Result<(Policy, bool)> {
    let config = place.config()?.config;
    Ok((limits(&config).policy, confines(&config)))
}

/// Whether what a decider wrote is confined here, found out by trying.
fn confines(config: &Config) -> bool {
    sandbox::means(config).is_ok_and(|means| means != Means::None)
}

/// Checks the policy of the profile, or a file. Says how it stands.
pub(crate) fn check(place: &Place, file: Option<&Path>) -> Result<Vec<String>> {
    let settings = config::load_settings(&place.data, &place.env).map_err(|error| config_failure(&error))?;
    let level = settings.config.policy.level;
    let path = file.map_or_else(|| place.data.join(POLICY_FILE), Path::to_owned);
    let read = match file {
        Some(file) => config::read_policy(file, level),
        None => config::load_policy(&place.data, level),
    };
    let policy = read.map_err(|error| config_failure(&error))?;
    if file.is_none() && !path.exists() {
        return Ok(vec![format!(
            "there is no {POLICY_FILE}: the built-in list \"{}\" decides",
            level.word()
        )]);
    }
    let counts = format!("{} and {}", count(policy.rules.len(), "rule"), count(policy.grants.len(), "grant"));
    let mut said = vec![format!("{}: {counts}", path.display())];
    said.extend(unreached_rules(&policy));
    said.extend(empty_grants(&policy));
    Ok(said)
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Rules that no move comes to, in words.
pub(crate) fn unreached_rules(policy: &Policy) -> Vec<String> {
    let hidden = (0..policy.rules.len()).filter_map(|at| Some((at + 1, unreached(&policy.rules, at)? + 1)));
    hidden.map(|(at, by)| format!("rule {at} is never reached: rule {by} decides before it")).collect()
}

/// Grants that give nothing, in words.
pub(crate) fn empty_grants(policy: &Policy) -> Vec<String> {
    let numbered = policy.grants.iter().enumerate();
    numbered.filter_map(|(at, grant)| Some(format!("grant {}: {}", at + 1, gives_nothing(grant)?))).collect()
}

/// What is supposed about a move to be tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supposed {
    /// The brief showed what strangers wrote.
    pub(crate) tainted: bool,
    /// A decider wrote the goal.
    pub(crate) goal_by_decider: bool,
}

/// What the policy makes of a move.
#[derive(Debug, Serialize)]
pub(crate) struct Tried {
    pub(crate) v: u32,
    pub(crate) action: &'static str,
    pub(crate) then: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) rule: String,
    pub(crate) reason: String,
    pub(crate) goal: Option<String>,
    pub(crate) goal_by: Option<&'static str>,
    pub(crate) runner: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) tainted: bool,
    /// What each of its shell texts would run.
    pub(crate) runs: Vec<Ran>,
    /// Whether they are confined on this machine.
    pub(crate) confined: bool,
}

/// What a shell text would run.
#[derive(Debug, Serialize)]
pub(crate) struct Ran {
    pub(crate) text: String,
    /// Why it is no plain pipeline, if it is none.
    pub(crate) not_plain: Option<String>,
    /// Its boxes: one for each command of a pipeline that gets a grant, and else one for all.
    pub(crate) boxes: Vec<Boxed>,
    /// The grants that it does not get although it names their program, each with the reason.
    pub(crate) withheld: Vec<String>,
}

/// What runs in one box, and what it gets.
#[derive(Debug, Serialize)]
pub(crate) struct Boxed {
    pub(crate) argv: Vec<String>,
    pub(crate) grant: Option<String>,
    pub(crate) granted: Granted,
}

/// Tries a move as if a decider had proposed it.
pub(crate) fn test(place: &Place, text: &str, supposed: Supposed) -> Result<Tried> {
    let value =
        serde_json::from_str(text).map_err(|error| Failure::new(format!("the move is not JSON: {error}")))?;
    let Proposal { action, goal, .. } =
        intake::parse(&value).map_err(|refusal| Failure::new(refusal.to_string()))?;
    let seen = see::see(place)?;
    let config = &seen.config.config;
    let limits = Limits { confines: confines(config), ..limits(config) };
    let scene = Scene { ledger: &seen.ledger, docs: &seen.observation.docs, limits: &limits };
    let mut case = case(&scene, &action, goal.as_ref().map(Name::as_str), supposed.tainted);
    case.goal_by_person &= !supposed.goal_by_decider;
    let there = case.goal.is_some_and(|goal| seen.observation.docs.goals.contains_key(goal));
    let ruling = judge(&limits.policy, &case);
    Ok(Tried { goal_by: goal_by(&case, there), ..tried(&case, ruling) })
}

/// Reads the file of a move.
pub(crate) fn read_move(path: &Path) -> Result<String> {
    propose::read(path)
}

/// Who wrote the goal, if there is one.
fn goal_by(case: &Case<'_>, there: bool) -> Option<&'static str> {
    let by = if case.goal_by_person { "person" } else { "decider" };
    (case.goal.is_some() && there).then_some(by)
}

fn tried(case: &Case<'_>, ruling: Ruling) -> Tried {
    Tried {
        v: 1,
        action: case.action.action(),
        then: ruling.then.word(),
        verb: ruling.then.verb(),
        rule: ruling.rule,
        reason: ruling.reason,
        goal: case.goal.map(str::to_owned),
        goal_by: None,
        runner: case.runner.map(str::to_owned),
        path: case.path.clone(),
        tainted: case.tainted,
        runs: case.runs.iter().map(ran).collect(),
        confined: case.confined,
    }
}

fn ran(run: &Run) -> Ran {
    let alone = |granted: &Granted| Granted { withheld: Vec::new(), ..granted.clone() };
    let boxes = match &run.rights {
        Rights::Person => Vec::new(),
        Rights::Confined(granted) => {
            let argv = ["bash", "-c", &run.text].map(str::to_owned).to_vec();
            vec![Boxed { argv, grant: None, granted: alone(granted) }]
        }
        Rights::Staged(stages) => {
            let of = |stage: &Stage| Boxed {
                argv: stage.argv.clone(),
                grant: stage.grant.clone(),
                granted: alone(&stage.granted),
            };
            stages.iter().map(of).collect()
        }
    };
    Ran {
        text: run.text.clone(),
        not_plain: run.programs.as_ref().err().map(ToString::to_string),
        boxes,
        withheld: run.rights.withheld().into_iter().map(str::to_owned).collect(),
    }
}
