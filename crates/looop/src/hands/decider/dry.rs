//! A dry call of a decider that costs nothing: it is asked with a short brief, and nothing that it says is done.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use looop_core::intake::{self, Found, catalogue, stream};
use looop_session::{Done, Ended, Job, Keep, Order};
use looop_store::Reader;
use serde_json::Value;

use super::taken::{found, no_decision};
use crate::clock;
use crate::config::{Config, Fill, Template};
use crate::hands::brakes::Brakes;
use crate::hands::environ;

/// How long it may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// What is kept of its output.
const OUTPUT: u64 = 1 << 20;
/// What it is asked.
const BRIEF: &str = "This is a test call of `looop doctor`. Nothing that you answer is carried out.\n\n\
                     Print one JSON object as your decision:\n\n    {\"action\":\"noop\",\"reason\":\"test\"}\n";

/// What came of a dry call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Dry {
    /// It decided on this move.
    Decided(String),
    /// It had not decided after this time.
    Slow(Duration),
    /// It failed, or what it said is no decision.
    Failed(String),
}

/// Calls a decider's command.
pub(crate) fn dry_call(reader: &Reader, config: &Config, tick: &Template) -> Dry {
    let name = format!("looop-doctor-{}-{}", std::process::id(), clock::now().wall);
    let folder = std::env::temp_dir().join(name);
    let called = call(reader, config, tick, &folder);
    // What is left of it is in a folder for what is thrown away.
    drop(fs::remove_dir_all(&folder));
    called.unwrap_or_else(Dry::Failed)
}

fn call(reader: &Reader, config: &Config, tick: &Template, folder: &Path) -> Result<Dry, String> {
    let work = folder.join("work");
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    // A folder that is there already is somebody else's.
    fs::DirBuilder::new().mode(0o700).create(folder).map_err(failed)?;
    fs::DirBuilder::new().mode(0o700).create(&work).map_err(failed)?;
    let files = ["prompt.md", "schema.json", "strict-schema.json", "decision.json"];
    let [prompt, schema, strict, decision] = files.map(|file| folder.join(file));
    fs::write(&prompt, BRIEF).map_err(failed)?;
    fs::write(&schema, catalogue::tool_schema(false).to_string()).map_err(failed)?;
    fs::write(&strict, catalogue::strict_schema(false).to_string()).map_err(failed)?;
    let fill = Fill { prompt: &prompt, schemas: [&schema, &strict], budget: "0" };
    let told = decision.to_string_lossy();
    let more = [("LOOOP_DECISION_FILE", told.as_ref()), ("LOOOP_RUN_ID", "000000")];
    let env = environ::of_person(reader.root(), config, &more).map_err(|failure| failure.error)?;
    let job = Job {
        argv: vec!["bash".into(), "-c".into(), tick.fill_tick(&fill)],
        cwd: work.clone(),
        env: Some(env),
        timeout: Some(DEADLINE.min(config.tick_timeout)),
        stdin: (!tick.takes_prompt_file()).then_some(prompt),
        stdout_cap: Some(OUTPUT),
        stderr_cap: Some(OUTPUT),
        keep: Keep::Tail,
        ..Job::default()
    };
    let mut order = Order::new(vec![job], 1);
    order.spare.clone_from(&config.spare);
    let ran = Brakes::default().run(&order).map_err(|error| format!("it could not be run: {error}"))?;
    let done = ran.into_iter().flatten().next().ok_or("nothing is known of how it ended")?;
    taken(&[decision, work.join(".decision.json")], &done)
}

/// Takes the decision: from a file, else from what it printed.
fn taken(files: &[PathBuf], done: &Done) -> Result<Dry, String> {
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        return typed(&intake::from_file(&bytes).map_err(|refusal| refusal.to_string())?);
    }
    match &done.ended {
        Ended::TimedOut => return Ok(Dry::Slow(DEADLINE)),
        Ended::Spawn(error) => return Err(format!("it could not be started: {error}")),
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Killed => {}
    }
    let output = String::from_utf8_lossy(&done.stdout);
    let message = stream::final_message(&output).unwrap_or_else(|| stream::beside(&output));
    match found(&message) {
        Found::One(decision) => typed(&decision),
        Found::Unusable(refusal) => Err(refusal.to_string()),
        Found::None => Err(no_decision(&output, done).reason),
    }
}

fn typed(decision: &Value) -> Result<Dry, String> {
    let proposal = intake::parse(decision).map_err(|refusal| refusal.to_string())?;
    Ok(Dry::Decided(proposal.action.action().to_owned()))
}
