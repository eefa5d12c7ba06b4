//! `policy.toml`: the person's rules and grants. What cannot be understood is refused, never read as "allow".

use std::{collections::BTreeSet, ops::Range, path::Path};

use looop_core::policy::{
    GRANT_KEYS, Grant, GrantFault, Level, Policy, Rule, Then, When, action_names, command_fault,
    never_matches, pattern_fault, program_fault, read_grant,
};
use serde_json::Value;

use super::{
    error::{MOST_PROBLEMS, Refusal},
    names::nearest,
    problem::{Complaint, Place, Problem},
    raw::{Raw, Reading, bad},
    tree::{self, Field, Format, Item, Node},
};

/// The file's name in the profile.
pub const POLICY_FILE: &str = "policy.toml";

const RULE_KEYS: [&str; 4] = ["move", "when", "then", "message"];
const WHEN_KEYS: [&str; 7] = ["tainted", "plain", "program", "command", "goal", "runner", "path"];
const LONGEST_MESSAGE: usize = 500;

/// Reads the content of a policy file.
pub fn policy_from_bytes(path: &Path, bytes: &[u8], level: Level) -> Result<Policy, Refusal> {
    let text = String::from_utf8_lossy(bytes);
    let mut sheet =
        Sheet { path, text: text.trim_start_matches('\u{feff}'), problems: Vec::new(), left_out: 0 };
    let mut policy = Policy { level, ..Policy::default() };
    if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        sheet.complain("", Some(&(at..at + 1)), Complaint::Syntax("not valid UTF-8".to_owned()));
    } else {
        match tree::parse(sheet.text, Format::Toml) {
            Ok(fields) => sheet.read(&fields, &mut policy),
            Err(error) => sheet.complain("", error.span.as_ref(), Complaint::Syntax(error.message)),
        }
    }
    if sheet.problems.is_empty() {
        return Ok(policy);
    }
    // Rules and grants may be mixed; a person goes through the file from the top.
    sheet.problems.sort_by_key(|problem| match &problem.place {
        Place::Line { line, .. } => *line,
        Place::File(_) | Place::Variable(_) => 0,
    });
    Err(Refusal { problems: sheet.problems, left_out: sheet.left_out })
}

/// The text that is being read, and what is wrong with it.
struct Sheet<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<Problem>,
    left_out: usize,
}

