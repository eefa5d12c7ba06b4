//! From configuration to what the engine and the hands work with.

use looop_core::engine::machine::{PaidDecider, Setup};
use looop_core::gate::Limits;
use looop_core::meter::Micros;
use looop_core::model::digest::Digest;

use crate::config::{Config, Cost, Decider, Runner, calls_no_model};

/// What the engine is set up with.
pub(crate) fn setup(config: &Config) -> Setup {
    let chain = config.decider_chain();
    let paid = chain.iter().filter_map(|decider| match decider {
        Decider::Builtin => None,
        Decider::Command(name) => {
            let runner = config.runners.get(name.as_str());
            let free = runner.is_some_and(|runner| runner.cost == Cost::Free);
            let tool = runner.is_some_and(Runner::takes_schema);
            let api = runner.and_then(|runner| runner.api.as_ref());
            let bound = api.and_then(|api| api.call_bound(&config.prices));
            Some(PaidDecider { name: name.to_string(), free, tool, bound })
        }
    });
    Setup { limits: limits(config), builtin: chain.contains(&Decider::Builtin), paid: paid.collect() }
}

/// The bounds of the loop.
pub(crate) fn limits(config: &Config) -> Limits {
    Limits {
        decides_per_hour: config.max_decides_per_hour.map_or(0, |cap| u32::try_from(cap).unwrap_or(u32::MAX)),
        daily_usd: config.max_daily_usd.effective().map(money),
        daily_tokens: config.max_daily_tokens,
        decide_usd: config.max_decide_usd.map_or(Micros::ZERO, money),
        worker_usd: config.max_worker_usd.map_or(Micros::ZERO, money),
        noop_ttl: config.noop_ttl,
        fairness_wait: config.fairness_max_wait,
        flap_streak: u32::try_from(config.flap_streak).unwrap_or(u32::MAX),
        max_next_interval: config.max_next_interval,
        can_notify: config.can_notify(),
        config: Digest::of(format!("{config:?}").as_bytes()),
        brief_bytes: usize::try_from(config.prompt_max_bytes).unwrap_or(usize::MAX),
        max_workers: config.max_workers.map(|cap| usize::try_from(cap).unwrap_or(usize::MAX)),
        worker_stuck: config.worker_stuck,
        worker_retry: config.worker_retry,
        session_ttl: config.session_ttl,
        worker_runners: worker_runners(config),
        free_runners: free_runners(config),
        plain_runners: plain_runners(config),
        model_runners: model_runners(config),
        policy: config.policy.clone(),
        // The loop tries it out; whoever only looks does not.
        confines: true,
    }
}

/// The runners that can start a worker, the one that is taken where none is named first.
fn worker_runners(config: &Config) -> Vec<String> {
    let first = config.worker_runner();
    let able = config.runners.iter().filter(|(_, runner)| runner.interactive.is_some());
    let rest = able.map(|(name, _)| name.as_str()).filter(|name| Some(*name) != first);
    first.into_iter().chain(rest).map(str::to_owned).collect()
}

/// The runners that cost nothing.
fn free_runners(config: &Config) -> Vec<String> {
    let free = config.runners.iter().filter(|(_, runner)| runner.cost == Cost::Free);
    free.map(|(name, _)| name.to_string()).collect()
}

/// The runners whose workers run no model, as far as that can be read off their command.
fn plain_runners(config: &Config) -> Vec<String> {
    let plain = config.runners.iter().filter(|(_, runner)| {
        let command = runner.interactive.as_ref().filter(|_| runner.cost == Cost::ByFormat);
        command.is_some_and(|command| calls_no_model(command.as_str()))
    });
    plain.map(|(name, _)| name.to_string()).collect()
}

/// The runners whose workers can be given a model.
fn model_runners(config: &Config) -> Vec<String> {
    let takes = |runner: &Runner| runner.interactive.as_ref().is_some_and(|it| it.with_model("m").is_some());
    let able = config.runners.iter().filter(|(_, runner)| takes(runner));
    able.map(|(name, _)| name.to_string()).collect()
}

fn money(usd: crate::config::Usd) -> Micros {
    Micros::new(usd.micros())
}
