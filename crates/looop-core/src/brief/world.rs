//! The sections about the world: PLAYBOOK, goals, readings, what changed.

use super::escape::{count, line, quoted};
use super::input::Input;
use super::section::{Item, Section, Topic, Trust};
use crate::model::goal;
use crate::taint;
use crate::world::baseline::Change;
use crate::world::observation::Doc;
use crate::world::reading::{self, Reading};

const KIB: usize = 1024;
const PLAYBOOK: usize = 16 * KIB;
const GOAL: usize = 8 * KIB;
const READING: usize = 8 * KIB;
const CHANGES: usize = 16 * KIB;
const ERROR: usize = 2 * KIB;

/// PLAYBOOK.md: absent, whole or broken, and never one for another.
pub(super) fn playbook(input: &Input<'_>) -> Section {
    const FILE: &str = "PLAYBOOK.md";
    let item = match &input.docs.playbook {
        Doc::Absent => return Section::of(Topic::Playbook, Vec::new()).note("there is none"),
        Doc::Text { text, .. } => {
            Item::new("file", FILE, trust_of(input, FILE, &input.docs.playbook), text, PLAYBOOK)
                .tainted(taint::of_file(input.ledger, FILE, input.docs.playbook.digest()))
        }
        Doc::Broken { error } => Item::new("broken file", FILE, Trust::Looop, error, ERROR),
    };
    Section::of(Topic::Playbook, vec![item])
}

/// Who wrote a file: a decider, if a move of one put exactly these bytes there.
fn trust_of(input: &Input<'_>, path: &str, doc: &Doc) -> Trust {
    let written = input.ledger.written.get(path).copied();
    if written.is_some() && written == doc.digest() { Trust::Decider } else { Trust::Owner }
}

/// All goals, also those that cannot be used.
pub(super) fn goals(input: &Input<'_>) -> Section {
    let mut items: Vec<Item> =
        input.docs.goals.iter().filter_map(|(id, doc)| goal_item(input, id, doc)).collect();
    let odd = input.docs.odd.iter().map(|name| {
        Item::new("broken goal", name, Trust::External, "", 0)
            .fact("its file name cannot be used, no move can touch it")
    });
    items.extend(odd);
    let section = Section::of(Topic::Goals, items);
    if section.items.is_empty() { section.note("there are none") } else { section }
}

fn goal_item(input: &Input<'_>, id: &str, doc: &Doc) -> Option<Item> {
    match doc {
        Doc::Absent => None,
        Doc::Broken { error } => Some(Item::new("broken goal", id, Trust::Looop, error, ERROR)),
        Doc::Text { text, .. } => {
            let path = format!("goals/{id}.md");
            let item = Item::new("goal", id, trust_of(input, &path, doc), text, GOAL)
                .tainted(taint::of_file(input.ledger, &path, doc.digest()));
            let broke = input.ledger.goals.get(id).is_some_and(|record| record.broke.is_some());
            let item = if broke { item.fact("its budget allows no worker") } else { item };
            let waits = input.ledger.goals.get(id).and_then(|record| record.review.as_deref());
            let item = match waits {
                Some(session) => {
                    item.fact(format!("the work of {session} for it waits for the person's review"))
                }
                None => item,
            };
            let problems = goal::parse(text).problems;
            Some(if problems.is_empty() {
                item
            } else {
                item.fact(format!("problem {}", quoted(&problems.join("; "))))
            })
        }
    }
}

/// All readings.
pub(super) fn readings(input: &Input<'_>) -> Section {
    let items: Vec<Item> =
        input.readings.iter().map(|(name, reading)| reading_item(input, name, reading)).collect();
    let section = Section::of(Topic::Readings, items);
    if section.items.is_empty() { section.note("there are none") } else { section }
}

fn reading_item(input: &Input<'_>, name: &str, reading: &Reading) -> Item {
    let mut body = format!("signal: {}", reading.signal);
    if !reading.detail.is_null() {
        body = format!("{body}\ndetail: {}", reading.detail);
    }
    let trust = reading_trust(input, name, reading);
    let taints = taint::of_reading(input.ledger, input.docs, (name, reading), trust == Trust::External);
    let item = Item::new("reading", name, trust, &body, READING).tainted(taints);
    if reading.failed { item.fact("failed") } else { item }
}

/// A sensor that a decider wrote cannot vouch for itself.
fn reading_trust(input: &Input<'_>, name: &str, reading: &Reading) -> Trust {
    let by_decider = input.docs.sensors.get(name).is_some_and(|sensor| {
        let written = input.ledger.written.get(&format!("sensors/{}", sensor.file));
        written.is_some() && written == sensor.digest.as_ref()
    });
    match reading.trust {
        reading::Trust::Owner if !by_decider => Trust::Owner,
        reading::Trust::Owner | reading::Trust::External => Trust::External,
    }
}

/// Whether a change repeats what a stranger may have written.
fn change_taints(input: &Input<'_>, change: &Change) -> bool {
    match change.reading() {
        Some(name) => input.readings.get(name).is_none_or(|reading| {
            let external = reading_trust(input, name, reading) == Trust::External;
            taint::of_reading(input.ledger, input.docs, (name, reading), external)
        }),
        None => !change.is_own_words() && taint::of_row(change),
    }
}

/// What changed, and why the decider is asked if nothing did.
pub(super) fn changes(input: &Input<'_>) -> Section {
    let lines: Vec<String> = input.changes.iter().map(|change| line(&change.text(), KIB)).collect();
    let mut items = Vec::new();
    if !lines.is_empty() {
        let trust =
            if input.changes.iter().all(Change::is_own_words) { Trust::Looop } else { Trust::External };
        let taints = input.changes.iter().any(|change| change_taints(input, change));
        let item = Item::new("changes", "", trust, &lines.join("\n"), CHANGES).fact(count(lines.len()));
        items.push(item.tainted(taints));
    }
    if let Some(forced) = input.forced {
        items.push(Item::new("reason", "", Trust::Looop, &line(&forced.text(), KIB), KIB));
    }
    let section = Section::of(Topic::Changes, items);
    if section.items.is_empty() { section.note("nothing changed") } else { section }
}
