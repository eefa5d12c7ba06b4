//! The loop in the foreground.

use std::time::{Duration, Instant};

use looop_core::ledger::entry::Line;

use super::Place;
use crate::failure::{Failure, Result};
use crate::pulse::open::{Manner, Taken, open};

/// How long a verb may hold the lock before it counts as another loop.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the lock is tried meanwhile.
const GAP: Duration = Duration::from_millis(5);

/// Runs the loop until it is ended.
pub(crate) fn forever(place: &Place, on_line: &mut dyn FnMut(&Line)) -> Result<()> {
    let config = place.config()?;
    for warning in &config.warnings {
        crate::cli::warn(&warning.to_string());
    }
    let begun = Instant::now();
    loop {
        let pid = match open(&place.data, config.clone(), Manner { heeds_signals: true })? {
            Taken::Mine(driver) => return driver.forever(&place.data, &place.env, on_line),
            Taken::Held(pid) => pid,
        };
        // A verb holds the lock for a moment; another loop holds it for good.
        if begun.elapsed() > PATIENCE {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            return Err(Failure::new(format!("{who} already works on this profile"))
                .hint("looop status shows how it stands"));
        }
        std::thread::sleep(GAP);
    }
}
