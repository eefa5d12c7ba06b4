//! Nothing that was started in a terminal survives its session, and nobody else notices.

use std::fs;
use std::path::Path;

use looop_session::{Ended, Kill, Launched, Standing, host};
use rustix::process::Signal;

use crate::support::await_death;
use crate::torture_ground::{Chamber, Neighbours, has, kill_host, rounds, signal};

/// What leaves something behind: its name, the program it needs, and its text. Each writes the numbers of those it left
/// into `pids`; `up` is a FIFO into which each of them writes once it is there.
const TORTURES: &[(&str, &str, &str)] = &[
    ("plain", "sh", "sh @/stay.sh & read _ < up"),
    ("floods", "yes", "yes & echo $! >> pids"),
    ("reads", "cat", "echo $$ >> pids; (trap '' HUP TERM; exec cat <&0) & echo $! >> pids"),
    ("setsid", "setsid", "setsid sh @/stay.sh & read _ < up"),
    ("double fork", "setsid", "( ( setsid sh @/stay.sh & ) & ) ; read _ < up"),
    ("re-parented", "sh", "( sh @/stay.sh & ) ; read _ < up"),
    ("nohup", "nohup", "nohup sh @/stay.sh > /dev/null 2>&1 & read _ < up"),
    (
        "daemon",
        "setsid",
        "( setsid sh -c 'cd /; sh @/stay.sh < /dev/null > /dev/null 2>&1 &' ) ; read _ < up",
    ),
    (
        "closes all",
        "setsid",
        "setsid sh -c 'cd /; echo $$ >> @/pids; echo > @/up; exec @sleep <&- >&- 2>&-' & read _ < up",
    ),
    ("no environment", "setsid", "env -i PATH=\"$PATH\" sh @/stay.sh & read _ < up"),
    (
        "no environment, no session",
        "setsid",
        "env -i PATH=\"$PATH\" setsid nohup sh @/stay.sh > /dev/null 2>&1 & read _ < up",
    ),
    ("ignores", "setsid", "setsid sh -c 'trap \"\" TERM HUP INT; . @/stay.sh' & read _ < up"),
    (
        "is stopped",
        "setsid",
        "setsid sh -c 'echo $$ >> pids; echo > up; kill -STOP $$; @sleep' & read _ < up",
    ),
    ("burst", "setsid", "for i in {1..200}; do setsid @sleep & echo $! >> pids; done"),
    ("forks when told to end", "setsid", "setsid sh @/reborn.sh & read _ < up"),
    ("forks on and on", "setsid", "setsid sh @/chain.sh & read _ < up"),
    ("forks in one breath", "perl", "perl @/breath.pl & read _ < up"),
    ("own terminal", "script", "script -qc 'sh @/stay.sh' /dev/null < /dev/null & read _ < up"),
    (
        "own terminal, detached",
        "script",
        "setsid nohup script -qc 'sh @/stay.sh' /dev/null < /dev/null > /dev/null 2>&1 & read _ < up",
    ),
    ("tmux", "tmux", "SHELL=/bin/sh tmux -f /dev/null -S tmux.sock new -d 'sh @/stay.sh' & read _ < up"),
    (
        "job control",
        "bash",
        "set -m; sh @/stay.sh & read _ < up; @sleep & echo $! >> pids; kill -STOP %2; (@sleep; :) & disown; echo $! >> pids",
    ),
    (
        "leaves the control group",
        "sh",
        "sh -c 'g=$(cat @/s/cgroup) && echo $$ > $(dirname $g)/cgroup.procs; . @/stay.sh' & read _ < up",
    ),
    (
        "makes a control group",
        "sh",
        "sh -c 'g=$(cat @/s/cgroup) && mkdir $g/inner && echo $$ > $g/inner/cgroup.procs; . @/stay.sh' & read _ < up",
    ),
];

fn chamber() -> Chamber {
    let chamber = Chamber::new();
    chamber.script("reborn.sh", "trap 'setsid sh @/reborn.sh &' TERM HUP; echo $$ >> @/pids; [ -e @/ready ] || echo > @/up; while :; do sleep 0.02; done");
    chamber.script(
        "chain.sh",
        "echo $$ >> @/pids; [ -e @/ready ] || echo > @/up; [ -e @/chain.sh ] && setsid sh @/chain.sh &",
    );
    let breath = "use POSIX; $SIG{TERM} = $SIG{HUP} = 'IGNORE'; my $end = time + 60;
        open my $pids, '>', '@/pids'; print $pids \"$$\\n\"; close $pids;
        open my $up, '>', '@/up'; print $up \"up\\n\"; close $up;
        while (time < $end) { fork and POSIX::_exit(0); POSIX::setsid() }";
    fs::write(
        chamber.ground.at("breath.pl"),
        breath.replace('@', &chamber.ground.path().display().to_string()),
    )
    .unwrap();
    chamber
}

