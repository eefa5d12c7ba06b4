//! Grants as they are written: the keys of a `[[grant]]`, and the tables below a goal's `allow`.

use serde_json::Value;

use super::grant::{CommandGrant, Gives, Grant, Net, OnTaint, PathGrant, ProgramGrant};
use super::pattern::Pattern;
use super::valid::{env_fault, program_fault, read_fault};
use crate::egress::Destination;

/// The keys of a grant.
pub const GRANT_KEYS: [&str; 8] = ["path", "write", "command", "program", "env", "read", "net", "tainted"];
/// The keys that say what a grant is about: each goes with these.
const KINDS: [(&str, &[&str]); 3] = [
    ("path", &["path", "write", "tainted"]),
    ("command", &["command", "env", "read", "net", "tainted"]),
    ("program", &["program", "env", "read", "net"]),
];

/// What is wrong with a grant: its key, none where one is missing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantFault {
    /// The key.
    pub key: Option<String>,
    /// Why.
    pub why: String,
}

type Reading<T> = Result<T, String>;

/// A grant from its keys and values. All that is wrong is told.
pub fn read_grant(fields: &[(String, Value)]) -> Result<Grant, Vec<GrantFault>> {
    let mut keys = Keys { fields, faults: Vec::new() };
    let grant = keys.grant();
    match grant {
        Some(grant) if keys.faults.is_empty() => Ok(grant),
        _ => Err(keys.faults),
    }
}

struct Keys<'a> {
    fields: &'a [(String, Value)],
    faults: Vec<GrantFault>,
}

impl Keys<'_> {
    fn grant(&mut self) -> Option<Grant> {
        let has = |key: &str| self.fields.iter().any(|(name, _)| name == key);
        let Some((kind, fitting)) = KINDS.into_iter().find(|(kind, _)| has(kind)) else {
            let why = "has no `command`, `path` or `program`".to_owned();
            self.faults.push(GrantFault { key: None, why });
            return None;
        };
        for (key, _) in self.fields.iter().filter(|(key, _)| GRANT_KEYS.contains(&key.as_str())) {
            if !fitting.contains(&key.as_str()) {
                let why = format!("does not go with `{kind}`");
                self.faults.push(GrantFault { key: Some(key.clone()), why });
            }
        }
        let tainted = self.take("tainted", on_taint);
        match kind {
            "path" => {
                let path = self.take("path", |value| sound(text(value)?, read_fault))?;
                let write = self.take("write", flag).unwrap_or_default();
                Some(Grant::Path(PathGrant { path, write, tainted: tainted.unwrap_or_default() }))
            }
            "command" => {
                let command = self.take("command", pattern);
                let (gives, tainted) = (self.gives(), tainted.unwrap_or_default());
                Some(Grant::Command(CommandGrant { command: command?, gives, tainted }))
            }
            _ => {
                let program = self.take("program", |value| sound(text(value)?, program_fault));
                let gives = self.gives();
                Some(Grant::Program(ProgramGrant { program: program?, gives }))
            }
        }
    }

    fn gives(&mut self) -> Gives {
        let env = self.take("env", |value| texts(value, env_fault));
        let read = self.take("read", |value| texts(value, read_fault));
        let net = self.take("net", net);
        Gives { env: env.unwrap_or_default(), read: read.unwrap_or_default(), net: net.unwrap_or_default() }
    }

    /// The value of a key, if it is there and right.
    fn take<T>(&mut self, key: &str, read: impl Fn(&Value) -> Reading<T>) -> Option<T> {
        let (_, value) = self.fields.iter().find(|(name, _)| name == key)?;
        match read(value) {
            Ok(value) => Some(value),
            Err(why) => {
                self.faults.push(GrantFault { key: Some(key.to_owned()), why });
                None
            }
        }
    }
}

fn text(value: &Value) -> Reading<&str> {
    match value.as_str() {
        Some(text) if text.trim().is_empty() => Err("must not be empty".to_owned()),
        Some(text) => Ok(text),
        None => Err(expected("a string", value)),
    }
}

