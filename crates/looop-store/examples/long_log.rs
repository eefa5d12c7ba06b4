//! Makes a profile with a long history behind it, for the bench: `long_log <new folder> <entries>`.

use std::path::Path;
use std::process::ExitCode;

use looop_core::ledger::entry::{Cause, Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::model::digest::Digest;
use looop_core::model::moves::Move;
use looop_core::model::outcome::{Ended, Outcome, Shell};
use looop_core::model::plan::{Act, Author, BeatId, Plan};
use looop_core::time::Stamp;
use looop_store::Reader;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(entries)) = (args.next(), args.next().and_then(|text| text.parse::<u64>().ok()))
    else {
        return ExitCode::from(2);
    };
    match make(Path::new(&folder), entries) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Beats that each ran a shell command, two appends of one entry each, as a loop that works all day leaves them.
fn make(folder: &Path, entries: u64) -> Result<(), Box<dyn std::error::Error>> {
    let writer = Reader::create(folder)?.lock()?;
    writer.layout()?;
    let (mut log, mut ledger, _) = writer.open_log()?;
    for number in 0..entries {
        let at = stamp(number);
        let beat = BeatId(number / 2 + 1);
        let entry = if number % 2 == 0 { intended(beat, at) } else { finished(beat) };
        let line = Line { seq: number + 1, at, idle: 0, entries: vec![entry] };
        log.append(&line, false)?;
        apply_line(&mut ledger, &line);
        if log.is_full() {
            log.rotate(&ledger)?;
        } else if let Some(error) = log.keep_fold(&ledger) {
            return Err(error.into());
        }
    }
    Ok(())
}

fn stamp(number: u64) -> Stamp {
    Stamp { wall: 1_800_000_000_000 + i64::try_from(number).unwrap_or(0) * 1000, up: number * 1000, boot: 1 }
}

fn intended(beat: BeatId, at: Stamp) -> Entry {
    let action = Move::RunShell { cmd: format!("make -C work report-{}", beat.0 % 100), reason: None };
    let act = Act::Hosted { session: format!("move~{}", beat.0) };
    let goal = Some(format!("goal-{}", beat.0 % 20));
    let plan = Plan { goal, ..Plan::new(action, (Author::Builtin, act), at) };
    let why = Some("its check fails".to_owned());
    Entry::Intended { beat, plan: Box::new(plan), cause: Some(Cause::Timer), changes: Vec::new(), why }
}

fn finished(beat: BeatId) -> Entry {
    let shell = Some(Shell { ended: Ended::Exited(0), tail: "built\n".to_owned(), bytes: 6 });
    let journal = Some(format!("- 2026-11-15 10:00 ran make -C work report-{}", beat.0 % 100));
    Entry::Finished {
        beat,
        outcome: Outcome::Done { note: None, shell },
        journal,
        policy: Digest::of(b"policy"),
    }
}
