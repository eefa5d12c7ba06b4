//! Whether an awk program only reads and prints.

use super::call::Call;

const VALUED: &[&str] =
    &["-v", "-F", "-f", "-i", "-l", "-e", "-E", "--assign", "--field-separator", "--file", "--source"];

/// Why an awk program could do more than read and print.
pub(super) fn doubt(call: &Call) -> Option<&'static str> {
    for option in ["-f", "-i", "-l", "-E", "--file", "--include", "--load", "--exec", "-e", "--source", "-D"]
    {
        if call.value(&[option]).is_some() {
            return Some("takes its program from elsewhere");
        }
    }
    let operands = call.operands(VALUED);
    let (_, program) = operands.first()?;
    match program.literal() {
        None => Some("runs a program that is only known then"),
        Some(program) => program_doubt(&program),
    }
}

fn program_doubt(program: &str) -> Option<&'static str> {
    if program.contains("/inet") {
        return Some("opens a network connection");
    }
    let code = without_texts(program);
    if code.contains("system") || code.contains('@') || code.replace("||", "").contains('|') {
        return Some("runs another program");
    }
    code.split([';', '{', '}', '\n']).any(prints_to_file).then_some("writes a file")
}

/// Whether a statement prints into a file. A comparison inside parentheses is none.
fn prints_to_file(statement: &str) -> bool {
    let Some(at) = statement.find("print") else { return false };
    let mut depth = 0_i32;
    for char in statement[at..].chars() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            '>' if depth <= 0 => return true,
            _ => {}
        }
    }
    false
}

/// The program without its strings, regular expressions and comments.
fn without_texts(program: &str) -> String {
    let mut out = String::new();
    let mut chars = program.chars();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        let regex = char == '/' && "(,~!{;&|}\n =".contains(before) && !is_value(&out);
        if char == '"' || regex {
            skip_to(&mut chars, char);
            out.push('"');
            before = '"';
        } else if char == '#' {
            skip_to(&mut chars, '\n');
            out.push('\n');
            before = '\n';
        } else {
            out.push(char);
            before = char;
        }
    }
    out
}

/// Whether what stands before a `/` is a value, so that the `/` divides.
fn is_value(before: &str) -> bool {
    before.trim_end().ends_with(|char: char| char.is_ascii_alphanumeric() || "_)]$\"".contains(char))
}

fn skip_to(chars: &mut std::str::Chars<'_>, end: char) {
    while let Some(char) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if char == end {
            return;
        }
    }
}
