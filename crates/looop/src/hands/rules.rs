//! Rules that a person's "always" adds to the policy.

use looop_store::Reader;

use super::policy;
use crate::config::POLICY_FILE;
use crate::failure::{Failure, Result};

/// Adds a rule to the end of the policy, once: a crash may have come after the first time.
pub(crate) fn append(reader: &Reader, rule: &str) -> Result<()> {
    let bytes = reader.read(POLICY_FILE).known(POLICY_FILE).map_err(Failure::new)?.unwrap_or_default();
    if String::from_utf8_lossy(&bytes).contains(rule.trim()) {
        return Ok(());
    }
    policy::append(reader, |_| vec![format!("\n{}\n", rule.trim())]).map(drop)
}
