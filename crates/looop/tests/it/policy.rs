//! The policy, through the real binary: shown, checked, tried on a move, refused when broken, and granted by `init`.
#![expect(clippy::unwrap_used, reason = "a profile that cannot be looked at fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use looop_sim::profile::{Profile, Ran, set_mode, write_program};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const RULES: &str = r#"
[[rule]]
move = "write_playbook"
when = { tainted = false }
then = "deny"
message = "I keep that myself"

[[rule]]
move = "archive_goal"
then = "ask"

[[grant]]
program = "gh"
env = ["GH_TOKEN"]
net = true
"#;

fn ruled(rules: &str) -> Profile {
    let profile = Profile::bare(LOOOP).guarded();
    profile.write("policy.toml", rules);
    profile
}

fn test(profile: &Profile, action: &Value, flags: &[&str]) -> Value {
    let args: Vec<&str> = ["policy", "test", "-", "--json"].iter().chain(flags).copied().collect();
    profile.run_with(&args, action.to_string().as_bytes()).ok().json()
}

#[test]
fn show_prints_the_level_the_rules_the_list_and_the_grants() {
    let profile = ruled(RULES);
    let shown = profile.run(&["policy", "show"]).ok().stdout;
    let expected = [
        "level     guarded",
        "1     write_playbook  tainted = false  deny  I keep that myself",
        "2     archive_goal    always           ask",
        "the built-in list \"guarded\"",
        "nothing confines it here",
        "commands that only look)  variables GH_TOKEN, all of the network  asks",
    ];
    for text in expected {
        assert!(shown.contains(text), "{text:?} in\n{shown}");
    }
    let json = profile.run(&["policy", "show", "--json"]).ok().json();
    assert_eq!(json["level"], "guarded");
    assert_eq!(
        json["rules"][1],
        json!({"move": "archive_goal", "when": json["rules"][1]["when"], "then": "ask"})
    );
    assert_eq!(json["grants"][0]["program"], "gh");
    assert_eq!(json["builtin"].as_array().unwrap().last().unwrap()["then"], "ask");
    let open = profile.config("policy = 'open'\n").run(&["policy", "show", "--json"]).ok().json();
    assert_eq!((open["level"].as_str(), open["builtin"].as_array().unwrap().len()), (Some("open"), 1));
}

#[test]
fn a_profile_that_does_not_exist_has_the_default_policy_and_is_not_made() {
    let profile = Profile::new(LOOOP).guarded();
    assert!(profile.run(&["policy", "show"]).ok().stdout.starts_with("level     guarded"));
    let checked = profile.run(&["policy", "check"]).ok().stdout;
    assert_eq!(checked, "there is no policy.toml: the built-in list \"guarded\" decides\n");
    assert!(!profile.data().exists());
}

#[test]
fn check_says_what_is_wrong_and_where() {
    let profile = ruled(RULES);
    let checked = profile.run(&["policy", "check"]).ok().stdout;
    assert!(checked.ends_with("policy.toml: 2 rules and 1 grant\n"), "{checked}");
    profile.write("policy.toml", "[[rule]]\nmove = \"run_shel\"\nthen = \"ask\"\n");
    let said =
        profile.run(&["policy", "check"]).fails(1, "policy.toml:2: `rule.move`: \"run_shel\" is no move");
    assert!(said.stderr.contains("2 | move = \"run_shel\"\n    |        ^^^^^^^^^^\n"), "{}", said.stderr);
    let other = profile.outside().join("other.toml");
    fs::write(
        &other,
        "[[rule]]\nmove = \"*\"\nthen = \"ask\"\n[[rule]]\nmove = \"noop\"\nthen = \"allow\"\n",
    )
    .unwrap();
    let checked = profile.run(&["policy", "check", other.to_str().unwrap()]).ok().stdout;
    assert!(checked.contains("rule 2 is never reached: rule 1 decides before it"), "{checked}");
    profile.run(&["policy", "check", "nowhere.toml"]).fails(1, "cannot read nowhere.toml");
}

