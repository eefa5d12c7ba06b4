//! Money in the life of the loop: workers that spend too much, providers that take no calls, decides without receipts.

use super::*;
use crate::ledger::entry::Spend;
use crate::meter::{Format, Metered, Source, Usage};
use crate::model::letter::Expense;
use crate::purse::{self, balance};
use crate::world::fleet::WorkerState;

fn cents(count: u64) -> Micros {
    Micros::new(count * 10_000)
}

fn usage(count: u64) -> Metered {
    Metered::Exact(Usage {
        usd: Some(cents(count)),
        tokens_in: 7,
        tokens_out: 0,
        tokens_cached: 0,
        model: Some("big".to_owned()),
        source: Source::Stream(Format::Claude),
    })
}

impl World {
    /// The file of a worker's agent says that it has used so much.
    fn uses(&mut self, session: &str, count: u64) {
        self.seen.spends.insert(session.to_owned(), usage(count));
        self.beat();
    }

    fn restrained(&self) -> (Vec<String>, Vec<String>) {
        let frozen = self.each(|effect| if let Effect::Freeze(s) = effect { Some(s.clone()) } else { None });
        let thawed = self.each(|effect| if let Effect::Thaw(s) = effect { Some(s.clone()) } else { None });
        (frozen, thawed)
    }

    /// The edge stops a worker, or lets it go on.
    fn stands(&mut self, session: &str, state: WorkerState) {
        self.seen.docs.fleet.workers.get_mut(session).expect("a worker").state = state;
    }

    fn ends_decide(&mut self, record: impl FnOnce(Record) -> Record) {
        let run = self.engine.ledger().deciding.as_ref().expect("a decide").run;
        let noop = super::record(run, Some(json!({"action": "noop"})), None, self.now.wall);
        let docs = Box::new(self.seen.docs.clone());
        self.step(Event::Decided(run, Box::new(record(noop)), docs));
    }

    fn order(&self) -> crate::engine::io::DecideOrder {
        let orders =
            self.each(|effect| if let Effect::Decide(order) = effect { Some(*order.clone()) } else { None });
        orders.into_iter().next().expect("a decide")
    }

    /// Something new to decide about, and a look at it.
    fn news(&mut self) {
        let at = self.now.up;
        self.reading("n", json!(at));
        self.pass(Duration::from_secs(10));
        self.beat();
    }
}

/// A worker that has passed its allowance of 2.00, is stopped, and about which the person is asked.
fn stopped() -> (World, String, String) {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    world.uses(&session, 200);
    assert_eq!((world.restrained().0.len(), world.doing()), (0, None), "exactly what it may");
    world.uses(&session, 210);
    assert_eq!(world.restrained(), (vec![session.clone()], vec![]));
    let (ask, prompt) = world.asked_a_person();
    assert_eq!(
        prompt,
        "w~1 has spent $2.10 of its $2.00 and is paused. Continue with $2.00 more, or kill it?"
    );
    world.stands(&session, WorkerState::Paused);
    world.beat();
    assert_eq!((world.restrained(), world.doing()), ((vec![], vec![]), None), "asked once");
    (world, session, ask)
}

#[test]
fn a_worker_that_passes_its_allowance_is_stopped_and_goes_on_when_the_person_says_so() {
    let (mut world, session, ask) = stopped();
    world.answers(&ask, "Continue ");
    world.beat();
    world.settle();
    assert_eq!(world.restrained(), (vec![], vec![session.clone()]));
    assert_eq!(world.engine.ledger().notes.len(), 0, "the answer is no decider's business");
    world.stands(&session, WorkerState::Alive);
    world.uses(&session, 400);
    assert_eq!((world.restrained(), world.doing()), ((vec![], vec![]), None));
    world.uses(&session, 411);
    assert_eq!((world.restrained().0.len(), world.doing()), (1, Some("ask_human")), "and again");
    world.audit();
}

#[test]
fn a_worker_that_passes_its_allowance_is_killed_when_the_person_says_so() {
    let (mut world, session, ask) = stopped();
    world.answers(&ask, "kill");
    world.beat();
    world.settle();
    assert_eq!(world.doing(), Some("kill_worker"));
    assert_eq!(world.act().map(|plan| plan.act.touches(&session)), Some(true));
    world.dies(&session, WorkerState::Killed);
    world.acted(Outcome::done());
    world.beat();
    assert_eq!(world.doing(), None);
    let balance = balance(world.engine.ledger(), &world.now);
    assert_eq!((balance.settled(), balance.reserved), (cents(210), Micros::ZERO));
    world.audit();
}

