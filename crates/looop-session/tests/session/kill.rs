//! What a kill says is what happened, and it never takes somebody else for its own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use looop_session::{Ended, Kill, Receipt, Standing, host};
use rustix::process::Signal;

use crate::support::{Ground, await_death, await_stopped, is_stopped, until};
use crate::torture_ground::{Chamber, Neighbour, Neighbours, kill_host, mark, signal};

fn ended(kill: Kill) -> Receipt {
    let standing = kill.standing();
    let Standing::Ended(receipt) = standing else { panic!("{standing:?}") };
    receipt
}

/// The number of the session's child, once the host has written it down.
fn child(folder: &Path) -> i32 {
    until(folder, "the number of the child", || {
        let text = fs::read_to_string(folder.join("lock")).unwrap();
        let number = text.strip_prefix("child ")?.strip_suffix('\n')?;
        Some(number.parse().unwrap())
    })
}

#[test]
fn who_was_killed_by_this_was_not_dead_before() {
    let chamber = Chamber::new();
    let (folder, launched) = chamber.launch(&chamber.spec("echo > go; @sleep; exit"));
    let first = host::kill(&folder).unwrap();
    assert!(matches!(&first, Kill::Killed(receipt) if receipt.ended == Ended::Killed), "{first:?}");
    assert!(first.killed());
    let second = host::kill(&folder).unwrap();
    assert!(matches!(&second, Kill::Before(Standing::Ended(_))) && !second.killed(), "{second:?}");
    assert_eq!(ended(second), ended(first));
    launched.wait().unwrap();
    assert_eq!(chamber.alive(), []);
}

#[test]
fn who_ended_by_itself_was_not_killed() {
    let ground = Ground::new();
    let (folder, launched) = ground.launch("s", &ground.spec("exit 7"));
    launched.wait().unwrap();
    let kill = host::kill(&folder).unwrap();
    assert!(matches!(&kill, Kill::Before(_)) && !kill.killed(), "{kill:?}");
    assert_eq!(ended(kill).ended, Ended::Exited(7));
}

#[test]
fn who_ended_by_itself_before_the_host_heard_us_was_not_killed() {
    let ground = Ground::new();
    for fifo in ["go", "leave"] {
        ground.fifo(fifo);
    }
    let (folder, launched) = ground.launch("s", &ground.spec("echo > go; read _ < leave; exit 7"));
    ground.await_fifo("go");
    let (host_pid, child) = (i32::try_from(launched.pid()).unwrap(), child(&folder));
    signal(host_pid, Signal::STOP);
    fs::write(ground.at("leave"), "\n").unwrap();
    assert!(await_death(child));
    let kill = host::kill(&folder).unwrap();
    assert!(matches!(&kill, Kill::Itself(_)) && !kill.killed(), "{kill:?}");
    assert_eq!(ended(kill).ended, Ended::Exited(7));
    launched.wait().unwrap();
}

#[test]
fn a_stopped_host_ends_its_stopped_tree() {
    let chamber = Chamber::new();
    let (folder, launched) =
        chamber.launch(&chamber.spec("setsid sh @/stay.sh & read _ < up; echo > go; @sleep; exit"));
    let neighbours = Neighbours::of(&folder);
    chamber.stop_all();
    let kill = host::kill(&folder).unwrap();
    assert!(matches!(&kill, Kill::Killed(receipt) if receipt.left.is_empty()), "{kill:?}");
    launched.wait().unwrap();
    assert_eq!(chamber.alive(), []);
    neighbours.check("a stopped host");
}

/// The polite signals come first also for those who are stopped: the child cleans up.
#[test]
fn a_stopped_child_is_continued_before_it_is_ended() {
    let chamber = Chamber::new();
    let body = "trap 'echo clean >> said; exit 0' TERM; trap '' HUP; echo > go; kill -STOP $$; while :; do sleep 0.02; done";
    let (folder, launched) = chamber.launch(&chamber.spec(body));
    await_stopped(child(&folder), true);
    assert!(host::kill(&folder).unwrap().killed());
    launched.wait().unwrap();
    assert_eq!(chamber.ground.read("said"), "clean\n");
    assert_eq!(chamber.alive(), []);
}

/// Whoever is told once is not told again: a second SIGTERM is an order to many.
#[test]
fn the_polite_signals_come_once() {
    let chamber = Chamber::new();
    let body = "trap 'echo TERM >> said' TERM; trap 'echo HUP >> said' HUP; sleep 0.2; echo > go; while :; do sleep 0.02; done";
    let (folder, launched) = chamber.launch(&chamber.spec(body));
    assert!(host::kill(&folder).unwrap().killed());
    launched.wait().unwrap();
    let said = chamber.ground.read("said");
    let mut said: Vec<&str> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["HUP", "TERM"]);
}

#[test]
fn what_a_dead_host_left_is_ended_once() {
    let chamber = Chamber::new();
    let (folder, launched) =
        chamber.launch(&chamber.spec("trap '' HUP; sh @/stay.sh & read _ < up; echo > go; @sleep; exit"));
    let neighbours = Neighbours::of(&folder);
    kill_host(&launched);
    assert_eq!(launched.wait().unwrap(), Standing::Lost);
    let first = host::kill(&folder).unwrap();
    assert!(matches!(first, Kill::Remains { standing: Standing::Lost, ended } if ended >= 3), "{first:?}");
    assert_eq!(chamber.alive(), []);
    let second = host::kill(&folder).unwrap();
    assert_eq!(second, Kill::Remains { standing: Standing::Lost, ended: 0 });
    assert!(first.killed() && !second.killed());
    neighbours.check("a dead host");
}

