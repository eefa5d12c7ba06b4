//! SIGKILL at every point of a session's life: the verdict is right, and the command ran at most once.

use std::path::Path;
use std::process::Command;

use crate::support::{Ground, image};
use looop_session::{Ended, Fence, Standing, host};

/// Launches a session in a process of its own that crashes at this point, it or its host. Returns when no host lives.
fn crash(ground: &Ground, point: &str, body: &str) -> Standing {
    let folder = ground.at("s");
    let spec = serde_json::to_string(&ground.spec(body)).unwrap();
    let mut command = Command::new(image());
    command.arg("start").arg(&folder).arg(spec).env("LOOOP_CRASH_AT", point).status().unwrap();
    host::wait(&folder).unwrap()
}

/// Ends what may be left and counts how often the command ran.
fn runs(ground: &Ground, folder: &Path) -> usize {
    host::end(folder).unwrap();
    ground.await_nobody();
    ground.read("ledger").lines().count()
}

#[test]
fn before_the_start_it_never_ran_and_can_be_fenced() {
    for point in ["host.prepared", "host.locked", "host.reserved"] {
        let ground = Ground::new();
        assert_eq!(crash(&ground, point, "echo ran >> ledger"), Standing::NeverRan, "{point}");
        let folder = ground.at("s");
        assert_eq!(host::fence(&folder).unwrap(), Fence::Mine, "{point}");
        assert_eq!(host::standing(&folder).unwrap(), Standing::NeverRan, "{point}");
        assert_eq!(runs(&ground, &folder), 0, "{point}");
    }
}

#[test]
fn after_the_start_it_is_lost_and_never_run_again() {
    for (point, most) in [("host.started", 0), ("host.execed", 1), ("host.ended", 1)] {
        let ground = Ground::new();
        assert_eq!(crash(&ground, point, "echo ran >> ledger"), Standing::Lost, "{point}");
        let folder = ground.at("s");
        assert_eq!(host::fence(&folder).unwrap(), Fence::Already, "{point}");
        assert_eq!(host::standing(&folder).unwrap(), Standing::Lost, "{point}");
        assert!(runs(&ground, &folder) <= most, "{point}");
    }
}

#[test]
fn the_end_is_known_once_the_command_is_over() {
    let ground = Ground::new();
    assert_eq!(crash(&ground, "host.ended", "echo ran >> ledger"), Standing::Lost);
    assert_eq!(runs(&ground, &ground.at("s")), 1);
}

#[test]
fn the_death_of_the_launcher_and_of_a_host_with_its_receipt_change_nothing() {
    for point in ["host.spawned", "host.launched", "host.receipt"] {
        let ground = Ground::new();
        let standing = crash(&ground, point, "echo ran >> ledger; exit 5");
        let Standing::Ended(receipt) = standing else { panic!("{point}: {standing:?}") };
        assert_eq!(receipt.ended, Ended::Exited(5), "{point}");
        assert_eq!(host::fence(&ground.at("s")).unwrap(), Fence::Already, "{point}");
        assert_eq!(runs(&ground, &ground.at("s")), 1, "{point}");
    }
}

#[test]
fn what_a_dead_host_left_running_is_ended_by_its_mark() {
    let ground = Ground::new();
    ground.fifo("go");
    let body = "setsid sh -c 'setsid sleep 1000 & sleep 1000' >/dev/null 2>&1 & sleep 1000";
    assert_eq!(crash(&ground, "host.execed", body), Standing::Lost);
    assert_eq!(host::end(&ground.at("s")).unwrap(), Standing::Lost);
    assert_eq!(ground.alive(), []);
}

#[test]
fn the_crash_point_is_not_handed_to_the_child() {
    let ground = Ground::new();
    let standing = crash(&ground, "nowhere", "env > seen");
    assert!(matches!(standing, Standing::Ended(_)), "{standing:?}");
    assert!(!ground.read("seen").contains("LOOOP_CRASH_AT"));
    let order = looop_session::Order::new(vec![ground.job("env > seen")], 1);
    let order = serde_json::to_string(&order).unwrap();
    Command::new(image()).args(["batch", &order]).env("LOOOP_CRASH_AT", "nowhere").status().unwrap();
    assert!(ground.read("seen").contains("LOOOP_MARK=") && !ground.read("seen").contains("LOOOP_CRASH_AT"));
}

/// Random moments instead of named ones.
#[test]
fn kill_at_any_moment_runs_it_at_most_once() {
    for round in 0..60_u32 {
        let ground = Ground::new();
        let (folder, launched) = ground.launch("s", &ground.spec("echo ran >> ledger"));
        let until = std::time::Instant::now() + std::time::Duration::from_micros(250) * round;
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(launched.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let standing = launched.wait().unwrap();
        let fence = host::fence(&folder).unwrap();
        let ran = runs(&ground, &folder);
        match (&standing, fence) {
            (Standing::NeverRan, Fence::Mine) => assert_eq!(ran, 0, "round {round}"),
            (Standing::Lost, Fence::Already) => assert!(ran <= 1, "round {round}"),
            (Standing::Ended(receipt), Fence::Already) => {
                assert_eq!((&receipt.ended, ran), (&Ended::Exited(0), 1), "round {round}");
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}

/// Starts a session by a launcher that is traced, with faults in its system calls. `None`: there is no strace.
#[cfg(target_os = "linux")]
fn traced(ground: &Ground, strace: &[&str]) -> Option<bool> {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "there is no strace");
        return None;
    }
    let spec = serde_json::to_string(&ground.spec("echo ran >> ledger")).unwrap();
    let mut command = Command::new("strace");
    command.args(["-qq", "-o"]).arg(ground.at("trace")).args(strace).arg(image());
    Some(command.arg("start").arg(ground.at("s")).arg(spec).status().unwrap().success())
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_made_durable_is_not_started() {
    // The spec, the folder, the folder above it.
    for sync in 1..=3 {
        let ground = Ground::new();
        let fault = format!("inject=fsync:error=EIO:when={sync}");
        let Some(started) = traced(&ground, &["-e", "trace=fsync", "-e", &fault]) else { return };
        assert!(!started, "{sync}");
        assert_eq!(host::wait(&ground.at("s")).unwrap(), Standing::NeverRan, "{sync}");
        assert_eq!(runs(&ground, &ground.at("s")), 0, "{sync}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_is_started_after_all_that_it_was_launched_with_is_durable() {
    let ground = Ground::new();
    // Each sync takes so long that a host which does not wait is ahead.
    let calls = ["-f", "-e", "trace=fsync,openat", "-e", "inject=fsync:delay_enter=300000"];
    let Some(started) = traced(&ground, &calls) else { return };
    assert!(started && matches!(host::wait(&ground.at("s")).unwrap(), Standing::Ended(_)));
    let trace = ground.read("trace");
    let launcher = trace.split_whitespace().next().unwrap();
    let begun = trace.lines().position(|line| line.contains("\"started\"") && line.contains("O_EXCL"));
    let syncs = trace.lines().enumerate().filter(|(_, line)| line.starts_with(launcher));
    let last = syncs.filter(|(_, line)| line.contains("fsync")).map(|(at, _)| at).last();
    assert!(last.is_some() && last < begun, "{trace}");
}