#[test]
fn what_is_neither_is_asked_again_and_so_is_what_the_cap_does_not_cover() {
    let (mut world, _, ask) = stopped();
    world.answers(&ask, "hm");
    world.beat();
    world.settle();
    let (ask, prompt) = world.asked_a_person();
    assert!(prompt.contains("is paused. Continue with"), "{prompt}");
    world.limit(|limits| limits.daily_usd = Some(cents(400)));
    world.answers(&ask, "continue");
    world.beat();
    world.settle();
    let (ask, prompt) = world.asked_a_person();
    let said = "You said continue, but $2.10 of today's $4.00 is spent, and one more worker may cost $2.00";
    assert!(prompt.contains(said), "{prompt}");
    world.limit(|limits| limits.daily_usd = Some(cents(410)));
    world.answers(&ask, "continue");
    world.beat();
    assert_eq!(world.restrained().1.len(), 1);
    world.audit();
}

#[test]
fn a_worker_that_runs_no_known_model_reserves_nothing_and_is_stopped_by_what_it_reports() {
    let mut world = World::new(true, &[]);
    world.limit(|limits| {
        limits.plain_runners = limits.worker_runners.clone();
        limits.daily_usd = Some(cents(300));
    });
    let quiet = world.hire("v", None);
    world.dies(&quiet, WorkerState::Exited(0));
    world.beat();
    world.settle();
    let session = world.hire("w", None);
    let stands = balance(world.engine.ledger(), &world.now);
    assert_eq!((stands.settled(), stands.reserved), (Micros::ZERO, Micros::ZERO), "nothing was reported");
    world.uses(&session, 210);
    assert_eq!(world.restrained(), (vec![session.clone()], vec![]));
    let (ask, _) = world.asked_a_person();
    world.stands(&session, WorkerState::Paused);
    world.answers(&ask, "continue");
    world.beat();
    world.settle();
    let (ask, prompt) = world.asked_a_person();
    let said = "You said continue, but $2.10 of today's $3.00 is spent, and one more worker may cost $2.00";
    assert!(prompt.contains(said), "{prompt}");
    world.limit(|limits| limits.daily_usd = Some(cents(410)));
    world.answers(&ask, "continue");
    world.beat();
    assert_eq!(world.restrained().1, vec![session]);
    world.audit();
}

#[test]
fn a_stop_survives_a_crash_at_every_step_and_is_asked_about_once() {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    world.uses(&session, 300);
    world.crash();
    let recovers = world.each(|effect| if let Effect::Recover(..) = effect { Some(()) } else { None });
    assert_eq!(recovers.len(), 1, "the question");
    let (ask, _) = world.asked_a_person();
    world.beat();
    assert_eq!(
        (world.restrained().0, world.doing()),
        (vec![session.clone()], None),
        "stopped still, and asked"
    );
    world.stands(&session, WorkerState::Paused);
    world.answers(&ask, "continue");
    world.beat();
    world.crash();
    world.beat();
    assert_eq!(world.restrained().1, [session], "it may go on still");
    let granted = world.logged(|entry| matches!(entry, Entry::Granted { .. }).then_some(()));
    assert_eq!(granted.len(), 1);
    world.audit();
}

/// It had used more than two allowances when that was noticed.
#[test]
fn to_continue_adds_an_allowance_to_what_was_used() {
    let (mut world, session, ask) = stopped();
    world.limit(|limits| limits.daily_usd = Some(cents(2000)));
    world.uses(&session, 550);
    world.stands(&session, WorkerState::Paused);
    world.answers(&ask, "continue");
    world.beat();
    assert_eq!(world.restrained().1, std::slice::from_ref(&session), "it goes on");
    assert_eq!(world.doing(), None, "it is not asked again at once");
    let record = &world.engine.ledger().workers[&session];
    assert_eq!((purse::granted(record), purse::left(record)), (cents(750), cents(200)));
    world.crash();
    world.stands(&session, WorkerState::Alive);
    world.uses(&session, 750);
    assert_eq!((world.restrained().0, world.doing()), (vec![], None));
    world.uses(&session, 751);
    assert_eq!(world.restrained().0, [session], "and no further");
    world.audit();
}

#[test]
fn the_question_goes_with_the_worker() {
    let (mut world, session, ask) = stopped();
    world.dies(&session, WorkerState::Signalled(9));
    world.beat();
    assert_eq!(world.settle(), [ask]);
    assert!(world.engine.ledger().asks.is_empty());
    world.beat();
    assert_eq!(world.doing(), None);
    world.audit();
}

