//! codex: each turn states the tokens of its whole thread so far, and no dollars.

use serde_json::Value;

use super::bill::Bill;
use super::prices::Prices;
use super::tokens::Tokens;

const USAGE: [&str; 4] = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];

#[derive(Clone, Debug, Default)]
pub(super) struct Codex {
    counts: Counts,
    /// Whether a turn began that did not end.
    open: bool,
}

impl Codex {
    pub(super) fn tell(&mut self, kind: &str, event: &Value, model: &str, prices: &Prices) {
        match kind {
            "turn.started" => self.open = true,
            "turn.completed" => {
                self.open = false;
                self.counts.note(&event["usage"], model, prices);
            }
            _ => {}
        }
    }

    /// A turn that failed, or never ended, does not tell what it used.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn bill(&self) -> Bill {
        self.counts.bill.clone()
    }
}

/// Tokens that are stated as what a thread used so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    so_far: Tokens,
    /// What was used, each part at the price of the model of its time.
    pub(super) bill: Bill,
}

impl Counts {
    /// Takes in the counts of a thread; all zero is what a provider leaves that does not count. Counts that fall are those of a thread that began anew.
    pub(super) fn note(&mut self, usage: &Value, model: &str, prices: &Prices) {
        let now = Tokens::read_inclusive(usage, USAGE);
        if now.is_zero() {
            return;
        }
        let grew = self.so_far.max(now) == now;
        let new = if grew { now.minus(self.so_far) } else { now };
        self.so_far = now;
        self.bill.add(Bill::priced(model, new, prices));
    }
}
