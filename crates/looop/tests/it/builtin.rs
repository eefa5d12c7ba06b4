//! The built-in decider on real profiles: goals with a recipe are served, one move a beat, and then there is peace.

use std::path::Path;

use looop_core::ledger::entry::Entry;
use looop_core::model::plan::Author;
use looop_sim::profile::Profile;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// The goals that moves of the built-in decider served, in order.
fn served(profile: &Profile) -> Vec<String> {
    let goal = |entry: Entry| {
        let Entry::Intended { plan, .. } = entry else { return None };
        if plan.author == Author::Builtin { plan.goal } else { None }
    };
    profile.entries().into_iter().filter_map(goal).collect()
}

#[test]
fn a_goal_with_a_check_and_a_recipe_converges_in_two_beats_and_then_costs_nothing() {
    let profile =
        Profile::bare(LOOOP).goal("x", "---\ncheck: test -e X\nrun: touch X\n---\n# There is an X\n");
    profile.beat().ok();
    assert!(profile.data().join("X").exists());
    let second = profile.beat().ok();
    assert!(second.stdout.contains("no goal to serve: 1 as it should be"), "{second:?}");
    let before = profile.tree();
    for _ in 0..5 {
        let idle = profile.beat().ok();
        assert!(idle.stdout.contains("no goal to serve: 1 as it should be"), "{idle:?}");
    }
    let after = profile.tree();
    // The lock names its last holder; everything else stays as it is.
    let same = |path: &Path, bytes: &Vec<u8>| path.ends_with("lock") || before.get(path) == Some(bytes);
    let changed: Vec<_> = after.iter().filter(|(path, bytes)| !same(path, bytes)).collect();
    assert!(changed.is_empty() && after.len() == before.len(), "{changed:?}");

    std::fs::remove_file(profile.data().join("X")).unwrap();
    profile.beat().ok();
    assert!(profile.data().join("X").exists(), "the world is looked at anew in each beat");
    assert_eq!(served(&profile), ["x", "x"]);
}

#[test]
fn after_three_failures_a_person_is_asked_once_and_their_answer_lets_it_go_on() {
    let profile =
        Profile::bare(LOOOP).goal("x", "---\ncheck: test -e ok\nrun: echo try >> tries; false\n---\n");
    for _ in 0..3 {
        assert_eq!(profile.beat().code, 1);
    }
    profile.beat().ok();
    for _ in 0..3 {
        let waits = profile.beat().ok();
        assert!(waits.stdout.contains("1 waiting for your answer"), "{waits:?}");
    }
    assert_eq!(profile.file("tries").unwrap(), "try\ntry\ntry\n");
    let asks = profile.run(&["asks", "--json"]).ok().json();
    assert_eq!(asks.as_array().unwrap().len(), 1);
    assert!(asks[0]["prompt"].as_str().unwrap().contains("after 3 attempts; the last: exit 1"), "{asks}");

    profile.run(&["answer", "ask-1", "again"]).ok();
    assert_eq!(profile.beat().code, 1);
    assert_eq!(profile.file("tries").unwrap(), "try\ntry\ntry\ntry\n");
    assert_eq!(profile.run(&["asks", "--json"]).ok().json().as_array().unwrap().len(), 0);
}

#[test]
fn a_recipe_that_ends_well_but_changes_nothing_is_not_repeated_for_ever() {
    let profile = Profile::bare(LOOOP).goal("x", "---\ncheck: test -e ok\nrun: echo try >> tries\n---\n");
    for _ in 0..6 {
        profile.beat().ok();
    }
    assert_eq!(profile.file("tries").unwrap(), "try\ntry\ntry\n");
    assert_eq!(profile.run(&["asks", "--json"]).ok().json().as_array().unwrap().len(), 1);
}

#[test]
fn priority_goes_first_and_then_the_longest_unserved() {
    let recipe =
        |more: &str| format!("---\ncheck: test $(wc -l < done-{more}) = 2\nrun: echo >> done-{more}\n");
    let profile = Profile::bare(LOOOP)
        .goal("a", &format!("{}---\n", recipe("a")))
        .goal("b", &format!("{}priority: 5\n---\n", recipe("b")))
        .goal("c", &format!("{}---\n", recipe("c")));
    for name in ["a", "b", "c"] {
        profile.write(&format!("done-{name}"), "");
    }
    for _ in 0..6 {
        profile.beat().ok();
    }
    assert_eq!(served(&profile), ["b", "b", "a", "c", "a", "c"]);
    assert!(profile.beat().ok().stdout.contains("3 as it should be"));
}

