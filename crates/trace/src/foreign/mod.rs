//! Reads the logs of other tools, to be converted: RAPID's CSV, and RoadRunner's textual log as RAPID reads it.
//!
//! As strict as the readers of our own formats: a line that is wrong is an error with its place, where RAPID skips it.

mod csv;
mod roadrunner;

use std::io::{self, BufRead, Read};

use crate::{AccessKind, Error, ErrorKind, Event, Mode, Names, Op, Place, SiteId};

/// A line may have so many bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// Events of a block, about.
const BLOCK: usize = 1 << 14;

/// How another tool stores traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// One column per thread, one event per line: `,,acq(l)`.
    Csv,
    /// `@  Rd(1,Test.x)  note  Test.java:12`. Lines that do not begin with @ are RoadRunner's own messages.
    RoadRunner,
}

/// What is wrong with a line: at which byte, what was found and expected, what to do.
type Fault = (usize, String, &'static str);

/// A log being read, block by block.
pub struct Reader<R> {
    source: R,
    format: Foreign,
    file: String,
    names: Names,
    line: u64,
    failed: Option<Error>,
}

impl<R: BufRead> Reader<R> {
    /// Reads from `source`, which errors call `file`.
    pub fn new(format: Foreign, file: &str, source: R) -> Self {
        Reader { source, format, file: file.to_owned(), names: Names::default(), line: 0, failed: None }
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Replaces `block` by the next events; false when there are no more. What stands before an error is handed on first.
    pub fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        block.clear();
        let mut text = Vec::new();
        while block.len() < BLOCK && self.failed.is_none() {
            text.clear();
            let read = self.source.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut text);
            self.line += 1;
            match read {
                Ok(0) => break,
                Ok(_) => self.take(&text, block),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.line -= 1,
                Err(error) => {
                    self.failed = Some(Error::reading(&self.file, Place::Line(self.line, 1), &error, 0));
                }
            }
        }
        match (&self.failed, block.is_empty()) {
            (Some(error), true) => Err(error.clone()),
            (_, is_empty) => Ok(!is_empty),
        }
    }

    fn take(&mut self, text: &[u8], block: &mut Vec<Event>) {
        let is_long = text.len() as u64 > LONGEST_LINE;
        let line = std::str::from_utf8(text).map_err(|error| {
            (
                error.valid_up_to(),
                "found bytes that are not UTF-8, expected text".to_owned(),
                "convert it to UTF-8",
            )
        });
        let taken = line.and_then(|line| {
            if is_long {
                let problem =
                    format!("found a line of more than {LONGEST_LINE} bytes, expected a shorter one");
                return Err((0, problem, "check that this is a log, with one event per line"));
            }
            let line = line.trim_end_matches(['\n', '\r']);
            match self.format {
                Foreign::Csv => csv::line(line, &mut self.names, block),
                Foreign::RoadRunner => roadrunner::line(line, &mut self.names, block),
            }
        });
        if let Err((at, problem, help)) = taken {
            let before = String::from_utf8_lossy(text.get(..at).unwrap_or(text));
            let place = Place::Line(self.line, before.chars().count() as u64 + 1);
            let (file, help) = (self.file.clone(), help.to_owned());
            self.failed = Some(Error { file, place, kind: ErrorKind::Syntax, problem, help });
        }
    }
}

