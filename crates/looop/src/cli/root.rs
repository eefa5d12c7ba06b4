//! The root: which verbs there are, and how one is called.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use super::{
    answer, asks, attach, beat, completions, cost, detach, doctor, down, events, expect, foreground, goal,
    help, hidden, init, journal, key, kill, list, log, pause, playbook, policy, print, prune, resize,
    restart, review, run, runs, schedule, send, sensor, service, shot, side, status, tell, trust, undo, up,
    wait, wait_idle, wake, watch, why, worker,
};
use crate::failure::Result;
use crate::ops::Place;

/// A control loop for your work: sensors observe, a decider proposes one move a beat, looop gates, executes and
/// journals it.
///
/// Without a verb the loop runs in the foreground until Ctrl-C.
#[derive(Parser, Debug)]
#[command(name = "looop", version, disable_help_subcommand = true, max_term_width = 100)]
struct Root {
    /// The profile to work on; else the one that the environment names
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "The profile to work on [default: $LOOOP_DATA_DIR, else $XDG_STATE_HOME/looop, else ~/.local/state/looop]"
    )]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    foreground: foreground::Foreground,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Up(up::Up),
    Down(down::Down),
    Beat(beat::Beat),
    Wake(wake::Wake),
    Status(status::Status),
    Why(why::Why),
    Goal(goal::Goal),
    Playbook(playbook::Playbook),
    Policy(policy::Policy),
    Sensor(sensor::Sensor),
    Schedule(schedule::Schedule),
    Trust(trust::Trust),
    Run(run::Run),
    Worker(worker::Worker),
    StartSession(worker::StartSession),
    #[command(name = "ls")]
    List(list::List),
    Kill(kill::Kill),
    Restart(restart::Restart),
    Prune(prune::Prune),
    Review(review::Review),
    Merge(review::Merge),
    Pr(review::Pr),
    Discard(review::Discard),
    Attach(attach::Attach),
    Detach(detach::Detach),
    Watch(watch::Watch),
    Log(log::Log),
    Shot(shot::Shot),
    Send(send::Send),
    Key(key::Key),
    Expect(expect::Expect),
    Wait(wait::Wait),
    WaitIdle(wait_idle::WaitIdle),
    Resize(resize::Resize),
    Asks(asks::Asks),
    Answer(answer::Answer),
    Tell(tell::Tell),
    #[command(flatten)]
    Side(side::Side),
    #[command(name = "_", hide = true)]
    Underscore(side::Underscore),
    Journal(journal::Journal),
    Events(events::Events),
    Runs(runs::Runs),
    Cost(cost::Cost),
    Undo(undo::Undo),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Init(init::Init),
    Doctor(doctor::Doctor),
    Service(service::Service),
    Completions(completions::Completions),
    Version(help::Version),
    Help(help::Help),
}

/// The whole command line, for help, completions and the check of the docs.
pub(super) fn command() -> clap::Command {
    Root::command()
}

/// Runs the binary.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = hidden::run(&args) {
        return code;
    }
    if let [_, flag] = &args[..]
        && (flag == "--version" || flag == "-V")
    {
        // Whoever asks for it alone need not wait until all verbs with all their flags are put together.
        return help::version();
    }
    let root = match Root::try_parse_from(&args) {
        Ok(root) => root,
        Err(error) => {
            // Help and version come through here too; their exit code is 0.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match call(root) {
        Ok(code) => code,
        Err(failure) => {
            print::say(&failure.to_string());
            failure.exit_code()
        }
    }
}

fn call(root: Root) -> Result<ExitCode> {
    let place = || Place::find(root.data_dir.as_deref());
    let Some(verb) = root.verb else { return root.foreground.run(&place()?) };
    match verb {
        Verb::Up(verb) => verb.run(&place()?),
        Verb::Down(verb) => verb.run(&place()?),
        Verb::Beat(verb) => verb.run(&place()?),
        Verb::Wake(verb) => verb.run(&place()?),
        Verb::Status(verb) => verb.run(&place()?),
        Verb::Why(verb) => verb.run(&place()?),
        Verb::Goal(verb) => verb.run(&place()?),
        Verb::Playbook(verb) => verb.run(&place()?),
        Verb::Policy(verb) => verb.run(&place()?),
        Verb::Sensor(verb) => verb.run(&place()?),
        Verb::Schedule(verb) => verb.run(&place()?),
        Verb::Trust(verb) => verb.run(&place()?),
        Verb::Run(verb) => verb.run(&place()?),
        Verb::Worker(verb) => verb.run(&place()?),
        Verb::StartSession(verb) => verb.run(&place()?),
        Verb::List(verb) => verb.run(&place()?),
        Verb::Kill(verb) => verb.run(&place()?),
        Verb::Restart(verb) => verb.run(&place()?),
        Verb::Prune(verb) => verb.run(&place()?),
        Verb::Review(verb) => verb.run(&place()?),
        Verb::Merge(verb) => verb.run(&place()?),
        Verb::Pr(verb) => verb.run(&place()?),
        Verb::Discard(verb) => verb.run(&place()?),
        Verb::Attach(verb) => verb.run(&place()?),
        Verb::Detach(verb) => verb.run(&place()?),
        Verb::Watch(verb) => verb.run(&place()?),
        Verb::Log(verb) => verb.run(&place()?),
        Verb::Shot(verb) => verb.run(&place()?),
        Verb::Send(verb) => verb.run(&place()?),
        Verb::Key(verb) => verb.run(&place()?),
        Verb::Expect(verb) => verb.run(&place()?),
        Verb::Wait(verb) => verb.run(&place()?),
        Verb::WaitIdle(verb) => verb.run(&place()?),
        Verb::Resize(verb) => verb.run(&place()?),
        Verb::Asks(verb) => verb.run(&place()?),
        Verb::Answer(verb) => verb.run(&place()?),
        Verb::Tell(verb) => verb.run(&place()?),
        Verb::Side(verb) => verb.run(&place()?),
        Verb::Underscore(verb) => verb.run(&place()?),
        Verb::Journal(verb) => verb.run(&place()?),
        Verb::Events(verb) => verb.run(&place()?),
        Verb::Runs(verb) => verb.run(&place()?),
        Verb::Cost(verb) => verb.run(&place()?),
        Verb::Undo(verb) => verb.run(&place()?),
        Verb::Pause(verb) => verb.run(&place()?),
        Verb::Resume(verb) => verb.run(&place()?),
        Verb::Init(verb) => verb.run(&place()?),
        Verb::Doctor(verb) => verb.run(&place()?),
        Verb::Service(verb) => verb.run(&place()?),
        Verb::Completions(verb) => Ok(verb.run()),
        Verb::Version(verb) => verb.run(),
        Verb::Help(verb) => verb.run(),
    }
}
