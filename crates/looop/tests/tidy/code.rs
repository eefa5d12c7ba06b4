//! Checks of the code: who imports whom, sizes, and what must not be there.

use std::collections::BTreeSet;
use std::fs;

use super::source::{
    CRATES, Source, blanked, body_end, files, functions, has_extension, none, read, root, same, set, sources,
    used_paths, without_attributes, words,
};

/// Lines of code of a file, tests not counted.
const FILE_LINES: usize = 450;
/// Lines of code of a test file.
const TEST_FILE_LINES: usize = 600;
/// Lines of a function.
const FUNCTION_LINES: usize = 80;
/// Lines of a function of the engine and the driver.
const STEP_LINES: usize = 60;

/// Which other rooms of `crates/looop` each room may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("cli", &["clock", "config", "failure", "ops"]),
    ("clock", &[]),
    ("config", &[]),
    ("failure", &[]),
    ("egress", &["threads"]),
    ("hands", &["clock", "config", "egress", "failure", "threads"]),
    ("ops", &["clock", "config", "failure", "hands", "pulse", "setup", "threads"]),
    ("pulse", &["clock", "config", "failure", "hands", "setup", "threads"]),
    ("setup", &["config"]),
    ("threads", &["failure"]),
];

/// What goes beyond that, each for a reason that ARCHITECTURE.md gives: where, and what exactly.
const DOORS: &[(&str, &str)] = &[
    ("cli/hidden.rs", "egress"),
    ("cli/hidden.rs", "hands::decider"),
    ("cli/hidden.rs", "hands::notify"),
    ("cli/hidden.rs", "hands::sandbox"),
    ("cli/hidden.rs", "hands::stages"),
    ("cli/hidden.rs", "hands::works"),
    ("ops/", "cli::warn"),
    ("hands/", "pulse::Message"),
    ("hands/", "pulse::Poster"),
    ("hands/", "pulse::post"),
];

/// `mod.rs` files with a function, and which.
const GLUE: &[(&str, &str)] = &[("crates/looop/src/cli/mod.rs", "warn")];

/// The test programs. Each is compiled and linked on its own, so a new test is a module of one that is there.
const PROGRAMS: &[&str] = &[
    "looop-session/tests/session/main.rs",
    "looop-sim/tests/faults.rs",
    "looop-sim/tests/judgments.rs",
    "looop-sim/tests/money.rs",
    "looop-sim/tests/storms.rs",
    "looop-store/tests/store/main.rs",
    "looop/tests/it/main.rs",
    "looop/tests/real/main.rs",
    "looop/tests/tidy.rs",
];

// Who imports whom.

fn our_dependencies(manifest: &toml::Table, section: &str) -> BTreeSet<String> {
    let table = manifest.get(section).and_then(toml::Value::as_table);
    set(table.into_iter().flat_map(toml::Table::keys).filter(|name| name.starts_with("looop")).cloned())
}

#[test]
fn crates_use_only_what_is_below_them() {
    let mut findings = Vec::new();
    for (name, always, in_tests) in CRATES {
        let manifest: toml::Table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
        for (section, allowed) in [("dependencies", always), ("dev-dependencies", in_tests)] {
            let beyond = our_dependencies(&manifest, section);
            let beyond = beyond.iter().filter(|used| !allowed.contains(&used.as_str()));
            findings.extend(beyond.map(|used| format!("{name}: [{section}] {used}")));
        }
        assert!(!manifest.contains_key("build-dependencies"), "{name} has build dependencies");
    }
    none(&findings, "crates that use what they must not");
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let there = set(folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    same(&there, &set(CRATES.iter().map(|(name, ..)| *name)), "crates, and those with a rule");
}

#[test]
fn rooms_use_only_what_they_may() {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for source in sources() {
        let Some(inner) = source.path.strip_prefix("crates/looop/src/") else { continue };
        let room = inner.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            findings.push(format!("{}: the room {room} has no rule", source.path));
            continue;
        };
        for path in used_paths(&source.code) {
            let target = path.split("::").next().unwrap();
            let door = DOORS.iter().any(|(place, what)| inner.starts_with(place) && path.starts_with(what));
            if target != room && !allowed.contains(&target) && !door {
                findings.push(format!("{inner} uses crate::{path}"));
            }
        }
        let is_face = room == "cli" && inner != "cli/hidden.rs";
        if is_face && words(&source.code).any(|word| matches!(word, "looop_store" | "looop_session")) {
            findings.push(format!("{inner}: a face uses looop_store or looop_session"));
        }
        if source.lasting.contains("super::super") {
            findings.push(format!("{inner} uses super::super, which hides a room"));
        }
        seen.insert(room);
    }
    none(&findings, "rooms that use what they must not");
    same(&seen, &set(ROOMS.iter().map(|(name, _)| *name)), "rooms, and those with a rule");
}

