//! Moves that touch workers.

use super::*;
use crate::engine::tests::paid;
use crate::world::fleet::{Worker, WorkerState, worker_of};

impl Desk {
    pub(super) fn with(mut self, session: &str, state: WorkerState) -> Self {
        let worker = Worker {
            id: worker_of(session).to_owned(),
            session: session.to_owned(),
            state,
            goal: None,
            runner: None,
            started: 0,
            ended: None,
            silent_s: None,
            strays: Vec::new(),
        };
        self.docs.fleet.workers.insert(session.to_owned(), worker);
        self
    }

    /// The session waits for the answer to `ask-9`.
    fn waits(mut self, session: &str) -> Self {
        self.docs.waiting.insert(session.to_owned(), "ask-9".to_owned());
        self
    }

    pub(super) fn goal_text(mut self, text: &str) -> Self {
        self.docs.goals.insert("g".to_owned(), Doc::of(text));
        self
    }

    /// A decider whose brief showed the world as it is now.
    pub(super) fn up_to_date(mut self) -> Self {
        let goals = &self.docs.goals;
        let goals = goals.iter().filter_map(|(id, doc)| Some((id.clone(), doc.digest()?))).collect();
        let (playbook, files) = (self.docs.playbook.digest(), file_digests(&self.docs));
        (self.author, self.rests) = (Author::Decider("m".into()), Some(Rests { playbook, goals, files }));
        self
    }
}

pub(super) fn start(fields: &Value) -> Value {
    let mut proposal = json!({"action": "start_worker", "id": "w", "prompt": "p"});
    proposal.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    proposal
}

fn worker(session: &str, verify: Option<&str>, repo: Option<&str>) -> Act {
    let (session, verify) = (session.to_owned(), verify.map(str::to_owned));
    Act::Worker {
        session,
        verify,
        repo: repo.map(str::to_owned),
        foreign: false,
        allowance: paid(),
        runner: Some("claude".to_owned()),
        model: None,
        last: None,
    }
}

const UNKNOWN: &str = "it is not known which workers run: sessions/ cannot be read";

#[test]
fn a_start_that_cannot_be_is_refused_with_the_reason() {
    let alive = || Desk::person().with("w~3", WorkerState::Alive);
    let full = |cap| {
        let mut desk = alive().with("v~1", WorkerState::Paused).with("u~1", WorkerState::Exited(0));
        desk.limits.max_workers = cap;
        desk
    };
    let bare = || {
        let mut desk = Desk::person();
        desk.limits.worker_runners.clear();
        desk
    };
    let own = |name| format!("\"{name}\" is a name of the loop's own; call the worker something else");
    let none =
        "no runner can start a worker; set runners.<name>.interactive in config.toml, or give a command";
    let empty = "the command or verify is empty";
    let table = vec![
        (Desk::person(), json!({"id": "pulse"}), own("pulse")),
        (Desk::person(), json!({"id": "move"}), own("move")),
        (Desk::person(), json!({"id": "decide"}), own("decide")),
        (Desk::person(), json!({"prompt": " \n"}), "the prompt is empty".to_owned()),
        (Desk::person(), json!({"command": " "}), empty.to_owned()),
        (Desk::person(), json!({"verify": ""}), empty.to_owned()),
        (Desk::person(), json!({"command": "x", "verify": " "}), empty.to_owned()),
        (alive(), json!({}), "worker \"w\" lives already, as w~3".to_owned()),
        (
            Desk::person().with("w~1", WorkerState::Paused),
            json!({}),
            "worker \"w\" lives already, as w~1".into(),
        ),
        (full(Some(2)), json!({"id": "x"}), "2 workers live and max_workers is 2".to_owned()),
        (full(Some(1)), json!({"id": "x"}), "2 workers live and max_workers is 1".to_owned()),
        (
            Desk::person(),
            json!({"runner": "codex"}),
            "no runner \"codex\" is configured that can start a worker".to_owned(),
        ),
        (bare(), json!({}), none.to_owned()),
        (
            bare(),
            json!({"runner": "claude"}),
            "no runner \"claude\" is configured that can start a worker".to_owned(),
        ),
        (Desk::person(), json!({"goal": "h"}), "there is no goal h".to_owned()),
        (Desk::person(), json!({"goal": "broken"}), "goals/broken.md is not UTF-8".to_owned()),
    ];
    for (number, (desk, fields, reason)) in table.into_iter().enumerate() {
        assert_eq!(desk.refusal(start(&fields)), reason, "row {number}: {fields}");
        let decider = desk.up_to_date();
        assert_eq!(decider.refusal(start(&fields)), reason, "row {number}, by a decider: {fields}");
    }
    for (desk, fields) in [
        (full(Some(3)), json!({"id": "x"})),
        (full(None), json!({"id": "x"})),
        (bare(), json!({"command": "x"})),
    ] {
        assert!(matches!(desk.judge(start(&fields)), Admission::Execute(_)), "{fields}");
    }
    for (desk, fields) in [
        (Desk::person(), json!({"runner": "claude"})),
        (Desk::person(), json!({"command": "x", "prompt": ""})),
        (Desk::person(), json!({"runner": "codex", "command": "x"})),
        (Desk::person().with("w~1", WorkerState::Exited(0)), json!({})),
        (Desk::person().with("w~1", WorkerState::Lost), json!({})),
    ] {
        assert!(matches!(desk.judge(start(&fields)), Admission::Execute(_)), "{fields}");
    }
}

