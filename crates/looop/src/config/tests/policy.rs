//! `policy.toml`: what is read, what is refused, and that what is written is read back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use looop_core::policy::{
    CommandGrant, Gives, Grant, Level, Net, OnTaint, PathGrant, Pattern, Policy, ProgramGrant, Rule, Then,
    When, action_names, grant_text, never_matches, rule_text,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::given::*;
use crate::config::{ConfigError, MAX_BYTES, load, policy_from_bytes, read_policy};

fn read(text: &str) -> Result<Policy, Refusal> {
    policy_from_bytes(Path::new("policy.toml"), text.as_bytes(), Level::Guarded)
}

/// The first line of each problem.
fn problems(text: &str) -> Vec<String> {
    let refusal = read(text).expect_err(text);
    refusal.problems.iter().map(|problem| problem.to_string().lines().next().unwrap().to_owned()).collect()
}

#[test]
fn a_whole_policy() {
    let policy = read(
        r#"
        [[grant]]
        program = "gh"
        env = ["GH_TOKEN"]
        read = "~/.config/gh"
        net = true

        [[rule]]
        move = "run_shell"
        when = { tainted = true, program = ["gh"], goal = "ship-*", plain = true }
        then = "ask"
        message = "not unseen"

        [[rule]]
        move = "start_worker"
        then = "deny"
        [rule.when]
        runner = ["claude", "codex"]

        [[rule]]
        move = "*"
        when = { path = "goals/*" }
        then = "allow"

        [[grant]]
        program = "make"
        "#,
    );
    let policy = policy.unwrap_or_else(|refusal| panic!("{refusal}"));
    let texts = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let gh = Gives { env: texts(&["GH_TOKEN"]), read: texts(&["~/.config/gh"]), net: Net::Open };
    let whole = |program: &str, gives| Grant::Program(ProgramGrant { program: program.into(), gives });
    assert_eq!(policy.grants, [whole("gh", gh), whole("make", Gives::default())]);
    let first = When {
        tainted: Some(true),
        plain: Some(true),
        program: texts(&["gh"]),
        goal: texts(&["ship-*"]),
        ..When::default()
    };
    let rules: Vec<(&str, &When, Then, Option<&str>)> = policy
        .rules
        .iter()
        .map(|rule| (rule.action.as_str(), &rule.when, rule.then, rule.message.as_deref()))
        .collect();
    assert_eq!(rules[0], ("run_shell", &first, Then::Ask, Some("not unseen")));
    let second = When { runner: texts(&["claude", "codex"]), ..When::default() };
    assert_eq!(rules[1], ("start_worker", &second, Then::Deny, None));
    let third = When { path: texts(&["goals/*"]), ..When::default() };
    assert_eq!(rules[2], ("*", &third, Then::Allow, None));
    assert_eq!(read("").unwrap(), Policy::default());
    assert_eq!(read("# nothing\n").unwrap(), Policy::default());
}

