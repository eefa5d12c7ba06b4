//! The catalogue: the moves that a decider may say. One table drives parsing, near-miss errors, the text of the brief
//! and the schema of a tool, so that these can never disagree. A person's own verbs are not in it.

use serde_json::{Map, Value, json};

/// Most items of a list field.
pub const MOST_ITEMS: usize = 100;
/// Longest span that a schedule may be given, in seconds: ten years.
const TEN_YEARS: u64 = 315_360_000;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text of so many bytes at most.
    Text(usize),
    /// A name of the house form.
    Name,
    /// A worker's id: a name other than `pulse`; a legacy `looop-` prefix is taken off.
    Worker,
    /// A list of texts of so many bytes at most, each.
    Texts(usize),
    /// A whole number from 0 to a maximum.
    Whole(u64),
}

impl Kind {
    /// What is expected, for error messages.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Name | Self::Worker => "a name",
            Self::Texts(_) => "a list of texts",
            Self::Whole(_) => "a whole number",
        }
    }

    /// Its type in a schema. Bounds are left out: servers that turn a schema into a grammar choke on them, strict
    /// ones refuse them, and what is too long is refused with words that a model can use.
    fn schema(self, strict: bool) -> Value {
        let kind = match self {
            Self::Text(_) | Self::Name | Self::Worker => "string",
            Self::Texts(_) => "array",
            Self::Whole(_) => "integer",
        };
        let kind = if strict { json!([kind, "null"]) } else { json!(kind) };
        if matches!(self, Self::Texts(_)) {
            return json!({"type": kind, "items": {"type": "string"}});
        }
        json!({"type": kind})
    }
}

/// One field of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether the move is refused without it.
    pub required: bool,
    /// What it means.
    pub help: &'static str,
}

/// One move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The value of `action`.
    pub name: &'static str,
    /// What it does, for the decider.
    pub help: &'static str,
    /// Its own fields.
    pub fields: &'static [Field],
    /// Whether it is about a worker's session.
    pub worker: bool,
}

const fn need(name: &'static str, kind: Kind, help: &'static str) -> Field {
    Field { name, kind, required: true, help }
}

const fn may(name: &'static str, kind: Kind, help: &'static str) -> Field {
    Field { name, kind, required: false, help }
}

const fn plain(name: &'static str, help: &'static str, fields: &'static [Field]) -> Action {
    Action { name, help, fields, worker: false }
}

const fn session(name: &'static str, help: &'static str, fields: &'static [Field]) -> Action {
    Action { name, help, fields, worker: true }
}

const KIB: usize = 1024;
const LINE: Kind = Kind::Text(4 * KIB);
const WORD: Kind = Kind::Text(256);
const COMMAND: Kind = Kind::Text(64 * KIB);
const BODY: Kind = Kind::Text(256 * KIB);
const REASON: Field = may("reason", LINE, "why, in one line");

/// Fields that go with every move.
pub const COMMON: &[Field] = &[
    may("journal", Kind::Text(64 * KIB), "one line for the owner: what and why"),
    may("goal", Kind::Name, "id of the goal that this move serves"),
    may("deferred_goals", Kind::Texts(256), "overdue goals knowingly passed over"),
    may("next_interval_s", Kind::Whole(u64::MAX), "look again after so many seconds even if nothing changed"),
];

