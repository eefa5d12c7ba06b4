//! Commands with placeholders, and how a value gets into them without becoming shell.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

/// A shell command that may contain `{{prompt_file}}` and, if it makes decisions, a few more. Every other placeholder
/// was refused when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

/// A shell command that may contain `{{id}}`. The message comes in `LOOOP_MESSAGE` and on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationCommand(String);

/// The name by which a command asks for its prompt.
pub(super) const PROMPT_FILE: &str = "prompt_file";
/// The dollars that a decision may cost.
const BUDGET: &str = "budget_usd";
/// The schema of the moves, and the one in which every field is there.
const SCHEMAS: [&str; 2] = ["schema_file", "strict_schema_file"];

/// What a decision's command is filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill<'a> {
    /// The brief.
    pub(crate) prompt: &'a Path,
    /// The schema of the moves, and the one in which every field is there.
    pub(crate) schemas: [&'a Path; 2],
    /// The dollars that it may cost.
    pub(crate) budget: &'a str,
}

impl Template {
    /// A command whose placeholders are known, or why it is none.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        refuse_unknown(text, &[PROMPT_FILE])?;
        Ok(Template(text.to_owned()))
    }

    /// The same for a command that makes decisions.
    pub(crate) fn tick(text: &str) -> Result<Self, String> {
        refuse_unknown(text, &[PROMPT_FILE, BUDGET, SCHEMAS[0], SCHEMAS[1]])?;
        Ok(Template(text.to_owned()))
    }

    /// The command as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the command names its prompt. Without that the prompt comes on standard input.
    pub fn takes_prompt_file(&self) -> bool {
        placeholders(&self.0).any(|name| name == PROMPT_FILE)
    }

    /// Whether the command names a schema of the moves.
    pub fn takes_schema(&self) -> bool {
        placeholders(&self.0).any(|name| SCHEMAS.contains(&name))
    }

    /// The command of a decision with everything in place.
    pub(crate) fn fill_tick(&self, fill: &Fill<'_>) -> OsString {
        expand(&self.0, |name, quotes| match name {
            BUDGET => quotes.protect(OsStr::new(fill.budget)),
            name if name == SCHEMAS[0] => quotes.protect(fill.schemas[0].as_os_str()),
            name if name == SCHEMAS[1] => quotes.protect(fill.schemas[1].as_os_str()),
            _ => quotes.protect(fill.prompt.as_os_str()),
        })
    }

    /// The command with the path in place, quoted for the spot where it stands.
    pub fn fill(&self, prompt_file: &Path) -> OsString {
        expand(&self.0, |_, quotes| quotes.protect(prompt_file.as_os_str()))
    }
}

impl NotificationCommand {
    /// A command whose placeholders are known, or why it is none.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if takes_message(text) {
            return Err(format!(
                "{{{{message}}}} would make a stranger's words part of the command; {MESSAGE}"
            ));
        }
        refuse_unknown(text, &["id"])?;
        Ok(NotificationCommand(text.to_owned()))
    }

    /// The command as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The command with `{{id}}` turned into quoted uses of `LOOOP_ID`, and the message on its standard input.
    pub fn shell(&self) -> OsString {
        let mut command = OsString::from("{\n");
        command.push(expand(&self.0, |_, quotes| {
            let variable = "${LOOOP_ID}";
            match quotes {
                Quotes::None => format!("\"{variable}\"").into(),
                Quotes::Double => variable.into(),
                Quotes::Single => format!("'\"{variable}\"'").into(),
            }
        }));
        command.push("\n} <<< \"$LOOOP_MESSAGE\"");
        command
    }
}

/// How a command gets the message.
pub(super) const MESSAGE: &str = "it is in $LOOOP_MESSAGE and on standard input: \
    notify-send looop -- \"$LOOOP_MESSAGE\", or curl --data-binary @- URL";

/// Whether a notification command wants the message in its text, as older ones do.
pub(super) fn takes_message(text: &str) -> bool {
    placeholders(text).any(|name| name == "message")
}

