//! Watching a runner while it runs: its output is metered line by line and its end kept. It is stopped when it has cost too
//! much, when its provider gives it no answer, and when it has printed nothing for too long.

use std::time::{Duration, Instant};

use looop_core::intake::{Found, stream};
use looop_core::meter::{Meter, Micros, Trouble};
use looop_core::time::Now;

use super::taken::found;

/// What is looked at of a runner's output: its end, where the decision stands.
const OUTPUT: usize = 4 << 20;
/// So many calls may leave open what they used; an agent that goes on has lost itself, and nobody knows what it spends.
const UNSTATED: u64 = 5;
/// Longest line that the meter is shown.
const LINE: usize = 2 << 20;
/// How long an agent may go on trying after it said that its provider gives no answer.
const TROUBLE: Duration = Duration::from_secs(30);
/// Longest wait for the end of a limit within a decide; a longer one is the loop's.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Why a runner has been told to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It cost more than it may.
    Spent,
    /// Too often nobody knows what it cost.
    Unstated,
    /// Its provider gives no answer.
    Trouble(Trouble),
    /// It has printed nothing for so long.
    Silence(Duration),
}

/// A runner's output so far.
pub(super) struct Watch {
    pub(super) meter: Meter,
    /// The dollars that it may cost.
    left: Option<Micros>,
    /// How long it may print nothing.
    silence: Option<Duration>,
    /// When it last printed something.
    heard: Instant,
    /// Since when its provider has given it no answer.
    troubled: Option<Instant>,
    /// Why it has been told to stop.
    pub(super) stop: Option<Stop>,
    output: Lines,
    errors: Lines,
    kept: Vec<u8>,
}

/// What is printed, cut into lines: the one that is not whole yet; nothing where it is too long for anybody.
struct Lines(Option<Vec<u8>>);

impl Lines {
    fn new() -> Self {
        Self(Some(Vec::new()))
    }

    /// Takes in what was printed, and gives the lines that are whole now.
    fn take(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.0 = self.0.take().filter(|line| line.len() + part.len() <= LINE).map(|mut line| {
                line.extend_from_slice(part);
                line
            });
            if part.ends_with(b"\n") {
                lines.extend(self.end());
            }
        }
        lines
    }

    fn end(&mut self) -> Option<Vec<u8>> {
        self.0.replace(Vec::new())
    }
}

impl Watch {
    pub(super) fn new(meter: Meter, left: Option<Micros>, silence: Option<Duration>) -> Self {
        let (output, errors, kept) = (Lines::new(), Lines::new(), Vec::new());
        Self { meter, left, silence, heard: Instant::now(), troubled: None, stop: None, output, errors, kept }
    }

