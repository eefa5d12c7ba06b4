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
