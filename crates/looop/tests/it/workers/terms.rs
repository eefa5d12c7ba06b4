//! What a goal, or a person, says of how a worker is started: runner, model, how many, and where it works.

use std::path::Path;

use looop_sim::profile::{Profile, write_program};
use serde_json::Value;

use super::trees::{Repo, git};
use super::yard::{IDLE, LOOOP, Yard};

/// A profile whose runners are programs by the names of two agents; each writes down how it was called.
fn with_agents(goal: &str) -> Yard {
    let profile = Profile::bare(LOOOP);
    let folder = profile.outside().to_owned();
    let runner = |(name, own): (&str, &str)| {
        let program = folder.join(name);
        let text = format!(
            "#!/bin/sh\n[ \"$1\" != --no-daemon ] || exit 2\necho \"$@\" > '{}.args'\n",
            program.display()
        );
        write_program(&program, &text);
        let command = format!("{} {own}{{{{prompt_file}}}}", program.display());
        format!("[runners.{name}]\ninteractive = {}\n", Value::from(command))
    };
    let runners = [("claude", "--model small "), ("codex", ""), ("other", "")].map(runner).concat();
    let config = format!("default = \"builtin\"\n{runners}");
    Yard::of(profile.config(&config).goal("fence", goal))
}

fn goal(more: &str) -> String {
    format!("---\ncheck: test -e reports/fence\nworker: Paint the fence.\n{more}---\nThe fence is painted.\n")
}

/// How a runner was called, without the prompt.
fn called(yard: &Yard, runner: &str) -> String {
    let args = yard.read_outside(&format!("{runner}.args"));
    args.split_once(" /").map_or(String::new(), |(args, _)| args.to_owned())
}

#[test]
fn a_goal_chooses_the_runner_and_the_model_of_its_workers() {
    for (more, runner, args) in [
        ("runner: codex\nmodel: o3-mini\n", "codex", "-m o3-mini"),
        ("model: opus\n", "claude", "--model opus"),
        ("runner: claude\n", "claude", "--model small"),
    ] {
        let yard = with_agents(&goal(more));
        yard.run(&["beat"]).ok();
        yard.wait("fence~1");
        assert_eq!(
            (yard.row("fence")["runner"].as_str(), called(&yard, runner).as_str()),
            (Some(runner), args)
        );
        yard.run(&["restart", "fence"]).ok();
        yard.wait("fence~2");
        assert_eq!(
            (yard.row("fence")["runner"].as_str(), called(&yard, runner).as_str()),
            (Some(runner), args)
        );
    }
}

#[test]
fn codex_is_kept_from_sharing_a_server_where_it_knows_how() {
    let profile = Profile::bare(LOOOP);
    let program = profile.outside().join("codex");
    let write = |refuses: &str| {
        let text = format!("#!/bin/sh\n{refuses}\necho \"$@\" > '{}.args'\n", program.display());
        write_program(&program, &text);
    };
    let command = format!("A=1 {} -x {{{{prompt_file}}}}", program.display());
    let yard =
        Yard::of(profile.config(&format!("[runners.codex]\ninteractive = {}\n", Value::from(command))));
    write("");
    yard.run(&["worker", "start", "new", "Help."]).ok();
    yard.wait("new~1");
    assert_eq!(called(&yard, "codex"), "--no-daemon -x");
    // An older one does not start with an option that it does not know.
    write("[ \"$1\" != --no-daemon ] || exit 2");
    yard.run(&["worker", "start", "old", "Help."]).ok();
    yard.wait("old~1");
    assert_eq!(called(&yard, "codex"), "-x");
}

#[test]
fn a_person_starts_a_worker_as_its_goal_says_or_with_a_runner_of_their_own() {
    let yard = with_agents(&goal("runner: codex\nmodel: o3-mini\n"));
    yard.run(&["worker", "start", "a", "Help.", "--goal", "fence"]).ok();
    yard.run(&["worker", "start", "b", "Help.", "--goal", "fence", "--runner", "claude"]).ok();
    yard.wait("a~1");
    yard.wait("b~1");
    assert_eq!(
        (called(&yard, "codex").as_str(), called(&yard, "claude").as_str()),
        ("-m o3-mini", "--model small")
    );
}

#[test]
fn a_goal_that_cannot_be_served_as_it_says_tells_why_and_starts_nothing() {
    let unknown = "goal fence says runner: cladue, and no configured runner of that name can start a worker (those that \
                   can: claude, codex, other)";
    let no_model = "goal fence says model: o3, and the command of runner other runs no agent that takes one (claude, \
                    codex, opencode, pi, gemini)";
    let line = "goal fence, line 4: max_workers: \"0\" is not a whole number from 1 on";
    for (more, reason) in
        [("runner: cladue\n", unknown), ("runner: other\nmodel: o3\n", no_model), ("max_workers: 0\n", line)]
    {
        let yard = with_agents(&goal(more));
        yard.run(&["beat"]).ok();
        let why = yard.run(&["why", "fence"]).ok().stdout;
        assert!(why.contains(reason), "{why}");
        yard.run(&["worker", "start", "w", "Help.", "--goal", "fence"]).fails(1, reason);
        assert_eq!(yard.rows(&["--all"]), Vec::<Value>::new());
    }
}

