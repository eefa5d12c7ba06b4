//! Spent, reserved and unreported are three amounts.

use super::workers::{ends, files, one_worker, records, usage};
use super::*;
use crate::meter::Metered;
use crate::purse::{granted, is_over, left, worker};

/// Spent, reserved and unreported, in cents.
fn three(ledger: &Ledger) -> (u64, u64, u64) {
    let balance = balance(ledger, &noon());
    let cents = |amount: Micros| amount.get() / CENT;
    (cents(balance.spent), cents(balance.reserved), cents(balance.unreported))
}

fn ended(metered: Option<&Metered>) -> Ledger {
    let mut ledger = one_worker();
    ends(&mut ledger, metered);
    ledger
}

#[test]
fn a_worker_that_ends_without_a_report_leaves_its_reservation_as_unreported() {
    let mut ledger = one_worker();
    assert_eq!(three(&ledger), (0, 200, 0));
    files(&mut ledger, &Metered::Exact(usage(50)));
    assert_eq!(three(&ledger), (50, 150, 0));
    assert_eq!(three(&ended(None)), (0, 0, 200), "no report");
    assert_eq!(three(&ended(Some(&Metered::Exact(usage(50))))), (50, 0, 0), "a whole report");
    assert_eq!(three(&ended(Some(&Metered::AtLeast(usage(50))))), (50, 0, 150), "a lower bound");
    assert_eq!(three(&ended(Some(&Metered::AtLeast(usage(250))))), (250, 0, 0), "more than was reserved");
    let ledger = ended(None);
    let goal = ledger.goal("g");
    assert_eq!((goal.spent, goal.unreported), (cents(200), cents(200)));
    assert_eq!(crate::purse::unreported(&ledger.workers["w~1"]), cents(200));
}

#[test]
fn a_decide_without_a_report_is_unreported_as_far_as_nothing_is_known_of_it() {
    let cents = |usd: Option<f64>| usd.map(|usd| Micros::from_dollars(usd).unwrap().get() / CENT);
    let open = with_open(Ledger::default(), 100, false);
    let table = [
        ("no receipt", None, None, 100, Some(100)),
        ("a part is known", None, Some(receipt(0.25, "unmetered")), 100, Some(75)),
        ("a lower bound", Some(receipt(0.25, "claude (at least)")), None, 100, Some(75)),
        ("a higher lower bound", Some(receipt(2.0, "claude (at least)")), None, 200, None),
        ("a receipt", Some(receipt(0.25, "claude")), None, 25, None),
    ];
    for (name, known, unpriced, usd, unreported) in table {
        let spend = settle(&open, (known.as_ref(), unpriced.as_ref()), &noon());
        assert_eq!((spend.micros().get() / CENT, cents(spend.unreported_usd)), (usd, unreported), "{name}");
    }
    let free = settle(&with_open(Ledger::default(), 100, true), (None, None), &noon());
    assert_eq!((free.usd, free.unreported_usd), (0.0, None));
}

#[test]
fn entries_of_earlier_versions_say_by_their_source_that_nothing_was_reported() {
    let old = r#"{"day":"2027-01-14","usd":2.0,"source":"reserved","runner":"painter"}"#;
    let spend: Spend = serde_json::from_str(old).unwrap();
    assert_eq!((spend.reported(), spend.unreported()), (Micros::ZERO, cents(200)));
    let mut ledger = Ledger::default();
    let entry = Entry::Overtaken { beat: BeatId(1), reason: String::new(), spend: Some(spend) };
    apply(&mut ledger, &noon().stamp(), &entry);
    assert_eq!(three(&ledger), (0, 0, 200));
    let stored = r#"{"spent":3000000,"tokens":7,"decides":2}"#;
    let day: DaySpend = serde_json::from_str(stored).unwrap();
    assert_eq!((day.spent, day.unreported, day.unreported_by), (cents(300), Micros::ZERO, None));
    let metered = r#"{"day":"2027-01-14","usd":2.0,"source":"claude (at least)"}"#;
    let spend: Spend = serde_json::from_str(metered).unwrap();
    assert_eq!(
        (spend.reported(), spend.unreported()),
        (cents(200), Micros::ZERO),
        "it does not say how much"
    );
}

#[test]
fn the_message_of_a_cap_names_the_three_amounts_and_the_keys_that_change_them() {
    let mut ledger = one_worker();
    ledger.workers.get_mut("w~1").unwrap().runner = Some("painter".into());
    ends(&mut ledger, None);
    let ledger = with_worker(ledger, "v~1", paid_worker(200));
    let Err(Why::Purse { reason }) = decide(&ledger, &capped(400, 100), Fee::Usual, &noon()) else {
        panic!("the cap is used up")
    };
    assert_eq!(
        reason,
        "$0.00 of today's $4.00 is spent, $2.00 was reserved and not reported, $2.00 is reserved for what runs, and one \
         more decide may cost $1.00 (max_daily_usd sets the cap; set runners.painter.cost (\"free\" if it costs nothing); a \
         worker reports what it spends with looop cost record before it ends)"
    );
    let budget = Some(("g", Some(cents(300))));
    let reason = worker(&ledger, &limits(), Allowance::Paid(cents(200)), budget, &noon()).unwrap_err();
    assert_eq!(
        reason,
        "$0.00 of the $3.00 of goal g is spent, $2.00 was reserved and not reported, and one more worker may cost $2.00; \
         set runners.painter.cost (\"free\" if it costs nothing); a worker reports what it spends with looop cost record \
         before it ends"
    );
    let capped = Limits { daily_tokens: Some(0), ..limits() };
    let reason = worker(&ledger, &capped, Allowance::Free, None, &noon()).unwrap_err();
    assert_eq!(reason, "0 of today's 0 tokens are used (max_daily_tokens sets the cap)");
}

#[test]
fn nothing_is_reserved_for_a_worker_that_runs_no_known_model_and_what_it_reports_counts() {
    let plain = || {
        let allowance = Allowance::Reported(cents(200));
        with_worker(Ledger::default(), "w~1", WorkerRecord { allowance, ..paid_worker(0) })
    };
    let mut ledger = plain();
    assert_eq!(left(&ledger.workers["w~1"]), Micros::ZERO);
    ends(&mut ledger, None);
    assert_eq!(three(&ledger), (0, 0, 0), "it costs nothing");
    let mut ledger = plain();
    records(&mut ledger, "w-1", 30);
    ends(&mut ledger, Some(&Metered::AtLeast(usage(40))));
    assert_eq!(three(&ledger), (40, 0, 0), "what it says");
    let mut ledger = plain();
    files(&mut ledger, &Metered::Exact(usage(201)));
    assert!(is_over(&ledger.workers["w~1"]), "it is stopped all the same");
    assert_eq!(granted(&ledger.workers["w~1"]), cents(200));
    let used_up = spent(TODAY, 1000);
    let start = |allowance| worker(&used_up, &capped(1000, 100), allowance, None, &noon());
    assert!(start(Allowance::Reported(cents(200))).is_ok());
    assert!(start(Allowance::Paid(cents(200))).is_err());
}
