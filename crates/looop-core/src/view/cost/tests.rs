//! Reports by table.

use super::*;

fn item(day: &str, goal: Option<&str>, worker: Option<&str>, cents: u64) -> Item {
    Item {
        day: day.into(),
        goal: goal.map(str::to_owned),
        runner: Some("claude".into()),
        model: None,
        worker: worker.map(str::to_owned),
        usd: Micros::new(cents * 10_000),
        unreported: Micros::ZERO,
        unpriced: false,
        tokens_in: cents,
        tokens_out: 1,
        tokens_cached: 2,
    }
}

type Row = (&'static str, f64, u64);

fn items() -> Vec<Item> {
    vec![
        item("2027-01-13", Some("a"), None, 10),
        item("2027-01-14", Some("b"), Some("w"), 30),
        item("2027-01-14", None, None, 5),
        item("2027-01-15", Some("a"), Some("w"), 10),
    ]
}

#[test]
fn spends_are_summed_up_by_what_is_asked_for() {
    let table: [(By, &[Row]); 5] = [
        (By::Goal, &[("b", 0.3, 1), ("a", 0.2, 2), ("(no goal)", 0.05, 1)]),
        (By::Runner, &[("claude", 0.55, 4)]),
        (By::Model, &[("(unknown)", 0.55, 4)]),
        (By::Worker, &[("w", 0.4, 2), ("(decides)", 0.15, 2)]),
        (By::Day, &[("2027-01-13", 0.1, 1), ("2027-01-14", 0.35, 2), ("2027-01-15", 0.1, 1)]),
    ];
    for (by, expected) in table {
        let report = report(&items(), None, by);
        let groups: Vec<_> =
            report.groups.iter().map(|sum| (sum.name.as_str(), sum.usd, sum.count)).collect();
        assert_eq!(groups, expected, "{by:?}");
        assert_eq!((report.total.usd, report.total.tokens(), report.total.count), (0.55, 67, 4));
    }
}

#[test]
fn only_the_days_that_are_asked_for_count() {
    let report = report(&items(), Some("2027-01-14"), By::Day);
    assert_eq!((report.groups.len(), report.total.usd), (2, 0.45));
    assert_eq!(super::report(&[], None, By::Goal).groups, []);
}

#[test]
fn bars_are_as_long_as_their_part() {
    let of = |part: u64, whole: u64| bar(Micros::new(part), Micros::new(whole), 4);
    let table = [
        (0, 8, ""),
        (1, 1000, "▏"),
        (1, 8, "▌"),
        (4, 8, "██"),
        (5, 8, "██▌"),
        (8, 8, "████"),
        (9, 8, "████"),
        (0, 0, ""),
    ];
    for (part, whole, expected) in table {
        assert_eq!(of(part, whole), expected, "{part} of {whole}");
    }
}
