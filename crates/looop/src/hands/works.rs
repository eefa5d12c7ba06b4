//! The work of workers: what one left in its copy of a repository, and what a person does with it.

use std::collections::BTreeSet;
use std::path::Path;

use looop_core::model::moves::one_line;
use looop_core::model::work::{Settle, Work};
use looop_core::world::fleet::worker_of;
use looop_session::Ended;
use looop_store::Reader;

use super::git::{Copy, Git};
use super::worktree::{Origin, forget, note, noted, origin, path, take_down};
use crate::config::Config;

/// Files that are named where there are many.
const NAMED: usize = 5;
/// What a commit of changes that a worker had not committed begins with.
pub(super) const LEFT_OVER: &str = "Uncommitted changes";
/// What git keeps in its folder while something is under way, and what that is.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// One worker's work, with what is needed to deal with it.
pub(super) struct Desk<'a> {
    pub(super) git: Git<'a>,
    copy: Copy<'a>,
    pub(super) origin: &'a Origin,
    pub(super) session: &'a str,
    pub(super) goal: &'a str,
}

/// What a session that has ended left in its copy. What it had not committed is committed on its branch, so that what is
/// proven, shown and merged is the same.
pub(crate) fn inspect(reader: &Reader, config: &Config, of: (&str, &str)) -> Work {
    measured((reader, config), of, false)
}

/// The same without changing anything: what is not committed counts as one more commit.
pub(crate) fn count(reader: &Reader, config: &Config, of: (&str, &str)) -> Work {
    measured((reader, config), of, true)
}

fn measured((reader, config): (&Reader, &Config), (session, goal): (&str, &str), as_it_is: bool) -> Work {
    let origin = match origin(reader, session) {
        Ok(Some(origin)) => origin,
        // Nothing is left that could be lost.
        Ok(None) => return Work::default(),
        Err(problem) => return Work { problem: Some(problem), ..Work::default() },
    };
    let target = path(reader, session);
    let desk =
        Desk { git: origin.git(reader, config), copy: origin.copy(&target), origin: &origin, session, goal };
    let branch = origin.branch.clone();
    let amount = if as_it_is { desk.amount_as_it_is() } else { desk.gather().and_then(|()| desk.amount()) };
    amount.unwrap_or_else(|problem| {
        let problem = Some(format!("its copy {} cannot be looked at: {problem}", target.display()));
        Work { branch, problem, ..Work::default() }
    })
}

/// Puts a copy back to what is committed there: the command that proves the work may have left something.
pub(crate) fn restore(reader: &Reader, config: &Config, session: &str) -> Result<(), String> {
    let Some(origin) = origin(reader, session)? else { return Ok(()) };
    let (git, target) = (origin.git(reader, config), path(reader, session));
    let copy = origin.copy(&target);
    if git.copy(&copy, &["status", "--porcelain"])?.is_empty() {
        return Ok(());
    }
    git.copy(&copy, &["reset", "--quiet", "--hard"])?;
    git.copy(&copy, &["clean", "--quiet", "-f", "-d"]).map(drop)
}

/// Says what would be lost if the copy and the branch of a session were removed, if anything would.
pub(super) fn lost_with(
    reader: &Reader,
    config: &Config,
    (session, origin): (&str, &Origin),
) -> Result<(), String> {
    let target = path(reader, session);
    let (git, id) = (origin.git(reader, config), worker_of(session));
    if target.exists() {
        let changed = git.copy(&origin.copy(&target), &["--no-optional-locks", "status", "--porcelain"]);
        let changed = changed.map_err(|words| format!("its copy {} stays: {words}", target.display()))?;
        if let Some(first) = changed.lines().next() {
            let first = one_line(first.get(3..).unwrap_or_default(), 100);
            return Err(format!("its copy has changes that are not committed ({first}): looop review {id}"));
        }
    }
    if is_branch(&git, &origin.branch)?
        && !git.tells(&["merge-base", "--is-ancestor", &head(origin), "HEAD"])?
    {
        return Err(format!(
            "its work on {} is neither merged nor discarded: looop review {id}",
            origin.branch
        ));
    }
    Ok(())
}

pub(super) fn head(origin: &Origin) -> String {
    format!("refs/heads/{}", origin.branch)
}

fn is_branch(git: &Git<'_>, branch: &str) -> Result<bool, String> {
    git.tells(&["rev-parse", "--quiet", "--verify", &format!("refs/heads/{branch}")])
}

/// Deletes the branch of a worker, whatever is on it.
pub(super) fn drop_branch(reader: &Reader, config: &Config, origin: &Origin) -> Result<(), String> {
    let git = origin.git(reader, config);
    if is_branch(&git, &origin.branch)? {
        git.plain(&["branch", "--quiet", "-D", &origin.branch])?;
    }
    Ok(())
}

