//! A parsed file before anything is known about its keys: the same tree for TOML and JSON.

use std::{fmt, ops::Range};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Toml,
    Json,
}

/// A value and, where the parser tells, the bytes it was read from.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) item: Item,
    pub(super) span: Option<Range<usize>>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<Field>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) key_span: Option<Range<usize>>,
    pub(super) value: Node,
}

/// A text that is neither TOML nor JSON.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) message: String,
    pub(super) span: Option<Range<usize>>,
}

/// The top table of a file, its fields in the order of the text.
pub(super) fn parse(text: &str, format: Format) -> Result<Vec<Field>, Syntax> {
    match format {
        Format::Toml => parse_toml(text),
        Format::Json => parse_json(text),
    }
}

fn parse_toml(text: &str) -> Result<Vec<Field>, Syntax> {
    let table = DeTable::parse(text)
        .map_err(|e| Syntax { message: e.message().replace('\n', ", "), span: e.span() })?;
    Ok(toml_table(table.into_inner()))
}

fn toml_table(table: DeTable<'_>) -> Vec<Field> {
    let mut fields: Vec<Field> = table
        .into_iter()
        .map(|(key, value)| Field {
            key_span: Some(key.span()),
            key: key.into_inner().into_owned(),
            value: toml_node(value),
        })
        .collect();
    fields.sort_by_key(|field| field.key_span.as_ref().map(|span| span.start));
    fields
}

fn toml_node(value: toml::Spanned<DeValue<'_>>) -> Node {
    let span = Some(value.span());
    let item = match value.into_inner() {
        DeValue::String(text) => Item::Text(text.into_owned()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Item::Float(number.as_str().parse().unwrap_or(f64::MAX)), Item::Integer),
        DeValue::Float(number) => Item::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Item::Bool(flag),
        DeValue::Datetime(_) => Item::Date,
        DeValue::Array(list) => Item::List(list.into_iter().map(toml_node).collect()),
        DeValue::Table(table) => Item::Table(toml_table(table)),
    };
    Node { item, span }
}

fn parse_json(text: &str) -> Result<Vec<Field>, Syntax> {
    let node: Node = serde_json::from_str(text).map_err(|e| json_syntax(text, &e))?;
    match node.item {
        Item::Table(fields) => Ok(fields),
        other @ (Item::Null
        | Item::Bool(_)
        | Item::Integer(_)
        | Item::Float(_)
        | Item::Text(_)
        | Item::Date
        | Item::List(_)) => {
            let message = format!("expected an object at the top, found {}", other.kind());
            Err(Syntax { message, span: Some(0..1) })
        }
    }
}

/// `serde_json` counts lines and columns from one and repeats them in its text; here they become a span.
fn json_syntax(text: &str, error: &serde_json::Error) -> Syntax {
    let whole = error.to_string();
    let message = whole.split(" at line ").next().unwrap_or(&whole).to_owned();
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    Syntax { message, span: Some(at..at + 1) }
}

impl Item {
    /// What the value is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Item::Null => "null",
            Item::Bool(_) => "a boolean",
            Item::Integer(_) | Item::Float(_) => "a number",
            Item::Text(_) => "a string",
            Item::Date => "a date",
            Item::List(_) => "a list",
            Item::Table(_) => "a table",
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(|item| Node { item, span: None })
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Item, E> {
        Ok(Item::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Item, E> {
        Ok(Item::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Item, E> {
        Ok(Item::Integer(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Item, E> {
        Ok(Item::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Item, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = seq.next_element()? {
            list.push(node);
        }
        Ok(Item::List(list))
    }

    // A key written twice would otherwise win silently over the first one.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut fields: Vec<Field> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            fields.push(Field { key, key_span: None, value: map.next_value()? });
        }
        Ok(Item::Table(fields))
    }
}
