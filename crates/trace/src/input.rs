//! Opens a trace, whatever it is: text or binary, plain, gzip or zstd, file or pipe. The format is
//! recognised by content, never by name.

use std::io::Read;
use std::path::Path;

use crate::{Error, Event, Names, Place};

/// A trace being read, block by block.
pub struct Input {}

impl Input {
    /// Opens a file.
    pub fn open(_path: &Path) -> Result<Input, Error> {
        todo!()
    }

    /// Reads from a pipe. `name` is what errors call it.
    pub fn from_reader(_name: &str, _bytes: Box<dyn Read + Send>) -> Result<Input, Error> {
        todo!()
    }

    /// Replaces `block` by the next events; false when there are no more. Events are raw: see
    /// [`crate::wellformed`].
    pub fn next_block(&mut self, _block: &mut Vec<Event>) -> Result<bool, Error> {
        todo!()
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        todo!()
    }

    /// Where event `index` of the last block stands.
    pub fn place(&self, _index: usize) -> Place {
        todo!()
    }

    /// Bytes consumed from the file or pipe so far (compressed bytes, if it is compressed).
    pub fn bytes_read(&self) -> u64 {
        todo!()
    }
}
