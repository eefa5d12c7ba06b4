//! Config forms of looop 0.9 to 1.1, brought to the present one before anything is read.
//!
//! A single runner was once written flat at the top (`tick`, `interactive`, later `tick_command` and `worker_command`); it
//! becomes runner `default`. Its models stood in keys of their own and fill their placeholders. A command that resumed a
//! worker (`resume`) is left out.
//! Tick commands were once piped into a formatter that is gone. A worker's command that `looop init` wrote is the one that
//! it writes now.

use super::{
    preset::{renewed, renewed_tick},
    template::{placeholders, replace_plain, takes_message},
    tree::{Field, Format, Item, Node},
    warning::Warning,
};

/// Flat names of the commands of the one runner: the newer name, the older name, the key of today.
const FLAT: [(&str, &str, &str); 2] =
    [("tick_command", "tick", "tick"), ("worker_command", "interactive", "interactive")];

/// The command that resumed a worker, flat and of a runner. A worker that is started again begins its task anew.
const RESUME: &str = "resume";

/// Flat keys whose values fill a placeholder of the worker's command.
const FILLINGS: [(&str, &str); 2] = [("worker_model", "model"), ("worker_thinking", "thinking")];

/// The runner that a flat form describes.
const ONLY_RUNNER: &str = "default";

/// Rewrites older forms in place and says what the person should know about it.
pub(super) fn modernise(fields: &mut Vec<Field>, format: Format) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let older = |field: &Field| {
        let text = if let Item::Text(text) = &field.value.item { text } else { "" };
        field.key == "notification" && takes_message(text)
    };
    // Older versions wrote JSON; such a profile opens, and says what to change.
    if format == Format::Json && fields.iter().any(older) {
        fields.retain(|field| !older(field));
        warnings.push(Warning::NoNotification);
    }
    if take(fields, RESUME).is_some() {
        warnings.push(Warning::NotResumed { key: RESUME.to_owned() });
    }
    lift_flat(fields, &mut warnings);
    for runner in fields.iter_mut().filter(|field| field.key == "runners").filter_map(table_of).flatten() {
        let name = runner.key.clone();
        if table_of(runner).and_then(|fields| take(fields, RESUME)).is_some() {
            warnings.push(Warning::NotResumed { key: format!("runners.{name}.{RESUME}") });
        }
        for field in table_of(runner).into_iter().flatten().filter(|field| field.key == "interactive") {
            if let Item::Text(command) = &mut field.value.item
                && let Some(present) = renewed(command)
            {
                present.clone_into(command);
            }
        }
        for field in table_of(runner).into_iter().flatten().filter(|field| field.key == "tick") {
            if let Item::Text(command) = &mut field.value.item
                && let Some(rest) = without_formatter(command)
            {
                *command = rest.to_owned();
                warnings.push(Warning::FormatterCut { key: format!("runners.{name}.tick") });
            }
            if let Item::Text(command) = &mut field.value.item
                && let Some(present) = renewed_tick(command)
            {
                present.clone_into(command);
            }
        }
    }
    warnings
}

fn table_of(field: &mut Field) -> Option<&mut Vec<Field>> {
    match &mut field.value.item {
        Item::Table(fields) => Some(fields),
        Item::Null
        | Item::Bool(_)
        | Item::Integer(_)
        | Item::Float(_)
        | Item::Text(_)
        | Item::Date
        | Item::List(_) => None,
    }
}

/// Moves the flat commands below `runners.default`. A file that has a `runners` table is not flat: what stands there
/// flat is an ordinary mistake and is answered as one.
fn lift_flat(fields: &mut Vec<Field>, warnings: &mut Vec<Warning>) {
    if fields.iter().any(|field| field.key == "runners") {
        return;
    }
    let mut runner: Vec<Field> =
        FLAT.iter().filter_map(|names| take_flat(fields, *names, warnings)).collect();
    if runner.is_empty() {
        return;
    }
    for (key, placeholder) in FILLINGS {
        let filling = take(fields, key);
        fill(&mut runner, placeholder, filling.as_ref());
    }
    let span = runner[0].key_span.clone();
    let table = |key: &str, fields| Field {
        key: key.to_owned(),
        key_span: span.clone(),
        value: Node { item: Item::Table(fields), span: span.clone() },
    };
    let runners = table("runners", vec![table(ONLY_RUNNER, runner)]);
    fields.push(runners);
    if !fields.iter().any(|field| field.key == "default") {
        let name = Node { item: Item::Text(ONLY_RUNNER.to_owned()), span: span.clone() };
        fields.push(Field { key: "default".to_owned(), key_span: span.clone(), value: name });
    }
}

