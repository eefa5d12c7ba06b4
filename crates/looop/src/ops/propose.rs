//! Proposals: a move that a worker wants made and only a person can allow.

use std::io::Read;
use std::path::Path;

use looop_core::intake;
use looop_core::model::letter::AskKind;
use looop_store::mail::NewAsk;

use super::Place;
use super::worker_letters::{posted, whoever};
use crate::failure::{Failure, Result};

/// Longest file of a move.
const MOST: u64 = 512 << 10;

/// Reads the file of a move.
pub(crate) fn read(path: &Path) -> Result<String> {
    let failed = |what: String| Failure::new(format!("{}: {what}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut text = String::new();
    let read = file.take(MOST + 1).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MOST {
        return Err(failed("it is longer than 512 KiB".to_owned()));
    }
    Ok(text)
}

/// Asks for a move, if it is one, and gives the id of the ask.
pub(crate) fn propose(place: &Place, text: &str, session: Option<&str>) -> Result<String> {
    let reader = place.reader()?;
    let session =
        whoever(place, &reader, session, "a person makes a move by its own verb; looop help lists them")?;
    let value =
        serde_json::from_str(text).map_err(|error| Failure::new(format!("the move is not JSON: {error}")))?;
    let proposal = intake::parse(&value).map_err(|refusal| Failure::new(refusal.to_string()))?;
    let prompt = format!("{} proposes to {}", session, looop_core::approval::deed(&proposal.action));
    let new = NewAsk {
        from: &session,
        kind: AskKind::Proposal,
        prompt: &prompt,
        goal: proposal.goal.as_ref().map(looop_core::model::name::Name::as_str),
        proposal: Some(&value),
        ..NewAsk::default()
    };
    Ok(posted(&reader, &new)?.ask.id)
}
