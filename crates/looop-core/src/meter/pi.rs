//! pi: the end of each message states its dollars and tokens; three other events repeat them.

use serde_json::Value;

use super::bill::{Bill, dollars};
use super::prices::Prices;
use super::tokens::Tokens;
use super::unreached;
use crate::intake::stream::text;

const USAGE: [&str; 4] = ["input", "cacheRead", "cacheWrite", "output"];

#[derive(Clone, Debug, Default)]
pub(super) struct Pi {
    bill: Bill,
    /// The message that is being written, with what it cost so far.
    open: Option<Bill>,
    /// Messages whose usage is not stated.
    lost: u64,
}

impl Pi {
    pub(super) fn tell(&mut self, kind: &str, event: &Value, prices: &Prices) {
        let message = &event["message"];
        if text(message, "/role") != "assistant" {
            return;
        }
        match kind {
            "message_start" => self.open = Some(bill(message, prices).unwrap_or_default()),
            "message_update" => self.open = bill(message, prices).or(self.open.take()),
            "message_end" => {
                self.open = None;
                if is_unstated(message) {
                    self.lost += 1;
                } else {
                    self.bill.add(bill(message, prices).unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    /// An entry of a session file is a message that ended.
    pub(super) fn tell_entry(&mut self, event: &Value, prices: &Prices) {
        if text(event, "/type") == "message" {
            self.tell("message_end", event, prices);
        }
    }

    pub(super) fn unstated(&self) -> u64 {
        self.lost
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some() || self.lost > 0
    }

    pub(super) fn bill(&self) -> Bill {
        self.bill.plus(self.open.clone().unwrap_or_default())
    }
}

/// A message without tokens comes from a request that was refused, which names its status, or reached nobody: both cost
/// nothing. Else the answer broke off or the provider does not count.
fn is_unstated(message: &Value) -> bool {
    let error = text(message, "/errorMessage");
    let unanswered = error.starts_with(['4', '5']) || unreached::says_so(error);
    !unanswered && Tokens::read(&message["usage"], USAGE).is_zero()
}

fn bill(message: &Value, prices: &Prices) -> Option<Bill> {
    let usage = message.get("usage")?;
    let cost = dollars(usage.pointer("/cost/total"));
    usage
        .is_object()
        .then(|| Bill::reported(text(message, "/model"), Tokens::read(usage, USAGE), cost, prices))
}
