//! `looop down`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::down::{self, Down as Ended};

/// End the loop, what is in flight and the workers; also what a loop that died has left
#[derive(Args, Debug)]
pub(super) struct Down {
    /// Leave the workers alone
    #[arg(long)]
    keep_workers: bool,
    #[command(flatten)]
    json: Json,
}

impl Down {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let ended = down::down(place, self.keep_workers)?;
        if self.json.json {
            let Ended { pulse, verb, workers, orphans, kept } = ended;
            print::json(
                &json!({"v": 1, "pulse": pulse, "verb": verb, "workers": workers, "orphans": orphans, "kept": kept}),
            )?;
        } else {
            print::out(&said(&ended));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn said(ended: &Ended) -> String {
    let mut rest = Vec::new();
    rest.extend(count(ended.workers.len(), "worker"));
    rest.extend(count(ended.orphans.len(), "command"));
    let rest = rest.join(" and ");
    let holder = match (ended.pulse, ended.verb) {
        (Some(pid), _) => Some(format!("the pulse (process {pid})")),
        (None, Some(pid)) => Some(format!("process {pid}, which worked on this profile,")),
        (None, None) => None,
    };
    let text = match holder {
        Some(holder) if rest.is_empty() => format!("ended {}", holder.trim_end_matches(',')),
        Some(holder) => format!("ended {holder} and {rest}"),
        None if !rest.is_empty() => format!("no pulse was running; ended {rest} that it had left"),
        None if ended.kept.is_empty() => "no pulse was running; nothing of it was left".to_owned(),
        None => "no pulse was running".to_owned(),
    };
    match count(ended.kept.len(), "worker") {
        Some(kept) => format!("{text}; {kept} left alone"),
        None => text,
    }
}

fn count(number: usize, what: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{number} {what}s")),
    }
}
