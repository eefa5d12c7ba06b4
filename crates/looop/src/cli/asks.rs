//! `looop asks [show|dismiss|repark ID]`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::letter::AskKind;
use looop_core::shown::{Shown, count};
use looop_core::view::status::age_text;
use looop_core::world::fleet::worker_of;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::approvals::{self, Waiting};
use crate::ops::letters::{self, Pending};

/// Most characters and lines of one text in the list of all asks.
const MOST: (usize, usize) = (4000, 100);
/// No bound: all of one ask.
const ALL: (usize, usize) = (usize::MAX, usize::MAX);

/// Questions and moves that wait for you
#[derive(Args, Debug)]
pub(super) struct Asks {
    #[command(flatten)]
    json: Json,
    /// Moves that waited and can no longer be approved
    #[arg(long)]
    expired: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Show one ask whole, however long it is
    Show {
        /// Which ask
        id: String,
        #[command(flatten)]
        json: Json,
    },
    /// Drop a question without an answer
    Dismiss {
        /// Which ask
        id: String,
    },
    /// Ask anew for a move that can no longer be approved, upon the world of now
    Repark {
        /// Which ask it was
        id: String,
    },
}

impl Asks {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            None if self.expired => self.lapsed(place)?,
            None => self.list(place)?,
            Some(Verb::Show { id, json }) => show(place, id, self.json.json || json.json)?,
            Some(Verb::Dismiss { id }) => {
                letters::dismiss(place, id)?;
                print::out(&format!("dismissed {id}"));
            }
            Some(Verb::Repark { id }) => {
                print::out(&format!("{id} waits again as {}", approvals::repark(place, id)?));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn list(&self, place: &Place) -> Result<()> {
        let asks = letters::pending(place)?;
        if self.json.json {
            return print::json(&asks);
        }
        if asks.is_empty() {
            print::say("nothing waits for you");
        }
        // Only what was printed whole was shown.
        let whole: Vec<&Pending> = asks.iter().filter(|ask| print_ask(ask, MOST)).collect();
        approvals::mark_shown(place, whole.into_iter().filter_map(move_of))?;
        approvals::forget_shown(place, |id| asks.iter().any(|ask| ask.id == id && ask.waiting.is_some()))
    }

    fn lapsed(&self, place: &Place) -> Result<()> {
        let lapsed = approvals::lapsed(place)?;
        if self.json.json {
            return print::json(&lapsed);
        }
        if lapsed.is_empty() {
            print::say("nothing lapsed lately");
        }
        for (id, waiting) in &lapsed {
            print::out(&format!("{id}  (wanted by {})", Shown::line(&waiting.by)));
            print_move(id, waiting, MOST);
            print::out(&format!("  looop asks repark {id} asks for it anew"));
        }
        Ok(())
    }
}

/// One ask, whole.
fn show(place: &Place, id: &str, json: bool) -> Result<()> {
    let ask = letters::one(place, id)?;
    if json {
        print::json(&ask)?;
    } else {
        print_ask(&ask, ALL);
    }
    if ask.waiting.is_none() {
        return approvals::forget_shown(place, |shown| shown != id);
    }
    approvals::mark_shown(place, move_of(&ask).into_iter())
}

fn move_of(ask: &Pending) -> Option<(&str, &Waiting)> {
    Some((ask.id.as_str(), ask.waiting.as_ref()?))
}

/// Prints an ask; says whether that was all of it.
fn print_ask(ask: &Pending, most: (usize, usize)) -> bool {
    let goal = ask.goal.as_ref().map_or(String::new(), |goal| format!(", goal {}", Shown::line(goal)));
    let from = Shown::line(&ask.from);
    print::out(&format!("{}  (from {from}{goal}, {} ago)", ask.id, age_text(Some(ask.age_s))));
    let mut whole = print_text(&ask.id, &ask.prompt, "  ", most);
    if let Some(waiting) = &ask.waiting {
        whole &= print_move(&ask.id, waiting, most);
    }
    if let Some(reason) = &ask.no_move {
        print::out(&format!("  it cannot be approved: {}", Shown::line(reason)));
    }
    if !ask.options.is_empty() {
        print::out(&format!("  options: {}", Shown::line(&ask.options.join(" | "))));
    }
    if let Some(reference) = &ask.reference {
        print::out(&format!("  see: {}", Shown::line(reference)));
    }
    for line in what_to_do(ask, whole) {
        print::out(&format!("  {line}"));
    }
    whole
}

/// Prints a text, indented, up to a bound, and below it how much of it is not there. Says whether that was all.
fn print_text(id: &str, text: &str, indent: &str, (most, lines): (usize, usize)) -> bool {
    let text = text.trim_end();
    let end = text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let most = text[..end].chars().count().min(most);
    let (head, more) = Shown::head(text, most);
    print::out(&format!("{indent}{}", head.as_str().replace('\n', &format!("\n{indent}"))));
    if more > 0 {
        let more = count(more);
        print::out(&format!("{indent}… {more} more characters; looop asks show {id}"));
    }
    more == 0
}

/// Prints a move that waits, exactly: every byte of it, how a file would change, and what a yes would mean.
fn print_move(id: &str, waiting: &Waiting, most: (usize, usize)) -> bool {
    let mut whole = print_text(id, &waiting.text(), "    ", most);
    if waiting.tainted && !waiting.proposed {
        print::out("  it was decided after reading what strangers may have written; looop why names it");
    }
    let rule = if waiting.rule.is_empty() { String::new() } else { format!(" ({})", waiting.rule) };
    print::out(&format!("  why it waits: {}", Shown::line(&format!("{}{rule}", waiting.reason))));
    let rests = if waiting.rests_on.is_empty() { "nothing".to_owned() } else { waiting.rests_on.join(", ") };
    print::out(&format!("  {}; rests on {rests}", waiting.rights));
    if let Some(rule) = &waiting.always {
        print::out("  always would add to policy.toml:");
        whole &= print_text(id, rule.trim(), "    ", most);
    }
    print::out(&format!("  digest {}, waits until {}", waiting.digest, waiting.expires));
    if let Some(changed) = &waiting.changed {
        print::out(&format!("  a yes is refused: {}", Shown::line(changed)));
    }
    if let Some(lapsed) = &waiting.lapsed {
        print::out(&format!("  can no longer be approved: {}", Shown::line(lapsed)));
    }
    whole
}

/// The verbs that settle an ask.
fn what_to_do(ask: &Pending, whole: bool) -> Vec<String> {
    match ask.kind {
        AskKind::Question => vec![format!("looop answer {} '…'", ask.id)],
        AskKind::Flag => vec![format!("looop attach {}", worker_of(&ask.from))],
        AskKind::Proposal if ask.waiting.is_none() => vec![format!("looop asks dismiss {}", ask.id)],
        AskKind::Proposal if whole => vec![format!("looop answer {} yes | no | always", ask.id)],
        AskKind::Proposal => vec![
            format!("looop asks show {} shows all of it; a yes is refused before that", ask.id),
            format!("looop answer {} yes | no | always", ask.id),
        ],
    }
}
