//! Reads text.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::cache::{Cache, Key, WINDOW, field};
use super::fault::Fault;
use super::{BUFFER, BYTE_ORDER_MARK, LONGEST_LINE};
use crate::conventions::DIRECTIVE;
use crate::opcode::{self, OPERATIONS, Target};
use crate::{Error, Event, Names, Op, Place, SiteId, ThreadId};

/// How much is read at first. Most traces in tests fit, and need no large tables either.
const FIRST_BUFFER: usize = 1 << 13;

/// Reads text, one buffer of whole lines at a time.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    /// What errors call the input.
    file: String,
    /// `buffer[..filled]` was read and is not parsed yet. It starts where a line starts.
    buffer: Vec<u8>,
    filled: usize,
    /// The source has no more to give.
    ended: bool,
    /// Returned by the next call, and every call after it.
    failed: Option<Error>,
    /// Nothing was parsed yet: a byte order mark may stand here.
    at_start: bool,
    /// Events of all blocks but the last.
    events: u64,
    lines: Lines,
    parser: Parser,
}

impl<R: Read> Reader<R> {
    /// Reads from `source`, which errors call `file`.
    pub fn new(file: &str, source: R) -> Self {
        Reader {
            source,
            file: file.to_owned(),
            buffer: vec![0; FIRST_BUFFER],
            filled: 0,
            ended: false,
            failed: None,
            at_start: true,
            events: 0,
            lines: Lines { first: 1, next: 1, skipped: Vec::new() },
            parser: Parser::new(),
        }
    }

    /// Replaces `block` by the next events; false when there are no more. Events that stand
    /// before an error are handed on first; then every call returns the error.
    pub fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        block.clear();
        self.lines.first = self.lines.next;
        self.lines.skipped.clear();
        while block.is_empty() {
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            let whole = self.fill();
            if whole == 0 && self.failed.is_none() {
                return Ok(false);
            }
            self.parse(whole, block);
            self.buffer.copy_within(whole..self.filled, 0);
            if self.filled == self.buffer.len() && self.filled < BUFFER {
                self.buffer.resize(BUFFER, 0);
                self.parser.enlarge();
            }
            self.filled -= whole;
        }
        self.events += block.len() as u64;
        Ok(true)
    }

    /// The names of an earlier reading of the same trace, which keep their ids. To be called before the first block.
    pub fn know(&mut self, names: Names) {
        self.parser.names = names;
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        &self.parser.names
    }

    /// Gives the names away.
    pub fn into_names(self) -> Names {
        self.parser.names
    }

    /// Where event `index` of the last block stands.
    pub fn place(&self, index: usize) -> Place {
        Place::Line(self.lines.of_event(index), 1)
    }

    /// Reads until there is a whole line. Says where the last whole line ends, 0 at the end.
    fn fill(&mut self) -> usize {
        loop {
            if self.ended {
                // The last line of a file may lack its line end.
                return self.filled;
            }
            if self.filled == self.buffer.len() {
                if self.filled >= LONGEST_LINE {
                    self.fail(Fault::long_line(LONGEST_LINE), "");
                    return 0;
                }
                self.buffer.resize(self.filled * 2, 0);
            }
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    let new = self.filled..self.filled + count;
                    self.filled = new.end;
                    if let Some(at) = memrchr(b'\n', &self.buffer[new.clone()]) {
                        return new.start + at + 1;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let place = Place::Line(self.lines.next, 1);
                    self.failed = Some(Error::reading(&self.file, place, &error, self.events));
                    return 0;
                }
            }
        }
    }

    /// Parses the whole lines in front of the buffer.
    fn parse(&mut self, whole: usize, block: &mut Vec<Event>) {
        let bytes = &self.buffer[..whole];
        // What is not UTF-8 spoils its own line, not those before it.
        let (text, spoilt) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                let lines = memrchr(b'\n', valid).map_or(0, |at| at + 1);
                let valid = std::str::from_utf8(valid).unwrap_or_default();
                (&valid[..lines], Some((&valid[lines..], rest[0])))
            }
        };
        let mut text_of_lines = text;
        if std::mem::take(&mut self.at_start) {
            text_of_lines = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        let fault = self.parser.lines(text_of_lines, block, &mut self.lines);
        let fault = fault.or_else(|| {
            let (line, byte) = spoilt?;
            Some((Fault::not_utf8(line.len(), byte), line))
        });
        if let Some((fault, line)) = fault {
            self.failed = Some(fault.into_error(&self.file, self.lines.next, line));
        }
    }

    #[cold]
    fn fail(&mut self, fault: Fault, line: &str) {
        self.failed = Some(fault.into_error(&self.file, self.lines.next, line));
    }
}

