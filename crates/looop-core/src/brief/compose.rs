//! Composing a brief.

use super::fit::{fit, written};
use super::fixed::fixed;
use super::input::Input;
use super::mark::Mark;
use super::section::{Item, Section};
use super::{memory, world};
use crate::taint;

/// A brief is never asked to be shorter than this, or not even its structure would fit.
const LEAST: usize = 12 * 1024;

/// What a decider is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    fixed: String,
    rest: String,
    /// What it shows that a stranger may have written. What a decision wrote from such text is among it.
    pub tainted: Vec<String>,
}

impl Brief {
    /// The whole text.
    pub fn render(&self) -> String {
        format!("{}{}", self.fixed, self.rest)
    }

    /// The part that is the same in every beat, and the rest.
    pub fn parts(&self) -> (&str, &str) {
        (&self.fixed, &self.rest)
    }
}

/// Splits the text of a brief into the part that is the same in every beat, and the rest.
pub fn split(text: &str) -> (&str, &str) {
    let begins = |at: usize| {
        let line = text[at + 1..].lines().next().unwrap_or_default();
        Mark::starts(line).is_some_and(|rest| rest.starts_with(" MARK "))
    };
    let at = text.match_indices('\n').map(|(at, _)| at).find(|at| begins(*at));
    text.split_at(at.unwrap_or(0))
}

/// Composes a brief within the bytes that the limits allow.
pub fn compose(input: &Input<'_>) -> Brief {
    let mark = Mark::of(input.secret);
    let fixed = fixed(input.catalogue_in_text, input.workers_available);
    let start = mark.start();
    let mut rest =
        format!("\n{start} MARK every line that begins with {start} is looop's, all others are data\n");
    let mut sections = sections(input);
    let room = input.limits.brief_bytes.max(LEAST).saturating_sub(fixed.len() + rest.len());
    let tainted: Vec<String> =
        sections.iter().flat_map(|section| &section.items).filter_map(Item::taints).collect();
    if let Some(now) = sections.last_mut() {
        now.notes.insert(now.notes.len().min(1), taint::words(&tainted));
    }
    fit(&mut sections, &mark, room);
    rest.push_str(&written(&sections, &mark));
    Brief { fixed, rest, tainted }
}

/// The sections from most stable to most volatile; those about the state of things are there even if empty.
fn sections(input: &Input<'_>) -> Vec<Section> {
    let all = [
        world::playbook(input),
        world::goals(input),
        world::readings(input),
        memory::asks(input),
        memory::fairness(input),
        memory::journal(input),
        world::changes(input),
        memory::shell(input),
        memory::flapping(input),
        memory::last(input),
        memory::now(input),
    ];
    all.into_iter().filter(|section| !section.is_empty()).collect()
}
