//! Frames: what passes between a host and a viewer once it is attached. A kind, a length, the payload.

use crate::{Ended, Size};

/// Kind and length.
const HEAD: usize = 5;
/// No frame is longer. A host cuts its output into far smaller ones; only a repaint of a huge screen comes near.
const LONGEST: usize = 64 << 20;

/// What a host tells a viewer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The next bytes of output.
    Output(Vec<u8>),
    /// All that the screen shows: what came before does not count any more.
    Repaint(Vec<u8>),
    /// The terminal has this size from here on.
    Size(Size),
    /// The child ended so, and the host is about to go.
    End(Ended),
    /// The viewer was sent away.
    Detached,
}

/// What a viewer tells its host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told<'a> {
    /// Bytes that were typed.
    Input(&'a [u8]),
    /// The size of its terminal.
    Size(Size),
}

/// Why bytes are no frame.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a frame of kind {kind:?} and {length} bytes")]
pub(super) struct NoFrame {
    kind: char,
    length: usize,
}

/// Takes the first whole frame off the buffer. One of a kind that a later version added is passed over.
pub(super) fn take(buffer: &mut Vec<u8>) -> Result<Option<Frame>, NoFrame> {
    loop {
        let Some((kind, length)) = head(buffer) else { return Ok(None) };
        let broken = NoFrame { kind: char::from(kind), length };
        if length > LONGEST {
            return Err(broken);
        }
        if buffer.len() < HEAD + length {
            return Ok(None);
        }
        let payload = buffer[HEAD..HEAD + length].to_vec();
        buffer.drain(..HEAD + length);
        match kind {
            b'o' => return Ok(Some(Frame::Output(payload))),
            b'r' => return Ok(Some(Frame::Repaint(payload))),
            b's' => return size(&payload).map(|size| Some(Frame::Size(size))).ok_or(broken),
            b'e' => {
                return serde_json::from_slice(&payload)
                    .map(|ended| Some(Frame::End(ended)))
                    .map_err(|_| broken);
            }
            b'd' => return Ok(Some(Frame::Detached)),
            _ => {}
        }
    }
}

fn head(buffer: &[u8]) -> Option<(u8, usize)> {
    let [kind, a, b, c, d] = *buffer.first_chunk::<HEAD>()?;
    Some((kind, u32::from_le_bytes([a, b, c, d]) as usize))
}

fn size(payload: &[u8]) -> Option<Size> {
    let [a, b, c, d] = *payload.first_chunk::<4>()?;
    Some(Size { cols: u16::from_le_bytes([a, b]), rows: u16::from_le_bytes([c, d]) })
}

/// Appends a frame for the host.
pub(super) fn put(buffer: &mut Vec<u8>, told: Told<'_>) {
    match told {
        Told::Input(bytes) => {
            // The length fits: what a person types at once is cut into pieces.
            for piece in bytes.chunks(64 << 10) {
                put_raw(buffer, b'i', piece);
            }
        }
        Told::Size(size) => {
            let mut payload = size.cols.to_le_bytes().to_vec();
            payload.extend_from_slice(&size.rows.to_le_bytes());
            put_raw(buffer, b's', &payload);
        }
    }
}

fn put_raw(buffer: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    buffer.push(kind);
    buffer.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    buffer.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], cut: usize) -> (Vec<Frame>, Vec<u8>) {
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(cut.max(1)) {
            buffer.extend_from_slice(piece);
            while let Some(frame) = take(&mut buffer).unwrap() {
                found.push(frame);
            }
        }
        (found, buffer)
    }

    #[test]
    fn frames_come_whole_however_they_are_cut() {
        let mut bytes = Vec::new();
        put_raw(&mut bytes, b'o', b"abc");
        put_raw(&mut bytes, b'?', b"from the future");
        put_raw(&mut bytes, b's', &[100, 0, 30, 0]);
        put_raw(&mut bytes, b'e', br#"{"exited":3}"#);
        put_raw(&mut bytes, b'd', b"");
        put_raw(&mut bytes, b'r', b"unfinished");
        bytes.truncate(bytes.len() - 1);
        let expected = [
            Frame::Output(b"abc".to_vec()),
            Frame::Size(Size { cols: 100, rows: 30 }),
            Frame::End(Ended::Exited(3)),
            Frame::Detached,
        ];
        for cut in 1..bytes.len() {
            assert_eq!(all(&bytes, cut).0, expected);
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for bytes in [&b"s\x01\0\0\0x"[..], b"e\x02\0\0\0{}", b"o\xff\xff\xff\xff"] {
            assert!(take(&mut bytes.to_vec()).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut buffer = bytes;
            while let Ok(Some(_)) = take(&mut buffer) {}
        }
    }
}
