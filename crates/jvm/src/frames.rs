//! Stack map frames, moved and never computed (The Java Virtual Machine Specification, 4.7.4).
//!
//! A frame says its distance from the one before and how its locals differ from those. Moving one keeps its kind, so
//! that a method into which nothing is inserted stays the same byte for byte. Only for trampolines (`relocate.rs`)
//! the frames are spelled out, each on its own, because new ones come between.

use crate::bytes::{Error, Fault, Reader, narrow, put_u16};
use crate::code::Code;
use crate::instruction;
use crate::layout::Layout;
use crate::pool::Pool;

const ITEM_INTEGER: u8 = 1;
const ITEM_FLOAT: u8 = 2;
const ITEM_DOUBLE: u8 = 3;
const ITEM_LONG: u8 = 4;
const ITEM_UNINITIALIZED_THIS: u8 = 6;
const ITEM_OBJECT: u8 = 7;
const ITEM_UNINITIALIZED: u8 = 8;

const SAME_LOCALS_ONE_ITEM: u8 = 64;
const SAME_LOCALS_ONE_ITEM_EXTENDED: u8 = 247;
const CHOP: u8 = 248;
const SAME_EXTENDED: u8 = 251;
const APPEND: u8 = 252;
const FULL: u8 = 255;

/// What the first frame of a method, which is written nowhere, follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MethodShape<'a> {
    pub(crate) major_version: u16,
    /// The class that the method is of.
    pub(crate) this_class: u16,
    pub(crate) descriptor: &'a [u8],
    pub(crate) receiver: Receiver,
}

/// What a method finds in its first local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// Nothing of the kind: the method is static.
    None,
    /// The object.
    Initialized,
    /// The object, on which no constructor of a superclass has run yet.
    Uninitialized,
}

/// What the verifier knows of a slot, or of two that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    tag: u8,
    /// The class of an object, or where an object was made that is not initialised yet; 0 otherwise.
    detail: u16,
}

impl Item {
    /// Reads one, with the place of an object's making moved.
    fn read(reader: &mut Reader<'_>, layout: &Layout<'_>) -> Result<Self, Error> {
        let tag = reader.u8()?;
        let offset = reader.offset();
        let detail = match tag {
            0..=ITEM_UNINITIALIZED_THIS => 0,
            ITEM_OBJECT => reader.u16()?,
            ITEM_UNINITIALIZED => {
                let made = layout.code().target(reader.u16()?.into(), offset)?;
                layout.at(made) as u16
            }
            _ => return Err(Error { offset, what: Fault::Frame }),
        };
        Ok(Self { tag, detail })
    }

    fn put(self, out: &mut Vec<u8>) {
        out.push(self.tag);
        if self.tag >= ITEM_OBJECT {
            put_u16(out, self.detail);
        }
    }
}

fn put_items(out: &mut Vec<u8>, items: &[Item]) {
    items.iter().for_each(|item| item.put(out));
}

/// One frame as it is written, but for its distance.
struct Frame {
    kind: u8,
    /// The distance that was there.
    delta: u16,
    /// The locals that it adds, or all of them.
    locals: Vec<Item>,
    stack: Vec<Item>,
}

impl Frame {
    fn read(reader: &mut Reader<'_>, layout: &Layout<'_>) -> Result<Self, Error> {
        let kind = reader.u8()?;
        let delta = match kind {
            0..SAME_LOCALS_ONE_ITEM => u16::from(kind),
            SAME_LOCALS_ONE_ITEM..128 => u16::from(kind - SAME_LOCALS_ONE_ITEM),
            128..SAME_LOCALS_ONE_ITEM_EXTENDED => return reader.error(Fault::Frame),
            SAME_LOCALS_ONE_ITEM_EXTENDED.. => reader.u16()?,
        };
        let mut items = |count: Option<u16>| -> Result<Vec<Item>, Error> {
            let count = count.map_or_else(|| reader.u16(), Ok)?;
            (0..count).map(|_| Item::read(reader, layout)).collect()
        };
        let (locals, stack) = match kind {
            SAME_LOCALS_ONE_ITEM..=SAME_LOCALS_ONE_ITEM_EXTENDED => (Vec::new(), items(Some(1))?),
            APPEND..FULL => (items(Some(u16::from(kind - SAME_EXTENDED)))?, Vec::new()),
            FULL => (items(None)?, items(None)?),
            _ => (Vec::new(), Vec::new()),
        };
        Ok(Self { kind, delta, locals, stack })
    }

    /// Writes the frame with another distance; kinds that have the distance in them grow when they must.
    fn put(&self, out: &mut Vec<u8>, delta: u16) {
        let small = u8::try_from(delta).ok().filter(|&delta| delta < SAME_LOCALS_ONE_ITEM);
        match (self.kind, small) {
            (0..SAME_LOCALS_ONE_ITEM, Some(small)) => out.push(small),
            (SAME_LOCALS_ONE_ITEM..128, Some(small)) => out.push(SAME_LOCALS_ONE_ITEM + small),
            (kind, _) => {
                out.push(match kind {
                    0..SAME_LOCALS_ONE_ITEM => SAME_EXTENDED,
                    SAME_LOCALS_ONE_ITEM..128 => SAME_LOCALS_ONE_ITEM_EXTENDED,
                    _ => kind,
                });
                put_u16(out, delta);
            }
        }
        if self.kind == FULL {
            put_u16(out, self.locals.len() as u16);
        }
        put_items(out, &self.locals);
        if self.kind == FULL {
            put_u16(out, self.stack.len() as u16);
        }
        put_items(out, &self.stack);
    }
}

/// Positions of frames from their distances: the first counts from the beginning, every other one from just behind
/// the frame before.
struct Distances {
    next: i64,
}

