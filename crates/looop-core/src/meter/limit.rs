//! Limits of a provider: "not now" instead of "no". Waiting until the stated time is better than failing again.

use serde_json::Value;

use super::reset;
use crate::intake::stream::text as field;
use crate::model::moves::one_line;
use crate::time::Now;

/// Longest text of a limit.
const TEXT: usize = 300;

/// A run that ended because a limit was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// When it ends, in milliseconds since the Unix epoch, where that is said.
    pub until: Option<i64>,
    /// What was said, on one line.
    pub text: String,
}

/// Words that only a limit is announced with.
const WORDS: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "session limit",
    "weekly limit",
    "spend limit",
    "too many requests",
    "quota exceeded",
    "exceeded your current quota",
    "exhausted your daily quota",
    "quota will reset",
    "exhausted your capacity",
    "resource_exhausted",
    "resource exhausted",
    "resource has been exhausted",
    "out of usage",
    "insufficient_quota",
];

/// Reads what a failed run or a refused call says: the limit that was reached, and until when.
pub fn read(text: &str, now: &Now) -> Option<Limited> {
    let limited = speaks_of_one(text);
    limited.then(|| Limited { until: reset::after(text, now), text: one_line(text, TEXT) })
}

/// Whether a text says that a limit was reached. What an agent writes of its own accord may say so too: ask it of
/// errors.
pub(super) fn speaks_of_one(text: &str) -> bool {
    let text = text.to_lowercase();
    let hit = ["hit your", "reached your"].iter().any(|hit| text.contains(hit)) && text.contains("limit");
    hit || WORDS.iter().any(|word| text.contains(word)) || has_status(&text)
}

/// Whether the text names the status 429, and not just any number.
fn has_status(text: &str) -> bool {
    let named = ["status", "http", "error", "code", "429:", "429 {"].iter().any(|word| text.contains(word));
    let mut numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
    named && numbers.any(|number| number == "429")
}

/// When a limit ends by an event of claude that says so, in milliseconds since the Unix epoch.
pub(super) fn stated_reset(kind: &str, event: &Value) -> Option<i64> {
    let info = event.get("rate_limit_info")?;
    let rejected = kind != "rate_limit_event" || field(info, "/status") == "rejected";
    let seconds = info["resetsAt"].as_i64().filter(|_| rejected)?;
    seconds.checked_mul(1000)
}
