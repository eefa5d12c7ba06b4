//! The docs and the binary name the same things.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use looop::config::{CHILD_VARIABLES, KEYS};

use super::source::{
    CRATES, blanked, body_end, files, has_extension, none, read, root, same, set, snake, ticked,
    without_attributes, words,
};

/// Lines of ARCHITECTURE.md.
const MAP_LINES: usize = 150;

fn looop(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_looop")).args(args).env_clear().output().unwrap();
    assert!(output.status.success(), "looop {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The rows below a table's header, cell by cell.
fn table(path: &str, header: &str) -> Vec<Vec<String>> {
    let text = read(path);
    let rows =
        text.lines().skip_while(|line| *line != header).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let row = row.replace("\\|", "¦");
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "{path} has no table {header}");
    rows
}

/// Verbs and their aliases, as help lists them.
fn listed_verbs(help: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let mut found = BTreeSet::new();
    for row in rows {
        found.extend(row.split_whitespace().next().map(str::to_owned));
        if let Some((_, alias)) = row.split_once("[alias: ") {
            found.insert(alias.trim_end_matches(']').to_owned());
        }
    }
    found
}

#[test]
fn readme_lists_the_verbs_of_the_binary() {
    let mut documented = BTreeSet::new();
    let mut findings = Vec::new();
    for row in table("README.md", "| verb | what it does |") {
        for call in ticked(&row[0]) {
            let verb = call.split_whitespace().next().unwrap().to_owned();
            let subs = listed_verbs(&looop(&["help", &verb]));
            let rest = call.trim_start_matches(&verb).trim();
            let named = set(words(rest).filter(|word| word.chars().all(char::is_lowercase)));
            findings.extend(subs.difference(&named).map(|sub| format!("{verb} {sub} is not in README.md")));
            if rest.contains(" / ") {
                let unknown = named.difference(&subs);
                findings.extend(unknown.map(|sub| format!("there is no {verb} {sub}")));
            }
            documented.insert(verb);
        }
    }
    none(&findings, "verbs below a verb");
    same(&listed_verbs(&looop(&["help"])), &documented, "verbs of the binary, and of README.md");
}

#[test]
fn config_md_is_the_table_of_keys() {
    let shown = |text: &str| if text.is_empty() { "—".to_owned() } else { format!("`{text}`") };
    let row = |key: &str, default: &str, env: &str| format!("`{key}` {} {}", shown(default), shown(env));
    let keys = set(KEYS.iter().map(|doc| row(doc.key, doc.default, doc.env.unwrap_or(""))));
    let rows = table("docs/CONFIG.md", "| key | default | variable | meaning |");
    same(&keys, &set(rows.iter().map(|row| row[..3].join(" "))), "keys, and rows of CONFIG.md");
    for (doc, row) in KEYS.iter().zip(&rows) {
        assert!(row[3].starts_with(&doc.what.replace('|', "¦")), "{}: {} / {}", doc.key, doc.what, row[3]);
    }
    let help = looop(&["help", "config"]);
    let first = help.lines().skip(1).filter(|line| !line.starts_with(' '));
    let first = set(first.filter_map(|line| line.split_whitespace().next()));
    same(&first, &set(KEYS.iter().map(|doc| doc.key)), "keys of `looop help config`, and all keys");
}

#[test]
fn docs_name_the_variables_that_exist() {
    let known = set(KEYS.iter().filter_map(|doc| doc.env).chain(CHILD_VARIABLES.iter().copied()));
    let mut named = BTreeSet::new();
    for path in files()
        .iter()
        .filter(|path| has_extension(path, "md") && !path.contains('/') || path.starts_with("docs/"))
    {
        let text = read(path);
        let variables = words(&text).filter(|word| word.starts_with("LOOOP_") && word.len() > "LOOOP_".len());
        // Those of older versions are named where the docs say that they are not read.
        named.extend(variables.filter(|name| !name.starts_with("LOOOP_RUNNER_")).map(str::to_owned));
    }
    same(&known, &named, "variables of the binary, and of the docs");
}

#[test]
fn protocol_md_lists_the_events() {
    let rows = table("docs/PROTOCOL.md", "| event | fields | when |");
    let documented = set(rows.iter().flat_map(|row| ticked(&row[0])));
    same(&set(looop_core::view::events::EVENT_NAMES), &documented, "events, and those of PROTOCOL.md");
}

/// Names and fields of the entries, from the source.
fn entries() -> BTreeMap<String, BTreeSet<String>> {
    let code = blanked(&read("crates/looop-core/src/ledger/entry.rs"));
    let open = code.find("pub enum Entry {").unwrap() + "pub enum Entry ".len();
    let body = without_attributes(&code[open + 1..body_end(&code, open)]);
    let mut found = BTreeMap::new();
    let mut rest = body.as_str();
    while let Some(end) = rest.find(['{', ',']) {
        let name = rest[..end].trim();
        let fields = if rest.as_bytes()[end] == b'{' { &rest[end + 1..body_end(rest, end)] } else { "" };
        let fields = fields.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
        if !name.is_empty() {
            found.insert(snake(name), fields.collect());
        }
        rest = &rest[if rest.as_bytes()[end] == b'{' { body_end(rest, end) + 1 } else { end + 1 }..];
    }
    found
}

#[test]
fn state_md_describes_every_entry() {
    let rows = table("docs/STATE.md", "| kind | fields | meaning |");
    let documented: BTreeMap<String, BTreeSet<String>> =
        rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), set(words(&row[1])))).collect();
    assert!(entries().len() > 15, "{:?}", entries());
    assert_eq!(entries(), documented, "entries and their fields, and those of STATE.md");
}

