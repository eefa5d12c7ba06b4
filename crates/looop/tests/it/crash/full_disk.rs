//! A disk that is full, and then is not.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::process::{Child, ChildStderr, Command, Stdio};

use looop_sim::profile::{Profile, Ran, set_mode};
use looop_sim::waiting::{Fifo, finish, within};
use rustix::fs::inotify;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::checks::{finished, invariants, quieted};

/// Set where a test runs in a mount namespace that it may change.
const INSIDE: &str = "LOOOP_TEST_MAY_MOUNT";

/// A profile on a disk of 1 MiB, or of another size.
struct SmallDisk(Profile);

impl SmallDisk {
    /// The disk. Nothing for a user who may not mount one: then `test` of this file has run, and passed, as root of a
    /// user namespace.
    fn new(test: &str) -> Option<Self> {
        Self::of("1m", test)
    }

    /// The same of another size.
    fn of(size: &str, test: &str) -> Option<Self> {
        let profile = Profile::new(env!("CARGO_BIN_EXE_looop"));
        fs::create_dir(profile.data()).unwrap();
        let mut mount = Command::new("mount");
        let mount = mount
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "looop-test"])
            .arg(profile.data())
            .output();
        if mount.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self(profile.playbook("# PLAYBOOK")));
        }
        assert!(!geteuid().is_root() && std::env::var_os(INSIDE).is_none(), "no small disk: {mount:?}");
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount"]);
        if !unshare.arg("true").output().is_ok_and(|output| output.status.success()) {
            assert!(
                std::env::var_os("LOOOP_TEST_ALL").is_none(),
                "no small disk and no namespace: {mount:?}"
            );
            let reason = b"skipped: this user can neither mount a small disk nor make a user namespace\n";
            std::io::stderr().write_all(reason).unwrap();
            return None;
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
        unshare.args([&format!("crash::full_disk::{test}"), "--exact", "--test-threads=1"]).env(INSIDE, "1");
        let inner = unshare.output().unwrap();
        let said = String::from_utf8_lossy(&inner.stdout);
        assert!(inner.status.success() && said.contains("1 passed"), "{said}");
        None
    }

    /// Leaves no page free.
    fn fill(&self) {
        let mut filler = fs::File::create(self.0.data().join("scratch/filler")).unwrap();
        while filler.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    }

    fn free(&self) {
        fs::remove_file(self.0.data().join("scratch/filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.0.data()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// A recipe whose log line is longer than any slack at the end of a file.
fn long_recipe() -> String {
    format!("---\ncheck: test ! -e go || test -e ran\nrun: echo once >>ran; true {}\n---\n", "x".repeat(8000))
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_full_disk_is_said_once_and_nothing_is_lost() {
    let Some(small) = SmallDisk::new("a_full_disk_is_said_once_and_nothing_is_lost") else { return };
    let profile = &small.0;
    profile.write("goals/g.md", long_recipe());
    profile.beat().ok();
    small.fill();
    profile.write("go", "");
    for _ in 0..2 {
        let beat = profile.beat().fails(1, "No space left on device");
        assert_eq!(count(&beat.stderr, "the log cannot be written"), 1, "{beat:?}");
        assert!(beat.stderr.contains("make room"), "{beat:?}");
        profile.run(&["status"]).ok();
    }
    assert_eq!(profile.file("ran"), None, "nothing acts before its intent is on the disk");
    small.free();
    quieted(profile);
    assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
    invariants(profile);
}

#[test]
fn a_move_that_fills_the_disk_is_found_done_later() {
    let Some(small) = SmallDisk::new("a_move_that_fills_the_disk_is_found_done_later") else { return };
    let profile = &small.0;
    // What it prints takes six bytes each in the log: more than any slack. It is kept before the disk is full.
    let run = "echo once >>ran; printf '\\001%.0s' {1..2048}; until [ -s sessions/move~1/output.log ]; do sleep 0.01; \
               done; head -c 2m /dev/zero >scratch/filler 2>/dev/null; true";
    profile.write("goals/g.md", format!("---\ncheck: test -e ran\nrun: {run}\n---\n"));
    let beat = profile.beat();
    assert!(beat.stderr.contains("No space left on device"), "{beat:?}");
    small.free();
    quieted(profile);
    assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
    assert!(finished(profile).iter().all(|(_, outcome)| outcome.is_done()), "{:?}", finished(profile));
    invariants(profile);
}

#[test]
fn a_loop_that_cannot_write_still_ends_what_is_in_flight() {
    let Some(small) = SmallDisk::new("a_loop_that_cannot_write_still_ends_what_is_in_flight") else { return };
    let profile = &small.0;
    let here = profile.fifo("here");
    let run = format!("echo there > '{}'; sleep 1000", here.path().display());
    profile.write("goals/g.md", format!("---\ncheck: test -e ran\nrun: {run}\n---\n"));
    profile.run(&["worker", "start", "w", "--command", "exec sleep 1000"]).ok();
    let mut command = profile.command::<&str>(&[]);
    command.env("LOOOP_INTERVAL", "3600").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut pulse = command.spawn().unwrap();
    assert_eq!(here.hear(), "there\n");
    small.fill();
    // The slack at the end of the log is used up first.
    let mut verbs = ["pause", "resume"].iter().cycle().take(500);
    assert!(verbs.any(|verb| profile.run(&[verb]).code != 0), "the log could be written all the time");
    let mut errors = BufReader::new(pulse.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("the log cannot be written") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "the loop ended: {said}");
    }
    kill_process(Pid::from_child(&pulse), Signal::TERM).unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(pulse.wait().unwrap().success(), "{said}");
    assert_eq!(profile.survivors(), Vec::<String>::new());
    small.free();
    fs::remove_file(profile.data().join("goals/g.md")).unwrap();
    quieted(profile);
    invariants(profile);
}

#[test]
fn the_loop_rides_out_a_full_disk() {
    let Some(small) = SmallDisk::new("the_loop_rides_out_a_full_disk") else { return };
    let profile = &small.0;
    profile.write("goals/g.md", long_recipe());
    profile.beat().ok();
    small.fill();
    profile.write("go", "");
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, profile.data().join("log"), inotify::WatchFlags::OPEN).unwrap();
    let mut command = profile.command::<&str>(&[]);
    command.env("LOOOP_INTERVAL", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut pulse = command.spawn().unwrap();
    let mut errors = BufReader::new(pulse.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("the log cannot be written") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "the loop ended: {said}");
    }
    // It tries again and again, and says no more about it.
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    for _ in 0..12 {
        events.next().unwrap();
    }
    small.free();
    let mut lines = BufReader::new(pulse.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("done")), "the move is made once there is room");
    kill_process(Pid::from_child(&pulse), Signal::TERM).unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(pulse.wait().unwrap().success(), "{said}");
    assert_eq!(count(&said, "the log cannot be written"), 1, "{said}");
    assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
    invariants(profile);
}

/// A pulse on a small disk, its stderr, and what it said there so far.
struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(profile: &Profile) -> Self {
        let mut command = profile.command::<&str>(&["--json"]);
        command.env("LOOOP_INTERVAL", "3600").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("\"skipped\"")), "it ended before its first look");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, errors, said: String::new() }
    }

    /// Waits until it has said that the log cannot be written.
    fn closed(&mut self) {
        while !self.said.contains("the log cannot be written") {
            assert_ne!(self.errors.read_line(&mut self.said).unwrap(), 0, "the loop ended: {}", self.said);
        }
    }

    fn ended(mut self) {
        self.errors.read_to_string(&mut self.said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.said);
    }
}

