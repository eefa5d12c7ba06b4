//! Commands that the shell itself runs, and variables that change what others run.

use super::call::{Call, Verdict};
use super::paths::{Place, place};
use super::rules;
use super::screener::{Lookup, Screener};
use super::screening::Danger;
use super::word::Arg;

const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Variables that make a shell or a program load, run or trust something else.
const TELLING: &[&str] = &[
    "ALL_PROXY",
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "CURL_HOME",
    "EDITOR",
    "ENV",
    "GH_BROWSER",
    "GH_CONFIG_DIR",
    "GH_EDITOR",
    "GH_HOST",
    "GH_PAGER",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GLOBIGNORE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "KUBECONFIG",
    "LESSCLOSE",
    "LESSOPEN",
    "LOOOP_REPORTS_DIR",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS4",
    "PWD",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TAR_OPTIONS",
    "TMPDIR",
    "VISUAL",
    "WGETRC",
    "XDG_CONFIG_HOME",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// Whether a name is a command of the shell itself.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.binary_search(&name).is_ok()
}

/// Looks at a variable that is set.
pub(super) fn variable(screener: &mut Screener, name: &str) {
    let loads = ["LD_", "DYLD_", "GIT_CONFIG", "BASH_FUNC_", "GH_TOKEN", "AWS_ENDPOINT"]
        .iter()
        .any(|start| name.starts_with(start));
    if loads || TELLING.contains(&name) {
        screener.unknown(format!("sets {name}, which changes what programs do"));
    }
}

/// Looks at a command of the shell itself.
pub(super) fn run(screener: &mut Screener, call: &Call) {
    match call.name.as_str() {
        "." | "source" => screener.unknown(format!("{} runs a file that is not shown", call.shown())),
        "eval" => evaluated(screener, call),
        "exec" => screener.call(after_options(call, &["-a"]), Lookup::Program, call.input.clone()),
        "command" => looked_up(screener, call),
        "builtin" => screener.call(after_options(call, &[]), Lookup::NoFunctions, call.input.clone()),
        "trap" => trapped(screener, call),
        "cd" | "pushd" => moved(screener, call),
        "kill" => {
            let mut verdict = Verdict::default();
            rules::judge(call, &mut verdict);
            screener.take(verdict);
        }
        "let" => calculated(screener, call),
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "mapfile" | "readarray"
        | "printf" | "getopts" => {
            assigned(screener, call);
        }
        _ => meddled(screener, call),
    }
}

fn after_options<'a>(call: &'a Call, valued: &[&str]) -> &'a [Arg] {
    call.operands(valued).first().map_or(&[], |(at, _)| &call.args[*at..])
}

fn evaluated(screener: &mut Screener, call: &Call) {
    let dashes = call.args.first().is_some_and(|arg| arg.raw() == "--");
    let words: Option<Vec<String>> = call.args.iter().skip(usize::from(dashes)).map(Arg::literal).collect();
    let Some(words) = words else {
        return screener.unknown(format!("{} runs text that is only known then", call.shown()));
    };
    let outer = std::mem::replace(&mut screener.input, call.input.clone());
    screener.text(&words.join(" "));
    screener.input = outer;
}

fn looked_up(screener: &mut Screener, call: &Call) {
    if !call.has_short('v') && !call.has_short('V')
        || call.operands(&[]).first().is_some_and(|(at, _)| *at == 0)
    {
        screener.call(after_options(call, &[]), Lookup::NoFunctions, call.input.clone());
    }
}

fn trapped(screener: &mut Screener, call: &Call) {
    let operands = call.operands(&[]);
    let [(_, action), _, ..] = operands.as_slice() else { return };
    match action.literal().as_deref() {
        None => screener.unknown(format!("{} runs text that is only known then", call.shown())),
        Some("" | "-") => {}
        Some(text) => screener.text(text),
    }
}

fn moved(screener: &mut Screener, call: &Call) {
    let operands = call.operands(&[]);
    match operands.first() {
        None if call.name == "pushd" => screener.away = screener.away.max(Danger::Unknown),
        None => screener.away = Danger::Destructive,
        Some((_, arg)) => leave_for(screener, arg),
    }
}

/// Notes that what follows runs in another folder.
pub(super) fn leave_for(screener: &mut Screener, folder: &Arg) {
    let away = match place(folder) {
        Place::Scratch if folder.raw() == "-" => Danger::Unknown,
        Place::Scratch | Place::Temporary | Place::Shared => Danger::Plain,
        Place::Loose | Place::Unsure => Danger::Unknown,
        Place::Reports | Place::Outside => Danger::Destructive,
    };
    screener.away = screener.away.max(away);
}

fn calculated(screener: &mut Screener, call: &Call) {
    for arg in &call.args {
        if arg.literal().is_none_or(|text| text.contains(['$', '`', '['])) {
            screener.unknown(format!("{} calculates with text that is only known then", call.shown()));
        }
    }
}

fn assigned(screener: &mut Screener, call: &Call) {
    if matches!(call.name.as_str(), "mapfile" | "readarray") && call.has_short('C') {
        screener.unknown(format!("{} runs a callback", call.shown()));
    }
    if call.name == "printf" {
        if let Some(target) = call
            .value(&["-v"])
            .filter(|_| call.args.first().is_some_and(|arg| arg.known_start().0.starts_with("-v")))
        {
            named(screener, &target);
        }
        return;
    }
    let valued: &[&str] = if call.name == "read" { &["-p", "-t", "-n", "-N", "-d", "-u", "-i"] } else { &[] };
    for (_, arg) in call.operands(valued) {
        named(screener, arg);
    }
}

fn named(screener: &mut Screener, arg: &Arg) {
    let (start, whole) = arg.known_start();
    let name = start.split(['=', '+', '[']).next().unwrap_or_default();
    if !whole && !start.contains('=') && !arg.raw().contains('=') {
        screener.unknown(format!("{} hides which variable it sets", arg.shown()));
    }
    variable(screener, name);
}

/// The rest: most do nothing to others, some change what later commands mean.
fn meddled(screener: &mut Screener, call: &Call) {
    let changes = match call.name.as_str() {
        "alias" => call.args.iter().any(|arg| arg.raw().contains('=')),
        "enable" => !call.args.is_empty(),
        "hash" => call.has_short('p'),
        "complete" | "compgen" => call.has_short('C') || call.has_short('F') || call.has_short('W'),
        "bind" => call.has_short('x') || call.has_short('f'),
        "unset" => call.has_short('f') || call.hides(),
        "shopt" => call
            .args
            .iter()
            .any(|arg| matches!(arg.literal().as_deref(), Some("expand_aliases" | "sourcepath") | None)),
        "fc" => true,
        _ => false,
    };
    if changes {
        screener.unknown(format!("{} changes what later commands mean", call.shown()));
    }
    if call.name == "unset" {
        for (_, arg) in call.operands(&[]) {
            named(screener, arg);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn builtins_are_sorted() {
        assert!(super::BUILTINS.is_sorted());
    }
}
