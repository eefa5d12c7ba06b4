//! What a person was shown: for each ask with a move, the digest of the move that was printed whole.

use looop_core::model::digest::Digest;
use looop_core::model::name::is_name;

use crate::dir::Reader;
use crate::disk::{Links, Stored, join, quick_write};
use crate::error::{StoreError, failed};

const SHOWN: &str = "shown";
/// A digest in JSON, and a line break.
const MOST: u64 = 64;

impl Reader {
    /// Notes that a person was shown the whole move with this digest under an ask. It can be shown again, so it need not
    /// survive a loss of power.
    pub fn mark_shown(&self, ask: &str, digest: Digest) -> Result<(), StoreError> {
        if self.disk().stat(SHOWN).is_absent() {
            self.disk().make_dir(SHOWN).map_err(failed(SHOWN, "made"))?;
        }
        let path = join(SHOWN, ask);
        let bytes =
            serde_json::to_vec(&digest).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        quick_write(self.disk(), &path, &bytes, 0o600)
    }

    /// The digest of the move that was last shown under an ask.
    pub fn shown(&self, ask: &str) -> Stored<Digest> {
        if !is_name(ask) {
            return Stored::Absent;
        }
        let read = self.disk().read(&join(SHOWN, ask), MOST, Links::Refuse);
        read.and_then(|content| match serde_json::from_slice(&content.bytes) {
            Ok(digest) => Stored::Value(digest),
            Err(error) => Stored::Corrupt(error.to_string()),
        })
    }

    /// Forgets what was shown under all asks but these.
    pub fn forget_shown(&self, keep: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        let listed = self.disk().list(SHOWN).into_io().map_err(failed(SHOWN, "listed"))?.unwrap_or_default();
        for name in listed.iter().filter_map(|listed| listed.name.to_str()).filter(|name| !keep(name)) {
            let path = join(SHOWN, name);
            match self.disk().remove(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(failed(&path, "removed"))?,
            }
        }
        Ok(())
    }
}
