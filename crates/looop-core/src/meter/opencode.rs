//! opencode: each step states its own dollars and tokens.

use serde_json::Value;

use super::bill::{Bill, dollars};
use super::micros::Pico;
use super::prices::Prices;
use super::tokens::{Tokens, count};

#[derive(Clone, Debug, Default)]
pub(super) struct Opencode {
    bill: Bill,
    /// Whether a step began that did not end.
    open: bool,
    /// Steps whose usage is not stated: the answer broke off, or the provider does not count.
    lost: u64,
}

impl Opencode {
    pub(super) fn tell(&mut self, kind: &str, event: &Value, model: &str, prices: &Prices) {
        match kind {
            "step_start" => self.open = true,
            "step_finish" => {
                self.open = false;
                let part = &event["part"];
                let (tokens, cost) = (tokens(&part["tokens"]), dollars(part.get("cost")));
                if tokens.is_zero() && cost.is_none_or(Pico::is_zero) {
                    self.lost += 1;
                } else {
                    self.bill.add(Bill::reported(model, tokens, cost, prices));
                }
            }
            _ => {}
        }
    }

    pub(super) fn unstated(&self) -> u64 {
        self.lost
    }

    pub(super) fn is_open(&self) -> bool {
        self.open || self.lost > 0
    }

    pub(super) fn bill(&self) -> Bill {
        self.bill.clone()
    }
}

/// Thoughts are counted apart from what is said, except where the total shows that they are a part of it.
fn tokens(counts: &Value) -> Tokens {
    let (input, cache) = (count(counts, "input"), &counts["cache"]);
    let (cached, written) = (count(cache, "read"), count(cache, "write"));
    let (said, thought) = (count(counts, "output"), count(counts, "reasoning"));
    let both = said.saturating_add(thought);
    let given = input.saturating_add(cached).saturating_add(written);
    let output = match counts.get("total").and_then(Value::as_u64) {
        Some(total) => total.saturating_sub(given).clamp(said, both),
        None => both,
    };
    Tokens { input, cached, written, output }
}
