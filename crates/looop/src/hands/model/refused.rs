//! A call that brought no answer: what to say, whether to try again, and whether it may have cost something.

use std::io::ErrorKind;
use std::time::Duration;

use looop_core::ledger::entry::FailureKind;
use looop_core::meter::limit;
use looop_core::model::moves::one_line;
use serde_json::Value;

use crate::clock;
use crate::config::{Api, KeySource};
use crate::hands::decider::Failed;

/// Longest part of a provider's words that is repeated.
const SAID: usize = 300;

/// A call that brought no answer.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) failed: Failed,
    /// Whether another call may bring one.
    pub(super) again: bool,
    /// How long the provider says to wait.
    pub(super) after: Option<Duration>,
    /// Whether the provider may have begun to answer, so that it may have cost something.
    pub(super) billed: bool,
}

impl Refused {
    /// A call that is over and done with.
    pub(super) fn finally(failed: Failed, billed: bool) -> Self {
        Self { failed, again: false, after: None, billed }
    }

    /// An answer that broke off.
    pub(super) fn cut(api: &Api, how: &str) -> Self {
        let reason = format!("the answer of {} broke off: {how}", place(api));
        Self { again: true, ..Self::finally(Failed::runner(reason), true) }
    }

    /// An answer with a status that is none of success.
    pub(super) fn status(api: &Api, status: u16, body: &str, after: Option<Duration>) -> Self {
        let said = said(body);
        let colon = if said.is_empty() { String::new() } else { format!(": {said}") };
        let at = place(api);
        let advice = match status {
            300..=399 => "; it has moved, set base_url to where it is now".to_owned(),
            401 | 403 => format!("; {}", check_key(api)),
            404 => "; check model and base_url".to_owned(),
            413 => "; a smaller prompt_max_bytes makes the brief shorter".to_owned(),
            429 | 500..=599 => String::new(),
            _ => format!("; check runners.….api: model {}", api.model),
        };
        let reason = format!("{at} answered with status {status}{colon}{advice}");
        let limit = limit::read(&format!("status {status} {body}"), &clock::now());
        // No money is no matter of waiting a little.
        let broke = body.contains("insufficient_quota") || body.contains("credit balance");
        let again = matches!(status, 408 | 429 | 500..=599) && !broke;
        let failed = match limit.filter(|_| status == 429) {
            Some(limit) => {
                let wait = after.and_then(|after| i64::try_from(after.as_millis()).ok());
                let until = wait.map(|wait| clock::now().wall.saturating_add(wait)).or(limit.until);
                Failed { kind: FailureKind::Limited, reason, until }
            }
            None => Failed::runner(reason),
        };
        Self { failed, again, after, billed: false }
    }

    /// No answer at all.
    pub(super) fn unreached(api: &Api, error: &ureq::Error) -> Self {
        let at = place(api);
        let text = one_line(&error.to_string(), SAID);
        if let ureq::Error::Timeout(timeout) = error {
            let early = matches!(timeout, ureq::Timeout::Resolve | ureq::Timeout::Connect);
            let failed = Failed::new(FailureKind::Timeout, format!("{at} did not answer in time ({text})"));
            return Self { again: true, ..Self::finally(failed, !early) };
        }
        let untrusted = matches!(error, ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_))
            || text.contains("certificate");
        let wrong = matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_));
        let early = matches!(error, ureq::Error::HostNotFound | ureq::Error::ConnectionFailed)
            || matches!(error, ureq::Error::Io(error) if is_early(error.kind()));
        let again = !untrusted && (early || matches!(error, ureq::Error::Io(_)));
        let advice = match (untrusted, wrong, again) {
            (true, _, _) => "; its certificate is not trusted",
            (false, true, _) => "; check base_url",
            (false, false, true) => "; is it there, and is there a network?",
            (false, false, false) => "",
        };
        let billed = !(untrusted || wrong || early);
        let failed = Failed::runner(format!("{at} could not be reached: {text}{advice}"));
        Self { again, ..Self::finally(failed, billed) }
    }
}

/// Whether a connection failed before anything could be said on it.
fn is_early(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            | ErrorKind::NotFound
            | ErrorKind::PermissionDenied
    )
}

/// Where calls go to, without what a path may hold.
pub(super) fn place(api: &Api) -> String {
    let url = api.endpoint();
    let host = url.split("//").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    host.to_owned()
}

fn check_key(api: &Api) -> String {
    match &api.key {
        Some(KeySource::Env(name)) => format!("check the key in {name}"),
        Some(KeySource::Command(_)) => "check the key that key_command prints".to_owned(),
        None => "it wants a key: set key_env or key_command".to_owned(),
    }
}

/// What the body of a refusal says.
fn said(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let text = value.pointer("/error/message").or(value.get("error")).or(value.get("message"));
    one_line(text.and_then(Value::as_str).unwrap_or(body), SAID)
}

#[cfg(test)]
mod tests {
    use looop_core::meter::Provider;

    use super::*;

    fn api() -> Api {
        Api {
            provider: Provider::Anthropic,
            base_url: Some("http://127.0.0.1:8/secret-path".to_owned()),
            model: "m".to_owned(),
            key: Some(KeySource::Env("K".to_owned())),
            max_tokens: 256,
        }
    }

    #[test]
    fn statuses_by_table() {
        let table = [
            (401, "bad key", FailureKind::Runner, false, "check the key in K"),
            (404, "no", FailureKind::Runner, false, "check model and base_url"),
            (
                400,
                "{\"error\":{\"message\":\"too\\nlong\"}}",
                FailureKind::Runner,
                false,
                "status 400: too long",
            ),
            (302, "", FailureKind::Runner, false, "set base_url"),
            (429, "slow down", FailureKind::Limited, true, "status 429: slow down"),
            (429, "{\"error\":{\"code\":\"insufficient_quota\"}}", FailureKind::Limited, false, "429"),
            (529, "Overloaded", FailureKind::Runner, true, "status 529: Overloaded"),
            (503, "", FailureKind::Runner, true, "127.0.0.1:8 answered with status 503"),
        ];
        for (status, body, kind, again, part) in table {
            let refused = Refused::status(&api(), status, body, None);
            assert_eq!(
                (refused.failed.kind, refused.again, refused.billed),
                (kind, again, false),
                "{status}"
            );
            assert!(refused.failed.reason.contains(part), "{}", refused.failed.reason);
            assert!(!refused.failed.reason.contains("secret-path"), "{}", refused.failed.reason);
        }
        let until = Refused::status(&api(), 429, "", Some(Duration::from_hours(2))).failed.until.unwrap();
        assert!((7_100_000..7_300_000).contains(&(until - clock::now().wall)));
    }

    #[test]
    fn what_could_not_be_reached_says_whether_it_may_have_cost_something() {
        let io = |kind| ureq::Error::Io(std::io::Error::from(kind));
        let table = [
            (io(ErrorKind::ConnectionRefused), true, false),
            (io(ErrorKind::ConnectionReset), true, true),
            (ureq::Error::HostNotFound, true, false),
            (ureq::Error::Timeout(ureq::Timeout::Connect), true, false),
            (ureq::Error::Timeout(ureq::Timeout::RecvResponse), true, true),
            (ureq::Error::BadUri("x".to_owned()), false, false),
        ];
        for (error, again, billed) in table {
            let refused = Refused::unreached(&api(), &error);
            assert_eq!((refused.again, refused.billed), (again, billed), "{error}");
        }
    }
}
