//! The events of an answer, as they come over the wire (server-sent events).

use std::io::{self, BufRead, Read};

/// Longest line. A provider that sends longer ones speaks another language.
const LINE: u64 = 1 << 20;
/// Longest answer, events and all.
const ANSWER: u64 = 16 << 20;

/// The data of events, one after the other.
pub(super) struct Events<R> {
    from: R,
    read: u64,
    /// The first line that belongs to no event.
    pub(super) odd: Option<String>,
}

/// Why there is no further event.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection broke.
    Io(io::Error),
    /// A line or the whole answer is too long.
    TooLong,
}

impl<R: BufRead> Events<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, read: 0, odd: None }
    }

    /// The data of the next event; nothing at the end. An event may have its data on several lines.
    pub(super) fn next(&mut self) -> Result<Option<String>, Broken> {
        let mut data: Option<String> = None;
        loop {
            let Some(line) = self.line()? else { return Ok(data) };
            if line.is_empty() {
                match data {
                    Some(data) => return Ok(Some(data)),
                    None => continue,
                }
            }
            let Some(text) = line.strip_prefix("data:") else {
                let known = ["event:", "id:", "retry:", ":"].iter().any(|start| line.starts_with(start));
                self.odd = self.odd.take().or((!known).then_some(line));
                continue;
            };
            let text = text.strip_prefix(' ').unwrap_or(text);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(text);
                }
                None => data = Some(text.to_owned()),
            }
        }
    }

    /// One line without its end.
    fn line(&mut self) -> Result<Option<String>, Broken> {
        let mut line = Vec::new();
        let count = (&mut self.from).take(LINE + 1).read_until(b'\n', &mut line).map_err(Broken::Io)? as u64;
        self.read += count;
        if count > LINE || self.read > ANSWER {
            return Err(Broken::TooLong);
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        Ok((count > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut events = Events::new(text.as_bytes());
        std::iter::from_fn(|| events.next().unwrap()).collect()
    }

    #[test]
    fn events_by_table() {
        let table: &[(&str, &[&str])] = &[
            ("event: a\ndata: {\"x\":1}\n\ndata:2\r\n\r\n", &["{\"x\":1}", "2"]),
            (": comment\n\n\nid: 3\ndata: a\ndata: b\n\n", &["a\nb"]),
            ("data: cut", &["cut"]),
            ("plain text\n\n", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(all(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_event_is_remembered() {
        let mut events = Events::new(&b": fine\nevent: x\n<html>\n<body>\n\ndata: 1\n\n"[..]);
        assert_eq!(events.next().unwrap().as_deref(), Some("1"));
        assert_eq!(events.odd.as_deref(), Some("<html>"));
    }

    #[test]
    fn what_never_ends_is_too_long() {
        let endless = Events::new(io::BufReader::new(io::repeat(b'x'))).next();
        assert!(matches!(endless, Err(Broken::TooLong)));
        let mut many = Events::new(io::BufReader::new(io::repeat(b'\n')));
        assert!(matches!(many.next(), Err(Broken::TooLong)));
    }
}
