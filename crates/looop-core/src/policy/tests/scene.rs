//! From a move and the world to a case.

use super::given::*;
use crate::gate::Limits;
use crate::ledger::state::{Ledger, WorkerRecord};
use crate::model::digest::Digest;
use crate::model::plan::Author;
use crate::time::Stamp;
use crate::world::fleet::{Fleet, Worker, WorkerState};
use crate::world::observation::{Doc, Docs, SensorFile};

/// A goal `mine` that a person wrote, a goal `theirs` that a decider wrote, and a worker for the latter.
fn world() -> (Ledger, Docs, Limits) {
    let mut ledger = Ledger::default();
    let theirs = Doc::of("theirs");
    ledger.written.insert("goals/theirs.md".into(), theirs.digest().unwrap());
    ledger.written.insert("goals/mine.md".into(), Digest::of(b"as a decider once had it"));
    let worker = Worker {
        id: "w".into(),
        session: "w~1".into(),
        state: WorkerState::Alive,
        goal: Some("theirs".into()),
        runner: Some("codex".into()),
        started: 0,
        ended: None,
        silent_s: None,
        strays: Vec::new(),
    };
    let docs = Docs {
        goals: [("mine".to_owned(), Doc::of("mine")), ("theirs".to_owned(), theirs)].into(),
        sensors: [("s".to_owned(), SensorFile { file: "s.py".into(), digest: None })].into(),
        fleet: Fleet { workers: [("w~1".to_owned(), worker)].into(), fault: None },
        ..Docs::default()
    };
    let limits = Limits { worker_runners: texts(&["claude", "codex"]), ..Limits::default() };
    (ledger, docs, limits)
}

fn start(goal: Option<&str>, runner: Option<&str>, command: Option<&str>) -> Move {
    Move::StartWorker {
        sandbox: false,
        repo: None,
        cwd: None,
        id: name("n"),
        prompt: "p".into(),
        goal: goal.map(name),
        runner: runner.map(str::to_owned),
        command: command.map(str::to_owned),
        verify: None,
    }
}

#[test]
fn a_goal_is_a_persons_unless_a_decider_wrote_these_bytes() {
    let (ledger, mut docs, limits) = world();
    let action = shell();
    let by = |docs: &Docs, goal| {
        case(&Scene { ledger: &ledger, docs, limits: &limits }, &action, goal, false).goal_by_person
    };
    assert!(by(&docs, Some("mine")));
    assert!(!by(&docs, Some("theirs")));
    assert!(!by(&docs, Some("gone")));
    assert!(!by(&docs, None));
    docs.goals.insert("theirs".into(), Doc::of("edited by hand"));
    assert!(by(&docs, Some("theirs")));
    docs.goals.insert("mine".into(), Doc::Broken { error: "no".into() });
    assert!(!by(&docs, Some("mine")));
}

/// A decider cannot type into a worker, or start one, in the name of another goal.
#[test]
fn a_workers_own_goal_comes_before_the_one_that_is_claimed() {
    let (mut ledger, docs, limits) = world();
    let moves = [
        Move::SteerSession { id: name("w"), input: "i".into() },
        Move::SendKey { id: name("w"), keys: texts(&["Enter"]) },
        start(Some("theirs"), None, None),
    ];
    for action in &moves {
        let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
        let case = case(&scene, action, Some("mine"), true);
        assert_eq!((case.goal, case.goal_by_person), (Some("theirs"), false), "{action:?}");
        assert_eq!(judge(&Policy::default(), &case).then, Then::Ask, "{action:?}");
    }
    let mut record = WorkerRecord::new(Author::Person, Stamp { wall: 0, up: 0, boot: 1 });
    record.goal = Some("mine".into());
    ledger.workers.insert("w~1".into(), record);
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    assert_eq!(case(&scene, &moves[0], None, false).goal, Some("mine"), "the log knows best");
    assert!(case(&scene, &moves[0], None, false).by_hand);
    let mut decided = ledger.clone();
    decided.workers.get_mut("w~1").unwrap().author = Author::Decider("d".into());
    let scene = Scene { ledger: &decided, docs: &docs, limits: &limits };
    assert!(!case(&scene, &moves[0], None, false).by_hand);
    decided.workers.clear();
    let scene = Scene { ledger: &decided, docs: &docs, limits: &limits };
    assert!(case(&scene, &moves[0], None, false).by_hand, "the loop did not start it");
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    let nobody = Move::SteerSession { id: name("nobody"), input: "i".into() };
    assert_eq!(case(&scene, &nobody, Some("mine"), false).goal, None);
}

