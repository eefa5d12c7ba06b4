//! Names that exist, and the nearest one to a name that does not.

pub use looop_core::model::nearest::nearest;

use super::keys::{KEYS, Rule};

/// Variables that looop sets for its children, or that say where the profile is. They are no settings, and finding
/// them in the environment is no surprise: a verb may run inside a worker, a sensor or a notification.
pub const CHILD_VARIABLES: &[&str] = &[
    "LOOOP_ASK_WAIT",
    "LOOOP_BIN",
    "LOOOP_CHANNEL",
    "LOOOP_CLAIMS_DIR",
    "LOOOP_CONFIG",
    "LOOOP_CONFINED",
    "LOOOP_CRASH_AT",
    "LOOOP_DATA_DIR",
    "LOOOP_DECISION_FILE",
    "LOOOP_GOAL",
    "LOOOP_ID",
    "LOOOP_KIND",
    "LOOOP_MARK",
    "LOOOP_MESSAGE",
    "LOOOP_NO_THREAD",
    "LOOOP_REPORTS_DIR",
    "LOOOP_RESERVED_USD",
    "LOOOP_RUN_ID",
    "LOOOP_SESSION_ID",
    "LOOOP_TEST_ALL",
];

/// Variables of looop 1.1 that became something else.
const MOVED: &[(&str, &str)] = &[
    ("LOOOP_RUNNER_RETRIES", "set `runners.<name>.retries` in the config"),
    ("LOOOP_RUNNER_RETRY_MATCH", "set `runners.<name>.retry_match` in the config"),
    ("LOOOP_RUNNER_RETRY_SLEEP", "set `runners.<name>.retry_sleep` in the config"),
];

/// How a key of a runner is written in [`KEYS`].
pub(super) const RUNNER_PREFIX: &str = "runners.<name>.";

/// Keys at the top of a file.
pub(super) fn top_keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(|doc| matches!(doc.rule, Rule::Top(_))).map(|doc| doc.key).chain(["runners"])
}

/// Keys inside `runners.<name>`, without the prefix.
pub(super) fn runner_keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|doc| doc.key.strip_prefix(RUNNER_PREFIX))
}

/// What to do instead of an unknown key at the top.
pub(super) fn advice_at_top(key: &str) -> Option<String> {
    if let Some(key) = runner_keys().find(|known| *known == key) {
        return Some(format!("it belongs under [runners.<name>]: {key} = …"));
    }
    nearest(key, top_keys()).map(|known| format!("did you mean `{known}`?"))
}

/// What to do instead of an unknown key inside `runners.<name>`.
pub(super) fn advice_in_runner(key: &str) -> Option<String> {
    if top_keys().any(|known| known == key) {
        return Some("it belongs at the top of the file, above every [table]".to_owned());
    }
    nearest(key, runner_keys()).map(|known| format!("did you mean `{known}`?"))
}

/// Whether something reads a variable.
pub(super) fn is_variable(name: &str) -> bool {
    variables().any(|known| known == name)
}

/// What to do instead of an unknown variable.
pub(super) fn advice_for_variable(name: &str) -> Option<String> {
    if let Some((_, advice)) = MOVED.iter().find(|(moved, _)| *moved == name) {
        return Some((*advice).to_owned());
    }
    let key = name.trim_start_matches("LOOOP_").to_lowercase();
    if top_keys().any(|known| known == key) {
        return Some(format!("set `{key}` in the config"));
    }
    nearest(name, variables()).map(|known| format!("did you mean {known}?"))
}

fn variables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|doc| doc.env).chain(CHILD_VARIABLES.iter().copied())
}
