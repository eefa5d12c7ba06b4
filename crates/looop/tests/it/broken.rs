//! Every file and folder of a profile, broken in every way: the binary ends, names it, loses nothing else, never takes
//! it for absent, and goes on once it is mended.

#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test that fails says where")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, Ran, set_mode};
use looop_sim::waiting::HANGS;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Truncated,
    Empty,
    Garbage,
    Binary,
    Huge,
    Fifo,
    Folder,
    File,
    Loop,
    Outside,
    Unreadable,
}

const FILE_BREAKS: [Break; 10] = [
    Break::Truncated,
    Break::Empty,
    Break::Garbage,
    Break::Binary,
    Break::Huge,
    Break::Fifo,
    Break::Folder,
    Break::Loop,
    Break::Outside,
    Break::Unreadable,
];

const FOLDER_BREAKS: [Break; 5] = [Break::File, Break::Fifo, Break::Loop, Break::Outside, Break::Unreadable];

/// What is broken, and put aside meanwhile.
struct Broken {
    path: PathBuf,
    aside: PathBuf,
}

impl Broken {
    fn new(profile: &Profile, file: &str, how: Break) -> Self {
        let path = profile.data().join(file);
        let aside = profile.outside().join("aside");
        let bytes = fs::read(&path).unwrap_or_default();
        fs::rename(&path, &aside).unwrap();
        let private = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let mode = fs::metadata(&aside).unwrap().permissions();
            fs::set_permissions(&path, mode).unwrap();
        };
        match how {
            Break::Truncated => private(&bytes[..bytes.len() / 2]),
            Break::Empty | Break::File => private(b""),
            Break::Garbage => private(b"}{ not what it was, and no text of ours at all\n]["),
            Break::Binary => private(&[b"\xff\xfe\x00\x80".repeat(64), bytes].concat()),
            Break::Huge => {
                private(&bytes);
                // A file of the log may be larger than any other, and a run that is too large is removed whole.
                let size = match file.split('/').next() {
                    Some("log") => 200 << 20,
                    Some("runs") => 40 << 20,
                    _ => 100 << 20,
                };
                fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
            }
            Break::Fifo => make_fifo(&path),
            Break::Folder => {
                fs::create_dir(&path).unwrap();
                set_mode(&path, 0o700);
            }
            Break::Loop => symlink(path.file_name().unwrap(), &path).unwrap(),
            Break::Outside => symlink(&aside, &path).unwrap(),
            Break::Unreadable => {
                fs::rename(&aside, &path).unwrap();
                set_mode(&path, 0);
            }
        }
        Self { path, aside }
    }

    fn mend(self) {
        if !self.aside.exists() {
            set_mode(&self.path, 0o700);
            return;
        }
        if self.path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            fs::remove_dir_all(&self.path).unwrap();
        } else if self.path.symlink_metadata().is_ok() {
            fs::remove_file(&self.path).unwrap();
        }
        fs::rename(&self.aside, &self.path).unwrap();
    }
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A profile in which everything has happened once, and in which each beat decides.
fn lived_in() -> Profile {
    let profile = Profile::bare(env!("CARGO_BIN_EXE_looop"))
        .goal("prose", "All is well.")
        .sensor("world", "echo '{\"signal\":1}'")
        .sensor("other", "echo '{\"signal\":2}'")
        .decider(&json!({"action": "ask_human", "prompt": "Well?"}));
    profile.run(&["schedule", "write", "weekly", "--every", "7d"]).ok();
    profile.run(&["playbook", "write", "# PLAYBOOK\nBe very careful."]).ok();
    profile.beat().ok();
    profile.decide_next(&json!({"action": "ask_human", "prompt": "And this?"}));
    profile.beat().ok();
    let asks = profile.run(&["asks", "--json"]).ok().json();
    fs::write(profile.outside().join("asks"), asks.to_string()).unwrap();
    profile.run(&["answer", asks[0]["id"].as_str().unwrap(), "yes"]).ok();
    profile.decide_next(&json!({"action": "run_shell", "cmd": "echo decided >>moves", "journal": "a move"}));
    profile
}

