//! Watching a runner's output as it comes: metered line by line, its end kept, and stopped when it has cost too much.

use looop_core::intake::{Found, stream};
use looop_core::meter::{Meter, Micros};

use super::taken::found;

/// What is looked at of a runner's output: its end, where the decision stands.
const OUTPUT: usize = 4 << 20;
/// So many calls may leave open what they used; an agent that goes on has lost itself, and nobody knows what it spends.
const UNSTATED: u64 = 5;
/// Longest line that the meter is shown.
const LINE: usize = 2 << 20;

/// A runner's output so far.
pub(super) struct Watch {
    pub(super) meter: Meter,
    /// The dollars that it may cost.
    left: Option<Micros>,
    /// Whether it has been told to stop because of what it cost.
    pub(super) stopped: bool,
    /// Whether it has been told to stop because too often nobody knows what it cost.
    pub(super) lost: bool,
    /// The line that is not whole yet; nothing where it is too long for anybody.
    line: Option<Vec<u8>>,
    kept: Vec<u8>,
}

impl Watch {
    pub(super) fn new(meter: Meter, left: Option<Micros>) -> Self {
        Self { meter, left, stopped: false, lost: false, line: Some(Vec::new()), kept: Vec::new() }
    }

    /// Takes in what was printed. Tells whether the runner must be stopped here.
    pub(super) fn take(&mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.grow(&rest[..=end]);
            rest = &rest[end + 1..];
            self.end_line();
        }
        self.grow(rest);
        self.stopped || self.lost
    }

    fn grow(&mut self, bytes: &[u8]) {
        self.line = self.line.take().filter(|line| line.len() + bytes.len() <= LINE).map(|mut line| {
            line.extend_from_slice(bytes);
            line
        });
        self.kept.extend_from_slice(bytes);
        // Cut only when twice as much is there, so that each byte is moved at most once on average.
        if self.kept.len() >= 2 * OUTPUT {
            self.kept.drain(..self.kept.len() - OUTPUT);
        }
    }

    fn end_line(&mut self) {
        if let Some(line) = self.line.replace(Vec::new()) {
            self.meter.line(&line);
            self.stopped |= self.is_over_budget() && !self.is_decided();
            self.lost |= self.left.is_some() && self.meter.unstated() >= UNSTATED;
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
        self.end_line();
    }
}

#[cfg(test)]
mod tests {
    use looop_core::meter::{Prices, Spec};

    use super::*;

    const START: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"claude-opus-5-5","usage":{"input_tokens":100000,"output_tokens":1}}}}"#;

    fn watch(left: Option<u64>) -> Watch {
        Watch::new(Meter::new(Spec::default(), Prices::shipped()), left.map(Micros::new))
    }

    #[test]
    fn it_is_stopped_at_the_line_that_passes_the_bound_however_it_comes() {
        let all = format!("hello\n{START}\n");
        for size in [1, 7, 1000] {
            let mut watch = watch(Some(399_999));
            let stopped = all.as_bytes().chunks(size).position(|piece| watch.take(piece));
            assert_eq!(stopped, Some((all.len() - 1) / size), "pieces of {size}");
        }
        let mut enough = watch(Some(500_000));
        assert!(!enough.take(all.as_bytes()) && !watch(None).take(all.as_bytes()));
    }

    #[test]
    fn the_last_line_needs_no_line_break() {
        let mut watch = watch(Some(1));
        assert!(!watch.take(START.as_bytes()));
        watch.finish();
        assert!(watch.stopped);
    }

    #[test]
    fn a_run_that_has_said_all_is_not_stopped() {
        let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"{\"action\":\"noop\"}","total_cost_usd":5,"usage":{"input_tokens":3}}"#;
        let mut decided = watch(Some(1));
        assert!(!decided.take(format!("{result}\n").as_bytes()));
        assert_eq!(decided.meter.now().usd, Some(Micros::new(5_000_000)));
        let mut undecided = watch(Some(1));
        assert!(
            undecided.take(
                format!("{}\n", result.replace("noop", "no\\\"op")).replace("action", "acton").as_bytes()
            )
        );
    }

    #[test]
    fn a_run_whose_calls_do_not_say_what_they_cost_is_stopped_where_there_is_a_bound() {
        let step =
            "{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{\"tokens\":{\"input\":0},\"cost\":0}}\n";
        let steps = |watch: &mut Watch| (0..9).position(|_| watch.take(step.as_bytes()));
        assert_eq!((steps(&mut watch(Some(1))), steps(&mut watch(None))), (Some(4), None));
    }

    #[test]
    fn memory_is_bounded_and_the_end_is_kept() {
        let mut watch = watch(Some(1));
        for _ in 0..40 {
            watch.take(&vec![b'x'; 1 << 20]);
        }
        assert!(watch.kept.capacity() <= 4 * OUTPUT && watch.line.is_none());
        watch.take(format!("\n{START}\n").as_bytes());
        assert!(watch.stopped && watch.text().ends_with("}}}}\n"));
    }
}
