//! Money as whole numbers, so that sums are exact in any order.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Dollars in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(u64);

impl Micros {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many millionths of a dollar.
    pub const fn new(micros: u64) -> Self {
        Self(micros)
    }

    /// In millionths of a dollar.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Dollars from a number, rounded up to a whole millionth. Nothing where it is negative or no number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        Pico::from_dollars(dollars).map(Pico::ceil)
    }

    /// As a number of dollars, for showing and storing: exact to fifteen digits.
    #[expect(clippy::cast_precision_loss, reason = "what is lost is below the fifteenth digit")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, or nothing where it does not fit.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The sum; the greatest amount where it does not fit.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left; nothing where more is taken than is there.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let kept = fraction.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", self.0 / 1_000_000, &fraction[..kept])
    }
}

/// Dollars in trillionths: the price of one token is a whole number of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pico(u128);

impl Pico {
    /// A reported amount. The decimal that was meant is what its binary fraction is to fifteen digits; what is below a
    /// trillionth is dropped.
    pub(super) fn from_dollars(dollars: f64) -> Option<Self> {
        if !dollars.is_finite() || dollars < 0.0 {
            return None;
        }
        let meant: f64 = format!("{dollars:.14e}").parse().ok()?;
        let text = meant.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Some(Self(format!("{whole}{fraction:0<12.12}").parse().unwrap_or(u128::MAX)))
    }

    /// Tokens at a price per million of them.
    pub(super) fn of_tokens(tokens: u64, per_million: Micros) -> Self {
        Self(u128::from(tokens).saturating_mul(u128::from(per_million.0)))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Rounded up: a figure is never below what was charged.
    pub(super) fn ceil(self) -> Micros {
        Micros(u64::try_from(self.0.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_whole_millionths_upwards() {
        let table = [
            (0.0, Some(0)),
            (0.048_184_000_000_000_005, Some(48_184)),
            (0.074_078_6, Some(74_079)),
            (1e-9, Some(1)),
            (1e-30, Some(0)),
            (12.5, Some(12_500_000)),
            (7.0, Some(7_000_000)),
            (114_627.152_426, Some(114_627_152_426)),
            (0.1 + 0.2, Some(300_000)),
            (1e300, Some(u64::MAX)),
            (-0.1, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ];
        for (dollars, micros) in table {
            assert_eq!(Micros::from_dollars(dollars).map(Micros::get), micros, "{dollars}");
        }
    }

    #[test]
    fn sums_end_at_the_edge() {
        let (most, one) = (Micros::new(u64::MAX), Micros::new(1));
        assert_eq!((most.checked_add(one), most.saturating_add(one)), (None, most));
        assert_eq!((one.checked_add(one), one.saturating_sub(most)), (Some(Micros::new(2)), Micros::ZERO));
        assert_eq!(Micros::new(31_200).to_string(), "$0.0312");
    }
}
