//! The nouns: ids and names, goals, moves, plans, outcomes, letters, money, rights, the work of workers.

pub mod digest;
pub mod goal;
pub mod letter;
pub mod money;
pub mod moves;
pub mod name;
pub mod nearest;
pub mod outcome;
pub mod plan;
pub mod rights;
pub mod work;
