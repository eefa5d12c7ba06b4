//! The bytes that a terminal sends for its keys.
//!
//! Keys have the names that people know from other terminal tools, in any case: `Enter`, `Up`, `PgDn`, `F5`, `C-c`,
//! `M-x`, `C-S-Right`, `^D`. One character types itself, and `0x1b` is a byte. The bytes are those of xterm, which is
//! what a session says it is.

/// The modes that change what some keys send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// Cursor keys send `ESC O` sequences (DECCKM).
    pub application_cursor: bool,
    /// The keypad sends `ESC O` sequences (DECKPAM).
    pub application_keypad: bool,
}

const ESC: u8 = 0x1b;

/// What a key sends.
#[derive(Clone, Copy)]
enum Code {
    /// A character, also without a name.
    Char(char),
    /// A cursor key: the last letter of its sequence.
    Cursor(char),
    /// A function key of the first four: the last letter.
    Function(char),
    /// A key of the form `ESC [ n ~`.
    Tilde(u8),
    /// A function key that is another with Shift.
    Shifted(&'static Code),
    /// A key of the keypad: what it sends in its own mode, and what it types otherwise.
    Keypad(char, char),
}

use Code::{Char, Cursor, Function, Keypad, Shifted, Tilde};

/// All keys that have a name, the best one first.
const KEYS: &[(&[&str], Code)] = &[
    (&["Enter", "Return", "CR"], Char('\r')),
    (&["LineFeed", "LF"], Char('\n')),
    (&["Tab"], Char('\t')),
    (&["Escape", "Esc"], Char('\x1b')),
    (&["Space", "SPC"], Char(' ')),
    (&["Backspace", "BSpace", "BS"], Char('\x7f')),
    (&["Delete", "DC", "Del"], Tilde(3)),
    (&["Insert", "IC", "Ins"], Tilde(2)),
    (&["Home"], Cursor('H')),
    (&["End"], Cursor('F')),
    (&["PageUp", "PgUp", "PPage", "Prior"], Tilde(5)),
    (&["PageDown", "PgDn", "NPage", "Next", "PgDown"], Tilde(6)),
    (&["Up", "ArrowUp"], Cursor('A')),
    (&["Down", "ArrowDown"], Cursor('B')),
    (&["Left", "ArrowLeft"], Cursor('D')),
    (&["Right", "ArrowRight"], Cursor('C')),
    (&["F1"], Function('P')),
    (&["F2"], Function('Q')),
    (&["F3"], Function('R')),
    (&["F4"], Function('S')),
    (&["F5"], Tilde(15)),
    (&["F6"], Tilde(17)),
    (&["F7"], Tilde(18)),
    (&["F8"], Tilde(19)),
    (&["F9"], Tilde(20)),
    (&["F10"], Tilde(21)),
    (&["F11"], Tilde(23)),
    (&["F12"], Tilde(24)),
    (&["F13"], Shifted(&Function('P'))),
    (&["F14"], Shifted(&Function('Q'))),
    (&["F15"], Shifted(&Function('R'))),
    (&["F16"], Shifted(&Function('S'))),
    (&["F17"], Shifted(&Tilde(15))),
    (&["F18"], Shifted(&Tilde(17))),
    (&["F19"], Shifted(&Tilde(18))),
    (&["F20"], Shifted(&Tilde(19))),
    (&["F21"], Shifted(&Tilde(20))),
    (&["F22"], Shifted(&Tilde(21))),
    (&["F23"], Shifted(&Tilde(23))),
    (&["F24"], Shifted(&Tilde(24))),
    (&["BTab", "BackTab"], Shifted(&Char('\t'))),
    (&["KP0"], Keypad('p', '0')),
    (&["KP1"], Keypad('q', '1')),
    (&["KP2"], Keypad('r', '2')),
    (&["KP3"], Keypad('s', '3')),
    (&["KP4"], Keypad('t', '4')),
    (&["KP5"], Keypad('u', '5')),
    (&["KP6"], Keypad('v', '6')),
    (&["KP7"], Keypad('w', '7')),
    (&["KP8"], Keypad('x', '8')),
    (&["KP9"], Keypad('y', '9')),
    (&["KP/", "KPDivide"], Keypad('o', '/')),
    (&["KP*", "KPMultiply"], Keypad('j', '*')),
    (&["KP-", "KPSubtract", "KPMinus"], Keypad('m', '-')),
    (&["KP+", "KPAdd", "KPPlus"], Keypad('k', '+')),
    (&["KP.", "KPDecimal"], Keypad('n', '.')),
    (&["KP,", "KPSeparator"], Keypad('l', ',')),
    (&["KP=", "KPEqual"], Keypad('X', '=')),
    (&["KPEnter"], Keypad('M', '\r')),
];

/// The keys that are held down.
#[derive(Clone, Copy, Default)]
struct Held {
    shift: bool,
    alt: bool,
    control: bool,
}

/// The names of all keys, for help: for each key the best name, then its others.
pub fn names() -> impl Iterator<Item = &'static [&'static str]> {
    KEYS.iter().map(|(names, _)| *names)
}

