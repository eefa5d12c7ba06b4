//! The log: the truth of the loop, in files `log/<number of the first append>.jsonl`.
//!
//! The first line of a file is a snapshot of the whole ledger, `{"c":"…","v":1,"seq":N,"snapshot":{…}}`; every
//! further line is one append, `{"c":"…","seq":…,"at":…,"entries":[…]}`. `c` is the first eight hex digits of the
//! BLAKE3 hash of all that follows its comma, up to the line's end. Only the newest file is read to open a profile;
//! its snapshot equals the fold of the files before it.

mod error;
mod file;
mod fold;
mod frame;
mod history;
mod open;
mod size;
mod tail;
mod writer;

pub use error::{AppendError, LogError};
pub use open::Repair;
pub use size::LogSize;
pub use tail::LogTail;
pub use writer::{LOG_FILE_SIZE, LOG_FILES_KEPT, Log};
