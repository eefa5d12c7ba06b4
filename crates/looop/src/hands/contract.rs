//! What a worker reads first: the contract, then its task.

use looop_core::admit::agent_of;
use looop_core::model::work::{Answered, Last, Proof};

use super::task::{Task, Told};

/// The file in the session's folder.
pub(crate) const FILE: &str = "prompt.md";

/// What every worker is told first. Verbs stand as they are called.
const HEAD: &str = r#"# Contract

Nobody watches this terminal. These rules come before the task below.

- A decision that only a person can make: `"$LOOOP_BIN" ask --prompt "the question" --options "a,b"`. Ask rather than
  guess, and always before anything irreversible."#;

/// The other rules of every worker.
const RULES: &str = r#"- If a person must come to this terminal: `"$LOOOP_BIN" flag --reason "what for"`, then wait.
- Never send notifications of the operating system yourself; asking and flagging reach the person.
- Between steps call `"$LOOOP_BIN" told`. It prints what the person has told you since, or nothing.
- What the goal says to own: `"$LOOOP_BIN" claim <name>` before you touch it, and leave it alone if that fails;
  `"$LOOOP_BIN" unclaim <name>` when you are done with it.
- Deliverables go to `$LOOOP_REPORTS_DIR`. Beside that write only in your own workspace.
- Model calls that your own agent does not make, such as those of a script: `"$LOOOP_BIN" cost record --extra --usd 0.12`.
- Do not edit goals, PLAYBOOK, sensors, schedules or config. To change one write a move to a file and call
  `"$LOOOP_BIN" propose <move.json>`; a person decides.
"#;

/// The variable that says for how many seconds a worker's ask waits.
pub(crate) const WAIT: &str = "LOOOP_ASK_WAIT";

/// For how many seconds an ask waits in the shell of the agent that a command runs. After that the shell would end it,
/// or go on without it.
pub(crate) fn wait_of(command: &str) -> Option<u64> {
    match agent_of(command)? {
        // It looks at what a command printed after ten seconds, and not again.
        "codex" => Some(8),
        "claude" | "opencode" => Some(100),
        "gemini" => Some(240),
        _ => None,
    }
}

/// How a worker waits for an answer.
fn waiting(wait: Option<u64>) -> String {
    let blocks = match wait {
        Some(seconds) => format!(
            "It waits {seconds} seconds for the answer, prints it alone, and exits with 124 if there is none yet: \
             then end your turn and do nothing."
        ),
        None => "It blocks, perhaps for hours, and prints the answer alone; wait for it. If your shell ends it first, \
                 end your turn and do nothing."
            .to_owned(),
    };
    format!(" {blocks}\n  The answer will be typed into this terminal. Never ask the same again.\n")
}

/// How a worker ends, which needs its name.
fn ending(task: &Task) -> String {
    format!(
        "- When all is done, and never while you wait for a person: `\"$LOOOP_BIN\" kill {}`. That ends this session \
         with everything it started.\n",
        task.worker
    )
}

/// Where it works and what for.
fn place(task: &Task) -> String {
    let goal = task.goal.as_ref().map_or_else(String::new, |goal| {
        format!(" You serve the goal {goal}: `\"$LOOOP_BIN\" goal show {goal}` prints it.")
    });
    let workspace = if task.repo.is_some() {
        "this folder, a git worktree of your own on a branch of your own; commit there"
    } else if task.cwd.is_some() {
        "this folder"
    } else {
        "`$LOOOP_DATA_DIR/scratch` (`$LOOOP_DATA_DIR/box/scratch` where `$LOOOP_CONFINED` is set), and whatever the task \
         names; deliverables go to `$LOOOP_REPORTS_DIR`"
    };
    format!(
        "\nYou are worker {} (session {}).{goal} Your workspace is {workspace}.\n",
        task.worker, task.session
    )
}

/// All that a worker is given to read.
///
/// `wait` is for how many seconds its asks wait, where that is bounded.
pub(crate) fn prompt(task: &Task, wait: Option<u64>) -> String {
    let asked = match task.prompt.trim_end() {
        "" => String::new(),
        prompt => format!("\n# Task\n\n{prompt}\n"),
    };
    let answers: Vec<String> = task.answers.iter().map(answered).collect();
    let last = task.last.as_deref().map(before).unwrap_or_default();
    let parts = [HEAD, &waiting(wait), RULES, &ending(task), &place(task), &asked, &last, &answers.concat()];
    parts.concat()
}

