//! Hosts of earlier versions, driven by the client of today.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crate::support::Ground;
use crate::talk::Follower;
use looop_session::client::{Follow, View};
use looop_session::kernel::Delivery;
use looop_session::{Client, ClientError, Size, Standing, Transcript, host};
use serde_json::Value;

const RECORDING: &str = include_str!("fixtures/host_v1.txt");
const SPEC: &str = r#"{"mark":"00000000000000000000000000000000","v":1,"argv":["/bin/sh","-c","echo started; exec sleep 1000"],"cwd":"/","env":[],"deadline_ms":null,"output_keep":65536,"spare":[]}"#;
const RECEIPT: &str = r#"{"v":1,"ended":"killed","started_ms":1,"ended_ms":2,"output_bytes":8,"left":[]}"#;

/// Says exactly what was recorded, and ends as that host did.
struct Replay {
    folder: PathBuf,
    heard: JoinHandle<Vec<String>>,
}

impl Replay {
    fn start(ground: &Ground) -> Self {
        let folder = ground.at("s");
        fs::create_dir(&folder).unwrap();
        let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        put("spec.json", SPEC);
        put("started", "host 12009\n");
        put("output.log", "started\n");
        let lock = File::create(folder.join("lock")).unwrap();
        lock.try_lock().unwrap();
        let listener = UnixListener::bind(folder.join("sock")).unwrap();
        let inside = folder.clone();
        let heard = std::thread::spawn(move || {
            let mut heard = Vec::new();
            while !serve(&listener.accept().unwrap().0, &mut heard) {}
            fs::write(inside.join("receipt.json"), RECEIPT).unwrap();
            fs::remove_file(inside.join("sock")).unwrap();
            drop(lock);
            heard
        });
        Self { folder, heard }
    }

    /// What it was told, once it has ended.
    fn heard(self) -> Vec<String> {
        self.heard.join().unwrap()
    }
}

/// Answers a caller; says whether it asked for the end.
fn serve(stream: &UnixStream, heard: &mut Vec<String>) -> bool {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = answer(&line);
        heard.push(line);
        let mut stream = stream;
        writeln!(stream, "{}", answer.unwrap_or_else(|| panic!("not in the recording: {heard:?}"))).unwrap();
        if heard.last().unwrap().contains("kill") {
            return true;
        }
    }
    false
}

fn answer(said: &str) -> Option<&'static str> {
    let mut lines = RECORDING.lines();
    lines.find(|line| line.strip_prefix("> ") == Some(said))?;
    lines.next()?.strip_prefix("< ")
}

#[test]
fn it_is_killed_through_the_client() {
    let ground = Ground::new();
    let old = Replay::start(&ground);
    let client = Client::connect(&old.folder).unwrap();
    assert_eq!((client.hello().v, client.hello().pid), (1, Some(12009)));
    client.kill().unwrap();
    assert!(matches!(host::wait(&old.folder).unwrap(), Standing::Ended(_)));
    assert_eq!(old.heard(), [r#"{"v":2,"do":"hello"}"#, r#"{"v":1,"do":"hello"}"#, r#"{"v":1,"do":"kill"}"#]);
}

#[test]
fn it_is_ended_from_outside() {
    let ground = Ground::new();
    let old = Replay::start(&ground);
    assert!(matches!(host::end(&old.folder).unwrap(), Standing::Ended(_)));
    assert_eq!(old.heard(), [r#"{"do":"kill"}"#]);
}

#[test]
fn it_is_not_driven_and_says_so_and_its_log_is_read() {
    let ground = Ground::new();
    let old = Replay::start(&ground);
    let is_old = |error: &ClientError| {
        matches!(error, ClientError::Old) && error.to_string().contains("older version: it can be killed")
    };
    let mut client = Client::connect(&old.folder).unwrap();
    assert!(is_old(&client.screen(false).unwrap_err()));
    assert!(is_old(&client.send(None, "text", true).unwrap_err()));
    assert!(is_old(&client.key(None, &["Enter".to_owned()]).unwrap_err()));
    assert!(is_old(&client.resize(Size::default()).unwrap_err()));
    assert!(is_old(&client.detach().unwrap_err()));
    assert!(is_old(&client.pause().unwrap_err()));
    assert!(is_old(&client.go_on().unwrap_err()));
    assert!(is_old(&client.attach(&View::default()).unwrap_err()));
    assert!(is_old(&Follow::open(&old.folder, 0).unwrap_err()));
    assert_eq!(read(&old.folder), "started\n");
    Client::connect(&old.folder).unwrap().kill().unwrap();
    // Nothing but greetings and the end ever reached it.
    assert!(old.heard().iter().all(|line| line.contains("hello") || line.contains("kill")));
}

fn read(folder: &Path) -> String {
    let mut transcript = Transcript::open(folder).unwrap().unwrap();
    String::from_utf8(transcript.span(0, u64::MAX).unwrap().1).unwrap()
}

/// A host as it was before it looked for the echo itself: the one of today, seen through a call that leaves that word out.
fn without_echo(folder: &Path) -> JoinHandle<Vec<Value>> {
    let real = folder.join("real");
    fs::rename(folder.join("sock"), &real).unwrap();
    let listener = UnixListener::bind(folder.join("sock")).unwrap();
    std::thread::spawn(move || {
        let caller = listener.accept().unwrap().0;
        let mut host = BufReader::new(UnixStream::connect(&real).unwrap());
        let mut heard = Vec::new();
        for line in BufReader::new(&caller).lines().map_while(Result::ok) {
            let request: Value = serde_json::from_str(&line).unwrap();
            let submits = request["do"] == "send" && request["submit"] == true;
            assert!(!submits, "it would press Enter whatever the screen shows: {line}");
            heard.push(request["do"].clone());
            writeln!(host.get_mut(), "{line}").unwrap();
            let mut reply = String::new();
            host.read_line(&mut reply).unwrap();
            let mut reply: Value = serde_json::from_str(&reply).unwrap();
            reply.as_object_mut().unwrap().remove("echo");
            writeln!(&caller, "{reply}").unwrap();
        }
        heard
    })
}

#[test]
fn through_one_that_does_not_look_for_the_echo_the_client_does() {
    let menu = "stty -echo -icanon min 1; printf '\\033[?2004h\\033[?25l> 1. Yes\\r\\n  2. No ready'; exec sleep 1000";
    let lines = "echo ready; while read -r line; do echo \"<$line>\"; done";
    for (body, delivery, enters) in [(lines, Delivery::Unseen, 1), (menu, Delivery::NotTyped, 0)] {
        let ground = Ground::new();
        let (folder, launched) = ground.terminal(body);
        let mut follower = Follower::of(&folder);
        follower.until("ready");
        let old = without_echo(&folder);
        let mut client = Client::connect(&folder).unwrap();
        assert!(!client.hello().echo);
        assert_eq!(client.send(Some("a"), "NO, do not", true).unwrap().delivery, delivery);
        drop(client);
        let heard = old.join().unwrap();
        assert_eq!(heard.iter().filter(|said| **said == "key").count(), enters, "{heard:?}");
        if enters == 1 {
            follower.until("<NO, do not>");
        }
        fs::rename(folder.join("real"), folder.join("sock")).unwrap();
        host::end(&folder).unwrap();
        launched.wait().unwrap();
    }
}
