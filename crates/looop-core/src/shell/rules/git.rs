//! git and its kin.

use super::family::{Family, PLAIN};
use super::files::overwriting;
use crate::shell::call::{Call, Verdict};
use crate::shell::paths::place;
use crate::shell::screening::Danger;

const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        programs: &["git"],
        valued: VALUED,
        unknown: &[
            "bisect run",
            "difftool",
            "mergetool",
            "send-email",
            "rebase",
            "submodule foreach",
            "svn",
            "p4",
            "daemon",
            "instaweb",
            "credential",
            "shell",
            "remote-ext",
            "hook run",
            "maintenance",
            "web--browse",
            "push",
            "imap-send",
            "request-pull",
            "receive-pack",
            "cvsimport",
            "filter-repo",
        ],
        destructive: &[
            "filter-branch",
            "restore",
            "stash drop",
            "stash clear",
            "reflog expire",
            "reflog delete",
            "remote set-url",
            "remote remove",
            "remote rm",
            "prune",
            "lfs prune",
            "worktree remove",
            "update-ref",
            "replace",
            "notes remove",
        ],
        why: "changes or publishes a repository",
        ..PLAIN
    },
    Family {
        programs: &["hg", "svn", "jj", "fossil"],
        unknown: &["push", "commit", "git push", "ci", "strip", "purge", "sync"],
        why: "publishes or changes a repository",
        ..PLAIN
    },
];

/// Judges what a verb alone does not tell.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    if call.name != "git" {
        return;
    }
    settings(call, verdict);
    let verbs = call.verbs(VALUED, 2);
    let Some(Some(verb)) = verbs.first() else { return };
    let grave = match verb.as_str() {
        "push" => pushes(call),
        "reset" => call.has_long("--hard") || call.has_long("--merge"),
        "clean" => call.has_short('f') || call.has_long("--force"),
        "checkout" | "switch" => discards(call),
        "branch" | "tag" => ["-D", "-d", "--delete"].iter().any(|option| has(call, option)),
        "gc" => call.has_long("--prune") || call.has_long("--aggressive"),
        _ => false,
    };
    if grave {
        verdict.destructive(format!("{} cannot be undone", call.shown()));
    }
    configured(call, verb, verdict);
    written(call, verb, verdict);
    if call.has_long("--unsafe-paths") || (verb == "grep" && call.has_short('O')) {
        verdict.unknown(format!("{} reaches beyond the repository", call.shown()));
    }
    for option in [
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--ext-diff",
        "--open-files-in-pager",
        "--textconv",
        "-x",
        "--extcmd",
    ] {
        if option != "-x" && call.has_long(option) {
            verdict.unknown(format!("{} runs another program", call.shown()));
        }
    }
    if call.args.iter().any(|arg| arg.known_start().0.starts_with("ext::")) {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
}

/// Some verbs write their result to a file.
fn written(call: &Call, verb: &str, verdict: &mut Verdict) {
    let names: &[&str] = if matches!(verb, "archive" | "format-patch") {
        &["--output", "--output-directory", "-o"]
    } else {
        &["--output"]
    };
    if let Some(target) = call.value(names) {
        overwriting(&format!("{} writes", call.shown()), place(&target), verdict);
    }
}

fn has(call: &Call, option: &str) -> bool {
    call.args.iter().any(|arg| arg.known_start().0 == option)
}

fn pushes(call: &Call) -> bool {
    let options = ["--force", "--force-with-lease", "--delete", "--mirror", "--prune"];
    let references =
        call.operands(VALUED).into_iter().skip(2).any(|(_, arg)| arg.known_start().0.starts_with([':', '+']));
    references
        || call.has_short('f')
        || call.has_short('d')
        || options.iter().any(|option| call.has_long(option))
}

fn discards(call: &Call) -> bool {
    let paths = call.args.iter().any(|arg| matches!(arg.known_start().0.as_str(), "--" | "." | "./"));
    paths || call.has_short('f') || call.has_long("--force") || call.has_long("--discard-changes")
}

/// Settings on the command line may name programs.
fn settings(call: &Call, verdict: &mut Verdict) {
    const TAME: &[&str] = &[
        "user.",
        "color.",
        "advice.",
        "init.",
        "core.quotepath",
        "core.quotePath",
        "commit.gpgsign",
        "protocol.version",
        "log.date",
        "safe.directory",
    ];
    for (at, arg) in call.args.iter().enumerate() {
        let start = arg.known_start().0;
        if start == "-c" || start == "--config" {
            let Some((key, whole)) = call.args.get(at + 1).map(crate::shell::word::Arg::known_start) else {
                continue;
            };
            let tame = TAME.iter().any(|start| key.starts_with(start)) && !key.contains('!');
            // After the verb, `-c` belongs to the verb, whose value has no dot-and-equals shape.
            if !tame && (key.contains('=') || !whole) && key.contains('.') || (!whole && key.is_empty()) {
                verdict.unknown(format!("git -c {key} may run another program"));
            }
        } else if start.starts_with("--config-env") || start.starts_with("--exec-path=") {
            verdict.unknown(format!("{} may run another program", call.shown()));
        }
    }
}

fn configured(call: &Call, verb: &str, verdict: &mut Verdict) {
    if verb != "config" {
        return;
    }
    let reads = ["--get", "--get-all", "--list", "-l", "--get-regexp", "--show-origin"]
        .iter()
        .any(|option| has(call, option));
    let operands = call.operands(VALUED);
    let reading_verb = operands
        .get(1)
        .and_then(|(_, arg)| arg.literal())
        .is_some_and(|word| word == "get" || word == "list");
    let one = operands.len() == 2
        && !["--unset", "--unset-all", "-e", "--edit", "--add"].iter().any(|option| has(call, option));
    if reads || reading_verb || one {
        return;
    }
    let key = operands.get(1).map(|(_, arg)| arg.known_start().0).unwrap_or_default();
    let elsewhere = has(call, "--global") || has(call, "--system");
    let tame = key.starts_with("user.") && !elsewhere;
    if !tame {
        verdict.add(Danger::Unknown, format!("{} changes what git runs", call.shown()));
    }
}
