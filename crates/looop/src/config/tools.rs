//! Well-known programs that need a grant to be of use to a decider, and which of them are installed.

use std::path::Path;

use looop_core::policy::{Gives, Grant, Net, ProgramGrant};

use super::{layers::Env, preset::installed};

/// What a well-known program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The program.
    pub program: &'static str,
    /// The variables that it signs in with.
    pub env: &'static [&'static str],
    /// Where its settings and its keys lie.
    pub read: &'static [&'static str],
    /// The hosts that it talks to; none where only the person knows them.
    pub hosts: &'static [&'static str],
}

/// Every program that `looop init --grant` knows.
pub const TOOLS: &[Tool] = &[
    tool("gh", &["GH_TOKEN", "GITHUB_TOKEN"], &["~/.config/gh"], &["api.github.com", "github.com"]),
    tool("glab", &["GITLAB_TOKEN"], &["~/.config/glab-cli"], &["gitlab.com"]),
    tool("git", &[], &[], &["github.com", "gitlab.com"]),
    tool("curl", &[], &[], &["api.github.com"]),
    tool("kubectl", &["KUBECONFIG"], &["~/.kube"], &[]),
    tool(
        "aws",
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
        ],
        &["~/.aws"],
        &["*.amazonaws.com"],
    ),
    tool("gcloud", &[], &["~/.config/gcloud"], &["*.googleapis.com"]),
    tool("az", &[], &["~/.azure"], &["management.azure.com", "login.microsoftonline.com"]),
    tool("jira", &["JIRA_API_TOKEN"], &["~/.config/.jira"], &[]),
    tool("grafanactl", &["GRAFANA_SERVER", "GRAFANA_TOKEN"], &["~/.config/grafanactl"], &[]),
    tool("psql", &["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD"], &[], &[]),
];

const fn tool(
    program: &'static str,
    env: &'static [&'static str],
    read: &'static [&'static str],
    hosts: &'static [&'static str],
) -> Tool {
    Tool { program, env, read, hosts }
}

impl Tool {
    /// The grant that it needs.
    pub fn grant(&self) -> Grant {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        let net = if self.hosts.is_empty() { Net::Open } else { Net::Hosts(owned(self.hosts)) };
        let gives = Gives { env: owned(self.env), read: owned(self.read), net };
        Grant::Program(ProgramGrant { program: self.program.to_owned(), gives })
    }
}

/// Folders below a home in which programs are installed, and nothing secret is kept.
const FOLDERS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".dotnet",
    ".ghcup",
    ".juliaup",
    ".local/bin",
    ".local/pipx",
    ".local/share/claude",
    ".local/share/mise",
    ".local/share/uv",
    ".nvm",
    ".opencode/bin",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "bin",
    "go/bin",
];

/// Those of them that are there, as `~/…`.
pub fn tool_folders(env: &Env) -> Vec<String> {
    let Some(home) = env.get("HOME").map(Path::new) else { return Vec::new() };
    let there = FOLDERS.iter().filter(|folder| home.join(folder).is_dir());
    there.map(|folder| format!("~/{folder}")).collect()
}

/// Which of them are on the `PATH` of that environment.
pub fn tools_on_path(env: &Env) -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| installed(env, tool.program)).collect()
}
