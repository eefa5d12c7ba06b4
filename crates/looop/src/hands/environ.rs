//! What children are started with: the image, and their environment.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use looop_core::model::rights::Granted;

use crate::config::Config;
use crate::failure::{Failure, Result};

/// Longest file of variables.
const MOST: u64 = 64 << 10;

/// The running image. A replaced binary does not change what children are started from.
#[cfg(target_os = "linux")]
pub(crate) fn image() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// The running image.
#[cfg(not(target_os = "linux"))]
pub(crate) fn image() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("looop"))
}

/// What the kernel adds to the path of a binary that was replaced or removed.
const REPLACED: &str = " (deleted)";

/// The path of the binary for children to call back. Where it was replaced while we run, the new one has its name.
pub(crate) fn bin() -> Option<PathBuf> {
    let image = std::env::current_exe().ok()?;
    Some(
        image
            .to_str()
            .and_then(|path| path.strip_suffix(REPLACED))
            .map_or_else(|| image.clone(), PathBuf::from),
    )
}

/// The environment of what a person wrote: their own, the variables of `env_file`, and what looop tells its children.
pub(crate) fn of_person(
    data: &Path,
    config: &Config,
    more: &[(&str, &str)],
) -> Result<Vec<(String, String)>> {
    let mut env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        // What is meant for one decide is not for those that it may lead to.
        .filter(|(name, _)| {
            !["LOOOP_CRASH_AT", "LOOOP_NO_THREAD", super::decider::RESERVED].contains(&name.as_str())
        })
        .collect();
    if let Some(file) = &config.env_file {
        env.extend(from_file(file)?);
    }
    let path = |below: &str| data.join(below).to_string_lossy().into_owned();
    // A child may run in another folder.
    if let Some(file) = env.get_mut("LOOOP_CONFIG").filter(|file| !file.is_empty())
        && let Ok(absolute) = std::path::absolute(&*file)
    {
        *file = absolute.to_string_lossy().into_owned();
    }
    env.insert("LOOOP_DATA_DIR".to_owned(), data.to_string_lossy().into_owned());
    env.insert("LOOOP_REPORTS_DIR".to_owned(), path("reports"));
    env.insert("LOOOP_CLAIMS_DIR".to_owned(), path("claims"));
    if let Some(bin) = bin() {
        env.insert("LOOOP_BIN".to_owned(), bin.to_string_lossy().into_owned());
    }
    env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Ok(env.into_iter().collect())
}

/// Variables that say who and where one is, and how to print.
const PLAIN: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
];

/// The environment of what a decider wrote: what says who and where one is, what was granted, and what looop tells its
/// children. No secret is in it unless it was granted.
pub(crate) fn of_decider(
    data: &Path,
    config: &Config,
    granted: &Granted,
    more: &[(&str, &str)],
) -> Result<Vec<(String, String)>> {
    let own = ["LOOOP_DATA_DIR", "LOOOP_REPORTS_DIR", "LOOOP_CLAIMS_DIR", "LOOOP_BIN"];
    let mut env = of_person(data, config, more)?;
    env.retain(|(name, _)| {
        let name = name.as_str();
        PLAIN.contains(&name)
            || name.starts_with("LC_")
            || own.contains(&name)
            || more.iter().any(|(known, _)| *known == name)
            || granted.env.iter().any(|known| known == name)
    });
    Ok(env)
}

/// Reads `NAME=value` lines. Services have no login environment; this is where their variables stand.
fn from_file(path: &Path) -> Result<Vec<(String, String)>> {
    let failed = |what: String| {
        Failure::new(format!("env_file {}: {what}", path.display()))
            .hint("env_file in config.toml names this file")
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !meta.is_file() || meta.len() > MOST {
        return Err(failed("it is not a regular file of at most 64 KiB".to_owned()));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        let fix = format!("chmod 600 '{}'", path.display());
        return Err(failed("others can read it".to_owned()).hint(fix));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed("it belongs to another user".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let mut variables = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) =
            line.split_once('=').ok_or_else(|| failed(format!("line {} is not NAME=value", at + 1)))?;
        variables.push((name.trim().to_owned(), unquoted(value.trim()).to_owned()));
    }
    Ok(variables)
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// How many cheap children run at once: twice the cores.
pub(crate) fn parallel() -> usize {
    // Finding out takes some twenty system calls, and it does not change while we run.
    static FOUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *FOUND.get_or_init(|| 2 * std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decider_gets_what_is_listed_and_granted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("env");
        std::fs::write(&file, "GH_TOKEN=abc\nOTHER_TOKEN=def\nLC_X=1\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let config = Config { env_file: Some(file), ..Config::default() };
        let names = |granted: &Granted| -> Vec<String> {
            let env = of_decider(folder.path(), &config, granted, &[("LOOOP_GOAL", "g")]).unwrap();
            env.into_iter().map(|(name, _)| name).collect()
        };
        let bare = names(&Granted::default());
        for name in ["LOOOP_DATA_DIR", "LOOOP_GOAL", "LC_X", "PATH"] {
            assert!(bare.contains(&name.to_owned()), "{name}: {bare:?}");
        }
        for name in ["GH_TOKEN", "OTHER_TOKEN", "CARGO_PKG_NAME", "LOOOP_CONFIG"] {
            assert!(!bare.contains(&name.to_owned()), "{name}: {bare:?}");
        }
        let granted = Granted { env: vec!["GH_TOKEN".to_owned()], ..Granted::default() };
        let more: Vec<String> = names(&granted).into_iter().filter(|name| !bare.contains(name)).collect();
        assert_eq!(more, ["GH_TOKEN"]);
    }
}
