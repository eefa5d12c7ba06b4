//! A hermetic profile for tests: a folder of its own, a clear environment, the real binary.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::state::Ledger;
use looop_store::Reader;
use serde_json::Value;
use tempfile::TempDir;

/// A profile in a temporary folder, and the binary that works on it.
pub struct Profile {
    folder: TempDir,
    data: PathBuf,
    binary: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

/// What a call of the binary gave.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; 128 + n for a signal.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it said beside that.
    pub stderr: String,
}

impl Ran {
    /// Fails the test unless the call succeeded.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "a test may want nothing but the check")]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless the call exited with `code` and said `text` on stderr.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "a test may want nothing but the check")]
    pub fn fails(self, code: i32, text: &str) -> Self {
        assert!(
            self.code == code && self.stderr.contains(text),
            "expected {code} and {text:?}, got {self:#?}"
        );
        self
    }

    /// Its output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}

impl Profile {
    /// A fresh profile for the binary at `binary` (`env!("CARGO_BIN_EXE_looop")`). Nothing is in it yet, and the data
    /// folder itself does not exist.
    pub fn new(binary: &str) -> Self {
        Self::named(binary, "data")
    }

    /// The same with a data folder of this name, which may be a path below a folder of the test's own.
    pub fn named(binary: &str, name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("looop-test-").tempdir().expect("a temporary folder");
        let mut env = BTreeMap::new();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        env.insert("PATH".into(), path);
        env.insert("HOME".into(), folder.path().join("home").into_os_string());
        env.insert("TZ".into(), "UTC".into());
        env.insert("LANG".into(), "C.UTF-8".into());
        // Most tests are about what moves do, not about who allows them.
        env.insert("LOOOP_POLICY".into(), "open".into());
        let data = folder.path().join(name);
        env.insert("LOOOP_DATA_DIR".into(), data.clone().into_os_string());
        fs::create_dir(folder.path().join("home")).expect("a home folder");
        Self { folder, data, binary: PathBuf::from(binary), env }
    }

    /// An empty profile that is not seeded: an empty PLAYBOOK-less folder would be, so a PLAYBOOK lies in it.
    #[must_use]
    pub fn bare(binary: &str) -> Self {
        Self::new(binary).playbook("# PLAYBOOK\nBe careful.\n")
    }

    /// A profile of its own with the same files, variables aside.
    #[must_use]
    pub fn twin(&self) -> Self {
        let twin = Self::new(&self.binary.to_string_lossy());
        if self.data.exists() {
            let copied = Command::new("cp").arg("-a").args([&self.data, &twin.data]).status();
            assert!(copied.is_ok_and(|status| status.success()), "the profile could not be copied");
        }
        twin
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// A folder of the test's own, beside the data folder.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// The binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Sets a variable for all calls.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// Has its moves judged by the policy that its own files say, `guarded` where they say nothing.
    #[must_use]
    pub fn guarded(mut self) -> Self {
        self.env.remove(OsStr::new("LOOOP_POLICY"));
        self
    }

    /// Writes a file below the data folder, 0600, with its folders 0700.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.data().join(path);
        let parent = file.parent().expect("a parent");
        fs::create_dir_all(parent).expect("a folder");
        let mut folder = self.data();
        set_mode(&folder, 0o700);
        for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            set_mode(&folder, 0o700);
        }
        fs::write(&file, content).expect("a file");
        set_mode(&file, 0o600);
    }

    /// Adds a goal.
    #[must_use]
    pub fn goal(self, id: &str, text: &str) -> Self {
        self.write(&format!("goals/{id}.md"), text);
        self
    }

    /// Adds a sensor; a script without an interpreter line is one for `sh`.
    #[must_use]
    pub fn sensor(self, name: &str, script: &str) -> Self {
        let script =
            if script.starts_with("#!") { script.to_owned() } else { format!("#!/bin/sh\n{script}\n") };
        let path = format!("sensors/{name}.sh");
        self.write(&path, "");
        write_program(&self.data().join(path), &script);
        self
    }

    /// Writes the PLAYBOOK.
    #[must_use]
    pub fn playbook(self, text: &str) -> Self {
        self.write("PLAYBOOK.md", text);
        self
    }

    /// Writes `config.toml`.
    #[must_use]
    pub fn config(self, text: &str) -> Self {
        self.write("config.toml", text);
        self
    }

