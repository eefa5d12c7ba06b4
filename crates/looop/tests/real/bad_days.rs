//! Bad days of the agents of the presets as deciders: one table an agent, one profile, one day after the other. Each fails
//! with one clear sentence, costs nothing that was not asked for, asks its provider seldom, and does not hold up the next
//! `looop beat`. docs/AGENTS.md has the table for people.

use std::fs;

use looop_sim::model::Model;
use looop_sim::profile::write_program;
use serde_json::{Value, json};

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::desk::Desk;
use crate::needs::{self, found};
use crate::till::{PRICES, Till};

/// What is known of the cost of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    /// Nothing was charged, and that is known.
    Nothing,
    /// What was charged is known.
    Known,
    /// It is not known, or only that it is at least so much: what was set aside counts.
    Unknown,
}

/// A day: what the provider does, how the decide fails (nothing where a decision arrives all the same), words of its
/// reason, what is known of its cost, and how many requests there are at most.
type Day = (What, &'static str, &'static str, Cost, usize);

/// What is bad about a day.
#[derive(Clone, Copy, Debug)]
enum What {
    /// The provider is in this scenario of the server.
    Provider(&'static str),
    /// There is no key.
    NoKey,
    /// The model has no price.
    NoPrice,
    /// An older program, which does not know an option of the preset.
    Older,
    /// A newer program, which prints events that are not known and asks for an update.
    Newer,
}

impl What {
    /// Whether the provider answers nothing.
    fn refuses(self) -> bool {
        matches!(self, Provider("e401" | "e4290" | "limit" | "quota"))
    }
}

use Cost::{Known, Nothing, Unknown};
use What::{Newer, NoKey, NoPrice, Older, Provider};

/// How the agent is without a key, and without a price.
struct Ways {
    /// The variable that holds the key, or a file in its home and what to replace in it.
    key: Replaced,
    price: Replaced,
    /// The scenario in which it decides.
    good: &'static str,
}

#[derive(Clone, Copy)]
enum Replaced {
    Variable(&'static str),
    File(&'static str, &'static str, &'static str),
    Setting(&'static str, &'static str),
}

/// One agent through all its days, and a good one after them.
struct Week {
    agent: Agent,
    ways: Ways,
    desk: Desk,
    model: Model,
    /// How many requests were answered.
    answered: usize,
}

impl Week {
    fn new(agent: Agent, ways: Ways) -> Self {
        let (desk, model, _gate) = hired(&agent, agent.runner, "now");
        let profile = desk.profile();
        profile.run(&["init", "--runner", agent.runner]).ok();
        let config = profile.file("config.toml").unwrap();
        profile.write("config.toml", format!("{config}{PRICES}"));
        Self { agent, ways, desk, model, answered: 0 }
    }

    /// Whatever came before, a person who tries now is not held up: each day is a beat.
    fn beat(&mut self, what: What, number: usize) -> Value {
        let (scenario, replaced) = match what {
            Provider(scenario) => (scenario, None),
            NoKey => (self.ways.good, Some(self.ways.key)),
            NoPrice => (self.ways.good, Some(self.ways.price)),
            Older | Newer => (self.ways.good, None),
        };
        self.model.set_now(scenario);
        let profile = self.desk.profile();
        let mut command = profile.command(&["beat"]);
        let mut undo = None;
        match replaced {
            Some(Replaced::Variable(name)) => drop(command.env_remove(name)),
            Some(Replaced::File(path, from, to)) => {
                undo = Some(replace(profile.outside().join("home").join(path), from, to));
            }
            Some(Replaced::Setting(from, to)) => {
                undo = Some(replace(profile.data().join("config.toml"), from, to));
            }
            None => {}
        }
        if let Older | Newer = what {
            let folder = self.other_version(matches!(what, Older));
            let path =
                std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&needs::path())));
            command.env("PATH", path.unwrap());
        }
        command.output().unwrap();
        if let Some((path, text)) = undo {
            fs::write(path, text).unwrap();
        }
        assert_eq!(profile.survivors(), Vec::<String>::new());
        let record = profile.file(&format!("runs/{number:06}/record.json"));
        let record = record.unwrap_or_else(|| panic!("{what:?}: {}", profile.run(&["why"]).stdout));
        serde_json::from_str(&record).unwrap()
    }

    /// A folder with a program of the agent's name that behaves as one of another version.
    fn other_version(&self, older: bool) -> std::path::PathBuf {
        let folder = self.desk.profile().outside().join(if older { "older" } else { "newer" });
        fs::create_dir_all(&folder).unwrap();
        let name = self.agent.runner;
        let real = needs::agents().join("node_modules/.bin").join(name);
        let text = if older {
            "#!/bin/sh\necho \"error: unknown option '--from-the-future'\" >&2\nexit 1\n".to_owned()
        } else {
            format!(
                "#!/bin/sh\necho '{{\"type\":\"update_available\",\"version\":\"99.0.0\"}}'\n\
                 echo 'Update available! 99.0.0. Press enter to continue' >&2\nexec '{}' \"$@\"\n",
                real.display()
            )
        };
        write_program(&folder.join(name), &text);
        folder
    }

