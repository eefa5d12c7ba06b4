//! What files were before a move replaced or removed them: `undo.d/<digest>`.

use std::collections::BTreeSet;

use looop_core::admit::content;
use looop_core::model::digest::Digest;
use looop_core::model::moves::Move;
use looop_core::model::plan::{Act, Plan};
use looop_core::time::Stamp;

use crate::dir::{Reader, STATE_LIMIT};
use crate::disk::{Kind, Links, Stored, durable_write};
use crate::error::failed;
use crate::lock::Writer;
use crate::point::point;

const FOLDER: &str = "undo.d";
/// How many bodies are kept: those of the moves that can be taken back, and as many that were taken back.
const KEPT: usize = 40;
/// Most bytes of all bodies together; the newest one stays whatever its size.
const KEPT_BYTES: u64 = 32 << 20;

/// Where the body of a digest is kept, below the profile.
pub fn kept_path(digest: Digest) -> String {
    format!("{FOLDER}/{digest}")
}

impl Reader {
    /// The body of a digest. One that is not what its name says is no better than none.
    pub fn kept_body(&self, digest: Digest) -> Result<Vec<u8>, String> {
        let path = kept_path(digest);
        match self.disk().read(&path, STATE_LIMIT, Links::Refuse).known(&path)? {
            Some(content) if Digest::of(&content.bytes) == digest => Ok(content.bytes),
            Some(_) => Err(format!("{path} is not what it was when it was kept")),
            None => Err(format!("{path} is no longer kept")),
        }
    }

    /// What a plan puts into its file: what it says, or, where it takes a move back, what the file was before.
    pub fn bytes_for(&self, plan: &Plan) -> Result<Option<Vec<u8>>, String> {
        match (&plan.action, &plan.act) {
            (Move::Undo { .. }, Act::File { after: Some(before), .. }) => self.kept_body(*before).map(Some),
            _ => Ok(content(plan)),
        }
    }

    /// Those of the digests whose bodies are kept whole.
    pub fn kept_bodies(&self, wanted: impl IntoIterator<Item = Digest>) -> BTreeSet<Digest> {
        wanted.into_iter().filter(|digest| self.kept_body(*digest).is_ok()).collect()
    }
}

impl Writer {
    /// Keeps what a file is now, durably, so that the change which follows can be taken back. `next` is what the file
    /// will be: where that is a kept body, it is needed again if a crash comes before the change.
    pub(crate) fn keep_body(&self, bytes: &[u8], next: Option<Digest>, at: &Stamp) -> Result<(), String> {
        let digest = Digest::of(bytes);
        let path = kept_path(digest);
        self.make_folder(FOLDER)?;
        if self.kept_body(digest).is_ok() {
            // A crash may have come before the name was durable.
            self.disk().sync_dir(FOLDER).map_err(failed(&path, "made durable"))?;
        } else {
            durable_write(self.disk(), &path, bytes, 0o600)?;
        }
        self.disk().touch(&path, at.wall).map_err(failed(&path, "dated"))?;
        point("store.body-kept");
        self.prune_bodies([Some(digest), next])
    }

    /// Removes the bodies that were not used for the longest time, never those of the move at hand.
    fn prune_bodies(&self, spared: [Option<Digest>; 2]) -> Result<(), String> {
        let listed = self.disk().list(FOLDER).known(FOLDER)?.unwrap_or_default();
        let spared = spared.map(|digest| digest.map(|digest| digest.to_string()).unwrap_or_default());
        let (mut left, mut bodies) = (KEPT, Vec::new());
        for name in listed.iter().filter_map(|listed| listed.name.to_str()).filter(|name| is_digest(name)) {
            let path = format!("{FOLDER}/{name}");
            if spared.iter().any(|spared| spared == name) {
                left -= 1;
            } else if let Stored::Value(meta) = self.disk().stat(&path)
                && meta.kind != Kind::Dir
            {
                bodies.push((meta.modified, path, meta.size));
            }
        }
        bodies.sort_unstable_by(|a, b| b.cmp(a));
        let mut bytes = 0;
        for (n, (_, path, size)) in bodies.iter().enumerate() {
            bytes += size;
            if n >= left || bytes > KEPT_BYTES {
                self.disk().remove(path).map_err(failed(path, "removed"))?;
            }
        }
        Ok(())
    }
}

fn is_digest(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit())
}
