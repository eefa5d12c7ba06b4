//! Letters: asks, answers, tells, claims and expenses, one file each, whole by rename.
//!
//! Letters come from anybody, so what two may want at once is made under a flock on its folder: the number of an ask or
//! a tell, the first answer, a claim. Whoever moves a tell away has it. Settled letters move to `mail.d/` and age out
//! there.

mod ask;
mod cache;
mod claim;
mod expense;
mod folder;
mod forms;
mod letters;
mod names;
mod post;
mod settle;
mod shown;
mod tell;

pub use ask::{AskError, MOST_ASKS, NewAsk, Posted};
pub(crate) use cache::LetterCache;
pub use claim::{ClaimError, Claimed, Lease, MOST_CLAIMS, Unclaimed};
pub use expense::{ExpenseError, MOST_EXPENSES};
pub use folder::FolderBusy;
pub use names::is_session;
pub use post::PostError;
pub use settle::{MAIL_KEPT, MAIL_KEPT_MS, SettleError};
pub use tell::{LONGEST_TELL, MOST_TELLS, Taken, TellError};