/// The file that stands for each kind of state in a profile that has been lived in.
fn state_files(profile: &Profile) -> BTreeMap<&'static str, String> {
    let asks: Value = serde_json::from_slice(&fs::read(profile.outside().join("asks")).unwrap()).unwrap();
    let ask = |n: usize| asks[n]["id"].as_str().unwrap().to_owned();
    let first = |folder: &str| {
        let names =
            fs::read_dir(profile.data().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        format!("{folder}/{}", names.min().unwrap().to_str().unwrap())
    };
    BTreeMap::from([
        ("playbook", "PLAYBOOK.md".to_owned()),
        ("goal", "goals/prose.md".to_owned()),
        ("sensor", "sensors/world.sh".to_owned()),
        ("config", "config.toml".to_owned()),
        ("schedule", "schedules/weekly.json".to_owned()),
        ("ask", format!("asks/{}.json", ask(1))),
        ("answer", format!("answers/{}.json", ask(0))),
        ("log", first("log")),
        ("journal", "journal.md".to_owned()),
        ("snapshot", "snapshots/sensor-world.json".to_owned()),
        ("probe", "snapshots/sys-goals.json".to_owned()),
        ("lock", "lock".to_owned()),
        ("gitignore", ".gitignore".to_owned()),
        ("record", "runs/000001/record.json".to_owned()),
        ("prompt", "runs/000001/prompt.md".to_owned()),
        ("history", first("playbook.d")),
    ])
}

/// What a broken thing of a kind means for a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// Nothing is decided, and the file is named.
    Stops,
    /// The beat goes on, and `status` names the file.
    Named,
    /// It can be made again or is not needed.
    Harmless,
}

/// What a break of a kind of file means.
fn means(kind: &str, how: Break) -> Means {
    use Break::{Binary, Empty, Garbage, Huge, Truncated};
    let is_whole = match kind {
        // Any text is a PLAYBOOK or a goal.
        "playbook" | "goal" => matches!(how, Truncated | Empty | Garbage),
        // An empty config says that all is as usual.
        "config" => how == Empty,
        // A program may be as large as it likes.
        "sensor" => how == Huge,
        // Nothing is read from a lock.
        "lock" => matches!(how, Truncated | Empty | Garbage | Binary | Huge),
        _ => false,
    };
    match kind {
        _ if is_whole => Means::Harmless,
        // A log that was cut is the log of an earlier moment: what was cut off is said, and the loop goes on.
        "log" if how == Truncated => Means::Named,
        "playbook" | "log" | "config" | "lock" => Means::Stops,
        "goal" | "schedule" | "ask" | "answer" | "sensor" => Means::Named,
        _ => Means::Harmless,
    }
}

fn call(profile: &Profile, verb: &str) -> Ran {
    profile.run_bounded(&[verb], HANGS).unwrap_or_else(|| panic!("{verb} hangs"))
}

fn decides(profile: &Profile) -> usize {
    profile.entries().iter().filter(|entry| matches!(entry, Entry::DecideStarted { .. })).count()
}

/// All that must not change: everything but the broken path and what a beat writes.
fn others(profile: &Profile, broken: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let moving =
        "log journal.md journal.md.1 snapshots lock sock runs sessions scratch box mail.d asks answers";
    let mut tree = profile.tree();
    tree.retain(|path, _| {
        let below = path.strip_prefix(profile.data()).unwrap();
        !moving.split(' ').any(|name| below.starts_with(name)) && !path.starts_with(broken)
    });
    tree
}

/// The paths whose content is not the same.
fn differing(one: &BTreeMap<PathBuf, Vec<u8>>, two: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let all = one.keys().chain(two.keys()).filter(|path| one.get(*path) != two.get(*path));
    all.map(|path| path.display().to_string()).collect()
}

