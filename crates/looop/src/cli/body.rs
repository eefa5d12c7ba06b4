//! Bodies: given as words, or read from stdin when absent or `-`.

use std::io::{IsTerminal, Read};

use crate::failure::{Failure, Result};

/// Longest body taken from stdin.
const MOST: u64 = 1 << 20;

/// The body that the words or stdin give. An empty one is refused.
pub(super) fn body(words: &[String], what: &str) -> Result<String> {
    let text = if words.is_empty() || words == ["-"] { from_stdin(what)? } else { words.join(" ") };
    if text.trim().is_empty() {
        return Err(Failure::new(format!("the {what} is empty, so nothing was written"))
            .hint(format!("give the {what} as an argument, or pipe it in")));
    }
    Ok(text)
}

fn from_stdin(what: &str) -> Result<String> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        super::print::say(&format!("type the {what}, then Ctrl-D:"));
    }
    let mut bytes = Vec::new();
    let read = (&mut stdin).take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("cannot read the {what} from stdin: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::new(format!("the {what} is longer than 1 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::new(format!("the {what} is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })
}
