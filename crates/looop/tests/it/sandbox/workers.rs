//! Confined workers: they ask, claim, tell their spend and report, and reach nothing else.

use std::fs;

use looop_core::ledger::entry::Entry;
use looop_sim::waiting::within;

use super::ground::{Ground, SECRET, ground};

/// A ground whose workers run a script in the home, confined by their runner.
fn ground_with(ground: Ground, script: &str) -> Ground {
    let agent = ground.home().join("bin/agent.sh");
    fs::create_dir_all(ground.home().join("bin")).unwrap();
    fs::write(&agent, script).unwrap();
    let config = ground.profile.file("config.toml").unwrap();
    let config = format!("sandbox_tools = [\"~/bin\"]\n{config}");
    let more = format!(
        "[runners.agent]\nsandbox = true\ncost = \"free\"\ninteractive = \"bash '{}' {{{{prompt_file}}}}\"\n",
        agent.display()
    );
    ground.profile.write("config.toml", format!("{config}{more}"));
    ground
}

fn wait(ground: &Ground, session: &str) {
    let folder = ground.profile.data().join("sessions").join(session);
    within("the end of a session", move || looop_session::host::wait(&folder).unwrap());
}

fn report(ground: &Ground, name: &str) -> String {
    ground.profile.file(&format!("box/reports/{name}")).unwrap_or_default()
}

const LETTERS: &str = r#"
exec 2>&1 > "$LOOOP_REPORTS_DIR/said"
say() { local out code; out=$("${@:2}" 2>&1); code=$?; echo "$1: ${out//$'\n'/ } [$code]"; }
test -t 0 && echo "terminal"
echo "confined=$LOOOP_CONFINED"
test -s "$1" && echo "prompt"
say claim "$LOOOP_BIN" claim thing
say held "$LOOOP_BIN" claim other
say unclaim "$LOOOP_BIN" unclaim thing
say cost "$LOOOP_BIN" cost record --usd 0.25
say flag "$LOOOP_BIN" flag --reason "come here"
say unflag "$LOOOP_BIN" unflag
echo '{"action":"noop"}' > "$LOOOP_REPORTS_DIR/../scratch/move.json"
say propose "$LOOOP_BIN" propose "$LOOOP_REPORTS_DIR/../scratch/move.json"
say goal "$LOOOP_BIN" goal show g
say change "$LOOOP_BIN" goal write g changed
say status "$LOOOP_BIN" status
say ask "$LOOOP_BIN" ask --prompt 'go on?'
say told "$LOOOP_BIN" told
echo over
"$LOOOP_BIN" kill w 2>&1
"#;

#[test]
fn a_confined_worker_has_its_letters() {
    let ground = ground("");
    let ground = ground_with(ground, LETTERS);
    ground.run(&["worker", "start", "idle", "--command", "exec sleep 1000"]).ok();
    ground.run(&["claim", "other", "--session", "idle~1"]).ok();
    ground.run(&["worker", "start", "w", "do it", "--runner", "agent"]).ok();
    // The flag and the proposal come before the question.
    let ask = ground.profile.until("an ask", || {
        let reader = looop_store::Reader::open(&ground.profile.data()).unwrap();
        let question = reader.letters().asks.into_values().find(|ask| ask.prompt == "go on?");
        question.map(|ask| ask.id)
    });
    ground.run(&["tell", "w", "be quick"]).ok();
    ground.run(&["answer", &ask, "yes do"]).ok();
    wait(&ground, "w~1");
    let said = report(&ground, "said");
    let expected = [
        "terminal\nconfined=1\nprompt\nclaim: claimed thing [0]\n",
        "held: looop: error: \"other\" is claimed by idle~1",
        "unclaim: unclaimed thing [0]\n",
        "unflag: w-1 [0]\n",
        "goal: A goal of the person's. [0]\n",
        "change: looop: error: a confined worker cannot reach the loop",
        "status: looop: error: a confined worker cannot reach the loop",
        "yes do",
        "be quick",
        "over\n",
    ];
    for text in expected {
        assert!(said.contains(text), "{text:?} is not in\n{said}");
    }
    for line in ["cost", "flag", "unflag", "propose", "goal", "ask", "told"] {
        let found = said.lines().find(|said| said.starts_with(&format!("{line}: "))).unwrap();
        assert!(found.ends_with("[0]"), "{found}");
    }
    let row = ground.run(&["worker", "list", "--all", "--json"]).ok().json();
    let row = row.as_array().unwrap().iter().find(|row| row["id"] == "w").unwrap().clone();
    assert_eq!(row["state"], "exited", "it ended itself by its own host: {said}");
    settled(&ground, &ask);
}

