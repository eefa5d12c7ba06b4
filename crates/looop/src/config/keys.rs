//! Every key that exists, in one table: what parses it, its variable, its default, and what it means.

use std::path::PathBuf;
use std::time::Duration;

use looop_core::policy::Level;

use super::{
    api, channel,
    problem::Complaint,
    raw::{Raw, Reading},
    runner::{self, Runner, RunnerName},
    settings::{Config, DailyCap, Decider, LogFormat, Sandbox},
    template::NotificationCommand,
};

/// One key, for parsing, help and docs.
#[derive(Debug)]
pub struct KeyDoc {
    /// The key; `runners.<name>.` stands for any runner.
    pub key: &'static str,
    /// The environment variable that beats it.
    pub env: Option<&'static str>,
    /// The default as one would write it; `=` and a key where it follows another; empty where there is none.
    pub default: &'static str,
    /// What it means, in a few words.
    pub what: &'static str,
    pub(super) rule: Rule,
}

/// How a key is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Top(Set<Config>),
    Runner(Set<Runner>),
}

/// Reads a value into its field.
pub(super) type Set<T> = fn(&mut T, Raw<'_>) -> Reading<()>;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const SHORTEST_NUDGE: Duration = Duration::from_secs(5);
const MANY: u64 = 100_000;

/// Every key that exists.
pub const KEYS: &[KeyDoc] = &[
    top(
        "default",
        None,
        "\"builtin\"",
        "who decides: builtin, a runner, or a list that is tried in order",
        deciders,
    ),
    in_runner(
        "runners.<name>.tick",
        "",
        "shell command of one decision; the prompt is {{prompt_file}} or stdin",
        |r, v| put(&mut r.tick, runner::tick_command(v)),
    ),
    in_runner(
        "runners.<name>.api",
        "",
        "instead of tick a model: { provider = \"anthropic\" or \"openai\", model, base_url, key_env or key_command, max_tokens }",
        |r, v| put(&mut r.api, api::api(v)),
    ),
    in_runner(
        "runners.<name>.interactive",
        "",
        "shell command of a worker; must contain {{prompt_file}}",
        |r, v| put(&mut r.interactive, runner::worker_command(v)),
    ),
    in_runner(
        "runners.<name>.cost",
        "",
        "\"free\", \"paid\", or { type, pointer, mode = \"sum\" or \"total\" }; else by stream format",
        |r, v| put(&mut r.cost, runner::cost(v)),
    ),
    in_runner(
        "runners.<name>.model",
        "",
        "the model that tick runs, for its price, where its output does not name it",
        |r, v| put(&mut r.model, v.text().map(|text| Some(text.to_owned()))),
    ),
    in_runner("runners.<name>.retries", "0", "how often a failed invocation is run again", |r, v| {
        put(&mut r.retries, v.count(0, 10))
    }),
    in_runner(
        "runners.<name>.retry_match",
        "",
        "output that matches this counts as failure even after exit 0",
        |r, v| put(&mut r.retry_match, v.text().map(|text| Some(text.to_owned()))),
    ),
    in_runner("runners.<name>.retry_sleep", "3s", "wait before running it again", |r, v| {
        put(&mut r.retry_sleep, v.duration(Duration::ZERO))
    }),
    in_runner(
        "runners.<name>.silence",
        "300s",
        "a decision is ended after printing nothing for so long; 0 = off",
        |r, v| put(&mut r.silence, v.duration_or_off(SECOND)),
    ),
    in_runner("runners.<name>.sandbox", "false", "confine its workers", |r, v| put(&mut r.sandbox, v.flag())),
    in_runner("runners.<name>.write", "[]", "folders its confined workers may write", |r, v| {
        put(&mut r.write, v.texts().map(|list| list.into_iter().map(Into::into).collect()))
    }),
    top("interval", Some("LOOOP_INTERVAL"), "60", "time between beats", |c, v| {
        put(&mut c.interval, v.duration(SECOND))
    }),
    top(
        "busy_interval",
        Some("LOOOP_BUSY_INTERVAL"),
        "= interval",
        "time to the next beat after a move",
        |c, v| put(&mut c.busy_interval, v.duration(SECOND)),
    ),
    top(
        "active_interval",
        Some("LOOOP_ACTIVE_INTERVAL"),
        "= interval",
        "time between beats while a worker lives",
        |c, v| put(&mut c.active_interval, v.duration(SECOND)),
    ),
    top(
        "max_next_interval",
        Some("LOOOP_MAX_NEXT_INTERVAL"),
        "3600",
        "longest wait a decider may ask for",
        |c, v| put(&mut c.max_next_interval, v.duration(SHORTEST_NUDGE)),
    ),
    top("max_daily_usd", Some("LOOOP_MAX_DAILY_USD"), "10", "dollars a day; 0 = off", daily_cap),
    top("max_daily_tokens", None, "0", "tokens a day; 0 = off", |c, v| {
        put(&mut c.max_daily_tokens, v.count_or_off(1, u64::MAX))
    }),
    top("max_decide_usd", None, "1", "dollars one decision may cost; 0 = off", |c, v| {
        put(&mut c.max_decide_usd, v.usd_or_off())
    }),
    top("max_worker_usd", None, "2", "dollars one worker may cost; 0 = off", |c, v| {
        put(&mut c.max_worker_usd, v.usd_or_off())
    }),
    top(
        "max_decides_per_hour",
        Some("LOOOP_MAX_DECIDES_PER_HOUR"),
        "120",
        "paid decisions an hour; 0 = no limit",
        |c, v| put(&mut c.max_decides_per_hour, v.count_or_off(1, MANY)),
    ),
    top("max_workers", Some("LOOOP_MAX_WORKERS"), "8", "live workers at once; 0 = no limit", |c, v| {
        put(&mut c.max_workers, v.count_or_off(1, MANY))
    }),
    top(
        "policy",
        Some("LOOOP_POLICY"),
        "\"guarded\"",
        "which built-in list admits moves where no rule of policy.toml does: \"open\", \"guarded\" or \"locked\"",
        |c, v| put(&mut c.policy.level, v.one_of(&Level::ALL.map(|level| (level.word(), level)))),
    ),
    top(
        "sandbox",
        None,
        "\"auto\"",
        "whether what deciders wrote is confined: \"auto\", \"bwrap\" or \"off\"",
        sandbox,
    ),
    top("sandbox_tools", None, "[]", "folders of programs that are shown in the sandbox", |c, v| {
        put(&mut c.sandbox_tools, v.texts().and_then(sandbox_tools))
    }),
    top(
        "notification",
        None,
        "",
        "shell command when a person is needed; the message is in $LOOOP_MESSAGE and on standard input",
        |c, v| put(&mut c.notification, v.text().and_then(notification).map(Some)),
    ),
    top(
        "ntfy",
        None,
        "",
        "ntfy topic that is told when a person is needed: its address, or { url, token_env }",
        |c, v| put(&mut c.ntfy, channel::ntfy(v)),
    ),
    top(
        "webhook",
        None,
        "",
        "address that JSON is posted to when a person is needed, or { url, header_env }",
        |c, v| put(&mut c.webhook, channel::webhook(v)),
    ),
    top(
        "prices",
        None,
        "",
        "dollars per million tokens by model: { \"gpt-5\" = { input, output, cached_read, cache_write } }",
        |c, v| api::prices(v).map(|own| c.prices = std::mem::take(&mut c.prices).with(own)),
    ),
    top("env_file", None, "", "file of variables for commands that you wrote", |c, v| {
        put(&mut c.env_file, v.path().map(Some))
    }),
    top(
        "spare",
        None,
        r#"["gpg-agent", "ssh-agent", "dirmngr", "tmux: server", "adb", "watchman"]"#,
        "shared daemons that ending a session leaves alone",
        |c, v| put(&mut c.spare, v.texts().map(|list| list.into_iter().map(str::to_owned).collect())),
    ),
    top(
        "detach_key",
        Some("LOOOP_DETACH_KEY"),
        r#""C-\\""#,
        "pressed twice it detaches from a worker's terminal: Control and a letter or one of \\ ] ^ _",
        |c, v| put(&mut c.detach_key, v.text().and_then(|text| text.parse().map_err(Complaint::BadValue))),
    ),
    top("log_format", Some("LOOOP_LOG_FORMAT"), "\"human\"", "event lines: \"human\" or \"json\"", |c, v| {
        put(&mut c.log_format, v.one_of(&[("human", LogFormat::Human), ("json", LogFormat::Json)]))
    }),
    top("sensor_timeout", Some("LOOOP_SENSOR_TIMEOUT"), "60", "deadline of a sensor; 0 = off", |c, v| {
        put(&mut c.sensor_timeout, v.duration_or_off(MILLISECOND))
    }),
    top(
        "sensor_max_bytes",
        Some("LOOOP_SENSOR_MAX_BYTES"),
        "8192",
        "bytes a sensor may print; 0 = off",
        |c, v| put(&mut c.sensor_max_bytes, v.count_or_off(1, 64 * 1024 * 1024)),
    ),
    top("tick_timeout_secs", Some("LOOOP_TICK_TIMEOUT_SECS"), "1800", "deadline of a decision", |c, v| {
        put(&mut c.tick_timeout, v.duration(MILLISECOND))
    }),
    top("shell_timeout_secs", Some("LOOOP_SHELL_TIMEOUT_SECS"), "300", "deadline of a shell move", |c, v| {
        put(&mut c.shell_timeout, v.duration(MILLISECOND))
    }),
    top(
        "verify_timeout_secs",
        Some("LOOOP_VERIFY_TIMEOUT_SECS"),
        "60",
        "deadline of a verify command",
        |c, v| put(&mut c.verify_timeout, v.duration(MILLISECOND)),
    ),
    top(
        "worker_stuck_secs",
        Some("LOOOP_WORKER_STUCK_SECS"),
        "900",
        "silence after which a worker counts as stuck",
        |c, v| put(&mut c.worker_stuck, v.duration(SECOND)),
    ),
    top(
        "worker_retry_secs",
        Some("LOOOP_WORKER_RETRY_SECS"),
        "60",
        "wait of a goal after a worker that failed, four times as long after each further one; 0 = none",
        |c, v| put(&mut c.worker_retry, v.duration(Duration::ZERO)),
    ),
    top(
        "fairness_max_wait_secs",
        Some("LOOOP_FAIRNESS_MAX_WAIT_SECS"),
        "86400",
        "wait after which a ready goal is overdue",
        |c, v| put(&mut c.fairness_max_wait, v.duration(SECOND)),
    ),
    top("noop_ttl", Some("LOOOP_NOOP_TTL"), "21600", "age at which a noop is looked at again", |c, v| {
        put(&mut c.noop_ttl, v.duration(SECOND))
    }),
    top(
        "flap_streak",
        Some("LOOOP_FLAP_STREAK"),
        "5",
        "changes in a row that make a reading flapping",
        |c, v| put(&mut c.flap_streak, v.count(2, MANY)),
    ),
    top("runs_keep", Some("LOOOP_RUNS_KEEP"), "50", "decisions kept as evidence", |c, v| {
        put(&mut c.runs_keep, v.count(1, MANY))
    }),
    top("playbook_keep", Some("LOOOP_PLAYBOOK_KEEP"), "20", "earlier playbooks kept", |c, v| {
        put(&mut c.playbook_keep, v.count(1, MANY))
    }),
    top("session_ttl", Some("LOOOP_SESSION_TTL"), "3d", "how long an ended session is kept", |c, v| {
        put(&mut c.session_ttl, v.duration(SECOND))
    }),
    top("prompt_max_bytes", Some("LOOOP_PROMPT_MAX_BYTES"), "262144", "bytes of a whole brief", |c, v| {
        put(&mut c.prompt_max_bytes, v.count(16 * 1024, 16 * 1024 * 1024))
    }),
];

const fn top(
    key: &'static str,
    env: Option<&'static str>,
    default: &'static str,
    what: &'static str,
    set: Set<Config>,
) -> KeyDoc {
    KeyDoc { key, env, default, what, rule: Rule::Top(set) }
}

const fn in_runner(key: &'static str, default: &'static str, what: &'static str, set: Set<Runner>) -> KeyDoc {
    KeyDoc { key, env: None, default, what, rule: Rule::Runner(set) }
}

fn put<T>(slot: &mut T, value: Reading<T>) -> Reading<()> {
    *slot = value?;
    Ok(())
}

fn daily_cap(config: &mut Config, raw: Raw<'_>) -> Reading<()> {
    put(&mut config.max_daily_usd, raw.usd_or_off().map(|usd| usd.map_or(DailyCap::Off, DailyCap::At)))
}

fn sandbox(config: &mut Config, raw: Raw<'_>) -> Reading<()> {
    let words = [("auto", Sandbox::Auto), ("bwrap", Sandbox::Bwrap), ("off", Sandbox::Off)];
    put(&mut config.sandbox, raw.one_of(&words))
}

/// Folders by a path that means the same wherever looop is called.
fn sandbox_tools(list: Vec<&str>) -> Reading<Vec<PathBuf>> {
    let is_folder = |path: &str| {
        path.strip_prefix("~/").or_else(|| path.strip_prefix('/')).is_some_and(|rest| !rest.is_empty())
    };
    match list.iter().find(|path| !is_folder(path)) {
        Some(path) => {
            Err(Complaint::BadValue(format!("\"{path}\" is no folder by an absolute path, nor one below ~/")))
        }
        None => Ok(list.into_iter().map(PathBuf::from).collect()),
    }
}

fn notification(text: &str) -> Reading<NotificationCommand> {
    NotificationCommand::new(text).map_err(Complaint::BadValue)
}

/// The names alone; whether such runners exist is known only after the whole file is read.
fn deciders(config: &mut Config, raw: Raw<'_>) -> Reading<()> {
    let names = raw.text().map(|name| vec![name]).or_else(|_| raw.texts());
    let names = names.map_err(|complaint| match complaint {
        Complaint::WrongType { found, .. } => {
            Complaint::WrongType { expected: "the name of a runner, or a list of such names", found }
        }
        other @ (Complaint::Syntax(_)
        | Complaint::UnknownKey(_)
        | Complaint::NotYet(_)
        | Complaint::BadValue(_)) => other,
    })?;
    if names.is_empty() {
        return Err(Complaint::BadValue("the list is empty; \"builtin\" costs nothing".to_owned()));
    }
    let chain = names.iter().map(|name| decider(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(name) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])).map(|i| names[i]) {
        return Err(Complaint::BadValue(format!("\"{name}\" is listed twice")));
    }
    put(&mut config.default, Ok(chain))
}

fn decider(name: &str) -> Reading<Decider> {
    if name == "builtin" {
        return Ok(Decider::Builtin);
    }
    RunnerName::new(name).map(Decider::Command).map_err(Complaint::BadValue)
}
