//! Big-endian bytes, read with every bound checked.
//!
//! Class files come from compilers, obfuscators and fuzzers. Nothing here panics on any of them: what is not
//! there, or is not what it should be, is an [`Error`] that says where.

use std::fmt;

/// What is wrong with a class file, or why a method stays as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where, as an offset from the start of the class file.
    pub offset: usize,
    /// What is wrong there.
    pub what: Fault,
}

/// Everything that can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes do not begin as a class file does.
    NotAClassFile,
    /// The file ends in the middle of something.
    Truncated,
    /// A part is longer than what it consists of.
    TrailingBytes,
    /// A tag of the constant pool that no version of the format has.
    ConstantTag(u8),
    /// An index that is not in the constant pool, or names a constant of another kind.
    ConstantIndex(u16),
    /// A descriptor that is none.
    Descriptor,
    /// A method with two bodies.
    TwoBodies,
    /// A body with no code, or with more than the 65,535 bytes that a method may have.
    CodeLength(usize),
    /// A byte that is no instruction.
    Opcode(u8),
    /// A switch whose table makes no sense.
    Switch,
    /// A jump, a handler or a frame that points into the middle of an instruction, or out of the method.
    Target(i64),
    /// A stack map frame of a kind that does not exist, or that takes away more than there is.
    Frame,
    /// A type annotation of a kind that does not exist.
    TypeAnnotation,
    /// The operand stack before `super()` does not fit the instruction.
    ConstructorStack,
    /// `this` is initialised on one way to an instruction and not on another.
    ConstructorPaths,
    /// With the hooks the method has more bytes than a method may have.
    MethodTooLarge(usize),
    /// With the hooks the method needs more operand stack or handlers than a method may have.
    MethodTooDeep,
    /// A conditional jump is too far from its target with the hooks, and no place in reach can take a long jump.
    JumpTooFar,
    /// The constant pool has no room for what the hooks need.
    ConstantPoolFull,
    /// A number of a site that does not fit the code that pushes it.
    SiteNumber(u32),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at offset {}: {}", self.offset, self.what)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotAClassFile => write!(out, "not a class file"),
            Fault::Truncated => write!(out, "the class file ends here, in the middle of something"),
            Fault::TrailingBytes => write!(out, "bytes that belong to nothing"),
            Fault::ConstantTag(tag) => write!(out, "{tag} is no tag of a constant"),
            Fault::ConstantIndex(index) => write!(out, "{index} is no constant of the kind expected"),
            Fault::Descriptor => write!(out, "not a descriptor"),
            Fault::TwoBodies => write!(out, "a second Code attribute of one method"),
            Fault::CodeLength(length) => write!(out, "{length} bytes of code, where 1 to 65535 are allowed"),
            Fault::Opcode(byte) => write!(out, "{byte:#04x} is no instruction"),
            Fault::Switch => write!(out, "a switch with a table that makes no sense"),
            Fault::Target(pc) => write!(out, "{pc} is not where an instruction of this method begins"),
            Fault::Frame => write!(out, "not a stack map frame"),
            Fault::TypeAnnotation => write!(out, "not a type annotation"),
            Fault::ConstructorStack => write!(out, "an operand stack that does not fit before super()"),
            Fault::ConstructorPaths => write!(out, "initialised on one way to here and not on another"),
            Fault::MethodTooLarge(size) => write!(out, "too large with hooks: {size} of 65535 bytes"),
            Fault::MethodTooDeep => write!(out, "too much operand stack or too many handlers with hooks"),
            Fault::JumpTooFar => {
                write!(out, "a jump that is too far with hooks, with no place for a long one")
            }
            Fault::ConstantPoolFull => write!(out, "the constant pool has no room for the hooks"),
            Fault::SiteNumber(number) => write!(out, "{number} is too large for the number of a site"),
        }
    }
}

/// Reads forward through a part of a class file.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begins in the class file.
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    /// The offset in the class file of what is read next.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    pub(crate) fn error<T>(&self, what: Fault) -> Result<T, Error> {
        Err(Error { offset: self.offset(), what })
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..length)) {
            Some(taken) => {
                self.at += length;
                Ok(taken)
            }
            None => self.error(Fault::Truncated),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(&taken) => {
                self.at += N;
                Ok(taken)
            }
            None => self.error(Fault::Truncated),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A length of four bytes and as many bytes as it says.
    pub(crate) fn block(&mut self) -> Result<&'a [u8], Error> {
        let length = self.u32()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// That nothing is left.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        if self.at == self.bytes.len() { Ok(()) } else { self.error(Fault::TrailingBytes) }
    }
}

pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A count or a position that the format gives two bytes.
pub(crate) fn narrow(value: usize, offset: usize, otherwise: Fault) -> Result<u16, Error> {
    u16::try_from(value).map_err(|_| Error { offset, what: otherwise })
}

/// A part of a class file with the four bytes of its length before it.
pub(crate) fn put_block(out: &mut Vec<u8>, bytes: &[u8], offset: usize) -> Result<(), Error> {
    let length = u32::try_from(bytes.len()).map_err(|_| Error { offset, what: Fault::MethodTooDeep })?;
    put_u32(out, length);
    out.extend_from_slice(bytes);
    Ok(())
}
