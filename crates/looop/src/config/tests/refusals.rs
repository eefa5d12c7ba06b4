//! Every way to be refused, word for word.

use super::given::*;
use crate::config::ConfigError;

fn check(table: &[(&str, &str)], refuse: fn(&str) -> String) {
    for (text, said) in table {
        assert_eq!(refuse(text), *said, "{text}");
    }
}

fn first_line(text: &str) -> String {
    let said = refusal(toml(text));
    said.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_refusal_shows_the_line() {
    let text = "interval = 60\n\n[runners.pi]\ntick = 5\nintreactive = \"x\"\n";
    assert_eq!(
        refusal(toml(text)),
        "\
config.toml:4: `runners.pi.tick`: expected a string, found the number 5
  4 | tick = 5
    |        ^
config.toml:5: `runners.pi.intreactive` is not a known key; did you mean `interactive`?
  5 | intreactive = \"x\"
    | ^^^^^^^^^^^"
    );
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(
        &[
            ("intervall = 5", "config.toml:1: `intervall` is not a known key; did you mean `interval`?"),
            (
                "busy-interval = 5",
                "config.toml:1: `busy-interval` is not a known key; did you mean `busy_interval`?",
            ),
            ("Interval = 5", "config.toml:1: `Interval` is not a known key; did you mean `interval`?"),
            ("runner.x.tick = 'a'", "config.toml:1: `runner` is not a known key; did you mean `runners`?"),
            ("tick_timeout = 5", "config.toml:1: `tick_timeout` is not a known key"),
            ("colour = 'red'", "config.toml:1: `colour` is not a known key"),
            (
                "retries = 5",
                "config.toml:1: `retries` is not a known key; it belongs under [runners.<name>]: retries = …",
            ),
            (
                "[runners.x]\ntick = 'a'\ninterval = 5",
                "config.toml:3: `runners.x.interval` is not a known key; it belongs at the top of the file, above \
                 every [table]",
            ),
            (
                "[runners.x]\ntick = 'a'\ncost = { kind = 'a', pointer = '/a' }",
                "config.toml:3: `runners.x.cost`: `kind` is not a key of cost",
            ),
            (
                "[runners.x]\ntick = 'a'\ncost = { type = 'a', pointr = '/a' }",
                "config.toml:3: `runners.x.cost`: `pointr` is not a key of cost; did you mean `pointer`?",
            ),
        ],
        first_line,
    );
}

#[test]
fn the_means_of_confinement_are_known() {
    let found =
        "config.toml:1: `sandbox`: one of \"auto\", \"bwrap\", \"off\" is possible, found the string \"x\"";
    assert_eq!(first_line("sandbox = 'x'"), found);
    for word in ["auto", "bwrap", "off"] {
        toml(&format!("sandbox = '{word}'")).unwrap();
    }
    let config = toml("runners.x = { interactive = '{{prompt_file}}', sandbox = true, write = ['~/x'] }")
        .unwrap()
        .config;
    let runner = config.runners.values().next().unwrap();
    assert!(runner.sandbox && runner.write == [std::path::PathBuf::from("~/x")]);
}

#[test]
fn prices_say_what_is_wrong_with_them() {
    check(
        &[
            (
                "prices = 'x'",
                "config.toml:1: `prices`: expected a table of prices by model, such as { \"gpt-5\" = { input = \
                 1.25, output = 10 } }, found the string \"x\"",
            ),
            ("prices.m.input = 1", "config.toml:1: `prices`: \"m\" has no `output`"),
            (
                "prices.m = { input = 1, output = 1, cashed_read = 1 }",
                "config.toml:1: `prices`: `cashed_read` is not a key of a price; did you mean `cached_read`?",
            ),
            (
                "prices.m = { input = -1, output = 1 }",
                "config.toml:1: `prices`: cannot be negative, found the number -1",
            ),
        ],
        first_line,
    );
    let config = toml("prices.m = { input = 0.25, output = 2, cached_read = 0 }").unwrap().config;
    let price = config.price_list().of("m").unwrap();
    assert_eq!((price.input.get(), price.output.get()), (250_000, 2_000_000));
    assert_eq!((price.cached_read.map(looop_core::meter::Micros::get), price.cache_write), (Some(0), None));
    assert!(config.price_list().of("claude-haiku-4-5").is_some(), "the shipped ones stay");
}

#[test]
fn wrong_types_say_what_was_expected() {
    check(
        &[
            (
                "interval = true",
                "config.toml:1: `interval`: expected a duration such as 30 or \"10m\", found the boolean true",
            ),
            (
                "interval = 'soon'",
                "config.toml:1: `interval`: expected a duration such as 30 or \"10m\", found the string \"soon\"",
            ),
            (
                "interval = 2020-01-01",
                "config.toml:1: `interval`: expected a duration such as 30 or \"10m\", found a date",
            ),
            (
                "max_workers = 1.5",
                "config.toml:1: `max_workers`: expected a whole number, found the number 1.5",
            ),
            (
                "max_workers = '8'",
                "config.toml:1: `max_workers`: expected a whole number, found the string \"8\"",
            ),
            (
                "max_daily_usd = '5'",
                "config.toml:1: `max_daily_usd`: expected an amount in dollars such as 2.5, found the string \"5\"",
            ),
            (
                "max_daily_usd = nan",
                "config.toml:1: `max_daily_usd`: expected an amount in dollars such as 2.5, found the number NaN",
            ),
            ("spare = 'adb'", "config.toml:1: `spare`: expected a list of strings, found the string \"adb\""),
            ("spare = [1]", "config.toml:1: `spare`: expected a string, found the number 1"),
            ("notification = []", "config.toml:1: `notification`: expected a string, found a list"),
            (
                "default = 1",
                "config.toml:1: `default`: expected the name of a runner, or a list of such names, found the number 1",
            ),
            ("runners = 1", "config.toml:1: `runners`: expected a table of runners, found the number 1"),
            (
                "runners.x = 'a'",
                "config.toml:1: `runners.x`: expected a table with tick or interactive, found the string \"a\"",
            ),
            (
                "runners.x = { tick = 'a', sandbox = 'no' }",
                "config.toml:1: `runners.x.sandbox`: expected true or false, found the string \"no\"",
            ),
            (
                "runners.x = { tick = 'a', cost = 'cheap' }",
                "config.toml:1: `runners.x.cost`: expected \"free\", \"paid\" or a table { type, pointer, mode }, found the \
                 string \"cheap\"",
            ),
        ],
        first_line,
    );
}

#[test]
fn values_that_would_spin_or_overflow() {
    check(
        &[
            ("interval = 0", "config.toml:1: `interval`: at least 1s is needed, found the number 0"),
            ("interval = 0.5", "config.toml:1: `interval`: at least 1s is needed, found the number 0.5"),
            (
                "interval = '500ms'",
                "config.toml:1: `interval`: at least 1s is needed, found the string \"500ms\"",
            ),
            ("interval = -1", "config.toml:1: `interval`: cannot be negative, found the number -1"),
            (
                "interval = nan",
                "config.toml:1: `interval`: expected a duration such as 30 or \"10m\", found the number NaN",
            ),
            (
                "interval = inf",
                "config.toml:1: `interval`: expected a duration such as 30 or \"10m\", found the number inf",
            ),
            ("interval = 1e300", "config.toml:1: `interval`: the number 1e300 is too large"),
            (
                "tick_timeout_secs = 18446744073709551615",
                "config.toml:1: `tick_timeout_secs`: the number 18446744073709551615 is too large",
            ),
            (
                "session_ttl = '11y'",
                "config.toml:1: `session_ttl`: expected a duration such as 30 or \"10m\", found the string \"11y\"",
            ),
            (
                "shell_timeout_secs = 0",
                "config.toml:1: `shell_timeout_secs`: at least 1ms is needed, found the number 0",
            ),
            (
                "max_next_interval = 4",
                "config.toml:1: `max_next_interval`: at least 5s is needed, found the number 4",
            ),
            ("noop_ttl = 0", "config.toml:1: `noop_ttl`: at least 1s is needed, found the number 0"),
            (
                "flap_streak = 1",
                "config.toml:1: `flap_streak`: from 2 to 100000 is possible, found the number 1",
            ),
            (
                "max_workers = -1",
                "config.toml:1: `max_workers`: from 1 to 100000 is possible, found the number -1",
            ),
            ("runs_keep = 0", "config.toml:1: `runs_keep`: from 1 to 100000 is possible, found the number 0"),
            ("max_daily_usd = -1", "config.toml:1: `max_daily_usd`: cannot be negative, found the number -1"),
            ("max_daily_usd = 1e9", "config.toml:1: `max_daily_usd`: at most 1000000 dollars are possible"),
        ],
        first_line,
    );
}

#[test]
fn values_that_cannot_be_meant() {
    check(
        &[
            (
                "policy = 'opne'",
                "config.toml:1: `policy`: one of \"open\", \"guarded\", \"locked\" is possible, found the string \"opne\"; did you mean \"open\"?",
            ),
            (
                "log_format = 'xml'",
                "config.toml:1: `log_format`: one of \"human\", \"json\" is possible, found the string \"xml\"",
            ),
            ("notification = ' '", "config.toml:1: `notification`: must not be empty"),
            ("notification = \"a\\u0000b\"", "config.toml:1: `notification`: contains a NUL character"),
            (
                "notification = 'n {{msg}}'",
                "config.toml:1: `notification`: unknown placeholder {{msg}}; known here: {{id}}",
            ),
            ("default = []", "config.toml:1: `default`: the list is empty; \"builtin\" costs nothing"),
            ("default = ['builtin', 'builtin']", "config.toml:1: `default`: \"builtin\" is listed twice"),
            (
                "default = 'claude'",
                "config.toml:1: `default`: there is no runner \"claude\"; add [runners.claude]; looop init --runner claude writes one",
            ),
            ("default = 'mine'", "config.toml:1: `default`: there is no runner \"mine\"; add [runners.mine]"),
            (
                "default = 'buildin'",
                "config.toml:1: `default`: there is no runner \"buildin\"; did you mean \"builtin\"?",
            ),
            (
                "default = 'cluade'\nrunners.claude.tick = 'c'",
                "config.toml:1: `default`: there is no runner \"cluade\"; did you mean \"claude\"?",
            ),
            (
                "runners.builtin.tick = 'c'",
                "config.toml:1: `runners.builtin`: `builtin` is the built-in decider; give the runner another name",
            ),
            (
                "runners.'a b'.tick = 'c'",
                "config.toml:1: `runners.a b`: a runner's name is 1 to 64 letters, digits, `-`, `_` or `.`, beginning with a letter, digit or `_`",
            ),
            (
                "runners.x = { retries = 1 }",
                "config.toml:1: `runners.x`: needs a `tick` or an `interactive` command, or an `api`",
            ),
            (
                "runners.x.interactive = 'claude'",
                "config.toml:1: `runners.x.interactive`: must contain {{prompt_file}}, since a worker's standard input is its terminal",
            ),
            (
                "runners.x.tick = 'c --model {{model}}'",
                "config.toml:1: `runners.x.tick`: unknown placeholder {{model}}; known here: {{prompt_file}}, {{budget_usd}}, {{schema_file}} and {{strict_schema_file}}",
            ),
            (
                "runners.x.tick = 'c {{}}'",
                "config.toml:1: `runners.x.tick`: an empty placeholder {{}}; known here: {{prompt_file}}, {{budget_usd}}, {{schema_file}} and {{strict_schema_file}}",
            ),
            (
                "runners.x = { tick = 'a', cost = { type = 'a' } }",
                "config.toml:1: `runners.x.cost`: `pointer` is missing",
            ),
            (
                "runners.x = { tick = 'a', cost = { type = 'a', pointer = 'usd' } }",
                "config.toml:1: `runners.x.cost`: a JSON pointer begins with /, found the string \"usd\"",
            ),
            (
                "runners.x = { tick = 'a', cost = { type = 'a', pointer = '/a', mode = 'max' } }",
                "config.toml:1: `runners.x.cost`: one of \"sum\", \"total\" is possible, found the string \"max\"",
            ),
            (
                "runners.x = { tick = 'a', retries = 11 }",
                "config.toml:1: `runners.x.retries`: from 0 to 10 is possible, found the number 11",
            ),
        ],
        first_line,
    );
}

#[test]
fn a_model_that_cannot_be_called_is_refused() {
    let api = |fields: &str| format!("runners.x.api = {{ {fields} }}");
    let fine = "provider = 'anthropic', model = 'm'";
    let table = [
        ("model = 'm'".to_owned(), "`provider` is missing"),
        ("provider = 'anthropic'".to_owned(), "`model` is missing"),
        (
            "provider = 'antropic', model = 'm'".to_owned(),
            "one of \"anthropic\", \"openai\" is possible, found the string \"antropic\"; did you mean \"anthropic\"?",
        ),
        (format!("{fine}, base = 'x'"), "`base` is not a key of api"),
        (format!("{fine}, key_evn = 'K'"), "`key_evn` is not a key of api; did you mean `key_env`?"),
        (
            format!("{fine}, base_url = 'x'"),
            "an address begins with https:// or http://, found the string \"x\"",
        ),
        (
            format!("{fine}, base_url = 'https://me:secret@x'"),
            "an address with a password in it; use key_env or key_command",
        ),
        (
            format!("{fine}, key_env = 'sk-ant-123'"),
            "the name of a variable is expected, such as ANTHROPIC_API_KEY, and not the key itself",
        ),
        (
            format!("{fine}, key_env = 'K', key_command = 'pass'"),
            "`key_env` and `key_command` exclude each other",
        ),
        (format!("{fine}, max_tokens = 5"), "from 256 to 1000000 is possible, found the number 5"),
    ];
    for (fields, said) in table {
        assert_eq!(first_line(&api(&fields)), format!("config.toml:1: `runners.x.api`: {said}"), "{fields}");
    }
    assert_eq!(
        first_line(&format!("[runners.x]\ntick = 'a'\n{}", api(fine).replace("runners.x.", ""))),
        "config.toml:1: `runners.x`: has both `tick` and `api`; leave out the one that shall not decide"
    );
    check(
        &[
            ("prices = { m = { input = 1 } }", "config.toml:1: `prices`: \"m\" has no `output`"),
            (
                "prices = { m = { input = 1, outputs = 2 } }",
                "config.toml:1: `prices`: `outputs` is not a key of a price; did you mean `output`?",
            ),
        ],
        first_line,
    );
}

#[test]
fn a_decider_in_a_list_is_pointed_at() {
    let text = "default = [\"builtin\", \"claud\"]\nrunners.claude.tick = 'c'";
    assert_eq!(
        refusal(toml(text)),
        "\
config.toml:1: `default`: there is no runner \"claud\"; did you mean \"claude\"?
  1 | default = [\"builtin\", \"claud\"]
    |                       ^^^^^^^"
    );
}

#[test]
fn broken_syntax_has_a_line() {
    assert_eq!(
        refusal(toml("interval = 60\ninterval = 5\n")),
        "config.toml:2: duplicate key\n  2 | interval = 5\n    | ^^^^^^^^"
    );
    let said = refusal(toml("a = 1\n[runners\nx = 1"));
    assert!(said.starts_with("config.toml:2: "), "{said}");
    let table = [
        ("{\n  \"interval\": 60,\n}", "config.json:3: trailing comma\n  3 | }\n    | ^"),
        (
            "{\"a\": 1, \"a\": 2}",
            "config.json:1: duplicate key `a`\n  1 | {\"a\": 1, \"a\": 2}\n    |            ^",
        ),
        ("[]", "config.json:1: expected an object at the top, found a list\n  1 | []\n    | ^"),
        ("", "config.json:1: EOF while parsing a value\n  1 | \n    | ^"),
        ("{} x", "config.json:1: trailing characters\n  1 | {} x\n    |    ^"),
    ];
    check(&table, |text| refusal(json(text)));
}

#[test]
fn json_names_the_key() {
    let table = [
        (
            r#"{"runners": {"pi": {"tick": null}}}"#,
            "config.json: `runners.pi.tick`: expected a string, found null",
        ),
        (r#"{"intervall": 5}"#, "config.json: `intervall` is not a known key; did you mean `interval`?"),
    ];
    check(&table, |text| refusal(json(text)));
}

#[test]
fn bytes_that_are_no_text() {
    let refused = from_bytes(Some((Path::new("config.toml"), b"interval = 60\nx = \"\xff\"\n")), &Env::new());
    assert_eq!(refusal(refused), "config.toml:2: not valid UTF-8\n  2 | x = \"\u{fffd}\"\n    |      ^");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let said = refusal(toml("interval = \"\u{1b}[31m\u{7f}\"\t# \u{85}"));
    assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
    let said = refusal(toml("\"\\u001b[2J\" = 1"));
    assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("spare = [{}7]", "\"abcdefgh\", ".repeat(40));
    let said = refusal(toml(&text));
    assert!(said.lines().all(|line| line.chars().count() <= 120), "{said}");
    let long_value = format!("interval = \"{}\"", "é".repeat(500));
    assert!(refusal(toml(&long_value)).lines().all(|line| line.chars().count() <= 140));
}

#[test]
fn a_file_of_another_kind_is_not_told_line_by_line() {
    let text = (0..5000).map(|i| format!("zzz{i} = 1")).collect::<Vec<_>>().join("\n");
    let refused = toml(&text).unwrap_err();
    assert_eq!((refused.problems.len(), refused.left_out), (10, 4990));
    assert!(refused.to_string().ends_with("\nand 4990 more"));
}

#[test]
fn a_refusal_knows_where_to_look_further() {
    let error = ConfigError::from(toml("x = 1").unwrap_err());
    assert_eq!(error.hint().as_deref(), Some("looop help config lists every key"));
}

#[test]
fn channels_that_cannot_be_used() {
    let address = "expected an address such as https://example.org/topic";
    let cases = [
        ("ntfy = 'ntfy.sh/x'", format!("config.toml:1: `ntfy`: {address}")),
        ("webhook = 'ftp://x/y'", format!("config.toml:1: `webhook`: {address}")),
        ("webhook = { url = 'nope' }", format!("config.toml:1: `webhook`: {address}")),
        ("ntfy = ''", "config.toml:1: `ntfy`: must not be empty".to_owned()),
        ("ntfy = {}", "config.toml:1: `ntfy`: `url` is missing".to_owned()),
        (
            "ntfy = 3",
            "config.toml:1: `ntfy`: expected an address or a table { url, token_env }, found the number 3".to_owned(),
        ),
        (
            "webhook = []",
            "config.toml:1: `webhook`: expected an address or a table { url, header_env }, found a list".to_owned(),
        ),
        (
            "ntfy = { url = 'https://x/y', token_en = 'T' }",
            "config.toml:1: `ntfy`: `token_en` is not a key of it; `url` and `token_env` are; did you mean `token_env`?"
                .to_owned(),
        ),
        (
            "webhook = { url = 'https://x/y', token_env = 'T' }",
            "config.toml:1: `webhook`: `token_env` is not a key of it; `url` and `header_env` are".to_owned(),
        ),
        (
            "ntfy = { url = 'https://x/y', token_env = 'tk-secret!' }",
            "config.toml:1: `ntfy`: expected the name of an environment variable, not its value".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(first_line(text), expected, "{text}");
    }
}

#[test]
fn channels_that_can_be_used() {
    let loaded =
        toml("ntfy = 'https://ntfy.sh/x'\nwebhook = { url = 'http://h:1/?a', header_env = 'H' }").unwrap();
    let (ntfy, webhook) = (loaded.config.ntfy.unwrap(), loaded.config.webhook.unwrap());
    assert_eq!((ntfy.url.as_str(), ntfy.secret_env), ("https://ntfy.sh/x", None));
    assert_eq!((webhook.url.as_str(), webhook.secret_env.as_deref()), ("http://h:1/?a", Some("H")));
}

#[test]
fn folders_of_programs_are_named_from_the_root_or_the_home() {
    let config = toml("sandbox_tools = ['~/.cargo/bin', '/opt']").unwrap().config;
    assert_eq!(config.sandbox_tools, ["~/.cargo/bin", "/opt"].map(std::path::PathBuf::from));
    for bad in ["bin", "~", "~/", "/"] {
        let said = first_line(&format!("sandbox_tools = ['{bad}']"));
        assert!(said.contains("is no folder by an absolute path, nor one below ~/"), "{bad}: {said}");
    }
}
