//! The sections about what the loop remembers: asks, turns, journal, shell output, what came of decisions.

use super::escape::{line, quoted};
use super::input::{Input, Standing};
use super::section::{Item, Section, Topic, Trust};
use crate::ledger::state::{AskRecord, NoteKind};
use crate::model::outcome::Ended;
use crate::taint;
use crate::time::span_text;

const KIB: usize = 1024;
/// Journal lines shown.
const LINES: usize = 20;
/// Bytes shown of a journal line: 500 characters are kept of it.
const LINE: usize = 2 * KIB;
const SHELL: usize = 2 * KIB;
const LETTER: usize = 4 * KIB;
const LIST: usize = 16 * KIB;

/// Asks that wait for a person.
pub(super) fn asks(input: &Input<'_>) -> Section {
    let item = |(id, ask): (&String, &AskRecord)| {
        let trust = if ask.from == "pulse" { Trust::Decider } else { Trust::External };
        let item = Item::new("ask", id, trust, &ask.prompt, LETTER)
            .tainted(taint::of_ask(ask))
            .fact(format!("from {}", quoted(&ask.from)))
            .fact(format!("asked {} ago", span_text(input.now.since(&ask.at))));
        match &ask.goal {
            Some(goal) => item.fact(format!("goal {}", quoted(goal))),
            None => item,
        }
    };
    Section::of(Topic::Asks, input.ledger.asks.iter().map(item).collect())
}

/// Whose turn it is.
pub(super) fn fairness(input: &Input<'_>) -> Section {
    if input.fairness.is_empty() {
        return Section::of(Topic::Fairness, Vec::new());
    }
    let lines: Vec<String> = input.fairness.iter().map(|standing| turn(input, standing)).collect();
    Section::of(Topic::Fairness, vec![Item::new("turns", "", Trust::Looop, &lines.join("\n"), LIST)])
}

fn turn(input: &Input<'_>, standing: &Standing) -> String {
    let record = input.ledger.goal(&standing.goal);
    let mut facts = vec![match standing.unserved {
        Some(span) => format!("served {} ago", span_text(span)),
        None => "never served".to_owned(),
    }];
    facts.extend(standing.ready.then(|| "ready".to_owned()));
    facts.extend(standing.overdue.then(|| "overdue".to_owned()));
    facts.extend((record.attempts > 0).then(|| format!("{} moves since it last held", record.attempts)));
    facts.extend(record.ask.map(|ask| format!("waits on ask {}", line(&ask, 100))));
    format!("{}: {}", line(&standing.goal, 200), facts.join(", "))
}

/// The last journal lines.
pub(super) fn journal(input: &Input<'_>) -> Section {
    let journal = &input.ledger.journal;
    let last = &journal[journal.len().saturating_sub(LINES)..];
    let lines: Vec<String> = last.iter().map(|text| line(text.trim_end(), LINE)).collect();
    let taints = last.iter().any(|line| input.ledger.tainted_lines.contains(line));
    let item = || Item::tail("journal", "", Trust::Decider, &lines.join("\n"), LINES * LINE).tainted(taints);
    Section::of(Topic::Journal, if lines.is_empty() { Vec::new() } else { vec![item()] })
}

/// What shell moves printed.
pub(super) fn shell(input: &Input<'_>) -> Section {
    let mut items = Vec::new();
    for note in &input.ledger.notes {
        if let NoteKind::Shell { cmd, ended, tail, own } = &note.what {
            let trust = if *own { Trust::Decider } else { Trust::Owner };
            items.push(Item::new("command", "", trust, cmd, KIB));
            items.push(Item::tail("output", "", Trust::External, tail, SHELL).fact(ending(ended)));
        }
    }
    Section::of(Topic::Shell, items)
}

fn ending(ended: &Ended) -> String {
    match ended {
        Ended::Spawn(error) => format!("could not be started {}", quoted(error)),
        Ended::Exited(_) | Ended::Signalled(_) | Ended::TimedOut | Ended::Killed => ended.text(),
    }
}

/// Readings that flap.
pub(super) fn flapping(input: &Input<'_>) -> Section {
    let names: Vec<String> = input.flapping.iter().map(|name| line(name, 200)).collect();
    let item = || Item::new("readings", "", Trust::Looop, &names.join("\n"), LIST);
    Section::of(Topic::Flapping, if names.is_empty() { Vec::new() } else { vec![item()] })
}

/// What came of earlier decisions, and what the person answered, in the order in which it happened.
pub(super) fn last(input: &Input<'_>) -> Section {
    let items = input.ledger.notes.iter().flat_map(|note| note_items(&note.what, note.tainted)).collect();
    let section = Section::of(Topic::Last, items);
    match &input.ledger.failures {
        Some(failures) if failures.count > 1 => section.note(format!("{} failures in a row", failures.count)),
        _ => section,
    }
}

fn note_items(note: &NoteKind, tainted: bool) -> Vec<Item> {
    match note {
        NoteKind::Shell { .. } => Vec::new(),
        NoteKind::Failure { reason } => vec![Item::new("failed", "", Trust::External, reason, LETTER)],
        NoteKind::Refused { reason } => {
            vec![Item::new("refused", "", Trust::Decider, reason, LETTER).tainted(tainted)]
        }
        NoteKind::Overtaken { reason } => {
            vec![
                Item::new("overtaken", "", Trust::Decider, reason, LETTER)
                    .tainted(tainted)
                    .fact("came too late and was not carried out"),
            ]
        }
        NoteKind::Interrupted { reason } => {
            let item = Item::new("interrupted", "", Trust::Decider, reason, LETTER).tainted(tainted);
            vec![item.fact("may or may not have happened, is not repeated")]
        }
        NoteKind::Answer { ask, prompt, text } => vec![
            Item::new("question", ask, Trust::Decider, prompt, LETTER).tainted(tainted),
            Item::new("answer", ask, Trust::Owner, text, LETTER),
        ],
        NoteKind::Unknown { fields } => {
            let names: Vec<String> = fields.iter().map(|name| line(name, 200)).collect();
            let item =
                Item::new("ignored fields", "", Trust::Decider, &names.join("\n"), LETTER).tainted(tainted);
            vec![item.fact("no field of that move")]
        }
    }
}

/// The present moment.
pub(super) fn now(input: &Input<'_>) -> Section {
    let time = input.now.local().strftime("%A %Y-%m-%d %H:%M (UTC%:z)").to_string();
    Section::of(Topic::Now, Vec::new())
        .note(time)
        .note(format!("next_interval_s: 5 to {}", input.limits.max_next_interval.as_secs()))
        .note("Answer now: exactly one JSON object.")
}
