//! A line as JSON, without what a meter has no use for: however long the line, what is kept of it is small.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Longest line that is looked at.
const LINE: usize = 8 << 20;
/// Longest text that is kept; the rest of it is cut off.
pub(super) const TEXT: usize = 2000;
/// Most items of a list and most keys of an object that are kept.
const ITEMS: usize = 64;

/// The event in a line. Nothing where the line is too long, is no UTF-8, or is no JSON object.
pub(super) fn event(line: &[u8]) -> Option<Value> {
    let line = line.trim_ascii();
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.len() > LINE || line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    let mut json = serde_json::Deserializer::from_slice(line);
    let event = Sift.deserialize(&mut json).ok()?;
    json.end().ok().map(|()| event)
}

struct Sift;

impl<'de> DeserializeSeed<'de> for Sift {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sift {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value[..value.floor_char_boundary(TEXT)].to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < ITEMS {
            let Some(item) = items.next_element_seed(Self)? else { return Ok(Value::Array(kept)) };
            kept.push(item);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if kept.len() < ITEMS && key.len() <= TEXT {
                kept.insert(key, entries.next_value_seed(Self)?);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_kept_whole() {
        let line = r#"{"a":[1,-2,0.5,true,null,"ä"],"b":{"c":{}}}"#;
        assert_eq!(event(line.as_bytes()), serde_json::from_str(line).ok());
        assert_eq!(event(format!("\u{feff}{line}\r\n").as_bytes()), serde_json::from_str(line).ok());
    }

    #[test]
    fn what_is_large_is_cut() {
        let line = format!(r#"{{"text":"{}","list":{:?},"cost":3}}"#, "ä".repeat(5000), vec![7; 5000]);
        let event = event(line.as_bytes()).unwrap();
        assert_eq!(event["text"].as_str().map(str::len), Some(TEXT));
        assert_eq!((event["list"].as_array().map(Vec::len), event["cost"].as_u64()), (Some(ITEMS), Some(3)));
        let keys: Vec<String> = (0..500).map(|key| format!("\"{key}\":0")).collect();
        let line = format!("{{{}}}", keys.join(","));
        assert_eq!(
            super::event(line.as_bytes()).and_then(|event| event.as_object().map(Map::len)),
            Some(ITEMS)
        );
    }

    #[test]
    fn what_is_no_event_is_none() {
        let deep = format!("{}{}", "{\"a\":".repeat(5000), "}".repeat(5000));
        let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(LINE));
        for line in ["", "{", "{}{}", "[1]", "7", "{\"a\":1e999}", "{\"a\":\"\\ud800\"}", &deep, &huge] {
            assert_eq!(event(line.as_bytes()), None, "{}", &line[..line.len().min(40)]);
        }
        assert_eq!(event(b"{\"a\":\"\xff\"}"), None);
    }
}
