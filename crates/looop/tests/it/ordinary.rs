//! Ordinary work is not held up: under the default policy a person's sensors run with their rights, and what deciders
//! usually do needs nobody's word.

use looop_sim::profile::{Profile, set_mode, write_program};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// Grants as `init` offers them.
const GRANTS: &str = "[[grant]]\nprogram = \"gh\"\nenv = [\"GH_TOKEN\"]\nread = [\"~/.config/gh\"]\nnet = true\n\
    [[grant]]\ncommand = [\"linear\", \"issues\"]\nenv = [\"LINEAR_API_KEY\"]\nnet = [\"api.linear.app\"]\n";

/// A person's profile: sensors over GitHub, Linear and Grafana that use programs and tokens of theirs.
fn work() -> Profile {
    let profile =
        Profile::bare(LOOOP).guarded().goal("ship", "# Ship\nIt is shipped.\n").goal("write", "# Write\n");
    let outside = profile.outside().to_owned();
    std::fs::create_dir_all(outside.join("bin")).expect("a folder");
    std::fs::create_dir_all(outside.join("home/.config/gh")).expect("a folder");
    std::fs::write(outside.join("home/.config/gh/hosts.yml"), "token\n").expect("a file");
    let programs = [
        (
            "gh",
            "#!/bin/sh\n[ -n \"$GH_TOKEN\" ] && grep -q . ~/.config/gh/hosts.yml || exit 4\necho '[{\"number\":1,\"title\":\"fix\"}]'\n",
        ),
        (
            "curl",
            "#!/bin/sh\ncase \"$*\" in *Bearer\\ key*) echo '{\"data\":{\"issues\":[1]}}';; *) exit 22;; esac\n",
        ),
        (
            "linear",
            "#!/bin/sh\n[ \"$LINEAR_API_KEY\" = key ] || exit 22\necho '{\"data\":{\"issues\":[1]}}'\n",
        ),
        ("notify", "#!/bin/sh\necho \"$1\" >> \"$NOTES\"\n"),
    ];
    for (name, text) in programs {
        write_program(&outside.join("bin").join(name), text);
    }
    let own = "#!/bin/sh\n# looop:trust=owner\n";
    let path = format!("{}:{}", outside.join("bin").display(), std::env::var("PATH").expect("a PATH"));
    let profile = profile
        .sensor("github", &format!("{own}gh pr list --json number,title | jq '{{signal: length, detail: .}}'\n"))
        .sensor("linear", &format!("{own}curl -s -H \"Authorization: Bearer $LINEAR_API_KEY\" https://api.linear.app/graphql | jq '{{signal: .data.issues}}'\n"))
        .sensor("grafana", &format!("{own}curl -s -H \"Authorization: Bearer $GRAFANA_TOKEN\" https://grafana/api/alerts | jq '{{signal: .}}'\n"))
        .env("PATH", path)
        .env("GH_TOKEN", "t")
        .env("LINEAR_API_KEY", "key")
        .env("GRAFANA_TOKEN", "key")
        .env("NOTES", outside.join("notes"));
    profile.write("policy.toml", GRANTS);
    let told =
        Value::from(format!("cat '{}' > \"$LOOOP_DECISION_FILE\"", outside.join("decision.json").display()));
    let tools = Value::from(outside.join("bin").to_string_lossy());
    profile.config(&format!(
        "default = \"fake\"\nsandbox_tools = [{tools}]\nnotification = \"notify\"\n[runners.fake]\ntick = {told}\ncost = \"free\"\n\
         interactive = \"cat {{{{prompt_file}}}} > /dev/null; cat\"\n"
    ))
}

fn shell(cmd: &str) -> Value {
    json!({"action": "run_shell", "cmd": cmd})
}

