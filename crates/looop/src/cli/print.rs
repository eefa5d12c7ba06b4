//! Printing: results on stdout, all else on stderr, colour only on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use comfy_table::{ContentArrangement, Table, presets};
use looop_core::ledger::entry::Line;
use looop_core::time::Now;
use looop_core::view::lines::{HumanLine, Tone, lines};
use serde::Serialize;

use crate::failure::{Failure, Result};

/// Prints a result. A reader that went away ends the verb quietly.
pub(super) fn out(text: &str) {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
    if let Err(error) = written {
        leave(&error);
    }
}

/// Prints bytes as they are.
pub(super) fn out_bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        leave(&error);
    }
}

fn leave(error: &io::Error) -> ! {
    // 128 + SIGPIPE, as for a program that the signal ends.
    std::process::exit(if error.kind() == io::ErrorKind::BrokenPipe { 141 } else { 1 });
}

/// Says something beside the result.
pub(super) fn say(text: &str) {
    // Nobody is left to tell if stderr is gone.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Prints a value for scripts.
pub(super) fn json(value: &impl Serialize) -> Result<()> {
    let text =
        serde_json::to_string(value).map_err(|error| Failure::new(format!("cannot print JSON: {error}")))?;
    out(&text);
    Ok(())
}

/// A text without what a terminal would act upon, or what turns the direction of a line: it may be anybody's.
pub(super) fn tame(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' || turns(c) { '\u{fffd}' } else { c };
    text.chars().map(plain).collect()
}

/// Whether stdout gets colour.
pub(super) fn colour() -> bool {
    static COLOUR: OnceLock<bool> = OnceLock::new();
    *COLOUR.get_or_init(|| {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        io::stdout().is_terminal() && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    })
}

/// A text in the colour of its tone.
pub(super) fn toned(text: &str, tone: Tone) -> String {
    if !colour() {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Dim => "2",
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::Ask => "33",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Prints the human lines of an append.
pub(super) fn human(line: &Line, now: &Now) {
    for line in lines(line, now) {
        human_line(&line);
    }
}

/// Prints one human line.
pub(super) fn human_line(line: &HumanLine) {
    out(&toned_line(line));
}

/// One human line in its colours.
pub(super) fn toned_line(line: &HumanLine) -> String {
    let clock = toned(&format!("[{}]", line.clock), Tone::Dim);
    format!("{clock} {}", toned(&format!("{} {}", line.glyph, line.text), line.tone))
}

/// Prints a line if somebody reads it; says whether that went.
pub(super) fn offer(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(format!("{text}\n").as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

/// A table without lines, as wide as the terminal allows.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width());
    table.set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row.clone());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// How many columns there are.
pub(super) fn width() -> u16 {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    size.ok().map(|size| size.ws_col).filter(|columns| *columns >= 40).unwrap_or(120)
}
