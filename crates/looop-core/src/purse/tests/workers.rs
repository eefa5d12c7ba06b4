//! Workers' accounts: what may start, what letters and files add, and what an end settles.

use super::*;
use crate::meter::{Metered, Source, Usage};
use crate::model::letter::Expense;
use crate::model::moves::Move;
use crate::model::plan::{Act, Plan};
use crate::purse::books::{letter, looked, unknown};
use crate::purse::{granted, is_over, left, worker};
use crate::world::fleet::{Fleet, WorkerState};

pub(super) fn usage(count: u64) -> Usage {
    Usage {
        usd: (count > 0).then(|| cents(count)),
        tokens_in: count,
        tokens_out: 0,
        tokens_cached: 0,
        model: Some("big".into()),
        source: Source::Stream(crate::meter::Format::Claude),
    }
}

fn expense(id: &str, count: u64) -> Expense {
    Expense {
        v: 1,
        id: id.into(),
        session: "w~1".into(),
        usd: cents(count).dollars(),
        tokens_in: 0,
        tokens_out: 0,
        tokens_cached: 0,
        model: None,
        runner: None,
        goal: None,
        extra: false,
        recorded: 7,
    }
}

/// Applies what was said, if something was, and gives the dollars that it added, in cents.
fn take(ledger: &mut Ledger, entry: Option<Entry>) -> Option<u64> {
    let entry = entry?;
    let Entry::Spent { spend, .. } = &entry else { panic!("{entry:?}") };
    let added = spend.micros().get() / CENT;
    apply(ledger, &noon().stamp(), &entry);
    Some(added)
}

pub(super) fn files(ledger: &mut Ledger, metered: &Metered) -> Option<u64> {
    let entry = looked(ledger, &Fleet::default(), ("w~1", Some(metered), false), &noon());
    take(ledger, entry)
}

pub(super) fn records(ledger: &mut Ledger, id: &str, count: u64) -> Option<u64> {
    let entry = letter(ledger, &Fleet::default(), &expense(id, count), &noon());
    take(ledger, entry)
}

pub(super) fn ends(ledger: &mut Ledger, metered: Option<&Metered>) -> Option<u64> {
    let (session, state) = ("w~1".to_owned(), WorkerState::Exited(0));
    apply(ledger, &noon().stamp(), &Entry::WorkerEnded { session, state, strays: Vec::new() });
    let entry = looked(ledger, &Fleet::default(), ("w~1", metered, true), &noon());
    take(ledger, entry)
}

pub(super) fn one_worker() -> Ledger {
    with_worker(Ledger::default(), "w~1", WorkerRecord { goal: Some("g".into()), ..paid_worker(200) })
}

fn settled(ledger: &Ledger) -> u64 {
    ledger.spend.get(TODAY).map_or(0, |day| day.spent.get() / CENT)
}

#[test]
fn receipts_are_cumulative_in_files_and_added_in_letters_and_never_counted_twice() {
    let mut ledger = one_worker();
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(50))), Some(50));
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(50))), None, "the same again");
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(40))), None, "a file that was cut");
    assert_eq!(records(&mut ledger, "w-1", 30), Some(0), "the file says more");
    assert_eq!(records(&mut ledger, "w-1", 30), None, "the same letter");
    assert_eq!(records(&mut ledger, "w-2", 30), Some(10), "60 in letters, 50 in the file");
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(80))), Some(20));
    assert_eq!((settled(&ledger), open(&ledger)), (80, cents(120)), "one worker's 2.00 in all");
    assert_eq!(ledger.goals["g"].spent, cents(80));
    assert_eq!(ends(&mut ledger, Some(&Metered::Exact(usage(90)))), Some(10));
    assert_eq!((settled(&ledger), open(&ledger)), (90, Micros::ZERO));
    assert_eq!(ends(&mut ledger, Some(&Metered::Exact(usage(90)))), None, "closed once");
    assert_eq!(records(&mut ledger, "w-3", 40), Some(10), "100 in letters, 90 in the file");
}

#[test]
fn what_an_end_settles_by_table() {
    let exact = |count| Some(Metered::Exact(usage(count)));
    let table = [
        ("no receipt", None, None, 200),
        ("a file that says nothing", exact(0), None, 200),
        ("a file", exact(30), None, 30),
        ("more than it may", exact(300), None, 300),
        ("a lower bound", Some(Metered::AtLeast(usage(30))), None, 200),
        ("a lower bound above", Some(Metered::AtLeast(usage(300))), None, 300),
        ("tokens without a price", Some(Metered::Unmetered(usage(30))), None, 200),
        ("nobody answered", Some(Metered::Unanswered(Usage::default())), None, 0),
        ("nobody answered, and letters", Some(Metered::Unanswered(Usage::default())), Some(40), 40),
        ("letters alone", None, Some(40), 40),
        ("letters, where the file is a lower bound", Some(Metered::AtLeast(usage(30))), Some(40), 40),
    ];
    for (name, file, recorded, amount) in table {
        let mut ledger = one_worker();
        recorded.map(|count| records(&mut ledger, "w-1", count));
        ends(&mut ledger, file.as_ref());
        assert_eq!((settled(&ledger), open(&ledger)), (amount, Micros::ZERO), "{name}");
    }
}

#[test]
fn a_late_letter_fills_what_was_settled_without_a_receipt() {
    let mut ledger = one_worker();
    assert_eq!(ends(&mut ledger, None), Some(200));
    assert_eq!(records(&mut ledger, "w-1", 150), Some(0));
    assert_eq!(records(&mut ledger, "w-2", 70), Some(20));
}

