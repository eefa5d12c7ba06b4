//! The purse: what is within a cap, which day it is, and what settles at what.

mod unreported;
mod workers;

use jiff::tz::TimeZone;
use serde_json::json;

use super::{Fee, balance, decide, how_to_price, open, price_lines, settle, today};
use crate::engine::io::Record;
use crate::engine::tests::limits;
use crate::gate::{Limits, Why};
use crate::ledger::entry::{Entry, FailureKind, Spend};
use crate::ledger::fold::apply;
use crate::ledger::state::{DaySpend, Deciding, Ledger, Unmetered, WorkerRecord};
use crate::meter::Micros;
use crate::model::money::{Allowance, Used};
use crate::model::plan::{Author, BeatId, RunId};
use crate::time::{Now, Stamp};
use crate::world::baseline::Delta;

const TODAY: &str = "2027-01-14";
const CENT: u64 = 10_000;

/// Noon of `TODAY`.
fn noon() -> Now {
    Now { wall: 1_799_928_000_000, up: 1000, boot: 1, zone: TimeZone::UTC }
}

fn cents(count: u64) -> Micros {
    Micros::new(count * CENT)
}

fn spent(day: &str, count: u64) -> Ledger {
    let spend = DaySpend { spent: cents(count), ..DaySpend::default() };
    Ledger { spend: [(day.to_owned(), spend)].into(), ..Ledger::default() }
}

fn with_open(ledger: Ledger, reserved: u64, free: bool) -> Ledger {
    let deciding = Deciding {
        tainted: false,
        beat: BeatId(1),
        run: RunId(1),
        session: "decide~1".into(),
        decider: "m".into(),
        at: Stamp { wall: 0, up: 0, boot: 1 },
        seq: 1,
        forced: None,
        sees: Delta::default(),
        files: [].into(),
        reserved_usd: cents(reserved).dollars(),
        free,
        config: Some(limits().config),
    };
    Ledger { deciding: Some(deciding), ..ledger }
}

fn paid_worker(allowance: u64) -> WorkerRecord {
    let at = Stamp { wall: 0, up: 0, boot: 1 };
    WorkerRecord { allowance: Allowance::Paid(cents(allowance)), ..WorkerRecord::new(Author::Person, at) }
}

fn with_worker(mut ledger: Ledger, session: &str, record: WorkerRecord) -> Ledger {
    ledger.workers.insert(session.to_owned(), record);
    ledger
}

fn capped(cap: u64, own: u64) -> Limits {
    Limits { daily_usd: Some(cents(cap)), decide_usd: cents(own), ..limits() }
}

#[test]
fn settled_and_open_and_its_own_stay_within_the_cap() {
    let worker = |charged: u64| {
        let mut record = paid_worker(200);
        record.account.charged.usd = cents(charged);
        record
    };
    let closed = || {
        let mut record = paid_worker(200);
        record.account.closed = true;
        record
    };
    let table = vec![
        ("nothing spent", spent(TODAY, 0), true),
        ("exactly the cap", spent(TODAY, 800), true),
        ("a millionth beyond", spent(TODAY, 801), false),
        ("the cap is spent", spent(TODAY, 1000), false),
        ("an open decide, exactly the cap", with_open(spent(TODAY, 600), 200, false), true),
        ("an open decide, beyond the cap", with_open(spent(TODAY, 650), 200, false), false),
        ("a worker, exactly the cap", with_worker(spent(TODAY, 600), "w~1", worker(0)), true),
        ("a worker, beyond the cap", with_worker(spent(TODAY, 601), "w~1", worker(0)), false),
        ("what a worker spent is settled", with_worker(spent(TODAY, 750), "w~1", worker(150)), true),
        (
            "a worker that overspent has nothing open",
            with_worker(spent(TODAY, 800), "w~1", worker(300)),
            true,
        ),
        ("a closed account has nothing open", with_worker(spent(TODAY, 800), "w~1", closed()), true),
        ("yesterday does not count", spent("2027-01-13", 1000), true),
    ];
    for (name, ledger, within) in table {
        let reserved = decide(&ledger, &capped(1000, 200), Fee::Usual, &noon());
        assert_eq!(reserved.clone().ok(), within.then_some(cents(200)), "{name}: {reserved:?}");
    }
}

