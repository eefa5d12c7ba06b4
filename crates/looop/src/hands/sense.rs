//! Sensing: one pass over files, letters, sensors and checks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use looop_core::meter::Metered;
use looop_core::model::digest::Digest;
use looop_core::model::goal;
use looop_core::model::outcome::Ended;
use looop_core::model::rights::Rights;
use looop_core::time::Now;
use looop_core::world::fleet::Fleet;
use looop_core::world::header::{self, Header};
use looop_core::world::observation::{Checked, Doc, Observation, Scope};
use looop_core::world::reading::{Fault, FaultDetail, Reading, parse_output};
use looop_session::{Done, Job, Order};
use looop_store::Reader;
use looop_store::docs::Sensor;

use super::authored::Authored;
use super::brakes::Brakes;
use super::files::Caches;
use super::proofs::Unproven;
use super::{environ, outputs, worktree};
use crate::clock;
use crate::config::Config;
use crate::failure::{Failure, Result};

/// Errors of a sensor beyond this are discarded as they come.
const STDERR_CAP: u64 = 64 << 10;
/// What an error reading shows of them.
const STDERR_SHOWN: usize = 2000;
/// The bounds of a sensor or a check that a decider wrote, where the person has none.
pub(super) const FOREIGN_TIMEOUT: Duration = Duration::from_mins(1);
const FOREIGN_BYTES: u64 = 1 << 20;
/// What is kept of a check's output.
const CHECK_CAP: u64 = 4 << 10;

/// What the last looks found out, for a quick one to reuse.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Readings by sensor, with the script that they come from.
    readings: BTreeMap<String, (Digest, Reading)>,
    /// What checks said, by goal, with the goal that they belong to.
    checks: BTreeMap<String, (Digest, Checked)>,
}

pub(super) enum Task {
    Sensor(String, Header),
    Check(String),
    Proof(String),
}

/// What the loop has open and wants to hear about.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// Sessions whose work is to be proven once they have ended.
    pub(crate) unproven: Vec<Unproven>,
    /// Sessions of which it is not known yet what they left in their copies, with the goal that each serves.
    pub(crate) unseen: Vec<(String, String)>,
    /// Bytes that moves of a decider wrote, by path.
    pub(crate) written: BTreeMap<String, Digest>,
    /// Sessions that the log takes for alive, with the goal that each serves.
    pub(crate) running: Vec<(String, String)>,
    /// Asks that wait.
    pub(crate) asks: Vec<String>,
    /// Goals whose last check is of no use any more.
    pub(crate) stale: BTreeSet<String>,
    /// Whether nothing is to be run, because a first full look does.
    pub(crate) early: bool,
    /// Whether nothing may be changed.
    pub(crate) dry: bool,
}

/// One pass over the world: files and letters have been read, sensors and checks are still to be run.
pub(crate) struct Pass {
    pub(super) seen: Observation,
    pub(super) tasks: Vec<Task>,
    pub(super) jobs: Vec<Job>,
    /// Whether confined code has left something that is to be copied.
    copies: bool,
    /// Ended sessions whose copies are to be looked at, with the goal that each serves.
    pub(super) unseen: Vec<(String, String)>,
    /// Sessions whose copies have nothing that is not committed, apart from what a proof leaves.
    pub(super) gathered: BTreeSet<String>,
    /// Whether nothing may be changed: copies are only counted, and no proof is run in them.
    pub(super) dry: bool,
    now: Now,
}

/// What running the sensors and checks of a pass gave.
pub(crate) struct Sensed {
    pass: Pass,
    ran: Result<Vec<Option<Done>>>,
    /// What the files of agents said since, if they were looked at.
    pub(crate) metered: Option<Metering>,
}

/// What the files of agents say that workers used.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    /// Sessions that had ended when their files were looked at.
    pub(crate) of_ended: BTreeSet<String>,
    pub(crate) spends: BTreeMap<String, Metered>,
}

/// A look that is over.
pub(crate) struct Looked {
    /// How wide it was.
    pub(crate) scope: Scope,
    /// What was seen.
    pub(crate) seen: Result<Observation>,
    /// Sensors with an interval that were run: their readings are young again, also where they did not change.
    pub(crate) renewed: Vec<String>,
    /// What it found out, if it did.
    pub(crate) known: Option<Known>,
}

