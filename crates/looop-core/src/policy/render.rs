//! Rules and grants as text of `policy.toml`.

use std::fmt::Write;

use super::rule::{Grant, Rule, When};

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
    let mut lines = vec![format!("program = {}", text(&grant.program))];
    for (key, items) in [("env", &grant.env), ("read", &grant.read)] {
        lines.extend((!items.is_empty()).then(|| format!("{key} = {}", list(items))));
    }
    lines.extend(grant.net.then(|| "net = true".to_owned()));
    block("grant", comment, &lines)
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
