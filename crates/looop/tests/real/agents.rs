//! The agents of the presets at work, on a scripted model.

use std::fs;
use std::path::Path;

use looop_sim::model::Model;
use looop_sim::profile::Profile;
use serde_json::{Value, json};

use crate::apart::Gate;
use crate::desk::Desk;
use crate::needs::found;
use crate::views;

/// The model that the agents talk to.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/model/server.py");
/// What the worker is started with.
const PROMPT: &str = "Count the herons at the harbour.";
/// A model that an agent does not ask unless it is told to.
pub(crate) const OTHER: &str = "other-model";

/// What an agent needs to reach the model server in a new home, and how its screen looks. That it starts without a dialog
/// there is the business of its preset.
pub(crate) struct Agent {
    pub(crate) runner: &'static str,
    /// Shown when it waits for input.
    pub(crate) ready: &'static str,
    /// What it asks for when it starts in a terminal, whatever its settings; it does without.
    pub(crate) habits: &'static [&'static str],
    /// Files in its home folder, and variables.
    pub(crate) files: fn(&Settings) -> Vec<(&'static str, String)>,
    pub(crate) env: fn(&Settings) -> Vec<(&'static str, String)>,
}

/// What the files and variables depend on.
pub(crate) struct Settings {
    /// The model server.
    url: String,
}

/// Starts the agent on its brief, talks with it, lets it run something that goes on and on, and kills it.
fn works(agent: &Agent) {
    if !found(&[agent.runner, "tmux", "python3"]) {
        return;
    }
    let (desk, model, gate) = hired(agent, agent.runner, "talk");
    desk.start_agent(agent.runner, PROMPT);
    desk.expect("I (read it\\.|heard: )");
    desk.expect(agent.ready);
    assert!(model.was_told(PROMPT), "{:?}", model.heard());

    desk.send("the heron waits");
    desk.expect("I heard: the heron waits");
    let shot = desk.shot();
    assert!(shot.has("the heron waits") && shot.has("I heard: the heron waits"), "{}", shot.text());
    desk.expect(agent.ready);
    desk.send("one fish\nand a second, \"large\" one");
    desk.expect("I heard: one fish\n.*and a second, \"large\" one");
    desk.expect(agent.ready);
    let by_hand = [("and a", "and a"), (" gull", "and a gull"), ("\r", "I heard: and a gull")];
    views::attach(&desk, "I heard: one fish", &by_hand);
    views::agree(&desk, "I heard: and a gull");

    let up = desk.profile().fifo("up");
    desk.send(&format!("run: echo up > {}; sleep 3600", up.path().display()));
    assert_eq!(up.hear(), "up\n");
    let heard = model.heard();
    let told = |text: &str| heard.iter().filter(|said| *said == text).count();
    assert_eq!((told("the heron waits"), told("one fish\nand a second, \"large\" one")), (1, 1), "{heard:?}");
    desk.expect("sleep 3600");
    desk.kill();
    let beside = |asked: &String| !agent.habits.iter().any(|host| asked.contains(host));
    assert_eq!(gate.asked().into_iter().filter(beside).collect::<Vec<_>>(), Vec::<String>::new());
}

/// A place for the agent under this name with its settings made, the model it talks to, and the only way out.
pub(crate) fn hired(agent: &Agent, id: &'static str, scenario: &str) -> (Desk, Model, Gate) {
    let (mut model, gate) = (None, Gate::shut());
    let desk = Desk::with(id, |profile| {
        let server = Model::start(SERVER);
        let settings = Settings { url: server.url(scenario) };
        for (path, text) in (agent.files)(&settings) {
            put(&profile.outside().join("home").join(path), &text);
        }
        model = Some(server);
        let set = |profile: Profile, (name, value): (&str, String)| profile.env(name, value);
        gate.variables().into_iter().chain((agent.env)(&settings)).fold(profile, set)
    });
    (desk, model.expect("a server"), gate)
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn claude_works() {
    works(&claude());
}

pub(crate) fn claude() -> Agent {
    Agent {
        runner: "claude",
        ready: r"\n❯\s*\n─+\n.*bypass permissions on",
        habits: &[],
        files: |_| Vec::new(),
        env: |set| {
            vec![
                ("ANTHROPIC_BASE_URL", set.url.clone()),
                ("ANTHROPIC_API_KEY", "x".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1".to_owned()),
                ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
                // Without it root may not skip the permissions.
                ("IS_SANDBOX", "1".to_owned()),
            ]
        },
    }
}

/// A claude that asks for permission, as one does whose command does not skip that, waits for the person.
#[test]
fn claude_at_a_dialog_waits_for_the_person() {
    let agent = claude();
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&agent, "asker", "talk");
    let key = r#"--settings '{"apiKeyHelper":"echo $ANTHROPIC_API_KEY"}'"#;
    let command = format!(
        "IS_DEMO=1 claude --permission-mode default {key} \"run: touch herons\" # {{{{prompt_file}}}}"
    );
    desk.profile().run(&["worker", "start", "asker", PROMPT, "--command", &command]).ok();
    desk.expect("1\\. Yes");
    desk.profile().beat().ok();
    let rows = desk.profile().run(&["ls", "--json"]).ok().json();
    assert_eq!((&rows[0]["health"], &rows[0]["waits_on"]), (&"waiting".into(), &"asker-1".into()), "{rows}");
    let asks = desk.profile().run(&["asks"]).ok().stdout;
    assert!(asks.contains("it asks for permission") && asks.contains("touch herons"), "{asks}");
    desk.press(&["Enter"]);
    desk.expect("It ran\\.");
    desk.expect("\\n❯\\s*\\n─+\\n.*\\? for shortcuts");
    desk.profile().beat().ok();
    let rows = desk.profile().run(&["ls", "--json"]).ok().json();
    assert_eq!(rows[0]["health"], "busy", "{rows}");
    desk.kill();
}

/// An agent whose provider takes no calls, and says until when, is told to go on when that time has come.
fn goes_on_after_a_limit(agent: &Agent) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, model, _gate) = hired(agent, "one", "spent");
    desk.start_agent(agent.runner, PROMPT);
    without_a_paid_decider(&desk, agent);
    desk.expect("limit");
    desk.expect(agent.ready);
    desk.profile().beat().ok();
    let rows = desk.profile().run(&["ls", "--json"]).ok().json();
    assert_eq!(rows[0]["health"], "waiting", "{}", desk.shot().text());
    assert!(rows[0]["waits_until_unix"].is_i64(), "{rows}\n{}", desk.shot().text());
    desk.profile().beat().ok();
    desk.expect("I heard: The limit of your provider is over\\.");
    let told = |said: &&String| said.contains("limit of your provider is over");
    assert_eq!(model.heard().iter().filter(told).count(), 1, "{:?}", model.heard());
    desk.expect(agent.ready);
    desk.profile().beat().ok();
    let rows = desk.profile().run(&["ls", "--json"]).ok().json();
    assert_eq!(rows[0]["health"], "busy", "{rows}");
    desk.kill();
}

