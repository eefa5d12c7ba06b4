//! Defaults, file and environment, put over one another.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    ops::Range,
    path::{Path, PathBuf},
};

use super::{
    error::{MOST_PROBLEMS, Refusal},
    keys::{KEYS, Rule, Set},
    names::{self, RUNNER_PREFIX},
    older,
    preset::preset,
    problem::{Complaint, Place, Problem},
    raw::{Raw, bad},
    runner::{Runner, RunnerName},
    settings::{Config, Decider},
    stamp::Stamp,
    tree::{self, Field, Format, Item, Node},
    warning::Warning,
};

/// The environment, as it was when the process began.
pub type Env = BTreeMap<String, OsString>;

/// Who said what a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Nobody: it is the default.
    Default,
    /// The file.
    Config,
    /// The environment.
    Env,
}

/// The settings and where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// The file they were read from; without one there is none.
    pub file: Option<PathBuf>,
    /// What is odd without being wrong.
    pub warnings: Vec<Warning>,
    /// The files as they were right before they were read, where the caller took a stamp of them.
    pub stamp: Option<Stamp>,
    pub(super) layers: BTreeMap<String, Layer>,
}

impl Loaded {
    /// Who said what a key is; `runners.pi.tick` names the tick command of runner `pi`.
    pub fn layer(&self, key: &str) -> Layer {
        self.layers.get(key).copied().unwrap_or(Layer::Default)
    }

    /// Every key that the file or the environment set, with who did.
    pub fn set_keys(&self) -> impl Iterator<Item = (&str, Layer)> {
        self.layers.iter().map(|(key, layer)| (key.as_str(), *layer))
    }
}

/// Reads the content of a config file, if there is one, and puts the environment over it.
///
/// A name that ends in `.json` or `.toml` says how the file is written; of others the first character does.
pub fn from_bytes(file: Option<(&Path, &[u8])>, env: &Env) -> Result<Loaded, Refusal> {
    let mut builder = Builder::default();
    if let Some((path, bytes)) = file {
        builder.read_file(path, bytes);
    }
    builder.read_env(env);
    builder.finish(file.map(|(path, _)| path.to_path_buf()))
}

#[derive(Default)]
struct Builder {
    config: Config,
    layers: BTreeMap<String, Layer>,
    warnings: Vec<Warning>,
    problems: Vec<Problem>,
    left_out: usize,
}

