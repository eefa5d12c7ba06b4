//! Arguments that several verbs share.

use clap::Args;

/// `--json`.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Json {
    /// Print JSON for scripts
    #[arg(long)]
    pub(super) json: bool,
}