#[test]
fn codex_goes_on_after_a_limit() {
    goes_on_after_a_limit(&codex());
}

/// A claude with a subscription goes on by itself after a limit. Until then it is waiting.
#[test]
fn claude_at_a_limit_is_waiting_until_it_ends() {
    let agent = subscribed();
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&agent, "one", "quota");
    desk.start_agent(agent.runner, PROMPT);
    without_a_paid_decider(&desk, &agent);
    desk.expect("Continuing automatically at");
    desk.profile().beat().ok();
    let rows = desk.profile().run(&["ls", "--json"]).ok().json();
    assert_eq!(rows[0]["health"], "waiting", "{rows}\n{}", desk.shot().text());
    let started = rows[0]["started_unix"].as_i64().unwrap();
    let until = rows[0]["waits_until_unix"].as_i64().unwrap_or_else(|| panic!("{rows}"));
    // It names the minute.
    let meanwhile = started - 60..=jiff::Timestamp::now().as_second();
    assert!(meanwhile.contains(&(until - 7200)), "{rows}");
    let asks = desk.profile().run(&["asks"]).ok().stdout;
    assert!(asks.contains("it is waiting until "), "{asks}");
    desk.verb("kill", &["--force"]).ok();
    desk.left_nothing();
}

/// Beats ask nobody who costs money.
fn without_a_paid_decider(desk: &Desk, agent: &Agent) {
    let config = desk.profile().file("config.toml").unwrap();
    let paid = format!("default = [\"builtin\", \"{}\"]", agent.runner);
    assert!(config.contains(&paid), "{config}");
    desk.profile().write("config.toml", config.replace(&paid, "default = \"builtin\""));
}

/// A claude whose person is signed in with a subscription.
fn subscribed() -> Agent {
    Agent {
        files: |_| {
            let login = json!({
                "accessToken": "subscribed",
                "refreshToken": "again",
                "expiresAt": 4_102_444_800_000_u64,
                "scopes": ["user:inference", "user:profile"],
                "subscriptionType": "max",
            });
            let refused = json!({ "approved": [], "rejected": ["x"] });
            vec![
                (
                    ".claude.json",
                    json!({ "hasCompletedOnboarding": true, "customApiKeyResponses": refused }).to_string(),
                ),
                (".claude/.credentials.json", json!({ "claudeAiOauth": login }).to_string()),
            ]
        },
        ..claude()
    }
}

