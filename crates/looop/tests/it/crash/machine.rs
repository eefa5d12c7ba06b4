//! The pulse and the host die together, as they do with the machine.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use looop_core::model::outcome::Outcome;
use looop_sim::profile::Profile;
use rustix::fs::{CWD, FileType, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::checks::{finished, invariants, quieted};
use super::scenarios::bare;

fn fifo(profile: &Profile, name: &str) -> PathBuf {
    let path = profile.data().join(name);
    mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
    path
}

/// The process number that the only host left in its folder.
fn host(profile: &Profile) -> Pid {
    let mut session =
        fs::read_dir(profile.data().join("sessions")).unwrap().map(|entry| entry.unwrap().path());
    let started = session.find_map(|path| fs::read_to_string(path.join("started")).ok()).unwrap();
    let number = started.trim().strip_prefix("host ").unwrap().parse().unwrap();
    Pid::from_raw(number).unwrap()
}

#[test]
fn a_command_that_may_have_run_is_shown_and_never_run_again() {
    for deaf in ["", "trap '' TERM HUP; "] {
        let recipe = format!("{deaf}echo once >>ran; echo x >begun; read -r x <never; echo twice >>ran");
        let profile = bare().goal("g", &format!("---\ncheck: test -e ran\nrun: {recipe}\n---\n"));
        let (begun, never) = (fifo(&profile, "begun"), fifo(&profile, "never"));
        let mut pulse = profile.start(&["beat"]);
        fs::read(begun).unwrap();
        let host = host(&profile);
        pulse.kill().unwrap();
        pulse.wait().unwrap();
        kill_process(host, Signal::KILL).unwrap();

        profile.beat();
        quieted(&profile);
        assert_eq!(profile.file("ran").as_deref(), Some("once\n"));
        let outcomes = finished(&profile);
        assert!(matches!(&outcomes[..], [(_, Outcome::Interrupted { .. })]), "{outcomes:?}");
        assert!(profile.file("journal.md").unwrap().contains("interrupted"));
        let why = profile.run(&["events"]).ok().stdout;
        assert!(why.contains("interrupted"), "{why}");
        // Nobody waits at the other end any more.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let opened = File::options().write(true).custom_flags(flags).open(never);
        assert_eq!(
            opened.err().and_then(|error| error.raw_os_error()),
            Some(rustix::io::Errno::NXIO.raw_os_error())
        );
        invariants(&profile);
    }
}
