//! The meter of one run.

use serde_json::Value;

use super::bill::Bill;
use super::claude::Claude;
use super::codex::Codex;
use super::gemini::Gemini;
use super::limit::{self, Limited};
use super::micros::Pico;
use super::opencode::Opencode;
use super::pi::Pi;
use super::prices::Prices;
use super::refused::Refused;
use super::sift;
use super::spec::{Cost, LineCost, Mode, Spec};
use super::trouble::{Trouble, Troubles};
use super::unreached;
use super::usage::{Metered, Source, Usage};
use crate::intake::stream::{Format, Story, text};
use crate::time::Now;

/// Takes the lines that a runner prints and knows at any moment what it used at least.
///
/// Memory is bounded whatever the lines are. A line that is torn, too long or no JSON counts for nothing. Tokens and
/// dollars never fall from one line to the next, except that a figure the agent states takes the place of the estimate
/// by prices that stood in for it.
#[derive(Clone)]
pub struct Meter {
    spec: Spec,
    prices: Prices,
    reader: Reader,
    /// Dollars of the lines that a cost spec names.
    stated: Option<Pico>,
    /// How the run goes, for its error.
    story: Story,
    refused: Refused,
    troubles: Troubles,
    /// When the agent's limit ends by its own account, in milliseconds since the Unix epoch.
    resets: Option<i64>,
    /// The last line that speaks of a limit and is no event of a known format.
    said: Option<String>,
}

/// The reader of the stream, once its format is known.
#[derive(Clone, Debug)]
enum Reader {
    Unknown,
    Claude(Claude),
    Codex(Codex),
    Opencode(Opencode),
    Pi(Pi),
    Gemini(Gemini),
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(spec: Spec, prices: Prices) -> Self {
        let reader = spec.format.map_or(Reader::Unknown, Reader::of);
        let (story, refused, troubles) = (Story::default(), Refused::default(), Troubles::default());
        Self { spec, prices, reader, stated: None, story, refused, troubles, resets: None, said: None }
    }

    /// Takes in one line, with or without its line break.
    pub fn line(&mut self, line: &[u8]) {
        let Some(event) = sift::event(line) else { return self.plain(line) };
        if let Cost::Line(cost) = &self.spec.cost
            && let Some(usd) = stated(cost, &event)
        {
            let before = self.stated.unwrap_or_default();
            self.stated = Some(match cost.mode {
                Mode::Sum => before.plus(usd),
                Mode::Total => before.max(usd),
            });
        }
        if matches!(self.reader, Reader::Unknown) {
            self.reader = Format::of(&event).map_or(Reader::Unknown, Reader::of);
        }
        match self.reader.format() {
            Some(format) => self.tell(format, &event),
            None => self.plain(line),
        }
    }

    fn tell(&mut self, format: Format, event: &Value) {
        let (kind, prices) = (text(event, "/type"), &self.prices);
        let model = self.spec.model.as_deref().unwrap_or_default();
        match &mut self.reader {
            Reader::Unknown => {}
            Reader::Claude(claude) => claude.tell(kind, event, prices),
            Reader::Codex(codex) => codex.tell(kind, event, model, prices),
            Reader::Opencode(opencode) => opencode.tell(kind, event, model, prices),
            Reader::Pi(pi) => pi.tell(kind, event, prices),
            Reader::Gemini(gemini) => gemini.tell(kind, event, model, prices),
        }
        self.refused.tell(format, kind, event);
        self.troubles.tell(format, kind, event);
        self.resets = limit::stated_reset(kind, event).or(self.resets);
        format.tell(&mut self.story, event);
        // What the agent says is not the meter's, and may be long.
        self.story.message = None;
    }

