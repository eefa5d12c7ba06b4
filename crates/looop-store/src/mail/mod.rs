//! Letters: asks and answers, one file each, whole by rename.
//!
//! Answers come from anybody, so they are made under a flock on `answers/.lock`; the first one wins. Settled letters
//! move to `mail.d/` and age out there.

mod folder;
mod forms;
mod letters;
mod post;
mod settle;

pub use folder::FolderBusy;
pub use post::PostError;
pub use settle::{MAIL_KEPT_MS, SettleError};