#[test]
fn every_file_is_part_of_its_crate() {
    let mut findings = Vec::new();
    for path in files().iter().filter(|path| path.starts_with("crates/") && has_extension(path, "rs")) {
        let (folder, file) = path.rsplit_once('/').unwrap();
        let is_root = matches!(file, "lib.rs" | "main.rs" | "mod.rs" | "build.rs");
        if is_root || folder.ends_with("/tests") && !folder.contains("/src/") || folder.ends_with("/examples")
        {
            continue;
        }
        let parents = ["lib.rs", "main.rs", "mod.rs"].map(|name| format!("{folder}/{name}"));
        let beside = format!("{folder}.rs");
        let declares = |parent: &String| {
            let text = fs::read_to_string(root().join(parent)).unwrap_or_default();
            blanked(&text).contains(&format!("mod {};", file.trim_end_matches(".rs")))
        };
        if !parents.iter().chain([&beside]).any(declares) {
            findings.push(path.clone());
        }
    }
    none(&findings, "files that no `mod` line names");
}

#[test]
fn no_test_program_is_added_by_accident() {
    let is_program = |path: &&str| {
        let Some((_, inner)) = path.split_once("/tests/").filter(|(krate, _)| !krate.contains('/')) else {
            return false;
        };
        has_extension(inner, "rs") && (!inner.contains('/') || inner.ends_with("/main.rs"))
    };
    let files = files();
    let found = files.iter().filter_map(|path| path.strip_prefix("crates/")).filter(is_program);
    same(&set(found), &set(PROGRAMS.iter().copied()), "test programs, and those that are listed here");
}

// Sizes.

fn code_lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn files_and_functions_are_small() {
    let mut findings = Vec::new();
    for source in sources() {
        let (lines, most) = if source.is_test() {
            (code_lines(&source.code), TEST_FILE_LINES)
        } else {
            (code_lines(&source.lasting), FILE_LINES)
        };
        if lines > most {
            findings.push(format!("{}: {lines} lines, at most {most}", source.path));
        }
        let strict = source.path.contains("/engine/") || source.path.ends_with("pulse/driver.rs");
        let most = if strict { STEP_LINES } else { FUNCTION_LINES };
        let long = functions(&source.lasting).into_iter().filter(|(_, lines)| *lines > most);
        findings.extend(long.map(|(name, lines)| format!("{}: fn {name} has {lines} lines", source.path)));
    }
    none(&findings, "too long");
}

#[test]
fn module_roots_hold_docs_and_module_lines_only() {
    let mut findings = Vec::new();
    for source in sources() {
        if source.is_test() || !["/lib.rs", "/mod.rs"].iter().any(|end| source.path.ends_with(end)) {
            continue;
        }
        let mut code = without_attributes(&source.lasting);
        for (_, name) in GLUE.iter().filter(|(path, _)| *path == source.path) {
            let at = code.find(&format!("fn {name}(")).unwrap_or_else(|| panic!("no glue {name} any more"));
            let from = code[..at].rfind([';', '}']).map_or(0, |end| end + 1);
            let end = body_end(&code, at + code[at..].find('{').unwrap());
            code.replace_range(from..=end, "");
        }
        for statement in code.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let bare = words(statement).find(|word| !matches!(*word, "pub" | "crate" | "super"));
            if !matches!(bare, Some("mod" | "use")) || statement.contains("fn ") {
                findings.push(format!("{}: {}", source.path, statement.lines().next().unwrap_or("")));
            }
        }
    }
    none(&findings, "more than docs, mod and use lines");
}

// Words that must not be there.

#[test]
fn nothing_is_switched_off_or_left_open() {
    let banned = ["#[allow(", "#![allow(", "#[ignore", "todo!(", "unimplemented!(", "dbg!("];
    let mut findings = Vec::new();
    for source in sources() {
        let hits = banned.iter().filter(|word| source.code.contains(**word));
        findings.extend(hits.map(|word| format!("{}: {word}", source.path)));
        if source.test_code().contains("thread::sleep") || is_helper_that_sleeps(&source) {
            findings.push(format!("{}: a test that sleeps", source.path));
        }
        if source.code.contains("unsafe {") && source.path != "crates/looop-session/src/sys.rs" {
            findings.push(format!("{}: unsafe", source.path));
        }
    }
    none(&findings, "must not be there");
}

/// Where standard output or errors are written besides `cli/print.rs`, which escapes what others wrote: a terminal that
/// is driven, a spinner of our own words, warnings that are escaped there, and questions about the terminal alone.
const WRITERS: &[&str] = &[
    "cli/ask.rs",
    "cli/events.rs",
    "cli/foreground.rs",
    "cli/hidden.rs",
    "cli/print.rs",
    "cli/terminal.rs",
    "cli/up.rs",
    "pulse/effects.rs",
    "pulse/pulse_log.rs",
];
/// The verbs that promise bytes as they are.
const RAW: &[&str] = &["cli/completions.rs", "cli/log.rs", "cli/print.rs", "cli/run.rs", "cli/shot.rs"];

