//! What is never handed to the parser, because it could run out of stack or time there, or panic.
//!
//! The parser descends once a nesting and goes back on some mistakes, so that a short text can cost exponential time.
//! These checks are linear and err on the side of refusing: a refused text is unknown.

use brush_parser::Token;

/// The longest text that is looked at.
pub(super) const LONGEST: usize = 64 * 1024;
/// How deep groups, loops and branches may nest.
const DEPTH: usize = 32;
/// How deep subshells may nest: the parser tries several readings of each parenthesis.
const PARENTHESES: usize = 10;
/// How many substitutions a text may hold, nested or not.
const SUBSTITUTIONS: usize = 192;
/// How many substitutions one word may hold.
const IN_WORD: usize = 48;
/// How many arithmetic expansions and computed subscripts one word may hold.
const ARITHMETIC: usize = 6;
const SUBSCRIPTS: usize = 2;

/// Why a text is not even cut into tokens.
pub(super) fn refuse_text(text: &str) -> Option<&'static str> {
    if text.len() > LONGEST {
        return Some("is longer than 64 KiB");
    }
    if text.chars().any(|char| char.is_control() && char != '\n' && char != '\t') {
        return Some("holds control characters");
    }
    if bracket_depth(text) > DEPTH {
        return Some("is nested too deep");
    }
    if substitutions(text) > SUBSTITUTIONS {
        return Some("holds too many substitutions");
    }
    None
}

/// Why tokens are not handed to the parser.
pub(super) fn refuse_tokens(tokens: &[Token]) -> Option<&'static str> {
    if token_depth(tokens) {
        return Some("is nested too deep");
    }
    if document_in_word(tokens) {
        return Some("holds << inside an expansion");
    }
    let mut nots = 0;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word, _) = token else {
            nots = 0;
            continue;
        };
        nots = if word == "!" { nots + 1 } else { 0 };
        if nots > DEPTH {
            return Some("is nested too deep");
        }
        if let Some(why) = refuse_word(word) {
            return Some(why);
        }
        if bad_descriptor(token, tokens.get(at + 1)) {
            return Some("names an impossible file descriptor");
        }
    }
    None
}

/// Why a word is not taken apart.
pub(super) fn refuse_word(word: &str) -> Option<&'static str> {
    if substitutions(word) > IN_WORD || bracket_depth(word) > DEPTH {
        return Some("holds a word that is nested too deep");
    }
    if word.matches("((").count() + word.matches("$[").count() > ARITHMETIC && word.contains('$') {
        return Some("holds too much arithmetic in one word");
    }
    if computed_subscripts(word) > SUBSCRIPTS {
        return Some("holds nested subscripts");
    }
    if has_long_tilde_number(word) {
        return Some("names an impossible folder");
    }
    None
}

/// The deepest nesting of brackets, quoted ones counted too.
fn bracket_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut before = ' ';
    for char in text.chars() {
        match char {
            '(' => depth += 1,
            '{' | '[' if before == '$' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        before = char;
    }
    deepest
}

/// How many substitutions there are, plain `$x` and `${x}` left out.
fn substitutions(text: &str) -> usize {
    let opened = text.matches("$(").count() + text.matches("<(").count() + text.matches(">(").count();
    let ticks = text.matches('`').count() / 2;
    let braced = text.match_indices("${").filter(|(at, _)| !is_simple_name(&text[at + 2..])).count();
    opened + ticks + braced + text.matches("$[").count()
}

/// Whether what follows `${` is a name and its closing brace.
fn is_simple_name(rest: &str) -> bool {
    let name = rest.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '_');
    name.starts_with('}')
}

/// Subscripts such as in `${a[…]}` and `a[…]` that are more than a name or a number.
fn computed_subscripts(word: &str) -> usize {
    word.match_indices('[')
        .filter(|(at, _)| {
            let named = word[..*at].ends_with(|char: char| char.is_ascii_alphanumeric() || char == '_');
            let simple = |char: char| char.is_ascii_alphanumeric() || "_@*$-+ ".contains(char);
            named && !word[at + 1..].trim_start_matches(simple).starts_with(']')
        })
        .count()
        .min(if word.contains("${") || word.contains("((") || word.contains("$[") || word.contains('=') {
            usize::MAX
        } else {
            0
        })
}

fn has_long_tilde_number(word: &str) -> bool {
    word.match_indices('~').any(|(at, _)| {
        let digits = word[at + 1..].trim_start_matches(['+', '-']);
        digits.chars().take_while(char::is_ascii_digit).count() > 8
    })
}

/// A descriptor right before a redirection that is no small number.
fn bad_descriptor(word: &Token, next: Option<&Token>) -> bool {
    let (Token::Word(text, at), Some(Token::Operator(operator, then))) = (word, next) else { return false };
    let digits = text.chars().all(|char| char.is_ascii_digit());
    let redirects = operator.starts_with(['<', '>']) && at.end.index == then.start.index;
    digits && redirects && (text.is_empty() || text.len() > 8)
}

/// Whether `<<` was taken for a here-document inside `${…}`, where it is none: its word then comes after it, but starts
/// before it.
fn document_in_word(tokens: &[Token]) -> bool {
    let starts = |token: &Token| match token {
        Token::Operator(_, at) | Token::Word(_, at) => at.start.index,
    };
    let mut latest = None;
    tokens.iter().any(|token| {
        let start = starts(token);
        let inside = latest.is_some_and(|operator| start < operator);
        if matches!(token, Token::Operator(operator, _) if operator.starts_with("<<")) {
            latest = latest.max(Some(start));
        }
        inside
    })
}

/// Whether groups nest too deep. Words count as openers anywhere, as closers only where a command may begin.
fn token_depth(tokens: &[Token]) -> bool {
    let (mut depth, mut parentheses) = (0_usize, 0_usize);
    let mut begins = true;
    for token in tokens {
        match token {
            Token::Operator(operator, _) => {
                match operator.as_str() {
                    "(" => parentheses += 1,
                    ")" => parentheses = parentheses.saturating_sub(1),
                    _ => {}
                }
                begins = true;
            }
            Token::Word(word, _) => {
                let closes = matches!(word.as_str(), "}" | "fi" | "done" | "esac");
                match word.as_str() {
                    "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[" | "coproc" => {
                        depth += 1;
                    }
                    "]]" => depth = depth.saturating_sub(1),
                    _ if closes && begins => depth = depth.saturating_sub(1),
                    _ => {}
                }
                begins = closes && begins;
            }
        }
        if depth > DEPTH || parentheses > PARENTHESES {
            return true;
        }
    }
    false
}
