//! The splitter against bash: a text that it takes for a plain pipeline is read in the same way by bash.
#![expect(clippy::unwrap_used, reason = "a bash that cannot be run fails the test")]

use std::process::{Command, Stdio};

use looop_core::shell::stages;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Each command passes on what it reads and adds its own words, so that the end of a pipeline has all of them in order.
/// No program can be found; bash calls the handler for each.
const READER: &str = r#"
PATH=/nonexistent
enable -n echo [ test true false kill pwd
command_not_found_handle() {
  while IFS= read -r -d '' line; do printf '%s\0' "$line"; done
  printf '<\0'
  printf '%s\0' "$@"
  printf '>\0'
}
while IFS= read -r -d '' text <&3; do
  printf '{\0'
  eval -- "$text" < /dev/null
  printf '}\0'
done
"#;

/// What bash makes of texts: the words of each command, flat, between marks.
fn by_bash(texts: &[String]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts");
    std::fs::write(&file, texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect::<String>()).unwrap();
    let mut bash = Command::new("bash")
        .args([
            "--norc",
            "--noprofile",
            "-c",
            &format!("exec 3< '{}'; cd '{}'\n{READER}", file.display(), folder.path().display()),
        ])
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = bash.stdout.take().unwrap();
    let read = std::io::read_to_string(output).unwrap();
    bash.wait().unwrap();
    let mut found: Vec<Vec<String>> = Vec::new();
    for word in read.split_terminator('\0') {
        match word {
            "{" if found.last().is_none_or(|last| last.last().is_some_and(|end| end == "}")) => {
                found.push(Vec::new());
            }
            word => found.last_mut().into_iter().for_each(|case| case.push(word.to_owned())),
        }
    }
    found
}

/// What the splitter makes of a text, in the same form.
fn by_us(text: &str) -> Option<Vec<String>> {
    let read = stages(text).ok()?;
    let mark = |stage: Vec<String>| [vec!["<".to_owned()], stage, vec![">".to_owned()]].concat();
    Some(read.into_iter().flat_map(mark).chain(["}".to_owned()]).collect())
}

/// Fails with each text that bash reads otherwise. Texts that the splitter refuses are not run at all.
fn agree(texts: Vec<String>) -> usize {
    // A program with a folder is not looked for, and `printf` and what lies in bash itself is run by it.
    let in_bash = |program: &String| program.contains('/') || program == "printf";
    let seen = |text: &String| stages(text).is_ok_and(|read| !read.iter().any(|stage| in_bash(&stage[0])));
    let texts: Vec<String> = texts.into_iter().filter(seen).collect();
    let read = by_bash(&texts);
    let wrong: Vec<String> = texts
        .iter()
        .enumerate()
        .filter(|(at, text)| by_us(text).as_ref() != read.get(*at))
        .map(|(at, text)| format!("{text:?}: we {:?}, bash {:?}", by_us(text), read.get(at)))
        .take(5)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(read.len(), texts.len());
    texts.len()
}

/// Texts as deciders write them, and texts that are close to being plain.
const CORPUS: &[&str] = &[
    "gh pr list --json number,title --limit 5 | jq -r '.[] | .title'",
    "curl -fsS 'https://h.org/api?q=1&r=2' -H \"Accept: application/json\"",
    "kubectl get pods -n prod -o json | jq '.items[] | select(.status.phase != \"Running\")'",
    "grep -rn \"it's\" src | sort -u | head -20",
    "git log --oneline --format='%h %s' -n 5",
    "echo a\\ b \\| \\$x 'c d'e\"f g\"",
    "printf '%s\\n' \"a\\\"b\\\\c\\$d\\`e\"",
    "a 'x\ny' \"p\nq\" | b '' \"\"",
    "if true; then a; fi",
    "A=1 b c",
    "a > b < c 2>&1",
    "a && b || c; d &",
    "a $(b) `c` ${d} $e $'f' $\"g\"",
    "a *.c ?b [c] {d,e} ~f #g",
    "time a | b",
    "a | ! b",
    "a |& b",
    "a <<E\nb\nE",
    "f() { a; }",
    "(a)",
    "[[ a == b ]]",
    "a \\\n b",
    "a\u{a0}b\u{3000}c | größe",
    "a=b c | d e=f",
    "coproc a",
    "a ^b %c @d +e ,f :g _h -i .j /k",
];
/// What is put in, taken out or changed.
const BITS: &[&str] = &[
    " ", "\t", "\n", "|", "||", "&", ";", "'", "\"", "\\", "$", "`", "#", "!", "~", "*", "?", "[", "]", "{",
    "}", "(", ")", "<", ">", "=", "%", "^", "@", "+", ",", ":", "a", "if", "time", "in", "do", "''", "\"\"",
    "\\\n", "\r", "ä", "\u{a0}", "{a,b}", "a=b", "-", "[[", "1>", "!!", "..", "&>",
];

fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..3_u8, select(BITS));
    (select(CORPUS), prop::collection::vec(change, 0..4)).prop_map(|(text, changes)| {
        let mut chars: Vec<String> = text.chars().map(String::from).collect();
        for (at, how, bit) in changes {
            let at = at.index(chars.len() + 1);
            match how {
                0 => chars.insert(at, bit.to_owned()),
                1 if at < chars.len() => drop(chars.remove(at)),
                _ if at < chars.len() => bit.clone_into(&mut chars[at]),
                _ => chars.push(bit.to_owned()),
            }
        }
        chars.concat()
    })
}

