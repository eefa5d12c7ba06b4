//! Submitting a text through a host of an older version, which would press Enter whatever the screen shows.

use std::time::{Duration, Instant};

use super::connection::Client;
use super::error::ClientError;
use super::wire::Sent;
use crate::kernel::{Delivery, Look, look, tail_of};
use crate::screen::Shot;

/// How long the echo is waited for.
const ECHO: Duration = Duration::from_secs(8);
/// The screen is asked for so often. Only viewers are told when it changes, each on a
/// connection of its own.
const GAP: Duration = Duration::from_millis(50);

/// Types a text, waits until it is seen, and presses Enter. A text whose id is known is not submitted again.
pub(super) fn send(client: &mut Client, id: Option<&str>, text: &str) -> Result<Sent, ClientError> {
    let tail = tail_of(text);
    let shot = client.screen(false)?;
    let not_typed = |at| Sent { at, delivery: Delivery::NotTyped, again: false };
    if tail.is_empty() || shot.hidden && !shot.paste {
        return Ok(not_typed(shot.at));
    }
    let before = seen(&shot, &tail);
    let typed = client.send(id, text.trim_end_matches('\n'), false)?;
    let until = Instant::now() + ECHO;
    while !typed.again && !seen(&client.screen(false)?, &tail).is_echo(before) {
        if Instant::now() >= until {
            return Ok(not_typed(typed.at));
        }
        std::thread::sleep(GAP);
    }
    // Whether Enter was pressed the first time is not known, and it is not pressed twice.
    if !typed.again {
        client.key(None, &["Enter".to_owned()])?;
    }
    Ok(Sent { delivery: Delivery::Unseen, ..typed })
}

fn seen(shot: &Shot, tail: &str) -> Look {
    look(&shot.lines, (shot.cursor[0], shot.cursor[1]), tail)
}
