//! A stand-in for the `looop` binary, for the tests of this crate.
//!
//! It answers `_host` and `_batch` as that does; `start` prepares and launches the session whose spec is given, `join`
//! starts it among others, `batch` runs the order that is given, and `detach` lets a program go on without us, as a
//! process of their own that a test can kill.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use looop_session::{Batch, Order, Spec, Start, StartError, batch, host};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["_batch"] => code(batch::serve(&io::stdin(), &io::stdout()).is_ok()),
        ["_host", folder] => host::main(Path::new(folder)),
        ["join", root, session, cap, spec] => join(Path::new(root), session, cap, spec),
        ["start", folder, spec] => code(start(Path::new(folder), spec).is_some()),
        ["batch", order] => code(run(order).is_some()),
        ["detach", output, program, rest @ ..] => detach(output, program, rest).unwrap_or(ExitCode::FAILURE),
        _ => ExitCode::from(2),
    }
}

fn start(folder: &Path, spec: &str) -> Option<()> {
    let spec: Spec = serde_json::from_str(spec).ok()?;
    let image = std::env::current_exe().ok()?;
    let prepared = host::prepare(folder, &spec).ok()?;
    host::launch(prepared, &image, &["_host"]).ok().map(|_| ())
}

/// Starts `<id>~<n>` in a folder of sessions, with our environment. The exit code says why it did not: 3 it lives, 4 too
/// many do, 1 all else.
fn join(root: &Path, session: &str, cap: &str, spec: &str) -> ExitCode {
    let (Ok(spec), Ok(image)) = (serde_json::from_str::<Spec>(spec), std::env::current_exe()) else {
        return ExitCode::from(2);
    };
    let spec = Spec { env: std::env::vars().collect(), ..spec };
    let id = session.rsplit_once('~').map_or(session, |(id, _)| id);
    let (cap, files) = (cap.parse().ok(), &[][..]);
    let start = Start { root, id, session, cap, spec: &spec, image: &image, image_args: &["_host"], files };
    ExitCode::from(match looop_session::start(&start) {
        Ok(_) => 0,
        Err(StartError::Lives { .. }) => 3,
        Err(StartError::Full { .. }) => 4,
        Err(StartError::Left(_) | StartError::Busy(_) | StartError::Io { .. } | StartError::Host(_)) => 1,
    })
}

fn run(order: &str) -> Option<()> {
    let order: Order = serde_json::from_str(order).ok()?;
    let image = std::env::current_exe().ok()?;
    Batch::run(&image, &["_batch"], &order, &mut |_, _| {}).ok().map(|_| ())
}

/// Starts a program without a tie to us, and says its number.
fn detach(output: &str, program: &str, arguments: &[&str]) -> io::Result<ExitCode> {
    let output = std::fs::File::options().append(true).create(true).open(output)?;
    let detached = looop_session::detach(Path::new(program), arguments, None, Path::new("/"), output)?;
    io::Write::write_all(&mut io::stdout(), format!("{}\n", detached.pid()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn code(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
