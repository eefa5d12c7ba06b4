//! Whether a worker that was just started lives, or died at once.

use std::path::Path;
use std::time::{Duration, Instant};

use looop_core::model::moves::one_line;
use looop_core::model::outcome::Outcome;
use looop_session::{Ended, Launched, Standing, Watched, host};

/// Between the first two looks at what a child does, for which the kernel has no event. While it runs the gaps grow to the
/// second; its end is noticed at once.
const GAPS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));
/// A child that has worked for so long has not died at once.
#[cfg(target_os = "linux")]
const WORKED: Duration = Duration::from_millis(50);
/// After so long it counts as living, however little it could do.
#[cfg(target_os = "linux")]
const PATIENCE: Duration = Duration::from_secs(2);
/// Where it cannot be seen whether a child waits, this long is waited for its end.
#[cfg(not(target_os = "linux"))]
const PATIENCE: Duration = Duration::from_millis(50);
/// How many generations of processes are looked at.
#[cfg(target_os = "linux")]
const DEEPEST: usize = 16;
/// What is looked at of the output.
const TAIL: u64 = 4 << 10;

/// What one look showed.
enum Look {
    /// It waits for something: input, a timer. A shell that waits for its command is not meant, but that command.
    Waits { who: i32 },
    /// It is on its way.
    Runs { worked: Duration },
}

/// Watches a session just started until it waits for something, has done some work, or has ended, and says what came of
/// its start. One that has done its work already did not die.
pub(crate) fn outcome(root: &Path, session: &str, launched: &Launched) -> Outcome {
    let folder = root.join(session);
    match watch(&folder, launched.pid()) {
        None => Outcome::done(),
        Some(Standing::Ended(receipt)) if matches!(receipt.ended, Ended::Exited(0) | Ended::Killed) => {
            let how = super::sense::ended(receipt.ended).text();
            Outcome::Done { note: Some(format!("it has ended already: {how}")), shell: None }
        }
        Some(standing @ (Standing::Lost | Standing::Corrupt(_))) => {
            Outcome::Interrupted { reason: ending(&folder, &standing) }
        }
        Some(standing) => Outcome::failed(ending(&folder, &standing)),
    }
}

/// How it stands, if it has ended before it settled. What cannot be found out counts as living.
fn watch(folder: &Path, host: u32) -> Option<Standing> {
    let begun = Instant::now();
    let watched = Watched::of(host).ok()?;
    let (mut child, mut waited, mut gap) = (None, None, GAPS.0);
    while begun.elapsed() < PATIENCE {
        match &watched {
            Some(watched) if !watched.wait(gap).ok()? => {}
            // A child that was not started to its end may hold the lock a little longer than its host lives.
            Some(_) | None => return host::wait(folder).ok(),
        }
        match look(folder, &mut child) {
            Look::Waits { who } if waited == Some(who) => return None,
            Look::Waits { who } => (waited, gap) = (Some(who), GAPS.0),
            Look::Runs { worked } if has_worked(worked) => return None,
            Look::Runs { .. } => (waited, gap) = (None, GAPS.1.min(gap * 2)),
        }
    }
    None
}

fn look(folder: &Path, child: &mut Option<i32>) -> Look {
    if child.is_none() {
        // What cannot be read now is looked for again.
        *child = host::child(folder).ok().flatten();
    }
    child.and_then(activity).unwrap_or(Look::Runs { worked: Duration::ZERO })
}

/// How it ended, with its last words.
fn ending(folder: &Path, standing: &Standing) -> String {
    let how = match standing {
        Standing::Ended(receipt) => super::sense::ended(receipt.ended.clone()).text(),
        Standing::Lost | Standing::Live => "its host died".to_owned(),
        Standing::NeverRan | Standing::Absent => "its host could not start it".to_owned(),
        Standing::Corrupt(what) => what.clone(),
    };
    match last_words(folder) {
        Some(words) => format!("it died at once ({how}): {words}"),
        None => format!("it died at once ({how})"),
    }
}

/// The last line of the output that shows something.
fn last_words(folder: &Path) -> Option<String> {
    let tail = host::output_tail(folder, TAIL).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let mut lines = text.lines().rev().map(|line| one_line(&plain(line), 300));
    lines.find(|line| !line.is_empty())
}

/// A line without escape sequences.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\u{1b}', Some('[')) => {
                chars.next();
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            // A character set takes one more.
            ('\u{1b}', Some('(' | ')')) => drop(chars.nth(1)),
            ('\u{1b}', _) => drop(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(target_os = "linux")]
fn has_worked(worked: Duration) -> bool {
    worked >= WORKED
}

#[cfg(not(target_os = "linux"))]
fn has_worked(_: Duration) -> bool {
    false
}

/// What a process is doing, or the one that it waits for. `None`: it is gone, or about to be.
#[cfg(target_os = "linux")]
fn activity(pid: i32) -> Option<Look> {
    let who = foremost(pid);
    let stat = std::fs::read_to_string(format!("/proc/{who}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "S" {
        return Some(Look::Waits { who });
    }
    // After the state, the times in user mode and in the kernel are the 11th and 12th.
    let ticks: u64 = fields.skip(10).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    let each = rustix::param::clock_ticks_per_second().max(1);
    Some(Look::Runs { worked: Duration::from_millis(ticks * 1000 / each) })
}

/// The youngest child of the youngest child, and so on: whom a shell waits for. Where the kernel does not tell, the
/// process itself.
#[cfg(target_os = "linux")]
fn foremost(pid: i32) -> i32 {
    let youngest = |pid: &i32| {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        children.split_whitespace().last()?.parse().ok()
    };
    std::iter::successors(Some(pid), youngest).take(DEEPEST).last().unwrap_or(pid)
}

#[cfg(not(target_os = "linux"))]
fn activity(_: i32) -> Option<Look> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_colours() {
        let table =
            [("plain", "plain"), ("\u{1b}[1;31mred\u{1b}[0m", "red"), ("a\u{1b}(Bb", "ab"), ("\u{1b}[", "")];
        for (line, expected) in table {
            assert_eq!(plain(line), expected, "{line:?}");
        }
    }
}
