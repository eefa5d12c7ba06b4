//! A value whose key is known: from the file as a node, from the environment as text, read to the type of the key.

use std::{path::PathBuf, time::Duration};

use looop_core::span::{DurationError, decimal, parse_duration};

use super::{
    names::nearest,
    problem::Complaint,
    settings::Usd,
    tree::{Item, Node},
};

/// A value before it is typed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Raw<'a> {
    Node(&'a Node),
    Text(&'a str),
}

/// What a reader gives: the value, or what is wrong with it.
pub(super) type Reading<T> = Result<T, Complaint>;

const LONGEST_TEXT: usize = 64 * 1024;
const LONGEST_LIST: usize = 256;

impl<'a> Raw<'a> {
    /// A length of time of at least `least`.
    pub(super) fn duration(self, least: Duration) -> Reading<Duration> {
        let value = self.any_duration()?;
        if value < least {
            return Err(bad(format!("at least {least:?} is needed, found {}", self.found())));
        }
        Ok(value)
    }

    /// The same, where zero means off.
    pub(super) fn duration_or_off(self, least: Duration) -> Reading<Option<Duration>> {
        if self.any_duration()?.is_zero() { Ok(None) } else { self.duration(least).map(Some) }
    }

    fn any_duration(self) -> Reading<Duration> {
        const EXPECTED: &str = "a duration such as 30 or \"10m\"";
        let number = match self {
            Raw::Text(text) => text.to_owned(),
            Raw::Node(Node { item: Item::Text(text), .. }) => text.clone(),
            Raw::Node(node) => number_text(node).ok_or_else(|| self.wrong(EXPECTED))?,
        };
        parse_duration(&number).map_err(|e| self.undecimal(&e, EXPECTED))
    }

    /// A whole number within bounds.
    pub(super) fn count(self, least: u64, most: u64) -> Reading<u64> {
        const EXPECTED: &str = "a whole number";
        let number = match self {
            Raw::Text(text) => text.trim().parse::<i128>().map_err(|_| self.wrong(EXPECTED))?,
            Raw::Node(Node { item: Item::Integer(number), .. }) => *number,
            Raw::Node(_) => return Err(self.wrong(EXPECTED)),
        };
        let within = u64::try_from(number).ok().filter(|n| (least..=most).contains(n));
        within.ok_or_else(|| bad(format!("from {least} to {most} is possible, found {}", self.found())))
    }

    /// The same, where zero means off.
    pub(super) fn count_or_off(self, least: u64, most: u64) -> Reading<Option<u64>> {
        if self.count(0, u64::MAX) == Ok(0) { Ok(None) } else { self.count(least, most).map(Some) }
    }

    /// Dollars, where zero means off.
    pub(super) fn usd_or_off(self) -> Reading<Option<Usd>> {
        const EXPECTED: &str = "an amount in dollars such as 2.5";
        const MOST: u64 = 1_000_000;
        let number = match self {
            Raw::Text(text) => text.trim().to_owned(),
            Raw::Node(node) => number_text(node).ok_or_else(|| self.wrong(EXPECTED))?,
        };
        let micros = decimal(&number, 6).map_err(|e| self.undecimal(&e, EXPECTED))?;
        let micros = u64::try_from(micros).ok().filter(|m| *m <= MOST * 1_000_000);
        let micros = micros.ok_or_else(|| bad(format!("at most {MOST} dollars are possible")))?;
        Ok((micros > 0).then_some(Usd::from_micros(micros)))
    }

    /// A text that is neither empty nor absurd.
    pub(super) fn text(self) -> Reading<&'a str> {
        let text = match self {
            Raw::Text(text) => text,
            Raw::Node(Node { item: Item::Text(text), .. }) => text,
            Raw::Node(_) => return Err(self.wrong("a string")),
        };
        match text {
            blank if blank.trim().is_empty() => Err(bad("must not be empty".to_owned())),
            text if text.contains('\0') => Err(bad("contains a NUL character".to_owned())),
            text if text.len() > LONGEST_TEXT => Err(bad("longer than 64 KiB".to_owned())),
            text => Ok(text),
        }
    }

    /// A path, as it is written.
    pub(super) fn path(self) -> Reading<PathBuf> {
        self.text().map(PathBuf::from)
    }

    /// A list of texts.
    pub(super) fn texts(self) -> Reading<Vec<&'a str>> {
        match self {
            Raw::Node(Node { item: Item::List(list), .. }) if list.len() <= LONGEST_LIST => {
                list.iter().map(|node| Raw::Node(node).text()).collect()
            }
            Raw::Node(Node { item: Item::List(_), .. }) => {
                Err(bad(format!("more than {LONGEST_LIST} items")))
            }
            Raw::Node(_) | Raw::Text(_) => Err(self.wrong("a list of strings")),
        }
    }

    /// Yes or no.
    pub(super) fn flag(self) -> Reading<bool> {
        match self {
            Raw::Node(Node { item: Item::Bool(flag), .. }) => Ok(*flag),
            Raw::Node(_) | Raw::Text(_) => Err(self.wrong("true or false")),
        }
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(self, words: &[(&str, T)]) -> Reading<T> {
        let text = self.text()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let known = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let advice = nearest(text, words.iter().map(|(word, _)| *word))
            .map(|word| format!("; did you mean \"{word}\"?"))
            .unwrap_or_default();
        Err(bad(format!("one of {known} is possible, found {}{advice}", self.found())))
    }

    /// What stands there, in words and short.
    pub(super) fn found(self) -> String {
        const SHOWN: usize = 40;
        let shown = |text: &str| {
            let cut: String = text.chars().take(SHOWN).collect();
            let more = if cut.len() < text.len() { "…" } else { "" };
            format!("{cut:?}{more}")
        };
        match self {
            Raw::Text(text) => shown(text),
            Raw::Node(node) => match &node.item {
                Item::Text(text) => format!("the string {}", shown(text)),
                Item::Integer(number) => format!("the number {number}"),
                Item::Float(number) if number.abs() < 1e15 => format!("the number {number}"),
                Item::Float(number) => format!("the number {number:e}"),
                Item::Bool(flag) => format!("the boolean {flag}"),
                Item::Null | Item::Date | Item::List(_) | Item::Table(_) => node.item.kind().to_owned(),
            },
        }
    }

    /// The complaint that a value has another type.
    pub(super) fn wrong(self, expected: &'static str) -> Complaint {
        Complaint::WrongType { expected, found: self.found() }
    }

    fn undecimal(self, error: &DurationError, expected: &'static str) -> Complaint {
        match error {
            DurationError::Malformed => self.wrong(expected),
            DurationError::Negative => bad(format!("cannot be negative, found {}", self.found())),
            DurationError::TooLong => bad(format!("{} is too large", self.found())),
        }
    }
}

/// A number as plain decimal text; nothing for values that are no number.
fn number_text(node: &Node) -> Option<String> {
    match &node.item {
        Item::Integer(number) => Some(number.to_string()),
        Item::Float(number) => Some(format!("{number}")),
        Item::Null | Item::Bool(_) | Item::Text(_) | Item::Date | Item::List(_) | Item::Table(_) => None,
    }
}

pub(super) fn bad(reason: String) -> Complaint {
    Complaint::BadValue(reason)
}
