//! The policy files, read in one pass: PLAYBOOK, goals, sensors, schedules.

mod cache;
mod goals;
mod scan;
mod schedules;
mod sensors;

pub use cache::DocsCache;
pub use scan::Scan;
pub use schedules::zone;
pub use sensors::Sensor;
