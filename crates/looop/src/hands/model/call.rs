//! One call over HTTP.

use std::io::{BufReader, Read};
use std::time::Duration;

use looop_core::ledger::entry::FailureKind;
use looop_core::meter::{Call, Micros, Provider};
use looop_core::model::moves::one_line;
use serde_json::Value;
use ureq::http::Response;

use super::answer::Answer;
use super::events::{Broken, Events};
use super::key::Key;
use super::refused::{Refused, place};
use crate::config::Api;
use crate::hands::decider::{Deadline, Failed};

const CONNECT: Duration = Duration::from_secs(30);
/// Silence after which an answer is given up; a local model may read a long brief for minutes.
const SILENCE: Duration = Duration::from_mins(10);
/// What is read of a refusal.
const REFUSAL: u64 = 64 << 10;

/// What a call works with.
pub(super) struct Line<'a> {
    pub(super) api: &'a Api,
    pub(super) key: Option<&'a Key>,
    pub(super) deadline: Deadline,
    /// The dollars that it may cost.
    pub(super) left: Option<Micros>,
}

/// Makes a call. The meter knows afterwards what is known of its cost, also where no answer came.
pub(super) fn call(line: &Line<'_>, body: &[u8], meter: &mut Call) -> Result<Answer, Refused> {
    let response = send(line, body).map_err(|error| Refused::unreached(line.api, &error))?;
    let status = response.status().as_u16();
    if !(200..300).contains(&status) {
        let after = retry_after(&response);
        let mut said = Vec::new();
        // What a refusal says is a help, and without it the status says enough.
        response.into_body().into_reader().take(REFUSAL).read_to_end(&mut said).ok();
        return Err(Refused::status(line.api, status, &String::from_utf8_lossy(&said), after));
    }
    hear(line, BufReader::new(response.into_body().into_reader()), meter)
}

fn send(line: &Line<'_>, body: &[u8]) -> Result<Response<ureq::Body>, ureq::Error> {
    let left = line.deadline.left().min(Duration::from_hours(24));
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        // A redirect would take the key along to wherever it leads.
        .max_redirects(0)
        .timeout_global(Some(left))
        .timeout_connect(Some(CONNECT.min(left)))
        .timeout_per_read(Some(SILENCE.min(left)))
        .user_agent(concat!("looop/", env!("CARGO_PKG_VERSION")))
        .build();
    let request = config.new_agent().post(line.api.endpoint()).header("content-type", "application/json");
    let request = match (line.api.provider, line.key.map(Key::expose)) {
        (Provider::Anthropic, Some(key)) => {
            request.header("x-api-key", key).header("anthropic-version", "2023-06-01")
        }
        (Provider::Anthropic, None) => request.header("anthropic-version", "2023-06-01"),
        (Provider::Openai, Some(key)) => request.header("authorization", format!("Bearer {key}")),
        (Provider::Openai, None) => request,
    };
    request.send(body)
}

/// The seconds that the provider says to wait.
fn retry_after(response: &Response<ureq::Body>) -> Option<Duration> {
    let seconds: f64 = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Listens to the answer. At the first event by which it has cost more than it may, the connection is dropped.
fn hear(line: &Line<'_>, from: impl std::io::BufRead, meter: &mut Call) -> Result<Answer, Refused> {
    let (api, mut answer, mut events) = (line.api, Answer::default(), Events::new(from));
    loop {
        let data = match events.next() {
            Ok(Some(data)) => data,
            Ok(None) => match events.odd.take() {
                Some(odd) => return Err(malformed(api, &odd)),
                None => break,
            },
            Err(Broken::Io(error)) => return Err(silence(line, &error)),
            Err(Broken::TooLong) => return Err(too_long(api)),
        };
        if data == "[DONE]" {
            break;
        }
        let event: Value = serde_json::from_str(&data).map_err(|_| malformed(api, &data))?;
        meter.event(&event);
        if !answer.event(api.provider, &event) {
            return Err(malformed(api, &data));
        }
        if let Some(over) = over_budget(line, meter) {
            return Err(over);
        }
        if answer.is_too_long() {
            return Err(too_long(api));
        }
        if let Some((kind, text)) = &answer.error {
            return Err(said_error(api, kind, text));
        }
        if answer.whole {
            break;
        }
    }
    answer.end(api.provider);
    if answer.whole { Ok(answer) } else { Err(Refused::cut(api, "it ended before its end")) }
}

fn over_budget(line: &Line<'_>, meter: &Call) -> Option<Refused> {
    let (left, usd) = line.left.zip(meter.now().usd)?;
    (usd > left).then(|| {
        // The words are those of whoever knows what was set aside.
        Refused::finally(Failed::new(FailureKind::Budget, ""), true)
    })
}

fn silence(line: &Line<'_>, error: &std::io::Error) -> Refused {
    if line.deadline.left().is_zero() {
        let reason = format!("{} had not said all when the deadline passed", place(line.api));
        return Refused::finally(Failed::new(FailureKind::Timeout, reason), true);
    }
    Refused::cut(line.api, &error.to_string())
}

/// An error within an answer: what would have been a status, had it come earlier.
fn said_error(api: &Api, kind: &str, text: &str) -> Refused {
    let status = match kind {
        "overloaded_error" => 529,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" => 500,
        _ => 400,
    };
    Refused { billed: true, ..Refused::status(api, status, text, None) }
}

fn malformed(api: &Api, data: &str) -> Refused {
    let shown = one_line(data, 120);
    let reason = format!(
        "{} answered with something that is no answer of this provider: {shown}; check provider and base_url",
        place(api)
    );
    Refused::finally(Failed::runner(reason), true)
}

fn too_long(api: &Api) -> Refused {
    let reason =
        format!("{} answered with more than a decision can be; it was not read to its end", place(api));
    Refused::finally(Failed::new(FailureKind::Unusable, reason), true)
}
