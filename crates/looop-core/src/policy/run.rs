//! What a shell text of a decider's gets: which grants apply to it, and which do not and why.

use std::collections::BTreeSet;

use super::grant::{CommandGrant, Gives, Grant, Net, OnTaint, PathGrant};
use crate::model::goal;
use crate::model::moves::one_line;
use crate::model::rights::{Granted, Rights, Stage};
use crate::shell::{NotPlain, script_stages, stages};

/// How much of a command is quoted in a reason, in characters.
const QUOTED: usize = 80;

/// A shell text of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A command that acts.
    Command(&'a str),
    /// A command that only looks: it gets no path to write.
    Check(&'a str),
    /// The script of a sensor, which only looks.
    Sensor(&'a str),
}

impl<'a> Text<'a> {
    /// The text itself.
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Command(text) | Self::Check(text) | Self::Sensor(text) => text,
        }
    }

    fn stages(self) -> Result<Vec<Vec<String>>, NotPlain> {
        match self {
            Self::Command(text) | Self::Check(text) => stages(text),
            Self::Sensor(script) => script_stages(script),
        }
    }
}

/// What one shell text would run, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The text.
    pub text: String,
    /// The programs of its pipeline, or why it is none.
    pub programs: Result<Vec<String>, NotPlain>,
    /// What it gets.
    pub rights: Rights,
    /// Whether it gets something that a person is asked for where the brief showed what strangers wrote.
    pub asks_if_tainted: bool,
}

impl Run {
    /// Whether a command of it gets a command grant.
    pub fn is_granted(&self) -> bool {
        matches!(self.rights, Rights::Staged(_))
    }

    /// Whether its text may run this program: it is one of the pipeline, or the text has its name as a word.
    pub fn may_run(&self, program: &str) -> bool {
        match &self.programs {
            Ok(programs) => programs.iter().any(|own| base(own) == program) || names(&self.text, program),
            Err(_) => names(&self.text, program),
        }
    }
}

/// What a text gets. `tainted`: the brief showed what strangers wrote.
pub fn run(grants: &[Grant], text: Text<'_>, tainted: bool) -> Run {
    let paths = paths(grants, text, tainted);
    let read = text.stages();
    let mut asks_if_tainted = false;
    let mut applied = false;
    let mut stages = Vec::new();
    for (at, argv) in read.iter().flatten().enumerate() {
        let (grant, granted) = match find(grants, argv, at) {
            Ok(None) => (None, paths.clone()),
            Ok(Some(grant)) => {
                (applied, asks_if_tainted) = (true, asks_if_tainted || grant.tainted == OnTaint::Ask);
                (Some(grant.command.to_string()), of_command(&grant.gives))
            }
            Err(why) => {
                let withheld = paths.withheld.iter().cloned().chain([why]).collect();
                (None, Granted { withheld, ..paths.clone() })
            }
        };
        stages.push(Stage { argv: argv.clone(), grant, granted });
    }
    let programs = read.map(|read| read.into_iter().map(|mut argv| argv.swap_remove(0)).collect());
    let rights = if applied {
        Rights::Staged(stages)
    } else {
        let mut withheld: BTreeSet<String> = paths.withheld.iter().cloned().collect();
        withheld.extend(stages.into_iter().flat_map(|stage| stage.granted.withheld));
        if let Err(why) = &programs {
            withheld.extend(not_plain(grants, text.as_str(), why));
        }
        Rights::Confined(Granted { withheld: withheld.into_iter().collect(), ..paths })
    };
    Run { text: text.as_str().to_owned(), programs, rights, asks_if_tainted }
}

/// The grants of a goal that a person wrote: those of its `allow`, and those of the policy.
pub fn with_goal(grants: &[Grant], goal: Option<&str>) -> Vec<Grant> {
    let own = goal.map(|body| goal::parse(body).allow).unwrap_or_default();
    grants.iter().cloned().chain(own).collect()
}

/// The grant of a command, none where its program has none, or why none of them applies.
fn find(grants: &[Grant], argv: &[String], at: usize) -> Result<Option<CommandGrant>, String> {
    let program = argv.first().map_or("", String::as_str);
    let of_program = grants.iter().filter(|grant| grant.program() == Some(program));
    let mut furthest = of_program.clone().next().map(|_| 1);
    for grant in of_program.flat_map(Grant::commands) {
        match grant.command.fits(argv) {
            // What a command reads could be made by anything, and tell it what to do.
            Ok(()) if at > 0 => {
                return Err(format!("{program}: a granted command must be the first of its pipeline"));
            }
            Ok(()) => return Ok(Some(grant)),
            Err(wrong) => furthest = furthest.max(Some(wrong)),
        }
    }
    let Some(wrong) = furthest else { return Ok(None) };
    let shown = one_line(&argv.join(" "), QUOTED);
    Err(match argv.get(wrong) {
        Some(word) => format!("{program}: no grant has \"{}\" in `{shown}`", one_line(word, QUOTED)),
        None => format!("{program}: no grant fits `{shown}`, it has too few words"),
    })
}

/// Which grants are not applied to a text that is no plain pipeline.
fn not_plain(grants: &[Grant], text: &str, why: &NotPlain) -> Vec<String> {
    let mut programs: Vec<&str> = grants.iter().filter_map(Grant::program).collect();
    programs.sort_unstable();
    programs.dedup();
    let named = programs.into_iter().filter(|program| names(text, program));
    named.map(|program| format!("{program}: {why}; only plain words joined by | get grants")).collect()
}

/// Whether a text has a name as a word.
fn names(text: &str, name: &str) -> bool {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'));
    text.split(ends).any(|word| word == name)
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn of_command(gives: &Gives) -> Granted {
    let hosts = if let Net::Hosts(hosts) = &gives.net { hosts.clone() } else { Vec::new() };
    let (env, read) = (gives.env.clone(), gives.read.clone());
    Granted { env, read, net: gives.net != Net::Closed, hosts, ..Granted::default() }
}

/// The paths that every box shows.
fn paths(grants: &[Grant], text: Text<'_>, tainted: bool) -> Granted {
    let mut granted = Granted::default();
    let paths =
        grants.iter().filter_map(|grant| if let Grant::Path(path) = grant { Some(path) } else { None });
    for PathGrant { path, write, tainted: on_taint } in paths {
        let acts = matches!(text, Text::Command(_));
        if !write || !acts {
            granted.read.push(path.clone());
        } else if tainted && *on_taint == OnTaint::Ask {
            granted.read.push(path.clone());
            let why = "can only be read: the brief showed what strangers wrote";
            granted.withheld.push(format!("{path} {why}"));
        } else {
            granted.write.push(path.clone());
        }
    }
    granted
}
