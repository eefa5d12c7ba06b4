//! A worker that stands at a dialog waits for the person, who is told what its screen shows.

use serde_json::json;

use super::yard::Yard;
use looop_sim::profile::Profile;
use looop_sim::waiting::{Fifo, finish};

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

/// A program called claude whose provider took no calls until some minutes ago, by its own words. It repeats on the FIFO
/// what is typed, and goes on.
fn limited(yard: &Yard, composer: &str) -> (Fifo, String) {
    let until = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(3);
    let until = until.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M");
    let says = format!("● You've hit your limit · resets {until} (UTC)\\n\\n? for shortcuts\\n{composer}");
    let heard = yard.profile.fifo("heard");
    let script = format!(
        "#!/bin/bash\nprintf '%b' \"{says}\"\nread -r line\necho \"$line\" > '{}'\nclear\necho going on\nexec sleep 1000\n",
        heard.path().display()
    );
    let path = yard.profile.outside().join("claude");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (heard, format!("{} {{{{prompt_file}}}}", path.display()))
}

#[test]
fn a_worker_whose_provider_takes_no_calls_is_waiting_until_then_and_told_to_go_on() {
    let yard = Yard::new();
    let (heard, command) = limited(&yard, "❯ ");
    yard.start("w", &command).ok();
    yard.run(&["expect", "w", "for shortcuts", "--timeout", "5m"]).ok();
    yard.run(&["beat"]).ok();
    let row = yard.row("w");
    let until = row["waits_until_unix"].as_i64().unwrap_or_else(|| panic!("{row}"));
    assert_eq!(row["health"], "waiting");
    let now = jiff::Timestamp::now().as_second();
    assert!((now - 600..now).contains(&until), "{row}");
    let asks = yard.run(&["asks"]).ok().stdout;
    assert!(asks.contains("it is waiting until ") && asks.contains("hit your limit"), "{asks}");
    assert!(yard.run(&["ls"]).ok().stdout.contains(" until "));

    let beat = yard.profile.start(&["beat"]);
    assert_eq!(heard.hear(), "The limit of your provider is over. Go on with your task.\n");
    finish(beat).ok();
    yard.run(&["expect", "w", "going on", "--timeout", "5m"]).ok();
    yard.run(&["beat"]).ok();
    let row = yard.row("w");
    assert_eq!(json!([row["health"], row["waits_on"], row["waits_until_unix"]]), json!(["busy", null, null]));
}

#[test]
fn a_worker_in_whose_composer_something_stands_is_left_to_the_person() {
    let yard = Yard::new();
    let (_heard, command) = limited(&yard, "❯ half a sentence");
    yard.start("w", &command).ok();
    yard.run(&["expect", "w", "half a sentence", "--timeout", "5m"]).ok();
    for _ in 0..3 {
        yard.run(&["beat"]);
    }
    let events = yard.run(&["events"]).ok().stdout;
    assert_eq!(events.matches("composer is not seen to be empty").count(), 1, "{events}");
    assert_eq!(yard.row("w")["health"], "waiting");
    let shot = yard.run(&["shot", "w"]).ok().stdout;
    assert!(shot.contains("half a sentence") && !shot.contains("provider is over"), "{shot}");
}
