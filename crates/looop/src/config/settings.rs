//! The settings, typed.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use looop_core::meter::Prices;
use looop_core::policy::Policy;

use super::{
    DetachKey,
    channel::HttpChannel,
    runner::{Runner, RunnerName},
    template::NotificationCommand,
};

/// Every setting of a profile. Where zero means off, off is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Who decides, in the order in which they are tried, as written. [`Config::decider_chain`] is what is used.
    pub default: Vec<Decider>,
    /// The agents that can be run.
    pub runners: BTreeMap<RunnerName, Runner>,
    /// Between beats while nothing happens.
    pub interval: Duration,
    /// Between beats after a move.
    pub busy_interval: Duration,
    /// Between beats while a worker lives.
    pub active_interval: Duration,
    /// The longest nudge a decider may ask for.
    pub max_next_interval: Duration,
    /// Dollars a day.
    pub max_daily_usd: DailyCap,
    /// Tokens a day.
    pub max_daily_tokens: Option<u64>,
    /// Dollars one decision may cost.
    pub max_decide_usd: Option<Usd>,
    /// Dollars one worker may cost.
    pub max_worker_usd: Option<Usd>,
    /// Paid decisions in an hour.
    pub max_decides_per_hour: Option<u64>,
    /// Live workers at once.
    pub max_workers: Option<u64>,
    /// What is admitted without a person: the level, and the rules and grants of `policy.toml`.
    pub policy: Policy,
    /// By what means things are confined.
    pub sandbox: Sandbox,
    /// Folders of programs that are shown in the sandbox, as they were written.
    pub sandbox_tools: Vec<PathBuf>,
    /// Run when a person is needed.
    pub notification: Option<NotificationCommand>,
    /// The ntfy topic that is told.
    pub ntfy: Option<HttpChannel>,
    /// The webhook that is told.
    pub webhook: Option<HttpChannel>,
    /// What tokens cost.
    pub prices: Prices,
    /// A file of variables for commands that a person wrote.
    pub env_file: Option<PathBuf>,
    /// Names of shared daemons that a total kill leaves alone.
    pub spare: Vec<String>,
    /// Detaches from a worker's terminal.
    pub detach_key: DetachKey,
    /// How the event lines look.
    pub log_format: LogFormat,
    /// Deadline of a sensor.
    pub sensor_timeout: Option<Duration>,
    /// Bytes a sensor may print.
    pub sensor_max_bytes: Option<u64>,
    /// Deadline of a decision.
    pub tick_timeout: Duration,
    /// Deadline of a shell move.
    pub shell_timeout: Duration,
    /// Deadline of a verify command.
    pub verify_timeout: Duration,
    /// Silence after which a worker counts as stuck.
    pub worker_stuck: Duration,
    /// Wait of a goal after a worker that failed.
    pub worker_retry: Duration,
    /// After this a ready goal is overdue.
    pub fairness_max_wait: Duration,
    /// Age at which a noop is looked at again.
    pub noop_ttl: Duration,
    /// Beats in a row after which a changing reading is called flapping.
    pub flap_streak: u64,
    /// Folders of decisions kept as evidence.
    pub runs_keep: u64,
    /// Earlier playbooks kept.
    pub playbook_keep: u64,
    /// How long an ended session is kept.
    pub session_ttl: Duration,
    /// Bytes of a whole brief.
    pub prompt_max_bytes: u64,
}

/// Who may decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// The rules that are compiled in. Free.
    Builtin,
    /// A runner: its tick command or its model.
    Command(RunnerName),
}

/// Whether what deciders wrote runs in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Where bubblewrap works.
    Auto,
    /// Always; without a bubblewrap that works nothing starts.
    Bwrap,
    /// Never.
    Off,
}

/// How events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// The dollar cap of a day, and whether a person set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DailyCap {
    /// Nobody said anything.
    Unset,
    /// A person switched it off.
    Off,
    /// A person set it.
    At(Usd),
}

/// Dollars, exact to a millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u64);

/// The daemons that are shared between sessions on an ordinary machine.
pub(super) const SPARE: [&str; 6] = ["gpg-agent", "ssh-agent", "dirmngr", "tmux: server", "adb", "watchman"];

