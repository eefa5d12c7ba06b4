//! What opencode workers used, from the database in which opencode keeps its sessions.
//!
//! Whose a session is follows from the folder that it runs in, where that is a worktree of the worker's own, else also
//! from the prompt at its beginning. Sessions that one starts are its own. Nothing is locked and nothing written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use looop_core::meter::opencode_db::{Session, awaits_answer, beginning, metered, sessions, was_refused};
use looop_core::meter::sqlite::{Database, Read, Unreadable};
use looop_core::meter::{Metered, Prices, Usage};

use super::usage::{SLACK_S, Wanted};

/// Longest write-ahead log, and how much of the end of opencode's own log is read.
const LOG: u64 = 64 << 20;
const SAID: u64 = 1 << 20;

/// What each of these workers used, where the database tells.
pub(super) fn look(
    env: &BTreeMap<String, String>,
    wanted: &[Wanted],
    prices: &Prices,
) -> BTreeMap<String, Metered> {
    let of_opencode = |wanted: &&Wanted| wanted.agent.is_none();
    let wanted: Vec<&Wanted> = wanted.iter().filter(of_opencode).collect();
    let Some(root) = root(env).filter(|_| !wanted.is_empty()) else { return BTreeMap::new() };
    // What cannot be read now is read at the next look.
    Place { root }.read(&wanted, prices).unwrap_or_default()
}

/// Where opencode keeps its database.
fn root(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("opencode"))
}

struct Place {
    root: PathBuf,
}

