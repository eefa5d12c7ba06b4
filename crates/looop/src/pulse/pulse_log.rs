//! The log of a detached loop, on the writer's side: `pulse.log`, and one older generation of it.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// What it is called in a profile.
pub(crate) const NAME: &str = "pulse.log";
/// From this size on a new file is begun.
const MOST: u64 = 1 << 20;

/// Opens the file for appending, or makes it; 0600 whatever the mask. It must be a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options()
        .append(true)
        .read(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if meta.permissions().mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// The file that the standard streams of this process lead to. Nothing that happens to it ends the process.
pub(crate) struct PulseLog {
    path: PathBuf,
    /// The file, and which one it is.
    open: Option<(File, (u64, u64))>,
    /// How many lines could not be written since the last one that could.
    lost: u64,
    /// Whether a failure to begin a new file was said.
    complained: bool,
}

impl PulseLog {
    /// Takes it over: standard output and errors go there from now on.
    pub(crate) fn take(path: PathBuf) -> Self {
        let mut log = Self { path, open: None, lost: 0, complained: false };
        log.check();
        log
    }

    /// Writes a line. What cannot be written is counted, and that is said as soon as something can be.
    pub(crate) fn write(&mut self, line: &str) {
        self.check();
        if self.lost > 0 && self.append(&format!("\nlooop: {} lines are missing here\n", self.lost)) {
            self.lost = 0;
        }
        if self.lost > 0 || !self.append(&format!("{line}\n")) {
            self.lost += 1;
        }
    }

    fn append(&self, text: &str) -> bool {
        self.open.as_ref().is_some_and(|(file, _)| (&mut &*file).write_all(text.as_bytes()).is_ok())
    }

    /// Begins a new file where the old one is long enough, or is not there any more.
    pub(crate) fn check(&mut self) {
        match self.renew() {
            Ok(()) => self.complained = false,
            // Whatever is still open is written to.
            Err(error) if !self.complained => {
                self.complained = true;
                let text = format!("looop: {} cannot be begun anew: {error}", self.path.display());
                drop(writeln!(io::stderr().lock(), "{text}"));
            }
            Err(_) => {}
        }
    }

    fn renew(&mut self) -> io::Result<()> {
        let ours = self.open.as_ref().map(|(_, identity)| *identity);
        match self.path.symlink_metadata() {
            Ok(meta) if Some(identity(&meta)) != ours => self.reopen(),
            Ok(meta) if meta.len() < MOST => Ok(()),
            Ok(_) => {
                let mut older = self.path.clone().into_os_string();
                older.push(".1");
                std::fs::rename(&self.path, older)?;
                self.reopen()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.reopen(),
            Err(error) => Err(error),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        let file = open(&self.path)?;
        rustix::stdio::dup2_stdout(&file)?;
        rustix::stdio::dup2_stderr(&file)?;
        let identity = identity(&file.metadata()?);
        self.open = Some((file, identity));
        Ok(())
    }
}

fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that is open as it is found, so that the streams of the test are left alone.
    fn on(path: &Path, file: File) -> PulseLog {
        let identity = identity(&file.metadata().unwrap());
        PulseLog { path: path.to_owned(), open: Some((file, identity)), lost: 0, complained: false }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_could_not_be_written_is_counted_and_said_once_there_is_room() {
        let full = Path::new("/dev/full");
        let mut log = on(full, File::options().write(true).open(full).unwrap());
        log.write("one");
        log.write("two");
        assert_eq!(log.lost, 2);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let mut roomy = PulseLog { lost: log.lost, ..on(&path, open(&path).unwrap()) };
        roomy.write("three");
        roomy.write("four");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "\nlooop: 2 lines are missing here\nthree\nfour\n");
    }

    #[test]
    fn it_is_a_file_of_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        std::fs::write(&path, "old\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        open(&path).unwrap().write_all(b"new\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\nnew\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open(&link).is_err() && open(dir.path()).is_err());
    }
}
