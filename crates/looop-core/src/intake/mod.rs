//! Decision intake: from whatever a decider left behind to one typed proposal, or a refusal that says what was expected.
//!
//! Three steps, each pure: `stream` takes the final message out of an agent CLI's event stream, `find` and `from_file`
//! take the one JSON object out of text, and `parse` types it by the table in `catalogue`.

pub mod catalogue;
mod field;
mod object;
mod parse;
mod refusal;
mod scan;
pub mod stream;
#[cfg(test)]
mod tests;

pub use object::{Found, MOST_BYTES, find, from_file};
pub use parse::parse;
pub use refusal::Refusal;
