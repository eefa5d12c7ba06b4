//! Expenses: what a session says that it has spent.

use looop_core::model::letter::Expense;
use looop_core::model::name::is_name;

use super::folder::{FolderBusy, PATIENTLY, lock};
use super::forms;
use super::letters::SPEND;
use super::names::{is_session, prefix};
use super::settle::{SettleError, letter_path};
use crate::dir::Reader;
use crate::disk::write_new;
use crate::error::{StoreError, failed};
use crate::lock::Writer;

/// Most expenses that wait to be counted.
pub const MOST_EXPENSES: usize = 1000;
const EXPENSE_KIND: &str = "spend";

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ExpenseError {
    /// Somebody must have spent it.
    #[error("\"{}\" is not a worker's session", looop_core::model::name::shown(.0))]
    NotASession(String),
    /// It is no amount.
    #[error("{0} is not an amount of dollars from 0 to 1,000,000")]
    NoAmount(f64),
    /// Too many wait already.
    #[error("{MOST_EXPENSES} expenses wait to be counted already")]
    TooMany,
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Reader {
    /// Posts an expense under an id of its own; the one that is given does not count.
    pub fn post_expense(&self, expense: Expense) -> Result<Expense, ExpenseError> {
        if !is_session(&expense.session) {
            return Err(ExpenseError::NotASession(expense.session));
        }
        if !forms::is_amount(expense.usd) {
            return Err(ExpenseError::NoAmount(expense.usd));
        }
        let _held = lock(self, SPEND, PATIENTLY)?;
        let listed = self.disk().list(SPEND).into_io().map_err(failed(SPEND, "listed"))?.unwrap_or_default();
        if listed.len() > MOST_EXPENSES {
            return Err(ExpenseError::TooMany);
        }
        let prefix = prefix(&expense.session);
        let id = format!("{prefix}{}", self.next_number(&prefix, &[SPEND])?);
        let expense = Expense { v: forms::VERSION, id, ..expense };
        let path = letter_path(SPEND, &expense.id);
        let bytes =
            serde_json::to_vec(&expense).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        write_new(self.disk(), &path, &bytes, 0o600)?;
        Ok(expense)
    }
}

impl Writer {
    /// Moves an expense that is counted to `mail.d/`; doing it again is harmless.
    pub fn counted(&self, id: &str, wall: i64) -> Result<(), SettleError> {
        if !is_name(id) {
            return Err(SettleError::NoSuchAsk(id.to_owned()));
        }
        self.make_settled()?;
        self.settle_one(SPEND, id, EXPENSE_KIND, wall)?;
        Ok(())
    }
}
