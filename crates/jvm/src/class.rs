//! A class file as its parts, read and written (The Java Virtual Machine Specification, 4.1, 4.5 to 4.7).
//!
//! Attributes are kept as the bytes they are, whether we know them or not, so that what is read and written
//! without a change is the same byte for byte.

use std::borrow::Cow;

use crate::bytes::{Error, Fault, Reader, narrow, put_block, put_u16, put_u32};
use crate::pool::Pool;

const MAGIC: u32 = 0xCAFE_BABE;

/// One class file.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    /// The minor version of the format.
    pub minor_version: u16,
    /// The major version of the format: 50 brought stack map frames, 61 is JDK 17.
    pub major_version: u16,
    /// What the file names.
    pub pool: Pool<'a>,
    /// Public, final, interface and so on.
    pub access: u16,
    /// The class itself, an index of a class.
    pub this_class: u16,
    /// Its superclass; 0 for `java/lang/Object` and for modules.
    pub super_class: u16,
    /// The interfaces it implements directly.
    pub interfaces: Vec<u16>,
    /// Its fields.
    pub fields: Vec<Member<'a>>,
    /// Its methods, constructors and class initialiser.
    pub methods: Vec<Member<'a>>,
    /// What else is said about it.
    pub attributes: Vec<Attribute<'a>>,
}

/// A field or a method.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Private, static, final, volatile, synchronized and so on.
    pub access: u16,
    /// Its name, an index of a text.
    pub name: u16,
    /// Its descriptor, an index of a text.
    pub descriptor: u16,
    /// Its body and what else is said about it.
    pub attributes: Vec<Attribute<'a>>,
    /// Where it is in the file that was read.
    pub offset: usize,
}

/// An attribute of a class, a field, a method or a body.
#[derive(Clone, Debug)]
pub struct Attribute<'a> {
    /// Its name, an index of a text.
    pub name: u16,
    /// What it says.
    pub content: Cow<'a, [u8]>,
    /// Where its content is in the file that was read.
    pub offset: usize,
}

impl<'a> ClassFile<'a> {
    /// Reads a class file.
    pub fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(file, 0);
        if reader.u32() != Ok(MAGIC) {
            return Err(Error { offset: 0, what: Fault::NotAClassFile });
        }
        let (minor_version, major_version) = (reader.u16()?, reader.u16()?);
        let pool = Pool::parse(&mut reader, file)?;
        let access = reader.u16()?;
        let this_class = reader.u16()?;
        let super_class = reader.u16()?;
        let interfaces = list(&mut reader, Reader::u16)?;
        let fields = list(&mut reader, Member::parse)?;
        let methods = list(&mut reader, Member::parse)?;
        let attributes = list(&mut reader, Attribute::parse)?;
        reader.finish()?;
        Ok(Self {
            minor_version,
            major_version,
            pool,
            access,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            attributes,
        })
    }

    /// The name of the class, with slashes.
    pub fn name(&self) -> Result<&'a [u8], Error> {
        self.pool.class_name(self.this_class, 0)
    }

    /// The class file with these parts.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        put_u32(&mut out, MAGIC);
        put_u16(&mut out, self.minor_version);
        put_u16(&mut out, self.major_version);
        self.pool.write(&mut out);
        for value in [self.access, self.this_class, self.super_class] {
            put_u16(&mut out, value);
        }
        put_count(&mut out, self.interfaces.len())?;
        for &interface in &self.interfaces {
            put_u16(&mut out, interface);
        }
        for members in [&self.fields, &self.methods] {
            put_count(&mut out, members.len())?;
            for member in members {
                for value in [member.access, member.name, member.descriptor] {
                    put_u16(&mut out, value);
                }
                put_attributes(&mut out, &member.attributes)?;
            }
        }
        put_attributes(&mut out, &self.attributes)?;
        Ok(out)
    }
}

impl<'a> Member<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        let (access, name, descriptor) = (reader.u16()?, reader.u16()?, reader.u16()?);
        Ok(Self { access, name, descriptor, attributes: list(reader, Attribute::parse)?, offset })
    }
}

impl<'a> Attribute<'a> {
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let name = reader.u16()?;
        let content = Cow::Borrowed(reader.block()?);
        let offset = reader.offset() - content.len();
        Ok(Self { name, content, offset })
    }
}

/// A count of two bytes and as many elements.
pub(crate) fn list<'a, T>(
    reader: &mut Reader<'a>,
    element: impl Fn(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let count = reader.u16()?;
    // No capacity in advance: the count may be a lie.
    (0..count).map(|_| element(reader)).collect()
}

pub(crate) fn put_attributes(out: &mut Vec<u8>, attributes: &[Attribute<'_>]) -> Result<(), Error> {
    put_count(out, attributes.len())?;
    for attribute in attributes {
        put_u16(out, attribute.name);
        put_block(out, &attribute.content, attribute.offset)?;
    }
    Ok(())
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<(), Error> {
    put_u16(out, narrow(count, 0, Fault::MethodTooDeep)?);
    Ok(())
}
