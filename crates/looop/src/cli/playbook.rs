//! `looop playbook show | write | history | restore | diff`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::moves::Move;
use looop_core::world::observation::Doc;
use similar::TextDiff;

use super::args::Json;
use super::{body, print};
use crate::failure::{Failure, Result};
use crate::ops::{Place, history, see, submit};

/// The PLAYBOOK: judgment in prose
#[derive(Args, Debug)]
pub(super) struct Playbook {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Show it
    Show,
    /// Replace it; the earlier body is kept
    Write {
        /// Its text; read from stdin if absent or -; after -- it may begin with a dash
        body: Vec<String>,
    },
    /// List earlier bodies
    History(Json),
    /// Put an earlier body back
    Restore {
        /// Which, as history lists it [default: the newest]
        version: Option<String>,
    },
    /// Show what differs between an earlier body and the present one
    Diff {
        /// Which, as history lists it [default: the newest]
        version: Option<String>,
    },
}

impl Playbook {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::Show => print::out_file(present(place)?.as_bytes()),
            Verb::Write { body } => {
                let body = body::body(body, "PLAYBOOK")?;
                print::out(&submit::made(place, Move::WritePlaybook { body })?);
            }
            Verb::History(json) => list(place, json.json)?,
            Verb::Restore { version } => {
                let (name, body) = history::playbook(place, version.as_deref())?;
                submit::made(place, Move::WritePlaybook { body })?;
                print::out(&format!("restored PLAYBOOK.md from {name}"));
            }
            Verb::Diff { version } => {
                let (name, old) = history::playbook(place, version.as_deref())?;
                let now = present(place)?;
                let diff = TextDiff::from_lines(&old, &now);
                print::out(diff.unified_diff().header(&name, "PLAYBOOK.md").to_string().trim_end());
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn present(place: &Place) -> Result<String> {
    match see::see(place)?.observation.docs.playbook {
        Doc::Text { text, .. } => Ok(text),
        Doc::Broken { error } => Err(Failure::new(error)),
        Doc::Absent => {
            Err(Failure::new("there is no PLAYBOOK.md").hint("looop playbook write 'text' makes one"))
        }
    }
}

fn list(place: &Place, json: bool) -> Result<()> {
    let versions = history::playbooks(place)?;
    if json {
        return print::json(&versions);
    }
    if versions.is_empty() {
        print::say("no earlier PLAYBOOK");
    }
    for version in versions {
        print::out(&version);
    }
    Ok(())
}
