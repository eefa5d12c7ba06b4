//! Conditions: `<reading>.<path> <op> <literal>`, joined by `and`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::reading::Reading;
use crate::model::moves::one_line;

/// Most characters of a value that are shown.
const SHOWN: usize = 60;

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

impl Op {
    fn sign(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
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

/// What is known of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Every term holds.
    Holds,
    /// A term does not hold; which, and what its reading says.
    Fails(String),
    /// No term is known to fail, and one cannot be evaluated.
    Unknown(Unknown),
}

/// Why a term cannot be evaluated. Each names the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no such reading.
    NoReading(String),
    /// Its sensor fails, and the failure does not contain the value.
    Failing(String),
}

impl Condition {
    /// Evaluates the condition. In a reading that is there, a missing value equals only `null` and is neither less nor
    /// more than anything.
    pub fn truth(&self, readings: &BTreeMap<String, Reading>) -> Truth {
        let mut unknown = None;
        for term in &self.0 {
            match term.truth(readings) {
                Truth::Holds => {}
                Truth::Fails(text) => return Truth::Fails(text),
                Truth::Unknown(why) => unknown = unknown.or(Some(why)),
            }
        }
        unknown.map_or(Truth::Holds, Truth::Unknown)
    }
}

impl Term {
    fn truth(&self, readings: &BTreeMap<String, Reading>) -> Truth {
        let Some(reading) = readings.get(&self.reading) else {
            return Truth::Unknown(Unknown::NoReading(self.reading.clone()));
        };
        let found = self.find(reading);
        if found.is_none() && reading.failed {
            return Truth::Unknown(Unknown::Failing(self.reading.clone()));
        }
        if self.holds(found.unwrap_or(&Value::Null)) {
            Truth::Holds
        } else {
            Truth::Fails(self.denied(found))
        }
    }

    fn holds(&self, found: &Value) -> bool {
        match self.op {
            Op::Eq => same(found, &self.literal),
            Op::Ne => !same(found, &self.literal),
            Op::Lt => order(found, &self.literal) == Some(Ordering::Less),
            Op::Le => order(found, &self.literal).is_some_and(Ordering::is_le),
            Op::Gt => order(found, &self.literal) == Some(Ordering::Greater),
            Op::Ge => order(found, &self.literal).is_some_and(Ordering::is_ge),
        }
    }

    /// Says that the term does not hold, and what the reading says instead.
    fn denied(&self, found: Option<&Value>) -> String {
        let path = std::iter::once(self.reading.as_str()).chain(self.path.iter().map(String::as_str));
        let path = path.collect::<Vec<_>>().join(".");
        let term = format!("{path} {} {}", self.op.sign(), self.literal);
        match found {
            Some(value) => format!("{term} does not hold: it is {}", one_line(&value.to_string(), SHOWN)),
            None => format!("{term} does not hold: {} has no {}", self.reading, self.path.join(".")),
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
    use super::super::reading::{Fault, FaultDetail, Trust};
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
        ];
        for (text, holds) in table {
            assert_eq!(parse(text).unwrap().truth(&readings) == Truth::Holds, holds, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_unknown_and_not_false() {
        let fault = Reading::of_fault(&Fault::Exit(3), &FaultDetail::default(), Trust::Owner);
        let ok = Reading::of_value(json!({"red": 0}), Trust::Owner);
        let readings = BTreeMap::from([("ci".to_owned(), fault), ("ok".to_owned(), ok)]);
        let none = Truth::Unknown(Unknown::NoReading("cii".to_owned()));
        let failing = Truth::Unknown(Unknown::Failing("ci".to_owned()));
        let fails = |text: &str| Truth::Fails(text.to_owned());
        let table = [
            ("cii.red > 0", none.clone()),
            ("cii.red != 1", none.clone()),
            ("cii.red == null", none.clone()),
            ("ok.red == 0 and cii.red > 0", none),
            ("ci.red > 0", failing.clone()),
            ("ci.red == null", failing),
            ("ci.error == true", Truth::Holds),
            ("ci.red > 0 and ok.red > 0", fails("ok.red > 0 does not hold: it is 0")),
            ("ok.rde > 0", fails("ok.rde > 0 does not hold: ok has no rde")),
        ];
        for (text, truth) in table {
            assert_eq!(parse(text).unwrap().truth(&readings), truth, "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in ["", "ci.red", "ci.red >", "ci.red ~ 1", ".red > 1", "a > 1 and", "a > 1 and and b > 1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
