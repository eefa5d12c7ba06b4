//! Work of workers that waits for a person, and what the next worker is told.

use super::crew::WORKED;
use super::*;
use crate::model::work::{Last, Settle, Work};
use crate::world::fleet::WorkerState;
use crate::world::probe::with_probes;

/// A goal whose workers get a copy of a repository.
const CODED: &str = "---\ncheck: test -e x\nworker: make x\nrepo: /src\n---\nThere is an x.\n";

fn some() -> Work {
    Work { branch: "looop/g-1".to_owned(), commits: 1, files: 2, problem: None }
}

/// The worker of the goal ends, with this in its copy and this proof.
fn ends(world: &mut World, session: &str, work: Work, code: i32) {
    world.dies(session, WorkerState::Exited(0));
    world.seen.works.insert(session.to_owned(), work);
    world.proof(session, code);
    world.beat();
}

/// A world whose goal was served once.
fn served(paid: &[&str]) -> World {
    let mut world = World::new(true, paid).goal("g", CODED);
    world.check("g", 1);
    world.beat();
    assert_eq!(world.begun(), "g~1");
    world
}

fn journal(world: &World) -> Vec<String> {
    let noted = |entry: &Entry| {
        if let Entry::WorkerNoted { journal, .. } = entry { Some(journal[19..].to_owned()) } else { None }
    };
    world.logged(noted)
}

fn standing(world: &World) -> String {
    let readings = with_probes(world.engine.ledger(), &world.seen, &world.now, &limits());
    let ledger = world.engine.ledger();
    let choice = crate::builtin::choose(ledger, &world.seen, &readings, (&world.now, &limits()));
    choice.standings["g"].text()
}

fn settle(world: &mut World, session: &str, how: Settle, because: Option<&str>) {
    let action = Move::SettleWork { session: session.into(), how, because: because.map(str::to_owned) };
    world.make(serde_json::to_value(Proposal::of(action)).unwrap());
}

fn last_told(world: &World) -> Option<Last> {
    let plan = &world.engine.ledger().acting.as_ref().expect("a move").plan;
    let Act::Worker { last, .. } = &plan.act else { panic!("{plan:?}") };
    last.as_deref().cloned()
}

#[test]
fn proven_work_waits_for_a_person_and_the_goal_is_served_by_nobody() {
    let mut world = served(&["m"]);
    ends(&mut world, "g~1", some(), 0);
    let record = world.engine.ledger().goal("g");
    assert_eq!((record.review.as_deref(), record.fruitless), (Some("g~1"), 0));
    assert_eq!(standing(&world), "the work of g is done and waits for you: looop review g");
    assert_eq!(world.doing(), None);
    assert_eq!(world.decides(), 1, "the end of a worker is news");
    world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
    let refusals = world
        .logged(|entry| if let Entry::Rejected { reason, .. } = entry { Some(reason.clone()) } else { None });
    let reason = "start worker w: p: the work of g~1 for goal g waits for a person's review";
    assert_eq!(refusals, [reason]);
    assert!(record.ready.is_none(), "it is not offered as due");
    for _ in 0..3 {
        world.pass(Duration::from_hours(30));
        world.beat();
        assert_eq!(world.doing(), None);
    }
    assert_eq!(
        journal(&world)[0],
        "[g] worker g~1: ended (exit 0), its work is proven, its cost was not reported ($2.00 reserved), its work waits for you: looop review g"
    );
    world.audit();
}

#[test]
fn the_person_is_told_once() {
    let mut world = served(&[]);
    ends(&mut world, "g~1", some(), 0);
    assert_eq!(world.told(), ["review:g~1"]);
    let message =
        world.logged(
            |entry| {
                if let Entry::Notified { message, .. } = entry { Some(message.clone()) } else { None }
            },
        );
    assert_eq!(message, ["g is done (goal g, branch looop/g-1): looop review g"]);
    for _ in 0..3 {
        world.pass(Duration::from_hours(30));
        world.beat();
        assert_eq!(world.told(), Vec::<String>::new());
    }
    world.audit();
}

#[test]
fn a_goal_that_holds_by_itself_waits_no_longer() {
    let mut world = served(&[]);
    ends(&mut world, "g~1", some(), 0);
    world.check("g", 0);
    world.beat();
    assert_eq!(world.engine.ledger().goal("g").review, None);
    world.check("g", 1);
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
    assert_eq!(last_told(&world).and_then(|last| last.branch).as_deref(), Some("looop/g-1"));
    world.audit();
}

#[test]
fn a_worker_that_changed_nothing_is_not_proven() {
    let mut world = served(&[]);
    world.dies("g~1", WorkerState::Exited(0));
    world.seen.works.insert("g~1".to_owned(), Work { branch: "looop/g-1".to_owned(), ..Work::default() });
    world.beat();
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Clean(session) if session == "g~1")));
    let record = &world.engine.ledger().workers["g~1"];
    assert_eq!((record.proven, record.unsettled()), (Some(false), None));
    assert_eq!(record.verify_word(), Some("unchanged"));
    assert_eq!(world.engine.ledger().goal("g").fruitless, 1);
    assert_eq!(
        journal(&world),
        ["[g] worker g~1: ended (exit 0), it changed nothing, its cost was not reported ($2.00 reserved)"]
    );
    assert_eq!(world.doing(), Some("start_worker"));
    assert_eq!(last_told(&world).map(|last| last.proof.unwrap().text).as_deref(), Some("it changed nothing"));
    world.audit();
}

