//! What whoever runs the loop shows of it.

use std::time::Duration;

use looop_core::ledger::entry::Line;
use looop_core::ledger::state::Ledger;
use looop_core::purse;
use looop_core::time::Now;

/// A decide under way, as a spinner shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doing {
    /// Who decides.
    pub(crate) decider: String,
    /// For how long.
    pub(crate) elapsed: Duration,
    /// Dollars of this day, as far as they are settled.
    pub(crate) today_usd: f64,
}

impl Doing {
    /// What is under way, if something is.
    pub(super) fn of(ledger: &Ledger, now: &Now) -> Option<Self> {
        let deciding = ledger.deciding.as_ref()?;
        let today_usd = ledger.spend.get(&purse::today(ledger, now)).map_or(0.0, |day| day.spent.dollars());
        Some(Self { decider: deciding.decider.clone(), elapsed: now.since(&deciding.at), today_usd })
    }
}

/// Draws a decide under way, or takes the drawing away.
pub(crate) type Spin<'a> = &'a mut dyn FnMut(Option<&Doing>);

/// Where the loop is shown.
pub(crate) struct Show<'a> {
    /// Shows what was appended to the log.
    pub(crate) line: &'a mut dyn FnMut(&Line),
    /// Draws a decide under way, or takes the drawing away. Absent where nobody watches.
    pub(crate) spinner: Option<Spin<'a>>,
}

impl Show<'_> {
    /// How often the spinner moves.
    pub(super) const PACE: Duration = Duration::from_millis(120);

    pub(super) fn line(&mut self, line: &Line) {
        self.doing(None);
        (self.line)(line);
    }

    /// Draws what is under way. Says whether there is something that moves.
    pub(super) fn doing(&mut self, doing: Option<&Doing>) -> bool {
        let Some(spinner) = &mut self.spinner else { return false };
        spinner(doing);
        doing.is_some()
    }
}
