//! One configured agent: the commands that run it and what is known about its cost.

use std::{borrow::Borrow, fmt, path::PathBuf, time::Duration};

use super::{
    api::Api,
    names::nearest,
    problem::Complaint,
    raw::{Raw, Reading, bad},
    template::Template,
    tree::{Item, Node},
};

/// The name of a runner: 1 to 64 letters, digits, `-`, `_`, `.`, and no `-` or `.` in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunnerName(String);

/// A runner as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// The command of one decision.
    pub tick: Option<Template>,
    /// The command of a worker; always names its prompt file.
    pub interactive: Option<Template>,
    /// The model that decides without a command.
    pub api: Option<Api>,
    /// How its spending is read.
    pub cost: Cost,
    /// The model that its command runs, where its output does not name it.
    pub model: Option<String>,
    /// How often one failed invocation is run again.
    pub retries: u64,
    /// An extended regular expression; output that matches counts as failure even after exit 0.
    pub retry_match: Option<String>,
    /// How long to wait before running it again.
    pub retry_sleep: Duration,
    /// How long a decision may go on without a word; nothing where that does not matter.
    pub silence: Option<Duration>,
    /// Whether its workers are confined.
    pub sandbox: bool,
    /// Folders its confined workers may write.
    pub write: Vec<PathBuf>,
}

/// How the spending of a runner is read from its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cost {
    /// By the stream format of the known agents.
    ByFormat,
    /// It costs nothing and never counts as unmetered.
    Free,
    /// By the stream format, and its workers may spend whatever their command looks like.
    Paid,
    /// From a field of events that the person named.
    Field {
        /// The `type` of the events that carry it.
        kind: String,
        /// A JSON pointer to the dollars.
        pointer: String,
        /// What several of them mean.
        mode: CostMode,
    },
}

/// What several cost fields in one output mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostMode {
    /// Each is a part: add them.
    Sum,
    /// Each is the total so far: the last one counts.
    Total,
}

impl RunnerName {
    /// A name that can be used, or why it cannot.
    pub fn new(name: &str) -> Result<Self, String> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        if name == "builtin" {
            return Err("`builtin` is the built-in decider; give the runner another name".to_owned());
        }
        if name.is_empty() || name.len() > 64 || !name.bytes().all(allowed) || name.starts_with(['.', '-']) {
            return Err(
                "a runner's name is 1 to 64 letters, digits, `-`, `_` or `.`, beginning with a letter, \
                        digit or `_`"
                    .to_owned(),
            );
        }
        Ok(RunnerName(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for RunnerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Runner {
    /// Whether it can decide.
    pub fn decides(&self) -> bool {
        self.tick.is_some() || self.api.is_some()
    }

    /// Whether it gets the moves as a schema, so that its brief need not list them.
    pub fn takes_schema(&self) -> bool {
        self.api.is_some() || self.tick.as_ref().is_some_and(Template::takes_schema)
    }
}

impl Default for Runner {
    fn default() -> Self {
        Runner {
            tick: None,
            interactive: None,
            api: None,
            model: None,
            cost: Cost::ByFormat,
            retries: 0,
            retry_match: None,
            retry_sleep: Duration::from_secs(3),
            silence: Some(Duration::from_mins(5)),
            sandbox: false,
            write: Vec::new(),
        }
    }
}

/// The command of a decision.
pub(super) fn tick_command(raw: Raw<'_>) -> Reading<Option<Template>> {
    Template::tick(raw.text()?).map(Some).map_err(bad)
}

/// A command that must name its prompt file: the standard input of a worker is its terminal.
pub(super) fn worker_command(raw: Raw<'_>) -> Reading<Option<Template>> {
    let template = Template::new(raw.text()?).map_err(bad)?;
    if !template.takes_prompt_file() {
        return Err(bad(
            "must contain {{prompt_file}}, since a worker's standard input is its terminal".to_owned()
        ));
    }
    Ok(Some(template))
}

/// `"free"`, `"paid"`, or a table that names the field.
pub(super) fn cost(raw: Raw<'_>) -> Reading<Cost> {
    const EXPECTED: &str = "\"free\", \"paid\" or a table { type, pointer, mode }";
    match raw {
        Raw::Node(Node { item: Item::Text(text), .. }) if text == "free" => Ok(Cost::Free),
        Raw::Node(Node { item: Item::Text(text), .. }) if text == "paid" => Ok(Cost::Paid),
        Raw::Node(Node { item: Item::Table(fields), .. }) => {
            let (mut kind, mut pointer, mut mode) = (None, None, CostMode::Sum);
            for field in fields {
                let value = Raw::Node(&field.value);
                match field.key.as_str() {
                    "type" => kind = Some(value.text()?.to_owned()),
                    "pointer" => pointer = Some(json_pointer(value)?),
                    "mode" => mode = value.one_of(&[("sum", CostMode::Sum), ("total", CostMode::Total)])?,
                    other => return Err(unknown_cost_key(other)),
                }
            }
            let missing = |name: &str| bad(format!("`{name}` is missing"));
            let kind = kind.ok_or_else(|| missing("type"))?;
            let pointer = pointer.ok_or_else(|| missing("pointer"))?;
            Ok(Cost::Field { kind, pointer, mode })
        }
        Raw::Node(_) | Raw::Text(_) => Err(raw.wrong(EXPECTED)),
    }
}

fn json_pointer(raw: Raw<'_>) -> Reading<String> {
    let text = raw.text()?;
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(bad(format!("a JSON pointer begins with /, found {}", raw.found())))
    }
}

fn unknown_cost_key(key: &str) -> Complaint {
    let advice = nearest(key, ["type", "pointer", "mode"]).map(|known| format!("; did you mean `{known}`?"));
    bad(format!("`{key}` is not a key of cost{}", advice.unwrap_or_default()))
}
