//! The key of a provider: found when it is needed, and shown to nobody.

use std::fmt;
use std::time::Duration;

use looop_session::{Batch, Done, Ended, Job, Order};

use crate::config::{Api, KeySource};
use crate::hands::decider::{Desk, Failed};
use crate::hands::environ;

/// How long a command may take to print a key; it may have to ask an agent for it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest key.
const LONGEST: u64 = 16 << 10;

/// A key. It cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl Key {
    /// The key itself, for the one header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// A text in which the key does not stand, whoever wrote it.
    pub(super) fn redact(key: Option<&Self>, text: &str) -> String {
        key.map_or_else(|| text.to_owned(), |key| text.replace(&key.0, "[key]"))
    }

    /// A key that can stand in a header.
    fn of(text: &str, place: &str) -> Result<Self, Failed> {
        let text = text.trim();
        let fault = if text.is_empty() {
            "is empty"
        } else if text.chars().any(|c| !c.is_ascii_graphic()) {
            "holds something that cannot be a key: a blank, a line break or a special character"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Failed::runner(format!("{place} {fault}")))
    }
}

/// Finds the key, where one is needed.
pub(super) fn find(desk: &Desk<'_>, api: &Api) -> Result<Option<Key>, Failed> {
    let env = environ::of_person(desk.reader.root(), desk.config, &[]);
    let env = env.map_err(|failure| Failed::runner(failure.error))?;
    match &api.key {
        None => Ok(None),
        Some(KeySource::Env(name)) => {
            let value = env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            let value = value.ok_or_else(|| unset(desk, name))?;
            Key::of(value, &format!("the variable {name}, which should hold the key,")).map(Some)
        }
        Some(KeySource::Command(command)) => printed(desk, command, env).map(Some),
    }
}

fn unset(desk: &Desk<'_>, name: &str) -> Failed {
    Failed::runner(format!(
        "there is no key: the variable {name} is not set; set it, put it into env_file, or name another in runners.{}.api",
        desk.name
    ))
}

/// What the key command prints. What it says beside that is not repeated: it may be the key too.
fn printed(desk: &Desk<'_>, command: &str, env: Vec<(String, String)>) -> Result<Key, Failed> {
    let place = format!("what runners.{}.api.key_command prints", desk.name);
    let job = Job {
        argv: vec!["bash".into(), "-c".into(), command.into()],
        cwd: desk.reader.root().to_owned(),
        env: Some(env),
        timeout: Some(TIMEOUT.min(desk.deadline.left())),
        stdout_cap: Some(LONGEST),
        stderr_cap: Some(0),
        ..Job::default()
    };
    let mut result = None;
    let ran = Batch::run(&environ::image(), &["_batch"], &Order::new(vec![job], 1), &mut |_, done| {
        result = Some(done);
    });
    let failed = |how: String| Failed::runner(format!("runners.{}.api.key_command {how}", desk.name));
    ran.map_err(|error| failed(format!("could not be run: {error}")))?;
    match result {
        Some(Done { ended: Ended::Exited(0), stdout, .. }) => {
            Key::of(std::str::from_utf8(&stdout).unwrap_or("\0"), &place)
        }
        Some(Done { ended: Ended::Exited(code), .. }) => {
            Err(failed(format!("exited with {code}; run it by hand to see why")))
        }
        Some(Done { ended: Ended::TimedOut, .. }) => Err(failed("printed no key within 30 s".to_owned())),
        Some(Done { ended, .. }) => Err(failed(format!("ended badly ({ended:?})"))),
        None => Err(failed("gave no result".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_and_is_never_shown() {
        let key = Key::of(" sk-1234\n", "it").unwrap();
        assert_eq!((key.expose(), format!("{key:?}").as_str()), ("sk-1234", "[key]"));
        assert_eq!(Key::redact(Some(&key), "bad key sk-1234, sk-1234!"), "bad key [key], [key]!");
        assert_eq!(Key::redact(None, "as it is"), "as it is");
        for text in ["", " \n", "two words", "a\nb", "ключ", "a\0b"] {
            let said = Key::of(text, "it").unwrap_err().reason;
            assert!(text.trim().is_empty() || !said.contains(text.trim()), "{said}");
        }
    }
}
