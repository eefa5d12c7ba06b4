//! Who blocks on an answer. While `looop ask` waits it holds a shared lock on the letter of its ask; the kernel lets go
//! of it however the process ends. Whoever hands the answer out holds the lock alone, so that it is handed out once.

use std::fs::{File, TryLockError};
use std::io;

use looop_core::approval::PULSE;
use looop_core::model::letter::{Answer, Ask, AskKind};
use looop_core::world::observation::Letters;
use looop_store::Reader;
use rustix::fs::{Mode, OFlags};

/// The letter of an ask, for whoever wants to hand its answer out.
#[derive(Debug)]
pub(crate) enum Claim {
    /// Nobody else has it, as long as this is kept.
    Ours(File),
    /// Somebody blocks on the answer, or hands it out.
    Theirs,
    /// There is no such letter any more.
    Gone,
}

fn open(reader: &Reader, ask: &str) -> io::Result<File> {
    let path = reader.path("asks").join(format!("{ask}.json"));
    // Confined code may have put something else there.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Says that we block on the answer, until what is returned is dropped. Where that cannot be said the answer comes all
/// the same, perhaps twice.
pub(crate) fn block(reader: &Reader, ask: &str) -> Option<File> {
    let letter = open(reader, ask).ok()?;
    letter.lock_shared().ok()?;
    Some(letter)
}

/// Takes the letter of an ask, to hand its answer out.
pub(crate) fn claim(reader: &Reader, ask: &str) -> io::Result<Claim> {
    let letter = match open(reader, ask) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claim::Gone),
        letter => letter?,
    };
    match letter.try_lock() {
        Ok(()) if !reader.is_asked(ask) => Ok(Claim::Gone),
        Ok(()) => Ok(Claim::Ours(letter)),
        Err(TryLockError::WouldBlock) => Ok(Claim::Theirs),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether somebody blocks on the answer of an ask.
pub(crate) fn is_awaited(reader: &Reader, ask: &str) -> bool {
    matches!(claim(reader, ask), Ok(Claim::Theirs))
}

/// The questions of workers that were answered and whose answer nobody has fetched.
pub(crate) fn unfetched(letters: &Letters) -> impl Iterator<Item = (&Ask, &Answer)> {
    let its = |ask: &&Ask| ask.kind == AskKind::Question && ask.from != PULSE && !ask.fetched;
    letters.asks.values().filter(its).filter_map(|ask| Some((ask, letters.answers.get(&ask.id)?)))
}
