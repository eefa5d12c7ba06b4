//! A session from its folder to its receipt.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::support::{Ground, await_death, image, is_alive, until};
use looop_session::{Ended, Fence, HostError, Receipt, Standing, host};

fn receipt(standing: Standing) -> Receipt {
    let Standing::Ended(receipt) = standing else { panic!("{standing:?}") };
    receipt
}

fn text(folder: &Path) -> String {
    String::from_utf8(host::output_tail(folder, 1 << 20).unwrap()).unwrap()
}

#[test]
fn it_runs_and_leaves_its_receipt() {
    let ground = Ground::new();
    let (folder, launched) = ground.launch("s", &ground.spec("echo out; echo err >&2; cat; pwd; exit 7"));
    let receipt = receipt(launched.wait().unwrap());
    assert_eq!(receipt.ended, Ended::Exited(7));
    assert!(receipt.started_ms <= receipt.ended_ms);
    let expected = format!("out\nerr\n{}\n", ground.path().display());
    assert_eq!(text(&folder), expected);
    assert_eq!(receipt.output_bytes, expected.len() as u64);
    assert_eq!(host::output_tail(&folder, 4).unwrap(), expected.as_bytes()[expected.len() - 4..]);
    assert!(!folder.join("sock").exists());
}

#[test]
fn the_environment_is_complete_and_nothing_else_is_inherited() {
    let ground = Ground::new();
    let mut spec = ground.spec("env; ls /proc/self/fd; cut -d' ' -f4 /proc/self/stat; umask");
    spec.env.push(("ONLY".into(), "this".into()));
    let (folder, launched) = ground.launch("s", &spec);
    launched.wait().unwrap();
    let text = text(&folder);
    let known = ["PATH=", "ONLY=this", "LOOOP_MARK=", "PWD=", "OLDPWD=", "SHLVL=", "_="];
    let others =
        text.lines().filter(|line| line.contains('=') && !known.iter().any(|name| line.starts_with(name)));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(text.contains("\n0\n1\n2\n3\n"), "{text}");
    assert!(!text.contains("\n4\n"), "{text}");
}

#[test]
fn what_cannot_be_started_says_why() {
    let ground = Ground::new();
    let mut spec = ground.spec("");
    spec.argv = vec!["/nowhere/at/all".into()];
    let (_, launched) = ground.launch("s", &spec);
    let Ended::Spawn(reason) = receipt(launched.wait().unwrap()).ended else { panic!("it ran") };
    assert!(reason.contains("No such file"), "{reason}");
}

#[test]
fn specs_that_nobody_could_run_are_refused() {
    let ground = Ground::new();
    let good = ground.spec("true");
    let cases = [
        looop_session::Spec { v: 3, ..good.clone() },
        looop_session::Spec { argv: vec![], ..good.clone() },
        looop_session::Spec { argv: vec!["a\0b".into()], ..good.clone() },
        looop_session::Spec { cwd: "here".into(), ..good.clone() },
        looop_session::Spec { env: vec![("A=B".into(), String::new())], ..good.clone() },
        looop_session::Spec { env: vec![("A".into(), "\0".into())], ..good },
    ];
    for spec in cases {
        let outcome = host::prepare(&ground.at("s"), &spec);
        assert!(matches!(outcome, Err(HostError::Spec(_))), "{spec:?}: {outcome:?}");
        assert!(!ground.at("s").exists());
    }
}

#[test]
fn a_folder_is_used_once() {
    let ground = Ground::new();
    let spec = ground.spec("true");
    fs::create_dir(ground.at("s")).unwrap();
    let (folder, launched) = ground.launch("s", &spec);
    assert!(matches!(host::prepare(&folder, &spec), Err(HostError::InUse(_))));
    launched.wait().unwrap();
    assert!(matches!(host::prepare(&folder, &spec), Err(HostError::InUse(_))));
}

