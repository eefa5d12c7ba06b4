//! The mark: an environment entry that all descendants of a child inherit.

use std::io;

/// The name of the entry.
pub(crate) const NAME: &str = "LOOOP_MARK";

/// A mark nobody else has: 128 random bits in hexadecimal.
pub(crate) fn fresh() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The mark in a block of environment entries as `/proc/<pid>/environ` shows it.
pub(crate) fn within(environ: &[u8]) -> Option<&str> {
    std::str::from_utf8(entry(environ, NAME)?).ok()
}

/// The value of an entry in such a block.
pub(crate) fn entry<'e>(environ: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let mut entries = environ.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_a_whole_entry() {
        assert_eq!(within(b"A=1\0LOOOP_MARK=abc-1\0B=2\0"), Some("abc-1"));
        assert_eq!(within(b"XLOOOP_MARK=abc\0LOOOP_MARKS=abc\0"), None);
        assert_eq!(within(b""), None);
    }

    #[test]
    fn marks_differ() {
        assert_ne!(fresh().unwrap(), fresh().unwrap());
    }
}
