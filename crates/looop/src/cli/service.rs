//! `looop service`.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::service::Service as Unit;

/// Let the loop survive logout and reboot, as a service of yours
#[derive(Args, Debug)]
pub(super) struct Service {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Write a systemd user unit for this profile, and say what to run next
    Install {
        /// Replace a unit that looop did not write
        #[arg(long)]
        force: bool,
    },
    /// Remove that unit
    Uninstall,
    /// Print the unit
    Print {
        /// A property list for launchd instead
        #[arg(long)]
        launchd: bool,
    },
}

impl Service {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let unit = Unit::of(place)?;
        match &self.verb {
            // launchd is told by the person, with a file at a place of their choice.
            Verb::Install { .. } | Verb::Print { launchd: false } if cfg!(target_os = "macos") => {
                launchd(&unit);
            }
            Verb::Install { force } => install(place, &unit, *force)?,
            Verb::Uninstall => uninstall(place, &unit)?,
            Verb::Print { launchd: true } => launchd(&unit),
            Verb::Print { launchd: false } => print::out(unit.systemd().trim_end()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn install(place: &Place, unit: &Unit, force: bool) -> Result<()> {
    unit.install(place, force)?;
    let name = &unit.name;
    print::out(&format!("wrote {}", unit.unit.display()));
    print::out("next:");
    print::out("  systemctl --user daemon-reload");
    print::out(&format!("  systemctl --user enable --now {name}.service"));
    print::out("  loginctl enable-linger \"$USER\"    # it goes on after logout, and starts at boot");
    print::out("A service has no login environment: keys and PATH for your commands go into a file that");
    print::out("env_file in config.toml names. A pulse that runs already: looop down --keep-workers first.");
    Ok(())
}

fn uninstall(place: &Place, unit: &Unit) -> Result<()> {
    if unit.uninstall(place)? {
        print::out(&format!("removed {}", unit.unit.display()));
        print::out("next:");
        print::out(&format!("  systemctl --user stop {}.service", unit.name));
        print::out("  systemctl --user daemon-reload");
    } else {
        print::out(&format!("there is no {}", unit.unit.display()));
    }
    Ok(())
}

fn launchd(unit: &Unit) {
    print::out(unit.launchd().trim_end());
    let file = format!("~/Library/LaunchAgents/{}.plist", unit.name);
    print::say(&format!("save it as {file}, then: launchctl load -w {file}"));
}
