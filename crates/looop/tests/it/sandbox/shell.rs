//! Shell commands of deciders.

use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use looop_core::model::outcome::{Ended, Outcome};
use looop_sim::profile::{Profile, write_program};
use looop_sim::waiting::within;

use super::ground::{Ground, SECRET, each};

/// What a malicious decider tries, by name. All of it succeeds for a person's own command, so that a test which fails to
/// try is noticed.
fn attempts(ground: &Ground, port: u16) -> Vec<(&'static str, String)> {
    let home = ground.home();
    let home = home.display();
    let me = std::process::id();
    let mut attempts: Vec<(&'static str, String)> = [
        ("policy", "echo '#' >> ../policy.toml"),
        ("config", "echo '#' >> ../config.toml"),
        ("goal", "echo more >> ../goals/g.md"),
        ("new goal", "echo new > ../goals/h.md"),
        ("sensor", "echo '#!/bin/sh' > ../sensors/evil.sh"),
        ("playbook", "echo more >> ../PLAYBOOK.md"),
        ("log", "cat /dev/null >> ../log/*.jsonl"),
        ("answer", "echo '{}' > ../answers/x.json && rm ../answers/x.json"),
        ("ask", "echo '{}' > ../asks/.x && rm ../asks/.x"),
        ("through a link", "ln -sf ../policy.toml link && echo '#' >> link"),
        ("through a hard link", "rm -f hard; ln ../policy.toml hard && echo '#' >> hard"),
        ("through its root", "echo '#' >> /proc/self/root$LOOOP_DATA_DIR/policy.toml"),
        ("through its folder", "echo '#' >> /proc/self/cwd/../policy.toml"),
        ("stolen by moving", "mv ../goals/h.md stolen && mv stolen ../goals/h.md"),
        ("home", "touch ~/touched"),
        ("secret", "grep -q . ~/.ssh/id"),
        ("secret through its root", "grep -q . /proc/self/root$HOME/.ssh/id"),
        ("secret through a link", "ln -sf ~/.ssh soft && grep -q . soft/id"),
        ("secret by copying", "cp -r ~/.ssh copied && grep -q . copied/id"),
        ("variable", "test -n \"$PLANTED\""),
        ("briefs", "grep -q . ../runs/*/prompt.md"),
        ("sessions", "grep -q . ../sessions/*/spec.json"),
        ("a process to be signalled", "kill -0 PARENT"),
    ]
    .map(|(name, attempt)| (name, attempt.replace("PARENT", &me.to_string())))
    .to_vec();
    attempts.push(("network", format!("exec 3<>/dev/tcp/127.0.0.1/{port}")));
    attempts.push(("environment of others", format!("grep -qa {SECRET} /proc/[0-9]*/environ")));
    attempts.push((
        "environment of the loop",
        format!("grep -qa {SECRET} /proc/{me}/environ || test -n \"$PLANTED\""),
    ));
    attempts.push(("secret by name", format!("grep -q . '{home}/.ssh/id'")));
    attempts
}

/// What nobody without root's powers can do, and root only before it is confined.
fn powers() -> Vec<(&'static str, String)> {
    [
        ("mount", "mount -t tmpfs none ../goals"),
        ("remount", "mount -o remount,rw / && touch ~/touched"),
        ("bind", "mount --bind ~/.ssh . && grep -q . id"),
        ("unshare", "unshare -Urm sh -c 'mount -o remount,bind,rw / && touch ~/touched'"),
        ("unmount", "umount -l ~/.ssh && grep -q . ~/.ssh/id"),
        ("unmount in a namespace", "unshare -Urm sh -c 'umount -l ~/.ssh; grep -q . ~/.ssh/id'"),
        ("device", "mknod disk b 8 0"),
        ("kernel settings", "cat /proc/sys/kernel/printk_delay > /proc/sys/kernel/printk_delay"),
        ("root of the first process", "grep -q . /proc/1/root$HOME/.ssh/id"),
        ("memory", "dd if=/proc/PARENT/mem of=/dev/null count=1"),
        ("shadow", "grep -q . /etc/shadow"),
        ("owner", "chown 12345 ../policy.toml"),
    ]
    .map(|(name, attempt)| (name, attempt.replace("PARENT", &std::process::id().to_string())))
    .to_vec()
}