/// Where the work of a session is, as far as something of it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Whereabouts {
    pub(crate) repo: std::path::PathBuf,
    pub(crate) branch: String,
    pub(crate) pr: Option<String>,
}

/// Where the work of a session is.
pub(crate) fn whereabouts(reader: &Reader, session: &str) -> Result<Option<Whereabouts>, String> {
    let known = |Origin { repo, branch, pr, .. }| Whereabouts { repo, branch, pr };
    Ok(origin(reader, session)?.map(known))
}

/// Tells of a session whether it may have a branch, by one look at the folder of worktrees. What cannot be looked at says
/// so when its branch is read.
pub(crate) fn with_branches(reader: &Reader) -> impl Fn(&str) -> bool {
    let noted = noted(reader);
    move |session| noted.as_ref().is_none_or(|noted| noted.contains(session))
}

/// The work of a session, to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// What is checked out in the repository.
    pub(crate) onto: String,
    /// The newest commits: name and subject.
    pub(crate) log: Vec<(String, String)>,
    /// How many files they change.
    pub(crate) files: u64,
    pub(crate) stat: String,
    pub(crate) diff: String,
    /// Files in the copy that are not committed.
    pub(crate) uncommitted: Vec<String>,
}

/// Looks at the work of a session. Nothing is changed.
pub(crate) fn show(reader: &Reader, config: &Config, session: &str) -> Result<Shown, String> {
    let origin = origin(reader, session)?.ok_or_else(|| gone(session))?;
    let (git, target) = (origin.git(reader, config), path(reader, session));
    let (since, range) = (format!("HEAD..{}", head(&origin)), format!("HEAD...{}", head(&origin)));
    let log = git.plain(&["log", "--format=%h%x09%s", "--max-count=50", &since])?;
    let commits = log.lines().filter_map(|line| line.split_once('\t'));
    let plain = ["--no-color", "--no-ext-diff", "--no-textconv"];
    let with = |more: &[&str]| git.plain(&[&["diff"], &plain[..], more, &[range.as_str()]].concat());
    let status = git.copy(&origin.copy(&target), &["--no-optional-locks", "status", "--porcelain"])?;
    Ok(Shown {
        onto: current(&git).unwrap_or_else(|_| "HEAD".to_owned()),
        log: commits.map(|(name, subject)| (name.to_owned(), subject.to_owned())).collect(),
        files: u64::try_from(with(&["--name-only", "-z"])?.matches('\0').count()).unwrap_or(u64::MAX),
        stat: with(&["--stat=80"])?,
        diff: with(&[])?,
        uncommitted: status.lines().filter_map(|line| Some(line.get(3..)?.to_owned())).collect(),
    })
}

fn gone(session: &str) -> String {
    format!("nothing is kept of the work of {session}; looop discard {session} settles it")
}

