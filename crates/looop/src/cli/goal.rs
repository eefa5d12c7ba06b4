//! `looop goal list | show | write | archive`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::moves::Move;
use looop_core::view::status::age_text;

use super::args::Json;
use super::{body, print};
use crate::failure::{Failure, Result};
use crate::ops::{Place, named, see, submit};

/// Goals: how things should be
#[derive(Args, Debug)]
pub(super) struct Goal {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List goals with their state
    List(Json),
    /// Show a goal's text
    Show {
        /// Which goal
        id: String,
    },
    /// Create or replace a goal
    Write {
        /// Which goal
        id: String,
        /// Its text; read from stdin if absent or -; after -- it may begin with a dash
        body: Vec<String>,
    },
    /// Move a goal to the archive
    Archive {
        /// Which goal
        id: String,
    },
}

impl Goal {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::List(json) => list(place, json.json)?,
            Verb::Show { id } => show(place, id)?,
            Verb::Write { id, body } => {
                let (id, body) = (named(id)?, body::body(body, "goal")?);
                let problems = looop_core::model::goal::parse(&body).problems;
                print::out(&submit::made(place, Move::WriteGoal { id, body })?);
                for problem in problems {
                    print::say(&format!("note: {problem}"));
                }
            }
            Verb::Archive { id } => print::out(&submit::made(place, Move::ArchiveGoal { id: named(id)? })?),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(place: &Place, json: bool) -> Result<()> {
    let status = see::see(place)?.status();
    if json {
        return print::json(&status.goals);
    }
    if status.goals.is_empty() {
        print::say("no goals; write one with: looop goal write <id> 'text'");
    }
    let row = |goal: &looop_core::view::status::GoalView| {
        vec![goal.id.clone(), goal.title.clone(), goal.state.clone(), age_text(goal.served_age_s)]
    };
    let rows: Vec<Vec<String>> = status.goals.iter().map(row).collect();
    if !rows.is_empty() {
        print::out(&print::table(&["goal", "title", "state", "served"], &rows));
    }
    Ok(())
}

fn show(place: &Place, id: &str) -> Result<()> {
    use looop_core::world::observation::Doc;
    let seen = see::see(place)?;
    match seen.observation.docs.goals.get(id) {
        Some(Doc::Text { text, .. }) => print::out_file(text.as_bytes()),
        Some(Doc::Broken { error }) => return Err(Failure::new(error.clone())),
        Some(Doc::Absent) | None => {
            return Err(Failure::new(format!("there is no goal \"{id}\"")).hint("looop goal list shows them"));
        }
    }
    Ok(())
}