/// The file that is being read, for pointing into it.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Builder {
    fn read_file(&mut self, path: &Path, bytes: &[u8]) {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(e) => return self.not_utf8(path, bytes, e.valid_up_to()),
        };
        let source = Source { path, text };
        match tree::parse(text, format_of(path, text)) {
            Ok(mut fields) => {
                self.warnings.append(&mut older::modernise(&mut fields, format_of(path, text)));
                self.read_fields(&source, &fields);
            }
            Err(e) => self.complain(&source, "", e.span.as_ref(), Complaint::Syntax(e.message)),
        }
    }

    fn not_utf8(&mut self, path: &Path, bytes: &[u8], at: usize) {
        let text = String::from_utf8_lossy(bytes);
        let source = Source { path, text: &text };
        let complaint = Complaint::Syntax("not valid UTF-8".to_owned());
        self.complain(&source, "", Some(&(at..at + 1)), complaint);
    }

    fn complain(
        &mut self,
        source: &Source<'_>,
        key: &str,
        span: Option<&Range<usize>>,
        complaint: Complaint,
    ) {
        self.tell(key, complaint, || Place::in_file(source.path, source.text, span));
    }

    // A place is worked out only if it is told: each costs a walk through the file.
    fn tell(&mut self, key: &str, complaint: Complaint, place: impl FnOnce() -> Place) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { place: place(), key: key.to_owned(), complaint });
        } else {
            self.left_out += 1;
        }
    }

    fn read_fields(&mut self, source: &Source<'_>, fields: &[Field]) {
        for field in fields {
            if field.key == "runners" {
                self.read_runners(source, &field.value);
            } else {
                self.read_top(source, field);
            }
        }
        if let Some(field) = fields.iter().find(|field| field.key == "default") {
            self.check_deciders(source, &field.value);
        }
    }

    fn read_top(&mut self, source: &Source<'_>, field: &Field) {
        let key = field.key.as_str();
        let Some(set) = KEYS.iter().find(|doc| doc.key == key).and_then(|doc| top_rule(doc.rule)) else {
            let complaint = Complaint::UnknownKey(names::advice_at_top(key));
            return self.complain(source, key, field.key_span.as_ref(), complaint);
        };
        match set(&mut self.config, Raw::Node(&field.value)) {
            Ok(()) => self.set_by(key, Layer::Config),
            Err(complaint) => self.complain(source, key, field.value.span.as_ref(), complaint),
        }
    }

    fn read_runners(&mut self, source: &Source<'_>, value: &Node) {
        let Item::Table(runners) = &value.item else {
            let complaint = Raw::Node(value).wrong("a table of runners");
            return self.complain(source, "runners", value.span.as_ref(), complaint);
        };
        for field in runners {
            match RunnerName::new(&field.key) {
                Ok(name) => self.read_runner(source, name, &field.value),
                Err(reason) => {
                    let key = format!("runners.{}", field.key);
                    self.complain(source, &key, field.key_span.as_ref(), bad(reason));
                }
            }
        }
    }

    fn read_runner(&mut self, source: &Source<'_>, name: RunnerName, value: &Node) {
        let path = format!("runners.{name}");
        let Item::Table(fields) = &value.item else {
            let complaint = Raw::Node(value).wrong("a table with tick or interactive");
            return self.complain(source, &path, value.span.as_ref(), complaint);
        };
        let mut runner = Runner::default();
        for field in fields {
            self.read_runner_key(source, &path, &mut runner, field);
        }
        if !fields.iter().any(|field| matches!(field.key.as_str(), "tick" | "interactive" | "api")) {
            let complaint = bad("needs a `tick` or an `interactive` command, or an `api`".to_owned());
            self.complain(source, &path, value.span.as_ref(), complaint);
        }
        if runner.tick.is_some() && runner.api.is_some() {
            let complaint =
                bad("has both `tick` and `api`; leave out the one that shall not decide".to_owned());
            self.complain(source, &path, value.span.as_ref(), complaint);
        }
        self.config.runners.insert(name, runner);
    }

    fn read_runner_key(&mut self, source: &Source<'_>, path: &str, runner: &mut Runner, field: &Field) {
        let key = format!("{path}.{}", field.key);
        let is_it = |known: &str| known.strip_prefix(RUNNER_PREFIX) == Some(field.key.as_str());
        let Some(set) = KEYS.iter().find(|doc| is_it(doc.key)).and_then(|doc| runner_rule(doc.rule)) else {
            let complaint = Complaint::UnknownKey(names::advice_in_runner(&field.key));
            return self.complain(source, &key, field.key_span.as_ref(), complaint);
        };
        match set(runner, Raw::Node(&field.value)) {
            Ok(()) => self.set_by(&key, Layer::Config),
            Err(complaint) => self.complain(source, &key, field.value.span.as_ref(), complaint),
        }
    }

    fn check_deciders(&mut self, source: &Source<'_>, value: &Node) {
        for decider in self.config.default.clone() {
            let Decider::Command(name) = &decider else { continue };
            if !self.config.runners.contains_key(name) {
                let complaint = self.no_such_runner(name);
                self.complain(source, "default", span_of(value, name.as_str()), complaint);
            } else if !self.config.can_decide(&decider) {
                self.warnings.push(Warning::CannotDecide { runner: name.to_string() });
            }
        }
    }

    fn no_such_runner(&self, name: &RunnerName) -> Complaint {
        let known = self.config.runners.keys().map(RunnerName::as_str).chain(["builtin"]);
        let advice = match names::nearest(name.as_str(), known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if preset(name.as_str()).is_some() => {
                format!("add [runners.{name}]; looop init --runner {name} writes one")
            }
            None => format!("add [runners.{name}]"),
        };
        bad(format!("there is no runner \"{name}\"; {advice}"))
    }

    fn read_env(&mut self, env: &Env) {
        for doc in KEYS {
            let (Some(variable), Some(set)) = (doc.env, top_rule(doc.rule)) else { continue };
            // A variable that is set to nothing is how one unsets it in a unit file.
            let Some(value) = env.get(variable).filter(|value| !value.is_empty()) else { continue };
            let result = match value.to_str() {
                Some(text) => set(&mut self.config, Raw::Text(text)),
                None => Err(bad("not valid UTF-8".to_owned())),
            };
            match result {
                Ok(()) => self.set_by(doc.key, Layer::Env),
                Err(complaint) => self.tell(doc.key, complaint, || Place::Variable(variable)),
            }
        }
        let unread = env.keys().filter(|name| name.starts_with("LOOOP_") && !names::is_variable(name));
        self.warnings.extend(unread.map(|name| Warning::UnknownVariable {
            name: name.clone(),
            advice: names::advice_for_variable(name),
        }));
    }

    fn set_by(&mut self, key: &str, layer: Layer) {
        self.layers.insert(key.to_owned(), layer);
    }

    fn finish(mut self, file: Option<PathBuf>) -> Result<Loaded, Refusal> {
        if !self.problems.is_empty() {
            return Err(Refusal { problems: self.problems, left_out: self.left_out });
        }
        if !self.layers.contains_key("busy_interval") {
            self.config.busy_interval = self.config.interval;
        }
        if !self.layers.contains_key("active_interval") {
            self.config.active_interval = self.config.interval;
        }
        Ok(Loaded { config: self.config, file, warnings: self.warnings, stamp: None, layers: self.layers })
    }
}

fn format_of(path: &Path, text: &str) -> Format {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Format::Json,
        Some("toml") => Format::Toml,
        _ if text.trim_start().starts_with('{') => Format::Json,
        _ => Format::Toml,
    }
}

fn top_rule(rule: Rule) -> Option<Set<Config>> {
    match rule {
        Rule::Top(set) => Some(set),
        Rule::Runner(_) => None,
    }
}

fn runner_rule(rule: Rule) -> Option<Set<Runner>> {
    match rule {
        Rule::Runner(set) => Some(set),
        Rule::Top(_) => None,
    }
}

/// Where a name stands: the item of a list, or the value itself.
fn span_of<'a>(value: &'a Node, name: &str) -> Option<&'a Range<usize>> {
    let item = match &value.item {
        Item::List(list) => list.iter().find(|node| matches!(&node.item, Item::Text(text) if text == name)),
        Item::Null
        | Item::Bool(_)
        | Item::Integer(_)
        | Item::Float(_)
        | Item::Text(_)
        | Item::Date
        | Item::Table(_) => None,
    };
    item.unwrap_or(value).span.as_ref()
}