#[test]
fn a_letter_is_counted_once_and_moved_away_until_it_is_gone() {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    let expense = Expense {
        v: 1,
        id: "w-1".to_owned(),
        session,
        usd: 0.25,
        tokens_in: 1,
        tokens_out: 2,
        tokens_cached: 3,
        model: None,
        runner: None,
        goal: None,
        extra: false,
        recorded: 5,
    };
    world.seen.letters.expenses.insert("w-1".to_owned(), expense);
    for _ in 0..2 {
        world.beat();
        let moved =
            world.each(|effect| if let Effect::Counted(id) = effect { Some(id.clone()) } else { None });
        assert_eq!(moved, ["w-1"]);
    }
    let day = world.engine.ledger().spend["2027-01-15"].clone();
    assert_eq!((day.spent, day.tokens, day.decides), (cents(25), 6, 0));
    world.audit();
}

#[test]
fn a_dry_run_counts_nothing() {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    world.seen.spends.insert(session, usage(300));
    world.effects.clear();
    world.ask(Request::DryRun);
    world.sense();
    assert!(world.engine.ledger().spend.is_empty());
    assert_eq!(world.restrained().0.len(), 0);
    world.audit();
}

#[test]
fn a_goal_without_money_is_not_served_and_says_so() {
    let worker = |budget: &str| format!("---\ncheck: test -e x\nworker: make x\nbudget_usd: {budget}\n---\n");
    let mut world = World::new(true, &[]).goal("g", &worker("1.99"));
    world.check("g", 1);
    world.beat();
    assert_eq!(world.doing(), None);
    let why = world.why().unwrap().text(&world.now);
    assert!(why.contains("1 waiting for money"), "{why}");
    world.seen.docs.goals.insert("g".to_owned(), Doc::of(worker("2")));
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
    world.begun();
    let id = world.make(json!({"action": "start_worker", "id": "v", "prompt": "p", "goal": "g"}));
    let Some(Reply::Refused { reason }) = world.reply(id) else { panic!("{:?}", world.reply(id)) };
    assert!(reason.contains("of the $2.00 of goal g is spent, $2.00 is reserved"), "{reason}");
    world.audit();
}

#[test]
fn a_decider_cannot_change_the_budget_that_a_person_gave() {
    let text = |budget: &str| format!("---\nbudget_usd: {budget}\n---\nx\n");
    let mut world = World::new(false, &["m"]).goal("g", &text("1"));
    for (id, budget, refused) in [("g", "900", true), ("h", "0.01", false)] {
        world.news();
        world.decided(&json!({"action": "write_goal", "id": id, "body": text(budget)}));
        world.acted(Outcome::done());
        world.seen.docs.goals.insert(id.to_owned(), Doc::of(text(budget)));
        let start = json!({"action": "start_worker", "id": format!("w{id}"), "prompt": "p", "goal": id});
        let asked = world.make(start);
        assert_eq!(matches!(world.reply(asked), Some(Reply::Refused { .. })), refused, "{id}");
        if !refused {
            world.begun();
        }
    }
    world.seen.docs.goals.insert("g".to_owned(), Doc::of(text("901")));
    world.make(json!({"action": "start_worker", "id": "v", "prompt": "p", "goal": "g"}));
    world.begun();
    world.audit();
}

#[test]
fn three_decides_without_a_receipt_stop_deciding_until_the_configuration_changes() {
    let mut world = World::new(false, &["m"]);
    world.limit(|limits| (limits.daily_usd, limits.flap_streak) = (Some(cents(100_000)), 100));
    for run in 0..3 {
        world.news();
        assert_eq!(world.decides(), 1, "{run}");
        world.ends_decide(|record| record);
    }
    world.crash();
    world.news();
    assert_eq!(
        (world.decides(), world.why()),
        (0, Some(Why::Unmetered { runs: 3, decider: "m".to_owned(), model: None }))
    );
    assert_eq!(crate::notice::needs(world.engine.ledger()).len(), 1, "the person is told");
    world.beat_by_person();
    assert_eq!(world.decides(), 1, "a person may try");
    world.ends_decide(|record| record);
    world.news();
    assert_eq!(world.decides(), 0, "it tried in vain");
    let id = world.ask(Request::Resume);
    assert_eq!(world.reply(id), Some(Reply::Done));
    for run in 0..3 {
        world.news();
        assert_eq!(world.decides(), 1, "{run}, after resume");
        world.ends_decide(|record| record);
    }
    world.news();
    assert_eq!(world.decides(), 0, "the next three had no receipt either");
    world.limit(|limits| limits.config = Digest::of(b"mended"));
    world.news();
    let receipt = Spend { usd: 0.5, source: "claude".to_owned(), ..Spend::default() };
    world.ends_decide(|record| Record { spend: Some(receipt.clone()), ..record });
    assert_eq!(world.engine.ledger().unmetered, None);
    world.audit();
}

