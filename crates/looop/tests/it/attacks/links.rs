//! Links that confined code plants where the person's own code reads or writes.

use std::fs;

use serde_json::json;

use super::field::Field;

/// The person's own recipes, which write to where a decider's commands wrote before.
const RECIPES: &str = "---\nrun: date > reports/disk.txt; date > scratch/note.txt; cat reports/*.md > reports/all.txt; true\n\
                       every: 1s\n---\n# Mine\n";
/// What a confined command leaves behind; `OUT` is a file of the person's.
const PLANTS: &[&str] = &[
    "ln -sf OUT ../reports/disk.txt; ln -sf OUT note.txt; ln -sf OUT ../scratch/note.txt",
    "ln -sf OUT \"$LOOOP_REPORTS_DIR/disk.txt\"; ln -sf OUT \"$LOOOP_DATA_DIR/scratch/note.txt\"",
    "ln -sf OUT \"$LOOOP_DATA_DIR/reports/disk.txt\"; ln -sf OUT \"$LOOOP_DATA_DIR/reports/x.md\"",
    "ln -sfn /proc/self/cwd ../reports/loop; mkfifo ../reports/disk.txt note.txt; ln OUT ../reports/hard.md",
    "mkdir -p ../reports/d; ln -sf OUT ../reports/d/disk.txt; rm -rf ../reports/disk.txt; ln -s d/disk.txt ../reports/disk.txt",
];

#[test]
fn no_link_of_a_decider_is_followed_by_the_persons_recipes() {
    for plant in PLANTS {
        let field = Field::new("policy = \"open\"");
        let out = field.profile.outside().join("bashrc");
        fs::write(&out, "mine").unwrap();
        let plant = plant.replace("OUT", &out.to_string_lossy());
        field.beat(&json!({"action": "run_shell", "cmd": plant}));
        field.profile.write("goals/mine.md", RECIPES);
        let config = field.profile.file("config.toml").unwrap();
        field.profile.write("config.toml", config.replace("default = \"fake\"", "default = \"builtin\""));
        let said = field.profile.run(&["beat"]);
        assert!(said.stdout.contains("done"), "{said:?}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "mine", "{plant}");
        let disk = field.profile.data().join("reports/disk.txt");
        assert!(fs::symlink_metadata(&disk).is_ok_and(|meta| meta.is_file()), "{plant}: the recipe has run");
        for folder in ["reports", "scratch"] {
            for entry in fs::read_dir(field.profile.data().join(folder)).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                assert!(kind.is_file() || kind.is_dir(), "{plant}: {}", entry.path().display());
            }
        }
    }
}

/// What a confined command makes comes to `reports/`, and never over what the person has there.
#[test]
fn what_is_made_is_copied_and_the_persons_own_stays() {
    let field = Field::new("policy = \"open\"");
    field.profile.write("reports/own.md", "mine\n");
    let cmd = "echo made > ../reports/made.md; echo evil > ../reports/own.md; mkdir ../reports/d; echo 2 > ../reports/d/x";
    field.beat(&json!({"action": "run_shell", "cmd": cmd}));
    assert_eq!(field.profile.file("reports/made.md").as_deref(), Some("made\n"));
    assert_eq!(field.profile.file("reports/d/x").as_deref(), Some("2\n"));
    assert_eq!(field.profile.file("reports/own.md").as_deref(), Some("mine\n"));
    field.beat(&json!({"action": "run_shell", "cmd": "cat made.txt; echo more >> ../reports/made.md"}));
    assert_eq!(field.profile.file("reports/made.md").as_deref(), Some("made\nmore\n"));
}
