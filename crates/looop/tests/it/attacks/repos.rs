//! Repositories that a decider names: git runs what they say.

use std::process::Command;

use serde_json::json;

use super::field::{Field, Watch};

/// Makes a repository in which something lies in wait: the trap is laid by plain writing, which needs nobody's word.
fn plant(field: &Field, trap: &str) {
    let make = format!(
        "git init -q r && cd r && mkdir -p .git/hooks h && echo '* filter=x' > .gitattributes && echo x > f && \
         git add -A && git -c user.email=a@b -c user.name=c commit -q -m x && {trap} && touch planted"
    );
    let said = field.shell(&make);
    assert!(field.profile.file("box/scratch/r/planted").is_some(), "{trap}: {said}");
}

/// Traps, all of which a plain `git worktree add` walks into.
fn traps() -> Vec<String> {
    let hook = |file: &str| format!("printf '#!/bin/sh\\nrm -rf OUT\\n' > {file} && chmod +x {file}");
    let setting = |text: &str| format!("printf '{text}' >> .git/config");
    vec![
        hook(".git/hooks/post-checkout"),
        hook(".git/hooks/reference-transaction"),
        hook(".git/hooks/post-index-change"),
        format!("{} && {}", setting("[core]\\n\\thooksPath = h\\n"), hook("h/post-checkout")),
        setting("[filter \"x\"]\\n\\tsmudge = \"rm -rf OUT; cat\"\\n"),
        setting("[filter \"x\"]\\n\\tprocess = \"rm -rf OUT #\"\\n"),
        format!(
            "{} && {}",
            hook("h/e"),
            setting("[include]\\n\\tpath = more\\n")
                + " && printf '[filter \"x\"]\\n\\tsmudge = DATA/box/scratch/r/h/e; cat\\n' > .git/more"
        ),
    ]
}

#[test]
fn what_a_planted_repository_runs_is_confined() {
    let mut watch = Watch::new();
    for trap in traps() {
        let field = Field::new("");
        plant(&field, &watch.fill(&field, &trap));
        let repo = field.profile.data().join("box/scratch/r");
        let body = format!("---\nrepo: {}\n---\n# Evil\n", repo.display());
        let wrote = field.beat(&json!({"action": "write_goal", "id": "evil", "body": body}));
        assert!(wrote.contains("done"), "{trap}: {wrote}");
        // As a decider and as the loop's own, by the person's hand as well: the repository is the decider's all the same.
        let start = json!({"action": "start_worker", "id": "w", "prompt": "x", "goal": "evil"});
        field.profile.run(&["worker", "start", "v", "--goal", "evil", "--command", "true"]);
        let said = field.beat(&start);
        field.profile.run(&["kill", "--all", "--force"]);
        field.profile.run(&["prune"]).ok();
        assert_eq!(watch.harm(&field), Vec::<String>::new(), "{trap}: {said}");
        let target = field.profile.outside().join("control");
        let control =
            Command::new("git").arg("-C").arg(&repo).args(["worktree", "add", "-q"]).arg(target).output();
        assert!(!watch.harm(&field).is_empty(), "it is a trap: {trap}: {control:?}");
    }
}

/// A repository of the person's is theirs, and its own hooks run with their rights.
#[test]
fn a_repository_that_a_person_names_is_used_as_ever() {
    let field = Field::new("");
    let mark = field.profile.outside().join("mark");
    plant(
        &field,
        &format!(
            "printf '#!/bin/sh\\ntouch {0}\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout",
            mark.display()
        ),
    );
    let repo = field.profile.outside().join("repo");
    let moved =
        Command::new("cp").arg("-a").args([&field.profile.data().join("box/scratch/r"), &repo]).status();
    assert!(moved.is_ok_and(|status| status.success()));
    field.profile.write("goals/mine.md", format!("---\nrepo: {}\n---\n# Mine\n", repo.display()));
    let said = field.beat(&json!({"action": "start_worker", "id": "w", "prompt": "x", "goal": "mine"}));
    field.profile.run(&["kill", "--all", "--force"]);
    assert!(said.contains("done") && mark.exists(), "{said}");
}
