//! Watching the profile: which file events wake the loop.
//!
//! A watch is put up before the folder is looked at, so that no change falls between the two. What a watch missed,
//! because the kernel's queue was full or a folder was made anew, counts as a change: a look sees the whole world anyway.

use std::path::Path;

use looop_core::ledger::entry::Cause;

/// After so many milliseconds without an event a burst is over.
const QUIET: u64 = 50;
/// No burst is waited for longer than this many milliseconds.
const LONGEST: u64 = 500;

/// Most events that are taken at once: in a storm that does not end, the rest of the loop has its turn.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 20_000;

/// What is watched: a folder below the profile, and which of its names count.
const WATCHED: [(&str, Names); 11] = [
    ("", Names::Policy),
    ("goals", Names::Plain),
    ("sensors", Names::Plain),
    ("schedules", Names::Plain),
    ("asks", Names::Plain),
    ("answers", Names::Plain),
    ("tells", Names::Plain),
    ("claims", Names::Plain),
    ("spend", Names::Plain),
    ("sessions", Names::Status),
    ("sessions/status", Names::Sessions),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// All but dot files, which are locks and files in the making.
    Plain,
    /// The policy files in the profile's own folder, and the watched folders themselves.
    Policy,
    /// Only the folder in which hosts say how their sessions stand.
    Status,
    /// What hosts say there.
    Sessions,
}

impl Names {
    fn count(self, name: &str) -> bool {
        match self {
            Self::Plain | Self::Sessions => !name.starts_with('.') && !name.ends_with('~'),
            Self::Status => name == "status",
            Self::Policy => {
                matches!(name, "PLAYBOOK.md" | "config.toml" | "config.json" | "looop.json" | "policy.toml")
                    || WATCHED.iter().any(|(folder, _)| !name.is_empty() && *folder == name)
            }
        }
    }
}

/// What a file event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    /// Something to look at.
    Wakes(Cause),
    /// The folder of the profile is not where it was.
    Uprooted,
}

/// A burst of events that is being waited out. Times are milliseconds of the boot-time clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    first: u64,
    last: u64,
    cause: Cause,
}

impl Burst {
    /// Takes in an event.
    pub(super) fn add(burst: Option<Self>, cause: Cause, now: u64) -> Self {
        let Some(burst) = burst else { return Self { first: now, last: now, cause } };
        Self { last: now, cause: if burst.cause == cause { cause } else { Cause::Files }, ..burst }
    }

    /// When it is over, if nothing more comes.
    pub(super) fn over(self) -> u64 {
        (self.last + QUIET).min(self.first + LONGEST)
    }

    /// What it is looked for.
    pub(super) fn cause(self) -> Cause {
        self.cause
    }
}

pub(super) use system::Watch;

#[cfg(target_os = "linux")]
mod system {
    use std::collections::HashMap;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::PathBuf;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{AT_ONCE, Cause, Names, Noise, Path, WATCHED};

    /// The watches of a profile, in one descriptor.
    #[derive(Debug)]
    pub(in crate::pulse) struct Watch {
        fd: OwnedFd,
        root: PathBuf,
        folders: HashMap<i32, Names>,
    }

    impl Watch {
        /// Watches the profile, as far as its folders are there.
        pub(in crate::pulse) fn new(root: &Path) -> io::Result<Self> {
            let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let mut watch = Self { fd, root: root.to_owned(), folders: HashMap::new() };
            watch.put_up()?;
            Ok(watch)
        }

