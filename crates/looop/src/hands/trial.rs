//! A sensor is tried before it is written: a script that prints no valid reading never becomes a sensor.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

use looop_core::model::rights::Rights;
use looop_store::Reader;

use super::brakes::Brakes;
use super::{outputs, sense};
use crate::config::Config;
use crate::failure::{Failure, Result};

/// Runs a script from a folder of its own and tells what is wrong with it, if something is.
pub(crate) fn problem(
    reader: &Reader,
    config: &Config,
    (script, beat, rights): (&[u8], u64, &Rights),
    brakes: &Brakes,
) -> Option<String> {
    match tried(reader, config, (script, beat, rights), brakes) {
        Ok(None) => None,
        Ok(Some(problem)) => Some(problem),
        Err(failure) => Some(failure.error),
    }
}

fn tried(
    reader: &Reader,
    config: &Config,
    (script, beat, rights): (&[u8], u64, &Rights),
    brakes: &Brakes,
) -> Result<Option<String>> {
    // What is confined does not see the sessions, and cannot write to the box itself.
    let room = if rights.is_person() { "sessions" } else { "box" };
    if !rights.is_person() {
        outputs::make(reader.root())
            .map_err(|error| Failure::new(format!("box/ cannot be made: {error}")))?;
    }
    let folder = reader.path(room).join(format!(".trial-{beat}"));
    // A crash may have left one behind.
    drop(std::fs::remove_dir_all(&folder));
    let result = run(reader, config, (script, &folder, rights), brakes);
    drop(std::fs::remove_dir_all(&folder));
    result
}

fn run(
    reader: &Reader,
    config: &Config,
    (script, folder, rights): (&[u8], &std::path::Path, &Rights),
    brakes: &Brakes,
) -> Result<Option<String>> {
    let failed = |error: std::io::Error| Failure::new(format!("the sensor could not be tried: {error}"));
    DirBuilder::new().mode(0o700).create(folder).map_err(failed)?;
    let path = folder.join("sensor");
    let mut file = File::create_new(&path).map_err(failed)?;
    file.write_all(script).map_err(failed)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    drop(file);
    let head = String::from_utf8_lossy(&script[..script.len().min(8 << 10)]).into_owned();
    let reading = sense::read_once(reader, config, (&path, &head, rights), brakes)?;
    if !reading.failed {
        return Ok(None);
    }
    let message = reading.detail["message"].as_str().unwrap_or("it failed");
    let stderr = reading.detail["stderr"].as_str().map(str::trim).filter(|text| !text.is_empty());
    let stderr = stderr.map_or(String::new(), |text| {
        format!("; it said: {}", looop_core::model::moves::one_line(text, 300))
    });
    let withheld: Vec<&str> = rights.withheld().into_iter().collect();
    let withheld =
        if withheld.is_empty() { String::new() } else { format!("; not granted: {}", withheld.join("; ")) };
    Ok(Some(format!("tried and not written: {message}{stderr}{withheld}")))
}
