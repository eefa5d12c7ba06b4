//! What a decider's command gets.

use super::given::*;

fn granted() -> Granted {
    Granted { env: texts(&["GH_TOKEN"]), net: true, ..Granted::default() }
}

fn stage(argv: &str, granted: Granted) -> Stage {
    let grant = (granted == self::granted()).then(|| "gh pr list --json=*".to_owned());
    Stage { argv: argv.split(' ').map(str::to_owned).collect(), grant, granted }
}

#[test]
fn each_command_of_a_pipeline_gets_its_own_grant() {
    let of = |text: &str| run(&[gh()], Text::Command(text), false);
    let none = Granted::default;
    assert_eq!(of("gh pr list").rights, Rights::Staged(vec![stage("gh pr list", granted())]));
    let piped = of("gh pr list --json title | jq -r .x | head -1");
    let stages = vec![
        stage("gh pr list --json title", granted()),
        stage("jq -r .x", none()),
        stage("head -1", none()),
    ];
    assert_eq!((piped.rights, piped.asks_if_tainted), (Rights::Staged(stages), true));
    assert_eq!(piped.programs.unwrap(), ["gh", "jq", "head"]);
    let sensor = "#!/bin/sh\n# looop:interval=60\ngh pr list\n";
    let sensor = run(&[gh()], Text::Sensor(sensor), false);
    assert_eq!(sensor.rights, Rights::Staged(vec![stage("gh pr list", granted())]));
    assert_eq!(run(&[], Text::Command("gh pr list"), false).rights, Rights::none());
}

/// Whatever is no plain pipeline, or does not fit, runs in one box without grants, and is told why.
#[test]
fn a_grant_that_is_not_applied_says_why() {
    let table = [
        ("gh pr list > x", "gh: `>` is a redirection; only plain words joined by | get grants"),
        ("gh pr list; env", "gh: `;` is an operator of the shell; only plain words joined by | get grants"),
        ("bash -c \"gh $x\"", "gh: `$` is an expansion; only plain words joined by | get grants"),
        ("gh pr merge 1", "gh: no grant has \"merge\" in `gh pr merge 1`"),
        ("gh pr list --web", "gh: no grant has \"--web\" in `gh pr list --web`"),
        ("gh pr", "gh: no grant fits `gh pr`, it has too few words"),
        ("echo x | gh pr list", "gh: a granted command must be the first of its pipeline"),
    ];
    for (text, why) in table {
        let run = run(&[gh()], Text::Command(text), false);
        let expected = Granted { withheld: texts(&[why]), ..Granted::default() };
        assert_eq!(run.rights, Rights::Confined(expected), "{text}");
        assert!(!run.is_granted() && !run.asks_if_tainted);
        assert_eq!(run.rights.withheld().into_iter().collect::<Vec<_>>(), [why]);
    }
    for text in ["make", "ghost pr list; x", "./gh pr list", "/usr/bin/gh pr list", "cat gh.txt > x"] {
        assert_eq!(run(&[gh()], Text::Command(text), false).rights, Rights::none(), "{text}");
    }
    let second = run(&[gh()], Text::Command("gh pr list | gh pr merge 1"), false);
    assert!(second.is_granted());
    assert_eq!(second.rights.withheld().len(), 1);
}

#[test]
fn paths_are_shown_to_every_box_but_that_of_a_granted_command() {
    let path = |path: &str, write, tainted| Grant::Path(PathGrant { path: path.to_owned(), write, tainted });
    let grants = [
        path("~/a", true, OnTaint::Ask),
        path("~/b", true, OnTaint::Allow),
        path("~/c", false, OnTaint::Ask),
        gh(),
    ];
    let of = |text: Text<'_>, tainted| run(&grants, text, tainted).rights;
    let both = |read: &[&str], write: &[&str], withheld: &[&str]| Granted {
        read: texts(read),
        write: texts(write),
        withheld: texts(withheld),
        ..Granted::default()
    };
    let acts = both(&["~/c"], &["~/a", "~/b"], &[]);
    assert_eq!(of(Text::Command("make > x"), false), Rights::Confined(acts.clone()));
    let looks = both(&["~/a", "~/b", "~/c"], &[], &[]);
    assert_eq!(of(Text::Check("make"), false), Rights::Confined(looks.clone()));
    assert_eq!(of(Text::Sensor("#!/bin/sh\nmake"), false), Rights::Confined(looks));
    let why = "~/a can only be read: the brief showed what strangers wrote";
    assert_eq!(of(Text::Command("make"), true), Rights::Confined(both(&["~/a", "~/c"], &["~/b"], &[why])));
    let stages = vec![stage("gh pr list", granted()), stage("tee x", acts)];
    assert_eq!(of(Text::Command("gh pr list | tee x"), false), Rights::Staged(stages));
}

/// What a person's goal allows goes to what serves it; a decider's goal allows nothing.
#[test]
fn a_goal_adds_its_own_grants() {
    let body = "---\nallow: |\n  [[grant]]\n  command = [\"gh\", \"pr\", \"list\"]\n  env = [\"GH_TOKEN\"]\n---\n# G\n";
    let grants = with_goal(&[], Some(body));
    assert_eq!(grants.len(), 1);
    assert!(run(&grants, Text::Command("gh pr list"), false).is_granted());
    assert_eq!(with_goal(&[], None), []);
    assert_eq!(with_goal(&[gh()], Some("# G\n")), [gh()]);
    let wrong = crate::model::goal::parse("---\nallow: everything\n---\n# G\n");
    assert_eq!(wrong.allow, []);
    assert!(wrong.problems[0].starts_with("line 2: allow: line 1: begins with [[grant]]"), "{wrong:?}");
}

#[test]
fn the_older_form_stands_for_the_shipped_commands() {
    let older = |program: &str, net| {
        let gives = Gives { env: texts(&["T"]), net, ..Gives::default() };
        Grant::Program(ProgramGrant { program: program.to_owned(), gives })
    };
    let hosts = || Net::Hosts(texts(&["h.org"]));
    let of = |grant: &Grant, text: &str| run(std::slice::from_ref(grant), Text::Command(text), false);
    assert!(of(&older("gh", Net::Open), "gh pr list").is_granted());
    assert!(of(&older("gh", Net::Open), "gh pr list").asks_if_tainted);
    assert!(!of(&older("gh", hosts()), "gh pr list").asks_if_tainted);
    assert!(!of(&older("gh", hosts()), "gh pr merge 1").is_granted());
    assert!(of(&older("curl", hosts()), "curl https://h.org/x").asks_if_tainted);
    let nothing = |grant: &Grant| gives_nothing(grant).unwrap_or_default();
    assert_eq!(nothing(&older("gh", Net::Open)), "");
    assert!(nothing(&older("curl", Net::Open)).contains("name the hosts"));
    assert!(nothing(&older("terraform", Net::Open)).contains("command = [\"terraform\", …]"));
    assert_eq!(nothing(&gh()), "");
    let unknown = of(&older("terraform", Net::Open), "terraform apply");
    assert!(
        unknown.rights.withheld().iter().any(|why| why.starts_with("terraform: no grant has \"apply\"")),
        "{unknown:?}"
    );
}