#[test]
fn test_names_the_rule_that_decides() {
    let profile = ruled(RULES).goal("mine", "Do it.\n");
    let playbook = json!({"action": "write_playbook", "body": "x"});
    let tried = test(&profile, &playbook, &[]);
    assert_eq!((tried["then"].as_str(), tried["rule"].as_str()), (Some("deny"), Some("policy.toml rule 1")));
    assert_eq!(tried["reason"], "I keep that myself");
    let tried = test(&profile, &playbook, &["--tainted"]);
    assert_eq!(tried["rule"], "guarded: write_playbook asks");
    assert_eq!(tried["path"], "PLAYBOOK.md");

    let start = json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "mine"});
    assert_eq!(test(&profile, &start, &[])["then"], "deny", "no runner is configured");
    let profile = profile.config("[runners.agent]\ninteractive = 'agent {{prompt_file}}'\n");
    let tried = test(&profile, &start, &["--tainted"]);
    assert_eq!((tried["then"].as_str(), tried["goal_by"].as_str()), (Some("allow"), Some("person")));
    assert_eq!((tried["goal"].as_str(), tried["runner"].as_str()), (Some("mine"), Some("agent")));
    assert_eq!(test(&profile, &start, &["--tainted", "--goal-by-decider"])["then"], "ask");
    assert_eq!(test(&profile, &start, &["--goal-by-decider"])["then"], "allow");

    let words = profile.run_with(&["policy", "test", "-"], playbook.to_string().as_bytes()).ok().stdout;
    assert!(
        words.starts_with("ruling    write_playbook is denied\nrule      policy.toml rule 1\n"),
        "{words}"
    );
    profile.run_with(&["policy", "test", "-"], b"{\"action\":\"nop\"}").fails(1, "noop");
    profile.run_with(&["policy", "test", "-"], b"no").fails(1, "the move is not JSON");
}

/// What a command gets, box by box, and which grant it does not get and why.
#[test]
fn test_shows_each_box_and_what_is_withheld() {
    let grants = "[[grant]]\ncommand = [\"gh\", \"pr\", \"list\", \"--json=*\"]\nenv = [\"GH_TOKEN\"]\nnet = [\"api.github.com\"]\n\
                  [[grant]]\npath = \"~/src\"\nwrite = true\n[[grant]]\nprogram = \"terraform\"\n";
    let profile = ruled(grants);
    let shell = |cmd: &str| json!({"action": "run_shell", "cmd": cmd});
    let tried = test(&profile, &shell("gh pr list --json title | jq -r .x"), &[]);
    let boxes = &tried["runs"][0]["boxes"];
    assert_eq!(tried["then"], "allow");
    assert_eq!(boxes[0]["argv"], json!(["gh", "pr", "list", "--json", "title"]));
    assert_eq!(boxes[0]["grant"], "gh pr list --json=*");
    assert_eq!(boxes[0]["granted"], json!({"env": ["GH_TOKEN"], "net": true, "hosts": ["api.github.com"]}));
    assert_eq!(boxes[1]["argv"], json!(["jq", "-r", ".x"]));
    assert_eq!(boxes[1]["granted"], json!({"write": ["~/src"]}));
    assert_eq!(test(&profile, &shell("gh pr list"), &["--tainted"])["then"], "ask");

    let tried = test(&profile, &shell("gh pr list > x"), &["--tainted"]);
    assert_eq!(tried["then"], "allow", "it gets nothing that taint could reach");
    assert_eq!(tried["runs"][0]["not_plain"], "`>` is a redirection");
    assert_eq!(tried["runs"][0]["boxes"][0]["argv"], json!(["bash", "-c", "gh pr list > x"]));
    let withheld = tried["runs"][0]["withheld"].to_string();
    assert!(
        withheld.contains("gh: `>` is a redirection") && withheld.contains("~/src can only be read"),
        "{withheld}"
    );
    let move_ = shell("gh pr list | jq .").to_string();
    let words = profile.run_with(&["policy", "test", "-"], move_.as_bytes()).ok().stdout;
    for line in ["runs      gh pr list", "grant     gh pr list --json=*", "runs      jq ."] {
        assert!(words.contains(line), "{line} in {words}");
    }
    let checked = profile.run(&["policy", "check"]).ok().stdout;
    assert!(
        checked.contains("grant 3: no command of terraform is granted: write command = [\"terraform\", …]"),
        "{checked}"
    );
}

/// Nothing is done, and nothing is written down.
#[test]
fn to_try_a_move_leaves_no_trace() {
    let profile = ruled("");
    profile.beat().ok();
    let before = profile.tree();
    test(&profile, &json!({"action": "write_goal", "id": "g", "body": "x"}), &[]);
    assert_eq!(profile.tree(), before);
}

