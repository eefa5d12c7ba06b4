//! Readings: what a sensor printed, or how it failed to.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::digest::Digest;
use crate::model::moves::one_line;

/// Most characters in which a failure is told.
const FAILURE: usize = 200;

/// Whether the text of a reading may be taken at its word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It carries text from outside.
    #[default]
    External,
    /// The owner vouches for it.
    Owner,
}

impl Trust {
    /// The word used in the brief.
    pub fn word(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Owner => "owner",
        }
    }
}

/// One reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The part that may wake the loop.
    pub signal: Value,
    /// The part that may not.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
    /// Whether it is an error reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether its text may be taken at its word.
    #[serde(default)]
    pub trust: Trust,
}

/// How a sensor failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It exited with a code other than 0.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It passed its deadline.
    Timeout,
    /// It printed more than its cap.
    TooLarge,
    /// It printed something that is not one JSON value.
    NotJson,
    /// It printed nothing.
    Empty,
    /// It could not be started.
    Spawn,
}

impl Fault {
    fn kind_and_code(&self) -> (&'static str, i32) {
        match self {
            Self::Exit(code) => ("exit", *code),
            Self::Signal(signal) => ("signal", 128 + signal),
            Self::Timeout => ("timeout", 124),
            Self::TooLarge => ("too-large", 0),
            Self::NotJson => ("not-json", 0),
            Self::Empty => ("empty", 0),
            Self::Spawn => ("spawn", 126),
        }
    }
}

/// What is known beside the fault. It may differ from beat to beat without waking anyone.
#[derive(Clone, Debug, Default)]
pub struct FaultDetail {
    /// What happened, for a person.
    pub message: String,
    /// The start of what it printed as errors.
    pub stderr: String,
    /// The signal of its last good reading, and when that was, in milliseconds since the epoch.
    pub last_good: Option<(Value, i64)>,
    /// The present moment.
    pub wall: i64,
}

impl Reading {
    /// Takes a sensor's JSON value apart: an object with a `signal` key contributes only that to the diff.
    pub fn of_value(value: Value, trust: Trust) -> Self {
        if let Value::Object(mut map) = value {
            if let Some(signal) = map.shift_remove("signal") {
                let detail = match map.shift_remove("detail") {
                    Some(detail) if map.is_empty() => detail,
                    Some(detail) => {
                        map.insert("detail".to_owned(), detail);
                        Value::Object(map)
                    }
                    None if map.is_empty() => Value::Null,
                    None => Value::Object(map),
                };
                return Self { signal, detail, failed: false, trust };
            }
            return Self { signal: Value::Object(map), detail: Value::Null, failed: false, trust };
        }
        Self { signal: value, detail: Value::Null, failed: false, trust }
    }

    /// An error reading: its signal is stable, its detail is not.
    pub fn of_fault(fault: &Fault, detail: &FaultDetail, trust: Trust) -> Self {
        let (kind, code) = fault.kind_and_code();
        let signal = json!({"error": true, "kind": kind, "exit_code": code});
        let mut more = json!({"message": detail.message, "stderr": detail.stderr});
        if let Some((last, at)) = &detail.last_good {
            more["last_good"] = last.clone();
            more["last_good_age_s"] = (detail.wall.saturating_sub(*at).max(0) / 1000).into();
            more["last_good_unix"] = (at / 1000).into();
        }
        Self { signal, detail: more, failed: true, trust }
    }

    /// How its sensor failed, in one line, where this is an error reading.
    pub fn failure(&self) -> Option<String> {
        let part = |key: &str| self.detail.get(key).and_then(Value::as_str).unwrap_or("");
        let (message, stderr) = (part("message"), part("stderr"));
        let said = if stderr.trim().is_empty() { message.to_owned() } else { format!("{message}: {stderr}") };
        self.failed.then(|| one_line(&said, FAILURE))
    }

    /// The last good signal that this reading knows of, and when that was: its own, taken at `taken`, or the one that
    /// an error reading carries on.
    pub fn last_good(&self, taken: i64) -> Option<(Value, i64)> {
        if !self.failed {
            return Some((self.signal.clone(), taken));
        }
        let at = self.detail.get("last_good_unix")?.as_i64()?;
        Some((self.detail.get("last_good")?.clone(), at.saturating_mul(1000)))
    }

    /// Digest of the part that may wake the loop.
    pub fn digest(&self) -> Digest {
        Digest::of_json(&self.signal)
    }
}

/// Parses what a sensor printed: exactly one JSON value in UTF-8; a BOM, CRLF and white space around it are fine.
pub fn parse_output(stdout: &[u8]) -> Result<Value, (Fault, String)> {
    let text = std::str::from_utf8(stdout)
        .map_err(|error| (Fault::NotJson, format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if text.is_empty() {
        return Err((Fault::Empty, "printed nothing".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| (Fault::NotJson, format!("not one JSON value: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_signal_wakes() {
        let one = Reading::of_value(json!({"signal": {"red": 1}, "detail": {"t": 1}}), Trust::External);
        let two =
            Reading::of_value(json!({"signal": {"red": 1}, "detail": {"t": 2}, "more": 3}), Trust::External);
        assert_eq!(one.digest(), two.digest());
        assert_eq!(one.detail, json!({"t": 1}));
        assert_eq!(two.detail, json!({"more": 3, "detail": {"t": 2}}));
        let whole = Reading::of_value(json!({"red": 1, "t": 2}), Trust::External);
        assert_ne!(whole.digest(), Reading::of_value(json!({"red": 1, "t": 3}), Trust::External).digest());
    }

    #[test]
    fn output_has_a_defined_result() {
        let good = [&b"{\"signal\":1}"[..], b"\xef\xbb\xbf{}\r\n", b"  [1]\n", b"\"x\"", b"null", b"1e3"];
        for bytes in good {
            assert!(parse_output(bytes).is_ok(), "{bytes:?}");
        }
        let bad: [(&[u8], Fault); 6] = [
            (b"", Fault::Empty),
            (b" \r\n", Fault::Empty),
            (b"{}{}", Fault::NotJson),
            (b"hello", Fault::NotJson),
            (b"\"\xff\"", Fault::NotJson),
            (b"{\"a\":1,}", Fault::NotJson),
        ];
        for (bytes, fault) in bad {
            assert_eq!(parse_output(bytes).unwrap_err().0, fault, "{bytes:?}");
        }
    }

    #[test]
    fn error_readings_are_stable() {
        let older = FaultDetail { message: "a".into(), wall: 5, ..FaultDetail::default() };
        let newer =
            FaultDetail { message: "b".into(), last_good: Some((json!(1), 3)), ..FaultDetail::default() };
        let one = Reading::of_fault(&Fault::Exit(3), &older, Trust::External);
        assert_eq!(one.digest(), Reading::of_fault(&Fault::Exit(3), &newer, Trust::External).digest());
        assert_eq!(one.signal, json!({"error": true, "kind": "exit", "exit_code": 3}));
        assert_ne!(one.digest(), Reading::of_fault(&Fault::Exit(4), &newer, Trust::External).digest());
    }
}
