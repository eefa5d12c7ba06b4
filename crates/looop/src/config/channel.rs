//! Where notices are posted to.

use std::fmt;

use ureq::http::Uri;

use super::{
    names::nearest,
    problem::Complaint,
    raw::{Raw, Reading, bad},
    tree::{Item, Node},
};

/// Longest address.
const LONGEST: usize = 2048;

/// An address of the web. Its path may be as secret as a password, so that only the host is ever shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

/// A channel that takes notices over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpChannel {
    /// Where they are posted to.
    pub url: Address,
    /// The variable that holds what proves who we are: a token for `ntfy`, a whole header for `webhook`.
    pub secret_env: Option<String>,
}

impl Address {
    /// An address that can be posted to, or why it cannot. The reason never repeats it.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let refused = || "expected an address such as https://example.org/topic".to_owned();
        let uri: Uri = text.trim().parse().map_err(|_| refused())?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri.host().is_some_and(|host| !host.is_empty());
        if !web || !host || text.len() > LONGEST || text.trim() != text || !text.is_ascii() {
            return Err(refused());
        }
        Ok(Address(text.to_owned()))
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let uri: Uri = self.0.parse().unwrap_or_default();
        let port = uri.port().map_or(String::new(), |port| format!(":{port}"));
        format!("{}://{}{port}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/…", self.origin())
    }
}

/// The address of an ntfy topic, or a table that also names the variable of a token.
pub(super) fn ntfy(raw: Raw<'_>) -> Reading<Option<HttpChannel>> {
    channel(raw, "token_env", "an address or a table { url, token_env }").map(Some)
}

/// The address of a webhook, or a table that also names the variable of a header.
pub(super) fn webhook(raw: Raw<'_>) -> Reading<Option<HttpChannel>> {
    channel(raw, "header_env", "an address or a table { url, header_env }").map(Some)
}

fn channel(raw: Raw<'_>, secret: &str, expected: &'static str) -> Reading<HttpChannel> {
    match raw {
        Raw::Node(Node { item: Item::Text(_), .. }) => {
            Ok(HttpChannel { url: address(raw)?, secret_env: None })
        }
        Raw::Node(Node { item: Item::Table(fields), .. }) => {
            let (mut url, mut secret_env) = (None, None);
            for field in fields {
                let value = Raw::Node(&field.value);
                match field.key.as_str() {
                    "url" => url = Some(address(value)?),
                    key if key == secret => secret_env = Some(variable(value)?),
                    other => return Err(unknown_key(other, secret)),
                }
            }
            let url = url.ok_or_else(|| bad("`url` is missing".to_owned()))?;
            Ok(HttpChannel { url, secret_env })
        }
        Raw::Node(_) | Raw::Text(_) => Err(raw.wrong(expected)),
    }
}

fn address(raw: Raw<'_>) -> Reading<Address> {
    Address::new(raw.text()?).map_err(bad)
}

/// The name of a variable; a secret that was put there by mistake is not repeated.
fn variable(raw: Raw<'_>) -> Reading<String> {
    let name = raw.text()?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.len() > 64 || !name.bytes().all(fits) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(bad("expected the name of an environment variable, not its value".to_owned()));
    }
    Ok(name.to_owned())
}

fn unknown_key(key: &str, secret: &str) -> Complaint {
    let advice = nearest(key, ["url", secret]).map(|known| format!("; did you mean `{known}`?"));
    bad(format!("`{key}` is not a key of it; `url` and `{secret}` are{}", advice.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_an_address_is_shown() {
        let table = [
            ("https://ntfy.sh/my-topic", "https://ntfy.sh"),
            ("https://me:secret@example.org:8443/a?key=secret", "https://example.org:8443"),
            ("http://127.0.0.1:80", "http://127.0.0.1:80"),
        ];
        for (text, origin) in table {
            let address = Address::new(text).unwrap();
            assert_eq!((address.as_str(), address.origin().as_str()), (text, origin));
            assert_eq!(format!("{address:?}"), format!("{origin}/…"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        let long = format!("https://x/{}", "y".repeat(LONGEST));
        let table = ["ntfy.sh/topic", "ftp://x/y", "https://", "/topic", "https://a b/secret", "", &long];
        for text in table.into_iter().chain(["https://x/ö", " https://x/", "https:///secret"]) {
            let reason = Address::new(text).expect_err(text);
            assert!(!reason.contains("secret"), "{reason}");
        }
    }
}
