//! What a screen shows of a text.

use std::num::NonZero;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::kernel::look::tail_of;
use crate::kernel::{Look, Reads, look};

const GONE: Look = Look { stands: false, up: 0, open: false, mark: 0, cursor: (0, 0), reads: Reads::Lines };

const fn stands(up: u16) -> Look {
    Look { stands: true, up, ..GONE }
}

const fn open(up: u16) -> Look {
    Look { stands: true, up, open: true, ..GONE }
}

/// Without what tells one place from another.
fn bare(look: Look) -> Look {
    Look { mark: 0, cursor: (0, 0), ..look }
}

/// A screen as drawn; the cursor is at `▮`.
fn screen(drawn: &str) -> (Vec<String>, (u16, u16)) {
    let lines: Vec<&str> = drawn.trim_matches('\n').split('\n').collect();
    let row = lines.iter().position(|line| line.contains('▮')).expect("a cursor");
    let left = lines[row].split('▮').next().unwrap();
    let cursor = (u16::try_from(row).unwrap(), u16::try_from(left.width()).unwrap());
    (lines.iter().map(|line| line.replace('▮', "")).collect(), cursor)
}

fn seen(drawn: &str, text: &str) -> Look {
    let (lines, cursor) = screen(drawn);
    look(&lines, cursor, &tail_of(text))
}

