//! `looop status`.

use std::process::ExitCode;

use clap::Args;
use looop_core::view::lines::Tone;
use looop_core::view::status::{SpendView, Status as View, WorkerView, age_text};

use super::args::Json;
use super::print;
use crate::clock;
use crate::failure::Result;
use crate::ops::{Place, reaches_the_loop, see};

/// How things stand: last beat and why, goals, workers, asks, spend
#[derive(Args, Debug)]
#[command(visible_alias = "state")]
pub(super) struct Status {
    #[command(flatten)]
    json: Json,
}

impl Status {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        reaches_the_loop(place)?;
        let seen = see::see(place)?;
        let status = seen.status();
        if self.json.json {
            print::json(&status)?;
            return Ok(ExitCode::SUCCESS);
        }
        print::out(&format!("profile   {}", place.data.display()));
        head(&status);
        trouble(&status);
        goals(&status);
        workers(&status);
        tail(&status);
        Ok(ExitCode::SUCCESS)
    }
}

fn head(status: &View) {
    print::out(&format!("pulse     {}", pulse(status)));
    print::out(&format!("deciders  {}", status.deciders.join(", then ")));
    match &status.last {
        Some(last) => print::out(&format!("last beat #{}, {} ago", last.beat, age_text(Some(last.age_s)))),
        None => print::out("last beat none yet; looop beat makes one"),
    }
    if let Some(why) = &status.why {
        print::out(&format!("why       {why}"));
    }
    for work in &status.under_way {
        print::out(&format!("under way {work}"));
    }
    print::out(&format!("today     {}", today(&status.spend)));
    if let Some(runner) = status.spend.unreported_by.as_ref().filter(|_| status.spend.unreported_usd > 0.0) {
        let how = looop_core::purse::how_to_report(runner, status.spend.unpriced.as_deref());
        print::out(&format!("          {how}"));
    }
}

/// Today against the caps: what was spent, what is reserved, and what was reserved and not reported.
fn today(spend: &SpendView) -> String {
    let cap = spend.cap_usd.map_or_else(|| " (no cap)".to_owned(), |cap| format!(" of ${cap:.2}"));
    let some = |usd: f64, what: &str| if usd > 0.0 { format!(", ${usd:.2} {what}") } else { String::new() };
    let open =
        some(spend.reserved_usd, "reserved") + &some(spend.unreported_usd, "reserved and not reported");
    let tokens = match (spend.tokens, spend.cap_tokens) {
        (0, None) => String::new(),
        (tokens, None) => format!(", {tokens} tokens"),
        (tokens, Some(cap)) => format!(", {tokens} of {cap} tokens"),
    };
    format!("${:.2}{cap} spent{open}{tokens}, {} decides", spend.usd, spend.decides)
}

/// Whether the loop runs, and when it looks next.
fn pulse(status: &View) -> String {
    let now = clock::now();
    let Some(pulse) = &status.pulse else {
        return match status.holder {
            Some(pid) => format!("not running; process {pid} works on the profile"),
            None => "not running; looop up starts it".to_owned(),
        };
    };
    let kind = if pulse.detached { "up" } else { "in the foreground" };
    let since = age_text(u64::try_from(now.wall.saturating_sub(pulse.since) / 1000).ok());
    let next = pulse.next.as_ref().map_or_else(
        || "looking now".to_owned(),
        |next| {
            let left = age_text(u64::try_from(next.at.saturating_sub(now.wall).max(0) / 1000).ok());
            format!("looks next in {left}: {}", next.why)
        },
    );
    format!("{kind} for {since} (process {}); {next}", pulse.pid)
}

fn trouble(status: &View) {
    let bad = |text: String| print::out_toned(&text, Tone::Bad);
    if let Some(paused) = &status.paused {
        bad(format!("paused    {paused}"));
    }
    if let Some(failures) = &status.failures {
        let next = match failures.wait_left_s {
            0 => "next try at the next beat".to_owned(),
            left => format!("next try in {} (looop beat tries now)", age_text(Some(left))),
        };
        bad(format!("failures  {} in a row, {next}: {}", failures.count, failures.reason));
    }
    for broken in &status.broken {
        bad(format!("broken    {broken}"));
    }
    for (goal, problem) in
        status.goals.iter().flat_map(|goal| goal.problems.iter().map(move |p| (&goal.id, p)))
    {
        bad(format!("goal      goals/{goal}.md {problem}"));
    }
    for channel in &status.undelivered {
        bad(format!("notices   {channel}"));
    }
    for (goal, broke) in status.goals.iter().filter_map(|goal| Some((&goal.id, goal.broke.as_ref()?))) {
        bad(format!("budget    {broke}; raise budget_usd in goals/{goal}.md"));
    }
    for worker in status.workers.iter().filter(|worker| worker.over_allowance) {
        bad(format!("worker    {} {}", worker.id, worker.text));
    }
    for worker in status.workers.iter().filter(|worker| worker.review.is_some()) {
        let branch = worker.branch.as_deref().unwrap_or_default();
        print::out_toned(
            &format!("review    {0} is done, on {branch}: looop review {0}", worker.id),
            Tone::Ask,
        );
    }
    for sensor in &status.failing {
        bad(format!("failing   sensor {sensor}; looop sensor run {sensor} shows why"));
    }
}

fn goals(status: &View) {
    if status.goals.is_empty() {
        print::out("\nno goals; looop goal write <id> 'text' makes one");
        return;
    }
    let row = |goal: &looop_core::view::status::GoalView| {
        let late = if goal.overdue { " (overdue)" } else { "" };
        vec![
            goal.id.clone(),
            format!("{}{late}", goal.state),
            age_text(goal.served_age_s),
            goal.last.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = status.goals.iter().map(row).collect();
    print::out(&format!("\n{}", print::table(&["goal", "state", "served", "last"], &rows)));
}

/// The workers that live; of the others their number.
fn workers(status: &View) {
    let live: Vec<&WorkerView> = status.workers.iter().filter(|worker| worker.alive).collect();
    let row = |worker: &&WorkerView| {
        let waits = worker.waits_on.as_ref().map_or(String::new(), |ask| format!(" on {ask}"));
        vec![
            worker.id.clone(),
            format!("{}{waits}", if worker.paused { "paused" } else { worker.health }),
            worker.goal.clone().unwrap_or_default(),
            age_text(Some(worker.ran_s)),
            worker
                .allowed_usd
                .map_or_else(String::new, |most| format!("${:.2} of ${most:.2}", worker.spent_usd)),
        ]
    };
    if !live.is_empty() {
        let rows: Vec<Vec<String>> = live.iter().map(row).collect();
        print::out(&format!("\n{}", print::table(&["worker", "health", "goal", "for", "spent"], &rows)));
    }
    let ended = status.workers.len() - live.len();
    if ended > 0 {
        print::out(&format!("\n{ended} ended; looop worker list shows them"));
    }
    for worker in status.workers.iter().filter(|worker| worker.review.is_none()) {
        if let Some(branch) = &worker.branch {
            print::out(&format!("{0} left work that is not proven on {branch}: looop review {0}", worker.id));
        }
    }
}

fn tail(status: &View) {
    if !status.asks.is_empty() {
        print::out("");
    }
    for ask in &status.asks {
        let line = format!("? {}: {}", ask.id, looop_core::model::moves::one_line(&ask.prompt, 200));
        print::out_toned(&line, Tone::Ask);
        print::out(&format!("  looop answer {} '…'", ask.id));
    }
    if !status.journal.is_empty() {
        print::out(&format!("\n{}", status.journal.join("\n")));
    }
}
