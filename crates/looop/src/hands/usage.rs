//! What workers used, from the files that claude, codex, pi and gemini keep of their sessions; `opencode_db` reads
//! opencode's database.
//!
//! Which file is whose is read off the file: it names the folder that its agent runs in (with gemini another file beside
//! it does), and within its first
//! [`HEAD`] bytes the prompt that the worker was given, or that folder is a worktree of the worker's own. A file
//! belongs to one worker for good. Only what was added since the last look is read.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use looop_core::meter::session_file::{Agent, SessionFile};
use looop_core::meter::{Metered, Micros, Prices, Source, Usage};
use looop_core::time::local;
use looop_core::world::fleet::{Fleet, WorkerState};
use looop_store::Reader;
use serde_json::Value;

use super::{act, contract, environ, keeper, opencode_db};
use crate::config::Config;
use crate::failure::Result;

/// The beginning of a file, in which it must say whose it is.
const HEAD: u64 = 256 << 10;
/// Most bytes that one look reads of one file.
const MOST: u64 = 64 << 20;
/// Longest line that is read.
const LONGEST: usize = 16 << 20;
/// Most files that are looked at; the newest folders come first.
const FILES: usize = 2000;
/// How much a file may be older than its worker: clocks of file systems are coarse.
pub(super) const SLACK_S: i64 = 5;

/// What is known of the files.
#[derive(Debug, Default)]
pub(crate) struct Usages {
    files: BTreeMap<PathBuf, Known>,
    /// The sessions that were last looked at.
    sessions: Vec<String>,
    /// Those that are followed as their files grow.
    #[cfg(target_os = "linux")]
    pub(super) followed: Option<super::growth::Followed>,
}

#[derive(Debug)]
enum Known {
    /// It is nobody's, as far as its length then told.
    Nobodys(u64),
    /// It is a worker's.
    Owned(Box<Owned>),
}

#[derive(Debug)]
struct Owned {
    session: String,
    file: SessionFile,
    /// How far it was read, and the beginning of a line that has no end yet.
    at: u64,
    rest: Vec<u8>,
    /// Whether something was left out for good.
    partial: bool,
    /// Whether there is more to be read.
    behind: bool,
}

/// A worker whose files are looked for.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one worker")]
pub(super) struct Wanted {
    pub(super) session: String,
    /// The folder that it runs in; both ways that lead there.
    folders: [PathBuf; 2],
    /// How the file names the folder that it runs in; both ways that lead there.
    cwd: Vec<String>,
    /// What its first message contains.
    pub(super) signs: Vec<String>,
    /// Whether the folder is its own.
    pub(super) own_folder: bool,
    pub(super) started_s: i64,
    /// The agent that it runs, where that is known to keep its sessions where they are looked for.
    pub(super) agent: Option<Agent>,
    /// Whether it runs opencode, and nothing beside.
    pub(super) runs_opencode: bool,
    /// Whether it runs.
    pub(super) lives: bool,
    /// Whether it has exited of its own accord.
    pub(super) exited: bool,
}