#[test]
fn a_decider_reaches_nothing_outside() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for ground in each("") {
        let mut attempts = attempts(&ground, port);
        attempts.extend(powers());
        if ground.means == "bwrap" {
            // Landlock knows neither modes nor sockets.
            attempts.push(("mode", "chmod 777 ../policy.toml".to_owned()));
            attempts.push(("socket", "test -e ../sock || \"$LOOOP_BIN\" pause".to_owned()));
            attempts.push(("processes", format!("test -e /proc/{}", std::process::id())));
            attempts.push(("names of secrets", "test -e ~/.ssh/id".to_owned()));
        }
        assert_eq!(ground.reached(&attempts), Vec::<String>::new(), "{}", ground.means);
        assert!(!ground.home().join("touched").exists());
        assert_eq!(ground.profile.file("policy.toml").as_deref(), Some(""));
    }
}

#[test]
fn the_same_without_a_sandbox_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ground = Ground::new("off", "");
    let mut attempts = attempts(&ground, port);
    // The listed environment holds also where nothing is confined.
    attempts.retain(|(name, _)| {
        !matches!(*name, "variable" | "environment of the loop" | "environment of others")
    });
    let names: Vec<&str> = attempts.iter().map(|(name, _)| *name).collect();
    assert_eq!(ground.reached(&attempts), names);
    assert_eq!(ground.reached(&[("variable", "test -n \"$PLANTED\"".to_owned())]), Vec::<String>::new());
}

#[test]
fn what_it_may_do_works() {
    for ground in each("") {
        let works = [
            "echo here > made && test \"$(cat made)\" = here",
            "echo report > \"$LOOOP_REPORTS_DIR/r.md\"",
            "echo temp > \"$TMPDIR/t\" && cat \"$TMPDIR/t\"",
            "test \"$(cat ~/plain)\" = plain",
            "cat ../PLAYBOOK.md ../goals/g.md ../config.toml",
            "test \"${PWD#\"$LOOOP_DATA_DIR/\"}\" = scratch || test \"${PWD#\"$LOOOP_DATA_DIR/\"}\" = box/scratch",
            "\"$LOOOP_BIN\" --version",
            "\"$LOOOP_BIN\" goal show g",
            "echo x > /dev/null; head -c 4 /dev/urandom",
            "bash -c 'exit 0' | cat; ls /usr/bin | head -1",
        ];
        let attempts: Vec<(&str, String)> = works.iter().map(|work| (*work, (*work).to_owned())).collect();
        // A name stands in quotes; those with quotes of their own are numbered.
        let attempts: Vec<(String, String)> =
            attempts.into_iter().enumerate().map(|(at, (_, work))| (at.to_string(), work)).collect();
        let attempts: Vec<(&str, String)> =
            attempts.iter().map(|(name, work)| (name.as_str(), work.clone())).collect();
        let expected: Vec<String> = (0..works.len()).map(|at| at.to_string()).collect();
        assert_eq!(ground.reached(&attempts), expected, "{}", ground.means);
        assert_eq!(ground.profile.file("reports/r.md").as_deref(), Some("report\n"));
        assert_eq!(ground.profile.file("box/scratch/made").as_deref(), Some("here\n"));
    }
}

fn ended(ground: &Ground, cmd: &str) -> (Ended, String) {
    let (outcome, output) = ground.shell(cmd);
    match outcome {
        Outcome::Failed { shell: Some(shell), .. } => (shell.ended, output),
        Outcome::Done { .. } | Outcome::Failed { .. } | Outcome::Interrupted { .. } => {
            panic!("{outcome:?}: {output}")
        }
    }
}