/// The bytes of the key of this name, or nothing if there is no such key.
pub fn bytes(name: &str, modes: Modes) -> Option<Vec<u8>> {
    if let Some(digits) = name.strip_prefix("0x").or_else(|| name.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    if let Some(Char(c)) = name.strip_prefix('^').and_then(single) {
        return control(c).map(|byte| vec![byte]);
    }
    let (held, base) = holds(name);
    sequence(single(base).or_else(|| named(base))?, held, modes)
}

/// What is held down while which key is pressed.
fn holds(name: &str) -> (Held, &str) {
    let (mut held, mut base) = (Held::default(), name);
    while let Some((hold, rest)) = base.split_once(['-', '+']).filter(|(_, rest)| !rest.is_empty()) {
        let Some(key) = held.by_name(hold) else { break };
        *key = true;
        base = rest;
    }
    (held, base)
}

/// A name of one character means this character.
fn single(name: &str) -> Option<Code> {
    let mut characters = name.chars();
    characters.next().filter(|_| characters.next().is_none()).map(Char)
}

fn named(name: &str) -> Option<Code> {
    let name = name.replace('_', "");
    let is_it = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(&name));
    KEYS.iter().find(|(names, _)| is_it(names)).map(|(_, code)| *code)
}

/// What xterm sends for this key while those are held down.
fn sequence(code: Code, held: Held, modes: Modes) -> Option<Vec<u8>> {
    let plain = held.number() == 1;
    match code {
        Char(c) => character(c, held),
        Cursor(letter) if plain && modes.application_cursor => Some(format!("\x1bO{letter}").into_bytes()),
        Cursor(letter) if plain => Some(format!("\x1b[{letter}").into_bytes()),
        Function(letter) if plain => Some(format!("\x1bO{letter}").into_bytes()),
        Cursor(letter) | Function(letter) => Some(format!("\x1b[1;{}{letter}", held.number()).into_bytes()),
        Tilde(number) if plain => Some(format!("\x1b[{number}~").into_bytes()),
        Tilde(number) => Some(format!("\x1b[{number};{}~", held.number()).into_bytes()),
        Shifted(code) => sequence(*code, Held { shift: true, ..held }, modes),
        Keypad(own, _) if plain && modes.application_keypad => Some(format!("\x1bO{own}").into_bytes()),
        Keypad(_, typed) => character(typed, held),
    }
}

impl Held {
    /// The one of this name, as it stands before a `-` or `+`.
    fn by_name(&mut self, name: &str) -> Option<&mut bool> {
        match name.to_lowercase().as_str() {
            "c" | "ctrl" | "control" => Some(&mut self.control),
            "m" | "meta" | "a" | "alt" => Some(&mut self.alt),
            "s" | "shift" => Some(&mut self.shift),
            _ => None,
        }
    }

    /// How xterm counts it in its sequences.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.control)
    }
}