#[test]
fn a_refusal_names_what_is_spent_what_is_open_the_cap_and_the_price() {
    let refusal = |ledger: &Ledger| decide(ledger, &capped(1000, 100), Fee::Usual, &noon());
    let says = |reason: &str| Err(Why::Purse { reason: reason.to_owned() });
    assert_eq!(
        refusal(&spent(TODAY, 950)),
        says(
            "$9.50 of today's $10.00 is spent, and one more decide may cost $1.00 (max_daily_usd sets the cap)"
        )
    );
    let busy = with_worker(spent(TODAY, 750), "w~1", paid_worker(200));
    assert_eq!(
        refusal(&busy),
        says(
            "$7.50 of today's $10.00 is spent, $2.00 is reserved for what runs, and one more decide may cost $1.00 (max_daily_usd sets the cap)"
        )
    );
}

#[test]
fn without_a_cap_or_a_price_nothing_is_refused() {
    let rich = spent(TODAY, 100_000);
    assert_eq!(decide(&rich, &limits(), Fee::Usual, &noon()), Ok(cents(100)));
    assert_eq!(decide(&rich, &capped(100, 100), Fee::Free, &noon()), Ok(Micros::ZERO), "a free decider");
}

#[test]
fn without_a_bound_of_its_own_a_decide_needs_something_to_be_left() {
    assert_eq!(decide(&spent(TODAY, 99), &capped(100, 0), Fee::Usual, &noon()), Ok(Micros::ZERO));
    assert!(decide(&spent(TODAY, 100), &capped(100, 0), Fee::Usual, &noon()).is_err());
}

#[test]
fn tokens_have_a_cap_of_their_own_that_free_deciders_keep_too() {
    let limits = Limits { daily_tokens: Some(100), ..limits() };
    for (tokens, within) in [(99, true), (100, false), (u64::MAX, false)] {
        let mut ledger = spent(TODAY, 0);
        ledger.spend.get_mut(TODAY).unwrap().tokens = tokens;
        for fee in [Fee::Free, Fee::Usual, Fee::Call(cents(1))] {
            assert_eq!(decide(&ledger, &limits, fee, &noon()).is_ok(), within, "{tokens} {fee:?}");
        }
    }
}

#[test]
fn sums_at_the_edge_of_what_a_number_holds_are_refused_and_do_not_wrap() {
    let mut ledger = with_worker(spent(TODAY, 0), "w~1", paid_worker(1));
    ledger.spend.get_mut(TODAY).unwrap().spent = Micros::new(u64::MAX);
    assert!(decide(&ledger, &capped(1000, 1), Fee::Usual, &noon()).is_err());
    assert_eq!(open(&ledger), cents(1));
}

#[test]
fn three_decides_without_a_receipt_stop_the_next_until_the_configuration_changes() {
    let config = Some(limits().config);
    let ledger = |runs| Ledger {
        unmetered: Some(Unmetered { runs, config, decider: "claude".to_owned(), model: None }),
        ..Ledger::default()
    };
    let capped = capped(1000, 1);
    assert_eq!(super::unmetered(&ledger(2), &capped), None);
    let why = super::unmetered(&ledger(3), &capped);
    assert_eq!(why, Some(Why::Unmetered { runs: 3, decider: "claude".to_owned(), model: None }));
    let text = why.unwrap().text(&noon());
    assert!(text.contains("runners.claude.cost") && text.contains("looop resume"), "{text}");
    assert_eq!(super::unmetered(&ledger(3), &limits()), None, "no cap");
    let other = Limits { config: crate::model::digest::Digest::of(b"other"), ..capped };
    assert_eq!(super::unmetered(&ledger(3), &other), None, "another configuration");
}