/// A person who is signed in with a subscription goes on using it, also where there is a key that claude was not allowed to
/// use.
#[test]
fn claude_works_with_a_subscription() {
    let agent = subscribed();
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, model, _gate) = hired(&agent, "claude", "talk");
    desk.start_agent(agent.runner, PROMPT);
    desk.expect("I read it\\.");
    desk.expect(agent.ready);
    assert!(desk.shot().has("Claude Max"), "{}", desk.shot().text());
    let keys: Vec<Value> = model.requests().into_iter().map(|request| request["key"].clone()).collect();
    assert!(!keys.is_empty() && keys.iter().all(|key| key == "subscribed"), "{keys:?}");
    desk.kill();
}

#[test]
fn codex_works() {
    works(&codex());
}

pub(crate) fn codex() -> Agent {
    Agent {
        runner: "codex",
        ready: r"› Ask Codex to do anything",
        habits: &["raw.githubusercontent.com"],
        files: |set| {
            let provider = format!(
                "model = \"fake-model\"\nmodel_provider = \"fake\"\n\
                 [model_providers.fake]\nname = \"Fake\"\nbase_url = \"{}/v1\"\nenv_key = \"FAKE_KEY\"\n\
                 wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n[features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n",
                set.url
            );
            vec![(".codex/config.toml", provider)]
        },
        env: |_| vec![("FAKE_KEY", "x".to_owned())],
    }
}

#[test]
fn opencode_works() {
    works(&opencode());
}

pub(crate) fn opencode() -> Agent {
    Agent {
        runner: "opencode",
        ready: r"┃\s*\n.*┃\s*\n.*┃\s*\n.*┃  Build auto · Fake Fake",
        habits: &[],
        files: |set| {
            let options = json!({ "baseURL": format!("{}/v1", set.url), "apiKey": "x" });
            let cost = json!({ "input": 4, "output": 20, "cache_read": 1 });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible",
                "name": "Fake",
                "options": options,
                "models": { "fake-model": { "name": "Fake", "cost": cost }, OTHER: { "name": "Other", "cost": cost } },
            });
            let file = json!({
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "provider": { "fake": provider },
            });
            vec![(".config/opencode/opencode.json", file.to_string())]
        },
        env: |_| {
            let names = ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_PURE", "npm_config_offline"];
            names.map(|name| (name, "1".to_owned())).into()
        },
    }
}

#[test]
fn pi_works() {
    works(&pi());
}

pub(crate) fn pi() -> Agent {
    Agent {
        runner: "pi",
        ready: r"\n─+\n\s*\n─+\n",
        habits: &[],
        files: |set| {
            let cost = json!({ "input": 4, "output": 20, "cacheRead": 1, "cacheWrite": 4 });
            let provider = json!({
                "baseUrl": format!("{}/v1", set.url),
                "apiKey": "x",
                "api": "openai-completions",
                "models": [
                    { "id": "fake-model", "name": "Fake", "cost": cost },
                    { "id": OTHER, "name": "Other", "cost": cost },
                ],
            });
            let models = json!({ "providers": { "fake": provider } });
            let retry = json!({ "maxRetries": 1, "baseDelayMs": 10 });
            let settings = json!({ "defaultProvider": "fake", "defaultModel": "fake-model", "retry": retry });
            vec![
                (".pi/agent/models.json", models.to_string()),
                (".pi/agent/settings.json", settings.to_string()),
            ]
        },
        env: |_| vec![("PI_OFFLINE", "1".to_owned())],
    }
}

#[test]
fn gemini_works() {
    works(&gemini());
}

pub(crate) fn gemini() -> Agent {
    Agent {
        runner: "gemini",
        ready: r"Type your message or @path/to/file",
        habits: &[],
        files: |_| {
            let file = json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "general": { "disableAutoUpdate": true, "disableUpdateNag": true, "maxAttempts": 1 },
                "privacy": { "usageStatisticsEnabled": false },
                "telemetry": { "enabled": false },
                "ide": { "enabled": false },
            });
            vec![(".gemini/settings.json", file.to_string())]
        },
        env: |set| vec![("GOOGLE_GEMINI_BASE_URL", set.url.clone()), ("GEMINI_API_KEY", "x".to_owned())],
    }
}
