//! Tests of the policy: the built-in lists as tables, a person's rules, grants, the shipped
//! patterns and every abuse of them that we know, and the rule behind `always`.

mod always;
mod given;
mod grants;
mod lists;
mod own;
mod scene;
mod shipped;
mod valid;
