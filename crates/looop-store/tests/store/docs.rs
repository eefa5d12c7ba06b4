//! Reading the policy files.

use looop_core::world::observation::{Doc, ScheduleDoc};
use looop_store::docs::DocsCache;

use crate::harness::Profile;

const LATER: i64 = 4_000_000_000_000;

#[test]
fn one_pass_finds_everything() {
    let profile = Profile::new();
    profile.write("PLAYBOOK.md", "judge well");
    profile.write("goals/ship.md", "ship it");
    profile.write("goals/a.b.md", "dots");
    profile.write("goals/no name.md", "odd");
    profile.write("goals/.hidden.md", "");
    profile.write("goals/.dirlock", "");
    profile.write("goals/notes.txt", "");
    profile.write("goals/archive/old-2.md", "done");
    profile.sensor("ci.sh", "#!/bin/sh\n# looop:interval=5\necho 1\n");
    profile.sensor("plain", "#!/bin/sh\n");
    profile.sensor("a.b.sh", "#!/bin/sh\n");
    for leftover in ["x.sh~", "x.bak", "x.sh.orig", ".x.sh.swp"] {
        profile.sensor(leftover, "#!/bin/sh\n");
    }
    profile.sensor("we ird.sh", "#!/bin/sh\n");
    profile.write("schedules/weekly.json", r#"{"v":1,"every_s":604800,"anchor":1794734939}"#);
    let cron = r#"{"v":1,"name":"nine","when":{"cron":{"line":"0 9 * * *","zone":"UTC"}},"created":0}"#;
    profile.write("schedules/nine.json", cron);
    profile.write("schedules/bad.json", "{");
    let scan = profile.reader().scan(&mut DocsCache::default(), LATER);
    assert_eq!(scan.broken, Vec::<String>::new());
    assert_eq!(scan.docs.playbook, Doc::of("judge well"));
    assert_eq!(scan.docs.goals.keys().collect::<Vec<_>>(), ["a.b", "ship"]);
    assert_eq!(scan.docs.odd, ["no name.md"]);
    assert_eq!(scan.docs.archive, ["old-2"]);
    assert_eq!(scan.docs.sensors.keys().collect::<Vec<_>>(), ["a.b", "ci", "plain"]);
    assert_eq!(scan.docs.sensors["ci"].file, "ci.sh");
    assert!(scan.sensors["ci"].head.contains("# looop:interval=5"));
    assert!(scan.sensors.values().all(|sensor| sensor.problem.is_none()));
    assert_eq!(scan.odd, ["sensors/we ird.sh"]);
    assert!(matches!(&scan.docs.schedules["weekly"], ScheduleDoc::Good { .. }));
    assert!(matches!(&scan.docs.schedules["bad"], ScheduleDoc::Broken { error, digest: Some(_) }
        if error.contains("schedules/bad.json")));
    assert!(scan.docs.zones.contains_key("UTC"));
}

#[test]
fn single_files_are_read_as_a_whole_pass_reads_them() {
    let profile = Profile::new();
    profile.write("PLAYBOOK.md", "judge well");
    profile.write("goals/ship.md", "ship it");
    profile.write("goals/other.md", "another one");
    profile.sensor("ci.sh", "#!/bin/sh\n");
    profile.sensor("plain", "#!/bin/sh\n");
    profile.write("schedules/weekly.json", r#"{"v":1,"every_s":604800,"anchor":1794734939}"#);
    profile.write("schedules/bad.json", "{");
    let whole = profile.reader().scan(&mut DocsCache::default(), LATER).docs;
    let paths = ["PLAYBOOK.md", "goals/ship.md", "sensors/ci.sh", "sensors/plain", "schedules/weekly.json"];
    let some = profile.reader().docs_at(paths.into_iter().chain(["schedules/bad.json", "worker/w"]));
    assert_eq!(some.playbook, whole.playbook);
    assert_eq!(
        some.goals.into_iter().collect::<Vec<_>>(),
        [("ship".to_owned(), whole.goals["ship"].clone())]
    );
    assert_eq!((some.sensors, some.schedules), (whole.sensors, whole.schedules));
    let none = profile.reader().docs_at(["PLAYBOOK.md", "sensors/no", "schedules/no.json"].into_iter());
    assert_eq!((none.playbook, none.sensors.len(), none.schedules.len()), (Doc::of("judge well"), 0, 0));
    assert_eq!(profile.reader().docs_at(["goals/no.md"].into_iter()).goals["no"], Doc::Absent);
}

#[test]
fn a_sensor_that_cannot_run_says_why() {
    let profile = Profile::new();
    profile.sensor("two.sh", "#!/bin/sh\n");
    profile.sensor("two.py", "#!/usr/bin/python3\n");
    profile.sensor("open.sh", "#!/bin/sh\n");
    profile.chmod("sensors/open.sh", 0o757);
    profile.write("sensors/plain.sh", "#!/bin/sh\n");
    std::fs::create_dir(profile.path("sensors/dir")).unwrap();
    std::fs::File::create(profile.path("sensors/large")).unwrap().set_len(100 << 20).unwrap();
    profile.chmod("sensors/large", 0o755);
    let scan = profile.reader().scan(&mut DocsCache::default(), LATER);
    let problem = |stem: &str| scan.sensors[stem].problem.clone().unwrap_or_default();
    assert!(problem("two").contains("two.py, two.sh are two sensors of one name"), "{}", problem("two"));
    assert!(
        problem("open").contains("can be written by others; mend it with: chmod go-w"),
        "{}",
        problem("open")
    );
    assert!(problem("plain").contains("is not executable; mend it with: chmod u+x"), "{}", problem("plain"));
    assert!(problem("dir").contains("sensors/dir is a folder"), "{}", problem("dir"));
    assert_eq!(scan.sensors["large"].problem, None);
    assert_eq!(scan.docs.sensors["large"].digest, None);
}

#[test]
fn a_link_inside_the_profile_is_followed_and_its_target_watched() {
    let profile = Profile::new();
    profile.write("reports/plan.md", "one");
    std::os::unix::fs::symlink("reports/plan.md", profile.path("PLAYBOOK.md")).unwrap();
    let reader = profile.reader();
    let mut cache = DocsCache::default();
    assert_eq!(reader.scan(&mut cache, LATER).docs.playbook, Doc::of("one"));
    profile.write("reports/plan.md", "two");
    assert_eq!(reader.scan(&mut cache, LATER).docs.playbook, Doc::of("two"));
}

#[test]
fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
    use looop_sim::disk::MemDisk;
    use std::sync::Arc;
    let disk = MemDisk::new();
    disk.put("goals/a.md", b"one");
    disk.put("PLAYBOOK.md", b"p");
    let reader = looop_store::Reader::on(Arc::new(disk.clone()), std::path::Path::new("/p")).unwrap();
    let mut cache = DocsCache::default();
    let reads = |disk: &MemDisk| disk.calls().iter().filter(|call| call.starts_with("read ")).count();
    reader.scan(&mut cache, LATER);
    let before = reads(&disk);
    assert_eq!(reader.scan(&mut cache, LATER).docs.goals["a"], Doc::of("one"));
    assert_eq!(reads(&disk), before);
    disk.put("goals/a.md", b"two");
    assert_eq!(reader.scan(&mut cache, LATER).docs.goals["a"], Doc::of("two"));
    assert_eq!(reads(&disk), before + 1);
    // A file that was written within the last second may change again without its times showing it.
    let mut cache = DocsCache::default();
    reader.scan(&mut cache, 0);
    let before = reads(&disk);
    reader.scan(&mut cache, 0);
    assert_eq!(reads(&disk), before + 2);
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
    let profile = Profile::new();
    profile.write("goals/a.md", "one");
    let reader = profile.reader();
    let mut cache = DocsCache::default();
    let time = std::fs::metadata(profile.path("goals/a.md")).unwrap().modified().unwrap();
    reader.scan(&mut cache, LATER);
    profile.write("goals/a.md", "two");
    std::fs::File::options()
        .write(true)
        .open(profile.path("goals/a.md"))
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert_eq!(reader.scan(&mut cache, LATER).docs.goals["a"], Doc::of("two"));
}

/// Returns once a change in a folder would show another time than the folder has now, by the clock of its file system.
fn let_its_clock_move(profile: &Profile, folder: &str) {
    use std::os::unix::fs::MetadataExt;
    let changed = |path: &str| {
        let meta = std::fs::metadata(profile.path(path)).unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    loop {
        profile.write("probe", "");
        if changed("probe") > changed(folder) {
            return;
        }
    }
}

#[test]
fn every_change_of_names_in_a_folder_is_seen() {
    use std::os::unix::fs::symlink;
    let profile = Profile::new();
    for goal in ["a", "b", "c"] {
        profile.write(&format!("goals/{goal}.md"), goal);
    }
    profile.write("outside.md", "outside");
    let at = |path: &str| profile.path(path);
    let changes: [(&str, &dyn Fn() -> std::io::Result<()>); 12] = [
        ("nothing", &|| Ok(())),
        ("renamed", &|| std::fs::rename(at("goals/a.md"), at("goals/d.md"))),
        ("replaced by another", &|| std::fs::rename(at("goals/b.md"), at("goals/c.md"))),
        ("moved away", &|| std::fs::rename(at("goals/d.md"), at("goals/archive/d.md"))),
        ("moved in", &|| std::fs::rename(at("outside.md"), at("goals/outside.md"))),
        ("linked", &|| std::fs::hard_link(at("goals/outside.md"), at("goals/linked.md"))),
        ("a link", &|| symlink("linked.md", at("goals/soft.md"))),
        ("removed", &|| std::fs::remove_file(at("goals/outside.md"))),
        ("a folder", &|| std::fs::create_dir(at("goals/folder.md"))),
        ("the folder moved away", &|| std::fs::rename(at("goals"), at("before"))),
        ("another folder", &|| std::fs::create_dir(at("goals"))),
        ("the folder came back", &|| {
            std::fs::remove_dir(at("goals"))?;
            std::fs::rename(at("before"), at("goals"))
        }),
    ];
    let reader = profile.reader();
    let mut cache = DocsCache::default();
    for (what, change) in changes {
        // Twice, so that the second comes from what the first has kept.
        for _ in 0..2 {
            reader.scan(&mut cache, LATER);
        }
        for folder in ["goals", "goals/archive"].into_iter().filter(|folder| at(folder).exists()) {
            let_its_clock_move(&profile, folder);
        }
        change().unwrap();
        let (kept, fresh) = (reader.scan(&mut cache, LATER), reader.scan(&mut DocsCache::default(), LATER));
        assert_eq!(kept.docs, fresh.docs, "{what}");
        assert_eq!(kept.broken, fresh.broken, "{what}");
    }
}

#[test]
fn a_folder_that_is_as_it_was_is_not_listed_again() {
    use looop_sim::disk::MemDisk;
    use std::sync::Arc;
    let disk = MemDisk::new();
    for path in ["goals/a.md", "goals/archive/old.md", "sensors/s.sh", "schedules/x.json", "asks/.lock"] {
        disk.put(path, b"");
    }
    let reader = looop_store::Reader::on(Arc::new(disk.clone()), std::path::Path::new("/p")).unwrap();
    let mut cache = DocsCache::default();
    let mut look = |wall: i64| {
        let before = disk.calls().len();
        reader.scan(&mut cache, wall);
        reader.letters_at(wall);
        disk.calls()[before..].iter().filter(|call| call.starts_with("list ")).cloned().collect::<Vec<_>>()
    };
    // A folder that changed within the last second may change again without its times showing it.
    assert_eq!(look(0).len(), 9);
    assert_eq!(look(0).len(), 9);
    assert_eq!(look(LATER).len(), 9);
    // One that is not there has no times.
    let absent = ["list answers", "list claims", "list tells", "list spend"];
    assert_eq!(look(LATER), absent);
    disk.put("goals/b.md", b"");
    assert_eq!(look(LATER), [&["list goals"][..], &absent].concat());
    disk.put("asks/w-1.json", b"{}");
    assert_eq!(look(LATER), [&["list asks"][..], &absent].concat());
    assert_eq!(look(LATER), absent);
}
