//! The copy of a program's events: what `--record` asks for, and what the passes that explain findings read.
//!
//! A full disk costs the recording, never the report:
//!
//! ```text
//! the file of --record ──full──► a temporary file, with what was written so far ──full──► nothing
//!                                findings are explained all the same                     they are not explained
//! ```

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use crate::spool::temporary;

/// Writes the copy. Writing never fails: [`Copy::finish`] says what has gone wrong.
pub(crate) struct Copy {
    /// Where the bytes go; nowhere once that has failed.
    to: Option<File>,
    /// Bytes that are there.
    written: u64,
    recording: Recording,
    readable: Readable,
    problem: Option<String>,
}

/// What `--record` names.
enum Recording {
    /// Nothing, or something that has failed.
    None,
    /// The file that is written.
    File(PathBuf),
    /// A device or pipe: gets everything in the end.
    Device(PathBuf, File),
}

/// The copy to be read once it is written, from whichever file it is in by then; or why there is none.
#[derive(Clone)]
pub(crate) struct Readable(Arc<Mutex<io::Result<File>>>);

impl Readable {
    /// There is none yet.
    pub(crate) fn none() -> Readable {
        Readable(Arc::new(Mutex::new(Err(io::ErrorKind::NotFound.into()))))
    }

    /// The file, from its start.
    pub(crate) fn file(&self) -> io::Result<File> {
        let mut file = self.lock();
        match &mut *file {
            Ok(file) => file.seek(SeekFrom::Start(0)).and_then(|_| file.try_clone()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, io::Result<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Copy {
    /// A copy in the file that `--record` names, or in a temporary one.
    pub(crate) fn new(recording: Option<&Path>) -> Copy {
        let mut copy = Copy {
            to: None,
            written: 0,
            recording: Recording::None,
            readable: Readable::none(),
            problem: None,
        };
        if let Some(path) = recording {
            match open(path) {
                Ok((to, Some(read))) => {
                    copy.set(Ok((to, read)));
                    copy.recording = Recording::File(path.to_owned());
                    return copy;
                }
                Ok((device, None)) => copy.recording = Recording::Device(path.to_owned(), device),
                Err(error) => copy.problem = Some(not_recorded(path, &error)),
            }
        }
        copy.set(temporary());
        copy
    }

    /// Whether somebody keeps it.
    pub(crate) fn is_recording(&self) -> bool {
        !matches!(self.recording, Recording::None)
    }

    /// What can be read of it.
    pub(crate) fn readable(&self) -> Readable {
        self.readable.clone()
    }

    /// Everything is written: replaces it by what is made of it. Without room for that there is no copy: what was written
    /// is not what happened.
    pub(crate) fn replace(&mut self, make: impl FnOnce(File, &mut File) -> io::Result<()>) {
        let made = self.readable.file().and_then(|old| {
            let (mut to, new) = temporary()?;
            make(old, &mut to)?;
            Ok((to, new))
        });
        let path = match &self.recording {
            Recording::None => return self.set(made),
            Recording::File(path) | Recording::Device(path, _) => path.clone(),
        };
        let put = |new: &File| io::copy(&mut new.try_clone()?, &mut File::create(&path)?).map(drop);
        match (made, &self.recording) {
            (Ok((to, new)), Recording::File(_)) => {
                if let Err(error) = put(&new) {
                    self.problem = Some(not_recorded(&path, &error));
                }
                self.set(Ok((to, new)));
            }
            (made, _) => {
                if let Err(error) = &made {
                    self.problem = Some(not_recorded(&path, error));
                    self.recording = Recording::None;
                }
                self.set(made);
            }
        }
    }

    /// Everything is written: what has gone wrong with the recording, if anything.
    pub(crate) fn finish(mut self) -> Option<String> {
        if let Recording::Device(path, mut device) = self.recording {
            let copied = self.readable.file().and_then(|mut file| io::copy(&mut file, &mut device));
            if let Err(error) = copied {
                self.problem = Some(not_recorded(&path, &error));
            }
        }
        self.problem
    }

    /// From now on the copy is in this file, open for writing and for reading.
    fn set(&mut self, file: io::Result<(File, File)>) {
        let (to, read) = match file {
            Ok((to, read)) => (Some(to), Ok(read)),
            Err(error) => (None, Err(error)),
        };
        self.to = to;
        *self.readable.lock() = read;
    }

    /// Goes on in a temporary file if this was not one.
    fn give_up(&mut self, error: io::Error) {
        if let Recording::File(path) = &self.recording {
            self.problem = Some(not_recorded(path, &error));
            self.recording = Recording::None;
            let taken_over = self.take_over();
            self.set(taken_over);
        } else {
            self.set(Err(error));
        }
    }

    /// A temporary file with all that was written so far.
    fn take_over(&self) -> io::Result<(File, File)> {
        let (mut to, read) = temporary()?;
        let copied = io::copy(&mut self.readable.file()?.take(self.written), &mut to)?;
        if copied == self.written { Ok((to, read)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while let Some(to) = &mut self.to {
            match to.write_all(bytes) {
                Ok(()) => {
                    self.written += bytes.len() as u64;
                    break;
                }
                Err(error) => self.give_up(error),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails if a recording cannot be written there, before a program is run for it.
pub(crate) fn ensure_writable(path: &Path) -> anyhow::Result<()> {
    // What is there and no file is opened once only: a pipe has one writer.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    File::create(path).with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok(())
}

/// The file that a user names, to write and, if it is a regular file, to read.
fn open(path: &Path) -> io::Result<(File, Option<File>)> {
    let write = File::create(path)?;
    let read = if write.metadata()?.is_file() { Some(File::open(path)?) } else { None };
    Ok((write, read))
}

fn not_recorded(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}; the run is not recorded, or not to its end", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(readable: &Readable) -> io::Result<String> {
        let mut text = String::new();
        readable.file()?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn what_is_on_a_full_disk_is_taken_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.atv");
        let mut copy = Copy::new(Some(&path));
        copy.write_all(b"one ").expect("never fails");
        // The disk is full from now on.
        copy.to = Some(File::options().write(true).open("/dev/full").expect("Linux has it"));
        copy.write_all(b"two ").expect("never fails");
        copy.write_all(b"three").expect("never fails");
        let readable = copy.readable();
        assert_eq!(read(&readable).expect("it is kept"), "one two three");
        let problem = copy.finish().expect("a problem");
        assert!(problem.contains("run.atv: cannot be written: No space left"), "{problem}");
        assert_eq!(std::fs::read_to_string(path).expect("the recording"), "one ");
    }

    #[test]
    fn a_device_gets_everything_in_the_end() {
        for (device, is_full) in [("/dev/full", true), ("/dev/null", false)] {
            let mut copy = Copy::new(Some(Path::new(device)));
            copy.write_all(b"one").expect("never fails");
            let readable = copy.readable();
            assert_eq!(copy.finish().is_some(), is_full, "{device}");
            assert_eq!(read(&readable).expect("it is kept"), "one", "{device}");
        }
    }

    #[test]
    fn without_any_room_there_is_nothing_to_read() {
        let mut copy = Copy::new(None);
        copy.to = Some(File::options().write(true).open("/dev/full").expect("Linux has it"));
        copy.write_all(b"one").expect("never fails");
        let error = read(&copy.readable()).expect_err("it is not kept");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(copy.finish(), None);
    }
}
