//! Tests of the policy: the built-in lists as tables, a person's rules, grants, and the rule behind `always`.

mod always;
mod given;
mod grants;
mod lists;
mod own;
mod scene;
mod valid;
