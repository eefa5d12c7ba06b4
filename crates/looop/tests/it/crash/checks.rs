//! What must hold after any crash, once the loop is quiet again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use looop_core::check::violations;
use looop_core::ledger::entry::Entry;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::Act;
use looop_sim::profile::Profile;
use looop_store::Reader;

pub(super) fn finished(profile: &Profile) -> Vec<(u64, Outcome)> {
    let ended = |entry| match entry {
        Entry::Finished { beat, outcome, .. } => Some((beat.0, outcome)),
        _ => None,
    };
    profile.entries().into_iter().filter_map(ended).collect()
}

/// Beats that intended this action.
pub(super) fn intents(profile: &Profile, action: &str) -> Vec<u64> {
    let is_it = |entry: &Entry| match entry {
        Entry::Intended { beat, plan, .. } if plan.action.action() == action => Some(beat.0),
        _ => None,
    };
    profile.entries().iter().filter_map(is_it).collect()
}

pub(super) fn intended(profile: &Profile, action: &str) -> bool {
    !intents(profile, action).is_empty()
}

pub(super) fn done(profile: &Profile, action: &str) -> usize {
    let beats = intents(profile, action);
    finished(profile).iter().filter(|(beat, outcome)| beats.contains(beat) && outcome.is_done()).count()
}

/// How often the command of each beat ran, whatever its sessions were called.
pub(super) fn shell_runs(profile: &Profile) -> BTreeMap<u64, usize> {
    let ran = profile.file("ran").unwrap_or_default();
    let mut beats: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for entry in profile.entries() {
        match entry {
            Entry::Intended { beat, plan, .. } => {
                if let Act::Hosted { session } = plan.act {
                    beats.entry(beat.0).or_default().push(session);
                }
            }
            Entry::Restarted { beat, session } => beats.entry(beat.0).or_default().push(session),
            _ => {}
        }
    }
    let count = |sessions: Vec<String>| ran.lines().filter(|line| sessions.iter().any(|s| s == line)).count();
    beats.into_iter().map(|(beat, sessions)| (beat, count(sessions))).collect()
}

/// A command whose end is known ran exactly once; one that was interrupted, or never started, at most once.
pub(super) fn commands_ran_once(profile: &Profile, host: bool) {
    let outcomes: BTreeMap<u64, Outcome> = finished(profile).into_iter().collect();
    for (beat, runs) in shell_runs(profile) {
        let outcome = outcomes.get(&beat).unwrap_or_else(|| panic!("beat {beat} has no end"));
        let right = match outcome {
            Outcome::Done { .. } => runs == 1,
            Outcome::Failed { .. } => host && runs == 0,
            Outcome::Interrupted { .. } => host && runs <= 1,
        };
        assert!(right, "beat {beat} ran {runs} times and is {outcome:?}");
    }
}

/// The goal that wanted `ran` was served, by one command.
pub(super) fn served(profile: &Profile, host: bool) {
    commands_ran_once(profile, host);
    let lines = profile.file("ran").unwrap_or_default().lines().count();
    assert!(lines == 1 || host && lines == 0, "{lines} commands ran");
}

pub(super) fn ran_by_hand(profile: &Profile, host: bool) {
    commands_ran_once(profile, host);
    let lines = profile.file("ran").unwrap_or_default().lines().count();
    assert!(lines == usize::from(intended(profile, "run_shell")) || host, "{lines} commands ran");
}

/// Names in a folder, hidden ones aside.
pub(super) fn names(profile: &Profile, folder: &str) -> Vec<String> {
    let listed = fs::read_dir(profile.data().join(folder)).unwrap();
    let mut names: Vec<String> =
        listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    names
}

pub(super) fn settled(profile: &Profile, _: bool) {
    // A call that died before its answer was posted is made again; one that was posted is found.
    profile.run(&["answer", "ask-1", "yes"]);
    quieted(profile);
    let answers = profile.entries().iter().filter(|entry| matches!(entry, Entry::Answered { .. })).count();
    assert_eq!(answers, 1);
    assert_eq!((names(profile, "asks"), names(profile, "answers")), (Vec::new(), Vec::new()));
    assert_eq!(names(profile, "mail.d"), ["ask-1.answer.json", "ask-1.ask.json"]);
}

/// Beats until nothing is appended any more.
pub(super) fn quieted(profile: &Profile) {
    let state = || {
        let ledger = Reader::open(&profile.data()).unwrap().ledger().unwrap();
        (ledger.seq, ledger.acting.is_some() || ledger.deciding.is_some())
    };
    let mut before = None;
    for _ in 0..8 {
        profile.beat();
        let now = state();
        if before == Some(now) && !now.1 {
            return;
        }
        before = Some(now);
    }
}

/// What holds after any crash.
pub(super) fn invariants(profile: &Profile) {
    let reader = Reader::open(&profile.data()).unwrap();
    reader.verify_log().unwrap();
    let ledger = reader.ledger().unwrap();
    assert!(ledger.acting.is_none() && ledger.deciding.is_none(), "something is still under way");
    let lines = profile.lines();
    if lines.first().is_some_and(|line| line.seq == 1) {
        assert_eq!(violations(&lines), Vec::<String>::new());
    }
    let journal = ["journal.md.1", "journal.md"].map(|name| profile.file(name).unwrap_or_default()).concat();
    let written: Vec<&str> = journal.lines().filter(|line| !line.ends_with("long ago")).collect();
    let told = |entry: &Entry| match entry {
        Entry::Finished { journal, .. } => journal.clone(),
        Entry::WorkerNoted { journal, .. } => Some(journal.clone()),
        _ => None,
    };
    let told: Vec<String> = lines.iter().flat_map(|line| &line.entries).filter_map(told).collect();
    assert_eq!(written, told, "the journal has each line once");
}

/// Half-written files; those in the folder of a run age out with it.
pub(super) fn temps(profile: &Profile) -> Vec<PathBuf> {
    let is_temp = |path: &PathBuf| path.to_string_lossy().contains(".looop-tmp-");
    let runs = profile.data().join("runs");
    profile.tree().into_keys().filter(|path| is_temp(path) && !path.starts_with(&runs)).collect()
}
