//! The last screen of a session that has no terminal any more, or never had one.

use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::Size;
use crate::host::folder::{self, Folder};
use crate::reader::Transcript;
use crate::screen::{Screen, Shot};

/// Where a host leaves the last screen.
const SCREEN: &str = "screen.json";
/// So much of a transcript is shown to an emulator when the host left no screen.
const REPLAYED: u64 = 1 << 20;

/// A screen that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Last {
    /// What it showed.
    pub shot: Shot,
    /// Whether the host left none, so that it was put together from the end of the output. Sizes that changed, and what
    /// was drawn long ago, are missing from such a screen.
    pub reconstructed: bool,
}

/// The part of a spec that a screen depends on.
#[derive(Deserialize)]
struct Shape {
    #[serde(default)]
    terminal: Option<Size>,
}

/// The last screen of the session in this folder; `None` if there is no such folder.
pub fn last_screen(folder: &Path) -> io::Result<Option<Last>> {
    let Some(inside) = Folder::open(folder)? else { return Ok(None) };
    if let Some(bytes) = inside.read(SCREEN)? {
        let shot = serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{SCREEN}: {error}")))?;
        return Ok(Some(Last { shot, reconstructed: false }));
    }
    let Some(mut transcript) = Transcript::open(folder)? else { return Ok(None) };
    let terminal = inside.read(folder::SPEC)?.and_then(|bytes| serde_json::from_slice::<Shape>(&bytes).ok());
    let terminal = terminal.and_then(|shape| shape.terminal).filter(|size| size.is_possible());
    let end = transcript.extent()?.end;
    let (_, bytes) = transcript.span(end.saturating_sub(REPLAYED), end)?;
    let mut shot = replayed(&bytes, terminal);
    shot.at = end;
    Ok(Some(Last { shot, reconstructed: true }))
}

/// What a terminal shows after these bytes. Without a size they did not come through a terminal, so that a line feed
/// has to be a new line.
pub fn replayed(bytes: &[u8], terminal: Option<Size>) -> Shot {
    let mut screen = Screen::new(terminal.unwrap_or_default());
    if terminal.is_some() {
        screen.show(bytes);
    } else {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            screen.show(line);
            if line.ends_with(b"\n") {
                screen.show(b"\r");
            }
        }
    }
    screen.shot(true)
}

/// The rows of a screen with their colours and nothing else that would move a cursor, one row a line.
pub fn coloured(shot: &Shot) -> String {
    use std::num::NonZeroU16;
    let side = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
    let mut parser = vt100::Parser::new(side(shot.rows), side(shot.cols), 0);
    parser.process(shot.ansi.as_deref().unwrap_or_default().as_bytes());
    parser.screen().contents_formatted_basic() + "\x1b[m"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SMALL: Size = Size { cols: 12, rows: 3 };

    #[test]
    fn a_screen_that_was_left_is_taken_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let shot = replayed(b"one\r\ntwo", Some(SMALL));
        fs::write(dir.path().join(SCREEN), serde_json::to_vec(&shot).unwrap()).unwrap();
        fs::write(dir.path().join("output.log"), "something else").unwrap();
        assert_eq!(last_screen(dir.path()).unwrap(), Some(Last { shot, reconstructed: false }));
    }

    #[test]
    fn a_broken_one_is_named_and_an_absent_one_is_put_together() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(last_screen(&dir.path().join("nobody")).unwrap(), None);
        fs::write(dir.path().join(SCREEN), "{").unwrap();
        assert!(last_screen(dir.path()).unwrap_err().to_string().contains(SCREEN));
        fs::remove_file(dir.path().join(SCREEN)).unwrap();
        fs::write(dir.path().join("spec.json"), r#"{"terminal":{"cols":12,"rows":3}}"#).unwrap();
        fs::write(dir.path().join("output.log"), "1\r\n2\r\n3\r\nfour").unwrap();
        let last = last_screen(dir.path()).unwrap().unwrap();
        assert!(last.reconstructed);
        assert_eq!((last.shot.lines, last.shot.at), (vec!["2".into(), "3".into(), "four".into()], 13));
    }

    #[test]
    fn output_without_a_terminal_does_not_climb_down_a_stair() {
        assert_eq!(replayed(b"one\ntwo\n", None).lines[..2], ["one", "two"]);
    }

    #[test]
    fn colours_stay_and_moves_go() {
        let shot = replayed(b"\x1b[2;3H\x1b[31mred\x1b[m\x1b[1;1H.", Some(SMALL));
        let text = coloured(&shot);
        let rows: Vec<&str> = text.split('\n').collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[1].contains("\x1b[31mred"), "{text:?}");
        assert!(!text.contains('H') && !text.contains("\x1b[?"), "{text:?}");
    }
}
