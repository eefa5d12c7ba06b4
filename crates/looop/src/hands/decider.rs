//! `looop _decide <run> <runner>`: runs one decider, takes its decision, and leaves a record. The pulse parses no stream.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;

use looop_core::engine::io::Record;
use looop_core::intake::{self, Found, stream};
use looop_core::ledger::entry::{FailureKind, Spend};
use looop_core::model::moves::one_line;
use looop_core::model::plan::RunId;
use looop_session::{Batch, Done, Ended, Job, Keep, Order};
use looop_store::disk::durable_write;
use looop_store::{Reader, run_folder};
use serde_json::Value;

use super::{decide, environ};
use crate::clock;
use crate::config::{self, Cost, Env, Loaded, Runner};

/// What is looked at of a runner's output: its end, where the decision stands.
const OUTPUT: u64 = 4 << 20;
/// What is looked through for a decision at most: the end of a long message.
const MESSAGE: usize = 1 << 20;
/// What is kept of it, rendered.
const KEPT: usize = 64 << 10;

/// Runs a decide. Its exit code says whether a record was left.
pub(crate) fn main(run: &OsStr, runner: Option<&OsString>) -> ExitCode {
    // What a runner leaves in its folder is as private as the rest of the profile, whatever the person's umask.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let number = run.to_str().and_then(|text| text.parse().ok()).map(RunId);
    let data = std::env::var_os("LOOOP_DATA_DIR");
    let (Some(run), Some(data), Some(runner)) = (number, data, runner) else { return ExitCode::from(2) };
    let Ok(reader) = Reader::open(Path::new(&data)) else { return ExitCode::FAILURE };
    let record = match decide_once(&reader, run, &runner.to_string_lossy()) {
        Ok(record) => record,
        Err((kind, reason)) => decide::failed(run, kind, reason),
    };
    let bytes = serde_json::to_vec_pretty(&record).unwrap_or_default();
    match durable_write(reader.disk(), &format!("{}/record.json", run_folder(run)), &bytes, 0o600) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

type Failed = (FailureKind, String);

fn decide_once(reader: &Reader, run: RunId, name: &str) -> Result<Record, Failed> {
    let runner_failed = |reason: String| (FailureKind::Runner, reason);
    let env: Env =
        std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value))).collect();
    let loaded = config::load(reader.root(), &env).map_err(|error| runner_failed(error.to_string()))?;
    let runner = loaded.config.runners.get(name);
    let runner =
        runner.ok_or_else(|| runner_failed(format!("there is no runner \"{name}\" in the configuration")))?;
    let mut attempt = 0;
    let done = loop {
        attempt += 1;
        let done = run_once(reader, run, runner, &loaded, attempt).map_err(runner_failed)?;
        if attempt > runner.retries || !wants_retry(runner, &done) {
            break done;
        }
        std::thread::sleep(runner.retry_sleep);
    };
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    keep_output(reader, run, &output, &done).map_err(runner_failed)?;
    let (decision, source) = taken(reader, run, &output, &done, &work(run, attempt))?;
    let free = runner.cost == Cost::Free;
    let spend = free.then(|| Spend { source: "free".to_owned(), ..Spend::default() });
    let ended = clock::now().wall;
    Ok(Record {
        v: 1,
        run,
        decision: Some(decision),
        source: Some(source.to_owned()),
        failure: None,
        spend,
        ended,
    })
}

/// The folder that an attempt works in: fresh, and nobody else's, so that no earlier run can leave a decision.
fn work(run: RunId, attempt: u64) -> String {
    format!("{}/work-{attempt}", run_folder(run))
}

fn decision_file(run: RunId) -> String {
    format!("{}/decision.json", run_folder(run))
}

fn run_once(
    reader: &Reader,
    run: RunId,
    runner: &Runner,
    loaded: &Loaded,
    attempt: u64,
) -> Result<Done, String> {
    let tick = runner.tick.as_ref().ok_or("the runner has no tick command")?;
    let work = reader.path(&work(run, attempt));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&work);
    made.map_err(|error| format!("{} could not be made: {error}", work.display()))?;
    let prompt = reader.path(&run_folder(run)).join("prompt.md");
    let decision = reader.path(&decision_file(run)).to_string_lossy().into_owned();
    let run = run.to_string();
    let more = [("LOOOP_DECISION_FILE", decision.as_str()), ("LOOOP_RUN_ID", run.as_str())];
    let env = environ::of_person(reader.root(), &loaded.config, &more).map_err(|failure| failure.error)?;
    let job = Job {
        argv: vec!["bash".into(), "-c".into(), tick.fill(&prompt)],
        cwd: work,
        env: Some(env),
        timeout: Some(loaded.config.tick_timeout),
        stdin: (!tick.takes_prompt_file()).then_some(prompt),
        stdout_cap: Some(OUTPUT),
        stderr_cap: Some(64 << 10),
        keep: Keep::Tail,
    };
    let mut order = Order::new(vec![job], 1);
    order.spare.clone_from(&loaded.config.spare);
    let mut result = None;
    let ran = Batch::run(&environ::image(), &["_batch"], &order, &mut |_, done| result = Some(done));
    ran.map_err(|error| format!("the runner could not be run: {error}"))?;
    result.ok_or_else(|| "the runner gave no result".to_owned())
}

