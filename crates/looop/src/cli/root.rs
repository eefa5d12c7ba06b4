//! The root: which verbs there are, and how one is called.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::{
    answer, ask, asks, attach, beat, completions, cost, detach, doctor, down, events, expect, foreground,
    goal, help, hidden, init, journal, key, kill, list, log, pause, playbook, policy, print, prune, resize,
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
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What stands before a verb.
#[derive(Args, Debug)]
struct Common {
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
pub(super) fn command() -> Command {
    Root::command()
}

/// The command line with one verb only, for verbs that are called again and again: all verbs with all their flags take
/// longer to put together than most verbs take to run.
fn only(verb: &str) -> Option<Command> {
    let verb = match verb {
        "answer" => answer::Answer::augment_args(Command::new("answer")),
        "ask" => ask::Ask::augment_args(Command::new("ask")),
        "beat" => beat::Beat::augment_args(Command::new("beat")),
        "ls" => list::List::augment_args(Command::new("ls")),
        "status" => status::Status::augment_args(Command::new("status")),
        "worker" => worker::Worker::augment_args(Command::new("worker")),
        _ => return None,
    };
    Some(Common::augment_args(Command::new("looop")).subcommand(verb))
}

/// Reads the arguments. Help and errors name other verbs too, so they come from the whole command line.
fn parse(args: &[OsString]) -> clap::error::Result<Root> {
    let verb = args.get(1).and_then(|verb| verb.to_str());
    let alone = verb.and_then(only).and_then(|command| command.try_get_matches_from(args).ok());
    match alone.map(|matches| Root::from_arg_matches(&matches)) {
        Some(Ok(root)) => Ok(root),
        Some(Err(_)) | None => Root::try_parse_from(args),
    }
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
    let root = match parse(&args) {
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

fn call(Root { common, verb }: Root) -> Result<ExitCode> {
    let place = || Place::find(common.data_dir.as_deref());
    let Some(verb) = verb else { return common.foreground.run(&place()?) };
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

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: [&str; 6] = ["answer", "ask", "beat", "ls", "status", "worker"];

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_verb_alone_has_the_arguments_that_it_has_among_all() {
        for verb in QUICK {
            let (mut whole, mut alone) = (command(), only(verb).expect("it is one of those"));
            let help = |command: &mut Command| {
                command.build();
                let mut texts = vec![];
                collect(command.find_subcommand_mut(verb).expect("the verb"), &mut texts);
                texts
            };
            assert_eq!(help(&mut alone), help(&mut whole), "{verb}");
        }
    }

    /// The arguments of a command and of all below it.
    fn collect(command: &Command, texts: &mut Vec<String>) {
        texts.extend(command.get_arguments().map(|argument| format!("{argument:?}")));
        for inner in command.get_subcommands() {
            collect(inner, texts);
        }
    }

    #[test]
    fn a_line_means_the_same_with_one_verb_and_with_all() {
        let lines = [
            "looop answer w-1 go on",
            "looop answer w-1 --data-dir /x -- -y",
            "looop ask w --prompt what",
            "looop beat --dry-run --json",
            "looop ls --all --data-dir=/x",
            "looop status --json",
            "looop worker start w --command true",
            "looop worker ls",
        ];
        for line in lines {
            let matches = only(words(line)[1].to_str().unwrap()).unwrap().try_get_matches_from(words(line));
            let alone = Root::from_arg_matches(&matches.unwrap()).unwrap();
            let whole = Root::try_parse_from(words(line)).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn help_and_errors_are_those_of_the_whole_command_line() {
        let lines = [
            "looop beat --help",
            "looop beat -h",
            "looop beat --dry-rum",
            "looop status extra",
            "looop answer",
            "looop ls --json --json",
            "looop worker",
            "looop worker strat",
            "looop worker start",
            "looop beat --version",
            "looop beat --keep-workers",
        ];
        for line in lines {
            let text = |root: clap::error::Result<Root>| root.unwrap_err().render().to_string();
            assert_eq!(text(parse(&words(line))), text(Root::try_parse_from(words(line))), "{line}");
        }
    }
}
