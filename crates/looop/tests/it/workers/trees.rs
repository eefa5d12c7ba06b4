//! A git worktree for each worker whose goal names a repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use looop_sim::profile::Profile;

use super::yard::{IDLE, LOOOP, Yard};

/// A repository with one commit, and a goal that names it.
pub(crate) struct Repo {
    pub(crate) yard: Yard,
    pub(super) path: PathBuf,
}

pub(super) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(args)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Repo {
    pub(crate) fn new() -> Self {
        let profile = Profile::bare(LOOOP);
        let path = profile.outside().join("home/repo");
        std::fs::create_dir(&path).unwrap();
        git(&path, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(path.join("file"), "one\n").unwrap();
        git(&path, &["add", "file"]);
        git(&path, &["commit", "--quiet", "-m", "one"]);
        Self { yard: Yard::of(profile.goal("ship", "---\nrepo: ~/repo\n---\nIt is shipped.\n")), path }
    }

    pub(super) fn start(&self, command: &str) -> looop_sim::profile::Ran {
        self.yard.run(&["worker", "start", "ship", "--goal", "ship", "--command", command])
    }

    pub(super) fn tree(&self, session: &str) -> PathBuf {
        self.yard.profile.data().join("work").join(session)
    }

    pub(crate) fn branches(&self) -> Vec<String> {
        let text = git(&self.path, &["branch", "--format=%(refname:short)"]);
        text.lines().map(str::to_owned).collect()
    }

    /// How many worktrees the repository knows, its own included.
    pub(crate) fn trees(&self) -> usize {
        git(&self.path, &["worktree", "list"]).lines().count()
    }

    /// What lies in `work/`.
    pub(crate) fn work(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.yard.profile.data().join("work")).into_iter().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_worker_gets_a_worktree_and_a_branch_of_its_own() {
    let repo = Repo::new();
    let command = format!("pwd > '{}'; exec sleep 1000", repo.yard.outside("pwd"));
    repo.start(&command).ok();
    let tree = repo.tree("ship~1");
    assert_eq!(repo.yard.read_outside("pwd").trim(), tree.to_string_lossy());
    assert_eq!(std::fs::read_to_string(tree.join("file")).unwrap(), "one\n");
    assert_eq!(git(&tree, &["branch", "--show-current"]), "looop/ship-1");

    repo.yard.run(&["restart", "ship"]).ok();
    assert_eq!(git(&repo.tree("ship~2"), &["branch", "--show-current"]), "looop/ship-2");
    repo.yard.run(&["kill", "ship"]).ok();
    repo.yard.run(&["prune"]).ok();
    assert_eq!(repo.work(), Vec::<String>::new());
    assert_eq!((repo.trees(), repo.branches()), (1, vec!["main".to_owned()]), "nothing was changed in them");
}

#[test]
fn work_that_would_be_lost_is_not_pruned() {
    let repo = Repo::new();
    repo.start(&format!("echo two > new; {IDLE}")).ok();
    repo.yard.run(&["kill", "ship"]).ok();
    let pruned = repo.yard.run(&["prune"]).ok();
    assert_eq!(pruned.stdout, "");
    let why = "ship~1: its copy has changes that are not committed (new): looop review ship";
    assert!(pruned.stderr.contains(why), "{}", pruned.stderr);
    assert_eq!(std::fs::read_to_string(repo.tree("ship~1").join("new")).unwrap(), "two\n");
    assert_eq!(repo.work(), ["ship~1", "ship~1.json"]);
}

#[test]
fn a_branch_of_the_same_name_is_left_alone() {
    let repo = Repo::new();
    git(&repo.path, &["branch", "looop/ship-1"]);
    repo.start(IDLE).ok();
    assert_eq!(git(&repo.tree("ship~1"), &["branch", "--show-current"]), "looop/ship-1-2");
}

#[test]
fn without_a_repository_nothing_is_started_and_nothing_is_left() {
    let repo = Repo::new();
    let cases = [
        ("some/repo", "is not an absolute path"),
        ("~/nowhere", "is not a folder"),
        ("~/", "not a git repository"),
    ];
    for (path, reason) in cases {
        repo.yard.profile.write("goals/ship.md", format!("---\nrepo: {path}\n---\nIt is shipped.\n"));
        repo.start(IDLE).fails(1, reason);
    }
    assert_eq!(repo.work(), Vec::<String>::new());
    assert_eq!(repo.yard.rows(&["--all"]), Vec::<serde_json::Value>::new());
}

#[test]
fn a_start_that_is_refused_takes_its_worktree_back() {
    let repo = Repo::new();
    // A folder in the way of the session.
    repo.yard.profile.write("sessions/ship~1/strange", "");
    repo.start(IDLE).fails(1, "is in use");
    assert_eq!(repo.work(), Vec::<String>::new());
    assert_eq!((repo.trees(), repo.branches()), (1, vec!["main".to_owned()]));
}

#[test]
fn a_crash_between_the_worktree_and_the_start_leaves_one_worker_and_one_worktree() {
    let repo = Repo::new();
    let command = format!("echo ran >> '{}'; exec sleep 1000", repo.yard.outside("ran"));
    let mut call =
        repo.yard.profile.command(&["worker", "start", "ship", "--goal", "ship", "--command", &command]);
    let output = call.env("LOOOP_CRASH_AT", "worker.worktree").output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(9));
    assert_eq!(repo.work(), ["ship~1", "ship~1.json"]);
    repo.yard.run(&["run", "true"]).ok();
    assert_eq!(repo.yard.read_outside("ran"), "ran\n");
    assert_eq!(repo.work(), ["ship~2", "ship~2.json"]);
    assert_eq!((repo.trees(), repo.branches()), (2, ["looop/ship-2", "main"].map(str::to_owned).to_vec()));
}