    /// Sets up a decider that is a shell command: its decision file is `$LOOOP_DECISION_FILE`, its stdin the brief.
    #[must_use]
    pub fn decider_command(self, tick: &str) -> Self {
        let tick = toml_text(tick);
        self.config(&format!("default = \"fake\"\n[runners.fake]\ntick = {tick}\ncost = \"free\"\n"))
    }

    /// Sets up a decider that always gives this decision.
    #[must_use]
    pub fn decider(self, decision: &Value) -> Self {
        let file = self.folder.path().join("decision.json");
        self.decide_next(decision);
        self.decider_command(&format!("cat '{}' > \"$LOOOP_DECISION_FILE\"", file.display()))
    }

    /// Changes what the decider of [`Profile::decider`] gives from now on.
    pub fn decide_next(&self, decision: &Value) {
        fs::write(self.folder.path().join("decision.json"), decision.to_string()).expect("a decision");
    }

    /// A call of the binary, in a clear environment.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).env_clear().envs(&self.env).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Calls the binary.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        ran(&self.command(args).output().expect("the binary runs"))
    }

    /// Calls the binary with something on stdin.
    pub fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        // A verb that does not want its input may be gone already.
        drop(child.stdin.take().expect("a pipe").write_all(input));
        ran(&child.wait_with_output().expect("the binary ends"))
    }

    /// Calls the binary with 64 MiB of memory at most, for it and for each of its children. `None`: it had not ended
    /// after `most` and was killed.
    pub fn run_bounded<S: AsRef<OsStr>>(&self, args: &[S], most: Duration) -> Option<Ran> {
        let plain = self.command(args);
        let mut command = self.command(&["-c", "ulimit -d 65536; exec \"$0\" \"$@\""]);
        command = replaced(&command, "bash");
        command.arg(plain.get_program()).args(plain.get_args());
        let child = command.spawn().expect("bash runs");
        let pid = child.id();
        let (sender, ended) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        if let Ok(output) = ended.recv_timeout(most) {
            return Some(ran(&output.expect("the binary ends")));
        }
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()), "process {pid} could not be killed");
        None
    }

    /// Starts the binary and leaves it running, its output piped.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
    }

    /// One beat.
    pub fn beat(&self) -> Ran {
        self.run(&["beat"])
    }

    /// A file below the data folder, if it is there.
    pub fn file(&self, path: &str) -> Option<String> {
        fs::read(self.data().join(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Everything below the data folder by its path: what a folder, link or other thing is, or a file's bytes. A file
    /// of more than 8 MiB or without permission is told by its size.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.data, &mut found);
        found
    }

    /// The whole log.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let reader = Reader::open(&self.data()).expect("a profile");
        reader.replay_all(&mut |line| lines.push(line.clone())).expect("a whole log");
        lines
    }

    /// All entries of the log.
    pub fn entries(&self) -> Vec<Entry> {
        self.lines().into_iter().flat_map(|line| line.entries).collect()
    }

    /// The ledger.
    pub fn ledger(&self) -> Ledger {
        Reader::open(&self.data()).expect("a profile").ledger().expect("a whole log")
    }
}

/// The same call with another program and the same arguments, its output piped.
fn replaced(command: &Command, program: &str) -> Command {
    let mut other = Command::new(program);
    other.args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        other.current_dir(folder);
    }
    other.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    other
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let meta = fs::symlink_metadata(&path).expect("what it is");
        let what = if meta.is_file() && meta.len() <= 8 << 20 {
            fs::read(&path).unwrap_or_else(|_| format!("{} bytes", meta.len()).into_bytes())
        } else if meta.is_file() {
            format!("{} bytes", meta.len()).into_bytes()
        } else if meta.is_symlink() {
            fs::read_link(&path).expect("a target").into_os_string().into_encoded_bytes()
        } else {
            format!("{:?}", meta.file_type()).into_bytes()
        };
        if meta.is_dir() {
            walk(&path, found);
        }
        found.insert(path, what);
    }
}

pub(crate) fn ran(output: &Output) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let code =
        output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
    Ran {
        code,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Sets a file's mode.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Writes a script that can be run, 0700. Another process writes it: a child that a test beside this one is just
/// starting inherits all our descriptors, and what somebody has open for writing cannot be run ("Text file busy").
pub fn write_program(path: &Path, text: &str) {
    let write = "cat > \"$0\" && chmod 700 \"$0\"";
    let mut sh = Command::new("sh").arg("-c").arg(write).arg(path).stdin(Stdio::piped()).spawn().expect("sh");
    sh.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a script");
    assert!(sh.wait().is_ok_and(|status| status.success()), "{} could not be written", path.display());
}

/// A text as a TOML string.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string()
}