#[test]
fn decides_that_cost_nothing_never_stop_deciding() {
    let mut world = World::new(false, &["m"]);
    world.limit(|limits| limits.daily_usd = Some(cents(1000)));
    let nothing = Spend { source: crate::ledger::entry::NOT_CHARGED.to_owned(), ..Spend::default() };
    for run in 0..6 {
        world.news();
        assert_eq!(world.decides(), 1, "{run}: {:?}", world.why());
        world.ends_decide(|record| {
            let failure = Some((FailureKind::Runner, "connection refused".to_owned()));
            Record { decision: None, failure, spend: Some(nothing.clone()), ..record }
        });
        world.news();
        assert!(matches!(world.why(), Some(Why::Backoff { .. })), "{run}: {:?}", world.why());
        world.pass(crate::gate::backoff_wait(run + 1));
    }
    assert_eq!(crate::purse::balance(world.engine.ledger(), &world.now).settled(), Micros::ZERO);
    world.audit();
}

#[test]
fn a_worker_that_lives_is_begun_anew_only_if_both_can_be_paid() {
    for (cap, force, begins) in
        [(399, false, false), (399, true, false), (400, false, true), (400, true, true)]
    {
        let mut world = World::new(true, &[]);
        world.hire("w", None);
        world.limit(|limits| limits.daily_usd = Some(cents(cap)));
        let id = world.make(json!({"action": "restart_session", "id": "w", "force": force}));
        assert_eq!(world.engine.ledger().acting.is_some(), begins, "{cap} {force}: {:?}", world.reply(id));
        let refused =
            matches!(world.reply(id), Some(Reply::Refused { reason }) if reason.contains("one more worker"));
        assert_eq!(refused, !begins, "{cap} {force}");
    }
}

#[test]
fn what_a_decide_proposes_is_paid_out_of_what_it_left() {
    let table = [
        ("it cost less than was set aside", 50, None, true),
        ("it cost more, and a worker still fits", 300, None, true),
        ("it cost more, and a worker does not fit", 301, None, false),
        ("the budget of the goal pays for the decide too", 50, Some("2.49"), false),
        ("and covers both", 50, Some("2.50"), true),
    ];
    for (name, cost, budget, starts) in table {
        let head = budget.map(|usd| format!("---\nbudget_usd: {usd}\n---\n")).unwrap_or_default();
        let mut world = World::new(false, &["m"]).goal("g", &format!("{head}x\n"));
        world.limit(|limits| limits.daily_usd = Some(cents(500)));
        world.news();
        let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"});
        let usd = cents(cost).dollars();
        let receipt = Spend { usd, source: "claude".to_owned(), ..Spend::default() };
        world.ends_decide(|record| Record { decision: Some(start), spend: Some(receipt), ..record });
        assert_eq!(world.doing() == Some("start_worker"), starts, "{name}: {:?}", world.why());
        world.audit();
    }
}

fn limited(until: i64) -> impl Fn(Record) -> Record {
    move |record| Record {
        decision: None,
        failure: Some((FailureKind::Limited, "usage limit reached".to_owned())),
        until: Some(until),
        ..record
    }
}

#[test]
fn a_provider_that_takes_no_calls_is_waited_for_and_is_no_failure() {
    let mut world = World::new(false, &["m"]);
    world.news();
    let until = world.now.wall + 3_600_000;
    world.ends_decide(limited(until));
    assert_eq!(world.engine.ledger().failures, None);
    world.news();
    assert_eq!((world.decides(), world.why()), (0, Some(Why::Limited { until })));
    let cadence = Cadence {
        idle: Duration::from_hours(9),
        busy: Duration::from_hours(9),
        active: Duration::from_hours(9),
    };
    let ring = world.engine.alarm(&cadence, &world.now).wall.expect("an alarm");
    assert_eq!((ring.at, ring.cause), (until, Cause::Timer));
    world.crash();
    world.pass(Duration::from_hours(1));
    world.news();
    assert_eq!(world.decides(), 1);
    world.audit();
}

