//! What a session printed: from the files, and as it comes.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use looop_session::client::{Follow, News, Plain};
use looop_session::{Extent, Transcript};
use regex::Regex;

use super::Place;
use super::session::{self, PULSE, Shown, Target};
use crate::failure::{Failure, Result};

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// What is wanted of an output.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// From this stream offset on.
    pub(crate) since: Option<u64>,
    /// Only the last so many lines.
    pub(crate) tail: Option<usize>,
    /// Only lines that match.
    pub(crate) grep: Option<Regex>,
    /// And what comes: then a line without an end is not shown yet.
    pub(crate) follow: bool,
}

impl Wanted {
    fn takes(&self, line: &str) -> bool {
        self.grep.as_ref().is_none_or(|pattern| pattern.is_match(line))
    }
}

/// An output that can be read by offset.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) name: String,
    source: Source,
    extent: Extent,
    plain: Plain,
}

#[derive(Debug)]
enum Source {
    Session(Target, Transcript),
    Pulse(PathBuf, File),
}

/// Opens the output of a session, or of the pulse.
pub(crate) fn open(place: &Place, text: &str) -> Result<Log> {
    let (name, mut source) = match session::readable(place, text)? {
        Shown::Session(target) => {
            let opened = Transcript::open(&target.folder).map_err(|error| target.unreadable(&error))?;
            let transcript = opened.ok_or_else(|| target.not_live())?;
            (target.session.clone(), Source::Session(target, transcript))
        }
        Shown::Pulse(path) => {
            let file = File::open(&path)
                .map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
            (PULSE.to_owned(), Source::Pulse(path, file))
        }
    };
    let extent = source.extent()?;
    Ok(Log { name, source, extent, plain: Plain::new() })
}

impl Source {
    fn extent(&mut self) -> Result<Extent> {
        match self {
            Self::Session(target, transcript) => {
                transcript.extent().map_err(|error| target.unreadable(&error))
            }
            Self::Pulse(path, file) => {
                let length = file.metadata().map(|meta| meta.len());
                length.map(|end| Extent { first: 0, end }).map_err(|error| unreadable(path, &error))
            }
        }
    }

    /// Reads from an offset on; gives the offset of the first byte.
    fn read(&mut self, from: u64, into: &mut [u8]) -> Result<(u64, usize)> {
        match self {
            Self::Session(target, transcript) => {
                let piece = transcript.read(from, into).map_err(|error| target.unreadable(&error))?;
                Ok((piece.at, piece.count))
            }
            Self::Pulse(path, file) => {
                file.read_at(into, from).map(|count| (from, count)).map_err(|error| unreadable(path, &error))
            }
        }
    }
}

fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be read: {error}", path.display()))
}

impl Log {
    /// What is kept: the offsets of its first byte, and after its last.
    pub(crate) fn extent(&self) -> (u64, u64) {
        (self.extent.first, self.extent.end)
    }

    /// How many bytes that are asked for are no longer kept.
    pub(crate) fn dropped(&self, wanted: &Wanted) -> u64 {
        match (wanted.since, wanted.tail) {
            (Some(since), _) => self.extent.first.saturating_sub(since),
            (None, Some(_)) => 0,
            (None, None) => self.extent.first,
        }
    }

    /// The bytes themselves.
    pub(crate) fn bytes(&mut self, wanted: &Wanted, show: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut from = wanted.since.unwrap_or(0).max(self.extent.first);
        if let Some(tail) = wanted.tail {
            from = self.start_of_tail(from, tail)?;
        }
        self.each(from, self.extent.end, show)
    }

    /// Gives the bytes of `[from, to)` piece by piece.
    fn each(&mut self, from: u64, to: u64, show: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut piece = vec![0; PIECE];
        let mut at = from;
        while at < to {
            let most = usize::try_from(to - at).unwrap_or(PIECE).min(PIECE);
            let (begin, count) = self.source.read(at, &mut piece[..most])?;
            if count == 0 || begin >= to {
                break;
            }
            let count = count.min(usize::try_from(to - begin).unwrap_or(PIECE));
            show(&piece[..count]);
            at = begin + count as u64;
        }
        Ok(())
    }

