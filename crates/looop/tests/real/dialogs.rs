//! Agents that stand at a request for permission: they wait for the person, no text confirms it, and a key does.

use crate::agents::{Agent, codex, gemini, hired, opencode};
use crate::needs::found;

/// An agent that asks before it runs a command.
struct Row {
    agent: Agent,
    /// How it is started, with `RUN` for what it is told.
    command: &'static str,
    /// What it shows when it asks.
    dialog: &'static str,
    /// Shown when it waits for input again.
    ready: &'static str,
}

fn waits(row: &Row) {
    if !found(&[row.agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&row.agent, "asker", "talk");
    let (profile, file) = (desk.profile(), desk.profile().data().join("scratch/herons"));
    let command = row.command.replace("RUN", "ask to run: touch scratch/herons");
    let command = format!("{command} # {{{{prompt_file}}}}");
    profile.run(&["worker", "start", "asker", "Count the herons.", "--command", &command]).ok();
    desk.expect(row.dialog);
    profile.beat().ok();
    let rows = profile.run(&["ls", "--json"]).ok().json();
    assert_eq!((&rows[0]["health"], &rows[0]["waits_on"]), (&"waiting".into(), &"asker-1".into()), "{rows}");
    let asks = profile.run(&["asks"]).ok().stdout;
    assert!(asks.contains("asks for permission") && asks.contains("touch"), "{asks}");
    for text in ["NO, do not run that", "1", "y"] {
        let sent = desk.verb("send", &["--json", text]);
        assert_eq!((sent.code, &sent.json()["delivery"]), (4, &"not_typed".into()), "{}", desk.shot().text());
        desk.expect(row.dialog);
    }
    assert!(!file.exists());
    desk.press(&["Enter"]);
    desk.expect("It ran\\.");
    assert!(file.exists());
    desk.expect(row.ready);
    profile.beat().ok();
    let rows = profile.run(&["ls", "--json"]).ok().json();
    assert_eq!(rows[0]["health"], "busy", "{rows}");
    desk.kill();
}

#[test]
fn codex_waits_for_permission() {
    waits(&Row {
        agent: codex(),
        command: "codex --no-daemon -c \"projects={\\\"$PWD\\\"={trust_level=\\\"trusted\\\"}}\" \
                  -c check_for_update_on_startup=false --ask-for-approval on-request --sandbox read-only \"RUN\"",
        dialog: "Would you like to run the following command\\?",
        ready: "› Ask Codex to do anything",
    });
}

#[test]
fn opencode_waits_for_permission() {
    waits(&Row {
        agent: opencode(),
        command: "OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_PERMISSION='{\"bash\":\"ask\"}' opencode --prompt \"RUN\"",
        dialog: "Permission required",
        ready: "┃  Build · Fake Fake",
    });
}

#[test]
fn gemini_waits_for_permission() {
    waits(&Row {
        agent: gemini(),
        command: "gemini --skip-trust --approval-mode default -i \"RUN\"",
        dialog: "Allow execution of|Action Required",
        ready: "Type your message or @path/to/file",
    });
}
