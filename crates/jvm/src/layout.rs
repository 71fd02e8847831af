//! Where everything is after the insertions: the positions that `relocate.rs` writes by.

use crate::bytes::{Error, Fault, put_u16, put_u32};
use crate::code::Code;
use crate::frames;
use crate::instruction;
use crate::opcode::{GOTO, GOTO_W, IFEQ, IFNONNULL, IFNULL, JSR, JSR_W, LOOKUPSWITCH, TABLESWITCH};
use crate::pool::Pool;
use crate::relocate::Insertions;

/// The size of `goto` and of `goto_w`.
const SHORT: usize = 3;
const LONG: usize = 5;

/// How far a trampoline may be from its jump when it is chosen: less than a jump reaches, because later ones may come
/// between.
const NEAR: usize = 28_000;

/// Every round makes at least one jump longer for good, and one round nearly always does.
const ROUNDS: usize = 40;

/// New positions of a method's instructions.
#[derive(Debug)]
pub(crate) struct Layout<'c> {
    code: &'c Code<'c>,
    /// Where jumps to an instruction go: the code inserted before it, or itself. The last is the end of all.
    start: Vec<u32>,
    /// Where the instruction itself is.
    at: Vec<u32>,
    /// The jumps, in order.
    jumps: Vec<Jump>,
    /// The detours, by boundary.
    trampolines: Vec<Trampoline>,
    /// The size of the prologue.
    prologue: usize,
    /// The size of all.
    size: usize,
}

/// A jump to one target.
#[derive(Clone, Copy, Debug)]
struct Jump {
    instruction: usize,
    target: usize,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The distance has two bytes.
    Short,
    /// The distance has four bytes.
    Long,
    /// By the trampoline to its target at this boundary.
    Trampoline(usize),
}

/// A `goto_w` to a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trampoline {
    /// The instruction that it stands before; code inserted before that comes later.
    boundary: usize,
    /// Where it goes.
    pub(crate) target: usize,
    /// Where it is.
    pub(crate) position: usize,
}

impl<'c> Layout<'c> {
    /// Places everything, so that every jump reaches its target.
    pub(crate) fn new(code: &'c Code<'c>, insertions: &Insertions, pool: &Pool<'_>) -> Result<Self, Error> {
        let count = code.instructions();
        let mut layout = Self {
            code,
            start: vec![0; count + 1],
            at: vec![0; count + 1],
            jumps: jumps(code)?,
            trampolines: Vec::new(),
            prologue: insertions.prologue.len(),
            size: 0,
        };
        for _ in 0..ROUNDS {
            layout.place(insertions);
            if layout.size > usize::from(u16::MAX) {
                return Err(Error { offset: code.offset, what: Fault::MethodTooLarge(layout.size) });
            }
            if !layout.lengthen(pool)? {
                return Ok(layout);
            }
        }
        Err(Error { offset: code.offset, what: Fault::JumpTooFar })
    }

    /// Everything where it was.
    pub(crate) fn unchanged(code: &'c Code<'c>) -> Self {
        let start: Vec<u32> = (0..=code.instructions()).map(|number| code.pc(number) as u32).collect();
        let at = start.clone();
        let size = code.bytes.len();
        Self { code, start, at, jumps: Vec::new(), trampolines: Vec::new(), prologue: 0, size }
    }

    fn place(&mut self, insertions: &Insertions) {
        let mut position = self.prologue;
        let mut jumps = self.jumps.iter().peekable();
        let mut trampoline = 0;
        for instruction in 0..=self.code.instructions() {
            let mut first = true;
            while let Some(next) = self.trampolines.get_mut(trampoline) {
                if next.boundary != instruction {
                    break;
                }
                if first && falls_through(self.code, instruction) {
                    position += SHORT;
                }
                first = false;
                next.position = position;
                position += LONG;
                trampoline += 1;
            }
            self.start[instruction] = position as u32;
            let (before, after) = insertions.around(instruction);
            position += before.len();
            self.at[instruction] = position as u32;
            if instruction == self.code.instructions() {
                break;
            }
            let bytes = self.code.instruction(instruction);
            position += match (bytes[0], jumps.next_if(|jump| jump.instruction == instruction)) {
                (GOTO | JSR, Some(Jump { way: Way::Long, .. })) => LONG,
                (TABLESWITCH | LOOKUPSWITCH, _) => {
                    let old = instruction::padding(self.code.pc(instruction));
                    bytes.len() - old + instruction::padding(position)
                }
                _ => bytes.len(),
            };
            position += after.len();
        }
        self.size = position + insertions.catch_all.as_ref().map_or(0, |handler| handler.code.len());
    }

