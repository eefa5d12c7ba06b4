//! One call of a model without an agent between: what it used, from the events of its answer.

use serde_json::Value;

use super::bill::Bill;
use super::prices::Prices;
use super::tokens::{Tokens, count};
use super::usage::{Metered, Source, Usage};
use crate::intake::stream::{Format, text};

const MESSAGES: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Messages of Anthropic.
    Anthropic,
    /// Chat completions of `OpenAI`, and of all who speak like it.
    Openai,
}

/// Takes the events of one answer and knows at any moment what the call used at least. Providers state counts so far,
/// so that the greatest counts are the last ones.
#[derive(Clone, Debug)]
pub struct Call {
    provider: Provider,
    /// The model that was asked for.
    model: String,
    /// Whether it costs nothing.
    free: bool,
    prices: Prices,
    tokens: Tokens,
    any: bool,
}

impl Call {
    /// A call that has used nothing.
    pub fn new(provider: Provider, model: &str, free: bool, prices: Prices) -> Self {
        Self { provider, model: model.to_owned(), free, prices, tokens: Tokens::default(), any: false }
    }

    /// Takes in one event of the answer, or the whole answer.
    pub fn event(&mut self, event: &Value) {
        let usage = match text(event, "/type") {
            "message_start" => &event["message"]["usage"],
            _ => &event["usage"],
        };
        if !usage.is_object() {
            return;
        }
        let tokens = match self.provider {
            Provider::Anthropic => Tokens::read(usage, MESSAGES),
            Provider::Openai => chat(usage),
        };
        self.any |= !tokens.is_zero();
        self.tokens = self.tokens.max(tokens);
    }

    /// What was used so far, at least.
    pub fn now(&self) -> Usage {
        let bill = self.bill();
        let source = match (self.free, self.any) {
            (true, _) => Source::Free,
            (false, true) => Source::Api,
            (false, false) => Source::None,
        };
        let usage = bill.usage(Format::Claude);
        let usd = if self.free { Some(super::Micros::ZERO) } else { usage.usd };
        Usage { usd, source, model: Some(self.model.clone()), ..usage }
    }

    fn bill(&self) -> Bill {
        if self.any { Bill::priced(&self.model, self.tokens, &self.prices) } else { Bill::default() }
    }

    /// What was used in all. An answer that broke off has used more than it said.
    pub fn finish(&self, whole: bool) -> Metered {
        let (usage, unpriced) = (self.now(), self.bill().unpriced);
        match (self.free, self.any && !unpriced, whole) {
            (true, _, _) | (false, true, true) => Metered::Exact(usage),
            (false, true, false) => Metered::AtLeast(usage),
            (false, false, _) => Metered::Unmetered(usage),
        }
    }
}

/// What was read includes what a cache had; what was written includes thoughts.
fn chat(usage: &Value) -> Tokens {
    let details = &usage["prompt_tokens_details"];
    let cached = count(details, "cached_tokens").min(count(usage, "prompt_tokens"));
    let input = count(usage, "prompt_tokens") - cached;
    Tokens { input, cached, written: 0, output: count(usage, "completion_tokens") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Micros;
    use super::*;

    fn call(provider: Provider, model: &str, events: &[Value]) -> Call {
        let mut call = Call::new(provider, model, false, Prices::shipped());
        for event in events {
            call.event(event);
        }
        call
    }

    #[test]
    fn counts_of_messages_grow_to_the_last() {
        let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 1000,
            "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 500, "output_tokens": 1}}});
        let early = call(Provider::Anthropic, "claude-opus-5-5", std::slice::from_ref(&start));
        let delta = json!({"type": "message_delta", "usage": {"output_tokens": 100}});
        let all = call(Provider::Anthropic, "claude-opus-5-5", &[start, json!({"type": "ping"}), delta]);
        assert_eq!(early.now().usd, Some(Micros::new(4000 + 400 + 2500 + 20)));
        let usage = all.now();
        assert_eq!((usage.tokens_in, usage.tokens_cached, usage.tokens_out), (1500, 2000, 100));
        assert_eq!(usage.usd, Some(Micros::new(4000 + 400 + 2500 + 2000)));
        assert_eq!(
            (usage.source.to_string(), usage.model.as_deref()),
            ("api prices".to_owned(), Some("claude-opus-5-5"))
        );
        assert!(matches!(all.finish(true), Metered::Exact(_)));
        assert!(matches!(early.finish(false), Metered::AtLeast(_)));
    }

    #[test]
    fn chat_counts_what_a_cache_had_apart() {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 3000, "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 1000}}});
        let call = call(Provider::Openai, "gpt-5", &[json!({"choices": [], "usage": null}), usage]);
        let usage = call.now();
        assert_eq!((usage.tokens_in, usage.tokens_cached, usage.tokens_out), (2000, 1000, 10));
        assert_eq!(usage.usd, Some(Micros::new(2500 + 125 + 100)));
    }

    #[test]
    fn what_has_no_price_is_unmetered_and_what_is_free_costs_nothing() {
        let usage = json!({"usage": {"prompt_tokens": 30, "completion_tokens": 10}});
        let paid = call(Provider::Openai, "qwen", std::slice::from_ref(&usage));
        assert_eq!((paid.now().usd, paid.now().tokens_in), (None, 30));
        assert!(matches!(paid.finish(true), Metered::Unmetered(_)));
        assert!(matches!(call(Provider::Openai, "gpt-5", &[]).finish(true), Metered::Unmetered(_)));
        let mut free = Call::new(Provider::Openai, "qwen", true, Prices::shipped());
        free.event(&usage);
        assert_eq!((free.now().usd, free.now().source), (Some(Micros::ZERO), Source::Free));
        assert!(matches!(free.finish(false), Metered::Exact(_)));
    }
}
