//! A connection to the host of a live session.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::attached::Attached;
use super::by_hand;
use super::error::{ClientError, is_gone};
use super::wire::{Ask, Begun, Done, Hello, Keyed, OLD, Reply, Request, Sent, SentAway, VERSION};
use crate::Size;
use crate::host::folder::{Folder, SOCK};
use crate::host::{self, Standing};
use crate::screen::Shot;

/// How long a host may take for an answer that costs it nothing.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a delivery may take, those before it included.
const DELIVERY: Duration = Duration::from_mins(1);
/// How long a host may take to end its tree.
const END: Duration = Duration::from_secs(30);
/// A line is shorter: the largest is the screen of a thousand by a thousand coloured cells.
const LONGEST_LINE: usize = 64 << 20;

/// How a viewer attaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// The size of the viewer's terminal, which the session then has too.
    pub size: Option<Size>,
    /// Input is ignored and the size is not changed.
    pub watch: bool,
    /// The first frame repaints the screen; otherwise there is output only.
    pub repaint: bool,
}

/// A host that answered.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    heard: Vec<u8>,
    hello: Hello,
}

impl Client {
    /// Connects to the host of the session in this folder and learns which version it speaks. A host that is just
    /// being launched is waited for.
    pub fn connect(folder: &Path) -> Result<Self, ClientError> {
        let stream = reach(folder)?;
        stream.set_write_timeout(Some(ANSWER))?;
        let hello = Hello { v: VERSION, pid: None, child: None, program: None, echo: false };
        let mut client = Self { stream, heard: Vec::new(), hello };
        client.say(VERSION, Ask::Hello)?;
        let line = client.line(ANSWER)?;
        client.hello = parse(&line)?;
        if client.hello.v == OLD {
            // It refuses a version it does not know, and says its own.
            client.say(OLD, Ask::Hello)?;
            client.hello = parse(&client.line(ANSWER)?)?;
        } else {
            checked(&line)?;
        }
        Ok(client)
    }

    /// Who answered.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What the terminal shows; with `ansi` also as a text that repaints it.
    pub fn screen(&mut self, ansi: bool) -> Result<Shot, ClientError> {
        self.ask(Ask::Screen { ansi }, ANSWER)
    }

    /// Types a text, submits it if asked to, and says what became of it. The same `id` is typed once, however often it
    /// is sent.
    ///
    /// Enter is pressed only once the text was seen to stand where it was typed. A host that does not see to that itself
    /// types the text, and the screen is read from here.
    pub fn send(&mut self, id: Option<&str>, text: &str, submit: bool) -> Result<Sent, ClientError> {
        if submit && !self.hello.echo && self.hello.v != OLD {
            return by_hand::send(self, id, text);
        }
        self.ask(Ask::Send { id, text, submit, echo: true }, DELIVERY)
    }

    /// Presses keys by name, one after the other.
    pub fn key(&mut self, id: Option<&str>, keys: &[String]) -> Result<Keyed, ClientError> {
        self.ask(Ask::Key { id, keys }, DELIVERY)
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, size: Size) -> Result<(), ClientError> {
        self.ask(Ask::Resize { cols: size.cols, rows: size.rows }, ANSWER).map(|Done {}| ())
    }

    /// Sends all viewers away; says how many there were.
    pub fn detach(&mut self) -> Result<usize, ClientError> {
        self.ask(Ask::Detach, ANSWER).map(|SentAway { viewers }| viewers)
    }

    /// Stops all of the session until [`Client::go_on`].
    pub fn pause(&mut self) -> Result<(), ClientError> {
        self.ask(Ask::Pause, ANSWER).map(|Done {}| ())
    }

    /// Lets a paused session go on.
    pub fn go_on(&mut self) -> Result<(), ClientError> {
        self.ask(Ask::GoOn, ANSWER).map(|Done {}| ())
    }