#[test]
fn a_goal_has_as_many_workers_as_it_says() {
    let yard = with_agents(&goal("max_workers: 2\n"));
    for id in ["a", "b"] {
        yard.run(&["worker", "start", id, "--goal", "fence", "--command", IDLE]).ok();
    }
    let reason = "2 workers serve goal fence, and its max_workers is 2";
    yard.run(&["worker", "start", "c", "--goal", "fence", "--command", IDLE]).fails(1, reason);
    yard.run(&["kill", "a"]).ok();
    yard.run(&["worker", "start", "c", "--goal", "fence", "--command", IDLE]).ok();
    yard.run(&["restart", "a"]).fails(1, reason);
}

/// Starts a worker that writes down where it is, from the folder `from`.
fn started(yard: &Yard, from: &Path, args: &[&str]) -> looop_sim::profile::Ran {
    let pwd = format!("touch made; pwd > '{}'", yard.outside("pwd"));
    let args = [&["worker", "start", "w", "--command", &pwd, "--verify", "test -e proof"], args].concat();
    let output = yard.profile.command(&args).current_dir(from).output().unwrap();
    looop_sim::profile::Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_worker_works_and_is_proven_in_the_folder_that_it_is_given() {
    let yard = Yard::new();
    let folder = yard.profile.outside().join("here");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("proof"), "").unwrap();
    started(&yard, yard.profile.outside(), &["--cwd", "here"]).ok();
    yard.wait("w~1");
    assert_eq!(Path::new(yard.read_outside("pwd").trim()), folder);
    let said = yard.run(&["beat"]).ok().stdout;
    assert!(said.contains("the work of w~1 is proven"), "{said}");
    started(&yard, yard.profile.outside(), &["--cwd", "nowhere"]).fails(1, "nowhere is not a folder");
    started(&yard, yard.profile.outside(), &["--cwd", "here/proof"]).fails(1, "proof is not a folder");
}

#[test]
fn a_worker_gets_a_worktree_of_the_repository_that_it_is_given_or_a_folder_of_it() {
    let repo = Repo::new();
    let (yard, path) = (&repo.yard, repo.path.clone());
    std::fs::create_dir(path.join("part")).unwrap();
    std::fs::write(path.join("part/proof"), "").unwrap();
    std::os::unix::fs::symlink("/", path.join("out")).unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "--quiet", "-m", "two"]);
    let above = path.parent().unwrap().to_owned();

    started(yard, &above, &["--repo", "repo"]).ok();
    yard.wait("w~1");
    assert_eq!(Path::new(yard.read_outside("pwd").trim()), repo.tree("w~1"));
    assert_eq!(git(&repo.tree("w~1"), &["branch", "--show-current"]), "looop/w-1");

    started(yard, &above, &["--repo", "repo", "--cwd", "part"]).ok();
    yard.wait("w~2");
    assert_eq!(Path::new(yard.read_outside("pwd").trim()), repo.tree("w~2").join("part"));
    let said = yard.run(&["beat"]).ok().stdout;
    assert!(said.contains("the work of w~2 is proven"), "{said}");

    // The goal's repository is as good.
    started(yard, &above, &["--goal", "ship", "--cwd", "part"]).ok();
    yard.wait("w~3");
    assert_eq!(Path::new(yard.read_outside("pwd").trim()), repo.tree("w~3").join("part"));

    let (trees, branches) = (repo.trees(), repo.branches());
    for (cwd, reason) in [
        ("gone", "the repository has no folder gone"),
        ("out", "out leads out of the worktree"),
        ("..", ".. leads out of the worktree"),
        ("/", "it works in a worktree, and / is no folder of one"),
    ] {
        started(yard, &above, &["--repo", "repo", "--cwd", cwd]).fails(1, reason);
    }
    started(yard, &above, &["--repo", "nowhere"]).fails(1, "is not a folder");
    assert_eq!((repo.trees(), repo.branches()), (trees, branches), "what is refused leaves nothing");
}

#[test]
fn a_worker_has_a_folder_for_temporary_files_that_goes_after_its_end() {
    let yard = Yard::new();
    let (here, gate, command) = yard.gated();
    yard.start(
        "w",
        &format!("echo \"$TMPDIR\" > '{}'; echo x > \"$TMPDIR/left\"; {command}", yard.outside("seen")),
    )
    .ok();
    assert_eq!(here.hear(), "there\n");
    let folder = yard.profile.data().join("tmp/w~1");
    assert_eq!(Path::new(yard.read_outside("seen").trim()), folder);
    // What a worker that lives uses stays, whatever else is done.
    yard.run(&["run", "true"]).ok();
    assert!(folder.join("left").exists());
    gate.say("");
    yard.wait("w~1");
    yard.run(&["run", "true"]).ok();
    assert!(!folder.exists());
}
