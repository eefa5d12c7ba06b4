//! The time that a text names for the end of a limit.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::time::Now;

/// The longest wait that is believed.
const FARTHEST: i64 = 40 * 24 * 3600 * 1000;
/// A time of day that passed this short a while ago is the one that was meant, and not that of tomorrow.
const JUST: i64 = 10 * 60 * 1000;
/// What stands before a time or a length.
const CUES: &[&str] =
    &["retry-after", "retry_after", "retry after", "retrydelay", "retry in", "again in", "again at", "reset"];
const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";

/// When the limit ends, in milliseconds since the Unix epoch. A time that is long past, or too far away, is none.
pub(crate) fn after(text: &str, now: &Now) -> Option<i64> {
    let text = text.to_lowercase();
    let near = |at: &i64| (-JUST..=FARTHEST).contains(&at.saturating_sub(now.wall));
    epoch(&text, now).or_else(|| iso(&text, now)).or_else(|| cued(&text, now)).filter(near)
}

/// A number that is a time in seconds or milliseconds near to now.
fn epoch(text: &str, now: &Now) -> Option<i64> {
    let numbers = text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| match word.len() {
        10 => word.parse::<i64>().ok()?.checked_mul(1000),
        13 => word.parse().ok(),
        _ => None,
    });
    numbers.into_iter().find(|at| (-JUST..=FARTHEST).contains(&at.saturating_sub(now.wall)))
}

/// A time as ISO 8601 writes it. Without an offset it is one of the person's zone.
fn iso(text: &str, now: &Now) -> Option<i64> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'()[]{},;|".contains(c));
    words.filter(|word| word.len() >= 16 && word.contains('t')).find_map(|word| {
        let word = word.trim_end_matches('.').to_uppercase();
        let stamp = word.parse::<Timestamp>().ok();
        let local = || word.parse::<DateTime>().ok()?.to_zoned(now.zone.clone()).ok();
        stamp.or_else(|| local().map(|local| local.timestamp())).map(Timestamp::as_millisecond)
    })
}

/// A length or a time of day behind a word that announces it.
fn cued(text: &str, now: &Now) -> Option<i64> {
    let places = CUES.iter().flat_map(|cue| text.match_indices(cue).map(|(at, cue)| &text[at + cue.len()..]));
    places.into_iter().find_map(|rest| {
        let words = words(rest);
        clock(&words, rest, now).or_else(|| length(&words).and_then(|length| now.wall.checked_add(length)))
    })
}

/// The next few words: numbers and runs of letters. `3:05pm` is `3`, `:`, `05`, `pm`.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(|_| words.len() < 16) {
        let same = |c: char| match first {
            '0'..='9' => c.is_ascii_digit(),
            'a'..='z' => c.is_ascii_lowercase(),
            _ => false,
        };
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, after) = rest.split_at(end);
        if first.is_ascii_alphanumeric() || ":.".contains(first) {
            words.push(word);
        }
        rest = after;
    }
    words
}

/// A length such as `30`, `34.07s`, `1h 2m 3s` or `3 days 2 hours`, in milliseconds, rounded up. A bare number is
/// seconds.
fn length(words: &[&str]) -> Option<i64> {
    let start = words.iter().position(|word| number(word).is_some()).filter(|start| *start <= 3)?;
    let (mut total, mut at) = (0i64, start);
    while let Some(count) = words.get(at).and_then(|word| number(word)) {
        let fraction =
            words.get(at + 1) == Some(&".") && words.get(at + 2).is_some_and(|word| number(word).is_some());
        at += if fraction { 3 } else { 1 };
        let unit = unit(words.get(at).copied());
        let part = count.checked_add(i64::from(fraction))?.checked_mul(unit.unwrap_or(1000))?;
        total = total.checked_add(part)?;
        at += usize::from(unit.is_some());
        at += usize::from(words.get(at) == Some(&"and"));
        if unit.is_none() {
            break;
        }
    }
    Some(total)
}

/// A unit of time in milliseconds.
fn unit(word: Option<&str>) -> Option<i64> {
    match word? {
        "ms" | "millisecond" | "milliseconds" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1000),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600_000),
        "d" | "day" | "days" => Some(86_400_000),
        _ => None,
    }
}

/// A time of day such as `3pm`, `3:30 PM` or `15:04`, with or without a date before it, in the person's zone or, where
/// the text says so, in UTC.
fn clock(words: &[&str], rest: &str, now: &Now) -> Option<i64> {
    let utc = rest.get(..rest.floor_char_boundary(60)).is_some_and(|near| near.contains("utc"));
    let zone = if utc { TimeZone::UTC } else { now.zone.clone() };
    let today = now_in(now, &zone)?;
    let (at, time) = (0..words.len().min(10)).find_map(|at| Some((at, time_at(words, at)?)))?;
    let moment =
        |date: Date| Some(date.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
    if let Some(date) = date_in(&words[..at], today.date()) {
        return moment(date);
    }
    let first = moment(today.date())?;
    if first.saturating_sub(now.wall) >= -JUST { Some(first) } else { moment(today.date().tomorrow().ok()?) }
}

fn now_in(now: &Now, zone: &TimeZone) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(now.wall).ok()?.to_zoned(zone.clone()))
}

/// A time of day that begins with this word.
fn time_at(words: &[&str], at: usize) -> Option<Time> {
    let hour = number(words.get(at)?).filter(|_| words[at].len() <= 2)?;
    let colon = words.get(at + 1) == Some(&":");
    let minute = if colon { number(words.get(at + 2)?)? } else { 0 };
    let hour = match (words.get(at + if colon { 3 } else { 1 }).copied(), hour) {
        (Some("pm"), 1..=11) => hour + 12,
        (Some("am"), 12) => 0,
        (Some("am" | "pm"), 1..=12) => hour,
        (_, 0..=23) if colon => hour,
        _ => return None,
    };
    Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()
}

/// A date such as `nov 20`, `nov 20th, 2026` or `2026-11-20`. Without a year it is the next one.
fn date_in(words: &[&str], today: Date) -> Option<Date> {
    let month = |word: &str| MONTHS.find(word.get(..3)?).filter(|at| at % 3 == 0).map(|at| at / 3 + 1);
    let (at, month) = words.iter().enumerate().find_map(|(at, word)| Some((at, month(word)?)))?;
    let day = number(words.get(at + 1)?)?;
    let year = words[at + 2..].iter().filter(|word| word.len() == 4).find_map(|word| number(word));
    let date = |year: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    match year {
        Some(year) => date(i16::try_from(year).ok()?),
        None => date(today.year()).filter(|date| *date >= today - 1.day()).or_else(|| date(today.year() + 1)),
    }
}

fn number(word: &str) -> Option<i64> {
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}
