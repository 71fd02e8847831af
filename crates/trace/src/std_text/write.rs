//! Writes text.

use std::io::{self, Write};

use super::{BUFFER, BYTE_ORDER_MARK};
use crate::conventions::DIRECTIVE;
use crate::opcode::{self, OPERATIONS};
use crate::{Conventions, Event, Names, SiteId};

/// Writes text, a buffer at a time.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    buffer: Vec<u8>,
    /// Nothing was written yet.
    at_start: bool,
}

impl<W: Write> Writer<W> {
    /// Writes to `sink`, which needs no buffer of its own, a trace that says nothing about itself.
    pub fn new(sink: W) -> Self {
        Writer { sink, buffer: Vec::new(), at_start: true }
    }

    /// The same for a trace that may say something about itself.
    pub fn with_conventions(sink: W, conventions: &Conventions) -> Self {
        if conventions.is_empty() {
            return Writer::new(sink);
        }
        let buffer = format!("{DIRECTIVE}{conventions}\n").into_bytes();
        Writer { sink, buffer, at_start: false }
    }

    /// Appends events. A name that text cannot express (an empty one, or a site that is neither
    /// a number nor `file:line` nor `module+0xoffset`) is an error of kind [`io::ErrorKind::InvalidData`].
    pub fn write(&mut self, names: &Names, events: &[Event]) -> io::Result<()> {
        for &event in events {
            let Some((code, target)) = opcode::encode(event.op) else { continue };
            self.event(names, event, code, target)?;
            if self.buffer.len() >= BUFFER {
                self.sink.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    /// Writes a comment of one line, which readers skip.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        self.at_start = false;
        let line = text.replace(['\n', '\r'], " ");
        self.buffer.extend_from_slice(format!("# {line}\n").as_bytes());
        Ok(())
    }

    /// Hands everything on to the sink, and flushes it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        self.sink.flush()
    }

    /// Writes what is left and gives the sink back.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.sink)
    }

    fn event(&mut self, names: &Names, event: Event, code: u8, target: u32) -> io::Result<()> {
        let out = &mut self.buffer;
        let thread = names.threads.get(event.thread);
        if std::mem::take(&mut self.at_start) && thread.starts_with(BYTE_ORDER_MARK) {
            // The reader takes one byte order mark off; the name's own must survive.
            out.extend_from_slice(BYTE_ORDER_MARK.as_bytes());
        }
        let text = thread.trim_start_matches([' ', '\t']);
        if text.starts_with('#') {
            // It would read as a comment.
            out.extend_from_slice(&thread.as_bytes()[..thread.len() - text.len()]);
            out.push(b'\\');
            escape(out, text)?;
        } else {
            escape(out, thread)?;
        }
        out.push(b'|');

        let operation = OPERATIONS[usize::from(code)];
        out.extend_from_slice(operation.keyword.as_bytes());
        if let Some(name) = opcode::target_name(names, operation.target, target) {
            out.push(b'(');
            escape(out, name)?;
            out.push(b')');
        }
        out.push(b'|');

        if event.site == SiteId::NONE {
            out.push(b'0');
        } else {
            let site = names.sites.get(event.site);
            if !is_site(site) {
                let problem =
                    format!("the site `{site}` is neither a number nor file:line nor module+0xoffset");
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            escape(out, site)?;
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Whether a site's name can be written as text.
fn is_site(site: &str) -> bool {
    let file = site.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &site[file.len()..];
    let in_range = number.len() < 20 || number.parse::<u64>().is_ok();
    let is_line =
        !number.is_empty() && in_range && (file.is_empty() || file.len() > 1 && file.ends_with(':'));
    is_line || super::is_offset(site)
}

fn escape(out: &mut Vec<u8>, name: &str) -> io::Result<()> {
    if name.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a name is empty"));
    }
    if !name.bytes().any(|byte| matches!(byte, b'|' | b'\n' | b'\r' | b'\\')) {
        out.extend_from_slice(name.as_bytes());
        return Ok(());
    }
    for byte in name.bytes() {
        match byte {
            b'|' => out.extend_from_slice(b"\\p"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte => out.push(byte),
        }
    }
    Ok(())
}
