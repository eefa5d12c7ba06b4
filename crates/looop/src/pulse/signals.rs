//! Signals become messages.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::mpsc::Sender;

use super::inbox::{Message, post};
use crate::failure::{Failure, Result};

/// Listens for the signals that end the loop.
pub(super) fn listen(sender: Sender<Message>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                post(&sender, Message::Signal(signal));
            }
        })
        .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
    Ok(())
}

/// The signal's name.
pub(super) fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
