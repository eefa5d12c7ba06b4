//! Options are options wherever they stand, and never become part of a text.

use looop_sim::profile::Profile;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// Verbs that take a text, with an ask, a worker and a goal that are there or not: an option is looked at first.
const TEXTS: [&[&str]; 11] = [
    &["goal", "write", "g", "buy", "milk"],
    &["playbook", "write", "be", "kind"],
    &["sensor", "write", "s", "#!/bin/sh"],
    &["answer", "ask-1", "yes"],
    &["tell", "w", "hello"],
    &["send", "w", "hello"],
    &["key", "w", "Enter"],
    &["expect", "w", "pattern"],
    &["worker", "start", "w", "do", "it"],
    &["start-session", "w", "do it"],
    &["run"],
];

#[test]
fn an_unknown_option_is_an_error_wherever_it_stands_and_nothing_is_done() {
    let profile = Profile::bare(LOOOP);
    profile.beat().ok();
    let before = profile.lines().len();
    for text in TEXTS {
        let places = if text == ["run"] { 1..=1 } else { text.len().min(2)..=text.len() };
        for at in places {
            for option in ["--bogus", "--bogus=x", "-Z"] {
                let mut args = text.to_vec();
                args.insert(at, option);
                profile.run(&args).fails(2, "unexpected argument");
            }
        }
    }
    assert_eq!(profile.lines().len(), before, "nothing was done");
}

#[test]
fn the_profile_may_be_named_after_a_text() {
    let profile = Profile::bare(LOOOP);
    let other = profile.outside().join("other");
    let other = other.to_str().unwrap_or_default();
    profile.run(&["goal", "write", "g", "buy", "milk", "--data-dir", other]).ok();
    assert_eq!(profile.file("goals/g.md"), None);
    let written = std::fs::read_to_string(format!("{other}/goals/g.md")).unwrap_or_default();
    assert_eq!(written, "buy milk\n");
}

#[test]
fn two_dashes_end_the_options() {
    let profile = Profile::bare(LOOOP);
    profile.run(&["goal", "write", "g", "--", "--data-dir", "-x"]).ok();
    assert_eq!(profile.file("goals/g.md").as_deref(), Some("--data-dir -x\n"));
    profile.run(&["playbook", "write", "--", "- be kind"]).ok();
    assert_eq!(profile.file("PLAYBOOK.md").as_deref(), Some("- be kind\n"));
}

#[test]
fn a_command_keeps_its_own_options() {
    let profile = Profile::bare(LOOOP);
    let ran = profile.run(&["run", "echo", "--bogus", "-n", "--data-dir", "x", "--json"]).ok();
    assert_eq!(ran.stdout, "--bogus -n --data-dir x --json\n");
    assert!(profile.run(&["run", "--json", "echo", "-n"]).ok().json()["outcome"].is_object());
}

#[test]
fn a_folder_that_holds_other_things_does_not_become_a_profile_by_a_slip() {
    let profile = Profile::bare(LOOOP);
    let repository = profile.outside().join("code");
    for verb in [&["beat"][..], &["goal", "write", "g", "text"], &["up"], &["run", "true"]] {
        drop(std::fs::remove_dir_all(&repository));
        std::fs::create_dir_all(repository.join(".git")).expect("a folder");
        let mut args = verb.to_vec();
        let path = repository.to_str().unwrap_or_default();
        args.extend(["--data-dir", path]);
        if verb[0] == "run" {
            args = [&["--data-dir", path], verb].concat();
        }
        let refused = profile.run(&args).fails(1, "is not empty and is no profile");
        assert!(refused.stderr.contains("init makes it one all the same"), "{refused:?}");
        let left: Vec<_> = std::fs::read_dir(&repository).expect("it").flatten().collect();
        assert_eq!(left.len(), 1, "nothing was written");
    }
    let path = repository.to_str().unwrap_or_default();
    profile.run(&["--data-dir", path, "init", "--runner", "builtin"]).ok();
    profile.run(&["--data-dir", path, "beat"]).ok();
    let hidden = profile.outside().join("hidden");
    std::fs::create_dir_all(&hidden).expect("a folder");
    std::fs::write(hidden.join(".DS_Store"), "x").expect("a file");
    profile.run(&["--data-dir", hidden.to_str().unwrap_or_default(), "beat"]).ok();
}
