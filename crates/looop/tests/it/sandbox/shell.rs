//! Shell commands of deciders.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, SystemTime};

use looop_core::model::outcome::{Ended, Outcome};
use looop_sim::profile::{Profile, write_program};
use looop_sim::waiting::within;

use super::ground::{Ground, SECRET, ground};

/// Things of the person and of others that nothing confined may reach, as long as it is held.
struct Traps {
    /// A server on this machine.
    tcp: TcpListener,
    /// Sockets: of another profile, of a tmux server, of a session bus; and one that has a name and no file.
    sockets: Vec<UnixListener>,
    paths: Vec<(&'static str, String)>,
}

impl Traps {
    fn set(ground: &Ground) -> Self {
        let (home, outside) = (ground.home(), ground.profile.outside());
        for (file, folder) in
            [(".bashrc", ""), (".netrc", ""), ("src/x/.env", "src/x"), (".config/odd/x", ".config/odd")]
        {
            fs::create_dir_all(home.join(folder)).unwrap();
            fs::write(home.join(file), format!("export TOKEN={SECRET}\n")).unwrap();
        }
        let places =
            [("another profile", "other/sock"), ("tmux", "tmux-0/default"), ("session bus", "run/bus")];
        let mut sockets = Vec::new();
        let mut paths = Vec::new();
        for (name, place) in places {
            let path = outside.join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            sockets.push(UnixListener::bind(&path).unwrap());
            paths.push((name, path.display().to_string()));
        }
        let nameless = SocketAddr::from_abstract_name(outside.as_os_str().as_encoded_bytes()).unwrap();
        sockets.push(UnixListener::bind_addr(&nameless).unwrap());
        paths.push(("socket without a file", format!("\\0{}", outside.display())));
        Self { tcp: TcpListener::bind("127.0.0.1:0").unwrap(), sockets, paths }
    }
}

/// What a malicious decider tries, by name. All of it succeeds for a person's own command, so that a test which fails to
/// try is noticed.
fn attempts(ground: &Ground, traps: &Traps) -> Vec<(&'static str, String)> {
    assert_eq!(traps.sockets.len(), traps.paths.len());
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
        ("a file in the profile", "touch ../new && rm ../new"),
        ("mode", "chmod 600 ../policy.toml"),
        ("socket", "test -e \"$LOOOP_DATA_DIR/sock\""),
        ("through a link", "ln -sf ../policy.toml link && echo '#' >> link"),
        ("through a hard link", "rm -f hard; ln ../policy.toml hard && echo '#' >> hard"),
        ("through its root", "echo '#' >> /proc/self/root$LOOOP_DATA_DIR/policy.toml"),
        ("through its folder", "echo '#' >> /proc/self/cwd/../policy.toml"),
        ("stolen by moving", "mv ../goals/h.md stolen && mv stolen ../goals/h.md"),
        ("names in the home", "test -e ~/.ssh || test -e ~/plain"),
        ("secret", "grep -q . ~/.ssh/id"),
        ("secret through its root", "grep -q . /proc/self/root$HOME/.ssh/id"),
        ("secret through a link", "ln -sf ~/.ssh soft && grep -q . soft/id"),
        ("secret by copying", "cp -r ~/.ssh copied && grep -q . copied/id"),
        ("secret in .bashrc", "grep -q TOKEN ~/.bashrc"),
        ("secret in .netrc", "grep -q TOKEN ~/.netrc"),
        ("secret in a project", "grep -q TOKEN ~/src/x/.env"),
        ("secret of an unknown program", "grep -q TOKEN ~/.config/odd/x"),
        ("secret that is looked for", "grep -rq TOKEN=[h] ~ .."),
        ("variable", "test -n \"$PLANTED\""),
        ("briefs", "grep -q . ../runs/*/prompt.md"),
        ("sessions", "grep -q . ../sessions/*/spec.json"),
        ("a process to be signalled", "kill -0 PARENT"),
        ("processes", "test -e /proc/PARENT"),
        ("files of others in /tmp", "test -e \"$LOOOP_DATA_DIR/../decision.json\""),
        ("what runs", "test -e /run || test -e /var/run"),
        ("what the machine keeps", "test -e /var/lib || test -e /sys/kernel"),
        ("settings of the machine", "test -e /etc/fstab || test -e /etc/pam.d || test -e /etc/login.defs"),
        ("a file larger than the limit", "truncate -s 5G large && rm large"),
    ]
    .map(|(name, attempt)| (name, attempt.replace("PARENT", &me.to_string())))
    .to_vec();
    let port = traps.tcp.local_addr().unwrap().port();
    attempts.push(("network", format!("exec 3<>/dev/tcp/127.0.0.1/{port}")));
    attempts.extend(traps.paths.iter().map(|(name, path)| {
        (*name, format!("perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); exit !connect(S, pack_sockaddr_un(\"{path}\"))'"))
    }));
    attempts.push(("environment of others", format!("grep -qa {SECRET} /proc/[0-9]*/environ")));
    attempts.push((
        "environment of the loop",
        format!("grep -qa {SECRET} /proc/{me}/environ || test -n \"$PLANTED\""),
    ));
    attempts.push(("secret by name", format!("grep -q . '{home}/.ssh/id'")));
    attempts.extend(calls());
    attempts
}

