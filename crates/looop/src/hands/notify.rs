//! Notices: one batch for each, one job for each channel.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_session::{Done, Ended, Job, Order};
use serde::{Deserialize, Serialize};

use super::brakes::Brakes;
use super::{environ, post};
use crate::config::{self, Config, Env, HttpChannel};
use crate::failure::{Failure, Result};

/// How long one channel may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// What is kept of a channel's output.
const OUTPUT: u64 = 4 << 10;
/// What an error shows of it, in characters.
const SHOWN: usize = 240;
/// The variable in which a channel's job finds where to post.
const CHANNEL: &str = "LOOOP_CHANNEL";

/// What each channel said against a notice.
pub(crate) type Results = Vec<(String, Option<String>)>;

/// What the person is told.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) message: String,
}

/// Where to post, as a channel's job is told: never in its arguments, which anybody on the machine can read.
#[derive(Serialize, Deserialize)]
struct Target {
    url: String,
    secret: Option<String>,
}

/// The ways to reach the person, by name.
pub(crate) fn channels(config: &Config) -> Vec<&'static str> {
    let all = [
        ("command", config.notification.is_some()),
        (post::NTFY, config.ntfy.is_some()),
        (post::WEBHOOK, config.webhook.is_some()),
    ];
    all.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
}

/// Sends a notice over every channel, and waits for all of them.
pub(crate) fn send(data: &Path, config: &Config, said: &Said, brakes: &Brakes) -> Results {
    let channels = channels(config);
    deliver((data, config), &channels, said, brakes).unwrap_or_else(|failure| unsent(config, &failure.error))
}

/// What a notice that could not be sent at all comes to.
pub(crate) fn unsent(config: &Config, error: &str) -> Results {
    channels(config).into_iter().map(|name| (name.to_owned(), Some(error.to_owned()))).collect()
}

fn deliver(
    (data, config): (&Path, &Config),
    channels: &[&str],
    said: &Said,
    brakes: &Brakes,
) -> Result<Results> {
    let more = [
        ("LOOOP_MESSAGE", said.message.as_str()),
        ("LOOOP_ID", said.id.as_str()),
        ("LOOOP_KIND", said.kind.as_str()),
    ];
    let env = environ::of_person(data, config, &more)?;
    // A channel of which nothing is heard has not taken it.
    let mut results = unsent(config, "nothing is known of it");
    let (mut jobs, mut whose) = (Vec::new(), Vec::new());
    for (at, name) in channels.iter().enumerate() {
        match job(data, config, name, &env) {
            Ok(job) => {
                jobs.push(job);
                whose.push(at);
            }
            Err(error) => results[at].1 = Some(error),
        }
    }
    let mut order = Order::new(jobs, channels.len());
    order.env = Some(env);
    order.spare.clone_from(&config.spare);
    let ran = brakes.run(&order).map_err(|error| Failure::new(format!("it could not be sent: {error}")))?;
    for (at, done) in whose.into_iter().zip(ran).filter_map(|(at, done)| Some((at, done?))) {
        results[at].1 = problem(channels[at], &done);
    }
    Ok(results)
}

fn job(
    data: &Path,
    config: &Config,
    name: &str,
    env: &[(String, String)],
) -> std::result::Result<Job, String> {
    let job = Job {
        cwd: data.to_owned(),
        timeout: Some(DEADLINE),
        stdout_cap: Some(OUTPUT),
        stderr_cap: Some(OUTPUT),
        ..Job::default()
    };
    let http = match name {
        post::NTFY => config.ntfy.as_ref(),
        post::WEBHOOK => config.webhook.as_ref(),
        _ => None,
    };
    if let Some(channel) = http {
        let target = serde_json::to_string(&target(channel, env)?).map_err(|error| error.to_string())?;
        let env = env.iter().cloned().chain([(CHANNEL.to_owned(), target)]).collect();
        let argv = vec![environ::image().into_os_string(), "_notify".into(), name.into()];
        return Ok(Job { argv, env: Some(env), ..job });
    }
    let command = config.notification.as_ref().map(config::NotificationCommand::shell).unwrap_or_default();
    Ok(Job { argv: vec![OsString::from("bash"), "-c".into(), command], ..job })
}

fn target(channel: &HttpChannel, env: &[(String, String)]) -> std::result::Result<Target, String> {
    let secret = match &channel.secret_env {
        None => None,
        Some(name) => {
            let found = env.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim().to_owned());
            let found = found.filter(|value| !value.is_empty());
            Some(
                found.ok_or_else(|| {
                    format!("the variable {name}, which the configuration names, is not set")
                })?,
            )
        }
    };
    Ok(Target { url: channel.url.as_str().to_owned(), secret })
}

/// What a channel's job said against it.
fn problem(name: &str, done: &Done) -> Option<String> {
    if done.ended == Ended::Exited(0) {
        return None;
    }
    let how = super::sense::ended(done.ended.clone()).text();
    let words = one_line(&String::from_utf8_lossy(&done.stderr), SHOWN);
    Some(match (words.is_empty(), name, &done.ended) {
        (true, ..) => how,
        // Our own job says all there is to say.
        (false, post::NTFY | post::WEBHOOK, Ended::Exited(_)) => words,
        (false, ..) => format!("{how}: {words}"),
    })
}

/// `looop _notify <channel>`: one channel's job, or for `all` a whole notice, which gives what the channels said against
/// it if at least one took it.
pub(crate) fn main(channel: &str) -> Result<String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (kind, id, message) = (variable("LOOOP_KIND"), variable("LOOOP_ID"), variable("LOOOP_MESSAGE"));
    let (said, data) = (Said { kind, id, message }, variable("LOOOP_DATA_DIR"));
    if channel == "all" {
        return all(Path::new(&data), &said);
    }
    let Target { url, secret } = serde_json::from_str(&variable(CHANNEL))
        .map_err(|_| Failure::usage(format!("{CHANNEL} does not say where to post")))?;
    post::post(channel, (&url, secret.as_deref()), &said, &data).map(|()| String::new()).map_err(Failure::new)
}

fn all(data: &Path, said: &Said) -> Result<String> {
    let env: Env =
        std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value))).collect();
    let loaded = config::load_settings(data, &env).map_err(|error| Failure::new(error.to_string()))?;
    let results = send(data, &loaded.config, said, &Brakes::default());
    let failed: Vec<String> = results
        .iter()
        .filter_map(|(name, error)| Some(format!("not by {name}: {}", error.as_ref()?)))
        .collect();
    let failed_all = failed.len() == results.len();
    if failed_all { Err(Failure::new(failed.join("; "))) } else { Ok(failed.join("; ")) }
}
