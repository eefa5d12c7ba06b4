//! The baseline: the world as the last model decision saw it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::observation::Docs;
use super::probe::Health;
use super::reading::Reading;
use crate::model::digest::{Digest, canonical};
use crate::model::moves::one_line;

/// Most changes that one entry lists.
const MOST_SHOWN: usize = 40;
/// Longest value that is kept to show `old → new`.
const SHOWN: usize = 400;

/// What the baseline knows of one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Digest of the wake part.
    pub digest: Digest,
    /// A reading's signal, as far as it is short enough to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Items by key: `playbook`, `goal:<id>`, `reading:<name>`, `worker:<id>`, `claim:<name>`.
pub type Items = BTreeMap<String, Seen>;

/// How to get from one set of items to another. An absent value removes the item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Delta(pub BTreeMap<String, Option<Seen>>);

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there before.
    Appeared,
    /// It differs.
    Changed,
    /// It is no longer there.
    Gone,
    /// Not one item: so many more changed than are listed.
    More,
}

/// One item of the diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The item's key.
    pub item: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// The old value, for readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The new value, for readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

impl Change {
    /// One line: `+ goal:ship`, `~ reading:ci {"red":0} → {"red":1}`, `- goal:old`.
    pub fn text(&self) -> String {
        let sign = match self.kind {
            ChangeKind::Appeared => '+',
            ChangeKind::Changed => '~',
            ChangeKind::Gone => '-',
            ChangeKind::More => '…',
        };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => format!("{sign} {} {old} → {new}", self.item),
            (None, Some(new)) => format!("{sign} {} {new}", self.item),
            _ => format!("{sign} {}", self.item),
        }
    }

    /// Whether nothing in its text was written by a sensor or a worker.
    pub fn is_own_words(&self) -> bool {
        !["reading:", "worker:", "claim:"].iter().any(|kind| self.item.starts_with(kind))
    }

    /// The reading that changed, if it is one.
    pub fn reading(&self) -> Option<&str> {
        self.item.strip_prefix("reading:")
    }
}

/// The items of an observation.
pub fn items(docs: &Docs, readings: &BTreeMap<String, Reading>) -> Items {
    let plain = |digest| Seen { digest, value: None };
    let mut items = Items::new();
    if let Some(digest) = docs.playbook.digest() {
        items.insert("playbook".to_owned(), plain(digest));
    }
    for (id, doc) in &docs.goals {
        if let Some(digest) = doc.digest() {
            items.insert(format!("goal:{id}"), plain(digest));
        }
    }
    for name in &docs.odd {
        items.insert(format!("goal:{name}"), plain(Digest::of(name.as_bytes())));
    }
    for (name, reading) in readings {
        match name.as_str() {
            // A worker and a claim are things of their own: a change of one has its name.
            "sys-sessions" => {
                items.extend(rows(reading, "workers", "id").map(|(id, row)| (worker_item(id), unasked(row))));
            }
            "sys-claims" => {
                items.extend(
                    rows(reading, "claims", "name")
                        .map(|(name, row)| (format!("claim:{name}"), seen_of_value(row))),
                );
            }
            _ => drop(items.insert(format!("reading:{name}"), seen_of(reading))),
        }
    }
    items
}

/// The rows of a probe, by what names them. A claim of a worker that the loop's own move started is part of what it
/// was started for, and marked so.
fn rows<'a>(
    reading: &'a Reading,
    list: &str,
    key: &'static str,
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    let rows = reading.signal.get(list).and_then(Value::as_array).into_iter().flatten();
    rows.filter(|row| row.get("own") != Some(&Value::Bool(true)))
        .filter_map(move |row| Some((row.get(key)?.as_str()?, row)))
}

/// The row of a worker without what it asks a person: neither the question nor the answer is news for a decider.
fn unasked(row: &Value) -> Seen {
    let mut row = row.clone();
    if row.get("health").and_then(Value::as_str) == Some(Health::Waiting.word()) {
        row["health"] = Health::Busy.word().into();
        row.as_object_mut().map(|row| row.remove("note"));
    }
    seen_of_value(&row)
}

/// The key of a worker's item.
pub fn worker_item(id: &str) -> String {
    format!("worker:{id}")
}