#[test]
fn the_next_worker_is_told_of_branch_answers_and_failure() {
    let mut world = served(&[]);
    world.asks("g-1", "g~1", crate::model::letter::AskKind::Question);
    world.beat();
    world.answers("g-1", "blue");
    world.fetches("g-1");
    world.beat();
    ends(&mut world, "g~1", some(), 1);
    assert_eq!(world.doing(), Some("start_worker"));
    let last = last_told(&world).expect("a worker before");
    assert_eq!((last.session.as_str(), last.ended.as_str()), ("g~1", "exit 0"));
    assert_eq!(last.branch.as_deref(), Some("looop/g-1"));
    assert_eq!(last.proof.unwrap().tail, "a line\nthe last");
    assert_eq!((last.answers[0].question.as_str(), last.answers[0].answer.as_str()), ("Really?", "blue"));
    world.audit();
}

#[test]
fn without_a_command_that_proves_it_work_of_a_good_end_waits() {
    for (state, waits) in
        [(WorkerState::Exited(0), true), (WorkerState::Exited(1), false), (WorkerState::Killed, false)]
    {
        let mut world = World::new(true, &[]).goal("g", "---\nrepo: /src\n---\nProse.\n");
        let session = world.hire("w", Some("g"));
        world.dies(&session, state);
        world.seen.works.insert(session.clone(), some());
        world.beat();
        let ledger = world.engine.ledger();
        assert_eq!(ledger.workers[&session].waits_for_review(), waits);
        assert_eq!(ledger.goal("g").review.is_some(), waits);
        assert!(ledger.workers[&session].unsettled().is_some());
    }
}

#[test]
fn a_merge_ends_the_wait_and_is_not_done_twice() {
    let mut world = served(&[]);
    ends(&mut world, "g~1", some(), 0);
    settle(&mut world, "g~1", Settle::Merge, None);
    assert_eq!(world.doing(), Some("settle_work"));
    assert_eq!(world.act().unwrap().goal.as_deref(), Some("g"), "the goal is looked at after it");
    world.acted(Outcome::failed("it conflicts"));
    assert_eq!(world.engine.ledger().goal("g").review.as_deref(), Some("g~1"), "it waits as before");
    settle(&mut world, "g~1", Settle::Merge, None);
    world.acted(Outcome::done());
    assert_eq!(world.engine.ledger().goal("g").review, None);
    settle(&mut world, "g~1", Settle::Discard, None);
    let refused = world.each(|effect| {
        if let Effect::Reply(_, reply) = effect
            && let Reply::Refused { reason } = &**reply
        {
            return Some(reason.clone());
        }
        None
    });
    assert_eq!(refused, ["the work of g~1 was merged already"]);
    world.beat();
    assert_eq!(last_told(&world), None, "what was merged is in the repository");
    world.audit();
}

#[test]
fn what_a_person_threw_away_is_told_to_the_next_worker_with_the_reason() {
    let mut world = served(&[]);
    ends(&mut world, "g~1", some(), 0);
    settle(&mut world, "g~1", Settle::PullRequest, None);
    world.acted(Outcome::done());
    assert_eq!(world.engine.ledger().goal("g").review.as_deref(), Some("g~1"), "a pull request waits");
    settle(&mut world, "g~1", Settle::Discard, Some("too clever"));
    world.acted(Outcome::done());
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
    let last = last_told(&world).unwrap();
    assert_eq!((last.discarded.as_deref(), last.branch), (Some("too clever"), None));
    world.audit();
}

#[test]
fn only_a_person_settles_work() {
    let mut world = served(&["m"]);
    ends(&mut world, "g~1", some(), 0);
    world.decided(&json!({"action": "settle_work", "session": "g~1", "how": "merge"}));
    assert_eq!(world.doing(), None);
    assert!(world.engine.ledger().workers["g~1"].unsettled().is_some());
}

#[test]
fn work_that_is_not_settled_is_kept() {
    let mut world = served(&[]);
    ends(&mut world, "g~1", some(), 0);
    world.pass(Duration::from_hours(1000));
    world.beat();
    let pruned =
        world.each(|effect| if let Effect::Prune(_, all) = effect { Some(all.clone()) } else { None });
    assert_eq!(pruned, Vec::<Vec<String>>::new());
    settle(&mut world, "g~1", Settle::Discard, None);
    world.acted(Outcome::done());
    world.check("g", 0);
    world.beat();
    let pruned =
        world.each(|effect| if let Effect::Prune(_, all) = effect { Some(all.clone()) } else { None });
    assert_eq!(pruned, [["g~1".to_owned()]]);
}

#[test]
fn without_a_repository_there_is_nothing_to_review() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    world.check("g", 1);
    world.beat();
    let session = world.begun();
    world.dies(&session, WorkerState::Exited(0));
    world.proof(&session, 0);
    world.check("g", 0);
    world.beat();
    assert_eq!(world.engine.ledger().goal("g").review, None);
    assert_eq!(world.told(), Vec::<String>::new());
    settle(&mut world, &session, Settle::Merge, None);
    assert_eq!(world.doing(), None);
}
