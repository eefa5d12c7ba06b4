//! What a batch says about its jobs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use crate::support::{Ground, Stranger, await_death, image, run_all};
use looop_session::{Batch, Done, Ended, Job, Keep, News, Next, Order, Output};

fn one(job: Job) -> looop_session::Done {
    run_all(&Order::new(vec![job], 1)).remove(0)
}

#[test]
fn ends_are_told_apart() {
    let ground = Ground::new();
    assert_eq!(one(ground.job("exit 0")).ended, Ended::Exited(0));
    assert_eq!(one(ground.job("exit 130")).ended, Ended::Exited(130));
    assert_eq!(one(ground.job("kill -9 $$")).ended, Ended::Signalled(9));
    let mut slow = ground.job("sleep 1000");
    slow.timeout = Some(Duration::from_millis(1));
    assert_eq!(one(slow).ended, Ended::TimedOut);
    let mut endless = ground.job("true");
    endless.timeout = Some(Duration::MAX);
    assert_eq!(one(endless).ended, Ended::Exited(0));
}

#[test]
fn what_cannot_be_started_says_why() {
    let ground = Ground::new();
    let starts = |argv: Vec<OsString>| one(Job { argv, ..ground.job("") }).ended;
    let reason = |argv| {
        let ended = starts(argv);
        let Ended::Spawn(reason) = ended else { panic!("{ended:?}") };
        reason
    };
    assert!(reason(vec!["./absent".into()]).contains("No such file"));
    fs::write(ground.at("plain"), "text").unwrap();
    assert!(reason(vec!["./plain".into()]).contains("Permission denied"));
    ground.script("headless", "");
    fs::write(ground.at("headless"), [0x7f, b'E', b'L', b'F', 0, 0]).unwrap();
    assert!(reason(vec!["./headless".into()]).contains("Exec format error"));
    assert!(reason(vec![]).contains("empty"));
    let mut nowhere = ground.job("true");
    nowhere.cwd = ground.at("gone");
    let Ended::Spawn(reason) = one(nowhere).ended else { panic!("it ran") };
    assert!(reason.contains("working directory") && reason.contains("gone"), "{reason}");
}

#[test]
fn environment_input_and_descriptors_are_what_was_asked() {
    let ground = Ground::new();
    let mut job = ground
        .job("env | grep -v -e ^LOOOP_MARK= -e ^PWD= -e ^OLDPWD= -e ^_= -e ^SHLVL=; cat; ls /proc/self/fd");
    job.env = Some(vec![("PATH".into(), std::env::var("PATH").unwrap()), ("A".into(), "b c".into())]);
    let done = one(job);
    let text = String::from_utf8(done.stdout).unwrap();
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("PATH=")).collect();
    lines.sort_unstable();
    // 3 is the folder that `ls` reads.
    assert_eq!(lines, ["0", "1", "2", "3", "A=b c"]);
}

#[test]
fn odd_names_and_bytes_pass_through() {
    let ground = Ground::new();
    let name = OsString::from_vec(b"a \xff\n'b".to_vec());
    let path = ground.path().join(&name);
    fs::copy(ground.script("plain", "printf '\\377\\000x'; printf %s \"$1\" >&2"), &path).unwrap();
    let done = one(Job { argv: vec![path.into(), name.clone()], ..ground.job("") });
    assert_eq!(done.ended, Ended::Exited(0));
    assert_eq!(done.stdout, b"\xff\0x");
    assert_eq!(done.stderr, name.into_vec());
}

#[test]
fn floods_are_counted_and_not_kept() {
    let ground = Ground::new();
    let megabytes = 210;
    let flood = format!("head -c {megabytes}000000 /dev/zero");
    let body = format!("{flood} & {flood} >&2; wait; grep VmHWM /proc/$PPID/status > peak");
    let done = one(ground.job(&body));
    assert_eq!(done.ended, Ended::Exited(0));
    assert_eq!((done.stdout.len(), done.stderr.len()), (8192, 65536));
    assert_eq!((done.stdout_total, done.stderr_total), (megabytes * 1_000_000, megabytes * 1_000_000));
    let peak: u64 = ground.read("peak").split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 10_000, "{peak} KB");
}

