//! Characters that were cut in two when output was read, put together again.
//!
//! The parser of escape sequences takes pieces, but where one ends within a character it may lose the text that follows
//! it. So no piece that it gets ends there.

/// What was held back of the last piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joint {
    held: Vec<u8>,
}

impl Joint {
    /// Passes the next bytes on in pieces that end between characters.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut pass: impl FnMut(&[u8])) {
        let mut rest = bytes;
        if !self.held.is_empty() {
            let more = rest.iter().take_while(|byte| is_inner(**byte)).count().min(missing(&self.held));
            self.held.extend_from_slice(&rest[..more]);
            rest = &rest[more..];
            if rest.is_empty() && missing(&self.held) > 0 {
                return;
            }
            pass(&self.held);
            self.held.clear();
        }
        let (whole, cut) = rest.split_at(rest.len() - cut_off(rest));
        self.held.extend_from_slice(cut);
        if !whole.is_empty() {
            pass(whole);
        }
    }
}

fn is_inner(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// How many bytes a character that begins so still lacks.
fn missing(begun: &[u8]) -> usize {
    let length = match begun.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    usize::saturating_sub(length, begun.len())
}

/// How many bytes at the end begin a character that is not whole.
fn cut_off(bytes: &[u8]) -> usize {
    let inner = bytes.iter().rev().take(3).take_while(|byte| is_inner(**byte)).count();
    let Some(first) = bytes.len().checked_sub(inner + 1) else { return 0 };
    if missing(&bytes[first..]) > 0 { inner + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_character_is_cut(
            bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..40), "\\PC{0,12}".prop_map(String::into_bytes)],
            cut in 1_usize..6,
        ) {
            let (mut joint, mut seen) = (Joint::default(), Vec::new());
            let whole = std::str::from_utf8(&bytes).is_ok();
            for piece in bytes.chunks(cut) {
                joint.feed(piece, |part| {
                    assert!(!part.is_empty() && (!whole || std::str::from_utf8(part).is_ok()));
                    seen.extend_from_slice(part);
                });
                prop_assert!(joint.held.len() <= 3);
            }
            seen.extend_from_slice(&joint.held);
            prop_assert!(!whole || joint.held.is_empty());
            prop_assert_eq!(seen, bytes);
        }
    }
}
