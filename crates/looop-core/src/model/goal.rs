//! Goals: prose with optional front matter.

use std::collections::BTreeMap;
use std::time::Duration;

use super::nearest::nearest;
use crate::meter::Micros;
use crate::policy::{Grant, read_allow};
use crate::span::DurationError;

/// A goal's text, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// Command that tells whether the goal holds.
    pub check: Option<String>,
    /// Recipe: one shell command.
    pub run: Option<String>,
    /// Recipe: a worker's prompt.
    pub worker: Option<String>,
    /// Condition over readings.
    pub when: Option<String>,
    /// Serve it this often.
    pub every: Option<Duration>,
    /// Higher goes first among equals.
    pub priority: i64,
    /// Most dollars it may cost in all.
    pub budget_usd: Option<Micros>,
    /// Repository that its workers get a worktree of.
    pub repo: Option<String>,
    /// The configured runner of its workers.
    pub runner: Option<String>,
    /// The model that its workers use.
    pub model: Option<String>,
    /// Most of its workers that live at once.
    pub max_workers: Option<usize>,
    /// What commands that serve it get.
    pub allow: Vec<Grant>,
    /// What is wrong with the front matter, for the person.
    pub problems: Vec<String>,
    /// The first of these that may be why the goal is never due.
    pub fault: Option<String>,
    /// The first of these that is about its workers: none is started while what bounds them cannot be read.
    pub worker_fault: Option<String>,
}

/// The keys that mean something in the front matter.
const KEYS: [&str; 13] = [
    "goal",
    "check",
    "run",
    "worker",
    "when",
    "every",
    "priority",
    "budget_usd",
    "repo",
    "runner",
    "model",
    "max_workers",
    "allow",
];
/// Longest name of a model.
const MODEL: usize = 200;

/// Parses a goal. Never fails: what is wrong is said in `problems`, and a broken line is no recipe.
pub fn parse(text: &str) -> Goal {
    let front = front(text);
    let mut goal = Goal::default();
    if front.unclosed && front.fields.iter().any(|field| KEYS.contains(&field.key)) {
        goal.fault("line 1: the front matter that begins with --- is not closed by another ---".to_owned());
        return goal;
    }
    for field in &front.fields {
        goal.take(field);
    }
    if goal.run.is_some() && goal.worker.is_some() {
        goal.problems.push("run and worker are both set; run is used".to_owned());
    }
    if let (Some(check), Some(repo)) = (&goal.check, &goal.repo)
        && check.contains(repo.as_str())
    {
        let why = "it names the repo itself, so that it cannot prove work in a worker's copy; it runs in the repo, and \
                   the proof in the copy: name files relative to that";
        goal.problems.push(format!("check: {why}"));
    }
    if let Some(when) = &goal.when
        && let Err(problem) = crate::world::condition::parse(when)
    {
        goal.problems.push(format!("when: {problem}"));
    }
    goal
}

impl Goal {
    /// Takes one line of the front matter in.
    fn take(&mut self, field: &Field<'_>) {
        let Field { line, key, value, empty_block } = field;
        let command = || (!value.is_empty()).then(|| value.clone());
        if *empty_block {
            return self.fault(format!("line {line}: {key}: no indented line follows"));
        }
        match *key {
            "goal" => {}
            "check" => self.check = command(),
            "run" => self.run = command(),
            "worker" => self.worker = command(),
            "when" => self.when = command(),
            "repo" => self.repo = command(),
            "runner" if value.is_empty() => self.worker_fault(format!("line {line}: runner: is empty")),
            "runner" => self.runner = command(),
            "model" => match model(value) {
                Ok(model) => self.model = Some(model),
                Err(why) => self.worker_fault(format!("line {line}: model: {why}")),
            },
            "max_workers" => match value.parse() {
                Ok(most) if most > 0 => self.max_workers = Some(most),
                Ok(_) | Err(_) => self.worker_fault(format!(
                    "line {line}: max_workers: \"{value}\" is not a whole number from 1 on"
                )),
            },
            "allow" => match read_allow(value) {
                Ok(grants) => self.allow = grants,
                Err(why) => self.problems.push(format!("line {line}: allow: {why}")),
            },
            "every" => match every(value) {
                Ok(every) => self.every = Some(every),
                Err(why) => self.fault(format!("line {line}: every: {why}")),
            },
            "priority" => match value.parse() {
                Ok(priority) => self.priority = priority,
                Err(_) => {
                    self.problems.push(format!("line {line}: priority: \"{value}\" is not a whole number"));
                }
            },
            "budget_usd" => match value.parse::<f64>().ok().and_then(Micros::from_dollars) {
                Some(usd) => self.budget_usd = Some(usd),
                None => self.worker_fault(format!(
                    "line {line}: budget_usd: \"{value}\" is not an amount of dollars"
                )),
            },
            other => {
                if let Some(near) = nearest(other, KEYS) {
                    self.problems.push(format!("line {line}: {other} is no known key; did you mean {near}?"));
                }
            }
        }
        let wants_text = matches!(*key, "check" | "run" | "worker" | "when" | "repo");
        if wants_text && value.is_empty() {
            self.fault(format!("line {line}: {key}: is empty"));
        }
    }

