//! Who makes a request. What runs below a session, or below the loop itself, does not speak for a person.

use std::path::Path;

use looop_core::engine::io::Request;
use looop_core::ledger::state::Ledger;
use looop_core::model::moves::Move;
use looop_core::model::plan::Author;
use looop_core::world::fleet::worker_of;

use crate::hands::labour;

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    /// Nothing speaks against its being a person.
    Person,
    /// A process of this session.
    Session(String),
    /// A sensor, a check, or what else the lock holder runs.
    Child,
    /// It cannot be told, and this is why.
    Unknown(String),
}

impl Guest {
    /// The guest with this process number; `holder` is the lock holder's.
    pub(crate) fn of(pid: i32, data: &Path, holder: Option<u32>) -> Self {
        Self::judged(pid, data, holder).unwrap_or_else(Self::Unknown)
    }

    fn judged(pid: i32, data: &Path, holder: Option<u32>) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let sessions = data.join("sessions");
        if !sessions.try_exists().map_err(text)? {
            return Ok(Self::Person);
        }
        if let Some(session) = looop_session::inside(pid, &sessions).map_err(text)? {
            return Ok(Self::Session(session));
        }
        let holder = holder.and_then(|pid| i32::try_from(pid).ok());
        if let Some(holder) = holder
            && looop_session::is_below(pid, holder).map_err(text)?
        {
            return Ok(Self::Child);
        }
        // One whose host died runs below nobody. It is ended, with all that is known of it, before anybody is taken for a
        // person.
        labour::sweep_all(data).map_err(|failure| failure.error)?;
        Ok(Self::Person)
    }

    /// Ourselves, as a verb.
    pub(crate) fn myself(data: &Path) -> Self {
        Self::of(i32::try_from(std::process::id()).unwrap_or(0), data, None)
    }

    /// Why it may not do what takes a person, if it may not.
    pub(crate) fn no_person(&self) -> Option<String> {
        match self {
            Self::Person => None,
            Self::Session(session) => Some(format!(
                "this comes from inside session {session}, and only a person can do that; a worker can `looop propose`"
            )),
            Self::Child => {
                Some("this comes from a sensor or a check, and only a person can do that".to_owned())
            }
            Self::Unknown(error) => Some(format!("it cannot be told who asks for that: {error}")),
        }
    }

    /// Why a request of its is refused, if it is.
    pub(crate) fn refusal(&self, request: &Request, ledger: &Ledger) -> Option<String> {
        let reason = self.no_person()?;
        let may = match request {
            Request::Pulse { .. } | Request::Wake | Request::DryRun => true,
            Request::Consent(_)
            | Request::Trust { .. }
            | Request::Dismiss { .. }
            | Request::Repark { .. }
            | Request::TakeUp { .. } => false,
            Request::Make { proposal } if self.is_its_own(&proposal.action) => true,
            Request::Beat
            | Request::Make { .. }
            | Request::Undo { .. }
            | Request::Pause { .. }
            | Request::Resume
            | Request::Down { .. }
            | Request::Prune { .. } => self.is_recipe(ledger),
        };
        (!may).then_some(reason)
    }

    /// A worker may end itself, and begin anew.
    fn is_its_own(&self, action: &Move) -> bool {
        let Self::Session(session) = self else { return false };
        if let Move::KillWorker { id, also, .. } = action {
            return id.as_str() == worker_of(session) && also.is_empty();
        }
        matches!(action, Move::RestartSession { id, .. } if id.as_str() == worker_of(session))
    }

    /// Whether it is the shell move under way that a person wrote, with the person's rights.
    fn is_recipe(&self, ledger: &Ledger) -> bool {
        let (Self::Session(session), Some(acting)) = (self, &ledger.acting) else { return false };
        let plan = &acting.plan;
        plan.rights.is_person()
            && !matches!(plan.author, Author::Decider(_))
            && matches!(plan.action, Move::RunShell { .. })
            && plan.act.starts() == Some(session)
    }
}