impl Distances {
    fn delta(&mut self, position: usize, offset: usize) -> Result<u16, Error> {
        let delta = u16::try_from(position as i64 - self.next);
        self.next = position as i64 + 1;
        delta.map_err(|_| Error { offset, what: Fault::Frame })
    }
}

/// The instruction that a frame is for, and where the next distance counts from.
fn instruction_of(frame: &Frame, pc: &mut i64, code: &Code<'_>, offset: usize) -> Result<usize, Error> {
    let at = *pc + i64::from(frame.delta);
    *pc = at + 1;
    code.target(at, offset)
}

/// The content of a `StackMapTable` for the new positions.
pub(crate) fn relocate(
    content: &[u8],
    offset: usize,
    layout: &Layout<'_>,
    shape: &MethodShape<'_>,
    catch_all: bool,
    pool: &mut Pool<'_>,
) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, offset);
    let count = reader.u16()?;
    let spelled_out = !layout.trampolines().is_empty();
    let mut locals = if spelled_out { first_locals(shape, offset, pool)? } else { Vec::new() };
    let mut frames = Vec::new();
    let mut pc = 0;
    for _ in 0..count {
        let mut frame = Frame::read(&mut reader, layout)?;
        let instruction = instruction_of(&frame, &mut pc, layout.code(), offset)?;
        if spelled_out {
            locals = all_locals(locals, &frame, offset)?;
            frame = Frame { kind: FULL, locals: locals.clone(), ..frame };
        }
        frames.push((layout.start(instruction), frame));
    }
    reader.finish()?;
    for trampoline in layout.trampolines() {
        let target = layout.start(trampoline.target);
        let Some((_, frame)) = frames.iter().find(|(position, _)| *position == target) else {
            return Err(Error { offset, what: Fault::Frame });
        };
        let (locals, stack) = (frame.locals.clone(), frame.stack.clone());
        frames.push((trampoline.position, Frame { kind: FULL, delta: 0, locals, stack }));
    }
    frames.sort_by_key(|(position, _)| *position);
    if catch_all {
        frames.push((layout.catch_all(), catch_all_frame(pool)?));
    }
    write(&frames, offset)
}

/// The content of a `StackMapTable` for a method that had no frames and has a catch-all handler now.
pub(crate) fn catch_all_only(layout: &Layout<'_>, pool: &mut Pool<'_>) -> Result<Vec<u8>, Error> {
    write(&[(layout.catch_all(), catch_all_frame(pool)?)], layout.code().offset)
}

/// Nothing is known of the locals. In a constructor that says that `this` is initialised or not needed.
fn catch_all_frame(pool: &mut Pool<'_>) -> Result<Frame, Error> {
    let throwable = Item { tag: ITEM_OBJECT, detail: pool.add_class(b"java/lang/Throwable")? };
    Ok(Frame { kind: FULL, delta: 0, locals: Vec::new(), stack: vec![throwable] })
}

fn write(frames: &[(usize, Frame)], offset: usize) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    put_u16(&mut out, narrow(frames.len(), offset, Fault::Frame)?);
    let mut distances = Distances { next: 0 };
    for (position, frame) in frames {
        frame.put(&mut out, distances.delta(*position, offset)?);
    }
    Ok(out)
}

/// Which instructions have a frame; empty if the method has no frames.
pub(crate) fn framed(code: &Code<'_>, pool: &Pool<'_>) -> Result<Vec<bool>, Error> {
    let mut framed = Vec::new();
    for attribute in &code.attributes {
        if pool.text(attribute.name, attribute.offset)? != b"StackMapTable" {
            continue;
        }
        framed.resize(code.instructions(), false);
        let mut reader = Reader::new(&attribute.content, attribute.offset);
        let still = Layout::unchanged(code);
        let mut pc = 0;
        for _ in 0..reader.u16()? {
            let frame = Frame::read(&mut reader, &still)?;
            framed[instruction_of(&frame, &mut pc, code, attribute.offset)?] = true;
        }
    }
    Ok(framed)
}

/// The locals of a frame from those of the frame before.
fn all_locals(mut before: Vec<Item>, frame: &Frame, offset: usize) -> Result<Vec<Item>, Error> {
    match frame.kind {
        CHOP..SAME_EXTENDED => {
            let less = usize::from(SAME_EXTENDED - frame.kind);
            match before.len().checked_sub(less) {
                Some(left) => before.truncate(left),
                None => return Err(Error { offset, what: Fault::Frame }),
            }
            Ok(before)
        }
        FULL => Ok(frame.locals.clone()),
        _ => {
            before.extend_from_slice(&frame.locals);
            Ok(before)
        }
    }
}

/// The locals that a method begins with.
fn first_locals(shape: &MethodShape<'_>, offset: usize, pool: &mut Pool<'_>) -> Result<Vec<Item>, Error> {
    let mut locals = Vec::new();
    match shape.receiver {
        Receiver::None => {}
        Receiver::Initialized => locals.push(Item { tag: ITEM_OBJECT, detail: shape.this_class }),
        Receiver::Uninitialized => locals.push(Item { tag: ITEM_UNINITIALIZED_THIS, detail: 0 }),
    }
    for parameter in instruction::parameters(shape.descriptor, offset)?.0 {
        let tag = match parameter.first() {
            Some(b'F') => ITEM_FLOAT,
            Some(b'D') => ITEM_DOUBLE,
            Some(b'J') => ITEM_LONG,
            Some(b'L' | b'[') => ITEM_OBJECT,
            _ => ITEM_INTEGER,
        };
        let detail = match parameter {
            [b'L', name @ .., b';'] => pool.add_class(name)?,
            [b'[', ..] => pool.add_class(parameter)?,
            _ => 0,
        };
        locals.push(Item { tag, detail });
    }
    Ok(locals)
}