/// The moves, in the order in which the decider is shown them.
pub const ACTIONS: &[Action] = &[
    plain("noop", "Nothing needs doing, or all that does waits on something. Say what in reason.", &[REASON]),
    plain(
        "run_shell",
        "One reversible bash command: 300 s, no stdin; you see its exit code and the end of its output next time.",
        &[need("cmd", COMMAND, "the command, for bash -c"), REASON],
    ),
    plain(
        "write_goal",
        "Create or replace a goal. body is the whole new text.",
        &[need("id", Kind::Name, "the goal, worker or subject"), need("body", BODY, "the whole new text")],
    ),
    plain(
        "archive_goal",
        "Put away a goal that is reached or obsolete.",
        &[need("id", Kind::Name, "the goal")],
    ),
    plain(
        "write_sensor",
        "Create or replace a sensor, an executable starting with #! that prints one JSON object \
         {\"signal\":…,\"detail\":…}; it is tried first. signal holds only what should wake the loop: no times, ages or \
         counters that always move (those go to detail).",
        &[
            need("name", Kind::Name, "the sensor or schedule"),
            need("script", BODY, "the whole script, starting with #!"),
        ],
    ),
    plain(
        "write_playbook",
        "Replace the PLAYBOOK. body is the whole new text; keep what you do not mean to change.",
        &[need("body", BODY, "the whole new text")],
    ),
    session(
        "start_worker",
        "Start an agent in a terminal of its own for work of several steps. It sees only prompt: say the task, the limits \
         and what done means. verify is a command that exits 0 only if the work is done.",
        &[
            need("id", Kind::Worker, "the worker"),
            need("prompt", Kind::Text(64 * KIB), "the task, or the question"),
            may("goal", Kind::Name, "id of the goal that this move serves"),
            may("runner", WORD, "a configured runner"),
            may("command", COMMAND, "a command instead of a runner's"),
            may("verify", COMMAND, "the command that proves the work done"),
        ],
    ),
    session(
        "steer_session",
        "Type one line into a live worker. Never to answer what it asked a person.",
        &[need("id", Kind::Worker, "the worker"), need("input", Kind::Text(64 * KIB), "the line to type")],
    ),
    session(
        "send_key",
        "Press keys in a live worker, such as [\"Escape\"].",
        &[need("id", Kind::Worker, "the worker"), need("keys", Kind::Texts(64), "names of keys")],
    ),
    session(
        "restart_session",
        "End a stuck worker and start it again. Never one that waits on a person.",
        &[need("id", Kind::Worker, "the worker"), REASON],
    ),
    session(
        "kill_worker",
        "End a worker. Never one that waits on a person.",
        &[need("id", Kind::Worker, "the worker"), REASON],
    ),
    plain(
        "send_notification",
        "Tell the person something they would want to know now. Expects no answer.",
        &[need("message", LINE, "what to say"), may("id", WORD, "what it is about")],
    ),
    plain(
        "ask_human",
        "Ask the person; goes on without waiting, the answer is in a later brief. One question, all they need to decide \
         in it. Not again while it is pending.",
        &[
            need("prompt", Kind::Text(64 * KIB), "the task, or the question"),
            may("options", Kind::Texts(KIB), "answers to choose from"),
            may("ref", LINE, "a path or address it refers to"),
        ],
    ),
    plain(
        "write_schedule",
        "Wake the loop later. Exactly one of in_s (once), every_s (from 60), at (a local time, once), cron (five fields); \
         missed is once or skip.",
        &[
            need("name", Kind::Name, "the sensor or schedule"),
            may("in_s", Kind::Whole(TEN_YEARS), "seconds from now, once"),
            may("every_s", Kind::Whole(TEN_YEARS), "every so many seconds, from 60"),
            may("at", WORD, "a moment, once: 2030-01-31 09:00, 09:00 or RFC 3339"),
            may("cron", WORD, "a cron line of five fields"),
            may("zone", WORD, "time zone of cron and at, such as Europe/Berlin"),
            may("missed", WORD, "what becomes of a time that passed unseen: once or skip"),
            may("note", LINE, "what it is for"),
        ],
    ),
    plain(
        "drop_schedule",
        "Remove a schedule that has done its work.",
        &[need("name", Kind::Name, "the schedule")],
    ),
];

/// The action of a name.
pub fn action(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}

/// The fields that an action takes, its own first.
pub fn fields_of(action: &'static Action) -> impl Iterator<Item = &'static Field> {
    let own = |name: &str| action.fields.iter().any(|field| field.name == name);
    action.fields.iter().chain(COMMON.iter().filter(move |field| !own(field.name)))
}

/// The actions on offer.
pub fn offered(workers: bool) -> impl Iterator<Item = &'static Action> {
    ACTIONS.iter().filter(move |action| workers || !action.worker)
}

