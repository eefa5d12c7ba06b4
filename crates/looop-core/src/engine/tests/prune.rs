//! What is kept of ended workers goes in time or on request, and never what somebody still needs.

use super::*;
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;

fn ended(ids: &[&str]) -> World {
    let mut world = World::new(true, &[]);
    for id in ids {
        let session = world.hire(id, None);
        world.dies(&session, WorkerState::Exited(0));
    }
    world.beat();
    world
}

fn prune(world: &mut World, only: Option<&str>) -> RequestId {
    world.effects.clear();
    world.docs_of_now();
    world.ask(Request::Prune { only: only.map(str::to_owned) })
}

/// The edge removes what it was told to.
fn removed(world: &mut World) {
    for (id, sessions) in world.prunes() {
        for session in &sessions {
            world.seen.docs.fleet.workers.remove(session);
        }
        world.step(Event::Pruned(id, sessions, Vec::new()));
    }
}

fn sessions(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_is_kept_for_longer_than_its_time_goes() {
    let mut world = ended(&["w"]);
    world.pass(Duration::from_hours(72) - Duration::from_millis(1));
    world.beat();
    assert_eq!(world.prunes(), []);
    world.pass(Duration::from_millis(1));
    world.beat();
    assert_eq!(world.prunes(), [(None, sessions(&["w~1"]))]);
    assert!(world.engine.ledger().workers.contains_key("w~1"), "not before it is gone");
    removed(&mut world);
    assert!(world.engine.ledger().workers.is_empty());
    world.beat();
    assert_eq!(world.prunes(), []);
    assert_eq!(world.hire("w", None), "w~2", "its number is not used again");
    world.audit();
}

#[test]
fn who_lives_is_never_too_old() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.pass(Duration::from_hours(1000));
    world.beat();
    assert_eq!(world.prunes(), []);
}

#[test]
fn nothing_goes_in_time_while_its_question_waits_or_nobody_knows_who_lives() {
    type Setting = fn(&mut World);
    let table: [(&str, Setting); 3] = [
        ("a question waits", |world| world.asks("a", "w~1", AskKind::Question)),
        ("a flag waits", |world| world.asks("a", "w~1", AskKind::Flag)),
        ("a proposal waits", |world| world.asks("a", "w~1", AskKind::Proposal)),
    ];
    for (name, setting) in table {
        let mut world = ended(&["w"]);
        setting(&mut world);
        world.pass(Duration::from_hours(100));
        world.beat();
        assert_eq!(world.prunes(), [], "{name}");
        world.seen.letters.asks.clear();
        world.docs_of_now();
        world.beat();
        assert_eq!(world.prunes(), [(None, sessions(&["w~1"]))], "{name}");
        world.audit();
    }
    let mut world = ended(&["w"]);
    world.seen.docs.fleet.fault = Some("unreadable".into());
    world.pass(Duration::from_hours(100));
    world.beat();
    assert_eq!(world.prunes(), []);
}

#[test]
fn a_session_that_only_the_log_knows_goes_in_its_time() {
    let mut world = ended(&["w"]);
    world.seen.docs.fleet.workers.clear();
    world.pass(Duration::from_hours(71));
    world.beat();
    assert_eq!(world.prunes(), []);
    world.pass(Duration::from_hours(1));
    world.beat();
    assert_eq!(world.prunes(), [(None, sessions(&["w~1"]))]);
    removed(&mut world);
    assert!(world.engine.ledger().workers.is_empty());
    world.audit();
}

#[test]
fn a_person_has_all_that_is_kept_removed() {
    let mut world = ended(&["v", "w"]);
    world.hire("live", None);
    let id = prune(&mut world, None);
    assert_eq!(world.prunes(), [(Some(id), sessions(&["v~1", "w~1"]))]);
    assert_eq!(world.reply(id), None, "not before they are gone");
    removed(&mut world);
    let reply = Reply::Pruned { sessions: sessions(&["v~1", "w~1"]), kept: vec![] };
    assert_eq!(world.reply(id), Some(reply));
    let logged = world
        .logged(|entry| if let Entry::Pruned { sessions } = entry { Some(sessions.clone()) } else { None });
    assert_eq!(logged, [sessions(&["v~1", "w~1"])]);
    assert_eq!(world.engine.ledger().workers.keys().collect::<Vec<_>>(), ["live~1"]);
    world.audit();
}