#[test]
fn a_limit_is_bounded_whatever_the_clock_does() {
    let table: [(&str, i64, u64, i64, bool); 4] = [
        ("an hour before its end", 2, 1, 0, true),
        ("a year is a day at most", 9000, 24, 0, false),
        ("the clock was set back", 2, 2, -100, false),
        ("the clock was set forward", 2, 0, 3, false),
    ];
    for (name, length_h, passed_h, stepped_h, waits) in table {
        let mut world = World::new(false, &["m"]);
        world.news();
        world.ends_decide(limited(world.now.wall + length_h * 3_600_000));
        world.pass(Duration::from_hours(passed_h));
        world.now.wall += stepped_h * 3_600_000;
        world.news();
        assert_eq!(world.decides() == 0, waits, "{name}");
    }
}

#[test]
fn another_decider_takes_the_place_of_one_whose_provider_takes_no_calls() {
    let mut world = World::new(false, &["a", "b"]);
    world.news();
    world.ends_decide(limited(world.now.wall + 7_200_000));
    world.news();
    let name = world.engine.ledger().deciding.as_ref().map(|deciding| deciding.decider.clone());
    assert_eq!(name.as_deref(), Some("b"));
    let until = world.now.wall + 3_600_000;
    world.ends_decide(limited(until));
    world.news();
    assert_eq!((world.decides(), world.why()), (0, Some(Why::Limited { until })));
    world.limit(|limits| limits.config = Digest::of(b"another account"));
    world.news();
    assert_eq!(world.decides(), 1);
    world.audit();
}

#[test]
fn what_was_pruned_before_it_was_looked_at_settles_as_far_as_is_known() {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    world.make(json!({"action": "kill_worker", "id": "w"}));
    world.dies(&session, WorkerState::Killed);
    world.acted(Outcome::done());
    world.step(Event::Pruned(None, vec![session], Vec::new()));
    let balance = balance(world.engine.ledger(), &world.now);
    assert_eq!((balance.settled(), balance.reserved), (cents(200), Micros::ZERO));
    world.audit();
}

#[test]
fn a_dismissed_question_comes_back_later_each_time_and_the_worker_stays_stopped() {
    let (mut world, session, ask) = stopped();
    let text = |world: &World| {
        let record = &world.engine.ledger().workers[&session];
        purse::paused_text(&session, record, &world.now).expect("it is stopped")
    };
    assert_eq!(
        text(&world),
        format!(
            "paused: it passed its allowance ($2.10 of $2.00); looop answer {ask} continue, or looop kill w"
        )
    );
    let mut ask = ask;
    for hours in [1, 4, 16, 24, 24] {
        world.ask(Request::Dismiss { ask: ask.clone() });
        world.seen.letters.asks.remove(&ask);
        world.pass(Duration::from_mins(hours * 60 - 1));
        world.beat();
        assert_eq!((world.restrained(), world.doing()), ((vec![], vec![]), None), "{hours} h");
        let said = "paused: it passed its allowance ($2.10 of $2.00); you will be asked again in 1m, or looop kill w";
        assert_eq!(text(&world), said);
        world.crash();
        world.pass(Duration::from_mins(1));
        world.beat();
        ask = world.asked_a_person().0;
    }
    world.answers(&ask, "continue");
    world.beat();
    world.settle();
    assert_eq!(world.restrained(), (vec![], vec![session.clone()]));
    let account = &world.engine.ledger().workers[&session].account;
    assert_eq!((account.dismissed, account.grants), (None, 1));
    world.audit();
}