#[test]
fn without_a_cap_all_is_kept() {
    let ground = Ground::new();
    let mut job = ground.job("head -c 3000000 /dev/zero | tr '\\0' x");
    job.stdout_cap = None;
    let done = one(job);
    assert_eq!(done.stdout, vec![b'x'; 3_000_000]);
}

#[test]
fn the_end_is_kept_where_that_is_asked() {
    let ground = Ground::new();
    for (cap, printed, kept) in
        [(5, "printf 123456789", "56789"), (5, "printf 123", "123"), (0, "printf 123", "")]
    {
        let job = Job { stdout_cap: Some(cap), keep: Keep::Tail, ..ground.job(printed) };
        let done = one(job);
        assert_eq!(String::from_utf8(done.stdout).unwrap(), kept);
        assert_eq!(done.stdout_total, printed.len() as u64 - 7);
    }
    let flood = "head -c 50000000 /dev/zero; printf END";
    let done = one(Job { stdout_cap: Some(6), keep: Keep::Tail, ..ground.job(flood) });
    assert_eq!((done.stdout.as_slice(), done.stdout_total), (&b"\0\0\0END"[..], 50_000_003));
}

/// Follows one job that streams: what it printed, piece by piece, and what came of it.
fn follow(job: Job, on_piece: &mut dyn FnMut(&[u8], &looop_session::Stopper)) -> (Vec<u8>, Done) {
    let (mut told, mut result) = (Vec::new(), None);
    let job = Job { stream: true, ..job };
    let batch = Batch::start(&image(), &["_batch"], &Order::new(vec![job], 1)).unwrap();
    let stopper = batch.stopper();
    let left = batch.follow(&mut |index, news| match news {
        News::Piece(Output::Stdout, piece) => {
            assert_eq!((index, result.is_none()), (0, true));
            told.extend_from_slice(&piece);
            on_piece(&piece, &stopper);
        }
        News::Piece(Output::Stderr, _) => {}
        News::Done(done) => result = Some(done),
    });
    assert_eq!(left.unwrap(), Vec::<i32>::new());
    (told, result.unwrap())
}

#[test]
fn what_a_job_prints_is_told_while_it_runs() {
    let ground = Ground::new();
    ground.fifo("go");
    let go = ground.at("go");
    let job = ground.job("echo one; read -r word < go; echo \"$word\"; echo no >&2");
    // It goes on only when its first line has been told.
    let mut first = Some("two\n");
    let (told, done) = follow(job, &mut |_, _| {
        if let Some(word) = first.take() {
            fs::write(&go, word).unwrap();
        }
    });
    assert_eq!((told.as_slice(), done.stdout.as_slice()), (&b"one\ntwo\n"[..], &b"one\ntwo\n"[..]));
    assert_eq!((done.ended, done.stderr), (Ended::Exited(0), b"no\n".to_vec()));
}

/// What is printed to standard error is told too, and whoever waits for it need not wait for ever.
#[test]
fn standard_error_is_told_while_the_job_runs_and_silence_can_be_noticed() {
    let ground = Ground::new();
    ground.fifo("go");
    let job = Job { stream: true, ..ground.job("echo trouble >&2; read -r word < go; echo \"$word\"") };
    let mut batch = Batch::start(&image(), &["_batch"], &Order::new(vec![job], 1)).unwrap();
    let mut told = Vec::new();
    loop {
        let wait = if told.is_empty() { None } else { Some(Duration::from_millis(1)) };
        match batch.next(wait).unwrap() {
            Next::News(0, News::Piece(Output::Stderr, piece)) => told.extend(piece),
            // It prints nothing more before somebody writes to it.
            Next::Nothing if !told.is_empty() => break,
            other @ (Next::News(..) | Next::Nothing | Next::Over(_)) => panic!("{other:?}"),
        }
    }
    assert_eq!(told, b"trouble\n");
    fs::write(ground.at("go"), "word\n").unwrap();
    let mut printed = Vec::new();
    let left = batch.follow(&mut |_, news| {
        if let News::Piece(Output::Stdout, piece) = news {
            printed.extend(piece);
        }
    });
    assert_eq!((printed.as_slice(), left.unwrap()), (&b"word\n"[..], Vec::new()));
}