#[test]
fn when_and_every_decide_whether_a_goal_is_due() {
    let profile = Profile::bare(LOOOP)
        .sensor("ci", "cat ../red 2>/dev/null || cat red")
        .goal(
            "mend",
            "---\nwhen: ci.red > 0\nrun: echo '{\"signal\":{\"red\":0}}' > red; echo >> mended\n---\n",
        )
        .goal("tidy", "---\nevery: 1h\nrun: echo >> tidied\n---\n");
    profile.write("red", "{\"signal\":{\"red\":0}}");
    profile.beat().ok();
    let idle = profile.beat().ok();
    assert!(idle.stdout.contains("no goal to serve: 2 not due"), "{idle:?}");
    assert_eq!((profile.file("tidied").as_deref(), profile.file("mended")), (Some("\n"), None));

    profile.write("red", "{\"signal\":{\"red\":2}}");
    profile.beat().ok();
    profile.beat().ok();
    assert_eq!(profile.file("mended").as_deref(), Some("\n"));
    assert_eq!(served(&profile), ["tidy", "mend"]);
}

#[test]
fn what_cannot_be_served_says_why() {
    let profile = Profile::bare(LOOOP)
        .goal("prose", "# Be kind\n")
        .goal("odd", "---\ncheck: exit 7\nrun: touch never\n---\n")
        .goal("never", "---\nrun: touch never\n---\n")
        .goal("worker", "---\ncheck: false\nworker: write it\n---\n");
    let beat = profile.beat().ok();
    assert!(
        beat.stdout.contains("no goal to serve: 2 broken, 1 for a model to serve, 1 for a worker to serve"),
        "{beat:?}"
    );
    assert_eq!(profile.file("never"), None);
    for (goal, why) in [
        ("prose", "only a model can serve it"),
        ("odd", "its check gave exit 7"),
        ("never", "give it a check, an every or a when"),
        ("worker", "no runner can start its worker"),
    ] {
        let said = profile.run(&["why", goal]).ok().stdout;
        assert!(said.contains(why), "{goal}: {said}");
    }
}

#[test]
fn the_builtin_rules_come_before_a_model_and_a_model_gets_what_they_leave() {
    let profile = Profile::bare(LOOOP)
        .decider_command("echo '{\"action\":\"noop\",\"journal\":\"asked\"}'")
        .goal("x", "---\ncheck: test -e X\nrun: touch X\n---\n");
    let config = profile.file("config.toml").unwrap().replace("\"fake\"\n", "[\"builtin\", \"fake\"]\n");
    profile.write("config.toml", config);
    profile.beat().ok();
    assert_eq!((profile.ledger().runs, profile.data().join("X").exists()), (0, true));
    profile.beat().ok();
    assert_eq!(profile.ledger().runs, 1);
    assert!(profile.file("journal.md").unwrap().ends_with(" asked\n"));
}

#[test]
fn a_goal_file_with_a_mistake_says_which_and_where() {
    let profile = Profile::bare(LOOOP)
        .goal("bad-every", "---\nevery: 10ms\nrun: touch never\n---\n")
        .goal("unclosed", "---\ncheck: false\nrun: touch never\n")
        .goal("typo", "---\nchek: test -e X\nrun: touch never\n---\n")
        .goal("block", "---\ncheck: test -e b\nrun: |\n  for x in a b; do\n    touch $x\n  done\n---\n")
        .goal("waits", "---\ncheck: test -e b\nrun: touch b\n---\n");
    for (goal, said, not) in [
        ("bad-every", "line 2: every: \"10ms\" is shorter than a second", "never becomes due"),
        ("unclosed", "line 1: the front matter that begins with --- is not closed", "it is prose"),
        ("typo", "line 2: chek is no known key; did you mean check?", "comes before it"),
    ] {
        let why = profile.run(&["why", goal]).ok().stdout;
        assert!(why.contains(said) && !why.contains(not), "{goal}: {why}");
        let status = profile.run(&["status"]).ok().stdout;
        assert!(status.contains(said), "{goal}: {status}");
    }
    profile.beat().ok();
    assert!(profile.data().join("a").exists() && profile.data().join("b").exists());
    assert_eq!(profile.file("never"), None);
    let noted = profile.run(&["goal", "write", "g", "--", "---\nprioritty: 2\n---\nText"]).ok();
    assert!(noted.stderr.contains("did you mean priority?"), "{noted:?}");
}