/// Does each torture as often as is wanted: `last` is what the session does then, and `end` how it ends.
fn all(last: &str, end: impl Fn(&str, &Chamber, &Path, Launched)) {
    let neighbours = Neighbours::new();
    for (name, needs, torture) in TORTURES.iter().filter(|(_, needs, _)| has(needs)) {
        for round in 0..rounds() {
            let chamber = chamber();
            let mut spec = chamber.spec(&format!("{torture}\n: > ready\necho > go\n{last}"));
            // Daemons that nobody started change nothing.
            spec.spare = ["gpg-agent", "ssh-agent", "adb"].map(str::to_owned).to_vec();
            let (folder, launched) = chamber.launch(&spec);
            end(name, &chamber, &folder, launched);
            assert_eq!(chamber.alive(), [], "survivors of {name:?} (needs {needs}), round {round}");
            neighbours.check(name);
            let nobody = chamber.ground.read("pids").is_empty();
            assert!(!nobody, "{name:?} left nobody behind, so nothing was tested");
        }
    }
}

#[test]
fn when_it_is_killed() {
    all("@sleep; exit", |name, _, folder, launched| {
        let kill = host::kill(folder).unwrap();
        let Kill::Killed(receipt) = kill else { panic!("{name:?}: {kill:?}") };
        assert_eq!((receipt.ended, receipt.left), (Ended::Killed, vec![]), "{name:?}");
        launched.wait().unwrap();
    });
}

#[test]
fn when_it_ends_by_itself() {
    all("exit 3", |name, _, _, launched| {
        let standing = launched.wait().unwrap();
        let Standing::Ended(receipt) = standing else { panic!("{name:?}: {standing:?}") };
        assert_eq!((receipt.ended, receipt.left), (Ended::Exited(3), vec![]), "{name:?}");
    });
}

#[test]
fn when_its_host_is_killed() {
    all("@sleep; exit", |name, _, folder, launched| {
        // Without host and without control group nothing tells whose it is.
        if name.contains("no session") && !folder.join("cgroup").exists() {
            host::end(folder).unwrap();
            return;
        }
        kill_host(&launched);
        assert_eq!(launched.wait().unwrap(), Standing::Lost, "{name:?}");
        // Some die of the hang-up already.
        assert_eq!(
            host::kill(folder).unwrap_or_else(|error| panic!("{name:?}: {error:?}")).standing(),
            Standing::Lost,
            "{name:?}"
        );
    });
}

#[test]
fn when_it_and_its_host_are_stopped() {
    all("@sleep; exit", |name, chamber, folder, launched| {
        chamber.stop_all();
        let kill = host::kill(folder).unwrap();
        assert!(matches!(&kill, Kill::Killed(receipt) if receipt.left.is_empty()), "{name:?}: {kill:?}");
        launched.wait().unwrap();
    });
}

/// Two daemons of one name: the one that left the group is spared, the other one is not.
fn spare_one(end: impl Fn(&Path, &Launched)) {
    for round in 0..rounds() {
        let chamber = chamber();
        let body = "cp $(command -v sleep) spareme; ./spareme 999 & setsid ./spareme 999 & echo $! > spared
            while [ \"$(cat /proc/$!/comm)\" != spareme ]; do :; done\necho > go\n@sleep; exit";
        let mut spec = chamber.spec(body);
        spec.spare = vec!["spareme".into()];
        let (folder, launched) = chamber.launch(&spec);
        let neighbours = Neighbours::of(&folder);
        end(&folder, &launched);
        launched.wait().unwrap();
        neighbours.check("spare");
        let spared: i32 = chamber.ground.read("spared").trim().parse().unwrap();
        let alive: Vec<i32> = chamber.alive().into_iter().map(|(pid, _)| pid).collect();
        assert_eq!(alive, [spared], "round {round}");
        signal(spared, Signal::KILL);
        assert!(await_death(spared));
    }
}

#[test]
fn a_spared_daemon_lives_on_when_it_is_killed() {
    spare_one(|folder, _| {
        let kill = host::kill(folder).unwrap();
        assert!(kill.killed(), "{kill:?}");
    });
}

#[test]
fn a_spared_daemon_lives_on_when_its_host_is_killed() {
    spare_one(|folder, launched| {
        kill_host(launched);
        // The hang-up may have ended all but the daemons.
        host::kill(folder).unwrap();
    });
}
