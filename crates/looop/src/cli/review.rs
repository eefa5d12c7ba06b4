//! `looop review [id]`, `looop merge <id>`, `looop discard <id>` and `looop pr <id>`.

use std::process::ExitCode;

use clap::Args;
use looop_core::model::work::Settle;
use looop_core::view::lines::Tone;
use looop_core::view::status::age_text;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::review::{self, Done, Open, Whole};

/// Lines of a diff that are shown unasked.
const LINES: usize = 300;
/// Lines of a proof's output that are shown.
const PROOF: usize = 15;

/// Look at the work of workers: branch, commits, diff and proof
///
/// Without an id it lists all work that is neither merged nor discarded. Then: looop merge, looop pr, looop discard.
///
/// Examples:
///   looop review            what waits
///   looop review fix        the work of worker fix
///   looop review fix~2      that of an earlier session
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Review {
    /// Which worker or session
    id: Option<String>,
    /// The whole diff, however long it is
    #[arg(long, requires = "id")]
    full: bool,
    #[command(flatten)]
    json: Json,
}

/// Merge the work of a worker into the branch that is checked out
///
/// What the worker had not committed is committed on its branch first. Hooks are not run. If that would conflict, or
/// if files are in the way that you changed, nothing is changed. After a merge the worker's copy and branch are removed.
#[derive(Args, Debug)]
pub(super) struct Merge {
    /// Which worker or session
    id: String,
    #[command(flatten)]
    json: Json,
}

/// Throw the work of a worker away: its copy and its branch
///
/// The goal may be served again; the next worker is told that, and why.
#[derive(Args, Debug)]
pub(super) struct Discard {
    /// Which workers or sessions
    #[arg(required = true)]
    ids: Vec<String>,
    /// Why, for the next worker
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    #[command(flatten)]
    json: Json,
}

/// Push the branch of a worker and open a pull request
///
/// The pull request is opened by gh, if that is installed and granted (looop init --grant gh); else it is said how to.
/// The work waits until it is merged or discarded.
#[derive(Args, Debug)]
pub(super) struct Pr {
    /// Which worker or session
    id: String,
    #[command(flatten)]
    json: Json,
}

impl Review {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.id {
            Some(id) => self.show(place, id)?,
            None => self.list(place)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn list(&self, place: &Place) -> Result<()> {
        let all = review::list(place)?;
        if self.json.json {
            return print::json(&all);
        }
        if all.is_empty() {
            print::say("no work waits; a worker whose goal has a repo leaves some");
            return Ok(());
        }
        let header = ["work", "goal", "branch", "commits", "files", "proof", "cost", "ended"];
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        print::out(&print::table(&header, &rows));
        print::say("looop review <id> shows one; then looop merge, pr or discard <id>");
        Ok(())
    }

    fn show(&self, place: &Place, id: &str) -> Result<()> {
        let work = review::show(place, id)?;
        if self.json.json {
            return print::json(&work);
        }
        head(&work);
        body(&work, if self.full { usize::MAX } else { LINES });
        next(&work);
        Ok(())
    }
}

fn row(open: &Open) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        open.session.clone(),
        text(&open.goal),
        text(&open.branch),
        open.commits.to_string(),
        open.files.to_string(),
        open.problem.as_ref().map_or_else(|| proof_word(open).to_owned(), |_| "not known".to_owned()),
        format!("${:.2}", open.cost_usd),
        format!("{} ago", age_text(open.ended_ago_s)),
    ]
}

/// Whether the work is proven, in words.
fn proof_word(open: &Open) -> &'static str {
    match (open.verify, &open.check) {
        (Some("pass"), _) => "proven",
        (Some("fail"), _) => "not proven",
        (Some(_), _) => "no change",
        (None, Some(_)) => "not tried yet",
        (None, None) => "no check",
    }
}

