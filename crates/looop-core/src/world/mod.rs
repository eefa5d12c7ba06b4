//! The world as a beat saw it, the baseline it is compared with, and the changes between the two.

pub mod baseline;
pub mod condition;
pub mod fleet;
pub mod header;
pub mod observation;
pub mod probe;
pub mod reading;
