//! Questions of real agents and their answers, and permission prompts that no text confirms.

use serde_json::json;

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::needs::found;

const PROMPT: &str = "Count the herons at the harbour.";

/// The agent asks by its own shell, which does not wait for the answer; the answer is typed into it, once.
fn hears(agent: &Agent, ask: &str) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, model, _gate) = hired(agent, agent.runner, "talk");
    desk.start_agent(agent.runner, PROMPT);
    desk.expect("I (read it\\.|heard: )");
    desk.expect(agent.ready);
    desk.send(&format!("run: {ask}"));
    desk.profile().until_is("the ask", || {
        let asks = desk.profile().run(&["asks", "--json"]).ok().json();
        asks[0]["prompt"] == "A or B?"
    });
    // Its turn is over when the model has heard what came of the command.
    desk.profile().until_is("the end of the turn", || model.was_told("is not answered yet"));
    desk.expect(agent.ready);
    let answered = desk.profile().run(&["answer", &format!("{}-1", agent.runner), "B"]).ok().stdout;
    assert!(answered.contains("it will be typed into"), "{answered}\n{}", desk.shot().text());
    desk.profile().beat().ok();
    desk.expect("I heard: The person answered your question");
    let told = format!("The person answered your question {}-1 (\"A or B?\"): \"B\"", agent.runner);
    let count = model.heard().iter().filter(|said| said.starts_with(&told)).count();
    assert_eq!(count, 1, "{:?}", model.heard());
    desk.kill();
}

/// An ask that is given up by itself, as it is in the shell of an agent that does not wait.
const ASK: &str = "LOOOP_ASK_WAIT=1 $LOOOP_BIN ask --prompt 'A or B?' 2>&1";

#[test]
fn claude_hears() {
    hears(&claude(), ASK);
}

/// With the wait that its workers have: its shell does not look again after ten seconds.
#[test]
fn codex_hears() {
    hears(&codex(), "$LOOOP_BIN ask --prompt 'A or B?' 2>&1");
}

#[test]
fn opencode_hears() {
    hears(&opencode(), ASK);
}

#[test]
fn pi_hears() {
    hears(&pi(), ASK);
}

#[test]
fn gemini_hears() {
    hears(&gemini(), ASK);
}

#[test]
fn a_permission_prompt_of_claude_is_not_confirmed() {
    let agent = Agent {
        files: |_| {
            let key = json!({ "approved": ["x"], "rejected": [] });
            let file = json!({ "hasCompletedOnboarding": true, "customApiKeyResponses": key });
            vec![(".claude.json", file.to_string())]
        },
        ..claude()
    };
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&agent, "claude", "talk");
    desk.start("claude --permission-mode default");
    // It asks whether the folder is trusted, and then before it runs something.
    desk.expect("Yes, I trust this folder");
    let sent = desk.verb("send", &["--json", "NO, do not trust that"]);
    assert_eq!((sent.code, &sent.json()["delivery"]), (4, &"not_typed".into()), "{}", desk.shot().text());
    desk.press(&["Down", "Enter"]);
    desk.expect("\\n❯\\s*\\n─");
    let file = desk.profile().outside().join("touched");
    desk.send(&format!("run: touch {}", file.display()));
    desk.expect("Do you want to proceed\\?[\\s\\S]*1\\. Yes");
    for text in ["NO, do not run that", "1", "y"] {
        let sent = desk.verb("send", &["--json", text]);
        assert_eq!((sent.code, &sent.json()["delivery"]), (4, &"not_typed".into()), "{}", desk.shot().text());
        assert!(desk.shot().has("Do you want to proceed?"), "{text}: {}", desk.shot().text());
    }
    assert!(!file.exists());
    desk.kill();
}
