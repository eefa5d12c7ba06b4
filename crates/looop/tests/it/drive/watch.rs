//! A worker watched in a terminal that is not as large as its own, as an emulator of that size shows it.

use std::fmt::Write;

use looop_session::Size;

use super::ground::Ground;
use super::person::Person;

/// The size that a worker's terminal has by itself.
const WORKER: Size = Size { cols: 100, rows: 30 };

/// Draws a box around all of a worker's terminal, with the row's number in each row, and leaves the cursor in the last
/// row but one, behind a prompt. Each line that is typed then, a row and a text, is printed there, and the cursor
/// returns.
fn draws_a_box() -> String {
    let mut script = String::from("stty -echo; printf '\\033[?1049h\\033[2J'\n");
    for (row, line) in the_box().iter().enumerate() {
        writeln!(script, "printf '\\033[{};1H%s' '{line}'", row + 1).unwrap();
    }
    let prompt = "printf '\\033[29;3H%s> ' type";
    writeln!(
        script,
        "{prompt}; while read -r row text; do printf '\\033[%s;5H%s' \"$row\" \"$text\"; {prompt}; done"
    )
    .unwrap();
    script
}

/// The rows of the box, without the prompt.
fn the_box() -> Vec<String> {
    let edge = format!("+{}+", "-".repeat(usize::from(WORKER.cols) - 2));
    let row = |row| format!("|{row:>48}{:>50}|", format!("right {row}"));
    let rows = (2..WORKER.rows).map(row);
    std::iter::once(edge.clone()).chain(rows).chain([edge.clone()]).collect()
}

/// Puts a text into a row of the box, from 1.
fn put(rows: &mut [String], row: usize, col: usize, text: &str) {
    rows[row - 1].replace_range(col - 1..col - 1 + text.len(), text);
}

/// The first columns of some rows, and the status line below.
fn part(rows: &[String], cols: usize, status: &str) -> Vec<String> {
    let cut = |row: &String| row.chars().take(cols).collect::<String>().trim_end().to_owned();
    rows.iter().map(cut).chain([status.to_owned()]).collect()
}

/// What stands on the worker's screen.
fn shot(ground: &Ground) -> Vec<String> {
    let shot = ground.run(&["shot", "w", "--json"]).ok().json();
    shot["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_smaller_terminal_shows_the_part_with_the_cursor_and_says_so() {
    let ground = Ground::new();
    ground.worker("w", &draws_a_box()).expect("w", "type> ");
    let size = Size { cols: 60, rows: 15 };
    let mut person = Person::at_terminal(&ground, &["watch", "w"], size.cols, size.rows);
    let mut expected = the_box();
    put(&mut expected, 29, 3, "type> ");
    let status = " w~1 · 60x14 of 100x30 · q leaves";
    person.shows(size, &part(&expected[15..29], 60, status));

    // What is printed then is drawn where it belongs, and what is beyond the edge is not.
    let (new, top) =
        ("this is new, and it is longer than the terminal of the person is wide", "the topmost row");
    ground.run(&["send", "--keys", "w", &format!("20 {new}")]).ok();
    ground.run(&["send", "--keys", "w", &format!("16 {top}")]).ok();
    put(&mut expected, 20, 5, new);
    put(&mut expected, 16, 5, top);
    person.shows(size, &part(&expected[15..29], 60, status));
    assert_eq!(shot(&ground), expected);

    person.types("q");
    assert_eq!(person.leaves(), 0);
    assert!(person.is_restored());
    assert_eq!(shot(&ground), expected, "the worker's terminal is as large as before");
}

#[test]
fn a_larger_terminal_shows_all_and_wraps_and_scrolls_as_the_worker_does() {
    let ground = Ground::new();
    // More lines than it has rows, and one that is wrapped at its edge.
    let script = "echo ready; read -r _; i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo \"line $i\"; done; \
                  printf '%0120d\\n' 7; printf done; cat";
    ground.worker("w", script).expect("w", "ready");
    let size = Size { cols: 132, rows: 43 };
    let mut person = Person::at_terminal(&ground, &["watch", "w"], size.cols, size.rows);
    person.sees("w~1 · q leaves");
    // The first key takes the hint away.
    person.types("x");
    ground.run(&["send", "w", "go"]).ok();
    ground.expect("w", "done");
    let mut expected = shot(&ground);
    expected.resize(size.rows.into(), String::new());
    person.shows(size, &expected);
    person.types("q");
    assert_eq!(person.leaves(), 0);
    assert!(person.is_restored());
}

#[test]
fn the_part_follows_the_sizes_of_both() {
    let ground = Ground::new();
    ground.worker("w", &draws_a_box()).expect("w", "type> ");
    let mut person = Person::at_terminal(&ground, &["watch", "w"], 60, 15);
    person.sees("60x14 of 100x30");
    person.types("x");
    person.resizes(80, 20);
    person.sees("80x19 of 100x30");
    ground.run(&["resize", "w", "90x25"]).ok();
    let rows = shot(&ground);
    let size = Size { cols: 80, rows: 20 };
    let cursor = rows.iter().position(|row| row.contains("type>")).unwrap();
    person.shows(size, &part(&rows[cursor - 18..=cursor], 80, " w~1 · 80x19 of 90x25 · q leaves"));
    // All of it is shown, and nothing has to be said any more.
    ground.run(&["resize", "w", "40x10"]).ok();
    let mut rows = shot(&ground);
    rows.resize(20, String::new());
    person.shows(size, &rows);
    person.types("q");
    assert_eq!(person.leaves(), 0);
    assert!(person.is_restored());
}
