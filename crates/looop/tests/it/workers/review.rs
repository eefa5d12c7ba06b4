//! The work of workers in a repository: proven in a copy, reviewed, merged, discarded, or sent as a pull request.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, Ran, write_program};
use serde_json::Value;

use super::yard::{LOOOP, Yard};

/// A repository with one commit, and a goal whose workers are this shell script; `$1` is its prompt file.
pub(super) struct Shop {
    pub(super) yard: Yard,
    pub(super) repo: PathBuf,
}

/// The goal: a check that means the same in the person's checkout and in a worker's copy.
pub(super) const DONE: &str =
    "---\ncheck: test -e done.txt\nworker: Write done.txt.\nrepo: ~/repo\n---\nIt is done.\n";
/// An agent that does it and commits.
pub(super) const COMMITS: &str = "echo hello > done.txt; git add done.txt; git commit -q -m 'Write done.txt'";
/// The same, and leaves the commit to others.
pub(super) const LEAVES: &str = "echo hello > done.txt";

pub(super) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(args).env_remove("GIT_DIR").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Shop {
    pub(super) fn new(goal: &str, agent: &str) -> Self {
        Self::of(goal, agent, "")
    }

    pub(super) fn of(goal: &str, agent: &str, config: &str) -> Self {
        let profile = Profile::bare(LOOOP)
            .env("LOOOP_WORKER_RETRY_SECS", "0")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.com");
        let repo = profile.outside().join("home/repo");
        std::fs::create_dir(&repo).unwrap();
        git(&repo, &["init", "--quiet", "--initial-branch=main"]);
        git(&repo, &["config", "user.name", "A"]);
        git(&repo, &["config", "user.email", "a@example.com"]);
        std::fs::write(repo.join("file"), "one\n").unwrap();
        git(&repo, &["add", "file"]);
        git(&repo, &["commit", "--quiet", "-m", "one"]);
        let file = profile.outside().join("agent.sh");
        std::fs::write(&file, agent).unwrap();
        let command = Value::from(format!("bash '{}' {{{{prompt_file}}}}", file.display()));
        let config = format!(
            "default = \"builtin\"\n{config}\n[runners.agent]\ncost = \"free\"\ninteractive = {command}\n"
        );
        Self { yard: Yard::of(profile.config(&config).goal("done", goal)), repo }
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        self.yard.run(args)
    }

    /// A beat starts the worker; it ends; the next beat sees that.
    pub(super) fn serve(&self, session: &str) -> Ran {
        self.run(&["beat"]).ok();
        self.ended(session)
    }

    pub(super) fn ended(&self, session: &str) -> Ran {
        self.yard.wait(session);
        self.run(&["beat"]).ok()
    }

    /// What the next worker does. One that runs goes on with the script that it began with.
    pub(super) fn agent(&self, script: &str) {
        let outside = self.yard.profile.outside();
        std::fs::write(outside.join("agent.new"), script).unwrap();
        std::fs::rename(outside.join("agent.new"), outside.join("agent.sh")).unwrap();
    }

    pub(super) fn started(&self) -> usize {
        let entries = self.yard.profile.entries();
        entries.iter().filter(|entry| matches!(entry, Entry::WorkerStarted { .. })).count()
    }

    pub(super) fn branches(&self) -> Vec<String> {
        let text = git(&self.repo, &["branch", "--format=%(refname:short)"]);
        text.lines().map(str::to_owned).collect()
    }

    /// What lies in `work/`.
    pub(super) fn copies(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.yard.profile.data().join("work")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(super) fn goal_state(&self) -> String {
        let goals = self.run(&["goal", "list", "--json"]).ok().json();
        goals.as_array().unwrap()[0]["state"].as_str().unwrap().to_owned()
    }

    pub(super) fn open(&self) -> Vec<Value> {
        self.run(&["review", "--json"]).ok().json().as_array().unwrap().clone()
    }

    /// What is checked out, committed or not.
    pub(super) fn checkout(&self) -> (String, String, String) {
        let head = git(&self.repo, &["rev-parse", "HEAD"]);
        let names =
            std::fs::read_dir(&self.repo).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        (head, git(&self.repo, &["status", "--porcelain"]), names.join(" "))
    }
}

#[test]
fn a_check_runs_in_the_checkout_and_its_proof_in_the_copy_and_proven_work_waits_for_review() {
    let shop = Shop::of(DONE, COMMITS, "notification = \"printf '%s\\n' \\\"$LOOOP_MESSAGE\\\" >> ../told\"");
    let said = shop.serve("done~1").stdout;
    assert!(said.contains("the work of done~1 is proven"), "{said}");
    for _ in 0..3 {
        shop.run(&["beat"]).ok();
    }
    assert_eq!(shop.started(), 1, "it is not served again");
    let waits = "the work of done is done and waits for you: looop review done";
    assert_eq!(shop.goal_state(), waits);
    for verb in [&["status"][..], &["why", "done"], &["goal", "list"]] {
        let shown = shop.run(verb).ok().stdout;
        assert!(shown.contains("looop review done"), "{verb:?}: {shown}");
    }
    let status = shop.run(&["status", "--json"]).ok().json();
    assert_eq!(status["goals"][0]["review"], "done~1");
    assert_eq!(
        (&status["workers"][0]["branch"], &status["workers"][0]["review"]),
        (&"looop/done-1".into(), &"done~1".into())
    );
    assert_eq!(
        shop.yard.read_outside("told"),
        "done is done (goal done, branch looop/done-1): looop review done\n"
    );
    let journal = shop.run(&["journal"]).ok().stdout;
    assert!(journal.contains("[done] worker done~1: ended (exit 0), its work is proven"), "{journal}");
    let ended = shop.run(&["wait", "done"]).ok();
    assert!(ended.stderr.contains("its work is on looop/done-1: looop review done~1"), "{ended:?}");
    let listed = shop.run(&["ls"]).ok();
    assert!(listed.stderr.contains("the work of done is on looop/done-1: looop review done"), "{listed:?}");
    assert_eq!(shop.yard.row("done")["branch"], "looop/done-1");
    let status = shop.run(&["status"]).ok().stdout;
    assert!(status.contains("review    done is done, on looop/done-1: looop review done"), "{status}");
    assert_eq!(shop.run(&["asks", "--json"]).ok().stdout, "[]\n");
}

#[test]
fn review_shows_the_work_and_merge_brings_it_in_and_tidies_up() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    let open = shop.open();
    assert_eq!(
        (open.len(), &open[0]["session"], &open[0]["commits"], &open[0]["files"]),
        (1, &"done~1".into(), &1.into(), &1.into())
    );
    assert_eq!(
        (&open[0]["verify"], &open[0]["waits"], &open[0]["branch"]),
        (&"pass".into(), &true.into(), &"looop/done-1".into())
    );
    let shown = shop.run(&["review", "done"]).ok();
    for part in [
        "looop/done-1",
        "Write done.txt",
        "+hello",
        "proven by test -e done.txt",
        "looop log done~1",
        "1 file changed",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(shown.stderr.contains("looop merge done~1"), "{}", shown.stderr);
    let json = shop.run(&["review", "done", "--json"]).ok().json();
    assert_eq!((&json["onto"], &json["log"][0][1]), (&"main".into(), &"Write done.txt".into()));

    let merged = shop.run(&["merge", "done"]).ok().stdout;
    assert!(merged.starts_with("merged the work of done~1: looop/done-1 is merged into main"), "{merged}");
    assert_eq!(std::fs::read_to_string(shop.repo.join("done.txt")).unwrap(), "hello\n");
    assert_eq!((shop.branches(), shop.copies()), (vec!["main".to_owned()], Vec::new()));
    assert_eq!(git(&shop.repo, &["worktree", "list"]).lines().count(), 1);
    shop.run(&["beat"]).ok();
    assert_eq!(shop.goal_state(), "its check holds");
    assert_eq!((shop.started(), shop.open().len()), (1, 0));
    let journal = shop.run(&["journal"]).ok().stdout;
    assert!(journal.contains("you merged the work of done~1"), "{journal}");
    shop.run(&["merge", "done"]).fails(1, "its work was merged already");
    shop.run(&["review", "nobody"]).fails(1, "nothing is known of a worker \"nobody\"");
}

#[test]
fn what_a_worker_did_not_commit_is_committed_on_its_branch_without_running_hooks() {
    let hooks = "mkdir -p \"$(git rev-parse --git-common-dir)/hooks\"; for hook in pre-commit post-commit commit-msg \
                 post-merge pre-merge-commit post-checkout reference-transaction; do f=\"$(git rev-parse --git-common-dir)/hooks/$hook\"; \
                 printf '#!/bin/sh\\necho $0 >> %s\\n' \"$HOME/hooked\" > \"$f\"; chmod +x \"$f\"; done";
    let shop = Shop::new(DONE, &format!("{LEAVES}; {hooks}"));
    shop.serve("done~1");
    let log = git(&shop.repo, &["log", "-1", "--format=%s%n%b", "looop/done-1"]);
    assert!(
        log.starts_with("Uncommitted changes of worker done for goal done") && log.contains("done~1"),
        "{log}"
    );
    // A commit of the person's own, so that there is something to join.
    std::fs::write(shop.repo.join("other"), "x\n").unwrap();
    git(&shop.repo, &["-c", "core.hooksPath=/dev/null", "add", "other"]);
    git(&shop.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "other"]);
    shop.run(&["merge", "done"]).ok();
    assert_eq!(git(&shop.repo, &["log", "-1", "--format=%s"]), "Merge branch 'looop/done-1' into main");
    assert!(shop.repo.join("done.txt").exists() && shop.repo.join("other").exists());
    assert_eq!(shop.yard.read_outside("home/hooked"), "", "no hook was run");
}