impl Config {
    /// Who is asked, in order. Runners that cannot decide are left out; with nobody left it is the built-in one.
    pub fn decider_chain(&self) -> Vec<Decider> {
        let chain: Vec<Decider> =
            self.default.iter().filter(|decider| self.can_decide(decider)).cloned().collect();
        if chain.is_empty() { vec![Decider::Builtin] } else { chain }
    }

    /// Who runs a worker where nobody is named: the first of the deciders that can, else the first runner that can.
    pub(crate) fn worker_runner(&self) -> Option<&str> {
        let can = |name: &&str| self.runners.get(*name).is_some_and(|runner| runner.interactive.is_some());
        let deciders = self.default.iter().filter_map(|decider| match decider {
            Decider::Builtin => None,
            Decider::Command(name) => Some(name.as_str()),
        });
        deciders.chain(self.runners.keys().map(super::RunnerName::as_str)).find(can)
    }

    /// What tokens cost: the shipped prices, with the person's in their place.
    pub(crate) fn price_list(&self) -> Prices {
        self.prices.clone()
    }

    /// Whether there is a way to reach the person.
    pub(crate) fn can_notify(&self) -> bool {
        self.notification.is_some() || self.ntfy.is_some() || self.webhook.is_some()
    }

    pub(super) fn can_decide(&self, decider: &Decider) -> bool {
        match decider {
            Decider::Builtin => true,
            Decider::Command(name) => self.runners.get(name).is_some_and(Runner::decides),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let minute = Duration::from_mins(1);
        Config {
            default: vec![Decider::Builtin],
            runners: BTreeMap::new(),
            interval: minute,
            busy_interval: minute,
            active_interval: minute,
            max_next_interval: 60 * minute,
            max_daily_usd: DailyCap::Unset,
            max_daily_tokens: None,
            max_decide_usd: Some(Usd::from_micros(1_000_000)),
            max_worker_usd: Some(Usd::from_micros(2_000_000)),
            max_decides_per_hour: Some(120),
            max_workers: Some(8),
            policy: Policy::default(),
            sandbox: Sandbox::Auto,
            sandbox_tools: Vec::new(),
            notification: None,
            ntfy: None,
            webhook: None,
            prices: Prices::shipped(),
            env_file: None,
            spare: SPARE.map(str::to_owned).to_vec(),
            detach_key: DetachKey::default(),
            log_format: LogFormat::Human,
            sensor_timeout: Some(minute),
            sensor_max_bytes: Some(8192),
            tick_timeout: 30 * minute,
            shell_timeout: 5 * minute,
            verify_timeout: minute,
            worker_stuck: 15 * minute,
            worker_retry: minute,
            fairness_max_wait: 24 * 60 * minute,
            noop_ttl: 6 * 60 * minute,
            flap_streak: 5,
            runs_keep: 50,
            playbook_keep: 20,
            session_ttl: 3 * 24 * 60 * minute,
            prompt_max_bytes: 256 * 1024,
        }
    }
}

impl DailyCap {
    /// What applies where nobody said anything.
    pub const DEFAULT: Usd = Usd::from_micros(10_000_000);

    /// The cap with the default filled in; `None` is off.
    pub fn effective(self) -> Option<Usd> {
        match self {
            DailyCap::Unset => Some(DailyCap::DEFAULT),
            DailyCap::Off => None,
            DailyCap::At(usd) => Some(usd),
        }
    }
}

impl Usd {
    /// So many millionths of a dollar.
    pub const fn from_micros(micros: u64) -> Self {
        Usd(micros)
    }

    /// In millionths of a dollar.
    pub const fn micros(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let kept = fraction.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", self.0 / 1_000_000, &fraction[..kept])
    }
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decider::Builtin => f.write_str("builtin"),
            Decider::Command(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_read_well() {
        let table = [
            (0, "$0.00"),
            (10_000_000, "$10.00"),
            (2_500_000, "$2.50"),
            (1, "$0.000001"),
            (31_200, "$0.0312"),
        ];
        for (micros, text) in table {
            assert_eq!(Usd::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn a_cap_holds_unless_it_is_switched_off() {
        let five = Usd::from_micros(5_000_000);
        assert_eq!(DailyCap::Unset.effective(), Some(DailyCap::DEFAULT));
        assert_eq!(DailyCap::Off.effective(), None);
        assert_eq!(DailyCap::At(five).effective(), Some(five));
    }
}
