//! What a profile consists of, made when a verb first changes something.

use rustix::fs::RawMode;

use crate::disk::{is_taken, write_new};
use crate::error::{StoreError, failed};
use crate::lock::Writer;

/// The folders of a profile. Sessions make theirs themselves.
pub const FOLDERS: &[&str] = &[
    "goals",
    "goals/archive",
    "sensors",
    "schedules",
    "playbook.d",
    "undo.d",
    "reports",
    "scratch",
    "box",
    "box/scratch",
    "box/reports",
    "asks",
    "answers",
    "tells",
    "claims",
    "spend",
    "mail.d",
    "shown",
    "snapshots",
    "runs",
    "sessions",
    "log",
];

const GITIGNORE_FILE: &str = ".gitignore";
/// Leaves what a person would version: PLAYBOOK, goals, sensors, schedules, config, policy, journal, reports.
const GITIGNORE: &str = "\
# Written by looop once; edit it as you like.
/lock
/sock
/log/
/runs/
/sessions/
/snapshots/
/scratch/
/box/
/undo.d/
/mail.d/
/shown/
/asks/
/answers/
/tells/
/claims/
/spend/
/tmp/
/work/
/pulse.log*
/journal.md.*
.looop-tmp-*
";

/// A file to put into a fresh profile: path, bytes, mode.
pub type Seed<'a> = (&'a str, &'a [u8], RawMode);

impl Writer {
    /// Makes the folders that are missing, 0700 whatever the umask, and `.gitignore` if there is none.
    pub fn layout(&self) -> Result<(), StoreError> {
        // One look at the profile instead of one at each folder: this runs at every beat.
        let there = self.disk().list("").value().unwrap_or_default();
        let is_there = |path: &str| there.iter().any(|listed| listed.name.as_os_str() == path);
        let mut made = false;
        for folder in FOLDERS {
            // Whoever confines something makes these anew where they were removed.
            if folder.starts_with("box/") && is_there("box") {
                continue;
            }
            if !is_there(folder) && self.disk().stat(folder).is_absent() {
                self.disk().make_dir(folder).map_err(failed(folder, "made"))?;
                made = true;
            }
        }
        made |= !is_there(GITIGNORE_FILE)
            && !self.seed(&[(GITIGNORE_FILE, GITIGNORE.as_bytes(), 0o600)])?.is_empty();
        if made {
            self.disk().sync_dir("").map_err(failed("the profile", "made durable"))?;
        }
        Ok(())
    }

    /// Writes those of the files that are absent, never over a person's, and says which.
    pub fn seed(&self, files: &[Seed<'_>]) -> Result<Vec<String>, StoreError> {
        let mut written = Vec::new();
        for (path, bytes, mode) in files {
            if !self.disk().stat(path).is_absent() {
                continue;
            }
            match write_new(self.disk(), path, bytes, *mode) {
                Ok(()) => written.push((*path).to_owned()),
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }
}