impl Sheet<'_> {
    fn complain(&mut self, key: &str, span: Option<&Range<usize>>, complaint: Complaint) {
        if self.problems.len() < MOST_PROBLEMS {
            let place = Place::in_file(self.path, self.text, span);
            self.problems.push(Problem { place, key: key.to_owned(), complaint });
        } else {
            self.left_out += 1;
        }
    }

    fn read(&mut self, fields: &[Field], policy: &mut Policy) {
        for field in fields {
            match field.key.as_str() {
                "rule" => {
                    for fields in self.tables(field) {
                        policy.rules.extend(self.rule(field, fields));
                    }
                }
                "grant" => {
                    for fields in self.tables(field) {
                        policy.grants.extend(self.grant(field, fields));
                    }
                    self.duplicates(field, &policy.grants);
                }
                "policy" | "level" => {
                    let advice = "it belongs into config.toml: policy = \"guarded\"".to_owned();
                    let complaint = Complaint::UnknownKey(Some(advice));
                    self.complain(&field.key, field.key_span.as_ref(), complaint);
                }
                _ => self.unknown("", field, &["rule", "grant"]),
            }
        }
    }

    /// The tables of `[[rule]]` or `[[grant]]`.
    fn tables<'a>(&mut self, field: &'a Field) -> Vec<&'a [Field]> {
        let name = &field.key;
        let Item::List(nodes) = &field.value.item else {
            let complaint = bad(format!("is written [[{name}]], once for each"));
            self.complain(name, field.key_span.as_ref(), complaint);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for node in nodes {
            if let Item::Table(fields) = &node.item {
                tables.push(fields.as_slice());
            } else {
                self.complain(name, node.span.as_ref(), Raw::Node(node).wrong("a table"));
            }
        }
        tables
    }

    fn unknown(&mut self, table: &str, field: &Field, known: &[&str]) {
        let advice = match nearest(&field.key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", known.join(", ")),
        };
        let key = format!("{table}{}", field.key);
        self.complain(&key, field.key_span.as_ref(), Complaint::UnknownKey(Some(advice)));
    }

    fn rule(&mut self, table: &Field, fields: &[Field]) -> Option<Rule> {
        let before = self.problems.len() + self.left_out;
        let (mut action, mut then, mut when, mut message) = (None, None, When::default(), None);
        for field in fields {
            let raw = Raw::Node(&field.value);
            match field.key.as_str() {
                "move" => action = self.take("rule.move", field, action_of(raw)),
                "then" => then = self.take("rule.then", field, then_of(raw)),
                "message" => message = self.take("rule.message", field, message_of(raw)),
                "when" => when = self.when(field),
                _ => self.unknown("rule.", field, &RULE_KEYS),
            }
        }
        let has = |key: &str| fields.iter().any(|field| field.key == key);
        for key in ["move", "then"].into_iter().filter(|key| !has(key)) {
            let span = fields.first().and_then(|field| field.key_span.as_ref()).or(table.key_span.as_ref());
            self.complain("rule", span, bad(format!("has no `{key}`")));
        }
        let rule = Rule { action: action?, when, then: then?, message };
        if let Some((key, why)) = never_matches(&rule) {
            self.complain(&format!("rule.when.{key}"), when_span(fields, key), bad(why));
        }
        (self.problems.len() + self.left_out == before).then_some(rule)
    }

    fn take<T>(&mut self, key: &str, field: &Field, value: Reading<T>) -> Option<T> {
        value.map_err(|complaint| self.complain(key, field.value.span.as_ref(), complaint)).ok()
    }

    fn when(&mut self, field: &Field) -> When {
        let mut when = When::default();
        let Item::Table(fields) = &field.value.item else {
            let complaint = Raw::Node(&field.value).wrong("a table such as { tainted = true }");
            self.complain("rule.when", field.value.span.as_ref(), complaint);
            return when;
        };
        for field in fields {
            let raw = Raw::Node(&field.value);
            let key = format!("rule.when.{}", field.key);
            match field.key.as_str() {
                "tainted" => when.tainted = self.take(&key, field, raw.flag()),
                "plain" => when.plain = self.take(&key, field, raw.flag()),
                "program" => when.program = self.list(&key, field, program_fault),
                "command" => when.command = self.list(&key, field, command_fault),
                "goal" => when.goal = self.list(&key, field, goal_fault),
                "runner" => when.runner = self.list(&key, field, pattern_fault),
                "path" => when.path = self.list(&key, field, pattern_fault),
                _ => self.unknown("rule.when.", field, &WHEN_KEYS),
            }
        }
        when
    }

    /// One text or a list of texts, each without a fault.
    fn list(&mut self, key: &str, field: &Field, fault: fn(&str) -> Option<&'static str>) -> Vec<String> {
        let read = texts(&field.value, fault).and_then(|list| match list {
            list if list.is_empty() => Err(bad("the list is empty, and nothing is in it".to_owned())),
            list => Ok(list),
        });
        self.take(key, field, read).unwrap_or_default()
    }

    fn grant(&mut self, table: &Field, fields: &[Field]) -> Option<Grant> {
        let before = self.problems.len() + self.left_out;
        for field in fields.iter().filter(|field| !GRANT_KEYS.contains(&field.key.as_str())) {
            self.unknown("grant.", field, &GRANT_KEYS);
        }
        let values: Vec<(String, Value)> =
            fields.iter().map(|field| (field.key.clone(), value(&field.value))).collect();
        let grant = read_grant(&values);
        for GrantFault { key, why } in grant.as_ref().err().into_iter().flatten() {
            let field = key.as_ref().and_then(|key| fields.iter().find(|field| field.key == *key));
            let first = fields.first().and_then(|field| field.key_span.as_ref()).or(table.key_span.as_ref());
            let span = field.map_or(first, |field| field.value.span.as_ref());
            let key = key.as_ref().map_or_else(|| "grant".to_owned(), |key| format!("grant.{key}"));
            self.complain(&key, span, bad(why.clone()));
        }
        grant.ok().filter(|_| self.problems.len() + self.left_out == before)
    }

    fn duplicates(&mut self, table: &Field, grants: &[Grant]) {
        let mut seen = BTreeSet::new();
        for program in grants.iter().filter_map(whole).filter(|program| !seen.insert(*program)) {
            let spans = spans_of(table, program);
            let complaint = bad(format!("\"{program}\" is granted twice; make one grant of both"));
            self.complain("grant.program", spans.last().copied(), complaint);
        }
    }
}

