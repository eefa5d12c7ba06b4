//! A person's rules: they come first, and the first that matches decides.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::given::*;

#[test]
fn the_first_that_matches_decides() {
    let action = shell();
    let case = Case { goal: Some("ship"), tainted: true, ..plain(&action) };
    let rules = vec![
        rule("noop", When::default(), Then::Deny),
        rule("run_shell", When { goal: texts(&["other"]), ..When::default() }, Then::Deny),
        Rule { message: Some("as you like".into()), ..rule("run_shell", When::default(), Then::Ask) },
        rule("*", When::default(), Then::Allow),
    ];
    let ruling = judge(&policy(Level::Open, rules), &case);
    let expected = Ruling {
        then: Then::Ask,
        rule: "policy.toml rule 3".to_owned(),
        own: true,
        reason: "as you like".to_owned(),
    };
    assert_eq!(ruling, expected);
    assert_eq!(judge(&policy(Level::Open, Vec::new()), &case).rule, "open: run_shell is allowed");
}

#[test]
fn all_that_is_set_must_hold() {
    let action = Move::WriteGoal { id: name("g"), body: "b".into() };
    let case = Case {
        goal: Some("ship-it"),
        runner: Some("claude"),
        path: Some("goals/g.md".into()),
        tainted: true,
        runs: runs(&["gh pr list"]),
        ..plain(&action)
    };
    let none = When::default;
    let table = [
        (none(), true),
        (When { tainted: Some(true), ..none() }, true),
        (When { tainted: Some(false), ..none() }, false),
        (When { plain: Some(true), ..none() }, true),
        (When { plain: Some(false), ..none() }, false),
        (When { program: texts(&["gh", "x"]), ..none() }, true),
        (When { program: texts(&["x"]), ..none() }, false),
        (When { goal: texts(&["x", "ship-*"]), ..none() }, true),
        (When { goal: texts(&["ship"]), ..none() }, false),
        (When { runner: texts(&["claude"]), ..none() }, true),
        (When { runner: texts(&["codex"]), ..none() }, false),
        (When { path: texts(&["goals/*"]), ..none() }, true),
        (When { path: texts(&["*"]), ..none() }, false),
        (When { path: texts(&["goals/*"]), tainted: Some(false), ..none() }, false),
    ];
    for (when, expected) in table {
        let rule = rule("write_goal", when, Then::Allow);
        assert_eq!(matches(&rule, &case), expected, "{rule:?}");
    }
    let bare = plain(&action);
    for when in [
        When { goal: texts(&["*"]), ..none() },
        When { runner: texts(&["*"]), ..none() },
        When { path: texts(&["*/*"]), ..none() },
        When { program: texts(&["gh"]), ..none() },
    ] {
        assert!(!matches(&rule("*", when.clone(), Then::Allow), &bare), "{when:?}");
    }
    assert!(!matches(&rule("run_shell", none(), Then::Allow), &case));
}

/// To allow a program is about plain pipelines of it, of which all else is boxed. To deny it denies every text that names
/// it.
#[test]
fn programs_allow_plain_pipelines_and_deny_any_text() {
    let action = shell();
    let when = || When { program: texts(&["gh", "git"]), ..When::default() };
    let holds = |texts: &[&str], confined, then| {
        let case = Case { runs: runs(texts), confined, ..plain(&action) };
        matches(&rule("run_shell", when(), then), &case)
    };
    // The texts, whether they are allowed in a box, and without one, and whether they are denied.
    let table: [(&[&str], bool, bool, bool); 10] = [
        (&["gh x"], true, true, true),
        (&["gh x | git y"], true, true, true),
        (&["gh x | deploy"], true, false, true),
        (&["gh x", "deploy"], false, false, true),
        (&["deploy"], false, false, false),
        (&["gh x > y"], false, false, true),
        (&["bash -c 'gh x'"], false, false, true),
        (&["x=gh; $x"], false, false, true),
        (&["/usr/bin/gh x"], false, false, true),
        (&[], false, false, false),
    ];
    for (texts, boxed, bare, denied) in table {
        assert_eq!(holds(texts, true, Then::Allow), boxed, "{texts:?}");
        assert_eq!(holds(texts, false, Then::Allow), bare, "{texts:?}");
        for then in [Then::Ask, Then::Deny] {
            assert_eq!(holds(texts, true, then), denied, "{texts:?} {then:?}");
        }
    }
}

/// What the key once asked of a text is answered by the box: a rule that allowed plain text allows no more without one.
#[test]
fn plain_is_what_reaches_nothing_outside() {
    let action = shell();
    let holds = |plain_is, texts: &[&str], confined| {
        let case = Case { runs: runs(texts), confined, ..plain(&action) };
        matches(&rule("*", When { plain: Some(plain_is), ..When::default() }, Then::Allow), &case)
    };
    for (texts, confined, expected) in [
        (&["rm -rf x"][..], true, true),
        (&["rm -rf x"], false, false),
        (&["cat x"], false, false),
        (&[], false, true),
    ] {
        assert_eq!(holds(true, texts, confined), expected, "{texts:?}");
        assert_eq!(holds(false, texts, confined), !expected, "{texts:?}");
    }
}

