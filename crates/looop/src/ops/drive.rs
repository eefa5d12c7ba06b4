//! Driving a live session: what its host is asked for, and what it says.

use std::path::Path;

use looop_session::client::{self, View};
use looop_session::{Client, ClientError, Shot, keys};
use serde::Serialize;

use super::session::Target;
use crate::failure::{Failure, Result};
use crate::hands::{dialog, labour};

pub(crate) use looop_session::Size;
pub(crate) use looop_session::client::{Attached, Emulated, Frame, Part, Sent};
pub(crate) use looop_session::kernel::Delivery;

/// So many keys are pressed for one text: there is a gap after each.
const MOST_KEYS: usize = 200;

/// What became of a text, and where it was typed.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) sent: Sent,
    /// Whether the program was told that it is a paste.
    pub(crate) pasted: bool,
    /// Whether the program has the whole screen, as an editor or a pager does.
    pub(crate) full_screen: bool,
    /// What the screen shows, where the text was not typed.
    pub(crate) screen: Vec<String>,
}

/// The name of the key that types a character.
fn key_of(c: char) -> String {
    match c {
        '\n' => "Enter".to_owned(),
        ' ' => "Space".to_owned(),
        c if c.is_ascii_control() => format!("0x{:02x}", u32::from(c)),
        c => c.to_string(),
    }
}

/// A size from the command line, such as `100x30`.
pub(crate) fn parse_size(text: &str) -> std::result::Result<Size, String> {
    let (cols, rows) = text.split_once(['x', 'X']).ok_or("write columns x rows, such as 100x30")?;
    let cells =
        |text: &str| text.trim().parse::<u16>().map_err(|_| format!("\"{text}\" is not a number of cells"));
    let size = Size { cols: cells(cols)?, rows: cells(rows)? };
    if size.is_possible() { Ok(size) } else { Err("both must be from 2 to 1000".to_owned()) }
}

impl Target {
    /// Reaches its host.
    pub(super) fn client(&self) -> Result<Client> {
        // A host takes nobody for a person while it is not known what another, dead one left running.
        // Where this cannot be done the host says so.
        self.folder.parent().and_then(Path::parent).and_then(|data| labour::sweep_all(data).ok());
        Client::connect(&self.folder).map_err(|error| self.failure(error))
    }

    /// What went wrong with its host, as the person sees it.
    pub(super) fn failure(&self, error: ClientError) -> Failure {
        let name = &self.session;
        match error {
            ClientError::Absent | ClientError::Gone => self.not_live(),
            ClientError::Old => Failure::new(format!("{name}: {error}"))
                .hint(format!("looop kill {name}; workers started from now on have a host of this version")),
            ClientError::Refused(why) => Failure::new(format!("{name}: {why}")),
            ClientError::Mute => Failure::new(format!("the host of {name} does not answer"))
                .hint(format!("looop kill {name} ends it in any case")),
            ClientError::Garbled(_) => Failure::new(format!("{name}: {error}")),
            ClientError::Io(source) => self.unreadable(&source),
        }
    }

    /// Types a text: as one paste where the program asked to be told of pastes, else as keys. It is submitted only once it
    /// was seen to stand where it was typed.
    pub(crate) fn send(&self, text: &str, submit: bool) -> Result<Typed> {
        let mut client = self.client()?;
        let shot = client.screen(false).map_err(|error| self.failure(error))?;
        if dialog::is_open(&self.folder, &shot) {
            let sent = Sent { at: shot.at, delivery: Delivery::NotTyped, again: false };
            let (pasted, full_screen, screen) = (false, shot.alternate, labour::rows(&shot));
            return Ok(Typed { sent, pasted, full_screen, screen });
        }
        let sent = client.send(None, text, submit).map_err(|error| self.failure(error))?;
        let screen = match sent.delivery {
            Delivery::NotTyped => labour::rows(&client.screen(false).map_err(|error| self.failure(error))?),
            Delivery::Typed | Delivery::Taken | Delivery::Unseen | Delivery::Left => Vec::new(),
        };
        Ok(Typed { sent, pasted: shot.paste, full_screen: shot.alternate, screen })
    }