fn head(work: &Whole) {
    let open = &work.open;
    let goal = open.goal.as_ref().map_or_else(String::new, |goal| format!(" for goal {goal}"));
    print::out(&format!("work      {}{goal}", open.session));
    print::out(&format!("ended     {}, {} ago", open.ended, age_text(open.ended_ago_s)));
    let repo = open.repo.as_ref().map(|repo| repo.display().to_string()).unwrap_or_default();
    let branch = open.branch.as_deref().unwrap_or("-");
    print::out(&format!("branch    {branch} in {repo} ({} is checked out)", work.onto));
    let tone = if open.verify == Some("pass") { Tone::Good } else { Tone::Plain };
    let check = open.check.as_ref().map_or_else(String::new, |check| format!(" by {check}"));
    print::out_toned(&format!("proof     {}{check}", proof_word(open)), tone);
    if open.verify == Some("fail") {
        let said = if work.proof_tail.trim().is_empty() {
            open.proof.as_deref()
        } else {
            Some(work.proof_tail.as_str())
        };
        let lines: Vec<&str> = said.unwrap_or_default().lines().collect();
        lines
            .iter()
            .skip(lines.len().saturating_sub(PROOF))
            .for_each(|line| print::out(&format!("          {line}")));
    }
    print::out(&format!("cost      ${:.2}", open.cost_usd));
    print::out(&format!("log       looop log {} ({})", open.session, work.transcript.display()));
    if let Some(pr) = &open.pr {
        print::out(&format!("request   {pr}"));
    }
    if let Some(problem) = &open.problem {
        print::out_toned(&format!("problem   {problem}"), Tone::Bad);
    }
}

fn body(work: &Whole, most: usize) {
    if !work.log.is_empty() {
        print::out("");
    }
    for (name, subject) in &work.log {
        print::out(&format!("{name} {subject}"));
    }
    if !work.uncommitted.is_empty() {
        let shown: Vec<&str> = work.uncommitted.iter().take(PROOF).map(String::as_str).collect();
        print::out(&format!("not committed: {}", shown.join(", ")));
    }
    if !work.stat.is_empty() {
        print::out(&format!("\n{}", work.stat.trim_end()));
    }
    let lines: Vec<&str> = work.diff.lines().collect();
    if !lines.is_empty() {
        print::out("");
    }
    lines.iter().take(most).for_each(|line| print::out_toned(line, tone_of(line)));
    if lines.len() > most {
        let (more, session) = (lines.len() - most, &work.open.session);
        print::out(&format!("… {more} more lines: looop review {session} --full"));
    }
}

fn tone_of(line: &str) -> Tone {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Tone::Plain,
        [b'+', ..] => Tone::Good,
        [b'-', ..] => Tone::Bad,
        [b'@', ..] => Tone::Dim,
        _ => Tone::Plain,
    }
}

fn next(work: &Whole) {
    let id = &work.open.session;
    print::say(&format!(
        "\nlooop merge {id}      merge it into {}\nlooop pr {id}         push it and open a pull request\nlooop discard {id}    \
         throw it away (--because TEXT tells the next worker why)",
        work.onto
    ));
}

fn settle(place: &Place, id: &str, (how, because, json): (Settle, Option<String>, bool)) -> Result<ExitCode> {
    let Done { session, text, removed, remains } = review::settle(place, id, how, because)?;
    if json {
        print::json(&json!({
            "v": 1, "session": session, "done": how.verb(), "text": text, "removed": removed, "remains": remains,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print::out(&format!("{} the work of {session}: {text}", how.done()));
    for session in &removed {
        print::out(&format!("removed the earlier work of {session}, all of which is merged"));
    }
    for earlier in &remains {
        print::out(&format!("the earlier work of {} remains on {}", earlier.session, earlier.branch));
    }
    if !remains.is_empty() {
        let sessions: Vec<&str> = remains.iter().map(|earlier| earlier.session.as_str()).collect();
        print::say(&format!("looop discard {} removes what remains", sessions.join(" ")));
    }
    Ok(ExitCode::SUCCESS)
}

impl Merge {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        settle(place, &self.id, (Settle::Merge, None, self.json.json))
    }
}

impl Discard {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        for id in &self.ids {
            settle(place, id, (Settle::Discard, self.because.clone(), self.json.json))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Pr {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        settle(place, &self.id, (Settle::PullRequest, None, self.json.json))
    }
}
