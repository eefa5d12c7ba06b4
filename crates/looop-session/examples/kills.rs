//! Starts many idle sessions and ends them all, one after the other and all at once.
//!
//! `cargo run --release -p looop-session --example kills -- [sessions] [rounds] [pipe|terminal] [shell text]`

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench, run by hand")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use looop_session::{Ended, Launched, Size, Spec, Standing, host};

/// How many threads end sessions at once.
const THREADS: usize = 32;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, folder] = words.as_slice()
        && verb == "_host"
    {
        return host::main(Path::new(folder));
    }
    let number = |at: usize, default: usize| words.get(at).map_or(default, |word| word.parse().unwrap());
    let (sessions, rounds) = (number(0, 200), number(1, 3));
    let terminal = words.get(2).is_some_and(|word| word == "terminal");
    let text = words.get(3).map_or("sleep 100000; exit", String::as_str);
    for _ in 0..rounds {
        for threads in [THREADS, 1] {
            let dir = tempfile::tempdir().unwrap();
            let (started, launched) = start(dir.path(), sessions, &spec(dir.path(), text, terminal));
            let before = cpu();
            let ended = end(dir.path(), sessions, threads);
            println!(
                "start {started:7.1?}   end with {threads:2} threads {ended:7.1?}   (processor {:.1?})",
                cpu().saturating_sub(before)
            );
            for launched in launched {
                launched.wait().unwrap();
            }
        }
    }
    ExitCode::SUCCESS
}

fn spec(cwd: &Path, text: &str, terminal: bool) -> Spec {
    let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
    let spec = Spec::new(vec!["/bin/bash".into(), "-c".into(), text.into()], cwd.to_owned(), env);
    if terminal { spec.in_terminal(Size::default()) } else { spec }
}

/// Launches them all; they run when each has said which child it has.
fn start(root: &Path, sessions: usize, spec: &Spec) -> (Duration, Vec<Launched>) {
    let image = std::env::current_exe().unwrap();
    let begun = Instant::now();
    let launched: Vec<Launched> = (0..sessions)
        .map(|index| {
            let prepared = host::prepare(&folder(root, index), spec).unwrap();
            host::launch(prepared, &image, &["_host"]).unwrap()
        })
        .collect();
    for index in 0..sessions {
        while std::fs::metadata(folder(root, index).join("lock")).unwrap().len() == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    (begun.elapsed(), launched)
}

fn end(root: &Path, sessions: usize, threads: usize) -> Duration {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || {
                for index in (first..sessions).step_by(threads) {
                    let standing = host::end(&folder(root, index)).unwrap();
                    assert!(
                        matches!(&standing, Standing::Ended(receipt) if receipt.ended == Ended::Killed),
                        "{standing:?}"
                    );
                }
            });
        }
    });
    begun.elapsed()
}

fn folder(root: &Path, index: usize) -> PathBuf {
    root.join(format!("w~{index}"))
}

/// The processor time of the whole machine that was not idle.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<u64> = text
        .lines()
        .next()
        .into_iter()
        .flat_map(|line| line.split_whitespace().skip(1))
        .flat_map(str::parse)
        .collect();
    let busy: u64 = fields.iter().take(3).sum();
    Duration::from_millis(busy * 10)
}