/// What deciders usually do, in an order in which each is possible.
fn usual() -> Vec<Value> {
    let mut moves: Vec<Value> = [
        "ls -la ..",
        "cat ../PLAYBOOK.md ../goals/*.md",
        "grep -rn TODO ../goals | head -20 || true",
        "jq -r '.signal' ../snapshots/*.json 2>/dev/null | sort | uniq -c || true",
        "date; uptime; df -h . | tail -1",
        "git log --oneline -5 2>/dev/null || true",
        "git -C .. status --short 2>/dev/null || true",
        "printf '# Weekly\\n\\nAll well.\\n' > ../reports/weekly.md",
        "date >> \"$LOOOP_REPORTS_DIR/log.md\"",
        "wc -l ../reports/*.md | tee counts.txt",
        "mkdir -p notes && echo one > notes/a && cp notes/a notes/b && rm notes/a",
        "for f in ../goals/*.md; do head -1 \"$f\"; done",
        "x=$(ls ../goals | wc -l); echo \"$x goals\"",
        "if [ -e ../goals/ship.md ]; then echo there; fi",
        "find . -name '*.txt' -mtime -1",
        "sed -n '1,5p' ../PLAYBOOK.md | awk '{print $1}' | sort -u",
        "diff notes/b ../PLAYBOOK.md > changes.diff || true",
        "sha256sum ../PLAYBOOK.md | cut -c1-12",
        "echo '{\"a\":[1,2]}' | jq '.a | add'",
        "cat <<'E' > ../reports/plan.md\n# Plan\n1. Ship\nE",
        "tail -n 3 ../reports/plan.md; du -sh ..",
    ]
    .map(shell)
    .to_vec();
    moves.extend([
        json!({"action": "noop", "reason": "all well", "journal": "Nothing to do."}),
        json!({"action": "noop", "next_interval_s": 60}),
        json!({"action": "write_goal", "id": "docs", "body": "# Docs\nThe docs are up to date.\n"}),
        json!({"action": "write_goal", "id": "ci", "body": "---\ncheck: test -e reports/weekly.md\n---\n# CI\n"}),
        json!({"action": "write_goal", "id": "docs", "body": "---\nevery: 1d\n---\n# Docs\nChecked daily.\n"}),
        json!({"action": "archive_goal", "id": "docs"}),
        json!({"action": "write_schedule", "name": "later", "in_s": 3600, "note": "look again"}),
        json!({"action": "write_schedule", "name": "daily", "cron": "0 9 * * 1-5", "note": "stand-up"}),
        json!({"action": "write_schedule", "name": "hourly", "every_s": 3600}),
        json!({"action": "drop_schedule", "name": "later"}),
        json!({"action": "send_notification", "message": "CI is green again"}),
        json!({"action": "send_notification", "message": "It's \"done\": 5 < 6", "id": "x"}),
        json!({"action": "ask_human", "prompt": "Ship today?", "options": ["yes", "no"]}),
        json!({"action": "start_worker", "id": "fix", "prompt": "Fix the build.", "goal": "ship"}),
        json!({"action": "steer_session", "id": "fix", "input": "look at the log first"}),
        json!({"action": "send_key", "id": "fix", "keys": ["enter"]}),
        json!({"action": "restart_session", "id": "fix", "reason": "stuck"}),
        json!({"action": "kill_worker", "id": "fix", "reason": "done"}),
        json!({"action": "start_worker", "id": "doc", "prompt": "Write docs.", "goal": "write", "verify": "test -e reports/weekly.md"}),
        json!({"action": "kill_worker", "id": "doc"}),
    ]);
    moves
}

/// What needs nobody's word as long as no stranger was heard: each in a profile of its own, since what a command prints
/// is a stranger's in the next beat.
fn alone() -> Vec<Value> {
    let sensor = |name: &str, script: &str| json!({"action": "write_sensor", "name": name, "script": script});
    vec![
        shell("gh pr list --json number,title"),
        shell("gh pr list --json number | jq length"),
        shell("gh run list --limit 5 | tee runs.json"),
        shell("gh pr view 1 --json title | jq -r '.[0].title' | tee ../reports/pr.md"),
        shell("linear issues | jq .data"),
        json!({"action": "write_goal", "id": "tidy", "body": "---\nrun: date > reports/tidy.md\nevery: 1d\n---\n# Tidy\n"}),
        json!({"action": "start_worker", "id": "free", "prompt": "Read the news."}),
        sensor("reports", "#!/bin/sh\nls reports | wc -l\n"),
        sensor("prs", "#!/bin/bash\nset -euo pipefail\ngh pr list --json number | jq '{signal: length}'\n"),
        sensor("issues", "#!/bin/sh\n# Needs LINEAR_API_KEY.\nlinear issues | jq '{signal: .data}'\n"),
    ]
}

