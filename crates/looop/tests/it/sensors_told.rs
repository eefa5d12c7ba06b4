//! A sensor that fails is told of: by the beat, in the log of the loop, as a notice, and where a condition needs it.

use looop_sim::profile::Profile;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

fn failing() -> Profile {
    Profile::bare(LOOOP).sensor("ci", "echo no token >&2; exit 3")
}

#[test]
fn each_beat_says_that_a_sensor_fails_and_the_log_says_it_once() {
    let profile = failing();
    let said = "✗ sensor ci fails: exited with 3: no token (looop sensor run ci)";
    for _ in 0..3 {
        let beat = profile.beat().ok();
        assert_eq!(beat.stdout.matches(said).count(), 1, "{beat:?}");
        assert!(beat.stdout.contains("there are no goals"), "what it did is said all the same: {beat:?}");
    }
    let events = profile.run(&["events", "--json"]).ok().stdout;
    assert_eq!(events.matches("sensor_changed").count(), 1, "{events}");
    let json = profile.run(&["beat", "--json"]).ok().stdout;
    assert!(json.contains("\"repeated\":true") && json.contains("\"state\":\"failing\""), "{json}");

    let works = Profile::bare(LOOOP).sensor("ci", "cat ../red || cat red");
    works.beat().ok();
    works.write("red", "{}");
    let beat = works.beat().ok();
    assert!(beat.stdout.contains("✓ sensor ci works again"), "{beat:?}");
}

#[test]
fn a_notice_tells_of_it_once() {
    let profile = failing();
    profile.write("config.toml", "notification = 'true'\n");
    for _ in 0..3 {
        profile.beat().ok();
    }
    let shown = profile.run(&["events", "--json"]).ok().stdout;
    assert_eq!(shown.matches("\"event\":\"notified\"").count(), 1, "{shown}");
    assert!(shown.contains("\"kind\":\"sensor\""), "{shown}");
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_unknown_and_says_why() {
    let when = |when: &str| format!("---\nwhen: {when}\nrun: touch never\n---\n# Goal\n");
    let profile = failing()
        .sensor("ok", "echo '{\"red\":0}'")
        .goal("failing", &when("ci.red > 0"))
        .goal("typo", &when("okk.red != 1"))
        .goal("path", &when("ok.rde > 0"))
        .goal("value", &when("ok.red > 0"));
    let before = profile.run(&["why", "value"]).ok().stdout;
    assert!(before.contains("sensor ok has not run yet (looop beat)"), "{before}");
    let beat = profile.beat().ok();
    assert!(beat.stdout.contains("2 not due, 2 with an unknown condition"), "{beat:?}");
    assert_eq!(profile.file("never"), None, "what is unknown is not served");
    let unknown = "it is not known whether its condition holds";
    for (goal, said) in [
        ("failing", format!("{unknown}: sensor ci fails (looop sensor run ci)")),
        ("typo", format!("{unknown}: there is no sensor \"okk\"; did you mean ok?")),
        ("path", "ok.rde > 0 does not hold: ok has no rde".to_owned()),
        ("value", "ok.red > 0 does not hold: it is 0".to_owned()),
    ] {
        let why = profile.run(&["why", goal]).ok().stdout;
        assert!(why.contains(&said), "{goal}: {why}");
    }
}
