//! The commands of well-known programs that only look, as patterns. A grant of a program stands for these.
//!
//! What is left out is left out on purpose: options that read or write files, run programs, choose another server or
//! account, print credentials, or have a language of their own that can look at the environment (`gh --jq`).

use super::grant::{CommandGrant, Net, OnTaint, ProgramGrant};
use super::pattern::Pattern;

/// The commands of one program.
struct Shipped {
    program: &'static str,
    /// The words of each; `HOST` stands for each host of the grant.
    commands: &'static [&'static str],
    /// The options that each of them may have.
    options: &'static [&'static str],
    /// Whether nobody but the person's own servers sees what is asked.
    unseen: bool,
}

/// Kinds of Kubernetes objects that hold no secrets by design.
const KINDS: [&str; 36] = [
    "cronjob",
    "cronjobs",
    "daemonset",
    "daemonsets",
    "deploy",
    "deployment",
    "deployments",
    "ds",
    "endpoints",
    "events",
    "hpa",
    "ing",
    "ingress",
    "ingresses",
    "job",
    "jobs",
    "namespace",
    "namespaces",
    "node",
    "nodes",
    "ns",
    "pod",
    "pods",
    "pv",
    "pvc",
    "replicaset",
    "replicasets",
    "rs",
    "sc",
    "service",
    "services",
    "statefulset",
    "statefulsets",
    "storageclasses",
    "sts",
    "svc",
];

const TABLE: &[Shipped] = &[
    Shipped {
        program: "gh",
        commands: &["api repos/<name>/<name>", "api repos/<name>/<name>/*"],
        // `-H` and others mean something else here, and a field makes a request that writes.
        options: &["--paginate"],
        unseen: true,
    },
    Shipped {
        program: "gh",
        commands: &[
            "issue list",
            "issue status",
            "issue view <name>",
            "label list",
            "pr checks <name>",
            "pr diff <name>",
            "pr list",
            "pr status",
            "pr view <name>",
            "release list",
            "release view <name>",
            "repo list <name>",
            "repo view <name>/<name>",
            "run list",
            "run view <name>",
            "search issues **",
            "search prs **",
            "search repos **",
            "workflow list",
        ],
        options: &[
            "--repo=<name>/<name>",
            "-R=<name>/<name>",
            "--json=*",
            "--limit=<name>",
            "-L=<name>",
            "--state=<name>",
            "-s=<name>",
            "--search=*",
            "-S=*",
            "--label=*",
            "-l=*",
            "--author=*",
            "-A=*",
            "--assignee=*",
            "-a=*",
            "--base=*",
            "-B=*",
            "--head=*",
            "-H=*",
            "--branch=*",
            "-b=*",
            "--workflow=*",
            "--status=<name>",
            "--comments",
            "--log",
            "--log-failed",
            "--name-only",
        ],
        unseen: true,
    },
    Shipped {
        program: "glab",
        commands: &[
            "ci list",
            "ci status",
            "issue list",
            "issue view <name>",
            "label list",
            "mr diff <name>",
            "mr list",
            "mr view <name>",
            "release list",
        ],
        options: &[
            "--repo=<name>/<name>",
            "-R=<name>/<name>",
            "--output=json",
            "-F=json",
            "--label=*",
            "--author=<name>",
            "--assignee=<name>",
            "--search=*",
            "--per-page=<name>",
            "--page=<name>",
            "--all",
            "--closed",
            "--merged",
            "--branch=*",
            "-b=*",
            "--comments",
        ],
        unseen: true,
    },
    Shipped {
        program: "git",
        commands: &["ls-remote https://HOST/*"],
        options: &["--heads", "--branches", "--tags", "--refs", "--quiet", "-q", "--symref"],
        unseen: false,
    },
    Shipped {
        program: "kubectl",
        commands: &[
            "api-resources",
            "cluster-info",
            "config current-context",
            "describe KIND <name>",
            "get KIND <name>",
            "logs <name>",
            "rollout history deployment <name>",
            "rollout status deployment <name>",
            "top node <name>",
            "top nodes",
            "top pod <name>",
            "top pods",
            "version",
        ],
        options: &[
            "-n=<name>",
            "--namespace=<name>",
            "-A",
            "--all-namespaces",
            "-l=*",
            "--selector=*",
            "--field-selector=*",
            "-o=json",
            "-o=yaml",
            "-o=wide",
            "-o=name",
            "--output=json",
            "--output=yaml",
            "--output=wide",
            "--output=name",
            "--sort-by=*",
            "--no-headers",
            "--show-labels",
            "-c=<name>",
            "--container=<name>",
            "--tail=<name>",
            "--since=<name>",
            "--previous",
            "-p",
            "--timestamps",
        ],
        unseen: true,
    },
    Shipped {
        program: "aws",
        commands: &[
            "autoscaling describe-auto-scaling-groups",
            "cloudformation list-stacks",
            "cloudwatch describe-alarms",
            "ec2 describe-instance-status",
            "ec2 describe-instances",
            "ec2 describe-regions",
            "ec2 describe-security-groups",
            "ec2 describe-subnets",
            "ec2 describe-volumes",
            "ec2 describe-vpcs",
            "ecs list-clusters",
            "ecs list-services",
            "eks list-clusters",
            "elbv2 describe-load-balancers",
            "logs describe-log-groups",
            "rds describe-db-instances",
            "route53 list-hosted-zones",
            "s3 ls",
            "s3 ls s3://<name>",
            "s3 ls s3://<name>/*",
            "s3api list-buckets",
            "sqs list-queues",
            "sts get-caller-identity",
        ],
        options: &[
            "--region=<name>",
            "--output=json",
            "--output=text",
            "--output=table",
            "--output=yaml",
            "--max-items=<name>",
            "--cluster=<name>",
            "--instance-ids=<name>",
            "--no-cli-pager",
        ],
        unseen: true,
    },
    Shipped {
        program: "gcloud",
        commands: &[
            "compute disks list",
            "compute instances list",
            "compute regions list",
            "container clusters list",
            "functions list",
            "projects list",
            "run services list",
            "services list",
            "sql instances list",
        ],
        options: &[
            "--project=<name>",
            "--format=json",
            "--format=yaml",
            "--format=csv",
            "--limit=<name>",
            "--region=<name>",
            "--zones=<name>",
            "--quiet",
        ],
        unseen: true,
    },
    Shipped {
        program: "az",
        commands: &[
            "account list",
            "account show",
            "aks list",
            "group list",
            "resource list",
            "storage account list",
            "vm list",
            "webapp list",
        ],
        options: &[
            "--output=json",
            "--output=table",
            "--output=tsv",
            "--output=yaml",
            "-o=json",
            "-o=table",
            "-o=tsv",
            "-o=yaml",
            "--resource-group=<name>",
            "-g=<name>",
            "--subscription=<name>",
        ],
        unseen: true,
    },
    Shipped {
        program: "jira",
        commands: &[
            "board list",
            "epic list <name>",
            "issue list",
            "issue view <name>",
            "me",
            "project list",
            "sprint list <name>",
        ],
        options: &[
            "--plain",
            "--raw",
            "--csv",
            "--no-headers",
            "--no-truncate",
            "--project=<name>",
            "-p=<name>",
            "--status=*",
            "-s=*",
            "--assignee=*",
            "-a=*",
            "--type=*",
            "-t=*",
            "--priority=*",
            "-y=*",
            "--label=*",
            "-l=*",
            "--jql=*",
            "-q=*",
            "--columns=*",
            "--comments=<name>",
            "--paginate=*",
            "--created=*",
            "--updated=*",
            "--table",
        ],
        unseen: true,
    },
    Shipped {
        program: "grafanactl",
        commands: &[
            "config current-context",
            "resources get alertrules",
            "resources get dashboards",
            "resources get dashboards/<name>",
            "resources get folders",
            "resources get folders/<name>",
            "resources list",
        ],
        options: &[
            "-o=json",
            "-o=yaml",
            "-o=text",
            "-o=wide",
            "--output=json",
            "--output=yaml",
            "--output=text",
            "--output=wide",
        ],
        unseen: true,
    },
    Shipped {
        program: "curl",
        commands: &["https://HOST/", "https://HOST/*"],
        options: &[
            "-s",
            "-S",
            "-f",
            "-I",
            "-sS",
            "-fs",
            "-sf",
            "-fsS",
            "-sSf",
            "--silent",
            "--show-error",
            "--fail",
            "--fail-with-body",
            "--head",
            "--compressed",
            "--max-time=<name>",
            "-m=<name>",
            "--retry=<name>",
            "--request=GET",
            "-X=GET",
            "--header=Accept: *",
            "-H=Accept: *",
        ],
        unseen: false,
    },
    Shipped {
        program: "psql",
        commands: &[""],
        options: &[
            "-c=select *",
            "-c=SELECT *",
            "--command=select *",
            "--command=SELECT *",
            "-A",
            "-t",
            "-q",
            "-X",
            "-At",
            "--csv",
            "--no-align",
            "--tuples-only",
            "--no-psqlrc",
            "--quiet",
        ],
        unseen: true,
    },
];

