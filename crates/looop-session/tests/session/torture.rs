//! Nothing a child started survives it: however it was started, and however the child ended.

use crate::support::{Ground, Stranger, await_death, growing, image, is_alive, run_all, until};
use std::fs;
use std::path::Path;

use looop_session::{Batch, Ended, Order, Standing, host};

/// What leaves something behind. Each writes `ready` when it has, and the numbers of those left into `pids`.
const TORTURES: &[(&str, &str)] = &[
    ("plain", "sh stay.sh & read _ < up"),
    ("holds the pipes", "sleep 1000 & echo $! >> pids"),
    ("setsid", "setsid sh stay.sh >/dev/null 2>&1 & read _ < up"),
    ("double fork", "( ( setsid sh stay.sh >/dev/null 2>&1 & ) & ) ; read _ < up"),
    ("nohup", "nohup sh stay.sh >/dev/null 2>&1 & read _ < up"),
    (
        "nohup setsid, no environment",
        "env -i PATH=\"$PATH\" setsid nohup sh stay.sh >/dev/null 2>&1 & read _ < up",
    ),
    ("ignores TERM", "setsid sh -c 'trap \"\" TERM HUP INT; . ./stay.sh' >/dev/null 2>&1 & read _ < up"),
    ("is stopped", "setsid sh -c 'echo $$ >> pids; echo > up; kill -STOP $$; sleep 1000' & read _ < up"),
    ("burst", "i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & echo $! >> pids; i=$((i+1)); done"),
    ("forks when told to end", "setsid sh reborn.sh & read _ < up"),
    ("forks on and on", "setsid sh chain.sh & read _ < up"),
    (
        "forks in one breath",
        "{ command -v perl >/dev/null && exec perl breath.pl; exec sh stay.sh; } & read _ < up",
    ),
];

fn ground() -> Ground {
    let ground = Ground::new();
    ground.fifo("up");
    ground.script("stay.sh", "echo $$ >> pids; echo > up; exec sleep 1000");
    ground.script("reborn.sh", "trap 'setsid sh reborn.sh &' TERM HUP; echo $$ >> pids; [ -e ready ] || echo > up; while :; do sleep 0.02; done");
    ground.script(
        "chain.sh",
        "echo $$ >> pids; [ -e ready ] || echo > up; [ -e chain.sh ] && setsid sh chain.sh &",
    );
    let breath = "use POSIX; $SIG{TERM} = $SIG{HUP} = 'IGNORE'; my $end = time + 30;
        open my $pids, '>', 'pids'; print $pids \"$$\\n\"; close $pids;
        open my $up, '>', 'up'; print $up \"up\\n\"; close $up;
        while (time < $end) { fork and POSIX::_exit(0); POSIX::setsid() }";
    fs::write(ground.at("breath.pl"), breath).unwrap();
    ground
}

/// The text of a job: torture, then say so, then `last`.
fn body(torture: &str, last: &str) -> String {
    format!("{torture}\n: > ready\n{last}")
}

fn check(name: &str, ground: &Ground, stranger: &mut Stranger) {
    assert_eq!(ground.alive(), [], "survivors of {name:?}");
    assert!(!ground.read("pids").is_empty(), "{name:?} left nobody behind, so nothing was tested");
    assert!(stranger.untouched(), "a stranger died of {name:?}");
}

#[test]
fn batch_after_a_normal_exit() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let ground = ground();
        let done = run_all(&Order::new(vec![ground.job(&body(torture, "echo said; exit 3"))], 2)).remove(0);
        assert_eq!(done.ended, Ended::Exited(3), "{name:?}");
        assert_eq!(done.stdout, b"said\n", "{name:?}");
        check(name, &ground, &mut stranger);
    }
}

#[test]
fn batch_after_a_time_out() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let prepared = growing().any(|timeout| {
            let ground = ground();
            let mut job = ground.job(&body(torture, "exec sleep 1000"));
            job.timeout = Some(timeout);
            let done = run_all(&Order::new(vec![job], 2)).remove(0);
            assert_eq!(done.ended, Ended::TimedOut, "{name:?}");
            assert_eq!(ground.alive(), [], "survivors of {name:?}");
            let ready = ground.at("ready").exists();
            if ready {
                check(name, &ground, &mut stranger);
            }
            ready
        });
        assert!(prepared, "{name:?} never came to its end");
    }
}

#[test]
fn batch_that_is_stopped() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let ground = ground();
        ground.fifo("go");
        let order = Order::new(
            vec![ground.job(&body(torture, "echo > go; sleep 1000")), ground.job("echo never")],
            1,
        );
        let batch = Batch::start(&image(), &["_batch"], &order).unwrap();
        ground.await_fifo("go");
        batch.stopper().stop();
        let mut ends = Vec::new();
        batch.finish(&mut |index, done| ends.push((index, done.ended))).unwrap();
        ends.sort_by_key(|(index, _)| *index);
        assert_eq!(ends, [(0, Ended::Killed), (1, Ended::Killed)], "{name:?}");
        check(name, &ground, &mut stranger);
    }
}

