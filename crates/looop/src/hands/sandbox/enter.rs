//! The last step before bubblewrap: limits, and the filter of system calls.
//!
//! It is a process of its own, since both hold for whoever sets them and for all that come of it.

use std::ffi::{OsStr, OsString};
use std::io;

/// Most bytes of one file, most open files, seconds of processor time of one process of a command.
const FILE_BYTES: u64 = 4 << 30;
const OPEN_FILES: u64 = 16384;
const SECONDS: u64 = 3600;

/// Sets the limits of a `command` or a `worker` and becomes bubblewrap, the rest of the words. It returns only if that
/// fails, with the exit code that says so and the reason.
pub(crate) fn enter(words: &[OsString]) -> (u8, String) {
    let unconfined = |error: String| (126, format!("it could not be confined and was not run: {error}"));
    let Some((kind, [bwrap, rest @ ..])) = words.split_first() else {
        return unconfined("there is no command".to_owned());
    };
    if let Err(error) = limit(kind) {
        return unconfined(format!("limits: {error}"));
    }
    match filtered(bwrap, rest) {
        Ok((argv, _filters)) => {
            let error = looop_session::turn_into(&argv);
            unconfined(format!("{}: {error}", bwrap.display()))
        }
        Err(error) => unconfined(format!("the filter of system calls: {error}")),
    }
}

/// bubblewrap with the filters and the files that it copies, all of which stay open until it has read them.
#[cfg(target_os = "linux")]
fn filtered(bwrap: &OsStr, rest: &[OsString]) -> Result<(Vec<OsString>, Vec<std::fs::File>), String> {
    use std::os::fd::AsRawFd;
    let mut open = super::filter::files()?;
    let mut argv = vec![bwrap.to_owned()];
    for filter in &open {
        argv.extend(["--add-seccomp-fd".into(), filter.as_raw_fd().to_string().into()]);
    }
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        if word == super::system::COPY {
            let path = rest.next().ok_or("there is no file to be copied")?;
            let file = inherited(path).map_err(|error| format!("{}: {error}", path.display()))?;
            argv.extend(["--file".into(), file.as_raw_fd().to_string().into(), path.clone()]);
            open.push(file);
        } else {
            argv.push(word.clone());
        }
        // What comes then is the command's own.
        if word == "--" {
            break;
        }
    }
    argv.extend(rest.cloned());
    Ok((argv, open))
}

/// A file that whoever we become has open.
#[cfg(target_os = "linux")]
fn inherited(path: &OsStr) -> io::Result<std::fs::File> {
    let file = std::fs::File::open(path)?;
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn filtered(_: &OsStr, _: &[OsString]) -> Result<(Vec<OsString>, Vec<std::fs::File>), String> {
    Err("bubblewrap is a part of Linux".to_owned())
}

#[cfg(target_os = "linux")]
fn limit(kind: &OsStr) -> io::Result<()> {
    use rustix::process::Resource;
    at_most(Resource::Core, 0)?;
    at_most(Resource::Fsize, FILE_BYTES)?;
    at_most(Resource::Nofile, OPEN_FILES)?;
    at_most(Resource::Data, rustix::system::sysinfo().totalram as u64 / 2)?;
    if kind == "command" {
        at_most(Resource::Cpu, SECONDS)?;
    }
    // Where memory runs out, the kernel ends what is confined before anything of the person.
    std::fs::write("/proc/self/oom_score_adj", "500")
}

#[cfg(not(target_os = "linux"))]
fn limit(_: &OsStr) -> io::Result<()> {
    Ok(())
}

/// Lowers a limit, and never raises one.
#[cfg(target_os = "linux")]
fn at_most(resource: rustix::process::Resource, most: u64) -> io::Result<()> {
    use rustix::process::{Rlimit, getrlimit, setrlimit};
    let now = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    Ok(setrlimit(resource, Rlimit { current: lower(now.current), maximum: lower(now.maximum) })?)
}
