//! A call that costs nothing: the list of models, which a provider gives to whoever has a key.

use std::io::Read;
use std::time::Duration;

use looop_core::meter::Provider;
use looop_core::model::plan::RunId;
use looop_store::Reader;

use super::key::{Key, find};
use super::refused::Refused;
use crate::config::{Api, Config, Runner};
use crate::hands::decider::{Deadline, Desk};

/// How long it may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// What is read of a refusal.
const REFUSAL: u64 = 4 << 10;

/// What a provider said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// It takes the key, or needs none.
    Accepts,
    /// It has no list of models, so that nothing is known of the key.
    NoList,
}

/// Asks a provider for the list of its models. An error says what is wrong and what to do, without the key.
pub(crate) fn list_models(
    (reader, config): (&Reader, &Config),
    (name, runner): (&str, &Runner),
    api: &Api,
) -> Result<Listed, String> {
    let (run, deadline) = (RunId(0), Deadline::after(DEADLINE));
    let desk = Desk { reader, run, name, runner, config, workers: false, reserved: None, deadline };
    let key = find(&desk, api).map_err(|failed| failed.reason)?;
    asked(api, key.as_ref()).map_err(|reason| Key::redact(key.as_ref(), &reason))
}

fn asked(api: &Api, key: Option<&Key>) -> Result<Listed, String> {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        // A redirect would take the key along to wherever it leads.
        .max_redirects(0)
        .timeout_global(Some(DEADLINE))
        .user_agent(concat!("looop/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut request = agent.get(api.models_endpoint());
    if api.provider == Provider::Anthropic {
        request = request.header("anthropic-version", "2023-06-01");
    }
    if let Some(key) = key.map(Key::expose) {
        request = match api.provider {
            Provider::Anthropic => request.header("x-api-key", key),
            Provider::Openai => request.header("authorization", format!("Bearer {key}")),
        };
    }
    let response = request.call().map_err(|error| Refused::unreached(api, &error).failed.reason)?;
    match response.status().as_u16() {
        200..=299 => Ok(Listed::Accepts),
        404 | 405 | 501 => Ok(Listed::NoList),
        status => {
            let mut said = Vec::new();
            // What a refusal says is a help, and without it the status says enough.
            response.into_body().into_reader().take(REFUSAL).read_to_end(&mut said).ok();
            Err(Refused::status(api, status, &String::from_utf8_lossy(&said), None).failed.reason)
        }
    }
}
