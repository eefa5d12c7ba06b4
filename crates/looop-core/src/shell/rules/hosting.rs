//! Hosting of code, and looop itself.

use super::family::{Family, PLAIN};
use crate::shell::call::{Call, Verdict};
use crate::shell::screening::Danger;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        programs: &["gh"],
        valued: &["-R", "--repo", "--hostname"],
        plain: &[
            "pr list",
            "pr view",
            "pr checks",
            "pr diff",
            "pr status",
            "issue list",
            "issue view",
            "issue status",
            "run list",
            "run view",
            "run watch",
            "run download",
            "repo view",
            "repo list",
            "repo clone",
            "search",
            "release list",
            "release view",
            "release download",
            "workflow list",
            "workflow view",
            "api",
            "status",
            "label list",
            "cache list",
            "ruleset list",
            "ruleset view",
            "auth status",
            "gist list",
            "gist view",
            "project list",
            "project view",
            "project item-list",
            "secret list",
            "variable list",
            "variable get",
            "org list",
            "version",
            "help",
            "attestation verify",
            "browse --no-browser",
        ],
        destructive: &[
            "repo delete",
            "repo archive",
            "repo rename",
            "release delete",
            "release delete-asset",
            "pr merge",
            "pr close",
            "issue close",
            "issue delete",
            "issue transfer",
            "secret set",
            "secret delete",
            "secret remove",
            "variable delete",
            "label delete",
            "gist delete",
            "cache delete",
            "run delete",
            "run cancel",
            "ssh-key delete",
            "gpg-key delete",
            "project delete",
            "auth token",
            "auth logout",
            "repo deploy-key delete",
            "workflow disable",
            "codespace delete",
        ],
        rest: Danger::Unknown,
        why: "changes something outside",
        ..PLAIN
    },
    Family {
        programs: &["glab", "hub", "tea", "linear", "jira", "acli"],
        valued: &["-R", "--repo"],
        plain: &[
            "mr list",
            "mr view",
            "mr diff",
            "issue list",
            "issue view",
            "ci list",
            "ci view",
            "ci status",
            "repo view",
            "search",
            "version",
            "list",
            "view",
            "show",
            "issue show",
            "issues list",
            "sprint list",
            "me",
            "auth status",
            "pr list",
            "pr show",
        ],
        destructive: &[
            "mr merge",
            "mr close",
            "mr delete",
            "issue close",
            "issue delete",
            "repo delete",
            "release delete",
        ],
        rest: Danger::Unknown,
        ..PLAIN
    },
    Family {
        programs: &["looop"],
        plain: &[
            "status",
            "state",
            "why",
            "asks",
            "ls",
            "log",
            "shot",
            "events",
            "runs",
            "cost",
            "journal",
            "doctor",
            "watch",
            "wait",
            "wait-idle",
            "expect",
            "help",
            "completions",
            "goal list",
            "goal show",
            "playbook show",
            "playbook history",
            "playbook diff",
            "sensor list",
            "sensor show",
            "schedule list",
            "worker list",
            "policy show",
            "policy check",
            "policy test",
            "service print",
            "ask",
            "told",
            "flag",
            "unflag",
            "claim",
            "unclaim",
            "propose",
        ],
        destructive: &["asks dismiss"],
        rest: Danger::Destructive,
        why: "steers looop itself",
        ..PLAIN
    },
];

/// Judges `gh api`, whose options tell what it does.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    if call.name == "gh" && call.args.iter().any(|arg| arg.known_start().0.starts_with("--upload-pack")) {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
    let verbs = call.verbs(&["-R", "--repo", "--hostname"], 1);
    if call.name != "gh" && call.name != "glab" || verbs.first() != Some(&Some("api".to_owned())) {
        return;
    }
    let method = call.value(&["-X", "--method"]);
    let fields = ["-f", "-F", "--field", "--raw-field", "--input"]
        .iter()
        .any(|option| call.value(&[option]).is_some());
    let what = format!("{} changes something outside", call.shown());
    match method.map(|arg| arg.literal().map(|text| text.to_ascii_uppercase())) {
        Some(None) => verdict.unknown(what),
        Some(Some(method)) if method == "GET" || method == "HEAD" => {}
        Some(Some(method)) if method == "POST" => verdict.unknown(what),
        Some(Some(_)) => verdict.destructive(what),
        // A query over GraphQL is a POST that only reads, unless it says mutation.
        None if fields && !is_query(call) => verdict.unknown(what),
        None => {}
    }
}

fn is_query(call: &Call) -> bool {
    let graphql = call.args.iter().any(|arg| arg.literal().as_deref() == Some("graphql"));
    let queries = call.args.iter().any(|arg| {
        let text = arg.known_start().0;
        text.starts_with("query=query")
            || text.starts_with("query={")
            || text.starts_with("query=\nquery")
            || text.starts_with("query= query")
    });
    let mutates = call.args.iter().any(|arg| arg.raw().contains("mutation"));
    let hidden =
        call.args.iter().any(|arg| arg.known_start().0.starts_with("query=") && arg.literal().is_none());
    graphql && queries && !mutates && !hidden && call.value(&["--input"]).is_none()
}
