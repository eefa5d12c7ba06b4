//! Which file is read, and what is said of one that cannot be.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use tempfile::TempDir;

use super::given::*;
use crate::config::{ConfigError, Layer, MAX_BYTES, load};

/// A profile in a folder of its own.
struct Profile {
    dir: TempDir,
}

impl Profile {
    fn new() -> Self {
        Profile { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self.mode(name, 0o600)
    }

    fn mode(self, name: &str, mode: u32) -> Self {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        load(self.dir.path(), &Env::new())
    }

    fn refused(&self) -> ConfigError {
        self.load().expect_err("refused")
    }
}

fn seconds(loaded: &Loaded) -> u64 {
    loaded.config.interval.as_secs()
}

#[test]
fn no_file_is_the_default_and_makes_none() {
    let profile = Profile::new();
    let loaded = profile.load().unwrap();
    assert_eq!(loaded.file, None);
    assert_eq!(fs::read_dir(profile.dir.path()).unwrap().count(), 0);
    let nowhere = load(&profile.path("not/there"), &Env::new()).unwrap();
    assert_eq!(nowhere.config, loaded.config);
}

#[test]
fn the_first_file_is_read_and_the_others_are_named() {
    let profile = Profile::new().file("looop.json", r#"{"interval": 3}"#);
    assert_eq!(seconds(&profile.load().unwrap()), 3);
    let profile = profile.file("config.json", r#"{"interval": 2}"#);
    assert_eq!(seconds(&profile.load().unwrap()), 2);
    let profile = profile.file("config.toml", "interval = 1");
    let loaded = profile.load().unwrap();
    assert_eq!((seconds(&loaded), loaded.layer("interval")), (1, Layer::Config));
    assert_eq!(loaded.file.as_deref(), Some(profile.path("config.toml").as_path()));
    assert_eq!(loaded.warnings.len(), 2);
    let said = loaded.warnings[0].to_string();
    assert!(said.contains("config.json is not read, since "), "{said}");
}

#[test]
fn a_named_file_comes_before_all() {
    let profile = Profile::new().file("config.toml", "interval = 1").file("other", "interval = 7");
    let named = |name: &str| load(profile.dir.path(), &env(&[("LOOOP_CONFIG", name)]));
    let other = profile.path("other");
    let loaded = named(other.to_str().unwrap()).unwrap();
    assert_eq!((seconds(&loaded), loaded.file), (7, Some(other)));
    assert_eq!(seconds(&named("").unwrap()), 1);
    let absent = profile.path("absent");
    let error = named(absent.to_str().unwrap()).unwrap_err();
    assert!(matches!(&error, ConfigError::Absent { file } if *file == absent), "{error:?}");
}

#[test]
fn relative_paths_mean_the_folder_of_the_file() {
    let text = "env_file = \"my.env\"\n[runners.x]\ntick = \"x\"\nwrite = [\"~/out\", \"/srv\", \"in\"]\n";
    let profile = Profile::new().file("config.toml", text);
    let loaded = load(profile.dir.path(), &env(&[("HOME", "/home/me")])).unwrap();
    assert_eq!(loaded.config.env_file, Some(profile.path("my.env")));
    let write = &loaded.config.runners["x"].write;
    assert_eq!(*write, [PathBuf::from("/home/me/out"), PathBuf::from("/srv"), profile.path("in")]);
}

#[test]
fn what_is_no_regular_file() {
    let profile = Profile::new();
    fs::create_dir(profile.path("config.toml")).unwrap();
    let error = profile.refused();
    assert!(error.to_string().ends_with("config.toml is a directory, not a regular file"), "{error}");

    let profile = Profile::new();
    let fifo = profile.path("config.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let error = profile.refused();
    assert!(error.to_string().ends_with("config.json is a pipe, not a regular file"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("move it away; looop init writes a fresh config"));
}

#[test]
fn too_large_a_file() {
    let profile = Profile::new().file("config.toml", "");
    let file = fs::File::options().write(true).open(profile.path("config.toml")).unwrap();
    file.set_len(100 * MAX_BYTES).unwrap();
    assert!(matches!(profile.refused(), ConfigError::TooLarge { .. }));
    let comment = format!("#{}", "x".repeat(usize::try_from(MAX_BYTES).unwrap() - 1));
    assert!(profile.file("config.toml", &comment).load().is_ok());
}

#[test]
fn links() {
    let profile = Profile::new().file("mine.toml", "interval = 9");
    symlink("mine.toml", profile.path("config.toml")).unwrap();
    assert_eq!(seconds(&profile.load().unwrap()), 9);

    let outside = Profile::new().file("config.toml", "interval = 9");
    let profile = Profile::new();
    symlink(outside.path("config.toml"), profile.path("config.toml")).unwrap();
    let error = profile.refused();
    assert!(matches!(&error, ConfigError::LeadsOut { .. }), "{error:?}");
    assert!(error.hint().unwrap().starts_with("name the file itself: LOOOP_CONFIG=/"));

    let profile = Profile::new();
    symlink("config.toml", profile.path("config.toml")).unwrap();
    assert!(matches!(profile.refused(), ConfigError::Unreadable { .. }));

    let profile = Profile::new().file("config.json", "{}");
    symlink("gone", profile.path("config.toml")).unwrap();
    assert!(matches!(profile.refused(), ConfigError::Unreadable { .. }));
}

#[test]
fn a_file_that_others_can_write() {
    for mode in [0o666, 0o620, 0o602] {
        let profile = Profile::new().file("config.toml", "interval = 9").mode("config.toml", mode);
        let error = profile.refused();
        assert!(matches!(&error, ConfigError::Exposed { .. }), "{mode:o}: {error:?}");
        let mend = format!("chmod go-w {}", profile.path("config.toml").display());
        assert_eq!(error.hint(), Some(mend));
    }
    let readable = Profile::new().file("config.toml", "interval = 9").mode("config.toml", 0o644);
    assert!(readable.load().is_ok());
}

/// Root may give files away and reads everything; an ordinary user meets what cannot be read.
#[test]
fn a_file_of_another_user_or_unreadable() {
    let profile = Profile::new().file("config.toml", "interval = 9");
    let config = profile.path("config.toml");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&config, Some(12345), None).unwrap();
        assert!(matches!(profile.refused(), ConfigError::Foreign { owner: 12345, .. }));
    } else {
        let profile = profile.mode("config.toml", 0o000);
        let error = profile.refused();
        assert!(matches!(&error, ConfigError::Unreadable { .. }), "{error:?}");
    }
}

#[test]
fn a_broken_file_is_never_absent() {
    let profile = Profile::new().file("config.toml", "interval = ").file("config.json", "{}");
    assert!(matches!(profile.refused(), ConfigError::Refused(_)));
    let profile = Profile::new().file("config.json", "");
    assert!(matches!(profile.refused(), ConfigError::Refused(_)));
}
