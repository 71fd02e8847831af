//! The tables of a body that speak of positions: lines, variables, type annotations (The Java Virtual Machine
//! Specification, 4.7.12 to 4.7.14 and 4.7.20).
//!
//! The machine runs without them. What they say is moved; where they point into an instruction, they still do. Tables that
//! are no part of the specification stay as they are, even if they have positions in them, as javac's
//! `CharacterRangeTable` does.

use crate::bytes::{Error, Fault, Reader, put_u16};
use crate::layout::Layout;

/// No annotation that a compiler writes is nested as deeply.
const NESTING: usize = 100;

/// A `LineNumberTable`.
pub(crate) fn lines(content: &[u8], offset: usize, layout: &Layout<'_>) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, offset);
    let count = reader.u16()?;
    let mut out = Vec::with_capacity(content.len());
    put_u16(&mut out, count);
    for _ in 0..count {
        put_u16(&mut out, layout.debug_position(reader.u16()?.into()) as u16);
        put_u16(&mut out, reader.u16()?);
    }
    reader.finish()?;
    Ok(out)
}

/// A `LocalVariableTable` or a `LocalVariableTypeTable`, which look the same.
pub(crate) fn variables(content: &[u8], offset: usize, layout: &Layout<'_>) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, offset);
    let count = reader.u16()?;
    let mut out = Vec::with_capacity(content.len());
    put_u16(&mut out, count);
    for _ in 0..count {
        let (from, length) = range(layout, reader.u16()?, reader.u16()?);
        put_u16(&mut out, from);
        put_u16(&mut out, length);
        out.extend_from_slice(reader.take(6)?);
    }
    reader.finish()?;
    Ok(out)
}

/// Where a range begins, and its length.
fn range(layout: &Layout<'_>, from: u16, length: u16) -> (u16, u16) {
    let begin = layout.debug_position(from.into());
    let end = match usize::from(from) + usize::from(length) {
        0 => begin,
        end => layout.debug_position(end),
    };
    (begin as u16, (end - begin) as u16)
}

/// A `RuntimeVisibleTypeAnnotations` or a `RuntimeInvisibleTypeAnnotations`: only the positions in it are changed.
/// `handlers` says which entry of the exception table comes from which.
pub(crate) fn type_annotations(
    content: &[u8],
    offset: usize,
    layout: &Layout<'_>,
    handlers: &[u16],
) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, offset);
    let mut out = content.to_vec();
    let mut patch = |at: usize, value: u16| {
        let place = at - offset;
        out[place..place + 2].copy_from_slice(&value.to_be_bytes());
    };
    for _ in 0..reader.u16()? {
        let target = reader.u8()?;
        let at = reader.offset();
        match target {
            // A parameter, a bound, a supertype, a `throws`: nothing that has a position.
            0x00 | 0x01 | 0x16 => drop(reader.take(1)?),
            0x10..=0x12 | 0x17 => drop(reader.take(2)?),
            0x13..=0x15 => {}
            0x40 | 0x41 => {
                for _ in 0..reader.u16()? {
                    let at = reader.offset();
                    let (from, length) = range(layout, reader.u16()?, reader.u16()?);
                    patch(at, from);
                    patch(at + 2, length);
                    reader.u16()?;
                }
            }
            0x42 => {
                let handler = reader.u16()?;
                patch(at, handlers.get(usize::from(handler)).copied().unwrap_or(handler));
            }
            // An instruction: instanceof, new, a method reference; with a type argument from 0x47 on.
            0x43..=0x4b => {
                let pc = reader.u16()?.into();
                let instruction = layout.code().around(pc);
                patch(at, (layout.at(instruction) + pc - layout.code().pc(instruction)) as u16);
                if target >= 0x47 {
                    reader.u8()?;
                }
            }
            _ => return Err(Error { offset: at, what: Fault::TypeAnnotation }),
        }
        let path = reader.u8()?;
        reader.take(2 * usize::from(path))?;
        annotation(&mut reader, NESTING)?;
    }
    reader.finish()?;
    Ok(out)
}

/// Goes past an annotation.
fn annotation(reader: &mut Reader<'_>, nesting: usize) -> Result<(), Error> {
    reader.u16()?;
    for _ in 0..reader.u16()? {
        reader.u16()?;
        element(reader, nesting)?;
    }
    Ok(())
}

/// Goes past a value of an annotation.
fn element(reader: &mut Reader<'_>, nesting: usize) -> Result<(), Error> {
    let Some(nesting) = nesting.checked_sub(1) else { return reader.error(Fault::TypeAnnotation) };
    match reader.u8()? {
        b'e' => drop(reader.take(4)?),
        b'@' => annotation(reader, nesting)?,
        b'[' => {
            for _ in 0..reader.u16()? {
                element(reader, nesting)?;
            }
        }
        _ => drop(reader.u16()?),
    }
    Ok(())
}