#[test]
fn days_do_not_go_back_for_a_day() {
    let since = |hours: u64| Stamp { wall: 0, up: noon().up.saturating_sub(hours * 3_600_000), boot: 1 };
    let now = Now { up: 100 * 3_600_000, ..noon() };
    let ahead = |day: &str, hours: u64| {
        let since = Some(Stamp { up: now.up - hours * 3_600_000, ..since(0) });
        let spend = DaySpend { spent: cents(1000), since, ..DaySpend::default() };
        Ledger { spend: [(day.to_owned(), spend)].into(), ..Ledger::default() }
    };
    let table = [
        ("a fresh ledger", Ledger::default(), TODAY),
        ("yesterday was the last", ahead("2027-01-13", 30), TODAY),
        ("today was the last", ahead(TODAY, 1), TODAY),
        ("the clock was set back", ahead("2027-01-15", 1), "2027-01-15"),
        ("the clock was years ahead", ahead("2037-01-15", 23), "2037-01-15"),
        ("that was a day ago", ahead("2037-01-15", 24), TODAY),
        ("nobody knows when", spent("2027-01-15", 1000), "2027-01-15"),
    ];
    for (name, ledger, day) in table {
        assert_eq!(today(&ledger, &now), day, "{name}");
        let is_spent = day != TODAY || name.starts_with("today");
        assert_eq!(decide(&ledger, &capped(1000, 100), Fee::Usual, &now).is_err(), is_spent, "{name}");
    }
}

#[test]
fn midnight_is_the_persons_and_a_journey_west_does_not_fill_the_purse() {
    let zone = |hours: i8| TimeZone::fixed(jiff::tz::Offset::constant(hours));
    let at = |hours: i8, wall: i64| Now { wall, up: 5_000, boot: 1, zone: zone(hours) };
    // 23:30 and 00:30 in a zone nine hours east of Greenwich.
    let (before, after) = (1_799_937_000_000, 1_799_940_600_000);
    assert_eq!(today(&Ledger::default(), &at(9, before)), "2027-01-14");
    assert_eq!(today(&Ledger::default(), &at(9, after)), "2027-01-15");
    let ledger = spent("2027-01-15", 1000);
    assert!(decide(&ledger, &capped(1000, 1), Fee::Usual, &at(9, after)).is_err());
    assert_eq!(today(&ledger, &at(-8, after)), "2027-01-15", "it is the 14th there");
    assert!(decide(&ledger, &capped(1000, 1), Fee::Usual, &at(-8, after)).is_err());
    let next = after + 86_400_000;
    assert!(decide(&ledger, &capped(1000, 1), Fee::Usual, &at(9, next)).is_ok());
}

#[test]
fn a_decide_over_midnight_is_set_aside_on_both_days_and_settles_on_the_second() {
    let ledger = with_open(spent(TODAY, 900), 100, false);
    let tomorrow = Now { wall: noon().wall + 86_400_000, ..noon() };
    assert_eq!(balance(&ledger, &tomorrow).reserved, cents(100));
    assert_eq!(settle(&ledger, (None, None), &tomorrow).day, "2027-01-15");
}

fn receipt(usd: f64, source: &str) -> Spend {
    Spend {
        day: "1999-01-01".into(),
        usd,
        source: source.into(),
        tokens_in: 3,
        tokens_out: 2,
        tokens_cached: 1,
        model: "big".into(),
        runner: String::new(),
        unreported_usd: None,
    }
}

#[test]
fn what_a_decide_settles_at_by_table() {
    let open = || with_open(Ledger::default(), 200, false);
    let unbounded = || with_open(Ledger::default(), 0, false);
    let free = || with_open(Ledger::default(), 0, true);
    let table = [
        ("an exact receipt", open(), Some(receipt(0.25, "claude")), 0.25, "claude"),
        ("a receipt above what was set aside", open(), Some(receipt(5.0, "claude")), 5.0, "claude"),
        ("a lower bound", open(), Some(receipt(0.25, "claude (at least)")), 2.0, "claude (at least)"),
        ("a lower bound above", open(), Some(receipt(3.5, "pi (at least)")), 3.5, "pi (at least)"),
        ("no receipt", open(), None, 2.0, "reserved"),
        ("no amount", open(), Some(receipt(-1.0, "claude")), 2.0, "reserved"),
        ("no receipt and no bound", unbounded(), None, 0.0, "reserved"),
        ("free", free(), None, 0.0, "free"),
        ("free, with tokens", free(), Some(receipt(0.25, "free")), 0.0, "free"),
    ];
    for (name, ledger, receipt, usd, source) in table {
        let settled = settle(&ledger, (receipt.as_ref(), None), &noon());
        assert_eq!((settled.usd, settled.source.as_str()), (usd, source), "{name}");
        assert_eq!((settled.day.as_str(), settled.runner.as_str()), (TODAY, "m"), "{name}");
    }
}

