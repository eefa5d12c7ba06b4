//! The built-in lists, case by case, against the specification written out once more.

use super::given::*;

/// Every case of every action: taint, danger, who wrote the goal, whether it is confined, and whether its program is
/// granted something.
fn every_case(check: &mut dyn FnMut(&Case<'_>)) {
    for action in every_move() {
        for bits in 0..16 {
            for danger in DANGERS {
                let carries_shell =
                    matches!(action.action(), "run_shell" | "write_goal" | "write_sensor" | "start_worker");
                if danger != Danger::Plain && !carries_shell {
                    continue;
                }
                let program = if bits & 8 == 0 { "gh" } else { "deploy" };
                let programs: &[&str] = if carries_shell { &[program] } else { &[] };
                check(&Case {
                    tainted: bits & 1 != 0,
                    goal: Some("g"),
                    goal_by_person: bits & 2 != 0,
                    confined: bits & 4 == 0,
                    screening: screened(programs, danger),
                    ..plain(&action)
                });
            }
        }
    }
}

/// What `guarded` says, by the words of the specification.
fn guarded(case: &Case<'_>) -> Then {
    let danger = case.screening.danger();
    let unconfined = !case.confined;
    let needs_grant = case.screening.programs.contains("gh");
    let shell = match danger {
        Danger::Destructive => Some(Then::Deny),
        Danger::Unknown => Some(Then::Ask),
        Danger::Plain => unconfined.then_some(Then::Ask),
    };
    let ask_if = |asks: bool| if asks { Then::Ask } else { Then::Allow };
    match case.action.action() {
        "write_playbook" => Then::Ask,
        "write_sensor" => shell.unwrap_or(ask_if(case.tainted)),
        "run_shell" | "write_goal" => shell.unwrap_or(ask_if(case.tainted && needs_grant)),
        "start_worker" => shell.unwrap_or(ask_if(case.tainted && !case.goal_by_person)),
        "steer_session" | "send_key" => ask_if(case.by_hand || case.tainted && !case.goal_by_person),
        _ => Then::Allow,
    }
}

fn locked(case: &Case<'_>) -> Then {
    match case.action.action() {
        "noop" | "send_notification" | "ask_human" => Then::Allow,
        _ if case.screening.danger() == Danger::Destructive => Then::Deny,
        _ => Then::Ask,
    }
}

#[test]
fn each_list_is_what_the_specification_says() {
    let mut seen = 0;
    every_case(&mut |case| {
        seen += 1;
        for level in Level::ALL {
            let expected = match level {
                Level::Open => Then::Allow,
                Level::Guarded => guarded(case),
                Level::Locked => locked(case),
            };
            let ruling = judge(&grants_gh(level), case);
            assert_eq!(ruling.then, expected, "{level:?} {case:?} {ruling:?}");
            assert!(!ruling.reason.is_empty() && ruling.rule.starts_with(level.word()), "{ruling:?}");
        }
    });
    assert_eq!(seen, 15 * 16 + 4 * 2 * 16);
}

/// What is typed into a terminal that a person opened runs as if they had typed it.
#[test]
fn typing_into_a_worker_that_a_person_started_asks() {
    for said in [
        r#"{"action":"steer_session","id":"w","input":"i"}"#,
        r#"{"action":"send_key","id":"w","keys":["Enter"]}"#,
    ] {
        let action: Move = serde_json::from_str(said).unwrap();
        for (by_hand, goal_by_person) in [(false, false), (false, true), (true, false), (true, true)] {
            let ruling = judge(&Policy::default(), &Case { goal_by_person, by_hand, ..plain(&action) });
            assert_eq!(ruling.then == Then::Ask, by_hand, "{ruling:?}");
        }
    }
}

#[test]
fn each_level_allows_no_more_than_the_one_before() {
    every_case(&mut |case| {
        let allows = Level::ALL.map(|level| judge(&grants_gh(level), case).then == Then::Allow);
        assert!(allows[0] && allows[0] >= allows[1] && allows[1] >= allows[2], "{case:?} {allows:?}");
    });
}

#[test]
fn a_worker_needs_a_runner_that_is_configured_and_no_command_of_its_own() {
    let start = |command: Option<&str>| Move::StartWorker {
        sandbox: false,
        repo: None,
        cwd: None,
        id: name("w"),
        prompt: "p".to_owned(),
        goal: None,
        runner: None,
        command: command.map(str::to_owned),
        verify: None,
    };
    let ruled = |command, configured, goal_by_person| {
        let action = start(command);
        judge(&Policy::default(), &Case { goal_by_person, configured, ..plain(&action) })
    };
    for by_person in [false, true] {
        let no_runner = ruled(None, false, by_person);
        assert_eq!(no_runner.then, Then::Deny);
        assert_eq!(no_runner.rule, "guarded: start_worker is denied when its runner is not configured");
        assert_eq!(ruled(Some("agent"), false, by_person).then, Then::Ask);
        assert_eq!(ruled(Some("agent"), true, by_person).then, Then::Ask);
        assert_eq!(ruled(None, true, by_person).then, Then::Allow);
    }
}

#[test]
fn a_ruling_names_its_rule_and_says_why() {
    let action = Move::WritePlaybook { body: "b".to_owned() };
    let ruling = judge(&Policy::default(), &plain(&action));
    assert_eq!(ruling.rule, "guarded: write_playbook asks");
    let action = shell();
    let case = Case { screening: screened(&["rm"], Danger::Destructive), ..plain(&action) };
    let ruling = judge(&Policy::default(), &case);
    assert_eq!(ruling.rule, "guarded: run_shell is denied when its shell is destructive");
    assert_eq!(ruling.reason, "it does what cannot be taken back: it stands out");
}

/// A decider cannot say it; if it ever could, a person would be asked.
#[test]
fn what_no_list_names_is_asked_for() {
    let action = Move::RemoveSensor { name: name("s") };
    assert_eq!(judge(&Policy::default(), &plain(&action)).then, Then::Ask);
    for level in Level::ALL {
        let last = builtin(level).last().unwrap();
        assert!(last.moves.is_empty() && last.when.is_empty(), "{level:?} {last:?}");
    }
}

#[test]
fn harmless_programs_need_no_bounds() {
    let action = shell();
    let case = |program: &str| Case {
        confined: false,
        screening: screened(&[program], Danger::Plain),
        ..plain(&action)
    };
    for program in ["cat", "jq", "deploy"] {
        let allowed = judge(&Policy::default(), &case(program)).then == Then::Allow;
        assert_eq!(allowed, is_harmless(program), "{program}");
    }
    let nothing = Case { confined: false, ..plain(&action) };
    assert_eq!(judge(&Policy::default(), &nothing).then, Then::Allow);
}
