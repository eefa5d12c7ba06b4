//! File moves: done once, also across a crash, and never over what a person wrote meanwhile.

use looop_core::model::digest::Digest;
use looop_core::model::name::is_name;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, Plan};
use looop_core::time::Stamp;
use rustix::fs::RawMode;

use crate::dir::STATE_LIMIT;
use crate::disk::{Links, Temp, is_taken, parent, write_new};
use crate::error::failed;
use crate::lock::Writer;
use crate::point::point;

/// How many earlier bodies of the PLAYBOOK are kept, if nobody says otherwise.
pub const PLAYBOOK_HISTORY: usize = 20;
const PLAYBOOK: &str = "PLAYBOOK.md";
const HISTORY: &str = "playbook.d";

/// Where a file move stands after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Recovered {
    /// It has been done, durably.
    Done,
    /// It has not been done: the world is as it was when it was planned.
    Todo,
    /// Neither: somebody changed the file, or it cannot be read. It must not be done.
    Conflict(String),
}

impl Writer {
    /// Carries out a file or archive move. `bytes` is what the file shall hold, `keep` how many earlier PLAYBOOKs stay.
    ///
    /// What the plan found must still be there right before the change; doing it a second time is harmless.
    pub fn perform(&self, plan: &Plan, bytes: Option<&[u8]>, keep: usize) -> Outcome {
        let done = match &plan.act {
            Act::File { path, before, after } => {
                let change = Change { path, before: *before, after: *after, bytes, plan, keep };
                check_path(path).and_then(|()| self.change_file(&change))
            }
            Act::Archive { from, to, body } => {
                let checked = check_path(from).and_then(|()| check_path(to));
                checked.and_then(|()| self.still_rests(plan)).and_then(|()| self.archive(from, to, *body))
            }
            Act::Nothing
            | Act::Hosted { .. }
            | Act::Worker { .. }
            | Act::Typed { .. }
            | Act::Ended { .. }
            | Act::Again { .. } => Err("this is no move of a file".to_owned()),
        };
        match done {
            Ok(note) => Outcome::Done { note, shell: None },
            Err(reason) => Outcome::failed(reason),
        }
    }

    /// Tells where a file or archive move stands that was intended and has no end in the log.
    pub fn recover(&self, plan: &Plan) -> Recovered {
        let stands = match &plan.act {
            Act::File { path, before, after } => self.file_stands(path, *before, *after),
            Act::Archive { from, to, body } => self.archive_stands(from, to, *body),
            Act::Nothing
            | Act::Hosted { .. }
            | Act::Worker { .. }
            | Act::Typed { .. }
            | Act::Ended { .. }
            | Act::Again { .. } => Err("this is no move of a file".to_owned()),
        };
        stands.unwrap_or_else(Recovered::Conflict)
    }

    fn file_stands(
        &self,
        path: &str,
        before: Option<Digest>,
        after: Option<Digest>,
    ) -> Result<Recovered, String> {
        let now = self.digest(path)?;
        if now == after {
            return Ok(self.settled(&[parent(path)]));
        }
        if now == before { Ok(Recovered::Todo) } else { Err(changed_meanwhile(path)) }
    }

    fn archive_stands(&self, from: &str, to: &str, body: Digest) -> Result<Recovered, String> {
        match (self.digest(from)?, self.digest(to)?) {
            (None, Some(there)) if there == body => Ok(self.settled(&[parent(from), parent(to)])),
            (Some(here), None) if here == body => Ok(Recovered::Todo),
            (_, None) => Err(changed_meanwhile(from)),
            (_, Some(_)) => Err(changed_meanwhile(to)),
        }
    }

    /// What is found done is made durable before it is called so; if that fails, doing it again will.
    fn settled(&self, folders: &[&str]) -> Recovered {
        let synced = folders.iter().all(|folder| self.disk().sync_dir(folder).is_ok());
        if synced { Recovered::Done } else { Recovered::Todo }
    }

