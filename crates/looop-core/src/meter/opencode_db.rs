//! opencode keeps its sessions in an `SQLite` database, with what each has used in dollars and tokens. What it asks beside
//! the conversation, such as a title, is not among it.

use serde_json::Value;

use super::bill::{Bill, dollars};
use super::micros::Pico;
use super::prices::Prices;
use super::sqlite::{Cell, Database, Read, Tree, Unreadable};
use super::tokens::Tokens;
use super::usage::{Metered, Usage};
use crate::intake::stream::{Format, text};

/// Parts of a session among which the prompt is looked for.
const FIRST: usize = 8;
/// The error of an answer that was being waited for when opencode ended.
const ABORTED: &str = "MessageAbortedError";
/// Most messages of a session, and how many of the last are looked at.
const MESSAGES: usize = 100_000;
const LAST: usize = 3;

/// A session in the database.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The session that started it, if one did.
    pub parent: Option<String>,
    /// The folder that it runs in.
    pub directory: String,
    /// When it was begun and when it last changed, in milliseconds since 1970.
    pub created: u64,
    /// See `created`.
    pub updated: u64,
    bill: Bill,
}

/// The sessions that have changed since this moment, in milliseconds since 1970.
pub fn sessions(db: &Database<'_>, prices: &Prices, since: u64) -> Read<Vec<Session>> {
    let trees = db.trees()?;
    let table = trees.get("session").ok_or(Unreadable)?;
    let columns = Columns::of(table)?;
    let mut found = Vec::new();
    db.each(table, &mut |row| {
        let session = columns.session(row, prices);
        found.extend(session.filter(|session| session.updated >= since));
    })?;
    Ok(found)
}

/// Where the columns stand.
struct Columns {
    /// Texts: id, parent, directory, model.
    texts: [usize; 4],
    /// Numbers: begun, changed, and tokens: read, from a cache, into a cache, said, thought.
    counts: [usize; 7],
    cost: usize,
}

impl Columns {
    fn of(table: &Tree) -> Read<Self> {
        let at = |name: &str| table.column(name);
        Ok(Self {
            texts: [at("id")?, at("parent_id")?, at("directory")?, at("model")?],
            counts: [
                at("time_created")?,
                at("time_updated")?,
                at("tokens_input")?,
                at("tokens_cache_read")?,
                at("tokens_cache_write")?,
                at("tokens_output")?,
                at("tokens_reasoning")?,
            ],
            cost: at("cost")?,
        })
    }

    fn session(&self, row: &[Cell], prices: &Prices) -> Option<Session> {
        let [id, parent, directory, model] =
            self.texts.map(|at| row.get(at).and_then(Cell::text).map(str::to_owned));
        let [created, updated, input, cached, written, said, thought] =
            self.counts.map(|at| row.get(at).map_or(0, Cell::count));
        let tokens = Tokens { input, cached, written, output: said.saturating_add(thought) };
        let cost = row.get(self.cost).map_or(0.0, Cell::real);
        let model: Value = serde_json::from_str(&model.unwrap_or_default()).unwrap_or_default();
        let cost = dollars(Some(&Value::from(cost)));
        let used = !tokens.is_zero() || cost.is_some_and(|cost| cost != Pico::default());
        let bill =
            if used { Bill::reported(text(&model, "/id"), tokens, cost, prices) } else { Bill::default() };
        Some(Session { id: id?, parent, directory: directory?, created, updated, bill })
    }
}

impl Session {
    /// Whether a model has answered in it, as far as it has noted.
    pub fn is_used(&self) -> bool {
        self.bill.any
    }
}

/// What several sessions used; `open`: what they asked last is not among it.
pub fn metered(sessions: &[&Session], open: bool) -> Metered {
    let mut sum = Bill::default();
    for session in sessions {
        sum.add(session.bill.clone());
    }
    let usage: Usage = sum.usage(Format::Opencode);
    match (sum.unpriced || open, usage.usd) {
        (false, _) => Metered::Exact(usage),
        (true, Some(_)) => Metered::AtLeast(usage),
        (true, None) => Metered::Unmetered(usage),
    }
}

/// The beginning of what was said in a session.
pub fn beginning(db: &Database<'_>, session: &str) -> Read<String> {
    Ok(rows(db, ("part", "part_session_idx"), session, Take::First)?.concat())
}

/// Whether an answer may be on its way in a session: one has neither ended nor failed or was aborted, or the last message is one that
/// the next request follows at once, a person's or an answer that called tools. What an answer used is noted when its
/// tools have run.
pub fn awaits_answer(db: &Database<'_>, session: &str) -> Read<bool> {
    let rows = rows(db, ("message", "message_session_time_created_id_idx"), session, Take::Last)?;
    let messages: Vec<Value> =
        rows.iter().map(|data| serde_json::from_str(data).unwrap_or_default()).collect();
    // One that was aborted may have been answered.
    let aborted = |message: &Value| text(message, "/error/name") == ABORTED;
    let failed = |message: &Value| message.get("error").is_some() && !aborted(message);
    let open = |message: &Value| {
        let ended = message.pointer("/time/completed").is_some() || failed(message);
        text(message, "/role") == "assistant" && (!ended || aborted(message))
    };
    let goes_on = |message: &Value| {
        !failed(message) && (text(message, "/role") == "user" || text(message, "/finish") == "tool-calls")
    };
    Ok(messages.iter().any(open) || messages.last().is_some_and(goes_on))
}

/// Which rows are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    First,
    Last,
}

/// The `data` of some rows of a session.
fn rows(db: &Database<'_>, (table, index): (&str, &str), session: &str, take: Take) -> Read<Vec<String>> {
    let trees = db.trees()?;
    let (table, index) = (trees.get(table).ok_or(Unreadable)?, trees.get(index).ok_or(Unreadable)?);
    let at = table.column("data")?;
    let data = |row: Vec<Cell>| row.get(at).and_then(Cell::text).unwrap_or_default().to_owned();
    let mut numbers = db.numbers(index, session, if take == Take::First { FIRST } else { MESSAGES })?;
    if take == Take::Last {
        numbers.drain(..numbers.len().saturating_sub(LAST));
    }
    numbers.into_iter().map(|number| db.row_of(table, number).map(data)).collect()
}

/// Whether the log of opencode says that each request of a session has failed. `small` ones are beside the conversation.
pub fn was_refused(log: &str, session: &str) -> bool {
    let own = format!("session.id={session} small=false ");
    let own = || log.lines().filter(|line| line.contains(&own));
    let asked = own().filter(|line| line.contains(" message=stream ")).count();
    let failed = own().filter(|line| line.contains(" message=\"stream error\" ")).count();
    asked > 0 && failed >= asked
}
