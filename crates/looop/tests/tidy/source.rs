//! Reading the project: its files, its Rust code with everything blanked out that is none, and small comparisons.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may use: always, and in tests.
pub(crate) const CRATES: &[(&str, &[&str], &[&str])] = &[
    ("looop-core", &[], &[]),
    ("looop-session", &[], &[]),
    ("looop-store", &["looop-core"], &["looop-sim"]),
    ("looop", &["looop-core", "looop-session", "looop-store"], &["looop-sim"]),
    ("looop-sim", &["looop-core", "looop-store"], &[]),
];

/// What is not ours to check.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", ".npm-tools"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files of the project, as paths below its root.
pub(crate) fn files() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().unwrap();
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    assert!(found.len() > 200, "only {} files were found", found.len());
    found
}

/// A Rust file, with everything that is no code blanked out.
pub(crate) struct Source {
    pub(crate) path: String,
    /// Code alone: comments and the insides of literals are spaces, line by line as in the file.
    pub(crate) code: String,
    /// The same without what is compiled for tests only.
    pub(crate) lasting: String,
}

impl Source {
    pub(crate) fn of(path: String) -> Self {
        let code = blanked(&read(&path));
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        let lasting = if is_test { String::new() } else { without_tests(&code) };
        Self { path, code, lasting }
    }

    pub(crate) fn is_test(&self) -> bool {
        self.lasting.is_empty()
    }

    /// What is compiled for tests only.
    pub(crate) fn test_code(&self) -> &str {
        if self.is_test() { &self.code } else { &self.code[self.lasting.len().min(self.code.len())..] }
    }
}

pub(crate) fn sources() -> Vec<Source> {
    files().into_iter().filter(|path| has_extension(path, "rs")).map(Source::of).collect()
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Blanks comments and the insides of literals; newlines stay.
pub(crate) fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Where the comment or literal that begins here ends; the same place if none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let within_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => at + block_comment(rest),
        ['"', ..] => at + quoted(rest, '"'),
        ['b', '"', ..] if !within_word => at + 1 + quoted(&rest[1..], '"'),
        ['r', '"' | '#', ..] if !within_word => at + raw(rest, 1),
        ['b', 'r', '"' | '#', ..] if !within_word => at + raw(rest, 2),
        ['\'', '\\', ..] => at + quoted(rest, '\''),
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of a raw literal whose hashes begin at `from`; 0 for a raw identifier.
fn raw(rest: &[char], from: usize) -> usize {
    let hashes = rest[from..].iter().take_while(|c| **c == '#').count();
    if rest.get(from + hashes) != Some(&'"') {
        return 0;
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = from + hashes + 1;
    let end = rest[body..].windows(close.len()).position(|window| window == close.as_slice());
    end.map_or(rest.len(), |end| body + end + close.len())
}

/// The code before the first `#[cfg(… test …)] mod … {`. Tests stand at the end of a file.
fn without_tests(code: &str) -> String {
    let begins = |at: &usize| {
        let attribute = &code[*at..];
        let Some((inside, after)) = attribute.split_once(']') else { return false };
        let for_tests = words(inside).any(|word| word == "test") && !words(inside).any(|word| word == "not");
        let item = after.trim_start();
        for_tests && item.starts_with("mod ") && item.find('{') < item.find(';').or(Some(usize::MAX))
    };
    let end = code.match_indices("#[cfg(").map(|(at, _)| at).find(begins);
    code[..end.unwrap_or(code.len())].to_owned()
}

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Fails with all findings, one a line.
#[track_caller]
pub(crate) fn none(findings: &[String], what: &str) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}

#[track_caller]
pub(crate) fn same(left: &BTreeSet<String>, right: &BTreeSet<String>, what: &str) {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert!(!left.is_empty(), "{what}: nothing was found to compare");
    assert_eq!((only(left, right), only(right, left)), (vec![], vec![]), "{what}");
}

pub(crate) fn set(items: impl IntoIterator<Item = impl Into<String>>) -> BTreeSet<String> {
    items.into_iter().map(Into::into).collect()
}

/// The paths below `crate::` that a file uses, a group taken apart.
pub(crate) fn used_paths(code: &str) -> Vec<String> {
    let starts = code.match_indices("crate::").map(|(at, found)| at + found.len());
    starts.flat_map(|at| expanded(&code[at..])).collect()
}

fn expanded(rest: &str) -> Vec<String> {
    let path_end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
    let (path, group) = rest.split_at(path_end);
    let Some(group) = group.strip_prefix('{') else { return vec![path.to_owned()] };
    let inside = group.split_once('}').map_or(group, |(inside, _)| inside);
    inside
        .split(',')
        .map(|item| format!("{path}{}", item.trim()))
        .filter(|item| !item.ends_with(':'))
        .collect()
}

/// Names and lengths of all functions with a body.
pub(crate) fn functions(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let open = code[at..].find(['{', ';']).map(|open| at + open);
        let Some(open) = open.filter(|open| code.as_bytes()[*open] == b'{' && !name.is_empty()) else {
            continue;
        };
        if before.is_alphanumeric() || before == '_' {
            continue;
        }
        found.push((name, code[at..=body_end(code, open)].lines().count()));
    }
    found
}

pub(crate) fn body_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    code.len() - 1
}

/// Code without its attributes.
pub(crate) fn without_attributes(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find('#') {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once(']').map_or("", |(_, after)| after);
    }
    out + rest
}

/// The texts between backticks.
pub(crate) fn ticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// `DecideStarted` as the log spells it.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[test]
fn the_eyes_of_these_tests_see() {
    let text = "fn a() { // }\n    \"}\\\"\"; r#\"}\"\"#; '}'; b'}'; '\\''; /* } /* } */ */\n}\nfn b<'a>(x: &'a str);\n\
                fn c() -> u8 {\n    0\n}\n#[cfg(not(test))]\nmod m {}\n#[cfg(all(test, unix))]\nmod tests {\n    fn d() {}\n}\n";
    let code = blanked(text);
    let names = |code: &str| functions(code).into_iter().map(|(name, lines)| format!("{name} {lines}"));
    assert_eq!(names(&code).collect::<Vec<_>>(), ["a 3", "c 3", "d 1"]);
    assert_eq!(names(&without_tests(&code)).collect::<Vec<_>>(), ["a 3", "c 3"]);
    assert_eq!(without_tests("#[cfg(test)]\nmod tests;\nfn x() {}"), "#[cfg(test)]\nmod tests;\nfn x() {}");
    assert_eq!(used_paths("use crate::ops::{a, b}; crate::cli::warn(x)"), ["ops::a", "ops::b", "cli::warn"]);
    assert_eq!(used_paths("use crate::{ops, cli::x};"), ["ops", "cli::x"]);
    assert_eq!(ticked("a `b` c `d e`"), ["b", "d e"]);
    assert_eq!(snake("DecideStarted"), "decide_started");
}
