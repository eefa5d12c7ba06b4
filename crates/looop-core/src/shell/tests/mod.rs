//! Tables of what is plain, unknown and destructive, and properties over them.

mod destructive;
mod limits;
mod plain;
mod properties;
mod scripts;
mod unknown;
