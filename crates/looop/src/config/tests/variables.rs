//! What is wrong or odd in the environment.

use super::given::*;
use crate::config::{Place, Warning};

#[test]
fn bad_variables_are_named() {
    let table = [
        ("LOOOP_INTERVAL", "abc", "LOOOP_INTERVAL: expected a duration such as 30 or \"10m\", found \"abc\""),
        ("LOOOP_INTERVAL", "0", "LOOOP_INTERVAL: at least 1s is needed, found \"0\""),
        ("LOOOP_NOOP_TTL", "-5", "LOOOP_NOOP_TTL: cannot be negative, found \"-5\""),
        (
            "LOOOP_TICK_TIMEOUT_SECS",
            "18446744073709551615",
            "LOOOP_TICK_TIMEOUT_SECS: \"18446744073709551615\" is too large",
        ),
        ("LOOOP_MAX_WORKERS", "many", "LOOOP_MAX_WORKERS: expected a whole number, found \"many\""),
        (
            "LOOOP_MAX_DAILY_USD",
            "$5",
            "LOOOP_MAX_DAILY_USD: expected an amount in dollars such as 2.5, found \"$5\"",
        ),
        (
            "LOOOP_LOG_FORMAT",
            "jsn",
            "LOOOP_LOG_FORMAT: one of \"human\", \"json\" is possible, found \"jsn\"; did you mean \"json\"?",
        ),
    ];
    for (variable, value, said) in table {
        let refused = from_bytes(None, &env(&[(variable, value)]));
        assert_eq!(refusal(refused), said);
    }
}

#[test]
fn a_variable_that_is_no_text() {
    use std::os::unix::ffi::OsStringExt;
    let env: Env = [("LOOOP_INTERVAL".to_owned(), std::ffi::OsString::from_vec(vec![0xff]))].into();
    let refused = from_bytes(None, &env).unwrap_err();
    assert_eq!(refused.to_string(), "LOOOP_INTERVAL: not valid UTF-8");
    assert_eq!(refused.problems[0].place, Place::Variable("LOOOP_INTERVAL"));
}

#[test]
fn a_variable_that_nothing_reads_is_named() {
    let loaded = from_bytes(
        None,
        &env(&[
            ("LOOOP_INTERVALL", "5"),
            ("LOOOP_MAX_WORKER_USD", "5"),
            ("LOOOP_RUNNER_RETRIES", "2"),
            ("LOOOP_XYZZY", "1"),
            ("LOOOP_DATA_DIR", "/d"),
            ("LOOOP_SESSION_ID", "w"),
            ("LOOOP_MESSAGE", "hello"),
            ("OTHER", "1"),
        ]),
    );
    let said: Vec<String> = loaded.unwrap().warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        said,
        [
            "LOOOP_INTERVALL is set, and nothing reads it; did you mean LOOOP_INTERVAL?",
            "LOOOP_MAX_WORKER_USD is set, and nothing reads it; set `max_worker_usd` in the config",
            "LOOOP_RUNNER_RETRIES is set, and nothing reads it; set `runners.<name>.retries` in the config",
            "LOOOP_XYZZY is set, and nothing reads it",
        ]
    );
}
