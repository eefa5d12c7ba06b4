//! Going on without whoever started us.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use looop_session::{Detached, Ended, Watched, detach};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::support::{Ground, await_death, image};

/// Longer than any test may take.
const LONG: Duration = Duration::from_mins(5);

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed()).unwrap()
}

fn detached(ground: &Ground, script: &str) -> Detached {
    let output = File::create(ground.at("out")).unwrap();
    detach("/bin/sh".as_ref(), &["-c", script], None, &ground.path(), output).unwrap()
}

/// Calls a shell script that finds the test's binary as `$yard`.
fn shell(ground: &Ground, script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(ground.path()).env("yard", image()).stdin(Stdio::null());
    command
}

/// One line of what the kernel tells about a process.
fn fact(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_owned()
}

#[test]
fn nothing_of_the_starter_is_inherited() {
    let ground = Ground::new();
    ground.fifo("here");
    ground.script(
        "program",
        &format!(
            "cd '{}'; cat /proc/self/status > status; ls /proc/$$/fd > fds; readlink /proc/$$/fd/0 > stdin
             umask > mask; set -- $(cat /proc/$$/stat); echo $1 $6 $7 > stat; echo to-out; echo to-err >&2; echo > here",
            ground.path().display()
        ),
    );
    // Descriptors without close-on-exec, signals that are ignored and one that is blocked, and a mask of modes.
    let script = "exec 5>five 7>seven 9<&0; trap '' HUP INT TERM USR2; umask 027
        env --block-signal=USR1 true 2>/dev/null && block='env --block-signal=USR1'
        out=$($block \"$yard\" detach out \"$PWD/program\"); echo \"$out\"";
    let caller = shell(&ground, script).output().unwrap();
    let number = String::from_utf8(caller.stdout).unwrap().trim().to_owned();
    ground.await_fifo("here");
    assert_eq!(ground.read("stat").trim(), format!("{number} {number} 0"), "process, session, terminal");
    // The shell itself holds the script that it reads by a number above 2.
    assert_eq!(ground.read("fds").lines().filter(|fd| ["5", "7", "9"].contains(fd)).count(), 0);
    assert_eq!(ground.read("stdin").trim(), "/dev/null");
    assert_eq!(ground.read("out"), "to-out\nto-err\n");
    assert_eq!(ground.read("mask").trim().trim_start_matches('0'), "27");
    let status = ground.read("status");
    // Two numbers beyond the ordinary ones belong to the C library, which lets nobody touch them.
    for name in ["SigBlk", "SigIgn"] {
        let signals = u64::from_str_radix(&fact(&status, name), 16).unwrap();
        assert_eq!(signals & 0x7fff_ffff, 0, "{name} of {status}");
    }
    ground.await_nobody();
}

#[test]
fn it_outlives_its_starter_and_what_ends_that() {
    let ground = Ground::new();
    for fifo in ["here", "gate"] {
        ground.fifo(fifo);
    }
    let program = format!(
        "cd '{}'; exec 3<>gate; echo $$ > number; echo > here; read line <&3; echo \"$line\" > went-on",
        ground.path().display()
    );
    let program = ground.script("program", &program);
    let mut caller = shell(&ground, "\"$yard\" detach out \"$1\" > /dev/null; exec sleep 1000");
    let mut caller = caller.arg("sh").arg(&program).process_group(0).spawn().unwrap();
    ground.await_fifo("here");
    let number: i32 = ground.read("number").trim().parse().unwrap();
    kill_process_group(pid(caller.id()), Signal::HUP).unwrap();
    caller.wait().unwrap();
    // Without a reader this fails at once.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let gate = File::options().write(true).custom_flags(flags).open(ground.at("gate"));
    gate.expect("it lives").write_all(b"through\n").unwrap();
    assert!(await_death(number));
    assert_eq!(ground.read("went-on"), "through\n");
    ground.await_nobody();
}

#[test]
fn its_end_is_noticed_and_how() {
    let ground = Ground::new();
    let mut exits = detached(&ground, "exit 7");
    assert_eq!(exits.wait(LONG).unwrap(), Some(Ended::Exited(7)));
    assert_eq!(exits.wait(LONG).unwrap(), Some(Ended::Exited(7)), "and it stays known");

    let mut stays = detached(&ground, "exec sleep 1000");
    assert_eq!(stays.wait(Duration::ZERO).unwrap(), None);
    kill_process(pid(stays.pid()), Signal::KILL).unwrap();
    assert_eq!(stays.wait(LONG).unwrap(), Some(Ended::Signalled(9)));
}

#[test]
fn what_cannot_be_started_is_an_error() {
    let ground = Ground::new();
    let output = || File::create(ground.at("out")).unwrap();
    let absent = detach(&ground.at("absent"), &["x"], None, &ground.path(), output());
    assert_eq!(absent.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let nowhere = detach("/bin/true".as_ref(), &["x"], None, &ground.at("absent"), output());
    assert_eq!(nowhere.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn it_has_the_environment_and_the_folder_that_it_is_given() {
    let ground = Ground::new();
    let output = File::create(ground.at("out")).unwrap();
    let env = [("PATH", std::env::var("PATH").unwrap()), ("ONE", "1".to_owned())];
    let env: Vec<_> = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let script = ["-c", "echo $ONE ${CARGO_MANIFEST_DIR:-none}; pwd"];
    let started = detach("/bin/sh".as_ref(), &script, Some(&env), &ground.path(), output);
    assert_eq!(started.unwrap().wait(LONG).unwrap(), Some(Ended::Exited(0)));
    assert_eq!(ground.read("out"), format!("1 none\n{}\n", ground.path().display()));
}

#[test]
fn the_end_of_a_stranger_is_noticed_too() {
    let ground = Ground::new();
    let mut child = shell(&ground, "exec sleep 1000").spawn().unwrap();
    let watched = Watched::of(child.id()).unwrap().unwrap();
    assert!(!watched.wait(Duration::ZERO).unwrap());
    child.kill().unwrap();
    assert!(watched.wait(LONG).unwrap(), "also before it is reaped");
    child.wait().unwrap();
    assert!(watched.wait(Duration::ZERO).unwrap());
    assert!(Watched::of(i32::MAX.cast_unsigned()).unwrap().is_none());
    assert!(Watched::of(0).unwrap().is_none());
}