fn take(fields: &mut Vec<Field>, key: &str) -> Option<Field> {
    let at = fields.iter().position(|field| field.key == key)?;
    Some(fields.remove(at))
}

fn take_flat(
    fields: &mut Vec<Field>,
    (newer, older, key): (&str, &str, &str),
    warnings: &mut Vec<Warning>,
) -> Option<Field> {
    let old = take(fields, older);
    let new = take(fields, newer);
    if let (Some(_), Some(new)) = (&old, &new) {
        warnings.push(Warning::Overridden { key: older.to_owned(), by: new.key.clone() });
    }
    new.or(old).map(|field| Field { key: key.to_owned(), ..field })
}

/// Puts a model into the worker's command. Without one, or with one that is no plain word, the placeholder stays and
/// is refused as unknown: an empty model once became `--model --thinking`.
fn fill(runner: &mut [Field], placeholder: &str, filling: Option<&Field>) {
    let Some(Item::Text(value)) = filling.map(|field| &field.value.item) else { return };
    if !is_plain_word(value) {
        return;
    }
    for field in runner.iter_mut().filter(|field| field.key == "interactive") {
        if let Item::Text(command) = &mut field.value.item
            && placeholders(command).any(|name| name == placeholder)
        {
            *command = replace_plain(command, placeholder, value);
        }
    }
}

fn is_plain_word(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:@".contains(&b);
    !text.is_empty() && text.bytes().all(plain) && !text.starts_with('-')
}

/// The command without the pipe into the formatter at its end, if it has one.
fn without_formatter(command: &str) -> Option<&str> {
    let (rest, last) = command.rsplit_once('|')?;
    let mut words = last.split_whitespace();
    let program = words.next()?.trim_matches(['"', '\'']);
    let is_looop = matches!(program, "looop" | "$LOOOP_BIN" | "${LOOOP_BIN}") || program.ends_with("/looop");
    let words: Vec<&str> = words.collect();
    let formats = matches!(words.as_slice(), ["_", "fmt", ..] | ["_fmt" | "fmt", ..]);
    let one_command = !last.contains([';', '&', '#']);
    let is_pipe = !rest.ends_with('|') && !rest.trim().is_empty();
    (is_looop && formats && one_command && is_pipe).then(|| rest.trim_end())
}

#[cfg(test)]
mod tests {
    use super::without_formatter;

    #[test]
    fn only_the_formatter_is_cut() {
        let cut = [
            "pi -p --mode json | \"$LOOOP_BIN\" _ fmt",
            "pi -p --mode json | \"$LOOOP_BIN\" _fmt",
            "pi -p --mode json | ${LOOOP_BIN} _ fmt",
            "pi -p --mode json | looop _fmt",
            "pi -p --mode json|'/usr/local/bin/looop' _ fmt  ",
        ];
        for command in cut {
            assert_eq!(without_formatter(command), Some("pi -p --mode json"), "{command}");
        }
        let kept = [
            "pi -p --mode json",
            "pi -p | jq .",
            "pi -p | grep looop_fmt",
            "pi -p | tee out.log",
            "pi -p || looop _ fmt",
            "| looop _ fmt",
            "looop _ fmt",
            "pi -p | looop status",
            "pi -p | looop _ fmt; date",
            "echo 'a | looop _ fmt'",
            "pi -p | my-looop _ fmt",
        ];
        for command in kept {
            assert_eq!(without_formatter(command), None, "{command}");
        }
    }
}
