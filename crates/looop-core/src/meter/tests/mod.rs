//! Tests of the meter.

mod limit;
mod properties;
mod sessions;
mod specs;
mod streams;

use super::{Meter, Metered, Micros, Prices, Spec, Usage};

/// A recorded stream.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/", $name))
    };
}
use recorded;

/// A meter that has seen all lines.
fn fed(spec: Spec, output: &str) -> Meter {
    let mut meter = Meter::new(spec, Prices::shipped());
    output.lines().for_each(|line| meter.line(line.as_bytes()));
    meter
}

/// The end of a stream whose format is found out.
fn metered(output: &str) -> Metered {
    fed(Spec::default(), output).finish()
}

/// Micro-dollars, then tokens in, out and cached.
type Figures = (Option<u64>, u64, u64, u64);

fn figures(usage: &Usage) -> Figures {
    (usage.usd.map(Micros::get), usage.tokens_in, usage.tokens_out, usage.tokens_cached)
}