    /// Finds longer ways for the jumps that do not reach their targets; says whether there were any.
    fn lengthen(&mut self, pool: &Pool<'_>) -> Result<bool, Error> {
        let (mut places, mut changed) = (None, false);
        for index in 0..self.jumps.len() {
            let jump = self.jumps[index];
            let from = self.at(jump.instruction);
            let to = match jump.way {
                Way::Short => self.start(jump.target),
                Way::Trampoline(boundary) => self.trampoline(boundary, jump.target),
                Way::Long => continue,
            };
            if i16::try_from(to as i64 - from as i64).is_ok() {
                continue;
            }
            changed = true;
            self.jumps[index].way = if matches!(self.code.opcode(jump.instruction), GOTO | JSR) {
                Way::Long
            } else {
                let places = match &mut places {
                    Some(places) => places,
                    none => none.insert(Places::new(self.code, pool)?),
                };
                let boundary = self.detour(jump, places)?;
                self.add_trampoline(boundary, jump.target);
                Way::Trampoline(boundary)
            };
        }
        if changed {
            let (jumps, way) = (&self.jumps, Way::Trampoline);
            let used =
                |t: &Trampoline| jumps.iter().any(|j| j.target == t.target && j.way == way(t.boundary));
            self.trampolines.retain(used);
        }
        Ok(changed)
    }

    /// The boundary for a trampoline to a jump's target: one that has it already, or else the nearest.
    fn detour(&self, jump: Jump, places: &Places) -> Result<usize, Error> {
        let from = self.at(jump.instruction);
        let near = |boundary: usize| self.start(boundary).abs_diff(from) < NEAR;
        let shared =
            self.trampolines.iter().find(|there| there.target == jump.target && near(there.boundary));
        let free = || {
            let boundaries = places.boundaries.iter().copied();
            boundaries.filter(|&boundary| near(boundary)).min_by_key(|&b| self.start(b).abs_diff(from))
        };
        let found = shared.map(|there| there.boundary).or_else(free);
        match found {
            Some(boundary) if places.has_frame(jump.target) => Ok(boundary),
            _ => {
                let offset = self.code.offset + self.code.pc(jump.instruction);
                Err(Error { offset, what: Fault::JumpTooFar })
            }
        }
    }

    fn add_trampoline(&mut self, boundary: usize, target: usize) {
        let key = (boundary, target);
        if let Err(index) =
            self.trampolines.binary_search_by_key(&key, |there| (there.boundary, there.target))
        {
            self.trampolines.insert(index, Trampoline { boundary, target, position: self.start(boundary) });
        }
    }

    /// Where the trampoline to this target at this boundary is.
    fn trampoline(&self, boundary: usize, target: usize) -> usize {
        let key = (boundary, target);
        match self.trampolines.binary_search_by_key(&key, |there| (there.boundary, there.target)) {
            Ok(index) => self.trampolines[index].position,
            Err(_) => self.start(boundary),
        }
    }

    /// The size of the new code.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Where what meant an instruction as a target goes.
    pub(crate) fn start(&self, instruction: usize) -> usize {
        self.start[instruction] as usize
    }

    /// Where an instruction itself is.
    pub(crate) fn at(&self, instruction: usize) -> usize {
        self.at[instruction] as usize
    }

    /// Where the code ends that belongs to the instructions before this one.
    pub(crate) fn end_before(&self, instruction: usize) -> usize {
        let first = self.trampolines.partition_point(|there| there.boundary < instruction);
        match self.trampolines.get(first) {
            Some(there) if there.boundary == instruction => {
                there.position - if falls_through(self.code, instruction) { SHORT } else { 0 }
            }
            _ => self.start(instruction),
        }
    }

    /// Where the catch-all handler is.
    pub(crate) fn catch_all(&self) -> usize {
        self.start(self.code.instructions())
    }

    /// The code that all this is about.
    pub(crate) fn code(&self) -> &'c Code<'c> {
        self.code
    }

