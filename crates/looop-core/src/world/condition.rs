//! Conditions: `<reading>.<path> <op> <literal>`, joined by `and`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::reading::Reading;

/// A parsed condition: all terms must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Vec<Term>);

#[derive(Clone, Debug, PartialEq)]
struct Term {
    reading: String,
    path: Vec<String>,
    op: Op,
    literal: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Parses a condition; the error says what was expected.
pub fn parse(text: &str) -> Result<Condition, String> {
    let terms: Result<Vec<Term>, String> = text.split(" and ").map(|term| parse_term(term.trim())).collect();
    Ok(Condition(terms?))
}

fn parse_term(text: &str) -> Result<Term, String> {
    let expected = || format!("\"{text}\" is not <reading>.<path> <op> <literal>, such as ci.red > 0");
    let (path, rest) = text.split_once(char::is_whitespace).ok_or_else(expected)?;
    let (op, literal) = rest.trim().split_once(char::is_whitespace).ok_or_else(expected)?;
    let op = match op {
        "=" | "==" => Op::Eq,
        "!=" => Op::Ne,
        "<" => Op::Lt,
        "<=" => Op::Le,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        _ => return Err(format!("\"{op}\" is not one of == != < <= > >=")),
    };
    let mut parts = path.split('.').map(str::to_owned);
    let reading = parts.next().filter(|name| !name.is_empty()).ok_or_else(expected)?;
    let literal = literal.trim();
    let literal = match serde_json::from_str(literal) {
        Ok(value) => value,
        Err(_) if literal.contains(char::is_whitespace) => return Err(expected()),
        Err(_) => Value::from(literal),
    };
    Ok(Term { reading, path: parts.collect(), op, literal })
}

impl Condition {
    /// Whether every term holds. What is not there equals only `null` and is neither less nor more than anything.
    pub fn holds(&self, readings: &BTreeMap<String, Reading>) -> bool {
        self.0.iter().all(|term| term.holds(readings))
    }
}

impl Term {
    fn holds(&self, readings: &BTreeMap<String, Reading>) -> bool {
        let found = readings.get(&self.reading).and_then(|reading| self.find(reading));
        let found = found.unwrap_or(&Value::Null);
        match self.op {
            Op::Eq => same(found, &self.literal),
            Op::Ne => !same(found, &self.literal),
            Op::Lt => order(found, &self.literal) == Some(Ordering::Less),
            Op::Le => order(found, &self.literal).is_some_and(Ordering::is_le),
            Op::Gt => order(found, &self.literal) == Some(Ordering::Greater),
            Op::Ge => order(found, &self.literal).is_some_and(Ordering::is_ge),
        }
    }

    /// `ci.red` means the signal's `red`; `ci.signal.red` and `ci.detail.red` say which part is meant.
    fn find<'a>(&self, reading: &'a Reading) -> Option<&'a Value> {
        match self.path.split_first() {
            Some((part, rest)) if part == "signal" => step(&reading.signal, rest),
            Some((part, rest)) if part == "detail" => step(&reading.detail, rest),
            _ => step(&reading.signal, &self.path),
        }
    }
}

fn step<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
        Value::Object(map) => map.get(part),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() < f64::EPSILON,
        _ => a == b,
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::Trust;
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_by_table() {
        let ci =
            json!({"signal": {"red": 2, "branch": "main", "jobs": [{"ok": false}]}, "detail": {"age": 5}});
        let readings = BTreeMap::from([("ci".to_owned(), Reading::of_value(ci, Trust::Owner))]);
        let table = [
            ("ci.red > 0", true),
            ("ci.red == 2", true),
            ("ci.red >= 3", false),
            ("ci.signal.red < 3 and ci.branch == main", true),
            ("ci.branch == \"main\" and ci.red < 2", false),
            ("ci.detail.age <= 5", true),
            ("ci.jobs.0.ok == false", true),
            ("ci.nope == null", true),
            ("ci.nope > 0", false),
            ("other.red != 1", true),
            ("other.red == 1", false),
        ];
        for (text, holds) in table {
            assert_eq!(parse(text).unwrap().holds(&readings), holds, "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in ["", "ci.red", "ci.red >", "ci.red ~ 1", ".red > 1", "a > 1 and", "a > 1 and and b > 1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
