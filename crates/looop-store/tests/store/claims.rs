//! Claims: one holder, for as long as it lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

use looop_store::Reader;
use looop_store::mail::{ClaimError, Claimed, Lease, MAIL_KEPT_MS, Unclaimed};
use proptest::prelude::*;

use crate::harness::{Profile, breaks};

const NOW: i64 = 1_800_000_000_000;

fn claim(reader: &Reader, name: &str, session: &str, living: &[&str]) -> Result<Claimed, ClaimError> {
    let alive = |session: &str| living.contains(&session);
    reader.claim(name, session, &Lease { nonce: session, wall: NOW, alive: &alive })
}

fn unclaim(
    reader: &Reader,
    name: &str,
    session: Option<&str>,
    living: &[&str],
) -> Result<Unclaimed, ClaimError> {
    let alive = |session: &str| living.contains(&session);
    reader.unclaim(name, session, &Lease { nonce: "", wall: NOW, alive: &alive })
}

#[test]
fn a_claim_is_held_by_who_lives() {
    let profile = Profile::new();
    let reader = profile.reader();
    let both = ["a~1", "b~1"];
    assert_eq!(claim(&reader, "repo", "a~1", &both).unwrap(), Claimed::New);
    let text = r#"{"v":1,"name":"repo","session":"a~1","ts":1800000000000,"nonce":"a~1"}"#;
    assert_eq!(profile.text("claims/repo.json"), text);
    assert_eq!(profile.mode("claims/repo.json"), 0o600);
    assert_eq!(claim(&reader, "repo", "a~1", &both).unwrap(), Claimed::Mine);
    let held = claim(&reader, "repo", "b~1", &both).unwrap_err();
    assert_eq!(held.to_string(), "\"repo\" is claimed by a~1");
    assert!(matches!(unclaim(&reader, "repo", Some("b~1"), &both), Err(ClaimError::Held { .. })));
    assert!(matches!(unclaim(&reader, "repo", None, &both), Err(ClaimError::Held { .. })));
    assert_eq!(claim(&reader, "repo", "b~1", &["b~1"]).unwrap(), Claimed::TakenFrom("a~1".to_owned()));
    assert_eq!(unclaim(&reader, "repo", Some("b~1"), &both).unwrap(), Unclaimed::From("b~1".to_owned()));
    assert_eq!(unclaim(&reader, "repo", Some("b~1"), &both).unwrap(), Unclaimed::Absent);
    assert_eq!(claim(&reader, "repo", "a~1", &both).unwrap(), Claimed::New);
}

#[test]
fn a_new_generation_takes_its_lease_anew() {
    let profile = Profile::new();
    let reader = profile.reader();
    claim(&reader, "repo", "a~1", &["a~1"]).unwrap();
    claim(&reader, "repo", "a~2", &["a~2"]).unwrap();
    let claims = reader.letters().claims;
    assert_eq!((claims["repo"].session.as_str(), claims["repo"].nonce.as_str()), ("a~2", "a~2"));
    assert_eq!(unclaim(&reader, "repo", None, &[]).unwrap(), Unclaimed::From("a~2".to_owned()));
}

#[test]
fn names_are_names() {
    let profile = Profile::new();
    for name in ["", "../x", "a/b", ".lock", "-x", "a b", &"x".repeat(65)] {
        assert!(matches!(claim(&profile.reader(), name, "a~1", &[]), Err(ClaimError::NotAName(_))), "{name}");
    }
    for session in ["", "a b", "~1", "a~x"] {
        let refused = claim(&profile.reader(), "repo", session, &[]);
        assert!(matches!(refused, Err(ClaimError::NotASession(_))), "{session}");
    }
}

#[test]
fn of_many_who_claim_at_once_one_gets_it() {
    let profile = Profile::new();
    for round in 0..20 {
        let start = Arc::new(Barrier::new(10));
        let claimers: Vec<_> = (0..10)
            .map(|n| {
                let (reader, start) = (profile.reader(), Arc::clone(&start));
                std::thread::spawn(move || {
                    let (name, session) = (format!("repo-{round}"), format!("w~{n}"));
                    let lease = Lease { nonce: &session, wall: NOW, alive: &|_| true };
                    start.wait();
                    reader.claim(&name, &session, &lease).map(|_| session.clone())
                })
            })
            .collect();
        let won: Vec<String> =
            claimers.into_iter().filter_map(|claimer| claimer.join().unwrap().ok()).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(profile.reader().letters().claims[&format!("repo-{round}")].session, won[0]);
    }
}

