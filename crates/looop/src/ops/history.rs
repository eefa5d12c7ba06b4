//! What happened: the log, the journal, earlier PLAYBOOKs, output of moves.

use looop_core::ledger::entry::Line;
use looop_session::host;

use super::Place;
use crate::failure::{Failure, Result};
use crate::pulse::open::log_failure;

/// Most output that is shown of a move.
const OUTPUT: u64 = 64 << 10;

/// The last appends, oldest first.
pub(crate) fn recent(place: &Place, most: usize) -> Result<Vec<Line>> {
    place.reader()?.recent(most).map_err(|error| log_failure(&error))
}

/// All appends after a number, oldest first.
pub(crate) fn lines(place: &Place, since: u64, show: &mut dyn FnMut(&Line)) -> Result<()> {
    let mut after = |line: &Line| {
        if line.seq > since {
            show(line);
        }
    };
    place.reader()?.replay_all(&mut after).map_err(|error| log_failure(&error))
}

/// The last journal lines, oldest first.
pub(crate) fn journal(place: &Place, most: usize) -> Result<Vec<String>> {
    let stored = place.reader()?.journal_tail(most);
    Ok(stored.known("journal.md").map_err(Failure::new)?.unwrap_or_default())
}

/// Names of earlier PLAYBOOKs, oldest first.
pub(crate) fn playbooks(place: &Place) -> Result<Vec<String>> {
    place.reader()?.playbook_history().map_err(Failure::new)
}

/// An earlier PLAYBOOK, the newest if none is named.
pub(crate) fn playbook(place: &Place, version: Option<&str>) -> Result<(String, String)> {
    let names = playbooks(place)?;
    let found = match version {
        None => names.last(),
        Some(wanted) => names.iter().find(|name| *name == wanted || name.trim_end_matches(".md") == wanted),
    };
    let name = found.ok_or_else(|| {
        let what = version.map_or_else(
            || "there is no earlier PLAYBOOK".to_owned(),
            |v| format!("there is no earlier PLAYBOOK \"{v}\""),
        );
        Failure::new(what).hint("looop playbook history lists them")
    })?;
    let path = format!("playbook.d/{name}");
    let bytes = place.reader()?.read(&path).known(&path).map_err(Failure::new)?.unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|_| Failure::new(format!("{path} is not UTF-8")))?;
    Ok((name.clone(), text))
}

/// The output that a hosted move left.
pub(crate) fn output(place: &Place, session: &str) -> Result<Vec<u8>> {
    let folder = place.data.join("sessions").join(session);
    host::output_tail(&folder, OUTPUT)
        .map_err(|error| Failure::new(format!("the output of {session} cannot be read: {error}")))
}
