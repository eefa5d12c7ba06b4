//! Executable files by their first line.

use crate::shell::{Danger, screen_script};

#[test]
fn shell_scripts_are_parsed() {
    for line in [
        "#!/bin/sh",
        "#!/bin/bash -eu",
        "#!/usr/bin/env bash",
        "#!/usr/bin/env -S bash -e",
        "#! /usr/local/bin/zsh",
    ] {
        let seen = screen_script(&format!("{line}\n# looop:interval=1m\ngh pr list | jq length\n"));
        assert_eq!(seen.danger(), Danger::Plain, "{line}: {:?}", seen.findings);
        assert!(seen.programs.contains("gh") && seen.programs.contains("jq"), "{line}");
        assert_eq!(screen_script(&format!("{line}\nrm -rf /\n")).danger(), Danger::Destructive, "{line}");
    }
}

#[test]
fn other_scripts_are_their_interpreter_and_unknown() {
    for (script, program) in [
        ("#!/usr/bin/python3\nprint(1)", "python3"),
        ("#!/usr/bin/env node\n1", "node"),
        ("#!/usr/bin/env -S awk -f\n{}", "awk"),
        ("#!/usr/bin/perl -w\n1", "perl"),
        ("#!/tmp/x/bash\nls", "/tmp/x/bash"),
        ("#!./bash\nls", "./bash"),
    ] {
        let seen = screen_script(script);
        assert_eq!(seen.danger(), Danger::Unknown, "{script}");
        assert_eq!(seen.findings.len(), 1, "{script}");
        assert_eq!(seen.programs.into_iter().collect::<Vec<_>>(), [program], "{script}");
    }
}

#[test]
fn scripts_whose_first_line_does_more_are_unknown() {
    for script in [
        "",
        "ls",
        "#!",
        "#!/usr/bin/env",
        "#!/bin/bash -c ls\nls",
        "#!/usr/bin/env A=b bash\nls",
        "#!/usr/bin/env -S bash -c ls\n",
    ] {
        assert_eq!(screen_script(script).danger(), Danger::Unknown, "{script}");
    }
}
