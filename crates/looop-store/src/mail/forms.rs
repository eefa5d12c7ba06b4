//! The stored forms of letters, ours and those of looop 0.16 to 1.1.

use looop_core::model::letter::{Answer, Ask};
use serde::Deserialize;

/// Version of the stored form.
pub(super) const VERSION: u32 = 1;

/// An ask of an older version: seconds since the epoch, the worker by name.
#[derive(Deserialize)]
struct OlderAsk {
    worker: String,
    prompt: String,
    reference: Option<String>,
    #[serde(default)]
    options: Option<Vec<String>>,
    #[serde(default)]
    ts: i64,
}

#[derive(Deserialize)]
struct OlderAnswer {
    answer: String,
    #[serde(default)]
    ts: i64,
}

/// A letter and whether an older version wrote it.
#[derive(Debug, PartialEq)]
pub(super) struct Found<T> {
    pub(super) letter: T,
    pub(super) older: bool,
}

/// Reads an ask whose file has this stem.
pub(super) fn ask(stem: &str, bytes: &[u8]) -> Result<Found<Ask>, String> {
    let value = parse(bytes, "an ask")?;
    if value.get("worker").is_none() {
        let ask: Ask = serde_json::from_value(value).map_err(|error| format!("is not an ask: {error}"))?;
        check(ask.v, stem, &ask.id)?;
        return Ok(Found { letter: ask, older: false });
    }
    let older: OlderAsk = serde_json::from_value(value).map_err(|error| format!("is not an ask: {error}"))?;
    let from = older.worker.strip_prefix("looop-").unwrap_or(&older.worker).to_owned();
    let letter = Ask {
        v: VERSION,
        id: stem.to_owned(),
        from,
        prompt: older.prompt,
        options: older.options.unwrap_or_default(),
        reference: older.reference,
        goal: None,
        asked: older.ts.saturating_mul(1000),
    };
    Ok(Found { letter, older: true })
}

/// Reads an answer whose file has this stem.
pub(super) fn answer(stem: &str, bytes: &[u8]) -> Result<Found<Answer>, String> {
    let value = parse(bytes, "an answer")?;
    let no_answer = |error: serde_json::Error| format!("is not an answer: {error}");
    if value.get("answer").is_none() {
        let answer: Answer = serde_json::from_value(value).map_err(no_answer)?;
        check(answer.v, stem, &answer.ask)?;
        return Ok(Found { letter: answer, older: false });
    }
    let older: OlderAnswer = serde_json::from_value(value).map_err(no_answer)?;
    let answered = older.ts.saturating_mul(1000);
    let letter = Answer { v: VERSION, ask: stem.to_owned(), text: older.answer, answered };
    Ok(Found { letter, older: true })
}

fn parse(bytes: &[u8], what: &str) -> Result<serde_json::Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("is not {what}: {error}"))
}

fn check(v: u32, stem: &str, id: &str) -> Result<(), String> {
    if v > VERSION {
        return Err(format!("has version {v}, and this looop knows version {VERSION}"));
    }
    if id != stem {
        return Err("calls itself by another name than its file's".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_letters_are_converted() {
        let text = br#"{"id":"t-1","worker":"looop-t","prompt":"Merge?","options":["yes"],"ts":5,"v":1,"detach":true}"#;
        let found = ask("t-1", text).unwrap();
        assert!(found.older);
        assert_eq!((found.letter.from.as_str(), found.letter.asked), ("t", 5000));
        let found = answer("t-1", br#"{"answer":"yes","ts":6}"#).unwrap();
        assert_eq!(
            (found.letter.text.as_str(), found.letter.ask.as_str(), found.older),
            ("yes", "t-1", true)
        );
    }

    #[test]
    fn what_is_no_letter_is_named() {
        for text in ["", "null", "{}", "[1]", r#"{"worker":3}"#, r#"{"answer":1}"#, r#"{"v":1}"#, "\u{0}"] {
            assert!(ask("a", text.as_bytes()).is_err(), "{text}");
            assert!(answer("a", text.as_bytes()).is_err(), "{text}");
        }
        let newer = br#"{"v":2,"ask":"a","text":"x","answered":1}"#;
        assert!(answer("a", newer).unwrap_err().contains("version 2"));
        let other = br#"{"v":1,"ask":"b","text":"x","answered":1}"#;
        assert!(answer("a", other).unwrap_err().contains("another name"));
    }
}
