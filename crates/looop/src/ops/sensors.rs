//! Sensors, looked at by hand.

use looop_core::world::reading::Reading;
use looop_store::docs::DocsCache;

use super::Place;
use crate::clock;
use crate::failure::{Failure, Result};
use crate::hands::authored::Authored;
use crate::hands::brakes::Brakes;
use crate::hands::sense;
use crate::pulse::open::log_failure;

/// A sensor's script.
pub(crate) fn script(place: &Place, name: &str) -> Result<Vec<u8>> {
    let reader = place.reader()?;
    let scan = reader.scan(&mut DocsCache::default(), clock::now().wall);
    let file = scan.docs.sensors.get(name).ok_or_else(|| none(name))?;
    let path = format!("sensors/{}", file.file);
    reader.read(&path).known(&path).map_err(Failure::new)?.ok_or_else(|| none(name))
}

/// Runs a sensor as the loop would and gives its reading. Nothing is stored.
pub(crate) fn try_out(place: &Place, name: &str) -> Result<Reading> {
    let (reader, config) = (place.reader()?, place.config()?);
    let scan = reader.scan(&mut DocsCache::default(), clock::now().wall);
    let sensor = scan.sensors.get(name).ok_or_else(|| none(name))?;
    if let Some(problem) = &sensor.problem {
        return Ok(sense::unusable(problem));
    }
    let path = reader.path("sensors").join(&sensor.files[0]);
    let written = reader.ledger().map_err(|error| log_failure(&error))?.written;
    let rights =
        Authored::new(&config.config, &written).sensor(&reader, &scan.docs, name).map_err(Failure::new)?;
    sense::read_once(&reader, &config.config, (&path, &sensor.head, &rights), &Brakes::default())
}

fn none(name: &str) -> Failure {
    Failure::new(format!("there is no sensor \"{name}\"")).hint("looop sensor list shows them")
}
