//! A decision by a model: calls, until one brings it or nothing is left: attempts, money or time.

use std::fmt::Write;
use std::time::Duration;

use looop_core::intake::{self, Found};
use looop_core::ledger::entry::FailureKind;
use looop_core::meter::{Call, Metered, Micros};
use looop_core::model::moves::one_line;

use super::answer::Answer;
use super::body::body;
use super::call::{Line, call};
use super::key::{self, Key};
use super::refused::Refused;
use crate::config::{Api, Cost};
use crate::hands::decider::{Desk, Failed, Receipt, Taken, jitter};

/// Calls after the first, at least.
const RETRIES: u64 = 3;
/// The wait before the second call; it doubles from one to the next.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait that a provider may ask for; a longer one is the loop's.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks the model.
pub(crate) fn decide(desk: &Desk<'_>, api: &Api, receipt: &mut Receipt) -> Result<Taken, Failed> {
    let prompt = desk.reader.run_file(desk.run, "prompt.md").known("prompt.md").map_err(Failed::runner)?;
    let prompt = prompt.ok_or_else(|| Failed::runner("the brief of this decide is not there"))?;
    let prompt = String::from_utf8(prompt).map_err(|_| Failed::runner("the brief is not UTF-8"))?;
    let key = key::find(desk, api)?;
    let mut caller = Caller { desk, api, key, prompt, receipt, log: String::new(), committed: Micros::ZERO };
    let taken = caller.ask();
    let log = Key::redact(caller.key.as_ref(), &caller.log);
    desk.keep_output(&log)?;
    taken
}

struct Caller<'a> {
    desk: &'a Desk<'a>,
    api: &'a Api,
    key: Option<Key>,
    prompt: String,
    receipt: &'a mut Receipt,
    /// What people may read of it.
    log: String,
    /// What the calls so far may have cost at most.
    committed: Micros,
}

