//! The worker's side: verbs that workers call, also as `looop _ <verb>`.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{ask, claim, cost, flag, propose, told};
use crate::failure::Result;
use crate::ops::Place;

#[derive(Subcommand, Debug)]
pub(super) enum Side {
    Ask(ask::Ask),
    Told(told::Told),
    Flag(flag::Flag),
    Unflag(flag::Unflag),
    Claim(claim::Claim),
    Unclaim(claim::Unclaim),
    Propose(propose::Propose),
}

/// The same verbs after an underscore, as older contracts write them.
#[derive(Args, Debug)]
pub(super) struct Underscore {
    #[command(subcommand)]
    verb: Older,
}

#[derive(Subcommand, Debug)]
enum Older {
    #[command(flatten)]
    Side(Side),
    Cost(cost::OlderCost),
}

impl Underscore {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Older::Side(verb) => verb.run(place),
            Older::Cost(verb) => verb.run(place),
        }
    }
}

impl Side {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match self {
            Self::Ask(verb) => verb.run(place),
            Self::Told(verb) => verb.run(place),
            Self::Flag(verb) => verb.run(place),
            Self::Unflag(verb) => verb.run(place),
            Self::Claim(verb) => verb.run(place),
            Self::Unclaim(verb) => verb.run(place),
            Self::Propose(verb) => verb.run(place),
        }
    }
}
