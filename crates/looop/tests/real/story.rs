//! What looop is for, from a failing check to merged work: a goal starts an agent in a copy of a repository, the agent
//! asks, its person answers when its shell has long stopped waiting, and the loop is killed again and again on the way.

mod rows;

use std::path::{Path, PathBuf};
use std::process::Command;

use looop_core::ledger::entry::Entry;
use looop_sim::model::Model;
use looop_sim::profile::{Profile, write_program};
use serde_json::Value;

use crate::agents::{Agent, hired};
use crate::apart::{Gate, has_run_alone, left_in_tmp};
use crate::desk::Desk;
use crate::needs::found;
use crate::person::Person;
use crate::till::{Bill, PRICES, Till};
use rows::{CLAUDE, CODEX, GEMINI, OPENCODE, Own, PI, PLAIN, Row};

/// A person's home with a repository whose checks fail, a goal for each, and the agent that shall see to them.
struct Story {
    row: &'static Row,
    agent: Agent,
    desk: Desk,
    model: Model,
    gate: Gate,
    repo: PathBuf,
}

impl Story {
    /// The goals have the names of the files that shall hold a colour.
    fn of(row: &'static Row, goals: &[&'static str]) -> Self {
        let agent = (row.agent)();
        let (desk, model, gate) = hired(&agent, goals[0], "story");
        let profile = desk.profile();
        let repo = repository(profile, goals);
        if let Some((path, more)) = row.settings {
            add(&profile.outside().join("home").join(path), more);
        }
        profile.run(&["init", "--runner", agent.runner]).ok();
        let config = profile.file("config.toml").unwrap();
        let paid = format!("default = [\"builtin\", \"{}\"]", agent.runner);
        let config = config.replace(&paid, "default = \"builtin\"");
        assert!(config.contains("default = \"builtin\""), "{config}");
        profile.write("config.toml", format!("{config}{PRICES}"));
        for goal in goals {
            let front = format!("check: ./check.sh {goal}\nrepo: {}\nworker: |\n", repo.display());
            let recipe = format!(
                "  first: $LOOOP_BIN ask --prompt Which-colour\n  with: {}\n  then: echo COLOUR > {goal} && git commit -qam \
                 COLOUR && $LOOOP_BIN kill {goal}\n",
                row.patience
            );
            profile
                .write(&format!("goals/{goal}.md"), format!("---\n{front}{recipe}---\nIt has its colour.\n"));
        }
        Self { row, agent, desk, model, gate, repo }
    }

    fn run(&self, args: &[&str]) -> looop_sim::profile::Ran {
        self.desk.profile().run(args)
    }

    fn up(&self) {
        self.run(&["up"]).ok();
    }

    /// The person, who has used it before, opens the same agent for themselves.
    fn opens(&self) -> Person {
        let (own, home) = (&self.row.own, self.desk.profile().outside().join("home"));
        for (path, text) in (own.files)(&home.to_string_lossy()) {
            std::fs::write(home.join(path), text).unwrap();
        }
        let mut person = Person::running(&self.own(own.args), 110, 36);
        person.sees(own.ready);
        person
    }

    /// A call of the agent by the person, in their home.
    fn own(&self, args: &[&str]) -> Command {
        let profile = self.desk.profile();
        let mut command = Command::new(self.agent.runner);
        let settings = profile.command::<&str>(&[]);
        command.args(args).env_clear();
        command.envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(profile.outside().join("home"));
        command
    }

    /// Kills the loop without a warning, and starts it again.
    #[track_caller]
    fn is_killed_and_comes_back(&self) {
        let status = self.run(&["status", "--json"]).ok().json();
        let pid = status["pulse"]["pid"].as_u64().unwrap_or_else(|| panic!("no pulse: {status}"));
        let killed = Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status().unwrap();
        assert!(killed.success(), "{pid}");
        self.up();
    }

    /// Waits for an entry of the log.
    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&Entry) -> bool) {
        let profile = self.desk.profile();
        profile.until_is(what, || profile.entries().iter().any(&is));
    }

    /// The question of a goal's worker, once it is there.
    #[track_caller]
    fn question(&self, goal: &str) -> String {
        let asked = |ask: &Value| ask["from"] == format!("{goal}~1");
        self.desk.profile().until("a question", || {
            let asks = self.run(&["asks", "--json"]).ok().json();
            let ask = asks.as_array().unwrap().iter().find(|ask| asked(ask))?;
            Some(ask["id"].as_str().unwrap().to_owned())
        })
    }

    /// Waits until the agent has gone on without the answer: its model was told so, and has ended its turn.
    #[track_caller]
    fn stops_waiting(&self, goal: &str) {
        self.model.until("an agent that waits no more", |requests| {
            let waits =
                |request: &&Value| request["reply"].as_str().unwrap().contains("I wait for my person");
            requests.iter().filter(waits).any(|request| self.is_of(goal, request)).then_some(())
        });
    }

    /// Whether a request is one of a goal's worker.
    fn is_of(&self, goal: &str, request: &Value) -> bool {
        let number = usize::try_from(request["n"].as_u64().unwrap()).unwrap();
        let body = self.model.request(number);
        body.contains(&format!("sessions/{goal}~1/")) || body.contains(&format!("(session {goal}~1)"))
    }

    /// How a goal stands.
    fn state(&self, goal: &str) -> String {
        let status = self.run(&["status", "--json"]).ok().json();
        let goals = status["goals"].as_array().unwrap();
        let row = goals.iter().find(|row| row["id"] == goal).unwrap_or_else(|| panic!("{status}"));
        row["state"].as_str().unwrap().to_owned()
    }

    /// The work of a goal is proven in its copy, waits, is looked at and is merged, and then the goal holds.
    #[track_caller]
    fn is_reviewed_and_merged(&self, goal: &str) {
        let session = format!("{goal}~1");
        self.until(
            "a proof",
            |entry| matches!(entry, Entry::Verified { session: of, pass: true, .. } if *of == session),
        );
        assert_eq!(
            std::fs::read_to_string(self.repo.join(goal)).unwrap(),
            "none\n",
            "nothing came by itself"
        );
        let waits = self.run(&["review", "--json"]).ok().json();
        let waits = waits.as_array().unwrap();
        let work = waits
            .iter()
            .find(|work| work["session"] == session.as_str())
            .unwrap_or_else(|| panic!("{waits:?}"));
        assert_eq!((&work["verify"], &work["commits"]), (&"pass".into(), &1.into()), "{work}");
        let shown = self.run(&["review", goal]).ok().stdout;
        assert!(shown.contains("-none") && shown.contains("+teal"), "{shown}");
        self.run(&["merge", goal]).ok();
        let profile = self.desk.profile();
        profile.until_is("a goal that holds", || self.state(goal) == "its check holds");
        assert_eq!(std::fs::read_to_string(self.repo.join(goal)).unwrap(), "teal\n");
    }

    /// The agent was told the answer once, and only its own worker was started.
    #[track_caller]
    fn was_told_once(&self, goal: &str) {
        let requests = self.model.requests();
        let last =
            requests.iter().rfind(|request| request["side"] == false && self.is_of(goal, request)).unwrap();
        let body = self.model.request(usize::try_from(last["n"].as_u64().unwrap()).unwrap());
        assert_eq!(body.matches("colour=teal").count(), 1, "{body}");
        let started = |entry: Entry| {
            if let Entry::WorkerStarted { session, .. } = entry { Some(session) } else { None }
        };
        let entries = self.desk.profile().entries();
        let sessions: Vec<String> =
            entries.into_iter().filter_map(started).filter(|session| session.starts_with(goal)).collect();
        assert_eq!(sessions, [format!("{goal}~1")]);
    }

    /// What looop says that a worker has cost is what the server charged for it.
    #[track_caller]
    fn has_cost_what_was_charged(&self, goal: &str) {
        self.until("a settled account", |entry| {
            matches!(entry, Entry::Spent { session, closes: true, .. } if *session == format!("{goal}~1"))
        });
        let report = self.run(&["cost", "--json", "--by", "worker"]).ok().json();
        let groups = report["groups"].as_array().unwrap();
        let cost = groups.iter().find(|group| group["name"] == goal).unwrap_or_else(|| panic!("{report}"));
        // What it asked while it was being ended may not be in its file.
        let last = |request: &Value| request["reply"].as_str().unwrap().contains("It is done.");
        let whole =
            Till::of_those(&self.model, |request| self.is_of(goal, request) && request["side"] == false);
        let in_time = Till::said(cost) == whole;
        let own = |request: &Value| self.is_of(goal, request) && (in_time || !last(request));
        Bill::of(self.agent.runner).agrees(cost, &self.model, own);
    }

    /// What was said to an agent that is no worker.
    fn said_to_others(&self, goals: &[&str]) -> Vec<String> {
        let talk = self.model.requests().into_iter().filter(|request| request["side"] == false);
        let other = talk.filter(|request| !goals.iter().any(|goal| self.is_of(goal, request)));
        other.map(|request| request["said"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends what the person's own agent left running when they closed it. Nothing of it is a worker's.
    #[track_caller]
    fn is_cleared_up(&self) {
        for process in self.desk.profile().processes() {
            let (pid, arguments) = process.split_once(' ').unwrap();
            let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { continue };
            let is_workers = String::from_utf8_lossy(&environment).contains("LOOOP_SESSION_ID=");
            assert!(!is_workers, "{arguments}");
            // It may have ended by itself.
            drop(Command::new("kill").args(["-s", "KILL", pid]).output());
        }
    }

    /// Nothing is left: no process, no file, no branch.
    #[track_caller]
    fn left_nothing(&self, own: &Own) {
        let profile = self.desk.profile();
        assert_eq!(profile.survivors(), Vec::<String>::new());
        assert_eq!(git(&self.repo, &["branch", "--format=%(refname:short)"]), "main");
        assert_eq!(git(&self.repo, &["status", "--porcelain"]), "");
        assert_eq!(git(&self.repo, &["worktree", "list"]).lines().count(), 1);
        let is_known = |name: &String| {
            let mut known = self.row.home.iter().chain(own.home);
            name == "fence" || known.any(|known| name.starts_with(known))
        };
        let home = names(&profile.outside().join("home"));
        assert_eq!(home.into_iter().filter(|name| !is_known(name)).collect::<Vec<_>>(), Vec::<String>::new());
        let mut left = left_in_tmp(&[profile.outside(), self.model.folder()]);
        left.retain(|path| !own.tmp.iter().any(|name| path.starts_with(&format!("/tmp/{name}"))));
        assert_eq!(left, Vec::<String>::new());
        let asked = self.gate.asked();
        let other =
            |asked: &&String| !self.agent.habits.iter().chain(own.habits).any(|host| asked.contains(host));
        assert_eq!(asked.iter().filter(other).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}

/// The person says something to their own agent, and hears it.
fn talks(person: &mut Person, own: &Own, text: &str) {
    person.types(text);
    person.sees(text);
    person.presses_until(&format!("{}\r", own.between), &format!("I heard: {text}"));
}

/// Adds keys to a file of JSON.
fn add(path: &Path, more: &str) {
    let mut all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let more: Value = serde_json::from_str(more).unwrap();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    std::fs::write(path, all.to_string()).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(args);
    let output = git.env_remove("GIT_DIR").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository whose checks fail.
fn repository(profile: &Profile, goals: &[&str]) -> PathBuf {
    let repo = profile.outside().join("home/fence");
    std::fs::create_dir(&repo).unwrap();
    write_program(&repo.join("check.sh"), "#!/bin/sh\ntest \"$(cat \"$1\")\" = teal\n");
    for goal in goals {
        std::fs::write(repo.join(goal), "none\n").unwrap();
    }
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    // Not every agent shows its shell the settings in the home.
    git(&repo, &["config", "user.name", "A"]);
    git(&repo, &["config", "user.email", "a@example.com"]);
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "--quiet", "-m", "A fence"]);
    repo
}

/// The whole story of one worker, with the loop killed three times.
fn is_told(row: &'static Row, test: &str) {
    if !found(&[(row.agent)().runner, "python3", "bwrap", "git"]) || has_run_alone(test) {
        return;
    }
    let story = Story::of(row, &["paint"]);
    story.up();
    story.until("a worker", |entry| matches!(entry, Entry::WorkerStarted { .. }));
    story.is_killed_and_comes_back();
    let ask = story.question("paint");
    story.stops_waiting("paint");
    story.is_killed_and_comes_back();
    story.run(&["answer", &ask, "colour=teal"]).ok();
    story.is_killed_and_comes_back();
    story.is_reviewed_and_merged("paint");
    story.was_told_once("paint");
    story.has_cost_what_was_charged("paint");
    story.run(&["down"]).ok();
    story.left_nothing(&PLAIN);
}

/// Two workers at once on one repository, and the person's own agent open beside them.
fn is_told_beside(row: &'static Row, test: &str) {
    if !found(&[(row.agent)().runner, "python3", "bwrap", "git"]) || has_run_alone(test) {
        return;
    }
    let goals = ["paint", "gate"];
    let story = Story::of(row, &goals);
    let mut person = story.opens();
    talks(&mut person, &row.own, "hello there");
    story.up();
    let asks = goals.map(|goal| story.question(goal));
    for (goal, ask) in goals.iter().zip(&asks) {
        story.stops_waiting(goal);
        story.run(&["answer", ask, "colour=teal"]).ok();
    }
    for goal in goals {
        story.is_reviewed_and_merged(goal);
        story.was_told_once(goal);
        story.has_cost_what_was_charged(goal);
    }
    story.run(&["down"]).ok();
    talks(&mut person, &row.own, "hello again");
    let said = story.said_to_others(&goals);
    let first = row.own.args.iter().filter(|arg| arg.contains(' ')).map(|arg| (*arg).to_owned());
    let expected = first.chain(["hello there", "hello again"].map(str::to_owned));
    assert_eq!(said, expected.collect::<Vec<_>>());
    drop(person);
    story.is_cleared_up();
    story.left_nothing(&row.own);
}

#[test]
fn claude_tells() {
    is_told(&CLAUDE, "story::claude_tells");
}

#[test]
fn codex_tells() {
    is_told(&CODEX, "story::codex_tells");
}

#[test]
fn opencode_tells() {
    is_told(&OPENCODE, "story::opencode_tells");
}

#[test]
fn pi_tells() {
    is_told(&PI, "story::pi_tells");
}

#[test]
fn gemini_tells() {
    is_told(&GEMINI, "story::gemini_tells");
}

#[test]
fn two_of_claude_tell() {
    is_told_beside(&CLAUDE, "story::two_of_claude_tell");
}

#[test]
fn two_of_codex_tell() {
    is_told_beside(&CODEX, "story::two_of_codex_tell");
}

#[test]
fn two_of_pi_tell() {
    is_told_beside(&PI, "story::two_of_pi_tell");
}

#[test]
fn two_of_opencode_tell() {
    is_told_beside(&OPENCODE, "story::two_of_opencode_tell");
}

#[test]
fn two_of_gemini_tell() {
    is_told_beside(&GEMINI, "story::two_of_gemini_tell");
}
