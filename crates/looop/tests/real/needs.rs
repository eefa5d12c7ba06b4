//! The programs a test needs, and where they are.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether all these programs are there. Says which is not, and that fails where nothing may be skipped.
pub(crate) fn found(programs: &[&str]) -> bool {
    let path = path();
    let missing =
        programs.iter().find(|program| !env::split_paths(&path).any(|dir| dir.join(program).exists()));
    let Some(program) = missing else { return true };
    let reason = format!("skipped: {program} is not installed\n");
    assert!(env::var_os("LOOOP_TEST_ALL").is_none(), "{reason}");
    std::io::stderr().write_all(reason.as_bytes()).unwrap();
    false
}

/// The search path: where `agents` puts the agents, and then the usual one.
pub(crate) fn path() -> OsString {
    let usual = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    env::join_paths([agents().join("node_modules/.bin")].into_iter().chain(env::split_paths(&usual))).unwrap()
}

/// The folder that the agents are installed in.
pub(crate) fn agents() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    env::var_os("LOOOP_TEST_AGENTS").map_or_else(|| workspace.join("target/agents"), PathBuf::from)
}
