//! Where secrets usually lie.

use std::path::{Path, PathBuf};

/// Below a home: keys, tokens, sockets of agents, browsers, histories, and the state of agent programs.
const OF_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".minikube",
    ".docker",
    ".colima",
    ".lima",
    ".orbstack",
    ".rd",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".boto",
    ".s3cfg",
    ".vault-token",
    ".terraformrc",
    ".terraform.d",
    ".fly",
    ".railway",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".password-store",
    ".age",
    ".sops",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".Xauthority",
    ".ICEauthority",
    ".mozilla",
    ".thunderbird",
    ".var/app",
    ".claude",
    ".claude.json",
    ".codex",
    ".pi",
    ".gemini",
    ".qwen",
    ".cursor",
    ".aider.conf.yml",
    ".continue",
    ".env",
    ".bash_history",
    ".zsh_history",
    ".zsh_sessions",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".python_history",
    ".node_repl_history",
    ".rediscli_history",
    ".lesshst",
    ".viminfo",
    "snap/firefox",
];
/// Below the folder of configurations, `~/.config` as a rule.
const OF_CONFIG: &[&str] = &[
    "gcloud",
    "gh",
    "glab-cli",
    "hub",
    "git/credentials",
    "containers/auth.json",
    "op",
    "1Password",
    "Bitwarden",
    "rclone",
    "doctl",
    "hcloud",
    "netlify",
    "vercel",
    "configstore",
    "sops",
    "age",
    "linear",
    "google-chrome",
    "chromium",
    "BraveSoftware",
    "microsoft-edge",
    "vivaldi",
    "opera",
    "Signal",
    "Slack",
    "discord",
    "Code",
    "Cursor",
    "github-copilot",
    "opencode",
    "anthropic",
    "claude",
    "goose",
    "environment.d",
];
/// Below the folder of data, `~/.local/share` as a rule.
const OF_DATA: &[&str] = &[
    "keyrings",
    "kwalletd",
    "opencode",
    "com.vercel.cli",
    "fish/fish_history",
    "gnupg",
    "containers",
    "atuin",
];
/// Of the machine. An ordinary user cannot read them anyway; root can.
const OF_MACHINE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/spool/cron",
];
/// Variables that name the file or the folder of a secret.
const NAMED_BY: &[&str] = &[
    "GNUPGHOME",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "NETRC",
    "PGPASSFILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NPM_CONFIG_USERCONFIG",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "GH_CONFIG_DIR",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XAUTHORITY",
    "HISTFILE",
];

/// All secrets that are there and that we could read, by their real paths.
pub(super) fn secrets() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for home in homes() {
        found.extend(below(&home, OF_HOME));
        found.extend(below(&home.join(".config"), OF_CONFIG));
        found.extend(below(&home.join(".local/share"), OF_DATA));
    }
    found.extend(folder_of("XDG_CONFIG_HOME").iter().flat_map(|folder| below(folder, OF_CONFIG)));
    found.extend(folder_of("XDG_DATA_HOME").iter().flat_map(|folder| below(folder, OF_DATA)));
    found.extend(OF_MACHINE.iter().map(PathBuf::from));
    found.extend(NAMED_BY.iter().filter_map(|name| folder_of(name)));
    found.extend(host_keys());
    let mut real: Vec<PathBuf> =
        found.iter().filter(|path| is_readable(path)).filter_map(|path| path.canonicalize().ok()).collect();
    real.sort_unstable();
    // What is below a hidden folder needs no word of its own. A root is no secret, whatever names it.
    real.dedup_by(|path, above| path.starts_with(&*above));
    real.retain(|path| path.parent().is_some() && !homes().contains(path));
    real
}

fn below(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
}

/// The person's home, and root's if we are root.
fn homes() -> Vec<PathBuf> {
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/root"));
    let home = std::env::home_dir().into_iter().chain(root);
    let mut homes: Vec<PathBuf> = home.filter_map(|home| home.canonicalize().ok()).collect();
    homes.dedup();
    homes
}

fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The private keys of the machine's ssh server.
fn host_keys() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.as_os_str().as_encoded_bytes().ends_with(b"_key")).collect()
}

fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}
