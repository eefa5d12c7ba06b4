//! claude: results state dollars and tokens; until one comes, the messages tell how much it is at least.

use std::collections::VecDeque;

use serde_json::Value;

use super::bill::{Bill, dollars};
use super::prices::Prices;
use super::tokens::Tokens;
use crate::intake::stream::text;

/// Messages that are told apart by their id. A message is repeated on the lines next to it and in those of subagents at
/// work beside it, so that an older one does not come again.
const MESSAGES: usize = 256;
const USAGE: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
const MODEL: [&str; 4] = ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];

#[derive(Clone, Debug, Default)]
pub(super) struct Claude {
    /// The sum of the results.
    settled: Bill,
    /// What came since the last result.
    open: Messages,
    /// The session of the last result, and what it had cost by then.
    session: Option<(String, Bill)>,
}

impl Claude {
    pub(super) fn tell(&mut self, kind: &str, event: &Value, prices: &Prices) {
        match kind {
            "assistant" => self.open.note(&event["message"], prices),
            "stream_event" => match text(event, "/event/type") {
                "message_start" => self.open.note(&event["event"]["message"], prices),
                "message_delta" => {
                    let id = text(event, "/api_message_id");
                    self.open.grow(id, Tokens::read(&event["event"]["usage"], USAGE));
                }
                _ => {}
            },
            "result" => self.settle(event, prices),
            _ => {}
        }
    }

    /// Whether something was spent that no result has settled.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn bill(&self, prices: &Prices) -> Bill {
        self.settled.plus(self.open.bill(prices))
    }

    /// A result states what the session cost in all, also before this run, and newer ones state what is new.
    fn settle(&mut self, event: &Value, prices: &Prices) {
        let so_far = total(event, prices);
        let new = models(&event["model_usage_since_last_result"], prices)
            .or_else(|| so_far.as_ref().map(|so_far| self.beyond(text(event, "/session_id"), so_far)));
        // No tokens at all is an answer only where the call failed; else the provider does not count.
        let failed = event["is_error"].as_bool().unwrap_or(false);
        if let Some(new) = new.filter(|new| failed || !new.tokens.is_zero() || !new.usd.is_zero()) {
            self.settled.add(new);
            self.open = Messages::default();
        }
        if let Some(so_far) = so_far {
            self.session = Some((text(event, "/session_id").to_owned(), so_far));
        }
    }

    /// What a session cost since its last result in this stream.
    fn beyond(&self, session: &str, so_far: &Bill) -> Bill {
        match &self.session {
            Some((known, before)) if known == session => so_far.minus(before),
            _ => so_far.clone(),
        }
    }
}

/// What the session cost in all, by a result.
fn total(event: &Value, prices: &Prices) -> Option<Bill> {
    let by_model = models(&event["modelUsage"], prices);
    let usd = dollars(event.get("total_cost_usd"));
    match (by_model, usd) {
        // The sum of the models' dollars is the total; where it says nothing, the total does.
        (Some(bill), None) => Some(bill),
        (Some(bill), Some(usd)) => Some(Bill { usd, ..bill }),
        (None, Some(usd)) => {
            Some(Bill::reported("", Tokens::read(&event["usage"], USAGE), Some(usd), prices))
        }
        (None, None) => None,
    }
}

/// The bill of an object of usages by model. The last one names the model: the dearest comes last.
pub(super) fn models(usages: &Value, prices: &Prices) -> Option<Bill> {
    let item = |(model, usage): (&String, &Value)| {
        Bill::reported(model, Tokens::read(usage, MODEL), dollars(usage.get("costUSD")), prices)
    };
    let mut items: Vec<Bill> = usages.as_object()?.iter().map(item).collect();
    items.sort_by_key(|item| item.usd);
    let nothing = Bill { any: true, ..Bill::default() };
    Some(items.into_iter().fold(nothing, |sum, item| sum.plus(item)))
}

/// Messages with the usage that they were last seen with.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    /// The oldest first: id, model and tokens.
    last: VecDeque<(String, String, Tokens)>,
    /// The sum of those before.
    earlier: Bill,
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty() && !self.earlier.any
    }

    /// Takes in a message. The same one may come again, with the same counts or with greater ones.
    pub(super) fn note(&mut self, message: &Value, prices: &Prices) {
        let usage = &message["usage"];
        if !usage.is_object() {
            return;
        }
        self.put((text(message, "/id"), text(message, "/model")), Tokens::read(usage, USAGE), prices);
    }

    /// The same for a message whose id, model and tokens are known.
    pub(super) fn put(&mut self, (id, model): (&str, &str), tokens: Tokens, prices: &Prices) {
        if !id.is_empty() && self.grow(id, tokens) {
            return;
        }
        self.last.push_back((id.to_owned(), model.to_owned(), tokens));
        if self.last.len() > MESSAGES
            && let Some((_, model, tokens)) = self.last.pop_front()
        {
            self.earlier.add(Bill::priced(&model, tokens, prices));
        }
    }

    /// Raises the counts of a message; whether it is there. Without an id it is the last one.
    fn grow(&mut self, id: &str, tokens: Tokens) -> bool {
        let known = self.last.iter_mut().rev().find(|(known, _, _)| known == id || id.is_empty());
        let Some((_, _, counts)) = known else { return false };
        *counts = counts.max(tokens);
        true
    }

    pub(super) fn bill(&self, prices: &Prices) -> Bill {
        let items = self.last.iter().map(|(_, model, tokens)| Bill::priced(model, *tokens, prices));
        items.fold(self.earlier.clone(), |sum, item| sum.plus(item))
    }
}
