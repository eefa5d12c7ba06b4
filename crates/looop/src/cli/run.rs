//! `looop run <cmd…>`.

use std::process::ExitCode;

use clap::Args;
use looop_core::engine::io::Reply;
use looop_core::model::moves::Move;
use looop_core::model::outcome::{Ended, Outcome};
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::{Failure, Result};
use crate::ops::{Place, history, submit};

/// Run one shell command as a move of the loop, journaled; its output is shown
#[derive(Args, Debug)]
pub(super) struct Run {
    #[command(flatten)]
    json: Json,
    /// One word is a shell command line; several are a program and its arguments. From its first word on everything
    /// belongs to the command, options too
    #[arg(required = true, trailing_var_arg = true)]
    cmd: Vec<String>,
}

impl Run {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let action = Move::RunShell { cmd: line(&self.cmd), reason: None };
        let Reply::Made { session, outcome, .. } = submit::make(place, action)? else {
            return Err(Failure::new("the loop gave an answer of another kind"));
        };
        let output = session.map(|session| history::output(place, &session)).transpose()?.unwrap_or_default();
        if self.json.json {
            let text = String::from_utf8_lossy(&output);
            print::json(&json!({"v": 1, "outcome": outcome, "output": text}))?;
        } else {
            print::out_bytes(&output);
        }
        match outcome.shell().map(|shell| &shell.ended) {
            Some(Ended::Exited(code)) => Ok(ExitCode::from(u8::try_from(*code).unwrap_or(1))),
            Some(Ended::Signalled(signal)) => Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
            Some(Ended::TimedOut) => Err(Failure::timed_out("the command passed its deadline and was ended")
                .hint("shell_timeout_secs in config.toml sets the deadline")),
            Some(Ended::Killed | Ended::Spawn(_)) | None => match outcome {
                Outcome::Done { .. } => Ok(ExitCode::SUCCESS),
                Outcome::Failed { reason, .. } | Outcome::Interrupted { reason } => Err(Failure::new(reason)),
            },
        }
    }
}

/// One word is taken as it is; several keep the quoting that the caller's shell took away.
fn line(words: &[String]) -> String {
    match words {
        [only] => only.clone(),
        many => many.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_quoting() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(line(&words(&["ls | wc"])), "ls | wc");
        assert_eq!(
            line(&words(&["echo", "a b", "it's", "", "$x", "-n"])),
            r"echo 'a b' 'it'\''s' '' '$x' -n"
        );
    }
}