/// What the worker could not put away itself, the loop does; the answer is not brought a second time.
fn settled(ground: &Ground, ask: &str) {
    ground.profile.decide_next(&serde_json::json!({"action": "noop"}));
    ground.run(&["beat"]);
    ground.run(&["beat"]);
    assert_eq!(ground.profile.file(&format!("asks/{ask}.json")), None);
    assert_eq!(ground.profile.file(&format!("answers/{ask}.json")), None);
    assert!(ground.profile.file(&format!("mail.d/{ask}.answer.json")).is_some());
    let ledger = ground.profile.ledger();
    assert!(
        !ledger.workers.contains_key("w~2") && !ledger.asks.contains_key(ask),
        "{:?}",
        ledger.workers.keys()
    );
    let spent = ground
        .profile
        .entries()
        .into_iter()
        .any(|entry| matches!(entry, Entry::Spent { session, .. } if session == "w~1"));
    assert!(spent, "its spend was counted");
}

const ATTACKS: &str = r##"
exec 2>/dev/null > "$LOOOP_REPORTS_DIR/reached"
try() { if ( eval "$2" ) >/dev/null 2>&1; then echo "$1"; fi; }
cd "$LOOOP_DATA_DIR"
try answer 'echo "{}" > answers/x.json'
try policy 'echo "#" >> policy.toml'
try config 'echo "#" >> config.toml'
try log 'cat /dev/null >> log/*.jsonl'
try goal 'echo x >> goals/g.md'
try sensor 'echo x > sensors/x.sh'
try secret 'grep -q . ~/.ssh/id'
try home 'test -e ~/.ssh || test -e ~/plain'
try others 'grep -q . sessions/idle~1/spec.json'
try status 'grep -q . sessions/status/*'
try mail 'echo x > mail.d/x'
try ownspec 'echo x > sessions/$LOOOP_SESSION_ID/spec.json'
try rename 'mv answers answers2'
try sock 'test -e sock'
try pause '"$LOOOP_BIN" pause; env -u LOOOP_CONFINED "$LOOOP_BIN" pause'
try type 'env -u LOOOP_CONFINED "$LOOOP_BIN" send idle hello'
try approve 'env -u LOOOP_CONFINED "$LOOOP_BIN" answer w-9 yes'
echo over
"##;

#[test]
fn a_confined_worker_reaches_nothing_else() {
    let ground = ground("");
    let ground = ground_with(ground, ATTACKS);
    ground.run(&["worker", "start", "idle", "--command", "exec sleep 1000"]).ok();
    ground.run(&["worker", "start", "w", "do it", "--runner", "agent"]).ok();
    wait(&ground, "w~1");
    assert_eq!(report(&ground, "reached"), "over\n");
    assert!(!ground.home().join("touched").exists());
}

#[test]
fn any_worker_can_be_confined_and_its_whole_tree_dies() {
    let ground = ground("");
    let command = "setsid sleep 1000 & (setsid nohup env -i sleep 1000 &); \
                   cp ~/.ssh/id \"$LOOOP_REPORTS_DIR/stolen\"; cat \"$LOOOP_DATA_DIR/goals/g.md\"; exec sleep 1000";
    ground.run(&["worker", "start", "w", "--sandbox", "--command", command]).ok();
    ground.run(&["expect", "w", "A goal of the person's", "--timeout", "300s"]).ok();
    ground.run(&["kill", "w"]).ok();
    assert_eq!(ground.profile.survivors(), Vec::<String>::new());
    assert!(!report(&ground, "stolen").contains(SECRET));
}