impl Pass {
    /// Reads files and letters, and prepares what has to be run.
    pub(crate) fn begin(
        (reader, caches): (&Reader, &mut Caches),
        config: &Config,
        (scope, known): (Scope, &Known),
        open: &Open,
    ) -> Result<Self> {
        let now = clock::now();
        let (seen, sensors) = caches.observe(reader, now.wall, &open.asks);
        let secret = clock::secret().map_err(|error| Failure::new(format!("no random bytes: {error}")))?;
        let seen = Observation { scope, secret, early: open.early, ..seen };
        let (copies, dry) = (!open.dry && outputs::is_pending(reader.root()), open.dry);
        let unseen = open.unseen.iter().filter(|(session, _)| !open.early && !seen.docs.fleet.lives(session));
        let unseen = unseen.cloned().collect();
        let (tasks, jobs, gathered) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut pass = Self { seen, tasks, jobs, copies, unseen, gathered, dry, now };
        if open.early {
            return Ok(pass);
        }
        let place = (reader, config, &Authored::new(config, &open.written));
        for (name, sensor) in &sensors {
            match pass.reusable(known, name) {
                Some(reading) => drop(pass.seen.readings.insert(name.clone(), reading)),
                None => pass.add_sensor(place, name, sensor),
            }
        }
        pass.add_checks(place, known, open);
        if !open.dry {
            pass.add_proofs(place, &open.unproven);
        }
        Ok(pass)
    }

    /// The last reading of a sensor, where a quick look can do with it.
    fn reusable(&self, known: &Known, name: &str) -> Option<Reading> {
        let (script, reading) = known.readings.get(name)?;
        let same = self.seen.docs.sensors.get(name)?.digest == Some(*script);
        (self.seen.scope == Scope::Quick && same).then(|| reading.clone())
    }

    fn add_checks(&mut self, (reader, config, authored): Place<'_>, known: &Known, open: &Open) {
        let fleet = &self.seen.docs.fleet;
        let over = open.running.iter().filter(|(session, _)| !fleet.lives(session)).map(|(_, goal)| goal);
        let stale: BTreeSet<&String> = open.stale.iter().chain(over).collect();
        let mut reused = BTreeMap::new();
        for (id, check, repo) in checks(&self.seen) {
            let digest = self.seen.docs.goals.get(&id).and_then(Doc::digest);
            let last = known.checks.get(&id).filter(|(goal, _)| Some(*goal) == digest);
            let last = last.filter(|_| self.seen.scope == Scope::Quick && !stale.contains(&id));
            if let Some((_, checked)) = last {
                reused.insert(id, checked.clone());
            } else {
                let rights = authored.check(&self.seen.docs, &id, &check);
                let job = check_place(reader, repo.as_deref())
                    .map(|cwd| Job { cwd, ..check_job(&check, reader.root(), config) });
                match job.and_then(|job| authored.dressed(reader, &rights, job)) {
                    Ok(job) => {
                        self.jobs.push(job);
                        self.tasks.push(Task::Check(id));
                    }
                    Err(reason) => drop(reused.insert(id, not_run(reason))),
                }
            }
        }
        self.seen.checks = reused;
    }

    fn add_sensor(&mut self, (reader, config, authored): Place<'_>, name: &str, sensor: &Sensor) {
        match prepare(reader, name, sensor, &self.now) {
            Ready::Reuse(reading) => {
                self.seen.readings.insert(name.to_owned(), reading);
            }
            Ready::Cannot(problem) => {
                let reading = cannot(problem, previous(reader, name).as_ref(), &self.now);
                self.seen.readings.insert(name.to_owned(), reading);
            }
            Ready::Run(header) => {
                let path = reader.path("sensors").join(&sensor.files[0]);
                let rights = authored.sensor(reader, &self.seen.docs, name);
                let header = bounded(header, rights.as_ref().is_ok_and(Rights::is_person), config);
                let job = sensor_job(vec![path.into()], reader.root(), &header, config);
                match rights.and_then(|rights| authored.dressed(reader, &rights, job)) {
                    Ok(job) => {
                        self.jobs.push(job);
                        self.tasks.push(Task::Sensor(name.to_owned(), header));
                    }
                    Err(problem) => {
                        let reading = cannot(problem, previous(reader, name).as_ref(), &self.now);
                        self.seen.readings.insert(name.to_owned(), reading);
                    }
                }
            }
        }
    }

