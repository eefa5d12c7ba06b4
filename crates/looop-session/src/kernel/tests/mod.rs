//! Tests of the machine: tables first, then properties against a slow oracle.

mod deliveries;
mod drive;
mod explained;
mod looks;
mod memory;
mod oracle;
mod paste;
mod properties;
mod scripts;
mod stages;
