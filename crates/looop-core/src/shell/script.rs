//! Whole texts: a command line, or an executable file by its first line.

use super::screener::Screener;
use super::screening::{Danger, Finding, Screening};
use super::wrap;

/// Screens what `bash -c` would be given.
pub fn screen(cmd: &str) -> Screening {
    let mut screener = Screener::default();
    screener.text(cmd);
    screener.finish()
}

/// Screens a whole executable file. By its `#!` line a shell script is parsed, and its programs are those that it runs;
/// anything else is the program that reads it, and unknown.
pub fn screen_script(script: &str) -> Screening {
    let first = script.lines().next().unwrap_or_default();
    let Some(line) = first.strip_prefix("#!") else {
        return unknown("", "has no #! line");
    };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let Some((folder_ok, interpreter)) = interpreter(&words) else {
        return unknown("", "names no program in its #! line");
    };
    if !folder_ok || !wrap::is_shell(&interpreter) {
        return unknown(&interpreter, "is read by a program other than a shell");
    }
    let mut screening = screen(script);
    screening.peeks |= words.iter().skip(1).any(|word| word.starts_with('-') && word.contains(['x', 'v']));
    screening
}

/// The program that reads a script, by its base name where its folder is a usual one.
fn interpreter(words: &[&str]) -> Option<(bool, String)> {
    let (path, rest) = words.split_first()?;
    let (folder, base) = path.rsplit_once('/')?;
    let usual = matches!(folder, "/bin" | "/usr/bin" | "/usr/local/bin" | "/opt/homebrew/bin");
    if !usual {
        return Some((false, (*path).to_owned()));
    }
    if base != "env" {
        let plain = rest.iter().all(|word| is_shell_option(word));
        return Some((plain, base.to_owned()));
    }
    let mut rest = rest.iter().copied().skip_while(|word| *word == "-S" || *word == "--split-string");
    let program = rest.next()?;
    let plain = !program.contains(['/', '=', '$', '-', '"', '\'', '\\']) && rest.all(is_shell_option);
    Some((plain, program.to_owned()))
}

/// Options such as `-eu` or `-o pipefail` change nothing about what is run.
fn is_shell_option(word: &str) -> bool {
    word == "pipefail"
        || word == "errexit"
        || word.strip_prefix('-').is_some_and(|flags| flags.chars().all(|flag| "aefmnuvxop-".contains(flag)))
}

fn unknown(interpreter: &str, why: &str) -> Screening {
    let what = if interpreter.is_empty() {
        format!("the script {why}")
    } else {
        format!("the script {why}: {interpreter}")
    };
    Screening {
        programs: (!interpreter.is_empty()).then(|| interpreter.to_owned()).into_iter().collect(),
        findings: vec![Finding { danger: Danger::Unknown, what }],
        ..Screening::default()
    }
}