#[test]
fn what_is_spent_besides_the_agent_is_added() {
    let mut ledger = one_worker();
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(50))), Some(50));
    let besides = Expense { extra: true, ..expense("w-1", 30) };
    let entry = letter(&ledger, &Fleet::default(), &besides, &noon());
    assert_eq!(take(&mut ledger, entry), Some(30));
    assert_eq!(ends(&mut ledger, Some(&Metered::Exact(usage(60)))), Some(10));
    assert_eq!(settled(&ledger), 90);
    let mut ledger = one_worker();
    let entry = letter(&ledger, &Fleet::default(), &besides, &noon());
    take(&mut ledger, entry);
    ends(&mut ledger, None);
    assert_eq!(settled(&ledger), 200, "of its agent there is no receipt");
}

#[test]
fn a_letter_with_an_old_name_and_another_time_is_another_letter() {
    let mut ledger = one_worker();
    records(&mut ledger, "w-1", 10);
    let again = Expense { recorded: 8, ..expense("w-1", 10) };
    let entry = letter(&ledger, &Fleet::default(), &again, &noon());
    assert_eq!(take(&mut ledger, entry), Some(10));
}

#[test]
fn whoever_is_no_worker_is_counted_as_they_say() {
    let mut ledger = Ledger::default();
    assert_eq!(records(&mut ledger, "w-1", 10), Some(10));
    assert_eq!(records(&mut ledger, "w-2", 10), Some(10));
    assert_eq!(settled(&ledger), 20);
}

#[test]
fn a_free_worker_has_tokens_and_costs_nothing() {
    let free = WorkerRecord { allowance: Allowance::Free, ..paid_worker(0) };
    let mut ledger = with_worker(Ledger::default(), "w~1", free);
    assert_eq!(files(&mut ledger, &Metered::Exact(usage(30))), Some(0));
    assert_eq!(ends(&mut ledger, None), Some(0));
    assert_eq!((settled(&ledger), ledger.spend[TODAY].tokens, open(&ledger)), (0, 30, Micros::ZERO));
}

#[test]
fn a_plain_command_is_not_looked_at() {
    let at = Stamp { wall: 0, up: 0, boot: 1 };
    let mut ledger = with_worker(Ledger::default(), "w~1", WorkerRecord::new(Author::Person, at));
    assert_eq!(ends(&mut ledger, None), None);
}

#[test]
fn what_may_start_by_table() {
    let rich = Limits { daily_usd: Some(cents(1000)), ..limits() };
    let of_goal = |spent: u64, open: u64| {
        let mut ledger = with_worker(
            Ledger::default(),
            "v~1",
            WorkerRecord { goal: Some("g".into()), ..paid_worker(open) },
        );
        ledger.goals.entry("g".into()).or_default().spent = cents(spent);
        ledger
    };
    let budget = |count: u64| Some(("g", Some(cents(count))));
    let paid = Allowance::Paid(cents(200));
    let table = [
        ("the day has room", spent(TODAY, 800), paid, None, true),
        ("the day is full", spent(TODAY, 801), paid, None, false),
        ("a plain command", spent(TODAY, 5000), Allowance::Nothing, budget(0), true),
        ("a free runner", spent(TODAY, 5000), Allowance::Free, budget(0), true),
        ("the goal has room", of_goal(100, 200), paid, budget(500), true),
        ("the goal is full", of_goal(101, 200), paid, budget(500), false),
        ("another goal's budget", of_goal(101, 200), paid, Some(("h", Some(cents(200)))), true),
        ("no budget", of_goal(10_000, 200), paid, Some(("g", None)), true),
    ];
    for (name, ledger, allowance, goal, may) in table {
        let verdict = worker(&ledger, &rich, allowance, goal, &noon());
        assert_eq!(verdict.is_ok(), may, "{name}: {verdict:?}");
    }
    let reason = worker(&of_goal(101, 200), &rich, paid, budget(500), &noon()).unwrap_err();
    assert_eq!(
        reason,
        "$1.01 of the $5.00 of goal g is spent, $2.00 is reserved for what runs, and one more worker may cost $2.00"
    );
}

#[test]
fn further_allowances_are_of_the_same_size() {
    let mut record = paid_worker(200);
    record.account.metered.usd = cents(201);
    record.account.charged.usd = cents(201);
    assert!(is_over(&record));
    record.account.grants = 1;
    assert!(!is_over(&record));
    assert_eq!((granted(&record), left(&record)), (cents(400), cents(199)));
    record.account.recorded.usd = cents(400);
    assert!(!is_over(&record), "exactly what it may");
}

#[test]
fn a_start_that_may_have_happened_settles_in_full() {
    let entry = |allowance| {
        let (session, runner) = ("w~1".to_owned(), Some("claude".to_owned()));
        let act = Act::Worker {
            session,
            verify: None,
            repo: None,
            foreign: false,
            allowance,
            runner,
            model: None,
            last: None,
        };
        let (action, author) = (Move::Noop { reason: None }, Author::Person);
        let (goal, journal, next_interval_s, budget) = (None, None, None, None);
        let at = noon().stamp();
        let plan = Plan { goal, journal, next_interval_s, budget, ..Plan::new(action, (author, act), at) };
        unknown(&Ledger::default(), &plan, &noon())
    };
    let known = entry(Allowance::Paid(cents(200)));
    assert!(matches!(known, Some(Entry::Spent { spend, .. }) if spend.runner == "claude"));
    assert_eq!(take(&mut Ledger::default(), entry(Allowance::Paid(cents(200)))), Some(200));
    for nothing in [Allowance::Nothing, Allowance::Free, Allowance::Paid(Micros::ZERO)] {
        assert_eq!(entry(nothing), None);
    }
}