#[test]
fn nothing_is_done_to_workers_while_nobody_knows_which_run() {
    let mut desk = Desk::person().with("w~1", WorkerState::Alive);
    desk.docs.fleet.fault = Some("sessions/ cannot be read".into());
    for proposal in [
        start(&json!({"id": "x"})),
        json!({"action": "steer_session", "id": "w", "input": "x"}),
        json!({"action": "send_key", "id": "w", "keys": ["Enter"]}),
        json!({"action": "kill_worker", "id": "w"}),
        json!({"action": "kill_worker", "id": "w", "force": true}),
        json!({"action": "restart_session", "id": "w"}),
        json!({"action": "restart_session", "id": "w", "force": true}),
    ] {
        assert_eq!(desk.refusal(proposal.clone()), UNKNOWN, "{proposal}");
    }
    assert_eq!(desk.plan(json!({"action": "run_shell", "cmd": "x"})).act, hosted("move~1"));
}

#[test]
fn only_who_runs_can_be_typed_to_or_killed() {
    let moves = [
        json!({"action": "steer_session", "id": "w", "input": "x"}),
        json!({"action": "send_key", "id": "w", "keys": ["Enter"]}),
        json!({"action": "kill_worker", "id": "w"}),
        json!({"action": "kill_worker", "id": "w", "force": true}),
    ];
    for proposal in moves {
        let nobody = Desk::person().refusal(proposal.clone());
        assert_eq!(nobody, "there is no worker \"w\"", "{proposal}");
        let dead = Desk::person().with("w~1", WorkerState::Lost).with("w~2", WorkerState::Exited(3));
        assert_eq!(dead.refusal(proposal.clone()), "worker \"w\" does not run: exit 3", "{proposal}");
    }
    let nobody = Desk::person().refusal(json!({"action": "restart_session", "id": "w"}));
    assert_eq!(nobody, "there is no worker \"w\"");
}

#[test]
fn an_empty_input_is_refused() {
    let desk = Desk::person().with("w~1", WorkerState::Alive);
    let table = [
        (json!({"action": "steer_session", "id": "w", "input": " \n"}), "the input is empty"),
        (json!({"action": "send_key", "id": "w", "keys": []}), "no key is named"),
    ];
    for (proposal, reason) in table {
        assert_eq!(desk.refusal(proposal), reason);
    }
}

#[test]
fn who_waits_on_a_person_is_left_alone() {
    let typed = "worker \"w\" waits on a person (ask-9); only a person answers that";
    let killed = "worker \"w\" is waiting for a person's answer to ask-9 and is not killed";
    let restarted = "worker \"w\" is waiting for a person's answer to ask-9 and is not restarted";
    let table = [
        (json!({"action": "steer_session", "id": "w", "input": "yes"}), typed),
        (json!({"action": "send_key", "id": "w", "keys": ["Enter"]}), typed),
        (json!({"action": "kill_worker", "id": "w"}), killed),
        (json!({"action": "restart_session", "id": "w"}), restarted),
    ];
    for (proposal, reason) in table {
        for state in [WorkerState::Alive, WorkerState::Paused] {
            let desk = || Desk::person().with("w~1", state.clone()).waits("w~1");
            assert_eq!(desk().refusal(proposal.clone()), reason, "{proposal}");
            assert_eq!(desk().up_to_date().refusal(proposal.clone()), reason, "by a decider: {proposal}");
            assert_eq!(
                Desk { author: Author::Builtin, ..desk() }.refusal(proposal.clone()),
                reason,
                "{proposal}"
            );
        }
        let other = Desk::person().with("w~2", WorkerState::Alive).waits("w~1").waits("v~1");
        assert!(matches!(other.judge(proposal.clone()), Admission::Execute(_)), "{proposal}: another waits");
    }
}

