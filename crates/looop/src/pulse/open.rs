//! Taking the lock and bringing the loop back to where it was.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use looop_core::engine::io::Event;
use looop_core::engine::machine::{Engine, Setup};
use looop_core::engine::wake::Alarm;
use looop_store::{LockError, LogError, OpenError, Reader, Writer};

use super::control::Control;
use super::driver::Driver;
use super::ear::Ear;
use super::settings::Source;
use super::signals::Signals;
use super::workers::Following;
use crate::clock;
use crate::config::{Config, ConfigError, Env, Loaded};
use crate::failure::{Failure, Result};
use crate::hands::brakes::Brakes;
use crate::hands::sandbox::{self, Means};
use crate::hands::seeds;
use crate::hands::sense::Known;
use crate::hands::usage::Usages;
use crate::setup::setup;

/// Whether the lock could be had.
pub(crate) enum Taken {
    /// It could.
    Mine(Box<Driver>),
    /// Somebody holds it.
    Held(Option<u32>),
}

/// How the lock holder behaves.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about how it was started")]
pub(crate) struct Manner {
    /// Whether signals end it in order; else they end it at once, which is as safe.
    pub(crate) heeds_signals: bool,
    /// Whether it is the loop, and not a verb that holds the lock for a moment.
    pub(crate) loops: bool,
    /// Whether it runs detached from any terminal.
    pub(crate) detached: bool,
    /// Whether a person started it.
    pub(crate) by_person: bool,
    /// Whether a person at a terminal can be told something before it ends.
    pub(crate) terminal: bool,
    /// Whether workers go on when it ends.
    pub(crate) keep_workers: bool,
}

impl Manner {
    /// A verb that holds the lock for its own duration.
    pub(crate) fn of_verb(heeds_signals: bool) -> Self {
        Self {
            heeds_signals,
            loops: false,
            detached: false,
            by_person: true,
            terminal: false,
            keep_workers: true,
        }
    }
}

/// Which file the lock is, if it is there.
pub(super) fn lock_file(data: &std::path::Path) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(data.join("lock")).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Tries to become the lock holder; recovers what an earlier one left unfinished.
pub(crate) fn open((data, env): (&std::path::Path, &Env), config: Loaded, manner: Manner) -> Result<Taken> {
    let hint = "looop doctor tells more; \"auto\" takes what works";
    sandbox::check(&config.config).map_err(|why| Failure::new(why).hint(hint))?;
    let reader = Reader::create(data).map_err(|error| open_failure(&error))?;
    let writer = match reader.lock() {
        Ok(writer) => writer,
        Err(LockError::Held { pid }) => return Ok(Taken::Held(pid)),
        Err(LockError::OldPulse) => {
            return Err(Failure::new("a pulse of an older looop runs in this profile")
                .hint("end it with its own: looop down"));
        }
        Err(error @ LockError::Unusable { .. }) => return Err(chain(&error)),
    };
    let source = Source::new(data, env, config.stamp.clone());
    let driver = take(writer, (config, source), manner)?;
    Ok(Taken::Mine(Box::new(driver)))
}

fn take(writer: Writer, (config, source): (Loaded, Source), manner: Manner) -> Result<Driver> {
    let store = |error: looop_store::StoreError| Failure::new(error.text());
    writer.layout().map_err(store)?;
    let (log, ledger, repair) = writer.open_log().map_err(|error| log_failure(&error))?;
    let signals = manner.heeds_signals.then(Signals::listen).transpose()?;
    let ear = Ear::new(signals)?;
    let control = Control::bind(writer.root())?;
    let (seeded, offered) = (ledger.seeded, ledger.interview_offered);
    let engine = Engine::new(ledger, setup_of(&config.config));
    let lock = lock_file(writer.root());
    let mut driver = Driver {
        reader: Reader::clone(&writer),
        writer,
        log,
        engine,
        config: Arc::new(config.config),
        source,
        ear,
        manner,
        brakes: Brakes::default(),
        control,
        scans: super::scans::Scans::default(),
        snapshots: looop_store::SnapshotCache::default(),
        known: Arc::new(Known::default()),
        renewed: Vec::new(),
        roll: looop_session::Roll::default(),
        usages: Arc::new(Mutex::new(Usages::default())),
        following: Following::default(),
        screens: Arc::default(),
        sweeping: std::collections::BTreeSet::new(),
        upkeep: (false, None),
        hosts: Vec::new(),
        events: std::collections::VecDeque::new(),
        deferred: std::collections::VecDeque::new(),
        postponed: Vec::new(),
        epoch: 0,
        stepping: None,
        begun: None,
        awaited: None,
        unsettled: None,
        waiting: std::collections::BTreeMap::new(),
        asked: 0,
        sending: 0,
        trying: None,
        passes: 0,
        held: None,
        journal_lags: false,
        warned: String::new(),
        retry: None,
        watcher: None,
        alarm: Alarm::default(),
        since: clock::now().wall,
        looked: None,
        curious: Vec::new(),
        ending: None,
        interrupted: None,
        release: super::release::Release::default(),
        spins: false,
        lock,
        exited: None,
    };
    if let Some(cut) = repair.text() {
        driver.warn(&cut);
    }
    driver.writer.mend_journal(driver.engine.ledger()).map_err(store)?;
    if !seeded {
        let files = seeds::plant(&driver.writer, &driver.config)?;
        driver.events.push_back(Event::Seeded(files));
    } else if !offered {
        let files = seeds::offer_interview(&driver.writer, &driver.config)?;
        if !files.is_empty() {
            driver.events.push_back(Event::Seeded(files));
        }
    }
    driver.opened();
    Ok(driver)
}

/// What the engine is set up with. Whether things are confined is tried out only where a decider may want them to be.
pub(super) fn setup_of(config: &Config) -> Setup {
    let mut setup = setup(config);
    let confines = || sandbox::means(config).is_ok_and(|means| means != Means::None);
    setup.limits.confines = setup.paid.is_empty() || confines();
    setup
}

/// A log that does not open, for the person.
pub(crate) fn log_failure(error: &LogError) -> Failure {
    let failure = chain(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A profile that does not open, for the person.
pub(crate) fn open_failure(error: &OpenError) -> Failure {
    let failure = chain(error);
    match (error, error.hint()) {
        (OpenError::Foreign(path), _) => {
            failure.hint(format!("looop --data-dir '{}' init makes it one all the same", path.display()))
        }
        (OpenError::Absent(_), _) => failure.hint("looop init or looop beat makes one"),
        (_, Some(hint)) => failure.hint(hint.to_owned()),
        _ => failure,
    }
}

/// A configuration that does not load, for the person.
pub(crate) fn config_failure(error: &ConfigError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// An error with its causes on one line.
fn chain(error: &dyn std::error::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    Failure::new(text)
}
