//! Removing, moving and overwriting files.

use crate::shell::call::{Call, Verdict};
use crate::shell::paths::{Place, place};
use crate::shell::screening::Danger;

pub(super) const NAMES: &[&str] = &[
    "chgrp", "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "rm", "rmdir", "rsync", "shred",
    "srm", "tar", "tee", "touch", "truncate", "unlink", "unzip", "zip",
];

/// A verdict for something that is fine as long as the command's folder is scratch.
pub(in crate::shell) fn in_scratch(what: String) -> Verdict {
    Verdict { in_scratch: vec![what], ..Verdict::default() }
}

/// Judges a removal by where it happens.
pub(in crate::shell) fn removal(what: &str, place: Place, verdict: &mut Verdict) {
    match place {
        Place::Scratch => verdict.in_scratch.push(what.to_owned()),
        Place::Temporary => {}
        Place::Shared => verdict.shared = true,
        Place::Loose | Place::Unsure => verdict.unknown(format!("{what}, which ones is only known then")),
        Place::Reports | Place::Outside => verdict.destructive(format!("{what} outside scratch")),
    }
}

/// Judges a write by where it happens.
pub(in crate::shell) fn overwriting(what: &str, place: Place, verdict: &mut Verdict) {
    match place {
        Place::Scratch | Place::Reports => verdict.in_scratch.push(what.to_owned()),
        Place::Temporary | Place::Loose => {}
        Place::Shared => verdict.shared = true,
        Place::Unsure => verdict.unknown(format!("{what}, where is only known then")),
        Place::Outside => verdict.destructive(format!("{what} outside scratch")),
    }
}

/// Judges commands that take files.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    match call.name.as_str() {
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "truncate" => removers(call, verdict),
        "mv" => moved(call, verdict),
        "cp" | "ln" | "install" => copied(call, verdict),
        "tee" => each(call, &[], "writes", verdict),
        "mkdir" | "touch" => {
            each(call, &["-m", "--mode", "-d", "--date", "-r", "--reference", "-t"], "makes", verdict);
        }
        "chmod" | "chown" | "chgrp" => modes(call, verdict),
        "dd" => dd(call, verdict),
        "tar" | "bsdtar" | "gtar" => tar(call, verdict),
        "rsync" => rsync(call, verdict),
        "sort" => sort(call, verdict),
        "zip" | "unzip" | "7z" => archives(call, verdict),
        _ => {}
    }
}

fn removers(call: &Call, verdict: &mut Verdict) {
    if call.has_long("--no-preserve-root") {
        verdict.destructive(format!("{} removes everything", call.shown()));
    }
    let what = format!("{} removes files", call.shown());
    for (_, arg) in call.operands(&["-s", "--size", "-n", "--iterations", "-r", "--reference"]) {
        removal(&what, place(arg), verdict);
    }
    // `rm -r /` has its operand where `-r` of another program takes a value.
    if call.name != "truncate" {
        for (_, arg) in call.operands(&[]) {
            removal(&what, place(arg), verdict);
        }
    }
}

fn each(call: &Call, valued: &[&str], does: &str, verdict: &mut Verdict) {
    for (_, arg) in call.operands(valued) {
        overwriting(&format!("{} {} {does}", call.name, arg.shown()), place(arg), verdict);
    }
}

fn moved(call: &Call, verdict: &mut Verdict) {
    each(call, &["-S", "--suffix"], "moves files", verdict);
    if let Some(target) = call.value(&["-t", "--target-directory"]) {
        overwriting(&format!("{} moves files", call.shown()), place(&target), verdict);
    }
}

fn copied(call: &Call, verdict: &mut Verdict) {
    let what = format!("{} writes", call.shown());
    if let Some(target) = call.value(&["-t", "--target-directory"]) {
        return overwriting(&what, place(&target), verdict);
    }
    let operands = call.operands(&["-S", "--suffix", "-m", "-o", "-g", "--mode"]);
    if let Some((_, target)) = operands.last() {
        overwriting(&what, place(target), verdict);
    }
}

fn modes(call: &Call, verdict: &mut Verdict) {
    if call.has_short('R') || call.has_long("--recursive") {
        verdict.destructive(format!("{} changes many files", call.shown()));
    }
    for (_, arg) in call.operands(&[]).into_iter().skip(1) {
        removal(&format!("{} {} changes rights", call.name, arg.shown()), place(arg), verdict);
    }
}

fn dd(call: &Call, verdict: &mut Verdict) {
    for arg in &call.args {
        if arg.known_start().0.starts_with("of=") {
            overwriting(&format!("{} writes", call.shown()), place(&arg.without_start(3)), verdict);
        }
    }
}

fn tar(call: &Call, verdict: &mut Verdict) {
    let runs = [
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
    ];
    let short = call.args.iter().any(|arg| {
        let start = arg.known_start().0;
        start.starts_with("-I")
            || start.starts_with("-F")
            || start.starts_with("--use-c")
            || start.starts_with("--to-c")
            || start.starts_with("--checkpoint-")
    });
    if short || runs.iter().any(|option| call.has_long(option)) {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
    if let Some(folder) = call.value(&["-C", "--directory"]).filter(|_| extracts(call)) {
        overwriting(&format!("{} unpacks files", call.shown()), place(&folder), verdict);
    }
    if call.has_short('P') || call.has_long("--absolute-names") {
        verdict.unknown(format!("{} unpacks to where the archive says", call.shown()));
    }
}

fn extracts(call: &Call) -> bool {
    let bundled = call
        .args
        .first()
        .is_some_and(|arg| !arg.known_start().0.starts_with('-') && arg.known_start().0.contains('x'));
    bundled || call.has_short('x') || call.has_long("--extract") || call.has_long("--get")
}

fn rsync(call: &Call, verdict: &mut Verdict) {
    const VALUED: &[&str] =
        &["-e", "--rsh", "--rsync-path", "--exclude", "--include", "--files-from", "-f", "--filter"];
    if call.value(&["--rsh", "--rsync-path"]).is_some() || call.has_short('e') {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
    let operands = call.operands(VALUED);
    if operands.iter().any(|(_, arg)| arg.known_start().0.contains(':')) {
        verdict.unknown(format!("{} reaches another machine", call.shown()));
    } else if let Some((_, target)) = operands.last() {
        overwriting(&format!("{} writes", call.shown()), place(target), verdict);
    }
    if call.args.iter().any(|arg| arg.known_start().0.starts_with("--del")) {
        let worst = operands.last().map_or(Place::Scratch, |(_, target)| place(target));
        let remote = operands.last().is_some_and(|(_, arg)| arg.known_start().0.contains(':'));
        removal(
            &format!("{} removes files", call.shown()),
            if remote { Place::Outside } else { worst },
            verdict,
        );
    }
}

fn sort(call: &Call, verdict: &mut Verdict) {
    if call.args.iter().any(|arg| arg.known_start().0.starts_with("--co")) {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
    if let Some(target) = call.value(&["-o", "--output"]) {
        overwriting(&format!("{} writes", call.shown()), place(&target), verdict);
    }
}

fn archives(call: &Call, verdict: &mut Verdict) {
    if call.name == "zip" && (call.has_short('T') || call.has_long("--unzip-command")) {
        verdict.unknown(format!("{} runs another program", call.shown()));
    }
    if let Some(folder) = call.value(&["-d"]).filter(|_| call.name == "unzip") {
        overwriting(&format!("{} unpacks files", call.shown()), place(&folder), verdict);
    }
    if call.name == "zip" && call.has_short('m') {
        verdict.add(Danger::Unknown, format!("{} removes what it packs", call.shown()));
    }
}
