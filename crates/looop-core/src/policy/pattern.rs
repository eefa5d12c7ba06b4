//! Patterns of commands: which words a granted command may have.
//!
//! A pattern is a list like the words of a command. The words in front that stand for themselves and have no `/` must be
//! there first: an option in front of a verb often means something else than one behind it. After them each option of the command must be listed, in whatever order, and the other words must fit in turn:
//!
//! | element | fits |
//! | --- | --- |
//! | `pr` | this word |
//! | `*` | one word that is no option; at the end of the list it may be missing |
//! | `<name>` | the same of letters, digits, `.`, `_` and `-` alone |
//! | `**` | any number of words that are no options; at the end of the list |
//! | `--web` | this option, without a value |
//! | `--json=*` | this option with any value, as `--json=x` or as two words, where the second is no option |
//! | `a/<name>`, `--b=x*` | within a word or a value both stand for one or more such characters |

use serde::{Serialize, Serializer};

use super::valid::program_fault;
use crate::shown::is_hidden;

/// Most elements of a pattern.
const ELEMENTS: usize = 200;
/// Programs that run whatever they are told, or other programs.
const OPEN: [&str; 22] = [
    "awk", "bash", "busybox", "dash", "doas", "env", "find", "ksh", "lua", "nice", "node", "nohup", "perl",
    "php", "python", "python3", "ruby", "sh", "sudo", "timeout", "xargs", "zsh",
];

/// A pattern of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: Vec<String>,
    /// The words in front that stand for themselves; the program is the first.
    lead: Vec<String>,
    /// What the words after them must be, in turn.
    words: Vec<Word>,
    options: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Fits(Glob),
    Any,
    Rest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    name: String,
    value: Option<Glob>,
}

/// What is wrong with a pattern: which element, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its place in the list, from 0.
    pub at: usize,
    /// Why.
    pub why: String,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(source: &[String]) -> Result<Self, Fault> {
        let fault = |at: usize, why: &str| Err(Fault { at, why: why.to_owned() });
        let Some(program) = source.first() else { return fault(0, "the command is empty") };
        if let Some(why) = program_fault(program) {
            return fault(0, why);
        }
        if source.len() > ELEMENTS {
            return fault(ELEMENTS, "is one too many: a command has 200 words at most");
        }
        let mut pattern =
            Self { source: source.to_vec(), lead: Vec::new(), words: Vec::new(), options: Vec::new() };
        for (at, element) in source.iter().enumerate() {
            pattern.take(element).map_err(|why| Fault { at, why: why.to_owned() })?;
        }
        if OPEN.contains(&program.as_str()) && pattern.is_open() {
            return fault(0, "runs whatever it is told: write every word of its command out");
        }
        Ok(pattern)
    }

    fn take(&mut self, element: &str) -> Result<(), &'static str> {
        if element.is_empty() || element.chars().any(is_hidden) {
            return Err("is empty, or has a character that is not shown");
        }
        if matches!(self.words.last(), Some(Word::Rest)) && !element.starts_with('-') {
            return Err("cannot follow **, which takes all words that are no options");
        }
        match element {
            "*" => self.words.push(Word::Any),
            "**" => self.words.push(Word::Rest),
            "-" | "--" => return Err("cannot be granted: it changes what the next words are"),
            option if option.starts_with('-') => self.options.push(Choice::parse(option)?),
            word => {
                let glob = Glob::parse(word)?;
                match glob.literal() {
                    Some(literal) if self.words.is_empty() && !literal.contains('/') => {
                        self.lead.push(literal);
                    }
                    _ => self.words.push(Word::Fits(glob)),
                }
            }
        }
        Ok(())
    }

    /// Whether it leaves any word to who writes the command.
    fn is_open(&self) -> bool {
        !self.words.is_empty() || self.options.iter().any(|option| option.value.is_some())
    }

    /// The program.
    pub fn program(&self) -> &str {
        self.lead.first().map_or("", String::as_str)
    }

    /// The pattern as a list of texts.
    pub fn source(&self) -> &[String] {
        &self.source
    }

    /// Whether a command fits; else the place of its first word that does not, which is its length where words are missing.
    pub fn fits(&self, argv: &[String]) -> Result<(), usize> {
        let wrong = self.lead.iter().zip(argv).position(|(literal, word)| literal != word);
        if let Some(at) = wrong.or_else(|| (argv.len() < self.lead.len()).then_some(argv.len())) {
            return Err(at);
        }
        let mut words = self.words.iter();
        let mut at = self.lead.len();
        while let Some(word) = argv.get(at) {
            if word.starts_with('-') {
                at += self.option(word, argv.get(at + 1)).ok_or(at)?;
                continue;
            }
            let fits = match words.as_slice().first() {
                Some(Word::Fits(glob)) => glob.fits(word),
                Some(Word::Any | Word::Rest) => !word.is_empty(),
                None => false,
            };
            if !fits {
                return Err(at);
            }
            if !matches!(words.as_slice(), [Word::Rest]) {
                words.next();
            }
            at += 1;
        }
        let may_be_missing = |word: &Word| match word {
            Word::Any | Word::Rest => true,
            Word::Fits(glob) => glob.0 == [Piece::Name],
        };
        if words.all(may_be_missing) { Ok(()) } else { Err(argv.len()) }
    }

    /// How many words an option takes, if it is listed.
    fn option(&self, word: &str, next: Option<&String>) -> Option<usize> {
        self.options.iter().find_map(|choice| {
            let Some(value) = &choice.value else { return (choice.name == word).then_some(1) };
            if choice.name == word {
                let next = next.filter(|next| !next.starts_with('-') && value.fits(next))?;
                return Some(1).filter(|_| !next.is_empty()).map(|one| one + 1);
            }
            // What follows a short option is its value to some programs and further options to others.
            let given = word.strip_prefix(choice.name.as_str()).filter(|_| choice.name.starts_with("--"))?;
            given.strip_prefix('=').filter(|given| value.fits(given)).map(|_| 1)
        })
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.source.join(" "))
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

