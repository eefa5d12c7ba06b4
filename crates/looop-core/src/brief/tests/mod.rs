//! The brief as a whole: by snapshot, and by a small parser of its structure.

mod forged;
mod room;
mod shown;
mod structure;
mod world;