#[test]
fn a_person_names_a_worker_or_one_of_its_sessions() {
    for (only, gone) in [("w", vec!["w~1", "w~2"]), ("w~1", vec!["w~1"]), ("v", vec!["v~1"])] {
        let mut world = ended(&["w", "w", "v"]);
        let id = prune(&mut world, Some(only));
        assert_eq!(world.prunes(), [(Some(id), sessions(&gone))], "{only}");
    }
    let mut world = ended(&["w"]);
    let id = prune(&mut world, Some("nobody"));
    let reason = "nothing is kept of a worker \"nobody\"".to_owned();
    assert_eq!((world.reply(id), world.prunes()), (Some(Reply::Refused { reason }), vec![]));
}

#[test]
fn what_must_stay_is_said_with_the_reason() {
    let mut world = ended(&["v", "w"]);
    world.asks("a", "w~1", AskKind::Question);
    let id = prune(&mut world, None);
    assert_eq!(world.prunes(), [(Some(id), sessions(&["v~1"]))], "also before the ask was noted");
    removed(&mut world);
    let kept = vec![("w~1".to_owned(), "a waits for your answer".to_owned())];
    assert_eq!(world.reply(id), Some(Reply::Pruned { sessions: sessions(&["v~1"]), kept: kept.clone() }));
    world.beat();
    let id = prune(&mut world, Some("w"));
    removed(&mut world);
    assert_eq!(world.reply(id), Some(Reply::Pruned { sessions: vec![], kept }));
    world.hire("live", None);
    let id = prune(&mut world, Some("live"));
    removed(&mut world);
    let kept = vec![("live~1".to_owned(), "it lives".to_owned())];
    assert_eq!(world.reply(id), Some(Reply::Pruned { sessions: vec![], kept }));
    world.audit();
}

#[test]
fn what_could_not_be_removed_is_said_and_stays() {
    let mut world = ended(&["v", "w"]);
    let id = prune(&mut world, None);
    let failed = vec![("w~1".to_owned(), "its worktree has changes".to_owned())];
    world.step(Event::Pruned(Some(id), sessions(&["v~1"]), failed.clone()));
    assert_eq!(world.reply(id), Some(Reply::Pruned { sessions: sessions(&["v~1"]), kept: failed }));
    assert!(world.engine.ledger().workers.contains_key("w~1"));
    world.audit();
}

#[test]
fn nothing_is_removed_while_nobody_knows_who_lives_or_without_the_workers() {
    let mut world = ended(&["w"]);
    world.seen.docs.fleet.fault = Some("sessions/ cannot be read".into());
    let id = prune(&mut world, None);
    let reason = "it is not known which workers run: sessions/ cannot be read".to_owned();
    assert_eq!((world.reply(id), world.prunes()), (Some(Reply::Refused { reason }), vec![]));
    let request = Request::Prune { only: None };
    world.effects.clear();
    world.step(Event::Asked(RequestId(99), Box::new(request.clone()), None));
    assert!(matches!(&world.effects[..], [Effect::Again(RequestId(99), again)] if **again == request));
}

#[test]
fn nothing_removed_is_no_news() {
    let mut world = ended(&[]);
    let lines = world.lines.len();
    let id = prune(&mut world, None);
    removed(&mut world);
    assert_eq!(world.reply(id), Some(Reply::Pruned { sessions: vec![], kept: vec![] }));
    assert_eq!(world.lines.len(), lines);
}

#[test]
fn what_a_move_under_way_works_with_is_not_removed() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.dies("w~1", WorkerState::Exited(1));
    world.beat();
    world.make(json!({"action": "restart_session", "id": "w"}));
    world.ask(Request::Prune { only: None });
    let gone: Vec<_> = world.prunes().into_iter().flat_map(|(_, gone)| gone).collect();
    assert_eq!(gone, Vec::<String>::new());
    world.begun();
    world.audit();
}
