//! The handful of calls that looop makes on a file system, as a trait with a real implementation.
//!
//! All paths are relative to the profile's folder and use `/`. Each method is one step that can fail or be cut.

mod call;
mod durable;
mod files;
mod kinds;
mod listings;
mod resolve;
mod stored;

pub use call::{Disk, Held, Links, Locked};
pub use durable::{TEMP_PREFIX, durable_write, has_temps, sweep_temps, write_new};
pub(crate) use durable::{Temp, is_taken, join, parent, quick_write};
pub use files::Files;
pub use kinds::{Content, Kind, Listed, Meta, Tail, our_uid};
pub(crate) use listings::{Listings, sorted};
pub use stored::Stored;