        /// Puts up the watches that are missing. The kernel gives the same number for a folder that is watched already.
        fn put_up(&mut self) -> io::Result<()> {
            let mask = WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            for (folder, names) in WATCHED {
                match inotify::add_watch(&self.fd, self.root.join(folder), mask) {
                    Ok(number) => drop(self.folders.insert(number, names)),
                    // Its own folder tells when it comes.
                    Err(Errno::NOENT | Errno::NOTDIR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }

        /// Takes the events that wait and says what they mean. Folders that came are watched from here on.
        pub(in crate::pulse) fn take(&mut self) -> io::Result<Option<Noise>> {
            let Self { fd, folders, .. } = self;
            let (mut noise, mut moved) = (None, false);
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(&*fd, &mut buffer);
            for _ in 0..AT_ONCE {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                let Some((meaning, anew)) = meaning(&event, folders) else { continue };
                moved |= anew;
                if event.events().contains(ReadFlags::MOVE_SELF) {
                    // What is somewhere else now is nobody's business here. It may be gone by now, which is as good.
                    inotify::remove_watch(&*fd, event.wd()).ok();
                }
                noise = Some(louder(noise, meaning));
            }
            if moved {
                self.put_up()?;
            }
            Ok(noise)
        }
    }

    /// What an event means, and whether a folder came or went with it.
    fn meaning(event: &inotify::Event<'_>, folders: &mut HashMap<i32, Names>) -> Option<(Noise, bool)> {
        let flags = event.events();
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return Some((Noise::Wakes(Cause::Files), true));
        }
        let names = *folders.get(&event.wd())?;
        if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED) {
            folders.remove(&event.wd());
            let uprooted = names == Names::Policy;
            return Some((if uprooted { Noise::Uprooted } else { Noise::Wakes(Cause::Files) }, !uprooted));
        }
        let name = event.file_name().and_then(|name| name.to_str().ok()).unwrap_or("?");
        let cause = if names == Names::Sessions { Cause::Session } else { Cause::Files };
        names.count(name).then_some((Noise::Wakes(cause), matches!(names, Names::Policy | Names::Status)))
    }

    fn louder(before: Option<Noise>, now: Noise) -> Noise {
        match (before, now) {
            (Some(Noise::Uprooted), _) | (_, Noise::Uprooted) => Noise::Uprooted,
            (Some(Noise::Wakes(one)), Noise::Wakes(other)) if one != other => Noise::Wakes(Cause::Files),
            (_, noise) => noise,
        }
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::convert::Infallible;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};

    use super::{Noise, Path};

    /// There are no such events here.
    #[derive(Debug)]
    pub(in crate::pulse) struct Watch(Infallible);

    impl Watch {
        pub(in crate::pulse) fn new(_root: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::pulse) fn take(&mut self) -> io::Result<Option<Noise>> {
            match self.0 {}
        }
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_after_a_silence_and_never_lasts() {
        let mut burst = Burst::add(None, Cause::Files, 1000);
        assert_eq!(burst.over(), 1050);
        for at in (1040..1600).step_by(40) {
            burst = Burst::add(Some(burst), Cause::Files, at);
        }
        assert_eq!(burst.over(), 1500);
    }

    #[test]
    fn a_burst_is_named_after_what_it_is_made_of() {
        let burst = Burst::add(None, Cause::Session, 0);
        assert_eq!(Burst::add(Some(burst), Cause::Session, 1).cause(), Cause::Session);
        assert_eq!(Burst::add(Some(burst), Cause::Files, 1).cause(), Cause::Files);
    }

    #[test]
    fn names_by_table() {
        let table = [
            (Names::Plain, "a.md", true),
            (Names::Plain, ".a.md.tmp", false),
            (Names::Plain, "a.md~", false),
            (Names::Policy, "PLAYBOOK.md", true),
            (Names::Policy, "goals", true),
            (Names::Policy, "journal.md", false),
            (Names::Policy, "sock", false),
            (Names::Policy, "lock", false),
            (Names::Policy, "", false),
            (Names::Policy, "pulse.log", false),
            (Names::Policy, "sessions", true),
            (Names::Status, "status", true),
            (Names::Status, "move~1", false),
            (Names::Sessions, "w~1.json", true),
            (Names::Sessions, ".w~1.json.tmp", false),
        ];
        for (names, name, counts) in table {
            assert_eq!(names.count(name), counts, "{names:?} {name:?}");
        }
    }