impl Usages {
    /// Looks at the files of these sessions and says what each has used, where a file tells.
    pub(crate) fn look(
        &mut self,
        reader: &Reader,
        config: &Config,
        fleet: &Fleet,
        sessions: &[String],
    ) -> Result<BTreeMap<String, Metered>> {
        // Whose a file is was judged among the sessions that were looked at then.
        if sessions.iter().any(|session| !self.sessions.contains(session)) {
            self.files.retain(|_, known| matches!(known, Known::Owned(_)));
        }
        self.sessions = sessions.to_vec();
        let wanted: Vec<Wanted> =
            sessions.iter().filter_map(|session| Wanted::of(reader, fleet, session)).collect();
        let Some(since) = wanted.iter().map(|wanted| wanted.started_s).min() else {
            return Ok(BTreeMap::new());
        };
        let env: BTreeMap<String, String> =
            environ::of_person(reader.root(), config, &[])?.into_iter().collect();
        let prices = config.price_list();
        self.files.retain(|_, known| match known {
            Known::Nobodys(_) => true,
            Known::Owned(owned) => sessions.contains(&owned.session),
        });
        let (mut left, mut unread) = (FILES, Vec::new());
        for (agent, root) in roots(&env) {
            unread.extend((!is_readable(&root)).then_some(agent));
            for folder in folders(agent, &root, since) {
                self.look_into(&folder, agent, (&wanted, &prices), &mut left);
            }
        }
        self.files.iter_mut().for_each(|(path, known)| known.read_on(path));
        if self.files.len() > FILES {
            self.files.retain(|_, known| matches!(known, Known::Owned(_)));
        }
        let mut sums = self.sums();
        // Where not all was looked at, nobody knows what is missing.
        let is_known = |wanted: &Wanted, agent: Agent| {
            let root = roots(&env).into_iter().find(|(other, _)| *other == agent);
            let strange = |(_, root): (Agent, PathBuf)| self.has_strangers(wanted, (agent, &root));
            left > 0 && !unread.contains(&agent) && !root.is_none_or(strange)
        };
        for wanted in wanted.iter().filter(|wanted| !wanted.lives && self.is_unanswered(wanted, is_known)) {
            let usage = sums.remove(&wanted.session).map(|metered| metered.usage().clone());
            sums.insert(wanted.session.clone(), Metered::Unanswered(usage.unwrap_or_default()));
        }
        sums.extend(opencode_db::look(&env, &wanted, &prices));
        Ok(sums)
    }

    /// Whether the files of a worker that has ended show that no model answered it. An agent whose first answer was on
    /// its way when it was ended may have kept nothing: pi begins its file with that answer.
    fn is_unanswered(&self, wanted: &Wanted, is_known: impl Fn(&Wanted, Agent) -> bool) -> bool {
        let mut files = self.files.values().filter_map(|known| match known {
            Known::Owned(owned) if owned.session == wanted.session => Some(owned),
            Known::Owned(_) | Known::Nobodys(_) => None,
        });
        let Some(first) = files.next() else {
            let sure = |agent: &Agent| wanted.exited || *agent != Agent::Pi;
            return wanted.agent.is_some_and(|agent| sure(&agent) && is_known(wanted, agent));
        };
        let whole = |owned: &Owned| !owned.partial && !owned.behind;
        std::iter::once(first)
            .chain(files)
            .all(|owned| whole(owned) && owned.file.is_unanswered(wanted.exited))
    }

    /// Looks again at the same sessions.
    #[cfg(target_os = "linux")]
    pub(super) fn look_again(&mut self, follow: &super::growth::Follow) -> Result<BTreeMap<String, Metered>> {
        let sessions = self.sessions.clone();
        self.look(&follow.reader, &follow.config, &follow.fleet, &sessions)
    }

    /// Finds out whose the new files of a folder are.
    fn look_into(
        &mut self,
        folder: &Path,
        agent: Agent,
        (wanted, prices): (&[Wanted], &Prices),
        left: &mut usize,
    ) {
        for (path, meta) in entries(folder) {
            let since = wanted.iter().map(|wanted| wanted.started_s).min().unwrap_or(i64::MAX);
            let is_session = path.extension().is_some_and(|extension| extension == "jsonl") && meta.is_file();
            if !is_session || meta.mtime() < since - SLACK_S || *left == 0 {
                continue;
            }
            *left -= 1;
            let seen = match self.files.get(&path) {
                Some(Known::Owned(_)) => continue,
                Some(Known::Nobodys(length)) => *length,
                None => 0,
            };
            if seen >= HEAD || seen == meta.len() && seen > 0 {
                continue;
            }
            let known = match owner((agent, &path), wanted, meta.mtime()) {
                None => Known::Nobodys(meta.len()),
                Some(session) => Known::Owned(Box::new(Owned {
                    session,
                    file: SessionFile::new(agent, prices.clone()),
                    at: 0,
                    rest: Vec::new(),
                    partial: false,
                    behind: false,
                })),
            };
            self.files.insert(path, known);
        }
    }

