//! Clusters, clouds and containers.

use super::family::{Family, PLAIN};
use crate::shell::call::{Call, Verdict};
use crate::shell::screening::Danger;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        programs: &["kubectl", "oc", "k3s"],
        valued: &[
            "-n",
            "--namespace",
            "--context",
            "--cluster",
            "--kubeconfig",
            "--user",
            "-s",
            "--server",
            "--request-timeout",
        ],
        plain: &[
            "get",
            "describe",
            "logs",
            "top",
            "version",
            "explain",
            "api-resources",
            "api-versions",
            "cluster-info",
            "diff",
            "events",
            "wait",
            "rollout status",
            "rollout history",
            "config get-contexts",
            "config current-context",
            "config view",
            "auth can-i",
            "kubectl get",
        ],
        rest: Danger::Destructive,
        why: "changes a cluster",
        ..PLAIN
    },
    Family {
        programs: &["helm"],
        valued: &["-n", "--namespace", "--kube-context", "--kubeconfig"],
        plain: &[
            "list",
            "ls",
            "status",
            "get",
            "history",
            "show",
            "search",
            "template",
            "lint",
            "version",
            "env",
            "diff",
            "dependency list",
        ],
        rest: Danger::Destructive,
        why: "changes a cluster",
        ..PLAIN
    },
    Family {
        programs: &["terraform", "tofu", "terragrunt"],
        plain: &[
            "plan",
            "show",
            "output",
            "validate",
            "fmt",
            "version",
            "providers",
            "graph",
            "state list",
            "state show",
            "workspace list",
            "workspace show",
            "init",
        ],
        rest: Danger::Destructive,
        why: "changes infrastructure",
        ..PLAIN
    },
    Family {
        programs: &[
            "pulumi",
            "ansible",
            "ansible-playbook",
            "cdk",
            "serverless",
            "flyctl",
            "fly",
            "heroku",
            "vercel",
            "netlify",
            "wrangler",
            "argocd",
            "flux",
        ],
        plain: &[
            "preview", "version", "logs", "status", "list", "ls", "diff", "synth", "apps", "releases", "ps",
            "whoami", "app list", "app get", "get",
        ],
        rest: Danger::Destructive,
        why: "changes infrastructure",
        ..PLAIN
    },
    Family {
        programs: &["docker", "podman", "nerdctl"],
        valued: &["-H", "--host", "--context", "-c", "--config", "-l", "--log-level"],
        plain: &[
            "ps",
            "images",
            "logs",
            "inspect",
            "stats",
            "version",
            "info",
            "top",
            "port",
            "history",
            "diff",
            "search",
            "container ls",
            "container list",
            "container inspect",
            "container logs",
            "image ls",
            "image inspect",
            "network ls",
            "network inspect",
            "volume ls",
            "volume inspect",
            "system df",
            "system info",
            "compose ps",
            "compose logs",
            "compose config",
            "compose ls",
            "context ls",
            "manifest inspect",
            "events",
        ],
        unknown: &[
            "run",
            "exec",
            "build",
            "create",
            "start",
            "pull",
            "cp",
            "compose up",
            "compose run",
            "compose exec",
            "compose build",
            "buildx",
            "load",
            "save",
            "tag",
            "login",
            "attach",
            "commit",
            "container run",
            "container exec",
            "image pull",
            "image build",
            "compose pull",
        ],
        rest: Danger::Destructive,
        why: "changes or starts containers",
        ..PLAIN
    },
    Family {
        programs: &["docker-compose", "podman-compose"],
        valued: &["-f", "--file", "-p", "--project-name"],
        plain: &["ps", "logs", "config", "ls", "version", "top", "images"],
        unknown: &["up", "run", "exec", "build", "start", "pull"],
        rest: Danger::Destructive,
        why: "changes or starts containers",
        ..PLAIN
    },
];

const CLOUDS: &[&str] =
    &["aws", "gcloud", "az", "gsutil", "bq", "doctl", "hcloud", "oci", "ibmcloud", "s3cmd", "mc", "rclone"];
const VALUED: &[&str] = &[
    "--profile",
    "--region",
    "--output",
    "--query",
    "--endpoint-url",
    "--project",
    "--account",
    "--format",
    "--filter",
    "--zone",
    "--subscription",
    "-o",
    "-g",
    "--resource-group",
    "--name",
    "-n",
    "--configuration",
];
const LOOKING: &[&str] = &[
    "describe", "list", "get", "show", "ls", "head", "lookup", "read", "search", "version", "help", "info",
    "check", "status", "size", "lsd", "lsf", "lsl", "stat", "du", "wait", "tail", "logs",
];

const CHANGING: &[&str] = &[
    "add",
    "apply",
    "attach",
    "copy",
    "cp",
    "create",
    "delete",
    "deploy",
    "destroy",
    "detach",
    "disable",
    "enable",
    "exec",
    "import",
    "invoke",
    "modify",
    "move",
    "mv",
    "patch",
    "publish",
    "purge",
    "put",
    "rb",
    "mb",
    "reboot",
    "remove",
    "reset",
    "restart",
    "restore",
    "rm",
    "run",
    "send",
    "set",
    "ssh",
    "scp",
    "start",
    "stop",
    "sync",
    "terminate",
    "update",
    "upload",
];

/// Judges the large clouds, where the verb comes after one or more groups: one of the words must be a looking one, and
/// the last group word decides.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    if !CLOUDS.contains(&call.name.as_str()) {
        return;
    }
    let words = verbs(call);
    if words.is_empty() {
        return;
    }
    if words.iter().take(2).any(Option::is_none) {
        return verdict.unknown(format!("{} hides what it does", call.shown()));
    }
    let secret = call.args.iter().any(|arg| {
        let raw = arg.raw();
        raw.contains("secretsmanager")
            || raw.contains("print-access-token")
            || raw.contains("get-access-token")
            || raw.contains("with-decryption")
    });
    let any =
        |verbs: &[&str]| words.iter().flatten().any(|word| verbs.iter().any(|verb| is_verb(word, verb)));
    let looks = any(LOOKING) && !any(CHANGING);
    if secret {
        verdict.unknown(format!("{} reads a secret", call.shown()));
    } else if !looks {
        verdict.destructive(format!("{} changes something in a cloud", call.shown()));
    }
    if call.has_long("--endpoint-url") {
        verdict.unknown(format!("{} goes to another server", call.shown()));
    }
}

/// The words before the first option that follows them: groups, the verb, and what it is about.
fn verbs(call: &Call) -> Vec<Option<String>> {
    let operands = call.operands(VALUED);
    let first = operands.first().map_or(0, |(at, _)| *at);
    let together = operands.iter().enumerate().take_while(|(count, (at, _))| *at == first + count);
    together.take(4).map(|(_, (_, arg))| arg.literal()).collect()
}

fn is_verb(word: &str, verb: &str) -> bool {
    word == verb || word.strip_prefix(verb).is_some_and(|rest| rest.starts_with('-'))
}
