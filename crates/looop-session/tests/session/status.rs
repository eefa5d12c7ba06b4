//! What is published about sessions, and the roll of them.

use std::fs;
use std::path::Path;

use crate::support::{Ground, image};
use crate::talk::{Call, Follower, ask};
use looop_session::{
    Ended, Launched, Roll, Row, Size, Spec, Start, StartError, State, forget, host, row, start,
};
use serde_json::json;

fn launch(root: &Path, session: &str, spec: &Spec) -> Launched {
    let (id, files) = (session.rsplit_once('~').unwrap().0, &[][..]);
    let order = Start { root, id, session, cap: None, spec, image: &image(), image_args: &["_host"], files };
    start(&order).unwrap()
}

fn rows(root: &Path) -> Vec<Row> {
    Roll::default().read(root, &|_| true).unwrap()
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
    fs::remove_dir_all(root.join("a~1")).unwrap();
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
    assert_eq!(names(roll.read(&root, &|_| true).unwrap()), ["a~2", "b~1", "c~1"]);
    fs::remove_dir_all(root.join("b~1")).unwrap();
    forget(&root, "b~1").unwrap();
    let live = launch(&root, "d~1", &ground.terminal_spec("echo hello; read line"));
    Follower::of(&root.join("d~1")).until("hello");
    let rows = roll.read(&root, &|_| true).unwrap();
    assert!(rows.iter().find(|row| row.session == "d~1").unwrap().alive);
    assert_eq!(names(rows), ["a~2", "c~1", "d~1"]);
    host::end(&root.join("d~1")).unwrap();
    live.wait().unwrap();
    let rows = roll.read(&root, &|_| true).unwrap();
    assert_eq!(rows[2].status.ended, Some(Ended::Killed));
}

/// What can be found in a file after a power cut, or by hand.
fn spoilt(good: &str) -> Vec<String> {
    let (other, version) = (good.replace("a~1", "b~1"), good.replacen("\"v\":1", "\"v\":7", 1));
    let zeros = "\0".repeat(good.len());
    [String::new(), "{".into(), "[]".into(), zeros, version, other, "x".repeat(2 << 20)].into()
}

#[test]
fn a_broken_status_is_one_row_and_is_published_anew() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let mut spec = ground.terminal_spec("exit 3");
    spec.notes.insert("goal".into(), "ship".into());
    launch(&root, "a~1", &spec).wait().unwrap();
    launch(&root, "b~1", &ground.terminal_spec("true")).wait().unwrap();
    let file = root.join("status/a~1.ended.json");
    let good = fs::read_to_string(&file).unwrap();
    let before = rows(&root);
    for text in spoilt(&good) {
        fs::write(&file, text).unwrap();
        let found = Roll::default().inspect(&root, &|_| true).unwrap();
        let fault = found[0].fault.clone().unwrap();
        assert!(fault.contains("status/a~1.ended.json"), "{fault}");
        assert_eq!(found[1], before[1], "the others are as they were");
        // The host's number goes with the file; all else is in the folder.
        let whole = |row: &Row| Row { fault: None, ..row.clone() };
        assert_eq!(whole(&found[0]), before[0]);
        assert_eq!(found, rows(&root));
        assert_eq!(rows(&root), before, "it was published anew");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(rows(&root)[0].fault.clone().unwrap().contains("not a regular file"));
    assert_eq!(rows(&root).len(), 2);
    fs::remove_dir(&file).unwrap();
    fs::write(root.join("status/notes.txt"), "not ours").unwrap();
    assert_eq!(rows(&root)[0].fault, Some("status/a~1.json: missing".to_owned()));
    assert_eq!(rows(&root), before);
}

#[test]
fn what_nothing_is_left_of_is_no_row() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    launch(&root, "a~1", &ground.terminal_spec("true")).wait().unwrap();
    fs::write(root.join("status/gone~1.ended.json"), "").unwrap();
    fs::create_dir(root.join("empty~1")).unwrap();
    fs::write(root.join("file~1"), "").unwrap();
    let names: Vec<String> = rows(&root).into_iter().map(|row| row.session).collect();
    assert_eq!(names, ["a~1"]);
}

#[test]
fn a_session_that_cannot_be_judged_keeps_no_other_from_being_seen() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    for session in ["a~1", "b~1"] {
        launch(&root, session, &ground.terminal_spec("true")).wait().unwrap();
    }
    fs::rename(root.join("status/a~1.ended.json"), root.join("status/a~1.json")).unwrap();
    fs::remove_file(root.join("a~1/lock")).unwrap();
    std::os::unix::fs::symlink("/dev/null", root.join("a~1/lock")).unwrap();
    let found = rows(&root);
    assert_eq!((found.len(), found[0].lost, found[0].alive), (2, true, false), "{found:?}");
    assert!(found[0].fault.as_ref().unwrap().starts_with("a~1: "), "{found:?}");
}

