//! What a worker may cost, and what was used.

use serde::{Deserialize, Serialize};

use crate::ledger::entry::Spend;
use crate::meter::{Micros, Usage};

/// What a worker may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowance {
    /// It runs no model that is known of.
    #[default]
    Nothing,
    /// It runs a model that is declared to cost nothing.
    Free,
    /// It runs a model, and this much is set aside for it; nothing where there is no bound.
    Paid(Micros),
    /// The command of its runner runs no model that is known of. Nothing is set aside; what is reported counts, and it is
    /// stopped if that passes this bound.
    Reported(Micros),
}

impl Allowance {
    /// Whether no model is run.
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    /// What is set aside.
    pub fn reserved(self) -> Micros {
        match self {
            Self::Nothing | Self::Free | Self::Reported(_) => Micros::ZERO,
            Self::Paid(reserved) => reserved,
        }
    }

    /// What it may spend before it is stopped; nothing where there is no bound.
    pub fn bound(self) -> Micros {
        match self {
            Self::Nothing | Self::Free => Micros::ZERO,
            Self::Paid(bound) | Self::Reported(bound) => bound,
        }
    }
}

/// Dollars and tokens that were used in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Dollars.
    pub usd: Micros,
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Tokens read from a cache.
    pub tokens_cached: u64,
}

impl Used {
    /// Whether nothing was used.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What a meter says.
    pub fn of(usage: &Usage) -> Self {
        Self {
            usd: usage.usd.unwrap_or_default(),
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            tokens_cached: usage.tokens_cached,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { usd: self.usd.saturating_add(other.usd), ..self.each(other, u64::saturating_add) }
    }

    /// What one has and the other has not.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { usd: self.usd.saturating_sub(other.usd), ..self.each(other, u64::saturating_sub) }
    }

    /// The larger of two accounts of the same.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { usd: self.usd.max(other.usd), ..self.each(other, u64::max) }
    }

    fn each(self, other: Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            usd: self.usd,
            tokens_in: of(self.tokens_in, other.tokens_in),
            tokens_out: of(self.tokens_out, other.tokens_out),
            tokens_cached: of(self.tokens_cached, other.tokens_cached),
        }
    }

    /// The same as a spend without a name.
    pub fn spend(self) -> Spend {
        Spend {
            usd: self.usd.dollars(),
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            tokens_cached: self.tokens_cached,
            ..Spend::default()
        }
    }
}
