//! The receipt: what all attempts of a decide cost together.

use looop_core::ledger::entry::{NOT_CHARGED, Spend};
use looop_core::meter::{Metered, Micros, Usage};

/// What is known of the cost of each attempt that may have cost something.
#[derive(Debug, Default)]
pub(crate) struct Receipt {
    parts: Vec<Metered>,
    /// Whether an attempt that is not among them is known to have cost nothing.
    untouched: bool,
}

impl Receipt {
    /// Adds an attempt.
    pub(crate) fn add(&mut self, part: Metered) {
        self.parts.push(part);
    }

    /// What is not added has cost nothing: it was never sent, or was refused.
    pub(crate) fn not_charged(&mut self) {
        self.untouched = true;
    }

    /// The dollars that are known to be spent.
    pub(crate) fn usd(&self) -> Micros {
        let known = self.parts.iter().filter_map(|part| part.usage().usd);
        known.fold(Micros::ZERO, Micros::saturating_add)
    }

    /// The whole: what it cost, where that is known, else what is known of it. A cost that is only known to be at least
    /// so much says so in its source.
    pub(crate) fn spend(&self, runner: &str) -> (Option<Spend>, Option<Spend>) {
        let Some(last) = self.parts.last() else {
            let nothing =
                Spend { source: NOT_CHARGED.to_owned(), runner: runner.to_owned(), ..Spend::default() };
            return (self.untouched.then_some(nothing), None);
        };
        let whole = self.sum(runner, last.usage());
        let unmetered = self.parts.iter().any(|part| matches!(part, Metered::Unmetered(_)));
        let at_least = self.parts.iter().any(|part| matches!(part, Metered::AtLeast(_)));
        match (unmetered, at_least) {
            (true, _)
                if whole.tokens_in + whole.tokens_out + whole.tokens_cached == 0 && whole.usd == 0.0 =>
            {
                (None, None)
            }
            (true, _) => (None, Some(Spend { source: "unmetered".to_owned(), ..whole })),
            (false, true) => (Some(Spend { source: format!("{} (at least)", whole.source), ..whole }), None),
            (false, false) => (Some(whole), None),
        }
    }

    fn sum(&self, runner: &str, last: &Usage) -> Spend {
        let total = |of: fn(&Usage) -> u64| {
            self.parts.iter().fold(0_u64, |sum, part| sum.saturating_add(of(part.usage())))
        };
        Spend {
            day: String::new(),
            usd: dollars(self.usd()),
            source: last.source.to_string(),
            tokens_in: total(|usage| usage.tokens_in),
            tokens_out: total(|usage| usage.tokens_out),
            tokens_cached: total(|usage| usage.tokens_cached),
            model: last.model.clone().unwrap_or_default(),
            runner: runner.to_owned(),
            unreported_usd: None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "amounts of money stay far below 2^52 micro-dollars")]
fn dollars(usd: Micros) -> f64 {
    usd.get() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use looop_core::meter::Source;

    use super::*;

    fn usage(micros: Option<u64>, tokens: u64) -> Usage {
        Usage {
            usd: micros.map(Micros::new),
            tokens_in: tokens,
            tokens_out: 1,
            tokens_cached: 0,
            model: Some("m".to_owned()),
            source: Source::Api,
        }
    }

    fn spend(parts: Vec<Metered>) -> (Option<Spend>, Option<Spend>) {
        Receipt { parts, untouched: false }.spend("r")
    }

    #[test]
    fn attempts_add_up_and_the_least_certain_one_tells_how_certain_it_is() {
        let (exact, open) = (Metered::Exact(usage(Some(1000), 5)), Metered::AtLeast(usage(Some(20), 1)));
        let (Some(both), None) = spend(vec![open.clone(), exact.clone()]) else { panic!() };
        assert_eq!((both.usd, both.tokens_in, both.tokens_out), (0.00102, 6, 2));
        assert_eq!(
            (both.source.as_str(), both.runner.as_str(), both.model.as_str()),
            ("api prices (at least)", "r", "m")
        );
        assert_eq!(spend(vec![exact.clone()]).0.unwrap().source, "api prices");
        let unpriced = Metered::Unmetered(usage(None, 7));
        let (None, Some(known)) = spend(vec![exact, unpriced]) else { panic!() };
        assert_eq!((known.usd, known.tokens_in, known.source.as_str()), (0.001, 12, "unmetered"));
    }

    #[test]
    fn what_is_not_known_at_all_is_no_receipt_unless_the_rest_is_free() {
        let blank = Usage { tokens_out: 0, source: Source::None, ..usage(None, 0) };
        assert_eq!(spend(vec![Metered::Unmetered(blank)]), (None, None));
        assert_eq!(spend(Vec::new()), (None, None));
        let (Some(nothing), None) = (Receipt { untouched: true, ..Receipt::default() }).spend("r") else {
            panic!()
        };
        assert_eq!((nothing.usd, nothing.source.as_str()), (0.0, "not charged"));
    }
}
