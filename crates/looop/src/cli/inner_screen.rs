//! What a session prints, made fit for the alternate screen of a viewer's terminal.
//!
//! The viewer has the alternate screen for itself, so that the person's own screen comes back when it leaves. What would
//! leave that screen, or reach what lies behind it, is taken out: the session's own changes of the screen, a full reset,
//! and the erasure of lines that scrolled away.

const ESC: u8 = 0x1b;
/// A sequence that is longer is none of those that matter.
const LONGEST: usize = 64;
/// The modes that switch between the two screens.
const SCREENS: [&str; 3] = ["47", "1047", "1049"];
/// A full reset, as far as it may go: modes, colours, margins, and an empty screen.
const SOFT_RESET: &[u8] = b"\x1b[!p\x1b[m\x1b[r\x1b[H\x1b[2J";
/// The alternate screen is empty when a program enters it.
const EMPTY: &[u8] = b"\x1b[2J";

/// The output on its way. A sequence that is cut in two waits for its end.
#[derive(Debug, Default)]
pub(super) struct InnerScreen {
    held: Vec<u8>,
}

/// What to show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) bytes: Vec<u8>,
    /// The program left its alternate screen: only the host knows what was behind it.
    pub(super) left: bool,
}

impl InnerScreen {
    /// Takes the next output.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Shown {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut shown = Shown::default();
        let mut rest = all.as_slice();
        while let Some(at) = rest.iter().position(|byte| *byte == ESC) {
            let (before, sequence) = rest.split_at(at);
            shown.bytes.extend_from_slice(before);
            let Some(length) = length(sequence) else {
                self.held = sequence.to_vec();
                return shown;
            };
            let (sequence, later) = sequence.split_at(length);
            take(sequence, &mut shown);
            rest = later;
        }
        shown.bytes.extend_from_slice(rest);
        shown
    }
}

/// How long the sequence is that begins here; `None` if its end has not come yet.
fn length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [_] => None,
        [_, b'[', parameters @ ..] => {
            let end = parameters.iter().position(|byte| !(0x20..=0x3f).contains(byte));
            match end {
                Some(end) => Some(end + 3),
                None if bytes.len() > LONGEST => Some(bytes.len()),
                None => None,
            }
        }
        // The rest of others is text as far as we are concerned. An escape alone begins anew with the next byte.
        [_, ESC, ..] => Some(1),
        _ => Some(2),
    }
}

/// Shows a sequence, or what takes its place.
fn take(sequence: &[u8], shown: &mut Shown) {
    let text = std::str::from_utf8(sequence).unwrap_or_default();
    if text == "\x1bc" {
        return shown.bytes.extend_from_slice(SOFT_RESET);
    }
    if text == "\x1b[3J" {
        return;
    }
    let modes = text.strip_prefix("\x1b[?").and_then(|rest| rest.strip_suffix(['h', 'l']));
    let Some(modes) = modes.filter(|modes| modes.split(';').any(|mode| SCREENS.contains(&mode))) else {
        return shown.bytes.extend_from_slice(sequence);
    };
    let others: Vec<&str> = modes.split(';').filter(|mode| !SCREENS.contains(mode)).collect();
    let enters = text.ends_with('h');
    if !others.is_empty() {
        let last = if enters { 'h' } else { 'l' };
        shown.bytes.extend_from_slice(format!("\x1b[?{}{last}", others.join(";")).as_bytes());
    }
    if enters {
        shown.bytes.extend_from_slice(EMPTY);
    } else {
        shown.left = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str) -> (String, bool) {
        let shown = InnerScreen::default().pass(text.as_bytes());
        (String::from_utf8_lossy(&shown.bytes).into_owned(), shown.left)
    }

    #[test]
    fn only_what_reaches_behind_the_screen_is_taken_out() {
        for (printed, expected, left) in [
            ("plain \x1b[1mbold\x1b[0m\r\n", "plain \x1b[1mbold\x1b[0m\r\n", false),
            ("a\x1b[?1049hb", "a\x1b[2Jb", false),
            ("a\x1b[?1049lb", "ab", true),
            ("\x1b[?47h\x1b[?1047l", "\x1b[2J", true),
            ("\x1b[?25;1049l", "\x1b[?25l", true),
            ("\x1b[?25h\x1b[?2004l", "\x1b[?25h\x1b[?2004l", false),
            ("\x1b[H\x1b[2J\x1b[3J", "\x1b[H\x1b[2J", false),
            ("\x1b]2;title\x07\x1b\\", "\x1b]2;title\x07\x1b\\", false),
            ("\x1b(B\x1b=é漢", "\x1b(B\x1b=é漢", false),
        ] {
            assert_eq!(passed(printed), (expected.to_owned(), left), "{printed:?}");
        }
        assert!(!passed("\x1bc").0.contains("\x1bc"));
    }

    #[test]
    fn a_sequence_may_be_cut_anywhere() {
        let printed = "one\x1b[?1049htwo\x1b[31mthree\x1b[?1049l\x1b[3Jfour".as_bytes();
        let whole = InnerScreen::default().pass(printed);
        for cut in 0..printed.len() {
            let mut inner = InnerScreen::default();
            let (first, second) = (inner.pass(&printed[..cut]), inner.pass(&printed[cut..]));
            assert_eq!([first.bytes, second.bytes].concat(), whole.bytes, "cut at {cut}");
            assert_eq!(first.left | second.left, whole.left, "cut at {cut}");
        }
    }

    #[test]
    fn what_never_ends_is_not_held_for_ever() {
        let endless = format!("\x1b[{}", "1;".repeat(100));
        assert_eq!(passed(&endless).0, endless);
    }
}