/// The operations that both logs have, by the words that either has for them.
fn operation(word: &str, target: &str, names: &mut Names) -> Option<Op> {
    Some(match word {
        "r" | "Rd" | "ARd" => Op::read(names.variables.intern(target)),
        "w" | "Wr" | "AWr" => Op::write(names.variables.intern(target)),
        "VolRd" => Op::Read(names.variables.intern(target), AccessKind::Atomic),
        "VolWr" => Op::Write(names.variables.intern(target), AccessKind::Atomic),
        "acq" | "Acquire" => Op::Acquire(names.locks.intern(target), Mode::Exclusive),
        "rel" | "Release" => Op::Release(names.locks.intern(target), Mode::Exclusive),
        "start" | "Start" => Op::Fork(names.threads.intern(target)),
        "join" | "Join" => Op::Join(names.threads.intern(target)),
        "enter" | "Enter" => Op::Begin(names.regions.intern(target)),
        "exit" | "Exit" => Op::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std_text::Writer;

    /// What a log is in our text, or the error that it is.
    fn read(format: Foreign, text: &str) -> String {
        let mut reader = Reader::new(format, "log", text.as_bytes());
        let (mut writer, mut block) = (Writer::new(Vec::new()), Vec::new());
        loop {
            match reader.next_block(&mut block) {
                Ok(true) => writer.write(reader.names(), &block).expect("memory"),
                Ok(false) => return String::from_utf8(writer.finish().expect("memory")).expect("text"),
                Err(error) => return error.to_string(),
            }
        }
    }

    #[test]
    fn csv() {
        let text = "start(T1),,\n,acq(l),\n,enter(f()),,\n\n,r(x),\r\n,exit(f()),\n,rel(l),\njoin(T1),\n";
        let expected =
            "T0|fork(T1)|0\nT1|acq(l)|0\nT1|begin(f())|0\nT1|r(x)|0\nT1|end|0\nT1|rel(l)|0\nT0|join(T1)|0\n";
        assert_eq!(read(Foreign::Csv, text), expected);
        let sync = "T0|acq(VARLOCK-x-KCOLRAV)|0\nT0|r(x)|0\nT0|w(x)|0\nT0|rel(VARLOCK-x-KCOLRAV)|0\n";
        assert_eq!(read(Foreign::Csv, "sync(x)"), sync);
        for (bad, error) in [
            (",,", "log:1:1: found no event"),
            ("r(x),w(y)", "log:1:6: found a second event"),
            ("r(x)\n,rd(x)", "log:2:2: found the operation `rd`"),
            ("r(x", "log:1:1: found `r(x`"),
            ("r()", "log:1:1: found `r()`"),
            ("r(a b)", "log:1:1: found `r(a b)`"),
        ] {
            let found = read(Foreign::Csv, bad);
            assert!(found.contains(error), "{bad:?}: {found}");
        }
    }

    #[test]
    fn roadrunner() {
        let text = "## a message\n@  Start(0,1)\n@     Enter(1,test/D.go()V)\n@ Acquire(1,@03)\n@    ARd(1,null.test/D.v_I)  Final  D.java:50:7\n\
                    @ Wr(1,@04.test/D.w_I) - D.java:51:9\n@ VolWr(1,x)\n@ Release(1,@03)\n@   Exit(1,test/D.go()V)\n@ Join(0,1)\n";
        let expected = "0|fork(1)|0\n1|begin(test/D.go()V)|0\n1|acq(@03)|0\n1|r(null.test/D.v_I)|D.java:50\n1|w(@04.test/D.w_I)|D.java:51\n\
                        1|aw(x)|0\n1|rel(@03)|0\n1|end|0\n0|join(1)|0\n";
        assert_eq!(read(Foreign::RoadRunner, text), expected);
        for (bad, error) in [
            ("@ Jump(1,x)", "log:1:3: found the operation `Jump`"),
            ("message\n@ Rd(1)", "log:2:3: found `Rd(1)`"),
            ("@ Rd(1,x", "log:1:3: found `Rd(1,x`"),
            ("@ Rd(,x)", "log:1:3: found `Rd(,x)`"),
            ("@", "log:1:2: found nothing"),
        ] {
            let found = read(Foreign::RoadRunner, bad);
            assert!(found.contains(error), "{bad:?}: {found}");
        }
    }

    #[test]
    fn what_is_whole_comes_before_an_error() {
        let mut reader = Reader::new(Foreign::Csv, "log", &b"r(x)\n,w(x)\n\xff\n"[..]);
        let mut block = Vec::new();
        assert_eq!((reader.next_block(&mut block), block.len()), (Ok(true), 2));
        let error = reader.next_block(&mut block).expect_err("bytes");
        assert_eq!(error.place, Place::Line(3, 1));
        assert_eq!(reader.next_block(&mut block), Err(error));
    }
}
