//! Databases.

use crate::shell::call::{Call, Input, Verdict};

pub(super) const NAMES: &[&str] = &[
    "clickhouse-client",
    "duckdb",
    "mariadb",
    "mongo",
    "mongosh",
    "mysql",
    "mysqladmin",
    "psql",
    "redis-cli",
    "sqlcmd",
    "sqlite3",
    "valkey-cli",
    "dropdb",
    "createdb",
    "pg_restore",
    "mysqldump",
    "pg_dump",
];

/// Words that change or remove data, or reach out of the database.
const CHANGING: &[&str] = &[
    "drop",
    "delete",
    "truncate",
    "alter",
    "update",
    "insert",
    "replace",
    "merge",
    "grant",
    "revoke",
    "create",
    "vacuum",
    "reindex",
    "flushall",
    "flushdb",
    "del",
    "unlink",
    "set",
    "setex",
    "mset",
    "hset",
    "lpush",
    "rpush",
    "expire",
    "rename",
    "shutdown",
    "config",
    "eval",
    "script",
    "module",
    "debug",
    "slaveof",
    "replicaof",
    "migrate",
    "restore",
    "kill",
    "deleteone",
    "deletemany",
    "insertone",
    "insertmany",
    "updateone",
    "updatemany",
    "dropdatabase",
    "attach",
    "load",
    "copy",
    "execute",
    "call",
    "do",
    "xp_cmdshell",
    "writefile",
    "readfile",
    "load_extension",
    "pg_read_file",
    "lo_export",
    "lo_import",
    "dblink",
];
const LOOKING: &[&str] = &[
    "select", "show", "describe", "explain", "with", "get", "mget", "keys", "scan", "info", "ping", "dbsize",
    "ttl", "type", "exists", "hget", "hgetall", "llen", "lrange", "smembers", "scard", "zrange", "zcard",
    "xlen", "pragma", "find", "count",
];

/// Judges a database client by the text it is given.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    let name = call.name.as_str();
    if !NAMES.contains(&name) || ["--version", "--help"].iter().any(|option| call.has_long(option)) {
        return;
    }
    if matches!(name, "dropdb" | "createdb" | "pg_restore" | "mysqladmin") {
        return verdict.destructive(format!("{} changes a database", call.shown()));
    }
    if matches!(name, "pg_dump" | "mysqldump") {
        return;
    }
    let mut text = String::new();
    for arg in &call.args {
        text.push_str(&arg.known_start().0);
        text.push(' ');
    }
    if let Input::Text(input) = &call.input {
        text.push_str(input);
    }
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').collect();
    let escapes = text.contains("\\!")
        || text.contains(".shell")
        || text.contains(".system")
        || text.contains("\\copy")
        || text.contains(".load")
        || text.contains("\\o ")
        || text.contains(".output")
        || text.contains(".once")
        || text.contains("into outfile")
        || text.contains("| ");
    if words.iter().any(|word| CHANGING.contains(word)) || escapes {
        verdict.destructive(format!("{} changes data", call.shown()));
    } else if call.hides()
        || call.input == Input::Given
        || !words.iter().any(|word| LOOKING.contains(word))
        || reads_file(call)
    {
        verdict.unknown(format!("{} does not show what it asks of the database", call.shown()));
    }
}

fn reads_file(call: &Call) -> bool {
    let option = match call.name.as_str() {
        "psql" => &["-f", "--file"][..],
        "sqlite3" | "duckdb" => &["-init", "-cmd"][..],
        "mongosh" | "mongo" => &["--file", "-f"][..],
        _ => return false,
    };
    call.value(option).is_some()
}
