//! What a machine can check of the house: who imports whom, sizes, words that must not be there, and that the docs and
//! the binary name the same verbs, keys, events, files and rooms.
#![expect(clippy::unwrap_used, reason = "a project that cannot be read fails the test")]

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/source.rs"]
mod source;