/// Which lines the events of the last block stand on. Most lines hold an event: only those that
/// do not are remembered.
#[derive(Debug)]
struct Lines {
    /// The number of the block's first line.
    first: u64,
    /// The number of the line behind those parsed so far.
    next: u64,
    /// For each run of lines without an event: the index of the event behind it, and how many
    /// such lines the block has up to there.
    skipped: Vec<(usize, u64)>,
}

impl Lines {
    /// The next line holds no event; `events` of the block stand before it.
    fn skip(&mut self, events: usize) {
        match self.skipped.last_mut() {
            Some((before, total)) if *before == events => *total += 1,
            last => {
                let total = last.map_or(0, |&mut (_, total)| total) + 1;
                self.skipped.push((events, total));
            }
        }
    }

    /// Whether the next line is the first of all; `events` of the block stand before it.
    fn at_first(&self, events: usize) -> bool {
        self.first == 1 && events == 0 && self.skipped.is_empty()
    }

    fn of_event(&self, index: usize) -> u64 {
        let runs = self.skipped.partition_point(|&(before, _)| before <= index);
        let skipped = runs.checked_sub(1).map_or(0, |run| self.skipped[run].1);
        self.first + index as u64 + skipped
    }
}

/// Turns lines into events.
#[derive(Debug)]
struct Parser {
    names: Names,
    /// Whether the text at hand has a backslash at all.
    escapes: Escapes,
    /// What recent fields stood for. Only fields of lines that hold an event are in here.
    threads: Cache<ThreadId>,
    operations: Cache<Op>,
    sites: Cache<SiteId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Escapes {
    Nowhere,
    Somewhere,
}

impl Parser {
    /// With caches for a short trace.
    fn new() -> Self {
        Parser {
            names: Names::default(),
            escapes: Escapes::Nowhere,
            threads: Cache::new(4, ThreadId(0)),
            operations: Cache::new(7, Op::Skip),
            sites: Cache::new(6, SiteId::NONE),
        }
    }

    /// With caches for a long trace: large enough to help, small enough for the second-level
    /// cache.
    fn enlarge(&mut self) {
        self.threads = Cache::new(8, ThreadId(0));
        self.operations = Cache::new(14, Op::Skip);
        self.sites = Cache::new(12, SiteId::NONE);
    }

    /// Appends the events of whole lines, up to the first line that is wrong: that one is
    /// returned with what is wrong with it.
    fn lines<'a>(
        &mut self,
        text: &'a str,
        block: &mut Vec<Event>,
        lines: &mut Lines,
    ) -> Option<(Fault, &'a str)> {
        let bytes = text.as_bytes();
        self.escapes = if memchr(b'\\', bytes).is_some() { Escapes::Somewhere } else { Escapes::Nowhere };
        let mut start = 0;
        let mut fault = None;
        while start < bytes.len() {
            if let Some((event, end)) = self.short_line(text, start) {
                block.push(event);
                start = end;
                continue;
            }
            let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
            let line = &text[start..end];
            let line = line.strip_suffix('\r').unwrap_or(line);
            match self.line(line) {
                Ok(Some(event)) => block.push(event),
                Ok(None) => {
                    if is_directive(line) && !lines.at_first(block.len()) {
                        fault = Some((Fault::late_conventions(), line));
                        break;
                    }
                    lines.skip(block.len());
                }
                Err(wrong) => {
                    fault = Some((*wrong, line));
                    break;
                }
            }
            start = end + 1;
        }
        lines.next = lines.of_event(block.len());
        fault
    }