/// What a character sends: Alt puts an Escape before it. Where xterm sends the same as without Shift or Control but
/// programs tell them apart, it is the form that they agreed on since (`ESC [ code ; held u`).
fn character(c: char, held: Held) -> Option<Vec<u8>> {
    let escaped = |bytes: &[u8]| Some([if held.alt { &[ESC][..] } else { &[] }, bytes].concat());
    let told_apart = || Some(format!("\x1b[{};{}u", u32::from(c), held.number()).into_bytes());
    match (c, held.control, held.shift) {
        ('\t', false, true) => escaped(b"\x1b[Z"),
        ('\r' | '\t' | '\x1b', control, shift) if control || shift => told_apart(),
        ('\x7f', true, _) => escaped(b"\x08"),
        (_, true, _) => escaped(&[control(c)?]),
        (' ' | '\x7f', false, true) => escaped(&[u8::try_from(c).ok()?]),
        (_, false, true) if c.is_lowercase() => escaped(c.to_uppercase().to_string().as_bytes()),
        (_, false, true) if !c.is_uppercase() => None,
        (_, false, _) => escaped(c.to_string().as_bytes()),
    }
}

/// The byte of a character while Control is held down.
fn control(c: char) -> Option<u8> {
    match c.to_ascii_lowercase() {
        letter @ 'a'..='z' => Some(u8::try_from(letter).ok()? - b'a' + 1),
        '@' | ' ' | '2' => Some(0x00),
        '[' | '3' => Some(ESC),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' | '~' => Some(0x1e),
        '_' | '7' | '/' | '-' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    }
}

