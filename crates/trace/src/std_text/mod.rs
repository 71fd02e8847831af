//! Traces as text: RAPID's STD format, one `thread|operation|site` per line, and our superset.
//!
//! The grammar is in `docs/trace-formats.md`; what the operations mean is in
//! `docs/event-model.md`. Traces that use no extension are written as RAPID reads them. Reading
//! and then writing canonical text (no comments, blank lines or carriage returns, bare `begin`
//! and `end`, no leading zeros) is the identity.
//!
//! Cost per event: one scan of its line and one lookup for each of its three names. Nothing is
//! allocated for a name seen before. UTF-8 is checked for a whole buffer at a time.
//!
//! The words of this file's errors are in `fault.rs`.

mod cache;
mod fault;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// The longest line that is read, in bytes, with its line end.
pub const LONGEST_LINE: usize = 1 << 20;

/// How much is read at once: it stays in the second-level cache, and it is the size of a block.
const BUFFER: usize = 1 << 18;

/// Some editors put this in front of a file. It is no part of the text.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Whether a site is a place in a file without debug information: `module+0xoffset`.
fn is_offset(site: &str) -> bool {
    let Some((module, offset)) = site.rsplit_once("+0x") else { return false };
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    !module.is_empty() && (1..=16).contains(&offset.len()) && offset.bytes().all(is_digit)
}
