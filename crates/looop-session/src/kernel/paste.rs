//! A text as bytes for a terminal.

/// Before and after a pasted text, where a program asked to be told.
const OPEN: &str = "\x1b[200~";
const CLOSE: &str = "\x1b[201~";
/// The same with the one-character form of `ESC [`.
const CLOSE_C1: &str = "\u{9b}201~";

/// The bytes that type this text, given whether the screen has bracketed paste on.
///
/// With bracketed paste it is one paste whose lines stay lines, and whatever in it would end the paste early is taken
/// out. Without, it is what the keyboard would send: Enter at the end of each line, which programs that read line by
/// line take as so many lines.
pub fn paste_bytes(text: &str, bracketed: bool) -> Vec<u8> {
    let text = text.replace("\r\n", "\n");
    if bracketed {
        format!("{OPEN}{}{CLOSE}", closed(&text)).into_bytes()
    } else {
        text.replace('\n', "\r").into_bytes()
    }
}

/// Without an end of a paste, also none that is made of what stands left and right of another.
fn closed(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        kept.push(c);
        for close in [CLOSE, CLOSE_C1] {
            if kept.ends_with(close) {
                kept.truncate(kept.len() - close.len());
            }
        }
    }
    kept
}