#[test]
fn all_of_a_flood_is_told_however_little_is_kept() {
    let ground = Ground::new();
    let flood =
        Job { stdout_cap: Some(3), keep: Keep::Tail, ..ground.job("head -c 20000000 /dev/zero; printf END") };
    let (told, done) = follow(flood, &mut |_, _| {});
    assert_eq!((told.len(), &told[told.len() - 3..]), (20_000_003, &b"END"[..]));
    assert_eq!((done.stdout.as_slice(), done.stdout_total), (&b"END"[..], 20_000_003));
}

#[test]
fn a_job_can_be_stopped_at_what_it_prints() {
    let ground = Ground::new();
    let job = ground.job("setsid sleep 3600 & echo enough; exec sleep 3600");
    let (told, done) = follow(job, &mut |_, stopper| stopper.stop());
    assert_eq!((told.as_slice(), done.ended), (&b"enough\n"[..], Ended::Killed));
    ground.await_nobody();
}

#[test]
fn a_file_may_be_the_input() {
    let ground = Ground::new();
    fs::write(ground.at("input"), "from a file").unwrap();
    let job = |name: &str| Job { stdin: Some(ground.at(name)), ..ground.job("cat") };
    assert_eq!(one(job("input")).stdout, b"from a file");
    ground.fifo("fifo");
    for (name, why) in
        [("absent", "No such file"), ("fifo", "not a regular file"), (".", "not a regular file")]
    {
        let ended = one(job(name)).ended;
        assert!(matches!(&ended, Ended::Spawn(reason) if reason.contains(why)), "{ended:?}");
    }
}

#[test]
fn the_environment_of_the_order_is_for_jobs_without_one() {
    let ground = Ground::new();
    let env = |value: &str| Some(vec![("WHOSE".to_owned(), value.to_owned())]);
    let with = Job { env: env("job"), ..ground.job("echo $WHOSE $HOME") };
    let order = Order { env: env("order"), ..Order::new(vec![with, ground.job("echo $WHOSE $HOME")], 1) };
    let said: Vec<Vec<u8>> = run_all(&order).into_iter().map(|done| done.stdout).collect();
    assert_eq!(said, [b"job\n".to_vec(), b"order\n".to_vec()]);
}

#[test]
fn each_job_is_reported_once_and_no_more_run_than_may() {
    let ground = Ground::new();
    fs::create_dir(ground.at("now")).unwrap();
    let body = "mkdir now/$$; ls now | wc -l >> counts; rmdir now/$$; echo $N";
    let job = |n: usize| ground.job(&format!("N={n}; {body}"));
    let results = run_all(&Order::new((0..60).map(job).collect(), 3));
    for (n, done) in results.iter().enumerate() {
        assert_eq!(done.stdout, format!("{n}\n").as_bytes());
    }
    let counts = ground.read("counts");
    assert_eq!(counts.lines().count(), 60);
    assert!(counts.lines().all(|line| line.trim().parse::<usize>().unwrap() <= 3), "{counts}");
}

