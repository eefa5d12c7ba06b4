//! What the model server charged, by the prices of the models that were asked.

use looop_sim::model::Model;
use serde_json::Value;

/// A model's name, and tenths of a millionth of a dollar per token: read, written, read from a cache.
type Price = (&'static str, u64, u64, u64);
/// Those of `fake-model` are in the settings of the agents and, for those that know of none, in [`PRICES`].
const TABLE: &[Price] = &[
    ("claude-opus-5-5", 40, 200, 2),
    ("fake-model", 40, 200, 10),
    ("gemini-3.1-pro", 20, 120, 2),
    ("gemini-3.5-flash-lite", 3, 25, 0),
];
/// What a profile says of the model that nobody has a price for.
pub(crate) const PRICES: &str = "\n[prices.fake-model]\ninput = 4\noutput = 20\ncached_read = 1\n";

/// What is set aside for a worker, in millionths of a dollar.
const ALLOWANCE: u64 = 2_000_000;

/// What is known of a worker's money in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bill {
    /// All of it, and nothing was asked beside the conversation.
    Whole,
    /// What was asked in the conversation, and not the title that was asked for beside it.
    Talk,
    /// Tokens of the conversation. It asks so much beside it that this is a lower bound, and the rest of its allowance is unreported.
    AtLeast,
    /// What was asked in the conversation, apart from the request whose tool ended the agent: what a request used is noted
    /// after its tools. The rest of its allowance is unreported.
    ButLast,
}

impl Bill {
    /// What is known of the workers of an agent.
    pub(crate) fn of(agent: &str) -> Self {
        match agent {
            "claude" | "pi" => Self::Whole,
            "codex" => Self::Talk,
            "gemini" => Self::AtLeast,
            _ => Self::ButLast,
        }
    }

    /// What looop says of a worker's cost is what the server charged for its requests, as far as it can be known.
    #[track_caller]
    pub(crate) fn agrees(self, cost: &Value, model: &Model, own: impl Fn(&Value) -> bool) {
        let in_talk = Till::of_those(model, |request| own(request) && request["side"] == false);
        match self {
            Self::Whole => {
                let all = Till::of_those(model, &own);
                assert_eq!((Till::said(cost), all), (in_talk, in_talk));
            }
            Self::Talk | Self::AtLeast => assert_eq!(Till::said(cost), in_talk),
            Self::ButLast => {
                let talk =
                    model.requests().into_iter().filter(|request| own(request) && request["side"] == false);
                let last = talk.map(|request| request["n"].as_u64()).max().unwrap();
                let earlier = |request: &Value| {
                    own(request) && request["side"] == false && request["n"].as_u64() != last
                };
                assert_eq!(Till::said(cost), Till::of_those(model, earlier));
            }
        }
        let unreported = match self {
            Self::Whole | Self::Talk => 0,
            Self::AtLeast | Self::ButLast => ALLOWANCE - Till::said(cost).micros,
        };
        assert_eq!(Till::micros(&cost["unreported_usd"]), unreported, "{cost}");
    }
}

/// Dollars in millionths, and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Till {
    pub(crate) micros: u64,
    pub(crate) read: u64,
    pub(crate) said: u64,
    pub(crate) cached: u64,
}

impl Till {
    /// All that was charged so far, once the answers to all requests are over.
    #[track_caller]
    pub(crate) fn of(model: &Model) -> Self {
        Self::of_those(model, |_| true)
    }

    /// The same for some of the requests.
    #[track_caller]
    pub(crate) fn of_those(model: &Model, which: impl Fn(&Value) -> bool) -> Self {
        Self::of_answers(model, model.requests().len(), which)
    }

    /// The same where some requests were refused: once so many were answered.
    #[track_caller]
    pub(crate) fn of_answers(model: &Model, answers: usize, which: impl Fn(&Value) -> bool) -> Self {
        let (requests, charges) = (model.requests(), model.charged(answers));
        let (mut sum, mut tenths) = (Self::default(), 0);
        for charge in charges.iter().filter(|charge| which(request(&requests, charge))) {
            let tokens = |name: &str| charge[name].as_u64().unwrap();
            let (read, said, cached) = (tokens("in"), tokens("out"), tokens("cached"));
            let price = price(request(&requests, charge)["model"].as_str().unwrap());
            tenths += read * price.1 + said * price.2 + cached * price.3;
            sum = Self { read: sum.read + read, said: sum.said + said, cached: sum.cached + cached, ..sum };
        }
        Self { micros: tenths.div_ceil(10), ..sum }
    }

    /// What looop says was spent: `usd` and the three kinds of tokens.
    #[track_caller]
    pub(crate) fn said(spend: &Value) -> Self {
        let tokens = |name: &str| spend[name].as_u64().unwrap_or_else(|| panic!("no {name}: {spend}"));
        Self {
            micros: Self::micros(&spend["usd"]),
            read: tokens("tokens_in"),
            said: tokens("tokens_out"),
            cached: tokens("tokens_cached"),
        }
    }

    /// Dollars in millionths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small amount of money")]
    #[track_caller]
    pub(crate) fn micros(dollars: &Value) -> u64 {
        (dollars.as_f64().unwrap() * 1e6).round() as u64
    }
}

fn request<'a>(requests: &'a [Value], charge: &Value) -> &'a Value {
    requests.iter().find(|request| request["n"] == charge["n"]).unwrap()
}

#[track_caller]
fn price(model: &str) -> Price {
    let known = TABLE.iter().filter(|(name, ..)| model.starts_with(name)).max_by_key(|(name, ..)| name.len());
    *known.unwrap_or_else(|| panic!("no price for {model}"))
}
