//! Programs that run what their words say: opened, so that what is run is looked at too.

use super::call::{Call, Input, Verdict};
use super::paths::{Place, place};
use super::screener::{Lookup, Screener};
use super::screening::Danger;
use super::word::Arg;
use super::{awk, builtin, rules, sed};

/// A program that runs the command after its own options.
struct Wrapper {
    names: &'static [&'static str],
    /// Options that take the next word along.
    valued: &'static [&'static str],
    /// Operands before the command.
    skip: usize,
    danger: Danger,
    why: &'static str,
}

const fn wrapper(names: &'static [&'static str], valued: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper { names, valued, skip, danger: Danger::Plain, why: "" }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["nohup", "busybox", "toybox", "catchsegv", "unbuffer"], &[], 0),
    wrapper(&["nice"], &["-n", "--adjustment"], 0),
    wrapper(&["ionice"], &["-c", "-n", "--class", "--classdata"], 0),
    wrapper(&["timeout", "gtimeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper(&["time"], &["-f", "-o", "--format", "--output"], 0),
    wrapper(&["stdbuf"], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper(&["setsid", "caffeinate"], &[], 0),
    wrapper(&["taskset", "chrt"], &[], 1),
    Wrapper {
        names: &["sudo", "doas", "pkexec", "sudoedit"],
        valued: &["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-U", "--user", "--group"],
        skip: 0,
        danger: Danger::Destructive,
        why: "asks for more rights",
    },
    Wrapper {
        names: &["runuser", "su"],
        valued: &["-u", "-g", "-s", "--user", "--shell", "-c", "--command"],
        skip: 0,
        danger: Danger::Destructive,
        why: "asks for more rights",
    },
    Wrapper {
        names: &["unshare", "nsenter", "bwrap", "firejail", "systemd-run", "setpriv", "capsh", "setarch"],
        valued: &["-t", "--target", "-S", "-G", "--bind", "--ro-bind"],
        skip: 0,
        danger: Danger::Unknown,
        why: "changes what a command can see",
    },
    Wrapper {
        names: &["chroot"],
        valued: &[],
        skip: 1,
        danger: Danger::Unknown,
        why: "changes what a command can see",
    },
    Wrapper {
        names: &["strace", "ltrace", "gdb", "lldb", "perf", "valgrind", "rr"],
        valued: &["-o", "-e", "-p", "-s", "-x", "-ex"],
        skip: 0,
        danger: Danger::Unknown,
        why: "looks into another process",
    },
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Whether a program reads the grammar that is parsed here.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Opens a program that runs others.
pub(super) fn open(screener: &mut Screener, call: &Call) {
    if is_shell(&call.name) {
        return shell(screener, call);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&call.name.as_str())) {
        screener.note(wrapper.danger, format!("{} {}", call.shown(), wrapper.why));
        return screener.call(rest(call, wrapper.valued, wrapper.skip), Lookup::Program, call.input.clone());
    }
    match call.name.as_str() {
        "env" => env(screener, call),
        "xargs" => xargs(screener, call),
        "parallel" => {
            screener.unknown(format!("{} makes commands of its input", call.shown()));
            screener.call(
                rest(call, &["-j", "-n", "-N", "-a", "-S", "--colsep"], 0),
                Lookup::Program,
                Input::Nothing,
            );
        }
        "find" | "fd" | "fdfind" => find(screener, call),
        "watch" => joined(screener, rest(call, &["-n", "-d", "--interval"], 0)),
        "script" => valued_text(screener, call, &["-c", "--command"]),
        "flock" => flock(screener, call),
        "ssh" | "mosh" | "autossh" => ssh(screener, call),
        "awk" | "gawk" | "mawk" | "nawk" => said(screener, call, awk::doubt(call)),
        "sed" | "gsed" => sed_call(screener, call),
        _ => {}
    }
}

fn said(screener: &mut Screener, call: &Call, doubt: Option<&str>) {
    if let Some(why) = doubt {
        screener.unknown(format!("{} {why}", call.shown()));
    }
}

/// The words from the command on.
fn rest<'a>(call: &'a Call, valued: &[&str], skip: usize) -> &'a [Arg] {
    call.operands(valued).get(skip).map_or(&[], |(at, _)| &call.args[*at..])
}

