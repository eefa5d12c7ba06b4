//! A kernel that refuses: threads, descriptors, watches, timers; and callers that are slow or silent.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use looop_core::ledger::entry::Entry;
use looop_sim::waiting::{Fifo, HANGS, finish, within};

use super::looping::{Den, IDLE, Looping, TOUCHES};

/// A loop in which a thread cannot be started.
fn refusing(den: &Den, thread: &str) -> Looping {
    Looping::start(den, &["--json"], &[("LOOOP_INTERVAL", "3600"), ("LOOOP_NO_THREAD", thread)])
}

#[test]
fn a_move_that_nobody_could_wait_for_is_not_begun() {
    let den = Den::new();
    let mut looping = refusing(&den, "move");
    looping.beat("start");
    let run = ["run", "echo once >> ran"];
    den.call(&run).fails(1, "cannot start a thread");
    assert!(!den.data().join("sessions/move~1").exists());
    den.call(&run).ok();
    assert_eq!(den.file("ran").as_deref(), Some("once\n"));
    looping.ends("TERM");
}

#[test]
fn a_decide_that_nobody_could_wait_for_is_not_begun_and_costs_nothing() {
    let den = Den::new();
    let asked = den.beside("asked");
    den.decided_by(&format!("echo asked >> '{asked}'; echo '{{\"action\":\"noop\"}}'"));
    let mut looping = refusing(&den, "decide");
    let failed = looping.event("failed");
    assert!(failed.to_string().contains("cannot start a thread"), "{failed}");
    assert!(!std::path::Path::new(&asked).exists());
    let spent =
        den.entries().iter().any(|entry| matches!(entry, Entry::Failed { spend, .. } if spend.usd > 0.0));
    assert!(!spent, "{:?}", den.entries());
    looping.ends("TERM");
}

#[test]
fn a_look_that_cannot_be_begun_is_begun_later() {
    let den = Den::new();
    den.counted("s", "echo 1");
    let mut looping = refusing(&den, "sense");
    let skipped = looping.event("skipped");
    assert!(skipped.to_string().contains("cannot start a thread"), "{skipped}");
    assert_eq!(den.runs("s"), 0);
    den.call(&["beat"]).ok();
    assert_eq!(den.runs("s"), 1);
    looping.ends("TERM");
}

#[test]
fn what_an_earlier_loop_began_is_waited_for_as_soon_as_a_thread_can_be_had() {
    let den = Den::new();
    let (here, gate) = (den.fifo("here"), den.fifo("gate"));
    let first = den.looped();
    let line = format!(
        "echo once >> ran; echo there > '{}'; read _ < '{}'",
        here.path().display(),
        gate.path().display()
    );
    let run = den.start(&["run", &line]);
    assert_eq!(here.hear(), "there\n");
    first.signal("KILL");
    drop(finish(run));
    let mut second = refusing(&den, "adopted");
    second.says("cannot start a thread");
    second.says("still runs; waiting for it");
    gate.say("go\n");
    second.event("finished");
    assert_eq!(den.file("ran").as_deref(), Some("once\n"));
    second.ends("TERM");
}

/// A worker whose host was killed, and which lives on.
fn orphan(den: &Den) {
    let here = den.fifo("born");
    let command =
        format!("trap '' HUP TERM; echo $$ > '{}'; while :; do sleep 1; done", here.path().display());
    den.call(&["worker", "start", "w", "--command", &command]).ok();
    let child: u32 = here.hear().trim().parse().unwrap();
    let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let host = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned();
    let watched = looop_session::Watched::of(host.parse().unwrap()).unwrap().expect("a host");
    let killed = std::process::Command::new("kill").args(["-9", &host]).status().unwrap();
    assert!(killed.success());
    // A host that is still dying is no lost one yet.
    assert!(watched.wait(HANGS).unwrap());
}

#[test]
fn what_takes_long_is_handed_out() {
    for name in ["lost", "upkeep"] {
        let den = Den::new();
        orphan(&den);
        // That it is refused a thread shows that it wants one.
        let mut looping = refusing(&den, name);
        looping.beat("start");
        den.call(&["run", "true"]).ok();
        looping.says("cannot start a thread");
        den.call(&["beat"]).ok();
        den.call(&["run", "true"]).ok();
        looping.ends("TERM");
        den.no_survivors();
    }
}

