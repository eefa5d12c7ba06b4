//! Runs: the evidence of beats that decided, `runs/<run>/`.

use looop_core::bounds;
use looop_core::model::plan::RunId;

use crate::dir::{Reader, STATE_LIMIT};
use crate::disk::{Disk, Kind, Links, Stored, durable_write, join};
use crate::error::{StoreError, failed};
use crate::lock::Writer;

const FOLDER: &str = "runs";
/// How the names of the working folders of a run's command begin.
const WORK: &str = "work-";

/// What a run left behind. Each file may be absent, unreadable or corrupt by itself.
#[derive(Debug)]
pub struct RunFiles {
    /// `record.json`.
    pub record: Stored<Vec<u8>>,
    /// `prompt.md`.
    pub prompt: Stored<Vec<u8>>,
    /// `output.log`.
    pub output: Stored<Vec<u8>>,
    /// `decision.json`.
    pub decision: Stored<Vec<u8>>,
}

/// How many bytes runs may have.
#[derive(Clone, Copy, Debug)]
pub struct RunBounds {
    /// One of them.
    pub one: u64,
    /// All together.
    pub all: u64,
}

impl Default for RunBounds {
    fn default() -> Self {
        Self { one: bounds::RUN, all: bounds::RUNS_TOTAL }
    }
}

/// What was removed of a run because it was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRun {
    /// What its command left in its working folders.
    Work {
        /// Which.
        run: RunId,
        /// How much.
        bytes: u64,
    },
    /// All of it.
    Whole {
        /// Which.
        run: RunId,
        /// How much.
        bytes: u64,
    },
}

/// The folder of a run, below the profile.
pub fn run_folder(run: RunId) -> String {
    format!("{FOLDER}/{run}")
}

impl Reader {
    /// The newest `most` runs, newest first. Runs of older versions have other names and are left alone.
    pub fn runs(&self, most: usize) -> Result<Vec<RunId>, StoreError> {
        let listed =
            self.disk().list(FOLDER).into_io().map_err(failed(FOLDER, "listed"))?.unwrap_or_default();
        let number = |name: &str| (name.len() >= 6).then(|| name.parse::<u64>().ok().map(RunId))?;
        let folders = listed.iter().filter(|listed| listed.kind == Kind::Dir);
        let mut found: Vec<RunId> = folders.filter_map(|listed| number(listed.name.to_str()?)).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(most);
        Ok(found)
    }

    /// One file of a run.
    pub fn run_file(&self, run: RunId, name: &str) -> Stored<Vec<u8>> {
        let path = format!("{}/{name}", run_folder(run));
        self.disk().read(&path, STATE_LIMIT, Links::Refuse).map(|content| content.bytes)
    }

    /// All files of a run.
    pub fn run_files(&self, run: RunId) -> RunFiles {
        RunFiles {
            record: self.run_file(run, "record.json"),
            prompt: self.run_file(run, "prompt.md"),
            output: self.run_file(run, "output.log"),
            decision: self.run_file(run, "decision.json"),
        }
    }
}

impl Writer {
    /// Makes a run's folder, 0700, with its prompt in it.
    pub fn make_run(&self, run: RunId, prompt: &[u8]) -> Result<(), StoreError> {
        let folder = run_folder(run);
        for path in [FOLDER, &folder] {
            self.disk().make_dir(path).map_err(failed(path, "made"))?;
        }
        durable_write(self.disk(), &format!("{folder}/prompt.md"), prompt, 0o600)?;
        self.disk().sync_dir(FOLDER).map_err(failed(&folder, "made durable"))
    }

    /// Removes all but the newest `keep` runs, and says how many.
    pub fn prune_runs(&self, keep: usize) -> Result<usize, StoreError> {
        let mut all = self.runs(usize::MAX)?;
        let old = all.split_off(keep.min(all.len()));
        for run in &old {
            let path = run_folder(*run);
            self.disk().remove_tree(&path).map_err(failed(&path, "removed"))?;
        }
        Ok(old.len())
    }

    /// Removes what makes a run, or all runs together, larger than they may be, and says what. A run that is under way
    /// is left alone.
    pub fn bound_runs(&self, under_way: Option<RunId>, most: RunBounds) -> Result<Vec<CutRun>, StoreError> {
        let (mut cut, mut total) = (Vec::new(), 0_u64);
        for run in self.runs(usize::MAX)?.into_iter().filter(|run| Some(*run) != under_way) {
            let path = run_folder(run);
            let before = tree_bytes(self.disk(), &path);
            let mut bytes = before;
            if bytes > most.one {
                self.remove_work(&path)?;
                bytes = tree_bytes(self.disk(), &path);
            }
            if bytes > most.one || total.saturating_add(bytes) > most.all {
                self.disk().remove_tree(&path).map_err(failed(&path, "removed"))?;
                cut.push(CutRun::Whole { run, bytes: before });
                continue;
            }
            if bytes < before {
                cut.push(CutRun::Work { run, bytes: before - bytes });
            }
            total += bytes;
        }
        Ok(cut)
    }

    /// Removes the working folders of a run's command.
    fn remove_work(&self, folder: &str) -> Result<(), StoreError> {
        let listed =
            self.disk().list(folder).into_io().map_err(failed(folder, "listed"))?.unwrap_or_default();
        for name in listed.iter().filter_map(|listed| listed.name.to_str()) {
            if name.starts_with(WORK) {
                let path = join(folder, name);
                self.disk().remove_tree(&path).map_err(failed(&path, "removed"))?;
            }
        }
        Ok(())
    }
}

/// Bytes of all files below a folder, as long as they are there. A link counts as itself.
fn tree_bytes(disk: &dyn Disk, folder: &str) -> u64 {
    let Stored::Value(listed) = disk.list(folder) else { return 0 };
    let sizes = listed.iter().filter_map(|listed| {
        let path = join(folder, listed.name.to_str()?);
        match listed.kind {
            Kind::Dir => Some(tree_bytes(disk, &path)),
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Other => {
                disk.stat(&path).value().map(|meta| meta.size)
            }
        }
    });
    sizes.fold(0, u64::saturating_add)
}