#[test]
fn batch_whose_parent_is_killed() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let ground = ground();
        ground.fifo("go");
        let order = Order::new(vec![ground.job(&body(torture, "echo > go; sleep 1000"))], 1);
        let mut parent = std::process::Command::new(image())
            .args(["batch", &serde_json::to_string(&order).unwrap()])
            .current_dir(ground.path())
            .spawn()
            .unwrap();
        ground.await_fifo("go");
        parent.kill().unwrap();
        parent.wait().unwrap();
        ground.await_nobody();
        check(name, &ground, &mut stranger);
    }
}

#[test]
fn batch_that_is_killed_itself() {
    let mut stranger = Stranger::new();
    let ground = ground();
    ground.fifo("go");
    let job = ground.job("setsid sh stay.sh & read _ < up; echo $PPID > batch; echo > go; sleep 1000");
    let batch = Batch::start(&image(), &["_batch"], &Order::new(vec![job], 1)).unwrap();
    ground.await_fifo("go");
    let pid = ground.read("batch").trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let outcome = batch.finish(&mut |index, _| panic!("job {index} has no result"));
    assert!(matches!(outcome, Err(looop_session::BatchError::Died)), "{outcome:?}");
    check("a killed batch", &ground, &mut stranger);
}

#[test]
fn host_after_a_normal_exit() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let ground = ground();
        let (folder, launched) = ground.launch("s", &ground.spec(&body(torture, "echo said; exit 3")));
        let standing = launched.wait().unwrap();
        let Standing::Ended(receipt) = standing else { panic!("{name:?}: {standing:?}") };
        assert_eq!((receipt.ended, receipt.left), (Ended::Exited(3), vec![]), "{name:?}");
        let tail = String::from_utf8(host::output_tail(&folder, 4096).unwrap()).unwrap();
        assert!(tail.lines().any(|line| line == "said"), "{name:?}: {tail:?}");
        check(name, &ground, &mut stranger);
    }
}

#[test]
fn host_after_its_deadline() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let prepared = growing().any(|timeout| {
            let ground = ground();
            let mut spec = ground.spec(&body(torture, "exec sleep 1000"));
            spec.deadline_ms = Some(u64::try_from(timeout.as_millis()).unwrap());
            let (_, launched) = ground.launch("s", &spec);
            let standing = launched.wait().unwrap();
            let Standing::Ended(receipt) = standing else { panic!("{name:?}: {standing:?}") };
            assert_eq!((receipt.ended, receipt.left), (Ended::TimedOut, vec![]), "{name:?}");
            assert_eq!(ground.alive(), [], "survivors of {name:?}");
            let ready = ground.at("ready").exists();
            if ready {
                check(name, &ground, &mut stranger);
            }
            ready
        });
        assert!(prepared, "{name:?} never came to its end");
    }
}

#[test]
fn host_that_is_told_to_end() {
    let mut stranger = Stranger::new();
    for (name, torture) in TORTURES {
        let ground = ground();
        ground.fifo("go");
        let (folder, launched) = ground.launch("s", &ground.spec(&body(torture, "echo > go; sleep 1000")));
        ground.await_fifo("go");
        let standing = host::end(&folder).unwrap();
        let Standing::Ended(receipt) = standing else { panic!("{name:?}: {standing:?}") };
        assert_eq!((receipt.ended, receipt.left), (Ended::Killed, vec![]), "{name:?}");
        check(name, &ground, &mut stranger);
        launched.wait().unwrap();
    }
}

#[test]
fn host_that_is_killed_itself() {
    let mut stranger = Stranger::new();
    let control_groups = control_groups();
    for (name, torture) in TORTURES {
        // Without host and without control group nothing tells whose a process with an empty environment is.
        if name.contains("no environment") && !control_groups {
            continue;
        }
        let ground = ground();
        ground.fifo("go");
        let (folder, launched) = ground.launch("s", &ground.spec(&body(torture, "echo > go; sleep 1000")));
        ground.await_fifo("go");
        if control_groups {
            await_control_group(&folder, &ground);
        }
        let pid = i32::try_from(launched.pid()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        assert!(await_death(pid));
        assert_eq!(launched.wait().unwrap(), Standing::Lost, "{name:?}");
        assert_eq!(host::end(&folder).unwrap(), Standing::Lost, "{name:?}");
        check(name, &ground, &mut stranger);
    }
}

/// Waits until the control group of the session has all who were left behind by name.
fn await_control_group(folder: &Path, ground: &Ground) {
    let inside = || {
        let group = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
        fs::read_to_string(Path::new(&group).join("cgroup.procs")).unwrap_or_default()
    };
    let settled = || {
        let inside = inside();
        let named = ground.read("pids");
        let mut alive = named.lines().filter(|pid| is_alive(pid.parse().unwrap()));
        !inside.is_empty() && alive.all(|pid| inside.lines().any(|line| line == pid))
    };
    until(folder, "a control group with all of them", || settled().then_some(()));
}

/// Whether a session that lives for a while gets a control group here: one that does not has none after a second.
fn control_groups() -> bool {
    let ground = Ground::new();
    let (folder, launched) = ground.launch("s", &ground.spec("sleep 1"));
    launched.wait().unwrap();
    folder.join("cgroup").exists()
}
