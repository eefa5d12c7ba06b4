//! Text that could show, or use by itself, what is granted to the programs in it.
//!
//! A grant reaches the whole command, not its program alone. So it is given only to text in which nothing else can look
//! at it: no other command expands a granted variable, lists variables or reads a file that is not the command's own.

use std::collections::BTreeMap;

use super::call::Call;
use super::harmless::is_harmless;
use super::paths::{Place, place};
use super::screener::Screener;
use super::word::{Arg, Part};

/// Programs that need no grant and show nothing of a file's content, whatever they are given.
const BLIND: &[&str] = &[
    "[", "basename", "df", "dirname", "du", "echo", "expr", "factor", "false", "id", "ls", "mkdir", "nproc",
    "printf", "pwd", "readlink", "realpath", "seq", "sleep", "stat", "test", "touch", "tr", "true", "tty",
    "uname", "uptime", "whoami",
];
/// Programs whose first word is no file.
const PATTERNED: &[&str] = &["egrep", "fgrep", "grep", "jq"];

/// The names in a text and how often each is there; whole lines of comment are left out.
pub(super) fn names(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let joined = text.replace("\\\n", "");
    for line in joined.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for name in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if !name.is_empty() {
                *found.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    found
}

/// Looks at a whole text: all names in it, and whether it takes variables by names that it makes up.
pub(super) fn text(screener: &mut Screener, text: &str) {
    if text.replace("\\\n", "").contains("${!") {
        screener.out.peeks = true;
    }
    if screener.depth() == 0 {
        for (name, count) in names(text) {
            *screener.out.names.entry(name).or_default() += count;
        }
    }
}

/// Looks at a program of the text: the names in its words are its own business, and it may read files.
pub(super) fn program(screener: &mut Screener, call: &Call) {
    own(screener, call);
    if !is_harmless(&call.name) || BLIND.contains(&call.name.as_str()) {
        return;
    }
    let patterned = PATTERNED.contains(&call.name.as_str()) && !call.has_short('f');
    let files = plain(call).skip(usize::from(patterned));
    let options = call.args.iter().filter(|arg| arg.known_start().0.starts_with('-'));
    if files.chain(options).any(is_foreign) || call.name == "jq" && is_prying(call) {
        screener.out.peeks = true;
    }
}

/// Looks at a command of the shell itself.
pub(super) fn builtin(screener: &mut Screener, call: &Call) {
    if matches!(call.name.as_str(), ":" | "[" | "test") {
        own(screener, call);
    }
    let lists = match call.name.as_str() {
        "set" => call.args.is_empty() || call.args.iter().any(traces),
        "declare" | "export" | "local" | "readonly" | "typeset" => {
            call.operands(&[]).is_empty() || ['p', 'n', 'x', 'f'].iter().any(|short| call.has_short(*short))
        }
        _ => false,
    };
    screener.out.peeks |= lists;
}

/// Whether an option of `set` has the shell print what it runs.
fn traces(option: &Arg) -> bool {
    option.literal().is_none_or(|option| option.contains(['x', 'v']) && option != "errexit")
}

/// Looks at a file that is opened for a command.
pub(super) fn opened(screener: &mut Screener, arg: &Arg) {
    screener.out.peeks |= is_foreign(arg);
}

fn own(screener: &mut Screener, call: &Call) {
    if screener.depth() != 1 {
        return;
    }
    let given = screener.out.given.entry(call.name.clone()).or_default();
    for (name, count) in call.args.iter().flat_map(|arg| names(arg.raw())) {
        *given.entry(name).or_default() += count;
    }
}

/// Whether a word may be, or hold, the path of a file that the command did not make.
fn is_foreign(arg: &Arg) -> bool {
    let (start, whole) = arg.known_start();
    if start.starts_with('-') && start != "-" {
        return start.contains('/') || !whole;
    }
    match place(arg) {
        Place::Scratch | Place::Temporary | Place::Shared | Place::Reports => false,
        Place::Loose | Place::Unsure | Place::Outside => true,
    }
}

/// The words that are neither options nor the names and values that `jq` is given with `--arg`.
fn plain(call: &Call) -> impl Iterator<Item = &Arg> {
    let mut values = 0;
    call.args.iter().filter(move |arg| {
        let (start, _) = arg.known_start();
        if values > 0 {
            values -= 1;
            return false;
        }
        values = if matches!(start.as_str(), "--arg" | "--argjson") { 2 } else { 0 };
        !start.starts_with('-') || start == "-"
    })
}

/// Whether a filter of `jq` may look at the environment, or is not shown.
fn is_prying(call: &Call) -> bool {
    let named = ["env", "ENV", "import", "include"];
    let filter = plain(call).next();
    let hides = |arg: &Arg| arg.parts().iter().any(|part| !matches!(part, Part::Text(_)));
    call.has_short('f')
        || call.has_short('L')
        || call.has_long("--from-file")
        || filter.is_some_and(hides)
        || call.args.iter().any(|arg| names(arg.raw()).keys().any(|name| named.contains(&name.as_str())))
}
