//! Frames: what is spoken after `attach`. A kind, a length of four bytes (the smallest first), and so many bytes.

use std::rc::Rc;

use crate::Size;

/// To a viewer: what was printed.
pub(super) const OUTPUT: u8 = b'o';
/// To a viewer: what shows the whole screen; what was printed before may have been left out.
pub(super) const REPAINT: u8 = b'r';
/// Both ways: the size, columns and rows of two bytes each.
pub(super) const SIZE: u8 = b's';
/// To a viewer: how the session ended.
pub(super) const END: u8 = b'e';
/// To a viewer: it was sent away.
pub(super) const DETACHED: u8 = b'd';
/// From a viewer: what was typed.
pub(super) const INPUT: u8 = b'i';

/// The bytes before the payload.
pub(super) const HEAD: usize = 5;

/// A frame, to be shared by all who get it.
pub(super) fn frame(kind: u8, payload: &[u8]) -> Rc<[u8]> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.push(kind);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.into()
}

/// A frame that says the size.
pub(super) fn size_frame(size: Size) -> Rc<[u8]> {
    let [[a, b], [c, d]] = [size.cols.to_le_bytes(), size.rows.to_le_bytes()];
    frame(SIZE, &[a, b, c, d])
}

/// The size in a payload.
pub(super) fn size_in(payload: &[u8]) -> Option<Size> {
    let &[a, b, c, d] = payload else { return None };
    let size = Size { cols: u16::from_le_bytes([a, b]), rows: u16::from_le_bytes([c, d]) };
    size.is_possible().then_some(size)
}

/// Kind and payload length of the frame that begins here, if its head is whole.
pub(super) fn head(bytes: &[u8]) -> Option<(u8, usize)> {
    let &[kind, a, b, c, d] = bytes.get(..HEAD)? else { return None };
    Some((kind, usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_are_written() {
        let bytes = frame(OUTPUT, b"abc");
        assert_eq!(bytes.as_ref(), b"o\x03\0\0\0abc");
        assert_eq!(head(&bytes), Some((OUTPUT, 3)));
        assert_eq!(head(&bytes[..4]), None);
        let size = Size { cols: 300, rows: 40 };
        assert_eq!(size_in(&size_frame(size)[HEAD..]), Some(size));
        assert_eq!(size_in(&[0, 0, 0, 0]), None);
        assert_eq!(size_in(b"abc"), None);
    }
}
