//! The person's side of asks.

use looop_core::world::observation::Letters;
use looop_store::mail::PostError;
use serde::Serialize;

use super::Place;
use crate::clock;
use crate::failure::{Failure, Result};

/// An ask that waits.
#[derive(Debug, Serialize)]
pub(crate) struct Pending {
    pub(crate) id: String,
    pub(crate) from: String,
    pub(crate) prompt: String,
    pub(crate) options: Vec<String>,
    #[serde(rename = "ref")]
    pub(crate) reference: Option<String>,
    pub(crate) goal: Option<String>,
    pub(crate) age_s: u64,
}

/// Asks that nobody has answered, oldest first.
pub(crate) fn pending(place: &Place) -> Result<Vec<Pending>> {
    let Letters { asks, answers, broken } = place.reader()?.letters();
    for (_, error) in broken {
        crate::cli::warn(&error);
    }
    let wall = clock::now().wall;
    let mut waiting: Vec<_> = asks.into_values().filter(|ask| !answers.contains_key(&ask.id)).collect();
    waiting.sort_by_key(|ask| ask.asked);
    let view = |ask: looop_core::model::letter::Ask| Pending {
        id: ask.id,
        from: ask.from,
        prompt: ask.prompt,
        options: ask.options,
        reference: ask.reference,
        goal: ask.goal,
        age_s: u64::try_from(wall.saturating_sub(ask.asked) / 1000).unwrap_or(0),
    };
    Ok(waiting.into_iter().map(view).collect())
}

/// Posts an answer. The first one wins.
pub(crate) fn answer(place: &Place, ask: &str, text: &str) -> Result<()> {
    let posted = place.reader()?.post_answer(ask, text.trim_end(), clock::now().wall);
    posted.map(drop).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            PostError::NoSuchAsk { .. } => failure.hint("looop asks lists what waits"),
            PostError::AlreadyAnswered { .. } => failure.hint("the first answer counts"),
            PostError::BrokenAsk { .. } | PostError::Busy(_) | PostError::Write(_) => failure,
        }
    })
}
