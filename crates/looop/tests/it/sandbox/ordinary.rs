//! What developers run every day works in the sandbox, as far as it is installed.

use std::fs;
use std::io::Write;
use std::path::Path;

use looop_core::model::outcome::Outcome;

use super::ground::ground;

/// A program that must be there, and a command that works with it and prints a word.
const COMMANDS: &[(&str, &str)] = &[
    (
        "git",
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git status --short && git log --format=%s",
    ),
    (
        "python3",
        "python3 -c 'import ssl, sqlite3, json, multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
    ),
    (
        "python3",
        "mkdir -p t && echo 'import unittest\nclass A(unittest.TestCase):\n  def test_a(self): pass' > t/test_a.py && python3 -m unittest discover -s t 2>&1",
    ),
    ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'"),
    ("node", "node -e 'console.log(require(\"os\").homedir())'"),
    (
        "npm",
        "mkdir -p p && cd p && echo '{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"echo tested\"}}' > package.json && npm test",
    ),
    ("make", "printf 'all:\\n\\techo made\\n' > Makefile && make -j4"),
    ("gcc", "echo 'int main(void) { return 0; }' > a.c && gcc -O2 a.c -o a && ./a && echo built"),
    (
        "sqlite3",
        "sqlite3 db 'create table t(a); insert into t values(1); update t set a = 2; select a from t'",
    ),
    ("jq", "echo '{\"a\":[1,2]}' | jq '.a | add'"),
    ("awk", "echo a b | awk '{print $2}'"),
    ("sed", "echo a > s && sed -i s/a/b/ s && cat s"),
    ("find", "touch f.txt; find . -name '*.txt' -newermt 2000-01-01 | xargs ls -l"),
    ("tar", "echo x > x && tar czf x.tgz x && tar tzf x.tgz"),
    ("diff", "diff <(echo a) <(echo b) || echo differs"),
    ("bc", "echo 6 \\* 7 | bc"),
    ("perl", "perl -MPOSIX -e 'print strftime(\"%Y\", localtime), \"\\n\"'"),
    ("openssl", "openssl version && echo x | openssl dgst -sha256"),
    (
        "javac",
        "echo 'class A { public static void main(String[] a) { System.out.println(\"java\"); } }' > A.java && javac A.java && java A",
    ),
    ("vim", "echo a > text && vim -es -u NONE -c 's/a/b/' -c 'wq' text; cat text"),
    ("tmux", "export SHELL=/bin/sh; tmux new-session -d 'sleep 1000' && tmux ls"),
    ("strace", "strace -o trace true && tail -1 trace"),
    ("script", "script -qc 'echo typed' /dev/null"),
    (
        "bash",
        "id -un; hostname; date; uptime; df -h . | tail -1; ps ax | wc -l; nproc; locale | head -1; getent hosts localhost; mktemp; echo ~",
    ),
];

fn installed(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| fs::exists(format!("{folder}/{program}")).unwrap())
}

#[test]
fn ordinary_commands_work() {
    let ground = ground("");
    let mut failed = Vec::new();
    for (program, cmd) in COMMANDS.iter().filter(|(program, _)| installed(program)) {
        let (outcome, said) =
            ground.shell(&format!("( set -e; {cmd}\n) > said 2>&1; echo \"exit $?\" >> said; cat said"));
        let over = said.trim_end().strip_suffix("exit 0");
        if !matches!(outcome, Outcome::Done { .. }) || over.is_none_or(|said| said.trim().is_empty()) {
            failed.push(format!("{program}: {cmd}\n  {outcome:?}\n  {said}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// cargo lies in a home as a rule, so it is one of the programs that a person lists.
#[test]
fn cargo_builds_where_it_is_listed() {
    let toolchain = Path::new(env!("CARGO")).ancestors().nth(2).unwrap();
    if fs::read_dir(toolchain).is_err() {
        let reason = b"skipped: this user cannot read the toolchain\n";
        return std::io::stderr().write_all(reason).unwrap();
    }
    let toolchain = toolchain.display();
    let ground = ground(&format!("sandbox_tools = [\"{toolchain}\"]\n"));
    let (outcome, said) = ground.shell(&format!(
        "export PATH='{toolchain}/bin':$PATH; cargo new -q --vcs none app 2>&1 && cd app && \
         cargo build -q --offline 2>&1 && ./target/debug/app"
    ));
    assert!(said.contains("Hello, world!"), "{outcome:?}: {said}");
}
