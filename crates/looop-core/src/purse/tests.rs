//! The purse: what is within the day's cap, which day it is, and what a decide settles at.

use jiff::tz::TimeZone;

use super::{reserve, settle, today};
use crate::engine::tests::limits;
use crate::gate::Limits;
use crate::ledger::entry::Spend;
use crate::ledger::state::{DaySpend, Deciding, Ledger};
use crate::model::plan::{BeatId, RunId};
use crate::time::{Now, Stamp};
use crate::world::baseline::Delta;

const TODAY: &str = "2027-01-14";

/// Noon of `TODAY`.
fn noon() -> Now {
    Now { wall: 1_799_928_000_000, up: 1000, boot: 1, zone: TimeZone::UTC }
}

fn spent(day: &str, usd: f64) -> Ledger {
    let spend = DaySpend { usd, ..DaySpend::default() };
    Ledger { spend: [(day.to_owned(), spend)].into(), ..Ledger::default() }
}

fn with_open(ledger: Ledger, reserved_usd: f64) -> Ledger {
    let deciding = Deciding {
        beat: BeatId(1),
        run: RunId(1),
        session: "decide~1".into(),
        decider: "m".into(),
        at: Stamp { wall: 0, up: 0, boot: 1 },
        seq: 1,
        forced: None,
        sees: Delta::default(),
        files: [].into(),
        reserved_usd,
    };
    Ledger { deciding: Some(deciding), ..ledger }
}

fn capped(usd: f64, decide_usd: f64) -> Limits {
    Limits { daily_usd: Some(usd), decide_usd, ..limits() }
}

#[test]
fn settled_and_open_and_its_own_stay_within_the_cap() {
    let table = [
        ("nothing spent", spent(TODAY, 0.0), true),
        ("exactly the cap", spent(TODAY, 8.0), true),
        ("a quarter beyond", spent(TODAY, 8.25), false),
        ("the cap is spent", spent(TODAY, 10.0), false),
        ("an open decide, exactly the cap", with_open(spent(TODAY, 6.0), 2.0), true),
        ("an open decide, beyond the cap", with_open(spent(TODAY, 6.5), 2.0), false),
        ("yesterday does not count", spent("2027-01-13", 10.0), true),
    ];
    for (name, ledger, within) in table {
        let reserved = reserve(&ledger, &capped(10.0, 2.0), false, &noon());
        assert_eq!(reserved.clone().ok(), within.then_some(2.0), "{name}: {reserved:?}");
    }
}

#[test]
fn a_refusal_names_what_is_spent_the_cap_and_the_price() {
    assert_eq!(
        reserve(&spent(TODAY, 9.5), &capped(10.0, 1.0), false, &noon()),
        Err("$9.50 of today's $10.00 is spent, and one more decide may cost $1.00".to_owned())
    );
}

#[test]
fn without_a_cap_or_a_price_nothing_is_refused() {
    let rich = spent(TODAY, 1000.0);
    for daily_usd in [None, Some(0.0)] {
        let limits = Limits { daily_usd, ..limits() };
        assert_eq!(reserve(&rich, &limits, false, &noon()), Ok(1.0), "cap {daily_usd:?}");
    }
    assert_eq!(reserve(&rich, &capped(1.0, 0.0), false, &noon()), Ok(0.0), "a decide without a price");
    assert_eq!(reserve(&rich, &capped(1.0, 1.0), true, &noon()), Ok(0.0), "a free decider");
}

#[test]
fn days_never_go_back() {
    let table = [
        ("a fresh ledger", Ledger::default(), TODAY),
        ("yesterday was the last", spent("2027-01-13", 1.0), TODAY),
        ("today was the last", spent(TODAY, 1.0), TODAY),
        ("the clock was set back", spent("2027-01-15", 1.0), "2027-01-15"),
    ];
    for (name, ledger, day) in table {
        assert_eq!(today(&ledger, &noon()), day, "{name}");
    }
    assert!(reserve(&spent("2027-01-15", 10.0), &capped(10.0, 1.0), false, &noon()).is_err());
}

#[test]
fn a_receipt_is_what_counts_on_the_day_of_now() {
    let receipt = Spend {
        day: "1999-01-01".into(),
        usd: 0.25,
        source: "stream".into(),
        tokens_in: 3,
        tokens_out: 2,
        tokens_cached: 1,
    };
    let settled = settle(&with_open(Ledger::default(), 2.0), Some(&receipt), &noon());
    assert_eq!(settled, Spend { day: TODAY.into(), ..receipt });
}

#[test]
fn without_a_receipt_the_reservation_settles_in_full() {
    let table = [
        (with_open(Ledger::default(), 2.0), 2.0, "reserved"),
        (with_open(Ledger::default(), 0.0), 0.0, "free"),
        (Ledger::default(), 0.0, "free"),
    ];
    for (ledger, usd, source) in table {
        let expected = Spend { day: TODAY.into(), usd, source: source.into(), ..Spend::default() };
        assert_eq!(settle(&ledger, None, &noon()), expected);
    }
}
