//! The constant pool: what a class file names (The Java Virtual Machine Specification, 4.4).
//!
//! The constants that were there stay as the bytes they are, in their place, so that no index in the file ever
//! changes; text stays the bytes of modified UTF-8 that it is. New constants are appended. Looking one up costs an
//! index, adding one a hash of its bytes.

use std::collections::HashMap;

use crate::bytes::{Error, Fault, Reader, narrow, put_u16};

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const FIELD: u8 = 9;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const DYNAMIC: u8 = 17;
const INVOKE_DYNAMIC: u8 = 18;

/// A field or a method as the constant pool names it. Text is modified UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// The class, with slashes.
    pub owner: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
}

/// The constants of one class file, and those that are added to it.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    /// The class file up to the end of its constant pool.
    bytes: &'a [u8],
    /// Where each constant's tag is in `bytes`; 0 for index 0 and for the second index of a long or a double.
    tags: Vec<u32>,
    /// The constants that were added, as they are written.
    added: Vec<u8>,
    /// One more than the largest index in use.
    count: u16,
    /// The index of every added constant, by its bytes.
    index_of: HashMap<Vec<u8>, u16>,
}

impl<'a> Pool<'a> {
    /// Reads the constants; `reader` stands at their count, `file` is what it reads from.
    pub(crate) fn parse(reader: &mut Reader<'a>, file: &'a [u8]) -> Result<Self, Error> {
        let count = reader.u16()?;
        let mut tags = vec![0; usize::from(count.max(1))];
        let mut index = 1;
        while index < usize::from(count) {
            tags[index] = u32::try_from(reader.offset())
                .map_err(|_| Error { offset: reader.offset(), what: Fault::Truncated })?;
            let tag = reader.u8()?;
            let length = match tag {
                UTF8 => usize::from(reader.u16()?),
                INTEGER | 4 | FIELD..=NAME_AND_TYPE | DYNAMIC | INVOKE_DYNAMIC => 4,
                LONG | DOUBLE => 8,
                CLASS | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                _ => {
                    return Err(Error { offset: reader.offset() - 1, what: Fault::ConstantTag(tag) });
                }
            };
            reader.take(length)?;
            index += if matches!(tag, LONG | DOUBLE) { 2 } else { 1 };
        }
        let bytes = &file[..reader.offset()];
        Ok(Self { bytes, tags, added: Vec::new(), count, index_of: HashMap::new() })
    }

    /// Appends count and constants to a class file that is being written.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_u16(out, self.count);
        // Before the constants come the magic number, the version and the count.
        out.extend_from_slice(&self.bytes[10..]);
        out.extend_from_slice(&self.added);
    }

    /// How many indices are still free.
    pub(crate) fn room(&self) -> u16 {
        u16::MAX - self.count
    }

    /// The content of a constant of one of these kinds; `offset` is where it is asked for.
    fn constant(&self, index: u16, tags: &[u8], offset: usize) -> Result<Reader<'a>, Error> {
        let wrong = Error { offset, what: Fault::ConstantIndex(index) };
        let place = match self.tags.get(usize::from(index)) {
            Some(&place) if place != 0 => place as usize,
            _ => return Err(wrong),
        };
        let mut reader = Reader::new(&self.bytes[place..], place);
        if tags.contains(&reader.u8()?) { Ok(reader) } else { Err(wrong) }
    }

    /// The bytes of a text, which are modified UTF-8.
    pub fn text(&self, index: u16, offset: usize) -> Result<&'a [u8], Error> {
        let mut constant = self.constant(index, &[UTF8], offset)?;
        let length = constant.u16()?;
        constant.take(usize::from(length))
    }

    /// The name of a class, with slashes, or the descriptor of an array class.
    pub fn class_name(&self, index: u16, offset: usize) -> Result<&'a [u8], Error> {
        let name = self.constant(index, &[CLASS], offset)?.u16()?;
        self.text(name, offset)
    }

    fn name_and_descriptor(&self, index: u16, offset: usize) -> Result<(&'a [u8], &'a [u8]), Error> {
        let mut constant = self.constant(index, &[NAME_AND_TYPE], offset)?;
        let (name, descriptor) = (constant.u16()?, constant.u16()?);
        Ok((self.text(name, offset)?, self.text(descriptor, offset)?))
    }

    /// The field that an instruction names.
    pub fn field(&self, index: u16, offset: usize) -> Result<MemberRef<'a>, Error> {
        self.member(index, &[FIELD], offset)
    }

    /// The method that an instruction calls, of a class or of an interface.
    pub fn method(&self, index: u16, offset: usize) -> Result<MemberRef<'a>, Error> {
        self.member(index, &[METHOD, INTERFACE_METHOD], offset)
    }

    fn member(&self, index: u16, tags: &[u8], offset: usize) -> Result<MemberRef<'a>, Error> {
        let mut constant = self.constant(index, tags, offset)?;
        let (class, name_and_type) = (constant.u16()?, constant.u16()?);
        let (name, descriptor) = self.name_and_descriptor(name_and_type, offset)?;
        Ok(MemberRef { owner: self.class_name(class, offset)?, name, descriptor })
    }

    /// The descriptor of what an `invokedynamic` calls.
    pub(crate) fn dynamic_descriptor(&self, index: u16, offset: usize) -> Result<&'a [u8], Error> {
        let mut constant = self.constant(index, &[INVOKE_DYNAMIC], offset)?;
        let (_bootstrap, name_and_type) = (constant.u16()?, constant.u16()?);
        Ok(self.name_and_descriptor(name_and_type, offset)?.1)
    }

    fn add(&mut self, constant: Vec<u8>) -> Result<u16, Error> {
        if let Some(&index) = self.index_of.get(&constant) {
            return Ok(index);
        }
        let index = self.count;
        if self.room() == 0 {
            return Err(Error { offset: 8, what: Fault::ConstantPoolFull });
        }
        self.count += 1;
        self.added.extend_from_slice(&constant);
        self.index_of.insert(constant, index);
        Ok(index)
    }

    fn add_pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16, Error> {
        let mut constant = vec![tag];
        put_u16(&mut constant, first);
        put_u16(&mut constant, second);
        self.add(constant)
    }

    /// The index of a text.
    pub fn add_text(&mut self, text: &[u8]) -> Result<u16, Error> {
        let mut constant = vec![UTF8];
        put_u16(&mut constant, narrow(text.len(), 8, Fault::ConstantPoolFull)?);
        constant.extend_from_slice(text);
        self.add(constant)
    }

    /// The index of a class.
    pub fn add_class(&mut self, name: &[u8]) -> Result<u16, Error> {
        let name = self.add_text(name)?;
        let mut constant = vec![CLASS];
        put_u16(&mut constant, name);
        self.add(constant)
    }

    /// The index of an integer.
    pub fn add_integer(&mut self, value: u32) -> Result<u16, Error> {
        let mut constant = vec![INTEGER];
        constant.extend_from_slice(&value.to_be_bytes());
        self.add(constant)
    }

    /// The index of a method of a class.
    pub fn add_method(&mut self, method: MemberRef<'_>) -> Result<u16, Error> {
        let owner = self.add_class(method.owner)?;
        let (name, descriptor) = (self.add_text(method.name)?, self.add_text(method.descriptor)?);
        let name_and_type = self.add_pair(NAME_AND_TYPE, name, descriptor)?;
        self.add_pair(METHOD, owner, name_and_type)
    }
}