/// What the default names.
fn named() -> Vec<Value> {
    vec![
        json!({"action": "write_playbook", "body": "# PLAYBOOK\nBe bold.\n"}),
        json!({"action": "start_worker", "id": "own", "prompt": "Build.", "command": "make"}),
        json!({"action": "write_sensor", "name": "more", "script": "#!/bin/sh\necho 1\n"}),
        json!({"action": "start_worker", "id": "other", "prompt": "x", "goal": "ci"}),
        json!({"action": "write_goal", "id": "again", "body": "---\nrun: date\nevery: 1d\n---\n# Again\n"}),
        shell("gh pr list"),
    ]
}

fn beat(profile: &Profile, one: &Value) -> String {
    profile.decide_next(one);
    let ran = profile.beat();
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn what_deciders_usually_do_needs_nobodys_word() {
    let profile = work();
    let usual = usual();
    assert!(usual.len() + alone().len() >= 50);
    let mut held = Vec::new();
    for one in &usual {
        let said = beat(&profile, one);
        if !said.contains("done") {
            held.push(format!("{one}\n{said}"));
            break;
        }
    }
    profile.run(&["kill", "--all", "--force"]);
    assert!(held.is_empty(), "{}", held.join("\n"));
    for (name, signal) in [("github", "1"), ("linear", "1"), ("grafana", "issues")] {
        let seen = profile.run(&["sensor", "run", name]).ok().stdout;
        assert!(seen.contains(signal), "{name}: {seen}");
    }
}

#[test]
fn what_is_granted_is_given_without_a_word_while_no_stranger_is_heard() {
    let held: Vec<String> = alone()
        .iter()
        .filter_map(|one| {
            let profile = work();
            let said = beat(&profile, one);
            profile.run(&["kill", "--all", "--force"]);
            (!said.contains("done") || said.contains("failed")).then(|| format!("{one}\n{said}"))
        })
        .collect();
    assert!(held.is_empty(), "{}", held.join("\n"));
}

/// What cannot have a grant runs without one, and says which it did not get and why.
#[test]
fn what_gets_no_grant_says_why() {
    for (cmd, why) in [
        (
            "gh run list > runs.json",
            "not granted: gh: `>` is a redirection; only plain words joined by | get grants",
        ),
        ("gh pr merge 1", "not granted: gh: no grant has \"merge\" in `gh pr merge 1`"),
        ("echo x | gh pr list", "not granted: gh: a granted command must be the first of its pipeline"),
    ] {
        let profile = work();
        let said = beat(&profile, &shell(cmd));
        assert!(said.contains("exit 4") && said.contains(why), "{cmd}: {said}");
        let brief = profile.run(&["beat", "--dry-run"]).ok().stdout;
        assert!(brief.contains(why), "{cmd}: {brief}");
    }
}

/// Once a stranger is heard, what the default names waits, and nothing else does.
#[test]
fn what_the_default_names_waits_when_a_stranger_is_heard() {
    let profile = work();
    beat(&profile, &json!({"action": "write_goal", "id": "ci", "body": "# CI\n"}));
    profile.write("sensors/web.sh", "#!/bin/sh\necho '\"hello\"'\n");
    set_mode(&profile.data().join("sensors/web.sh"), 0o700);
    for one in named() {
        let said = beat(&profile, &one);
        assert!(said.contains("waits for your yes"), "{one}: {said}");
    }
    for one in [
        shell("date > ../reports/x.md"),
        json!({"action": "start_worker", "id": "fix", "prompt": "x", "goal": "ship"}),
    ] {
        let said = beat(&profile, &one);
        assert!(said.contains("done"), "{one}: {said}");
    }
    profile.run(&["kill", "--all", "--force"]);
}