fn flag(value: &Value) -> Reading<bool> {
    value.as_bool().ok_or_else(|| expected("true or false", value))
}

fn sound(text: &str, fault: fn(&str) -> Option<&'static str>) -> Reading<String> {
    match fault(text) {
        Some(fault) => Err(format!("{text:?} {fault}")),
        None => Ok(text.to_owned()),
    }
}

fn texts(value: &Value, fault: fn(&str) -> Option<&'static str>) -> Reading<Vec<String>> {
    match value {
        Value::String(_) => Ok(vec![sound(text(value)?, fault)?]),
        Value::Array(list) => list.iter().map(|item| sound(text(item)?, fault)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(expected("a string or a list of strings", value))
        }
    }
}

fn pattern(value: &Value) -> Reading<Pattern> {
    let Value::Array(list) = value else { return Err(expected("a list of words", value)) };
    let word = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| expected("a string", item));
    let words: Vec<String> = list.iter().map(word).collect::<Reading<_>>()?;
    Pattern::parse(&words).map_err(|fault| match words.get(fault.at) {
        Some(word) => format!("{word:?} {}", fault.why),
        None => fault.why,
    })
}

fn net(value: &Value) -> Reading<Net> {
    match value {
        Value::Bool(false) => Ok(Net::Closed),
        Value::Bool(true) => Ok(Net::Open),
        Value::String(word) if word == "open" => Ok(Net::Open),
        Value::Array(_) => {
            let hosts = texts(value, |_| None)?;
            let read = |host: &String| Destination::parse(host).map(|host| host.to_string());
            let hosts: Vec<String> = hosts.iter().map(read).collect::<Reading<_>>()?;
            Ok(if hosts.is_empty() { Net::Closed } else { Net::Hosts(hosts) })
        }
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(expected("a list of hosts, or \"open\" for all of them", value))
        }
    }
}

fn on_taint(value: &Value) -> Reading<OnTaint> {
    match value.as_str() {
        Some("allow") => Ok(OnTaint::Allow),
        Some("ask") => Ok(OnTaint::Ask),
        _ => Err(expected("\"allow\" or \"ask\"", value)),
    }
}

fn expected(what: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    };
    format!("expected {what}, found {found}")
}

/// The grants below a goal's `allow`: `[[grant]]` tables with one `key = value` a line.
pub fn read_allow(text: &str) -> Result<Vec<Grant>, String> {
    let mut tables: Vec<Vec<(String, Value)>> = Vec::new();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "[[grant]]" {
            tables.push(Vec::new());
            continue;
        }
        let Some(table) = tables.last_mut() else {
            return Err(format!("line {at}: begins with [[grant]], and then has a line for each key"));
        };
        table.push(field(line).map_err(|why| format!("line {at}: {why}"))?);
    }
    let grants = tables.iter().enumerate().map(|(at, table)| {
        let told = |fault: &GrantFault| match &fault.key {
            Some(key) => format!("grant {}: `{key}`: {}", at + 1, fault.why),
            None => format!("grant {}: {}", at + 1, fault.why),
        };
        read_grant(table).map_err(|faults| faults.first().map(told).unwrap_or_default())
    });
    grants.collect()
}

