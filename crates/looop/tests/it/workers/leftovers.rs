//! What is left of earlier workers of a goal, and what a look leaves alone that is to change nothing.

use std::path::Path;
use std::process::Command;

use super::review::{COMMITS, DONE, LEAVES, Shop, git};

/// An agent that leaves something that does not do.
const TRIES: &str = "echo try > try.txt; git add .; git commit -q -m Try";

#[test]
fn a_merge_says_which_earlier_work_of_the_goal_remains_and_how_to_remove_it() {
    let shop = Shop::new(DONE, TRIES);
    shop.serve("done~1");
    shop.yard.wait("done~2");
    shop.agent(COMMITS);
    shop.ended("done~2");
    shop.ended("done~3");
    let merged = shop.run(&["merge", "done"]).ok();
    assert!(merged.stdout.starts_with("merged the work of done~3"), "{merged:?}");
    for session in ["done~1", "done~2"] {
        let branch = format!("looop/{}", session.replace('~', "-"));
        let text = format!("the earlier work of {session} remains on {branch}\n");
        assert!(merged.stdout.contains(&text), "{merged:?}");
    }
    let command = "looop discard done~1 done~2";
    assert!(merged.stderr.contains(&format!("{command} removes what remains")), "{merged:?}");
    assert_eq!(shop.open().len(), 2, "nothing was lost");
    shop.run(&command.split(' ').skip(1).collect::<Vec<_>>()).ok();
    assert_eq!((shop.branches(), shop.copies()), (vec!["main".to_owned()], Vec::new()));
    assert_eq!(shop.open().len(), 0);
}

#[test]
fn earlier_work_that_is_in_what_was_merged_goes_with_the_merge() {
    let shop = Shop::new(DONE, TRIES);
    shop.run(&["beat"]).ok();
    shop.yard.wait("done~1");
    // The next one goes on with what the last one left, as it is told to.
    shop.agent(&format!("git merge -q looop/done-1; {COMMITS}"));
    shop.ended("done~1");
    shop.ended("done~2");
    let merged = shop.run(&["merge", "done", "--json"]).ok().json();
    assert_eq!(merged["removed"], serde_json::json!(["done~1"]), "{merged}");
    assert_eq!((shop.branches(), shop.copies()), (vec!["main".to_owned()], Vec::new()));
    assert_eq!(shop.open().len(), 0);
    assert!(shop.repo.join("try.txt").exists() && shop.repo.join("done.txt").exists());
}

/// All files of a folder with their bytes.
fn all(folder: &Path) -> String {
    let script = "find . -type f -print0 | sort -z | xargs -0 sha256sum";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_dry_run_neither_commits_what_a_worker_left_nor_proves_it() {
    let proof = "test -e done.txt && echo ran >> ../../../proofs";
    let shop = Shop::new(&DONE.replace("test -e done.txt", proof), &format!("{TRIES}; {LEAVES}"));
    shop.run(&["beat"]).ok();
    shop.yard.wait("done~1");
    let work = shop.yard.profile.data().join("work");
    let before = (all(&shop.repo), all(&work));
    let dry = shop.run(&["beat", "--dry-run"]).ok();
    assert!((all(&shop.repo), all(&work)) == before, "{dry:?}");
    assert_eq!(shop.yard.read_outside("proofs"), "");
    assert_eq!(git(&work.join("done~1"), &["status", "--porcelain"]), "?? done.txt");
    let beat = shop.run(&["beat"]).ok().stdout;
    assert!(beat.contains("done~1 left 2 commits, 2 files on looop/done-1"), "{beat}");
    assert_eq!(shop.yard.read_outside("proofs"), "ran\n");
}

#[test]
fn a_worker_that_changed_nothing_is_listed_so() {
    let shop = Shop::new("---\nmanual: true\n---\nNobody sees to it.\n", "true");
    let repo = shop.repo.to_string_lossy().into_owned();
    let work = ["worker", "start", "idler", "--command", "true", "--verify", "true", "--repo", &repo];
    shop.run(&work).ok();
    shop.ended("idler~1");
    for args in [&["worker", "list"][..], &["worker", "list", "--all"]] {
        let listed = shop.run(args).ok().stdout;
        assert!(listed.contains("no changes") && !listed.contains("fail"), "{listed}");
    }
    let rows = shop.run(&["ls", "--json", "--all"]).ok().json();
    assert_eq!(rows[0]["verify"], "unchanged", "{rows}");
}