/// Verbs, until one fails because the log cannot be written.
fn first_failure(profile: &Profile) -> Ran {
    let mut verbs = ["pause", "resume"].iter().cycle().take(500).map(|verb| profile.run(&[verb]));
    verbs.find(|ran| ran.code != 0).expect("the log could be written all the time")
}

/// A disk that is full in a loop that has a look and a move under way, with the two that wait for them.
struct Caught {
    small: SmallDisk,
    pulse: Running,
    verbs: [Child; 2],
    gates: [Fifo; 2],
}

fn caught(test: &str) -> Option<Caught> {
    let small = SmallDisk::new(test)?;
    let profile = &small.0;
    let (here, gates) = (profile.fifo("here"), [profile.fifo("sensor"), profile.fifo("move")]);
    let blocks = |gate: &Fifo| {
        let (here, gate) = (here.path().display(), gate.path().display());
        format!("echo there > '{here}'; read _ < '{gate}'")
    };
    // Only the first run of the sensor waits.
    let once = profile.outside().join("once");
    let script = format!(
        "#!/bin/sh\nif rm '{}' 2>/dev/null; then {}; fi; echo 1\n",
        once.display(),
        blocks(&gates[0])
    );
    profile.write("sensors/s.sh", script);
    set_mode(&profile.data().join("sensors/s.sh"), 0o700);
    let mut pulse = Running::start(profile);
    fs::write(&once, "").unwrap();
    let beat = profile.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    let run = profile.start(&["run", &format!("echo once >> ran; {}", blocks(&gates[1]))]);
    assert_eq!(here.hear(), "there\n");
    small.fill();
    first_failure(profile).fails(1, "so nothing was done");
    pulse.closed();
    Some(Caught { small, pulse, verbs: [beat, run], gates })
}