#[test]
fn whatever_thread_is_refused_the_loop_goes_on_and_ends_in_order() {
    let names = [
        "request", "worker", "trial", "prune", "notify", "end", "clear", "ending", "upkeep", "meter",
        "scan:1+",
    ];
    for name in names {
        let den = Den::new();
        den.write("config.toml", "notification = \"true\"\n");
        den.write("goals/x.md", TOUCHES);
        let mut looping = refusing(&den, name);
        looping.event("finished");
        for id in ["a", "b"] {
            // Which of them is refused depends on the name.
            drop(den.call(&["worker", "start", id, "--command", IDLE]));
        }
        drop(den.call(&["sensor", "write", "s", "#!/bin/sh\necho 1\n"]));
        drop(den.call(&["prune"]));
        drop(den.call(&["notify", "hello"]));
        let here = den.fifo("here");
        let run = den.start(&["run", &format!("echo there > '{}'; sleep 1000", here.path().display())]);
        assert_eq!(here.hear(), "there\n");
        let left = looping.ends("TERM");
        assert!(!left.stderr.contains("panicked"), "{name}: {left:?}");
        drop(finish(run));
        den.no_survivors();
    }
}

#[test]
fn up_that_cannot_watch_says_so_and_starts_nothing() {
    for name in ["heard", "seen", "watch"] {
        let den = Den::new();
        let mut command = den.command(&["up"]);
        command.env("LOOOP_NO_THREAD", name);
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains("cannot start a thread"), "{name}: {said}");
        assert_eq!(den.processes(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn down_ends_a_loop_that_can_serve_nobody() {
    let den = Den::new();
    den.call(&["worker", "start", "w", "--command", IDLE]).ok();
    let mut looping = refusing(&den, "request:1+");
    looping.beat("start");
    let down = den.call(&["down"]).ok();
    assert!(down.stderr.contains("it is sent SIGTERM"), "{down:?}");
    looping.left().ok();
    den.no_survivors();
}

/// A connection to the lock holder.
fn connect(den: &Den) -> UnixStream {
    UnixStream::connect(den.data().join("sock")).unwrap()
}

/// All that is still said on a connection.
fn rest(mut stream: UnixStream) -> String {
    within("the end of a connection", move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
}

#[test]
fn who_waits_for_the_first_look_is_sent_away_when_the_loop_ends() {
    let den = Den::new();
    let here = den.fifo("here");
    den.sense("s", &format!("echo there > '{}'; sleep 1000", here.path().display()));
    let looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    let mut stream = connect(&den);
    stream.write_all(b"{\"v\":1,\"request\":{\"do\":\"pulse\",\"seen\":true}}\n").unwrap();
    let mut heard = [0; 64];
    let count = stream.read(&mut heard).unwrap();
    assert!(heard[..count].starts_with(b"{\"v\":1,\"heard\":"), "{:?}", String::from_utf8_lossy(&heard));
    // It is taken after what came before it.
    den.call(&["pause"]).ok();
    looping.ends("TERM");
    let said = rest(stream);
    assert!(said.starts_with("{\"v\":1,\"leaving\":"), "{said:?}");
}

#[test]
fn silent_callers_make_room_for_others() {
    let den = Den::new();
    let looping = den.looped();
    let first = connect(&den);
    (&first).write_all(b"{").unwrap();
    // The first of those that say nothing has to go.
    let others: Vec<UnixStream> = (0..200).map(|_| connect(&den)).collect();
    assert_eq!(rest(first), "", "it was not heard, and not answered");
    den.call(&["pause"]).ok();
    drop(others);
    looping.ends("TERM");
}

/// The loop under strace, which lets system calls fail. `None`: there is no strace.
fn traced(den: &Den, faults: &[&str], trace: Option<&PathBuf>) -> Option<Looping> {
    let options: Vec<&str> = faults.iter().flat_map(|fault| ["-e", fault]).collect();
    strace(den, &options, trace)
}

fn strace(den: &Den, options: &[&str], trace: Option<&PathBuf>) -> Option<Looping> {
    let found = std::process::Command::new("strace").arg("-V").output();
    if found.is_err() {
        assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "there is no strace");
        return None;
    }
    // `-D`: the loop is our child, and strace a stranger.
    let log = trace.cloned().unwrap_or_else(|| "/dev/null".into());
    let mut args =
        vec!["-D".to_owned(), "-qq".to_owned(), "-o".to_owned(), log.to_string_lossy().into_owned()];
    args.extend(options.iter().map(|option| (*option).to_owned()));
    args.extend([den.binary().to_string_lossy().into_owned(), "--json".to_owned()]);
    Some(Looping::by(den, "strace", &args.iter().map(String::as_str).collect::<Vec<_>>()))
}

#[test]
fn a_clock_that_is_set_between_two_looks_ends_nothing() {
    let den = Den::new();
    let faults = ["trace=timerfd_settime", "inject=timerfd_settime:error=ECANCELED:when=3+7"];
    let Some(mut looping) = traced(&den, &faults, None) else { return };
    looping.beat("start");
    // Which timer a failure meets depends on how many were set before, and a look may have another cause by then.
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..500).take_while(|_| !over.load(Ordering::Relaxed)) {
                den.write(&format!("goals/{n}.md"), "Something.");
                den.call(&["beat"]).ok();
            }
        });
        looping.beat("clock");
        over.store(true, Ordering::Relaxed);
    });
    looping.ends("TERM");
}

