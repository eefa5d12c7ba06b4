//! What holds for any text.

use super::destructive::DESTRUCTIVE;
use super::plain::PLAIN;
use crate::shell::{Danger, is_harmless, screen, screen_script};
use proptest::prelude::*;

const FRAGMENTS: &[&str] = &[
    "ls",
    " ",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "{ ",
    " }",
    "if ",
    " then ",
    " fi",
    " do ",
    " done",
    "while ",
    "for x in ",
    "case x in ",
    " esac",
    ";;",
    "$(",
    "`",
    "${",
    "}",
    "$((",
    "))",
    "[[ ",
    " ]]",
    "<<E\n",
    "\nE\n",
    "<<<",
    ">",
    ">>",
    "<(",
    ">&",
    "&>",
    "'",
    "\"",
    "\\",
    "$'",
    "$",
    "~",
    "~9",
    "#",
    "!",
    "function f",
    "f()",
    "=",
    "a=",
    "a[",
    "]",
    "a=(",
    "x:-",
    "@P",
    "*",
    "?",
    "{a,b}",
    "rm -rf /",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "{}",
    "sed ",
    "s/a/b/e",
    "awk ",
    "git ",
    "push",
    "curl ",
    "-d",
    "env ",
    "-S ",
    "99999999999",
    "é",
    "\u{1f600}",
    "<<-",
    "$[",
    "time ",
    "coproc ",
    "select ",
    "in ",
    "((",
    "-c",
    "-",
    "--",
    "gh api ",
    "kill ",
    "tar ",
    "\\\n",
    "//",
    "%",
    "##",
    "^^",
    ":",
    ",,",
];

fn fragments() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(FRAGMENTS), 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_string_is_screened(text in any::<String>()) {
        let seen = screen(&text);
        prop_assert!(seen.reason().chars().count() <= 300);
        screen_script(&text);
        screen_script(&format!("#!/bin/sh\n{text}"));
        is_harmless(&text);
    }

    #[test]
    fn any_mix_of_shell_is_screened(text in fragments()) {
        let seen = screen(&text);
        prop_assert!(seen.reason().chars().count() <= 300);
        prop_assert_eq!(&seen, &screen(&text));
    }

    #[test]
    fn what_follows_a_plain_text_is_seen(text in fragments()) {
        if screen(&text).danger() == Danger::Plain {
            let seen = screen(&format!("{text}\n; rm -rf /"));
            let after = screen(&format!("{text}\nrm -rf /"));
            prop_assert_ne!(seen.danger(), Danger::Plain);
            prop_assert_ne!(after.danger(), Danger::Plain);
        }
    }

    #[test]
    fn what_stands_before_or_around_hides_nothing(before in prop::sample::select(PLAIN), after in prop::sample::select(PLAIN), text in prop::sample::select(DESTRUCTIVE)) {
        let around = format!("{}\n{text}\n{}", before.0, after.0);
        prop_assert_ne!(screen(&around).danger(), Danger::Plain, "{}", around);
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn no_wrapping_makes_a_destructive_text_plain() {
    for text in DESTRUCTIVE {
        let quoted = quoted(text);
        for wrapped in [
            format!("bash -c {quoted}"),
            format!("eval {quoted}"),
            format!("env -i A=b bash -c {quoted}"),
            format!("( {text}\n)"),
            format!("{{ {text}\n}}"),
            format!("if true; then {text}\nfi"),
            format!("echo $( {text}\n)"),
            format!("x=$( {text}\n)"),
            format!("echo \"$( {text}\n)\""),
            format!("cat <<LIMIT\n$( {text}\n)\nLIMIT"),
            format!("timeout 5 bash -c {quoted}"),
            format!("bash <<'LIMIT'\n{text}\nLIMIT"),
            format!("f() {{ {text}\n}}\nf"),
            format!("cat <( {text}\n)"),
            format!("ls | xargs bash -c {quoted}"),
            format!("find . -exec sh -c {quoted} _ {{}} +"),
            format!("trap {quoted} EXIT"),
            format!("#!/bin/bash\n{text}"),
        ] {
            assert_ne!(screen(&wrapped).danger(), Danger::Plain, "{wrapped}");
        }
    }
}

#[test]
fn adding_a_removal_to_ordinary_work_is_seen() {
    for (text, _) in PLAIN {
        assert_ne!(screen(&format!("{text}\nrm -rf /")).danger(), Danger::Plain, "{text}");
        assert_ne!(screen(&format!("rm -rf /\n{text}")).danger(), Danger::Plain, "{text}");
    }
}