fn field(line: &str) -> Reading<(String, Value)> {
    let (key, value) = line.split_once('=').ok_or("is no `key = value`")?;
    let key = key.trim();
    if !GRANT_KEYS.contains(&key) {
        return Err(format!("`{key}` is not a known key; known are {}", GRANT_KEYS.join(", ")));
    }
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
    let read = values.next().and_then(Result::ok);
    let rest = value.get(values.byte_offset()..).unwrap_or_default().trim_start();
    match read {
        Some(read) if rest.is_empty() || rest.starts_with('#') => Ok((key.to_owned(), read)),
        _ => Err(format!("`{key}`: expected a \"text\", a list of them, true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Grant, Vec<GrantFault>> {
        let fields = value.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.clone()));
        read_grant(&fields.collect::<Vec<_>>())
    }

    /// What was read says the same when it is written again.
    #[test]
    fn the_three_kinds_are_read() {
        let table = [
            json!({"path": "~/src/app", "write": true}),
            json!({"path": "/opt/data", "write": false, "tainted": "allow"}),
            json!({"command": ["gh", "pr", "list", "*"], "env": ["GH_TOKEN"], "read": ["~/.config/gh"], "net": ["api.github.com"]}),
            json!({"command": ["make"], "env": [], "read": [], "net": "open", "tainted": "allow"}),
            json!({"program": "gh", "env": ["GH_TOKEN"], "read": [], "net": ["*.github.com", "localhost:8080"]}),
        ];
        for value in table {
            assert_eq!(serde_json::to_value(read(&value).unwrap()).unwrap(), value);
        }
        let older = read(&json!({"program": "gh", "env": "GH_TOKEN", "net": true})).unwrap();
        let gives = Gives { env: vec!["GH_TOKEN".to_owned()], net: Net::Open, ..Gives::default() };
        assert_eq!(older, Grant::Program(ProgramGrant { program: "gh".to_owned(), gives }));
    }

    #[test]
    fn what_is_wrong_is_told_at_its_key() {
        let table = [
            (json!({}), None, "has no `command`, `path` or `program`"),
            (json!({"path": "x"}), Some("path"), "must be absolute"),
            (json!({"path": "~/x", "env": []}), Some("env"), "does not go with `path`"),
            (json!({"program": "gh", "tainted": "allow"}), Some("tainted"), "does not go with `program`"),
            (json!({"command": "gh pr list"}), Some("command"), "expected a list of words"),
            (json!({"command": ["gh", 1]}), Some("command"), "expected a string, found the number 1"),
            (json!({"command": ["gh", "--"]}), Some("command"), "\"--\" cannot be granted"),
            (json!({"command": []}), Some("command"), "the command is empty"),
            (json!({"command": ["gh"], "tainted": true}), Some("tainted"), "expected \"allow\" or \"ask\""),
            (json!({"command": ["gh"], "net": ["https://x.org"]}), Some("net"), "is no host"),
            (json!({"command": ["gh"], "net": "all"}), Some("net"), "expected a list of hosts"),
            (json!({"command": ["gh"], "env": ["A-B"]}), Some("env"), "cannot be the name of a variable"),
        ];
        for (value, key, why) in table {
            let faults = read(&value).unwrap_err();
            let told = |fault: &GrantFault| fault.key.as_deref() == key && fault.why.contains(why);
            assert!(faults.iter().any(told), "{value}: {faults:?}");
        }
    }

    #[test]
    fn a_goals_grants_are_tables_of_lines() {
        let text = "# mine\n[[grant]]\npath = \"~/src/app\" # the app\nwrite = true\n\n[[grant]]\n\
                    command = [\"gh\", \"pr\", \"list\", \"*\"]\nenv = [\"GH_TOKEN\"]\n";
        let grants = read_allow(text).unwrap();
        assert_eq!(grants.len(), 2);
        assert!(matches!(&grants[0], Grant::Path(path) if path.write && path.path == "~/src/app"));
        assert_eq!(grants[1].program(), Some("gh"));
        assert_eq!(read_allow("").unwrap(), []);
        let table = [
            ("everything", "line 1: begins with [[grant]]"),
            ("[[grant]]\neverything", "line 2: is no `key = value`"),
            ("[[grant]]\nnett = true", "line 2: `nett` is not a known key"),
            ("[[grant]]\nnet = yes", "line 2: `net`: expected"),
            ("[[grant]]\nnet = true false", "line 2: `net`: expected"),
            ("[[grant]]\nwrite = true", "grant 1: has no"),
            ("[[grant]]\npath = \"x\"", "grant 1: `path`: \"x\" must be absolute"),
        ];
        for (text, expected) in table {
            let why = read_allow(text).unwrap_err();
            assert!(why.starts_with(expected), "{text}: {why}");
        }
    }
}