fn refuse_unknown(text: &str, known: &[&str]) -> Result<(), String> {
    let mut allowed = known.iter().map(|name| format!("{{{{{name}}}}}")).collect::<Vec<_>>();
    let last = allowed.pop().unwrap_or_default();
    let allowed = if allowed.is_empty() { last } else { format!("{} and {last}", allowed.join(", ")) };
    for piece in pieces(text) {
        match piece {
            Piece::Placeholder("") => {
                return Err(format!("an empty placeholder {{{{}}}}; known here: {allowed}"));
            }
            Piece::Placeholder(name) if !known.contains(&name) => {
                return Err(format!("unknown placeholder {{{{{name}}}}}; known here: {allowed}"));
            }
            Piece::Placeholder(_) | Piece::Text(_) => {}
        }
    }
    Ok(())
}

/// The names of all placeholders in a command.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Placeholder(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// The command with each placeholder of that name replaced as it stands, for values that need no quoting.
pub(super) fn replace_plain(text: &str, name: &str, value: &str) -> String {
    pieces(text)
        .map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Placeholder(found) if found == name => value.to_owned(),
            Piece::Placeholder(other) => format!("{{{{{other}}}}}"),
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// Splits a command at `{{name}}`. Braces around anything but a word (`{{.Names}}` of other tools) are text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((name, after)) = placeholder_at_start(rest) {
            rest = after;
            return Some(Piece::Placeholder(name));
        }
        let end = rest
            .match_indices("{{")
            .map(|(at, _)| at)
            .find(|at| *at > 0 && placeholder_at_start(&rest[*at..]).is_some())
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(piece))
    })
}

fn placeholder_at_start(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix("{{")?.split_once("}}")?;
    let name = inner.trim();
    let is_word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_word.then_some((name, after))
}

/// The quotes that a spot of a command stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

impl Quotes {
    /// A value as one literal word, or part of one, at such a spot.
    fn protect(self, value: &OsStr) -> OsString {
        let bytes = value.as_bytes();
        let quoted = match self {
            Quotes::None if is_plain(bytes) => bytes.to_vec(),
            Quotes::None => [b"'".as_slice(), &escape_single(bytes), b"'"].concat(),
            Quotes::Single => escape_single(bytes),
            Quotes::Double => bytes
                .iter()
                .flat_map(|b| if b"\"\\$`".contains(b) { vec![b'\\', *b] } else { vec![*b] })
                .collect(),
        };
        OsString::from_vec(quoted)
    }
}

/// A path as one word of a shell command that a person may copy.
pub(super) fn shell_word(path: &Path) -> String {
    Quotes::None.protect(path.as_os_str()).to_string_lossy().into_owned()
}

fn is_plain(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"/._-+,:@%".contains(b))
}

fn escape_single(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|b| if *b == b'\'' { br"'\''".to_vec() } else { vec![*b] }).collect()
}

fn expand(text: &str, value: impl Fn(&str, Quotes) -> OsString) -> OsString {
    let mut out = OsString::new();
    let mut scan = QuoteScan::default();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => {
                scan.read(text);
                out.push(text);
            }
            Piece::Placeholder(name) => out.push(value(name, scan.quotes())),
        }
    }
    out
}

/// Follows the quotes of a shell command as far as placeholders need it: quotes, backslashes, and `$(…)`, which
/// starts afresh inside double quotes.
#[derive(Debug, Default)]
struct QuoteScan {
    open: Vec<Open>,
    escaped: bool,
    after_dollar: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    Parenthesis,
}

impl QuoteScan {
    fn quotes(&self) -> Quotes {
        match self.open.last() {
            Some(Open::Single) => Quotes::Single,
            Some(Open::Double) => Quotes::Double,
            Some(Open::Parenthesis) | None => Quotes::None,
        }
    }

    fn read(&mut self, text: &str) {
        text.chars().for_each(|c| self.read_char(c));
    }

