//! The rule behind `always`: wide enough to match the same again, and no wider than what was seen.

use super::given::*;

#[test]
fn it_is_about_this_very_command_or_file() {
    let goal = || texts(&["ship"]);
    let table = [
        (command("gh pr list"), When { command: texts(&["gh pr list"]), goal: goal(), ..When::default() }),
        (
            Move::ArchiveGoal { id: name("g") },
            When { path: texts(&["goals/g.md"]), goal: goal(), ..When::default() },
        ),
        (
            Move::DropSchedule { name: name("s") },
            When { path: texts(&["schedules/s.json"]), goal: goal(), ..When::default() },
        ),
    ];
    for (action, when) in table {
        let made = always_rule(&action, Some("ship"), true).unwrap();
        assert_eq!(made, rule(action.action(), when.clone(), Then::Allow));
        let made = always_rule(&action, None, true).unwrap();
        assert_eq!(made, rule(action.action(), When { goal: Vec::new(), ..when }, Then::Allow));
        assert_eq!(never_matches(&made), None, "{made:?}");
    }
}

/// What carries a text of its own will carry another one the next time.
#[test]
fn what_would_allow_the_unseen_is_refused() {
    for action in every_move() {
        let bounded = matches!(action.action(), "run_shell" | "archive_goal" | "drop_schedule");
        let made = always_rule(&action, Some("ship"), true);
        assert_eq!(made.is_ok(), bounded, "{action:?} {made:?}");
        assert!(bounded || made.is_err_and(|why| why.contains("not for always")), "{action:?}");
    }
    for cmd in ["x > y", "x $y", "x; y", "eval x"] {
        assert!(always_rule(&command(cmd), Some("ship"), true).is_ok(), "{cmd}");
        assert!(
            always_rule(&command(cmd), Some("ship"), false).is_err_and(|why| why.contains("not for always")),
            "{cmd}"
        );
    }
}

/// The same command is allowed from then on; another one of the same program, or for another goal, is judged as before.
#[test]
fn it_allows_the_same_again_and_nothing_else() {
    let made = always_rule(&command("gh pr list"), Some("ship"), true).unwrap();
    let ruled = |cmd: &str, goal| {
        let action = command(cmd);
        let case = Case { goal: Some(goal), runs: runs(&[cmd]), ..plain(&action) };
        judge(&policy(Level::Locked, vec![made.clone()]), &case).then
    };
    assert_eq!(ruled("gh pr list", "ship"), Then::Allow);
    for (cmd, goal) in [
        ("gh pr merge 1", "ship"),
        ("gh pr list ", "ship"),
        ("gh pr list; gh x", "ship"),
        ("gh pr list", "other"),
    ] {
        assert_eq!(ruled(cmd, goal), Then::Ask, "{cmd:?} {goal}");
    }
}

#[test]
fn its_text_is_a_block_with_a_comment_that_cannot_break_out() {
    let made = always_rule(&command("gh pr list"), Some("ship"), true).unwrap();
    let text = rule_text(&made, "always, for ask-3\n[[rule]]\r\nthen = \"allow\"\u{202e}");
    let expected = "\n# always, for ask-3\n# [[rule]]\n# then = \"allow\"\n[[rule]]\nmove = \"run_shell\"\n\
                    when = { command = [\"gh pr list\"], goal = [\"ship\"] }\nthen = \"allow\"\n";
    assert_eq!(text, expected);
}