fn made() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![4 => select(&["a", "b", " ", "|", "'", "\"", "\\"][..]), 1 => select(BITS)],
        1..14,
    )
    .prop_map(|bits| bits.concat())
}

#[test]
fn bash_reads_a_plain_pipeline_in_the_same_way() {
    let cases = 20 * usize::try_from(ProptestConfig::default().cases).unwrap();
    let mut runner = TestRunner::default();
    let strategy = prop_oneof![mutated(), made()];
    let texts = (0..cases).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let taken = agree(texts);
    assert!(taken * 10 > cases, "only {taken} of {cases} texts were plain");
    agree(CORPUS.iter().map(|text| (*text).to_owned()).collect());
}

/// The test sees it when the two differ.
#[test]
fn a_difference_is_seen() {
    let read = by_bash(&["a *".to_owned(), "a 'b c' | d".to_owned(), "a $HOME x".to_owned()]);
    assert_eq!(read[0], ["<", "a", "texts", ">", "}"]);
    assert_eq!(Some(&read[1]), by_us("a 'b c' | d").as_ref());
    assert_eq!(read[2], ["<", "a", "x", ">", "}"]);
}

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// The variables that a command does not get, a folder, and a script.
type Part = (&'static str, &'static str, &'static str);

/// What a pipeline prints, and its exit code.
fn pipeline(commands: &[Part]) -> (String, Option<i32>) {
    let words =
        commands.iter().flat_map(|(without, folder, script)| ["3", without, folder, "sh", "-c", script]);
    let mut run = Command::new(LOOOP);
    let ran = run.arg("_stages").args(words).env("ONE", "1").env("TWO", "2").output().unwrap();
    (String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap(), ran.status.code())
}

#[test]
fn a_pipeline_needs_no_shell() {
    let (here, tmp) = ("/", "/tmp");
    assert_eq!(
        pipeline(&[("", here, "echo a; echo b"), ("", here, "tac"), ("", here, "tr a c")]),
        ("b\nc\n".into(), Some(0))
    );
    let seen = "cat; echo \"$PWD $ONE$TWO\"";
    let read = pipeline(&[("ONE", here, seen), ("TWO ONE", tmp, seen), ("", here, seen)]);
    assert_eq!(read, ("/ 2\n/tmp \n/ 12\n".into(), Some(0)));
}

#[test]
fn a_pipeline_fails_with_its_last_command_that_failed() {
    let table: [(&[Part], i32); 6] = [
        (&[("", "/", "exit 3"), ("", "/", "true")], 3),
        (&[("", "/", "exit 3"), ("", "/", "exit 4"), ("", "/", "true")], 4),
        (&[("", "/", "true"), ("", "/", "exit 1")], 1),
        // What ended because the next one read no further has not failed.
        (&[("", "/", "yes"), ("", "/", "head -n 1 > /dev/null")], 0),
        (&[("", "/", "kill -9 $$"), ("", "/", "true")], 128 + 9),
        (&[("", "/", "true"), ("", "/nowhere", "true"), ("", "/", "cat")], 127),
    ];
    for (commands, code) in table {
        let (said, ended) = pipeline(commands);
        assert_eq!(ended, Some(code), "{commands:?}: {said}");
    }
    let missing = Command::new(LOOOP)
        .env("PATH", "/usr/bin:/bin")
        .args(["_stages", "1", "", "/", "no-such-program"])
        .output()
        .unwrap();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!((missing.status.code(), said.contains("no-such-program: ")), (Some(127), true), "{said}");
    for words in [&["_stages", "2", "", "/", "x"][..], &["_stages", "x"], &["_stages", "1", "", "/"]] {
        assert_eq!(Command::new(LOOOP).args(words).output().unwrap().status.code(), Some(2), "{words:?}");
    }
}
