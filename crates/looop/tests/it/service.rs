//! `looop service` with the real binary: where the unit goes, whose it is, and what systemd says of it.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use looop_sim::profile::Profile;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

fn units(profile: &Profile) -> PathBuf {
    profile.outside().join("home/.config/systemd/user")
}

/// What systemd says of a unit; nothing where it is not installed, or cannot run at all.
fn verified(profile: &Profile, unit: &Path) -> String {
    let runtime = profile.outside().join("runtime");
    fs::create_dir_all(&runtime).unwrap();
    let mut command = Command::new("systemd-analyze");
    command.args(["--user", "verify"]).arg(unit).env_clear();
    command.env("HOME", profile.outside().join("home")).env("XDG_RUNTIME_DIR", runtime);
    let Ok(output) = command.output() else { return String::new() };
    let name = unit.file_name().unwrap().to_string_lossy().into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().filter(|line| line.contains(&name)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_unit_is_written_once_and_removed() {
    let profile = Profile::named(LOOOP, "home/.local/state/looop");
    let unit = units(&profile).join("looop.service");
    let installed = profile.run(&["service", "install"]).ok().stdout;
    assert!(installed.starts_with(&format!("wrote {}\n", unit.display())), "{installed}");
    for word in ["systemctl --user daemon-reload", "enable --now looop.service", "enable-linger", "env_file"]
    {
        assert!(installed.contains(word), "{word} in {installed}");
    }
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains(&format!("ExecStart={LOOOP} --data-dir {}", profile.data().display())), "{text}");
    assert_eq!(profile.run(&["service", "print"]).ok().stdout, text);
    assert_eq!(verified(&profile, &unit), "");
    profile.run(&["service", "install"]).ok();
    assert!(!profile.data().exists(), "the profile is made by the loop");

    // As `systemctl enable` leaves it.
    let wanted = units(&profile).join("default.target.wants/looop.service");
    fs::create_dir_all(wanted.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&unit, &wanted).unwrap();
    let removed = profile.run(&["service", "uninstall"]).ok().stdout;
    assert!(removed.contains("systemctl --user stop looop.service"), "{removed}");
    assert!(!unit.exists() && wanted.symlink_metadata().is_err());
    assert!(profile.run(&["service", "uninstall"]).ok().stdout.starts_with("there is no "));
}

#[test]
fn a_unit_of_somebody_else_is_left_alone() {
    let profile = Profile::named(LOOOP, "home/.local/state/looop");
    let unit = units(&profile).join("looop.service");
    fs::create_dir_all(units(&profile)).unwrap();
    fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    profile
        .run(&["service", "install"])
        .fails(1, "was not written by looop\nhint: looop service install --force");
    profile.run(&["service", "uninstall"]).fails(1, "was not written by looop");
    assert_eq!(fs::read_to_string(&unit).unwrap(), "[Service]\nExecStart=/bin/true\n");
    profile.run(&["service", "install", "--force"]).ok();
    assert!(fs::read_to_string(&unit).unwrap().contains("Restart=on-failure"));
    // A unit that is masked is a link, and somebody's will.
    fs::remove_file(&unit).unwrap();
    std::os::unix::fs::symlink("/dev/null", &unit).unwrap();
    profile.run(&["service", "install"]).fails(1, "was not written by looop");
    assert_eq!(fs::read_dir(units(&profile)).unwrap().count(), 1, "nothing is left lying about");
}

#[test]
fn odd_paths_are_taken_as_they_are() {
    let profile = Profile::named(LOOOP, "it's \"50%\" of $HOME\\x");
    let folder = profile.outside().join("a b 'c' $d %e");
    fs::create_dir(&folder).unwrap();
    let binary = folder.join("looop");
    fs::copy(LOOOP, &binary).unwrap();
    let command = profile.command(&["service", "install"]);
    let mut odd = Command::new(&binary);
    odd.args(["service", "install"]).env_clear();
    odd.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for mut install in [command, odd] {
        assert!(install.output().unwrap().status.success());
        let unit = fs::read_dir(units(&profile)).unwrap().next().unwrap().unwrap().path();
        let name = unit.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("looop-it-s--50---of--HOME-x-"), "{name}");
        assert_eq!(verified(&profile, &unit), "");
    }
}

#[test]
fn a_property_list_is_printed() {
    let profile = Profile::bare(LOOOP);
    let printed = profile.run(&["service", "print", "--launchd"]).ok();
    assert!(printed.stdout.contains("<key>SuccessfulExit</key>"), "{printed:?}");
    assert!(printed.stderr.contains("launchctl load -w"), "{printed:?}");
}