    /// Something is wrong with what bounds its workers.
    fn worker_fault(&mut self, problem: String) {
        self.worker_fault.get_or_insert_with(|| problem.clone());
        self.problems.push(problem);
    }

    /// Something is wrong that may be why the goal is never due.
    fn fault(&mut self, problem: String) {
        self.fault.get_or_insert_with(|| problem.clone());
        self.problems.push(problem);
    }
}

fn every(value: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    match crate::span::parse_duration(value) {
        Ok(every) if every >= SHORTEST => Ok(every),
        Ok(_) => Err(format!("\"{value}\" is shorter than a second")),
        Err(DurationError::Malformed) => Err(format!("\"{value}\" is not a duration such as 30m or 2h")),
        Err(DurationError::Negative) => Err(format!("\"{value}\" is negative")),
        Err(DurationError::TooLong) => Err(format!("\"{value}\" is longer than 10 years")),
    }
}

/// The name of a model, which becomes one word of a command and must not be taken for an option of it.
fn model(value: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:@+[]".contains(&b);
    match value {
        "" => Err("is empty".to_owned()),
        long if long.len() > MODEL => {
            Err(format!("it has {} characters, and {MODEL} are the most", long.len()))
        }
        word if word.starts_with('-') || !word.bytes().all(plain) => Err(format!(
            "\"{word}\" is not the name of a model: letters, digits and - _ . / : @ + [ ], and no - in front"
        )),
        word => Ok(word.to_owned()),
    }
}

/// One key of the front matter.
struct Field<'a> {
    /// The line that it stands in, from 1.
    line: usize,
    key: &'a str,
    value: String,
    /// Whether it announces a block of indented lines, and none follow.
    empty_block: bool,
}

/// A text taken apart.
struct Front<'a> {
    fields: Vec<Field<'a>>,
    body: &'a str,
    /// Whether it begins like front matter that is never closed.
    unclosed: bool,
}

/// Splits front matter from body. An unclosed `---` is text.
pub fn split(text: &str) -> (BTreeMap<String, String>, &str) {
    let Front { fields, body, unclosed } = front(text);
    let fields = fields.into_iter().filter(|_| !unclosed);
    (fields.map(|field| (field.key.to_owned(), field.value)).collect(), body)
}

fn front(text: &str) -> Front<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Front { fields: Vec::new(), body: text, unclosed: false };
    };
    let mut fields: Vec<Field<'_>> = Vec::new();
    let mut lines = rest.split_inclusive('\n').zip(2..).peekable();
    let mut at = 0;
    while let Some((line, number)) = lines.next() {
        at += line.len();
        let line = line.trim_end();
        if line == "---" {
            return Front { fields, body: &rest[at..], unclosed: false };
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            continue;
        }
        let Some(style) = Block::of(value) else {
            let value = unquoted(value).to_owned();
            fields.push(Field { line: number, key, value, empty_block: false });
            continue;
        };
        let mut block = Vec::new();
        while let Some((more, _)) = lines.next_if(|(more, _)| is_indented(more)) {
            at += more.len();
            block.push(more.trim_end());
        }
        let value = style.join(&block);
        fields.push(Field { line: number, key, empty_block: value.is_empty(), value });
    }
    Front { fields, body: text, unclosed: true }
}

/// A block of indented lines belongs to the key above it; blank lines among them do too.
fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.trim().is_empty()
}

/// How the lines of a block become one value, as in YAML: `|` keeps them, `>` makes one line of them.
enum Block {
    Literal,
    Folded,
}

impl Block {
    fn of(value: &str) -> Option<Self> {
        match value {
            "|" | "|-" | "|+" => Some(Self::Literal),
            ">" | ">-" | ">+" => Some(Self::Folded),
            _ => None,
        }
    }

    fn join(&self, lines: &[&str]) -> String {
        let indent = |line: &&str| line.len() - line.trim_start().len();
        let least = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
        let lines: Vec<&str> = lines.iter().map(|line| line.get(least..).unwrap_or("")).collect();
        let joined = match self {
            Self::Literal => lines.join("\n"),
            Self::Folded => lines.join(" "),
        };
        joined.trim_end().to_owned()
    }
}

/// A value wrapped whole in one pair of quotes loses them; shell quoting inside a command stays.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote))
            && !inner.contains(quote)
        {
            return inner;
        }
    }
    value
}

