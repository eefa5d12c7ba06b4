//! `looop send <id> <text…>`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::{body, print, warn};
use crate::failure::{Failure, Result};
use crate::ops::drive::{Delivery, Typed};
use crate::ops::{Place, session};

/// Type a text into a worker's terminal and submit it
///
/// The text is pasted as one piece where the program asked to be told of pastes, and typed as keys where it did not; an
/// editor such as vim puts a paste into the file. Enter is pressed only once the text was seen to stand where it was
/// typed: a menu, a dialog, a pager or a password prompt is not confirmed, the exit code is 4, and the screen is shown.
/// With --keys keys are pressed in any case, Enter included. Fails if the worker did not take it. With --json the offset is printed from which `looop expect --since` sees everything that came of it.
#[derive(Args, Debug)]
pub(super) struct Send {
    /// Do not submit: type only
    #[arg(short = 'n', long)]
    no_submit: bool,
    /// Press a key for each character, also where the program takes pastes
    #[arg(short = 'k', long)]
    keys: bool,
    #[command(flatten)]
    json: Json,
    /// Which worker or session
    id: String,
    /// The text; read from stdin if absent or -; after -- it may begin with a dash
    text: Vec<String>,
}

impl Send {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        let text = body::body(&self.text, "text")?;
        let (text, submit) = (text.strip_suffix('\n').unwrap_or(&text), !self.no_submit);
        let Typed { sent, pasted, full_screen, screen } =
            if self.keys { target.send_keys(text, submit)? } else { target.send(text, submit)? };
        let name = &target.session;
        if self.json.json {
            let mut sent = json!({
                "v": 1, "session": name, "at": sent.at, "delivery": sent.delivery, "again": sent.again,
                "pasted": pasted, "full_screen": full_screen,
            });
            if !screen.is_empty() {
                sent["screen"] = json!(screen);
            }
            print::json(&sent)?;
        }
        if sent.delivery == Delivery::NotTyped {
            for row in &screen {
                print::say(&format!("  {row}"));
            }
            let what = match (full_screen, pasted) {
                // It was pasted before it was looked for, and an editor takes any paste.
                (true, true) => {
                    "not submitted: it shows a full-screen program, and the text was pasted into it but not seen at a \
                     prompt, so Enter was not pressed; an editor has it in its file now"
                }
                (true, false) => {
                    "not typed: it shows a full-screen program without a prompt, so Enter was not pressed"
                }
                (false, _) => "not typed: no composer has the keyboard, so Enter was not pressed",
            };
            return Err(Failure::not_typed(format!("{name}: {what}"))
            .hint(format!(
                "its screen is above; looop attach {name}, or looop send --keys {name} presses keys whatever it shows"
            )));
        }
        match (full_screen, pasted) {
            (true, true) => warn(&format!(
                "{name} shows a full-screen program, and the text was pasted into it; looop send --keys types keys"
            )),
            (true, false) => {
                warn(&format!("{name} shows a full-screen program, and the text was typed as keys"));
            }
            (false, _) => {}
        }
        let not_taken = |what: &str| {
            Err(Failure::new(format!("{name} did not take the text: {what}"))
                .hint(format!("looop shot {name} shows what it does; looop key {name} Enter submits again")))
        };
        match sent.delivery {
            Delivery::Typed | Delivery::Taken => Ok(ExitCode::SUCCESS),
            Delivery::Unseen => not_taken("nothing was printed after it was submitted"),
            Delivery::Left => not_taken("it still stands where it was typed"),
            Delivery::NotTyped => not_taken("it was not typed"),
        }
    }
}
