//! Goals: prose with optional front matter.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::meter::Micros;

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
    /// What its moves may do unasked.
    pub allow: Option<String>,
    /// What is wrong with the front matter, for the person.
    pub problems: Vec<String>,
}

/// Parses a goal. Never fails: what is wrong is said in `problems`, and a broken line is no recipe.
pub fn parse(text: &str) -> Goal {
    let (fields, _) = split(text);
    let mut goal = Goal::default();
    for (key, value) in &fields {
        let command = || (!value.is_empty()).then(|| value.clone());
        match key.as_str() {
            "check" => goal.check = command(),
            "run" => goal.run = command(),
            "worker" => goal.worker = command(),
            "when" => goal.when = command(),
            "repo" => goal.repo = command(),
            "allow" => goal.allow = command(),
            "every" => match crate::span::parse_duration(value) {
                Ok(every) if every >= Duration::from_secs(1) => goal.every = Some(every),
                _ => goal.problems.push(format!("every: \"{value}\" is not a duration such as 30m or 2h")),
            },
            "priority" => match value.parse() {
                Ok(priority) => goal.priority = priority,
                Err(_) => goal.problems.push(format!("priority: \"{value}\" is not a whole number")),
            },
            "budget_usd" => match value.parse::<f64>().ok().and_then(Micros::from_dollars) {
                Some(usd) => goal.budget_usd = Some(usd),
                None => goal.problems.push(format!("budget_usd: \"{value}\" is not an amount of dollars")),
            },
            _ => {}
        }
        let wants_text = matches!(key.as_str(), "check" | "run" | "worker" | "when" | "repo");
        if wants_text && value.is_empty() {
            goal.problems.push(format!("{key}: is empty"));
        }
    }
    if goal.run.is_some() && goal.worker.is_some() {
        goal.problems.push("run and worker are both set; run is used".to_owned());
    }
    if let Some(when) = &goal.when
        && let Err(problem) = crate::world::condition::parse(when)
    {
        goal.problems.push(format!("when: {problem}"));
    }
    goal
}

/// Splits front matter from body. An unclosed `---` is text.
pub fn split(text: &str) -> (BTreeMap<String, String>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (BTreeMap::new(), text);
    };
    let mut fields = BTreeMap::new();
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end();
        if line == "---" {
            return (fields, &rest[at..]);
        }
        if let Some((key, value)) = line.split_once(':') {
            let key = key.trim();
            if !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
                fields.insert(key.to_owned(), unquoted(value.trim()).to_owned());
            }
        }
    }
    (BTreeMap::new(), text)
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
    fn quotes_around_a_whole_value_are_taken_off_once() {
        assert_eq!(parse("---\nrun: \"echo hi\"\n---\n").run.as_deref(), Some("echo hi"));
        assert_eq!(parse("---\nrun: \"a\" \"b\"\n---\n").run.as_deref(), Some("\"a\" \"b\""));
    }
}
