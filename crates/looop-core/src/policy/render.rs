//! Rules and grants as text of `policy.toml`.

use std::fmt::Write;

use super::grant::{CommandGrant, Gives, Grant, Net, OnTaint, PathGrant, ProgramGrant};
use super::rule::{Rule, When};

/// A rule as a block that can be appended to `policy.toml`, below a comment. Reading it gives the same rule again.
pub fn rule_text(rule: &Rule, comment: &str) -> String {
    let mut lines = vec![format!("move = {}", text(&rule.action))];
    lines.extend(when_text(&rule.when).map(|when| format!("when = {when}")));
    lines.push(format!("then = {}", text(rule.then.word())));
    lines.extend(rule.message.as_ref().map(|message| format!("message = {}", text(message))));
    block("rule", comment, &lines)
}

/// A grant as such a block.
pub fn grant_text(grant: &Grant, comment: &str) -> String {
    let lines = match grant {
        Grant::Path(PathGrant { path, write, tainted }) => {
            let mut lines = vec![format!("path = {}", text(path)), format!("write = {write}")];
            lines.extend(tainted_text(*tainted));
            lines
        }
        Grant::Command(CommandGrant { command, gives, tainted }) => {
            let mut lines = vec![format!("command = {}", list(command.source()))];
            lines.extend(gives_text(gives));
            lines.extend(tainted_text(*tainted));
            lines
        }
        Grant::Program(ProgramGrant { program, gives }) => {
            let mut lines = vec![format!("program = {}", text(program))];
            lines.extend(gives_text(gives));
            lines
        }
    };
    block("grant", comment, &lines)
}

fn gives_text(gives: &Gives) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, items) in [("env", &gives.env), ("read", &gives.read)] {
        lines.extend((!items.is_empty()).then(|| format!("{key} = {}", list(items))));
    }
    match &gives.net {
        Net::Closed => {}
        Net::Hosts(hosts) => lines.push(format!("net = {}", list(hosts))),
        Net::Open => lines.push("net = \"open\"".to_owned()),
    }
    lines
}

fn tainted_text(tainted: OnTaint) -> Option<String> {
    (tainted == OnTaint::Allow).then(|| "tainted = \"allow\"".to_owned())
}

fn block(table: &str, comment: &str, lines: &[String]) -> String {
    let mut block: Vec<String> = comment.lines().map(|line| format!("# {}", clean(line).trim())).collect();
    block.push(format!("[[{table}]]"));
    block.extend_from_slice(lines);
    format!("\n{}\n", block.join("\n"))
}

fn when_text(when: &When) -> Option<String> {
    let mut keys = Vec::new();
    keys.extend(when.tainted.map(|tainted| format!("tainted = {tainted}")));
    keys.extend(when.plain.map(|plain| format!("plain = {plain}")));
    let lists = [
        ("program", &when.program),
        ("command", &when.command),
        ("goal", &when.goal),
        ("runner", &when.runner),
        ("path", &when.path),
    ];
    for (key, items) in lists {
        keys.extend((!items.is_empty()).then(|| format!("{key} = {}", list(items))));
    }
    (!keys.is_empty()).then(|| format!("{{ {} }}", keys.join(", ")))
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| text(item)).collect::<Vec<_>>().join(", "))
}

/// A basic string. What a terminal or an editor might obey is escaped.
fn text(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // A string takes what is written; it never fails.
            c if hidden(c) => drop(write!(quoted, "\\U{:08X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn clean(line: &str) -> String {
    line.chars().filter(|c| !hidden(*c)).collect()
}

/// Characters that are not seen, or that turn the direction of a line.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