// A failure makes the loop wait, so that each has a profile of its own.
#[test]
fn its_end_and_its_output_come_through() {
    for ground in each("") {
        let (how, output) = ended(&ground, "echo out; echo err >&2; exit 7");
        assert_eq!((how, output.as_str()), (Ended::Exited(7), "out\nerr\n"), "{}", ground.means);
    }
    for ground in each("") {
        assert_eq!(ended(&ground, "no-such-program-anywhere").0, Ended::Exited(127), "{}", ground.means);
    }
}

#[test]
fn a_deadline_ends_all_of_it() {
    for ground in each("shell_timeout_secs = 1\n") {
        let cmd = "setsid sleep 1000 & (setsid nohup sleep 1000 &) ; sleep 1000";
        assert_eq!(ended(&ground, cmd).0, Ended::TimedOut, "{}", ground.means);
        assert_eq!(ground.profile.survivors(), Vec::<String>::new(), "{}", ground.means);
    }
}

#[test]
fn nothing_of_it_stays_behind() {
    for ground in each("") {
        let cmd = "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & env -i setsid sleep 1000 & (nohup sleep 1000 &); exit 0";
        let (outcome, _) = ground.shell(cmd);
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        assert_eq!(ground.profile.survivors(), Vec::<String>::new(), "{}", ground.means);
    }
}

#[test]
fn a_person_is_not_confined() {
    for ground in each("") {
        let ran = ground.run(&["run", "cat ~/.ssh/id; echo $PLANTED; touch ~/touched"]).ok();
        assert_eq!(ran.stdout.matches(SECRET).count(), 2, "{ran:?}");
        assert!(ground.home().join("touched").exists());
    }
}

#[test]
fn a_means_that_does_not_work_is_said_at_once() {
    let ground = Ground::new("bwrap", "");
    let mut command = ground.profile.command(&["beat"]);
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/false", folder.path().join("bwrap")).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let output = within("a beat", move || command.env("PATH", path).output().unwrap());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("sandbox = \"bwrap\" does not work here"), "{said}");
}

/// An edited configuration is read again, and by what means things are confined is found out once something is to be.
#[test]
fn an_edited_configuration_tries_no_means_that_it_does_not_name() {
    let profile = Profile::bare(env!("CARGO_BIN_EXE_looop"));
    let tried = profile.outside().join("tried");
    let tools = profile.outside().join("tools");
    std::fs::create_dir(&tools).unwrap();
    write_program(&tools.join("bwrap"), &format!("#!/bin/sh\necho tried >> '{}'\nexit 1\n", tried.display()));
    let profile = profile.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    profile.write("config.toml", "sandbox = \"auto\"\n");
    // A file from the future may change at any time, so it is read again for each request.
    let config = std::fs::File::options().write(true).open(profile.data().join("config.toml")).unwrap();
    config.set_modified(SystemTime::now() + Duration::from_hours(24)).unwrap();
    profile.beat().ok();
    assert!(!tried.exists(), "{:?}", std::fs::read_to_string(&tried));
    profile.write("config.toml", "sandbox = \"bwrap\"\n");
    profile.beat().fails(1, "sandbox = \"bwrap\" does not work here");
    assert!(tried.exists());
}

/// A program of a name that is spared leaves its group and would outlive what confines it, unknown to anybody.
#[test]
fn nothing_confined_is_spared_by_its_name() {
    for ground in each("") {
        let daemon = "cp \"$(command -v sleep)\" adb; setsid ./adb 1000 < /dev/null > /dev/null 2>&1 & \
                      until [ \"$(cat /proc/$!/comm)\" = adb ]; do :; done; echo there";
        let (outcome, said) = ground.shell(daemon);
        assert!(said.contains("there"), "{}: {outcome:?} {said}", ground.means);
        assert_eq!(ground.profile.survivors(), Vec::<String>::new(), "{}", ground.means);
    }
}
