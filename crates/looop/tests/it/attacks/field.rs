//! The field: a profile under the default policy, with things around it that nobody may touch.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use looop_sim::profile::{Profile, set_mode, write_program};
use serde_json::{Value, json};

pub(crate) const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// What must never be seen anywhere but where it was planted.
pub(crate) const SECRET: &str = "hunter2-correct-horse";
/// The person's own sensor: nothing that it says is a stranger's.
const OWN: &str = "#!/bin/sh\n# looop:trust=owner\necho '{\"signal\":1}'\n";
/// The person's own files of the profile.
const MINE: [&str; 5] = ["PLAYBOOK.md", "policy.toml", "config.toml", "goals/person.md", "sensors/ci.sh"];
/// Grants as a person would give them.
const GRANTS: &str =
    "[[grant]]\nprogram = \"gh\"\nenv = [\"GH_TOKEN\"]\nread = [\"~/.config/gh\"]\nnet = true\n";
/// A program that is granted something: it says what it sees of it, and never the thing itself.
const GH: &str = "#!/bin/sh\n[ -n \"$GH_TOKEN\" ] && echo token\n[ -r ~/.config/gh/hosts.yml ] && grep -q . ~/.config/gh/hosts.yml && echo config\n[ -n \"$SECRET_TOKEN\" ] && echo stolen\necho '[]'\n";

/// What watches over the machine, for many attacks.
pub(crate) struct Watch {
    listener: TcpListener,
    canary: Child,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let canary = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        Self { listener, canary }
    }

    /// A text with the places of this field and this watch in it.
    pub(crate) fn fill(&self, field: &Field, text: &str) -> String {
        let port = self.listener.local_addr().unwrap().port().to_string();
        let out = field.profile.outside().join("precious");
        text.replace("PORT", &port)
            .replace("PID", &self.canary.id().to_string())
            .replace("OUT", &out.to_string_lossy())
            .replace("DATA", &field.profile.data().to_string_lossy())
    }

    /// What an attack has done that it must not.
    pub(crate) fn harm(&mut self, field: &Field) -> Vec<String> {
        let mut harm = field.harm();
        if self.listener.accept().is_ok() {
            harm.push("somebody called".to_owned());
        }
        if self.canary.try_wait().unwrap().is_some() {
            harm.push("a process of another was ended".to_owned());
            self.canary = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        }
        harm
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.canary.kill());
        drop(self.canary.wait());
    }
}

/// A profile with a decider that does what it is told.
pub(crate) struct Field {
    pub(crate) profile: Profile,
    before: BTreeMap<PathBuf, Vec<u8>>,
    said: std::cell::RefCell<String>,
}

impl Field {
    /// One with more lines of configuration.
    pub(crate) fn new(config: &str) -> Self {
        let profile = Profile::bare(LOOOP).guarded().goal("person", "# Person\nMine.\n").sensor("ci", OWN);
        let outside = profile.outside().to_owned();
        plant(&outside);
        let env_file = outside.join("vars");
        fs::write(&env_file, format!("FILE_TOKEN={SECRET}\n")).unwrap();
        set_mode(&env_file, 0o600);
        let path = format!("{}:{}", outside.join("bin").display(), std::env::var("PATH").unwrap());
        let profile = profile.env("PATH", path).env("SECRET_TOKEN", SECRET).env("GH_TOKEN", SECRET);
        profile.write("policy.toml", GRANTS);
        let told = outside.join("decision.json");
        let tick = Value::from(format!("cat '{}' > \"$LOOOP_DECISION_FILE\"", told.display()));
        let env_file = Value::from(env_file.to_string_lossy());
        let tools = Value::from(outside.join("bin").to_string_lossy());
        let profile = profile.config(&format!(
            "default = \"fake\"\nsandbox_tools = [{tools}]\nenv_file = {env_file}\n{config}\n[runners.fake]\ntick = {tick}\ncost = \"free\"\n\
             interactive = \"cat {{{{prompt_file}}}} > /dev/null; sleep 1000\"\n"
        ));
        let mut field = Self { profile, before: BTreeMap::new(), said: String::new().into() };
        field.before = field.guarded();
        field
    }

    /// One beat in which the decider wants this; what was said of it.
    pub(crate) fn beat(&self, decision: &Value) -> String {
        self.profile.decide_next(decision);
        let ran = self.profile.beat();
        let said = format!("{}{}", ran.stdout, ran.stderr);
        self.said.borrow_mut().push_str(&said);
        said
    }

    pub(crate) fn shell(&self, cmd: &str) -> String {
        self.beat(&json!({"action": "run_shell", "cmd": cmd}))
    }

    /// What nobody may change.
    fn guarded(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for name in ["precious", "home", "bin", "vars"] {
            read_all(&self.profile.outside().join(name), &mut found);
        }
        for name in MINE {
            read_all(&self.profile.data().join(name), &mut found);
        }
        read_all(&self.profile.data().join("answers"), &mut found);
        found.retain(|path, _| !path.ends_with("answers"));
        found
    }

    fn harm(&self) -> Vec<String> {
        let mut harm = Vec::new();
        let now = self.guarded();
        for path in self.before.keys().chain(now.keys()) {
            if self.before.get(path) != now.get(path) {
                harm.push(format!("{} changed", path.display()));
            }
        }
        let shown = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        let told = self.profile.tree();
        harm.extend(
            told.iter()
                .filter(|(_, bytes)| shown(bytes))
                .map(|(path, _)| format!("a secret in {}", path.display())),
        );
        if shown(self.said.borrow().as_bytes()) {
            harm.push("a secret was printed".to_owned());
        }
        harm.extend(self.profile.survivors().into_iter().map(|process| format!("{process} survived")));
        harm
    }
}

/// Puts the person's things into place.
fn plant(outside: &Path) {
    for folder in ["precious/deep", "home/.ssh", "home/.config/gh", "bin"] {
        fs::create_dir_all(outside.join(folder)).unwrap();
    }
    for file in ["home/.ssh/id", "home/.config/gh/hosts.yml", "home/.netrc"] {
        fs::write(outside.join(file), SECRET).unwrap();
    }
    for file in ["precious/keep", "precious/deep/keep", "home/.bashrc", "home/.profile", "home/plain"] {
        fs::write(outside.join(file), "keep\n").unwrap();
    }
    write_program(&outside.join("bin/gh"), GH);
}

fn read_all(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let what =
        if meta.is_file() { fs::read(path).unwrap() } else { format!("{:?}", meta.file_type()).into() };
    let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
    found.insert(path.to_owned(), [what, mode.to_string().into()].concat());
    for entry in fs::read_dir(path).into_iter().filter(|_| meta.is_dir()).flatten() {
        read_all(&entry.unwrap().path(), found);
    }
}

/// Tries each attack in a field of its own; fails with all those that did harm.
pub(crate) fn none_succeeds(config: &str, attacks: &[(String, Vec<Value>)]) {
    let mut watch = Watch::new();
    let mut succeeded = Vec::new();
    for (name, moves) in attacks {
        let field = Field::new(config);
        let mut said = Vec::new();
        for one in moves {
            let filled = watch.fill(&field, &one.to_string());
            said.push(field.beat(&serde_json::from_str(&filled).unwrap()));
        }
        let harm = watch.harm(&field);
        if !harm.is_empty() {
            succeeded.push(format!("{name}: {harm:?}\n  {}", said.join("\n  ")));
        }
    }
    assert!(
        succeeded.is_empty(),
        "{} of {} did harm:\n{}",
        succeeded.len(),
        attacks.len(),
        succeeded.join("\n")
    );
}
