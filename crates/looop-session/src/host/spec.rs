//! What a host is asked to run, and what it says at the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::strays::Stray;
use crate::{Ended, Size, text};

/// The version of the specs we write. Those of version 1, which knows no terminal, are read too.
pub(super) const VERSION: u32 = 2;
/// The version of receipts.
pub(super) const RECEIPT_VERSION: u32 = 1;
/// How much output is kept unless the spec says otherwise.
const OUTPUT_KEEP: u64 = 64 << 10;
/// How much output of a terminal is kept unless the spec says otherwise.
const TERMINAL_KEEP: u64 = 64 << 20;

/// What to run.
///
/// Without a terminal its standard input is empty, and standard output and standard error are one stream.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Spec {
    /// The version of this form: 2.
    pub v: u32,
    /// The program and its arguments.
    #[serde(with = "text::list")]
    pub argv: Vec<OsString>,
    /// Where it runs, as an absolute path.
    #[serde(with = "text::path")]
    pub cwd: PathBuf,
    /// Its complete environment; the host adds its mark. It may hold secrets, so it is handed from process to process
    /// and never stored.
    #[serde(skip)]
    pub env: Vec<(String, String)>,
    /// How long it may run, in milliseconds on the boot-time clock.
    pub deadline_ms: Option<u64>,
    /// How much of the end of its output is kept.
    pub output_keep: u64,
    /// Program names that are left alone once they left the process group they were started in.
    #[serde(default)]
    pub spare: Vec<String>,
    /// The size of its terminal; without one it gets pipes.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// Whether its status is published in the folder `status` beside its own.
    #[serde(default)]
    pub publish: bool,
    /// What whoever started it wants to find again in its status.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// Folders that are its own, beside that of the session: whoever works there may belong to it.
    #[serde(default, with = "text::list")]
    pub own: Vec<OsString>,
}

impl Spec {
    /// A command on pipes, without deadline, that spares nobody; 64 KiB of its output are kept.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf, env: Vec<(String, String)>) -> Self {
        let (deadline_ms, output_keep, spare) = (None, OUTPUT_KEEP, Vec::new());
        let (terminal, publish, notes, own) = (None, false, BTreeMap::new(), Vec::new());
        Self { v: VERSION, argv, cwd, env, deadline_ms, output_keep, spare, terminal, publish, notes, own }
    }

    /// The same in a terminal of this size: 64 MiB of its output are kept, and its status is published.
    #[must_use]
    pub fn in_terminal(self, size: Size) -> Self {
        Self { terminal: Some(size), publish: true, output_keep: TERMINAL_KEEP, ..self }
    }

    /// Whether we know its form.
    pub(super) fn is_known(&self) -> bool {
        (1..=VERSION).contains(&self.v)
    }
}

/// The spec as it lies in the folder.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Stored {
    /// What all descendants of the child carry in their environment.
    pub(super) mark: String,
    #[serde(flatten)]
    pub(super) spec: Spec,
}

/// What a host leaves at the end.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The version of this form: 1.
    pub v: u32,
    /// How the child ended.
    pub ended: Ended,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When all of it had ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// How much it printed in all.
    pub output_bytes: u64,
    /// Processes it started that could not be ended (another user's, or stuck in the kernel); normally empty.
    #[serde(default)]
    pub left: Vec<i32>,
    /// The ids of the last inputs that were typed into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Processes of it that ran outside its tree when it ended by itself; normally empty.
    #[serde(default)]
    pub strays: Vec<Stray>,
}
