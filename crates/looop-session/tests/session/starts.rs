//! Starting among others: one of an id, and never more than allowed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::support::{Ground, image};
use looop_session::{Launched, Roll, Row, Spec, Standing, Start, StartError, host, start};

const LIVES: i32 = 3;
const FULL: i32 = 4;

/// Starts a session in a process of its own.
fn join(root: &Path, session: &str, cap: &str, spec: &Spec) -> Child {
    let mut command = Command::new(image());
    command.arg("join").arg(root).args([session, cap]).arg(serde_json::to_string(spec).unwrap());
    command.spawn().unwrap()
}

fn codes(children: Vec<Child>) -> Vec<i32> {
    children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect()
}

fn roll(root: &Path) -> Vec<Row> {
    Roll::default().read(root, &|_| true).unwrap()
}

fn end_all(root: &Path) {
    for row in roll(root) {
        host::end(&root.join(&row.session)).unwrap();
    }
}

fn here(root: &Path, session: &str, spec: &Spec, cap: Option<usize>) -> Result<Launched, StartError> {
    let id = session.rsplit_once('~').unwrap().0;
    let files: &[(&str, &[u8])] = &[("task.json", b"{}"), ("prompt.md", b"do it")];
    start(&Start { root, id, session, cap, spec, image: &image(), image_args: &["_host"], files })
}

#[test]
fn thirty_starts_of_one_id_and_one_lives() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("echo ran >> ledger; sleep 1000");
    // Half of them agree on the name, half of them do not.
    let names =
        (0..30).map(|number| if number % 2 == 0 { "one~1".to_owned() } else { format!("one~{number}") });
    let codes = codes(names.map(|name| join(&root, &name, "-", &spec)).collect());
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == LIVES).count(), 29, "{codes:?}");
    let alive: Vec<Row> = roll(&root).into_iter().filter(|row| row.alive).collect();
    assert_eq!(alive.len(), 1);
    end_all(&root);
    assert!(ground.read("ledger").lines().count() <= 1);
    assert_eq!(ground.alive(), []);
}

#[test]
fn thirty_ids_with_a_cap_of_eight_and_eight_live() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("sleep 1000");
    let codes = codes((0..30).map(|number| join(&root, &format!("w{number}~1"), "8", &spec)).collect());
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 8, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == FULL).count(), 22, "{codes:?}");
    assert_eq!(roll(&root).iter().filter(|row| row.alive).count(), 8);
    end_all(&root);
    assert_eq!(roll(&root).iter().filter(|row| row.alive).count(), 0);
    // There is room again.
    here(&root, "late~1", &ground.terminal_spec("true"), Some(8)).unwrap().wait().unwrap();
}

#[test]
fn an_id_may_live_again_after_its_end_under_another_name() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("read line");
    let first = here(&root, "a~1", &spec, Some(1)).unwrap();
    let refused = here(&root, "a~2", &spec, None).unwrap_err();
    assert!(matches!(&refused, StartError::Lives { session } if session == "a~1"), "{refused}");
    assert!(matches!(here(&root, "b~1", &spec, Some(1)).unwrap_err(), StartError::Full { live: 1, cap: 1 }));
    // An id that begins like another is another.
    let other = here(&root, "a~b~1", &spec, Some(2)).unwrap();
    host::end(&root.join("a~1")).unwrap();
    first.wait().unwrap();
    assert!(matches!(here(&root, "a~1", &spec, None).unwrap_err(), StartError::Host(_)));
    let second = here(&root, "a~2", &spec, None).unwrap();
    for (session, launched) in [("a~b~1", other), ("a~2", second)] {
        host::end(&root.join(session)).unwrap();
        launched.wait().unwrap();
    }
}

#[test]
fn files_lie_beside_the_spec_and_nobody_else_can_read_them() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("cat \"$PWD/sessions/a~1/prompt.md\"; exit 0");
    let launched = here(&root, "a~1", &spec, None).unwrap();
    launched.wait().unwrap();
    let folder = root.join("a~1");
    assert_eq!(fs::read(folder.join("output.log")).unwrap(), b"do it");
    for name in ["task.json", "prompt.md", "spec.json", "output.log", "receipt.json", "screen.json", "lock"] {
        let mode = fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    for path in [root.clone(), root.join("status"), folder] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
    let published = fs::metadata(root.join("status/a~1.ended.json")).unwrap();
    assert_eq!(published.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_start_that_cannot_be_launched_leaves_no_row() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("true");
    let image = PathBuf::from("/nowhere/at/all");
    let files = &[][..];
    let (cap, image_args) = (None, &["_host"][..]);
    let order =
        Start { root: &root, id: "a", session: "a~1", cap, spec: &spec, image: &image, image_args, files };
    assert!(matches!(start(&order).unwrap_err(), StartError::Host(_)));
    assert_eq!(roll(&root), []);
    assert_eq!(host::wait(&root.join("a~1")).unwrap(), Standing::NeverRan);
    here(&root, "a~2", &spec, None).unwrap().wait().unwrap();
}

#[test]
fn no_path_is_too_long() {
    let ground = Ground::new();
    let deep = ground.at(&"d".repeat(150)).join("e".repeat(150));
    fs::create_dir_all(&deep).unwrap();
    let root = deep.join("sessions");
    assert!(root.as_os_str().len() > 300);
    let launched = here(&root, "a~1", &ground.terminal_spec("echo ready; sleep 1000"), None).unwrap();
    let folder = root.join("a~1");
    crate::talk::Follower::of(&folder).until("ready");
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[cfg(debug_assertions)]
#[test]
fn a_launcher_that_dies_leaves_a_session_that_never_ran_or_one_that_runs() {
    let points = [
        ("host.prepared", false),
        ("start.announced", false),
        ("host.spawned", true),
        ("host.launched", true),
    ];
    for (point, alive) in points {
        let ground = Ground::new();
        let root = ground.at("sessions");
        let spec = serde_json::to_string(&ground.terminal_spec("sleep 1000")).unwrap();
        let mut command = Command::new(image());
        command.arg("join").arg(&root).args(["a~1", "-", &spec]).env("LOOOP_CRASH_AT", point);
        assert!(!command.status().unwrap().success());
        let folder = root.join("a~1");
        if alive {
            assert_eq!(host::standing(&folder).unwrap(), Standing::Live, "{point}");
        } else {
            assert_eq!(host::wait(&folder).unwrap(), Standing::NeverRan, "{point}");
            // The gate is open and the id is free.
            here(&root, "a~2", &ground.terminal_spec("true"), Some(1)).unwrap().wait().unwrap();
        }
        end_all(&root);
        assert_eq!(ground.alive(), []);
    }
}