    #[cfg(target_os = "linux")]
    mod real {
        use std::fs;

        use rustix::event::{PollFd, PollFlags, poll};

        use super::*;

        /// What comes next; fails by the test's own deadline if nothing does.
        fn next(watch: &mut Watch) -> Noise {
            loop {
                poll(&mut [PollFd::new(watch, PollFlags::IN)], None).unwrap();
                if let Some(noise) = watch.take().unwrap() {
                    return noise;
                }
            }
        }

        fn furnished() -> tempfile::TempDir {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["goals", "asks", "sessions/status"] {
                fs::create_dir_all(dir.path().join(folder)).unwrap();
            }
            dir
        }

        #[test]
        fn folders_that_come_and_go_are_watched_again() {
            let dir = furnished();
            let goals = dir.path().join("goals");
            let mut watch = Watch::new(dir.path()).unwrap();
            fs::remove_dir(&goals).unwrap();
            assert_eq!(next(&mut watch), Noise::Wakes(Cause::Files));
            while watch.take().unwrap().is_some() {}
            fs::create_dir(&goals).unwrap();
            assert_eq!(next(&mut watch), Noise::Wakes(Cause::Files));
            while watch.take().unwrap().is_some() {}
            fs::write(goals.join("a.md"), "x").unwrap();
            assert_eq!(next(&mut watch), Noise::Wakes(Cause::Files));
            fs::rename(&goals, dir.path().join("elsewhere")).unwrap();
            assert_eq!(next(&mut watch), Noise::Wakes(Cause::Files));
            while watch.take().unwrap().is_some() {}
            fs::write(dir.path().join("elsewhere/b.md"), "x").unwrap();
            assert_eq!(watch.take().unwrap(), None, "what is elsewhere is not ours");
        }

        #[test]
        fn sessions_are_told_from_files_and_noise_is_not_heard() {
            let dir = furnished();
            let mut watch = Watch::new(dir.path()).unwrap();
            fs::write(dir.path().join("journal.md"), "x").unwrap();
            fs::write(dir.path().join("goals/.lock"), "x").unwrap();
            fs::create_dir(dir.path().join("sessions/w~1")).unwrap();
            assert_eq!(watch.take().unwrap(), None);
            fs::write(dir.path().join("sessions/status/w~1.json"), "x").unwrap();
            assert_eq!(next(&mut watch), Noise::Wakes(Cause::Session));
        }

        #[test]
        fn the_profile_itself_is_missed() {
            for rename in [true, false] {
                let dir = tempfile::tempdir().unwrap();
                let root = dir.path().join("data");
                fs::create_dir(&root).unwrap();
                let mut watch = Watch::new(&root).unwrap();
                if rename {
                    fs::rename(&root, dir.path().join("other")).unwrap();
                } else {
                    fs::remove_dir(&root).unwrap();
                }
                assert_eq!(next(&mut watch), Noise::Uprooted);
            }
        }

        #[test]
        fn an_overflow_of_the_queue_counts_as_a_change() {
            let dir = furnished();
            let mut watch = Watch::new(dir.path()).unwrap();
            let text = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
            let most: usize = text.trim().parse().unwrap();
            // Names that do not count, so that only the overflow can be heard.
            let (one, two) = (dir.path().join("goals/.a"), dir.path().join("goals/.b"));
            fs::write(&one, "x").unwrap();
            for _ in 0..=most / 2 {
                fs::rename(&one, &two).unwrap();
                fs::rename(&two, &one).unwrap();
            }
            let mut heard = Vec::new();
            for _ in 0..=4 * most / AT_ONCE {
                heard.extend(watch.take().unwrap());
            }
            assert_eq!(heard, [Noise::Wakes(Cause::Files)]);
        }
    }
}
