//! Verbs that looop calls itself by: `_batch`, `_host <folder>`, `_decide <run> <runner> [workers]`,
//! `_notify <channel>`, `_work <verb> <session>`, `_box <kind> <bwrap> <word>…`, `_stages <command>…`, `_egress <hosts> <word>…`,
//! `_inside <ports> <word>…`, `_pulse <folder>`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use looop_core::model::work::Settle;

use crate::egress;
use crate::failure::{Failure, Result};
use crate::hands::{decider, notify, sandbox, stages, works};
use crate::ops::Place;

/// Runs a hidden verb, if the arguments name one.
pub(super) fn run(args: &[OsString]) -> Option<ExitCode> {
    let verb = args.get(1)?.to_str()?;
    match (verb, args.get(2)) {
        ("_batch", None) => Some(batch()),
        ("_host", Some(folder)) => Some(looop_session::host::main(Path::new(folder))),
        ("_decide", Some(run)) => Some(decider::main(run, &args[3..])),
        ("_notify", Some(channel)) => Some(notice(&channel.to_string_lossy())),
        ("_work", Some(verb)) => Some(said(work(verb, args.get(3)))),
        ("_box", Some(_)) => Some(enter(&args[2..])),
        ("_stages", Some(_)) => Some(pipeline(&args[2..])),
        ("_egress", Some(_)) => Some(coded(egress::outside(&args[2..], complain))),
        ("_inside", Some(_)) => Some(coded(egress::inside(&args[2..]))),
        ("_pulse", Some(data)) => Some(super::up::pulse(data)),
        _ => None,
    }
}

/// Runs a pipeline. What it says of its own is for whoever reads the output of the command.
fn pipeline(words: &[OsString]) -> ExitCode {
    ExitCode::from(stages::main(words, &mut |text| super::print::say(&format!("looop: {text}"))))
}

fn enter(words: &[OsString]) -> ExitCode {
    let (code, reason) = sandbox::enter(words);
    super::print::say(&format!("looop: {reason}"));
    ExitCode::from(code)
}

fn complain(text: &str) {
    super::print::say(&format!("looop: {text}"));
}

/// The exit code of a command, or of what went wrong around it.
fn coded(done: std::result::Result<u8, (u8, String)>) -> ExitCode {
    ExitCode::from(done.unwrap_or_else(|(code, reason)| {
        complain(&reason);
        code
    }))
}

/// Settles the work of a worker. The lock holder starts it, and it goes on when that one dies.
fn work(verb: &OsStr, session: Option<&OsString>) -> Result<String> {
    let verb = verb.to_str().and_then(Settle::of_verb);
    let (Some(how), Some(session)) = (verb, session.and_then(|session| session.to_str())) else {
        return Err(Failure::usage("_work <merge|discard|pr> <session>"));
    };
    let place = Place::find(None)?;
    let (reader, config) = (place.reader()?, place.config()?.config);
    let goal = std::env::var("LOOOP_GOAL").unwrap_or_default();
    works::settle(&reader, &config, (session, &goal), how).map_err(Failure::new)
}

fn notice(channel: &str) -> ExitCode {
    said(notify::main(channel))
}

/// Prints what came of it.
fn said(done: Result<String>) -> ExitCode {
    match done {
        Ok(text) => {
            if !text.is_empty() {
                super::print::out(&text);
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            super::print::say(&failure.error);
            failure.exit_code()
        }
    }
}

fn batch() -> ExitCode {
    match looop_session::batch::serve(&std::io::stdin(), &std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            super::print::say(&format!("looop: error: batch: {error}"));
            ExitCode::FAILURE
        }
    }
}
