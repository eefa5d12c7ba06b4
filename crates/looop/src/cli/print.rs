//! Printing: results on stdout, all else on stderr, colour only on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use comfy_table::{ContentArrangement, Table, presets};
use looop_core::ledger::entry::Line;
use looop_core::shown::Shown;
use looop_core::time::Now;
use looop_core::view::lines::{HumanLine, Tone, lines};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Result};

/// Prints a result. It may quote anybody, so what is hidden in it is escaped. A reader that went away ends the verb
/// quietly.
pub(super) fn out(text: &str) {
    out_shown(&Shown::block(text));
}

/// Prints what is made safe already.
pub(super) fn out_shown(text: &Shown) {
    if let Err(error) = write_line(text) {
        leave(&error);
    }
}

/// Prints the bytes of a file: as they are where a program reads them, with what is hidden escaped on a terminal.
pub(super) fn out_file(bytes: &[u8]) {
    if !io::stdout().is_terminal() {
        return out_bytes(bytes);
    }
    out_bytes(Shown::block(&String::from_utf8_lossy(bytes)).as_str().as_bytes());
}

/// Prints bytes as they are, for verbs that promise just that.
pub(super) fn out_bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        leave(&error);
    }
}

fn write_line(text: &Shown) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_str().as_bytes())?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

fn leave(error: &io::Error) -> ! {
    // 128 + SIGPIPE, as for a program that the signal ends.
    std::process::exit(if error.kind() == io::ErrorKind::BrokenPipe { 141 } else { 1 });
}

/// Says something beside the result, with what is hidden escaped.
pub(super) fn say(text: &str) {
    // Nobody is left to tell if stderr is gone.
    drop(writeln!(io::stderr().lock(), "{}", Shown::block(text)));
}

/// Prints a value for scripts.
pub(super) fn json(value: &impl Serialize) -> Result<()> {
    let text =
        serde_json::to_string(value).map_err(|error| Failure::new(format!("cannot print JSON: {error}")))?;
    out_shown(&Shown::json(&text));
    Ok(())
}

/// Prints an event for scripts.
pub(super) fn event(event: &Value) {
    out_shown(&Shown::json(&event.to_string()));
}

/// Whether stdout gets colour.
pub(super) fn colour() -> bool {
    static COLOUR: OnceLock<bool> = OnceLock::new();
    *COLOUR.get_or_init(|| {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        io::stdout().is_terminal() && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    })
}

/// Prints one line in the colour of its tone.
pub(super) fn out_toned(text: &str, tone: Tone) {
    out_shown(&toned(Shown::line(text), tone));
}

fn toned(text: Shown, tone: Tone) -> Shown {
    let code = match tone {
        Tone::Plain => return text,
        Tone::Dim => 2,
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Ask => 33,
    };
    if colour() { text.coloured(code) } else { text }
}

/// Prints the human lines of an append.
pub(super) fn human(line: &Line, now: &Now) {
    for line in lines(line, now) {
        human_line(&line);
    }
}

/// Prints one human line.
pub(super) fn human_line(line: &HumanLine) {
    out_shown(&toned_line(line));
}

/// One human line in its colours.
pub(super) fn toned_line(line: &HumanLine) -> Shown {
    let (clock, text) = line.shown();
    toned(clock, Tone::Dim).then(&toned(text, line.tone))
}

/// Prints a line if somebody reads it; says whether that went.
pub(super) fn offer(text: &Shown) -> bool {
    write_line(text).is_ok()
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
        table.add_row(row.iter().map(|cell| Shown::line(cell).to_string()));
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