    #[track_caller]
    fn goes(mut self, days: &[Day]) {
        let mut wrong = Vec::new();
        for (at, (what, kind, words, cost, most)) in days.iter().enumerate() {
            let before = self.model.requests().len();
            let record = self.beat(*what, at + 1);
            let requests = self.model.requests().len() - before;
            self.answered += if what.refuses() { 0 } else { requests };
            let (failed, reason) = (record["failure"][0].as_str(), record["failure"][1].as_str());
            let said = (failed.unwrap_or_default(), reason.unwrap_or_default());
            let is_so = said.0 == *kind
                && said.1.contains(words)
                && record["decision"].is_object() == kind.is_empty()
                && self.cost(&record, before) == *cost
                && requests <= *most;
            if !is_so {
                let seen = self.cost(&record, before);
                wrong.push(format!("{what:?}: {seen:?}, {requests} requests: {record}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
        self.ends_well(days.len() + 1);
    }

    /// What is known of what a day cost: of the requests after so many.
    fn cost(&self, record: &Value, before: usize) -> Cost {
        let spend = &record["spend"];
        let certain = spend["source"].as_str().is_some_and(|source| !source.contains("at least"));
        if !certain {
            return Unknown;
        }
        if spend["usd"] == json!(0.0) {
            return Nothing;
        }
        let charged = Till::of_answers(&self.model, self.answered, |request| {
            request["n"].as_u64().is_some_and(|number| number > before as u64)
        });
        assert_eq!(Till::said(spend), charged, "{record}");
        Known
    }

    /// Nobody has to change anything for the loop to go on.
    #[track_caller]
    fn ends_well(mut self, number: usize) {
        let failures =
            |week: &Self| week.desk.profile().run(&["status", "--json"]).ok().json()["failures"].clone();
        self.beat(Provider("e401"), number);
        assert!(failures(&self)["wait_left_s"].as_u64().is_some_and(|left| left > 0), "{}", failures(&self));
        self.desk.profile().run(&["resume"]).ok();
        assert!(failures(&self)["wait_left_s"].as_u64().is_none_or(|left| left == 0), "{}", failures(&self));
        let record = self.beat(Provider(self.ways.good), number + 1);
        assert_eq!(record["decision"]["reason"], "scripted model", "{record}");
        let tmp = self.desk.profile().data().join("tmp");
        assert_eq!(fs::read_dir(tmp).unwrap().count(), 0, "a decide leaves no temporary file");
    }
}

/// Replaces a text in a file. Gives the file and what was in it.
fn replace(path: std::path::PathBuf, from: &str, to: &str) -> (std::path::PathBuf, String) {
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "no {from} in {text}");
    fs::write(&path, text.replace(from, to)).unwrap();
    (path, text)
}

/// The price of the model is one of another.
const NO_PRICE: Replaced = Replaced::Setting("[prices.fake-model]", "[prices.another]");

fn goes(agent: Agent, ways: Ways, days: &[Day]) {
    if found(&[agent.runner, "python3"]) {
        Week::new(agent, ways).goes(days);
    }
}

#[test]
fn claude_has_bad_days() {
    let ways = Ways { key: Replaced::Variable("ANTHROPIC_API_KEY"), price: NO_PRICE, good: "write" };
    let days = [
        (NoKey, "runner", "Not logged in", Nothing, 0),
        (Provider("e401"), "runner", "Invalid API key", Nothing, 4),
        (Provider("e4290"), "limited", "429", Nothing, 4),
        (Provider("quota"), "limited", "would exceed your account's rate limit", Nothing, 4),
        (Provider("offline"), "unreached", "Connection refused", Nothing, 0),
        (Provider("cut"), "", "", Known, 3),
        (Provider("html"), "", "", Known, 3),
        (Older, "runner", "unknown option '--from-the-future'", Nothing, 0),
        (Newer, "", "", Known, 2),
        // It states the dollars itself.
        (NoPrice, "", "", Known, 2),
    ];
    goes(claude(), ways, &days);
}

#[test]
fn codex_has_bad_days() {
    let ways = Ways { key: Replaced::Variable("FAKE_KEY"), price: NO_PRICE, good: "write" };
    let days = [
        (NoKey, "runner", "Missing environment variable: `FAKE_KEY`", Nothing, 0),
        (Provider("e401"), "runner", "unexpected status 401 Unauthorized", Nothing, 2),
        (Provider("limit"), "limited", "429 Too Many Requests", Nothing, 3),
        (Provider("quota"), "limited", "You’ve hit your usage limit", Nothing, 2),
        (Provider("offline"), "unreached", "the provider cannot be reached: Reconnecting", Nothing, 0),
        (Provider("cut"), "runner", "stream disconnected before completion", Unknown, 3),
        (Provider("html"), "runner", "stream disconnected before completion", Unknown, 3),
        (Older, "runner", "unknown option '--from-the-future'", Nothing, 0),
        (Newer, "", "", Known, 2),
        (NoPrice, "", "", Unknown, 2),
    ];
    goes(codex(), ways, &days);
}

#[test]
fn opencode_has_bad_days() {
    let ways = Ways {
        key: Replaced::File(".config/opencode/opencode.json", "\"apiKey\":\"x\"", "\"apiKey\":\"\""),
        price: Replaced::File(
            ".config/opencode/opencode.json",
            "\"cost\":{\"input\":4,\"output\":20,\"cache_read\":1}",
            "\"cost\":{\"input\":0,\"output\":0}",
        ),
        good: "text",
    };
    let days = [
        (Provider("e401"), "runner", "(status 401)", Nothing, 2),
        (
            Provider("quota"),
            "limited",
            "the provider takes no calls now: AI_APICallError: Rate limit",
            Nothing,
            2,
        ),
        (Provider("offline"), "unreached", "the provider cannot be reached: AI_APICallError", Nothing, 0),
        // It would ask for ever.
        (Provider("cut"), "", "", Unknown, 20),
        (Provider("html"), "budget", "one call after the other ended without a word", Unknown, 20),
        (Older, "runner", "unknown option '--from-the-future'", Nothing, 0),
        (Newer, "", "", Known, 2),
        (NoPrice, "", "", Unknown, 2),
    ];
    goes(opencode(), ways, &days);
}

#[test]
fn pi_has_bad_days() {
    let ways = Ways {
        key: Replaced::File(".pi/agent/models.json", "\"apiKey\":\"x\"", "\"apiKey\":\"$NO_SUCH_KEY\""),
        price: Replaced::File(
            ".pi/agent/models.json",
            "\"cost\":{\"input\":4,\"output\":20,\"cacheRead\":1,\"cacheWrite\":4}",
            "\"cost\":{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0}",
        ),
        good: "text",
    };
    let days = [
        (NoKey, "runner", "No API key found for the selected model", Nothing, 0),
        (Provider("e401"), "no_decision", "401: ", Nothing, 2),
        (Provider("limit"), "limited", "429", Nothing, 2),
        (Provider("quota"), "limited", "Rate limit reached", Nothing, 2),
        (Provider("offline"), "unreached", "Connection error", Nothing, 0),
        (Provider("cut"), "no_decision", "Stream ended without finish_reason", Unknown, 2),
        (Provider("html"), "no_decision", "", Unknown, 2),
        (Older, "runner", "unknown option '--from-the-future'", Nothing, 0),
        (Newer, "", "", Known, 2),
        (NoPrice, "", "", Known, 2),
    ];
    goes(pi(), ways, &days);
}

#[test]
fn gemini_has_bad_days() {
    let ways = Ways { key: Replaced::Variable("GEMINI_API_KEY"), price: NO_PRICE, good: "text" };
    let days = [
        (NoKey, "runner", "you must specify the GEMINI_API_KEY", Nothing, 0),
        (Provider("e401"), "runner", "invalid x-api-key", Nothing, 3),
        (Provider("limit"), "limited", "429", Nothing, 6),
        (Provider("quota"), "limited", "gemini goes from one of its models to the other", Nothing, 40),
        (Provider("offline"), "unreached", "fetch failed", Nothing, 0),
        (Provider("cut"), "", "", Known, 3),
        (Provider("html"), "runner", "", Unknown, 3),
        (Older, "runner", "unknown option '--from-the-future'", Nothing, 0),
        (Newer, "", "", Known, 2),
    ];
    goes(gemini(), ways, &days);
}

/// The first byte of the answer comes after a minute, which is no reason to give up.
fn waits(agent: &Agent) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let record = crate::decides::Beat::of(agent, "late").record;
    assert_eq!(record["decision"]["reason"], "scripted model", "{record}");
}

#[test]
fn claude_waits_for_a_slow_provider() {
    waits(&claude());
}

#[test]
fn codex_waits_for_a_slow_provider() {
    waits(&codex());
}

#[test]
fn opencode_waits_for_a_slow_provider() {
    waits(&opencode());
}

#[test]
fn pi_waits_for_a_slow_provider() {
    waits(&pi());
}

#[test]
fn gemini_waits_for_a_slow_provider() {
    waits(&gemini());
}
