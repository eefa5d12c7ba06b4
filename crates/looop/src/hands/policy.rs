//! Appending to `policy.toml`: a grant that a person asked for, or the rule behind an `always`.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use looop_core::policy::{Level, Policy};
use looop_store::Reader;
use looop_store::disk::durable_write;

use crate::config::{self, POLICY_FILE, policy_from_bytes};
use crate::failure::{Failure, Result};

/// How long another one that appends is waited for: it writes one small file.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// Appends blocks, and gives the policy as it is then. `blocks` sees the policy as it was and may want nothing. The whole
/// is read before it is put in place: what would break the file is not written.
pub(crate) fn append(reader: &Reader, blocks: impl FnOnce(&Policy) -> Vec<String>) -> Result<Policy> {
    let file = reader.root().join(POLICY_FILE);
    if file.is_symlink() {
        return Err(Failure::new(format!("{} is a link and was not written", file.display()))
            .hint("append to the file that it leads to"));
    }
    // Two that append at once would each write what the other does not have.
    let _held = hold(reader)?;
    let level = Level::default();
    let before = config::load_policy(reader.root(), level).map_err(|error| refused(&error))?;
    let blocks = blocks(&before);
    if blocks.is_empty() {
        return Ok(before);
    }
    let mut text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
        Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", file.display()))),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&blocks.concat());
    let after = policy_from_bytes(&file, text.as_bytes(), level);
    let after = after.map_err(|refusal| refused(&config::ConfigError::Policy(refusal)))?;
    durable_write(reader.disk(), POLICY_FILE, text.as_bytes(), 0o600)
        .map_err(|error| Failure::new(error.text()))?;
    Ok(after)
}

const HEAD: &str = "# Which moves of a decider are allowed, asked for or denied, and what its programs get.\n\
                    # The first rule that matches decides; after them the built-in list does: looop policy show.\n";

fn refused(error: &config::ConfigError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A lock on the profile's own folder, which is nobody else's and makes no file.
fn hold(reader: &Reader) -> Result<File> {
    let failed = |what: String| Failure::new(format!("{} cannot be locked: {what}", reader.root().display()));
    let folder = File::open(reader.root()).map_err(|error| failed(error.to_string()))?;
    let since = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(failed("somebody holds it".to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
        }
    }
}