/// A reading as the baseline knows it.
pub fn seen_of(reading: &Reading) -> Seen {
    Seen { digest: reading.digest(), value: Some(short(&reading.signal)) }
}

/// One row of a probe as the baseline knows it.
pub fn seen_of_value(row: &Value) -> Seen {
    Seen { digest: Digest::of(canonical(row).as_bytes()), value: Some(short(row)) }
}

fn short(signal: &Value) -> String {
    one_line(&canonical(signal), SHOWN)
}

/// What differs between the baseline and what is seen now, by name.
#[must_use]
pub fn diff(base: &Items, seen: &Items) -> Vec<Change> {
    let mut changes = Vec::new();
    for (item, new) in seen {
        match base.get(item) {
            Some(old) if old.digest == new.digest => {}
            Some(old) => changes.push(Change {
                item: item.clone(),
                kind: ChangeKind::Changed,
                old: old.value.clone(),
                new: new.value.clone(),
            }),
            None => {
                let (item, new) = (item.clone(), new.value.clone());
                changes.push(Change { item, kind: ChangeKind::Appeared, old: None, new });
            }
        }
    }
    let gone = base.iter().filter(|(item, _)| !seen.contains_key(*item));
    changes.extend(gone.map(|(item, old)| Change {
        item: item.clone(),
        kind: ChangeKind::Gone,
        old: old.value.clone(),
        new: None,
    }));
    changes
}

/// The changes as the log keeps them: the first ones, and how many more there were.
pub fn shown(changes: &[Change]) -> Vec<Change> {
    if changes.len() <= MOST_SHOWN {
        return changes.to_vec();
    }
    let (first, rest) = changes.split_at(MOST_SHOWN - 1);
    let more = Change { item: format!("{} more", rest.len()), kind: ChangeKind::More, old: None, new: None };
    first.iter().cloned().chain([more]).collect()
}

impl Delta {
    /// The delta that turns `base` into `seen`.
    pub fn between(base: &Items, seen: &Items) -> Self {
        let gone = base.keys().filter(|item| !seen.contains_key(*item)).map(|item| (item.clone(), None));
        let new = seen.iter().filter(|(item, new)| base.get(*item) != Some(new));
        Self(gone.chain(new.map(|(item, new)| (item.clone(), Some(new.clone())))).collect())
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the delta.
    pub fn apply(&self, items: &mut Items) {
        for (item, seen) in &self.0 {
            match seen {
                Some(seen) => items.insert(item.clone(), seen.clone()),
                None => items.remove(item),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(text: &str) -> Seen {
        Seen { digest: Digest::of(text.as_bytes()), value: Some(text.to_owned()) }
    }

    #[test]
    fn a_change_has_a_name_and_both_values() {
        let base = Items::from([("goal:a".into(), seen("1")), ("reading:ci".into(), seen("0"))]);
        let now = Items::from([("goal:b".into(), seen("2")), ("reading:ci".into(), seen("1"))]);
        let texts: Vec<String> = diff(&base, &now).iter().map(Change::text).collect();
        assert_eq!(texts, ["+ goal:b 2", "~ reading:ci 0 → 1", "- goal:a"]);
    }

    #[test]
    fn a_flood_of_changes_is_counted_and_not_listed() {
        let seen: Items = (0..1000).map(|n| (format!("goal:{n:04}"), seen("x"))).collect();
        let changes = diff(&Items::new(), &seen);
        let listed = shown(&changes);
        assert_eq!((listed.len(), listed[39].text().as_str()), (40, "… 961 more"));
        assert_eq!(shown(&changes[..40]), changes[..40]);
    }

    fn any_items() -> impl Strategy<Value = Items> {
        proptest::collection::btree_map("[a-d]", "[x-z]", 0..4)
            .prop_map(|map| map.into_iter().map(|(key, text)| (key, seen(&text))).collect())
    }

    proptest! {
        #[test]
        fn a_delta_leads_from_one_to_the_other(a in any_items(), b in any_items()) {
            let mut items = a.clone();
            let delta = Delta::between(&a, &b);
            delta.apply(&mut items);
            prop_assert_eq!(&items, &b);
            prop_assert_eq!(delta.is_empty(), a == b);
            prop_assert_eq!(diff(&a, &b).is_empty(), a == b);
        }
    }
}
