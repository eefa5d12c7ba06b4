//! Finds the config file and reads it. The only part of the room that touches files.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf, absolute},
};

use looop_core::policy::{Level, Policy};

use super::{
    error::ConfigError,
    layers::{Env, Loaded, from_bytes},
    policy::{POLICY_FILE, policy_from_bytes},
    settings::Config,
    warning::Warning,
};

/// The names a config has in a profile; the first that is there is read.
pub const FILE_NAMES: [&str; 3] = ["config.toml", "config.json", "looop.json"];

/// More than this is no config.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Reads the config of a profile and its policy.
pub fn load(profile: &Path, env: &Env) -> Result<Loaded, ConfigError> {
    let mut loaded = load_settings(profile, env)?;
    loaded.config.policy = load_policy(profile, loaded.config.policy.level)?;
    Ok(loaded)
}

/// Reads the policy of a profile. Without a file there are no rules and no grants; a file that cannot be used is an
/// error, never that.
pub fn load_policy(profile: &Path, level: Level) -> Result<Policy, ConfigError> {
    let file = profile.join(POLICY_FILE);
    let none = Policy { level, ..Policy::default() };
    match fs::symlink_metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(none),
        Ok(metadata) if metadata.is_symlink() => stay_inside(profile, &file)?,
        // Opening it tells what is wrong with it.
        Ok(_) | Err(_) => {}
    }
    match read(&file)? {
        Some(bytes) => policy_from_bytes(&file, &bytes, level).map_err(ConfigError::Policy),
        None => Ok(none),
    }
}

/// Reads a policy that lies anywhere and may be anybody's, to check it.
pub fn read_policy(file: &Path, level: Level) -> Result<Policy, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.to_path_buf(), source };
    let mut open =
        OpenOptions::new().read(true).custom_flags(nonblocking()).open(file).map_err(unreadable)?;
    let metadata = open.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ConfigError::NotRegular { file: file.to_path_buf(), what: kind_of(&metadata) });
    }
    let bytes = read_bounded(&mut open, file)?;
    policy_from_bytes(file, &bytes, level).map_err(ConfigError::Policy)
}

/// Reads the config of a profile without its policy: `$LOOOP_CONFIG`, else the first of [`FILE_NAMES`] that is there, else the defaults;
/// the environment goes over all of them. Relative paths inside mean the folder of the file.
pub fn load_settings(profile: &Path, env: &Env) -> Result<Loaded, ConfigError> {
    let Some((file, bytes)) = find(profile, env)? else { return Ok(from_bytes(None, env)?) };
    let mut loaded = from_bytes(Some((&file, &bytes)), env)?;
    let folder = file.parent().unwrap_or(profile);
    let home = env.get("HOME").filter(|home| !home.is_empty()).map(Path::new);
    resolve_paths(&mut loaded.config, folder, home);
    loaded.warnings.extend(shadowed(&file));
    Ok(loaded)
}

fn find(profile: &Path, env: &Env) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
    if let Some(named) = env.get("LOOOP_CONFIG").filter(|named| !named.is_empty()) {
        let file =
            absolute(named).map_err(|source| ConfigError::Unreadable { file: named.into(), source })?;
        return match read(&file)? {
            Some(bytes) => Ok(Some((file, bytes))),
            None => Err(ConfigError::Absent { file }),
        };
    }
    for name in FILE_NAMES {
        let file = profile.join(name);
        match fs::symlink_metadata(&file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Ok(metadata) if metadata.is_symlink() => stay_inside(profile, &file)?,
            // Opening it tells what is wrong with it.
            Ok(_) | Err(_) => {}
        }
        if let Some(bytes) = read(&file)? {
            return Ok(Some((file, bytes)));
        }
    }
    Ok(None)
}

/// The content of a file that may be trusted; `None` if there is no such file.
fn read(file: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.to_path_buf(), source };
    // Opening a pipe without a writer waits for one, unless told not to.
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking()).open(file);
    let mut open = match opened {
        Ok(open) => open,
        Err(e) if e.kind() == io::ErrorKind::NotFound && !is_link(file) => return Ok(None),
        Err(e) => return Err(unreadable(e)),
    };
    trust(file, &open.metadata().map_err(unreadable)?)?;
    read_bounded(&mut open, file).map(Some)
}

fn nonblocking() -> i32 {
    rustix::fs::OFlags::NONBLOCK.bits().cast_signed()
}

fn is_link(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink())
}

/// A config holds commands: only the person, or root, may be able to write it.
fn trust(file: &Path, metadata: &Metadata) -> Result<(), ConfigError> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let file = file.to_path_buf();
    let owner = metadata.uid();
    if !metadata.is_file() {
        return Err(ConfigError::NotRegular { file, what: kind_of(metadata) });
    }
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(ConfigError::Foreign { file, owner });
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(ConfigError::Exposed { file });
    }
    if metadata.len() > MAX_BYTES { Err(ConfigError::TooLarge { file }) } else { Ok(()) }
}

fn kind_of(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

// The size is checked again while reading: a file can grow after it was looked at.
fn read_bounded(open: &mut File, file: &Path) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    let result = open.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let read = result.map_err(|source| ConfigError::Unreadable { file: file.to_path_buf(), source })?;
    let fits = u64::try_from(read).is_ok_and(|read| read <= MAX_BYTES);
    if fits { Ok(bytes) } else { Err(ConfigError::TooLarge { file: file.to_path_buf() }) }
}

/// A link in the profile may point within it. Where it points cannot always be told; opening it then says why.
fn stay_inside(profile: &Path, file: &Path) -> Result<(), ConfigError> {
    match (fs::canonicalize(profile), fs::canonicalize(file)) {
        (Ok(profile), Ok(target)) if !target.starts_with(&profile) => {
            Err(ConfigError::LeadsOut { file: file.to_path_buf(), target })
        }
        _ => Ok(()),
    }
}

fn shadowed(file: &Path) -> Vec<Warning> {
    let Some((folder, name)) = file.parent().zip(file.file_name()) else { return Vec::new() };
    let after = FILE_NAMES.iter().skip_while(|known| name != **known).skip(1);
    after
        .map(|other| folder.join(other))
        .filter(|other| other.exists())
        .map(|other| Warning::Shadowed { file: other, by: file.to_path_buf() })
        .collect()
}

fn resolve_paths(config: &mut Config, folder: &Path, home: Option<&Path>) {
    let runners = config.runners.values_mut().flat_map(|runner| runner.write.iter_mut());
    for path in config.env_file.iter_mut().chain(runners) {
        *path = match (path.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => folder.join(&*path),
        };
    }
}