    /// All trampolines, by position.
    pub(crate) fn trampolines(&self) -> &[Trampoline] {
        &self.trampolines
    }

    /// The instructions from the first to the last, without the last, that have trampolines before them.
    pub(crate) fn boundaries_with_trampolines(&self, from: usize, to: usize) -> Vec<usize> {
        let inside = |there: &&Trampoline| from <= there.boundary && there.boundary < to;
        let mut boundaries: Vec<usize> = self.trampolines.iter().filter(inside).map(|t| t.boundary).collect();
        boundaries.dedup();
        boundaries
    }

    /// What a position in a table for debuggers becomes. Such a table may point into instructions, or anywhere.
    pub(crate) fn debug_position(&self, pc: usize) -> usize {
        let instruction = self.code.around(pc);
        match pc - self.code.pc(instruction) {
            // What is true from the beginning is true in the prologue.
            0 if pc == 0 => 0,
            0 => self.start(instruction),
            inside => self.at(instruction) + inside,
        }
    }

    /// Writes what stands before an instruction to help jumps.
    pub(crate) fn put_trampolines(&self, out: &mut Vec<u8>, boundary: usize) {
        let mut first = true;
        for there in self.trampolines.iter().filter(|there| there.boundary == boundary) {
            if first && falls_through(self.code, boundary) {
                out.push(GOTO);
                put_u16(out, (self.start(boundary) + SHORT - there.position) as u16);
            }
            first = false;
            out.push(GOTO_W);
            put_u32(out, (self.start(there.target) as i32 - there.position as i32).cast_unsigned());
        }
    }

    /// Writes an instruction if it is a jump with one target.
    pub(crate) fn put_jump(&self, out: &mut Vec<u8>, instruction: usize) -> bool {
        let Ok(index) = self.jumps.binary_search_by_key(&instruction, |jump| jump.instruction) else {
            return false;
        };
        let jump = self.jumps[index];
        let opcode = self.code.opcode(instruction);
        let to = match jump.way {
            Way::Trampoline(boundary) => self.trampoline(boundary, jump.target),
            _ => self.start(jump.target),
        };
        let distance = to as i32 - self.at(instruction) as i32;
        match opcode {
            GOTO_W | JSR_W => out.push(opcode),
            _ if jump.way == Way::Long => out.push(opcode - GOTO + GOTO_W),
            _ => {
                out.push(opcode);
                put_u16(out, (distance as i16).cast_unsigned());
                return true;
            }
        }
        put_u32(out, distance.cast_unsigned());
        true
    }
}

/// The jumps with one target.
fn jumps(code: &Code<'_>) -> Result<Vec<Jump>, Error> {
    let mut jumps = Vec::new();
    for instruction in 0..code.instructions() {
        let opcode = code.opcode(instruction);
        if matches!(opcode, IFEQ..=JSR | IFNULL | IFNONNULL | GOTO_W | JSR_W) {
            let (pc, offset) = (code.pc(instruction), code.offset + code.pc(instruction));
            let way = if matches!(opcode, GOTO_W | JSR_W) { Way::Long } else { Way::Short };
            for target in instruction::jump_targets(code.bytes, pc, offset)? {
                jumps.push(Jump { instruction, target: code.target(target, offset)?, way });
            }
        }
    }
    Ok(jumps)
}

/// Whether control comes to this instruction from the one before.
fn falls_through(code: &Code<'_>, instruction: usize) -> bool {
    instruction > 0 && !instruction::ends_a_path(code.opcode(instruction - 1))
}

/// Where trampolines may stand.
struct Places {
    /// Whether each instruction has a frame; empty for a method without frames, which needs none.
    framed: Vec<bool>,
    /// The instructions that a trampoline may stand before, in order.
    boundaries: Vec<usize>,
}

impl Places {
    fn new(code: &Code<'_>, pool: &Pool<'_>) -> Result<Self, Error> {
        let mut places = Self { framed: frames::framed(code, pool)?, boundaries: Vec::new() };
        for instruction in 1..=code.instructions() {
            if !falls_through(code, instruction) || places.has_frame(instruction) {
                places.boundaries.push(instruction);
            }
        }
        Ok(places)
    }

    fn has_frame(&self, instruction: usize) -> bool {
        self.framed.is_empty() || self.framed.get(instruction) == Some(&true)
    }
}
