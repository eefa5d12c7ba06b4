//! The read model of every face: public events, human lines, and what `status` and `why` show.

pub mod cost;
pub mod events;
pub mod lines;
pub mod news;
pub mod status;

#[cfg(test)]
mod tests;
