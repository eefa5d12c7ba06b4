//! The highest numbers that are used on the disk.

use looop_core::engine::io::Numbers;

use crate::dir::Reader;
use crate::disk::Listed;
use crate::error::{StoreError, failed};

impl Reader {
    /// The highest numbers of decides, hosted sessions and asks of the loop's own that something on the disk has. A log
    /// that has lost its end knows lower ones.
    pub fn highest_numbers(&self) -> Result<Numbers, StoreError> {
        let after = |prefix: &'static str| move |name: &str| name.strip_prefix(prefix)?.parse().ok();
        let (shell, decide) = (after("move~"), after("decide~"));
        let session = |name: &str| shell(name).or_else(|| decide(name));
        let ask = |name: &str| name.strip_prefix("ask-")?.strip_suffix(".json")?.parse().ok();
        let run = |name: &str| if name.len() >= 6 { name.parse().ok() } else { None };
        Ok(Numbers {
            runs: self.highest("runs", &run)?,
            sessions: self.highest("sessions", &session)?,
            asks: self.highest("asks", &ask)?,
        })
    }

    fn highest(&self, folder: &str, number: &dyn Fn(&str) -> Option<u64>) -> Result<u64, StoreError> {
        let listed =
            self.disk().list(folder).into_io().map_err(failed(folder, "listed"))?.unwrap_or_default();
        let numbers = listed.iter().filter_map(|Listed { name, .. }| number(name.to_str()?));
        // A name that stands for no count of ours must not use up all numbers.
        Ok(numbers.filter(|number| *number < HIGHEST).max().unwrap_or(0))
    }
}

/// No loop comes so far.
const HIGHEST: u64 = 1 << 40;
