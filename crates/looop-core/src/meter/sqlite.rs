//! Rows of an `SQLite` database, from its file and its write-ahead log: as much of the format as it takes to read tables and
//! to look something up in an index. Nothing is locked: whoever reads sees to it that the log was not begun anew
//! meanwhile ([`Database::is_log_of`]).

use std::cell::Cell as Counter;
use std::collections::BTreeMap;

/// Most pages that are read of one database.
const PAGES: usize = 50_000;
/// Longest row.
const LONGEST: usize = 16 << 20;
/// How deep a tree may be.
const DEEPEST: u32 = 24;
/// Bytes before the pages in the log, and before each page in it.
const LOG_HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// The database cannot be read: it is damaged, was changed meanwhile, or is larger than what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// What was read, if it could be.
pub type Read<T> = Result<T, Unreadable>;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, or bytes that are no text.
    Nothing,
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
}

impl Cell {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number as a whole one that is not negative, else 0.
    pub fn count(&self) -> u64 {
        if let Self::Whole(number) = self { u64::try_from(*number).unwrap_or(0) } else { 0 }
    }

    /// The number, else 0.
    #[expect(clippy::cast_precision_loss, reason = "a sum of money")]
    pub fn real(&self) -> f64 {
        match self {
            Self::Real(number) => *number,
            Self::Whole(number) => *number as f64,
            Self::Nothing | Self::Text(_) => 0.0,
        }
    }
}

/// A table or an index.
#[derive(Clone, Debug)]
pub struct Tree {
    root: u32,
    /// The columns of a table in their order.
    pub columns: Vec<String>,
}

impl Tree {
    /// Where a column stands in a row.
    pub fn column(&self, name: &str) -> Read<usize> {
        self.columns.iter().position(|column| column == name).ok_or(Unreadable)
    }
}

/// A database that is open for reading.
pub struct Database<'a> {
    /// Bytes of the file: from where, and how many.
    file: &'a dyn Fn(u64, usize) -> Option<Vec<u8>>,
    log: &'a [u8],
    /// Where the newest committed bytes of a page stand in the log.
    logged: BTreeMap<u32, usize>,
    page: usize,
    /// Bytes of a page that hold something.
    usable: usize,
    left: Counter<usize>,
}

impl<'a> Database<'a> {
    /// Opens a database by its file and the bytes of its log.
    pub fn open(file: &'a dyn Fn(u64, usize) -> Option<Vec<u8>>, log: &'a [u8]) -> Read<Self> {
        let head = file(0, 100).ok_or(Unreadable)?;
        if !head.starts_with(b"SQLite format 3\0") || u32_at(&head, 56)? > 1 {
            return Err(Unreadable);
        }
        let page = match u16_at(&head, 16)? {
            1 => 65536,
            size => size,
        };
        let usable = page.checked_sub(usize::from(byte(&head, 20)?)).filter(|usable| *usable >= 480);
        let usable = usable.ok_or(Unreadable)?;
        Ok(Self { file, log, logged: logged(log, page), page, usable, left: Counter::new(PAGES) })
    }

    /// Whether a log is the same one as before, only longer: else pages of two times were mixed.
    pub fn is_log_of(&self, head: &[u8]) -> bool {
        self.log.len() < LOG_HEAD && head.len() < LOG_HEAD || self.log.get(..LOG_HEAD) == head.get(..LOG_HEAD)
    }

    /// The tables and indexes by name.
    pub fn trees(&self) -> Read<BTreeMap<String, Tree>> {
        let mut trees = BTreeMap::new();
        self.rows(1, DEEPEST, &mut |row| {
            let text = |at: usize| row.get(at).and_then(Cell::text).unwrap_or_default();
            let root = row.get(3).map_or(0, Cell::count);
            if let Ok(root) = u32::try_from(root) {
                trees.insert(text(1).to_owned(), Tree { root, columns: columns(text(4)) });
            }
        })?;
        Ok(trees)
    }

    /// All rows of a table in the order of their numbers.
    pub fn each(&self, table: &Tree, row: &mut dyn FnMut(&[Cell])) -> Read<()> {
        self.rows(table.root, DEEPEST, row)
    }

    fn rows(&self, page: u32, deep: u32, row: &mut dyn FnMut(&[Cell])) -> Read<()> {
        let node = self.node(page, deep)?;
        for at in &node.cells {
            match node.kind {
                Kind::TableInner => self.rows(number(u32_at(&node.bytes, *at)?)?, deep - 1, row)?,
                Kind::TableLeaf => row(&self.row(&node, *at)?.1),
                Kind::IndexInner | Kind::IndexLeaf => return Err(Unreadable),
            }
        }
        node.last.map_or(Ok(()), |last| self.rows(last, deep - 1, row))
    }

