//! Opening, creating, seeding.

use looop_store::dir::FOLDERS;
use looop_store::{OpenError, Reader, SnapshotCache};

use crate::harness::Profile;

#[test]
fn a_read_creates_nothing() {
    let profile = Profile::none();
    assert!(matches!(Reader::open(&profile.root()), Err(OpenError::Absent(_))));
    assert!(!profile.root().exists());
    let reader = profile.reader();
    assert_eq!(reader.ledger().unwrap().seq, 0);
    reader.scan(&mut looop_store::docs::DocsCache::default(), 0);
    reader.letters();
    assert!(profile.names("").is_empty());
}

#[test]
fn a_file_in_its_place_is_told_from_none() {
    let profile = Profile::none();
    std::fs::write(profile.root(), "x").unwrap();
    assert!(matches!(Reader::open(&profile.root()), Err(OpenError::NotAFolder(_))));
    assert!(matches!(Reader::create(&profile.root()), Err(OpenError::NotAFolder(_))));
}

#[test]
fn what_others_can_write_is_refused_with_the_command_that_mends_it() {
    for path in
        ["", "PLAYBOOK.md", "goals", "sensors", "schedules", "policy.toml", "config.toml", "log", "answers"]
    {
        let profile = Profile::new();
        profile.write("PLAYBOOK.md", "x");
        profile.write("policy.toml", "x");
        profile.write("config.toml", "x");
        let usual = profile.mode(path);
        profile.chmod(path, usual | 0o020);
        let error = Reader::open(&profile.root()).unwrap_err();
        let shown = if path.is_empty() { profile.root() } else { profile.path(path) };
        assert_eq!(error.hint().unwrap(), format!("chmod go-w '{}'", shown.display()), "{path}");
        let ran = std::process::Command::new("sh").arg("-c").arg(error.hint().unwrap()).status().unwrap();
        assert!(ran.success());
        assert!(Reader::open(&profile.root()).is_ok(), "{path}");
    }
}

#[test]
fn what_belongs_to_another_is_refused() {
    let profile = Profile::new();
    profile.write("PLAYBOOK.md", "x");
    // Only root can give a file away; anybody else is tested by the unit test of the judgment itself.
    if std::os::unix::fs::chown(profile.path("PLAYBOOK.md"), Some(12345), None).is_ok() {
        let error = Reader::open(&profile.root()).unwrap_err();
        assert!(error.hint().unwrap().starts_with("chown "), "{error}");
        assert!(error.to_string().contains("PLAYBOOK.md belongs to user 12345"));
    }
}

#[test]
fn the_layout_is_made_once_and_for_us_alone() {
    let profile = Profile::new();
    for folder in FOLDERS {
        assert_eq!(profile.mode(folder), 0o700, "{folder}");
    }
    assert_eq!((profile.mode(""), profile.mode(".gitignore")), (0o700, 0o600));
    profile.write(".gitignore", "mine");
    profile.writer().layout().unwrap();
    assert_eq!(profile.text(".gitignore"), "mine");
}

#[test]
fn seeds_never_replace_what_a_person_has() {
    let profile = Profile::new();
    profile.write("PLAYBOOK.md", "mine");
    std::fs::create_dir(profile.path("sensors/odd.sh")).unwrap();
    let writer = profile.writer();
    let files: [looop_store::dir::Seed<'_>; 3] = [
        ("PLAYBOOK.md", b"seed", 0o600),
        ("sensors/today.sh", b"#!/bin/sh\n", 0o700),
        ("sensors/odd.sh", b"#!/bin/sh\n", 0o700),
    ];
    assert_eq!(writer.seed(&files).unwrap(), ["sensors/today.sh"]);
    assert_eq!(writer.seed(&files).unwrap(), Vec::<String>::new());
    assert_eq!((profile.text("PLAYBOOK.md").as_str(), profile.mode("sensors/today.sh")), ("mine", 0o700));
}

#[test]
fn what_interrupted_writes_left_is_swept() {
    let profile = Profile::new();
    for path in ["goals/.looop-tmp-1-2", ".looop-tmp-9-9", "log/.looop-tmp-1-1", "answers/.looop-tmp-5-5"] {
        profile.write(path, "half");
    }
    profile.write("goals/.mine", "kept");
    let writer = profile.writer();
    assert_eq!(writer.sweep().unwrap(), 3);
    assert_eq!(writer.sweep_mail(0).unwrap(), 1);
    assert!(profile.names("goals").contains(&".mine".to_owned()));
}

#[test]
fn runs_are_listed_and_pruned_and_older_ones_left_alone() {
    use looop_core::model::plan::RunId;
    let profile = Profile::new();
    let writer = profile.writer();
    for run in 1..=5 {
        writer.make_run(RunId(run), b"prompt").unwrap();
    }
    std::fs::create_dir(profile.path("runs/tick-20261115-092917")).unwrap();
    std::fs::create_dir(profile.path("runs/000003/deep")).unwrap();
    std::os::unix::fs::symlink("/", profile.path("runs/000003/deep/link")).unwrap();
    profile.write("runs/000005/record.json", "{}");
    assert_eq!(writer.runs(2).unwrap(), [RunId(5), RunId(4)]);
    assert_eq!(writer.prune_runs(2).unwrap(), 3);
    assert_eq!(profile.names("runs"), ["000004", "000005", "tick-20261115-092917"]);
    let files = writer.run_files(RunId(5));
    assert_eq!(
        (files.record.value(), files.prompt.value()),
        (Some(b"{}".to_vec()), Some(b"prompt".to_vec()))
    );
    assert!(files.output.is_absent() && files.decision.is_absent());
}