    fn digest(&self, path: &str) -> Result<Option<Digest>, String> {
        let found = self.disk().read(path, STATE_LIMIT, Links::Inside).known(path)?;
        Ok(found.map(|content| Digest::of(&content.bytes)))
    }

    fn change_file(&self, change: &Change<'_>) -> Result<Option<String>, String> {
        let now = self.digest(change.path)?;
        if now == change.after {
            return Ok(self.sync_note(&[parent(change.path)]));
        }
        if now != change.before {
            return Err(changed_meanwhile(change.path));
        }
        self.make_folder(parent(change.path))?;
        if change.before.is_some() {
            self.keep_before(change)?;
        }
        match (change.after, change.bytes) {
            (None, _) => self.remove_file(change),
            (Some(after), Some(bytes)) if Digest::of(bytes) == after => self.put_file(change, bytes),
            (Some(_), _) => Err(format!("the bytes for {} are not those that were planned", change.path)),
        }
    }

    /// Whether the files that a person's consent rests on are what they were: asked as late as can be, since what is
    /// written before takes its time.
    fn still_rests(&self, plan: &Plan) -> Result<(), String> {
        let files = plan.ground.iter().filter(|(name, _)| !name.starts_with("worker/"));
        for (path, digest) in files {
            if self.digest(path)? != *digest {
                return Err(changed_meanwhile(path));
            }
        }
        Ok(())
    }

    /// Keeps what the file is. It must still be what the plan found.
    fn keep_before(&self, change: &Change<'_>) -> Result<(), String> {
        let content = self.disk().read(change.path, STATE_LIMIT, Links::Inside).known(change.path)?;
        match content.filter(|content| Some(Digest::of(&content.bytes)) == change.before) {
            Some(content) => self.keep_body(&content.bytes, change.after, &change.plan.at),
            None => Err(changed_meanwhile(change.path)),
        }
    }

    fn put_file(&self, change: &Change<'_>, bytes: &[u8]) -> Result<Option<String>, String> {
        if change.path == PLAYBOOK {
            self.keep_playbook(change)?;
        }
        // A letter of the loop's own is not swept meanwhile.
        let _own = self.letter_cache().own();
        let temp = Temp::durable(self.disk(), change.path, bytes, mode_of(change.path))?;
        point("store.before-replace");
        self.still_rests(change.plan)?;
        if self.digest(change.path)? != change.before {
            return Err(changed_meanwhile(change.path));
        }
        let placed =
            if change.before.is_none() { temp.place_new(change.path) } else { temp.replace(change.path) };
        match placed {
            Err(error) if is_taken(&error) => return Err(changed_meanwhile(change.path)),
            placed => placed?,
        }
        point("store.replaced");
        Ok(self.sync_note(&[parent(change.path)]))
    }

    fn remove_file(&self, change: &Change<'_>) -> Result<Option<String>, String> {
        self.still_rests(change.plan)?;
        if self.digest(change.path)? != change.before {
            return Err(changed_meanwhile(change.path));
        }
        self.disk().remove(change.path).map_err(failed(change.path, "removed"))?;
        point("store.removed");
        let removed = format!("{} was removed", change.path);
        Ok(Some(
            self.sync_note(&[parent(change.path)])
                .map_or(removed.clone(), |note| format!("{removed}; {note}")),
        ))
    }

    fn archive(&self, from: &str, to: &str, body: Digest) -> Result<Option<String>, String> {
        match self.archive_stands(from, to, body)? {
            Recovered::Done => return Ok(None),
            Recovered::Todo if self.digest(from)?.is_none() => {
                return Ok(self.sync_note(&[parent(from), parent(to)]));
            }
            Recovered::Todo | Recovered::Conflict(_) => {}
        }
        self.make_folder(parent(to))?;
        match self.disk().rename_new(from, to).map_err(failed(from, "archived")) {
            Err(error) if is_taken(&error) => return Err(changed_meanwhile(to)),
            moved => moved?,
        }
        point("store.archived");
        Ok(self.sync_note(&[parent(to), parent(from)]))
    }

