//! What one decide works with.

use std::ffi::OsStr;

use looop_core::meter::Micros;
use looop_core::model::plan::RunId;
use looop_store::disk::durable_write;
use looop_store::{Reader, run_folder};

use super::{Deadline, Failed};
use crate::config::{Config, Runner};

/// The variable that says how many dollars are set aside for a decide.
pub(crate) const RESERVED: &str = "LOOOP_RESERVED_USD";
/// What is kept of the output, rendered.
const KEPT: usize = 64 << 10;

/// What one decide works with.
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) run: RunId,
    /// The runner's name.
    pub(crate) name: &'a str,
    pub(crate) runner: &'a Runner,
    pub(crate) config: &'a Config,
    /// Whether moves about workers are on offer.
    pub(crate) workers: bool,
    /// Dollars set aside for it, if there is a bound.
    pub(crate) reserved: Option<Micros>,
    pub(crate) deadline: Deadline,
}

impl Desk<'_> {
    /// Writes a file of the run.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failed> {
        let path = format!("{}/{name}", run_folder(self.run));
        durable_write(self.reader.disk(), &path, bytes, 0o600).map_err(|error| Failed::runner(error.text()))
    }

    /// Keeps what people may read of the output: its end.
    pub(crate) fn keep_output(&self, text: &str) -> Result<(), Failed> {
        let from = text.ceil_char_boundary(text.len().saturating_sub(KEPT));
        self.write("output.log", &text.as_bytes()[from..])
    }
}

/// How much is set aside, by the variable. One that is there and no amount is not taken for no bound.
pub(super) fn reserved(value: Option<&OsStr>) -> Result<Option<Micros>, Failed> {
    let Some(value) = value else { return Ok(None) };
    let amount = value.to_str().and_then(|text| text.parse().ok()).and_then(Micros::from_dollars);
    amount.map(Some).ok_or_else(|| Failed::runner(format!("{RESERVED} is no amount of dollars")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_amount_is_not_taken_for_no_bound() {
        assert_eq!(reserved(None), Ok(None));
        assert_eq!(reserved(Some(OsStr::new("0.5"))), Ok(Some(Micros::new(500_000))));
        for bad in ["", "x", "-1", "NaN", "inf"] {
            assert!(reserved(Some(OsStr::new(bad))).is_err(), "{bad}");
        }
    }
}