impl Choice {
    fn parse(element: &str) -> Result<Self, &'static str> {
        let (name, value) = match element.split_once('=') {
            Some((name, value)) => (name, Some(Glob::parse(value)?)),
            None => (element, None),
        };
        if name.contains(['*', '<', '>']) {
            return Err("names no option: write the option out");
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

/// A word or a value with parts that are left open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Is(char),
    /// One or more characters.
    Any,
    /// One or more letters, digits, `.`, `_`, `-`.
    Name,
}

impl Piece {
    fn takes(self, char: char) -> bool {
        match self {
            Self::Is(own) => own == char,
            Self::Any => true,
            Self::Name => char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-'),
        }
    }
}

impl Glob {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("has an empty value");
        }
        if text.contains("**") {
            return Err("** stands alone");
        }
        // A bucket is no host.
        let place = text.split_once("://").filter(|(scheme, _)| !matches!(*scheme, "s3" | "gs"));
        let place = place.map(|(scheme, rest)| [scheme, rest.split('/').next().unwrap_or(rest)]);
        if place.is_some_and(|place| place.iter().any(|part| part.contains(['*', '<', '@']))) {
            return Err("leaves the host open: write it out, up to the / after it");
        }
        let mut pieces = Vec::new();
        let mut left = text;
        while let Some(char) = left.chars().next() {
            if let Some(rest) = left.strip_prefix("<name>") {
                pieces.push(Piece::Name);
                left = rest;
                continue;
            }
            pieces.push(match char {
                '*' => Piece::Any,
                '<' => return Err("has a < that is not <name>"),
                char => Piece::Is(char),
            });
            left = &left[char.len_utf8()..];
        }
        Ok(Self(pieces))
    }

    fn literal(&self) -> Option<String> {
        let char = |piece: &Piece| if let Piece::Is(char) = piece { Some(*char) } else { None };
        self.0.iter().map(char).collect()
    }

    /// Whether a text fits. All ways to read it are followed at once, so that the work is bounded.
    fn fits(&self, text: &str) -> bool {
        let climbs = || text.split('/').any(|part| matches!(part, "." | ".."));
        if self.0.contains(&Piece::Name) && climbs() {
            return false;
        }
        let mut at = vec![false; self.0.len() + 1];
        at[0] = true;
        for char in text.chars() {
            let mut next = vec![false; at.len()];
            for (place, piece) in self.0.iter().enumerate().filter(|(place, _)| at[*place]) {
                if piece.takes(char) {
                    next[place + 1] = true;
                    next[place] |= !matches!(piece, Piece::Is(_));
                }
            }
            at = next;
        }
        at.last() == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(&words(text)).unwrap()
    }

    #[test]
    fn each_element_fits_what_it_says() {
        let table: [(&str, &[&str], &[&str]); 11] = [
            (
                "gh pr list *",
                &["gh pr list", "gh pr list x"],
                &["gh pr", "gh pr list x y", "gh pr list -w", "gh pr view"],
            ),
            (
                "gh pr view * --json=*",
                &["gh pr view 1 --json a", "gh pr view --json=a 1", "gh pr view --json=-a", "gh pr view"],
                &[
                    "gh --json=a pr view 1",
                    "gh pr view 1 --json",
                    "gh pr view 1 --json -w",
                    "gh pr view 1 --jsonx=a",
                    "gh pr view 1 --json=",
                    "gh pr view 1 --web",
                ],
            ),
            (
                "k get pods ** -o=json -A",
                &["k get pods", "k get pods a b -A", "k get pods -o json"],
                &[
                    "k get pods -o=json",
                    "k get pods -ojson",
                    "k get pods -o yaml",
                    "k get pods -A=x",
                    "k get pods --",
                    "k get pods - a",
                ],
            ),
            (
                "k get pods <name>",
                &["k get pods", "k get pods a-1"],
                &["k get pods s/x", "k get pods a b", "k get pods a,b"],
            ),
            ("a * end", &["a x end"], &["a x", "a end", "a x end y"]),
            (
                "curl https://h.org/ -I",
                &["curl -I https://h.org/", "curl https://h.org/ -I"],
                &["curl https://h.org/x", "curl -I"],
            ),
            (
                "curl https://h.org/*",
                &["curl https://h.org/a?b=c"],
                &["curl https://h.org/", "curl https://h.org", "curl http://h.org/a", "curl"],
            ),
            (
                "gh x --repo=<name>/<name>",
                &["gh x --repo a/b", "gh x --repo=a-1/.github"],
                &[
                    "gh x --repo h.org/a/b",
                    "gh x --repo git@h.org:a/b",
                    "gh x --repo a/..",
                    "gh x --repo /b",
                    "gh x --repo a/",
                ],
            ),
            ("p <name>-*x", &["p a-bx", "p a-b-xx"], &["p a-x", "p -ax", "p a/b-cx"]),
            ("p -q", &["p", "p -q", "p -q -q"], &["p -qq", "p q"]),
            ("p *", &["p a=b", "p @x"], &["p -", "p --x"]),
        ];
        for (source, fit, unfit) in table {
            for text in fit {
                assert_eq!(pattern(source).fits(&words(text)), Ok(()), "{source}: {text}");
            }
            for text in unfit {
                assert!(pattern(source).fits(&words(text)).is_err(), "{source}: {text}");
            }
        }
        let argv = [words("p"), vec![String::new()]].concat();
        assert_eq!(pattern("p *").fits(&argv), Err(1), "an empty word");
    }

    #[test]
    fn the_first_word_that_does_not_fit_is_named() {
        let table =
            [("gh pr merge 1", 2), ("gh pr list --web", 3), ("gh pr", 2), ("gh pr list x --json a y", 6)];
        for (text, at) in table {
            assert_eq!(pattern("gh pr list * --json=*").fits(&words(text)), Err(at), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_pattern_is_named() {
        let table: [(&[&str], usize, &str); 19] = [
            (&[], 0, "the command is empty"),
            (&["/bin/gh"], 0, "without its folder"),
            (&["*"], 0, "cannot be the name of a program"),
            (&["gh", ""], 1, "is empty"),
            (&["gh", "a\u{202e}"], 1, "not shown"),
            (&["gh", "**", "x"], 2, "cannot follow **"),
            (&["gh", "--"], 1, "cannot be granted"),
            (&["gh", "-"], 1, "cannot be granted"),
            (&["gh", "--j*=x"], 1, "write the option out"),
            (&["gh", "--json="], 1, "empty value"),
            (&["gh", "a**"], 1, "** stands alone"),
            (&["gh", "<number>"], 1, "not <name>"),
            (&["curl", "https://*/x"], 1, "leaves the host open"),
            (&["curl", "*://h.org/x"], 1, "leaves the host open"),
            (&["curl", "https://h.org*"], 1, "leaves the host open"),
            (&["curl", "--url=https://x@h.org/*"], 1, "leaves the host open"),
            (&["bash", "-c=*"], 0, "runs whatever it is told"),
            (&["python3", "*"], 0, "runs whatever it is told"),
            (&["env", "**"], 0, "runs whatever it is told"),
        ];
        for (source, at, why) in table {
            let source: Vec<String> = source.iter().map(|word| (*word).to_owned()).collect();
            let fault = Pattern::parse(&source).unwrap_err();
            assert!(fault.at == at && fault.why.contains(why), "{source:?}: {fault:?}");
        }
        pattern("python3 -c --version report.py");
    }

    /// The definition, slowly.
    fn slow(pieces: &[Piece], text: &[char]) -> bool {
        match (pieces.first(), text.first()) {
            (None, None) => true,
            (Some(piece), Some(char)) if piece.takes(*char) => {
                slow(&pieces[1..], &text[1..]) || !matches!(piece, Piece::Is(_)) && slow(pieces, &text[1..])
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_glob_is_what_its_definition_says(source in "[ab]{0,2}(\\*|<name>|a|/){1,4}", text in "[ab/ ]{0,8}") {
            prop_assume!(!source.contains("**"));
            let glob = Glob::parse(&source).unwrap();
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(glob.fits(&text), slow(&glob.0, &chars));
        }

        #[test]
        fn no_option_fits_that_is_not_listed(words in prop::collection::vec("[ab=-]{1,4}", 0..6)) {
            let argv: Vec<String> = std::iter::once("p".to_owned()).chain(words).collect();
            let listed = |word: &String| word == "-a" || word == "--b" || word.starts_with("--b=");
            if pattern("p ** -a --b=*").fits(&argv).is_ok() {
                prop_assert!(argv.iter().filter(|word| word.starts_with('-')).all(listed), "{:?}", argv);
            }
        }
    }
}