    /// How wide the look is.
    pub(crate) fn scope(&self) -> Scope {
        self.seen.scope
    }

    /// Whether it must change nothing.
    pub(crate) fn is_dry(&self) -> bool {
        self.dry
    }

    /// The workers as the pass saw them.
    pub(crate) fn fleet(&self) -> &Fleet {
        &self.seen.docs.fleet
    }

    /// Whether nothing is left to be run.
    pub(crate) fn is_quiet(&self) -> bool {
        self.jobs.is_empty() && !self.copies && self.unseen.is_empty()
    }

    /// Runs what is left.
    pub(crate) fn run(mut self, reader: &Reader, config: &Config, brakes: &Brakes) -> Sensed {
        self.look_at_copies(reader, config);
        let jobs = std::mem::take(&mut self.jobs);
        // Checks look at what confined workers have made.
        if self.copies {
            drop(outputs::copy(reader.root()));
        }
        let ran = if jobs.is_empty() { Ok(Vec::new()) } else { run(reader, config, jobs, brakes) };
        self.restore_copies(reader, config);
        Sensed { pass: self, ran, metered: None }
    }
}

impl Sensed {
    /// How wide the look is.
    pub(crate) fn scope(&self) -> Scope {
        self.pass.seen.scope
    }

    /// Whether it must change nothing.
    pub(crate) fn is_dry(&self) -> bool {
        self.pass.dry
    }

    /// The workers as the pass saw them.
    pub(crate) fn fleet(&self) -> &Fleet {
        self.pass.fleet()
    }

    /// Whether nothing was run, so that no time has passed.
    pub(crate) fn is_still(&self) -> bool {
        self.pass.tasks.is_empty() && self.metered.is_none()
    }

    /// Puts together what was seen. Sensors take their time: where some were run, files, letters and workers are those of
    /// afterwards.
    pub(crate) fn conclude(self, reader: &Reader, fresh: Option<Observation>, config: &Config) -> Looked {
        let Self { pass: Pass { mut seen, tasks, now, .. }, ran, metered } = self;
        let scope = seen.scope;
        let mut renewed = Vec::new();
        let results = match ran {
            Ok(results) => results,
            Err(failure) => return Looked { scope, seen: Err(failure), renewed, known: None },
        };
        if let Some(fresh) = fresh {
            seen = carried(seen, fresh);
        }
        seen.spends = metered.unwrap_or_default().spends;
        for (task, done) in tasks.into_iter().zip(results) {
            match (task, done) {
                (_, None) => {}
                (Task::Check(id), Some(done)) => drop(seen.checks.insert(id, checked(done))),
                (Task::Proof(session), Some(done)) => drop(seen.proofs.insert(session, checked(done))),
                (Task::Sensor(name, header), Some(done)) => {
                    let reading = read(&done, &header, config, || previous(reader, &name), &now);
                    renewed.extend(header.interval.map(|_| name.clone()));
                    seen.readings.insert(name, reading);
                }
            }
        }
        // What vanished or changed while the pass ran takes its result with it.
        seen.readings.retain(|name, _| seen.docs.sensors.contains_key(name));
        seen.checks.retain(|id, _| seen.docs.goals.contains_key(id));
        let known = (!seen.early).then(|| Known::of(&seen));
        Looked { scope, seen: Ok(seen), renewed, known }
    }
}

impl Known {
    fn of(seen: &Observation) -> Self {
        let script = |name: &String| seen.docs.sensors.get(name)?.digest;
        let readings = seen.readings.iter();
        let readings = readings.filter_map(|(id, it)| Some((id.clone(), (script(id)?, it.clone()))));
        let goal = |id: &String| seen.docs.goals.get(id)?.digest();
        let checks = seen.checks.iter();
        let checks = checks.filter_map(|(id, it)| Some((id.clone(), (goal(id)?, it.clone()))));
        Self { readings: readings.collect(), checks: checks.collect() }
    }
}

