//! A batch of tiny scripts beside `xargs -P` running the same, interleaved, as a ratio.
//!
//! `cargo run --release -p looop-session --example race -- [jobs] [parallel] [rounds]`

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench, run by hand")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use looop_session::{Batch, Ended, Job, Order, batch};

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    if words.peek().is_some_and(|word| word == "_batch") {
        return batch::serve(&io::stdin(), &io::stdout()).unwrap();
    }
    let mut number = |default: usize| words.next().map_or(default, |word| word.parse().unwrap());
    let (jobs, parallel, rounds) = (number(1000), number(4), number(5));
    let dir = tempfile::tempdir().unwrap();
    let scripts: Vec<PathBuf> = (0..jobs).map(|index| script(dir.path(), index)).collect();
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let (ours, theirs) = (race_batch(&scripts, parallel), race_xargs(&scripts, parallel));
        ratios.push(ours.as_secs_f64() / theirs.as_secs_f64());
        println!("batch {ours:8.1?}   xargs {theirs:8.1?}");
    }
    ratios.sort_by(f64::total_cmp);
    println!("{jobs} jobs, {parallel} at once: median ratio {:.2}", ratios[ratios.len() / 2]);
}

fn script(dir: &Path, index: usize) -> PathBuf {
    let path = dir.join(format!("s{index}"));
    fs::write(&path, "#!/bin/sh\necho '{\"signal\":{\"red\":1}}'\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn race_batch(scripts: &[PathBuf], parallel: usize) -> Duration {
    let job = |script: &PathBuf| Job {
        argv: vec![script.into()],
        cwd: "/".into(),
        timeout: Some(Duration::from_mins(1)),
        stdout_cap: Some(8192),
        stderr_cap: Some(65536),
        ..Job::default()
    };
    let order = Order::new(scripts.iter().map(job).collect(), parallel);
    let began = Instant::now();
    let mut good = 0;
    Batch::run(&std::env::current_exe().unwrap(), &["_batch"], &order, &mut |_, done| {
        good += usize::from(done.ended == Ended::Exited(0) && done.stdout_total == 21);
    })
    .unwrap();
    assert_eq!(good, scripts.len());
    began.elapsed()
}

fn race_xargs(scripts: &[PathBuf], parallel: usize) -> Duration {
    let list = scripts.iter().map(|script| script.display().to_string()).collect::<Vec<_>>().join("\n");
    let began = Instant::now();
    let mut command = Command::new("xargs");
    command.args(["-P", &parallel.to_string(), "-n1", "/bin/sh"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut xargs = command.spawn().unwrap();
    xargs.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    assert!(xargs.wait().unwrap().success());
    began.elapsed()
}
