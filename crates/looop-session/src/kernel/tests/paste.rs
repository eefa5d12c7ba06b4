//! Texts as bytes.

use proptest::prelude::*;

use crate::kernel::paste_bytes;

#[test]
fn lines_stay_lines_in_a_paste_and_end_with_enter_without() {
    let table = [
        ("hello", true, "\x1b[200~hello\x1b[201~"),
        ("hello", false, "hello"),
        ("one\ntwo", true, "\x1b[200~one\ntwo\x1b[201~"),
        ("one\ntwo\n", false, "one\rtwo\r"),
        ("one\r\ntwo", true, "\x1b[200~one\ntwo\x1b[201~"),
        ("one\r\ntwo", false, "one\rtwo"),
        ("", true, "\x1b[200~\x1b[201~"),
        ("a\x1b[201~b", true, "\x1b[200~ab\x1b[201~"),
        ("a\u{9b}201~b", true, "\x1b[200~ab\x1b[201~"),
        ("a\x1b[20\x1b[201~1~b", true, "\x1b[200~ab\x1b[201~"),
        ("a\x1b[201~b", false, "a\x1b[201~b"),
        ("grün 漢", true, "\x1b[200~grün 漢\x1b[201~"),
    ];
    for (text, bracketed, expected) in table {
        let bytes = String::from_utf8(paste_bytes(text, bracketed)).unwrap();
        assert_eq!(bytes, expected, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_paste_ends_where_it_ends(text in "([ab\n\u{9b}]|\x1b|\\[|20|01|1|~|\x1b\\[201~){0,40}") {
        let bytes = String::from_utf8(paste_bytes(&text, true)).unwrap();
        let inner = bytes.strip_prefix("\x1b[200~").unwrap().strip_suffix("\x1b[201~").unwrap();
        prop_assert!(!inner.contains("\x1b[201~") && !inner.contains("\u{9b}201~"), "{:?}", inner);
        let harmless = !text.contains("201~");
        prop_assert!(!harmless || inner == text.replace("\r\n", "\n"));
    }
}
