//! `looop help [verb …]` and `looop version`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::config::{KEYS, nearest};
use crate::failure::{Failure, Result};

/// Show help: of a verb, or of `config`
#[derive(Args, Debug)]
pub(super) struct Help {
    /// The verb, with its sub-verb
    verb: Vec<String>,
}

impl Help {
    pub(super) fn run(&self) -> Result<ExitCode> {
        if self.verb == ["config"] {
            let row = |doc: &crate::config::KeyDoc| {
                vec![
                    doc.key.to_owned(),
                    doc.default.to_owned(),
                    doc.env.unwrap_or("").to_owned(),
                    doc.what.to_owned(),
                ]
            };
            let rows: Vec<Vec<String>> = KEYS.iter().map(row).collect();
            print::out(&print::table(&["key", "default", "variable", "meaning"], &rows));
            return Ok(ExitCode::SUCCESS);
        }
        let mut command = super::root::command();
        let mut path = String::from("looop");
        for word in &self.verb {
            let names: Vec<String> =
                command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
            let Some(found) = command.find_subcommand(word) else {
                let failure = Failure::usage(format!("there is no verb \"{path} {word}\""));
                let near = nearest(word, names.iter().map(String::as_str));
                return Err(match near {
                    Some(near) => failure.hint(format!("did you mean {path} {near}?")),
                    None => failure.hint("looop help lists the verbs"),
                });
            };
            path = format!("{path} {}", found.get_name());
            command = found.clone();
        }
        // The help of `looop <verb> --help`, word for word.
        let words = path.split(' ').chain(["--help"]);
        if let Err(help) = super::root::command().try_get_matches_from(words) {
            print::out(help.render().to_string().trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Show the version
#[derive(Args, Debug)]
pub(super) struct Version {
    #[command(flatten)]
    json: Json,
}

impl Version {
    pub(super) fn run(&self) -> Result<ExitCode> {
        if self.json.json {
            print::json(&serde_json::json!({"v": 1, "version": env!("CARGO_PKG_VERSION")}))?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(version())
    }
}

/// Prints the version.
pub(super) fn version() -> ExitCode {
    print::out(&format!("looop {}", env!("CARGO_PKG_VERSION")));
    ExitCode::SUCCESS
}
