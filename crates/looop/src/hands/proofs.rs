//! Proofs: what is run in the copies of workers that have ended, and what they left there.

use std::time::Duration;

use looop_core::model::rights::Rights;
use looop_session::Job;
use looop_session::batch::Keep;
use looop_store::Reader;

use super::sense::{Pass, Place, Task, check_job, not_run};
use super::{environ, workplace, works, worktree};
use crate::config::Config;

/// How long the proofs of one beat may take in all.
const PROOF_TIME: Duration = Duration::from_mins(2);

/// A session whose work is to be proven.
#[derive(Clone, Debug)]
pub(crate) struct Unproven {
    pub(crate) session: String,
    /// The command that does.
    pub(crate) command: String,
    /// With whose rights it runs.
    pub(crate) rights: Rights,
    /// Whether it works in a copy of a repository.
    pub(crate) in_copy: bool,
    /// Whether all that is in the copy is known to be committed.
    pub(crate) gathered: bool,
}

impl Pass {
    /// Prepares the commands that prove the work of workers which have ended, as many as a beat has time for.
    pub(super) fn add_proofs(&mut self, (reader, config, authored): Place<'_>, unproven: &[Unproven]) {
        if unproven.is_empty() {
            return;
        }
        let each = config.verify_timeout.max(Duration::from_secs(1));
        let rounds = (PROOF_TIME.as_secs() / each.as_secs().max(1)).max(1);
        let most = usize::try_from(rounds).unwrap_or(1).saturating_mul(environ::parallel());
        let fleet = &self.seen.docs.fleet;
        let ended = unproven.iter().filter(|one| !fleet.lives(&one.session));
        for Unproven { session, command, rights, in_copy, gathered } in ended.take(most) {
            if *in_copy && !worktree::path(reader, session).is_dir() {
                self.seen.proofs.insert(session.clone(), not_run("its copy is gone".to_owned()));
                continue;
            }
            if *gathered {
                self.gathered.insert(session.clone());
            }
            let cwd = workplace::of(reader, session);
            let job = check_job(command, reader.root(), config);
            let job = Job { cwd, timeout: Some(each), keep: Keep::Tail, ..job };
            match authored.dressed(reader, rights, job) {
                Ok(job) => {
                    self.jobs.push(job);
                    self.tasks.push(Task::Proof(session.clone()));
                }
                Err(reason) => drop(self.seen.proofs.insert(session.clone(), not_run(reason))),
            }
        }
    }

    /// Finds out what ended workers left in their copies, before what proves their work is run there. What changed nothing
    /// has nothing to prove.
    pub(super) fn look_at_copies(&mut self, reader: &Reader, config: &Config) {
        for (session, goal) in std::mem::take(&mut self.unseen) {
            let work = if self.dry {
                works::count(reader, config, (&session, &goal))
            } else {
                works::inspect(reader, config, (&session, &goal))
            };
            let proof = |task: &Task| matches!(task, Task::Proof(of) if *of == session);
            if work.is_nothing()
                && let Some(at) = self.tasks.iter().position(proof)
            {
                self.tasks.remove(at);
                self.jobs.remove(at);
            }
            if work.problem.is_none() {
                self.gathered.insert(session.clone());
            }
            self.seen.works.insert(session, work);
        }
    }

    /// Puts the copies back in which a proof was run. Where something of the worker's may not be committed nothing is
    /// touched; one that cannot be put back is shown as it is.
    pub(super) fn restore_copies(&self, reader: &Reader, config: &Config) {
        for task in &self.tasks {
            if let Task::Proof(session) = task
                && self.gathered.contains(session)
            {
                drop(works::restore(reader, config, session));
            }
        }
    }
}