fn check(kind: &str, how: Break, profile: &Profile, file: &str) {
    let what = format!("{kind} {how:?}");
    let (decided, moved) = (decides(profile), profile.file("box/scratch/moves"));
    let broken = Broken::new(profile, file, how);
    let before = others(profile, &broken.path);
    let name = Path::new(file).file_name().unwrap().to_str().unwrap();
    let means = means(kind, how);

    let status = call(profile, "status");
    let beat = call(profile, "beat");
    let said = [&beat.stdout, &beat.stderr, &status.stdout, &status.stderr].map(String::as_str).concat();
    for ran in [&status, &beat] {
        assert!(ran.code <= 1 && !ran.stderr.contains("panicked"), "{what}: {ran:?}");
    }
    if means == Means::Stops {
        let again = call(profile, "beat");
        for ran in [&beat, &again] {
            assert!(ran.stdout.contains(name) || ran.stderr.contains(name), "{what}: not named: {ran:?}");
        }
        assert_eq!(profile.file("box/scratch/moves"), moved, "{what}: something was decided");
    }
    if means == Means::Named {
        let later = call(profile, "status");
        let shown = format!("{said}{}{}", later.stdout, later.stderr);
        // A sensor is named by its stem; a journal line of earlier days names nothing.
        let name = if kind == "sensor" { "sensor world" } else { name };
        assert!(shown.lines().any(|line| line.contains(name) && !line.starts_with("- ")), "{what}: {shown}");
    }
    assert_eq!(differing(&others(profile, &broken.path), &before), [""; 0], "{what}: something else changed");

    broken.mend();
    let mended = call(profile, "beat");
    assert_eq!(mended.code, 0, "{what}: after it is mended: {mended:?}");
    assert!(decides(profile) > decided, "{what}: it does not go on: {mended:?}");
    assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new(), "{what}");
}

fn sweep(kinds: &[&str]) {
    for kind in kinds {
        let mut profile = lived_in();
        for how in FILE_BREAKS {
            if how == Break::Unreadable && is_root() {
                continue;
            }
            // What a beat uses up, or what is put back as it was before the beat, is broken in a profile of its own.
            if ["log", "ask", "answer"].contains(kind) {
                profile = lived_in();
            }
            let file = state_files(&profile)[kind].clone();
            check(kind, how, &profile, &file);
        }
    }
}

#[test]
fn policy_files() {
    sweep(&["playbook", "goal", "sensor", "config"]);
}

#[test]
fn schedules_and_letters() {
    sweep(&["schedule", "ask", "answer"]);
}

#[test]
fn log_journal_and_lock() {
    sweep(&["log", "journal", "lock"]);
}

#[test]
fn what_can_be_made_again() {
    sweep(&["snapshot", "probe", "gitignore", "record", "prompt", "history"]);
}

#[test]
fn folders() {
    for folder in ["goals", "sensors", "schedules", "asks", "answers", "log"] {
        for how in FOLDER_BREAKS {
            if how == Break::Unreadable && is_root() {
                continue;
            }
            let profile = lived_in();
            let decided = decides(&profile);
            let broken = Broken::new(&profile, folder, how);
            let before = others(&profile, &broken.path);
            let what = format!("{folder}/ {how:?}");
            let (status, beat) = (call(&profile, "status"), call(&profile, "beat"));
            let said =
                [&beat.stdout, &beat.stderr, &status.stdout, &status.stderr].map(String::as_str).concat();
            assert!(said.contains(folder) && !said.contains("panicked"), "{what}: {said}");
            let seeing = ["goals", "sensors", "schedules", "log"].contains(&folder);
            assert!(
                !seeing || profile.file("box/scratch/moves").is_none(),
                "{what}: decided half blind: {said}"
            );
            assert_eq!(
                differing(&others(&profile, &broken.path), &before),
                [""; 0],
                "{what}: something else changed"
            );
            broken.mend();
            call(&profile, "beat").ok();
            assert!(decides(&profile) > decided, "{what}: it does not go on");
            assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new(), "{what}");
        }
    }
}

#[test]
fn a_socket_of_any_kind_is_replaced() {
    for how in [Break::Garbage, Break::Huge, Break::Fifo, Break::Loop, Break::Outside] {
        let profile = lived_in();
        profile.write("sock", "");
        let broken = Broken::new(&profile, "sock", how);
        call(&profile, "status").ok();
        call(&profile, "beat").ok();
        assert!(broken.aside.exists(), "{how:?}: what a link led to is left alone");
        assert!(profile.file("box/scratch/moves").is_some(), "{how:?}");
    }
    let profile = lived_in();
    profile.write("sock/inside", "a person's");
    call(&profile, "beat").fails(1, "sock");
    assert_eq!(profile.file("sock/inside").as_deref(), Some("a person's"), "a folder is never removed");
}

