//! What `looop init` writes and offers.

use std::{fs, os::unix::fs::PermissionsExt};

use super::given::*;
use crate::config::{Decider, PRESETS, RunnerName, found_on_path, preset, render_starter, tool_folders};

#[test]
fn the_starter_without_an_agent() {
    let loaded = toml(&render_starter(None, &[])).unwrap();
    assert_eq!(loaded.config, crate::config::Config::default());
    assert_eq!(loaded.warnings, []);
}

#[test]
fn the_starter_of_each_agent() {
    for known in PRESETS {
        let loaded = toml(&render_starter(Some(known), &[])).unwrap();
        let name = RunnerName::new(known.name).unwrap();
        assert_eq!(loaded.config.decider_chain(), [Decider::Builtin, Decider::Command(name.clone())]);
        let runner = &loaded.config.runners[&name];
        assert_eq!(runner.tick.as_ref().unwrap().as_str(), known.tick);
        assert_eq!(runner.interactive.as_ref().unwrap().as_str(), known.interactive);
        assert_eq!(preset(known.name), Some(known));
    }
    assert_eq!(preset("emacs"), None);
}

#[test]
fn folders_of_programs_that_are_there_are_shown_in_the_sandbox() {
    let home = tempfile::tempdir().unwrap();
    for folder in [".cargo/bin", ".rustup", ".ssh", ".config/gh"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    let env: Env = [("HOME".to_owned(), home.path().into())].into();
    let found = tool_folders(&env);
    assert_eq!(found, ["~/.cargo/bin", "~/.rustup"]);
    let loaded = toml(&render_starter(None, &found)).unwrap();
    assert_eq!(loaded.config.sandbox_tools, found.iter().map(std::path::PathBuf::from).collect::<Vec<_>>());
}

#[test]
fn no_prompt_travels_as_an_argument() {
    for known in PRESETS {
        for command in [known.tick, known.interactive] {
            assert!(!command.contains("$(cat"), "{command}");
        }
    }
}

#[test]
fn commented_lines_of_the_starter_are_true_too() {
    for (commented, key) in
        [(render_starter(None, &[]), "tick"), (render_starter(PRESETS.first(), &[]), "notification")]
    {
        let uncommented = commented
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|rest| rest.contains(" = ") || rest.starts_with('['))
                    .unwrap_or(line)
            })
            .collect::<Vec<_>>()
            .join("\n");
        assert!(uncommented.contains(&format!("\n{key} = ")), "{uncommented}");
        toml(&uncommented).unwrap();
    }
}

#[test]
fn agents_on_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    for folder in [&first, &second] {
        fs::create_dir(folder).unwrap();
    }
    let program = |file: &Path, mode| {
        fs::write(file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    };
    program(&second.join("pi"), 0o755);
    program(&first.join("claude"), 0o755);
    program(&first.join("codex"), 0o644);
    fs::create_dir(first.join("gemini")).unwrap();
    let path = std::env::join_paths([&first, &second]).unwrap();
    let env: Env = [("PATH".to_owned(), path)].into();
    assert_eq!(found_on_path(&env), ["claude", "pi"]);
    assert_eq!(found_on_path(&Env::new()), Vec::<&str>::new());
}

#[test]
fn a_worker_command_that_an_earlier_init_wrote_is_the_present_one() {
    for known in PRESETS {
        for former in known.former {
            let name = RunnerName::new("mine").unwrap();
            let text =
                format!("[runners.mine]\ninteractive = {}\n", ::toml::Value::String((*former).to_owned()));
            let loaded = toml(&text).unwrap();
            assert_eq!(
                loaded.config.runners[&name].interactive.as_ref().unwrap().as_str(),
                known.interactive
            );
            assert_eq!(loaded.warnings, []);
            let more = text.replace("{{prompt_file}}", "--more {{prompt_file}}");
            let kept = toml(&more).unwrap().config.runners[&name].interactive.clone().unwrap();
            assert_eq!(kept.as_str(), former.replace("{{prompt_file}}", "--more {{prompt_file}}"));
        }
    }
}

#[test]
fn a_tick_that_an_earlier_init_wrote_is_the_present_one() {
    let formers =
        PRESETS.iter().flat_map(|known| known.former_ticks.iter().map(move |former| (former, known)));
    for (former, known) in formers {
        let name = RunnerName::new("mine").unwrap();
        let tick = |text: &str| {
            let loaded =
                toml(&format!("[runners.mine]\ntick = {}\n", ::toml::Value::String(text.to_owned())));
            loaded.unwrap().config.runners[&name].tick.as_ref().unwrap().as_str().to_owned()
        };
        assert_eq!(tick(former), known.tick);
        let own = format!("{former} --more");
        assert_eq!(tick(&own), own);
    }
}