/// A failed invocation is tried again, and one whose output says so although it exited 0.
fn wants_retry(runner: &Runner, done: &Done) -> bool {
    let output = String::from_utf8_lossy(&done.stdout);
    let said = runner.retry_match.as_deref().is_some_and(|text| output.contains(text));
    said || matches!(&done.ended, Ended::Exited(code) if *code != 0)
}

/// Keeps the output for people: rendered, bounded, with what went to stderr.
fn keep_output(reader: &Reader, run: RunId, output: &str, done: &Done) -> Result<(), String> {
    let rendered: String = output.lines().filter_map(stream::render).map(|line| line + "\n").collect();
    let stderr = String::from_utf8_lossy(&done.stderr);
    let stderr = if stderr.is_empty() { String::new() } else { format!("── stderr ──\n{stderr}\n") };
    let text =
        format!("{rendered}{stderr}── ended: {:?}, {} bytes of output ──\n", done.ended, done.stdout_total);
    let mut from = text.len().saturating_sub(KEPT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let path = format!("{}/output.log", run_folder(run));
    durable_write(reader.disk(), &path, &text.as_bytes()[from..], 0o600).map_err(|error| error.text())
}

/// Takes the decision: from its file, from `.decision.json` in the working folder, from the final message or output.
fn taken(
    reader: &Reader,
    run: RunId,
    output: &str,
    done: &Done,
    work: &str,
) -> Result<(Value, &'static str), Failed> {
    let unusable = |error: String| (FailureKind::Unusable, error);
    for (path, source) in [(decision_file(run), "file"), (format!("{work}/.decision.json"), "cwd")] {
        let stored = reader.read(&path).known(&path).map_err(unusable)?;
        if let Some(bytes) = stored {
            let decision = intake::from_file(&bytes).map_err(|refusal| unusable(refusal.to_string()))?;
            return Ok((decision, source));
        }
    }
    match &done.ended {
        Ended::TimedOut => {
            return Err((FailureKind::Timeout, "the runner passed its deadline and was ended".to_owned()));
        }
        Ended::Spawn(error) => {
            return Err((FailureKind::Runner, format!("the runner could not be started: {error}")));
        }
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Killed => {}
    }
    let message = stream::final_message(output);
    match found(message.as_deref().unwrap_or(output)) {
        Found::One(decision) => Ok((decision, "output")),
        Found::Unusable(refusal) => Err(unusable(refusal.to_string())),
        Found::None => Err(no_decision(output, done)),
    }
}

/// Looks for the decision in what was said last; that a runner said much before it is no fault of the decision.
fn found(text: &str) -> Found {
    let last = text.len().checked_sub(MESSAGE).and_then(|from| {
        let line = text.as_bytes()[from..].iter().position(|byte| *byte == b'\n')?;
        text.get(from + line..)
    });
    match last.map(intake::find) {
        None | Some(Found::None) => intake::find(text),
        Some(found) => found,
    }
}

fn no_decision(output: &str, done: &Done) -> Failed {
    let stderr = String::from_utf8_lossy(&done.stderr);
    let said = stream::error(output).unwrap_or_else(|| one_line(stderr.lines().last().unwrap_or(""), 300));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    match &done.ended {
        Ended::Exited(0) => (FailureKind::NoDecision, format!("the runner left no decision{said}")),
        Ended::Exited(code) => (FailureKind::Runner, format!("the runner exited with {code}{said}")),
        Ended::Signalled(signal) => {
            (FailureKind::Runner, format!("the runner was ended by signal {signal}{said}"))
        }
        Ended::Killed | Ended::TimedOut | Ended::Spawn(_) => {
            (FailureKind::Runner, format!("the runner was ended{said}"))
        }
    }
}