    /// Presses the keys that a keyboard would send for a text, one after the other.
    pub(crate) fn send_keys(&self, text: &str, submit: bool) -> Result<Typed> {
        let mut keys: Vec<String> = text.chars().map(key_of).collect();
        if keys.len() > MOST_KEYS {
            return Err(Failure::usage(format!("{} characters are too many for --keys", keys.len()))
                .hint(format!("--keys takes {MOST_KEYS}; looop send without it takes any")));
        }
        keys.extend(submit.then(|| "Enter".to_owned()));
        let mut client = self.client()?;
        let shot = client.screen(false).map_err(|error| self.failure(error))?;
        let keyed = client.key(None, &keys).map_err(|error| self.failure(error))?;
        let sent = Sent { at: keyed.at, delivery: Delivery::Typed, again: keyed.again };
        Ok(Typed { sent, pasted: false, full_screen: shot.alternate, screen: Vec::new() })
    }

    /// Presses keys; says at which offset of the output.
    pub(crate) fn key(&self, keys: &[String]) -> Result<u64> {
        if let Some(unknown) = keys.iter().find(|name| keys::bytes(name, keys::Modes::default()).is_none()) {
            return Err(
                Failure::usage(format!("there is no key \"{unknown}\"")).hint("looop key --list names them")
            );
        }
        self.client()?.key(None, keys).map(|keyed| keyed.at).map_err(|error| self.failure(error))
    }

    /// Gives its terminal another size.
    pub(crate) fn resize(&self, size: Size) -> Result<()> {
        self.client()?.resize(size).map_err(|error| self.failure(error))
    }

    /// Sends its viewers away; says how many.
    pub(crate) fn detach(&self) -> Result<usize> {
        self.client()?.detach().map_err(|error| self.failure(error))
    }

    /// Becomes a viewer: one that types, with a terminal of this size, or one that only watches.
    pub(crate) fn view(&self, size: Option<Size>) -> Result<Attached> {
        let view = View { size, watch: size.is_none(), repaint: true };
        self.client()?.attach(&view).map_err(|error| self.failure(error))
    }
}

/// A size of these sides, if a terminal can have it.
pub(crate) fn size(cols: u16, rows: u16) -> Option<Size> {
    Some(Size { cols, rows }).filter(|size| size.is_possible())
}

/// The keys that have a name, all spellings of one together.
pub(crate) fn key_names() -> Vec<&'static [&'static str]> {
    keys::names().collect()
}

/// What a screen shows, and where it comes from.
#[derive(Debug, Serialize)]
pub(crate) struct Seen {
    /// `live`, `last` (the host left it) or `reconstructed` (from the end of the output).
    pub(crate) source: &'static str,
    #[serde(flatten)]
    pub(crate) shot: Shot,
}

impl Seen {
    /// The rows with their colours.
    pub(crate) fn coloured(&self) -> String {
        client::coloured(&self.shot)
    }
}

/// What the session's terminal shows, or showed last.
pub(crate) fn shot(target: &Target) -> Result<Seen> {
    match Client::connect(&target.folder).and_then(|mut client| client.screen(true)) {
        Ok(shot) => Ok(Seen { source: "live", shot }),
        // One that ends meanwhile leaves its last screen; one without a terminal, or with an older host, has its output.
        Err(ClientError::Absent | ClientError::Gone | ClientError::Old | ClientError::Refused(_)) => {
            last(target)
        }
        Err(error) => Err(target.failure(error)),
    }
}

fn last(target: &Target) -> Result<Seen> {
    let last = client::last_screen(&target.folder).map_err(|error| target.unreadable(&error))?;
    let last = last.ok_or_else(|| target.not_live())?;
    Ok(Seen { source: if last.reconstructed { "reconstructed" } else { "last" }, shot: last.shot })
}

/// What a terminal would show of the end of a file.
pub(crate) fn shot_of_file(path: &Path) -> Result<Seen> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(1 << 20)))?;
        let mut bytes = Vec::new();
        file.take(1 << 20).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes =
        read().map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
    Ok(Seen { source: "reconstructed", shot: client::replayed(&bytes, None) })
}

/// Whether the last row is blank on a terminal of this size that shows these bytes.
pub(crate) fn has_blank_row(repaint: &[u8], cols: u16, rows: u16) -> bool {
    let Some(size) = size(cols, rows) else { return false };
    client::replayed(repaint, Some(size)).lines.last().is_some_and(String::is_empty)
}