#[test]
fn what_earlier_versions_stored_is_read() {
    let old = json!({"spend": {TODAY: {"usd": 0.300_000_000_000_000_04, "tokens": 7, "decides": 2}}});
    let ledger: Ledger = serde_json::from_value(old).unwrap();
    let day = DaySpend { spent: Micros::new(300_000), tokens: 7, decides: 2, ..DaySpend::default() };
    assert_eq!(ledger.spend[TODAY], day);
    let stored = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&stored).unwrap(), ledger);
    let spend: Spend = serde_json::from_value(json!({"day": TODAY, "usd": 0.1, "source": "free"})).unwrap();
    assert_eq!((spend.micros(), spend.model.as_str()), (Micros::new(100_000), ""));
    let line = json!({"decide_started": {"beat": 1, "run": 1, "session": "decide~1", "decider": "m",
        "cause": "timer", "reserved_usd": 1.0}});
    let mut ledger = Ledger::default();
    apply(&mut ledger, &noon().stamp(), &serde_json::from_value(line).unwrap());
    assert_eq!(open(&ledger), cents(100));
}

#[test]
fn accounts_are_added_and_compared_field_by_field() {
    let one = Used { usd: cents(3), tokens_in: 1, tokens_out: 9, tokens_cached: 0 };
    let other = Used { usd: cents(2), tokens_in: 5, tokens_out: 4, tokens_cached: 7 };
    assert_eq!(one.max(other), Used { usd: cents(3), tokens_in: 5, tokens_out: 9, tokens_cached: 7 });
    assert_eq!(one.plus(other).minus(other), one);
    assert_eq!(one.minus(other), Used { usd: cents(1), tokens_in: 0, tokens_out: 5, tokens_cached: 0 });
}

#[test]
fn a_call_sets_its_own_bound_aside_and_is_not_made_where_a_decide_may_not_cost_that_much() {
    let call = |bound: u64| Fee::Call(Micros::new(bound));
    let limits = capped(1000, 100);
    assert_eq!(decide(&spent(TODAY, 0), &limits, call(123_456), &noon()), Ok(Micros::new(123_456)));
    assert_eq!(
        decide(&spent(TODAY, 0), &limits, call(1_000_000), &noon()),
        Ok(cents(100)),
        "exactly as much"
    );
    let says = |reason: &str| Err(Why::Purse { reason: reason.to_owned() });
    assert_eq!(
        decide(&spent(TODAY, 0), &limits, call(1_000_001), &noon()),
        says(
            "one call may cost up to $1.01, and max_decide_usd is $1.00; raise it, or lower max_tokens of the runner's api"
        )
    );
    let off = capped(1000, 0);
    assert_eq!(decide(&spent(TODAY, 0), &off, call(1_000_001), &noon()), Ok(Micros::new(1_000_001)));
    let poor = says(
        "$9.99 of today's $10.00 is spent, and one more decide may cost up to $0.02 (max_daily_usd sets the cap)",
    );
    for bound in [10_001, 12_000, 20_000] {
        assert_eq!(
            decide(&spent(TODAY, 999), &limits, call(bound), &noon()),
            poor,
            "the same words for {bound}"
        );
    }
}

#[test]
fn a_day_that_was_ahead_is_held_for_a_day_of_the_boot_clock_and_why_says_so() {
    let hours = |count: u64| Now { up: count * 3_600_000, ..noon() };
    let stepped = |days: i64, now: Now| Now { wall: now.wall + days * 86_400_000, ..now };
    let spend = Spend { day: "2027-01-19".into(), usd: 10.0, source: "claude".into(), ..Spend::default() };
    let entry = Entry::Overtaken { beat: BeatId(1), reason: String::new(), spend: Some(spend) };
    let mut ledger = Ledger::default();
    apply(&mut ledger, &stepped(5, hours(1)).stamp(), &entry);
    let ask = |ledger: &Ledger, now: &Now| decide(ledger, &capped(1000, 100), Fee::Usual, now);
    let Err(Why::Purse { reason }) = ask(&ledger, &hours(2)) else { panic!("five days back") };
    assert!(
        reason.ends_with("(the clock was set back: 2027-01-19 counts as today, for 24h at most)"),
        "{reason}"
    );
    assert!(ask(&ledger, &hours(24)).is_err());
    assert!(ask(&ledger, &hours(25)).is_ok(), "a day of the boot clock later");
    let later = stepped(5, hours(24 * 5));
    assert_eq!(
        (later.day().as_str(), ask(&ledger, &later).is_ok()),
        ("2027-01-19", true),
        "the day itself is new"
    );
    let again = Entry::Overtaken {
        beat: BeatId(2),
        reason: String::new(),
        spend: Some(Spend { day: "2027-01-19".into(), usd: 1.0, ..Spend::default() }),
    };
    apply(&mut ledger, &later.stamp(), &again);
    assert_eq!(balance(&ledger, &later).settled(), cents(100), "and begins with nothing");
}

