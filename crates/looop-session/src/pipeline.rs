//! A pipeline without a shell: commands that this process starts and waits for, each one's output the next one's input.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// What a program says by its exit code that ended because nobody reads what it writes.
const BROKEN_PIPE: i32 = 128 + 13;
/// What a shell says of a program that is not there, and of one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// One command of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its words.
    pub argv: Vec<OsString>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The variables of this process that it does not get.
    pub without: Vec<String>,
}

/// Runs a pipeline to its end. The first command reads what this process reads, the last one writes where it writes, and
/// all of them complain where it does. Gives the exit code of the last command that failed, or zero: one that ended
/// because the next did not read on has not failed.
pub fn pipeline(parts: &[Part], complain: &mut dyn FnMut(&str)) -> u8 {
    let mut started: Vec<Result<Child, u8>> = Vec::new();
    let mut input = Stdio::inherit();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        let output = if is_last { Stdio::inherit() } else { Stdio::piped() };
        let mut child = start(part, std::mem::replace(&mut input, Stdio::null()), output);
        if let Ok(child) = &mut child
            && let Some(output) = child.stdout.take()
        {
            input = output.into();
        }
        started.push(child.map_err(|error| {
            let program = part.argv.first().map(|program| program.to_string_lossy()).unwrap_or_default();
            complain(&format!("{program}: {error}"));
            if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
        }));
    }
    let mut failed = 0;
    for child in started {
        let code = child.map_or_else(|code| code, |mut child| child.wait().map_or(NOT_STARTED, code));
        failed = if code == 0 { failed } else { code };
    }
    failed
}

fn start(part: &Part, input: Stdio, output: Stdio) -> io::Result<Child> {
    let (program, arguments) = part.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&part.cwd).stdin(input).stdout(output);
    for name in &part.without {
        command.env_remove(name);
    }
    command.spawn()
}

fn code(status: ExitStatus) -> u8 {
    match status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()) {
        BROKEN_PIPE => 0,
        code => u8::try_from(code).unwrap_or(u8::MAX),
    }
}