#[test]
fn files_that_take_long_to_be_read_delay_no_request() {
    let den = Den::new();
    den.write("goals/slow.md", TOUCHES);
    // The thread that opens this file waits until strace is gone.
    let slow = ["-f", "-P", "goals/slow.md", "-e", "trace=openat2", "-e", "inject=openat2:delay_enter=3600s"];
    let Some(mut looping) = strace(&den, &slow, None) else { return };
    looping.event("seeded");
    den.call(&["pause"]).ok();
    den.call(&["resume"]).ok();
    let status = fs::read_to_string(format!("/proc/{}/status", looping.id())).unwrap();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap().trim();
    let killed = std::process::Command::new("kill").args(["-9", tracer]).status().unwrap();
    assert!(killed.success());
    looping.event("finished");
    looping.ends("TERM");
    let entries = den.entries();
    let resumed = entries.iter().position(|entry| matches!(entry, Entry::Resumed)).unwrap();
    let served = entries.iter().position(|entry| matches!(entry, Entry::Intended { .. })).unwrap();
    assert!(resumed < served, "the requests waited for the file: {entries:?}");
}

#[test]
fn watches_that_run_out_later_are_done_without() {
    let den = Den::new();
    den.write("goals/y.md", "Nothing.");
    // The first eleven are those of the start.
    let faults = ["trace=inotify_add_watch", "inject=inotify_add_watch:error=ENOSPC:when=12+"];
    let Some(mut looping) = traced(&den, &faults, None) else { return };
    looping.beat("start");
    let goals = den.data().join("goals");
    fs::rename(&goals, den.data().join("elsewhere")).unwrap();
    looping.says("file events cannot be had");
    den.write("goals/x.md", TOUCHES);
    looping.event("finished");
    assert!(den.data().join("X").exists());
    looping.ends("TERM");
}

#[test]
fn a_caller_that_cannot_be_let_in_does_not_keep_the_loop_busy() {
    let den = Den::new();
    let trace = den.outside().join("trace");
    let faults = ["trace=accept4", "inject=accept4:error=EMFILE"];
    let Some(mut looping) = traced(&den, &faults, Some(&trace)) else { return };
    looping.beat("start");
    let waiting = connect(&den);
    // Its messages and file events are served as ever.
    for n in 0..10 {
        let id = format!("g{n}");
        den.write(&format!("goals/{id}.md"), format!("---\ncheck: test -e {id}\nrun: touch {id}\n---\n"));
        looping.until(&id, |event| event["event"] == "finished");
    }
    looping.ends("TERM");
    drop(waiting);
    let tried = fs::read_to_string(trace).unwrap().lines().filter(|line| line.contains("EMFILE")).count();
    assert!((1..2000).contains(&tried), "it tried {tried} times");
}

#[test]
fn looks_that_overlap_do_not_keep_a_sensor_from_being_written() {
    let den = Den::new();
    let (here, sensor, check) = (den.fifo("here"), den.fifo("sensor"), den.fifo("check"));
    let blocks = |what: &str, gate: &Fifo| {
        format!("echo {what} > '{}'; read _ < '{}'", here.path().display(), gate.path().display())
    };
    let once = den.beside("once");
    den.sense("s", &format!("if rm '{once}' 2>/dev/null; then {}; fi; echo 1", blocks("full", &sensor)));
    let looping = den.looped();
    fs::write(&once, "").unwrap();
    let beat = den.start(&["beat"]);
    assert_eq!(here.hear(), "full\n");
    // It is tried, and waits for the looks under way.
    let script = format!("#!/bin/sh\necho tried > '{}'\necho 2\n", here.path().display());
    let write = den.start(&["sensor", "write", "t", &script]);
    assert_eq!(here.hear(), "tried\n");
    // Before one look ends another one begins, each time.
    for round in ["one", "two"] {
        den.write("goals/g.md", format!("---\ncheck: {}\n---\n{round}\n", blocks(round, &check)));
        if round == "one" {
            assert_eq!(here.hear(), "one\n");
            sensor.say("go\n");
        }
    }
    check.say("go\n");
    // The next look, which runs a check and the new sensor, waits until somebody listens.
    let listens = std::thread::spawn(move || here.hear());
    finish(write).ok();
    assert_ne!(listens.join().unwrap(), "", "it looks on");
    looping.ends("TERM");
    drop(finish(beat));
}
