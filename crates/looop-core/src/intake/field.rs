//! One field of a move: its value checked against the catalogue.

use serde_json::Value;

use super::catalogue::{Action, Field, Kind, MOST_ITEMS};
use super::refusal::Refusal;
use crate::model::name::Name;

/// The checked value of a field, or nothing where it is absent, null, or an optional text left empty.
pub(super) fn check(
    action: &'static Action,
    field: &'static Field,
    value: &Value,
) -> Result<Option<Value>, Refusal> {
    let at = At { action: action.name, field: field.name, expected: field.kind.expected() };
    if value.is_null() {
        return Ok(None);
    }
    let checked = match field.kind {
        Kind::Text(most) => at.text(value, most)?.map(Value::from),
        Kind::Name => at.name(value)?.map(Value::from),
        Kind::Worker => at.worker(value)?.map(Value::from),
        Kind::Texts(most) => Some(at.texts(value, most)?).filter(|items| !items.is_empty()).map(Value::from),
        Kind::Whole(most) => Some(at.whole(value, most)?.into()),
    };
    match checked {
        None if field.required => Err(Refusal::Empty { action: at.action, field: at.field }),
        checked => Ok(checked),
    }
}

/// What a JSON value is, in words.
pub(super) fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_u64() => "a number",
        Value::Number(number) if number.is_i64() => "a negative number",
        Value::Number(_) => "a fraction",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Where a value stands, for errors.
struct At {
    action: &'static str,
    field: &'static str,
    expected: &'static str,
}

impl At {
    fn wrong(&self, found: &'static str) -> Refusal {
        Refusal::WrongType { action: self.action, field: self.field, expected: self.expected, found }
    }

    fn over(&self, found: String, most: String) -> Refusal {
        Refusal::OverLimit { action: self.action, field: self.field, found, most }
    }

    /// A text within its limit; nothing if there is only white space in it.
    fn text(&self, value: &Value, most: usize) -> Result<Option<String>, Refusal> {
        let Value::String(text) = value else { return Err(self.wrong(found(value))) };
        if text.len() > most {
            return Err(self.over(format!("{} bytes", text.len()), format!("{most} bytes")));
        }
        if text.contains('\0') {
            return Err(Refusal::Nul { action: self.action, field: self.field });
        }
        Ok((!text.trim().is_empty()).then(|| text.clone()))
    }

    fn name(&self, value: &Value) -> Result<Option<String>, Refusal> {
        let Value::String(text) = value else { return Err(self.wrong(found(value))) };
        if text.is_empty() {
            return Ok(None);
        }
        let bad = |rule| Refusal::BadName { action: self.action, field: self.field, rule };
        Name::new(text).map(|name| Some(name.as_str().to_owned())).map_err(bad)
    }

    fn worker(&self, value: &Value) -> Result<Option<String>, Refusal> {
        let Some(id) = self.name(value)? else { return Ok(None) };
        let id = id.strip_prefix("looop-").unwrap_or(&id);
        if id == "pulse" {
            return Err(Refusal::Reserved { action: self.action, name: "pulse" });
        }
        self.name(&Value::from(id))
    }

    fn texts(&self, value: &Value, most: usize) -> Result<Vec<String>, Refusal> {
        let Value::Array(items) = value else { return Err(self.wrong(found(value))) };
        if items.len() > MOST_ITEMS {
            return Err(self.over(format!("{} items", items.len()), format!("{MOST_ITEMS} items")));
        }
        let empty = Refusal::Empty { action: self.action, field: self.field };
        items.iter().map(|item| self.text(item, most)?.ok_or_else(|| empty.clone())).collect()
    }

    fn whole(&self, value: &Value, most: u64) -> Result<u64, Refusal> {
        let number = value.as_u64().ok_or_else(|| self.wrong(found(value)))?;
        if number > most {
            return Err(self.over(number.to_string(), most.to_string()));
        }
        Ok(number)
    }
}