#[test]
fn what_the_proof_leaves_in_the_copy_is_no_work() {
    let goal = DONE.replace("test -e done.txt", "test -e done.txt && touch artefact && echo more >> file");
    let shop = Shop::new(&goal, LEAVES);
    shop.serve("done~1");
    assert_eq!(shop.open()[0]["files"], 1);
    shop.run(&["merge", "done"]).ok();
    assert!(!shop.repo.join("artefact").exists());
    assert_eq!(std::fs::read_to_string(shop.repo.join("file")).unwrap(), "one\n");
}

/// What cannot be committed is not lost to the proof that follows.
#[test]
fn work_that_cannot_be_committed_stays_and_is_said() {
    let locks = "touch \"$(git rev-parse --git-common-dir)/refs/heads/looop/done-1.lock\"";
    let shop = Shop::new(DONE, &format!("{LEAVES}; {locks}"));
    shop.serve("done~1");
    let problem = shop.open()[0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("cannot be looked at") && problem.contains("done-1.lock"), "{problem}");
    let copy = shop.yard.profile.data().join("work/done~1");
    assert_eq!(std::fs::read_to_string(copy.join("done.txt")).unwrap(), "hello\n");
    shop.run(&["merge", "done"]).fails(1, "done-1.lock");
    std::fs::remove_file(shop.repo.join(".git/refs/heads/looop/done-1.lock")).unwrap();
    shop.run(&["merge", "done"]).ok();
    assert_eq!(std::fs::read_to_string(shop.repo.join("done.txt")).unwrap(), "hello\n");
}

