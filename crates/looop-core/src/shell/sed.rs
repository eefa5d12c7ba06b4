//! Whether a sed script only edits what passes through it.

use super::call::Call;

pub(super) const VALUED: &[&str] = &["-e", "-f", "-l", "--expression", "--file", "--line-length"];

/// Whether the script comes as an option, so that all operands are files.
pub(super) fn has_script_option(call: &Call) -> bool {
    call.value(&["-e", "--expression", "-f", "--file"]).is_some() || clustered(call)
}

/// Why a sed script could do more than edit.
pub(super) fn doubt(call: &Call) -> Option<&'static str> {
    if call.value(&["-f", "--file"]).is_some() || clustered(call) {
        return Some("takes its script from elsewhere");
    }
    let mut scripts: Vec<_> = call
        .args
        .iter()
        .enumerate()
        .filter_map(|(at, arg)| {
            let (start, _) = arg.known_start();
            match start.as_str() {
                "-e" | "--expression" => call.args.get(at + 1).cloned(),
                _ if start.starts_with("--expression=") => Some(arg.without_start("--expression=".len())),
                _ if start.starts_with("-e") => Some(arg.without_start(2)),
                _ => None,
            }
        })
        .collect();
    if scripts.is_empty() {
        scripts.extend(call.operands(VALUED).first().map(|(_, arg)| (*arg).clone()));
    }
    scripts.iter().find_map(|script| match script.literal() {
        // A script with variables in it is common; only its known text can be looked at, and a value cannot be trusted.
        None => Some("runs a script that is only known then"),
        Some(text) => script_doubt(&text),
    })
}

/// Options such as `-ne` hide a script in a cluster.
fn clustered(call: &Call) -> bool {
    call.args.iter().any(|arg| {
        let (start, _) = arg.known_start();
        let flags = start.strip_prefix('-').unwrap_or_default();
        !flags.starts_with(['-', 'i', 'e', 'f']) && flags.len() > 1 && flags.contains(['e', 'f'])
    })
}

fn script_doubt(script: &str) -> Option<&'static str> {
    let mut rest = Script { chars: script.chars().collect(), at: 0 };
    while rest.at < rest.chars.len() {
        rest.skip(|char| char.is_whitespace() || ";{}".contains(char));
        rest.addresses();
        if let Some(why) = rest.command() {
            return Some(why);
        }
    }
    None
}

struct Script {
    chars: Vec<char>,
    at: usize,
}

impl Script {
    fn next(&mut self) -> Option<char> {
        let char = self.chars.get(self.at).copied();
        self.at += 1;
        char
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip(&mut self, matches: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&matches) {
            self.at += 1;
        }
    }

    /// Skips to the closing delimiter of a section.
    fn section(&mut self, delimiter: char) {
        while let Some(char) = self.next() {
            if char == '\\' {
                self.at += 1;
            } else if char == delimiter {
                return;
            }
        }
    }

    fn addresses(&mut self) {
        loop {
            match self.peek() {
                Some('/') => {
                    self.at += 1;
                    self.section('/');
                    self.skip(|char| char == 'I' || char == 'M');
                }
                Some('\\') => {
                    self.at += 1;
                    if let Some(delimiter) = self.next() {
                        self.section(delimiter);
                        self.skip(|char| char == 'I' || char == 'M');
                    }
                }
                Some(char) if char.is_ascii_digit() || "$,~+! \t".contains(char) => self.at += 1,
                _ => return,
            }
        }
    }

    fn command(&mut self) -> Option<&'static str> {
        match self.next()? {
            's' => {
                let delimiter = self.next()?;
                self.section(delimiter);
                self.section(delimiter);
                self.flags()
            }
            'y' => {
                let delimiter = self.next()?;
                self.section(delimiter);
                self.section(delimiter);
                None
            }
            'e' => Some("runs another program"),
            'w' | 'W' => Some("writes a file"),
            // Text and names go to the end of the line.
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                self.skip(|char| char != '\n');
                None
            }
            'b' | 't' | 'T' | ':' => {
                self.skip(|char| !";}\n".contains(char));
                None
            }
            'p' | 'P' | 'd' | 'D' | 'q' | 'Q' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' | '=' | 'z'
            | 'F' | '}' | '{' | ';' => None,
            _ => Some("runs a script that cannot be read"),
        }
    }

    fn flags(&mut self) -> Option<&'static str> {
        while let Some(flag) = self.peek().filter(|char| !";}\n \t#".contains(*char)) {
            match flag {
                'e' => return Some("runs another program"),
                'w' => return Some("writes a file"),
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => self.at += 1,
                _ => return Some("runs a script that cannot be read"),
            }
        }
        None
    }
}
