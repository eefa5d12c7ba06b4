//! `looop expect <id> <RE>`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::{Failure, Result};
use crate::ops::expect::{self, Found};
use crate::ops::{Place, session};

/// Wait until a worker prints something that matches, and print the match
///
/// Looks at everything that is kept of its output, or at what was printed from --since on. Exits with 1 if the worker
/// ends without a match, with 124 if the time is up.
#[derive(Args, Debug)]
pub(super) struct Expect {
    /// Which worker or session
    id: String,
    /// The pattern; ^ and $ are those of a line
    #[arg(value_name = "RE")]
    pattern: String,
    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s")]
    timeout: Duration,
    /// Only what was printed from this byte offset on, such as `looop send --json` prints
    #[arg(long, value_name = "OFFSET", conflicts_with = "screen")]
    since: Option<u64>,
    /// Look at the screen instead of the output
    #[arg(long)]
    screen: bool,
    #[command(flatten)]
    json: Json,
}

impl Expect {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let pattern = expect::pattern(&self.pattern)?;
        let target = session::find(place, &self.id)?;
        let until = Instant::now() + self.timeout;
        let found = if self.screen {
            target.expect_screen(&pattern, until)?
        } else {
            target.expect(&pattern, self.since.unwrap_or(0), until)?
        };
        let name = &target.session;
        match found {
            Found::Match(found) if self.json.json => {
                print::json(&json!({
                    "v": 1, "session": name, "match": found.text, "groups": found.groups, "at": found.end
                }))?;
            }
            Found::Match(found) => print::out(&found.text),
            Found::Ended => {
                return Err(Failure::new(format!(
                    "{name} {} without a match of \"{}\"",
                    target.over(),
                    self.pattern
                ))
                .hint(format!("looop log {name} shows what it printed")));
            }
            Found::TimedOut => {
                return Err(Failure::timed_out(format!(
                    "{name} printed nothing that matches \"{}\"",
                    self.pattern
                ))
                .hint(format!("looop shot {name} shows what it does")));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
