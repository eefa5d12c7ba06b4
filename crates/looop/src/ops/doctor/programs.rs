//! Whether the programs of a command are there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use looop_core::shell::{calls, is_of_the_shell};

use crate::config::script_of;

/// The programs that a command runs, each with whether it is there. A command that cannot be read has none.
pub(super) struct Programs {
    pub(super) there: Vec<String>,
    pub(super) missing: Vec<String>,
}

/// Looks for every program of a command: of each part of a pipeline, of each command after another, and within those
/// that run others.
pub(super) fn programs(command: &str, env: &[(String, String)], cwd: &Path) -> Programs {
    let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
    let mut programs = calls(command);
    programs.retain(|program| !is_of_the_shell(program) && !program.contains("{{"));
    // A script that a shell is told to run is as good as a program, but need not be executable.
    let scripts: Vec<PathBuf> = programs.iter().filter_map(|shell| script_of(shell, command)).collect();
    let absent = |script: &PathBuf| script.is_absolute() && !script.exists();
    programs
        .extend(scripts.iter().filter(|script| absent(script)).map(|script| script.display().to_string()));
    let (there, missing) = programs.into_iter().partition(|program| is_there(program, path, cwd));
    Programs { there, missing }
}

fn is_there(program: &str, path: &str, cwd: &Path) -> bool {
    if program.contains('/') {
        return is_program(&cwd.join(program));
    }
    std::env::split_paths(path).any(|folder| is_program(&cwd.join(folder).join(program)))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_a_command_is_looked_for() {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        let missing = |command: &str| programs(command, &env, Path::new("/")).missing;
        let table: [(&str, &[&str]); 9] = [
            ("cat x | no-such-agent", &["no-such-agent"]),
            ("echo a > b && no-such-agent -p {{prompt_file}}", &["no-such-agent"]),
            ("no-such-1; no-such-2", &["no-such-1", "no-such-2"]),
            ("A=1 env B=2 no-such-agent", &["no-such-agent"]),
            ("bash -c 'cat | no-such-agent'", &["no-such-agent"]),
            ("cat \"$(no-such-agent)\"", &["no-such-agent"]),
            ("/no/such/agent", &["/no/such/agent"]),
            ("cat x | sort && cd y", &[]),
            ("bin/sh -c true", &[]),
        ];
        for (command, expected) in table {
            assert_eq!(missing(command), expected, "{command}");
        }
    }
}
