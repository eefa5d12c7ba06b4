//! A decider that is a command: run, metered, and run again where that may help.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use looop_core::intake::{catalogue, stream};
use looop_core::ledger::entry::FailureKind;
use looop_core::meter::limit::Limited;
use looop_core::meter::{self, Meter, Metered, Micros, Source, Trouble, Usage};
use looop_core::time::span_text;
use looop_session::{Batch, BatchError, Done, Ended, Job, Keep, News, Next, Order, Output};
use looop_store::run_folder;

use super::known_model::known_model;
use super::missing::is_missing;
use super::taken::{decision_file, taken};
use super::unasked::is_unasked;
use super::watch::{PATIENCE, Stop, Watch};
use super::{Desk, Failed, Receipt, Taken, jitter};
use crate::clock;
use crate::config::{Cost, CostMode, Fill, Runner, Template, calls_no_model};
use crate::hands::{environ, sense};

/// What a command that wants a bound is told where there is none.
const NO_BOUND: &str = "1000000";

/// An attempt that ended.
struct Ran {
    done: Done,
    watch: Watch,
    output: String,
    limited: Option<Limited>,
}

/// Runs the command until it decides, or nothing is left: attempts, money or time.
pub(super) fn decide(desk: &Desk<'_>, receipt: &mut Receipt) -> Result<Taken, Failed> {
    let tick = desk.runner.tick.as_ref().ok_or_else(|| Failed::runner("the runner has no tick command"))?;
    write_schemas(desk, tick)?;
    let mut attempt = 0;
    let ran = loop {
        attempt += 1;
        let ran = run_once(desk, tick, attempt, receipt)?;
        let again =
            attempt <= desk.runner.retries && ran.watch.stop.is_none() && wants_retry(desk.runner, &ran);
        if !again || !affords_retry(desk, receipt) || !rest(desk, ran.limited.as_ref()) {
            break ran;
        }
    };
    keep_output(desk, &ran)?;
    if ran.watch.stop == Some(Stop::Spent) {
        return Err(stopped(desk, receipt));
    }
    let work = work(desk, attempt);
    let taken = taken(desk.reader, desk.run, &work, (&ran.output, &ran.done));
    taken.map_err(|failed| match &ran.watch.stop {
        Some(Stop::Trouble(trouble)) => unanswered(trouble),
        Some(Stop::Silence(length)) => silent(desk, *length),
        Some(Stop::Unstated | Stop::Spent) => lost(),
        None => by_provider(failed, &ran),
    })
}

/// The folder that an attempt works in: fresh, and nobody else's, so that no earlier run can leave a decision.
fn work(desk: &Desk<'_>, attempt: u64) -> String {
    format!("{}/work-{attempt}", run_folder(desk.run))
}

/// The schemas that a command may be given, in the folder of the run.
const SCHEMAS: [&str; 2] = ["schema.json", "strict-schema.json"];

fn write_schemas(desk: &Desk<'_>, tick: &Template) -> Result<(), Failed> {
    if !tick.takes_schema() {
        return Ok(());
    }
    desk.write(SCHEMAS[0], catalogue::tool_schema(desk.workers).to_string().as_bytes())?;
    desk.write(SCHEMAS[1], catalogue::strict_schema(desk.workers).to_string().as_bytes())
}

/// What is left of what was set aside.
fn left(desk: &Desk<'_>, receipt: &Receipt) -> Option<Micros> {
    desk.reserved.map(|reserved| reserved.saturating_sub(receipt.usd()))
}

fn affords_retry(desk: &Desk<'_>, receipt: &Receipt) -> bool {
    left(desk, receipt).is_none_or(|left| left > Micros::ZERO)
}

fn run_once(desk: &Desk<'_>, tick: &Template, attempt: u64, receipt: &mut Receipt) -> Result<Ran, Failed> {
    let left = left(desk, receipt);
    let env = environment(desk, left)?;
    let spec = spec(desk.runner, &env);
    let job = job(desk, tick, (&desk.reader.path(&work(desk, attempt)), left), env)?;
    let mut watch = Watch::new(Meter::new(spec, desk.config.prices.clone()), left, desk.runner.silence);
    let batch = start(desk, &job)?;
    let done = follow(batch, &mut watch);
    watch.finish();
    let metered = watch.meter.clone().finish();
    let uncharged = done.as_ref().is_ok_and(|done| {
        let unasked = || is_unasked(command_of(&job), done, &watch.meter);
        never_ran(&job, done) || is_plain(desk, tick, &metered) || is_unanswered(&metered) || unasked()
    });
    if !uncharged {
        receipt.add(metered);
    }
    let done = done?;
    let output = watch.text();
    let limited = watch.meter.limited(&clock::now());
    Ok(Ran { done, watch, output, limited })
}