#[test]
fn a_merge_that_is_not_possible_says_why_and_changes_nothing() {
    let shop = Shop::new(DONE, "echo two > file; echo hello > done.txt; git add .; git commit -q -m two");
    shop.serve("done~1");
    let branch = git(&shop.repo, &["rev-parse", "looop/done-1"]);
    let refused = |reason: &str| {
        let before = shop.checkout();
        let said = shop.run(&["merge", "done"]).fails(1, reason);
        assert_eq!(shop.checkout(), before, "{}", said.stderr);
        assert_eq!(git(&shop.repo, &["rev-parse", "looop/done-1"]), branch);
        assert_eq!(shop.open().len(), 1);
    };
    std::fs::write(shop.repo.join("file"), "mine\n").unwrap();
    refused("has changes of yours in file, which looop/done-1 changes too");
    git(&shop.repo, &["add", "file"]);
    refused("has changes of yours in file, which looop/done-1 changes too");
    git(&shop.repo, &["reset", "--quiet", "--hard"]);
    std::fs::write(shop.repo.join("done.txt"), "mine\n").unwrap();
    std::fs::write(shop.repo.join(".git/info/exclude"), "done.txt\n").unwrap();
    refused("has changes of yours in done.txt");
    std::fs::remove_file(shop.repo.join("done.txt")).unwrap();
    git(&shop.repo, &["checkout", "--quiet", "--detach"]);
    refused("its HEAD is detached");
    git(&shop.repo, &["checkout", "--quiet", "main"]);
    std::fs::write(shop.repo.join(".git/MERGE_HEAD"), git(&shop.repo, &["rev-parse", "HEAD"])).unwrap();
    refused("a merge is under way");
    std::fs::remove_file(shop.repo.join(".git/MERGE_HEAD")).unwrap();
    std::fs::create_dir(shop.repo.join(".git/rebase-merge")).unwrap();
    refused("a rebase is under way");
    std::fs::remove_dir(shop.repo.join(".git/rebase-merge")).unwrap();
    std::fs::write(shop.repo.join("file"), "three\n").unwrap();
    git(&shop.repo, &["commit", "--quiet", "-a", "-m", "three"]);
    refused("looop/done-1 conflicts with main in file, and nothing was changed");
    // As it is said: by hand, then the verb tidies up.
    std::fs::write(shop.repo.join(".git/info/exclude"), "").unwrap();
    git(&shop.repo, &["merge", "--quiet", "-X", "theirs", "-m", "by hand", "looop/done-1"]);
    let merged = shop.run(&["merge", "done"]).ok().stdout;
    assert!(merged.contains("main has it already"), "{merged}");
    assert_eq!((shop.branches(), shop.copies()), (vec!["main".to_owned()], Vec::new()));
}