impl Place {
    fn log(&self) -> Read<Vec<u8>> {
        let path = self.root.join("opencode.db-wal");
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Ok(meta) if meta.len() <= LOG => fs::read(&path).map_err(|_| Unreadable),
            Ok(_) | Err(_) => Err(Unreadable),
        }
    }

    fn read(&self, wanted: &[&Wanted], prices: &Prices) -> Read<BTreeMap<String, Metered>> {
        let path = self.root.join("opencode.db");
        let file = match File::open(&path) {
            Ok(file) => file,
            // Whoever has no database has asked nothing.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let none = |wanted: &&&Wanted| wanted.runs_opencode && !wanted.lives;
                let unanswered =
                    |wanted: &&Wanted| (wanted.session.clone(), Metered::Unanswered(Usage::default()));
                return Ok(wanted.iter().filter(none).map(unanswered).collect());
            }
            Err(_) => return Err(Unreadable),
        };
        let bytes = |at: u64, count: usize| {
            let mut bytes = vec![0; count];
            file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
        };
        let log = self.log()?;
        let db = Database::open(&bytes, &log)?;
        let sums = self.sums(&db, wanted, prices)?;
        if db.is_log_of(&self.log()?) { Ok(sums) } else { Err(Unreadable) }
    }

    fn sums(
        &self,
        db: &Database<'_>,
        wanted: &[&Wanted],
        prices: &Prices,
    ) -> Read<BTreeMap<String, Metered>> {
        let since = wanted.iter().map(|wanted| wanted.started_s - SLACK_S).min().unwrap_or(0);
        let since = u64::try_from(since.saturating_mul(1000)).unwrap_or(0);
        let all = sessions(db, prices, since)?;
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for session in &all {
            let whose = match session.parent.as_deref().and_then(|parent| owners.get(parent)) {
                Some(parents) => Some(*parents),
                None => owner(db, session, wanted)?,
            };
            owners.extend(whose.map(|whose| (session.id.as_str(), whose)));
        }
        let mut sums = BTreeMap::new();
        for wanted in wanted {
            let is_own =
                |session: &&Session| owners.get(session.id.as_str()) == Some(&wanted.session.as_str());
            let own: Vec<&Session> = all.iter().filter(is_own).collect();
            let used = own.iter().any(|session| session.is_used());
            if used {
                let open = !wanted.lives && any_open(db, &own)?;
                sums.insert(wanted.session.clone(), metered(&own, open));
            } else if !wanted.lives && self.asked_nothing(db, (wanted, &own), &all)? {
                sums.insert(wanted.session.clone(), Metered::Unanswered(Usage::default()));
            }
        }
        Ok(sums)
    }

    /// Whether no model has answered a worker that has ended and whose sessions have used nothing.
    fn asked_nothing(
        &self,
        db: &Database<'_>,
        (wanted, own): (&Wanted, &[&Session]),
        all: &[Session],
    ) -> Read<bool> {
        if own.is_empty() {
            // A session that is nobody's may be its own: it was ended before its prompt was noted.
            let began = u64::try_from((wanted.started_s - SLACK_S).saturating_mul(1000)).unwrap_or(0);
            let strange = |session: &Session| session.created >= began && wanted.is_in(&session.directory);
            return Ok(wanted.runs_opencode && !all.iter().any(strange));
        }
        if wanted.exited {
            return Ok(true);
        }
        let said = end_of(&self.root.join("log/opencode.log"));
        for session in own {
            if awaits_answer(db, &session.id)? && !was_refused(&said, &session.id) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether an answer was on its way in any of these sessions.
fn any_open(db: &Database<'_>, sessions: &[&Session]) -> Read<bool> {
    for session in sessions {
        if awaits_answer(db, &session.id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The worker whose session it is.
fn owner<'a>(db: &Database<'_>, session: &Session, wanted: &[&'a Wanted]) -> Read<Option<&'a str>> {
    let began = |wanted: &&&Wanted| {
        let started = u64::try_from((wanted.started_s - SLACK_S).saturating_mul(1000)).unwrap_or(0);
        session.updated >= started && wanted.is_in(&session.directory)
    };
    let near: Vec<&&Wanted> = wanted.iter().filter(began).collect();
    if let Some(own) = near.iter().find(|wanted| wanted.own_folder) {
        return Ok(Some(&own.session));
    }
    if near.is_empty() {
        return Ok(None);
    }
    let said = beginning(db, &session.id)?;
    let named = near.iter().find(|wanted| wanted.signs.iter().any(|sign| said.contains(sign)));
    Ok(named.map(|wanted| wanted.session.as_str()))
}

/// The end of a file; nothing where it cannot be read.
fn end_of(path: &Path) -> String {
    let Ok(file) = File::open(path) else { return String::new() };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let count = length.min(SAID);
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, length - count) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A database as opencode has it, with so many sessions beside, of which the last pages stand in the log alone.
    const MAKE: &str = r#"
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute('pragma journal_mode=wal'); c.execute('pragma wal_autocheckpoint=0')
c.executescript('''
create table `session` (`id` text PRIMARY KEY, `parent_id` text, `directory` text NOT NULL, `title` text, `cost` real DEFAULT 0 NOT NULL,
  `tokens_input` integer, `tokens_output` integer, `tokens_reasoning` integer, `tokens_cache_read` integer, `tokens_cache_write` integer,
  `model` text, `time_created` integer, `time_updated` integer, CONSTRAINT `x` FOREIGN KEY (`parent_id`) REFERENCES `session`(`id`));
create table `message` (`id` text PRIMARY KEY, `session_id` text, `time_created` integer, `data` text);
create index `message_session_time_created_id_idx` on `message` (`session_id`,`time_created`,`id`);
create table `part` (`id` text PRIMARY KEY, `session_id` text, `data` text);
create index `part_session_idx` on `part` (`session_id`);
''')
def session(id, directory, cost=0.0, tokens=0, parent=None, said=''):
    c.execute('insert into session values (?,?,?,?,?,?,?,?,?,?,?,?,?)', (id, parent, directory, 't' * 500, cost, tokens, 1, 0, 0, 0, '{"id":"m"}', 2000000, 2000000))
    c.execute('insert into part values (?,?,?)', ('p' + id, id, said))
for n in range(2000): session(f'beside-{n:05}', '/elsewhere', 7.0, 7, None, 'x' * (n % 7) * 1000)
c.commit(); c.execute('pragma wal_checkpoint(truncate)')
session('one', '/w', 0.25, 1000, None, 'y' * 9000 + 'Read (session a~1) now'); session('child', '/w', 0.5, 10, 'one'); session('other', '/w', 9.0, 9, None, 'hello')
session('tree', '/work/b~1', 0.125, 100); session('tools', '/work/d~1', 0.5, 100); session('ended', '/work/e~1', 0.5, 100)
message = '{"role":"assistant","time":{"completed":1},"finish":"%s"}'
c.execute('insert into message values (?,?,?,?)', ('m1', 'tree', 1, message % 'stop')); c.execute('insert into message values (?,?,?,?)', ('m2', 'tools', 1, message % 'tool-calls'))
c.execute('insert into message values (?,?,?,?)', ('m3', 'ended', 1, '{"role":"assistant","time":{"completed":1},"error":{"name":"MessageAbortedError"}}'))
c.commit(); session('open', '/w', 5.0, 5, None, '(session a~1)')
sys.stdout.flush(); os._exit(0)
"#;

    fn wanted(session: &str, folder: &str, own_folder: bool) -> Wanted {
        let mut wanted = Wanted::for_test(session, folder);
        (wanted.own_folder, wanted.runs_opencode) = (own_folder, true);
        wanted.signs.push(format!("(session {session})"));
        wanted
    }

    #[test]
    fn what_the_sessions_of_a_worker_used_is_read_from_file_and_log() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join(".local/share/opencode");
        fs::create_dir_all(&root).unwrap();
        let made = Command::new("python3").args(["-c", MAKE]).arg(root.join("opencode.db")).status().unwrap();
        assert!(made.success());
        assert!(fs::metadata(root.join("opencode.db-wal")).unwrap().len() > 0, "some of it is in the log");
        let env = [("HOME".to_owned(), home.path().to_string_lossy().into_owned())].into();
        let all = [
            wanted("a~1", "/w", false),
            wanted("b~1", "/work/b~1", true),
            wanted("c~1", "/nowhere", true),
            wanted("d~1", "/work/d~1", true),
            wanted("e~1", "/work/e~1", true),
        ];
        let looked = look(&env, &all, &Prices::default());
        let micros = |session: &str| {
            let Metered::Exact(usage) = &looked[session] else { panic!("{looked:?}") };
            (usage.usd.unwrap().get(), usage.tokens_in)
        };
        assert_eq!(micros("a~1"), (750_000, 1010), "with the session that it started");
        assert_eq!(micros("b~1"), (125_000, 100));
        assert!(matches!(looked["c~1"], Metered::Unanswered(_)), "{looked:?}");
        assert!(
            matches!(looked["d~1"], Metered::AtLeast(_)),
            "a request follows what called tools: {looked:?}"
        );
        assert!(matches!(looked["e~1"], Metered::AtLeast(_)), "an aborted answer may have cost: {looked:?}");
        fs::write(root.join("opencode.db"), "no database").unwrap();
        assert_eq!(look(&env, &all, &Prices::default()).len(), 0, "nothing is known");
    }
}
