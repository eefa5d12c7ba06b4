//! What the sandbox really enforces here, for `doctor`.

use super::Place;
use super::doctor::{Finding, fine, untried, wrong};
use crate::config::{Config, Sandbox};
use crate::hands::sandbox::{self, Means};

/// One line each: by what means, what that holds, and what it does not.
pub(super) fn findings(place: &Place) -> Vec<Finding> {
    // A configuration that does not load is a finding of its own.
    let Ok(loaded) = place.config() else { return Vec::new() };
    match sandbox::means(&loaded.config) {
        Err(why) => vec![wrong("sandbox", why, "correct it, or leave sandbox at \"auto\"")],
        Ok(Means::None) => vec![none(&loaded.config)],
        Ok(Means::Bwrap(_)) => {
            std::iter::once(tried(place, &loaded.config)).chain(held(&loaded.config)).collect()
        }
    }
}

/// What a confined command could really do.
fn tried(place: &Place, config: &Config) -> Finding {
    if !place.data.join("scratch").is_dir() {
        return untried("sandbox", "bwrap: not tried, since the profile has no scratch/ yet");
    }
    let fix = "looop does not confine here as it should; run no decider before it does";
    match sandbox::trial(&place.data, config) {
        Err(error) => wrong("sandbox", format!("bwrap: a trial could not be run: {error}"), fix),
        Ok(could) if could.write_profile => {
            wrong("sandbox", "bwrap: a confined command wrote into the profile", fix)
        }
        Ok(could) if could.reach_network => {
            wrong("sandbox", "bwrap: a confined command reached the network", fix)
        }
        Ok(could) if !could.write_scratch => {
            let fix = "let box/ in the profile be a folder of yours with mode 700";
            wrong("sandbox", "bwrap: a confined command could not write into box/scratch/", fix)
        }
        Ok(_) => fine(
            "sandbox",
            "bwrap: a trial wrote into box/scratch/ and nowhere else in the profile, and reached no network",
        ),
    }
}

fn none(config: &Config) -> Finding {
    let what = "nothing confines what deciders write, so that looop asks you before it runs";
    if config.sandbox == Sandbox::Off {
        return fine("sandbox", format!("switched off: {what}"));
    }
    let why = sandbox::found().as_ref().err().cloned().unwrap_or_default();
    wrong("sandbox", format!("none: {what} (bwrap: {why})"), fix())
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

/// What holds in the sandbox.
fn held(config: &Config) -> Vec<Finding> {
    let tools: Vec<String> = config.sandbox_tools.iter().map(|path| path.display().to_string()).collect();
    let tools = if tools.is_empty() { "none in sandbox_tools".to_owned() } else { tools.join(", ") };
    let mut held = vec![
        untried(
            "sandbox",
            "bwrap: what deciders write is confined, and so are workers configured with sandbox = true",
        ),
        untried(
            "sandbox",
            format!("seen: programs of the machine, folders of programs ({tools}), the profile"),
        ),
        untried(
            "sandbox",
            "written: box/scratch/, box/reports/, an empty home and /tmp; a worker's letters and workspace",
        ),
        untried("sandbox", "network: none but what is granted; a worker's is open"),
    ];
    let unseen: Vec<String> =
        sandbox::unseen_programs(config).iter().map(|folder| folder.display().to_string()).collect();
    if !unseen.is_empty() {
        let unseen = unseen.join(", ");
        held.push(untried(
            "sandbox",
            format!("not seen of your PATH: {unseen}; sandbox_tools lists what is"),
        ));
    }
    held
}
