//! Many starts at once: one worker of a name, and never more than may live.

use looop_sim::profile::Profile;
use looop_sim::waiting::finish;
use serde_json::{Value, json};

use super::yard::{IDLE, LOOOP, Yard};

const MANY: usize = 30;

fn alive(yard: &Yard) -> Vec<Value> {
    yard.rows(&["--all"]).into_iter().filter(|row| row["alive"] == true).collect()
}

#[test]
fn of_many_starts_with_one_name_one_runs() {
    let profile = Profile::bare(LOOOP);
    let command = format!("echo ran >> '{}'; {IDLE}", profile.outside().join("ran").display());
    let decision = json!({"action": "start_worker", "id": "ship", "prompt": "", "command": command});
    let yard = Yard::of(profile.decider(&decision));
    let start = ["worker", "start", "ship", "--command", &command];
    let calls: Vec<_> = (0..MANY)
        .map(
            |number| {
                if number % 10 == 5 { yard.profile.start(&["beat"]) } else { yard.profile.start(&start) }
            },
        )
        .collect();
    let ran: Vec<_> = calls.into_iter().map(finish).collect();
    let verbs: Vec<_> =
        ran.iter().enumerate().filter(|(number, _)| number % 10 != 5).map(|(_, ran)| ran).collect();
    let started = verbs.iter().filter(|ran| ran.code == 0).count();
    assert!(started <= 1, "{started} verbs say that they started it");
    for refused in verbs.iter().filter(|ran| ran.code != 0) {
        assert!(refused.stderr.contains("lives already"), "{refused:?}");
    }
    assert_eq!(alive(&yard).len(), 1);
    assert_eq!(yard.read_outside("ran"), "ran\n");
    assert_eq!(looop_core::check::violations(&yard.profile.lines()), Vec::<String>::new());
}

#[test]
fn of_many_workers_no_more_than_the_cap_live() {
    let yard = Yard::of(Profile::bare(LOOOP).env("LOOOP_MAX_WORKERS", "8"));
    let calls: Vec<_> = (0..MANY)
        .map(|number| {
            let id = format!("w{number}");
            yard.profile.start(&["worker", "start", &id, "--command", IDLE])
        })
        .collect();
    let ran: Vec<_> = calls.into_iter().map(finish).collect();
    assert_eq!(ran.iter().filter(|ran| ran.code == 0).count(), 8);
    for refused in ran.iter().filter(|ran| ran.code != 0) {
        assert!(refused.stderr.contains("8 workers live and max_workers is 8"), "{refused:?}");
    }
    assert_eq!(alive(&yard).len(), 8);
}