fn environment(desk: &Desk<'_>, left: Option<Micros>) -> Result<Vec<(String, String)>, Failed> {
    let decision = desk.reader.path(&decision_file(desk.run)).to_string_lossy().into_owned();
    let run = desk.run.to_string();
    let left = left.map(amount);
    let mut more = vec![("LOOOP_DECISION_FILE", decision.as_str()), ("LOOOP_RUN_ID", run.as_str())];
    more.extend(left.as_deref().map(|left| (super::RESERVED, left)));
    environ::of_person(desk.reader.root(), desk.config, &more)
        .map_err(|failure| Failed::runner(failure.error))
}

fn job(
    desk: &Desk<'_>,
    tick: &Template,
    (work, left): (&Path, Option<Micros>),
    env: Vec<(String, String)>,
) -> Result<Job, Failed> {
    let made = std::fs::DirBuilder::new().mode(0o700).create(work);
    made.map_err(|error| Failed::runner(format!("{} could not be made: {error}", work.display())))?;
    let folder = desk.reader.path(&run_folder(desk.run));
    let (prompt, schemas) = (folder.join("prompt.md"), SCHEMAS.map(|name| folder.join(name)));
    let budget = left.map_or_else(|| NO_BOUND.to_owned(), amount);
    let fill = Fill { prompt: &prompt, schemas: [&schemas[0], &schemas[1]], budget: &budget };
    Ok(Job {
        argv: vec!["bash".into(), "-c".into(), tick.fill_tick(&fill)],
        cwd: work.to_owned(),
        env: Some(env),
        timeout: Some(desk.deadline.left()),
        stdin: (!tick.takes_prompt_file()).then_some(prompt),
        stdout_cap: Some(0),
        stderr_cap: Some(64 << 10),
        keep: Keep::Tail,
        stream: true,
        strict: false,
    })
}

/// Dollars as a plain number.
fn amount(usd: Micros) -> String {
    usd.to_string().replace('$', "")
}

/// Whether a command that calls no model, as far as its text tells, has ended without a word on what it used.
fn is_plain(desk: &Desk<'_>, tick: &Template, metered: &Metered) -> bool {
    let usage = metered.usage();
    let silent = usage.usd.is_none() && usage.tokens() == 0;
    silent && desk.runner.cost == Cost::ByFormat && calls_no_model(tick.as_str())
}

/// Whether all that an agent asked was refused, or reached nobody.
fn is_unanswered(metered: &Metered) -> bool {
    let nothing = |usage: &Usage| usage.usd == Some(Micros::ZERO) && usage.tokens() == 0;
    matches!(metered, Metered::Exact(usage) if nothing(usage) && usage.source != Source::Free)
}

/// Whether it is certain that a job's program was never run, so that it cannot have cost anything.
fn never_ran(job: &Job, done: &Done) -> bool {
    let env = job.env.as_deref().unwrap_or_default();
    matches!(done.ended, Ended::Spawn(_)) || is_missing(command_of(job), (env, &job.cwd), done)
}

/// The text that the shell is given.
fn command_of(job: &Job) -> &str {
    job.argv.last().and_then(|command| command.to_str()).unwrap_or_default()
}

fn could_not_run(error: &BatchError) -> Failed {
    Failed::runner(format!("the runner could not be run: {error}"))
}

/// Starts a job. Where that fails, nothing was run.
fn start(desk: &Desk<'_>, job: &Job) -> Result<Batch, Failed> {
    let mut order = Order::new(vec![job.clone()], 1);
    order.spare.clone_from(&desk.config.spare);
    Batch::start(&environ::image(), &["_batch"], &order).map_err(|error| could_not_run(&error))
}

/// Runs a job with an eye on what it prints, and on that it prints.
fn follow(mut batch: Batch, watch: &mut Watch) -> Result<Done, Failed> {
    let (stopper, mut result) = (batch.stopper(), None);
    loop {
        match batch.next(watch.quiet()).map_err(|error| could_not_run(&error))? {
            Next::News(_, News::Piece(Output::Stdout, piece)) => watch.take(&piece),
            Next::News(_, News::Piece(Output::Stderr, piece)) => watch.take_error(&piece),
            Next::News(_, News::Done(done)) => result = Some(done),
            Next::Nothing => {}
            Next::Over(_) => break,
        }
        if result.is_none() && watch.must_stop(&clock::now()) {
            stopper.stop();
        }
    }
    result.ok_or_else(|| Failed::runner("the runner gave no result"))
}