#[test]
fn the_dead_are_reaped_and_the_living_are_not() {
    let profile = Profile::new();
    let writer = profile.writer();
    claim(&writer, "dead", "a~1", &[]).unwrap();
    claim(&writer, "alive", "b~1", &[]).unwrap();
    profile.write("claims/old.json", r#"{"name":"old","session":"looop-c"}"#);
    profile.write("claims/broken.json", "{");
    let reaped = writer.reap_claims(&|session| session == "b~1", NOW).unwrap();
    assert_eq!(reaped.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>(), ["dead"]);
    let letters = writer.letters();
    assert_eq!(letters.claims.keys().collect::<Vec<_>>(), ["alive", "old"]);
    assert_eq!(letters.broken[0].0, "claims/broken.json");
    assert_eq!(profile.names("mail.d"), [format!("dead.claim-{NOW}.json")]);
    assert_eq!(writer.sweep_mail(NOW + MAIL_KEPT_MS + 1).unwrap(), 1);
}

#[test]
fn a_claim_that_was_taken_over_during_the_sweep_stays() {
    let profile = Profile::new();
    let (writer, other) = (profile.writer(), profile.reader());
    claim(&writer, "repo", "a~1", &[]).unwrap();
    let looks = std::cell::Cell::new(0);
    let alive = |session: &str| {
        looks.set(looks.get() + 1);
        if looks.get() == 1 {
            // Between the first look and the lock somebody takes it over.
            claim(&other, "repo", "b~1", &[]).unwrap();
        }
        session == "b~1"
    };
    assert!(writer.reap_claims(&alive, NOW).unwrap().is_empty());
    assert_eq!(writer.letters().claims["repo"].session, "b~1");
    let reborn = std::cell::Cell::new(false);
    let alive = |_: &str| reborn.replace(true);
    assert!(writer.reap_claims(&alive, NOW).unwrap().is_empty(), "it turned out to live");
}

#[test]
fn claims_of_older_versions_count() {
    let profile = Profile::new();
    let reader = profile.reader();
    profile
        .write("claims/repo.json", r#"{"name":"repo","nonce":"8727-1","session":"triage","ts":1794734939}"#);
    assert!(matches!(claim(&reader, "repo", "b~1", &["triage"]), Err(ClaimError::Held { .. })));
    assert_eq!(
        claim(&reader, "repo", "triage~1", &["triage"]).unwrap(),
        Claimed::TakenFrom("triage".to_owned()),
        "its own worker, which lives now as a session"
    );
    profile.write("claims/other.json", r#"{"session":"looop-triage"}"#);
    assert_eq!(claim(&reader, "other", "b~1", &[]).unwrap(), Claimed::TakenFrom("triage".to_owned()));
    profile.write("claims/mine.json", r#"{"session":"triage"}"#);
    assert_eq!(
        unclaim(&reader, "mine", Some("triage~2"), &["triage"]).unwrap(),
        Unclaimed::From("triage".to_owned())
    );
}

#[test]
fn an_empty_claim_is_debris_once_it_is_old_and_other_nonsense_is_somebodys() {
    let profile = Profile::new();
    let reader = profile.reader();
    profile.write("claims/repo.json", "");
    let born = profile.path("claims/repo.json").metadata().unwrap().modified().unwrap();
    let born = i64::try_from(born.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let at = |wall| reader.claim("repo", "a~1", &Lease { nonce: "n", wall, alive: &|_| false });
    assert!(matches!(at(born + 5_000), Err(ClaimError::Broken(_))), "somebody may be writing it");
    assert_eq!(at(born + 11_000).unwrap(), Claimed::New);
    for (how, make) in breaks() {
        let profile = Profile::new();
        make(&profile.path("claims/repo.json"));
        let error = claim(&profile.reader(), "repo", "a~1", &[]).unwrap_err();
        assert!(
            matches!(&error, ClaimError::Broken(text) if text.contains("claims/repo.json")),
            "{how}: {error}"
        );
        assert!(
            matches!(unclaim(&profile.reader(), "repo", Some("a~1"), &[]), Err(ClaimError::Broken(_))),
            "{how}"
        );
    }
}

/// What can happen around two claims.
#[derive(Clone, Copy, Debug)]
enum Step {
    Claim(usize, usize),
    Unclaim(usize, usize),
    Die(usize),
    Reap,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize, 0..4_usize).prop_map(|(name, session)| Step::Claim(name, session)),
        2 => (0..2_usize, 0..4_usize).prop_map(|(name, session)| Step::Unclaim(name, session)),
        1 => (0..4_usize).prop_map(Step::Die),
        1 => Just(Step::Reap),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// Against a model: a map of names to holders, and a set of the living.
    #[test]
    fn claims_do_what_a_map_does(steps in proptest::collection::vec(step(), 1..40)) {
        let profile = Profile::new();
        let writer = profile.writer();
        let (names, sessions) = (["x", "y"], ["a~1", "a~2", "b~1", "c~1"]);
        let mut living = sessions.to_vec();
        let mut model: BTreeMap<&str, &str> = BTreeMap::new();
        for step in steps {
            let lives = |session: &str| living.contains(&session);
            match step {
                Step::Claim(name, session) => {
                    let (name, session) = (names[name], sessions[session]);
                    let may = model.get(name).is_none_or(|holder| *holder == session || !lives(holder));
                    prop_assert_eq!(claim(&writer, name, session, &living).is_ok(), may);
                    if may {
                        model.insert(name, session);
                    }
                }
                Step::Unclaim(name, session) => {
                    let (name, session) = (names[name], sessions[session]);
                    let may = model.get(name).is_none_or(|holder| *holder == session || !lives(holder));
                    prop_assert_eq!(unclaim(&writer, name, Some(session), &living).is_ok(), may);
                    if may {
                        model.remove(name);
                    }
                }
                Step::Die(session) => living.retain(|alive| *alive != sessions[session]),
                Step::Reap => {
                    let reaped = writer.reap_claims(&lives, NOW).unwrap().len();
                    let before = model.len();
                    model.retain(|_, holder| lives(holder));
                    prop_assert_eq!(reaped, before - model.len());
                }
            }
            let found = writer.letters().claims;
            let found: BTreeMap<&str, &str> =
                found.iter().map(|(name, claim)| (name.as_str(), claim.session.as_str())).collect();
            prop_assert_eq!(&found, &model);
        }
    }
}
