//! Where the profile is.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use looop_core::model::name::Name;
use looop_store::Reader;

use crate::clock;
use crate::config::{self, Env, Loaded, Stamp};
use crate::failure::{Failure, Result};
use crate::hands::locked::VARIABLE;
use crate::pulse::open::{config_failure, open_failure};

/// A profile's place, and the environment that the verb was called in.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) data: PathBuf,
    pub(crate) env: Env,
}

impl Place {
    /// Finds the profile: the flag, `$LOOOP_DATA_DIR`, `$XDG_STATE_HOME/looop`, `~/.local/state/looop`.
    pub(crate) fn find(flag: Option<&Path>) -> Result<Self> {
        let env: Env =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value))).collect();
        let set = |key: &str| env.get(key).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = flag.map(Path::to_owned).or_else(|| set("LOOOP_DATA_DIR"));
        let data =
            data.or_else(|| Some(set("XDG_STATE_HOME").filter(|path| path.is_absolute())?.join("looop")));
        let data = data.or_else(|| Some(set("HOME")?.join(".local/state/looop")));
        let data = data.ok_or_else(|| {
            Failure::new("no place for the profile is known: neither LOOOP_DATA_DIR nor HOME is set")
                .hint("looop --data-dir DIR …")
        })?;
        let absolute = std::path::absolute(&data)
            .map_err(|error| Failure::new(format!("{} cannot be made absolute: {error}", data.display())))?;
        Ok(Self { data: absolute, env })
    }

    /// Opens the profile for reading. Nothing is created.
    pub(crate) fn reader(&self) -> Result<Reader> {
        Reader::open(&self.data).map_err(|error| open_failure(&error))
    }

    /// Whether a profile that was opened is still the one at this place.
    pub(crate) fn holds(&self, reader: &Reader) -> bool {
        let here = std::fs::metadata(&self.data).map(|meta| u128::from(meta.ino()));
        let opened = reader.disk().stat("").value().map(|meta| meta.inode);
        here.is_ok_and(|here| Some(here) == opened)
    }

    /// Loads the configuration; what it warns of goes to stderr.
    pub(crate) fn config(&self) -> Result<Loaded> {
        let stamp = Stamp::of(&self.data, &self.env, clock::now().wall);
        let mut loaded = config::load(&self.data, &self.env).map_err(|error| config_failure(&error))?;
        loaded.stamp = Some(stamp);
        Ok(loaded)
    }
}

/// Whether a confined worker calls. It sees no other session, so it cannot know whether one lives, and it reaches neither
/// the lock nor the socket of the loop.
pub(super) fn is_confined(place: &Place) -> bool {
    place.env.get(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Refuses a confined worker where what it would see of the loop and of other workers is not so.
pub(crate) fn reaches_the_loop(place: &Place) -> Result<()> {
    if is_confined(place) { Err(confined_failure()) } else { Ok(()) }
}

/// What a confined worker is told that wants more than letters can do.
fn confined_failure() -> Failure {
    Failure::new("a confined worker cannot reach the loop").hint(
        "looop propose <move.json> asks the person; looop ask, told, claim, flag and cost record work here",
    )
}

/// A name from the command line.
pub(crate) fn named(text: &str) -> Result<Name> {
    Name::new(text).map_err(|error| Failure::usage(error.to_string()))
}
