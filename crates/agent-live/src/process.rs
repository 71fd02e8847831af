//! The process: its checker, and the file of findings that the command shares.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use atomvet_live::engine::{Config, Engine, Findings, Violation};
use atomvet_live::memory::{Place, Words};
use atomvet_live::table::{Counter, MAGIC, Table, WORDS};
use atomvet_live::thread::Thread;

use crate::{objects, ring, sys};

/// The file of findings, whose numbers get their names as they are found.
pub(crate) struct Found(pub(crate) Table);

impl Findings for Found {
    fn violated(&self, engine: &Engine<Self>, thread: &Thread, violation: &Violation) {
        if let Some(entry) = self.0.add_finding(engine, thread, violation) {
            objects::name(&self.0.finding(entry));
        }
    }

    fn started(&self, thread: &Thread) {
        self.0.started(thread);
    }

    fn off_trial(&self, function: u64) {
        self.0.off_trial(function);
    }

    /// The hook class counts: the checker is not told of blocks that only repeat accesses.
    fn entered(&self, _thread: &Thread) {}

    fn split(&self) {
        self.0.split();
    }
}

static ENGINE: Place<Engine<Found>> = Place::new();
/// The run directory and the name of this process's files, without their endings.
static NAME: OnceLock<PathBuf> = OnceLock::new();

/// The checker, once there is one.
#[inline(always)]
pub(crate) fn engine() -> Option<&'static Engine<Found>> {
    ENGINE.get()
}

/// Makes the checker, whose findings the command will see. Called once. False if there is none.
pub(crate) fn open() -> bool {
    let Some(words) = open_table() else {
        sys::complain("no room for findings in the run directory; the program is not checked");
        return false;
    };
    let table = Table(words);
    table.counter(Counter::Process).store(u64::from(std::process::id()), Ordering::Relaxed);
    table.counter(Counter::Magic).store(MAGIC, Ordering::Release);
    let Some(engine) = Engine::new(&Config::PROGRAM, Found(table)) else {
        sys::complain(
            "cannot reserve address space for shadow memory; lift `ulimit -v`; the program is not checked",
        );
        return false;
    };
    ENGINE.fill(engine).is_some() && std::fs::rename(beside(".new"), beside(".live")).is_ok()
}

fn beside(ending: &str) -> PathBuf {
    with_ending(NAME.get().cloned().unwrap_or_default(), ending)
}

fn with_ending(name: PathBuf, ending: &str) -> PathBuf {
    let mut name = name.into_os_string();
    name.push(ending);
    name.into()
}

/// Creates the file of findings under a name that nobody looks at yet.
fn open_table() -> Option<Words> {
    let directory = PathBuf::from(std::env::var_os(ring::DIRECTORY)?);
    // Names are taken by earlier programs of this process, if one executed another.
    let numbers = (0..10_000).map(|number| format!("{}.{number}", std::process::id()));
    let (name, file) = numbers.map(|name| directory.join(name)).find_map(|name| {
        let is_taken = with_ending(name.clone(), ".live").exists();
        let mut new = OpenOptions::new();
        new.read(true).write(true).create_new(true).mode(0o600);
        let file = (!is_taken).then(|| new.open(with_ending(name.clone(), ".new")))?.ok()?;
        Some((name, file))
    })?;
    file.set_len(WORDS as u64 * 8).ok()?;
    let memory = sys::map_shared(file.as_raw_fd() as usize, WORDS * 8);
    NAME.set(name).ok()?;
    // SAFETY: the mapping has so many words and is never unmapped.
    (!memory.is_null()).then(|| unsafe { Words::from_mapped(memory.cast(), WORDS) })
}

/// The name of another file of this process, zero-terminated.
pub(crate) fn file_beside(ending: &[u8]) -> Vec<u8> {
    let mut name = beside(&String::from_utf8_lossy(ending)).into_os_string().into_vec();
    name.push(0);
    name
}