    /// Whether a session that is no worker's was at work in a worker's folder since the worker was started: the worker
    /// may have gone on with it.
    fn has_strangers(&self, wanted: &Wanted, (agent, root): (Agent, &Path)) -> bool {
        let all = folders(agent, root, wanted.started_s);
        let mut files = all.iter().flat_map(|folder| entries(folder)).filter(|(path, meta)| {
            let late = meta.is_file() && meta.mtime() >= wanted.started_s - SLACK_S;
            late && !matches!(self.files.get(path), Some(Known::Owned(_)))
        });
        files.any(|(path, _)| {
            let head = beside(agent, &path).zip(head_of(&path));
            head.is_some_and(|(beside, head)| {
                wanted.cwd.iter().any(|cwd| (beside.clone() + &head).contains(cwd))
            })
        })
    }

    /// What each session used in all of its files.
    fn sums(&self) -> BTreeMap<String, Metered> {
        let mut sums: BTreeMap<String, (Usage, bool)> = BTreeMap::new();
        for known in self.files.values() {
            let Known::Owned(owned) = known else { continue };
            let (usage, file) = (owned.file.usage(), &owned.file);
            let partial = owned.partial || owned.behind || file.is_unpriced() || file.leaves_out();
            match sums.get_mut(&owned.session) {
                None => drop(sums.insert(owned.session.clone(), (usage, partial))),
                Some((sum, some)) => {
                    add(sum, usage);
                    *some |= partial;
                }
            }
        }
        let metered = |(usage, partial): (Usage, bool)| match (partial, usage.usd) {
            (false, _) => Metered::Exact(usage),
            (true, Some(_)) => Metered::AtLeast(usage),
            (true, None) => Metered::Unmetered(usage),
        };
        sums.into_iter().map(|(session, sum)| (session, metered(sum))).collect()
    }
}

fn add(sum: &mut Usage, more: Usage) {
    sum.usd = match (sum.usd, more.usd) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(Micros::ZERO).saturating_add(other.unwrap_or(Micros::ZERO))),
    };
    sum.tokens_in = sum.tokens_in.saturating_add(more.tokens_in);
    sum.tokens_out = sum.tokens_out.saturating_add(more.tokens_out);
    sum.tokens_cached = sum.tokens_cached.saturating_add(more.tokens_cached);
    sum.model = sum.model.take().or(more.model);
    if sum.source == Source::None {
        sum.source = more.source;
    }
}

impl Known {
    /// Reads what was added. A file that got shorter is another one.
    fn read_on(&mut self, path: &Path) {
        let Self::Owned(owned) = self else { return };
        // What cannot be read now may be read at the next look; what it said so far stands.
        let Ok(file) = File::open(path) else { return };
        let Ok(length) = file.metadata().map(|meta| meta.len()) else { return };
        if length < owned.at {
            owned.partial = true;
            return;
        }
        let end = length.min(owned.at.saturating_add(MOST));
        owned.behind = owned.feed(&file, end).is_err() || end < length;
    }
}

impl Owned {
    fn feed(&mut self, file: &File, end: u64) -> io::Result<()> {
        let mut chunk = vec![0; 64 << 10];
        while self.at < end {
            let most = usize::try_from(end - self.at).unwrap_or(chunk.len()).min(chunk.len());
            let count = file.read_at(&mut chunk[..most], self.at)?;
            if count == 0 {
                break;
            }
            self.at += count as u64;
            self.take(&chunk[..count]);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = lines.next() {
            if self.rest.len() + piece.len() > LONGEST {
                (self.rest, self.partial) = (Vec::new(), true);
            } else {
                self.rest.extend_from_slice(piece);
            }
            if lines.peek().is_some() {
                self.file.line(&self.rest);
                self.rest.clear();
            }
        }
    }
}

impl Wanted {
    fn of(reader: &Reader, fleet: &Fleet, session: &str) -> Option<Self> {
        let folder = act::folder(reader, session);
        let spec: Value = serde_json::from_slice(&fs::read(folder.join("spec.json")).ok()?).ok()?;
        let cwd = PathBuf::from(spec.get("cwd")?.as_str()?);
        let real = fs::canonicalize(&cwd).unwrap_or_else(|_| cwd.clone());
        let prompt = folder.join(contract::FILE).to_string_lossy().into_owned();
        let state = fleet.workers.get(session).map(|worker| &worker.state);
        Some(Self {
            agent: keeper::agent_of(&spec),
            runs_opencode: keeper::runs_opencode(&spec),
            lives: fleet.lives(session),
            exited: matches!(state, Some(WorkerState::Exited(_) | WorkerState::Spawn(_))),
            session: session.to_owned(),
            own_folder: cwd.starts_with(reader.path("work").join(session)),
            cwd: vec![named(&cwd), named(&real)],
            folders: [cwd, real],
            signs: vec![prompt, format!("(session {session})")],
            started_s: fleet.workers.get(session).map_or(0, |worker| worker.started / 1000),
        })
    }

