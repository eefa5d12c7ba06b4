//! `looop policy show | check | test`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::rights::Granted;
use looop_core::policy::{Gives, Grant, Net, Policy as Rules, Rule, When, builtin};
use serde_json::{Value, json};

use super::args::Json;
use super::{body, print};
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::policy::{self, Supposed, Tried};

/// The policy: which moves of a decider are allowed, asked for or denied
#[derive(Args, Debug)]
pub(super) struct Policy {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Show the level, your rules, the built-in list and the grants
    Show(Json),
    /// Say whether policy.toml, or a file, is right
    Check {
        /// The file [default: policy.toml of the profile]
        file: Option<PathBuf>,
    },
    /// Show what becomes of a move, by which rule and why; nothing is done
    Test(Test),
}

#[derive(Args, Debug)]
struct Test {
    /// The file with the move, as a decider would say it; - is stdin
    file: String,
    /// Suppose that the brief showed what strangers wrote
    #[arg(long)]
    tainted: bool,
    /// Suppose that a decider wrote the goal
    #[arg(long)]
    goal_by_decider: bool,
    #[command(flatten)]
    json: Json,
}

impl Policy {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::Show(json) => show(place, json.json)?,
            Verb::Check { file } => {
                for line in policy::check(place, file.as_deref())? {
                    print::out(&line);
                }
            }
            Verb::Test(test) => test.run(place)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Test {
    fn run(&self, place: &Place) -> Result<()> {
        let text = if self.file == "-" {
            body::body(&[], "move")?
        } else {
            policy::read_move(Path::new(&self.file))?
        };
        let supposed = Supposed { tainted: self.tainted, goal_by_decider: self.goal_by_decider };
        let tried = policy::test(place, &text, supposed)?;
        if self.json.json {
            return print::json(&tried);
        }
        for (name, value) in facts(&tried) {
            print::out(&format!("{name:<9} {value}"));
        }
        Ok(())
    }
}

/// What the policy makes of a move, line by line.
fn facts(tried: &Tried) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("ruling", format!("{} {}", tried.action, tried.verb)),
        ("rule", tried.rule.clone()),
        ("because", tried.reason.clone()),
        ("tainted", if tried.tainted { "yes" } else { "no" }.to_owned()),
    ];
    let by = |goal: &String| match tried.goal_by {
        Some(who) => format!("{goal}, written by a {who}"),
        None => format!("{goal}, which is not there"),
    };
    facts.extend(tried.goal.as_ref().map(|goal| ("goal", by(goal))));
    facts.extend(tried.runner.clone().map(|runner| ("runner", runner)));
    facts.extend(tried.path.clone().map(|path| ("file", path)));
    for ran in &tried.runs {
        for one in &ran.boxes {
            facts.push(("runs", one.argv.join(" ")));
            facts.extend(one.grant.clone().map(|grant| ("grant", grant)));
            facts.push(("rights", rights(&one.granted, tried.confined)));
        }
        facts.extend(ran.withheld.iter().map(|why| ("withheld", why.clone())));
    }
    facts
}

fn rights(granted: &Granted, confined: bool) -> String {
    let bounds = if confined { "confined" } else { "not confined on this machine" };
    let net = match &granted.hosts {
        _ if !granted.net => Net::Closed,
        hosts if hosts.is_empty() => Net::Open,
        hosts => Net::Hosts(hosts.clone()),
    };
    let gives = Gives { env: granted.env.clone(), read: granted.read.clone(), net };
    let writes = named("writes", &granted.write).map(|writes| format!(", {writes}")).unwrap_or_default();
    format!("{bounds}, {}{writes}", gets(&gives))
}

/// What a command gets, in words.
fn gets(gives: &Gives) -> String {
    let net = match &gives.net {
        Net::Closed => None,
        Net::Hosts(hosts) => named("network", hosts),
        Net::Open => Some("all of the network".to_owned()),
    };
    let all = [named("variables", &gives.env), named("reads", &gives.read), net];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "without network and secrets".to_owned() } else { all.join(", ") }
}

fn named(what: &str, list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| format!("{what} {}", list.join(" ")))
}

