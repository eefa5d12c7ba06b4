//! Programs that run text of another language, and those that run programs by their own commands.

use crate::shell::call::{Call, Verdict};

pub(super) const NAMES: &[&str] = &[
    "R", "Rscript", "bun", "csh", "deno", "dotnet", "elixir", "erl", "expect", "fish", "ghc", "groovy",
    "guile", "irb", "java", "julia", "lua", "luajit", "node", "nodejs", "nu", "perl", "php", "pwsh",
    "python", "racket", "ruby", "scala", "swift", "tclsh", "tcsh", "ts-node", "tsx", "xonsh",
];

/// Interactive programs: each has a way to start others.
const EDITORS: &[&str] = &[
    "ed",
    "emacs",
    "emacsclient",
    "ex",
    "less",
    "man",
    "more",
    "most",
    "nano",
    "nvim",
    "pico",
    "screen",
    "tmux",
    "vi",
    "vim",
    "view",
    "vimdiff",
    "ftp",
    "lftp",
    "dc",
    "bc",
];

/// Programs that fetch a program and run it.
const FETCHERS: &[&str] = &["bunx", "npx", "pipx", "pnpx", "uvx"];

/// Judges what runs text or files that are not shown.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    let name = call.name.as_str();
    let base = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    if asks_version(call) {
        return;
    }
    if NAMES.contains(&base) || NAMES.contains(&name) {
        if !is_json_tool(call) {
            verdict.unknown(format!("{} runs a program in another language", call.shown()));
        }
    } else if matches!(name, "bc" | "dc") {
        // A calculator with `!` in its input only runs a shell in some old versions.
        if call.args.iter().any(|arg| arg.raw().contains('!')) {
            verdict.unknown(format!("{} may start other programs", call.shown()));
        }
    } else if EDITORS.contains(&name) {
        verdict.unknown(format!("{} can start other programs", call.shown()));
    } else if FETCHERS.contains(&name) {
        verdict.unknown(format!("{} fetches a program and runs it", call.shown()));
    }
}

fn asks_version(call: &Call) -> bool {
    matches!(call.args.as_slice(), [arg] if matches!(arg.literal().as_deref(), Some("--version" | "-V" | "-v" | "--help" | "version" | "-version")))
}

fn is_json_tool(call: &Call) -> bool {
    let words: Vec<_> = call.args.iter().take(2).map(crate::shell::word::Arg::literal).collect();
    matches!(words.as_slice(), [Some(option), Some(module)] if option == "-m" && module == "json.tool")
        || matches!(words.as_slice(), [Some(option)] if option == "-mjson.tool")
}
