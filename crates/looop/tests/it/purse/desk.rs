//! A profile whose decider talks to a model server.

use looop_sim::model::Model;
use looop_sim::profile::Profile;
use serde_json::Value;

pub(crate) const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/model/server.py");
/// What a token costs in millionths of a dollar: read, and written.
const PRICE: (u64, u64) = (4, 20);

/// A command that does what an agent does: it asks the model and prints the events as claude prints them.
const AGENT: &str = r#"
import json, sys, urllib.request
body = {"model": "claude-opus-5-5", "stream": True, "max_tokens": 512, "messages": [{"role": "user", "content": "decide"}]}
request = urllib.request.Request(sys.argv[1] + "/v1/messages", json.dumps(body).encode(), {"content-type": "application/json"})
used = {"input_tokens": 0, "output_tokens": 0}
for line in urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request):
    if not line.startswith(b"data: "):
        continue
    event = json.loads(line[6:])
    usage = event.get("usage") or event.get("message", {}).get("usage") or {}
    used = {name: max(count, usage.get(name) or 0) for name, count in used.items()}
    print(json.dumps({"type": "stream_event", "event": event}), flush=True)
cost = (used["input_tokens"] * 4 + used["output_tokens"] * 20) / 1e6
result = {"type": "result", "subtype": "success", "is_error": False, "result": '{"action": "noop"}', "total_cost_usd": cost, "usage": used}
print(json.dumps(result), flush=True)
"#;

/// A profile and the server that its decider talks to.
pub(crate) struct Desk {
    pub(crate) profile: Profile,
    pub(crate) model: Model,
}

impl Desk {
    /// A model that decides by itself.
    pub(crate) fn api(scenario: &str, config: &str) -> Self {
        let model = Model::start(SERVER);
        let url = model.url(scenario);
        let profile = Profile::bare(LOOOP).config(&format!(
            "default = \"m\"\n{config}\n[runners.m]\n\
             api = {{ provider = \"anthropic\", base_url = \"{url}\", model = \"claude-opus-5-5\", max_tokens = 512 }}\n"
        ));
        Self { profile, model }
    }

    /// An agent that asks the model.
    pub(crate) fn agent(scenario: &str, config: &str) -> Self {
        let model = Model::start(SERVER);
        let profile = Profile::bare(LOOOP);
        let script = profile.outside().join("agent.py");
        std::fs::write(&script, AGENT).unwrap();
        let tick = Value::from(format!("python3 '{}' '{}'", script.display(), model.url(scenario)));
        let profile = profile.config(&format!("default = \"m\"\n{config}\n[runners.m]\ntick = {tick}\n"));
        Self { profile, model }
    }

    /// What the server has charged so far, in millionths of a dollar.
    pub(crate) fn charged(&self) -> u64 {
        sum(&self.model.so_far(0))
    }

    /// What it charged for all of its answers, which are over.
    pub(crate) fn charged_in_all(&self) -> u64 {
        sum(&self.model.charged(self.model.requests().len()))
    }
}

fn sum(bills: &[Value]) -> u64 {
    let count = |bill: &Value, name: &str| bill[name].as_u64().unwrap();
    bills.iter().map(|bill| count(bill, "in") * PRICE.0 + count(bill, "out") * PRICE.1).sum()
}

/// Dollars in millionths.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small amount of money")]
pub(crate) fn micros(usd: &Value) -> u64 {
    (usd.as_f64().unwrap() * 1e6).round() as u64
}
