//! `looop ask [worker] --prompt T`.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::{Failure, Result};
use crate::ops::{Place, worker_letters};

/// Ask your person and wait for the answer, which is all that is printed (a worker's verb)
///
/// The same question again resumes the wait for it. An answer that comes when nobody waits is typed into the worker, or
/// handed out at its next `looop told` or `looop ask`.
#[derive(Args, Debug)]
pub(super) struct Ask {
    /// Who asks
    #[arg(help = "Who asks [default: $LOOOP_SESSION_ID]")]
    worker: Option<String>,
    /// The question
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: String,
    /// A path or an address to look at
    #[arg(long = "ref", value_name = "PATH", allow_hyphen_values = true)]
    reference: Option<String>,
    /// Answers to choose from, separated by commas
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', allow_hyphen_values = true)]
    options: Vec<String>,
    /// How long to wait, such as 30m; the ask goes on waiting [default: as long as the agent's shell lets it, else for ever]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    json: Json,
}

impl Ask {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let prompt = self.prompt.trim();
        if prompt.is_empty() {
            return Err(
                Failure::usage("the question is empty, so nothing was asked").hint("looop ask --prompt '…'")
            );
        }
        let options: Vec<String> = self
            .options
            .iter()
            .map(|option| option.trim().to_owned())
            .filter(|option| !option.is_empty())
            .collect();
        let question = worker_letters::Question {
            worker: self.worker.as_deref(),
            prompt,
            reference: self.reference.as_deref(),
            options: &options,
            timeout: self.timeout,
        };
        // Whoever looks at the terminal sees what it waits for; an agent's tool gets the answer and nothing else.
        let asked = &mut |ask: &str| {
            if std::io::stderr().is_terminal() {
                print::say(&format!("looop: {ask} waits for an answer"));
            }
            // Nothing is lost that was answered while nobody waited for it.
            for answer in worker_letters::missed(place, self.worker.as_deref()).unwrap_or_default() {
                print::say(&format!("looop: {}", answer.text));
            }
        };
        let heard = worker_letters::ask(place, &question, asked)?;
        // The answer is out before its letters are put away: whoever is ended in between asks again and gets it again.
        if self.json.json {
            print::json(&serde_json::json!({"v": 1, "ask": heard.ask, "answer": heard.text}))?;
        } else {
            print::out(&heard.text);
        }
        for tell in worker_letters::heard(place, &heard)? {
            print::say(&format!("looop: told: {}", tell.text));
        }
        Ok(ExitCode::SUCCESS)
    }
}
