//! What a screen tells, by the tables and by the look of a menu.

use super::table::{KNOWN, Screens, Sign};
use crate::shown::Shown;

/// Lines of a screen that are shown to the person, from its end.
pub(super) const LINES: usize = 16;
/// Characters of each.
pub(super) const COLUMNS: usize = 120;
/// What stands before the chosen option of a menu.
const CURSORS: [char; 7] = ['❯', '›', '>', '→', '●', '▸', '▶'];
/// What programs say below a menu.
const HINTS: [&str; 7] = [
    "enter to",
    "press enter",
    "enter continue",
    "enter select",
    "enter confirm",
    "esc to cancel",
    "use enter",
];

/// Why an agent does not go on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// What it does, as the rest of a sentence about it.
    pub what: String,
    /// What stands on its screen, safe to print and bounded.
    pub screen: String,
}

/// Why a program does not go on by itself, as far as its screen tells. Some agents draw on and on while they stand at a
/// dialog; a menu that is in no table counts only of a program that is `silent`.
pub fn halt(program: Option<&str>, lines: &[String], silent: bool) -> Option<Halt> {
    let plain: Vec<String> =
        lines.iter().map(|line| unframed(line)).filter(|line| !line.is_empty()).collect();
    let text = plain.join(" ");
    let known = KNOWN.into_iter().find(|screens| Some(screens.name) == program);
    let has = |part: &&str| text.contains(*part);
    let types = known.is_some_and(|screens| screens.composer.iter().any(has));
    let shows = |sign: &&Sign| sign.texts.iter().all(has);
    let dialogs = known.filter(|_| !types).and_then(|screens| screens.dialogs.iter().find(shows));
    let sign = dialogs.or_else(|| known.and_then(|screens| screens.always.iter().find(shows)));
    let what = sign.map(|sign| sign.what.to_owned());
    let what = what.or_else(|| limit(known, &plain));
    let what = what.or_else(|| (silent && !types && is_menu(&plain)).then(|| "shows a menu".to_owned()))?;
    Some(Halt { what, screen: end_of(&plain) })
}

/// Whether an agent that we know stands at a dialog: then each key that is typed may choose something.
pub fn is_dialog(program: Option<&str>, lines: &[String]) -> bool {
    let text = lines.iter().map(|line| unframed(line)).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let text = text.join(" ");
    let has = |part: &&str| text.contains(*part);
    let known = KNOWN.into_iter().find(|screens| Some(screens.name) == program);
    known.is_some_and(|screens| {
        let types = screens.composer.iter().any(has);
        !types && screens.dialogs.iter().any(|sign| sign.texts.iter().all(has))
    })
}

/// What the provider says, where it takes no calls. Only what came last counts: what is further up may be over.
fn limit(known: Option<&Screens>, plain: &[String]) -> Option<String> {
    let signs = known?.limits;
    let tail = &plain[plain.len().saturating_sub(LINES)..];
    let at = tail.iter().rposition(|line| signs.iter().any(|sign| line.contains(sign)))?;
    let said = tail[at..].iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
    Some(format!("waits for its provider, which says: {said}"))
}

/// Whether the end of a screen looks like a menu: numbered options with a cursor before one, or options with a cursor and
/// a line below that says which key to press.
fn is_menu(plain: &[String]) -> bool {
    let tail = &plain[plain.len().saturating_sub(LINES)..];
    let Some(at) = tail.iter().rposition(|line| option(line).is_some()) else { return false };
    let numbered = |line: &String| number(option(line).unwrap_or(line)).is_some();
    let is_hint = |line: &String| HINTS.iter().any(|hint| line.to_lowercase().contains(hint));
    if !numbered(&tail[at]) {
        return tail[at + 1..].iter().take(8).skip(1).any(is_hint);
    }
    let last = tail.iter().rposition(numbered).unwrap_or(at);
    let after = &tail[last + 1..];
    let several = tail.iter().filter(|line| numbered(line)).count() > 1;
    // What is printed after a menu means that it is over.
    several && (after.is_empty() || after.iter().any(is_hint))
}

/// The option behind a cursor.
fn option(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(CURSORS)?;
    rest.strip_prefix(' ').map(str::trim).filter(|rest| !rest.is_empty())
}

/// The number of an option.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[digits..].starts_with(". ").then(|| text[..digits].parse().ok())?
}

/// A line without the frame around it.
fn unframed(line: &str) -> String {
    let is_frame = |c: char| c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c);
    line.trim_matches(is_frame).to_owned()
}

/// The end of a screen, safe to print.
fn end_of(plain: &[String]) -> String {
    let tail = plain[plain.len().saturating_sub(LINES)..].iter();
    let lines: Vec<String> = tail.map(|line| Shown::head(line, COLUMNS).0.as_str().to_owned()).collect();
    lines.join("\n")
}