#[test]
fn a_confined_worker_writes_the_folder_that_a_person_has_it_work_in() {
    let ground = ground("");
    let (home, folder) = (ground.home(), ground.home().join("here"));
    fs::create_dir(&folder).unwrap();
    let command = "touch mine; touch ../theirs; exit 0";
    let start = ["worker", "start", "w", "--sandbox", "--command", command, "--cwd"];
    ground.run(&[&start[..], &[folder.to_str().unwrap()]].concat()).ok();
    wait(&ground, "w~1");
    assert_eq!((folder.join("mine").exists(), home.join("theirs").exists()), (true, false));
    let above = ground.profile.outside().to_owned();
    for folder in [ground.profile.data().join("answers"), above] {
        let refused = ground.run(&[&start[..], &[folder.to_str().unwrap()]].concat());
        refused.fails(1, "the profile is there");
    }
}

#[test]
fn a_worktree_can_be_committed_in_and_the_rest_of_the_repository_not() {
    if !["git"].iter().all(|program| std::process::Command::new(program).arg("--version").output().is_ok()) {
        assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "git is not installed");
        return;
    }
    let ground = ground("");
    let repo = ground.home().join("repo");
    fs::write(ground.home().join(".gitconfig"), "[user]\nname = A Person\nemail = a@b\n").unwrap();
    let setup = format!(
        "git init -q -b main '{0}' && cd '{0}' && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first",
        repo.display()
    );
    ground.run(&["run", &setup]).ok();
    let script = r#"
exec > "$LOOOP_REPORTS_DIR/git" 2>&1
echo work > file && git add file && git commit -q -m work && echo "committed by $(git log -1 --format=%an)"
common=$(git rev-parse --git-common-dir)
for path in "$common/hooks/pre-commit" "$common/config" "$common/refs/heads/main"; do
  if ( echo x >> "$path" ) 2>/dev/null; then echo "reached $path"; fi
done
echo over
"#;
    let ground = ground_with(ground, script);
    ground.profile.write("goals/code.md", format!("---\nrepo: {}\n---\nCode.\n", repo.display()));
    ground.run(&["worker", "start", "w", "do it", "--runner", "agent", "--goal", "code"]).ok();
    wait(&ground, "w~1");
    let said = report(&ground, "git");
    assert!(said.ends_with("committed by A Person\nover\n"), "{said}");
    assert!(!repo.join("file").exists());
}

/// What types into the terminal as if a person did. A kernel may refuse it to anybody, with another error.
#[test]
fn a_confined_worker_types_nothing_into_its_terminal() {
    let ground = ground("");
    let command = |name: &str| {
        let ioctl = "$c = \"x\"; ioctl(STDIN, 0x5412, $c); print $!{EPERM} ? \"refused\" : \"tried\"";
        format!("perl -MErrno -e '{ioctl}' > \"$LOOOP_REPORTS_DIR/{name}\"")
    };
    ground.run(&["worker", "start", "free", "--command", &command("free")]).ok();
    ground.run(&["worker", "start", "held", "--sandbox", "--command", &command("held")]).ok();
    wait(&ground, "free~1");
    wait(&ground, "held~1");
    assert_eq!(ground.profile.file("reports/free").as_deref(), Some("tried"));
    assert_eq!(report(&ground, "held"), "refused");
}

/// The program of a runner that is installed where the sandbox does not show it is named with the way out.
#[test]
fn a_program_that_is_not_seen_is_said_before_the_start() {
    let ground = ground(
        "[runners.own]\nsandbox = true\ncost = \"free\"\ninteractive = \"~/own/agent {{prompt_file}}\"\n",
    );
    fs::create_dir(ground.home().join("own")).unwrap();
    looop_sim::profile::write_program(&ground.home().join("own/agent"), "#!/bin/sh\nexec sleep 1000\n");
    let start = ["worker", "start", "w", "do it", "--runner", "own"];
    ground.run(&start).fails(1, "own/agent is not shown in the sandbox; list its folder in sandbox_tools");
    let config = ground.profile.file("config.toml").unwrap();
    ground.profile.write("config.toml", format!("sandbox_tools = [\"~/own\"]\n{config}"));
    ground.run(&start).ok();
}
