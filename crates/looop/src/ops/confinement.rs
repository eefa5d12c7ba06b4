//! What the sandbox really enforces here, for `doctor`.

use super::Place;
use super::doctor::{Finding, fine, untried, wrong};
use crate::config::{Config, Sandbox};
use crate::hands::sandbox::{self, Means};

/// The first version of Landlock that refuses TCP, and that which keeps signals and nameless sockets in.
const TCP: u32 = 4;
const SCOPED: u32 = 6;
/// The first that refuses to connect to sockets in the file system.
const SOCKETS: u32 = 9;

/// One line each: by what means, what that holds, and what it does not.
pub(super) fn findings(place: &Place) -> Vec<Finding> {
    // A configuration that does not load is a finding of its own.
    let Ok(loaded) = place.config() else { return Vec::new() };
    match sandbox::means(&loaded.config) {
        Err(why) => vec![wrong("sandbox", why, "correct it, or leave sandbox at \"auto\"")],
        Ok(Means::None) => vec![none(&loaded.config)],
        Ok(means @ (Means::Bwrap(_) | Means::Landlock(_))) => {
            let said = match means {
                Means::Landlock(version) => landlock(version),
                Means::Bwrap(_) | Means::None => bwrap(),
            };
            std::iter::once(tried(place, &loaded.config, &means)).chain(said).collect()
        }
    }
}

/// What a confined command could really do.
fn tried(place: &Place, config: &Config, means: &Means) -> Finding {
    let word = means.word();
    if !place.data.join("scratch").is_dir() {
        return untried("sandbox", format!("{word}: not tried, since the profile has no scratch/ yet"));
    }
    let open = matches!(means, Means::Landlock(version) if *version < TCP);
    let fix = "looop does not confine here as it should; run no decider before it does";
    match sandbox::trial(&place.data, config) {
        Err(error) => wrong("sandbox", format!("{word}: a trial could not be run: {error}"), fix),
        Ok(could) if could.write_profile => {
            wrong("sandbox", format!("{word}: a confined command wrote into the profile"), fix)
        }
        Ok(could) if could.reach_network && !open => {
            wrong("sandbox", format!("{word}: a confined command reached the network"), fix)
        }
        Ok(could) if !could.write_scratch => {
            let fix = "let box/ in the profile be a folder of yours with mode 700";
            wrong("sandbox", format!("{word}: a confined command could not write into box/scratch/"), fix)
        }
        Ok(_) => {
            let net = if open { "" } else { ", and reached no network" };
            fine(
                "sandbox",
                format!("{word}: a trial wrote into box/scratch/ and nowhere else in the profile{net}"),
            )
        }
    }
}

fn none(config: &Config) -> Finding {
    let what = "what deciders write runs with listed variables only, and is not confined";
    if config.sandbox == Sandbox::Off {
        return fine("sandbox", format!("switched off: {what}"));
    }
    let found = sandbox::found();
    let said = |why: Option<&String>| why.cloned().unwrap_or_default();
    let state = format!(
        "none: {what} (bwrap: {}; Landlock: {})",
        said(found.bwrap.as_ref().err()),
        said(found.landlock.as_ref().err())
    );
    wrong("sandbox", state, fix())
}

/// What to do, as far as it can be seen why bubblewrap does not work.
fn fix() -> String {
    let says = |file: &str, value: &str| {
        std::fs::read_to_string(format!("/proc/sys/{file}")).is_ok_and(|text| text.trim() == value)
    };
    if says("kernel/unprivileged_userns_clone", "0") {
        return "sudo sysctl kernel.unprivileged_userns_clone=1".to_owned();
    }
    if says("user/max_user_namespaces", "0") {
        return "sudo sysctl user.max_user_namespaces=10000".to_owned();
    }
    if says("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "give bwrap an AppArmor profile that allows userns, or sudo sysctl \
                kernel.apparmor_restrict_unprivileged_userns=0"
            .to_owned();
    }
    "sudo apt install bubblewrap".to_owned()
}

fn bwrap() -> Vec<Finding> {
    vec![
        untried(
            "sandbox",
            "bwrap: what deciders write is confined, and so are workers configured with sandbox = true",
        ),
        untried(
            "sandbox",
            "read-only: all but box/scratch/, box/reports/ and a private /tmp; a worker's letters and workspace",
        ),
        untried(
            "sandbox",
            "hidden: keys, tokens, browsers and histories in your home, /run, other sessions, sock, processes",
        ),
        untried("sandbox", "network: none but what is granted; a worker's is open"),
        untried("sandbox", "not enforced: how much memory, time on a processor or disk in box/ is used"),
    ]
}

fn landlock(version: u32) -> Vec<Finding> {
    let mut open = vec!["processes are seen", "names in hidden folders are seen", "UDP is open"];
    if version < SOCKETS {
        open.push("sockets in the file system can be connected to");
    }
    if version < TCP {
        open.push("the network is open");
    }
    if version < SCOPED {
        open.push("signals reach your other processes");
    }
    let network = if version < TCP { "network: not enforced" } else { "network: no TCP but what is granted" };
    let why =
        sandbox::found().bwrap.as_ref().err().map_or_else(String::new, |why| format!(" (bwrap: {why})"));
    vec![
        untried(
            "sandbox",
            format!(
                "Landlock {version}: what deciders write is confined, and so are workers configured with sandbox = true{why}"
            ),
        ),
        untried(
            "sandbox",
            "read-only: all but box/scratch/ and box/reports/; a worker's letters and workspace",
        ),
        untried(
            "sandbox",
            "hidden: what is in keys, tokens, browsers and histories of your home, /run, /tmp, other sessions",
        ),
        untried("sandbox", network),
        untried(
            "sandbox",
            format!("not enforced: {}; with bubblewrap it would be ({})", open.join(", "), fix()),
        ),
    ]
}