    /// Where the last so many lines of bytes begin.
    fn start_of_tail(&mut self, from: u64, tail: usize) -> Result<u64> {
        let end = self.extent.end;
        let (mut starts, mut at) = (VecDeque::from([from]), from);
        self.each(from, end, &mut |piece| {
            for (index, _) in piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                starts.push_back(at + index as u64 + 1);
                if starts.len() > tail + 1 {
                    starts.pop_front();
                }
            }
            at += piece.len() as u64;
        })?;
        // After the last line end there is no line.
        if starts.back() == Some(&end) {
            starts.pop_back();
        }
        Ok(starts
            .len()
            .checked_sub(tail)
            .map_or_else(|| starts.front(), |index| starts.get(index))
            .copied()
            .unwrap_or(end))
    }

    /// The lines, as a person reads them.
    pub(crate) fn lines(&mut self, wanted: &Wanted, show: &mut dyn FnMut(&str)) -> Result<()> {
        let from = wanted.since.unwrap_or(0).max(self.extent.first);
        if let Some(tail) = wanted.tail {
            return self.last_lines(from, tail, wanted, show);
        }
        let mut plain = std::mem::take(&mut self.plain);
        self.each(from, self.extent.end, &mut |piece| {
            plain.feed(piece).iter().filter(|line| wanted.takes(line)).for_each(|line| show(line));
        })?;
        self.plain = plain;
        self.rest(wanted).iter().for_each(|line| show(line));
        Ok(())
    }

    /// The last lines: of an ever longer end of the output, until there are enough of them.
    fn last_lines(
        &mut self,
        from: u64,
        tail: usize,
        wanted: &Wanted,
        show: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let end = self.extent.end;
        let mut window = PIECE as u64;
        loop {
            let begin = end.saturating_sub(window).max(from);
            let (mut plain, mut kept, mut whole) = (Plain::new(), VecDeque::new(), begin == from);
            self.each(begin, end, &mut |piece| {
                for line in plain.feed(piece) {
                    // The first line of a window may lack its start.
                    if std::mem::replace(&mut whole, true) && wanted.takes(&line) {
                        keep(&mut kept, line, tail);
                    }
                }
            })?;
            self.plain = plain;
            if let Some(line) = self.rest(wanted) {
                keep(&mut kept, line, tail);
            }
            if kept.len() >= tail || begin == from {
                for line in &kept {
                    show(line);
                }
                return Ok(());
            }
            window = window.saturating_mul(4);
        }
    }

    /// The line that has no end, if none will come.
    fn rest(&mut self, wanted: &Wanted) -> Option<String> {
        if wanted.follow {
            return None;
        }
        self.plain.finish().filter(|line| wanted.takes(line))
    }

    /// Goes on with what comes, until the session has ended. What is no longer kept is told by its length.
    pub(crate) fn follow(&mut self, wanted: &Wanted, show: &mut dyn FnMut(Fresh<'_>)) -> Result<()> {
        let since = wanted.since.unwrap_or(0).max(self.extent.end);
        let target = match &self.source {
            Source::Session(target, _) => target.clone(),
            Source::Pulse(path, file) => {
                let file = file.try_clone().map_err(|error| unreadable(path, &error))?;
                let path = path.clone();
                let mut fresh = |bytes: &[u8]| self.fresh(bytes, wanted, show);
                return super::pulse_log::follow(&path, file, since, &mut fresh);
            }
        };
        let failed = |error| target.failure(error);
        let opened = Follow::open(&target.folder, since).map_err(failed)?;
        let mut follow = opened.ok_or_else(|| target.not_live())?;
        loop {
            match follow.next(None).map_err(failed)? {
                News::Bytes(bytes) => self.fresh(&bytes, wanted, show),
                News::Dropped(count) => show(Fresh::Dropped(count)),
                News::Ended => break,
                News::Nothing => {}
            }
        }
        if let Some(line) = self.plain.finish().filter(|line| wanted.takes(line)) {
            show(Fresh::Line(&line));
        }
        Ok(())
    }

    fn fresh(&mut self, bytes: &[u8], wanted: &Wanted, show: &mut dyn FnMut(Fresh<'_>)) {
        show(Fresh::Bytes(bytes));
        for line in self.plain.feed(bytes).iter().filter(|line| wanted.takes(line)) {
            show(Fresh::Line(line));
        }
    }
}

/// What came.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fresh<'a> {
    Bytes(&'a [u8]),
    Line(&'a str),
    Dropped(u64),
}

/// Keeps the newest so many lines.
fn keep(kept: &mut VecDeque<String>, line: String, most: usize) {
    kept.push_back(line);
    if kept.len() > most {
        kept.pop_front();
    }
}