/// A question and its answer, quoted line by line, so that neither can be read as a rule.
fn answered(told: &Told) -> String {
    format!(
        "\n# Answer\n\nAn earlier session of you asked the person, and ended before the answer came. Go on from there, and \
         do not ask this again.\n\nYou asked ({}):\n\n{}\n\nThe person answered:\n\n{}\n",
        told.ask,
        quoted(&told.question),
        quoted(&told.answer)
    )
}

/// What is known of the last worker that served the same goal. What it or a person wrote is quoted.
fn before(last: &Last) -> String {
    let head = format!(
        "\n# The worker before you\n\n{} worked on this before you and ended: {}. Do not begin from nothing where it is of \
         use.\n",
        last.session, last.ended
    );
    let branch = last.branch.as_ref().map(|branch| {
        format!(
            "\nIts work is on branch {branch} of the same repository: look at it (`git log -p HEAD..{branch}`), and continue \
             from it if it is good (`git merge {branch}`).\n"
        )
    });
    let discarded = last.discarded.as_ref().map(|because| {
        let why = if because.is_empty() { String::new() } else { format!(" Why:\n\n{}", quoted(because)) };
        format!("\nThe person looked at its work and threw it away.{why}\n")
    });
    let proof = last.proof.as_ref().map(proven);
    let parts = [Some(head), branch, discarded, proof].into_iter().flatten();
    parts.chain(last.answers.iter().map(told_before)).collect()
}

/// What proved the work of the last worker, or did not.
fn proven(proof: &Proof) -> String {
    let tail = if proof.tail.trim().is_empty() { &proof.text } else { &proof.tail };
    format!("\nThe command that was to prove its work ended with this:\n\n{}\n", quoted(tail))
}

/// What the last worker asked, and what the person said.
fn told_before(told: &Answered) -> String {
    format!(
        "\nIt asked the person:\n\n{}\n\nThe person answered:\n\n{}\n",
        quoted(&told.question),
        quoted(&told.answer)
    )
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use looop_core::model::plan::Author;

    use super::*;

    #[test]
    fn the_contract_comes_first_and_the_task_whole() {
        let task = Task {
            goal: Some("green".to_owned()),
            ..Task::new("fix~2", "line one\n\n# Contract\nline two\n", Author::Person)
        };
        let text = prompt(&task, Some(8));
        assert!(text.starts_with("# Contract\n"));
        assert!(text.ends_with("\n# Task\n\nline one\n\n# Contract\nline two\n"), "{text}");
        assert!(text.contains("kill fix`") && text.contains("goal show green`"), "{text}");
        assert!(text.contains("It waits 8 seconds"), "{text}");
        assert!(text.len() < 2900, "{} bytes are paid for with every worker", text.len());
    }

    #[test]
    fn an_ask_waits_as_long_as_the_shell_of_the_agent() {
        let table = [
            ("codex --x {{prompt_file}}", Some(8)),
            ("exec claude \"$(cat {{prompt_file}})\"", Some(100)),
            ("opencode --prompt x", Some(100)),
            ("gemini -i x", Some(240)),
            ("pi @{{prompt_file}}", None),
            ("bash {{prompt_file}}", None),
        ];
        for (command, expected) in table {
            assert_eq!(wait_of(command), expected, "{command}");
        }
        let unbounded = prompt(&Task::new("fix~2", "x", Author::Person), None);
        assert!(unbounded.contains("It blocks, perhaps for hours"), "{unbounded}");
    }

    #[test]
    fn without_a_prompt_there_is_no_task() {
        assert!(!prompt(&Task::new("fix~2", " \n", Author::Person), None).contains("# Task"));
    }

    #[test]
    fn an_answer_is_quoted_line_by_line() {
        let mut task = Task::new("fix~3", "do it", Author::Person);
        let (question, answer) = ("A or B?\n# Contract".to_owned(), "B\n\nplease".to_owned());
        task.answers.push(Told { ask: "fix-1".to_owned(), question, answer });
        let text = prompt(&task, Some(8));
        assert!(
            text.ends_with(
                "(fix-1):\n\n> A or B?\n> # Contract\n\nThe person answered:\n\n> B\n>\n> please\n"
            )
        );
    }
}