impl Caller<'_> {
    fn ask(&mut self) -> Result<Taken, Failed> {
        let bytes = body(self.api, &self.prompt, self.desk.workers).to_string().into_bytes();
        self.note(&format!("asking {} with {} bytes", self.api.model, bytes.len()));
        let mut wait = FIRST_WAIT;
        let mut attempt = 0;
        loop {
            attempt += 1;
            self.affords_call()?;
            let refused = match self.call(&bytes) {
                Ok(answer) => return self.taken(&answer),
                Err(refused) => refused,
            };
            self.note(&format!("failed: {}", refused.failed.reason));
            let last = attempt > RETRIES.max(self.desk.runner.retries) || !refused.again;
            let too_dear = refused.billed && self.affords_call().is_err();
            if last || too_dear || !self.rest(&refused, wait) {
                return Err(refused.failed);
            }
            wait *= 2;
        }
    }

    /// One call, and what it cost.
    fn call(&mut self, body: &[u8]) -> Result<Answer, Refused> {
        let (desk, api) = (self.desk, self.api);
        let free = desk.runner.cost == Cost::Free;
        let left = desk.reserved.map(|reserved| reserved.saturating_sub(self.receipt.usd()));
        let mut meter = Call::new(api.provider, &api.model, free, desk.config.prices.clone());
        let line = Line { api, key: self.key.as_ref(), deadline: desk.deadline, left };
        let answered = call(&line, body, &mut meter);
        let billed = answered.as_ref().map_or_else(|refused| refused.billed, |_| true);
        if billed {
            self.settle(&meter.finish(answered.is_ok()));
        }
        answered.map_err(|mut refused| {
            if refused.failed.kind == FailureKind::Budget {
                let reserved = desk.reserved.unwrap_or_default();
                let spent = self.receipt.usd();
                refused.failed.reason =
                    format!("stopped: it had spent {spent} of the {reserved} set aside for it");
            }
            refused.failed.reason = Key::redact(self.key.as_ref(), &refused.failed.reason);
            refused
        })
    }

    /// Writes down what a call cost, and what it may have cost at most.
    fn settle(&mut self, part: &Metered) {
        let usage = part.usage();
        let usd = usage.usd.map_or_else(|| "an unknown amount".to_owned(), |usd| usd.to_string());
        let (given, cached, said) = (usage.tokens_in, usage.tokens_cached, usage.tokens_out);
        self.note(&format!("used {usd}: {given} tokens in, {cached} from a cache, {said} out"));
        let most = match part {
            Metered::Exact(usage) => usage.usd,
            Metered::AtLeast(_) | Metered::Unmetered(_) => self.bound(),
            Metered::Unanswered(_) => None,
        };
        self.committed = self.committed.saturating_add(most.unwrap_or_default());
        self.receipt.add(part.clone());
    }

    /// What a call may cost at most.
    fn bound(&self) -> Option<Micros> {
        self.api.call_bound(&self.desk.config.prices).map(|bound| bound.of(self.prompt.len()))
    }

    /// A call that may pass what was set aside, together with those before it, is not made.
    fn affords_call(&self) -> Result<(), Failed> {
        let (Some(reserved), Some(bound)) = (self.desk.reserved, self.bound()) else { return Ok(()) };
        if self.desk.runner.cost == Cost::Free || self.committed.saturating_add(bound) <= reserved {
            return Ok(());
        }
        let reason = format!(
            "a call may cost up to {bound}, which is more than the {reserved} set aside for it; a smaller max_tokens in \
             runners.{}.api makes it cheaper",
            self.desk.name
        );
        Err(Failed::new(FailureKind::Budget, reason))
    }

    /// Waits before another call. Not where the provider asks for more patience than there is.
    fn rest(&self, refused: &Refused, wait: Duration) -> bool {
        let wait = match refused.after {
            Some(after) if after > PATIENCE => return false,
            Some(after) => after + jitter(FIRST_WAIT),
            None => jitter(wait),
        };
        self.desk.deadline.wait(wait)
    }

    fn note(&mut self, line: &str) {
        // Writing to a text cannot fail.
        writeln!(self.log, "{}", one_line(line, 2000)).ok();
    }

    /// Takes the decision out of an answer: the input of the tool or, of a model that does not call it, what it says.
    fn taken(&mut self, answer: &Answer) -> Result<Taken, Failed> {
        let tool = Key::redact(self.key.as_ref(), &answer.tool);
        let text = Key::redact(self.key.as_ref(), &answer.text);
        for (sign, said) in [("→", &tool), ("said:", &text)] {
            if !said.is_empty() {
                self.note(&format!("{sign} {said}"));
            }
        }
        self.complaint(answer)?;
        let unusable = |refusal: intake::Refusal| Failed::new(FailureKind::Unusable, refusal.to_string());
        if !tool.trim().is_empty() {
            return intake::from_file(tool.as_bytes()).map(|decision| (decision, "tool")).map_err(unusable);
        }
        match intake::find(&text) {
            Found::One(decision) => Ok((decision, "output")),
            Found::Unusable(refusal) => Err(unusable(refusal)),
            Found::None => Err(Failed::new(
                FailureKind::NoDecision,
                format!("{} made no decision: {}", self.api.model, one_line(&text, 300)),
            )),
        }
    }

    /// An answer that ended for a reason that is no good one.
    fn complaint(&self, answer: &Answer) -> Result<(), Failed> {
        let (model, name) = (&self.api.model, self.desk.name);
        let refusal = Key::redact(self.key.as_ref(), &one_line(&answer.refusal, 300));
        let reason = match answer.stop.as_deref() {
            Some("refusal" | "content_filter") => format!("{model} refused to answer: {refusal}"),
            _ if !refusal.is_empty() => format!("{model} refused to answer: {refusal}"),
            Some("max_tokens" | "length") => {
                let most = self.api.max_tokens;
                format!(
                    "the answer of {model} was cut at {most} tokens; raise max_tokens in runners.{name}.api"
                )
            }
            _ => return Ok(()),
        };
        Err(Failed::new(FailureKind::NoDecision, reason.trim_end_matches(": ").to_owned()))
    }
}
