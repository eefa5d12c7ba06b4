//! `looop doctor`.

use std::process::ExitCode;

use clap::Args;
use looop_core::view::lines::Tone;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, doctor};

/// Look for what is wrong, one line each with the fix
#[derive(Args, Debug)]
pub(super) struct Doctor {
    #[command(flatten)]
    json: Json,
    /// Send a test message over every channel of notices
    #[arg(long)]
    notify: bool,
}

impl Doctor {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let findings = doctor::examine(place, self.notify);
        let healthy = findings.iter().all(|finding| finding.fix.is_none());
        if self.json.json {
            print::json(&findings)?;
        } else {
            for finding in &findings {
                let (sign, tone) = match (&finding.fix, finding.tried) {
                    (Some(_), _) => ('✗', Tone::Bad),
                    (None, true) => ('✓', Tone::Good),
                    (None, false) => ('·', Tone::Plain),
                };
                print::out_toned(&format!("{sign} {}: {}", finding.what, finding.state), tone);
                if let Some(fix) = &finding.fix {
                    print::out(&format!("  fix: {fix}"));
                }
            }
        }
        Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