#[test]
fn each_mistake_is_said_where_it_stands() {
    let rule = "[[rule]]\nmove = 'noop'\nthen = 'ask'\n";
    let grant = "[[grant]]\nprogram = 'gh'\n";
    let table = [
        ("[[rule]", "policy.toml:1: unclosed array table, expected `]`"),
        ("[[rules]]\n", "policy.toml:1: `rules` is not a known key; did you mean `rule`?"),
        (
            "level = 'open'",
            "policy.toml:1: `level` is not a known key; it belongs into config.toml: policy = \"guarded\"",
        ),
        ("[rule]\nmove = 'noop'", "policy.toml:1: `rule`: is written [[rule]], once for each"),
        ("rule = [1]", "policy.toml:1: `rule`: expected a table, found the number 1"),
        ("[[rule]]\nmove = 'noop'", "policy.toml:2: `rule`: has no `then`"),
        ("[[rule]]\nthen = 'ask'", "policy.toml:2: `rule`: has no `move`"),
        (
            "[[rule]]\nmove = 'write_gaol'\nthen = 'ask'",
            "policy.toml:2: `rule.move`: \"write_gaol\" is no move; did you mean \"write_goal\"?",
        ),
        (
            "[[rule]]\nmove = 'noop'\nthen = 'alow'",
            "policy.toml:3: `rule.then`: one of \"allow\", \"ask\", \"deny\" is possible, found the string \"alow\"; \
             did you mean \"allow\"?",
        ),
        (
            &format!("{rule}mesage = 'x'"),
            "policy.toml:4: `rule.mesage` is not a known key; did you mean `message`?",
        ),
        (
            &format!("{rule}message = \"a\\nb\""),
            "policy.toml:4: `rule.message`: is one line of at most 500 characters",
        ),
        (
            &format!("{rule}when = {{ taintd = true }}"),
            "policy.toml:4: `rule.when.taintd` is not a known key; did you mean `tainted`?",
        ),
        (
            &format!("{rule}when = {{ tainted = 'yes' }}"),
            "policy.toml:4: `rule.when.tainted`: expected true or false, found the string \"yes\"",
        ),
        (
            &format!("{rule}when = 1"),
            "policy.toml:4: `rule.when`: expected a table such as { tainted = true }, found the number 1",
        ),
        (
            &format!("{rule}when = {{ goal = [] }}"),
            "policy.toml:4: `rule.when.goal`: the list is empty, and nothing is in it",
        ),
        (
            &format!("{rule}when = {{ goal = 'a/b' }}"),
            "policy.toml:4: `rule.when.goal`: \"a/b\" cannot be the name of a goal",
        ),
        (
            &format!("{rule}when = {{ goal = [1] }}"),
            "policy.toml:4: `rule.when.goal`: expected a string or a list of strings, found a list",
        ),
        (
            &format!("{rule}when = {{ program = 'gh' }}"),
            "policy.toml:4: `rule.when.program`: never matches: noop runs no program",
        ),
        ("[[grant]]\nnet = true", "policy.toml:2: `grant`: has no `command`, `path` or `program`"),
        ("[[grant]]\nprogram = ''", "policy.toml:2: `grant.program`: must not be empty"),
        (
            "[[grant]]\nprogram = '/usr/bin/gh'",
            "policy.toml:2: `grant.program`: \"/usr/bin/gh\" is the name of a program alone, without its folder",
        ),
        (
            &format!("{grant}nett = true"),
            "policy.toml:3: `grant.nett` is not a known key; did you mean `net`?",
        ),
        (
            &format!("{grant}net = 'yes'"),
            "policy.toml:3: `grant.net`: expected a list of hosts, or \"open\" for all of them, found the string \"yes\"",
        ),
        (
            &format!("{grant}env = ['A-B']"),
            "policy.toml:3: `grant.env`: \"A-B\" cannot be the name of a variable: letters, digits and _",
        ),
        (
            &format!("{grant}read = ['x']"),
            "policy.toml:3: `grant.read`: \"x\" must be absolute or begin with ~/",
        ),
        (
            "[[grant]]\ncommand = ['gh', '--']",
            "policy.toml:2: `grant.command`: \"--\" cannot be granted: it changes what the next words are",
        ),
        ("[[grant]]\npath = '~/x'\nenv = ['A']", "policy.toml:3: `grant.env`: does not go with `path`"),
        (
            &format!("{grant}{grant}"),
            "policy.toml:4: `grant.program`: \"gh\" is granted twice; make one grant of both",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(problems(text)[0], expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_told_in_the_order_of_the_file() {
    let text = "[[grant]]\n[[rule]]\nmove = 'x'\n[[grant]]\nprogram = ''\n";
    let lines: Vec<String> =
        problems(text).iter().map(|said| said.split(':').nth(1).unwrap().to_owned()).collect();
    assert!(lines.len() >= 4 && lines.is_sorted(), "{lines:?}");
    let many = "[[grant]]\n".repeat(30);
    let refusal = read(&many).unwrap_err();
    assert_eq!((refusal.problems.len(), refusal.left_out), (10, 20));
    let not_text = policy_from_bytes(Path::new("policy.toml"), b"[[rule]]\nmove = '\xff'", Level::Open);
    assert!(not_text.unwrap_err().to_string().starts_with("policy.toml:2: not valid UTF-8"));
}

/// A profile in a folder of its own with a policy of this content and mode.
struct Written(tempfile::TempDir);

impl Written {
    fn new(text: impl AsRef<[u8]>, mode: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let written = Self(dir);
        fs::write(written.file(), text).unwrap();
        fs::set_permissions(written.file(), fs::Permissions::from_mode(mode)).unwrap();
        written
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("policy.toml")
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        load(self.0.path(), &Env::new())
    }
}

const GRANT: &str = "[[grant]]\nprogram = 'gh'\n";

#[test]
fn the_policy_is_part_of_the_config() {
    let written = Written::new(GRANT, 0o600);
    let policy = |env: &Env| load(written.0.path(), env).unwrap().config.policy;
    assert_eq!((policy(&Env::new()).level, policy(&Env::new()).grants.len()), (Level::Guarded, 1));
    assert_eq!(policy(&env(&[("LOOOP_POLICY", "open")])).level, Level::Open);
    fs::write(written.0.path().join("config.toml"), "policy = 'locked'").unwrap();
    fs::set_permissions(written.0.path().join("config.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!((policy(&Env::new()).level, policy(&Env::new()).grants.len()), (Level::Locked, 1));
    assert_eq!(policy(&env(&[("LOOOP_POLICY", "open")])).level, Level::Open);
    fs::remove_file(written.file()).unwrap();
    assert_eq!(policy(&Env::new()), Policy { level: Level::Locked, ..Policy::default() });
    let wrong = load(written.0.path(), &env(&[("LOOOP_POLICY", "opne")])).unwrap_err();
    assert!(wrong.to_string().contains("did you mean \"open\"?"), "{wrong}");
}

#[test]
fn a_policy_that_cannot_be_trusted_or_read_is_an_error() {
    for mode in [0o666, 0o620, 0o602] {
        let written = Written::new(GRANT, mode);
        let error = written.load().unwrap_err();
        assert!(matches!(error, ConfigError::Exposed { .. }), "{mode:o} {error:?}");
        assert_eq!(error.hint(), Some(format!("chmod go-w {}", written.file().display())));
    }
    let broken = Written::new("[[rule]]\n", 0o600).load().unwrap_err();
    assert!(matches!(broken, ConfigError::Policy(_)), "{broken:?}");
    assert_eq!(broken.hint().as_deref(), Some("mend it; looop policy check tells when it is right"));
    assert!(matches!(Written::new(b"\xff", 0o600).load(), Err(ConfigError::Policy(_))));

    let large = Written::new("", 0o600);
    fs::File::options().write(true).open(large.file()).unwrap().set_len(2 * MAX_BYTES).unwrap();
    let error = large.load().unwrap_err();
    assert!(matches!(error, ConfigError::TooLarge { .. }), "{error:?}");
    assert_eq!(error.hint().as_deref(), Some("move it away; without it the built-in list decides"));

    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("policy.toml")).unwrap();
    let error = load(folder.path(), &Env::new()).unwrap_err();
    assert!(error.to_string().ends_with("policy.toml is a directory, not a regular file"), "{error}");

    let dangling = tempfile::tempdir().unwrap();
    symlink("gone", dangling.path().join("policy.toml")).unwrap();
    assert!(matches!(load(dangling.path(), &Env::new()), Err(ConfigError::Unreadable { .. })));

    let outside = Written::new(GRANT, 0o600);
    let linked = tempfile::tempdir().unwrap();
    symlink(outside.file(), linked.path().join("policy.toml")).unwrap();
    let error = load(linked.path(), &Env::new()).unwrap_err();
    assert!(matches!(error, ConfigError::LeadsOut { .. }), "{error:?}");
    assert!(error.hint().unwrap().starts_with("put the file itself there"));
}

/// Root may give files away and reads everything; an ordinary user meets what cannot be read.
#[test]
fn a_policy_of_another_user_or_unreadable() {
    let written = Written::new(GRANT, 0o600);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(written.file(), Some(12345), None).unwrap();
        let error = written.load().unwrap_err();
        assert!(matches!(error, ConfigError::Foreign { owner: 12345, .. }), "{error:?}");
        assert!(error.hint().unwrap().starts_with("chown "));
    } else {
        fs::set_permissions(written.file(), fs::Permissions::from_mode(0o000)).unwrap();
        assert!(matches!(written.load(), Err(ConfigError::Unreadable { .. })));
    }
}

#[test]
fn a_file_to_be_checked_may_be_anybodys_and_must_be_there() {
    let written = Written::new(GRANT, 0o666);
    assert_eq!(read_policy(&written.file(), Level::Open).unwrap().grants.len(), 1);
    let gone = read_policy(&written.0.path().join("gone"), Level::Open).unwrap_err();
    assert!(matches!(gone, ConfigError::Unreadable { .. }), "{gone:?}");
    let folder = read_policy(written.0.path(), Level::Open).unwrap_err();
    assert!(matches!(folder, ConfigError::NotRegular { .. }), "{folder:?}");
}

fn words(of: &'static str) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(of, 0..3)
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let when = (
        any::<Option<bool>>(),
        any::<Option<bool>>(),
        words("[a-z][a-z0-9.+-]{0,5}"),
        words("[a-zA-Z0-9*_.-]{1,6}"),
        words("[^\\p{C}/~ ][^\\p{C}]{0,5}"),
        words("(goals/[a-z*]{0,3}\\*)"),
    );
    let when = when.prop_map(|(tainted, plain, program, goal, runner, path)| When {
        tainted,
        plain,
        program,
        command: Vec::new(),
        goal,
        runner,
        path,
    });
    let then = select(vec![Then::Allow, Then::Ask, Then::Deny]);
    let message = prop::option::of("[^\\p{C}\\s][^\\p{Cc}]{0,12}");
    let parts = (select(action_names().collect::<Vec<_>>()), when, then, message);
    parts.prop_map(|(action, when, then, message)| Rule { action: action.to_owned(), when, then, message })
}

fn any_grant() -> impl Strategy<Value = Grant> {
    let net = || {
        prop_oneof![
            Just(Net::Closed),
            Just(Net::Open),
            prop::collection::vec("(\\*\\.[a-z]{1,3}\\.)?[a-z]{1,3}(\\.[a-z]{1,3})?", 1..3)
                .prop_map(Net::Hosts),
        ]
    };
    let gives = || {
        let parts = (words("[A-Z_][A-Z0-9_]{0,5}"), words("(~?/[^\\p{Cc}/]{0,5}x)"), net());
        parts.prop_map(|(env, read, net)| Gives { env, read, net })
    };
    let tainted = select(vec![OnTaint::Ask, OnTaint::Allow]);
    let pattern = prop::collection::vec("[a-z]{1,4}|\\*|--?[a-z]{1,3}(=\\*|=<name>)?", 0..5);
    let pattern = pattern.prop_map(|words| {
        let words: Vec<String> = std::iter::once("gh".to_owned()).chain(words).collect();
        Pattern::parse(&words).unwrap()
    });
    prop_oneof![
        gives().prop_map(|gives| Grant::Program(ProgramGrant { program: "gh".to_owned(), gives })),
        (pattern, gives(), tainted.clone())
            .prop_map(|(command, gives, tainted)| Grant::Command(CommandGrant { command, gives, tainted })),
        ("(~/|/)[a-z]{1,4}", any::<bool>(), tainted)
            .prop_map(|(path, write, tainted)| Grant::Path(PathGrant { path, write, tainted })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        rules in prop::collection::vec(any_rule(), 0..4),
        grant in any_grant(),
        comment in "\\PC{0,20}(\n|\r)?\\PC{0,20}",
    ) {
        let rules: Vec<Rule> = rules.into_iter().filter(|rule| never_matches(rule).is_none()).collect();
        let mut text: String = rules.iter().map(|rule| rule_text(rule, &comment)).collect();
        text.push_str(&grant_text(&grant, &comment));
        let policy = read(&text).unwrap_or_else(|refusal| panic!("{text}\n{refusal}"));
        prop_assert_eq!(policy, Policy { level: Level::Guarded, rules, grants: vec![grant] });
    }

    #[test]
    fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(policy_from_bytes(Path::new("policy.toml"), &bytes, Level::Open));
    }
}