fn refuses(profile: &Profile, text: &str) {
    let check = |ran: Ran| drop(ran.fails(1, text));
    check(profile.beat());
    check(profile.run(&["up"]));
    check(profile.run(&["status"]));
}

#[test]
fn a_broken_policy_refuses_to_start() {
    let profile = ruled("[[rule]]\nmove = 'run_shell'\nthen = 'allow'\nwhen = { programm = ['gh'] }\n");
    refuses(&profile, "policy.toml:4: `rule.when.programm` is not a known key; did you mean `program`?");
    profile.write("policy.toml", [0xff, 0xfe]);
    refuses(&profile, "not valid UTF-8");
    fs::remove_file(profile.data().join("policy.toml")).unwrap();
    fs::create_dir(profile.data().join("policy.toml")).unwrap();
    refuses(&profile, "policy.toml is a directory, not a regular file");
    fs::remove_dir(profile.data().join("policy.toml")).unwrap();
    profile.beat().ok();
}

#[test]
fn a_policy_that_others_can_write_is_refused_with_the_command_that_mends_it() {
    let profile = ruled(RULES);
    let file = profile.data().join("policy.toml");
    set_mode(&file, 0o622);
    refuses(&profile, "policy.toml can be written by other");
    let said = profile.beat().stderr;
    let mend = said.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    assert!(std::process::Command::new("sh").args(["-c", mend]).status().unwrap().success());
    profile.beat().ok();
}

/// A folder with programs of these names, to be found on the path.
fn tools(profile: &Profile, names: &[&str]) -> String {
    let folder = profile.outside().join("bin");
    fs::create_dir_all(&folder).unwrap();
    for name in names {
        write_program(&folder.join(name), "#!/bin/sh\n");
    }
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn init_finds_tools_and_grants_only_what_is_asked_for() {
    let profile = Profile::new(LOOOP).guarded();
    let path = tools(&profile, &["gh", "kubectl"]);
    let profile = profile.env("PATH", path);
    let said = profile.run(&["init"]).ok().stdout;
    assert!(said.contains("found gh") && said.contains("kubectl") && said.contains("--grant gh"), "{said}");
    assert_eq!(profile.file("policy.toml"), None);

    let said = profile.run(&["init", "--grant", "kubectl,gh,gh"]).ok().stdout;
    assert!(said.contains("wrote policy.toml: kubectl, gh granted"), "{said}");
    assert!(!said.contains("found gh"), "{said}");
    let text = profile.file("policy.toml").unwrap();
    assert_eq!(text.matches("[[grant]]").count(), 2, "{text}");
    let mode = fs::metadata(profile.data().join("policy.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = profile.run(&["policy", "show", "--json"]).ok().json();
    let gh = json!({"program": "gh", "env": ["GH_TOKEN", "GITHUB_TOKEN"], "read": ["~/.config/gh"], "net": ["api.github.com", "github.com"]});
    assert_eq!(shown["grants"][0], gh);

    let said = profile.run(&["init", "--grant", "gh"]).ok().stdout;
    assert!(said.contains("gh is granted already"), "{said}");
    assert_eq!(profile.file("policy.toml").unwrap(), text);
    profile.run(&["init", "--grant", "kubectll"]).fails(2, "did you mean kubectl?");
}

#[test]
fn init_appends_to_a_persons_policy_and_never_to_a_broken_one() {
    let profile = ruled("# mine\n[[rule]]\nmove = \"noop\"\nthen = \"ask\"");
    profile.run(&["init", "--grant", "curl"]).ok();
    let text = profile.file("policy.toml").unwrap();
    assert!(text.starts_with("# mine\n[[rule]]\nmove = \"noop\"\nthen = \"ask\"\n\n# granted by"), "{text}");
    profile.run(&["policy", "check"]).ok();
    profile.write("policy.toml", "[[rule]]\n");
    profile.run(&["init", "--grant", "git"]).fails(1, "has no `move`");
    assert_eq!(profile.file("policy.toml").unwrap(), "[[rule]]\n");
}

#[test]
fn two_that_grant_at_once_lose_nothing() {
    let profile = Profile::bare(LOOOP).guarded().config("interval = 60\n");
    profile.beat().ok();
    let names = ["gh", "git", "curl", "kubectl"];
    let running: Vec<_> = names.iter().map(|name| profile.start(&["init", "--grant", name])).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let shown = profile.run(&["policy", "show", "--json"]).ok().json();
    assert_eq!(shown["grants"].as_array().unwrap().len(), names.len(), "{shown}");
}
