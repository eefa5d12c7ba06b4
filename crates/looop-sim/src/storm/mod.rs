//! Storms: the real engine and the real store on a machine that is simulated whole, with its clocks, its children, its
//! disk, a person, and weather. Everything that happens follows from a seed.

pub mod agenda;
pub mod audit;
pub mod bank;
pub mod books;
pub mod clock;
pub mod config;
pub mod decider;
pub mod gauges;
pub mod judge;
pub mod money;
pub mod site;
pub mod tale;
pub mod till;
pub mod weather;

mod accounts;
mod children;
mod effects;
mod inbox;
mod looks;
mod noise;
mod person;
mod pulse;
mod run;
mod spending;
mod texts;
mod turns;
mod workers;
mod yard;

pub use run::Storm;
pub use site::Site;
