//! The loop in the foreground.

use looop_core::ledger::entry::Line;

use super::Place;
use crate::failure::{Failure, Result};
use crate::pulse::open::{Manner, Taken, open};

/// Runs the loop until it is ended.
pub(crate) fn forever(place: &Place, on_line: &mut dyn FnMut(&Line)) -> Result<()> {
    let config = place.config()?;
    for warning in &config.warnings {
        crate::cli::warn(&warning.to_string());
    }
    match open(&place.data, config, Manner { heeds_signals: true })? {
        Taken::Mine(driver) => driver.forever(&place.data, &place.env, on_line),
        Taken::Held(pid) => {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            Err(Failure::new(format!("{who} already works on this profile"))
                .hint("looop status shows how it stands"))
        }
    }
}
