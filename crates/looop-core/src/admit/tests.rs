//! Admission by tables.