/// An earlier observation with the files, letters and workers of a later one. A check belongs to the goal that it was
/// taken from.
fn carried(before: Observation, now: Observation) -> Observation {
    let digest = |seen: &Observation, id: &String| seen.docs.goals.get(id).and_then(Doc::digest);
    let mut checks = before.checks.clone();
    checks.retain(|id, _| digest(&before, id) == digest(&now, id));
    let (scope, secret, readings, proofs) = (before.scope, before.secret, before.readings, before.proofs);
    Observation { scope, secret, readings, checks, proofs, works: before.works, ..now }
}

fn run(reader: &Reader, config: &Config, jobs: Vec<Job>, brakes: &Brakes) -> Result<Vec<Option<Done>>> {
    let mut order = Order::new(jobs, environ::parallel());
    order.env = Some(environ::of_person(reader.root(), config, &[])?);
    order.spare.clone_from(&config.spare);
    brakes.run(&order).map_err(|error| Failure::new(format!("the sensors could not be run: {error}")))
}

/// The checks of all goals that can be read, with the repository that each is about.
fn checks(seen: &Observation) -> Vec<(String, String, Option<String>)> {
    let check = |(id, doc): (&String, &Doc)| {
        // This is asked of every goal in every beat, and where the word does not occur there is no check.
        let goal = goal::parse(doc.text().filter(|text| text.contains("check"))?);
        Some((id.clone(), goal.check?, goal.repo))
    };
    seen.docs.goals.iter().filter_map(check).collect()
}

/// Where a check is run: in the repository that its goal names, else in the profile.
fn check_place(reader: &Reader, repo: Option<&str>) -> std::result::Result<PathBuf, String> {
    repo.map_or_else(|| Ok(reader.root().to_owned()), worktree::located)
}

/// Where and how things are run.
pub(super) type Place<'a> = (&'a Reader, &'a Config, &'a Authored<'a>);

/// What a command says that must not be run.
pub(super) fn not_run(reason: String) -> Checked {
    Checked { ended: Ended::Spawn(reason), output: String::new() }
}

type Previous = (Reading, i64);

/// The reading before this one, as the snapshot keeps it. A snapshot that cannot be read is as good as none.
fn previous(reader: &Reader, name: &str) -> Option<Previous> {
    let (bytes, taken) = reader.read_snapshot(&format!("sensor-{name}")).value()?;
    Some((serde_json::from_slice(&bytes).ok()?, taken))
}

enum Ready {
    Run(Header),
    Reuse(Reading),
    Cannot(String),
}

fn prepare(reader: &Reader, name: &str, sensor: &Sensor, now: &Now) -> Ready {
    if let Some(problem) = &sensor.problem {
        return Ready::Cannot(problem.clone());
    }
    let header = match header::parse(&sensor.head) {
        Ok(header) => header,
        Err(problem) => return Ready::Cannot(problem),
    };
    if let Some(interval) = header.interval
        && let Some((reading, taken)) = previous(reader, name)
    {
        // A snapshot from the future was taken before the clock was set back: its age is not known, so it is run.
        let age = u64::try_from(now.wall.saturating_sub(taken)).ok().map(Duration::from_millis);
        if age.is_some_and(|age| age < interval) {
            return Ready::Reuse(reading);
        }
    }
    Ready::Run(header)
}

/// The headers of a sensor, as far as whoever wrote it may say how it is run.
fn bounded(header: Header, is_person: bool, config: &Config) -> Header {
    if is_person {
        return header;
    }
    let timeout = config.sensor_timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(FOREIGN_TIMEOUT);
    header.narrowed(timeout, config.sensor_max_bytes.filter(|cap| *cap > 0).unwrap_or(FOREIGN_BYTES))
}

fn sensor_job(argv: Vec<OsString>, data: &Path, header: &Header, config: &Config) -> Job {
    let timeout = header.timeout.or(config.sensor_timeout).filter(|timeout| !timeout.is_zero());
    // One byte more than the cap is enough to know that it was passed.
    let cap = cap(header, config).map(|cap| cap + 1);
    Job {
        argv,
        cwd: data.to_owned(),
        timeout,
        stdout_cap: cap,
        stderr_cap: Some(STDERR_CAP),
        ..Job::default()
    }
}

fn cap(header: &Header, config: &Config) -> Option<u64> {
    header.max_bytes.or(config.sensor_max_bytes).filter(|cap| *cap > 0)
}

