use super::*;
use crate::model::name::Name;

fn docs(goal: &str) -> Docs {
    let mut docs = Docs { playbook: Doc::of("# Rules\n"), ..Docs::default() };
    docs.goals.insert("ship".into(), Doc::of(goal));
    docs
}

fn now(wall: i64) -> Now {
    Now { wall, up: 0, boot: 1, zone: jiff::tz::TimeZone::UTC }
}

fn shell(goal: Option<&str>) -> Proposal {
    let action = Move::RunShell { cmd: "true".into(), reason: None };
    Proposal { goal: goal.map(|goal| Name::new(goal).unwrap()), ..Proposal::of(action) }
}

fn parked(proposed: bool, proposal: Proposal, docs: &Docs) -> Parked {
    let wish = Wish { by: "claude".into(), proposed, ..Wish::default() };
    Parked::new(wish, proposal, docs, &now(1000))
}

#[test]
fn a_deciders_move_rests_on_the_playbook_its_goal_and_its_object() {
    let found = parked(false, shell(Some("ship")), &docs("# Ship\n"));
    assert_eq!(found.ground.keys().collect::<Vec<_>>(), ["PLAYBOOK.md", "goals/ship.md"]);
    let action = Move::WriteGoal { id: Name::new("new").unwrap(), body: "# New\n".into() };
    let found = parked(false, Proposal::of(action.clone()), &docs("# Ship\n"));
    assert_eq!(found.ground.get("goals/new.md"), Some(&None));
    let found = parked(true, Proposal::of(action), &docs("# Ship\n"));
    assert_eq!(found.ground.keys().collect::<Vec<_>>(), ["goals/new.md"]);
}

#[test]
fn whatever_it_rests_on_may_not_change() {
    let found = parked(false, shell(Some("ship")), &docs("# Ship\n"));
    assert_eq!(found.changed(&docs("# Ship\n")), None);
    assert_eq!(
        found.changed(&docs("# Sink\n")).as_deref(),
        Some("goals/ship.md changed since it was asked for")
    );
    let gone = Docs { playbook: Doc::Absent, ..docs("# Ship\n") };
    assert_eq!(found.changed(&gone).as_deref(), Some("PLAYBOOK.md changed since it was asked for"));
    let mut more = docs("# Ship\n");
    more.goals.insert("other".into(), Doc::of("x"));
    assert_eq!(found.changed(&more), None);
}

#[test]
fn the_digest_binds_the_exact_move_and_its_ground() {
    let base = parked(false, shell(Some("ship")), &docs("# Ship\n")).digest;
    assert_eq!(base, parked(false, shell(Some("ship")), &docs("# Ship\n")).digest);
    assert_ne!(base, parked(false, shell(None), &docs("# Ship\n")).digest);
    assert_ne!(base, parked(false, shell(Some("ship")), &docs("# Sink\n")).digest);
    let other = Proposal::of(Move::RunShell { cmd: "true ".into(), reason: None });
    assert_ne!(parked(false, shell(None), &docs("")).digest, parked(false, other, &docs("")).digest);
}

#[test]
fn a_letter_is_known_by_all_its_words() {
    let found = parked(false, shell(None), &docs(""));
    let letter = found.letter("ask-1");
    let digest = letter_digest(&letter);
    assert_eq!(digest, letter_digest(&Ask { fetched: true, ..letter.clone() }));
    assert_ne!(digest, letter_digest(&Ask { prompt: "harmless".into(), ..letter.clone() }));
    assert_ne!(digest, letter_digest(&Ask { proposal: Some(json!({"action": "noop"})), ..letter }));
}
