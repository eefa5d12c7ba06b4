//! The detached loop with the real binary: up, down, wake, its log, and what becomes of its workers.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use looop_session::{Standing, host};
use looop_sim::profile::{Profile, Ran};
use looop_sim::terminal;
use looop_sim::waiting::{Fifo, HANGS, finish, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// A worker that waits for ever.
const IDLE: &str = "exec sleep 1000";

/// A profile whose loop and workers end with the test, also with one that fails.
struct Yard {
    profile: Profile,
}

impl Yard {
    fn new() -> Self {
        Self::of(Profile::bare(LOOOP))
    }

    fn of(profile: Profile) -> Self {
        Self { profile }
    }

    fn run(&self, args: &[&str]) -> Ran {
        finish(self.profile.start(args))
    }

    /// Starts the loop; gives its process.
    #[track_caller]
    fn up(&self) -> u32 {
        let up = self.run(&["up", "--json"]).ok().json();
        assert_eq!(up["up"], "started", "{up}");
        number(&up["pulse"]["pid"])
    }

    fn worker(&self, id: &str) {
        self.run(&["worker", "start", id, "--command", IDLE]).ok();
    }

    fn lives(&self, session: &str) -> bool {
        host::standing(&self.profile.data().join("sessions").join(session)).unwrap() == Standing::Live
    }

    fn log(&self) -> String {
        self.profile.file("pulse.log").unwrap_or_default()
    }

    /// Follows the loop's log.
    fn follow(&self) -> Follower {
        let mut child = self.profile.start(&["log", "pulse", "-f"]);
        let lines = BufReader::new(child.stdout.take().unwrap());
        Follower { child, lines: Some(lines) }
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let down = self.profile.run(&["down"]);
        if !std::thread::panicking() {
            assert_eq!(down.code, 0, "{down:?}");
            assert_eq!(self.profile.survivors(), Vec::<String>::new());
        }
    }
}

struct Follower {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Follower {
    /// Waits for a line that holds this; gives the number of lines up to it.
    #[track_caller]
    fn sees(&mut self, text: &str) -> usize {
        let (mut lines, wanted) = (self.lines.take().unwrap(), text.to_owned());
        let (lines, count) = within(text, move || {
            let (mut line, mut count) = (String::new(), 0);
            while lines.read_line(&mut line).unwrap() > 0 {
                count += 1;
                if line.contains(&wanted) {
                    return (lines, count);
                }
                line.clear();
            }
            panic!("the log ended before it said {wanted:?}");
        });
        self.lines = Some(lines);
        count
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Kills a loop as a crash would, and waits until it is gone.
fn crash(pid: u32) {
    let watched = looop_session::Watched::of(pid).unwrap().unwrap();
    signal(pid, Signal::KILL);
    assert!(watched.wait(HANGS).unwrap());
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// A profile with a sensor that says on a FIFO that it looks, and waits until somebody hears it.
fn looking() -> (Yard, Fifo) {
    let profile = Profile::bare(LOOOP);
    let look = profile.fifo("look");
    let script = format!("echo look > '{}'; echo '{{\"signal\":1}}'", look.path().display());
    (Yard::of(profile.sensor("slow", &script)), look)
}

/// A decider that says that it is there and hangs, with a helper that does not want to die.
fn hanging(profile: Profile) -> (Profile, Fifo) {
    let here = profile.fifo("here");
    let tick = format!(
        "trap '' TERM HUP INT; (setsid nohup sleep 3600 >/dev/null 2>&1 &); echo there > '{}'; sleep 3600",
        here.path().display()
    );
    (profile.decider_command(&tick), here)
}

#[test]
fn up_detaches_and_down_ends_it() {
    let yard = Yard::of(Profile::new(LOOOP));
    // The output is read to its end: nobody else holds it when `up` is back.
    let up = yard.run(&["up"]).ok();
    let pid = up.stdout.split([' ', ';']).nth(2).unwrap().to_owned();
    assert!(up.stdout.starts_with(&format!("up: process {pid};")) && up.stderr.is_empty(), "{up:?}");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let facts: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!((facts[3], facts[4]), (pid.as_str(), "0"), "session and terminal of {stat}");
    let target = |fd: u32| fs::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap();
    let log = yard.profile.data().join("pulse.log");
    assert_eq!([target(0), target(1), target(2)], ["/dev/null".into(), log.clone(), log.clone()]);
    assert_eq!(mode(&log), 0o600);
    assert!(yard.log().contains("new profile: wrote goals/welcome.md"), "{}", yard.log());

    let again = yard.run(&["up"]).ok().stdout;
    assert!(again.starts_with(&format!("already up: process {pid}, since ")), "{again}");
    assert_eq!(yard.run(&["down"]).ok().stdout, format!("ended the pulse (process {pid})\n"));
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
    assert!(!yard.profile.data().join("sock").exists());
    assert_eq!(yard.run(&["down"]).ok().stdout, "no pulse was running; nothing of it was left\n");
    yard.profile.beat().ok();
}

#[test]
fn many_ups_at_once_start_one() {
    let yard = Yard::new();
    let calls: Vec<Child> = (0..6).map(|_| yard.profile.start(&["up", "--json"])).collect();
    let told: Vec<Value> = calls.into_iter().map(|call| finish(call).ok().json()).collect();
    let started = told.iter().filter(|up| up["up"] == "started").count();
    assert_eq!(started, 1, "{told:?}");
    assert!(told.iter().all(|up| up["pulse"]["pid"] == told[0]["pulse"]["pid"]), "{told:?}");
    assert!(!yard.log().contains("error"), "{}", yard.log());
}

#[test]
fn a_restart_keeps_the_workers() {
    let yard = Yard::new();
    let first = yard.up();
    yard.worker("w");
    let again = yard.run(&["up", "--restart", "--json"]).ok().json();
    let second = number(&again["pulse"]["pid"]);
    assert_eq!((&again["up"], number(&again["before"])), (&Value::from("restarted"), first), "{again}");
    assert_ne!(first, second);
    assert!(yard.lives("w~1"));

    let kept = yard.run(&["down", "--keep-workers"]).ok().stdout;
    assert_eq!(kept, format!("ended the pulse (process {second}); 1 worker left alone\n"));
    assert!(yard.lives("w~1"));
    let kept = yard.run(&["down", "--keep-workers"]).ok().stdout;
    assert_eq!(kept, "no pulse was running; 1 worker left alone\n");
    let rest = yard.run(&["down"]).ok().stdout;
    assert_eq!(rest, "no pulse was running; ended 1 worker that it had left\n");
    assert!(!yard.lives("w~1"));
}

#[test]
fn a_restart_without_a_pulse_is_a_start() {
    let yard = Yard::new();
    let up = yard.run(&["up", "--restart", "--json"]).ok().json();
    assert_eq!((&up["up"], &up["before"]), (&Value::from("started"), &Value::Null));
}

#[test]
fn down_ends_what_is_in_flight_and_the_workers() {
    let (profile, here) = hanging(Profile::bare(LOOOP));
    let yard = Yard::of(profile);
    let pid = yard.up();
    assert_eq!(here.hear(), "there\n");
    for id in ["a", "b", "c"] {
        yard.worker(id);
    }
    let down = yard.run(&["down"]).ok().stdout;
    assert_eq!(down, format!("ended the pulse (process {pid}) and 3 workers\n"));
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
    assert!(yard.profile.ledger().deciding.is_none());
}

#[test]
fn down_ends_what_a_dead_pulse_left() {
    let (profile, here) = hanging(Profile::bare(LOOOP));
    let yard = Yard::of(profile);
    let pid = yard.up();
    assert_eq!(here.hear(), "there\n");
    yard.worker("w");
    crash(pid);
    let down = yard.run(&["down", "--json"]).ok().json();
    assert_eq!(down["pulse"], Value::Null);
    assert_eq!(
        (&down["workers"], &down["orphans"]),
        (&["w~1"][..].into(), &["decide~1"][..].into()),
        "{down}"
    );
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
}

#[test]
fn a_broken_configuration_keeps_nobody_from_ending_things() {
    let yard = Yard::new();
    let pid = yard.up();
    yard.worker("w");
    yard.profile.write("config.toml", "interval = [\n");
    let down = yard.run(&["down", "--keep-workers"]).ok().stdout;
    assert_eq!(down, format!("ended the pulse (process {pid}); 1 worker left alone\n"));
    let rest = yard.run(&["down"]).ok();
    assert_eq!(rest.stdout, "no pulse was running; ended 1 worker that it had left\n");
    assert!(rest.stderr.contains("config.toml"), "{rest:?}");
}

#[test]
fn a_pulse_that_does_not_answer_is_named() {
    let yard = Yard::new();
    let pid = yard.up();
    signal(pid, Signal::STOP);
    let down = yard.run(&["down"]);
    signal(pid, Signal::CONT);
    down.fails(1, &format!("process {pid} does not answer, was sent SIGTERM and still runs"));
}

#[test]
fn a_profile_that_is_not_there_is_not_made_by_ending_or_waking() {
    let profile = Profile::new(LOOOP);
    for args in [&["down"], &["wake"]] {
        profile.run(args).fails(1, "there is no profile");
    }
    assert!(!profile.data().exists());
}

#[test]
fn a_pulse_that_dies_early_is_explained() {
    let yard = Yard::new();
    yard.profile.beat().ok();
    yard.profile.write("pulse.log", "what was said long ago\n");
    let folder = yard.profile.data().join("log");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    let mut broken = whole.clone();
    broken[30] ^= 1;
    fs::write(&file, &broken).unwrap();
    let up = yard.run(&["up"]).fails(1, "the pulse ended before its first look at the world (exit 1)");
    assert!(up.stderr.contains("log/") && !up.stderr.contains("long ago"), "{up:?}");
    assert!(yard.log().starts_with("what was said long ago\nlooop: error"), "{}", yard.log());
    fs::write(&file, whole).unwrap();
    yard.up();
}

#[test]
fn a_bad_configuration_is_refused_before_anything_is_started() {
    let profile = Profile::bare(LOOOP).config("interval = \"soon\"\n");
    profile.run(&["up"]).fails(1, "interval");
    assert!(!profile.data().join("pulse.log").exists() && !profile.data().join("lock").exists());
}

#[test]
fn from_within_a_session_nothing_is_started() {
    let yard = Yard::of(Profile::bare(LOOOP).env("LOOOP_SESSION_ID", "w~1"));
    yard.run(&["up"]).fails(1, "would end with it");
}

#[test]
fn up_comes_back_after_the_first_look_and_wake_makes_another() {
    let (yard, look) = looking();
    let mut first = yard.profile.start(&["up"]);
    let second = yard.profile.start(&["up", "--json"]);
    // It cannot be back before the sensor was let go.
    assert!(first.try_wait().unwrap().is_none());
    assert_eq!(look.hear(), "look\n");
    finish(first).ok();
    finish(second).ok();
    assert_eq!(yard.run(&["wake"]).ok().stdout, "woken\n");
    assert_eq!(look.hear(), "look\n");
}

#[test]
fn who_waits_at_a_terminal_is_told_for_what() {
    let (yard, look) = looking();
    let (ours, theirs) = terminal::pair(80, 24);
    let mut command = yard.profile.command(&["up"]);
    let up = command.stdout(Stdio::piped()).stderr(theirs).spawn().unwrap();
    drop(command);
    let said = within("a word", move || {
        let mut line = String::new();
        BufReader::new(File::from(ours)).read_line(&mut line).unwrap();
        line
    });
    assert!(said.contains("waiting for the first look at the world (process"), "{said}");
    assert_eq!(look.hear(), "look\n");
    finish(up).ok();
}

#[test]
fn wake_needs_a_pulse_and_touches_nothing_without() {
    let profile = Profile::bare(LOOOP);
    profile.beat().ok();
    let before = profile.tree();
    profile.run(&["wake"]).fails(3, "no pulse runs\nhint: looop up");
    assert_eq!(profile.tree(), before);

    // A verb that holds the profile for as long as it takes is no pulse.
    let (here, gate) = (profile.fifo("here"), profile.fifo("gate"));
    let tick = format!("echo there > '{}'; cat '{}'", here.path().display(), gate.path().display());
    let profile = profile.decider_command(&tick);
    let beat = profile.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    profile.run(&["wake"]).fails(3, "no pulse runs");
    gate.say("{\"action\":\"noop\"}");
    finish(beat).ok();
}

#[test]
fn up_waits_for_a_verb_that_holds_the_profile() {
    let profile = Profile::bare(LOOOP);
    let (here, gate) = (profile.fifo("here"), profile.fifo("gate"));
    let tick = format!("echo there > '{}'; cat '{}'", here.path().display(), gate.path().display());
    let yard = Yard::of(profile.decider_command(&tick));
    let beat = yard.profile.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    let up = yard.profile.start(&["up", "--json"]);
    gate.say("{\"action\":\"noop\"}");
    finish(beat).ok();
    assert_eq!(finish(up).ok().json()["up"], "started");
}

#[test]
fn the_socket_of_a_dead_pulse_is_in_nobodys_way() {
    let yard = Yard::new();
    crash(yard.up());
    assert!(yard.profile.data().join("sock").exists());
    yard.run(&["wake"]).fails(3, "no pulse runs");
    yard.up();
    yard.run(&["wake"]).ok();
}

#[test]
fn the_log_is_rotated_and_followed_across() {
    let yard = Yard::new();
    let fill = |word: &str| format!("{}\n", format!("{word} ").repeat(20)).repeat((1 << 20) / 100 + 1);
    yard.profile.write("pulse.log", fill("first"));
    let mut follower = yard.follow();
    follower.sees("first");
    yard.up();
    let (log, older) = (yard.profile.data().join("pulse.log"), yard.profile.data().join("pulse.log.1"));
    yard.run(&["goal", "write", "one", "One."]).ok();
    follower.sees("wrote goal one");
    assert!(fs::read_to_string(&older).unwrap().starts_with("first"), "it was over the limit");
    assert!(!yard.log().contains("first"));

    // Twice: the older generation is replaced.
    File::options().append(true).open(&log).unwrap().write_all(fill("second").as_bytes()).unwrap();
    yard.run(&["goal", "write", "two", "Two."]).ok();
    follower.sees("wrote goal two");
    let kept = fs::read_to_string(&older).unwrap();
    assert!(kept.contains("wrote goal one") && kept.contains("second") && !kept.contains("first"));
    assert!(yard.log().contains("wrote goal two") && !yard.log().contains("second"));
    assert_eq!((mode(&log), mode(&older)), (0o600, 0o600));

    // One that vanished is made anew.
    fs::remove_file(&log).unwrap();
    yard.run(&["goal", "write", "three", "Three."]).ok();
    follower.sees("wrote goal three");
    assert!(yard.log().contains("wrote goal three") && !yard.log().contains("wrote goal two"));
    assert_eq!(mode(&log), 0o600);
}

#[test]
fn a_log_that_cannot_be_rotated_is_said_once_and_ends_nothing() {
    let yard = Yard::new();
    yard.profile.write("pulse.log", "x".repeat(2 << 20));
    yard.profile.write("pulse.log.1/in/the/way", "");
    yard.up();
    for goal in ["one", "two", "three"] {
        yard.run(&["goal", "write", goal, "Do it."]).ok();
    }
    let mut follower = yard.follow();
    follower.sees("wrote goal three");
    assert_eq!(yard.log().matches("cannot be begun anew").count(), 1);
}

#[test]
fn a_log_that_is_no_file_is_refused() {
    let profile = Profile::bare(LOOOP);
    fs::create_dir(profile.data().join("pulse.log")).unwrap();
    profile.run(&["up"]).fails(1, "pulse.log cannot be written");
    fs::remove_dir(profile.data().join("pulse.log")).unwrap();
    let made = Command::new("mkfifo").arg(profile.data().join("pulse.log")).status().unwrap();
    assert!(made.success());
    profile.run(&["up"]).fails(1, "pulse.log cannot be written: it is not a regular file");
}

#[test]
fn the_log_speaks_json_where_it_is_told_to_and_the_environment_is_kept() {
    let profile = Profile::bare(LOOOP);
    fs::write(profile.outside().join("mine.toml"), "log_format = \"json\"\n").unwrap();
    fs::set_permissions(profile.outside().join("mine.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    // A relative path is meant from where `up` is called.
    let yard = Yard::of(profile.env("LOOOP_CONFIG", "mine.toml"));
    yard.up();
    yard.run(&["goal", "write", "one", "One."]).ok();
    let mut follower = yard.follow();
    follower.sees("finished");
    for line in yard.log().lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn doctor_sees_the_pulse_and_whether_it_is_older_than_the_binary() {
    let folder = tempfile::tempdir().unwrap();
    let (binary, new) = (folder.path().join("looop"), folder.path().join("new"));
    fs::copy(LOOOP, &binary).unwrap();
    let yard = Yard::of(Profile::bare(&binary.to_string_lossy()));
    yard.profile.beat().ok();
    // What it finds wrong elsewhere is not our concern here.
    let finding = |what: &str| {
        let found = yard.run(&["doctor", "--json"]).json();
        let found = found.as_array().unwrap().iter().find(|found| found["what"] == what).unwrap();
        (found["state"].as_str().unwrap().to_owned(), found["fix"].as_str().map(str::to_owned))
    };
    assert_eq!(finding("pulse"), ("none runs; looop up starts one".to_owned(), None));
    let pid = yard.up();
    let (state, fix) = finding("pulse");
    assert!(state.starts_with(&format!("process {pid}, up since ")) && fix.is_none(), "{state}, {fix:?}");
    assert!(finding("inotify").0.contains("watches a user"));
    fs::copy(LOOOP, &new).unwrap();
    fs::rename(&new, &binary).unwrap();
    let (state, fix) = finding("pulse");
    assert!(state.contains("runs another looop"), "{state}");
    assert_eq!(fix.as_deref(), Some("looop up --restart"));
    yard.run(&["up", "--restart"]).ok();
    assert_eq!(finding("pulse").1, None);
}

/// Which part of the loop's own code is in memory, in percent.
#[cfg(target_os = "linux")]
fn resident_code(pid: u32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let code = maps.lines().skip_while(|line| !(line.contains(" r-xp ") && line.ends_with("/looop")));
    let kilobytes = |name: &str| {
        let line = code.clone().find_map(|line| line.strip_prefix(name)).unwrap();
        number(&line.trim().trim_end_matches(" kB").parse::<Value>().unwrap())
    };
    u64::from(kilobytes("Rss:") * 100 / kilobytes("Size:"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_loop_that_was_asked_something_rests_as_small_as_one_that_was_not() {
    let yard = Yard::new();
    yard.profile.write("config.toml", "default = \"builtin\"\ninterval = \"1h\"\n");
    let pid = yard.up();
    for asked in ["nothing", "wake", "status", "wake", "wake"] {
        if asked != "nothing" {
            yard.run(&[asked]).ok();
        }
        // While it works three quarters of an unoptimised program are there, at rest a sixth.
        yard.profile.until_is(&format!("the rest after {asked}"), || resident_code(pid) < 40);
    }
}
