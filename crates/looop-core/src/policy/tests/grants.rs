//! What a decider's command gets.

use super::given::*;
use crate::model::rights::Granted;

fn both() -> Policy {
    let git = Grant {
        program: "git".into(),
        env: texts(&["GH_TOKEN", "A"]),
        read: texts(&["~/.gitconfig"]),
        net: false,
    };
    let mut policy = grants_gh(Level::Guarded);
    policy.grants.push(git);
    policy
}

fn gets(programs: &[&str], danger: Danger) -> Granted {
    granted(&both(), &screened(programs, danger))
}

#[test]
fn a_command_of_granted_programs_gets_what_all_of_them_were_granted() {
    let gh = Granted { env: texts(&["GH_TOKEN"]), read: Vec::new(), net: true };
    assert_eq!(gets(&["gh"], Danger::Plain), gh);
    let git = Granted { env: texts(&["A", "GH_TOKEN"]), read: texts(&["~/.gitconfig"]), net: false };
    assert_eq!(gets(&["git"], Danger::Plain), git);
    assert_eq!(gets(&["gh", "git"], Danger::Plain), Granted { net: true, ..git });
}

#[test]
fn one_other_program_or_a_doubt_takes_all_of_it() {
    let nothing = Granted::default();
    assert_eq!(gets(&[], Danger::Plain), nothing);
    assert_eq!(gets(&["deploy"], Danger::Plain), nothing);
    assert_eq!(gets(&["gh", "deploy"], Danger::Plain), nothing);
    assert_eq!(gets(&["gh"], Danger::Unknown), nothing);
    assert_eq!(gets(&["gh"], Danger::Destructive), nothing);
    assert_eq!(granted(&Policy::default(), &screened(&["gh"], Danger::Plain)), nothing);
    assert_eq!(gets(&["gh", "cat"], Danger::Plain) != nothing, is_harmless("cat"));
}
