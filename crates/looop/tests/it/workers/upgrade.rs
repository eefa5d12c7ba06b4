//! The binary is replaced while a loop and its workers run.

use std::path::Path;

use looop_sim::profile::Profile;
use looop_sim::waiting::{finish, signal};

use super::yard::{LOOOP, Yard};

/// Puts a copy of the binary in place of what is there, as an installer does: a new file under the old name.
fn install(path: &Path) {
    let fresh = path.with_extension("new");
    std::fs::copy(LOOOP, &fresh).unwrap();
    std::fs::rename(&fresh, path).unwrap();
}

#[test]
fn workers_and_the_loop_go_on_while_the_binary_is_replaced() {
    let bench = tempfile::tempdir().unwrap();
    let binary = bench.path().join("looop");
    install(&binary);
    let yard = Yard::of(Profile::bare(binary.to_str().unwrap()).env("LOOOP_INTERVAL", "3600"));
    let pulse = yard.profile.start::<&str>(&[]);
    yard.start("old", "exec cat").ok();
    let before = yard.row("old");

    install(&binary);
    assert_eq!(yard.row("old")["session"], before["session"], "it lives");
    yard.run(&["send", "old", "hello there"]).ok();
    yard.run(&["expect", "old", "hello there\\s+hello there", "--since", "0", "--timeout", "300s"]).ok();

    // The loop of the replaced binary starts a worker that calls back by path.
    let (here, _gate, _) = yard.gated();
    let command = format!("\"$LOOOP_BIN\" version > '{}'; exec sleep 1000", here.path().display());
    yard.start("new", &command).ok();
    assert!(here.hear().contains(env!("CARGO_PKG_VERSION")));
    yard.run(&["kill", "old", "new"]).ok();

    signal(&pulse, "TERM");
    assert_eq!(finish(pulse).code, 0);
}
