//! All families, asked in turn.

use super::family::Family;
use super::{cloud, data, files, git, hosting, interpreters, net, packages, system};
use crate::shell::call::{Call, Verdict};
use crate::shell::{is_harmless, wrap};

const FAMILIES: &[&[Family]] =
    &[cloud::FAMILIES, git::FAMILIES, hosting::FAMILIES, packages::FAMILIES, system::FAMILIES];

/// Rules that look at more than a verb.
const RULES: &[fn(&Call, &mut Verdict)] = &[
    files::judge,
    git::judge,
    hosting::judge,
    cloud::judge,
    data::judge,
    system::judge,
    net::judge,
    interpreters::judge,
];

/// Says what is known against a command.
pub(in crate::shell) fn judge(call: &Call, verdict: &mut Verdict) {
    for family in FAMILIES.iter().copied().flatten().filter(|family| family.knows(&call.name)) {
        family.judge(call, verdict);
    }
    for rule in RULES {
        rule(call, verdict);
    }
}

/// Whether a program is named by any rule, so that a function must not take its name.
pub(in crate::shell) fn is_known(program: &str) -> bool {
    FAMILIES.iter().copied().flatten().any(|family| family.knows(program))
        || [files::NAMES, data::NAMES, system::NAMES, net::NAMES, interpreters::NAMES]
            .iter()
            .any(|names| names.contains(&program))
        || matches!(program, "env" | "xargs" | "find" | "sudo" | "ssh" | "awk" | "sed" | "timeout" | "nohup")
        || is_harmless(program)
        || wrap::is_shell(program)
}