    /// The event of the line that begins at `start`, and where the next line begins, if the
    /// line is an event and its fields are short: the common case. All others go to
    /// [`Parser::line`], which also finds the words for what is wrong.
    #[inline(always)]
    fn short_line(&mut self, text: &str, start: usize) -> Option<(Event, usize)> {
        let bytes = text.as_bytes();
        if bytes.len() - start < 3 * WINDOW {
            return None;
        }
        let window = |at: usize| bytes[at..].first_chunk::<WINDOW>();

        let (length, key) = field(window(start)?, b'|')?;
        let thread = match self.threads.get(key) {
            Some(thread) => thread,
            None => self.new_thread(&text[start..start + length], key)?,
        };
        let start = start + length + 1;
        let (length, key) = field(window(start)?, b'|')?;
        let op = match self.operations.get(key) {
            Some(op) => op,
            None => self.new_operation(&text[start..start + length], key)?,
        };
        let start = start + length + 1;
        let (length, key) = field(window(start)?, b'\n')?;
        let site = match self.sites.get(key) {
            Some(site) => site,
            None => self.new_site(&text[start..start + length], key)?,
        };
        Some((Event { thread, op, site }, start + length + 1))
    }

    /// A thread that the cache does not have. The text may be something else altogether, even
    /// more than a line.
    fn new_thread(&mut self, field: &str, key: Key) -> Option<ThreadId> {
        if field.contains('\n') || field.starts_with(['#', ' ', '\t']) {
            return None;
        }
        let thread = self.thread(field, 0).ok()?;
        self.threads.put(key, thread);
        Some(thread)
    }

    fn new_operation(&mut self, field: &str, key: Key) -> Option<Op> {
        if field.contains('\n') {
            return None;
        }
        let op = self.operation(field, 0).ok()?;
        self.operations.put(key, op);
        Some(op)
    }

    fn new_site(&mut self, field: &str, key: Key) -> Option<SiteId> {
        let site = self.site(field.strip_suffix('\r').unwrap_or(field), 0).ok()?;
        self.sites.put(key, site);
        Some(site)
    }

    /// The event of one line; none if the line is blank or a comment.
    fn line(&mut self, line: &str) -> Result<Option<Event>, Box<Fault>> {
        let bytes = line.as_bytes();
        if let None | Some(b'#' | b' ' | b'\t') = bytes.first()
            && let rest = line.trim_start_matches([' ', '\t'])
            && (rest.is_empty() || rest.starts_with('#'))
        {
            return Ok(None);
        }
        let Some(first_bar) = find(b'|', bytes) else { return Err(Fault::fields(line)) };
        let Some(length) = find(b'|', &bytes[first_bar + 1..]) else { return Err(Fault::fields(line)) };
        let second_bar = first_bar + 1 + length;

        let thread = self.thread(&line[..first_bar], 0)?;
        let op = self.operation(&line[first_bar + 1..second_bar], first_bar + 1)?;
        let site = self.site(line, second_bar + 1)?;
        Ok(Some(Event { thread, op, site }))
    }

    fn thread(&mut self, field: &str, at: usize) -> Result<ThreadId, Box<Fault>> {
        if field.is_empty() {
            return Err(Fault::empty_thread(at));
        }
        Ok(self.names.threads.intern(&unescape(field, at, self.escapes)?))
    }

