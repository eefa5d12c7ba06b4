//! The fold by tables.
