//! A loop that a test runs and listens to.

use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};

use looop_sim::profile::{Profile, Ran, set_mode};
use looop_sim::waiting::{self, Fifo, HANGS, finish};
use serde_json::Value;

pub(crate) const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// A worker that waits for ever.
pub(crate) const IDLE: &str = "exec sleep 1000";
/// A goal that holds once its file is there.
pub(crate) const TOUCHES: &str = "---\ncheck: test -e X\nrun: touch X\n---\n";

/// A profile whose workers end with the test, also with one that fails.
pub(crate) struct Den(pub(crate) Profile);

impl Den {
    pub(crate) fn new() -> Self {
        Self(Profile::bare(LOOOP))
    }

    /// A call that is waited for within bounds.
    pub(crate) fn call(&self, args: &[&str]) -> Ran {
        finish(self.start(args))
    }

    /// The loop, which looks by itself once an hour only.
    pub(crate) fn looping(&self) -> Looping {
        Looping::start(&self.0, &["--json"], &[("LOOOP_INTERVAL", "3600")])
    }

    /// The same once it has looked for the first time.
    pub(crate) fn looped(&self) -> Looping {
        let mut looping = self.looping();
        looping.beat("start");
        looping
    }

    /// A path beside the profile, as shell text.
    pub(crate) fn beside(&self, name: &str) -> String {
        self.outside().join(name).to_string_lossy().into_owned()
    }

    /// Writes a sensor that leaves a line beside the profile each time it runs.
    pub(crate) fn counted(&self, name: &str, then: &str) {
        let file = self.beside(&format!("runs-{name}"));
        self.sense(name, &format!("echo ran >> '{file}'\n{then}"));
    }

    /// Writes a sensor.
    pub(crate) fn sense(&self, name: &str, script: &str) {
        // Under another name first: while a script is open for writing it cannot be run.
        let (draft, file) = (format!("sensors/.{name}"), format!("sensors/{name}.sh"));
        self.write(&draft, format!("#!/bin/sh\n{script}\n"));
        set_mode(&self.data().join(&draft), 0o700);
        std::fs::rename(self.data().join(draft), self.data().join(file)).unwrap();
    }

    /// How often it has run.
    pub(crate) fn runs(&self, name: &str) -> usize {
        let text = std::fs::read_to_string(self.beside(&format!("runs-{name}")));
        text.unwrap_or_default().lines().count()
    }

    /// Sets up a decider that is this shell command.
    pub(crate) fn decided_by(&self, tick: &str) {
        let tick = Value::from(tick);
        self.write(
            "config.toml",
            format!("default = \"fake\"\n[runners.fake]\ntick = {tick}\ncost = \"free\"\n"),
        );
    }

    /// Sets up a decider that says that it is there and then waits for its decision.
    pub(crate) fn gated(&self) -> (Fifo, Fifo) {
        let (here, decision) = (self.fifo("here"), self.fifo("decision"));
        let (said, heard) = (here.path().display(), decision.path().display());
        self.decided_by(&format!("echo there > '{said}'; cat '{heard}'"));
        (here, decision)
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        let text = self.file("journal.md").unwrap_or_default();
        text.lines().map(|line| line[19..].to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn no_survivors(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.data().join("log")).unwrap();
        files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    }
}

impl Deref for Den {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.0
    }
}

impl Drop for Den {
    fn drop(&mut self) {
        if self.data().join("sessions").exists() {
            drop(self.run(&["kill", "--all", "--force"]));
        }
    }
}

/// What a stream has said so far, and whether it has ended.
type Said = Arc<(Mutex<(String, bool)>, Condvar)>;

/// The loop at work.
pub(crate) struct Looping {
    child: Option<Child>,
    events: Receiver<Value>,
    /// What was heard so far.
    pub(crate) heard: Vec<Value>,
    errors: Said,
}

impl Looping {
    pub(crate) fn start(profile: &Profile, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = profile.command(args);
        command.envs(env.iter().copied());
        Self::of(command)
    }

    /// The loop as another program starts it.
    pub(crate) fn by(profile: &Profile, program: &str, args: &[&str]) -> Self {
        let call = profile.command::<&str>(&[]);
        let mut command = Command::new(program);
        command.args(args).env_clear().env("LOOOP_INTERVAL", "3600").stdin(Stdio::null());
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, events) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // A test that does not listen any more is over.
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                drop(sender.send(event));
            }
        });
        let errors = Said::default();
        let (said, stderr) = (errors.clone(), child.stderr.take().unwrap());
        std::thread::spawn(move || collect(stderr, &said));
        Self { child: Some(child), events, heard: Vec::new(), errors }
    }

    /// Waits for an event that is so.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Ok(event) = self.events.recv_timeout(HANGS) else {
                panic!("no {what} in\n{}{}", self.all(), self.said())
            };
            self.heard.push(event.clone());
            if is_it(&event) {
                return event;
            }
        }
    }

    /// All that was heard, one event a line.
    fn all(&self) -> String {
        self.heard.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Waits for an event of this name.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.until(name, |event| event["event"] == name)
    }

    /// Waits for a beat of this cause.
    #[track_caller]
    pub(crate) fn beat(&mut self, cause: &str) -> Value {
        self.until(cause, |event| event["event"] == "beat_started" && event["cause"] == cause)
    }

    /// Takes in what is there already; gives how many events of this name were heard in all.
    pub(crate) fn count(&mut self, name: &str) -> usize {
        self.heard.extend(self.events.try_iter());
        self.heard.iter().filter(|event| event["event"] == name).count()
    }

    /// Waits until it has said this on stderr.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        let said = self.errors.0.lock().unwrap();
        let waits = |said: &mut (String, bool)| !said.0.contains(text) && !said.1;
        let (said, _) = self.errors.1.wait_timeout_while(said, HANGS, waits).unwrap();
        assert!(said.0.contains(text), "{text:?} is not in {:?}", said.0);
    }

    /// All it has said on stderr.
    pub(crate) fn said(&self) -> String {
        self.errors.0.lock().unwrap().0.clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        waiting::signal(self.child.as_ref().unwrap(), name);
    }

    /// Waits for its end; gives its exit code and what it said on stderr.
    #[track_caller]
    pub(crate) fn left(mut self) -> Ran {
        let code = finish(self.child.take().unwrap()).code;
        self.heard.extend(self.events.iter());
        let said = self.errors.0.lock().unwrap();
        let (said, late) = self.errors.1.wait_timeout_while(said, HANGS, |said| !said.1).unwrap();
        assert!(!late.timed_out(), "somebody still holds its stderr: {said:?}");
        Ran { code, stdout: self.all(), stderr: said.0.clone() }
    }

    /// Ends it by a signal, in order.
    #[track_caller]
    pub(crate) fn ends(self, signal: &str) -> Ran {
        self.signal(signal);
        self.left().ok()
    }
}

impl Drop for Looping {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended just now.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn collect(mut stream: impl Read, said: &Said) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        said.0.lock().unwrap().0.push_str(&String::from_utf8_lossy(&chunk[..count]));
        said.1.notify_all();
    }
    said.0.lock().unwrap().1 = true;
    said.1.notify_all();
}
