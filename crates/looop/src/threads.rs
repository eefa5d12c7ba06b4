//! Starting threads. The kernel may refuse one (a limit on tasks, no memory): that is an error, never a panic.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::failure::{Failure, Result};

/// Starts a thread. If it is refused, `work` is dropped and was not begun.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = refused(name).and_then(|()| Builder::new().name(name.to_owned()).spawn(work));
    started.map(drop).map_err(|error| Failure::new(format!("cannot start a thread: {error}")))
}

/// Starts a thread that ends with `scope`.
pub(crate) fn scoped<'scope, T: Send + 'scope>(
    name: &str,
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    refused(name).and_then(|()| Builder::new().name(name.to_owned()).spawn_scoped(scope, work))
}

/// Fails where `LOOOP_NO_THREAD` says so: `move` for the first thread of that name, `move:3` for the third, `move:3+`
/// for the third and all later ones. A build without debug assertions never fails here.
fn refused(name: &str) -> io::Result<()> {
    #[cfg(debug_assertions)]
    return fault::refused(name);
    #[cfg(not(debug_assertions))]
    {
        let _ = name;
        Ok(())
    }
}

#[cfg(debug_assertions)]
mod fault {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{Mutex, PoisonError};

    static STARTS: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

    pub(super) fn refused(name: &str) -> io::Result<()> {
        let Ok(wanted) = std::env::var("LOOOP_NO_THREAD") else { return Ok(()) };
        let mut starts = STARTS.lock().unwrap_or_else(PoisonError::into_inner);
        let count = starts.entry(name.to_owned()).or_default();
        *count += 1;
        if matches(&wanted, name, *count) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }

    /// Whether the n-th thread of a name is the one that is meant.
    pub(super) fn matches(wanted: &str, name: &str, nth: u32) -> bool {
        let Some(rest) = wanted.strip_prefix(name) else { return false };
        let Some(count) = (if rest.is_empty() { Some("1") } else { rest.strip_prefix(':') }) else {
            return false;
        };
        let (count, later) = count.strip_suffix('+').map_or((count, false), |count| (count, true));
        count.parse().is_ok_and(|count: u32| nth == count || later && nth > count)
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::fault::matches;

    #[test]
    fn a_fault_names_a_thread_and_its_turn() {
        let table = [
            ("move", "move", 1, true),
            ("move", "move", 2, false),
            ("move:2", "move", 2, true),
            ("move:2", "move", 3, false),
            ("move:2+", "move", 1, false),
            ("move:2+", "move", 9, true),
            ("mover", "move", 1, false),
            ("sense", "move", 1, false),
            ("move:x", "move", 1, false),
        ];
        for (wanted, name, nth, expected) in table {
            assert_eq!(matches(wanted, name, nth), expected, "{wanted} {name} {nth}");
        }
    }
}