#[test]
fn a_person_can_end_by_force_who_waits() {
    let desk = Desk::person().with("w~1", WorkerState::Alive).waits("w~1");
    let kill = desk.plan(json!({"action": "kill_worker", "id": "w", "force": true}));
    assert_eq!(kill.act, Act::Ended { session: "w~1".into(), also: Vec::new() });
    let restart = desk.plan(json!({"action": "restart_session", "id": "w", "force": true}));
    assert_eq!(
        restart.act,
        Act::Again {
            from: "w~1".into(),
            session: "w~2".into(),
            asks: Vec::new(),
            allowance: paid(),
            runner: None
        }
    );
}

#[test]
fn the_dead_wait_for_nobody() {
    let desk = Desk::person().with("w~1", WorkerState::Exited(1)).waits("w~1");
    let act = desk.plan(json!({"action": "restart_session", "id": "w"})).act;
    assert_eq!(
        act,
        Act::Again {
            from: "w~1".into(),
            session: "w~2".into(),
            asks: Vec::new(),
            allowance: paid(),
            runner: None
        }
    );
}

#[test]
fn a_move_names_the_live_session_and_not_the_newest() {
    let desk = Desk::person().with("w~2", WorkerState::Alive).with("w~3", WorkerState::Lost);
    let act = desk.plan(json!({"action": "kill_worker", "id": "w"})).act;
    assert_eq!(act, Act::Ended { session: "w~2".into(), also: Vec::new() });
    let act = desk.plan(json!({"action": "steer_session", "id": "w", "input": "x"})).act;
    assert!(matches!(&act, Act::Typed { session, .. } if session == "w~2"), "{act:?}");
}

#[test]
fn a_session_has_the_number_after_all_that_were() {
    let table = [
        (0, vec![], "w~1"),
        (4, vec![], "w~5"),
        (0, vec!["w~2"], "w~3"),
        (4, vec!["w~2"], "w~5"),
        (4, vec!["w~9", "w~10"], "w~11"),
        (4, vec!["ww~20", "w-1~30"], "w~5"),
    ];
    for (used, on_disk, session) in table {
        let mut desk = Desk::person();
        desk.ledger.generations.insert("v".into(), 40);
        if used > 0 {
            desk.ledger.generations.insert("w".into(), used);
        }
        let desk = on_disk.iter().fold(desk, |desk, session| desk.with(session, WorkerState::Exited(0)));
        assert_eq!(desk.plan(start(&json!({}))).act, worker(session, None, None), "{used}, {on_disk:?}");
    }
}

#[test]
fn a_worker_is_proven_by_its_own_command_or_by_the_check_of_its_goal() {
    let both = "---\ncheck: test -e x\nrepo: ~/src/x\n---\n";
    let table = [
        ("# G\n", json!({}), None, None),
        ("# G\n", json!({"goal": "g"}), None, None),
        ("# G\n", json!({"goal": "g", "verify": "mine"}), Some("mine"), None),
        (both, json!({}), None, None),
        (both, json!({"verify": "mine"}), Some("mine"), None),
        (both, json!({"goal": "g"}), Some("test -e x"), Some("~/src/x")),
        (both, json!({"goal": "g", "verify": "mine"}), Some("mine"), Some("~/src/x")),
        ("---\nrepo: r\n---\n", json!({"goal": "g"}), None, Some("r")),
    ];
    for (text, fields, verify, repo) in table {
        let plan = Desk::person().goal_text(text).plan(start(&fields));
        assert_eq!(plan.act, worker("w~1", verify, repo), "{text} {fields}");
        let serves = fields.get("goal").map(|_| "g");
        assert_eq!(plan.goal.as_deref(), serves, "the goal that it serves is the one it works for");
    }
}

// What came too late.

