//! The session files that agents keep of their own accord: what an interactive worker used, without its cooperation.
//!
//! - claude: `~/.claude/projects/<folder>/<session>.jsonl`. Every message states its tokens; a `cost-state`, written when
//!   claude ends, states the dollars of the whole session, subagents included.
//! - codex: `$CODEX_HOME/sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`, tokens so far.
//! - pi: `~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl`, dollars and tokens of every message.
//! - gemini: `~/.gemini/tmp/<project>/chats/session-<time>-<session>.jsonl`, tokens of every answer; not those of what it
//!   asks beside the conversation, such as which model is to answer.
//!
//! opencode keeps its sessions in a database: see `opencode_db`.
//!
//! All figures are those of the whole session, also across resumes. Who meters a resumed worker takes the difference.

use serde_json::Value;

use super::bill::{Bill, dollars};
use super::claude::{Messages, models};
use super::codex::Counts;
use super::gemini;
use super::pi::Pi;
use super::prices::Prices;
use super::sift;
use super::talk::Talk;
use super::usage::Usage;
use crate::intake::stream::{Format, text};

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// claude.
    Claude,
    /// codex.
    Codex,
    /// pi.
    Pi,
    /// gemini.
    Gemini,
}

/// Takes the lines of a session file in order, also as the file grows, and knows what the session used.
#[derive(Clone, Debug)]
pub struct SessionFile {
    prices: Prices,
    reader: Reader,
    talk: Talk,
}

#[derive(Clone, Debug)]
enum Reader {
    /// What a `cost-state` settled, and the messages since.
    Claude(Bill, Messages),
    /// The counts, and the model of the turn.
    Codex(Counts, String),
    Pi(Pi),
    Gemini(Messages),
}

impl SessionFile {
    /// A reader at the beginning of a file.
    pub fn new(agent: Agent, prices: Prices) -> Self {
        let reader = match agent {
            Agent::Claude => Reader::Claude(Bill::default(), Messages::default()),
            Agent::Codex => Reader::Codex(Counts::default(), String::new()),
            Agent::Pi => Reader::Pi(Pi::default()),
            Agent::Gemini => Reader::Gemini(Messages::default()),
        };
        Self { prices, reader, talk: Talk::default() }
    }

    /// Takes in one whole line. What is no event counts for nothing.
    pub fn line(&mut self, line: &[u8]) {
        let Some(event) = sift::event(line) else { return };
        let prices = &self.prices;
        match &mut self.reader {
            Reader::Claude(settled, open) => {
                self.talk.claude(&event);
                match text(&event, "/type") {
                    "assistant" => open.note(&event["message"], prices),
                    "cost-state" => settle(settled, open, &event, prices),
                    _ => {}
                }
            }
            Reader::Codex(counts, model) => {
                self.talk.codex(&event);
                note_codex(counts, model, &event, prices);
            }
            Reader::Pi(pi) => {
                pi.tell_entry(&event, prices);
                self.talk.pi(&event, pi.unstated() > 0);
            }
            Reader::Gemini(answers) => {
                gemini::note_entry(answers, &event, prices);
                self.talk.gemini(!answers.is_empty());
            }
        }
    }

    /// Whether no model has answered anything in the session: it cost nothing. Of an agent that was ended while it may
    /// have waited for an answer that is not sure.
    pub fn is_unanswered(&self, has_exited: bool) -> bool {
        self.talk.is_unanswered(has_exited)
    }

    /// What the session used so far. It has no dollars where the file names no model that has a price.
    pub fn usage(&self) -> Usage {
        match &self.reader {
            Reader::Claude(settled, open) => settled.plus(open.bill(&self.prices)).usage(Format::Claude),
            Reader::Codex(counts, _) => counts.bill.usage(Format::Codex),
            Reader::Pi(pi) => pi.bill().usage(Format::Pi),
            Reader::Gemini(answers) => answers.bill(&self.prices).usage(Format::Gemini),
        }
    }

    /// Whether some tokens have no price, so that the dollars are a lower bound.
    pub fn is_unpriced(&self) -> bool {
        match &self.reader {
            Reader::Claude(settled, open) => settled.unpriced || open.bill(&self.prices).unpriced,
            Reader::Codex(counts, _) => counts.bill.unpriced,
            Reader::Pi(pi) => pi.bill().unpriced,
            Reader::Gemini(answers) => answers.bill(&self.prices).unpriced,
        }
    }

    /// Whether the agent asks more than its file tells, so that tokens and dollars are a lower bound.
    pub fn leaves_out(&self) -> bool {
        matches!(&self.reader, Reader::Gemini(answers) if !answers.is_empty())
    }
}

/// Takes in what a line of codex says of tokens.
fn note_codex(counts: &mut Counts, model: &mut String, event: &Value, prices: &Prices) {
    match (text(event, "/type"), text(event, "/payload/type")) {
        ("turn_context", _) => text(event, "/payload/model").clone_into(model),
        ("event_msg", "token_count") => {
            counts.note(&event["payload"]["info"]["total_token_usage"], model, prices);
        }
        // Written when the model has answered, before the tools of the answer have run; the count above comes
        // after them, and not at all if one of them ends the agent.
        ("token_usage_record", _) => {
            counts.note(&event["payload"]["thread_token_usage"], model, prices);
        }
        _ => {}
    }
}

/// A `cost-state` takes the place of all that came before it, unless it knows less than an earlier one.
fn settle(settled: &mut Bill, open: &mut Messages, event: &Value, prices: &Prices) {
    let Some(usd) = dollars(event.get("totalCostUSD")) else { return };
    if usd >= settled.usd {
        let by_model = models(&event["modelUsage"], prices).unwrap_or_default();
        *settled = Bill { usd, any: true, ..by_model };
        *open = Messages::default();
    }
}
