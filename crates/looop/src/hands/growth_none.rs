//! Where the kernel says nothing of files that grow, what workers use is seen at each look.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use looop_core::meter::Micros;
use looop_core::world::fleet::Fleet;
use looop_store::Reader;

use super::usage::Usages;
use crate::config::Config;
use crate::failure::Result;
use crate::pulse::Poster;

/// Who is to be followed.
pub(crate) struct Follow {
    pub(crate) reader: Reader,
    pub(crate) config: Arc<Config>,
    pub(crate) fleet: Fleet,
    /// The dollars that each session may use, as its files count them.
    pub(crate) bounds: BTreeMap<String, Micros>,
}

/// Follows nobody.
pub(crate) fn follow(_usages: &Arc<Mutex<Usages>>, follow: Follow, _sender: &Poster) -> Result<()> {
    let Follow { reader, config, fleet, bounds } = follow;
    drop((reader, config, fleet, bounds));
    Ok(())
}