/// While one job runs, another ends, and leaves something behind that must die; what the first left must not.
#[test]
fn an_orphan_lives_as_long_as_its_own_job() {
    let ground = Ground::new();
    for fifo in ["up", "gone", "checked"] {
        ground.fifo(fifo);
    }
    // The first leaves an orphan in a session of its own, waits until the other job's orphan is dead, and asks whether
    // its own still lives.
    let keeper = "( setsid sh -c 'echo $$ > mine; echo > up; exec sleep 1000' >/dev/null 2>&1 & ); read _ < up; \
                  read _ < gone; kill -0 $(cat mine) && echo lives";
    // The second does the same after the first, and ends.
    let leaver = "( setsid sh -c 'echo $$ > theirs; echo > checked; exec sleep 1000' >/dev/null 2>&1 & ); read _ < checked";
    let order = Order::new(vec![ground.job(keeper), ground.job(leaver)], 2);
    let batch = Batch::start(&image(), &["_batch"], &order).unwrap();
    let mut results = Vec::new();
    batch
        .finish(&mut |index, done| {
            if index == 1 {
                let orphan = ground.read("theirs").trim().parse().unwrap();
                assert!(await_death(orphan), "the orphan of an ended job lives on");
                fs::write(ground.at("gone"), "\n").unwrap();
            }
            results.push((index, done));
        })
        .unwrap();
    assert_eq!(results.last().unwrap().1.stdout, b"lives\n");
    assert_eq!(ground.alive(), []);
}

#[test]
fn spared_programs_live_on_once_they_left_the_group() {
    let ground = Ground::new();
    let mut stranger = Stranger::new();
    let program = ground.at("keepme");
    fs::copy("/bin/sleep", &program).unwrap();
    let body = "./keepme 1000 & setsid ./keepme 2000 >/dev/null 2>&1 & setsid sleep 3000 >/dev/null 2>&1 & \
                until [ $(ls -l /proc/*/exe 2>/dev/null | grep -c \"$PWD/keepme\") = 2 ]; do :; done";
    let mut order = Order::new(vec![ground.job(body)], 1);
    order.spare = vec!["keepme".to_owned()];
    assert_eq!(run_all(&order)[0].ended, Ended::Exited(0));
    let alive = ground.alive();
    assert_eq!(
        alive.iter().map(|(_, command)| command.as_str()).collect::<Vec<_>>(),
        ["./keepme\u{0}2000\0"]
    );
    let pid = rustix::process::Pid::from_raw(alive[0].0).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(stranger.untouched());
    ground.await_nobody();
    order.jobs[0].strict = true;
    assert_eq!(run_all(&order)[0].ended, Ended::Exited(0));
    assert_eq!(ground.alive(), [], "a strict job spares nobody");
}

/// A script may be busy for an instant because a fork elsewhere still has it open for writing.
#[test]
fn a_script_that_is_still_open_is_tried_again() {
    let ground = Ground::new();
    let path = ground.script("late", "echo ran");
    fs::copy("/bin/true", &path).unwrap();
    let busy = fs::File::options().write(true).open(&path).unwrap();
    let order = Order::new(vec![Job { argv: vec![path.into()], ..ground.job("") }], 1);
    let batch = Batch::start(&image(), &["_batch"], &order).unwrap();
    drop(busy);
    let mut ended = None;
    batch.finish(&mut |_, done| ended = Some(done.ended)).unwrap();
    assert_eq!(ended, Some(Ended::Exited(0)));
}

#[test]
fn nonsense_on_the_input_is_refused() {
    use std::io::Write;
    let spawn = || {
        let mut command = std::process::Command::new(image());
        command.arg("_batch").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    for words in [
        "{}\n",
        "nonsense\n",
        "{\"v\":9,\"mark\":\"m\",\"order\":{\"jobs\":[],\"parallel\":1,\"spare\":[]}}\n",
    ] {
        let mut child = spawn();
        child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success(), "{words}");
        assert_eq!(output.stdout, b"");
    }
    assert!(spawn().wait_with_output().unwrap().status.success(), "nobody asked for anything");
}

#[test]
fn an_empty_order_is_over_at_once() {
    assert_eq!(run_all(&Order::new(Vec::new(), 0)), []);
}
