//! What a host publishes about itself.

use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::folder::Folder;
use super::spec::{Receipt, Spec};
use crate::kernel::State;
use crate::status::{self, Status};
use crate::{Size, proc, strays};

/// The status of this session, said again whenever it changes. A courtesy: what cannot be published is not.
#[derive(Debug)]
pub(super) struct Publisher {
    wanted: bool,
    status: Status,
}

impl Publisher {
    /// For the session in the folder of this path.
    pub(super) fn new(path: &Path, spec: &Spec, started_ms: u64) -> Self {
        let session = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (host, size, notes) = (Some(proc::our_pid()), spec.terminal, spec.notes.clone());
        let own = strays::real(&spec.own).into_iter().map(Into::into).collect();
        let status = Status { host, started_ms, size, notes, own, ..Status::blank(&session) };
        Self { wanted: spec.publish, status }
    }

    /// The child runs under this number.
    pub(super) fn set_child(&mut self, child: i32) {
        self.status.child = Some(child);
    }

    /// Says the state.
    pub(super) fn say(&mut self, folder: &Folder, state: State) {
        self.status.state = state;
        self.publish(folder);
    }

    /// Says the size.
    pub(super) fn say_size(&mut self, folder: &Folder, size: Size) {
        self.status.size = Some(size);
        self.publish(folder);
    }

    /// Says the end.
    pub(super) fn say_end(&mut self, folder: &Folder, receipt: &Receipt) {
        self.status.ended = Some(receipt.ended.clone());
        self.status.ended_ms = Some(receipt.ended_ms);
        self.status.output_bytes = Some(receipt.output_bytes);
        self.status.left.clone_from(&receipt.left);
        self.status.strays.clone_from(&receipt.strays);
        self.say(folder, State::Ended);
    }

    fn publish(&self, folder: &Folder) {
        if self.wanted {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let beside = format!("../{}", status::FOLDER);
            let statuses = rustix::fs::openat(folder, beside, flags, Mode::empty());
            statuses.ok().and_then(|statuses| self.status.publish(statuses).ok());
        }
    }
}
