//! Verbs that looop calls itself by: `_batch`, `_host <folder>`, `_decide <run> <runner>`. They come before everything else.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::hands::decider;

/// Runs a hidden verb, if the arguments name one.
pub(super) fn run(args: &[OsString]) -> Option<ExitCode> {
    let verb = args.get(1)?.to_str()?;
    match (verb, args.get(2)) {
        ("_batch", None) => Some(batch()),
        ("_host", Some(folder)) => Some(looop_session::host::main(Path::new(folder))),
        ("_decide", Some(run)) => Some(decider::main(run, args.get(3))),
        _ => None,
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