#[test]
fn untouched_changes_of_the_person_survive_a_merge() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    std::fs::write(shop.repo.join("file"), "mine\n").unwrap();
    std::fs::write(shop.repo.join("untracked"), "mine\n").unwrap();
    shop.run(&["merge", "done"]).ok();
    assert_eq!(std::fs::read_to_string(shop.repo.join("file")).unwrap(), "mine\n");
    assert!(shop.repo.join("untracked").exists() && shop.repo.join("done.txt").exists());
}

#[test]
fn discarded_work_goes_and_the_next_worker_is_told_why() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    let tip = git(&shop.repo, &["rev-parse", "looop/done-1"]);
    let said = shop.run(&["discard", "done", "--because", "say goodbye instead"]).ok().stdout;
    assert!(said.contains("brings it back") && said.contains(&tip[..10]), "{said}");
    assert_eq!((shop.branches(), shop.copies()), (vec!["main".to_owned()], Vec::new()));
    let prompt = shop.yard.outside("prompt");
    shop.agent(&format!("cat \"$1\" > '{prompt}'; {COMMITS}"));
    shop.serve("done~2");
    let prompt = shop.yard.read_outside("prompt");
    assert!(prompt.contains("done~1 worked on this before you and ended: exit 0"), "{prompt}");
    assert!(prompt.contains("threw it away. Why:\n\n> say goodbye instead\n"), "{prompt}");
    shop.run(&["discard", "done~1"]).fails(1, "its work was discarded already");
    let journal = shop.run(&["journal"]).ok().stdout;
    assert!(journal.contains("you discarded the work of done~1: say goodbye instead"), "{journal}");
}

