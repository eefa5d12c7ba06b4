//! The work is bounded, and so is what is said.

use crate::shell::{Danger, Finding, Screening, screen};

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    open.repeat(times) + middle + &close.repeat(times)
}

#[test]
fn deep_texts_are_unknown_and_cost_little() {
    for (open, middle, close) in [
        ("(", "a", ")"),
        ("( ", "a", " )"),
        ("( ", "a", ""),
        ("( ')' ", "a", " )"),
        ("{ ", "a;", " };"),
        ("{ ", "a", ""),
        ("{ echo } ; ", "a", ""),
        ("if ", "a", "; then b; fi"),
        ("case a in b) ", "c", ";; esac"),
        ("f() { ", "a;", " };"),
        ("$(", "a", ")"),
        ("\"$(", "a", ")\""),
        ("\"$( ')' ", "a", ")\""),
        ("${x:-", "a", "}"),
        ("${x:-'}'", "a", "}"),
        ("\"${x:-", "a", "}\""),
        ("${a[", "1", "]}"),
        ("${a[']}'", "1", "]}"),
        ("$((", "1", "))"),
        ("$[ $(( ", "b", ") ) ]"),
        ("$((a[(", "1", "))]))"),
        ("a[(", "1", ")]=x "),
        ("<(", "a", ")"),
        ("! ", "a", ""),
        ("while ", "a", "; do b; done"),
        ("coproc ", "a", ""),
        ("time ", "a", ""),
    ] {
        for times in [40, 300, 3000] {
            let text = nested(open, middle, close, times);
            let seen = screen(&text);
            assert!(seen.findings.len() <= 48, "{open} {times}");
            if !matches!(open, "coproc " | "time " | "while ") {
                assert_ne!(seen.danger(), Danger::Plain, "{open} {times}");
            }
        }
        for times in [1, 2, 3, 5, 8, 12, 20, 31] {
            screen(&nested(open, middle, close, times));
        }
    }
}

#[test]
fn text_in_text_is_followed_only_so_far() {
    let mut text = "rm -rf /".to_owned();
    for depth in 0..12 {
        assert_ne!(screen(&text).danger(), Danger::Plain, "{depth}");
        text = format!("eval '{}'", text.replace('\'', "'\\''"));
    }
}

#[test]
fn long_texts_are_refused() {
    assert_eq!(screen(&"ls\n".repeat(30_000)).danger(), Danger::Unknown);
    assert_eq!(screen(&"ls\n".repeat(1000)).danger(), Danger::Plain);
    assert_ne!(screen(&"eval 'ls ls ls'\n".repeat(4000)).danger(), Danger::Destructive);
}

#[test]
fn numbers_that_would_break_the_parser_are_refused() {
    for text in [
        "ls 99999999999999>x",
        "99999999999>x",
        "ls ~99999999999999999999999",
        "ls ~+99999999999999999999999/x",
        "echo {1..99999999999999999999999}",
        "ls 9999999\\\n99999999>x",
    ] {
        screen(text);
    }
    assert_eq!(screen("echo 99999999999 > x").danger(), Danger::Plain);
}

#[test]
fn reasons_are_short_and_name_the_worst_first() {
    let mut seen = screen("$a; rm -rf /etc; $b");
    assert!(seen.reason().starts_with("rm -rf /etc removes files outside scratch; "), "{}", seen.reason());
    for count in 0..100 {
        seen.merge(screen(&format!("rm -rf /x{count}\u{e9}")));
    }
    assert!(seen.reason().chars().count() <= 300 && seen.findings.len() <= 48);
    assert_eq!(Screening::default().reason(), "");
    assert_eq!(Screening::default().danger(), Danger::Plain);
}

#[test]
fn a_full_list_still_takes_what_is_worse() {
    let mut seen = Screening::default();
    for count in 0..100 {
        seen.merge(screen(&format!("$x{count}")));
    }
    seen.merge(Screening {
        findings: vec![Finding { danger: Danger::Destructive, what: "x".to_owned() }],
        ..Screening::default()
    });
    assert_eq!(seen.danger(), Danger::Destructive);
}

#[test]
fn programs_are_those_that_would_run() {
    for (text, programs) in [
        ("mytool; mytool() { ls; }", vec!["ls", "mytool"]),
        ("false && mytool() { ls; }; mytool", vec!["ls", "mytool"]),
        ("(mytool() { ls; }); mytool", vec!["ls", "mytool"]),
        ("mytool() { ls; }; command mytool", vec!["ls", "mytool"]),
        ("bash -c 'mytool() { ls; }'; mytool", vec!["bash", "ls", "mytool"]),
        ("mytool() { ls; }; mytool", vec!["ls"]),
    ] {
        assert_eq!(screen(text).programs.into_iter().collect::<Vec<_>>(), programs, "{text}");
    }
}