#[test]
fn standing_follows_the_life() {
    let ground = Ground::new();
    ground.fifo("go");
    let folder = ground.at("s");
    assert_eq!(host::standing(&folder).unwrap(), Standing::Absent);
    assert_eq!(host::wait(&folder).unwrap(), Standing::Absent);
    assert_eq!(host::end(&folder).unwrap(), Standing::Absent);
    assert!(!folder.exists());
    let prepared = host::prepare(&folder, &ground.spec("read _ < go")).unwrap();
    assert_eq!(host::standing(&folder).unwrap(), Standing::Live);
    let launched = host::launch(prepared, &image(), &["_host"]).unwrap();
    assert_eq!(host::standing(&folder).unwrap(), Standing::Live);
    fs::write(ground.at("go"), "\n").unwrap();
    assert_eq!(receipt(host::wait(&folder).unwrap()).ended, Ended::Exited(0));
    assert_eq!(host::standing(&folder).unwrap(), launched.wait().unwrap());
}

#[test]
fn a_dropped_preparation_never_ran() {
    let ground = Ground::new();
    let folder = ground.at("s");
    drop(host::prepare(&folder, &ground.spec("true")).unwrap());
    // Another test's fork may hold a copy of the lock until it has exec'd.
    assert_eq!(host::wait(&folder).unwrap(), Standing::NeverRan);
    assert_eq!(host::fence(&folder).unwrap(), Fence::Mine);
    assert_eq!(host::fence(&folder).unwrap(), Fence::Mine);
    assert_eq!(host::standing(&folder).unwrap(), Standing::NeverRan);
}

#[test]
fn a_fence_stops_a_host_that_was_prepared_before_and_after() {
    let ground = Ground::new();
    let spec = ground.spec("echo ran >> ledger");
    let prepared = host::prepare(&ground.at("a"), &spec).unwrap();
    assert_eq!(host::fence(&ground.at("a")).unwrap(), Fence::Mine);
    let launched = host::launch(prepared, &image(), &["_host"]).unwrap();
    assert_eq!(launched.wait().unwrap(), Standing::NeverRan);
    assert_eq!(host::fence(&ground.at("b")).unwrap(), Fence::Mine);
    assert!(matches!(host::prepare(&ground.at("b"), &spec), Err(HostError::InUse(_))));
    assert_eq!(host::standing(&ground.at("b")).unwrap(), Standing::NeverRan);
    let (folder, launched) = ground.launch("c", &spec);
    launched.wait().unwrap();
    assert_eq!(host::fence(&folder).unwrap(), Fence::Already);
    assert_eq!(ground.read("ledger"), "ran\n");
}

/// Whoever comes first, it is one of the two, and the ledger agrees.
#[test]
fn start_and_fence_race_and_one_wins() {
    let ground = Ground::new();
    for round in 0..120_u32 {
        let name = format!("s{round}");
        let spec = ground.spec(&format!("echo {round} >> ledger"));
        let (folder, launched) = ground.launch(&name, &spec);
        let until = std::time::Instant::now() + std::time::Duration::from_micros(100) * round;
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        let fence = host::fence(&folder).unwrap();
        let standing = launched.wait().unwrap();
        let ran = ground.read("ledger").lines().filter(|line| **line == round.to_string()).count();
        match fence {
            Fence::Mine => assert_eq!((standing, ran), (Standing::NeverRan, 0), "round {round}"),
            Fence::Already => {
                assert_eq!((receipt(standing).ended, ran), (Ended::Exited(0), 1), "round {round}");
            }
        }
    }
}

#[test]
fn an_end_before_the_start_is_a_fence() {
    let ground = Ground::new();
    let prepared = host::prepare(&ground.at("s"), &ground.spec("echo ran >> ledger")).unwrap();
    assert_eq!(host::end(&ground.at("s")).unwrap(), Standing::NeverRan);
    let launched = host::launch(prepared, &image(), &["_host"]).unwrap();
    assert_eq!(launched.wait().unwrap(), Standing::NeverRan);
    assert_eq!(ground.read("ledger"), "");
}

#[test]
fn a_flood_is_bounded_in_memory_and_on_disk() {
    let ground = Ground::new();
    ground.fifo("half");
    ground.fifo("on");
    let body = "head -c 500000000 /dev/zero; echo > half; read _ < on; head -c 500000000 /dev/zero | tr '\\0' x; \
                printf END; grep VmHWM /proc/$PPID/status > peak";
    let (folder, launched) = ground.launch("s", &ground.spec(body));
    ground.await_fifo("half");
    let on_disk: u64 =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(on_disk <= 2 * 65536 + 16384, "{on_disk}");
    fs::write(ground.at("on"), "\n").unwrap();
    let receipt = receipt(launched.wait().unwrap());
    assert_eq!((receipt.ended, receipt.output_bytes), (Ended::Exited(0), 1_000_000_003));
    let tail = fs::read(folder.join("output.log")).unwrap();
    assert_eq!(tail.len(), 65536);
    assert!(tail.ends_with(b"xxxEND"));
    let peak: u64 = ground.read("peak").split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 10_000, "{peak} KB");
}

