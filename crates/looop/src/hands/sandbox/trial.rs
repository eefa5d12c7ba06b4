//! A trial of the sandbox: a confined command tries what it may and what it may not do.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_core::model::rights::Granted;
use looop_session::{Ended, Job, Order};

use super::{Command, dress};
use crate::config::Config;
use crate::hands::brakes::Brakes;

/// How long it may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// What is kept of what it prints.
const OUTPUT: u64 = 4 << 10;

/// Prints a word for each thing that it could do.
const SCRIPT: &str = r#"
(: > "box/scratch/$1" && rm -f "box/scratch/$1") 2>/dev/null && echo scratch
(: > "$1") 2>/dev/null && echo profile
(exec 3<> "/dev/tcp/127.0.0.1/$2") 2>/dev/null && echo network
true
"#;

/// What a confined command could do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Could {
    /// Write into `box/scratch/`, as it may.
    pub(crate) write_scratch: bool,
    /// Write into the profile, as it may not.
    pub(crate) write_profile: bool,
    /// Reach a server on this machine, as it may not where the network is confined.
    pub(crate) reach_network: bool,
}

/// Runs the trial, or says why that could not be done.
pub(crate) fn trial(data: &Path, config: &Config) -> Result<Could, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port().to_string();
    let name = format!(".doctor-{}", std::process::id());
    let argv = ["bash", "-c", SCRIPT, "bash", &name, &port].map(Into::into).to_vec();
    let command = Command { argv, read: Vec::new(), env: &[], goal: "" };
    let (argv, env) = dress(data, config, &Granted::default(), command).map_err(|failure| failure.error)?;
    let job = Job {
        argv,
        cwd: data.to_owned(),
        env: Some(env),
        timeout: Some(DEADLINE),
        stdout_cap: Some(OUTPUT),
        stderr_cap: Some(OUTPUT),
        strict: true,
        ..Job::default()
    };
    let ran = Brakes::default().run(&Order::new(vec![job], 1)).map_err(|error| error.to_string())?;
    let done = ran.into_iter().flatten().next().ok_or("nothing is known of how it ended")?;
    if done.ended != Ended::Exited(0) {
        let said = one_line(&String::from_utf8_lossy(&done.stderr), 200);
        return Err(format!("{}: {said}", crate::hands::sense::ended(done.ended).text()));
    }
    let said = String::from_utf8_lossy(&done.stdout);
    let could = |word: &str| said.lines().any(|line| line == word);
    if could("profile") {
        // It should not be there at all.
        drop(fs::remove_file(data.join(&name)));
    }
    Ok(Could {
        write_scratch: could("scratch"),
        write_profile: could("profile"),
        reach_network: could("network"),
    })
}