/// How the runner is metered.
fn spec(runner: &Runner, env: &[(String, String)]) -> meter::Spec {
    let cost = match &runner.cost {
        Cost::ByFormat | Cost::Paid => meter::Cost::Stream,
        Cost::Free => meter::Cost::Free,
        Cost::Field { kind, pointer, mode } => {
            let mode = match mode {
                CostMode::Sum => meter::Mode::Sum,
                CostMode::Total => meter::Mode::Total,
            };
            meter::Cost::Line(meter::LineCost { kind: kind.clone(), pointer: pointer.clone(), mode })
        }
    };
    meter::Spec { format: None, model: known_model(runner, env), cost }
}

/// A failed invocation is tried again, and one whose output says so although it exited 0.
fn wants_retry(runner: &Runner, ran: &Ran) -> bool {
    let said = runner.retry_match.as_deref().is_some_and(|text| ran.output.contains(text));
    said || matches!(&ran.done.ended, Ended::Exited(code) if *code != 0)
        || stream::error(&ran.output).is_some()
}

/// Waits before another attempt. Not where a limit lasts longer than a decide should wait, or its time is over then.
fn rest(desk: &Desk<'_>, limited: Option<&Limited>) -> bool {
    let usual = desk.runner.retry_sleep;
    let Some(limited) = limited else { return desk.deadline.wait(usual) };
    let stated = limited.until.map(|until| until.saturating_sub(clock::now().wall));
    let stated = stated.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or(0)));
    match stated {
        Some(stated) if stated > PATIENCE => false,
        Some(stated) => desk.deadline.wait(stated + jitter(Duration::from_secs(1))),
        None => desk.deadline.wait(jitter(usual)),
    }
}

/// The runner was stopped because of what it cost.
fn stopped(desk: &Desk<'_>, receipt: &Receipt) -> Failed {
    let reserved = desk.reserved.unwrap_or_default();
    let reason = format!("stopped: it had spent {} of the {reserved} set aside for it", receipt.usd());
    Failed::new(FailureKind::Budget, reason)
}

/// The runner was stopped because nobody knows what it cost.
fn lost() -> Failed {
    let reason = "stopped: one call after the other ended without a word on what it cost";
    Failed::new(FailureKind::Budget, reason)
}

/// The runner was stopped because its provider gives no answer.
fn unanswered(trouble: &Trouble) -> Failed {
    match trouble {
        Trouble::Limited(Limited { until, text }) => {
            let reason = format!("the provider takes no calls now: {text}");
            Failed { until: *until, ..Failed::new(FailureKind::Limited, reason) }
        }
        Trouble::Unreached(said) => {
            Failed::new(FailureKind::Unreached, format!("the provider cannot be reached: {said}"))
        }
        Trouble::Failing(said) => Failed::runner(format!("the provider gives no answer: {said}")),
    }
}

/// The runner was stopped because it printed nothing.
fn silent(desk: &Desk<'_>, length: Duration) -> Failed {
    let (name, length) = (desk.name, span_text(length));
    let reason =
        format!("{name} printed nothing for {length} and was ended (runners.{name}.silence sets how long)");
    Failed::new(FailureKind::Timeout, reason)
}

/// A failure that comes of a limit, or of a provider that cannot be reached, is none of the runner's.
fn by_provider(failed: Failed, ran: &Ran) -> Failed {
    match (failed.kind, &ran.limited) {
        (FailureKind::Runner | FailureKind::NoDecision, Some(Limited { until, text })) => {
            Failed { kind: FailureKind::Limited, reason: text.clone(), until: *until }
        }
        (FailureKind::Runner | FailureKind::NoDecision, None) if ran.watch.meter.is_unreached() => {
            Failed { kind: FailureKind::Unreached, ..failed }
        }
        _ => failed,
    }
}

/// Keeps the output for people: rendered, bounded, with what went to stderr.
fn keep_output(desk: &Desk<'_>, ran: &Ran) -> Result<(), Failed> {
    let rendered: String = ran.output.lines().filter_map(stream::render).map(|line| line + "\n").collect();
    let stderr = String::from_utf8_lossy(&ran.done.stderr);
    let stderr = if stderr.is_empty() { String::new() } else { format!("── stderr ──\n{stderr}\n") };
    let (ended, bytes) = (sense::ended(ran.done.ended.clone()).text(), ran.done.stdout_total);
    desk.keep_output(&format!("{rendered}{stderr}── {ended}, {bytes} bytes of output ──\n"))
}
