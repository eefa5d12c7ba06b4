//! Bounds: how many bytes each thing may have that others can make grow. docs/STATE.md has the same table.
//!
//! Texts that go into an entry are cut to their bound, and the cut is said together with the place of the whole text.
//! A move is never cut: one that is larger than its bound is refused.

use serde::Serialize;

/// One KiB.
const KIB: usize = 1 << 10;
/// One MiB.
const MIB: usize = 1 << 20;

/// Most bytes of one line of the log. Everything below is chosen so that no step of the engine comes near it.
pub const LINE: usize = 32 * MIB;
/// Most bytes of the snapshot at the head of a file of the log.
pub const SNAPSHOT: usize = 48 * MIB;
/// A file of the log is left for a new one when this was appended to its snapshot, or as much as the snapshot has.
pub const LOG_FILE: usize = 5 * MIB;
/// Most bytes of a file of the log that are read: a snapshot, as much again, and one line.
pub const LOG_READ: usize = 2 * SNAPSHOT + 2 * LINE;
/// Most bytes of all files of the log together. The newest file is always kept.
pub const LOG_TOTAL: u64 = 512 << 20;

/// Most bytes of a move as JSON, with all that goes with it.
pub const MOVE: usize = MIB;
/// Most bytes of all moves that wait for a person, as JSON.
pub const PARKED: usize = 4 * MIB;
/// Most bytes of all moves that waited and can no longer be approved, as JSON.
pub const LAPSED: usize = 2 * MIB;

/// Most bytes of a question in an entry. The whole is in its letter.
pub const PROMPT: usize = 4 * KIB;
/// Most bytes of an answer in an entry. The whole is in its letter.
pub const ANSWER: usize = 16 * KIB;
/// Most bytes of the command that proves a worker's work done. It is kept for as long as its worker's session is.
pub const VERIFY: usize = 4 * KIB;
/// Most bytes of the output of a command in an entry. The whole is in the folder of its session.
pub const OUTPUT: usize = 16 * KIB;
/// Most bytes of a reason, an error or another sentence in an entry.
pub const SENTENCE: usize = 4 * KIB;
/// Most bytes of a name in an entry that somebody else chose: a model, a runner, a session.
pub const NAME: usize = 256;
/// Most processes outside its session that an entry lists for a worker.
pub const STRAYS: usize = 10;
/// Most bytes of what letters, workers and schedules add to the log in one look. The rest waits for the next look.
pub const NEWS: usize = 4 * MIB;

/// Most asks that wait in the ledger. Letters beyond wait in their folder.
pub const ASKS: usize = 1000;
/// Most asks of one session that wait in the ledger.
pub const ASKS_OF_ONE: usize = 100;
/// Most bytes of one letter.
pub const LETTER: u64 = 1 << 20;
/// Most letters of one folder that are looked at.
pub const LETTERS: usize = 2000;
/// Most bytes of all letters of one folder that are looked at.
pub const LETTERS_TOTAL: u64 = 128 << 20;

/// Most goals that are looked at.
pub const GOALS: usize = 10_000;
/// Most bytes of all goals together that are read.
pub const GOALS_TOTAL: u64 = 64 << 20;
/// Most sensors that are looked at.
pub const SENSORS: usize = 1000;
/// Most schedules that are looked at.
pub const SCHEDULES: usize = 1000;
/// Most files with unusable names that are listed.
pub const ODD: usize = 100;
/// Most ended sessions of workers that are kept; beyond that the oldest go before their time.
pub const ENDED_WORKERS: usize = 1000;
/// Most folders of ended moves and decides in `sessions/` that are kept; beyond that the oldest go before their time.
/// What one of them printed is kept up to 64 KiB.
pub const HOSTED: usize = 2000;
/// Most bytes of the folder of one decide after its end. Beyond that what its command left in its working folders goes.
pub const RUN: u64 = 64 << 20;
/// Most bytes of the folders of all decides; beyond that the oldest go before their time.
pub const RUNS_TOTAL: u64 = 512 << 20;
/// Things that are remembered only so that they are not done twice, of each kind: more than can be there at once.
pub const REMEMBERED: usize = 2 * LETTERS;
/// Workers whose numbers are remembered after nothing else of them is kept.
pub const GENERATIONS: usize = 5000;
/// Goals and files without a file that are remembered.
pub const ABSENT: usize = 1000;

/// Room for what is said of a cut.
const SAID: usize = 160;

/// Bytes that a character has in JSON.
fn width(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

/// Bytes that a text has in JSON, without its quotes.
pub fn text_width(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Bytes that a value has in JSON. What cannot be written has no end.
pub fn json_width(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Cuts a text to `most` bytes of JSON and says how much is missing and where the whole text is.
pub fn cut(text: &mut String, most: usize, whole: &str) {
    // No character has more than six bytes in JSON, and none has fewer than it has in the text.
    if text.len() <= most / 6 || text.len() <= most && text_width(text) <= most {
        return;
    }
    let room = most.saturating_sub(SAID);
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += width(*c);
        used > room
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    let missing = text.len() - end;
    text.truncate(end);
    let place = if whole.is_empty() { String::new() } else { format!("; the whole is in {whole}") };
    *text = format!("{text}… ({missing} more bytes{place})");
}

/// The same for a name: it is too long to be one, and where it is from does not help.
pub fn cut_name(text: &mut String) {
    cut(text, NAME, "");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_cut_says_how_much_is_missing_and_where_it_is() {
        let mut text = "x".repeat(10_000);
        cut(&mut text, 1000, "asks/a-1.json");
        assert!(text.ends_with("x… (9160 more bytes; the whole is in asks/a-1.json)"), "{text}");
        let mut short = "as it was".to_owned();
        cut(&mut short, 9, "");
        assert_eq!(short, "as it was");
    }

    proptest! {
        #[test]
        fn a_cut_text_is_within_its_bound_and_begins_as_it_did(text in any::<String>(), times in 1_usize..400, most in 200_usize..5000) {
            let whole = text.repeat(times);
            let mut cut_text = whole.clone();
            cut(&mut cut_text, most, "asks/some-name-that-is-long.json");
            prop_assert!(text_width(&cut_text) <= most, "{}", text_width(&cut_text));
            prop_assert_eq!(json_width(&cut_text), text_width(&cut_text) + 2);
            match cut_text.rsplit_once('…') {
                Some((head, _)) if cut_text != whole => prop_assert!(whole.starts_with(head)),
                _ => prop_assert_eq!(cut_text, whole),
            }
        }
    }
}
