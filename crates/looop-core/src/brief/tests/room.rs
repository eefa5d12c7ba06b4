//! A brief keeps to its bytes, and says what it leaves out.

use proptest::prelude::*;
use serde_json::Value;

use super::structure::structure;
use super::world::{World, limits, rich};
use crate::ledger::state::NoteKind;
use crate::model::outcome::Ended;
use crate::world::baseline::{Change, ChangeKind};
use crate::world::observation::Doc;
use crate::world::reading::{Reading, Trust};

#[test]
fn each_body_has_its_cap_and_says_what_is_cut() {
    let mut world = World::empty();
    world.docs.playbook = Doc::of("ä".repeat(10 * 1024));
    world.docs.goals.insert("g".into(), Doc::of("\u{0}".repeat(10_000)));
    world.readings.insert("r".into(), Reading::of_value(Value::from("%".repeat(9000)), Trust::Owner));
    let tail = format!("{}END", "y".repeat(5000));
    world.note(NoteKind::Shell { cmd: "c".into(), ended: Ended::Exited(1), tail, own: true });
    let text = world.brief().parts().1.to_owned();
    assert_eq!(text.matches('ä').count(), 8 * 1024);
    assert!(text.contains("END … 4,096 bytes cut"), "{text}");
    assert_eq!(text.matches("\\u{0}").count(), 8 * 1024 / 5);
    assert_eq!(text.matches('%').count(), 8192 - "signal: \"".len());
    assert!(text.contains("exit 1 … 2,955 bytes cut\nyyy") && text.contains("yEND\n"), "{text}");
}

#[test]
fn goals_give_way_first_and_stay_named() {
    let mut world = rich();
    world.limits = limits(64 * 1024);
    for at in 0..100 {
        world.docs.goals.insert(format!("goal-{at}"), Doc::of(format!("word {at} ").repeat(800)));
    }
    let text = world.brief().render();
    assert!(text.len() <= 64 * 1024 && text.len() > 60 * 1024, "{}", text.len());
    for at in 0..100 {
        assert!(text.contains(&format!("goal \"goal-{at}\"")), "{at}");
    }
    for part in [
        "Never merge on Fridays.\n",
        "Find out why parser_test is flaky.",
        "signal: {\"red\":1}",
        "bytes cut",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // So many that only names are left, and the rest is whole still.
    for at in 0..2000 {
        world.docs.goals.insert(format!("n{at}"), Doc::of("x"));
    }
    let text = world.brief().render();
    assert!(text.len() <= 64 * 1024);
    for part in [
        "\n\"n1999\"\n",
        "\n\"goal-7\"\n",
        "goals, for want of room by name only",
        "Never merge on Fridays.\n",
        "\"red\":1",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn what_is_left_out_is_counted_and_the_count_fits_too() {
    let mut world = World::empty();
    for at in 0..300 {
        world.ask(&format!("a{at}"), "w", "");
    }
    // Byte by byte, so that one of these has just no room for the line that says how many are left out.
    for cap in 13_000..13_120 {
        world.limits = limits(cap);
        let text = world.brief().render();
        assert!(text.len() <= cap, "{} of {cap}", text.len());
        assert!(text.contains("more, cut for want of room"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    #[test]
    fn a_brief_keeps_to_its_bytes(
        goals in 0usize..3000, goal in 0usize..20_000, readings in 0usize..200, reading in 0usize..10_000,
        (asks, notes, changes) in (0usize..100, 0usize..20, 0usize..3000), playbook in 0usize..40_000, cap in 0usize..300_000,
    ) {
        let mut world = World::empty();
        world.limits = limits(cap);
        world.docs.playbook = Doc::of("p".repeat(playbook));
        for at in 0..goals {
            let text = if at % 7 == 0 { "\u{0}".repeat(goal / 50) } else { "g".repeat(goal / (1 + at % 90)) };
            world.docs.goals.insert(format!("goal-{at}"), Doc::of(text));
        }
        for at in 0..readings {
            world.readings.insert(format!("r{at}"), Reading::of_value(Value::from("r".repeat(reading)), Trust::External));
        }
        for at in 0..asks {
            world.ask(&format!("a{at}"), "w", &"q".repeat(reading));
        }
        for at in 0..notes {
            world.note(NoteKind::Failure { reason: "f".repeat(at * 1000) });
        }
        for at in 0..changes {
            world.changes.push(Change { item: format!("goal:{at}"), kind: ChangeKind::Gone, old: None, new: None });
        }
        let brief = world.brief();
        let text = brief.render();
        let most = cap.max(12 * 1024);
        prop_assert!(text.len() <= most, "{} of {most}", text.len());
        structure(&brief);
        if goals * 20 < most / 2 {
            for at in 0..goals {
                prop_assert!(text.contains(&format!("\"goal-{at}\"")), "goal-{at} is not named");
            }
        }
    }
}