#[test]
fn an_api_decider_sets_aside_what_its_call_may_cost_and_no_third_starts_that_does_not_fit() {
    let mut world = World::new(false, &["m"]);
    let bound = crate::meter::CallBound::new(&crate::meter::Prices::shipped(), "claude-opus-5-5", 4000, 8192);
    world.engine.setup.paid[0].bound = bound;
    world.news();
    let order = world.order();
    let most = bound.expect("a price").of(order.brief.len());
    assert_eq!(Micros::from_dollars(order.reserved_usd), Some(most));
    let logged = world.logged(|entry| {
        if let Entry::DecideStarted { reserved_usd, .. } = entry {
            Micros::from_dollars(*reserved_usd)
        } else {
            None
        }
    });
    assert_eq!(logged, [most], "the log has the same");
    // The cap covers two calls and a half; receipts say the whole bound each time.
    world.limit(|limits| limits.daily_usd = Some(Micros::new(most.get() * 5 / 2)));
    let spends = |usd: f64| {
        move |record| Record {
            spend: Some(Spend { usd, source: "api prices".to_owned(), ..Spend::default() }),
            ..record
        }
    };
    world.ends_decide(spends(order.reserved_usd));
    world.news();
    let second = world.order().reserved_usd;
    world.ends_decide(spends(second));
    world.news();
    assert_eq!(world.decides(), 0);
    let Some(Why::Purse { reason }) = world.why() else { panic!("{:?}", world.why()) };
    assert!(reason.contains("one more decide may cost up to $0."), "{reason}");
    world.limit(|limits| limits.daily_usd = Some(Micros::new(most.get() * 4)));
    world.limit(|limits| limits.decide_usd = cents(1));
    world.news();
    let Some(Why::Purse { reason }) = world.why() else { panic!("{:?}", world.why()) };
    assert!(reason.contains("max_decide_usd is $0.01; raise it, or lower max_tokens"), "{reason}");
    assert_eq!(world.engine.ledger().failures, None, "it is not tried in vain");
    world.audit();
}

#[test]
fn a_decider_that_cannot_be_paid_is_passed_over_for_one_that_can() {
    let mut world = World::new(false, &["dear", "free"]);
    world.engine.setup.paid[1].free = true;
    world.limit(|limits| limits.daily_usd = Some(cents(50)));
    world.news();
    assert_eq!((world.order().decider.as_str(), world.order().reserved_usd), ("free", 0.0));
    world.audit();
}

#[test]
fn a_goal_that_its_budget_stops_is_told_once_and_shown_until_the_budget_is_raised() {
    let worker = |budget: &str| format!("---\ncheck: test -e x\nworker: make x\nbudget_usd: {budget}\n---\n");
    let mut world = World::new(true, &[]).goal("g", &worker("3"));
    world.check("g", 1);
    world.beat();
    let session = world.begun();
    world.uses(&session, 150);
    assert_eq!(world.engine.ledger().goal("g").broke, None, "its worker works on");
    world.dies(&session, WorkerState::Exited(1));
    world.beat();
    let reason = "$1.50 of the $3.00 of goal g is spent, and one more worker may cost $2.00";
    assert_eq!(world.engine.ledger().goal("g").broke.as_deref(), Some(reason));
    let why = world.why().unwrap().text(&world.now);
    assert!(why.ends_with(reason), "{why}");
    let told = |world: &World| {
        world.each(
            |effect| if let Effect::Notify(notice) = effect { Some(notice.message.clone()) } else { None },
        )
    };
    assert_eq!(told(&world), [format!("the budget stops goal g: {reason} (budget_usd in goals/g.md)")]);
    for hours in [1, 24, 200] {
        world.pass(Duration::from_hours(hours));
        world.check("g", i32::from(hours != 24));
        world.beat();
        assert_eq!(told(&world), Vec::<String>::new(), "told once");
    }
    world.seen.docs.goals.insert("g".to_owned(), Doc::of(worker("9")));
    world.beat();
    assert_eq!((world.doing(), world.engine.ledger().goal("g").broke), (Some("start_worker"), None));
    world.audit();
}

#[test]
fn the_runner_of_a_worker_is_known_after_it_is_gone() {
    let mut world = World::new(true, &[]);
    let session = world.hire("w", None);
    world.make(json!({"action": "kill_worker", "id": "w"}));
    world.dies(&session, WorkerState::Killed);
    world.acted(Outcome::done());
    world.seen.docs.fleet.workers.clear();
    world.step(Event::Pruned(None, vec![session], Vec::new()));
    let runners =
        world.logged(
            |entry| if let Entry::Spent { spend, .. } = entry { Some(spend.runner.clone()) } else { None },
        );
    assert_eq!(runners, ["claude"]);
    world.audit();
}

#[test]
fn a_live_worker_is_not_begun_anew_without_money_for_both() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.limit(|limits| limits.daily_usd = Some(cents(399)));
    let id = world.make(json!({"action": "restart_session", "id": "w"}));
    let Some(Reply::Refused { reason }) = world.reply(id) else { panic!("{:?}", world.reply(id)) };
    assert!(
        reason.contains("$2.00 is reserved for what runs, and one more worker may cost $2.00"),
        "{reason}"
    );
    world.limit(|limits| limits.daily_usd = Some(cents(400)));
    world.effects.clear();
    world.make(json!({"action": "restart_session", "id": "w"}));
    assert_eq!(world.doing(), Some("restart_session"));
}