    pub(crate) fn make_folder(&self, folder: &str) -> Result<(), String> {
        if folder.is_empty() || self.has_folder(folder) {
            return Ok(());
        }
        self.make_folder(parent(folder))?;
        self.disk().make_dir(folder).map_err(failed(folder, "made"))?;
        Ok(self.disk().sync_dir(parent(folder)).map_err(failed(folder, "made durable"))?)
    }

    /// The change is in place; a folder that cannot be synced is worth a note, and no failure of the move.
    fn sync_note(&self, folders: &[&str]) -> Option<String> {
        for folder in folders {
            if let Err(error) = self.disk().sync_dir(folder) {
                return Some(format!("the folder could not be synced: {error}"));
            }
        }
        None
    }

    /// Puts the present PLAYBOOK into its history, under a name that a second try finds taken by the same body.
    fn keep_playbook(&self, change: &Change<'_>) -> Result<(), String> {
        let Some(content) = self.disk().read(PLAYBOOK, STATE_LIMIT, Links::Inside).known(PLAYBOOK)? else {
            return Ok(());
        };
        self.make_folder(HISTORY)?;
        let path = format!("{HISTORY}/{}", history_name(&change.plan.at, &content.bytes));
        match write_new(self.disk(), &path, &content.bytes, 0o600) {
            Err(error) if is_taken(&error) => {}
            kept => kept?,
        }
        point("store.history-kept");
        self.prune_history(change.keep)
    }

    fn prune_history(&self, keep: usize) -> Result<(), String> {
        let mut names = self.playbook_history()?;
        names.truncate(names.len().saturating_sub(keep.max(1)));
        for name in names {
            let path = format!("{HISTORY}/{name}");
            self.disk().remove(&path).map_err(failed(&path, "removed"))?;
        }
        Ok(())
    }
}

impl crate::dir::Reader {
    /// File names in `playbook.d/`, oldest first.
    pub fn playbook_history(&self) -> Result<Vec<String>, String> {
        let listed = self.disk().list(HISTORY).known(HISTORY)?.unwrap_or_default();
        let ours =
            |name: &str| name.strip_suffix(".md").is_some() && name.starts_with(|c: char| c.is_ascii_digit());
        let names = listed.iter().filter_map(|listed| listed.name.to_str());
        let mut names: Vec<String> = names.filter(|name| ours(name)).map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }
}

struct Change<'a> {
    path: &'a str,
    before: Option<Digest>,
    after: Option<Digest>,
    bytes: Option<&'a [u8]>,
    plan: &'a Plan,
    keep: usize,
}

fn changed_meanwhile(path: &str) -> String {
    format!("{path} was changed meanwhile")
}

fn mode_of(path: &str) -> RawMode {
    if path.starts_with("sensors/") { 0o700 } else { 0o600 }
}

/// Only these files are any move's business.
fn check_path(path: &str) -> Result<(), String> {
    let folders = ["goals", "goals/archive", "sensors", "schedules", "asks"];
    let named = |(folder, name): (&str, &str)| folders.contains(&folder) && file_name(name);
    if path == PLAYBOOK || path.rsplit_once('/').is_some_and(named) {
        return Ok(());
    }
    Err(format!("{path} is not a file that a move may write"))
}

/// A name with an extension, which may make it longer than a name.
fn file_name(name: &str) -> bool {
    is_name(name) || name.rsplit_once('.').is_some_and(|(stem, ext)| is_name(stem) && is_name(ext))
}

fn history_name(at: &Stamp, bytes: &[u8]) -> String {
    let stamp = jiff::Timestamp::from_millisecond(at.wall).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let digest = Digest::of(bytes).to_string();
    format!("{}-{}.md", stamp.strftime("%Y%m%d-%H%M%S%.3f"), &digest[..8])
}
