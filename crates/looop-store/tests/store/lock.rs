//! The lock as a type.

use std::sync::{Arc, Barrier};

use looop_store::LockError;

use crate::harness::Profile;

#[test]
fn one_writer_at_a_time_and_the_file_stays() {
    let profile = Profile::new();
    let writer = profile.writer();
    let error = profile.reader().lock().unwrap_err();
    assert!(matches!(error, LockError::Held { pid } if pid == Some(std::process::id())));
    assert_eq!(error.to_string(), format!("the profile is in use by process {}", std::process::id()));
    let clone = writer.clone();
    drop(writer);
    assert!(profile.reader().lock().is_err());
    drop(clone);
    assert!(profile.path("lock").exists());
    assert_eq!(profile.mode("lock"), 0o600);
    assert!(profile.reader().lock().is_ok());
}

#[test]
fn many_race_and_one_wins() {
    let profile = Profile::new();
    for _ in 0..20 {
        let start = Arc::new(Barrier::new(8));
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let (reader, start) = (profile.reader(), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    reader.lock().ok()
                })
            })
            .collect();
        let won: Vec<_> = racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect();
        assert_eq!(won.len(), 1);
    }
}

#[test]
fn a_pulse_of_an_older_looop_is_respected_and_kept_out() {
    let profile = Profile::new();
    std::fs::create_dir(profile.path(".lock")).unwrap();
    profile.write(".lock/lock", "");
    let old = std::fs::File::open(profile.path(".lock/lock")).unwrap();
    old.lock().unwrap();
    assert!(matches!(profile.reader().lock(), Err(LockError::OldPulse)));
    old.unlock().unwrap();
    let writer = profile.writer();
    assert!(old.try_lock().is_err(), "an older pulse cannot start beside us");
    drop(writer);
    old.try_lock().unwrap();
}

#[test]
fn an_older_lock_folder_without_a_lock_in_it_is_nothing() {
    let profile = Profile::new();
    std::fs::create_dir(profile.path(".lock")).unwrap();
    profile.write(".lock/pid", "1");
    assert!(profile.reader().lock().is_ok());
    assert_eq!(profile.names(".lock"), ["pid"]);
}
