//! Sensors: what the last run of each came to.

use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_core::time::span_text;
use looop_core::world::reading::Reading;
use looop_store::Reader;

use super::{Finding, fine, untried, wrong};
use crate::clock;

/// What is shown of what a failing sensor said, in characters.
const SHOWN: usize = 240;

/// A sensor by its last reading.
pub(super) fn finding(reader: &Reader, name: &str) -> Finding {
    let snapshot = reader.read_snapshot(&format!("sensor-{name}")).value();
    let read = snapshot.and_then(|(bytes, at)| Some((serde_json::from_slice::<Reading>(&bytes).ok()?, at)));
    let fix = format!("looop sensor run {name} shows what the loop sees");
    let Some((reading, at)) = read else {
        return untried("sensor", format!("{name}: it has no reading yet; {fix}"));
    };
    let age = u64::try_from(clock::now().wall.saturating_sub(at)).unwrap_or(0);
    let age = span_text(Duration::from_millis(age));
    if !reading.failed {
        return fine("sensor", format!("{name}: its last reading is {age} old"));
    }
    let said = |field: &str| reading.detail.get(field).and_then(|text| text.as_str()).unwrap_or_default();
    let words = [said("message"), said("stderr")].map(|text| one_line(text, SHOWN));
    let words: Vec<String> = words.into_iter().filter(|text| !text.is_empty()).collect();
    wrong("sensor", format!("{name}: its last run failed, {age} ago: {}", words.join(": ")), fix)
}