    /// Takes in what was printed.
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.heard = Instant::now();
        self.kept.extend_from_slice(piece);
        // Cut only when twice as much is there, so that each byte is moved at most once on average.
        if self.kept.len() >= 2 * OUTPUT {
            self.kept.drain(..self.kept.len() - OUTPUT);
        }
        for line in self.output.take(piece) {
            self.line(&line);
        }
    }

    /// Takes in what was printed to standard error.
    pub(super) fn take_error(&mut self, piece: &[u8]) {
        self.heard = Instant::now();
        for line in self.errors.take(piece) {
            self.meter.error_line(&line);
        }
    }

    /// Looks at what is known now. Tells whether the runner must be stopped.
    pub(super) fn must_stop(&mut self, now: &Now) -> bool {
        if self.stop.is_none() {
            self.stop = self.trouble(now).or_else(|| self.silent());
        }
        self.stop.is_some()
    }

    /// For how long nothing need be looked at if nothing is printed.
    pub(super) fn quiet(&self) -> Option<Duration> {
        let left = |since: Instant, length: Duration| length.saturating_sub(since.elapsed());
        let silent = self.silence.map(|length| left(self.heard, length));
        let troubled = self.troubled.map(|since| left(since, self.patience()));
        silent.into_iter().chain(troubled).min().filter(|_| self.stop.is_none())
    }

    /// How long an agent may go on trying without an answer.
    fn patience(&self) -> Duration {
        self.silence.map_or(TROUBLE, |silence| silence.min(TROUBLE))
    }

    fn trouble(&mut self, now: &Now) -> Option<Stop> {
        let Some(trouble) = self.meter.trouble(now) else {
            self.troubled = None;
            return None;
        };
        let since = *self.troubled.get_or_insert_with(Instant::now);
        let stated = match &trouble {
            Trouble::Limited(limited) => limited.until.map(|until| until.saturating_sub(now.wall)),
            Trouble::Unreached(_) | Trouble::Failing(_) => None,
        };
        let far = stated.and_then(|left| u64::try_from(left).ok()).map(Duration::from_millis);
        let over = since.elapsed() >= self.patience() || far.is_some_and(|far| far > PATIENCE);
        (over || self.meter.is_endless()).then_some(Stop::Trouble(trouble))
    }

    fn silent(&self) -> Option<Stop> {
        self.silence.filter(|length| self.heard.elapsed() >= *length).map(Stop::Silence)
    }

    fn line(&mut self, line: &[u8]) {
        self.meter.line(line);
        if self.stop.is_none() && self.is_over_budget() && !self.is_decided() {
            self.stop = Some(Stop::Spent);
        }
        if self.stop.is_none() && self.left.is_some() && self.meter.unstated() >= UNSTATED {
            self.stop = Some(Stop::Unstated);
        }
    }

    fn is_over_budget(&self) -> bool {
        self.left.zip(self.meter.now().usd).is_some_and(|(left, usd)| usd > left)
    }

    /// Whether the runner has said all: then there is nothing left to stop, and what it says is paid for.
    fn is_decided(&self) -> bool {
        let message = stream::final_message(&self.text());
        message.is_some_and(|message| matches!(found(&message), Found::One(_)))
    }

    /// The end of the output, as text.
    pub(super) fn text(&self) -> String {
        let from = self.kept.len().saturating_sub(OUTPUT);
        String::from_utf8_lossy(&self.kept[from..]).into_owned()
    }

    /// The runner has ended; what has no line break at its end is a line too.
    pub(super) fn finish(&mut self) {
        if let Some(line) = self.output.end() {
            self.line(&line);
        }
        if let Some(line) = self.errors.end() {
            self.meter.error_line(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use looop_core::meter::{Prices, Spec};

    use super::*;

    const START: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"claude-opus-5-5","usage":{"input_tokens":100000,"output_tokens":1}}}}"#;

    fn watch(left: Option<u64>) -> Watch {
        Watch::new(Meter::new(Spec::default(), Prices::shipped()), left.map(Micros::new), None)
    }

    /// Takes in a piece. Tells whether the runner must be stopped then.
    fn take(watch: &mut Watch, piece: &[u8]) -> bool {
        watch.take(piece);
        watch.must_stop(&crate::clock::now())
    }

    #[test]
    fn it_is_stopped_at_the_line_that_passes_the_bound_however_it_comes() {
        let all = format!("hello\n{START}\n");
        for size in [1, 7, 1000] {
            let mut watch = watch(Some(399_999));
            let stopped = all.as_bytes().chunks(size).position(|piece| take(&mut watch, piece));
            assert_eq!(stopped, Some((all.len() - 1) / size), "pieces of {size}");
        }
        let mut enough = watch(Some(500_000));
        assert!(!take(&mut enough, all.as_bytes()) && !take(&mut watch(None), all.as_bytes()));
    }

    #[test]
    fn the_last_line_needs_no_line_break() {
        let mut watch = watch(Some(1));
        assert!(!take(&mut watch, START.as_bytes()));
        watch.finish();
        assert_eq!(watch.stop, Some(Stop::Spent));
    }

    #[test]
    fn a_run_that_has_said_all_is_not_stopped() {
        let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"{\"action\":\"noop\"}","total_cost_usd":5,"usage":{"input_tokens":3}}"#;
        let mut decided = watch(Some(1));
        assert!(!take(&mut decided, format!("{result}\n").as_bytes()));
        assert_eq!(decided.meter.now().usd, Some(Micros::new(5_000_000)));
        let mut undecided = watch(Some(1));
        let garbled = format!("{}\n", result.replace("noop", "no\\\"op")).replace("action", "acton");
        assert!(take(&mut undecided, garbled.as_bytes()));
    }

    #[test]
    fn a_run_whose_calls_do_not_say_what_they_cost_is_stopped_where_there_is_a_bound() {
        let step =
            "{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{\"tokens\":{\"input\":0},\"cost\":0}}\n";
        let steps = |watch: &mut Watch| (0..9).position(|_| take(watch, step.as_bytes()));
        assert_eq!((steps(&mut watch(Some(1))), steps(&mut watch(None))), (Some(4), None));
    }

    #[test]
    fn memory_is_bounded_and_the_end_is_kept() {
        let mut watch = watch(Some(1));
        for _ in 0..40 {
            watch.take(&vec![b'x'; 1 << 20]);
        }
        assert!(watch.kept.capacity() <= 4 * OUTPUT && watch.output.0.is_none());
        watch.take(format!("\n{START}\n").as_bytes());
        assert!(watch.stop == Some(Stop::Spent) && watch.text().ends_with("}}}}\n"));
    }

    const OFFLINE: &str =
        "{\"type\":\"error\",\"message\":\"Reconnecting... waiting for network (Connection failed)\"}\n";

    fn patient(silence: Duration) -> Watch {
        Watch::new(Meter::new(Spec::default(), Prices::shipped()), None, Some(silence))
    }

    #[test]
    fn a_runner_that_prints_nothing_is_stopped_and_one_that_prints_is_not() {
        assert!(!patient(Duration::from_hours(1)).must_stop(&crate::clock::now()));
        let mut silent = patient(Duration::ZERO);
        assert!(silent.must_stop(&crate::clock::now()));
        assert_eq!((silent.stop.clone(), silent.quiet()), (Some(Stop::Silence(Duration::ZERO)), None));
        let Some(left) = patient(Duration::from_hours(1)).quiet() else { panic!() };
        assert!(left > Duration::from_mins(59));
        assert_eq!(watch(None).quiet(), None);
    }

    #[test]
    fn an_agent_may_try_again_for_a_while_and_not_for_ever() {
        let mut tries = patient(Duration::from_hours(1));
        assert!(!take(&mut tries, OFFLINE.as_bytes()));
        assert!(tries.quiet().is_some_and(|left| left <= TROUBLE));
        assert!(!take(&mut tries, b"{\"type\":\"turn.completed\",\"usage\":{}}\n"));
        assert!(tries.quiet().is_some_and(|left| left > TROUBLE), "it was answered");
        let mut hasty = patient(Duration::ZERO);
        assert!(take(&mut hasty, OFFLINE.as_bytes()));
        assert!(matches!(hasty.stop, Some(Stop::Trouble(Trouble::Unreached(_)))));
    }

    #[test]
    fn a_limit_that_ends_in_hours_is_not_waited_for() {
        let line = "x level=ERROR y error.error=\"AI_APICallError: Rate limit reached. Please try again in 2h0m0s.\"\n";
        let mut limited = watch(None);
        limited.take_error(line.as_bytes());
        assert!(limited.must_stop(&crate::clock::now()));
        let mut soon = watch(None);
        soon.take_error(line.replace("2h0m0s", "2s").as_bytes());
        assert!(!soon.must_stop(&crate::clock::now()));
    }
}
