//! The nouns: ids and names, goals, moves, plans, outcomes, letters.

pub mod digest;
pub mod goal;
pub mod letter;
pub mod moves;
pub mod name;
pub mod outcome;
pub mod plan;