    /// The row of a table with this number.
    pub fn row_of(&self, table: &Tree, wanted: u64) -> Read<Vec<Cell>> {
        let mut page = table.root;
        for deep in (1..=DEEPEST).rev() {
            let node = self.node(page, deep)?;
            let mut next = node.last;
            for at in &node.cells {
                match node.kind {
                    Kind::TableInner => {
                        let (largest, _) = varint(&node.bytes, at + 4)?;
                        if wanted <= largest {
                            next = Some(number(u32_at(&node.bytes, *at)?)?);
                            break;
                        }
                    }
                    Kind::TableLeaf => {
                        let (found, row) = self.row(&node, *at)?;
                        if found == wanted {
                            return Ok(row);
                        }
                    }
                    Kind::IndexInner | Kind::IndexLeaf => return Err(Unreadable),
                }
            }
            page = next.ok_or(Unreadable)?;
        }
        Err(Unreadable)
    }

    /// The numbers of the rows whose first key in an index is this text, at most so many.
    pub fn numbers(&self, index: &Tree, key: &str, most: usize) -> Read<Vec<u64>> {
        let mut found = Vec::new();
        self.keys(index.root, DEEPEST, (key, most), &mut found)?;
        Ok(found)
    }

    fn keys(&self, page: u32, deep: u32, (key, most): (&str, usize), found: &mut Vec<u64>) -> Read<()> {
        let node = self.node(page, deep)?;
        let inner = node.kind == Kind::IndexInner;
        if !inner && node.kind != Kind::IndexLeaf {
            return Err(Unreadable);
        }
        for at in &node.cells {
            let from = if inner { at + 4 } else { *at };
            let (size, from) = varint(&node.bytes, from)?;
            let entry =
                record(&self.payload(&node.bytes, (from, size), (self.usable - 12) * 64 / 255 - 23)?)?;
            let own = entry.first().and_then(Cell::text).unwrap_or_default();
            // What is on the left of an entry is not larger than it.
            if inner && own >= key && found.len() < most {
                self.keys(number(u32_at(&node.bytes, *at)?)?, deep - 1, (key, most), found)?;
            }
            if own > key || found.len() >= most {
                return Ok(());
            }
            if own == key {
                found.push(entry.last().map_or(0, Cell::count));
            }
        }
        node.last.map_or(Ok(()), |last| self.keys(last, deep - 1, (key, most), found))
    }

    /// The number and the values of a row in a leaf.
    fn row(&self, node: &Node, at: usize) -> Read<(u64, Vec<Cell>)> {
        let (size, at) = varint(&node.bytes, at)?;
        let (number, at) = varint(&node.bytes, at)?;
        Ok((number, record(&self.payload(&node.bytes, (at, size), self.usable - 35)?)?))
    }

