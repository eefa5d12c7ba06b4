//! Posting one notice to one address.

use std::io::Read;
use std::time::Duration;

use looop_core::model::moves::one_line;
use serde_json::json;
use ureq::http::Uri;
use ureq::{Agent, Body, RequestBuilder, typestate::WithBody};

use super::notify::Said;

/// The name of the ntfy channel.
pub(crate) const NTFY: &str = "ntfy";
/// The name of the webhook channel.
pub(crate) const WEBHOOK: &str = "webhook";
/// How long a call may take in all.
const PATIENCE: Duration = Duration::from_secs(20);
/// What an error shows of a response.
const SHOWN: u64 = 200;

/// Posts a notice. An error never shows more of the address than its host, nor the secret.
pub(super) fn post(
    channel: &str,
    (url, secret): (&str, Option<&str>),
    said: &Said,
    profile: &str,
) -> Result<(), String> {
    let request = agent().post(url);
    let sent =
        if channel == NTFY { ntfy(request, secret, said) } else { webhook(request, secret, said, profile) };
    let refused = match sent {
        Ok(mut response) if response.status().is_success() => {
            // The server has taken it; what it says about that does not matter.
            drop(head(response.body_mut()));
            return Ok(());
        }
        Ok(mut response) => {
            let status = response.status();
            match (status.is_redirection(), head(response.body_mut())) {
                (true, _) => format!("status {}: it is elsewhere now; set the new address", status.as_u16()),
                (false, words) if words.is_empty() => format!("status {}", status.as_u16()),
                (false, words) => format!("status {}: {words}", status.as_u16()),
            }
        }
        Err(error) => error,
    };
    Err(format!("{}: {}", origin(url), scrubbed(&refused, url, secret)))
}

/// A notice is not posted twice by a redirection, and nothing of it goes to another host: none is followed.
fn agent() -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent(concat!("looop/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}

type Sent = Result<ureq::http::Response<Body>, String>;

fn ntfy(request: RequestBuilder<WithBody>, token: Option<&str>, said: &Said) -> Sent {
    let mut request = request
        .header("Content-Type", "text/plain; charset=utf-8")
        .header("Title", format!("looop: {}", said.kind))
        .header("Tags", tag(&said.kind));
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    request.send(&said.message).map_err(|error| error.to_string())
}

/// The sign that ntfy shows.
fn tag(kind: &str) -> &'static str {
    match kind {
        "question" => "question",
        "flag" => "triangular_flag_on_post",
        "proposal" => "raised_hand",
        "purse" => "money_with_wings",
        "failures" => "warning",
        _ => "bell",
    }
}

fn webhook(request: RequestBuilder<WithBody>, header: Option<&str>, said: &Said, profile: &str) -> Sent {
    let mut request = request.header("Content-Type", "application/json");
    if let Some(header) = header {
        let (name, value) = header.split_once(':').ok_or("the header is not of the form Name: value")?;
        request = request.header(name.trim(), value.trim());
    }
    let uname = rustix::system::uname();
    let body = json!({
        "v": 1, "kind": said.kind, "id": said.id, "message": said.message,
        "host": uname.nodename().to_string_lossy(), "profile": profile,
    });
    request.send(body.to_string()).map_err(|error| error.to_string())
}

/// The beginning of a response.
fn head(body: &mut Body) -> String {
    let mut bytes = Vec::new();
    // What came before an error is as much as there is to show.
    drop(body.as_reader().take(SHOWN).read_to_end(&mut bytes));
    one_line(&String::from_utf8_lossy(&bytes), usize::MAX)
}

fn origin(url: &str) -> String {
    let uri: Uri = url.parse().unwrap_or_default();
    uri.host().unwrap_or("the address").to_owned()
}

/// A text in which nothing of the address but its host is left, and nothing of the secret.
fn scrubbed(text: &str, url: &str, secret: Option<&str>) -> String {
    let uri: Uri = url.parse().unwrap_or_default();
    let user =
        uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let value = secret.and_then(|secret| secret.split_once(':')).map(|(_, value)| value.trim());
    let bare = value.and_then(|value| value.split_once(' ')).map(|(_, token)| token);
    let path = Some(uri.path()).filter(|path| path.len() > 1);
    let parts =
        [Some(url), secret, value, bare, user, password, uri.query(), path, path.map(|path| &path[1..])];
    let mut parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    // A long one may hold a short one.
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_left_in_an_error() {
        let table = [
            ("https://h/topic", None, "no /topic at https://h/topic", "no … at …"),
            ("https://me:pw@h/a/b?key=k3", None, "me:pw, pw, key=k3, a/b", "…, …, …, …"),
            ("https://h/", Some("tk_1"), "bad token tk_1 at /", "bad token … at /"),
            ("https://h/", Some("X-Key: Bearer abc"), "abc, Bearer abc", "…, …"),
        ];
        for (url, secret, text, expected) in table {
            assert_eq!(scrubbed(text, url, secret), expected, "{url}");
        }
    }
}
