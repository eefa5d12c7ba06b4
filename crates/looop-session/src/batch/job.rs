//! What a batch is asked to run, and what came of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Ended, text};

/// Which part of an output is kept when it is longer than its cap.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The end.
    Tail,
}

/// One of the two outputs of a job.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// One short child.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct Job {
    /// The program and its arguments.
    #[serde(with = "text::list")]
    pub argv: Vec<OsString>,
    /// Where it runs.
    #[serde(with = "text::path")]
    pub cwd: PathBuf,
    /// Its complete environment, or the order's if there is none.
    pub env: Option<Vec<(String, String)>>,
    /// How long it may run; without it, for ever.
    pub timeout: Option<Duration>,
    /// A file that becomes its standard input; without it, that is empty.
    #[serde(with = "text::maybe_path")]
    pub stdin: Option<PathBuf>,
    /// How much of its standard output is kept; without it, all.
    pub stdout_cap: Option<u64>,
    /// How much of its standard error is kept; without it, all.
    pub stderr_cap: Option<u64>,
    /// Which part of both is kept.
    pub keep: Keep,
    /// Whether both of its outputs are also told as they come.
    #[serde(default)]
    pub stream: bool,
    /// Whether nothing that it starts is spared, whatever its name.
    #[serde(default)]
    pub strict: bool,
}

/// A whole pass.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The children, started in this order.
    pub jobs: Vec<Job>,
    /// The complete environment of jobs that have none of their own; ours if there is none here either.
    pub env: Option<Vec<(String, String)>>,
    /// How many may run at once; at least one does.
    pub parallel: usize,
    /// Program names that are left alone once they left the process group they were started in, unless their job is
    /// strict.
    pub spare: Vec<String>,
}

impl Order {
    /// A pass that spares nobody.
    pub fn new(jobs: Vec<Job>, parallel: usize) -> Self {
        Self { jobs, env: None, parallel, spare: Vec::new() }
    }
}

/// What came of one job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output, up to the cap.
    pub stdout: Vec<u8>,
    /// How much it printed in all, as far as it was read.
    pub stdout_total: u64,
    /// Its standard error, up to the cap.
    pub stderr: Vec<u8>,
    /// How much it printed there in all, as far as it was read.
    pub stderr_total: u64,
    /// From start to end.
    pub took: Duration,
}

impl Done {
    /// A job that printed nothing because it never ran.
    pub(super) fn without_run(ended: Ended) -> Self {
        let (stdout, stderr) = (Vec::new(), Vec::new());
        Self { ended, stdout, stdout_total: 0, stderr, stderr_total: 0, took: Duration::ZERO }
    }
}
