//! `looop completions <shell>`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::print;

/// Print a completion script for a shell
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::root::command(), "looop", &mut script);
        print::out_bytes(&script);
        ExitCode::SUCCESS
    }
}