    fn operation(&mut self, field: &str, at: usize) -> Result<Op, Box<Fault>> {
        let bytes = field.as_bytes();
        let open = find(b'(', bytes);
        let Some(mut code) = code_of(&bytes[..open.unwrap_or(bytes.len())]) else {
            return Err(Fault::unknown_operation(field, at));
        };
        let argument = match open {
            Some(open) if bytes.ends_with(b")") => &field[open + 1..bytes.len() - 1],
            None if OPERATIONS[usize::from(code)].target == Target::Nothing => "",
            _ => return Err(Fault::parentheses(field, code, at)),
        };
        let argument_at = at + open.map_or(0, |open| open + 1);
        if argument.is_empty() {
            return match OPERATIONS[usize::from(code)].target {
                Target::Nothing => Ok(opcode::decode(code, 0)),
                _ => Err(Fault::empty_target(field, code, argument_at)),
            };
        }
        let name = unescape(argument, argument_at, self.escapes)?;
        if code == opcode::BEGIN {
            code = opcode::BEGIN_LABELLED;
        }
        let names = &mut self.names;
        let target = match OPERATIONS[usize::from(code)].target {
            Target::Variable => names.variables.intern(&name).0,
            Target::Lock => names.locks.intern(&name).0,
            Target::Thread => names.threads.intern(&name).0,
            Target::Barrier => names.barriers.intern(&name).0,
            Target::Region => names.regions.intern(&name).0,
            // `end(label)`: blocks nest, so the label says nothing new.
            Target::Nothing => 0,
        };
        Ok(opcode::decode(code, target))
    }

    /// The site, which is the rest of the line: a number, or anything that ends in `:number` or `+0xnumber`.
    fn site(&mut self, line: &str, at: usize) -> Result<SiteId, Box<Fault>> {
        let field = &line[at..];
        if super::is_offset(field) && !field.contains('|') {
            return Ok(self.names.sites.intern(&unescape(field, at, self.escapes)?));
        }
        let bytes = field.as_bytes();
        let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let number = &field[bytes.len() - digits..];
        if number.is_empty() {
            return Err(Fault::site(line, at));
        }
        // 19 digits always fit.
        let significant = number.trim_start_matches('0');
        if significant.len() > 19 && significant.parse::<u64>().is_err() {
            return Err(Fault::out_of_range(number, at + bytes.len() - digits));
        }
        if digits == bytes.len() {
            return Ok(match significant {
                "" => SiteId::NONE,
                number => self.names.sites.intern(number),
            });
        }
        let file = &bytes[..bytes.len() - digits];
        if !file.ends_with(b":") || file.len() == 1 || file.contains(&b'|') {
            return Err(Fault::site(line, at));
        }
        Ok(self.names.sites.intern(&unescape(field, at, self.escapes)?))
    }
}

/// Whether a comment is what a trace says about itself (`input.rs` reads it).
fn is_directive(comment: &str) -> bool {
    comment.trim_start_matches([' ', '\t']).split([' ', '\t']).next() == Some(DIRECTIVE.trim_end())
}

/// Fields are short: a plain loop beats a vectorised search.
#[inline(always)]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == byte)
}

/// The code of a keyword. (`begin` is the one without a label.)
#[inline]
fn code_of(keyword: &[u8]) -> Option<u8> {
    const fn key_of(keyword: &[u8]) -> u64 {
        // The leading 1 tells keywords of different lengths apart.
        let mut key = 1;
        let mut i = 0;
        while i < keyword.len() {
            key = key << 8 | keyword[i] as u64;
            i += 1;
        }
        key
    }
    macro_rules! codes {
        ($($code:literal)*) => {{
            if keyword.len() > 7 {
                return None;
            }
            match key_of(keyword) {
                $(key if key == const { key_of(OPERATIONS[$code].keyword.as_bytes()) } => Some($code),)*
                _ => None,
            }
        }};
    }
    codes!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 20 21 22 23 24 25)
}

/// What an escaped field stands for.
#[inline]
fn unescape(field: &str, at: usize, escapes: Escapes) -> Result<Cow<'_, str>, Box<Fault>> {
    if escapes == Escapes::Nowhere || !field.contains('\\') {
        return Ok(Cow::Borrowed(field));
    }
    let mut plain = String::with_capacity(field.len());
    let mut rest = field;
    while let Some(backslash) = rest.find('\\') {
        plain.push_str(&rest[..backslash]);
        let escaped = rest[backslash + 1..].chars().next();
        plain.push(match escaped {
            Some('p') => '|',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('\\') => '\\',
            Some('#') => '#',
            _ => return Err(Fault::escape(escaped, at + field.len() - rest.len() + backslash)),
        });
        rest = &rest[backslash + 2..];
    }
    plain.push_str(rest);
    Ok(Cow::Owned(plain))
}