/// System calls that are refused whoever makes them.
fn calls() -> Vec<(&'static str, String)> {
    let calls = [
        ("keys of the session", format!("exit(syscall({}, 0, -3, 1) < 0)", libc::SYS_keyctl)),
        ("keys of the person", format!("exit(syscall({}, 0, -4, 1) < 0)", libc::SYS_keyctl)),
        (
            "a new key",
            format!("my @w = qw(user looop-test x); exit(syscall({}, @w, 1, -2) < 0)", libc::SYS_add_key),
        ),
        ("page faults", format!("exit(syscall({}, 1) < 0)", libc::SYS_userfaultfd)),
        ("clone3", format!("syscall({}, 0, 0); exit($!+0 == {})", libc::SYS_clone3, libc::ENOSYS)),
        (
            "a namespace by clone",
            format!("$p = syscall({}, 0x10000011, 0, 0, 0, 0); exit($p < 0)", libc::SYS_clone),
        ),
        ("a namespace by unshare", format!("exit(syscall({}, 0x10000000) < 0)", libc::SYS_unshare)),
    ];
    calls.map(|(name, call)| (name, format!("perl -e '{call}'"))).to_vec()
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
    let ground = ground("");
    let traps = Traps::set(&ground);
    let mut attempts = attempts(&ground, &traps);
    attempts.extend(powers());
    assert_eq!(ground.reached(&attempts), Vec::<String>::new());
    assert!(!ground.home().join("touched").exists());
    assert_eq!(ground.profile.file("policy.toml").as_deref(), Some(""));
}

#[test]
fn the_same_without_a_sandbox_is_reached() {
    let ground = Ground::new("off", "");
    let traps = Traps::set(&ground);
    let mut attempts = attempts(&ground, &traps);
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
    let ground = ground("");
    let works = [
        "echo here > made && test \"$(cat made)\" = here",
        "echo report > \"$LOOOP_REPORTS_DIR/r.md\"",
        "echo temp > \"$TMPDIR/t\" && cat \"$TMPDIR/t\"",
        "echo kept > ~/mine && test \"$(cat ~/mine)\" = kept",
        "mkdir -p ~/.cache && echo kept > ~/.cache/mine && echo shared > /dev/shm/mine",
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
    assert_eq!(ground.reached(&attempts), expected);
    assert_eq!(ground.profile.file("reports/r.md").as_deref(), Some("report\n"));
    assert_eq!(ground.profile.file("box/scratch/made").as_deref(), Some("here\n"));
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
    let (how, output) = ended(&ground(""), "echo out; echo err >&2; exit 7");
    assert_eq!((how, output.as_str()), (Ended::Exited(7), "out\nerr\n"));
    assert_eq!(ended(&ground(""), "no-such-program-anywhere").0, Ended::Exited(127));
}

#[test]
fn a_deadline_ends_all_of_it() {
    let ground = ground("shell_timeout_secs = 1\n");
    let cmd = "setsid sleep 1000 & (setsid nohup sleep 1000 &) ; sleep 1000";
    assert_eq!(ended(&ground, cmd).0, Ended::TimedOut);
    assert_eq!(ground.profile.survivors(), Vec::<String>::new());
}

#[test]
fn nothing_of_it_stays_behind() {
    let ground = ground("");
    let cmd = "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & env -i setsid sleep 1000 & (nohup sleep 1000 &); exit 0";
    let (outcome, _) = ground.shell(cmd);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!(ground.profile.survivors(), Vec::<String>::new());
}

#[test]
fn a_person_is_not_confined() {
    let ground = ground("");
    let ran = ground.run(&["run", "cat ~/.ssh/id; echo $PLANTED; touch ~/touched"]).ok();
    assert_eq!(ran.stdout.matches(SECRET).count(), 2, "{ran:?}");
    assert!(ground.home().join("touched").exists());
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
    let ground = ground("");
    let daemon = "cp \"$(command -v sleep)\" adb; setsid ./adb 1000 < /dev/null > /dev/null 2>&1 & \
                  until [ \"$(cat /proc/$!/comm)\" = adb ]; do :; done; echo there";
    let (outcome, said) = ground.shell(daemon);
    assert!(said.contains("there"), "{outcome:?} {said}");
    assert_eq!(ground.profile.survivors(), Vec::<String>::new());
}

/// Without a sandbox nothing runs that does more than look at text, and every verb that is asked says so.
#[test]
fn without_a_sandbox_it_is_said() {
    let ground = Ground::new("off", "policy = \"guarded\"\n");
    let guarded = |args: &[&str]| {
        let mut command = ground.profile.command(args);
        command.env_remove("LOOOP_POLICY");
        let output = within("a verb", move || command.output().unwrap());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = guarded(&["policy", "show"]);
    assert!(shown.contains("is NOT confined on this machine"), "{shown}");
    let action = ground.profile.outside().join("move.json");
    fs::write(&action, r#"{"action":"run_shell","cmd":"make all"}"#).unwrap();
    let tried = guarded(&["policy", "test", action.to_str().unwrap()]);
    assert!(tried.contains("not confined on this machine") && tried.contains("ask"), "{tried}");
    let found = guarded(&["doctor"]);
    assert!(found.contains("nothing confines what deciders write, so that looop asks you"), "{found}");
    ground.profile.decide_next(&serde_json::json!({"action": "run_shell", "cmd": "make all"}));
    guarded(&["beat"]);
    let asks = guarded(&["asks"]);
    assert!(asks.contains("nothing on this machine confines what it runs"), "{asks}");
}