/// The programs that there are patterns for.
pub fn shipped_programs() -> std::collections::BTreeSet<&'static str> {
    TABLE.iter().map(|shipped| shipped.program).collect()
}

/// Whether the patterns of a program are made from the hosts of its grant.
pub(super) fn by_host(program: &str) -> bool {
    rows(program).any(|shipped| shipped.commands.iter().any(|words| words.contains("HOST")))
}

/// The commands that a grant of a program stands for. What nobody else sees runs unasked also where strangers wrote what
/// the brief showed, provided that the hosts are fixed.
pub(super) fn commands(grant: &ProgramGrant) -> Vec<CommandGrant> {
    let hosts: &[String] = if let Net::Hosts(hosts) = &grant.gives.net { hosts } else { &[] };
    let of_row = |shipped: &Shipped| -> Vec<CommandGrant> {
        let tainted = if shipped.unseen && !hosts.is_empty() { OnTaint::Allow } else { OnTaint::Ask };
        let sources = shipped.commands.iter().flat_map(|words| spelled(words, hosts));
        // A host that cannot stand in a pattern is refused where the grant is read.
        let patterns = sources.filter_map(|words| Pattern::parse(&source(shipped, &words)).ok());
        patterns.map(|command| CommandGrant { command, gives: grant.gives.clone(), tainted }).collect()
    };
    rows(&grant.program).flat_map(of_row).collect()
}

fn rows(program: &str) -> impl Iterator<Item = &'static Shipped> {
    TABLE.iter().filter(move |shipped| shipped.program == program)
}

fn source(shipped: &Shipped, words: &str) -> Vec<String> {
    let words = words.split_whitespace().chain(shipped.options.iter().copied());
    std::iter::once(shipped.program).chain(words).map(str::to_owned).collect()
}

/// A row of the table for each kind or host that it is about.
fn spelled(words: &str, hosts: &[String]) -> Vec<String> {
    if words.contains("KIND") {
        return KINDS.iter().map(|kind| words.replace("KIND", kind)).collect();
    }
    if !words.contains("HOST") {
        return vec![words.to_owned()];
    }
    // Of `git.corp private` an address has the name alone.
    let named = hosts.iter().filter(|host| !host.starts_with('*')).filter_map(|host| host.split(' ').next());
    named.map(|host| words.replace("HOST", host)).collect()
}