/// A decide goes on while nobody holds the lock; its record is broken before it is adopted.
#[test]
fn the_record_of_an_adopted_decide() {
    for how in [
        Break::Truncated,
        Break::Empty,
        Break::Garbage,
        Break::Binary,
        Break::Huge,
        Break::Fifo,
        Break::Folder,
    ] {
        let profile = Profile::bare(env!("CARGO_BIN_EXE_looop")).goal("prose", "All is well.");
        make_fifo(&profile.data().join("begun"));
        make_fifo(&profile.data().join("go"));
        let tick = "cd \"$LOOOP_DATA_DIR\"; echo x >begun; read -r x <go; \
                    echo '{\"action\":\"run_shell\",\"cmd\":\"echo x >>moves\"}' >\"$LOOOP_DECISION_FILE\"";
        let profile = profile.decider_command(tick);
        let mut beat = profile.start(&["beat"]);
        fs::read(profile.data().join("begun")).unwrap();
        beat.kill().unwrap();
        beat.wait().unwrap();
        fs::write(profile.data().join("go"), "x\n").unwrap();
        wait_for_host(&profile);
        let _broken = Broken::new(&profile, "runs/000001/record.json", how);
        let ran = call(&profile, "beat");
        let failed = profile.entries().into_iter().find_map(|entry| match entry {
            Entry::Failed { reason, .. } => Some(reason),
            _ => None,
        });
        let failed = failed.unwrap_or_else(|| panic!("{how:?}: {ran:?}"));
        assert!(failed.contains("runs/000001/record.json"), "{how:?}: {failed}");
        assert_eq!(profile.file("box/scratch/moves"), None, "{how:?}");
        assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new());
    }
}

/// Blocks until the only session's host is gone: it holds its lock as long as it lives.
fn wait_for_host(profile: &Profile) {
    let session = fs::read_dir(profile.data().join("sessions")).unwrap().map(|entry| entry.unwrap().path());
    let folder = session.filter(|path| path.join("lock").exists()).max().unwrap();
    fs::File::open(folder.join("lock")).unwrap().lock_shared().unwrap();
}

#[test]
fn letters_with_odd_names_are_named_and_stop_nobody() {
    let profile = lived_in();
    let names = ["...json", "a\\b.json", "new\nline.json", " .json", "-x.json", "\u{fc}.json"];
    for folder in ["asks", "answers"] {
        for name in names {
            profile.write(&format!("{folder}/{name}"), r#"{"v":1}"#);
        }
    }
    let before = profile.tree();
    call(&profile, "beat").ok();
    assert!(profile.file("box/scratch/moves").is_some(), "the beat goes on");
    let status = call(&profile, "status").ok().stdout;
    for folder in ["asks", "answers"] {
        for name in names {
            let path = profile.data().join(folder).join(name);
            assert_eq!(profile.tree().get(&path), before.get(&path), "{path:?} is left alone");
        }
        // A name that begins with a dot is hidden, as anywhere else.
        let shown =
            status.lines().filter(|line| line.contains(&format!("{folder}/")) && line.contains("name"));
        assert_eq!(shown.count(), names.len() - 1, "{status}");
    }
}

#[test]
fn a_lock_is_a_lock_and_not_what_it_says() {
    use std::os::unix::fs::MetadataExt;
    let profile = lived_in();
    let inode = || fs::metadata(profile.data().join("lock")).unwrap().ino();
    let first = inode();
    // The number of a living process that holds nothing.
    profile.write("lock", format!("{}\n", std::process::id()));
    call(&profile, "beat").ok();
    assert!(call(&profile, "status").ok().stdout.contains("not running; looop up"));
    assert_eq!(inode(), first, "a second file of that name would be a second lock");
}
