//! Requests that no model has answered: nobody could be reached, or there was nothing to sign them with.

/// How agents and their libraries say that a provider could not be reached.
const UNREACHED: &[&str] = &[
    "connection refused",
    "connection error",
    "connection failed",
    "econnrefused",
    "enotfound",
    "eai_again",
    "enetunreach",
    "ehostunreach",
    "getaddrinfo",
    "network is unreachable",
    "no route to host",
    "name or service not known",
    "temporary failure in name resolution",
    "failed to lookup address",
    "dns error",
    "could not resolve",
    "couldn't resolve",
    "fetch failed",
    "unable to connect",
    "cannot connect",
    "error sending request",
    "waiting for network",
];

/// How agents say that they have no key, or are not signed in.
const UNSIGNED: &[&str] = &[
    "missing environment variable",
    "no api key",
    "api key is missing",
    "api key not found",
    "missing api key",
    "you must specify the gemini_api_key",
    "set an auth method",
    "not logged in",
    "not signed in",
    "please run /login",
];

/// Whether an error says that nobody could be reached. Ask it of errors.
pub(super) fn is_offline(error: &str) -> bool {
    let error = error.to_lowercase();
    UNREACHED.iter().any(|words| error.contains(words))
}

/// Whether an error says that its request reached no model. Ask it of errors: what an agent writes of its own accord may
/// say so too.
pub fn says_so(error: &str) -> bool {
    let error = error.to_lowercase();
    UNREACHED.iter().chain(UNSIGNED).any(|words| error.contains(words))
}
