//! Runs: the evidence of beats that decided, `runs/<run>/`.

use looop_core::model::plan::RunId;

use crate::dir::{Reader, STATE_LIMIT};
use crate::disk::{Kind, Links, Stored, durable_write};
use crate::error::{StoreError, failed};
use crate::lock::Writer;

const FOLDER: &str = "runs";

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
}