#[test]
fn reboots_do_not_hold_a_day_that_was_ahead_for_longer() {
    let boot = |boot: u32, days: i64, up_h: u64| Now {
        wall: noon().wall + days * 86_400_000 + i64::try_from(up_h).unwrap() * 3_600_000,
        up: up_h * 3_600_000,
        boot,
        ..noon()
    };
    let spend = Spend { day: "2027-01-24".into(), usd: 10.0, ..Spend::default() };
    let entry = Entry::Overtaken { beat: BeatId(1), reason: String::new(), spend: Some(spend) };
    let mut ledger = Ledger::default();
    apply(&mut ledger, &boot(1, 10, 0).stamp(), &entry);
    // The calendar is right from the next start on, and the machine is switched off every night.
    apply(&mut ledger, &boot(2, 0, 1).stamp(), &Entry::Resumed);
    assert!(decide(&ledger, &capped(1000, 100), Fee::Usual, &boot(2, 0, 2)).is_err());
    assert!(decide(&ledger, &capped(1000, 100), Fee::Usual, &boot(3, 0, 20)).is_err());
    assert!(decide(&ledger, &capped(1000, 100), Fee::Usual, &boot(3, 1, 2)).is_ok());
}

#[test]
fn what_made_no_call_costs_nothing_and_is_no_unmetered_run() {
    let ledger = with_open(Ledger::default(), 200, false);
    let nothing = Record::uncalled(RunId(1), 0, (FailureKind::Runner, "no program".into())).spend.unwrap();
    let settled = settle(&ledger, (Some(&nothing), None), &noon());
    assert_eq!((settled.usd, settled.source.as_str(), settled.runner.as_str()), (0.0, "not charged", "m"));
    let failed = |spend| Entry::Failed {
        beat: BeatId(1),
        run: RunId(1),
        failure: FailureKind::Runner,
        reason: "no program".into(),
        spend,
        policy: limits().config,
        until: None,
    };
    let config = Some(limits().config);
    let mut ledger = Ledger {
        unmetered: Some(Unmetered { runs: 2, config, decider: String::new(), model: None }),
        ..ledger
    };
    apply(&mut ledger, &noon().stamp(), &failed(settled));
    assert_eq!(
        ledger.unmetered,
        Some(Unmetered { runs: 2, config, decider: String::new(), model: None }),
        "it neither counts nor excuses"
    );
    assert_eq!((balance(&ledger, &noon()).settled(), open(&ledger)), (Micros::ZERO, Micros::ZERO));
}

#[test]
fn a_model_without_a_price_is_named_as_it_must_be_written() {
    let table = [("gpt-5_x", "gpt-5_x"), ("gpt-5.1", "\"gpt-5.1\""), ("a/b \"c\"", "\"a/b \\\"c\\\"\"")];
    for (model, key) in table {
        assert!(how_to_price(model).starts_with(&format!("add [prices.{key}] with input = 1.25")), "{model}");
        assert_eq!(price_lines(model), format!("[prices.{key}]\ninput = 1.25\noutput = 10"));
    }
    let model = Some("gpt-5.1".to_owned());
    let why = Why::Unmetered { runs: 3, decider: "claude".to_owned(), model };
    let text = why.text(&Now { wall: 0, up: 0, boot: 0, zone: jiff::tz::TimeZone::UTC });
    assert!(text.contains("add [prices.\"gpt-5.1\"]") && text.contains("looop resume"), "{text}");
}