    /// The bytes of an entry, of which not more than `most` stand in its own page.
    fn payload(&self, page: &[u8], (at, size): (usize, u64), most: usize) -> Read<Vec<u8>> {
        let size = usize::try_from(size).ok().filter(|size| *size <= LONGEST).ok_or(Unreadable)?;
        if size <= most {
            return Ok(slice(page, at, size)?.to_vec());
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fit = least + (size - least) % (self.usable - 4);
        let own = if fit <= most { fit } else { least };
        let mut bytes = slice(page, at, own)?.to_vec();
        let mut next = u32_at(page, at + own)?;
        while bytes.len() < size {
            let more = self.bytes(number(next)?)?;
            let count = (size - bytes.len()).min(self.usable - 4);
            bytes.extend_from_slice(slice(&more, 4, count)?);
            next = u32_at(&more, 0)?;
        }
        Ok(bytes)
    }

    fn bytes(&self, page: u32) -> Read<Vec<u8>> {
        self.left.set(self.left.get().checked_sub(1).ok_or(Unreadable)?);
        if let Some(at) = self.logged.get(&page) {
            return Ok(slice(self.log, *at, self.page)?.to_vec());
        }
        let at = u64::from(page.checked_sub(1).ok_or(Unreadable)?) * self.page as u64;
        (self.file)(at, self.page).filter(|bytes| bytes.len() == self.page).ok_or(Unreadable)
    }

    fn node(&self, page: u32, deep: u32) -> Read<Node> {
        let bytes = if deep == 0 { Err(Unreadable) } else { self.bytes(page) }?;
        // The first page begins with the head of the file.
        let at = if page == 1 { 100 } else { 0 };
        let kind = match byte(&bytes, at)? {
            2 => Kind::IndexInner,
            5 => Kind::TableInner,
            10 => Kind::IndexLeaf,
            13 => Kind::TableLeaf,
            _ => return Err(Unreadable),
        };
        let inner = matches!(kind, Kind::IndexInner | Kind::TableInner);
        let last = if inner { Some(number(u32_at(&bytes, at + 8)?)?) } else { None };
        let first = at + if inner { 12 } else { 8 };
        let cells = (0..u16_at(&bytes, at + 3)?).map(|cell| u16_at(&bytes, first + 2 * cell));
        Ok(Node { kind, cells: cells.collect::<Read<_>>()?, last, bytes })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    IndexInner,
    TableInner,
    IndexLeaf,
    TableLeaf,
}

/// A page of a tree: where its entries stand, and the page to the right of all of them.
struct Node {
    kind: Kind,
    cells: Vec<usize>,
    last: Option<u32>,
    bytes: Vec<u8>,
}

/// Where the newest committed bytes of each page stand in a log. A frame whose sum is wrong is from an earlier use of the
/// file, or is being written.
fn logged(log: &[u8], page: usize) -> BTreeMap<u32, usize> {
    let (mut all, mut open) = (BTreeMap::new(), BTreeMap::new());
    let (Some(head), Some(salts)) = (log.get(..24), log.get(16..24)) else { return all };
    let high_first = head[3] & 1 == 1;
    let mut sum = summed((0, 0), head, high_first);
    let size = FRAME_HEAD + page;
    for frame in log.get(LOG_HEAD..).unwrap_or_default().chunks_exact(size).enumerate() {
        let (at, bytes) = (LOG_HEAD + frame.0 * size, frame.1);
        sum = summed(summed(sum, &bytes[..8], high_first), &bytes[FRAME_HEAD..], high_first);
        let stated = (u32_at(bytes, 16), u32_at(bytes, 20));
        let (Ok(number), Ok(commit)) = (u32_at(bytes, 0), u32_at(bytes, 4)) else { return all };
        if &bytes[8..16] != salts || stated != (Ok(u64::from(sum.0)), Ok(u64::from(sum.1))) {
            return all;
        }
        open.insert(u32::try_from(number).unwrap_or(0), at + FRAME_HEAD);
        if commit > 0 {
            all.append(&mut open);
        }
    }
    all
}

/// The sum of the log goes on over these bytes, two numbers at a time.
fn summed(sum: (u32, u32), bytes: &[u8], high_first: bool) -> (u32, u32) {
    let number = |four: &[u8]| {
        let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        if high_first { four.iter().fold(0, add) } else { four.iter().rev().fold(0, add) }
    };
    bytes.chunks_exact(8).fold(sum, |(first, second), pair| {
        let first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
        (first, second.wrapping_add(number(&pair[4..])).wrapping_add(first))
    })
}

/// The values of a row.
fn record(bytes: &[u8]) -> Read<Vec<Cell>> {
    let (head, mut at) = varint(bytes, 0)?;
    let head = usize::try_from(head).map_err(|_| Unreadable)?;
    let (mut cells, mut from) = (Vec::new(), head);
    while at < head {
        let (kind, next) = varint(bytes, at)?;
        at = next;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).map_err(|_| Unreadable)?,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return Err(Unreadable),
            _ => usize::try_from((kind - 12) / 2).map_err(|_| Unreadable)?,
        };
        let value = slice(bytes, from, length)?;
        from += length;
        cells.push(match kind {
            8 => Cell::Whole(0),
            9 => Cell::Whole(1),
            1..=6 => Cell::Whole(whole(value)),
            7 => Cell::Real(f64::from_bits(whole(value).cast_unsigned())),
            13.. if kind % 2 == 1 => Cell::Text(String::from_utf8_lossy(value).into_owned()),
            _ => Cell::Nothing,
        });
    }
    Ok(cells)
}

/// A number with its sign, the highest byte first.
fn whole(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|first| *first >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(start, |number, byte| number << 8 | i64::from(*byte))
}

/// The names of the columns in the text by which a table was made.
fn columns(sql: &str) -> Vec<String> {
    let Some((_, inner)) = sql.split_once('(') else { return Vec::new() };
    let (mut parts, mut deep) = (vec![String::new()], 0_u32);
    for letter in inner.chars() {
        match letter {
            '(' => deep += 1,
            ')' if deep == 0 => break,
            ')' => deep -= 1,
            ',' if deep == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().into_iter().for_each(|part| part.push(letter));
    }
    let name = |part: &String| {
        let first = part.split_whitespace().next()?.to_owned();
        let is_rule = ["CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK"].contains(&first.as_str());
        (!is_rule).then(|| first.trim_matches(['`', '"', '[', ']']).to_owned())
    };
    parts.iter().filter_map(name).collect()
}

fn slice(bytes: &[u8], at: usize, count: usize) -> Read<&[u8]> {
    bytes.get(at..at.saturating_add(count)).ok_or(Unreadable)
}

fn byte(bytes: &[u8], at: usize) -> Read<u8> {
    bytes.get(at).copied().ok_or(Unreadable)
}

fn u16_at(bytes: &[u8], at: usize) -> Read<usize> {
    let two = slice(bytes, at, 2)?;
    Ok(usize::from(two[0]) << 8 | usize::from(two[1]))
}

fn u32_at(bytes: &[u8], at: usize) -> Read<u64> {
    Ok(slice(bytes, at, 4)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The number of a page.
fn number(page: u64) -> Read<u32> {
    u32::try_from(page).map_err(|_| Unreadable)
}

/// A number of one to nine bytes, and where it ends.
fn varint(bytes: &[u8], at: usize) -> Read<(u64, usize)> {
    let mut number = 0;
    for count in 0..8 {
        let byte = byte(bytes, at + count)?;
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Ok((number, at + count + 1));
        }
    }
    Ok((number << 8 | u64::from(byte(bytes, at + 8)?), at + 9))
}
