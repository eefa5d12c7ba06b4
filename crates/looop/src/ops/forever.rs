//! The loop in the foreground.

use std::time::{Duration, Instant};

use looop_core::engine::io::PulseView;

use super::follow::{self, Until};
use super::holder::{self, Holder};
use super::{Place, history};
use crate::failure::{Failure, Result};
pub(crate) use crate::pulse::open::Manner;
use crate::pulse::open::{Taken, open};
pub(crate) use crate::pulse::show::{Doing, Show};

/// How long a verb may hold the lock.
const PATIENCE: Duration = Duration::from_mins(1);
/// Appends that are shown of a loop that runs already.
const RECENT: usize = 10;
/// How often the lock is tried meanwhile.
const GAP: Duration = Duration::from_millis(5);

/// Runs the loop until it is ended. If a loop runs on this profile already, it is left alone and described.
pub(crate) fn forever(place: &Place, manner: Manner, show: &mut Show<'_>) -> Result<Option<PulseView>> {
    let config = place.config()?;
    for warning in &config.warnings {
        crate::cli::warn(&warning.to_string());
    }
    let begun = Instant::now();
    loop {
        let pid = match open((&place.data, &place.env), config.clone(), manner)? {
            Taken::Mine(driver) => {
                driver.forever(&place.data, show)?;
                return Ok(None);
            }
            Taken::Held(pid) => pid,
        };
        if let Some(view) = holder::pulse(place)? {
            return Ok(Some(view));
        }
        // A verb holds the lock for a moment.
        if begun.elapsed() > PATIENCE {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            return Err(Failure::new(format!("{who} works on this profile and does not let go of it"))
                .hint("looop status shows how it stands"));
        }
        std::thread::sleep(GAP);
    }
}

/// Shows the last appends of a loop that runs already, and all that come until it ends.
pub(crate) fn follow(place: &Place, show: &mut Show<'_>) -> Result<()> {
    let Some(holder) = Holder::of_pulse(place)? else { return Ok(()) };
    let recent = history::recent(place, RECENT)?;
    for line in &recent {
        (show.line)(line);
    }
    let since = recent.last().map_or(0, |line| line.seq);
    follow::follow(place, since, &Until { holder: Some(&holder), listener: None }, show.line)
}
