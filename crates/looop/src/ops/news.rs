//! Waiting for news: what happened since a cursor, or the next thing that does.

use std::time::{Duration, Instant};

use looop_core::view::news::{Cursor, Filter, News, Watch};
use looop_store::Reader;
use looop_store::log::LogTail;

use super::Place;
use super::holder::Holder;
use crate::clock;
use crate::failure::{Failure, Result};
use crate::hands::await_folders::{Beside, Folders};
use crate::pulse::open::log_failure;

/// How long a pulse that has ended may take to be followed by another one.
const SUCCESSION: Duration = Duration::from_secs(3);
/// How often one looks for it meanwhile.
const GAP: Duration = Duration::from_millis(50);
/// How often a pulse is asked whether it lives where the kernel does not say when it ends.
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// What somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Since when; else from now on.
    pub(crate) since: Option<Cursor>,
    /// What of it.
    pub(crate) filter: Filter,
    /// How long at most.
    pub(crate) timeout: Option<Duration>,
}

/// Why the waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// There are news.
    News,
    /// The time is over.
    TimedOut,
    /// No pulse runs, so that there will be none.
    NoPulse,
}

/// What came of waiting.
#[derive(Debug)]
pub(crate) struct Waited {
    pub(crate) end: End,
    pub(crate) news: News,
    /// Stands for everything up to here.
    pub(crate) cursor: Cursor,
}

/// Blocks until something is new.
pub(crate) fn wait(place: &Place, wanted: Wanted) -> Result<Waited> {
    let deadline = wanted.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut waiting = Waiting::begin(place, wanted)?;
    let end = loop {
        if !waiting.watch.news().events.is_empty() {
            break End::News;
        }
        if !waiting.has_pulse()? {
            break End::NoPulse;
        }
        let left = deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            break End::TimedOut;
        }
        waiting.block(left);
        waiting.look()?;
    };
    let Waiting { watch, .. } = waiting;
    Ok(Waited { end, cursor: watch.cursor().clone(), news: watch.news().clone() })
}

/// Somebody who waits.
struct Waiting<'a> {
    place: &'a Place,
    folders: Folders,
    reader: Reader,
    tail: LogTail,
    watch: Watch,
    pulse: Pulse,
}

/// What is known of the pulse.
enum Pulse {
    Unknown,
    Lives(Holder),
    /// It has ended, then.
    Ended(Instant),
}

impl<'a> Waiting<'a> {
    /// Watches, and looks what is there.
    fn begin(place: &'a Place, wanted: Wanted) -> Result<Self> {
        // Watched first and looked at then, nothing comes in between.
        let folders = Folders::watch(["asks", "log"].map(|folder| place.data.join(folder)).into());
        let reader = place.reader()?;
        let seq = wanted.since.as_ref().map_or(u64::MAX, |cursor| cursor.seq);
        let from_now_on = wanted.since.is_none();
        let watch = Watch::new(wanted.since.unwrap_or_default(), wanted.filter);
        let tail = reader.tail(seq);
        let mut waiting = Self { place, folders, reader, tail, watch, pulse: Pulse::Unknown };
        waiting.look()?;
        if from_now_on {
            waiting.forget(wanted.filter);
        } else if waiting.tail.seq() < seq {
            let end = waiting.tail.seq();
            return Err(Failure::new(format!("the cursor is of append {seq}, and the log ends with {end}"))
                .hint("take a cursor that looop wait printed for this profile"));
        }
        Ok(waiting)
    }

    /// Begins with the state that was found. What waits already is mentioned and is no news.
    fn forget(&mut self, filter: Filter) {
        let letters = self.watch.cursor().clone();
        self.watch = Watch::new(letters.moved_to(self.tail.seq()), filter);
        let waiting = self.reader.asks();
        match waiting.asks.keys().filter(|id| !waiting.answers.contains_key(*id)).count() {
            0 => {}
            1 => crate::cli::warn("1 ask waits already; looop asks shows it"),
            count => crate::cli::warn(&format!("{count} asks wait already; looop asks shows them")),
        }
    }

    fn look(&mut self) -> Result<()> {
        if !self.place.holds(&self.reader) {
            self.place.reader()?;
            return Err(Failure::new("another profile has taken the place of the one that was waited for"));
        }
        let now = clock::now();
        // A letter that the loop takes up meanwhile is known by its entry.
        let letters = self.reader.asks();
        let watch = &mut self.watch;
        let read = self.tail.more(&mut |before, line| watch.line(before, line, &now));
        read.map_err(|error| log_failure(&error))?;
        self.watch.letters(self.tail.ledger(), &letters.asks, &now);
        Ok(())
    }

    /// Whether a pulse runs, or one that has just ended may still be followed by another.
    fn has_pulse(&mut self) -> Result<bool> {
        match &self.pulse {
            Pulse::Lives(holder) if !holder.has_ended() => return Ok(true),
            Pulse::Lives(_) => self.pulse = Pulse::Ended(Instant::now()),
            Pulse::Unknown | Pulse::Ended(_) => {}
        }
        let found = Holder::of_pulse(self.place)?;
        let lives = match &self.pulse {
            Pulse::Ended(at) => found.is_some() || at.elapsed() < SUCCESSION,
            Pulse::Unknown | Pulse::Lives(_) => found.is_some(),
        };
        if let Some(holder) = found {
            self.pulse = Pulse::Lives(holder);
        }
        Ok(lives)
    }

    fn block(&mut self, left: Duration) {
        let end: Option<Beside<'_>> = match &self.pulse {
            Pulse::Lives(holder) => holder.end(),
            Pulse::Unknown | Pulse::Ended(_) => None,
        };
        let most = match (&self.pulse, end) {
            (Pulse::Lives(_), Some(_)) => Duration::MAX,
            (Pulse::Lives(_), None) => LOOK_OFTEN,
            (Pulse::Unknown | Pulse::Ended(_), _) => GAP,
        };
        self.folders.wait(end.as_slice(), left.min(most));
    }
}