/// The catalogue as the brief shows it: one line an action, optional fields marked `?`, lists `[]`.
pub fn text(workers: bool) -> String {
    let mut out = String::new();
    for action in offered(workers) {
        let fields: Vec<String> =
            action.fields.iter().filter(|field| !is_common(field)).map(signature).collect();
        out.push_str("- ");
        out.push_str(action.name);
        if !fields.is_empty() {
            out.push('(');
            out.push_str(&fields.join(", "));
            out.push(')');
        }
        out.push_str(": ");
        out.push_str(action.help);
        out.push('\n');
    }
    out
}

fn is_common(field: &Field) -> bool {
    COMMON.iter().any(|common| common.name == field.name)
}

fn signature(field: &Field) -> String {
    let list = if matches!(field.kind, Kind::Texts(_)) { "[]" } else { "" };
    let optional = if field.required { "" } else { "?" };
    format!("{}{list}{optional}", field.name)
}

/// The schema of one tool whose input is the move. It is flat, because tool schemas take no alternatives at the top, and
/// as short as it can be, because it is paid for with every decide.
pub fn tool_schema(workers: bool) -> Value {
    schema(workers, false)
}

/// The same for providers that want every field to be there: one that a move does not have is null.
pub fn strict_schema(workers: bool) -> Value {
    schema(workers, true)
}

fn schema(workers: bool, strict: bool) -> Value {
    let names: Vec<&str> = offered(workers).map(|action| action.name).collect();
    let mut properties = Map::new();
    properties
        .insert("action".to_owned(), json!({"type": "string", "enum": names, "description": text(workers)}));
    for action in offered(workers) {
        for field in fields_of(action) {
            properties.entry(field.name).or_insert_with(|| {
                let mut schema = field.kind.schema(strict);
                if strict {
                    schema["description"] = field.help.into();
                }
                schema
            });
        }
    }
    if !strict {
        return json!({"type": "object", "properties": properties, "required": ["action"]});
    }
    let all: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": all, "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_persons_verb_is_not_on_offer() {
        assert_eq!(action("remove_sensor"), None);
        assert_eq!(ACTIONS.len(), 15);
    }

    #[test]
    fn one_key_has_one_json_type_in_the_flat_schema() {
        let mut types: BTreeMap<&str, Value> = BTreeMap::new();
        for field in ACTIONS.iter().flat_map(fields_of) {
            let kind = field.kind.schema(false)["type"].clone();
            assert_eq!(types.entry(field.name).or_insert(kind.clone()), &kind, "{}", field.name);
        }
        let schema = tool_schema(true);
        let mut keys: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        keys.retain(|key| *key != "action");
        keys.sort_unstable();
        assert_eq!(keys, types.keys().copied().collect::<Vec<_>>());
        assert_eq!(schema["properties"]["action"]["enum"].as_array().unwrap().len(), 15);
    }

    #[test]
    fn the_schema_is_small_and_explains_the_moves_once() {
        let schema = tool_schema(true).to_string();
        assert!(schema.len() <= 3100, "{} bytes are paid for with every decide", schema.len());
        assert_eq!((schema.matches("- kill_worker(").count(), schema.matches("description").count()), (1, 1));
    }

    #[test]
    fn in_the_strict_schema_everything_is_there_and_may_be_null() {
        let schema = strict_schema(true);
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(schema["required"].as_array().unwrap().len(), properties.len());
        assert_eq!(properties["action"]["type"], "string");
        for (name, property) in properties.iter().filter(|(name, _)| *name != "action") {
            assert_eq!(property["type"][1], "null", "{name}");
        }
        assert_eq!(properties["keys"]["items"]["type"], "string");
    }

    #[test]
    fn worker_moves_are_offered_only_where_they_work() {
        for (workers, count) in [(true, 15), (false, 10)] {
            assert_eq!(text(workers).lines().count(), count);
            assert_eq!(text(workers).contains("start_worker"), workers);
            assert_eq!(tool_schema(workers).to_string().contains("kill_worker"), workers);
        }
    }

    #[test]
    fn the_text_shows_what_is_optional_and_what_is_a_list() {
        let text = text(true);
        assert!(text.contains("- ask_human(prompt, options[]?, ref?): "), "{text}");
        assert!(text.contains("- archive_goal(id): "), "{text}");
    }
}