    /// Asks for the end of all that the session started, and waits until the host is gone. Every version knows this.
    pub fn kill(mut self) -> Result<(), ClientError> {
        self.say(self.hello.v.min(VERSION), Ask::Kill)?;
        checked(&self.line(ANSWER)?)?;
        self.stream.set_read_timeout(Some(END))?;
        // Whatever it still says, the end of the call is the end of the host.
        match self.stream.read_to_end(&mut Vec::new()) {
            Err(error) if !is_gone(&error) => Err(ClientError::of_stream(error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Becomes a viewer: from here on the connection carries frames.
    pub fn attach(mut self, view: &View) -> Result<Attached, ClientError> {
        let (cols, rows) = (view.size.map(|size| size.cols), view.size.map(|size| size.rows));
        let begun: Begun =
            self.ask(Ask::Attach { cols, rows, watch: view.watch, repaint: view.repaint }, ANSWER)?;
        let size = begun.cols.zip(begun.rows).map(|(cols, rows)| Size { cols, rows });
        Attached::new(self.stream, self.heard, begun.at, size)
    }

    /// Waits until the host is gone; says whether it is within this time.
    pub fn gone_within(&mut self, patience: Duration) -> Result<bool, ClientError> {
        let until = Instant::now() + patience;
        let mut chunk = [0; 256];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut chunk).map_err(ClientError::of_stream) {
                Ok(0) | Err(ClientError::Gone) => return Ok(true),
                Ok(_) | Err(ClientError::Mute) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn ask<T: DeserializeOwned>(&mut self, ask: Ask<'_>, patience: Duration) -> Result<T, ClientError> {
        if self.hello.v == OLD {
            return Err(ClientError::Old);
        }
        self.say(VERSION, ask)?;
        let line = self.line(patience)?;
        checked(&line)?;
        parse(&line)
    }

    fn say(&mut self, v: u32, ask: Ask<'_>) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(&Request { v, ask }).map_err(|error| garbled(&error))?;
        line.push(b'\n');
        self.stream.write_all(&line).map_err(ClientError::of_stream)
    }

    /// The next line, without its end.
    fn line(&mut self, patience: Duration) -> Result<Vec<u8>, ClientError> {
        let until = Instant::now() + patience;
        let mut chunk = [0; 16 << 10];
        let mut searched = 0;
        loop {
            if let Some(end) = self.heard[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.heard.drain(..=searched + end).collect::<Vec<_>>();
                return Ok(line);
            }
            searched = self.heard.len();
            if searched > LONGEST_LINE {
                return Err(ClientError::Garbled("it does not end".to_owned()));
            }
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ClientError::Gone),
                Ok(count) => self.heard.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::of_stream(error)),
            }
        }
    }
}

/// Connects. A session whose lock is held and whose socket is not there yet is about to have one.
fn reach(folder: &Path) -> Result<UnixStream, ClientError> {
    let inside = Folder::open(folder)?.ok_or(ClientError::Absent)?;
    let until = Instant::now() + ANSWER;
    let mut gap = Duration::from_millis(1);
    loop {
        match UnixStream::connect(inside.path_of(SOCK)) {
            Ok(stream) => return Ok(stream),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(ClientError::Io(error)),
        }
        if host::standing(folder)? != Standing::Live {
            return Err(ClientError::Absent);
        }
        if Instant::now() >= until {
            return Err(ClientError::Mute);
        }
        std::thread::sleep(gap);
        gap = (gap * 2).min(Duration::from_millis(20));
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused)
}

/// Fails if the reply says no.
fn checked(line: &[u8]) -> Result<(), ClientError> {
    let reply: Reply = parse(line)?;
    if reply.ok == Some(false) {
        return Err(ClientError::Refused(reply.error.unwrap_or_else(|| "it was refused".to_owned())));
    }
    if reply.v > VERSION {
        return Err(ClientError::Garbled(format!("it is of version {}", reply.v)));
    }
    Ok(())
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(line).map_err(|error| garbled(&error))
}

fn garbled(error: &serde_json::Error) -> ClientError {
    ClientError::Garbled(error.to_string())
}