#[test]
fn state_md_describes_every_file_that_a_beat_makes() {
    let rows = table("docs/STATE.md", "| path | writer | form | bound |");
    let documented = set(rows.iter().flat_map(|row| ticked(&row[0])));
    let folders = set(looop_store::dir::FOLDERS.iter().map(|folder| format!("{folder}/")));
    let described = set(documented.iter().filter(|path| path.ends_with('/')).cloned());
    same(&folders, &described, "folders of the layout, and those of STATE.md");

    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("profile");
    let beat = Command::new(env!("CARGO_BIN_EXE_looop"))
        .args(["beat", "--data-dir"])
        .arg(&data)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(beat.status.success(), "{}", String::from_utf8_lossy(&beat.stderr));
    let names = |folder: &Path| {
        let entry = |entry: fs::DirEntry| {
            let end = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
            format!("{}{end}", entry.file_name().into_string().unwrap())
        };
        set(fs::read_dir(folder).unwrap().map(|found| entry(found.unwrap())))
    };
    let undocumented: Vec<String> = names(&data).difference(&documented).cloned().collect();
    none(&undocumented, "in a profile, and not in STATE.md");
    let rows = table("docs/STATE.md", "| file | writer | what |");
    let known = set(rows.iter().flat_map(|row| ticked(&row[0])));
    let session = names(&data.join("sessions/move~1"));
    none(&session.difference(&known).cloned().collect::<Vec<_>>(), "in a session, and not in STATE.md");
}

/// The modules of a crate's root.
fn rooms(krate: &str) -> BTreeSet<String> {
    let code = blanked(&read(&format!("crates/{krate}/src/lib.rs")));
    set(code.split(';').filter_map(|statement| Some(statement.split_once("mod ")?.1.trim().to_owned())))
}

#[test]
fn architecture_md_is_a_map_of_the_house() {
    let text = read("ARCHITECTURE.md");
    let lines = text.lines().count();
    assert!(lines <= MAP_LINES, "{lines} lines, at most {MAP_LINES}");
    let (_, map) = text.split_once("## Code map").expect("a code map");
    let (map, _) = map.split_once("\n## ").expect("a section after the map");
    let mut findings = Vec::new();
    for (krate, ..) in CRATES {
        let Some((_, part)) = map.split_once(&format!("**`crates/{krate}`**")) else {
            findings.push(format!("{krate} is not on the map"));
            continue;
        };
        let part = part.split("\n**`crates/").next().unwrap();
        let named = set(ticked(part));
        let rooms = rooms(krate);
        findings.extend(rooms.difference(&named).map(|room| format!("{krate}: no room {room}")));
        // What is explained as `name`: is a room.
        let explained = part.split('`').collect::<Vec<_>>();
        let explained = explained.windows(2).skip(1).step_by(2).filter(|pair| pair[1].starts_with(':'));
        let gone = explained.filter(|pair| !rooms.contains(pair[0]));
        findings.extend(gone.map(|pair| format!("{krate}: there is no room {}", pair[0])));
    }
    none(&findings, "ARCHITECTURE.md and the crates");
}

#[test]
fn links_between_the_docs_lead_somewhere() {
    let mut findings = Vec::new();
    let mut links = 0;
    for path in files().iter().filter(|path| has_extension(path, "md") && !path.contains("/src/")) {
        let text = read(path);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)) {
            let file = target.split('#').next().unwrap();
            if file.is_empty() || file.starts_with("https://") {
                continue;
            }
            links += 1;
            if !root().join(folder).join(file).exists() {
                findings.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(links > 10, "only {links} links were found");
    none(&findings, "links that lead nowhere");
}
