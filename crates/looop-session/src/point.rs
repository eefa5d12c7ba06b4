//! Named points at which a test may end the process, as a crash would.

/// Ends the process with SIGKILL if `LOOOP_CRASH_AT` names this point (`name`, or `name:n` for its n-th visit).
/// `trace:` and a path has every visit written into that file instead, a name a line.
///
/// A build without debug assertions has no points.
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    points::visit(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// The variable that names the point.
pub(crate) const VARIABLE: &str = "LOOOP_CRASH_AT";

#[cfg(debug_assertions)]
mod points {
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    static VISITS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn visit(name: &str) {
        let Ok(wanted) = std::env::var(super::VARIABLE) else { return };
        if let Some(file) = wanted.strip_prefix("trace:") {
            return trace(file, name);
        }
        let Some(nth) = nth(&wanted, name) else { return };
        if VISITS.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            crash();
        }
    }

    fn trace(file: &str, name: &str) {
        let opened = std::fs::OpenOptions::new().append(true).open(file);
        let written = opened.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
        debug_assert!(written.is_ok(), "{file}: {written:?}");
    }

    /// Which visit of `name` is wanted, if it is wanted at all.
    pub(super) fn nth(wanted: &str, name: &str) -> Option<u32> {
        match wanted.strip_prefix(name)? {
            "" => Some(1),
            rest => rest.strip_prefix(':')?.parse().ok(),
        }
    }

    fn crash() {
        let me = rustix::process::getpid();
        if rustix::process::kill_process(me, rustix::process::Signal::KILL).is_err() {
            std::process::abort();
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::points::nth;

    #[test]
    fn a_name_may_carry_the_visit() {
        assert_eq!(nth("host.started", "host.started"), Some(1));
        assert_eq!(nth("host.started:3", "host.started"), Some(3));
        assert_eq!(nth("host.started", "host.start"), None);
        assert_eq!(nth("host.started:x", "host.started"), None);
    }
}
