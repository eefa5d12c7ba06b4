//! Folders for temporary files: one for each decide and each worker, which goes when that has ended. Agents leave
//! megabytes there, and do not clean up.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use looop_session::{Standing, host};

use super::brakes::Brakes;

/// Where they are, below the profile.
const FOLDER: &str = "tmp";
/// A longer path leaves too little of the 108 bytes that the path of a socket may have.
const LONGEST: usize = 80;
/// What nobody has started within this time is never started.
const UNUSED: Duration = Duration::from_hours(1);

/// The folder of a session.
fn of(data: &Path, session: &str) -> PathBuf {
    data.join(FOLDER).join(session)
}

/// Makes an empty folder for a session. There is none where its path would be too long for sockets in it: then the
/// session has the one that everybody has.
pub(crate) fn make(data: &Path, session: &str) -> io::Result<Option<PathBuf>> {
    let folder = of(data, session);
    if folder.as_os_str().len() > LONGEST {
        return Ok(None);
    }
    remove(data, session)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(Some(folder))
}

/// Removes the folder of a session, if it has one.
pub(crate) fn remove(data: &Path, session: &str) -> io::Result<()> {
    match std::fs::remove_dir_all(of(data, session)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes the folders of sessions that have ended, of those that were lost, and of those that never began. Says which could
/// not be removed.
pub(super) fn sweep(data: &Path, brakes: &Brakes) -> Vec<String> {
    let entries = match std::fs::read_dir(data.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![format!("{FOLDER}/: {error}")],
    };
    let mut said = Vec::new();
    for entry in entries {
        if brakes.are_pulled() {
            break;
        }
        let swept = entry.and_then(|entry| {
            let name = entry.file_name();
            let Some(session) = name.to_str() else { return Ok(()) };
            if is_over(data, session, &entry)? { remove(data, session) } else { Ok(()) }
        });
        said.extend(swept.err().map(|error| format!("{FOLDER}/: {error}")));
    }
    said
}

/// Whether nobody uses the folder of a session any more.
fn is_over(data: &Path, session: &str, entry: &std::fs::DirEntry) -> io::Result<bool> {
    Ok(match host::standing(&data.join("sessions").join(session))? {
        Standing::Live => false,
        Standing::Ended(_) | Standing::Lost | Standing::Corrupt(_) => true,
        // It may be about to start.
        Standing::Absent | Standing::NeverRan => {
            let modified = entry.metadata()?.modified()?;
            SystemTime::now().duration_since(modified).is_ok_and(|age| age >= UNUSED)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_go_with_the_end_of_their_sessions() {
        let data = tempfile::tempdir().unwrap();
        let (data, brakes) = (data.path(), Brakes::default());
        assert_eq!(sweep(data, &brakes), Vec::<String>::new());
        for session in ["w~1", "decide~2", "w~3"] {
            let folder = make(data, session).unwrap().unwrap();
            fs::write(folder.join("left"), "x").unwrap();
        }
        // One was started and lost, one is about to start, one was to start long ago.
        fs::create_dir_all(data.join("sessions/w~1")).unwrap();
        fs::write(data.join("sessions/w~1/started"), "").unwrap();
        let old = fs::File::open(data.join("tmp/decide~2")).unwrap();
        old.set_modified(SystemTime::now() - UNUSED).unwrap();
        assert_eq!(sweep(data, &brakes), Vec::<String>::new());
        let left: Vec<_> =
            fs::read_dir(data.join("tmp")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["w~3"]);
        assert_eq!(fs::read_dir(make(data, "w~3").unwrap().unwrap()).unwrap().count(), 0, "it is made anew");
    }

    #[test]
    fn a_path_that_leaves_no_room_for_sockets_is_not_used() {
        let data = tempfile::tempdir().unwrap();
        let deep = data.path().join("x".repeat(LONGEST));
        assert_eq!(make(&deep, "w~1").unwrap(), None);
        assert!(!deep.exists());
    }
}
