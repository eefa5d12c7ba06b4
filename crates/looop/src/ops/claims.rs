//! Claims: what a worker takes for itself.

use looop_store::mail::{ClaimError, Claimed, Lease, Unclaimed};

use super::Place;
use super::alive::is_alive;
use super::place::is_confined;
use super::worker_letters::{caller, whoever};
use crate::clock;
use crate::failure::{Failure, Result};

/// Takes a claim for a session; says what happened.
pub(crate) fn claim(place: &Place, name: &str, session: Option<&str>) -> Result<String> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, session, "looop claim <name> --session <worker>")?;
    let alive = |session: &str| is_confined(place) || is_alive(&reader, session);
    if !alive(&session) {
        return Err(Failure::new(format!("{session} does not live, and only a live session can claim"))
            .hint("looop worker list shows who lives"));
    }
    let nonce = nonce()?;
    let lease = Lease { nonce: &nonce, wall: clock::now().wall, alive: &alive };
    let got = reader.claim(name, &session, &lease).map_err(|error| failure(&error))?;
    Ok(match got {
        Claimed::New => format!("claimed {name}"),
        Claimed::Mine => format!("{name} is yours already"),
        Claimed::TakenFrom(dead) => format!("claimed {name}, which {dead} left behind"),
    })
}

/// Gives a claim back; says what happened.
pub(crate) fn unclaim(place: &Place, name: &str, session: Option<&str>) -> Result<String> {
    let reader = place.reader()?;
    let session = caller(place, &reader, session)?;
    let alive = |session: &str| is_confined(place) || is_alive(&reader, session);
    let lease = Lease { nonce: "", wall: clock::now().wall, alive: &alive };
    let gave = reader.unclaim(name, session.as_deref(), &lease).map_err(|error| failure(&error))?;
    Ok(match gave {
        Unclaimed::Absent => format!("{name} was not claimed"),
        Unclaimed::From(holder) if session.as_ref() == Some(&holder) => format!("unclaimed {name}"),
        Unclaimed::From(holder) => format!("unclaimed {name}, which {holder} left behind"),
    })
}

fn nonce() -> Result<String> {
    let secret = clock::secret().map_err(|error| Failure::new(format!("no random number: {error}")))?;
    Ok(format!("{:032x}", u128::from_be_bytes(secret)))
}

fn failure(error: &ClaimError) -> Failure {
    match error {
        ClaimError::NotAName(_) | ClaimError::NotASession(_) => Failure::usage(error.to_string()),
        ClaimError::Held { session, .. } => {
            Failure::new(error.to_string()).hint(format!("it is free once {session} gives it back or ends"))
        }
        ClaimError::Broken(_) => Failure::new(error.to_string())
            .hint("it cannot be known whose it is; remove the file if it is nobody's"),
        ClaimError::TooMany | ClaimError::Busy(_) => Failure::new(error.to_string()),
        ClaimError::Write(error) => Failure::new(error.text()),
    }
}