    /// Whether it runs in this folder.
    pub(super) fn is_in(&self, folder: &str) -> bool {
        self.folders.iter().any(|own| own == Path::new(folder))
    }

    /// A worker that has ended in this folder.
    #[cfg(test)]
    pub(super) fn for_test(session: &str, folder: &str) -> Self {
        let folders = [PathBuf::from(folder), PathBuf::from(folder)];
        Self { session: session.to_owned(), folders, started_s: 1000, ..Self::default() }
    }

    /// Where in the beginning of a file it is said that the file is this worker's.
    fn claims(&self, head: &str, modified_s: i64) -> Option<usize> {
        if modified_s < self.started_s - SLACK_S || !self.cwd.iter().any(|cwd| head.contains(cwd)) {
            return None;
        }
        let sign = self.signs.iter().filter_map(|sign| head.find(sign)).min();
        sign.or(self.own_folder.then_some(0))
    }
}

/// How a file names the folder that its agent runs in.
fn named(folder: &Path) -> String {
    format!("\"cwd\":{}", Value::from(folder.to_string_lossy().as_ref()))
}

/// What is known of a file's folder beside what the file itself says: gemini keeps that once for all its files.
fn beside(agent: Agent, path: &Path) -> Option<String> {
    match agent {
        Agent::Claude | Agent::Codex | Agent::Pi => Some(String::new()),
        Agent::Gemini => {
            let root = fs::read_to_string(path.ancestors().nth(2)?.join(".project_root")).ok()?;
            Some(named(Path::new(root.trim_end())))
        }
    }
}

/// The worker whose file it is: of several that it names the first.
fn owner((agent, path): (Agent, &Path), wanted: &[Wanted], modified_s: i64) -> Option<String> {
    let head = beside(agent, path)? + &head_of(path)?;
    let claims =
        wanted.iter().filter_map(|wanted| Some((wanted.claims(&head, modified_s)?, &wanted.session)));
    claims.min().map(|(_, session)| session.clone())
}

/// The beginning of a file.
fn head_of(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut head = vec![0; usize::try_from(HEAD).ok()?];
    let mut filled = 0;
    while filled < head.len() {
        match file.read_at(&mut head[filled..], filled as u64).ok()? {
            0 => break,
            count => filled += count,
        }
    }
    Some(String::from_utf8_lossy(&head[..filled]).into_owned())
}

/// Where the agents keep their sessions.
fn roots(env: &BTreeMap<String, String>) -> Vec<(Agent, PathBuf)> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = |below: &str| set("HOME").map(|home| home.join(below));
    let all = [
        (Agent::Claude, set("CLAUDE_CONFIG_DIR").or_else(|| home(".claude")), "projects"),
        (Agent::Codex, set("CODEX_HOME").or_else(|| home(".codex")), "sessions"),
        (Agent::Pi, set("PI_CODING_AGENT_DIR").or_else(|| home(".pi/agent")), "sessions"),
        (
            Agent::Gemini,
            set("GEMINI_CLI_HOME").map(|home| home.join(".gemini")).or_else(|| home(".gemini")),
            "tmp",
        ),
    ];
    all.into_iter().filter_map(|(agent, root, below)| Some((agent, root?.join(below)))).collect()
}

