//! `looop wait [id]`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use looop_core::view::news::{Cursor, Filter};
use serde_json::json;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::{Failure, Result};
use crate::ops::news::{self, End, Waited, Wanted};
use crate::ops::{Place, session, workers};

/// Wait for news of the loop, or for the end of a worker
///
/// Without an id it returns as soon as something new happened, prints it and a cursor, and `--since` that cursor waits
/// for what came after. With an id it waits until that worker has ended; the exit code is the worker's own, 128 + n for
/// a signal.
#[derive(Args, Debug)]
pub(super) struct Wait {
    /// Which worker or session
    id: Option<String>,
    /// Only asks, flags and proposals
    #[arg(long, conflicts_with = "id")]
    only_asks: bool,
    /// Only what you may have to act upon: asks, failures, workers that ended, notices
    #[arg(long, conflicts_with_all = ["id", "only_asks"])]
    actionable: bool,
    /// Everything after this cursor [default: from now on]
    #[arg(long, value_name = "CURSOR", conflicts_with = "id")]
    since: Option<Cursor>,
    /// How long to wait [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    json: Json,
}

impl Wait {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.id {
            Some(id) => self.end_of(place, id),
            None => self.news(place),
        }
    }

    fn end_of(&self, place: &Place, id: &str) -> Result<ExitCode> {
        let target = session::find(place, id)?;
        let name = &target.session;
        let Some(standing) = target.ended(self.timeout)? else {
            return Err(Failure::timed_out(format!("{name} has not ended")));
        };
        let Some(ended) = session::how(&standing) else {
            return Err(Failure::new(format!("{name} {}", session::standing_text(&standing))));
        };
        let (code, branch) = (session::exit_code(ended), workers::branch(place, name)?);
        if self.json.json {
            print::json(&json!({"v": 1, "session": name, "ended": ended, "code": code, "branch": branch}))?;
        } else {
            print::say(&format!("{name} has ended ({})", session::ended_text(ended)));
            if let Some(branch) = branch {
                print::say(&format!("its work is on {branch}: looop review {name}"));
            }
        }
        Ok(ExitCode::from(code))
    }

    fn news(&self, place: &Place) -> Result<ExitCode> {
        let filter = match (self.only_asks, self.actionable) {
            (true, _) => Filter::Asks,
            (false, true) => Filter::Actionable,
            (false, false) => Filter::All,
        };
        let wanted = Wanted { since: self.since.clone(), filter, timeout: self.timeout };
        let Waited { end, news, cursor } = news::wait(place, wanted)?;
        if self.json.json {
            print::json(&json!({"v": 1, "events": news.events, "cursor": cursor.to_string()}))?;
        } else {
            news.lines.iter().for_each(print::human_line);
            print::out(&format!("cursor {cursor}"));
        }
        match end {
            End::News => Ok(ExitCode::SUCCESS),
            End::TimedOut => Err(Failure::timed_out("nothing new came")),
            End::NoPulse => {
                Err(Failure::no_pulse("no pulse runs, so nothing new will come").hint("looop up"))
            }
        }
    }
}
