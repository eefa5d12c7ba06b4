//! What a screen tells, by the tables and by the look of a menu.

use super::table::{KNOWN, Screens, Sign};
use crate::bounds::PROMPT;
use crate::meter::reset_of;
use crate::shown::Shown;
use crate::time::{Now, minute_text};

/// Lines of a screen that are shown to the person, from its end.
pub(super) const LINES: usize = 16;
/// Characters of each.
pub(super) const COLUMNS: usize = 120;
/// Bytes of all of them. With all else that is said it fits what an entry holds of a question, so that nothing is cut.
const SCREEN: usize = PROMPT - 1536;
/// Characters and bytes of what a provider says.
const SAID: (usize, usize) = (300, 1024);
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
    /// The limit that it waits for, where its provider takes no calls.
    pub limit: Option<Reset>,
}

/// A limit of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// When it ends, in milliseconds since the epoch, where the screen says so.
    pub until: Option<i64>,
}

impl Halt {
    /// What a person is told; `until` is when the limit ends, as it was first understood.
    pub fn text(&self, until: Option<i64>, now: &Now) -> String {
        let until = until
            .map_or_else(String::new, |until| format!("is waiting until {}: it ", until_text(until, now)));
        format!("it {until}{}\n{}", self.what, self.screen)
    }
}

/// A time of day, with its date where that is another day.
pub fn until_text(until: i64, now: &Now) -> String {
    let (text, today) = (minute_text(until, &now.zone), now.day());
    text.strip_prefix(&today).map_or_else(|| text.clone(), |time| time.trim_start().to_owned())
}

/// What is typed into a program so that it goes on, once its provider takes calls again. `None`: it is not known how one
/// sees that nothing else would be typed with it.
pub fn go_on(program: &str) -> Option<&'static str> {
    let known = KNOWN.into_iter().find(|screens| screens.name == program)?;
    known.go_on.as_ref().map(|go_on| go_on.text)
}

/// Whether nothing stands in the composer of a program, and it has the keyboard, as far as its screen tells.
pub fn is_composer_empty(program: &str, lines: &[String]) -> bool {
    let known = KNOWN.into_iter().find(|screens| screens.name == program);
    let Some((screens, go_on)) = known.and_then(|screens| Some((screens, screens.go_on.as_ref()?))) else {
        return false;
    };
    let plain: Vec<String> = lines.iter().map(|line| unframed(line)).collect();
    // The composer is the last line that begins as one does: others are quotes of what was typed before.
    let begins = |line: &&String| line.starts_with(CURSORS) || line.starts_with('*');
    let composer = plain.iter().rev().find(begins);
    let types = screens.composer.iter().any(|part| plain.iter().any(|line| line.contains(part)));
    types && composer.is_some_and(|line| go_on.empty.contains(&line.as_str()))
}

/// Why a program does not go on by itself, as far as its screen tells. Some agents draw on and on while they stand at a
/// dialog; a menu that is in no table counts only of a program that is `silent`.
pub fn halt(program: Option<&str>, lines: &[String], silent: bool, now: &Now) -> Option<Halt> {
    let plain: Vec<String> =
        lines.iter().map(|line| unframed(line)).filter(|line| !line.is_empty()).collect();
    let text = plain.join(" ");
    let known = KNOWN.into_iter().find(|screens| Some(screens.name) == program);
    let has = |part: &&str| text.contains(*part);
    let types = known.is_some_and(|screens| screens.composer.iter().any(has));
    let shows = |sign: &&Sign| sign.texts.iter().all(has);
    let dialogs = known.filter(|_| !types).and_then(|screens| screens.dialogs.iter().find(shows));
    let sign = dialogs.or_else(|| known.and_then(|screens| screens.always.iter().find(shows)));
    let screen = || end_of(&plain);
    if let Some(sign) = sign {
        return Some(Halt { what: sign.what.to_owned(), screen: screen(), limit: None });
    }
    if let Some(said) = limit(known, &plain) {
        let limit = Some(Reset { until: reset_of(&said, now) });
        let what = format!("waits for its provider, which says: {said}");
        return Some(Halt { what, screen: screen(), limit });
    }
    let menu = silent && !types && is_menu(&plain);
    menu.then(|| Halt { what: "shows a menu".to_owned(), screen: screen(), limit: None })
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
    let Screens { limits: signs, over, .. } = known?;
    let tail = &plain[plain.len().saturating_sub(LINES)..];
    let at = tail.iter().rposition(|line| signs.iter().any(|sign| line.contains(sign)))?;
    // The last line that begins with a cursor is the composer. Another one below quotes what was typed since.
    let cursors = tail[at + 1..].iter().filter(|line| line.starts_with(CURSORS));
    let typed = cursors.rev().skip(1).any(|line| option(line).is_some());
    if typed || tail[at + 1..].iter().any(|line| over.iter().any(|sign| line.contains(sign))) {
        return None;
    }
    let said = tail[at..].iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut said = Shown::head(&said, SAID.0).0.as_str().to_owned();
    said.truncate(said.floor_char_boundary(SAID.1));
    Some(said)
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

/// The end of a screen, safe to print. What does not fit is left out at its beginning: the options of a dialog come last.
fn end_of(plain: &[String]) -> String {
    let mut room = SCREEN;
    let tail = plain.iter().rev().take(LINES).map(|line| Shown::head(line, COLUMNS).0.as_str().to_owned());
    let mut lines: Vec<String> = tail
        .take_while(|line| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        })
        .collect();
    lines.reverse();
    lines.join("\n")
}