#[test]
fn output_can_be_read_while_it_runs() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("echo early; read _ < go; echo late"));
    // The file follows the output within a moment.
    until(&folder, "the early output", || {
        (folder.join("output.log").exists() && text(&folder) == "early\n").then_some(())
    });
    fs::write(ground.at("go"), "\n").unwrap();
    launched.wait().unwrap();
    assert_eq!(text(&folder), "early\nlate\n");
}

#[test]
fn the_socket_speaks_its_version_and_no_path_is_too_long() {
    let ground = Ground::new();
    ground.fifo("go");
    let long = format!("{}/{}", "d".repeat(120), "e".repeat(120));
    fs::create_dir(ground.at(&"d".repeat(120))).unwrap();
    let (folder, launched) = ground.launch(&long, &ground.spec("echo > go; sleep 1000"));
    ground.await_fifo("go");
    assert_eq!(fs::metadata(folder.join("sock")).unwrap().permissions().mode() & 0o777, 0o600);
    let inside = fs::File::open(&folder).unwrap();
    let path = format!("/proc/self/fd/{}/sock", std::os::fd::AsRawFd::as_raw_fd(&inside));
    let mut call = BufReader::new(UnixStream::connect(path).unwrap());
    let mut say = |words: &str| {
        call.get_mut().write_all(words.as_bytes()).unwrap();
        let mut answer = String::new();
        call.read_line(&mut answer).unwrap();
        answer
    };
    assert_eq!(say("{\"do\":\"hello\"}\n"), format!("{{\"v\":1,\"pid\":{}}}\n", launched.pid()));
    assert!(say("{\"v\":3,\"do\":\"kill\"}\n").contains("version 3 is not known"));
    assert!(say("{\"do\":\"dance\"}\n").starts_with("{\"v\":1,\"ok\":false,\"error\":"));
    assert!(say("nonsense\n").starts_with("{\"v\":2,\"ok\":false,\"error\":"));
    assert_eq!(host::standing(&folder).unwrap(), Standing::Live);
    assert_eq!(say("{\"v\":1,\"do\":\"kill\"}\n"), "{\"v\":1,\"ok\":true}\n");
    // The end of the call is the end of the host.
    assert_eq!(call.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert_eq!(receipt(host::wait(&folder).unwrap()).ended, Ended::Killed);
    launched.wait().unwrap();
}

#[test]
fn many_may_end_it_at_once() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("echo > go; sleep 1000"));
    ground.await_fifo("go");
    std::thread::scope(|scope| {
        let enders: Vec<_> = (0..8).map(|_| scope.spawn(|| host::end(&folder).unwrap())).collect();
        for ender in enders {
            assert_eq!(receipt(ender.join().unwrap()).ended, Ended::Killed);
        }
    });
    assert_eq!(receipt(host::end(&folder).unwrap()).ended, Ended::Killed);
    launched.wait().unwrap();
}

#[test]
fn a_host_that_does_not_answer_is_ended_with_its_tree() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("setsid sleep 1000 & echo > go; sleep 1000"));
    ground.await_fifo("go");
    fs::remove_file(folder.join("sock")).unwrap();
    // Without its socket it is told by SIGTERM, and still ends as it should.
    assert_eq!(receipt(host::end(&folder).unwrap()).ended, Ended::Killed);
    assert_eq!(ground.alive(), []);
    launched.wait().unwrap();
}