/// A value as the reader of grants takes it. Dates and odd numbers are none of its types.
fn value(node: &Node) -> Value {
    match &node.item {
        Item::Null | Item::Date => Value::Null,
        Item::Bool(flag) => Value::from(*flag),
        Item::Integer(number) => i64::try_from(*number).map_or(Value::Null, Value::from),
        Item::Float(number) => Value::from(*number),
        Item::Text(text) => Value::from(text.as_str()),
        Item::List(list) => list.iter().map(value).collect(),
        Item::Table(fields) => fields.iter().map(|field| (field.key.clone(), value(&field.value))).collect(),
    }
}

fn sound(text: &str, fault: fn(&str) -> Option<&'static str>) -> Reading<String> {
    match fault(text) {
        Some(fault) => Err(bad(format!("{text:?} {fault}"))),
        None => Ok(text.to_owned()),
    }
}

fn texts(node: &Node, fault: fn(&str) -> Option<&'static str>) -> Reading<Vec<String>> {
    let raw = Raw::Node(node);
    let list = match (&node.item, raw.texts()) {
        (Item::Text(_), _) => vec![raw.text()?],
        (_, Err(Complaint::WrongType { .. })) => return Err(raw.wrong("a string or a list of strings")),
        (_, list) => list?,
    };
    list.into_iter().map(|text| sound(text, fault)).collect()
}

fn action_of(raw: Raw<'_>) -> Reading<String> {
    let name = raw.text()?;
    if action_names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let advice = match nearest(name, action_names().filter(|known| *known != "*")) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("known are {}", action_names().collect::<Vec<_>>().join(", ")),
    };
    Err(bad(format!("{name:?} is no move; {advice}")))
}

fn then_of(raw: Raw<'_>) -> Reading<Then> {
    raw.one_of(&[Then::Allow, Then::Ask, Then::Deny].map(|then| (then.word(), then)))
}

fn message_of(raw: Raw<'_>) -> Reading<String> {
    let text = raw.text()?;
    if text.chars().count() > LONGEST_MESSAGE || text.contains(char::is_control) {
        return Err(bad(format!("is one line of at most {LONGEST_MESSAGE} characters")));
    }
    Ok(text.to_owned())
}

fn goal_fault(pattern: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
    (pattern.is_empty() || !pattern.chars().all(fits)).then_some("cannot be the name of a goal")
}

/// Where a key of `when` stands.
fn when_span<'a>(fields: &'a [Field], key: &str) -> Option<&'a Range<usize>> {
    let when = fields.iter().find(|field| field.key == "when")?;
    let Item::Table(keys) = &when.value.item else { return when.key_span.as_ref() };
    keys.iter().find(|field| field.key == key).and_then(|field| field.key_span.as_ref())
}

/// The program of a grant that stands for all of its shipped commands.
fn whole(grant: &Grant) -> Option<&str> {
    if let Grant::Program(grant) = grant { Some(&grant.program) } else { None }
}

/// Where the grants of a program name it.
fn spans_of<'a>(table: &'a Field, program: &str) -> Vec<&'a Range<usize>> {
    let Item::List(nodes) = &table.value.item else { return Vec::new() };
    let fields = nodes
        .iter()
        .filter_map(|node| if let Item::Table(fields) = &node.item { Some(fields) } else { None });
    let named = fields.flatten().filter(|field| field.key == "program");
    let named = named.filter(|field| matches!(&field.value.item, Item::Text(text) if text == program));
    named.filter_map(|field| field.value.span.as_ref()).collect()
}
