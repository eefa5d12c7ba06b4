//! The story of a stream: what its events add up to.

use serde_json::Value;

use super::{claude, codex, gemini, opencode, pi};
use crate::model::moves::one_line;

/// Longest readable line.
const LINE: usize = 2000;

/// What the events of a stream add up to so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// The last message of the assistant.
    pub(crate) message: Option<String>,
    /// Which message that is, where one comes in parts.
    pub(crate) part_of: Option<String>,
    /// What went wrong, as long as nothing made it good again.
    pub(crate) error: Option<String>,
    /// Whether the stream is in the middle of something.
    pub(crate) open: bool,
    /// The last retry, for a stream that ends without a word.
    pub(crate) retry: Option<String>,
}

impl Story {
    /// A new message takes the place of the one before.
    pub(super) fn say(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.message = Some(text);
        }
    }

    /// A part of a message is added to the parts of the same one.
    pub(super) fn say_part(&mut self, of: &str, text: &str) {
        match &mut self.message {
            Some(message) if self.part_of.as_deref() == Some(of) => message.push_str(text),
            message => {
                *message = Some(text.to_owned());
                self.part_of = Some(of.to_owned());
            }
        }
    }

    pub(crate) fn end(mut self) -> Self {
        if self.open && self.error.is_none() {
            let after = self.retry.take().map(|retry| format!(" after {retry}")).unwrap_or_default();
            self.error = Some(format!("the stream ends in the middle of a turn{after}"));
        }
        if self.error.is_some() {
            self.message = None;
        }
        self
    }
}

/// The formats that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// claude: `--output-format stream-json` and `json`.
    Claude,
    /// codex: `exec --json`.
    Codex,
    /// opencode: `run --format json`.
    Opencode,
    /// pi: `--mode json`.
    Pi,
    /// gemini: `--output-format stream-json`.
    Gemini,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Opencode, Self::Pi, Self::Gemini];

    /// The name of the program that writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
        }
    }

    /// The format that an event belongs to.
    pub(crate) fn of(event: &Value) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.knows(event))
    }

    fn knows(self, event: &Value) -> bool {
        let kind = kind(event);
        match self {
            Self::Claude => claude::knows(kind, event),
            Self::Codex => codex::knows(kind, event),
            Self::Opencode => opencode::knows(kind, event),
            Self::Pi => pi::knows(kind, event),
            Self::Gemini => gemini::knows(kind, event),
        }
    }

    pub(crate) fn tell(self, story: &mut Story, event: &Value) {
        let kind = kind(event);
        match self {
            Self::Claude => claude::tell(story, kind, event),
            Self::Codex => codex::tell(story, kind, event),
            Self::Opencode => opencode::tell(story, kind, event),
            Self::Pi => pi::tell(story, kind, event),
            Self::Gemini => gemini::tell(story, kind, event),
        }
    }

    fn line(self, event: &Value) -> Option<String> {
        let kind = kind(event);
        match self {
            Self::Claude => claude::line(kind, event),
            Self::Codex => codex::line(kind, event),
            Self::Opencode => opencode::line(kind, event),
            Self::Pi => pi::line(kind, event),
            Self::Gemini => gemini::line(kind, event),
        }
    }
}

fn kind(event: &Value) -> &str {
    text(event, "/type")
}

/// A text in an event, empty where there is none.
pub(crate) fn text<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a message's content, which is a text itself or a list of parts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| text(part, "/type") == "text");
            texts.map(|part| text(part, "/text")).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// A tool call in words: its name, and the first text that it is given.
pub(super) fn call_line(name: &str, input: &Value) -> String {
    let first = input.as_object().and_then(|map| map.values().find_map(Value::as_str)).unwrap_or_default();
    format!("→ {name} {}", one_line(first, 200))
}

fn event(line: &str) -> Option<Value> {
    let line = line.trim();
    let looks = line.starts_with('{') && line.ends_with('}');
    looks.then(|| serde_json::from_str(line).ok()).flatten()
}

/// The story of a stream, if it is one of a known format. The first known event sets the format.
fn story(output: &str) -> Option<Story> {
    let mut format = None;
    let mut story = Story::default();
    for event in output.trim_start_matches('\u{feff}').lines().filter_map(event) {
        format = format.or_else(|| Format::of(&event));
        if let Some(format) = format {
            format.tell(&mut story, &event);
        }
    }
    format.map(|_| story.end())
}

/// The final message of a stream, or its structured output as JSON text. Nothing where the output is no known stream,
/// where the stream says nothing, and where it ends in an error.
pub fn final_message(output: &str) -> Option<String> {
    story(output)?.message
}

/// The error that a stream ends in. Exit codes of agent CLIs do not tell.
pub fn error(output: &str) -> Option<String> {
    story(output)?.error.map(|error| one_line(&error, 500))
}

/// What stands in an output beside the events of known formats.
pub fn beside(output: &str) -> String {
    let known = |line: &str| event(line).is_some_and(|event| Format::of(&event).is_some());
    output.split_inclusive('\n').filter(|line| !known(line)).collect()
}

/// A line of output the way a person reads it: an event becomes one line or nothing, and what is no event stays.
pub fn render(line: &str) -> Option<String> {
    let Some((format, event)) = event(line).and_then(|event| Some((Format::of(&event)?, event))) else {
        return Some(line.chars().filter(|c| !c.is_control() || *c == '\t').collect());
    };
    let line = one_line(&format.line(&event)?, LINE);
    (!line.is_empty()).then_some(line)
}
