//! What is wrong with a policy.

use super::given::*;
use crate::policy::valid::{env_fault, read_fault};

#[test]
fn names_of_programs() {
    for sound in ["gh", "python3.12", "g++", "docker-compose"] {
        assert_eq!(program_fault(sound), None, "{sound}");
    }
    for odd in ["", "/bin/gh", "./gh", "gh pr", "g*", "-c", "gh\n", "a;b", "$X"] {
        assert!(program_fault(odd).is_some(), "{odd:?}");
    }
}

#[test]
fn names_of_variables_and_paths_to_read() {
    for sound in ["GH_TOKEN", "_x", "a1"] {
        assert_eq!(env_fault(sound), None, "{sound}");
    }
    for odd in ["", "1A", "A-B", "A=B", "A B", "É"] {
        assert!(env_fault(odd).is_some(), "{odd:?}");
    }
    for sound in ["/etc/ssl", "~/.config/gh", "~/a..b"] {
        assert_eq!(read_fault(sound), None, "{sound}");
    }
    for odd in ["/", "~/", "~/.", "//", "", "x", "~", "~root/x", "./x", "/etc/../root", "~/..", "/a\nb"] {
        assert!(read_fault(odd).is_some(), "{odd:?}");
    }
    for odd in ["", "/goals/x", "~/x", "a\u{7}"] {
        assert!(pattern_fault(odd).is_some(), "{odd:?}");
    }
    assert_eq!(pattern_fault("goals/*"), None);
}

#[test]
fn rules_that_can_never_match() {
    let program = || When { program: texts(&["gh"]), ..When::default() };
    let runner = || When { runner: texts(&["r"]), ..When::default() };
    let path = |path: &str| When { path: texts(&[path]), ..When::default() };
    let rough = || When { plain: Some(false), ..When::default() };
    let table = [
        ("run_shell", program(), None),
        ("write_goal", program(), None),
        ("*", program(), None),
        ("noop", program(), Some("program")),
        ("write_playbook", program(), Some("program")),
        ("write_playbook", rough(), Some("plain")),
        ("start_worker", rough(), None),
        ("start_worker", runner(), None),
        ("run_shell", runner(), Some("runner")),
        ("run_shell", path("goals/*"), Some("path")),
        ("write_goal", path("goals/*"), None),
        ("write_goal", path("goals/x.md"), None),
        ("write_goal", path("goals/*d"), None),
        ("write_goal", path("*/a*"), None),
        ("write_goal", path("goals/x"), Some("path")),
        ("write_goal", path("goals/x*.txt"), Some("path")),
        ("write_goal", path("goals/a/b.md"), Some("path")),
        ("write_goal", path("*"), Some("path")),
        ("write_goal", path("sensors/*"), Some("path")),
        ("write_sensor", path("sensors/s.py"), None),
        ("write_sensor", path("sensors/"), Some("path")),
        ("drop_schedule", path("schedules/*.json"), None),
        ("write_playbook", path("*"), None),
        ("write_playbook", path("PLAYBOOK.MD"), Some("path")),
        ("*", path("PLAYBOOK.md"), None),
        ("*", path("config.toml"), Some("path")),
    ];
    for (action, when, expected) in table {
        let found = never_matches(&rule(action, when.clone(), Then::Ask));
        assert_eq!(found.map(|(key, _)| key), expected, "{action} {when:?}");
    }
}

/// An allowed path next to one that is never written is a mistake, too.
#[test]
fn each_pattern_is_looked_at() {
    let when = When { path: texts(&["goals/*", "goal/*"]), ..When::default() };
    let (_, why) = never_matches(&rule("write_goal", when, Then::Ask)).unwrap();
    assert_eq!(why, "never matches: write_goal writes goals/<name>.md, and never \"goal/*\"");
}

#[test]
fn a_rule_behind_one_that_always_matches_is_never_reached() {
    let tainted = When { tainted: Some(true), ..When::default() };
    let rules = [
        rule("run_shell", tainted, Then::Ask),
        rule("run_shell", When::default(), Then::Allow),
        rule("run_shell", When::default(), Then::Deny),
        rule("noop", When::default(), Then::Ask),
        rule("*", When::default(), Then::Ask),
        rule("write_goal", When::default(), Then::Ask),
    ];
    let hidden: Vec<Option<usize>> = (0..rules.len()).map(|at| unreached(&rules, at)).collect();
    assert_eq!(hidden, [None, None, Some(1), None, None, Some(4)]);
    assert_eq!(unreached(&rules, 99), None);
}