/// A goal's title: from `goal:`, or the first heading or line. Apart from [`parse`], which every beat calls for every goal.
pub fn title(text: &str) -> String {
    let (fields, body) = split(text);
    let line = match fields.get("goal") {
        Some(title) if !title.is_empty() => title.as_str(),
        _ => body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(""),
    };
    super::moves::one_line(line.trim_start_matches('#').trim(), 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_line_by_line() {
        let goal = parse(
            "---\ngoal: Ship it\ncheck: test -e \"a: b\"\nrun: touch x\nevery: 2h\npriority: 3\nodd: kept\n---\n# Body\n",
        );
        assert_eq!(goal.check.as_deref(), Some("test -e \"a: b\""));
        assert_eq!(goal.run.as_deref(), Some("touch x"));
        assert_eq!((goal.every, goal.priority), (Some(Duration::from_hours(2)), 3));
        assert_eq!(goal.problems, Vec::<String>::new());
    }

    #[test]
    fn what_is_no_front_matter_is_text() {
        for text in ["# Plain\n", "---\nrun: rm x\nnever closed\n", "text\n---\nrun: x\n---\n", "", "---"] {
            let goal = parse(text);
            assert_eq!((goal.run, goal.check), (None, None), "{text}");
        }
        assert_eq!(title("\n## Hello  there \nmore"), "Hello there");
        assert_eq!(title("---\ngoal: Ship it\n---\n# Body\n"), "Ship it");
    }

    #[test]
    fn crlf_and_bom_do_not_hide_a_recipe() {
        assert_eq!(parse("\u{feff}---\r\nrun: touch x\r\n---\r\nbody").run.as_deref(), Some("touch x"));
    }

    #[test]
    fn broken_values_are_said_and_not_guessed() {
        let goal = parse("---\nevery: soon\npriority: high\nbudget_usd: -1\ncheck:\nwhen: a ==\n---\n");
        assert_eq!(goal.problems.len(), 5, "{:?}", goal.problems);
        assert_eq!((goal.every, goal.priority, goal.budget_usd, goal.check), (None, 0, None, None));
    }

    #[test]
    fn a_problem_names_its_line_and_its_own_reason() {
        let table = [
            ("---\nrun: x\nevery: 10ms\n---\n", "line 3: every: \"10ms\" is shorter than a second"),
            ("---\nevery: soon\n---\n", "line 2: every: \"soon\" is not a duration such as 30m or 2h"),
            ("---\nevery: -1h\n---\n", "line 2: every: \"-1h\" is negative"),
            ("---\nchek: x\n---\n", "line 2: chek is no known key; did you mean check?"),
            ("---\nmax_workers: 0\n---\n", "line 2: max_workers: \"0\" is not a whole number from 1 on"),
            ("---\nmax_workers: two\n---\n", "line 2: max_workers: \"two\" is not a whole number from 1 on"),
            ("---\nrunner:\n---\n", "line 2: runner: is empty"),
            ("---\nmodel:\n---\n", "line 2: model: is empty"),
            (
                "---\nworker: x\nmodel: --help\n---\n",
                "line 3: model: \"--help\" is not the name of a model: letters, digits and - _ . / : @ + [ ], and no - \
                 in front",
            ),
            ("---\nrunnner: claude\n---\n", "line 2: runnner is no known key; did you mean runner?"),
            ("---\nrun: |\n---\n", "line 2: run: no indented line follows"),
            (
                "---\nrun: x\nbody\n",
                "line 1: the front matter that begins with --- is not closed by another ---",
            ),
        ];
        for (text, problem) in table {
            assert_eq!(parse(text).problems, [problem], "{text}");
        }
        for fine in ["---\nowner: me\n---\n", "---\nA rule, and prose: no key.\n", "---\ngoal: words\n---\n"]
        {
            assert!(parse(fine).problems.is_empty(), "{fine}");
        }
    }

    #[test]
    fn a_block_of_indented_lines_is_one_value() {
        let text = "---\nrun: |\n  cd x\n\n  if a; then\n    b\n  fi\nevery: 1h\ncheck: >-\n  test -e a\n  -a -e b\n---\nBody\n";
        let goal = parse(text);
        assert_eq!(goal.run.as_deref(), Some("cd x\n\nif a; then\n  b\nfi"));
        assert_eq!(goal.check.as_deref(), Some("test -e a -a -e b"));
        assert_eq!((goal.every, goal.problems.len()), (Some(Duration::from_hours(1)), 0));
        assert_eq!(split(text).1, "Body\n");
    }

    #[test]
    fn its_workers_have_a_runner_a_model_and_a_cap_of_their_own() {
        let goal = parse("---\nrunner: opencode\nmodel: \"openrouter/qwen3[1m]\"\nmax_workers: 2\n---\n");
        assert_eq!(goal.runner.as_deref(), Some("opencode"));
        assert_eq!((goal.model.as_deref(), goal.max_workers), (Some("openrouter/qwen3[1m]"), Some(2)));
        assert_eq!(goal.problems, Vec::<String>::new());
        for odd in ["a b", "$(id)", "a;b", "'", "-m", &"m".repeat(201)] {
            let goal = parse(&format!("---\nmodel: {odd}\n---\n"));
            assert_eq!((goal.model, goal.problems.len()), (None, 1), "{odd}");
        }
    }

    #[test]
    fn quotes_around_a_whole_value_are_taken_off_once() {
        assert_eq!(parse("---\nrun: \"echo hi\"\n---\n").run.as_deref(), Some("echo hi"));
        assert_eq!(parse("---\nrun: \"a\" \"b\"\n---\n").run.as_deref(), Some("\"a\" \"b\""));
    }
}
