//! Text that would drive the person's terminal, wherever it comes from and whichever verb prints it.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use looop_sim::profile::Profile;
use looop_sim::terminal;
use serde_json::json;

use super::field::LOOOP;

/// Clears the screen, sets the title, goes back to the line's begin, turns the direction, hides a letter, a C1 control.
const EVIL: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\r\u{202e}\u{200b}\u{9b}31m\u{7f}";
/// What a person never gets to see raw.
const RAW: [char; 8] = ['\u{1b}', '\u{7}', '\r', '\u{202e}', '\u{200b}', '\u{9b}', '\u{7f}', '\u{2066}'];

#[track_caller]
fn tame(what: &str, text: &str) {
    assert!(!text.contains(RAW), "{what}: {text:?}");
}

/// A profile in which everything that others can write has something to say to the terminal.
fn infested() -> Profile {
    let goal = format!("---\nrun: echo '{EVIL}'\nevery: 1h\n---\n# Ship {EVIL}\n");
    let sensor = format!(
        "#!/bin/sh\n# {EVIL}\nprintf '%s' '{{\"signal\":\"'; printf '{}'; echo '\"}}'\n",
        "\\342\\200\\256"
    );
    let profile = Profile::bare(LOOOP).guarded().goal("ship", &goal).sensor("ci", &sensor);
    let profile = profile.decider(&json!({
        "action": "ask_human", "prompt": EVIL, "options": [EVIL], "ref": EVIL,
        "journal": format!("{EVIL}\n- forged"),
    }));
    profile.write("goals/odd.md", format!("---\nevery: {EVIL}\ncheck: {EVIL}\n---\n# {EVIL}\n"));
    profile.write("schedules/s.json", json!({"v": 1, "name": "s", "every_s": 60, "note": EVIL}).to_string());
    profile.write("schedules/t.json", format!("{{\"{EVIL}"));
    for (id, from, goal) in
        [("w-1", EVIL, "ship"), ("w-2", "w~1", EVIL), ("w-3", "w~1\n\nask-9  (from pulse)", "ship")]
    {
        let letter = json!({"v": 1, "id": id, "from": from, "goal": goal, "prompt": EVIL, "asked": 1});
        profile.write(&format!("asks/{id}.json"), letter.to_string());
    }
    let letter = json!({"v": 1, "id": "w-4", "from": "w~1", "kind": "flag", "prompt": EVIL, "asked": 1});
    profile.write("asks/w-4.json", letter.to_string());
    let action = json!({"action": "run_shell", "cmd": format!("echo {EVIL}"), "reason": EVIL});
    let letter = json!({"v": 1, "id": "w-5", "from": "w~1", "kind": "proposal", "prompt": EVIL,
        "proposal": action, "asked": 1});
    profile.write("asks/w-5.json", letter.to_string());
    let spent = json!({"v": 1, "id": "w-6", "session": "w~1", "usd": 0.5, "model": EVIL, "runner": EVIL,
        "goal": EVIL, "recorded": 1});
    profile.write("spend/w-6.json", spent.to_string());
    profile
}

/// The verbs that print what others wrote.
const VERBS: &[&[&str]] = &[
    &["asks"],
    &["asks", "show", "w-5"],
    &["asks", "--expired"],
    &["status"],
    &["why"],
    &["why", "ship"],
    &["why", "odd"],
    &["events"],
    &["journal"],
    &["goal", "list"],
    &["goal", "show", "ship"],
    &["sensor", "list"],
    &["sensor", "show", "ci"],
    &["sensor", "run", "ci"],
    &["schedule", "list"],
    &["playbook", "show"],
    &["runs"],
    &["runs", "1"],
    &["cost", "--by", "model"],
    &["cost", "--by", "runner"],
    &["cost", "--by", "goal"],
    &["worker", "list"],
    &["log", "evil"],
    &["shot", "evil"],
    &["log", "pulse"],
    &["doctor"],
    &["policy", "show"],
    &["undo", "--list"],
    &["wait", "--since", "0", "--timeout", "1s"],
    &["beat", "--dry-run"],
    &["answer", "w-9\u{1b}[2J", "yes"],
];

/// What a verb prints on a terminal.
fn on_terminal(profile: &Profile, args: &[&str]) -> String {
    let (ours, theirs) = terminal::pair(80, 24);
    let call = profile.command(args);
    let mut command = Command::new(call.get_program());
    command.args(call.get_args()).env_clear().env("NO_COLOR", "1");
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let stdio = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
    drop(command);
    drop(theirs);
    let mut text = Vec::new();
    // The terminal ends with an error once nobody has it open any more.
    drop(File::from(ours).read_to_end(&mut text));
    child.wait().unwrap();
    String::from_utf8_lossy(&text).replace("\r\n", "\n")
}

#[test]
fn no_verb_prints_what_drives_a_terminal() {
    let profile = infested();
    for _ in 0..3 {
        let beat = profile.run(&["beat"]);
        tame("beat", &format!("{}{}", beat.stdout, beat.stderr));
        profile
            .decide_next(&json!({"action": "run_shell", "cmd": format!("printf '{EVIL}'"), "reason": EVIL}));
    }
    let script = "printf '\\342\\200\\256evil\\302\\2331m\\n'";
    profile.run(&["worker", "start", "evil", "--command", script]).ok();
    profile.run(&["wait", "evil", "--timeout", "120s"]);
    for args in VERBS {
        tame(&format!("{args:?} on a terminal"), &on_terminal(&profile, args));
        let ran = profile.run(args);
        let is_file = matches!(args, ["goal" | "sensor" | "playbook", "show", ..]);
        if !is_file {
            tame(&format!("{args:?}"), &format!("{}{}", ran.stdout, ran.stderr));
        }
    }
    for args in [&["asks"][..], &["events"], &["status"], &["journal"], &["goal", "list"], &["runs"]] {
        let ran = profile.run(&[args, &["--json"]].concat());
        tame(&format!("{args:?} --json"), &ran.stdout);
    }
    assert_eq!(
        profile.run(&["goal", "show", "ship"]).ok().stdout,
        profile.file("goals/ship.md").unwrap(),
        "a program gets the bytes of the file"
    );
}

/// A field of one letter does not draw a second one.
#[test]
fn a_letter_draws_no_other_letter() {
    let profile = infested();
    let shown = profile.run(&["asks"]).ok();
    assert!(!shown.stdout.contains("\nask-9"), "{}", shown.stdout);
    assert!(shown.stdout.contains("w-4") && shown.stdout.contains("\\u{1b}[2J"), "{}", shown.stdout);
    assert!(shown.stderr.contains("asks/w-1.json") && shown.stderr.contains("asks/w-3.json"), "{shown:?}");
    let beat = profile.run(&["beat"]);
    assert!(!beat.stdout.contains("\nask-9"), "{}", beat.stdout);
}