pub(super) fn check_job(check: &str, data: &Path, config: &Config) -> Job {
    Job {
        argv: ["bash", "-c", check].map(OsString::from).to_vec(),
        cwd: data.to_owned(),
        timeout: config.sensor_timeout,
        stdout_cap: Some(CHECK_CAP),
        stderr_cap: Some(CHECK_CAP),
        ..Job::default()
    }
}

fn checked(done: Done) -> Checked {
    let bytes = if done.stderr.is_empty() { &done.stdout } else { &done.stderr };
    Checked { output: String::from_utf8_lossy(bytes).into_owned(), ended: ended(done.ended) }
}

/// The ending, in the study's words.
pub(crate) fn ended(ended: looop_session::Ended) -> Ended {
    match ended {
        looop_session::Ended::Exited(code) => Ended::Exited(code),
        looop_session::Ended::Signalled(signal) => Ended::Signalled(signal),
        looop_session::Ended::TimedOut => Ended::TimedOut,
        looop_session::Ended::Killed => Ended::Killed,
        looop_session::Ended::Spawn(error) => Ended::Spawn(error),
    }
}

fn read(
    done: &Done,
    header: &Header,
    config: &Config,
    previous: impl FnOnce() -> Option<Previous>,
    now: &Now,
) -> Reading {
    let too_large = cap(header, config).is_some_and(|cap| done.stdout_total > cap);
    let (fault, message) = match &done.ended {
        looop_session::Ended::Exited(0) if too_large => (
            Fault::TooLarge,
            format!("printed more than its cap of {} bytes", cap(header, config).unwrap_or(0)),
        ),
        looop_session::Ended::Exited(0) => match parse_output(&done.stdout) {
            Ok(value) => return Reading::of_value(value, header.trust),
            Err(fault) => fault,
        },
        looop_session::Ended::Exited(code) => (Fault::Exit(*code), format!("exited with {code}")),
        looop_session::Ended::Signalled(signal) => {
            (Fault::Signal(*signal), format!("was ended by signal {signal}"))
        }
        looop_session::Ended::TimedOut => (Fault::Timeout, "did not end within its deadline".to_owned()),
        looop_session::Ended::Killed => (Fault::Signal(9), "was ended with the beat".to_owned()),
        looop_session::Ended::Spawn(error) => (Fault::Spawn, format!("could not be started: {error}")),
    };
    let stderr = String::from_utf8_lossy(&done.stderr).chars().take(STDERR_SHOWN).collect();
    let last_good = previous().and_then(|(reading, taken)| reading.last_good(taken));
    Reading::of_fault(&fault, &FaultDetail { message, stderr, last_good, wall: now.wall }, header.trust)
}

fn cannot(message: String, previous: Option<&Previous>, now: &Now) -> Reading {
    let last_good = previous.and_then(|(reading, taken)| reading.last_good(*taken));
    let detail = FaultDetail { message, stderr: String::new(), last_good, wall: now.wall };
    Reading::of_fault(&Fault::Spawn, &detail, looop_core::world::reading::Trust::Owner)
}

/// The reading of a sensor that cannot be run.
pub(crate) fn unusable(problem: &str) -> Reading {
    cannot(problem.to_owned(), None, &clock::now())
}

/// Runs one script as the loop would and gives its reading.
pub(crate) fn read_once(
    reader: &Reader,
    config: &Config,
    (script, head, rights): (&Path, &str, &Rights),
    brakes: &Brakes,
) -> Result<Reading> {
    let now = clock::now();
    let header = match header::parse(head) {
        Ok(header) => header,
        Err(problem) => return Ok(cannot(problem, None, &now)),
    };
    let header = bounded(header, rights.is_person(), config);
    let job = sensor_job(vec![script.as_os_str().to_owned()], reader.root(), &header, config);
    let job = match Authored::new(config, &BTreeMap::new()).dressed(reader, rights, job) {
        Ok(job) => job,
        Err(problem) => return Ok(cannot(problem, None, &now)),
    };
    let done = run(reader, config, vec![job], brakes)?.pop().flatten();
    let done = done.ok_or_else(|| Failure::new("the sensor gave no result"))?;
    Ok(read(&done, &header, config, || None, &now))
}
