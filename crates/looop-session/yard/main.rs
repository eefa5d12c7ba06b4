//! A stand-in for the `looop` binary, for the tests of this crate.
//!
//! It answers `_host` and `_batch` as that does; `start` prepares and launches the session whose spec is given, and
//! `batch` runs the order that is given, as a process of their own that a test can kill.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use looop_session::{Batch, Order, Spec, batch, host};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["_batch"] => code(batch::serve(&io::stdin(), &io::stdout()).is_ok()),
        ["_host", folder] => host::main(Path::new(folder)),
        ["start", folder, spec] => code(start(Path::new(folder), spec).is_some()),
        ["batch", order] => code(run(order).is_some()),
        _ => ExitCode::from(2),
    }
}

fn start(folder: &Path, spec: &str) -> Option<()> {
    let spec: Spec = serde_json::from_str(spec).ok()?;
    let image = std::env::current_exe().ok()?;
    let prepared = host::prepare(folder, &spec).ok()?;
    host::launch(prepared, &image, &["_host"]).ok().map(|_| ())
}

fn run(order: &str) -> Option<()> {
    let order: Order = serde_json::from_str(order).ok()?;
    let image = std::env::current_exe().ok()?;
    Batch::run(&image, &["_batch"], &order, &mut |_, _| {}).ok().map(|_| ())
}

fn code(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
