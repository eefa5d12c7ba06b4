//! Where a path argument points, seen from a command whose folder is scratch.

use super::word::{Arg, Part};

/// Where a path points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Below the folder that the command runs in.
    Scratch,
    /// A stream such as `/dev/null`.
    Temporary,
    /// Below a temporary folder: the command's own where it is confined, everybody's where it is not.
    Shared,
    /// A file below the folder of reports.
    Reports,
    /// Begins below the folder, ends in something that is only known when it runs.
    Loose,
    /// Only known when it runs.
    Unsure,
    /// Anywhere else.
    Outside,
}

/// Streams that may be written to whatever the command's folder is.
const STREAMS: &[&str] =
    &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full"];
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/"];

/// Where an argument points.
pub(super) fn place(arg: &Arg) -> Place {
    if let Some(below) = in_reports(arg) {
        return match below {
            Place::Scratch => Place::Reports,
            Place::Temporary
            | Place::Shared
            | Place::Reports
            | Place::Loose
            | Place::Unsure
            | Place::Outside => below,
        };
    }
    if climbs(arg) {
        return Place::Outside;
    }
    match arg.parts().first() {
        Some(Part::Home) => Place::Outside,
        Some(Part::Variable(name)) => variable(name),
        Some(Part::Hidden) => Place::Unsure,
        Some(Part::Text(_) | Part::Glob(_)) | None => start(arg),
    }
}

/// What follows the folder of reports, seen from there; `None` where the path does not begin with it.
fn in_reports(arg: &Arg) -> Option<Place> {
    const FOLDER: &str = "../reports/";
    let arg = &arg.without_quotes();
    let rest = match arg.parts() {
        [Part::Text(start) | Part::Glob(start), ..] if start.len() > FOLDER.len() => {
            start.starts_with(FOLDER).then(|| arg.without_start(FOLDER.len()))?
        }
        [Part::Variable(name), Part::Text(rest), ..] if name == "LOOOP_REPORTS_DIR" && rest.len() > 1 => {
            rest.starts_with('/').then(|| arg.without_first().without_start(1))?
        }
        _ => return None,
    };
    let inner = place(&rest);
    Some(if rest.known_start().0.starts_with('/') { Place::Outside } else { inner })
}

fn variable(name: &str) -> Place {
    match name {
        "TMPDIR" => Place::Shared,
        "HOME" | "OLDPWD" => Place::Outside,
        _ => Place::Unsure,
    }
}

fn start(arg: &Arg) -> Place {
    let (start, whole) = arg.known_start();
    if start.is_empty() && !whole {
        return arg.parts().iter().find_map(first_unknown).unwrap_or(Place::Unsure);
    }
    let absolute = start.starts_with('/');
    if (STREAMS.contains(&start.as_str()) || start.starts_with("/dev/fd/")) && whole {
        return Place::Temporary;
    }
    let temporary = TEMPORARY.iter().any(|folder| start.starts_with(folder)) || (start == "/tmp" && whole);
    match (absolute, temporary, whole) {
        (true, false, _) => Place::Outside,
        (true, true, true) => Place::Shared,
        (false, _, true) => Place::Scratch,
        (_, _, false) => Place::Loose,
    }
}

/// An empty quoted start, as in `""$x`, is skipped.
fn first_unknown(part: &Part) -> Option<Place> {
    match part {
        Part::Text(_) | Part::Glob(_) => None,
        Part::Home => Some(Place::Outside),
        Part::Variable(name) => Some(variable(name)),
        Part::Hidden => Some(Place::Unsure),
    }
}

/// Whether a component is `..`, or a glob that matches it.
fn climbs(arg: &Arg) -> bool {
    arg.parts().iter().any(|part| match part {
        Part::Text(text) => text.split('/').any(|component| component == ".."),
        Part::Glob(text) => text.split('/').any(|component| {
            component == ".." || (component.starts_with('.') && component.contains(['*', '?', '[']))
        }),
        Part::Home | Part::Variable(_) | Part::Hidden => false,
    })
}
