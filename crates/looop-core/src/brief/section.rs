//! Sections and items: the structure of the volatile part.

use super::escape::{block, count, quoted};
use super::mark::Page;

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The person's.
    Owner,
    /// A decision's.
    Decider,
    /// The outside world's.
    External,
    /// Looop's own.
    Looop,
}

impl Trust {
    fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Decider => "decider",
            Self::External => "external",
            Self::Looop => "looop",
        }
    }
}

/// Which end of a body matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Its beginning.
    Head,
    /// Its end.
    Tail,
}

/// One piece of data between BEGIN and END.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// What it is, in looop's words.
    what: &'static str,
    /// Its name, quoted.
    name: String,
    trust: Trust,
    /// Whether it may carry what a stranger wrote.
    taint: bool,
    /// What else looop knows of it, in looop's words or quoted.
    facts: Vec<String>,
    body: String,
    keep: Keep,
    cut: usize,
}

impl Item {
    /// An item with a body of at most so many bytes.
    pub(super) fn new(what: &'static str, name: &str, trust: Trust, body: &str, most: usize) -> Self {
        Self::with(what, name, trust, body, (Keep::Head, most))
    }

    /// An item of which the end is kept.
    pub(super) fn tail(what: &'static str, name: &str, trust: Trust, body: &str, most: usize) -> Self {
        Self::with(what, name, trust, body, (Keep::Tail, most))
    }

    fn with(what: &'static str, name: &str, trust: Trust, body: &str, (keep, most): (Keep, usize)) -> Self {
        let name = if name.is_empty() { String::new() } else { quoted(name) };
        // Escaping makes a text shorter at most by half, so that more than this cannot be shown.
        let raw = most.saturating_mul(2);
        let (shown, cut) = match keep {
            _ if body.len() <= raw => (body, 0),
            Keep::Head => {
                (&body[..body.floor_char_boundary(raw)], body.len() - body.floor_char_boundary(raw))
            }
            Keep::Tail => {
                let from = body.ceil_char_boundary(body.len() - raw);
                (&body[from..], from)
            }
        };
        let taint = trust == Trust::External;
        let mut item = Self { what, name, trust, taint, facts: Vec::new(), body: block(shown), keep, cut };
        item.cut_to(most);
        item
    }

    /// Adds a fact to the BEGIN line. It is looop's own, or quoted.
    pub(super) fn fact(mut self, fact: impl Into<String>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Its name, quoted.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Says whether it may carry what a stranger wrote, where that does not follow from whose text it is.
    pub(super) fn tainted(mut self, taint: bool) -> Self {
        self.taint = taint;
        self
    }

    /// Its name for the person, if it carries what a stranger may have written.
    pub(super) fn taints(&self) -> Option<String> {
        let says = self.taint && !(self.body.is_empty() && self.name.is_empty());
        says.then(|| format!("{} {}", self.what, self.name).trim_end().to_owned())
    }

    /// How long the body is.
    pub(super) fn body_len(&self) -> usize {
        self.body.len()
    }

    /// Shortens the body, never in the middle of a character.
    pub(super) fn cut_to(&mut self, most: usize) {
        if self.body.len() <= most {
            return;
        }
        let before = self.body.len();
        match self.keep {
            Keep::Head => self.body.truncate(self.body.floor_char_boundary(most)),
            Keep::Tail => drop(self.body.drain(..self.body.ceil_char_boundary(before - most))),
        }
        self.cut += before - self.body.len();
    }

    /// Writes the item.
    pub(super) fn write(&self, page: &mut Page<'_>) {
        let mut open = self.what.to_owned();
        if !self.name.is_empty() {
            open = format!("{open} {}", self.name);
        }
        open = format!("{open} trust={}", self.trust.word());
        let facts = self.facts.iter().fold(open, |open, fact| format!("{open}, {fact}"));
        let cut = format!("… {} bytes cut", count(self.cut));
        match self.keep {
            Keep::Tail if self.cut > 0 => page.own(&["BEGIN", &facts, &cut]),
            Keep::Tail | Keep::Head => page.own(&["BEGIN", &facts]),
        }
        page.data(&self.body);
        match self.keep {
            Keep::Head if self.cut > 0 => page.own(&["END", &cut]),
            Keep::Tail | Keep::Head => page.own(&["END"]),
        }
    }
}

/// What a section is about; also the order in which room is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// PLAYBOOK.md.
    Playbook,
    /// Goals.
    Goals,
    /// Readings.
    Readings,
    /// Asks that wait.
    Asks,
    /// Whose turn it is.
    Fairness,
    /// The last journal lines.
    Journal,
    /// What changed.
    Changes,
    /// Output of shell moves.
    Shell,
    /// Readings that flap.
    Flapping,
    /// What came of earlier decisions, and answers.
    Last,
    /// The present moment.
    Now,
}

impl Topic {
    fn title(self) -> &'static str {
        match self {
            Self::Playbook => "PLAYBOOK: the owner's judgment",
            Self::Goals => "GOALS: how things should be",
            Self::Readings => "READINGS: how things are",
            Self::Asks => "ASKS: waiting for a person; do not ask again",
            Self::Fairness => "FAIRNESS: goals by turn, longest unserved first",
            Self::Journal => "JOURNAL: the last moves, newest last",
            Self::Changes => "CHANGES: since the last decision (+ appeared, ~ changed, - gone)",
            Self::Shell => "SHELL: what commands printed",
            Self::Flapping => {
                "FLAPPING: signals that change at every look; mend the sensor so that signal is stable"
            }
            Self::Last => "LAST: what came of earlier decisions, and answers",
            Self::Now => "NOW",
        }
    }
}

/// A section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// What it is about.
    pub(super) topic: Topic,
    /// What looop says about it.
    pub(super) notes: Vec<String>,
    /// Its data.
    pub(super) items: Vec<Item>,
    /// Items left out for want of room.
    pub(super) dropped: usize,
}

impl Section {
    /// A section of items.
    pub(super) fn of(topic: Topic, items: Vec<Item>) -> Self {
        Self { topic, notes: Vec::new(), items, dropped: 0 }
    }

    /// Adds a line in looop's own words.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.notes.is_empty()
    }

    /// Writes the section.
    pub(super) fn write(&self, page: &mut Page<'_>) {
        page.own(&["SECTION", self.topic.title()]);
        for note in &self.notes {
            page.own(&["NOTE", note]);
        }
        for item in &self.items {
            item.write(page);
        }
        if self.dropped > 0 {
            page.own(&["NOTE …", &count(self.dropped), "more, cut for want of room"]);
        }
    }
}