fn shell(screener: &mut Screener, call: &Call) {
    const VALUED: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];
    if call.has_long("--rcfile") || call.has_long("--init-file") {
        screener.unknown(format!("{} runs a file that is not shown", call.shown()));
    }
    let operands: Vec<_> =
        call.operands(VALUED).into_iter().filter(|(_, arg)| !arg.known_start().0.starts_with('+')).collect();
    let first = operands.first();
    let before = first.map_or(call.args.len(), |(at, _)| *at);
    let options = Call { args: call.args[..before].to_vec(), ..call.clone() };
    let shows = options.has_long("--version") || options.has_long("--help");
    match first {
        _ if shows => {}
        Some((_, arg)) if options.has_short('c') => text(screener, call, arg),
        Some(_) if options.has_short('n') => {}
        Some((_, arg)) if !options.has_short('s') => {
            screener.unknown(format!("{} {} runs a file that is not shown", call.name, arg.shown()));
        }
        Some(_) | None => piped(screener, call),
    }
}

fn text(screener: &mut Screener, call: &Call, arg: &Arg) {
    let Some(text) = arg.literal() else {
        return screener.unknown(format!("{} runs text that is only known then", call.shown()));
    };
    let outer = std::mem::replace(&mut screener.input, call.input.clone());
    screener.text(&text);
    screener.input = outer;
}

fn piped(screener: &mut Screener, call: &Call) {
    match &call.input {
        Input::Nothing => {}
        Input::Given => screener.unknown(format!("{} runs what is piped into it", call.shown())),
        Input::Text(text) => screener.text(text),
    }
}

fn env(screener: &mut Screener, call: &Call) {
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let (start, _) = arg.known_start();
        match start.as_str() {
            "-u" | "--unset" => at += 1,
            "-C" | "--chdir" => {
                at += 1;
                call.args.iter().skip(at).take(1).for_each(|folder| builtin::leave_for(screener, folder));
            }
            _ if start.starts_with("--chdir=") => {
                builtin::leave_for(screener, &arg.without_start("--chdir=".len()));
            }
            "-S" | "--split-string" => return joined(screener, &call.args[at + 1..]),
            _ if start.starts_with("--split-string=") => {
                let mut words = call.args[at..].to_vec();
                words[0] = arg.without_start("--split-string=".len());
                return joined(screener, &words);
            }
            _ if start.starts_with('-') && !start.starts_with("--") && start.contains('S') => {
                return screener.unknown(format!("{} splits its own words", call.shown()));
            }
            _ if start.starts_with('-') => {}
            _ if start.contains('=') => {
                builtin::variable(screener, start.split('=').next().unwrap_or_default());
            }
            _ => return screener.call(&call.args[at..], Lookup::Program, call.input.clone()),
        }
        at += 1;
    }
}

/// Words that are joined and given to a shell.
fn joined(screener: &mut Screener, words: &[Arg]) {
    let text: Option<Vec<String>> = words.iter().map(Arg::literal).collect();
    match text {
        Some(words) => screener.text(&words.join(" ")),
        None => screener.unknown("words that are only known then become shell text"),
    }
}

fn valued_text(screener: &mut Screener, call: &Call, names: &[&str]) {
    if let Some(value) = call.value(names) {
        joined(screener, &[value]);
    }
}

fn flock(screener: &mut Screener, call: &Call) {
    if call.value(&["-c", "--command"]).is_some() {
        return valued_text(screener, call, &["-c", "--command"]);
    }
    screener.call(rest(call, &["-w", "-E", "--timeout", "--wait"], 1), Lookup::Program, call.input.clone());
}

