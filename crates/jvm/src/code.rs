//! The body of a method as its parts (The Java Virtual Machine Specification, 4.7.3).

use crate::bytes::{Error, Fault, Reader};
use crate::class::{Attribute, list};
use crate::instruction;

/// Marks a byte at which no instruction begins.
const NONE: u32 = u32::MAX;

/// A method's body. Instructions are spoken of by their number, counted from 0; the number of instructions stands
/// for the end.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The slots of operand stack it needs.
    pub max_stack: u16,
    /// The slots of local variables it needs.
    pub max_locals: u16,
    /// Its instructions, as they are.
    pub bytes: &'a [u8],
    /// Where they begin in the class file.
    pub offset: usize,
    /// What is caught where.
    pub handlers: Vec<Handler>,
    /// Line numbers, frames and so on.
    pub attributes: Vec<Attribute<'a>>,
    /// Where each instruction begins, and the end of the last.
    pcs: Vec<u32>,
    /// The instruction that begins at each byte; the last element is the end.
    number_of: Vec<u32>,
}

/// An entry of the exception table. Positions are bytes as in the class file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The first byte that is covered.
    pub from: u16,
    /// The first byte that is not covered any more.
    pub to: u16,
    /// Where control goes.
    pub handler: u16,
    /// What is caught, an index of a class; 0 for everything.
    pub catches: u16,
}

impl<'a> Code<'a> {
    /// Reads the content of a `Code` attribute that begins at `offset` of the class file.
    pub fn parse(content: &'a [u8], offset: usize) -> Result<Self, Error> {
        let mut reader = Reader::new(content, offset);
        let (max_stack, max_locals) = (reader.u16()?, reader.u16()?);
        let bytes = reader.block()?;
        let offset = reader.offset() - bytes.len();
        if bytes.is_empty() || bytes.len() > usize::from(u16::MAX) {
            return Err(Error { offset, what: Fault::CodeLength(bytes.len()) });
        }
        let handlers = list(&mut reader, |reader| {
            Ok(Handler {
                from: reader.u16()?,
                to: reader.u16()?,
                handler: reader.u16()?,
                catches: reader.u16()?,
            })
        })?;
        let attributes = list(&mut reader, Attribute::parse)?;
        reader.finish()?;

        let (mut pcs, mut number_of) = (Vec::new(), vec![NONE; bytes.len() + 1]);
        let mut pc = 0;
        while pc < bytes.len() {
            number_of[pc] = pcs.len() as u32;
            pcs.push(pc as u32);
            pc += instruction::length(&bytes[pc..], pc, offset + pc)?;
        }
        if pc > bytes.len() {
            return Err(Error { offset: offset + bytes.len(), what: Fault::Truncated });
        }
        number_of[pc] = pcs.len() as u32;
        pcs.push(pc as u32);
        Ok(Self { max_stack, max_locals, bytes, offset, handlers, attributes, pcs, number_of })
    }

    /// How many instructions there are.
    pub fn instructions(&self) -> usize {
        self.pcs.len() - 1
    }

    /// Where an instruction begins.
    pub fn pc(&self, instruction: usize) -> usize {
        self.pcs[instruction] as usize
    }

    /// The opcode of an instruction.
    pub fn opcode(&self, instruction: usize) -> u8 {
        self.bytes[self.pc(instruction)]
    }

    /// The bytes of an instruction.
    pub(crate) fn instruction(&self, instruction: usize) -> &'a [u8] {
        &self.bytes[self.pc(instruction)..self.pc(instruction + 1)]
    }

    /// The index into the constant pool that follows the opcode, and where that is in the class file.
    pub(crate) fn operand(&self, instruction: usize) -> Result<(u16, usize), Error> {
        let offset = self.offset + self.pc(instruction);
        let mut reader = Reader::new(self.instruction(instruction), offset);
        reader.u8()?;
        Ok((reader.u16()?, offset))
    }

    /// The number of the instruction that begins at `pc`, or the number of instructions for the end. `offset` is
    /// where it is asked for.
    pub(crate) fn number(&self, pc: i64, offset: usize) -> Result<usize, Error> {
        let number = usize::try_from(pc).ok().and_then(|pc| self.number_of.get(pc));
        match number {
            Some(&number) if number != NONE => Ok(number as usize),
            _ => Err(Error { offset, what: Fault::Target(pc) }),
        }
    }

    /// The same for a jump, which cannot go to the end.
    pub(crate) fn target(&self, pc: i64, offset: usize) -> Result<usize, Error> {
        match self.number(pc, offset)? {
            number if number < self.instructions() => Ok(number),
            _ => Err(Error { offset, what: Fault::Target(pc) }),
        }
    }

    /// The instruction that `pc` is in: what only a debugger reads may point anywhere.
    pub(crate) fn around(&self, pc: usize) -> usize {
        self.pcs.partition_point(|&begin| begin as usize <= pc).saturating_sub(1)
    }
}
