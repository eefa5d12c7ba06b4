//! Where the decision of a command is taken from.

use looop_core::intake::{self, Found, stream};
use looop_core::ledger::entry::FailureKind;
use looop_core::meter::reached_no_model;
use looop_core::model::moves::one_line;
use looop_core::model::plan::RunId;
use looop_session::{Done, Ended};
use looop_store::{Reader, run_folder};

use super::{Failed, Taken};

/// What is looked through for a decision at most: the end of a long message.
const MESSAGE: usize = 1 << 20;

/// The file that a command may write its decision to.
pub(super) fn decision_file(run: RunId) -> String {
    format!("{}/decision.json", run_folder(run))
}

/// Takes the decision: from its file, from `.decision.json` in the working folder, from the final message or output.
pub(super) fn taken(
    reader: &Reader,
    run: RunId,
    work: &str,
    (output, done): (&str, &Done),
) -> Result<Taken, Failed> {
    let unusable = |error: String| Failed::new(FailureKind::Unusable, error);
    for (path, source) in [(decision_file(run), "file"), (format!("{work}/.decision.json"), "cwd")] {
        let stored = reader.read(&path).known(&path).map_err(unusable)?;
        if let Some(bytes) = stored {
            let decision = intake::from_file(&bytes).map_err(|refusal| unusable(refusal.to_string()))?;
            return Ok((decision, source));
        }
    }
    match &done.ended {
        Ended::TimedOut => {
            let reason = "the runner passed its deadline and was ended";
            return Err(Failed::new(FailureKind::Timeout, reason));
        }
        Ended::Spawn(error) => {
            return Err(Failed::runner(format!("the runner could not be started: {error}")));
        }
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Killed => {}
    }
    // An event is no decision, whatever it looks like.
    let message = stream::final_message(output).unwrap_or_else(|| stream::beside(output));
    match found(&message) {
        Found::One(decision) => Ok((decision, "output")),
        Found::Unusable(refusal) => Err(unusable(refusal.to_string())),
        Found::None => Err(no_decision(output, done)),
    }
}

/// Looks for the decision in what was said last; that a runner said much before it is no fault of the decision.
pub(super) fn found(text: &str) -> Found {
    let last = text.len().checked_sub(MESSAGE).and_then(|from| {
        let line = text.as_bytes()[from..].iter().position(|byte| *byte == b'\n')?;
        text.get(from + line..)
    });
    match last.map(intake::find) {
        None | Some(Found::None) => intake::find(text),
        Some(found) => found,
    }
}

/// Words of a line that says why a program failed.
const WHY: [&str; 14] = [
    "error",
    "no api key",
    "api key",
    "auth method",
    "not found",
    "unknown option",
    "unexpected argument",
    "unrecognized",
    "denied",
    "refused",
    "failed",
    "log in",
    "sign in",
    "update",
];

/// The line of a program's standard error that says why it failed: one that says that no model was reached, else the first
/// that reads so, else the last one. What follows it is where in the program that was, or what to read about it; warnings
/// are about something else.
fn telling(stderr: &str) -> &str {
    let unreached = stderr.lines().find(|line| reached_no_model(line));
    let is_one = |line: &&str| {
        let line = line.trim_start().to_lowercase();
        let aside = line.starts_with("warning") || line.starts_with("at ") || line.starts_with("npm ");
        !aside && WHY.iter().any(|word| line.contains(word))
    };
    let last = || stderr.lines().rfind(|line| !line.trim().is_empty());
    unreached.or_else(|| stderr.lines().find(is_one)).or_else(last).unwrap_or_default()
}

pub(super) fn no_decision(output: &str, done: &Done) -> Failed {
    let stderr = String::from_utf8_lossy(&done.stderr);
    let said = stream::error(output).unwrap_or_else(|| one_line(telling(&stderr), 300));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    match &done.ended {
        Ended::Exited(0) => {
            Failed::new(FailureKind::NoDecision, format!("the runner left no decision{said}"))
        }
        Ended::Exited(code) => Failed::runner(format!("the runner exited with {code}{said}")),
        Ended::Signalled(signal) => Failed::runner(format!("the runner was ended by signal {signal}{said}")),
        Ended::Killed | Ended::TimedOut | Ended::Spawn(_) => {
            Failed::runner(format!("the runner was ended{said}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_why_is_quoted_and_not_the_last_one() {
        let table = [
            ("", ""),
            ("one\ntwo\n\n", "two"),
            (
                "No API key found for the selected model.\n\nUse /login to log into a provider. See:\n  /docs/models.md\n",
                "No API key found for the selected model.",
            ),
            ("WARNING: no color, error\nunknown option '--bare'\nusage: x", "unknown option '--bare'"),
            ("Error: fetch failed\n    at file.js:1:2\n    at error.js:3", "Error: fetch failed"),
            (
                "Ignore file not found: .x\nAn error of the keychain\nYou must specify the GEMINI_API_KEY variable.\nTry again!",
                "You must specify the GEMINI_API_KEY variable.",
            ),
            ("bash: no-such: command not found", "bash: no-such: command not found"),
        ];
        for (stderr, expected) in table {
            assert_eq!(telling(stderr), expected, "{stderr}");
        }
    }
}
