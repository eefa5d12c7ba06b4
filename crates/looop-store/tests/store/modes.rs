//! Modes of everything that is written, under any umask. The umask belongs to the whole process, so each has its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use looop_core::model::digest::Digest;
use looop_core::model::moves::Move;
use looop_core::model::plan::{Act, Author, Plan, RunId};
use looop_core::time::Stamp;
use looop_store::Reader;
use looop_store::mail::{Lease, NewAsk};

const CHILD: &str = "LOOOP_STORE_MODES";

fn write(path: &str, bytes: &[u8]) -> Plan {
    let act = Act::File { path: path.to_owned(), before: None, after: Some(Digest::of(bytes)) };
    let at = Stamp { wall: 1_800_000_000_000, up: 1, boot: 1 };
    Plan::new(Move::Noop { reason: None }, (Author::Person, act), at)
}

/// Makes one of everything.
fn furnish(root: &Path) {
    let reader = Reader::create(root).unwrap();
    let writer = reader.lock().unwrap();
    writer.layout().unwrap();
    drop(writer.open_log().unwrap());
    let ask = br#"{"v":1,"id":"p-1","from":"pulse","prompt":"?","asked":1}"#;
    for (path, bytes) in
        [("PLAYBOOK.md", &b"x"[..]), ("goals/a.md", b"x"), ("sensors/a.sh", b"x"), ("asks/p-1.json", ask)]
    {
        assert!(writer.perform(&write(path, bytes), Some(bytes), 5).is_done());
    }
    writer.post_answer("p-1", "yes", 1).unwrap();
    writer.post_ask(&NewAsk { from: "w~1", prompt: "?", ..NewAsk::default() }, 1).unwrap();
    writer.post_tell("w~1", "x", 1).unwrap();
    writer.claim("repo", "w~1", &Lease { nonce: "1", wall: 1, alive: &|_| true }).unwrap();
    writer.append_journal("- x").unwrap();
    writer.write_snapshot("sensor-a", b"{}").unwrap();
    writer.make_run(RunId(1), b"x").unwrap();
}

fn check(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
        let private = if path.is_dir() || path.ends_with("sensors/a.sh") { 0o700 } else { 0o600 };
        assert_eq!(mode, private, "{}", path.display());
        if path.is_dir() {
            check(&path);
        }
    }
}

/// The child's part: without the variable there is nothing to do here.
#[test]
fn child() {
    if let Some(root) = std::env::var_os(CHILD) {
        furnish(Path::new(&root));
    }
}

#[test]
fn everything_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let dir = tempfile::tempdir().unwrap();
        let ran = Command::new("/bin/sh")
            .args(["-c", "umask \"$0\"; exec \"$@\"", umask])
            .arg(std::env::current_exe().unwrap())
            .args(["modes::child", "--exact"])
            .env(CHILD, dir.path().join("profile"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        check(dir.path());
    }
}