#[test]
fn screens() {
    let long = "please look at the failing test in crates/looop-session and tell me what is wrong with it";
    let table: &[(&str, &str, &str, Look)] = &[
        ("a shell", "host:~$ ls -l▮", "ls -l", stands(0)),
        ("a shell that ran it", "host:~$ echo hi\nhi\nhost:~$ ▮", "echo hi", GONE),
        ("its output is the text", "$ echo hi\nhi\n$ ▮", "hi", GONE),
        ("a shell that waits", "host:~$ sleep 9\n▮", "sleep 9", GONE),
        ("a bare prompt that waits", "$ sleep 9\n▮", "sleep 9", stands(1)),
        ("a suggestion behind the cursor", "$ git st▮atus", "git st", stands(0)),
        ("an older text", "$ git st▮atus", "git status", GONE),
        ("a question", "Go on? [y/N] y▮", "y", stands(0)),
        ("something else is asked for", "> one\nname: ▮", "one", GONE),
        ("a character without width", "> fix it▮", "fix\u{200b} it", stands(0)),
        ("an empty screen", "▮", "x", GONE),
        ("wide characters", "> 漢字を書く▮ですか", "漢字を書く", stands(0)),
        (
            "a boxed composer",
            "
 ✻ Welcome!

╭──────────────────────────────────────╮
│ > fix the build▮                     │
╰──────────────────────────────────────╯
  ? for shortcuts",
            "fix the build",
            stands(0),
        ),
        (
            "a boxed composer with the cursor below",
            "
 ✻ Welcome!

╭──────────────────────────────────────╮
│ > fix the build                      │
╰──────────────────────────────────────╯
  ? for shortcuts        1% context left
▮",
            "fix the build",
            stands(3),
        ),
        (
            "a boxed composer after the text was taken",
            "
> fix the build

✳ Thinking… (esc to interrupt)

╭──────────────────────────────────────╮
│ > ▮                                  │
╰──────────────────────────────────────╯
  ? for shortcuts",
            "fix the build",
            GONE,
        ),
        (
            "the same with the cursor below",
            "
> fix the build

╭──────────────────────────────────────╮
│ >                                    │
╰──────────────────────────────────────╯
▮",
            "fix the build",
            GONE,
        ),
        (
            "a hint in the empty composer",
            "
> fix the build

────────────────────────────────────────
> Try \"edit the tests\"
────────────────────────────────────────
▮",
            "fix the build",
            GONE,
        ),
        (
            "a composer without a prompt",
            "
┃
┃  fix the build▮
┃
┃  Build  Model",
            "fix the build",
            stands(0),
        ),
        (
            "a long line with the cursor below",
            "
╭──────────────────────────────────────────────────────────────────────╮
│ > please look at the failing test in crates/looop-session and tell   │
│   me what is wrong with it                                           │
╰──────────────────────────────────────────────────────────────────────╯
▮",
            long,
            stands(2),
        ),
        (
            "wrapped over three rows of a box",
            "
╭────────────────────────────────╮
│ > please look at the failing   │
│   test in crates/looop-session │
│   and tell me what is wrong    │
│   with it▮                     │
╰────────────────────────────────╯",
            long,
            stands(0),
        ),
        (
            "wrapped over rows of eight cells",
            "
$ please
 look at
 the fai
ling tes
t in cra
tes/looo
p-sessio
n and te
ll me wh
at is wr
ong with
 it▮",
            long,
            stands(0),
        ),
        (
            "only the end is shown",
            "
╭────────────────────────────────────────╮
│ > …session and tell me what is wrong with it▮ │
╰────────────────────────────────────────╯",
            long,
            stands(0),
        ),
        (
            "lines in a composer",
            "
› one
  two
  three▮

  100% context left",
            "one\ntwo\nthree",
            stands(0),
        ),
        (
            "a line break was typed into it",
            "
› one
  ▮

  100% context left",
            "one",
            open(1),
        ),
        (
            "a line break in a box",
            "
╭──────────────╮
│ > one        │
│   ▮          │
╰──────────────╯",
            "one",
            open(1),
        ),
        (
            "a line break in a box with the cursor below",
            "
╭──────────────╮
│ > one        │
│              │
╰──────────────╯
▮",
            "one",
            open(3),
        ),
        (
            "a line break between blocks",
            "
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
 * one
   two
   three lines
   ▮
▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
 workspace",
            "one\ntwo\nthree lines",
            open(1),
        ),
        (
            "rules around an empty field without a prompt",
            "
 please say hello

 Hello!
────────────────────────
▮
────────────────────────
~/work",
            "please say hello",
            open(4),
        ),
        ("a quote that is not closed", "$ echo 'one\n> ▮", "echo 'one", GONE),
        ("an echo by the terminal", "hello\n▮", "hello", stands(1)),
        ("an echo and an answer", "hello\nhello\n▮", "hello", stands(1)),
        ("a block as cursor", "> fix it█▮", "fix it", stands(0)),
        (
            "a word of a status line",
            "
╭────╮
│ >  │
╰────╯
 press any key
▮",
            "y",
            GONE,
        ),
        (
            "a short text above a status line",
            "
╭────╮
│ > y│
╰────╯
 press any key
▮",
            "y",
            stands(3),
        ),
        (
            "a long paste that is shown in short",
            "
╭───────────────────────────────────╮
│ > [Pasted text #1 +12 lines]▮     │
╰───────────────────────────────────╯",
            long,
            stands(0),
        ),
        ("another form of it", "› [Pasted Content 2412 chars]▮\n\n  send", long, stands(0)),
        ("a third form of it", "────\n[paste #1 +30 lines]▮\n────", long, stands(0)),
        (
            "a pane on the right",
            "the 42nd      │here> please lo\n$             │ok at it▮",
            "please look at it",
            stands(0),
        ),
        (
            "a pane on the left",
            "here> please lo│the 42nd\nok at it▮       │$",
            "please look at it",
            stands(0),
        ),
        (
            "another text in a pane",
            "the 42nd      │here> please lo\n$             │ok at▮",
            "please look at it",
            GONE,
        ),
        ("brackets that mean nothing", "› see [1]▮", long, GONE),
        ("too far above", "> one\na\nb\nc\nd\ne\nf\ng\nh\ni\n▮", "one", GONE),
        ("nothing to look for", "> ▮", " \t\n", GONE),
    ];
    for (what, drawn, text, expected) in table {
        assert_eq!(bare(seen(drawn, text)), *expected, "{what}");
    }
}

/// Before Enter, after Enter, and whether the text was left.
#[test]
fn judgements() {
    let boxed = |inside: &str| format!("╭──────────╮\n{inside}\n╰──────────╯\n  hint\n▮");
    let table: &[(&str, String, String, &str, bool)] = &[
        ("a shell runs it", "host:~$ ls▮".into(), "host:~$ ls\na\nhost:~$ ▮".into(), "ls", false),
        ("a shell waits", "$ sleep 9▮".into(), "$ sleep 9\n▮".into(), "sleep 9", false),
        ("a program reads lines", "hello▮".into(), "hello\nhello\n▮".into(), "hello", false),
        ("a program reads lines unechoed", "▮".into(), "hello\n▮".into(), "hello", false),
        ("a prompt reads lines", "> hello▮".into(), "> hello\n▮".into(), "hello", false),
        ("a quote is open", "$ echo 'a▮".into(), "$ echo 'a\n> ▮".into(), "echo 'a", false),
        ("nothing happened", "$ ls▮".into(), "$ ls▮".into(), "ls", true),
        ("something else happened", "a\n> hi▮".into(), "b\nc\n> hi▮".into(), "hi", true),
        (
            "the composer took it",
            boxed("│ > hi     │"),
            format!("> hi\n\n{}", boxed("│ >        │")),
            "hi",
            false,
        ),
        ("the composer kept it", boxed("│ > hi     │"), format!("*\n{}", boxed("│ > hi     │")), "hi", true),
        ("it broke the line", boxed("│ > hi     │"), boxed("│ > hi     │\n│          │"), "hi", true),
        ("it broke the line at the cursor", "› hi▮".into(), "› hi\n  ▮".into(), "hi", true),
        ("it was shown late", "› ▮".into(), "› hi▮".into(), "hi", true),
        ("it was shown late and broke the line", "› ▮".into(), "› hi\n  ▮".into(), "hi", true),
        ("a conversation was shown late", "┃  ▮".into(), "┃  hi\n┃\n\n┃\n┃  ▮".into(), "hi", false),
        ("a conversation without prompts", "┃  hi▮".into(), "┃  hi\n┃\n\n┃\n┃  ▮".into(), "hi", false),
        ("a password", "Password: ▮".into(), "Password: \nWelcome\n$ ▮".into(), "secret", false),
        ("a paste in short", "> [Pasted text #1]▮".into(), "> [Pasted text #1]▮".into(), "hi", true),
        ("a paste in short was taken", "> [Pasted text #1]▮".into(), "> hi\n\n> ▮".into(), "hi", false),
    ];
    for (what, before, after, text, left) in table {
        assert_eq!(seen(after, text).is_left(seen(before, text)), *left, "{what}");
    }
}

#[test]
fn the_tail_is_the_end_of_the_last_line_that_shows() {
    let table = [
        ("hello", "hello"),
        ("one two", "onetwo"),
        ("one\ntwo", "two"),
        ("one\n \n\n", "one"),
        ("", ""),
        ("───", ""),
        ("0123456789 0123456789 0123456789 0123456789", "89012345678901234567890123456789"),
    ];
    for (text, tail) in table {
        assert_eq!(tail_of(text), tail, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_screen_is_too_strange(
        lines in proptest::collection::vec("[ -~│─█漢é\u{301}\u{200b}\t]{0,12}", 0..8),
        cursor in (0_u16..12, 0_u16..20),
        tail in "[ -~│漢\u{301}]{0,40}",
    ) {
        let look = look(&lines, cursor, &tail);
        prop_assert!(look.up <= cursor.0);
        prop_assert!(look.stands || bare(look) == GONE);
    }

    /// However a text wraps and whatever prompt is before it, it is seen at the cursor; without it, it is not.
    #[test]
    fn a_typed_text_is_seen(text in "[a-z漢é ]{0,80}[a-z漢é]", prompt in "(host:~)?[$>] ", columns in 8_u16..60) {
        let typed = format!("{prompt}{text}");
        let (lines, cursor) = wrapped(&typed, columns);
        prop_assert_eq!(bare(look(&lines, cursor, &tail_of(&text))), stands(0));
        let (lines, cursor) = wrapped(&prompt, columns);
        prop_assert_eq!(bare(look(&lines, cursor, &tail_of(&text))), GONE);
    }
}

/// A text as a terminal of so many columns shows it, and where its cursor is then.
fn wrapped(text: &str, columns: u16) -> (Vec<String>, (u16, u16)) {
    let mut terminal = vt100::Parser::new(NonZero::new(40).unwrap(), NonZero::new(columns).unwrap(), 0);
    terminal.process(text.as_bytes());
    (terminal.screen().rows(0, columns).collect(), terminal.screen().cursor_position())
}