#[test]
fn after_a_failure_the_next_worker_is_told_of_branch_question_and_proof_and_after_three_a_person_is_asked() {
    let agent = "\"$LOOOP_BIN\" ask --prompt 'Which colour?' > /dev/null; echo try >> try.txt";
    let goal = DONE.replace("test -e done.txt", "echo 'done.txt is not there'; test -e done.txt");
    let shop = Shop::new(&goal, agent);
    shop.run(&["beat"]).ok();
    let ask = shop.yard.profile.until("a question", || {
        shop.run(&["asks", "--json"]).ok().json().as_array().unwrap().first().map(|ask| ask["id"].clone())
    });
    shop.run(&["answer", ask.as_str().unwrap(), "blue\n# Contract"]).ok();
    let prompt = shop.yard.outside("prompt");
    shop.agent(&format!("cat \"$1\" > '{prompt}'-$LOOOP_SESSION_ID; echo again > again.txt"));
    shop.ended("done~1");
    shop.ended("done~2");
    let text = shop.yard.read_outside("prompt-done~2");
    for part in [
        "Its work is on branch looop/done-1",
        "> done.txt is not there\n",
        "> Which colour?\n",
        "> blue # Contract\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let seen = git(&shop.repo, &["ls-tree", "--name-only", "looop/done-1"]);
    assert_eq!(seen, "file\ntry.txt", "what was not committed is on the branch");
    shop.ended("done~3");
    shop.run(&["beat"]).ok();
    assert_eq!(shop.started(), 3, "no fourth one unasked");
    let asks = shop.run(&["asks", "--json"]).ok().json();
    assert_eq!(asks.as_array().unwrap().len(), 1, "{asks}");
    let prompt = asks[0]["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("The last, done~3, ended with exit 0; its proof: exit 1: done.txt is not there"),
        "{prompt}"
    );
    assert_eq!(asks[0]["options"], serde_json::json!(["again", "leave"]));
    assert_eq!(shop.open().len(), 3, "what they left is there to be looked at");
}

#[test]
fn a_worker_that_changed_nothing_is_not_proven_and_leaves_nothing() {
    // In a copy `.git` is a file.
    let shop = Shop::new(&DONE.replace("test -e done.txt", "test -f .git"), "true");
    let said = shop.serve("done~1").stdout;
    assert!(said.contains("done~1 changed nothing") && !said.contains("is proven"), "{said}");
    shop.yard.profile.until("the copy to be removed", || {
        (!shop.branches().contains(&"looop/done-1".to_owned())).then_some(())
    });
    let journal = shop.run(&["journal"]).ok().stdout;
    assert!(journal.contains("worker done~1: ended (exit 0), it changed nothing"), "{journal}");
}

#[test]
fn unsettled_work_is_never_pruned() {
    let shop = Shop::new(DONE, LEAVES);
    shop.serve("done~1");
    let pruned = shop.run(&["prune"]).ok();
    assert!(
        pruned.stderr.contains("its work on looop/done-1 is neither merged nor discarded: looop review done"),
        "{pruned:?}"
    );
    assert_eq!((shop.open().len(), shop.branches().len()), (1, 2));
    shop.run(&["discard", "done"]).ok();
    assert_eq!(shop.run(&["prune"]).ok().stdout, "removed done~1\n");
}

/// What does it is killed in the middle; the same verb finishes it.
#[test]
fn what_was_killed_in_the_middle_is_finished_by_the_same_verb() {
    for (verb, point) in [
        ("merge", "works.merging"),
        ("merge", "works.settled"),
        ("merge", "works.taken-down"),
        ("merge", "works.branch-dropped"),
        ("discard", "works.settled"),
        ("discard", "works.taken-down"),
        ("discard", "works.branch-dropped"),
    ] {
        let shop = Shop::new(DONE, COMMITS);
        shop.serve("done~1");
        let mut call = shop.yard.profile.command(&["_work", verb, "done~1"]);
        let killed = call.env("LOOOP_CRASH_AT", point).output().unwrap();
        assert_eq!(killed.status.signal(), Some(9), "{verb} at {point}: {killed:?}");
        shop.run(&[verb, "done"]).ok();
        assert_eq!(shop.repo.join("done.txt").exists(), verb == "merge", "{verb} at {point}");
        assert_eq!(
            (shop.branches(), shop.copies()),
            (vec!["main".to_owned()], Vec::new()),
            "{verb} at {point}"
        );
        assert_eq!(git(&shop.repo, &["status", "--porcelain"]), "", "{verb} at {point}");
        assert_eq!(shop.open().len(), 0, "{verb} at {point}");
    }
}

/// Whoever wants it is killed; what does it goes on, and the next looop says what came of it.
#[test]
fn a_merge_outlives_whoever_asked_for_it() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    let (here, gate) = (shop.yard.profile.fifo("here"), shop.yard.profile.fifo("gate"));
    // git runs this while it writes the file.
    let smudge =
        format!("echo > '{}'; cat '{}' > /dev/null; cat", here.path().display(), gate.path().display());
    git(&shop.repo, &["config", "filter.slow.smudge", &smudge]);
    std::fs::write(shop.repo.join(".git/info/attributes"), "done.txt filter=slow\n").unwrap();
    let mut verb = shop.yard.profile.start(&["merge", "done"]);
    here.hear();
    verb.kill().unwrap();
    verb.wait().unwrap();
    gate.say("go\n");
    shop.run(&["beat"]).ok();
    assert_eq!(std::fs::read_to_string(shop.repo.join("done.txt")).unwrap(), "hello\n");
    assert_eq!((shop.branches(), shop.open().len()), (vec!["main".to_owned()], 0));
    shop.run(&["merge", "done"]).fails(1, "its work was merged already");
}

#[test]
fn two_merges_at_once_merge_once() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    let both = [(); 2].map(|()| shop.yard.profile.start(&["merge", "done"])).map(looop_sim::waiting::finish);
    let done = both.iter().filter(|ran| ran.code == 0).count();
    assert_eq!(done, 1, "{both:?}");
    assert!(both.iter().any(|ran| ran.stderr.contains("was merged already")), "{both:?}");
    assert_eq!(git(&shop.repo, &["rev-list", "--count", "main"]), "2");
}

