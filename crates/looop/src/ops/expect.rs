//! Waiting for a pattern, for quiet, and for the end.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use looop_session::client::{Flow, Follow, Match, News};
use looop_session::{Client, ClientError, Standing, host};
use regex::Regex;

use super::drive;
use super::session::{Target, standing_text};
use crate::failure::{Failure, Result};

/// After output came, a screen is looked at when nothing more comes for this long,
const SETTLED: Duration = Duration::from_millis(5);
/// and at the latest then.
const LOOK: Duration = Duration::from_millis(50);

/// What became of a wait for a pattern.
#[derive(Debug)]
pub(crate) enum Found {
    Match(Match),
    /// The session ended, or had ended, without one.
    Ended,
    TimedOut,
}

/// A pattern from the command line: `^` and `$` are those of a line.
pub(crate) fn pattern(text: &str) -> Result<Regex> {
    regex::RegexBuilder::new(text)
        .multi_line(true)
        .build()
        .map_err(|error| Failure::usage(format!("\"{text}\" is not a pattern: {error}")))
}

impl Target {
    /// Waits until the pattern is in the output from an offset on.
    pub(crate) fn expect(&self, pattern: &Regex, since: u64, until: Instant) -> Result<Found> {
        let mut follow = self.follow(since)?;
        let kept = follow.edge();
        let mut flow = Flow::new(follow.at());
        loop {
            let found = match follow.next(Some(until)).map_err(|error| self.failure(error))? {
                News::Bytes(bytes) => flow.find(&bytes, pattern),
                News::Dropped(_) => {
                    flow.skip_to(follow.at());
                    None
                }
                News::Ended => return Ok(Found::Ended),
                News::Nothing => return Ok(Found::TimedOut),
            };
            if let Some(found) = found {
                return Ok(Found::Match(found));
            }
            // What was there before is looked at whole, however short the time.
            if follow.at() >= kept && Instant::now() >= until {
                return Ok(Found::TimedOut);
            }
        }
    }

    /// Waits until the pattern is on the screen.
    pub(crate) fn expect_screen(&self, pattern: &Regex, until: Instant) -> Result<Found> {
        let mut follow = self.follow(0)?;
        follow.skip_to_now();
        loop {
            let seen = drive::shot(self)?;
            if let Some(found) = on_screen(pattern, &seen.shot.lines, seen.shot.at) {
                return Ok(Found::Match(found));
            }
            if seen.source != "live" && !self.is_live()? {
                return Ok(Found::Ended);
            }
            match follow.next(Some(until)).map_err(|error| self.failure(error))? {
                News::Bytes(_) | News::Dropped(_) => self.settle(&mut follow)?,
                News::Ended => {}
                News::Nothing => return Ok(Found::TimedOut),
            }
        }
    }

    /// Lets a burst of output pass.
    fn settle(&self, follow: &mut Follow) -> Result<()> {
        let latest = Instant::now() + LOOK;
        while Instant::now() < latest {
            match follow.next(Some(Instant::now() + SETTLED)).map_err(|error| self.failure(error))? {
                News::Bytes(_) | News::Dropped(_) => {}
                News::Ended | News::Nothing => break,
            }
        }
        Ok(())
    }

    fn follow(&self, since: u64) -> Result<Follow> {
        let opened = Follow::open(&self.folder, since).map_err(|error| self.failure(error))?;
        opened.ok_or_else(|| self.not_live())
    }

    /// Waits until nothing was printed for this long. Says whether it is quiet: it is also when the session has ended.
    pub(crate) fn idle(&self, settle: Duration, until: Option<Instant>) -> Result<bool> {
        let mut client = match Client::connect(&self.folder) {
            Err(ClientError::Absent) => return Ok(true),
            client => client.map_err(|error| self.failure(error))?,
        };
        loop {
            let quiet = match client.screen(false) {
                Err(ClientError::Gone) => return Ok(true),
                shot => Duration::from_millis(shot.map_err(|error| self.failure(error))?.quiet_ms),
            };
            let Some(rest) = settle.checked_sub(quiet).filter(|rest| !rest.is_zero()) else {
                return Ok(true);
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            let pause = left.map_or(rest, |left| left.min(rest));
            if client.gone_within(pause).map_err(|error| self.failure(error))? {
                return Ok(true);
            }
        }
    }

    /// Waits until the session has ended. `None`: the time is up.
    pub(crate) fn ended(&self, timeout: Option<Duration>) -> Result<Option<Standing>> {
        let folder = self.folder.clone();
        let (sender, receiver) = channel();
        let waiting = std::thread::Builder::new().name("wait".to_owned()).spawn(move || {
            // Nobody listens when the time was up first.
            sender.send(host::wait(&folder)).ok();
        });
        waiting.map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        let standing = match timeout {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(timeout) => receiver.recv_timeout(timeout),
        };
        match standing {
            Ok(standing) => standing.map(Some).map_err(|error| self.unreadable(&error)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::new("the wait was cut short")),
        }
    }

    /// Why a wait for a pattern was in vain.
    pub(crate) fn over(&self) -> String {
        self.standing().map_or_else(|failure| failure.error, |standing| standing_text(&standing))
    }
}

fn on_screen(pattern: &Regex, lines: &[String], at: u64) -> Option<Match> {
    let text = lines.join("\n");
    let found = pattern.captures(&text)?;
    let group = |index: usize| found.get(index).map(|group| group.as_str().to_owned());
    Some(Match { text: group(0)?, groups: (1..found.len()).map(group).collect(), end: at })
}
