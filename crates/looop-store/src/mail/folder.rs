//! The lock of a letter folder.

use std::io;
use std::time::{Duration, Instant};

use crate::dir::Reader;
use crate::disk::{Held, Locked};

/// How long the holder of the profile tries a folder's lock: the loop has other things to do.
pub(super) const BRIEFLY: Duration = Duration::from_secs(1);
/// How long a verb tries it. Whoever holds it writes one small file, but many may be waiting.
pub(super) const PATIENTLY: Duration = Duration::from_secs(10);
/// The first pause between two tries, and the longest: each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Why a folder's lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum FolderBusy {
    /// Somebody else holds it for too long.
    #[error("{folder} is locked{}", pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
    Held {
        /// Which folder.
        folder: String,
        /// Who, as far as they said.
        pid: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("{folder} cannot be locked")]
    Unusable {
        /// Which folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
}

/// Takes the lock of a letter folder, which is made if it is absent.
pub(super) fn lock(reader: &Reader, folder: &str, patience: Duration) -> Result<Held, FolderBusy> {
    let unusable = |source| FolderBusy::Unusable { folder: folder.to_owned(), source };
    if reader.disk().stat(folder).is_absent() {
        reader.disk().make_dir(folder).map_err(unusable)?;
    }
    let path = format!("{folder}/.lock");
    let since = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match reader.disk().try_lock(&path).map_err(unusable)? {
            Locked::Ours(held) => return Ok(held),
            Locked::Theirs(pid) if since.elapsed() >= patience => {
                return Err(FolderBusy::Held { folder: folder.to_owned(), pid });
            }
            Locked::Theirs(_) => std::thread::sleep(pause),
        }
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
