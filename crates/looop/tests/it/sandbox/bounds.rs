//! What something confined can use up, and what it finds of what it made before.

use looop_core::model::outcome::Outcome;

use super::ground::{Ground, ground};

#[track_caller]
fn says(ground: &Ground, cmd: &str) -> String {
    let (outcome, said) = ground.shell(cmd);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}: {said}");
    said
}

/// Forks until it may not, and says how often it could.
const FORKS: &str = "perl -e 'my $n = 0; while ($n < 3000) { my $p = fork; last unless defined $p; \
                     if (!$p) { sleep 1000; exit } $n++ } print $n < 3000 ? \"bounded\\n\" : \"free\\n\"'";

#[test]
fn a_fork_bomb_ends_at_the_limit_and_with_its_command() {
    let ground = ground("");
    let said = says(&ground, FORKS);
    // The kernel counts no processes of root.
    let root = rustix::process::geteuid().is_root();
    assert_eq!(said, if root { "free\n" } else { "bounded\n" });
    assert_eq!(ground.profile.survivors(), Vec::<String>::new());
}

#[test]
fn limits_hold_and_folders_in_memory_have_an_end() {
    let said = says(
        &ground(""),
        "ulimit -c; ulimit -n; ulimit -f; ulimit -t; cat /proc/self/oom_score_adj; \
         for f in /tmp ~ /dev/shm; do df -B1M --output=size \"$f\" | tail -1 | tr -d ' '; done",
    );
    let lines: Vec<u64> =
        said.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{said}"))).collect();
    let [core, files, file, seconds, first, temp, home, shared] = lines[..] else { panic!("{said}") };
    assert!(files <= 16384 && file <= 4 << 20 && seconds <= 3600, "{said}");
    assert_eq!((core, first), (0, 500));
    assert_eq!((temp, home, shared), (1024, 512, 256));
}

/// What is kept is kept for one goal. What a command plants in its home leads nothing astray.
#[test]
fn caches_are_kept_by_goal_and_nothing_else_of_the_home() {
    let ground = ground("sandbox_tools = [\"~/tools/bin\"]\n");
    std::fs::create_dir_all(ground.home().join("tools/bin")).unwrap();
    ground.profile.write("goals/h.md", "Another goal.\n");
    let run = |goal: &str, cmd: &str| {
        let before = ground.profile.entries().len();
        ground.decide(&serde_json::json!({"action": "run_shell", "cmd": cmd, "goal": goal}));
        assert!(ground.profile.entries().len() > before);
        let outcome = ground.last_outcome();
        let Outcome::Done { shell: Some(shell), .. } = &outcome else { panic!("{outcome:?}") };
        shell.tail.clone()
    };
    let look = "cat ~/.cache/made ~/made 2>/dev/null; ls -A ~/tools";
    run(
        "g",
        "echo cache > ~/.cache/made; echo home > ~/made; rm -rf ~/tools ~/.cargo; ln -s / ~/.cargo; rmdir ~/.cache/npm; ln -s / ~/.cache/npm; \
         ls -d ~/tools",
    );
    assert_eq!(run("g", look), "cache\nbin\n");
    assert_eq!(run("h", look), "bin\n");
    let kept = std::fs::read_to_string(ground.profile.data().join("box/home/g/made")).unwrap();
    assert_eq!(kept, "cache\n");
    let mut names: Vec<_> =
        std::fs::read_dir(ground.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".ssh", "plain", "tools"], "nothing was made in the home");
}
