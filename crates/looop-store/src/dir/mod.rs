//! The profile: one data directory, opened for reading.

mod guard;
mod layout;
mod reader;

pub use guard::Unsafe;
pub(crate) use guard::judge;
pub use layout::{FOLDERS, Seed};
pub use reader::{OpenError, Reader};
pub(crate) use reader::{STATE_LIMIT, TEXT_LIMIT};