/// Bytes in hexadecimal: one or two digits, or two for each byte.
fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    if digits.len() > 2 && digits.len() % 2 == 1 {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..digits.len().min(at + 2)]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Modes, bytes, names};

    const NORMAL: Modes = Modes { application_cursor: false, application_keypad: false };
    const APPLICATION: Modes = Modes { application_cursor: true, application_keypad: true };

    fn check(modes: Modes, table: &[(&str, &str)]) {
        for (name, expected) in table {
            let sent = bytes(name, modes).unwrap_or_else(|| panic!("no key {name:?}"));
            assert_eq!(
                sent.escape_ascii().to_string(),
                expected.as_bytes().escape_ascii().to_string(),
                "{name}"
            );
        }
    }

    #[test]
    fn keys_that_type_something() {
        let table = [
            ("Enter", "\r"),
            ("return", "\r"),
            ("CR", "\r"),
            ("Linefeed", "\n"),
            ("TAB", "\t"),
            ("Escape", "\x1b"),
            ("esc", "\x1b"),
            ("Space", " "),
            ("Backspace", "\x7f"),
            ("BSpace", "\x7f"),
            ("back_space", "\x7f"),
            ("a", "a"),
            ("A", "A"),
            ("-", "-"),
            ("+", "+"),
            ("^", "^"),
            ("0", "0"),
            ("é", "é"),
            ("漢", "漢"),
            (" ", " "),
            ("\n", "\n"),
            ("S-a", "A"),
            ("S-A", "A"),
            ("S-é", "É"),
            ("S-Space", " "),
            ("S-Backspace", "\x7f"),
        ];
        check(NORMAL, &table);
        check(APPLICATION, &table);
    }

    #[test]
    fn keys_of_editing_and_moving() {
        check(
            NORMAL,
            &[
                ("Up", "\x1b[A"),
                ("down", "\x1b[B"),
                ("RIGHT", "\x1b[C"),
                ("Left", "\x1b[D"),
                ("ArrowLeft", "\x1b[D"),
                ("Home", "\x1b[H"),
                ("End", "\x1b[F"),
                ("Insert", "\x1b[2~"),
                ("IC", "\x1b[2~"),
                ("Delete", "\x1b[3~"),
                ("DC", "\x1b[3~"),
                ("PageUp", "\x1b[5~"),
                ("PgUp", "\x1b[5~"),
                ("PPage", "\x1b[5~"),
                ("Page_Up", "\x1b[5~"),
                ("PageDown", "\x1b[6~"),
                ("PgDn", "\x1b[6~"),
                ("NPage", "\x1b[6~"),
            ],
        );
        check(
            APPLICATION,
            &[
                ("Up", "\x1bOA"),
                ("Down", "\x1bOB"),
                ("Right", "\x1bOC"),
                ("Left", "\x1bOD"),
                ("Home", "\x1bOH"),
                ("End", "\x1bOF"),
                ("C-Up", "\x1b[1;5A"),
                ("PageUp", "\x1b[5~"),
            ],
        );
    }

    #[test]
    fn function_keys() {
        let first = ["\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS"].map(str::to_owned);
        let rest = [15, 17, 18, 19, 20, 21, 23, 24].map(|number| format!("\x1b[{number}~"));
        let shifted = ["P", "Q", "R", "S"].map(|letter| format!("\x1b[1;2{letter}"));
        let more = [15, 17, 18, 19, 20, 21, 23, 24].map(|number| format!("\x1b[{number};2~"));
        let all = first.into_iter().chain(rest).chain(shifted).chain(more);
        for (number, expected) in (1..).zip(all) {
            assert_eq!(
                bytes(&format!("F{number}"), NORMAL),
                Some(expected.clone().into_bytes()),
                "F{number}"
            );
            assert_eq!(bytes(&format!("f{number}"), APPLICATION), Some(expected.into_bytes()), "f{number}");
        }
        assert!(bytes("F24", NORMAL).is_some());
        assert_eq!([bytes("F0", NORMAL), bytes("F25", NORMAL)], [None, None]);
    }

    #[test]
    fn keys_with_others_held_down() {
        check(
            NORMAL,
            &[
                ("C-Left", "\x1b[1;5D"),
                ("c-left", "\x1b[1;5D"),
                ("Ctrl-Left", "\x1b[1;5D"),
                ("ctrl+left", "\x1b[1;5D"),
                ("S-Up", "\x1b[1;2A"),
                ("M-Up", "\x1b[1;3A"),
                ("Alt-Up", "\x1b[1;3A"),
                ("M-S-Up", "\x1b[1;4A"),
                ("C-S-Right", "\x1b[1;6C"),
                ("S-C-Right", "\x1b[1;6C"),
                ("C-M-Down", "\x1b[1;7B"),
                ("C-M-S-Home", "\x1b[1;8H"),
                ("C-End", "\x1b[1;5F"),
                ("S-F5", "\x1b[15;2~"),
                ("C-F1", "\x1b[1;5P"),
                ("C-F13", "\x1b[1;6P"),
                ("M-F12", "\x1b[24;3~"),
                ("C-Delete", "\x1b[3;5~"),
                ("S-Insert", "\x1b[2;2~"),
                ("C-PgUp", "\x1b[5;5~"),
                ("S-Tab", "\x1b[Z"),
                ("BTab", "\x1b[Z"),
                ("M-S-Tab", "\x1b\x1b[Z"),
                ("M-Enter", "\x1b\r"),
                ("S-Enter", "\x1b[13;2u"),
                ("C-Enter", "\x1b[13;5u"),
                ("C-Tab", "\x1b[9;5u"),
                ("C-S-Tab", "\x1b[9;6u"),
                ("M-Escape", "\x1b\x1b"),
                ("M-Space", "\x1b "),
                ("M-Backspace", "\x1b\x7f"),
                ("C-Backspace", "\x08"),
                ("C-M-Backspace", "\x1b\x08"),
            ],
        );
    }

    #[test]
    fn letters_with_control_and_alt() {
        for (letter, byte) in ('a'..='z').zip(1..) {
            let upper = letter.to_ascii_uppercase();
            for name in
                [format!("C-{letter}"), format!("c-{upper}"), format!("^{letter}"), format!("^{upper}")]
            {
                assert_eq!(bytes(&name, NORMAL), Some(vec![byte]), "{name}");
            }
            assert_eq!(bytes(&format!("C-M-{letter}"), NORMAL), Some(vec![0x1b, byte]));
            assert_eq!(bytes(&format!("M-{letter}"), NORMAL), Some(format!("\x1b{letter}").into_bytes()));
            assert_eq!(bytes(&format!("M-{upper}"), NORMAL), Some(format!("\x1b{upper}").into_bytes()));
        }
        check(
            NORMAL,
            &[
                ("C-Space", "\0"),
                ("C-@", "\0"),
                ("^@", "\0"),
                ("C-[", "\x1b"),
                ("^[", "\x1b"),
                ("C-\\", "\x1c"),
                ("C-]", "\x1d"),
                ("C-^", "\x1e"),
                ("^^", "\x1e"),
                ("C-_", "\x1f"),
                ("C--", "\x1f"),
                ("C-/", "\x1f"),
                ("C-?", "\x7f"),
                ("^?", "\x7f"),
                ("C-S-a", "\x01"),
                ("C-M-Space", "\x1b\0"),
                ("M--", "\x1b-"),
                ("M-.", "\x1b."),
                ("M-ü", "\x1bü"),
            ],
        );
    }

    #[test]
    fn the_keypad() {
        let typed = [
            ("KP0", "0"),
            ("KP9", "9"),
            ("KP_5", "5"),
            ("KP/", "/"),
            ("KP*", "*"),
            ("KP-", "-"),
            ("KP_Subtract", "-"),
            ("KP+", "+"),
            ("kp_add", "+"),
            ("KP.", "."),
            ("KP=", "="),
            ("KPEnter", "\r"),
            ("M-KP1", "\x1b1"),
        ];
        check(NORMAL, &typed);
        let own = [
            ("KP0", "\x1bOp"),
            ("KP9", "\x1bOy"),
            ("KP/", "\x1bOo"),
            ("KP*", "\x1bOj"),
            ("KP-", "\x1bOm"),
            ("KP+", "\x1bOk"),
            ("KP.", "\x1bOn"),
            ("KP=", "\x1bOX"),
            ("KP_Enter", "\x1bOM"),
        ];
        check(APPLICATION, &own);
    }

    #[test]
    fn bytes_in_hexadecimal() {
        assert_eq!(bytes("0x1b", NORMAL), Some(vec![0x1b]));
        assert_eq!(bytes("0X7", NORMAL), Some(vec![7]));
        assert_eq!(bytes("0xFF", NORMAL), Some(vec![0xff]));
        assert_eq!(bytes("0x1b5b41", NORMAL), Some(b"\x1b[A".to_vec()));
        for name in ["0x", "0xg", "0x123", "0x+1", "0x1 ", "0xé"] {
            assert_eq!(bytes(name, NORMAL), None, "{name}");
        }
    }

    #[test]
    fn what_is_no_key() {
        for name in [
            "", "Entr", "hello", "C-", "M-", "C-M-", "C-hello", "C-é", "C-;", "C-1", "S-1", "X-a", "^ab",
            "--",
        ] {
            assert_eq!(bytes(name, NORMAL), None, "{name}");
        }
    }

    #[test]
    fn every_listed_name_is_a_key_of_its_own() {
        let mut seen = std::collections::BTreeMap::new();
        for (group, name) in
            names().enumerate().flat_map(|(group, names)| names.iter().map(move |name| (group, name)))
        {
            assert!(seen.insert(name.to_lowercase(), group).is_none(), "{name} is listed twice");
            for modes in [NORMAL, APPLICATION] {
                let sent = bytes(name, modes).unwrap_or_else(|| panic!("no key {name}"));
                assert!(!sent.is_empty());
                assert_eq!(bytes(&name.to_lowercase(), modes).as_ref(), Some(&sent), "{name}");
                assert_eq!(bytes(&name.to_uppercase(), modes).as_ref(), Some(&sent), "{name}");
                assert_eq!(bytes(names().nth(group).unwrap()[0], modes), Some(sent), "{name}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_name_is_too_strange(name in any::<String>(), cursor: bool, keypad: bool) {
            let modes = Modes { application_cursor: cursor, application_keypad: keypad };
            if let Some(sent) = bytes(&name, modes) {
                prop_assert!(!sent.is_empty());
            }
        }

        #[test]
        fn prefixes_never_panic(name in "([cCmMsS][-+]|\\^|0x|kp_?|f|ctrl-|alt\\+){0,4}[ -~é漢]{0,3}", cursor: bool) {
            let modes = Modes { application_cursor: cursor, application_keypad: !cursor };
            if let Some(sent) = bytes(&name, modes) {
                prop_assert!(!sent.is_empty());
            }
        }

        #[test]
        fn every_character_types_itself(c in any::<char>()) {
            prop_assert_eq!(bytes(&c.to_string(), NORMAL), Some(c.to_string().into_bytes()));
        }

        #[test]
        fn alt_is_an_escape_before(c in any::<char>()) {
            let expected = format!("\x1b{c}").into_bytes();
            prop_assert_eq!(bytes(&format!("M-{c}"), NORMAL), Some(expected));
        }
    }
}
