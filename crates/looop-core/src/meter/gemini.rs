//! gemini: the result states the tokens of each model, and no dollars.

use serde_json::Value;

use super::bill::Bill;
use super::claude::Messages;
use super::prices::Prices;
use super::tokens::{Tokens, count};
use crate::intake::stream::text;

const USAGE: [&str; 4] = ["input_tokens", "cached", "", "output_tokens"];

#[derive(Clone, Debug, Default)]
pub(super) struct Gemini {
    bill: Bill,
}

impl Gemini {
    pub(super) fn tell(&mut self, kind: &str, event: &Value, model: &str, prices: &Prices) {
        let stats = &event["stats"];
        if kind != "result" || count(stats, "total_tokens").max(count(stats, "input_tokens")) == 0 {
            return;
        }
        match stats["models"].as_object().filter(|models| !models.is_empty()) {
            Some(models) => {
                models.iter().for_each(|(model, counts)| self.bill.add(item(model, counts, prices)));
            }
            None => self.bill.add(item(model, stats, prices)),
        }
    }

    pub(super) fn bill(&self) -> Bill {
        self.bill.clone()
    }
}

/// Thoughts are in the total and not in the output.
fn item(model: &str, counts: &Value, prices: &Prices) -> Bill {
    let tokens = Tokens::read_inclusive(counts, USAGE);
    let beyond = count(counts, "total_tokens").saturating_sub(count(counts, "input_tokens"));
    Bill::priced(model, Tokens { output: tokens.output.max(beyond), ..tokens }, prices)
}

/// Takes in an entry of a session file: an answer, which comes again when its tools have run, or several of them.
pub(super) fn note_entry(answers: &mut Messages, entry: &Value, prices: &Prices) {
    let several = entry.pointer("/$set/messages").and_then(Value::as_array);
    for answer in std::iter::once(entry).chain(several.into_iter().flatten()) {
        let counts = &answer["tokens"];
        if text(answer, "/type") == "gemini" && counts.is_object() {
            answers.put((text(answer, "/id"), text(answer, "/model")), answer_tokens(counts), prices);
        }
    }
}

/// What tools have put into the prompt and what was thought are counted apart.
fn answer_tokens(counts: &Value) -> Tokens {
    let tokens = Tokens::read_inclusive(counts, ["input", "cached", "", "output"]);
    Tokens {
        input: tokens.input.saturating_add(count(counts, "tool")),
        output: tokens.output.saturating_add(count(counts, "thoughts")),
        ..tokens
    }
}
