//! The folder that a worker works in: of its worktree, one that a person named, or the profile.

use std::path::{Path, PathBuf};

use looop_store::Reader;

use super::task::{Task, task_of};
use super::worktree;
use crate::config::Config;

/// Makes what is to be made and says where the worker works. Where that is not possible nothing is left.
pub(crate) fn make(reader: &Reader, config: &Config, task: &Task, confined: bool) -> Result<PathBuf, String> {
    let Some(repo) = &task.repo else {
        return match &task.cwd {
            Some(cwd) => existing(Path::new(cwd)),
            None => Ok(reader.root().to_owned()),
        };
    };
    let tree = worktree::make(reader, config, task, (repo, confined))?;
    let Some(below) = &task.cwd else { return Ok(tree) };
    match inside(&tree, below) {
        Ok(cwd) => Ok(cwd),
        Err(reason) => {
            worktree::undo(reader, config, &task.session)?;
            Err(reason)
        }
    }
}

/// Where the work of a session is proven: where it was done.
pub(crate) fn of(reader: &Reader, session: &str) -> PathBuf {
    let tree = worktree::path(reader, session);
    // Without its task, or with a folder that is gone, it is the worktree or the profile.
    let cwd = task_of(reader, session).ok().and_then(|task| task.cwd);
    match cwd {
        Some(below) if tree.is_dir() => inside(&tree, &below).unwrap_or(tree),
        None if tree.is_dir() => tree,
        Some(cwd) => existing(Path::new(&cwd)).unwrap_or_else(|_| reader.root().to_owned()),
        None => reader.root().to_owned(),
    }
}

/// A folder of a worktree; no link leads out of it.
fn inside(tree: &Path, below: &str) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|_| format!("the repository has no folder {below}"));
    let (folder, top) = (existing(&real(&tree.join(below))?)?, real(tree)?);
    if folder.starts_with(&top) { Ok(folder) } else { Err(format!("{below} leads out of the worktree")) }
}

fn existing(folder: &Path) -> Result<PathBuf, String> {
    if folder.is_dir() { Ok(folder.to_owned()) } else { Err(format!("{} is not a folder", folder.display())) }
}