#[test]
fn what_makes_runs_too_large_goes_and_is_named() {
    use looop_core::model::plan::RunId;
    use looop_store::{CutRun, RunBounds};
    let profile = Profile::new();
    let writer = profile.writer();
    for run in 1..=6 {
        writer.make_run(RunId(run), &[b'p'; 100]).unwrap();
    }
    let fill = |path: &str, bytes: usize| {
        std::fs::create_dir_all(profile.path(path).parent().unwrap()).unwrap();
        std::fs::write(profile.path(path), vec![b'x'; bytes]).unwrap();
    };
    // One under way, one that is large by what its command left, one by its own decision, and more than fit together.
    fill("runs/000006/work-1/log", 5000);
    fill("runs/000005/work-1/deep/log", 900);
    fill("runs/000005/work-2/log", 400);
    std::os::unix::fs::symlink("/", profile.path("runs/000005/work-2/root")).unwrap();
    fill("runs/000004/decision.json", 2000);
    fill("runs/000003/work-1/log", 700);
    fill("runs/000002/output.log", 700);
    let most = RunBounds { one: 1000, all: 1200 };
    let cut = writer.bound_runs(Some(RunId(6)), most).unwrap();
    assert_eq!(
        cut,
        [
            CutRun::Work { run: RunId(5), bytes: 1301 },
            CutRun::Whole { run: RunId(4), bytes: 2100 },
            CutRun::Whole { run: RunId(2), bytes: 800 },
        ]
    );
    assert_eq!(profile.names("runs"), ["000001", "000003", "000005", "000006"]);
    assert_eq!(profile.names("runs/000005"), ["prompt.md"]);
    assert!(
        profile.path("runs/000003/work-1/log").exists() && profile.path("runs/000006/work-1/log").exists()
    );
    assert_eq!(writer.bound_runs(Some(RunId(6)), most).unwrap(), []);
}

#[test]
fn known_snapshots_are_not_read_again_and_come_back_when_they_are_removed() {
    let profile = Profile::new();
    let writer = profile.writer();
    let mut cache = SnapshotCache::default();
    let mut pass = |readings: &[(&str, &str)]| {
        let mut snapshots = writer.snapshots(&mut cache, i64::MAX / 2_000_000);
        let written = readings.iter().map(|(name, bytes)| snapshots.write(name, bytes.as_bytes()).unwrap());
        let written = written.collect::<Vec<_>>();
        snapshots.keep(readings.iter().map(|(name, _)| (*name).to_owned()).collect()).unwrap();
        written
    };
    assert_eq!(pass(&[("sensor-a", "1"), ("sensor-b", "1")]), [true, true]);
    assert_eq!(pass(&[("sensor-a", "1"), ("sensor-b", "2")]), [false, true]);
    assert_eq!(profile.text("snapshots/sensor-b.json"), "2");
    // In place, so that the folder shows nothing of it: as long as the reading stays, it is not read again.
    profile.write("snapshots/sensor-b.json", "edited");
    assert_eq!(pass(&[("sensor-a", "1"), ("sensor-b", "2")]), [false, false]);
    profile.write("snapshots/sensor-b.json", "2");
    std::fs::remove_file(profile.path("snapshots/sensor-a.json")).unwrap();
    let folder = std::fs::File::open(profile.path("snapshots")).unwrap();
    folder.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(pass(&[("sensor-a", "1"), ("sensor-b", "2")]), [true, false], "what was removed comes back");
    assert_eq!(pass(&[("sensor-b", "2")]), [false]);
    assert_eq!(
        profile.names("snapshots"),
        ["sensor-b.json"],
        "a sensor that vanished takes its reading with it"
    );
    std::fs::remove_dir_all(profile.path("snapshots")).unwrap();
    assert_eq!(pass(&[("sensor-b", "2")]), [true], "the folder is made again");
    let mut young = SnapshotCache::default();
    for _ in 0..2 {
        let mut snapshots = writer.snapshots(&mut young, 0);
        assert!(!snapshots.write("sensor-b", b"2").unwrap());
        snapshots.keep(["sensor-b".to_owned()].into()).unwrap();
        profile.write("snapshots/sensor-b.json", "3");
        let mut snapshots = writer.snapshots(&mut young, 0);
        assert!(snapshots.write("sensor-b", b"2").unwrap(), "a folder that changed just now is not trusted");
    }
}

#[test]
fn snapshots_are_written_when_they_differ_and_follow_the_sensors() {
    let profile = Profile::new();
    let writer = profile.writer();
    assert!(writer.write_snapshot("sensor-ci", b"{}").unwrap());
    assert!(!writer.write_snapshot("sensor-ci", b"{}").unwrap());
    assert!(writer.write_snapshot("sensor-ci", b"[]").unwrap());
    assert!(writer.write_snapshot("sys-goals", b"{}").unwrap());
    writer.touch_snapshot("sensor-ci", 1_234_567).unwrap();
    assert_eq!(writer.read_snapshot("sensor-ci").value(), Some((b"[]".to_vec(), 1_234_567)));
    profile.write("snapshots/notes.txt", "a person's");
    let keep = ["sys-goals".to_owned()].into();
    assert_eq!(writer.keep_snapshots(&keep).unwrap(), ["sensor-ci"]);
    assert_eq!(profile.names("snapshots"), ["notes.txt", "sys-goals.json"]);
    assert!(writer.read_snapshot("sensor-ci").is_absent());
}
