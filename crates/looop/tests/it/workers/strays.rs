//! What a worker has running outside its session is said; what carries the session's mark is ended with it.

use std::path::Path;
use std::process::{Child, Command};

use looop_sim::waiting::Fifo;
use serde_json::{Value, json};

use super::trees::Repo;
use super::yard::Yard;

/// A program that a server of the person runs for a worker: outside the worker's session.
struct Served(Child);

impl Served {
    /// With the environment of the worker, as far as its mark goes, or with the server's own.
    fn run(folder: &Path, mark: Option<&str>) -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").current_dir(folder).env_remove("LOOOP_MARK");
        command.envs(mark.map(|mark| ("LOOOP_MARK", mark)));
        Self(command.spawn().unwrap())
    }

    fn row(&self, marked: bool, ended: bool) -> Value {
        json!({"pid": self.0.id(), "program": "sleep", "marked": marked, "ended": ended})
    }

    fn text(&self, what: &str) -> String {
        format!("sleep (pid {}) {what}", self.0.id())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

/// A worker's command that hands its mark to a server and goes on when told.
fn client(yard: &Yard) -> (Fifo, Fifo, String) {
    let (order, go) = (yard.profile.fifo("order"), yard.profile.fifo("go"));
    let command =
        format!("echo $LOOOP_MARK > '{}'; cat '{}'; exit 0", order.path().display(), go.path().display());
    (order, go, command)
}

#[test]
fn what_a_server_runs_for_a_worker_is_listed_and_killed_with_it() {
    let yard = Yard::new();
    let (order, _go, command) = client(&yard);
    yard.start("w", &command).ok();
    let mark = order.hear();
    let mut marked = Served::run(Path::new("/"), Some(mark.trim()));
    let mut unmarked = Served::run(&yard.session("w~1"), None);
    let mut rows = yard.row("w")["strays"].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["marked"] == false);
    assert_eq!(rows, [marked.row(true, false), unmarked.row(false, false)]);
    let listed = yard.run(&["ls"]).ok().stderr;
    assert!(listed.contains(&marked.text("runs outside its session")), "{listed}");
    assert!(listed.contains(&unmarked.text("runs in its folder, outside its session")), "{listed}");

    let killed = yard.run(&["kill", "w"]).ok().stderr;
    assert!(killed.contains(&marked.text("ran outside its session and was ended")), "{killed}");
    assert!(!marked.lives());
    assert!(unmarked.lives(), "what only works there may be a person's");
    let events = yard.run(&["events"]).ok().stdout;
    assert!(events.contains(&marked.text("ran outside its session and was ended")), "{events}");
}

#[test]
fn what_a_worker_left_elsewhere_when_it_ended_is_in_the_journal() {
    let repo = Repo::new();
    let (order, go, command) = client(&repo.yard);
    repo.start(&command).ok();
    let mark = order.hear();
    let mut marked = Served::run(Path::new("/"), Some(mark.trim()));
    let mut unmarked = Served::run(&repo.tree("ship~1"), None);
    go.say("\n");
    repo.yard.wait("ship~1");
    assert!(!marked.lives());
    assert!(unmarked.lives());
    repo.yard.run(&["beat"]).ok();
    let ended = marked.text("ran outside its session and was ended");
    let stays = unmarked.text("runs in its folder, outside its session");
    let journal = repo.yard.profile.file("journal.md").unwrap();
    assert!(journal.contains(&ended) && journal.contains(&stays), "{journal}");
    let events = repo.yard.run(&["events", "--json"]).ok().stdout;
    let event = events.lines().find(|line| line.contains("worker_ended")).unwrap();
    let event: Value = serde_json::from_str(event).unwrap();
    let mut rows = event["strays"].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["marked"] == false);
    assert_eq!(rows, [marked.row(true, true), unmarked.row(false, false)]);
    drop(unmarked);
}
