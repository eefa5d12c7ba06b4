//! A worker that stands at a dialog waits for the person, who is told what its screen shows.

use serde_json::json;

use super::yard::Yard;
use looop_sim::profile::Profile;

/// A program that shows a menu and goes on when a key is pressed.
const MENU: &str = "printf 'May I?\\n\\n❯ 1. Yes\\n  2. No, \\033]0;title\\007never\\n'; read -r line; echo going on; exec sleep 1000";

fn settles(yard: &Yard, id: &str) {
    yard.run(&["wait-idle", id, "--settle", "6s", "--timeout", "5m"]).ok();
}

#[test]
fn a_worker_at_a_dialog_waits_for_the_person_until_it_goes_on() {
    let told = "cat >> told.txt; echo >> told.txt";
    let profile = Profile::bare(super::yard::LOOOP).config(&format!("notification = {}\n", json!(told)));
    let yard = Yard::of(profile);
    yard.start("asker", MENU).ok();
    settles(&yard, "asker");
    assert_eq!(yard.row("asker")["health"], "busy");
    yard.run(&["beat"]).ok();
    let row = yard.row("asker");
    assert_eq!(json!([row["health"], row["waits_on"]]), json!(["waiting", "asker-1"]));
    let asks = yard.run(&["asks", "--json"]).ok().stdout;
    assert!(asks.contains("it shows a menu\\nMay I?\\n❯ 1. Yes\\n2. No, never"), "{asks}");
    let told = yard.profile.file("told.txt").unwrap();
    assert!(
        told.contains("asker wants you at its terminal: it shows a menu May I? ❯ 1. Yes 2. No, never"),
        "{told}"
    );
    // It is told once, also by another process.
    yard.run(&["beat"]).ok();
    assert_eq!(yard.row("asker")["waits_on"], "asker-1");
    assert_eq!(yard.profile.file("told.txt").unwrap(), told);

    yard.run(&["key", "asker", "Enter"]).ok();
    settles(&yard, "asker");
    yard.run(&["beat"]).ok();
    let row = yard.row("asker");
    assert_eq!(json!([row["health"], row["waits_on"]]), json!(["busy", null]));
    assert_eq!(yard.run(&["asks", "--json"]).ok().json(), json!([]));
}

#[test]
fn a_worker_that_waits_for_nothing_in_particular_is_left_alone() {
    let yard = Yard::new();
    yard.start("lister", "printf '1. one\\n2. two\\n\\n$ '; exec sleep 1000").ok();
    settles(&yard, "lister");
    yard.run(&["beat"]).ok();
    let row = yard.row("lister");
    assert_eq!(json!([row["health"], row["waits_on"]]), json!(["busy", null]));
}
