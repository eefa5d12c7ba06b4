//! Opening the log: the newest file, replayed.

use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::{Form, Ledger};

use super::error::{AppendError, LogError};
use super::file::{FOLDER, LogFile, files, load};
use super::fold;
use super::writer::Log;
use crate::dir::Reader;
use crate::disk::Disk;
use crate::error::failed;
use crate::lock::Writer;
use crate::point::point;

/// What had to be done to the log to open it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Repair {
    /// The file whose torn end was cut off, with the number of bytes.
    pub cut: Option<(String, u64)>,
    /// Whether what was cut off had zeros in it, as a loss of power leaves them.
    pub hole: bool,
}

impl Repair {
    /// The repair in words, where there was one.
    pub fn text(&self) -> Option<String> {
        let (path, bytes) = self.cut.as_ref()?;
        if self.hole {
            return Some(format!(
                "a loss of power left zeros in lines of {path} that were not synced; the last {bytes} bytes were cut \
                 off, and nothing that they say was acted upon"
            ));
        }
        Some(format!("{path} ended in the middle of an append; {bytes} bytes were cut off"))
    }
}

impl Reader {
    /// The ledger as the log has it. A torn end is passed over and left in place.
    pub fn ledger(&self) -> Result<Ledger, LogError> {
        Ok(newest(self.disk())?.map(|(_, ledger)| ledger).unwrap_or_default())
    }
}

impl Writer {
    /// Opens the log for appending, cutting off a torn end, or begins it.
    pub fn open_log(&self) -> Result<(Log, Ledger, Repair), LogError> {
        let disk = self.disk();
        let Some((file, mut ledger)) = newest(disk)? else {
            let ledger = Ledger::default();
            return Ok((Log::begin(self, &ledger)?, ledger, Repair::default()));
        };
        let repair = cut(disk, &file)?;
        if ledger.acting.is_some() || ledger.deciding.is_some() {
            // Whoever wrote this may have died before it was durable. It will be acted upon, so it must be.
            // To sync again after a failure would prove nothing, in this process or the next.
            if disk.sync_data(&file.path).is_err() {
                file.write_anew(disk)?;
            }
            disk.sync_dir(FOLDER).map_err(failed(FOLDER, "made durable"))?;
        }
        let mut log = Log::resume(self, &file, &ledger);
        if ledger.form != Form::default() {
            // An earlier version wrote the snapshot. What it remembers is brought within the bounds of this one, and a
            // new file begins with that.
            ledger.bound();
            log.rotate(&ledger).map_err(|error| rotated(&file.path, error))?;
        }
        Ok((log, ledger, repair))
    }
}

fn rotated(path: &str, error: AppendError) -> LogError {
    match error {
        AppendError::Write(error) => LogError::Write(error),
        other @ (AppendError::Poisoned
        | AppendError::Gap { .. }
        | AppendError::Json(_)
        | AppendError::TooLong(_)) => LogError::Write(failed(path, "written")(std::io::Error::other(other))),
    }
}

/// The newest file and the ledger after its last whole line.
pub(super) fn newest(disk: &dyn Disk) -> Result<Option<(LogFile, Ledger)>, LogError> {
    let Some(first) = files(disk)?.pop() else { return Ok(None) };
    let (mut file, head) = load(disk, first)?;
    let (mut ledger, start) = fold::read(disk, &file).unwrap_or((head.snapshot, file.folded));
    file.folded = start;
    file.each_from(start, ledger.seq, &mut |line| apply_line(&mut ledger, &line))?;
    Ok(Some((file, ledger)))
}

/// Cuts off what follows the last whole line.
pub(super) fn cut(disk: &dyn Disk, file: &LogFile) -> Result<Repair, LogError> {
    if file.torn() == 0 {
        return Ok(Repair::default());
    }
    disk.truncate(&file.path, file.whole()).map_err(failed(&file.path, "repaired"))?;
    if disk.sync_data(&file.path).is_err() {
        file.write_anew(disk)?;
    }
    point("store.log-cut");
    Ok(Repair { cut: Some((file.path.clone(), file.torn())), hole: file.hole })
}
