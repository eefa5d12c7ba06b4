//! Verbs that looop calls itself by: `_batch`, `_host <folder>`, `_decide <run> <runner> [workers]`,
//! `_notify <channel>`, `_confine <plan> -- <command>`, `_pulse <folder>`. They come before everything else.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crate::hands::{decider, notify, sandbox};

/// Runs a hidden verb, if the arguments name one.
pub(super) fn run(args: &[OsString]) -> Option<ExitCode> {
    let verb = args.get(1)?.to_str()?;
    match (verb, args.get(2)) {
        ("_batch", None) => Some(batch()),
        ("_host", Some(folder)) => Some(looop_session::host::main(Path::new(folder))),
        ("_decide", Some(run)) => Some(decider::main(run, &args[3..])),
        ("_notify", Some(channel)) => Some(notice(&channel.to_string_lossy())),
        ("_confine", Some(plan)) => Some(confine(plan, &args[3..])),
        ("_pulse", Some(data)) => Some(super::up::pulse(data)),
        _ => None,
    }
}

fn confine(plan: &OsStr, argv: &[OsString]) -> ExitCode {
    let (code, reason) = sandbox::turn_into(plan, argv);
    super::print::say(&format!("looop: {reason}"));
    ExitCode::from(code)
}

fn notice(channel: &str) -> ExitCode {
    match notify::main(channel) {
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
