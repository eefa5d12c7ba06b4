//! The loop in the foreground: `looop` without a verb.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Args;
use looop_core::ledger::entry::Line;
use looop_core::shown::Shown;
use looop_core::time::span_text;
use looop_core::view::events::events;
use looop_core::view::lines::lines;

use super::print;
use crate::clock;
use crate::config::LogFormat;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::forever::{self, Doing, Manner, Show};

/// What moves while somebody decides.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// How the loop runs when no verb is given.
#[derive(Args, Debug)]
pub(super) struct Foreground {
    /// Print events as JSON lines (for the foreground loop)
    #[arg(long)]
    json: bool,
    /// Leave workers running when the foreground loop ends
    #[arg(long)]
    keep_workers: bool,
}

impl Foreground {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let as_json = self.json || place.config()?.config.log_format == LogFormat::Json;
        let terminal = std::io::stderr().is_terminal() && std::io::stdin().is_terminal();
        if !as_json {
            print::say(&format!("looop on {}", place.data.display()));
        }
        let manner = Manner {
            heeds_signals: true,
            loops: true,
            detached: false,
            by_person: terminal,
            terminal,
            keep_workers: self.keep_workers,
        };
        let (mut stream, mut spinner) = (Stream { as_json, gone: false }, Spinner::default());
        let mut line = |line: &Line| stream.line(line);
        let mut spin = |doing: Option<&Doing>| spinner.draw(doing);
        let wanted = !as_json && std::io::stderr().is_terminal();
        let mut show =
            Show { line: &mut line, spinner: wanted.then_some(&mut spin as &mut dyn FnMut(Option<&Doing>)) };
        if let Some(pulse) = forever::forever(place, manner, &mut show)? {
            print::say(&format!("the pulse (process {}) runs already; Ctrl-C leaves it alone", pulse.pid));
            forever::follow(place, &mut show)?;
            print::say("the pulse has ended");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the loop prints. A reader that went away does not end the loop.
pub(super) struct Stream {
    as_json: bool,
    gone: bool,
}

impl Stream {
    pub(super) fn line(&mut self, line: &Line) {
        if self.gone {
            return;
        }
        let shown: Vec<Shown> = if self.as_json {
            events(line).iter().map(|event| Shown::json(&event.to_string())).collect()
        } else {
            lines(line, &clock::now()).iter().map(print::toned_line).collect()
        };
        self.gone = shown.iter().any(|text| !print::offer(text));
    }
}

/// A spinner on the terminal's last line.
#[derive(Debug, Default)]
struct Spinner {
    frame: usize,
    drawn: bool,
}

impl Spinner {
    fn draw(&mut self, doing: Option<&Doing>) {
        let mut terminal = std::io::stderr().lock();
        // A terminal that is gone shows nothing.
        drop(match doing {
            Some(doing) => {
                self.frame = (self.frame + 1) % FRAMES.len();
                self.drawn = true;
                let text = format!(
                    "{} {} decides · {} · ${:.2} today",
                    FRAMES[self.frame],
                    doing.decider,
                    span_text(doing.elapsed),
                    doing.today_usd
                );
                // What is longer than the line could not be taken away again.
                let text: String = Shown::line(&text).as_str().chars().take(columns()).collect();
                write!(terminal, "\r\u{1b}[K{text}").and_then(|()| terminal.flush())
            }
            None if self.drawn => {
                self.drawn = false;
                write!(terminal, "\r\u{1b}[K").and_then(|()| terminal.flush())
            }
            None => Ok(()),
        });
    }
}

/// How many characters fit on the terminal's line without reaching its end.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok().filter(|size| size.ws_col > 1).map_or(usize::MAX, |size| usize::from(size.ws_col) - 1)
}