#[test]
fn a_decision_about_a_worker_is_overtaken_by_another_session_or_state_of_it() {
    type Change = fn(Desk) -> Desk;
    let none = || Desk::person();
    let alive = || Desk::person().with("w~1", WorkerState::Alive);
    let dead = || Desk::person().with("w~1", WorkerState::Exited(0));
    let same: Change = |desk| desk;
    let appeared: Change = |desk| desk.with("w~1", WorkerState::Alive);
    let ended: Change = |desk| desk.with("w~1", WorkerState::Exited(0));
    let paused: Change = |desk| desk.with("w~1", WorkerState::Paused);
    let again: Change = |desk| desk.with("w~2", WorkerState::Alive);
    let died: Change = |desk| desk.with("w~2", WorkerState::Exited(0));
    let other: Change = |desk| desk.with("v~1", WorkerState::Alive);
    let pruned: Change = |mut desk| {
        desk.docs.fleet.workers.clear();
        desk
    };
    let kill = json!({"action": "kill_worker", "id": "w"});
    let steer = json!({"action": "steer_session", "id": "w", "input": "x"});
    let key = json!({"action": "send_key", "id": "w", "keys": ["Enter"]});
    let restart = json!({"action": "restart_session", "id": "w"});
    let begin = start(&json!({}));
    let late = Some("worker w changed while it was being decided".to_owned());
    let table = vec![
        (alive(), same, &kill, None),
        (alive(), other, &kill, None),
        (alive(), paused, &kill, None),
        (alive(), ended, &kill, late.clone()),
        (alive(), ended, &steer, late.clone()),
        (alive(), ended, &key, late.clone()),
        (alive(), ended, &restart, late.clone()),
        (alive(), pruned, &restart, late.clone()),
        (dead(), again, &steer, late.clone()),
        (dead(), again, &begin, late.clone()),
        (dead(), died, &restart, late.clone()),
        (dead(), pruned, &begin, late.clone()),
        (dead(), same, &restart, None),
        (dead(), same, &begin, None),
        (none(), same, &begin, None),
        (none(), other, &begin, None),
        (none(), appeared, &begin, late.clone()),
        (none(), appeared, &kill, late),
    ];
    for (number, (desk, change, proposal, expected)) in table.into_iter().enumerate() {
        let desk = change(desk.up_to_date());
        assert_eq!(desk.overtaken(proposal.clone()), expected, "row {number}: {proposal}");
    }
}

#[test]
fn a_decision_about_something_else_is_not_overtaken_by_a_worker() {
    let desk = Desk::person().up_to_date().with("w~1", WorkerState::Alive);
    assert_eq!(desk.overtaken(json!({"action": "run_shell", "cmd": "x"})), None);
}

// No progress.

fn fruitless(mut desk: Desk, count: u32, ask: Option<&str>) -> Desk {
    let record = GoalRecord { fruitless: count, ask: ask.map(str::to_owned), ..desk.ledger.goal("g") };
    desk.ledger.goals.insert("g".into(), record);
    desk
}

#[test]
fn a_fourth_worker_in_vain_is_a_persons_to_allow() {
    let proposal = || start(&json!({"goal": "g"}));
    for (count, author, asked) in [
        (1, Author::Decider("m".into()), false),
        (2, Author::Decider("m".into()), false),
        (3, Author::Decider("m".into()), true),
        (3, Author::Builtin, true),
        (3, Author::Person, false),
    ] {
        let desk = fruitless(Desk::of(author.clone()), count, None);
        let admission = desk.judge(proposal());
        match &admission {
            Admission::Ask { reason, instead } => {
                assert_eq!(reason, "its workers come to nothing; a person is asked");
                assert_eq!((instead.action.action(), instead.goal.as_deref()), ("ask_human", Some("g")));
                assert_eq!(instead.author, Author::Builtin, "the question is the loop's own");
            }
            Admission::Execute(plan) => assert_eq!(plan.act, worker("w~1", None, None)),
            Admission::Reject(_) | Admission::Overtaken(_) | Admission::Park(_) => panic!("{admission:?}"),
        }
        assert_eq!(matches!(admission, Admission::Ask { .. }), asked, "{count} by {author:?}");
        assert!(matches!(desk.judge(start(&json!({}))), Admission::Execute(_)), "for no goal");
    }
}

#[test]
fn while_a_goal_waits_on_a_person_only_the_person_starts_a_worker_for_it() {
    for count in [0, 2] {
        for author in [Author::Decider("m".into()), Author::Builtin] {
            let desk = fruitless(Desk::of(author), count, Some("ask-1"));
            let reason = desk.refusal(start(&json!({"goal": "g"})));
            assert_eq!(reason, "goal g waits for a person's answer to ask-1");
        }
        let desk = fruitless(Desk::person(), count, Some("ask-1"));
        assert_eq!(desk.plan(start(&json!({"goal": "g"}))).act, worker("w~1", None, None));
    }
}

#[test]
fn several_are_killed_by_one_move_and_none_if_one_may_not_be() {
    let desk = || Desk::person().with("a~1", WorkerState::Alive).with("b~3", WorkerState::Alive);
    let both = json!({"action": "kill_worker", "id": "a", "also": ["b"]});
    let act = desk().plan(both.clone()).act;
    assert_eq!(act, Act::Ended { session: "a~1".into(), also: vec!["b~3".into()] });
    assert!(matches!(desk().waits("b~3").judge(both), Admission::Reject(why) if why.contains("\"b\"")));
    let gone = json!({"action": "kill_worker", "id": "a", "also": ["c"]});
    assert!(matches!(desk().judge(gone), Admission::Reject(why) if why == "there is no worker \"c\""));
}