#[test]
fn a_worker_cannot_settle_its_own_work_nor_that_of_others() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    let said = shop.yard.outside("said");
    let command =
        format!("for verb in merge discard pr; do \"$LOOOP_BIN\" $verb done; echo $?; done > '{said}' 2>&1");
    shop.run(&["worker", "start", "other", "--command", &command]);
    shop.yard.wait("other~1");
    let said = shop.yard.read_outside("said");
    assert_eq!(said.matches("only a person can do that").count(), 3, "{said}");
    assert_eq!((shop.open().len(), shop.branches().len()), (1, 2));
}

#[test]
fn a_pull_request_is_pushed_and_opened_where_gh_may_be_called() {
    let shop = Shop::new(DONE, COMMITS);
    shop.serve("done~1");
    shop.run(&["pr", "done"]).fails(1, "has no remote to push to");
    let bare = shop.yard.profile.outside().join("bare.git");
    git(&shop.repo, &["init", "--quiet", "--bare", &bare.to_string_lossy()]);
    git(&shop.repo, &["remote", "add", "upstream", &bare.to_string_lossy()]);
    let said = shop.run(&["pr", "done"]).ok().stdout;
    assert!(
        said.contains("looop/done-1 is pushed to upstream") && said.contains("looop init --grant gh"),
        "{said}"
    );
    assert_eq!(git(&bare, &["rev-parse", "looop/done-1"]), git(&shop.repo, &["rev-parse", "looop/done-1"]));

    // A small program in the place of gh.
    let bin = shop.yard.profile.outside().join("home/bin");
    std::fs::create_dir(&bin).unwrap();
    let calls = shop.yard.outside("calls");
    let gh = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$PWD\" \"$@\" \"<$GH_TOKEN$OTHER_TOKEN>\" >> '{calls}'\necho https://example.com/pull/7\n"
    );
    write_program(&bin.join("gh"), &gh);
    shop.yard.profile.write("policy.toml", "[[grant]]\nprogram = \"gh\"\nenv = [\"GH_TOKEN\"]\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for _ in 0..2 {
        let mut call = shop.yard.profile.command(&["pr", "done"]);
        call.env("PATH", &path).env("GH_TOKEN", "granted").env("OTHER_TOKEN", "secret");
        let called = call.output().unwrap();
        let said = String::from_utf8_lossy(&called.stdout);
        assert!(said.contains("https://example.com/pull/7"), "{called:?}");
    }
    let calls = shop.yard.read_outside("calls");
    let expected =
        ["pr", "create", "--head", "looop/done-1", "--base", "main", "--title", "Write done.txt"].join("\n");
    assert!(calls.contains(&expected) && calls.matches("create").count() == 1, "{calls}");
    assert!(calls.contains("<granted>"), "no variable but those that are granted: {calls}");
    assert_eq!(shop.open()[0]["pr"], "https://example.com/pull/7");
    shop.run(&["beat"]).ok();
    assert_eq!(shop.started(), 1, "a pull request still waits");
    shop.run(&["merge", "done"]).ok();
    assert_eq!(shop.open().len(), 0);
}

#[test]
fn with_a_running_loop_a_merged_goal_is_looked_at_at_once() {
    let shop = Shop::of(DONE, COMMITS, "interval = \"1h\"");
    shop.run(&["up"]).ok();
    shop.yard
        .profile
        .until("work that waits", || shop.open().first().filter(|work| work["waits"] == true).map(drop));
    shop.run(&["merge", "done"]).ok();
    shop.yard.profile.until("the goal to hold", || (shop.goal_state() == "its check holds").then_some(()));
    shop.yard
        .profile
        .until("no wait", || shop.yard.profile.ledger().goal("done").review.is_none().then_some(()));
    shop.run(&["down"]).ok();
    assert_eq!(shop.started(), 1);
}

#[test]
fn a_check_that_cannot_mean_the_copy_is_said_in_the_goal() {
    let shop = Shop::new(DONE, "true");
    let text = DONE.replace("test -e done.txt", "test -e ~/repo/done.txt");
    shop.yard.profile.write("goals/done.md", text);
    let shown = shop.run(&["status"]).ok().stdout;
    assert!(shown.contains("check: it names the repo itself"), "{shown}");
}