/// A rule without `program` is a person's word about the whole move.
#[test]
fn a_person_may_allow_even_what_the_list_asks_for() {
    let action = shell();
    let case = Case { goal: Some("g"), runs: runs(&["rm x"]), confined: false, ..plain(&action) };
    let when = When { goal: texts(&["g"]), ..When::default() };
    let ruling = judge(&policy(Level::Guarded, vec![rule("run_shell", when, Then::Allow)]), &case);
    assert_eq!((ruling.then, ruling.rule.as_str()), (Then::Allow, "policy.toml rule 1"));
}

fn any_when() -> impl Strategy<Value = When> {
    let some = |items: &'static [&'static str]| {
        subsequence(items.to_vec(), 0..=items.len()).prop_map(|items| texts(&items))
    };
    (
        any::<Option<bool>>(),
        any::<Option<bool>>(),
        some(&["gh", "git"]),
        some(&["g", "h*", "*"]),
        some(&["r", "*"]),
        some(&["goals/*", "PLAYBOOK.md"]),
    )
        .prop_map(|(tainted, plain, program, goal, runner, path)| When {
            tainted,
            plain,
            program,
            command: Vec::new(),
            goal,
            runner,
            path,
        })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let actions: Vec<&str> = action_names().collect();
    let then = select(vec![Then::Allow, Then::Ask, Then::Deny]);
    (select(actions), any_when(), then).prop_map(|(action, when, then)| rule(action, when, then))
}

/// A move with everything that the rules may ask about, for a case that borrows it.
type Around = (usize, [bool; 4], Option<&'static str>, Vec<&'static str>);

fn any_around() -> impl Strategy<Value = Around> {
    let goals = select(vec![None, Some("g"), Some("hot")]);
    let commands = subsequence(vec!["gh x", "git y", "gh x | deploy", "deploy > x"], 0..=3);
    (0..15_usize, any::<[bool; 4]>(), goals, commands)
}

fn with_case<T>((at, facts, goal, commands): &Around, judged: impl FnOnce(&Case<'_>) -> T) -> T {
    let action = &every_move()[*at];
    let [tainted, goal_by_person, confined, on_runner] = *facts;
    let path = match action.action() {
        "write_goal" | "archive_goal" => Some("goals/g.md".to_owned()),
        "write_playbook" => Some("PLAYBOOK.md".to_owned()),
        _ => None,
    };
    judged(&Case {
        goal: *goal,
        goal_by_person,
        runner: on_runner.then_some("r"),
        path,
        tainted,
        confined,
        runs: runs(commands),
        ..plain(action)
    })
}

fn strictness(then: Then) -> u8 {
    match then {
        Then::Allow => 0,
        Then::Ask => 1,
        Then::Deny => 2,
    }
}

proptest! {
    #[test]
    fn rules_that_only_deny_never_allow_more(
        mut rules in prop::collection::vec(any_rule(), 0..6),
        level in select(Level::ALL.to_vec()),
        around in any_around(),
    ) {
        for rule in &mut rules {
            rule.then = Then::Deny;
        }
        with_case(&around, |case| {
            let with = judge(&policy(level, rules), case).then;
            let without = judge(&policy(level, Vec::new()), case).then;
            prop_assert!(strictness(with) >= strictness(without), "{:?} {:?}", case, with);
            Ok(())
        })?;
    }

    #[test]
    fn what_follows_the_first_match_changes_nothing(
        rules in prop::collection::vec(any_rule(), 1..6),
        around in any_around(),
    ) {
        with_case(&around, |case| {
            let all = judge(&policy(Level::Guarded, rules.clone()), case);
            let first = rules.iter().position(|rule| matches(rule, case));
            if let Some(at) = first {
                prop_assert_eq!(all.then, rules[at].then);
                prop_assert_eq!(&all.rule, &format!("policy.toml rule {}", at + 1));
                let cut = judge(&policy(Level::Guarded, rules[..=at].to_vec()), case);
                prop_assert_eq!(&all, &cut);
            } else {
                prop_assert_eq!(all, judge(&policy(Level::Guarded, Vec::new()), case));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_program_that_is_allowed_lifts_nothing_for_other_texts(
        mut rules in prop::collection::vec(any_rule(), 1..6),
        around in any_around(),
    ) {
        for rule in &mut rules {
            rule.then = Then::Allow;
            rule.when.program = texts(&["gh", "git", "deploy"]);
        }
        with_case(&around, |case| {
            let with = judge(&policy(Level::Guarded, rules), case);
            if case.runs.iter().any(|run| run.programs.is_err()) {
                prop_assert_eq!(with, judge(&policy(Level::Guarded, Vec::new()), case));
            }
            Ok(())
        })?;
    }
}