/// The folders in which a session that began then, or later, can lie.
fn folders(agent: Agent, root: &Path, since_s: i64) -> Vec<PathBuf> {
    match agent {
        // One folder a project; it changes when a session begins in it.
        Agent::Claude | Agent::Pi => {
            let fresh = |(path, meta): (PathBuf, Metadata)| {
                (meta.is_dir() && meta.mtime() >= since_s - SLACK_S).then_some(path)
            };
            entries(root).into_iter().filter_map(fresh).collect()
        }
        // The same, a folder deeper.
        Agent::Gemini => {
            let chats = entries(root).into_iter().map(|(project, _)| project.join("chats"));
            let fresh = |chats: &PathBuf| {
                fs::metadata(chats).is_ok_and(|meta| meta.is_dir() && meta.mtime() >= since_s - SLACK_S)
            };
            chats.filter(fresh).collect()
        }
        // One folder a day, in whatever zone: a day earlier will do.
        Agent::Codex => {
            let zone = jiff::tz::TimeZone::UTC;
            let first = local((since_s - 86_400) * 1000, &zone).strftime("%Y/%m/%d").to_string();
            let below = |folders: Vec<PathBuf>| -> Vec<PathBuf> {
                folders.iter().flat_map(|folder| entries(folder)).map(|(path, _)| path).collect()
            };
            let days = below(below(below(vec![root.to_owned()])));
            let is_late = |day: &PathBuf| day.strip_prefix(root).is_ok_and(|day| day >= Path::new(&first));
            days.into_iter().filter(is_late).collect()
        }
    }
}

/// The folders in which something changes when a session begins or grows.
#[cfg(target_os = "linux")]
pub(super) fn places(follow: &super::growth::Follow) -> Vec<PathBuf> {
    let env = environ::of_person(follow.reader.root(), &follow.config, &[]).unwrap_or_default();
    let mut places = Vec::new();
    for (agent, root) in roots(&env.into_iter().collect()) {
        places.extend(root.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned));
        places.extend(lately(agent, &root));
    }
    places.truncate(super::growth::PLACES);
    places
}

/// The folders below a root in which sessions lie or may begin, the ones that changed last first.
#[cfg(target_os = "linux")]
fn lately(agent: Agent, root: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path, count: usize| {
        let mut all: Vec<(PathBuf, Metadata)> = entries(folder);
        all.retain(|(_, meta)| meta.is_dir());
        all.sort_by_key(|(_, meta)| std::cmp::Reverse(meta.mtime()));
        all.into_iter().take(count).map(|(path, _)| path).collect::<Vec<_>>()
    };
    match agent {
        Agent::Claude | Agent::Pi => below(root, super::growth::PLACES / 4),
        Agent::Gemini => below(root, super::growth::PLACES / 8)
            .into_iter()
            .flat_map(|project| [project.join("chats"), project])
            .collect(),
        Agent::Codex => {
            let (mut found, mut level) = (Vec::new(), vec![root.to_owned()]);
            for _ in 0..3 {
                level = level.iter().flat_map(|folder| below(folder, 2)).collect();
                found.extend(level.clone());
            }
            found
        }
    }
}

