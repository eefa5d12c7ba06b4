//! What is added to the command of a known agent when it starts: options that a person should not have to know
//! of, and that not every version has.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use looop_session::{Batch, Done, Ended, Job, Order};

use super::environ;
use super::runner::{Agent, find, program};
use crate::config::Template;

/// Keeps codex from handing its work to a server that all its instances share: what ran there would have the environment
/// of another worker and would not end with its own.
const NO_DAEMON: &str = "--no-daemon";
/// How long a program may take to say whether it knows an option.
const DEADLINE: Duration = Duration::from_secs(30);
/// A program file as it was when it was asked.
#[derive(PartialEq, Eq, Hash)]
struct Binary {
    path: PathBuf,
    size: u64,
    changed: Option<SystemTime>,
}

/// The command of an agent with the options that its program knows and needs.
pub(crate) fn command(agent: &Agent, env: &[(String, String)], cwd: &Path) -> Result<Template, String> {
    let text = agent.command.as_str();
    match program(text) {
        Some(program) if base(program) == "codex" && !text.contains(NO_DAEMON) => {
            let Some(file) = find(program, env).filter(|file| file.is_absolute()) else {
                return Ok(agent.command.clone());
            };
            if knows(&file, NO_DAEMON, (env, cwd))? {
                return Template::new(&with_option(text, program, NO_DAEMON));
            }
            Ok(agent.command.clone())
        }
        Some(_) | None => Ok(agent.command.clone()),
    }
}

/// The name of a program without its folder.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The command with an option right behind its program.
fn with_option(text: &str, program: &str, option: &str) -> String {
    // The program is a word of its own, and what stands before it are settings of variables.
    let at = text.match_indices(program).map(|(at, _)| at + program.len());
    let ends = |end: &usize| text[*end..].chars().next().is_none_or(char::is_whitespace);
    let starts = |end: usize| text[..end - program.len()].chars().next_back().is_none_or(char::is_whitespace);
    let plain = |end: &usize| !text[..*end].contains(['"', '\'']);
    let Some(end) = at.filter(ends).find(|end| starts(*end)).filter(plain) else { return text.to_owned() };
    format!("{} {option}{}", &text[..end], &text[end..])
}

/// Whether a program takes this option. It is asked once, as long as its file does not change.
fn knows(file: &Path, option: &str, place: (&[(String, String)], &Path)) -> Result<bool, String> {
    static ASKED: LazyLock<Mutex<HashMap<Binary, bool>>> = LazyLock::new(Mutex::default);
    let binary = Binary::at(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let answers = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(knows) = answers().get(&binary) {
        return Ok(*knows);
    }
    let knows = asks(file, option, place)?;
    answers().insert(binary, knows);
    Ok(knows)
}

impl Binary {
    /// The file behind all links, since an update of the program may change only that.
    fn at(file: &Path) -> std::io::Result<Self> {
        let path = file.canonicalize()?;
        let meta = path.metadata()?;
        Ok(Self { size: meta.len(), changed: meta.modified().ok(), path })
    }
}

/// Programs end with an error when they do not know an option, also when they only print their version.
fn asks(file: &Path, option: &str, (env, cwd): (&[(String, String)], &Path)) -> Result<bool, String> {
    let job = Job {
        argv: vec![file.into(), option.into(), "--version".into()],
        cwd: cwd.to_owned(),
        env: Some(env.to_vec()),
        timeout: Some(DEADLINE),
        stdout_cap: Some(0),
        stderr_cap: Some(0),
        ..Job::default()
    };
    let mut result = None;
    let ran = Batch::run(&environ::image(), &["_batch"], &Order::new(vec![job], 1), &mut |_, done| {
        result = Some(done);
    });
    let failed = |why: String| format!("{} could not be asked for {option}: {why}", file.display());
    ran.map_err(|error| failed(error.to_string()))?;
    match result {
        Some(Done { ended: Ended::Exited(code), .. }) => Ok(code == 0),
        Some(Done { ended, .. }) => Err(failed(format!("{ended:?}"))),
        None => Err(failed("no result".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_stands_behind_the_program() {
        let table = [
            ("codex", "codex", "codex --x"),
            ("A=codex codex -c codex", "codex", "A=codex codex --x -c codex"),
            ("A='x codex' codex -c y", "codex", "A='x codex' codex -c y"),
            ("/a/codex-1/codex \"p\"", "/a/codex-1/codex", "/a/codex-1/codex --x \"p\""),
        ];
        for (text, program, expected) in table {
            assert_eq!(with_option(text, program, "--x"), expected);
        }
    }
}