#[test]
fn the_runner_is_the_one_that_would_run_it() {
    let (ledger, docs, limits) = world();
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    let table = [
        (start(None, None, None), Some("claude"), true),
        (start(None, Some("codex"), None), Some("codex"), true),
        (start(None, Some("pi"), None), Some("pi"), false),
        (start(None, Some("codex"), Some("x")), None, false),
        (Move::RestartSession { id: name("w"), reason: None, force: false }, Some("codex"), true),
        (shell(), None, false),
    ];
    for (action, runner, configured) in &table {
        let case = case(&scene, action, None, false);
        assert_eq!((case.runner, case.configured), (*runner, *configured), "{action:?}");
    }
}

#[test]
fn the_file_and_the_bounds_are_those_of_the_world() {
    let (ledger, docs, mut limits) = world();
    limits.confines = false;
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    let script = || "#!/bin/sh\n".to_owned();
    let there = Move::WriteSensor { name: name("s"), script: script() };
    let new = Move::WriteSensor { name: name("t"), script: script() };
    let case_of = |action| case(&scene, action, None, true);
    assert_eq!(case_of(&there).path.as_deref(), Some("sensors/s.py"));
    assert_eq!(case_of(&new).path.as_deref(), Some("sensors/t.sh"));
    assert!(case_of(&new).tainted && !case_of(&new).confined);
}

/// Every shell text of a move is judged, and nothing else of it.
#[test]
fn all_shell_text_is_judged() {
    let (ledger, docs, mut limits) = world();
    limits.policy.grants.push(gh());
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    let judged = |action: &Move| {
        let runs = case(&scene, action, None, false).runs;
        runs.into_iter().map(|run| (run.is_granted(), run.text)).collect::<Vec<_>>()
    };
    let list = |texts: &[(bool, &str)]| -> Vec<(bool, String)> {
        texts.iter().map(|(granted, text)| (*granted, (*text).to_owned())).collect()
    };
    assert_eq!(judged(&command("gh pr list")), list(&[(true, "gh pr list")]));
    let script = "#!/bin/sh\ngh pr list\n";
    let sensor = Move::WriteSensor { name: name("t"), script: script.into() };
    assert_eq!(judged(&sensor), list(&[(true, script)]));
    let body = "---\ncheck: gh pr list\nrun: rm y\n---\ncurl z\n";
    let goal = Move::WriteGoal { id: name("g"), body: body.into() };
    assert_eq!(judged(&goal), list(&[(true, "gh pr list"), (false, "rm y")]));
    let worker = Move::StartWorker {
        sandbox: false,
        repo: None,
        cwd: None,
        id: name("n"),
        prompt: "curl z".into(),
        goal: None,
        runner: None,
        command: Some("rm y".into()),
        verify: Some("gh pr list".into()),
    };
    assert_eq!(judged(&worker), list(&[(false, "rm y"), (true, "gh pr list")]));
    assert_eq!(judged(&Move::WritePlaybook { body: "rm y".into() }), []);
}

/// Only a person's goal gives, only to commands that serve it, and never to what is written down.
#[test]
fn a_goals_grants_go_to_what_serves_it() {
    let (mut ledger, mut docs, limits) = world();
    let body = "---\nallow: |\n  [[grant]]\n  command = [\"gh\", \"pr\", \"list\"]\n---\n";
    let theirs = Doc::of(body);
    ledger.written.insert("goals/theirs.md".into(), theirs.digest().unwrap());
    docs.goals.insert("theirs".into(), theirs);
    docs.goals.insert("mine".into(), Doc::of(format!("{body}Mine.\n")));
    let scene = Scene { ledger: &ledger, docs: &docs, limits: &limits };
    let given = |action: &Move, goal| case(&scene, action, goal, false).runs.iter().any(Run::is_granted);
    let shell = command("gh pr list");
    assert!(given(&shell, Some("mine")));
    assert!(!given(&shell, Some("theirs")));
    assert!(!given(&shell, None));
    let sensor = Move::WriteSensor { name: name("t"), script: "#!/bin/sh\ngh pr list\n".into() };
    assert!(!given(&sensor, Some("mine")));
    let goal = Move::WriteGoal { id: name("g"), body: "---\nrun: gh pr list\n---\n".into() };
    assert!(!given(&goal, Some("mine")));
}