fn show(place: &Place, json: bool) -> Result<()> {
    let (rules, confined) = policy::in_force(place)?;
    if json {
        return print::json(&in_json(&rules, confined));
    }
    let level = rules.level.word();
    print::out(&format!("level     {level}"));
    let held =
        if confined { "is confined" } else { "is NOT confined on this machine; looop doctor tells why" };
    print::out(&format!("sandbox   what a decider wrote {held}"));
    if !rules.rules.is_empty() {
        let rows: Vec<Vec<String>> =
            rules.rules.iter().enumerate().map(|(at, rule)| row(at + 1, rule)).collect();
        print::out("\nyour rules, in policy.toml; the first that matches decides");
        print::out(&print::table(&["rule", "move", "when", "then", "message"], &rows));
    }
    for note in policy::unreached_rules(&rules) {
        print::say(&format!("looop: {note}"));
    }
    print::out(&format!("\nthe built-in list \"{level}\"; the first that matches decides"));
    print::out(&print::table(&["move", "when", "then", "because"], &builtin_rows(&rules)));
    if rules.grants.is_empty() {
        print::out("\nno grants: commands of a decider get no network and no secrets");
    } else {
        print::out("\ngrants");
        let rows: Vec<Vec<String>> = rules.grants.iter().map(grant_row).collect();
        print::out(&print::table(&["grant", "gets", "if tainted"], &rows));
    }
    for note in policy::empty_grants(&rules) {
        print::say(&format!("looop: {note}"));
    }
    Ok(())
}

fn row(number: usize, rule: &Rule) -> Vec<String> {
    let then = rule.then.word().to_owned();
    let message = rule.message.clone().unwrap_or_default();
    vec![number.to_string(), rule.action.clone(), or_always(when(&rule.when)), then, message]
}

fn grant_row(grant: &Grant) -> Vec<String> {
    let tainted = |asks: bool| if asks { "asks" } else { "is allowed" }.to_owned();
    match grant {
        Grant::Path(path) => {
            let gets = if path.write { "is shown, and can be written" } else { "is shown" };
            let tainted = if path.write && path.tainted.asks() { "is shown" } else { gets };
            vec![path.path.clone(), gets.to_owned(), tainted.to_owned()]
        }
        Grant::Command(command) => {
            vec![command.command.to_string(), gets(&command.gives), tainted(command.tainted.asks())]
        }
        Grant::Program(program) => {
            let commands = grant.commands();
            let asks = commands.iter().any(|command| command.tainted.asks());
            let what = format!("{} ({} commands that only look)", program.program, commands.len());
            vec![what, gets(&program.gives), tainted(asks)]
        }
    }
}

fn when(when: &When) -> String {
    let flag = |name: &str, value: Option<bool>| value.map(|value| format!("{name} = {value}"));
    let list =
        |name: &str, list: &[String]| (!list.is_empty()).then(|| format!("{name} = {}", list.join(" or ")));
    let all = [
        flag("tainted", when.tainted),
        flag("plain", when.plain),
        list("program", &when.program),
        list("command", &when.command),
        list("goal", &when.goal),
        list("runner", &when.runner),
        list("path", &when.path),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn or_always(text: String) -> String {
    if text.is_empty() { "always".to_owned() } else { text }
}

fn builtin_rows(rules: &Rules) -> Vec<Vec<String>> {
    let moves = |moves: &[&str]| if moves.is_empty() { "every move".to_owned() } else { moves.join(", ") };
    let rule = |rule: &looop_core::policy::Builtin| {
        let then = rule.then.word().to_owned();
        vec![moves(rule.moves), or_always(rule.condition()), then, rule.why.to_owned()]
    };
    builtin(rules.level).iter().map(rule).collect()
}

fn in_json(rules: &Rules, confined: bool) -> Value {
    let list = builtin(rules.level).iter();
    let list = list.map(|rule| {
        let when: Vec<&str> = rule.when.iter().map(|fact| fact.words()).collect();
        json!({"moves": rule.moves, "when": when, "then": rule.then, "because": rule.why})
    });
    json!({
        "v": 1,
        "level": rules.level,
        "confined": confined,
        "rules": rules.rules,
        "builtin": list.collect::<Vec<_>>(),
        "grants": rules.grants,
    })
}
