//! A plain pipeline of a decider's: looop starts its commands itself, each in a box of its own with its own grants.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use looop_core::model::rights::Stage;
use looop_session::{Part, pipeline};

use super::environ;
use super::sandbox::{self, Dressed};
use crate::config::Config;
use crate::failure::{Failure, Result};

/// A pipeline that a decider wrote.
#[derive(Debug)]
pub(crate) struct Pipeline<'a> {
    /// Its commands.
    pub(crate) stages: &'a [Stage],
    /// Where those work that have no grant.
    pub(crate) cwd: &'a Path,
    /// What those may read besides.
    pub(crate) read: Vec<PathBuf>,
    /// What all of them are told besides.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// The goal that it serves; empty where it serves none.
    pub(crate) goal: &'a str,
}

/// The command that runs a pipeline, with the variables that all of its commands get together: [`main`] takes from each
/// what was granted to another.
pub(crate) fn dress(data: &Path, config: &Config, pipeline: Pipeline<'_>) -> Result<Dressed> {
    let Pipeline { stages, cwd, read, env: more, goal } = pipeline;
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut dressed = Vec::new();
    for stage in stages {
        let argv = stage.argv.iter().map(OsString::from).collect();
        // A granted command has a home of its own: what other code of the goal left in theirs could tell it what to do.
        let (read, goal) = if stage.grant.is_some() { (Vec::new(), "") } else { (read.clone(), goal) };
        let command = sandbox::Command { argv, read, env: more, goal };
        let (argv, env) = sandbox::dress(data, config, &stage.granted, command)?;
        let names: Vec<String> = env.iter().map(|(name, _)| name.clone()).collect();
        all.extend(env);
        dressed.push((argv, names));
    }
    let mut words: Vec<OsString> = vec![environ::image().into_os_string(), "_stages".into()];
    for (stage, (argv, names)) in stages.iter().zip(dressed) {
        let without: Vec<&str> =
            all.keys().filter(|name| !names.contains(name)).map(String::as_str).collect();
        let cwd = if stage.grant.is_some() { apart(config)? } else { cwd.to_owned() };
        words.extend([argv.len().to_string().into(), without.join(" ").into(), cwd.into_os_string()]);
        words.extend(argv);
    }
    Ok((words, all.into_iter().collect()))
}

/// Where a granted command works: nothing that others left there can tell it what to do. In a box `/tmp` is its own.
fn apart(config: &Config) -> Result<PathBuf> {
    let means = sandbox::means(config).map_err(Failure::new)?;
    Ok(PathBuf::from(if means == sandbox::Means::None { "/" } else { "/tmp" }))
}

/// The hidden verb: runs a pipeline, of which each command is a number of words, the variables that it does not get, a
/// folder, and the words.
pub(crate) fn main(words: &[OsString], complain: &mut dyn FnMut(&str)) -> u8 {
    let Some(parts) = parts(words) else {
        complain("_stages <count> <variables> <folder> <word>…");
        return 2;
    };
    pipeline(&parts, complain)
}

fn parts(mut words: &[OsString]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    while let [count, without, cwd, rest @ ..] = words {
        let (argv, next) = rest.split_at_checked(count.to_str()?.parse().ok()?)?;
        let without = without.to_str()?.split_whitespace().map(str::to_owned).collect();
        parts.push(Part { argv: argv.to_vec(), cwd: PathBuf::from(cwd), without });
        words = next;
    }
    (words.is_empty() && !parts.is_empty()).then_some(parts)
}