/// Whether all that is in a folder can be seen; in one that is not there is nothing.
fn is_readable(folder: &Path) -> bool {
    !fs::read_dir(folder).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// What is in a folder. One that is not there or cannot be read has nothing to say.
fn entries(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let listed = fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok);
    listed.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use looop_core::world::fleet::{Worker, worker_of};

    use super::*;

    const CODEX: &str = r#"{"type":"turn_context","payload":{"model":"gpt-5"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":0}}}}
"#;

    struct Place {
        home: tempfile::TempDir,
        reader: Reader,
        config: Config,
        fleet: Fleet,
    }

    impl Place {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let reader = Reader::create(&home.path().join("data")).unwrap();
            let variables = home.path().join("env");
            let names = ["HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "GEMINI_CLI_HOME"];
            let text = names.map(|name| match name {
                "HOME" => format!("HOME={}\n", home.path().display()),
                name => format!("{name}=\n"),
            });
            fs::write(&variables, text.concat()).unwrap();
            fs::set_permissions(&variables, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            let config = Config { env_file: Some(variables), ..Config::default() };
            Self { home, reader, config, fleet: Fleet::default() }
        }

        /// A session that runs in this folder below the profile.
        fn session(&mut self, session: &str, cwd: &str) -> String {
            let folder = act::folder(&self.reader, session);
            fs::create_dir_all(&folder).unwrap();
            let cwd = self.reader.path(cwd);
            fs::create_dir_all(&cwd).unwrap();
            fs::write(folder.join("spec.json"), serde_json::json!({"cwd": cwd}).to_string()).unwrap();
            let worker = Worker {
                id: worker_of(session).to_owned(),
                session: session.to_owned(),
                state: WorkerState::Alive,
                goal: None,
                runner: None,
                started: 1000,
                ended: None,
                silent_s: None,
                strays: Vec::new(),
            };
            self.fleet.workers.insert(session.to_owned(), worker);
            cwd.to_string_lossy().into_owned()
        }

        fn append(&self, path: &str, text: &str) {
            let path = self.home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        /// What each session used, in cents.
        fn look(&self, usages: &mut Usages) -> BTreeMap<String, u64> {
            let sessions: Vec<String> = self.fleet.workers.keys().cloned().collect();
            let looked = usages.look(&self.reader, &self.config, &self.fleet, &sessions).unwrap();
            let cents = |metered: Metered| metered.usage().usd.map_or(0, |usd| usd.get() / 10_000);
            looked.into_iter().map(|(session, metered)| (session, cents(metered))).collect()
        }
    }

    fn pi(cwd: &str, said: &str, usd: f64) -> String {
        format!(
            "{{\"type\":\"session\",\"cwd\":\"{cwd}\"}}\n\
             {{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{said}\"}}}}\n{}",
            spent(usd)
        )
    }

    fn spent(usd: f64) -> String {
        let usage = serde_json::json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": usd}});
        let message = serde_json::json!({"role": "assistant", "model": "m", "usage": usage});
        format!("{}\n", serde_json::json!({"type": "message", "message": message}))
    }

    #[test]
    fn a_file_is_whose_prompt_it_holds_and_is_read_on_from_where_it_was() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "");
        place.session("b~2", "");
        let mut usages = Usages::default();
        place.append(".pi/agent/sessions/x/1.jsonl", &pi(&cwd, "worker b (session b~2).", 0.25));
        place.append(".pi/agent/sessions/x/2.jsonl", &pi(&cwd, "somebody else", 7.0));
        place.append(".pi/agent/sessions/x/3.jsonl", &pi("/elsewhere", "(session a~1)", 7.0));
        assert_eq!(place.look(&mut usages), [("b~2".to_owned(), 25)].into());
        let line = spent(0.5);
        place.append(".pi/agent/sessions/x/1.jsonl", &line[..20]);
        assert_eq!(place.look(&mut usages)["b~2"], 25, "half a line");
        place.append(".pi/agent/sessions/x/1.jsonl", &line[20..]);
        assert_eq!(place.look(&mut usages)["b~2"], 75);
        assert_eq!(place.look(&mut Usages::default())["b~2"], 75, "after a restart");
        let prompt = act::folder(&place.reader, "a~1").join(contract::FILE);
        place.append(".pi/agent/sessions/y/1.jsonl", &pi(&cwd, &prompt.to_string_lossy(), 0.1));
        place.append(".pi/agent/sessions/y/2.jsonl", &pi(&cwd, "(session a~1)", 0.2));
        assert_eq!(place.look(&mut usages), [("a~1".to_owned(), 30), ("b~2".to_owned(), 75)].into());
    }

    #[test]
    fn a_file_that_was_nobodys_among_others_is_found_when_its_own_worker_is_looked_at() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "");
        place.session("b~1", "");
        place.append(".pi/agent/sessions/x/1.jsonl", &pi(&cwd, "(session a~1)", 0.25));
        place.append(".pi/agent/sessions/x/2.jsonl", &pi(&cwd, "(session b~1)", 0.5));
        let mut usages = Usages::default();
        let b = place.fleet.workers.remove("b~1").unwrap();
        assert_eq!(place.look(&mut usages), [("a~1".to_owned(), 25)].into());
        place.fleet.workers.insert("b~1".to_owned(), b);
        place.fleet.workers.remove("a~1");
        assert_eq!(place.look(&mut usages), [("b~1".to_owned(), 50)].into());
    }

    #[test]
    fn a_worktree_of_its_own_says_enough_and_codex_keeps_a_folder_a_day() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "work/a~1");
        let head = format!("{{\"type\":\"session_meta\",\"payload\":{{\"cwd\":\"{cwd}\"}}}}\n");
        place.append(".codex/sessions/2026/11/15/rollout-1.jsonl", &format!("{head}{CODEX}"));
        place.append(".codex/sessions/1969/12/30/rollout-1.jsonl", &format!("{head}{CODEX}"));
        assert_eq!(place.look(&mut Usages::default()), [("a~1".to_owned(), 125)].into());
    }

    #[test]
    fn gemini_says_beside_the_file_where_it_runs_and_less_than_it_asked() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "");
        let said = "{\"type\":\"user\",\"content\":[{\"text\":\"(session a~1)\"}]}\n";
        let answer = "{\"id\":\"1\",\"type\":\"gemini\",\"tokens\":{\"input\":1000000},\"model\":\"gemini-3.1-pro\"}\n";
        for (folder, root) in [("x", cwd.as_str()), ("y", "/elsewhere")] {
            place.append(&format!(".gemini/tmp/{folder}/.project_root"), root);
            let file = format!(".gemini/tmp/{folder}/chats/session-1.jsonl");
            place.append(&file, &format!("{said}{answer}{answer}"));
        }
        let looked =
            Usages::default().look(&place.reader, &place.config, &place.fleet, &["a~1".to_owned()]).unwrap();
        assert!(matches!(looked["a~1"], Metered::AtLeast(_)), "{looked:?}");
        assert_eq!(place.look(&mut Usages::default()), [("a~1".to_owned(), 200)].into());
    }

    #[test]
    fn a_file_that_was_cut_keeps_what_it_said_and_is_a_lower_bound() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "");
        let mut usages = Usages::default();
        place.append(".pi/agent/sessions/x/1.jsonl", &pi(&cwd, "(session a~1)", 0.25));
        place.look(&mut usages);
        fs::write(place.home.path().join(".pi/agent/sessions/x/1.jsonl"), "").unwrap();
        let looked = usages.look(&place.reader, &place.config, &place.fleet, &["a~1".to_owned()]).unwrap();
        assert!(matches!(looked["a~1"], Metered::AtLeast(_)), "{looked:?}");
    }
    #[test]
    fn a_worker_that_nobody_answered_is_known_by_its_files() {
        let mut place = Place::new();
        let cwd = place.session("a~1", "");
        let names = ["a~1".to_owned()];
        let starts = |place: &Place, command: &str| {
            let spec = serde_json::json!({ "cwd": cwd, "argv": ["bash", "-c", command] });
            fs::write(act::folder(&place.reader, "a~1").join("spec.json"), spec.to_string()).unwrap();
        };
        let ends = |place: &mut Place, state: WorkerState| {
            place.fleet.workers.get_mut("a~1").unwrap().state = state;
        };
        let is_unanswered = |place: &Place| {
            let looked = Usages::default().look(&place.reader, &place.config, &place.fleet, &names).unwrap();
            matches!(looked.get("a~1"), Some(Metered::Unanswered(_)))
        };
        starts(&place, "claude x");
        assert!(!is_unanswered(&place), "it lives");
        ends(&mut place, WorkerState::Killed);
        assert!(is_unanswered(&place), "it asked nothing");
        starts(&place, "my-agent x");
        assert!(!is_unanswered(&place), "who knows where that keeps its files");
        starts(&place, "pi x");
        assert!(!is_unanswered(&place), "an answer may have been on its way");
        ends(&mut place, WorkerState::Exited(1));
        assert!(is_unanswered(&place));
        let refused = r#"{"type":"message","message":{"role":"assistant","usage":{"input":0},"stopReason":"error","errorMessage":"429: no"}}"#;
        place
            .append(".pi/agent/sessions/x/1.jsonl", &format!("{{\"type\":\"session\",\"cwd\":\"{cwd}\"}}\n"));
        assert!(!is_unanswered(&place), "somebody's session, perhaps its own");
        place.append(".pi/agent/sessions/x/1.jsonl", &format!("{{\"said\":\"(session a~1)\"}}\n{refused}\n"));
        assert!(is_unanswered(&place), "all was refused");
        place.append(".pi/agent/sessions/x/1.jsonl", &spent(0.25));
        assert!(!is_unanswered(&place));
    }
}