#[test]
fn what_ends_while_the_log_cannot_be_written_is_not_lost() {
    let Some(Caught { small, pulse, verbs, gates }) =
        caught("what_ends_while_the_log_cannot_be_written_is_not_lost")
    else {
        return;
    };
    let profile = &small.0;
    for verb in verbs {
        let told = finish(verb);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stderr.contains("what was begun goes on"), "{told:?}");
    }
    for gate in gates {
        gate.say("go\n");
    }
    let moved = profile.data().join("sessions/move~1");
    within("the end of the move", move || looop_session::host::wait(&moved).unwrap());
    small.free();
    // None of these goes on before what was under way is settled.
    let call = |args: &[&str]| finish(profile.start(args));
    call(&["sensor", "write", "t", "#!/bin/sh\necho 2\n"]).ok();
    call(&["run", "true"]).ok();
    call(&["goal", "write", "g", "x"]).ok();
    call(&["beat"]).ok();
    assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
    assert_eq!(finished(profile).len(), 4, "{:?}", finished(profile));
    assert!(finished(profile).iter().all(|(_, outcome)| outcome.is_done()), "{:?}", finished(profile));
    call(&["down"]).ok();
    pulse.ended();
    assert_eq!(profile.survivors(), Vec::<String>::new());
    invariants(profile);
}

#[test]
fn down_ends_a_loop_that_cannot_write() {
    let Some(Caught { small, pulse, verbs, .. }) = caught("down_ends_a_loop_that_cannot_write") else {
        return;
    };
    let profile = &small.0;
    finish(profile.start(&["down"])).ok();
    pulse.ended();
    for verb in verbs {
        drop(finish(verb));
    }
    assert_eq!(profile.survivors(), Vec::<String>::new());
    small.free();
    quieted(profile);
    assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
    invariants(profile);
}

/// Fills the disk until only a little is free, and then goes on without writing.
const FILLS: &str = "while [ $(df -B1 --output=avail . | tail -1) -gt 300000 ]; do head -c 65536 /dev/zero >> big; done; \
                     sleep 1000";

/// What a decider runs is ended before the disk is full, and is not started where it nearly is.
#[test]
fn a_confined_command_that_fills_the_disk_is_ended() {
    let Some(disk) = SmallDisk::of("8m", "a_confined_command_that_fills_the_disk_is_ended") else { return };
    let profile = &disk.0;
    let told = profile.outside().join("decision.json");
    let tick = serde_json::Value::from(format!("cat '{}' > \"$LOOOP_DECISION_FILE\"", told.display()));
    profile.write("goals/g.md", "A goal.\n");
    profile.write(
        "config.toml",
        format!("sandbox = \"bwrap\"\ndefault = \"fake\"\nshell_timeout_secs = 60\n[runners.fake]\ntick = {tick}\ncost = \"free\"\n"),
    );
    for cmd in [FILLS, "true"] {
        profile.decide_next(&serde_json::json!({"action": "run_shell", "cmd": cmd}));
        let beat = finish(profile.start(&["beat"]));
        assert!(beat.stdout.contains("the disk is nearly full"), "{cmd}: {beat:#?}");
    }
    assert_eq!(profile.survivors(), Vec::<String>::new());
    fs::remove_file(profile.data().join("box/scratch/big")).unwrap();
    let beat = finish(profile.start(&["beat"]));
    assert!(!beat.stdout.contains("nearly full"), "{beat:#?}");
}