#[test]
fn a_live_session_whose_status_is_lost_is_alive_and_keeps_its_id() {
    let ground = Ground::new();
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("echo hello; read line");
    let live = launch(&root, "a~1", &spec);
    Follower::of(&root.join("a~1")).until("hello");
    let file = root.join("status/a~1.json");
    let good = fs::read_to_string(&file).unwrap();
    for pause in [true, false] {
        let word = if pause { "pause" } else { "go_on" };
        ask(&root.join("a~1"), &json!({"v": 2, "do": word}));
        let state = if pause { State::Paused } else { State::Live };
        for text in spoilt(&good) {
            fs::write(&file, text).unwrap();
            let found = rows(&root).remove(0);
            assert!(found.alive && found.fault.is_some());
            assert_eq!((found.status.state, found.status.host), (state, i32::try_from(live.pid()).ok()));
            let healed = rows(&root).remove(0);
            assert_eq!((healed.fault, healed.status.state), (None, state));
        }
    }
    fs::remove_file(&file).unwrap();
    let (id, files) = ("a", &[][..]);
    let order = Start {
        root: &root,
        id,
        session: "a~2",
        cap: None,
        spec: &spec,
        image: &image(),
        image_args: &["_host"],
        files,
    };
    assert!(matches!(start(&order), Err(StartError::Lives { session }) if session == "a~1"));
    host::end(&root.join("a~1")).unwrap();
    live.wait().unwrap();
    assert_eq!(rows(&root)[0].status.ended, Some(Ended::Killed));
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
            let rows = roll.read(&root, &|_| true).unwrap();
            assert_eq!(rows.len(), number + 1);
            if rows.iter().all(|row| row.status.state == State::Ended) {
                break;
            }
        }
        launched.wait().unwrap();
    }
}

/// Sixteen and more ended sessions, which are noted in the index.
fn ended_sessions(ground: &Ground) -> (std::path::PathBuf, Vec<Row>) {
    let root = ground.at("sessions");
    let spec = ground.terminal_spec("true");
    for number in 10..30 {
        launch(&root, &format!("w{number}~1"), &spec).wait().unwrap();
    }
    let before = rows(&root);
    assert!(before.len() == 20 && root.join(INDEX).exists());
    (root, before)
}

const INDEX: &str = "status/.ended.json";

#[test]
fn many_ended_sessions_are_read_from_their_index() {
    let ground = Ground::new();
    let (root, before) = ended_sessions(&ground);
    assert_eq!(rows(&root), before);
    let index = fs::read_to_string(root.join(INDEX)).unwrap();
    let other = index
        .replace("\"session\":\"w12~1\",\"state\":\"ended\"", "\"session\":\"w12~1\",\"state\":\"live\"");
    assert_ne!(index, other);
    fs::write(root.join(INDEX), other).unwrap();
    assert_eq!(rows(&root)[2].status.state, State::Live, "what the index says is not looked up again");
}

#[test]
fn a_session_that_is_not_as_the_index_has_it_is_read_from_its_own_file() {
    let ground = Ground::new();
    let (root, before) = ended_sessions(&ground);
    let file = root.join("status/w12~1.ended.json");
    let text = fs::read_to_string(&file).unwrap();
    // Another file in its place, of the same size.
    fs::write(root.join("status/.new"), text.replace("\"exited\":0", "\"exited\":7")).unwrap();
    fs::rename(root.join("status/.new"), &file).unwrap();
    assert_eq!(rows(&root)[2].status.ended, Some(Ended::Exited(7)));
    // Broken by hand: it is judged by its folder, as if there were no index.
    fs::write(&file, "{}").unwrap();
    let mended = rows(&root);
    assert!(mended[2].fault.is_some());
    assert_eq!(mended[2].status.ended, Some(Ended::Exited(0)));
    fs::remove_dir_all(root.join("w20~1")).unwrap();
    forget(&root, "w20~1").unwrap();
    let names = |rows: &[Row]| rows.iter().map(|row| row.session.clone()).collect::<Vec<_>>();
    let kept: Vec<String> = names(&before).into_iter().filter(|name| name != "w20~1").collect();
    assert_eq!(names(&rows(&root)), kept, "the index brings nothing back");
}

#[test]
fn an_index_that_cannot_be_used_is_as_good_as_none() {
    let ground = Ground::new();
    let (root, before) = ended_sessions(&ground);
    for index in ["", "{", "{\"v\":9,\"ended\":[]}", "[]"] {
        fs::write(root.join(INDEX), index).unwrap();
        assert_eq!(rows(&root), before, "{index:?}");
        assert_ne!(fs::read_to_string(root.join(INDEX)).unwrap(), index, "it is written anew");
    }
    fs::remove_file(root.join(INDEX)).unwrap();
    fs::create_dir(root.join(INDEX)).unwrap();
    assert_eq!(rows(&root), before, "a folder in its place");
}