#[test]
fn sigterm_is_a_kill() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("echo > go; sleep 1000"));
    ground.await_fifo("go");
    let pid = rustix::process::Pid::from_raw(i32::try_from(launched.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(receipt(host::wait(&folder).unwrap()).ended, Ended::Killed);
    launched.wait().unwrap();
}

#[test]
fn it_outlives_whoever_launched_it() {
    let ground = Ground::new();
    ground.fifo("go");
    let folder = ground.at("s");
    let spec = serde_json::to_string(&ground.spec("read _ < go; echo done")).unwrap();
    let status = std::process::Command::new(image()).arg("start").arg(&folder).arg(&spec).status().unwrap();
    assert!(status.success());
    assert_eq!(host::standing(&folder).unwrap(), Standing::Live);
    fs::write(ground.at("go"), "\n").unwrap();
    assert_eq!(receipt(host::wait(&folder).unwrap()).ended, Ended::Exited(0));
    assert_eq!(text(&folder), "done\n");
}

#[test]
fn a_host_leads_its_own_session_and_holds_no_folder_of_ours() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) = ground.launch("s", &ground.spec("echo > go; sleep 1000"));
    ground.await_fifo("go");
    let pid = i32::try_from(launched.pid()).unwrap();
    let host_pid = rustix::process::Pid::from_raw(pid);
    assert_eq!(rustix::process::getsid(host_pid).unwrap(), host_pid.unwrap());
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), Path::new("/"));
    assert_eq!(fs::read_dir(format!("/proc/{pid}/task")).unwrap().count(), 1);
    host::end(&folder).unwrap();
    launched.wait().unwrap();
}

#[test]
fn a_deleted_folder_does_not_keep_it() {
    let ground = Ground::new();
    ground.fifo("go");
    ground.fifo("on");
    let (folder, launched) =
        ground.launch("s", &ground.spec("setsid sleep 1000 & echo > go; read _ < on; echo more"));
    ground.await_fifo("go");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(ground.at("on"), "\n").unwrap();
    let pid = i32::try_from(launched.pid()).unwrap();
    assert!(await_death(pid));
    assert_eq!(launched.wait().unwrap(), Standing::Absent);
    assert_eq!(ground.alive(), []);
}

#[test]
fn modes_do_not_depend_on_the_mask() {
    for mask in ["000", "077", "777"] {
        let ground = Ground::new();
        let folder = ground.at("s");
        let spec = serde_json::to_string(&ground.spec("umask; : > made")).unwrap();
        let script = format!("umask {mask}; exec \"$0\" start \"$1\" \"$2\"");
        let mut command = std::process::Command::new("sh");
        let status = command.args(["-c", &script]).arg(image()).arg(&folder).arg(&spec).status().unwrap();
        assert!(status.success(), "{mask}");
        assert_eq!(receipt(host::wait(&folder).unwrap()).ended, Ended::Exited(0), "{mask}");
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700, "{mask}");
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().mode() & 0o7777, 0o600, "{mask} {entry:?}");
        }
        // The child keeps the mask of whoever launched it.
        assert_eq!(text(&folder).trim(), format!("0{mask}"));
    }
}

#[test]
fn what_is_not_a_receipt_is_named() {
    let ground = Ground::new();
    let (folder, launched) = ground.launch("s", &ground.spec("true"));
    launched.wait().unwrap();
    let path = folder.join("receipt.json");
    let corrupt = |named: &str| {
        let standing = host::standing(&folder).unwrap();
        let Standing::Corrupt(why) = standing else { panic!("{standing:?}") };
        assert!(why.contains("receipt.json") && why.contains(named), "{why}");
    };
    for garbage in [&b""[..], b"{", b"\xff\xfe", b"{\"v\":1}"] {
        fs::write(&path, garbage).unwrap();
        corrupt("");
    }
    fs::write(&path, r#"{"v":2,"ended":"killed","started_ms":1,"ended_ms":2,"output_bytes":0}"#).unwrap();
    corrupt("version 2");
    fs::remove_file(&path).unwrap();
    ground.fifo("s/receipt.json");
    corrupt("not a regular file");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    corrupt("not a regular file");
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    corrupt("symbolic link");
    fs::remove_file(&path).unwrap();
    assert_eq!(host::standing(&folder).unwrap(), Standing::Lost);
}

#[test]
fn what_a_test_that_failed_left_running_ends_with_its_ground() {
    let (told, pid) = std::sync::mpsc::channel();
    let failed = std::thread::spawn(move || {
        let ground = Ground::new();
        ground.fifo("go");
        let (folder, _launched) = ground.launch("s", &ground.spec("echo > go; sleep 1000"));
        ground.await_fifo("go");
        let child = until(&folder, "the number of the child", || host::child(&folder).unwrap());
        told.send((child, folder)).unwrap();
        panic!("as a test that fails does");
    });
    assert!(failed.join().is_err());
    let (pid, folder) = pid.recv().unwrap();
    assert!(!is_alive(pid) && !folder.exists());
}
