//! What is published about sessions, and the roll of them.

use std::fs;
use std::path::Path;

use crate::support::{Ground, image};
use crate::talk::{Call, Follower, ask};
use looop_session::{Ended, Launched, Roll, Row, Size, Spec, Start, State, forget, host, row, start};
use serde_json::json;

fn launch(root: &Path, session: &str, spec: &Spec) -> Launched {
    let (id, files) = (session.rsplit_once('~').unwrap().0, &[][..]);
    let order = Start { root, id, session, cap: None, spec, image: &image(), image_args: &["_host"], files };
    start(&order).unwrap()
}

fn rows(root: &Path) -> Vec<Row> {
    Roll::default().read(root).unwrap()
}

#[test]
fn an_absent_folder_has_no_sessions() {
    let ground = Ground::new();
    assert_eq!(rows(&ground.at("nothing")), []);
    assert_eq!(row(&ground.at("nothing"), "a~1").unwrap(), None);
    forget(&ground.at("nothing"), "a~1").unwrap();
}

#[test]
fn a_row_follows_the_life() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let mut spec = ground.terminal_spec("echo hello; read line; exit 6");
    spec.notes.insert("goal".into(), "ship".into());
    let launched = launch(&root, "a~1", &spec);
    let folder = root.join("a~1");
    let mut follower = Follower::of(&folder);
    follower.until("hello");
    // It said that it lives before it heard us.
    let live = row(&root, "a~1").unwrap().unwrap();
    assert!(live.alive && !live.lost && live.silent_ms.is_some());
    assert_eq!((live.status.state, live.status.host), (State::Live, i32::try_from(launched.pid()).ok()));
    assert_eq!(live.status.size, Some(Size { cols: 80, rows: 24 }));
    assert_eq!(live.status.notes["goal"], "ship");
    let hello = ask(&folder, &json!({"v": 2, "do": "hello"}));
    assert_eq!(live.status.child.map(i64::from), hello["child"].as_i64());
    ask(&folder, &json!({"v": 2, "do": "resize", "cols": 90, "rows": 30}));
    ask(&folder, &json!({"v": 2, "do": "pause"}));
    let paused = row(&root, "a~1").unwrap().unwrap();
    assert_eq!((paused.status.state, paused.status.size), (State::Paused, Some(Size { cols: 90, rows: 30 })));
    ask(&folder, &json!({"v": 2, "do": "go_on"}));
    assert_eq!(rows(&root)[0].status.state, State::Live);
    let mut viewer = Call::to(&folder);
    viewer.ask(&json!({"v": 2, "do": "attach"}));
    viewer.send(b'i', b"\r");
    launched.wait().unwrap();
    let ended = row(&root, "a~1").unwrap().unwrap();
    assert!(!ended.alive && !ended.lost && ended.silent_ms.is_none());
    assert_eq!((ended.status.state, ended.status.ended.clone()), (State::Ended, Some(Ended::Exited(6))));
    assert!(ended.status.ended_ms.unwrap() >= ended.status.started_ms);
    assert_eq!(ended.status.output_bytes, Some(fs::metadata(folder.join("output.log")).unwrap().len()));
    assert_eq!(ended.status.notes["goal"], "ship");
    assert!(!root.join("status/a~1.json").exists());
    assert_eq!(rows(&root), [ended]);
}

#[test]
fn a_host_that_was_killed_is_lost_until_it_is_forgotten() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let launched = launch(&root, "a~1", &ground.terminal_spec("echo hello; sleep 1000"));
    Follower::of(&root.join("a~1")).until("hello");
    let pid = rustix::process::Pid::from_raw(i32::try_from(launched.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    launched.wait().unwrap();
    let lost = rows(&root).remove(0);
    assert!(lost.lost && !lost.alive);
    assert_eq!(lost.status.state, State::Live);
    host::end(&root.join("a~1")).unwrap();
    ground.await_nobody();
    forget(&root, "a~1").unwrap();
    assert_eq!(rows(&root), []);
}

#[test]
fn an_end_that_was_not_published_is_read_from_the_receipt() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let launched = launch(&root, "a~1", &ground.terminal_spec("echo hello; exit 2"));
    launched.wait().unwrap();
    let ended = rows(&root).remove(0);
    // As a crash between the receipt and the status leaves it.
    let published = fs::read_to_string(root.join("status/a~1.ended.json")).unwrap();
    let mut status: serde_json::Value = serde_json::from_str(&published).unwrap();
    (status["state"], status["ended"]) = (json!("live"), json!(null));
    (status["ended_ms"], status["output_bytes"]) = (json!(null), json!(null));
    fs::write(root.join("status/a~1.json"), status.to_string()).unwrap();
    fs::remove_file(root.join("status/a~1.ended.json")).unwrap();
    assert_eq!(rows(&root), [ended]);
}

#[test]
fn the_roll_is_sorted_and_follows_changes() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let mut roll = Roll::default();
    let spec = ground.terminal_spec("true");
    for session in ["b~1", "a~2", "c~1"] {
        launch(&root, session, &spec).wait().unwrap();
    }
    let names = |rows: Vec<Row>| rows.into_iter().map(|row| row.session).collect::<Vec<_>>();
    assert_eq!(names(roll.read(&root).unwrap()), ["a~2", "b~1", "c~1"]);
    forget(&root, "b~1").unwrap();
    let live = launch(&root, "d~1", &ground.terminal_spec("echo hello; read line"));
    Follower::of(&root.join("d~1")).until("hello");
    let rows = roll.read(&root).unwrap();
    assert!(rows.iter().find(|row| row.session == "d~1").unwrap().alive);
    assert_eq!(names(rows), ["a~2", "c~1", "d~1"]);
    host::end(&root.join("d~1")).unwrap();
    live.wait().unwrap();
    let rows = roll.read(&root).unwrap();
    assert_eq!(rows[2].status.ended, Some(Ended::Killed));
}

#[test]
fn a_broken_status_is_named() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    launch(&root, "a~1", &ground.terminal_spec("true")).wait().unwrap();
    let file = root.join("status/a~1.ended.json");
    let good = fs::read_to_string(&file).unwrap();
    let other_version = good.replacen("\"v\":1", "\"v\":7", 1);
    for text in ["", "{", "[]", &other_version, &good.replace("a~1", "b~1"), &"x".repeat(2 << 20)] {
        fs::write(&file, text).unwrap();
        let error = Roll::default().read(&root).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("a~1.ended.json"), "{error}");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(Roll::default().read(&root).unwrap_err().to_string().contains("not a regular file"));
    fs::remove_dir(&file).unwrap();
    fs::write(root.join("status/notes.txt"), "not ours").unwrap();
    assert_eq!(rows(&root), []);
}

/// Somebody who reads all the time sees every session, whatever it is doing.
#[test]
fn no_session_is_ever_missing_from_the_roll() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("true");
    let mut roll = Roll::default();
    for number in 0..20 {
        let launched = launch(&root, &format!("w~{number}"), &spec);
        loop {
            let rows = roll.read(&root).unwrap();
            assert_eq!(rows.len(), number + 1);
            if rows.iter().all(|row| row.status.state == State::Ended) {
                break;
            }
        }
        launched.wait().unwrap();
    }
}
