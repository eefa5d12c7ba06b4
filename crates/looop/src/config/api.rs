//! A model that decides without an agent between: where it is, and how its key is found.

use looop_core::intake::catalogue;
use looop_core::meter::{CallBound, Price, Prices, Provider};

use super::{
    names::nearest,
    problem::Complaint,
    raw::{Raw, Reading, bad},
    settings::Usd,
    tree::{Field, Item, Node},
};

const KEYS: [&str; 6] = ["provider", "base_url", "model", "key_env", "key_command", "max_tokens"];
/// Tokens that a provider puts around what it is sent.
const AROUND: u64 = 1024;
const PRICES: [&str; 4] = ["input", "output", "cached_read", "cache_write"];

/// A model's address and the size of its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// How it is spoken to.
    pub provider: Provider,
    /// Where it is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// Its name.
    pub model: String,
    /// Where the key is; local models need none.
    pub key: Option<KeySource>,
    /// Tokens that an answer may have.
    pub max_tokens: u64,
}

/// Where a key is found. The key itself is never part of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In this variable.
    Env(String),
    /// In what this shell command prints.
    Command(String),
}

impl Api {
    /// The address that calls go to.
    pub fn endpoint(&self) -> String {
        let base = self.base_url.as_deref().map(|url| url.trim_end_matches('/'));
        match self.provider {
            Provider::Anthropic => {
                let base = base.unwrap_or("https://api.anthropic.com");
                format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
            }
            Provider::Openai => {
                format!("{}/chat/completions", base.unwrap_or("https://api.openai.com/v1"))
            }
        }
    }
}

impl Api {
    /// The address of the list of models.
    pub fn models_endpoint(&self) -> String {
        let (own, list) = match self.provider {
            Provider::Anthropic => ("/messages", "/models"),
            Provider::Openai => ("/chat/completions", "/models"),
        };
        let endpoint = self.endpoint();
        format!("{}{list}", endpoint.strip_suffix(own).unwrap_or(&endpoint))
    }

    /// What a call costs at most, by the length of its brief. Nothing where the model has no price.
    pub fn call_bound(&self, prices: &Prices) -> Option<CallBound> {
        let schema = u64::try_from(catalogue::tool_schema(true).to_string().len()).unwrap_or(u64::MAX);
        CallBound::new(prices, &self.model, AROUND.saturating_add(schema), self.max_tokens)
    }
}

/// Reads the table `api` of a runner.
pub(super) fn api(raw: Raw<'_>) -> Reading<Option<Api>> {
    let fields = table(raw, "a table { provider, model, key_env or key_command, … }")?;
    let (mut provider, mut base_url, mut model, mut key, mut max_tokens) = (None, None, None, None, 8192);
    let words = [("anthropic", Provider::Anthropic), ("openai", Provider::Openai)];
    for field in fields {
        let value = Raw::Node(&field.value);
        match field.key.as_str() {
            "provider" => provider = Some(value.one_of(&words)?),
            "base_url" => base_url = Some(url(value)?),
            "model" => model = Some(value.text()?.to_owned()),
            "key_env" if key.is_none() => key = Some(KeySource::Env(variable(value)?)),
            "key_command" if key.is_none() => key = Some(KeySource::Command(value.text()?.to_owned())),
            "key_env" | "key_command" => {
                return Err(bad("`key_env` and `key_command` exclude each other".to_owned()));
            }
            "max_tokens" => max_tokens = value.count(256, 1_000_000)?,
            other => return Err(unknown(other, "api", KEYS)),
        }
    }
    let missing = |name: &str| bad(format!("`{name}` is missing"));
    let provider = provider.ok_or_else(|| missing("provider"))?;
    let model = model.ok_or_else(|| missing("model"))?;
    // At the provider's own address nothing works without a key.
    let usual = match provider {
        Provider::Anthropic => "ANTHROPIC_API_KEY",
        Provider::Openai => "OPENAI_API_KEY",
    };
    let key = key.or_else(|| base_url.is_none().then(|| KeySource::Env(usual.to_owned())));
    Ok(Some(Api { provider, base_url, model, key, max_tokens }))
}

fn url(raw: Raw<'_>) -> Reading<String> {
    let text = raw.text()?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            Err(bad("an address with a password in it; use key_env or key_command".to_owned()))
        }
        Some(host) if !host.is_empty() && !text.contains(['?', '#', ' ', '\t', '\n']) => Ok(text.to_owned()),
        Some(_) | None => {
            Err(bad(format!("an address begins with https:// or http://, found {}", raw.found())))
        }
    }
}

fn variable(raw: Raw<'_>) -> Reading<String> {
    let name = raw.text()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.len() <= 64 && name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(name.to_owned());
    }
    // What stands there may be the key itself, and is not repeated.
    Err(bad(
        "the name of a variable is expected, such as ANTHROPIC_API_KEY, and not the key itself".to_owned()
    ))
}

/// Reads the table `prices`: by model, dollars per million tokens.
pub(super) fn prices(raw: Raw<'_>) -> Reading<Vec<(String, Price)>> {
    let models =
        table(raw, "a table of prices by model, such as { \"gpt-5\" = { input = 1.25, output = 10 } }")?;
    models.iter().map(|model| Ok((model.key.clone(), price(&model.key, Raw::Node(&model.value))?))).collect()
}

fn price(model: &str, raw: Raw<'_>) -> Reading<Price> {
    let fields = table(raw, "a table { input, output, cached_read, cache_write }")?;
    let mut found = [None; 4];
    for field in fields {
        let Some(at) = PRICES.iter().position(|name| *name == field.key) else {
            return Err(unknown(&field.key, "a price", PRICES));
        };
        let usd = Raw::Node(&field.value).usd_or_off()?.map_or(0, Usd::micros);
        found[at] = Some(looop_core::meter::Micros::new(usd));
    }
    let [input, output, cached_read, cache_write] = found;
    let missing = |name: &str| bad(format!("\"{model}\" has no `{name}`"));
    let (input, output) = (input.ok_or_else(|| missing("input"))?, output.ok_or_else(|| missing("output"))?);
    Ok(Price { input, output, cached_read, cache_write })
}

fn table<'a>(raw: Raw<'a>, expected: &'static str) -> Reading<&'a [Field]> {
    match raw {
        Raw::Node(Node { item: Item::Table(fields), .. }) => Ok(fields),
        Raw::Node(_) | Raw::Text(_) => Err(raw.wrong(expected)),
    }
}

fn unknown<const N: usize>(key: &str, of: &str, known: [&'static str; N]) -> Complaint {
    let advice = nearest(key, known).map(|known| format!("; did you mean `{known}`?"));
    bad(format!("`{key}` is not a key of {of}{}", advice.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_as_a_token_and_the_answer_as_long_as_it_may_be() {
        let model = |name: &str| Api {
            provider: Provider::Anthropic,
            base_url: None,
            model: name.to_owned(),
            key: None,
            max_tokens: 1000,
        };
        let bound = model("claude-opus-5-5").call_bound(&Prices::shipped()).unwrap();
        let bound = |brief| bound.of(brief).get();
        // Written to the cache at $5 a million, answered at $20 a million.
        assert_eq!(bound(10_000) - bound(0), 50_000);
        assert!(bound(0) >= 20_000 + 5 * (AROUND + 3000));
        assert_eq!(model("qwen").call_bound(&Prices::shipped()), None);
    }
}
