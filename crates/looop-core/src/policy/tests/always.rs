//! The rule behind `always`: wide enough to match the same again, and no wider than what was seen.

use super::given::*;

fn with_program() -> Screening {
    screened(&["gh"], Danger::Plain)
}

fn worker(runner: Option<&str>, command: Option<&str>) -> Move {
    Move::StartWorker {
        sandbox: false,
        id: name("w"),
        prompt: "p".into(),
        goal: None,
        runner: runner.map(str::to_owned),
        command: command.map(str::to_owned),
        verify: None,
    }
}

#[test]
fn it_is_about_this_action_for_this_goal() {
    let table = [
        (shell(), with_program(), When { program: texts(&["gh"]), ..When::default() }),
        (Move::WritePlaybook { body: "b".into() }, Screening::default(), When::default()),
        (
            Move::WriteGoal { id: name("g"), body: "b".into() },
            Screening::default(),
            When { plain: Some(true), ..When::default() },
        ),
        (
            worker(None, None),
            Screening::default(),
            When { plain: Some(true), runner: texts(&["*"]), ..When::default() },
        ),
        (
            worker(Some("claude"), None),
            with_program(),
            When { program: texts(&["gh"]), runner: texts(&["claude"]), ..When::default() },
        ),
        (worker(None, Some("gh x")), with_program(), When { program: texts(&["gh"]), ..When::default() }),
        (Move::SteerSession { id: name("w"), input: "i".into() }, Screening::default(), When::default()),
    ];
    for (action, screening, when) in table {
        let made = always_rule(&action, Some("ship"), &screening).unwrap();
        let when = When { goal: texts(&["ship"]), ..when };
        assert_eq!(made, rule(action.action(), when, Then::Allow));
    }
}

#[test]
fn without_a_goal_it_is_about_the_file_or_the_programs() {
    let file = |path: &str| When { path: texts(&[path]), ..When::default() };
    let table = [
        (shell(), with_program(), When { program: texts(&["gh"]), ..When::default() }),
        (Move::WritePlaybook { body: "b".into() }, Screening::default(), file("PLAYBOOK.md")),
        (
            Move::WriteGoal { id: name("g"), body: "b".into() },
            Screening::default(),
            When { plain: Some(true), ..file("goals/g.md") },
        ),
        (
            Move::WriteSensor { name: name("s"), script: "#!/bin/sh\ngh".into() },
            with_program(),
            When { program: texts(&["gh"]), ..file("sensors/s.sh") },
        ),
        (Move::DropSchedule { name: name("s") }, Screening::default(), file("schedules/s.json")),
    ];
    for (action, screening, when) in table {
        for goal in [None, Some("")] {
            let made = always_rule(&action, goal, &screening).unwrap();
            assert_eq!(made, rule(action.action(), when.clone(), Then::Allow));
            assert_eq!(never_matches(&made), None, "{made:?}");
        }
    }
}

#[test]
fn what_nothing_bounds_is_refused() {
    let nothing = Screening::default();
    let steer = Move::SteerSession { id: name("w"), input: "i".into() };
    for (action, goal, screening) in [
        (shell(), None, nothing.clone()),
        (shell(), Some("ship"), nothing.clone()),
        (Move::WriteSensor { name: name("s"), script: "#!/bin/sh".into() }, Some("ship"), nothing.clone()),
        (worker(None, Some("x")), Some("ship"), nothing.clone()),
        (worker(Some("claude"), None), None, nothing.clone()),
        (steer, None, nothing.clone()),
        (shell(), Some("ship"), screened(&["gh"], Danger::Unknown)),
        (shell(), Some("ship"), screened(&["gh"], Danger::Destructive)),
    ] {
        let refused = always_rule(&action, goal, &screening);
        assert!(refused.as_ref().is_err_and(|why| why.contains("not for always")), "{action:?} {refused:?}");
    }
}

/// The same move is allowed from then on; the same action for another goal, with another program or with a command is
/// judged as before.
#[test]
fn it_allows_the_same_again_and_nothing_worse() {
    let action = shell();
    let case = |goal, programs: &[&str], danger| Case {
        goal: Some(goal),
        screening: screened(programs, danger),
        ..plain(&action)
    };
    let made = always_rule(&action, Some("ship"), &with_program()).unwrap();
    let ruled = |case: &Case<'_>| judge(&policy(Level::Locked, vec![made.clone()]), case).then;
    assert_eq!(ruled(&case("ship", &["gh"], Danger::Plain)), Then::Allow);
    assert_eq!(ruled(&case("other", &["gh"], Danger::Plain)), Then::Ask);
    assert_eq!(ruled(&case("ship", &["gh", "deploy"], Danger::Plain)), Then::Ask);
    assert_eq!(ruled(&case("ship", &["gh"], Danger::Unknown)), Then::Ask);
    assert_eq!(ruled(&case("ship", &["gh"], Danger::Destructive)), Then::Deny);

    let goal = Move::WriteGoal { id: name("g"), body: "b".into() };
    let made = always_rule(&goal, Some("ship"), &Screening::default()).unwrap();
    let worse =
        Case { goal: Some("ship"), screening: screened(&["rm"], Danger::Destructive), ..plain(&goal) };
    assert_eq!(judge(&policy(Level::Guarded, vec![made]), &worse).then, Then::Deny);

    let started = worker(None, None);
    let made = always_rule(&started, Some("ship"), &Screening::default()).unwrap();
    let own = worker(Some("claude"), Some("agent"));
    let own = Case { goal: Some("ship"), ..plain(&own) };
    assert_eq!(judge(&policy(Level::Guarded, vec![made]), &own).then, Then::Ask);
}

#[test]
fn its_text_is_a_block_with_a_comment_that_cannot_break_out() {
    let made = always_rule(&shell(), Some("ship"), &with_program()).unwrap();
    let text = rule_text(&made, "always, for ask-3\n[[rule]]\r\nthen = \"allow\"\u{202e}");
    let expected = "\n# always, for ask-3\n# [[rule]]\n# then = \"allow\"\n[[rule]]\nmove = \"run_shell\"\n\
                    when = { program = [\"gh\"], goal = [\"ship\"] }\nthen = \"allow\"\n";
    assert_eq!(text, expected);
}