/// The branch that is checked out.
pub(super) fn current(git: &Git<'_>) -> Result<String, String> {
    let branch = git.plain(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    branch.map(|branch| branch.trim().to_owned()).map_err(|_| {
        format!(
            "{} has no branch checked out (its HEAD is detached); check out the branch that shall get the work",
            git.repo.display()
        )
    })
}

/// Does with the work of a session what a person wants, and says what was done. Each step can be done again: what an
/// earlier call did is found and not done twice.
pub(crate) fn settle(
    reader: &Reader,
    config: &Config,
    (session, goal): (&str, &str),
    how: Settle,
) -> Result<String, String> {
    let Some(origin) = origin(reader, session)? else {
        return match how {
            Settle::Discard => Ok("nothing of it was left".to_owned()),
            Settle::Merge | Settle::PullRequest => Err(gone(session)),
        };
    };
    let target = path(reader, session);
    let desk =
        Desk { git: origin.git(reader, config), copy: origin.copy(&target), origin: &origin, session, goal };
    let said = match (origin.done, how) {
        (Some(done), _) if done == how => format!("it was {} before", done.done()),
        (Some(done), _) => {
            return Err(format!(
                "the work of {session} was {} already; looop {} {session} ends that",
                done.done(),
                done.verb()
            ));
        }
        (None, Settle::Merge) => desk.merge()?,
        (None, Settle::Discard) => desk.discard()?,
        (None, Settle::PullRequest) => return desk.publish(),
    };
    let known = Origin { done: Some(how), ..origin.clone() };
    note(reader, session, &known).map_err(|error| format!("{said}; and that could not be noted: {error}"))?;
    looop_session::point("works.settled");
    take_down(reader, config, (session, &origin))?;
    looop_session::point("works.taken-down");
    drop_branch(reader, config, &origin)?;
    looop_session::point("works.branch-dropped");
    forget(reader, session)?;
    Ok(said)
}

impl Desk<'_> {
    pub(super) fn branch(&self) -> &str {
        &self.origin.branch
    }

    /// The commit at the end of the branch.
    fn tip(&self) -> Result<String, String> {
        Ok(self.git.plain(&["rev-parse", "--verify", &head(self.origin)])?.trim().to_owned())
    }

    fn is_ancestor(&self, of: &str, than: &str) -> Result<bool, String> {
        self.git.tells(&["merge-base", "--is-ancestor", of, than])
    }

    /// Sees to it that the branch has all that is in the copy.
    pub(super) fn gather(&self) -> Result<(), String> {
        if !self.copy.path.exists() {
            return Ok(());
        }
        if !self.git.copy(&self.copy, &["status", "--porcelain"])?.is_empty() {
            self.commit()?;
        }
        let own = self.git.copy(&self.copy, &["rev-parse", "HEAD"])?.trim().to_owned();
        let tip = self.tip()?;
        if own == tip || self.is_ancestor(&own, &tip)? {
            return Ok(());
        }
        if !self.is_ancestor(&tip, &own)? {
            return Err(format!("it is at {own}, which does not follow its branch {}", self.branch()));
        }
        self.git.plain(&["update-ref", &head(self.origin), &own, &tip]).map(drop)
    }

    /// Commits what the worker had not committed.
    fn commit(&self) -> Result<(), String> {
        let goal = if self.goal.is_empty() { String::new() } else { format!(" for goal {}", self.goal) };
        let message =
            format!("{LEFT_OVER} of worker {}{goal}\n\nSession {}.", worker_of(self.session), self.session);
        self.git.copy(&self.copy, &["add", "--all"])?;
        let known = self.git.copy(&self.copy, &["var", "GIT_COMMITTER_IDENT"]).is_ok();
        let name = ["-c", "user.name=looop", "-c", "user.email=looop@localhost"];
        let commit = ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", &message];
        let words = [if known { &[][..] } else { &name[..] }, &commit].concat();
        self.git.copy(&self.copy, &words)?;
        looop_session::point("works.committed");
        Ok(())
    }

    /// The commit that the branch was started from.
    fn base(&self) -> &str {
        self.origin.base.as_deref().unwrap_or("HEAD")
    }

    /// How many commits one has more than the base.
    fn commits(&self, tip: &str) -> Result<u64, String> {
        let commits = self.git.plain(&["rev-list", "--count", &format!("{}..{tip}", self.base())])?;
        commits.trim().parse().map_err(|error| format!("git counted {commits}: {error}"))
    }

    /// How much is on the branch.
    fn amount(&self) -> Result<Work, String> {
        let (commits, range) =
            (self.commits(&head(self.origin))?, format!("{}...{}", self.base(), head(self.origin)));
        let files = self.git.plain(&["diff", "--name-only", "-z", &range])?;
        let files = u64::try_from(files.matches('\0').count()).unwrap_or(u64::MAX);
        Ok(Work { branch: self.branch().to_owned(), commits, files, problem: None })
    }

    /// How much will be on the branch once it has all that is in the copy.
    fn amount_as_it_is(&self) -> Result<Work, String> {
        if !self.copy.path.exists() {
            return self.amount();
        }
        let quiet = |words: &[&str]| self.git.copy(&self.copy, &[&["--no-optional-locks"], words].concat());
        let open = u64::from(!quiet(&["status", "--porcelain"])?.is_empty());
        let tip = quiet(&["rev-parse", "HEAD"])?;
        let mut names = quiet(&["diff", "--name-only", "-z", self.base()])?;
        names.push_str(&quiet(&["ls-files", "--others", "--exclude-standard", "-z"])?);
        let files: BTreeSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        Ok(Work {
            branch: self.branch().to_owned(),
            commits: self.commits(tip.trim())?.saturating_add(open),
            files: u64::try_from(files.len()).unwrap_or(u64::MAX),
            problem: None,
        })
    }

    /// Merges the branch into what is checked out, or changes nothing.
    fn merge(&self) -> Result<String, String> {
        self.is_quiet()?;
        let onto = current(&self.git)?;
        if onto == self.branch() {
            return Err(format!(
                "{onto} itself is checked out; check out the branch that shall get the work"
            ));
        }
        self.gather()?;
        let (tip, head) = (self.tip()?, self.commit_of("HEAD")?);
        if self.is_ancestor(&tip, &head)? {
            return Ok(format!("{onto} has it already"));
        }
        let target = if self.is_ancestor(&head, &tip)? { tip } else { self.joined(&onto, (&head, &tip))? };
        self.is_clear((&head, &target))?;
        looop_session::point("works.merging");
        let words = ["merge", "--quiet", "--ff-only", "--no-stat", "--no-autostash", &target];
        self.git.checkout(&words).map_err(|words| {
            format!("{} could not be merged into {onto}, and nothing was changed: {words}", self.branch())
        })?;
        Ok(format!("{} is merged into {onto} as {}", self.branch(), &target[..target.len().min(10)]))
    }

    fn commit_of(&self, name: &str) -> Result<String, String> {
        Ok(self.git.plain(&["rev-parse", "--verify", name])?.trim().to_owned())
    }

    /// Whether nothing is under way in the repository.
    fn is_quiet(&self) -> Result<(), String> {
        let folder = self.git.plain(&["rev-parse", "--absolute-git-dir"])?;
        let folder = Path::new(folder.trim());
        match UNDER_WAY.iter().find(|(file, _)| folder.join(file).exists()) {
            Some((_, what)) => Err(format!(
                "{what} is under way in {}; finish or abort it first, then merge again. Nothing was changed",
                self.git.repo.display()
            )),
            None => Ok(()),
        }
    }

    /// A commit that joins both. It is made beside what is checked out, so that a conflict changes nothing.
    fn joined(&self, onto: &str, (head, tip): (&str, &str)) -> Result<String, String> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", head, tip];
        let done = self.git.done(&words)?;
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut lines = printed.lines();
        let tree = lines.next().unwrap_or_default().to_owned();
        if done.ended == Ended::Exited(1) {
            let files: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
            let (id, branch) = (worker_of(self.session), self.branch());
            return Err(format!(
                "{branch} conflicts with {onto} in {}, and nothing was changed. Merge it by hand: git -C {} merge \
                 {branch}, then looop merge {id}; or looop discard {id} --because '…'",
                named(&files),
                self.git.repo.display()
            ));
        }
        if done.ended != Ended::Exited(0) {
            let said = one_line(&String::from_utf8_lossy(&done.stderr), 200);
            return Err(format!("git cannot merge without a checkout (2.38 or newer can): {said}"));
        }
        let goal = if self.goal.is_empty() { String::new() } else { format!(" for goal {}", self.goal) };
        let message =
            format!("Merge branch '{}' into {onto}\n\nWork of {}{goal}.", self.branch(), self.session);
        let known = self.git.plain(&["var", "GIT_COMMITTER_IDENT"]).is_ok();
        let name = ["-c", "user.name=looop", "-c", "user.email=looop@localhost"];
        let commit = ["commit-tree", &tree, "-p", head, "-p", tip, "-m", &message];
        let words = [if known { &[][..] } else { &name[..] }, &commit].concat();
        Ok(self.git.plain(&words)?.trim().to_owned())
    }

    /// Whether nothing in the checkout is in the way of what changes between two commits.
    fn is_clear(&self, (from, to): (&str, &str)) -> Result<(), String> {
        let list = |words: &[&str]| -> Result<BTreeSet<String>, String> {
            let printed = self.git.plain(words)?;
            Ok(printed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
        };
        let touched = list(&["diff", "--name-only", "--no-renames", "-z", from, to])?;
        let changed = list(&["diff", "--name-only", "--no-renames", "-z", "HEAD"])?;
        let added = list(&["diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", from, to])?;
        let top = self.git.plain(&["rev-parse", "--show-toplevel"])?;
        // git would overwrite a file that it ignores.
        let there = |name: &String| Path::new(top.trim_end()).join(name).symlink_metadata().is_ok();
        let is_in_way = |name: &&String| changed.contains(*name) || added.contains(*name) && there(name);
        let in_way: Vec<&str> = touched.iter().filter(is_in_way).map(String::as_str).collect();
        if in_way.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} has changes of yours in {}, which {} changes too; commit or stash them, then merge again. Nothing was \
             changed",
            self.git.repo.display(),
            named(&in_way),
            self.branch()
        ))
    }

    /// Says how what is thrown away can be brought back.
    fn discard(&self) -> Result<String, String> {
        if !is_branch(&self.git, self.branch())? {
            return Ok("nothing of it was left".to_owned());
        }
        // What cannot be committed is thrown away without a way back.
        let gathered = self.gather().is_ok();
        let tip = self.tip()?;
        let back = format!(
            "git -C {} branch {} {}",
            self.git.repo.display(),
            self.branch(),
            &tip[..tip.len().min(10)]
        );
        let all = if gathered { "" } else { " without what was not committed" };
        Ok(format!("{back} brings it back{all}, as long as git keeps it"))
    }
}

/// Some names of many.
fn named(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
