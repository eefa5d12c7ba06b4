//! The programs that a person's shell text seems to call: for messages and for guesses at cost, never for a decision
//! about what may run.

use std::collections::BTreeSet;

/// How deep texts within texts are followed.
const DEPTH: usize = 8;
/// Words after which a command begins.
const BEFORE: [&str; 11] = ["!", "{", "do", "elif", "else", "exec", "if", "then", "time", "until", "while"];
/// Words after which none does, up to the end of the command.
const APART: [&str; 4] = ["case", "for", "function", "select"];
/// Programs that run the command behind their options.
const WRAPPERS: [&str; 8] = ["env", "nice", "nohup", "setsid", "stdbuf", "sudo", "timeout", "xargs"];
/// Shells: what follows `-c` is such a text again.
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// The programs that a text seems to call, as they are written. One whose name the shell makes up is left out.
pub fn calls(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    look(text, 0, &mut found);
    found.retain(|name| !name.is_empty() && !name.contains(['$', '`']) && name != "}");
    found
}

fn look(text: &str, depth: usize, found: &mut BTreeSet<String>) {
    if depth > DEPTH {
        return;
    }
    let mut reader = Reader { left: text, ends: Vec::new(), inner: Vec::new() };
    let mut command = Vec::new();
    let mut groups = 0_usize;
    while let Some(token) = reader.next() {
        match token {
            Token::Word(word) => command.push(word),
            // A word right before a parenthesis names a function, and one outside a group before its end is a pattern.
            Token::Opens => {
                command.clear();
                groups += 1;
            }
            Token::Closes if groups == 0 => command.clear(),
            Token::Closes => {
                head(&std::mem::take(&mut command), depth, found);
                groups -= 1;
            }
            Token::Ends => head(&std::mem::take(&mut command), depth, found),
        }
    }
    head(&command, depth, found);
    for inner in std::mem::take(&mut reader.inner) {
        look(inner, depth + 1, found);
    }
}

/// Takes the program of one command, and those that it runs in turn.
fn head(words: &[String], depth: usize, found: &mut BTreeSet<String>) {
    let is_set = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut words = words.iter().map(String::as_str).skip_while(|word| is_set(word) || BEFORE.contains(word));
    let Some(name) = words.next() else { return };
    if APART.contains(&name) {
        return;
    }
    found.insert(name.to_owned());
    let rest: Vec<String> = words.map(str::to_owned).collect();
    let program = name.rsplit('/').next().unwrap_or(name);
    if WRAPPERS.contains(&program) {
        let own = |word: &&String| {
            word.starts_with('-') || is_set(word) || word.starts_with(|c: char| c.is_ascii_digit())
        };
        head(&rest.iter().skip_while(own).cloned().collect::<Vec<_>>(), depth, found);
    }
    if SHELLS.contains(&program)
        && let Some(at) = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'))
        && let Some(text) = rest.get(at + 1)
    {
        look(text, depth + 1, found);
    }
}

fn is_name(text: &str) -> bool {
    let text = text.strip_suffix('+').unwrap_or(text);
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

enum Token {
    Word(String),
    /// The end of a command.
    Ends,
    /// An opening parenthesis.
    Opens,
    /// A closing one.
    Closes,
}

struct Reader<'a> {
    left: &'a str,
    /// The last lines of here-documents that begin with the next line.
    ends: Vec<String>,
    /// Texts that the shell runs inside words.
    inner: Vec<&'a str>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            self.left = self.left.trim_start_matches([' ', '\t', '\r']);
            let char = self.left.chars().next()?;
            match char {
                '#' => self.left = self.left.find('\n').map_or("", |at| &self.left[at..]),
                '\\' if self.left.starts_with("\\\n") => self.left = &self.left[2..],
                '<' | '>' => self.redirection(),
                '\n' => {
                    self.left = &self.left[1..];
                    self.skip_documents();
                    return Some(Token::Ends);
                }
                ';' | '&' | '|' | '(' | ')' => {
                    self.left = &self.left[1..];
                    return Some(match char {
                        '(' => Token::Opens,
                        ')' => Token::Closes,
                        _ => Token::Ends,
                    });
                }
                _ => return Some(Token::Word(self.word())),
            }
        }
    }

    /// Passes over a redirection and its file.
    fn redirection(&mut self) {
        let operator =
            &self.left[..self.left.len() - self.left.trim_start_matches(['<', '>', '&', '|', '-']).len()];
        self.left = self.left[operator.len()..].trim_start_matches([' ', '\t']);
        if self.left.starts_with('(') {
            return;
        }
        let file = if self.left.starts_with(['\n', ';', ')']) { String::new() } else { self.word() };
        if matches!(operator, "<<" | "<<-") {
            self.ends.push(file);
        }
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.ends) {
            while !self.left.is_empty() {
                let (line, rest) = self.left.split_once('\n').unwrap_or((self.left, ""));
                self.left = rest;
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    /// Reads a word: quotes are taken off, what the shell would run inside is kept apart.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut quoted = false;
        while let Some(char) = self.left.chars().next() {
            if !quoted && matches!(char, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                break;
            }
            let after = &self.left[char.len_utf8()..];
            self.left = after;
            match char {
                '"' => quoted = !quoted,
                '\'' if !quoted => {
                    let (inside, rest) = after.split_once('\'').unwrap_or((after, ""));
                    word.push_str(inside);
                    self.left = rest;
                }
                '\\' => {
                    word.extend(after.chars().next().filter(|next| *next != '\n'));
                    self.left =
                        after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
                }
                '$' if after.starts_with('(') => {
                    let end = closing(after);
                    self.inner.push(&after[1..end]);
                    self.left = after.get(end + 1..).unwrap_or_default();
                    word.push('$');
                }
                '`' => {
                    let (inside, rest) = after.split_once('`').unwrap_or((after, ""));
                    self.inner.push(inside);
                    self.left = rest;
                    word.push('`');
                }
                other => word.push(other),
            }
        }
        // A character that ends a word at its start is passed over by the caller.
        word
    }
}

/// Where the parenthesis that a text begins with is closed.
fn closing(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 1 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn programs_are_found_where_commands_begin() {
        let table = [
            ("cat x | no-such-agent", "cat no-such-agent"),
            ("echo a > b && agent -p {{prompt_file}}", "agent echo"),
            ("A=1 env B=2 agent", "agent env"),
            ("timeout 5 nice -n 3 agent x", "agent nice timeout"),
            ("bash -c 'cat | agent'", "agent bash cat"),
            ("cat \"$(agent x)\" `other`", "agent cat other"),
            ("$AGENT x; \"$LOOOP_BIN\" ask", ""),
            ("if test -e x; then make; else ! ninja; fi", "fi make ninja test"),
            ("for x in a b; do run $x; done", "done run"),
            ("case $x in a) one;; b) two;; esac", "esac one two"),
            ("cat <<E > out\nagent x\nE\nlast", "cat last"),
            ("cat <<-'E'\n\tagent\n\tE\nlast # agent", "cat last"),
            ("a \\\n  b\n# agent\nexec c 2>&1", "a c"),
            ("(cd x && make) &", "cd make"),
            ("x() { run; }", "run"),
            ("/opt/bin/agent 'a;b' \"c|d\"", "/opt/bin/agent"),
            ("echo it\\'s; done-it", "done-it echo"),
            ("x=$(date) y=1 agent", "agent date"),
        ];
        for (text, expected) in table {
            let found: Vec<String> = calls(text).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_comes_to_an_end(text in "[a $`'\"\\\\()<>|&;#\n-]{0,60}") {
            calls(&text);
        }
    }
}