fn xargs(screener: &mut Screener, call: &Call) {
    const VALUED: &[&str] = &[
        "-a",
        "-d",
        "-E",
        "-I",
        "-J",
        "-L",
        "-n",
        "-P",
        "-R",
        "-s",
        "--arg-file",
        "--delimiter",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--replace",
    ];
    let mut words = rest(call, VALUED, 0).to_vec();
    let own = Call { args: call.args[..call.args.len() - words.len()].to_vec(), ..call.clone() };
    let mark = own.value(&["-I", "-J", "--replace"]).and_then(|arg| arg.literal());
    match mark {
        Some(mark) if !mark.is_empty() => {
            for word in words.iter_mut().filter(|word| word.raw().contains(&mark)) {
                *word = Arg::hidden(word.raw());
            }
        }
        Some(_) => words.iter_mut().for_each(|word| *word = Arg::hidden(word.raw())),
        None if words.is_empty() => {}
        None => words.push(Arg::hidden("…")),
    }
    screener.call(&words, Lookup::Program, Input::Nothing);
}

/// The places that `find` starts from: the worst of them stands for what it finds.
fn starts(call: &Call) -> Place {
    let is_start = |arg: &&Arg| !arg.known_start().0.starts_with(['-', '(', '!']);
    let skipped =
        call.args.iter().skip_while(|arg| matches!(arg.known_start().0.as_str(), "-H" | "-L" | "-P"));
    let places: Vec<Place> = skipped.take_while(is_start).map(place).collect();
    if places.contains(&Place::Outside) || places.contains(&Place::Reports) || call.name != "find" {
        Place::Outside
    } else if places.contains(&Place::Unsure) || places.contains(&Place::Loose) {
        Place::Unsure
    } else {
        Place::Scratch
    }
}

fn find(screener: &mut Screener, call: &Call) {
    let place = starts(call);
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        match arg.known_start().0.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                at += 1 + executed(screener, &call.args[at + 1..], place);
            }
            "-delete" => {
                let mut verdict = Verdict::default();
                rules::removal(&format!("{} removes files", call.shown()), place, &mut verdict);
                screener.take(verdict);
            }
            "-fprint" | "-fprintf" | "-fprint0" | "-fls" => {
                screener.unknown(format!("{} writes a file", call.shown()));
            }
            _ => {}
        }
        at += 1;
    }
}

/// Screens what `find` runs for each file; gives back how many words that takes.
fn executed(screener: &mut Screener, words: &[Arg], place: Place) -> usize {
    let end = words
        .iter()
        .position(|word| matches!(word.literal().as_deref(), Some(";" | "+")))
        .unwrap_or(words.len());
    let found = match place {
        Place::Scratch | Place::Temporary | Place::Shared => Arg::known("found"),
        Place::Reports | Place::Outside => Arg::known("/found"),
        Place::Loose | Place::Unsure => Arg::hidden("{}"),
    };
    let words: Vec<Arg> = words[..end].iter().map(|word| placed(word, &found)).collect();
    screener.call(&words, Lookup::Program, Input::Nothing);
    end
}

fn placed(word: &Arg, found: &Arg) -> Arg {
    match word.literal() {
        Some(text) if text == "{}" => found.clone(),
        Some(text) if text.contains("{}") => Arg::hidden(word.raw()),
        _ => word.clone(),
    }
}

fn ssh(screener: &mut Screener, call: &Call) {
    const VALUED: &[&str] = &[
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R",
        "-S", "-W", "-w",
    ];
    screener.unknown(format!("{} runs on another machine", call.shown()));
    let words = rest(call, VALUED, 1);
    let text: Option<Vec<String>> = words.iter().map(Arg::literal).collect();
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        screener.elsewhere(&text.join(" "));
    }
}

fn sed_call(screener: &mut Screener, call: &Call) {
    said(screener, call, sed::doubt(call));
    if call.has_short('i') || call.has_long("--in-place") {
        let mut verdict = Verdict::default();
        for (_, arg) in
            call.operands(sed::VALUED).into_iter().skip(usize::from(!sed::has_script_option(call)))
        {
            rules::overwriting(&format!("sed -i {} writes", arg.shown()), place(arg), &mut verdict);
        }
        screener.take(verdict);
    }
}