#[test]
fn what_others_wrote_is_printed_in_one_place() {
    let mut findings = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let Some(inner) = source.path.strip_prefix("crates/looop/src/") else { continue };
        let streams = ["stdout()", "stderr()"].iter().any(|stream| source.lasting.contains(stream));
        if streams && !WRITERS.contains(&inner) {
            findings.push(format!("{inner}: a standard stream"));
        }
        if source.lasting.contains("out_bytes") && !RAW.contains(&inner) {
            findings.push(format!("{inner}: bytes as they are"));
        }
    }
    none(&findings, "print through cli/print.rs, which escapes");
}

/// The crate for tests is test code throughout.
fn is_helper_that_sleeps(source: &Source) -> bool {
    source.path.starts_with("crates/looop-sim/") && source.code.contains("thread::sleep")
}

#[test]
fn no_path_of_a_machine_is_in_any_file() {
    // Homes, and wherever this checkout happens to lie.
    let here = format!("{}/", root().display());
    let machine = ["/root/", "/home/", here.as_str()];
    // Made-up homes in tests and in recorded streams.
    let made_up = ["/home/me", "/home/user/"];
    let mut findings = Vec::new();
    for path in files().iter().filter(|path| !path.ends_with("tests/tidy/code.rs")) {
        let bytes = fs::read(root().join(path)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for place in machine {
            let real = |at: &usize| {
                let before = text[..*at].chars().next_back().unwrap_or(' ');
                let starts = !before.is_alphanumeric() && !"_-.~*}".contains(before);
                starts && !made_up.iter().any(|known| text[*at..].starts_with(known))
            };
            if let Some(at) = text.match_indices(place).map(|(at, _)| at).find(real) {
                let line = text[..at].lines().count().max(1);
                findings.push(format!("{path}:{line}: {place}"));
            }
        }
    }
    none(&findings, "paths of a machine");
}

// The loop's thread.

/// What waits for a process, or reads files and folders that may be large: only in a thread of its own.
const BLOCKING: &[&str] = &[
    "act::stands",
    "files::read",
    "host::end",
    "host::kill",
    "host::sweep",
    "host::wait",
    "labour::clear",
    "labour::perform",
    "labour::recover",
    "labour::restrain",
    "labour::sweep_lost",
    "notify::send",
    "reader.asks(",
    "reader.letters",
    "reader.scan(",
    "trial::problem",
    "upkeep::sweep",
    "usages.look",
    "worker::recover",
    "worker::remove",
    "fs::read_dir",
    "fs::remove_dir_all",
    "thread::sleep",
    "Command::new",
];

/// Where the loop's thread blocks all the same: it is ending, and nothing is left to be delayed, or no thread can be
/// started that reads the policy files.
const BLOCKS: &[(&str, &str)] = &[
    ("crates/looop/src/pulse/effects.rs", "host::end"),
    ("crates/looop/src/pulse/effects.rs", "labour::clear"),
    ("crates/looop/src/pulse/reopen.rs", "host::end"),
    ("crates/looop/src/pulse/reopen.rs", "labour::clear"),
    ("crates/looop/src/pulse/scans.rs", "files::read"),
];

/// Where threads are started besides by `threads`: those that are joined at once, and verbs' own.
const STARTERS: &[&str] = &["crates/looop/src/threads.rs", "crates/looop/src/ops/expect.rs"];

/// The code without the arguments of `threads::start`, which run elsewhere.
fn on_the_thread(code: &str) -> String {
    let mut rest = code;
    let mut kept = String::new();
    while let Some(at) = rest.find("threads::start(") {
        let begin = at + "threads::start(".len();
        kept.push_str(&rest[..begin]);
        let mut depth = 1;
        let end = rest[begin..].find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        rest = &rest[begin + end.expect("a closed call")..];
    }
    kept + rest
}

#[test]
fn the_loops_thread_does_not_block() {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources().iter().filter(|source| source.path.starts_with("crates/looop/src/pulse/")) {
        let code = on_the_thread(&source.lasting);
        for call in BLOCKING.iter().filter(|call| code.contains(*call)) {
            if BLOCKS.contains(&(source.path.as_str(), call)) {
                used.insert((source.path.clone(), *call));
            } else {
                findings.push(format!("{}: {call} outside threads::start", source.path));
            }
        }
    }
    none(&findings, "calls that block the loop's thread; hand them to a thread, whose result is a message");
    assert_eq!(used.len(), BLOCKS.len(), "exceptions that nobody needs: {used:?}");
    assert_eq!(on_the_thread("a(); threads::start(b, || c((d)))?; e()"), "a(); threads::start()?; e()");
}

#[test]
fn threads_are_started_where_that_may_fail() {
    let mut findings = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with("crates/looop/src/")) {
        let starts = ["thread::Builder", "Builder::new"].iter().any(|start| source.lasting.contains(start));
        if source.lasting.contains("thread::spawn")
            || starts && source.lasting.contains("thread") && !STARTERS.contains(&source.path.as_str())
        {
            findings.push(source.path.clone());
        }
    }
    none(
        &findings,
        "files that start threads otherwise than by crate::threads, or that panic if one cannot be",
    );
}
