//! A scanner that finds the JSON objects in a text, in one pass and without recursion.

/// Deepest nesting of a decision.
const DEEPEST: usize = 64;

/// A stretch of text that begins like a JSON object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The object without trailing commas; or how it breaks off.
    pub(super) json: Result<String, String>,
    /// Whether the outermost object has an `action` key, as far as it was read.
    pub(super) has_action: bool,
    /// Whether at least one key and its colon were read: else it is just a brace in prose.
    pub(super) has_key: bool,
}

/// Finds the objects of a text from left to right. A stretch that breaks off is passed over whole, so that every byte
/// is looked at once; what is nested in it is never taken for a decision of its own.
pub(super) fn spans(text: &str) -> impl Iterator<Item = Span> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find('{')?;
        let mut walk = Walk::new(text, start);
        let ended = walk.object();
        at = walk.at.max(start + 1);
        let json = match ended {
            Ok(()) if walk.deepest > DEEPEST => Err(format!("nested deeper than {DEEPEST} levels")),
            Ok(()) => Ok(walk.without_commas(start)),
            Err(problem) => Err(format!("{problem} at byte {}", walk.at)),
        };
        Some(Span { json, has_action: walk.has_action, has_key: walk.has_key })
    })
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A key, or the end of an object.
    Key,
    /// A value, or the end of a list.
    Value,
    /// A comma, or the end of an object or list.
    Comma,
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets; on the heap, so that depth costs memory and no stack.
    open: Vec<u8>,
    deepest: usize,
    /// Where the last comma stands, while nothing came after it.
    comma: Option<usize>,
    /// Trailing commas, to be left out.
    trailing: Vec<usize>,
    has_action: bool,
    has_key: bool,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        let (open, trailing) = (Vec::new(), Vec::new());
        Self { text, at, open, deepest: 0, comma: None, trailing, has_action: false, has_key: false }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Walks from an opening brace to just behind its closing one.
    fn object(&mut self) -> Result<(), &'static str> {
        let mut next = self.enter();
        while !self.open.is_empty() {
            self.space();
            let Some(byte) = self.peek() else { return Err("it breaks off") };
            next = match (next, byte) {
                (_, b'}' | b']') => self.leave(byte)?,
                (Next::Key, b'"') => self.key()?,
                (Next::Key, _) => return Err("a key is expected"),
                (Next::Value, _) => self.value(byte)?,
                (Next::Comma, b',') => self.pass_comma(),
                (Next::Comma, _) => return Err("a comma or the end is expected"),
            };
        }
        Ok(())
    }

    fn enter(&mut self) -> Next {
        let byte = self.peek().unwrap_or(b'{');
        self.open.push(byte);
        self.deepest = self.deepest.max(self.open.len());
        self.comma = None;
        self.at += 1;
        if byte == b'{' { Next::Key } else { Next::Value }
    }

    fn leave(&mut self, byte: u8) -> Result<Next, &'static str> {
        let opened = if byte == b'}' { b'{' } else { b'[' };
        if self.open.last() != Some(&opened) {
            return Err("a bracket closes what is not open");
        }
        self.open.pop();
        self.trailing.extend(self.comma.take());
        self.at += 1;
        Ok(Next::Comma)
    }

    fn pass_comma(&mut self) -> Next {
        self.comma = Some(self.at);
        self.at += 1;
        if self.open.last() == Some(&b'{') { Next::Key } else { Next::Value }
    }

    fn key(&mut self) -> Result<Next, &'static str> {
        self.comma = None;
        let start = self.at;
        self.string()?;
        let key = &self.text[start..self.at];
        self.space();
        if self.peek() != Some(b':') {
            return Err("a colon is expected");
        }
        self.at += 1;
        self.has_key = true;
        self.has_action |= self.open.len() == 1 && key == "\"action\"";
        self.space();
        match self.peek() {
            Some(byte) => self.value(byte),
            None => Err("it breaks off"),
        }
    }

    fn value(&mut self, byte: u8) -> Result<Next, &'static str> {
        self.comma = None;
        match byte {
            b'{' | b'[' => return Ok(self.enter()),
            b'"' => self.string()?,
            _ => self.scalar()?,
        }
        Ok(Next::Comma)
    }

    /// A number or a word; which of them are JSON is left to the parser proper.
    fn scalar(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        if self.at == start { Err("a value is expected") } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), &'static str> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err("it breaks off in a text"),
                Some(b'"') => break,
                Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
                Some(0..=0x1f) => return Err("a line break or control character stands unescaped in a text"),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn without_commas(&self, start: usize) -> String {
        let mut out = String::with_capacity(self.at - start);
        let mut from = start;
        for comma in &self.trailing {
            out.push_str(&self.text[from..*comma]);
            from = comma + 1;
        }
        out.push_str(&self.text[from..self.at]);
        out
    }
}