    fn read_char(&mut self, c: char) {
        let quotes = self.quotes();
        let after_dollar = std::mem::replace(&mut self.after_dollar, c == '$' && !self.escaped);
        if std::mem::take(&mut self.escaped) {
            return;
        }
        match (quotes, c) {
            (Quotes::None | Quotes::Double, '\\') => self.escaped = true,
            (Quotes::None, '\'') => self.open.push(Open::Single),
            (Quotes::None, '"') => self.open.push(Open::Double),
            (Quotes::None, '(') => self.open.push(Open::Parenthesis),
            (Quotes::Double, '(') if after_dollar => self.open.push(Open::Parenthesis),
            (Quotes::Single, '\'') | (Quotes::Double, '"') | (Quotes::None, ')') => {
                self.open.pop();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn run(command: &OsStr) -> String {
        let output = Command::new("bash").arg("-c").arg(command).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn the_path_arrives_whole_wherever_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["plain.md", "with space.md", "it's $HOME `x` \"q\" \\ *.md", "-dash.md"] {
            let path = dir.path().join(name);
            std::fs::write(&path, "the prompt").unwrap();
            let reads = [
                "cat {{prompt_file}}",
                "cat {{ prompt_file }}",
                "cat \"{{prompt_file}}\"",
                "cat '{{prompt_file}}'",
                "printf %s \"$(cat {{prompt_file}})\"",
                "printf %s \"$(cat \"{{prompt_file}}\")\"",
                "printf %s \"$(echo \\\"\\) >&2; (cat '{{prompt_file}}'))\"",
                "echo it\\'s >&2; cat < {{prompt_file}}",
            ];
            for text in reads {
                let filled = Template::new(text).unwrap().fill(&path);
                assert_eq!(run(&filled), "the prompt", "{text} with {name}");
            }
        }
    }

    #[test]
    fn a_message_comes_by_variable_and_standard_input_alone() {
        let message = "@/etc/passwd; echo $(id) `id` \"'* {{id}}";
        for text in [
            "printf '%s\\n' \"$LOOOP_MESSAGE\"",
            "cat",
            "cat # a comment",
            "read -r line; printf '%s\\n' \"$line\"",
        ] {
            let command = NotificationCommand::new(text).unwrap().shell();
            let output =
                Command::new("bash").arg("-c").arg(&command).env("LOOOP_MESSAGE", message).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{message}\n"), "{text}");
        }
        for text in ["curl -d {{message}} x", "bash -c \"echo {{message}}\"", "n '{{ message }}'"] {
            let refused = NotificationCommand::new(text).unwrap_err();
            assert!(refused.contains("notify-send looop -- \"$LOOOP_MESSAGE\""), "{refused}");
        }
        let shell = NotificationCommand::new("n {{id}}").unwrap().shell();
        assert!(shell.to_str().unwrap().contains("n \"${LOOOP_ID}\"\n"), "{shell:?}");
    }

    #[test]
    fn a_decision_gets_its_budget_and_its_schemas() {
        let text = "a \"$(<{{schema_file}})\" '{{strict_schema_file}}' {{budget_usd}} {{prompt_file}}";
        let template = Template::tick(text).unwrap();
        let path = Path::new;
        let fill = Fill { prompt: path("/p q"), schemas: [path("/s x"), path("/t")], budget: "0.5" };
        assert_eq!(template.fill_tick(&fill), "a \"$(<'/s x')\" '/t' 0.5 '/p q'");
        assert!(template.takes_schema() && template.takes_prompt_file());
        let budget = Template::tick("claude --max-budget-usd {{budget_usd}}").unwrap();
        assert!(!budget.takes_schema() && !budget.takes_prompt_file());
        assert!(Template::new("worker {{budget_usd}}").is_err());
    }

    #[test]
    fn what_names_its_prompt() {
        assert!(Template::new("pi @{{prompt_file}}").unwrap().takes_prompt_file());
        assert!(!Template::new("claude -p").unwrap().takes_prompt_file());
        assert!(!Template::new("docker ps --format '{{.Names}}'").unwrap().takes_prompt_file());
    }

    #[test]
    fn unknown_placeholders_are_refused() {
        let table = [
            ("c --model {{model}}", "unknown placeholder {{model}}; known here: {{prompt_file}}"),
            ("c {{}}", "an empty placeholder {{}}; known here: {{prompt_file}}"),
            ("c {{ }} {{prompt_file}}", "an empty placeholder {{}}; known here: {{prompt_file}}"),
            ("c {{{{prompt}}", "unknown placeholder {{prompt}}; known here: {{prompt_file}}"),
        ];
        for (text, reason) in table {
            assert_eq!(Template::new(text), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(
            NotificationCommand::new("n {{msg}}").unwrap_err(),
            "unknown placeholder {{msg}}; known here: {{id}}"
        );
    }
}