    /// Takes in one line of standard error, with or without its line break.
    pub fn error_line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(sift::TEXT)]);
        if let Some(said) = self.troubles.tell_error(self.reader.format(), line.trim_end()) {
            self.refused.tell_error(&said);
        }
    }

    fn plain(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(&line[..line.len().min(sift::TEXT)]);
        if limit::speaks_of_one(&line) {
            self.said = Some(line.into_owned());
        }
    }

    /// What was used so far, at least.
    pub fn now(&self) -> Usage {
        let bill = self.reader.bill(&self.prices);
        let usage = match self.reader.format() {
            Some(format) => bill.usage(format),
            None => Usage { source: Source::None, ..bill.usage(Format::Claude) },
        };
        let usage = Usage { model: usage.model.or_else(|| self.spec.model.clone()), ..usage };
        match (&self.spec.cost, self.stated) {
            (Cost::Stream, _) => usage,
            (Cost::Free, _) => Usage { usd: Some(Pico::default().ceil()), source: Source::Free, ..usage },
            (Cost::Line(_), Some(usd)) => Usage { usd: Some(usd.ceil()), source: Source::Spec, ..usage },
            (Cost::Line(_), None) => Usage { usd: None, source: Source::None, ..usage },
        }
    }

    /// What was used in all, now that the stream ended.
    pub fn finish(self) -> Metered {
        let usage = self.now();
        let bill = self.reader.bill(&self.prices);
        match (&self.spec.cost, self.stated) {
            (Cost::Stream, _) | (Cost::Line(_), None) if !bill.any && self.refused.is_sure() => {
                let source = self.reader.format().map_or(Source::None, Source::Stream);
                Metered::Exact(Usage { usd: Some(Pico::default().ceil()), source, ..usage })
            }
            (Cost::Line(_), None) => Metered::Unmetered(usage),
            (Cost::Stream, _) if !bill.any || bill.unpriced => Metered::Unmetered(usage),
            (Cost::Stream, _) if self.reader.is_open() => Metered::AtLeast(usage),
            (Cost::Stream | Cost::Free, _) | (Cost::Line(_), Some(_)) => Metered::Exact(usage),
        }
    }

    /// Whether the stream shows that a request may have been made.
    pub fn may_have_asked(&self) -> bool {
        self.refused.may_have_asked()
    }

    /// How many calls ended without a word on what they used. There may be no end of them: an agent whose answers break
    /// off may ask again and again.
    pub fn unstated(&self) -> u64 {
        match &self.reader {
            Reader::Opencode(opencode) => opencode.unstated(),
            Reader::Pi(pi) => pi.unstated(),
            Reader::Unknown | Reader::Claude(_) | Reader::Codex(_) | Reader::Gemini(_) => 0,
        }
    }

    /// What has been in the way of an answer since the last one.
    pub fn trouble(&self, now: &Now) -> Option<Trouble> {
        self.troubles.now(now)
    }

    /// Whether the agent asks again and again where no answer can come.
    pub fn is_endless(&self) -> bool {
        self.troubles.is_endless()
    }

    /// Whether the error that the stream ends in says that nobody could be reached. Ask it of runs that failed.
    pub fn is_unreached(&self) -> bool {
        let error = self.reader.format().and_then(|_| self.story.clone().end().error);
        error.is_some_and(|error| unreached::is_offline(&error))
    }

    /// The limit that stopped the run: by the error that its stream ends in or, where the stream is plain text, by the
    /// last line that speaks of one. Ask it of runs that failed.
    pub fn limited(&self, now: &Now) -> Option<Limited> {
        let error = match self.reader.format() {
            Some(_) => self.story.clone().end().error.or_else(|| self.said.clone()),
            None => self.said.clone(),
        };
        let found = limit::read(&error?, now)?;
        let until = found.until.or(self.resets.filter(|until| *until > now.wall));
        Some(Limited { until, ..found })
    }
}

impl Reader {
    fn of(format: Format) -> Self {
        match format {
            Format::Claude => Self::Claude(Claude::default()),
            Format::Codex => Self::Codex(Codex::default()),
            Format::Opencode => Self::Opencode(Opencode::default()),
            Format::Pi => Self::Pi(Pi::default()),
            Format::Gemini => Self::Gemini(Gemini::default()),
        }
    }

    fn format(&self) -> Option<Format> {
        match self {
            Self::Unknown => None,
            Self::Claude(_) => Some(Format::Claude),
            Self::Codex(_) => Some(Format::Codex),
            Self::Opencode(_) => Some(Format::Opencode),
            Self::Pi(_) => Some(Format::Pi),
            Self::Gemini(_) => Some(Format::Gemini),
        }
    }

    /// Whether a call began that did not end.
    fn is_open(&self) -> bool {
        match self {
            Self::Unknown | Self::Gemini(_) => false,
            Self::Claude(claude) => claude.is_open(),
            Self::Codex(codex) => codex.is_open(),
            Self::Opencode(opencode) => opencode.is_open(),
            Self::Pi(pi) => pi.is_open(),
        }
    }

    fn bill(&self, prices: &Prices) -> Bill {
        match self {
            Self::Unknown => Bill::default(),
            Self::Claude(claude) => claude.bill(prices),
            Self::Codex(codex) => codex.bill(),
            Self::Opencode(opencode) => opencode.bill(),
            Self::Pi(pi) => pi.bill(),
            Self::Gemini(gemini) => gemini.bill(),
        }
    }
}

/// The dollars that a line states by a cost spec.
fn stated(cost: &LineCost, event: &Value) -> Option<Pico> {
    let value = event.pointer(&cost.pointer).filter(|_| text(event, "/type") == cost.kind)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().trim_start_matches('$').parse().ok());
    number.and_then(Pico::from_dollars)
}