#[test]
fn nothing_lived_where_nothing_started() {
    let ground = Ground::new();
    assert_eq!(host::kill(&ground.at("nowhere")).unwrap(), Kill::Before(Standing::Absent));
    let prepared = host::prepare(&ground.at("s"), &ground.spec("echo ran")).unwrap();
    assert_eq!(host::kill(&ground.at("s")).unwrap(), Kill::NeverRan);
    drop(prepared);
    assert_eq!(host::kill(&ground.at("s")).unwrap(), Kill::NeverRan);
}

#[test]
fn of_many_who_kill_at_once_none_is_told_a_lie() {
    let chamber = Chamber::new();
    let (folder, launched) = chamber.launch(&chamber.spec("echo > go; @sleep; exit"));
    let kills: Vec<Kill> = std::thread::scope(|scope| {
        let killers: Vec<_> = (0..8).map(|_| scope.spawn(|| host::kill(&folder).unwrap())).collect();
        killers.into_iter().map(|killer| killer.join().unwrap()).collect()
    });
    assert!(kills.iter().any(Kill::killed), "{kills:?}");
    assert!(kills.iter().all(|kill| matches!(kill, Kill::Killed(_) | Kill::Before(_))), "{kills:?}");
    for kill in kills {
        assert_eq!(ended(kill).ended, Ended::Killed);
    }
    launched.wait().unwrap();
}

/// The numbers in the files of a session outlive its processes; here they have gone to strangers.
#[test]
fn reused_numbers_are_nobody_of_ours() {
    let chamber = Chamber::new();
    let (folder, launched) =
        chamber.launch(&chamber.spec("trap '' HUP; sh @/stay.sh & read _ < up; echo > go; @sleep; exit"));
    let (host_now, child_now) = (Neighbour::marked("0"), Neighbour::marked("1"));
    fs::write(folder.join("started"), format!("host {}\n", host_now.pid())).unwrap();
    fs::write(folder.join("lock"), format!("child {}\n", child_now.pid())).unwrap();
    kill_host(&launched);
    launched.wait().unwrap();
    assert!(host::kill(&folder).unwrap().killed());
    assert_eq!(chamber.alive(), []);
    host_now.check("a reused number");
    child_now.check("a reused number");
}

#[test]
fn a_stopped_stranger_with_the_number_of_the_host_stays_stopped() {
    let chamber = Chamber::new();
    let (folder, launched) = chamber.launch(&chamber.spec("echo > go; @sleep; exit"));
    let stranger = Neighbour::marked("0");
    let pid = stranger.pid();
    fs::write(folder.join("started"), format!("host {pid}\n")).unwrap();
    signal(pid, Signal::STOP);
    await_stopped(pid, true);
    assert!(host::kill(&folder).unwrap().killed());
    launched.wait().unwrap();
    assert!(is_stopped(pid));
    signal(pid, Signal::CONT);
    assert_eq!(chamber.alive(), []);
}

/// A note that leads to the control group of another session is not followed.
#[test]
fn a_foreign_control_group_is_left_alone() {
    let chamber = Chamber::new();
    let (folder, launched) =
        chamber.launch(&chamber.spec("trap '' HUP; sh @/stay.sh & read _ < up; echo > go; @sleep; exit"));
    let (neighbour, other) = Neighbour::hosted();
    // The note is written before the group is made, and stands alone for a moment where none can be.
    let group =
        |folder: &Path| fs::read_to_string(folder.join("cgroup")).ok().filter(|at| Path::new(at).exists());
    let foreign = group(&other);
    assert_eq!(foreign.is_some(), group(&folder).is_some());
    let own = group(&folder).is_some_and(|own| fs::remove_dir(own).is_ok());
    assert!(!own, "a group with members cannot be removed");
    fs::write(folder.join("cgroup"), foreign.unwrap_or_default()).unwrap();
    kill_host(&launched);
    launched.wait().unwrap();
    assert!(host::kill(&folder).unwrap().killed());
    assert_eq!(chamber.alive(), []);
    assert_ne!(mark(&folder), mark(&other));
    neighbour.check("a foreign control group");
}

/// Says one thing to a host.
fn say(folder: &Path, what: &str) -> serde_json::Value {
    let mut stream = UnixStream::connect(folder.join("sock")).unwrap();
    writeln!(stream, "{{\"v\":2,\"do\":\"{what}\"}}").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// Waits until of these exactly those are stopped.
fn await_exactly(pids: &[i32], stopped: &[bool]) {
    for (pid, stopped) in pids.iter().zip(stopped) {
        await_stopped(*pid, *stopped);
    }
    assert!(pids.iter().map(|pid| is_stopped(*pid)).eq(stopped.iter().copied()));
}

#[test]
fn a_pause_stops_all_and_wakes_only_whom_it_stopped() {
    let chamber = Chamber::new();
    let body = "set -m; setsid sh @/stay.sh & read _ < up; @sleep & echo $! >> pids; kill -STOP $!
        @sleep & echo $! >> pids; echo > go; @sleep; exit";
    let (folder, launched) = chamber.launch(&chamber.spec(body));
    let mut pids: Vec<i32> = chamber.ground.read("pids").lines().map(|line| line.parse().unwrap()).collect();
    pids.push(child(&folder));
    let neighbours = Neighbours::of(&folder);
    await_exactly(&pids, &[false, true, false, false]);
    for _ in 0..3 {
        assert_eq!(say(&folder, "pause")["ok"], true);
        await_exactly(&pids, &[true; 4]);
        assert_eq!(say(&folder, "go_on")["ok"], true);
        await_exactly(&pids, &[false, true, false, false]);
    }
    assert_eq!(say(&folder, "pause")["ok"], true);
    neighbours.check("a pause");
    assert!(host::kill(&folder).unwrap().killed());
    launched.wait().unwrap();
    assert_eq!(chamber.alive(), []);
}
