//! `looop log <id>`.

use std::process::ExitCode;

use clap::Args;
use looop_core::shown::Shown;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::log::{self, Fresh, Wanted};
use crate::ops::{Place, expect};

/// So much is printed at once of what is there already.
const PAGE: usize = 64 << 10;

/// What a worker printed, as lines without escape sequences
///
/// Live and ended sessions read alike. Offsets count bytes from the first that was ever printed.
#[derive(Args, Debug)]
pub(super) struct Log {
    /// Which worker or session; `pulse` is the loop itself
    id: String,
    /// Only the last so many lines
    #[arg(long, short = 'n', value_name = "N")]
    tail: Option<usize>,
    /// Only lines that match this pattern
    #[arg(long, value_name = "RE", allow_hyphen_values = true)]
    grep: Option<String>,
    /// Only what was printed from this byte offset on
    #[arg(long, value_name = "OFFSET")]
    since: Option<u64>,
    /// Go on with what comes, until the worker has ended
    #[arg(long, short)]
    follow: bool,
    /// The bytes as they were printed
    #[arg(long, conflicts_with_all = ["grep", "json"])]
    raw: bool,
    #[command(flatten)]
    json: Json,
}

impl Log {
    /// What `watch` shows of the pulse.
    pub(super) fn watching(id: &str) -> Self {
        let json = Json { json: false };
        Self { id: id.to_owned(), tail: Some(20), grep: None, since: None, follow: true, raw: false, json }
    }

    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let grep = self.grep.as_deref().map(expect::pattern).transpose()?;
        let wanted = Wanted { since: self.since, tail: self.tail, grep, follow: self.follow };
        let mut log = log::open(place, &self.id)?;
        let dropped = log.dropped(&wanted);
        if dropped > 0 {
            say_dropped(dropped);
        }
        if self.raw {
            log.bytes(&wanted, &mut print::out_bytes)?;
        } else if self.json.json && !self.follow {
            whole(&mut log, &wanted, dropped)?;
        } else {
            let mut page = String::new();
            log.lines(&wanted, &mut |line| self.gather(line, &mut page))?;
            print::out_bytes(page.as_bytes());
        }
        if self.follow {
            log.follow(&wanted, &mut |fresh| self.fresh(fresh))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn fresh(&self, fresh: Fresh<'_>) {
        match fresh {
            Fresh::Bytes(bytes) if self.raw => print::out_bytes(bytes),
            Fresh::Line(line) if !self.raw => self.line(line),
            Fresh::Bytes(_) | Fresh::Line(_) => {}
            Fresh::Dropped(count) => say_dropped(count),
        }
    }

    fn line(&self, line: &str) {
        print::out_shown(&self.form(line));
    }

    fn form(&self, line: &str) -> Shown {
        if self.json.json {
            Shown::json(&json!({"v": 1, "line": line}).to_string())
        } else {
            Shown::block(line)
        }
    }

    /// Prints many lines at once.
    fn gather(&self, line: &str, page: &mut String) {
        page.push_str(self.form(line).as_str());
        page.push('\n');
        if page.len() >= PAGE {
            print::out_bytes(page.as_bytes());
            page.clear();
        }
    }
}

fn whole(log: &mut log::Log, wanted: &Wanted, dropped: u64) -> Result<()> {
    let mut lines = Vec::new();
    log.lines(wanted, &mut |line| lines.push(line.to_owned()))?;
    let (first, end) = log.extent();
    let name = &log.name;
    print::json(
        &json!({"v": 1, "session": name, "first": first, "end": end, "dropped": dropped, "lines": lines}),
    )
}

fn say_dropped(count: u64) {
    print::say(&format!("looop: {count} bytes of output are no longer kept"));
}
