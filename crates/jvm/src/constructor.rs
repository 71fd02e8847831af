//! Where in a constructor `this` is initialised: a small data-flow.
//!
//! Until a constructor has called one of its superclass or another one of its own class, `this` may not be given to
//! anybody, not to a hook either. There is no telling by position: `super(a ? new B() : c)` has jumps and other
//! constructors' calls before it, and bytecode may have several such calls on different ways. So the operand stack is
//! followed, slot by slot, with one question for each: is this `this`? The verifier has made sure that every way to
//! an instruction agrees on the answer; if one does not, the method is left alone.
//!
//! Cost: linear in the code before `super()`, which is short; behind it nothing is followed but reachability.

use crate::bytes::{Error, Fault};
use crate::code::Code;
use crate::instruction;
use crate::opcode::*;
use crate::pool::Pool;

/// No compiler keeps as many copies of `this`; the bound keeps the memory of hostile input small.
const COPIES: usize = 256;

/// What is known of every instruction of a constructor.
#[derive(Debug)]
pub(crate) struct Constructor {
    ways: Vec<Option<Way>>,
    super_calls: Vec<usize>,
    /// The instructions that use a field or the monitor of `this` before it is initialised, in order.
    on_raw_this: Vec<usize>,
}

/// How control comes to an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// `this` is not initialised yet.
    Before(Slots),
    /// `this` is initialised.
    After,
}

/// Where `this` is while it is not initialised.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slots {
    /// The locals that hold it, in order.
    locals: Vec<u16>,
    /// The slots of the operand stack that hold it, counted from the bottom, in order.
    stack: Vec<usize>,
    /// The slots of the operand stack in use.
    depth: usize,
}

impl Constructor {
    /// Follows the ways through a constructor.
    pub(crate) fn analyse(code: &Code<'_>, pool: &Pool<'_>) -> Result<Self, Error> {
        let flow = Flow::new(code, pool)?;
        let mut ways = vec![None; code.instructions()];
        let first = Slots { locals: vec![0], stack: Vec::new(), depth: 0 };
        ways[0] = Some(Way::Before(first));
        let mut open = vec![0];
        while let Some(instruction) = open.pop() {
            if let Some(way) = ways[instruction].clone() {
                flow.follow(instruction, way, |next, way| {
                    if join(&mut ways[next], way, code.offset + code.pc(next))? {
                        open.push(next);
                    }
                    Ok(())
                })?;
            }
        }
        let (mut super_calls, mut on_raw_this) = (Vec::new(), Vec::new());
        for (instruction, way) in ways.iter().enumerate() {
            if let Some(Way::Before(slots)) = way
                && flow.object_is_this(instruction, slots)?
            {
                match code.opcode(instruction) {
                    INVOKESPECIAL => super_calls.push(instruction),
                    _ => on_raw_this.push(instruction),
                }
            }
        }
        Ok(Self { ways, super_calls, on_raw_this })
    }

    /// Whether the instruction calls a constructor on `this`.
    pub(crate) fn is_super_call(&self, instruction: usize) -> bool {
        self.super_calls.binary_search(&instruction).is_ok()
    }

    /// Whether the object of a field access or of a monitor is `this` before it is initialised.
    pub(crate) fn is_on_raw_this(&self, instruction: usize) -> bool {
        self.on_raw_this.binary_search(&instruction).is_ok()
    }

    /// Whether control can come to the instruction.
    pub(crate) fn is_reached(&self, instruction: usize) -> bool {
        self.ways[instruction].is_some()
    }

    /// The longest ranges of instructions in which `this` is initialised.
    pub(crate) fn ranges_after_super(&self) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (instruction, way) in self.ways.iter().enumerate() {
            if *way == Some(Way::After) {
                match ranges.last_mut() {
                    Some((_, end)) if *end == instruction => *end += 1,
                    _ => ranges.push((instruction, instruction + 1)),
                }
            }
        }
        ranges
    }
}

/// Puts a way to what is known of an instruction; says whether that is news.
fn join(known: &mut Option<Way>, way: Way, offset: usize) -> Result<bool, Error> {
    match (known, way) {
        (known @ None, way) => *known = Some(way),
        (Some(Way::After), Way::After) => return Ok(false),
        (Some(Way::Before(old)), Way::Before(new)) if old.depth == new.depth => {
            let before = old.locals.len() + old.stack.len();
            old.locals.retain(|local| new.locals.contains(local));
            old.stack.retain(|slot| new.stack.contains(slot));
            return Ok(old.locals.len() + old.stack.len() < before);
        }
        (Some(Way::Before(_)), Way::Before(_)) => {
            return Err(Error { offset, what: Fault::ConstructorStack });
        }
        _ => return Err(Error { offset, what: Fault::ConstructorPaths }),
    }
    Ok(true)
}

/// The ways that control can go.
struct Flow<'c> {
    code: &'c Code<'c>,
    pool: &'c Pool<'c>,
    /// The exception table: from, to, handler, as instructions.
    handlers: Vec<(usize, usize, usize)>,
    /// What follows the calls of subroutines, which is where `ret` goes.
    after_subroutines: Vec<usize>,
}

impl<'c> Flow<'c> {
    fn new(code: &'c Code<'c>, pool: &'c Pool<'c>) -> Result<Self, Error> {
        let mut handlers = Vec::new();
        for handler in &code.handlers {
            handlers.push((
                code.number(handler.from.into(), code.offset)?,
                code.number(handler.to.into(), code.offset)?,
                code.target(handler.handler.into(), code.offset)?,
            ));
        }
        let calls = (1..code.instructions()).filter(|&next| matches!(code.opcode(next - 1), JSR | JSR_W));
        Ok(Self { code, pool, handlers, after_subroutines: calls.collect() })
    }

    /// Tells where control goes on from an instruction.
    fn follow(
        &self,
        instruction: usize,
        way: Way,
        mut go: impl FnMut(usize, Way) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let code = self.code;
        let (pc, opcode) = (code.pc(instruction), code.opcode(instruction));
        let offset = code.offset + pc;
        for &(from, to, handler) in &self.handlers {
            if (from..to).contains(&instruction) {
                go(
                    handler,
                    match &way {
                        Way::After => Way::After,
                        Way::Before(slots) => {
                            Way::Before(Slots { locals: slots.locals.clone(), stack: Vec::new(), depth: 1 })
                        }
                    },
                )?;
            }
        }
        let next = match way {
            Way::After => Way::After,
            Way::Before(slots) if opcode == INVOKESPECIAL && self.object_is_this(instruction, &slots)? => {
                Way::After
            }
            Way::Before(mut slots) => {
                self.step(instruction, &mut slots)?;
                Way::Before(slots)
            }
        };
        for target in instruction::jump_targets(code.bytes, pc, offset)? {
            go(code.target(target, offset)?, next.clone())?;
        }
        if opcode == RET {
            for &after in &self.after_subroutines {
                go(after, next.clone())?;
            }
        }
        if !instruction::ends_a_path(opcode) && !matches!(opcode, JSR | JSR_W) {
            match instruction + 1 {
                end if end == code.instructions() => return Err(Error { offset, what: Fault::Truncated }),
                following => go(following, next)?,
            }
        }
        Ok(())
    }

    /// Whether the object that a field, a monitor or a constructor is of is `this`.
    fn object_is_this(&self, instruction: usize, slots: &Slots) -> Result<bool, Error> {
        let above = match self.code.opcode(instruction) {
            GETFIELD | MONITORENTER | MONITOREXIT => 0,
            PUTFIELD => {
                let (index, offset) = self.code.operand(instruction)?;
                instruction::slots(self.pool.field(index, offset)?.descriptor, offset)?
            }
            INVOKESPECIAL => {
                let (index, offset) = self.code.operand(instruction)?;
                let method = self.pool.method(index, offset)?;
                if method.name != b"<init>" {
                    return Ok(false);
                }
                instruction::call_slots(method.descriptor, offset)?.0
            }
            _ => return Ok(false),
        };
        Ok(slots.depth.checked_sub(above + 1).is_some_and(|slot| slots.stack.contains(&slot)))
    }

    /// What an instruction does to the slots.
    fn step(&self, instruction: usize, slots: &mut Slots) -> Result<(), Error> {
        let bytes = self.code.instruction(instruction);
        let offset = self.code.offset + self.code.pc(instruction);
        let opcode = bytes[0];
        let local = match (opcode, bytes) {
            (ALOAD_0..=0x2d, _) => u16::from(opcode - ALOAD_0),
            (ASTORE_0..=0x4e, _) => u16::from(opcode - ASTORE_0),
            (WIDE, &[_, _, high, low, ..]) => u16::from_be_bytes([high, low]),
            (_, &[_, index, ..]) => u16::from(index),
            _ => 0,
        };
        let inner = if opcode == WIDE { bytes.get(1).copied().unwrap_or(0) } else { opcode };
        let done = match inner {
            ALOAD | ALOAD_0..=0x2d => slots.push(slots.locals.contains(&local)),
            ASTORE | ASTORE_0..=0x4e => slots.pop().map(|this| slots.store(local, this)),
            POP..=SWAP => slots.shuffle(inner),
            _ => {
                let (takes, gives) =
                    instruction::stack_effect(self.code.bytes, self.code.pc(instruction), offset, self.pool)?;
                slots.replace(takes, gives)
            }
        };
        done.filter(|()| slots.stack.len() <= COPIES && slots.locals.len() <= COPIES)
            .ok_or(Error { offset, what: Fault::ConstructorStack })
    }
}

impl Slots {
    fn push(&mut self, this: bool) -> Option<()> {
        if this {
            self.stack.push(self.depth);
        }
        self.depth += 1;
        Some(())
    }

    /// Takes the top slot; says whether it was `this`. Nothing if there is none.
    fn pop(&mut self) -> Option<bool> {
        self.depth = self.depth.checked_sub(1)?;
        let this = self.stack.last() == Some(&self.depth);
        if this {
            self.stack.pop();
        }
        Some(this)
    }

    fn replace(&mut self, takes: usize, gives: usize) -> Option<()> {
        self.depth = self.depth.checked_sub(takes)?;
        self.stack.retain(|&slot| slot < self.depth);
        self.depth += gives;
        Some(())
    }

    fn store(&mut self, local: u16, this: bool) {
        self.locals.retain(|&other| other != local);
        if this {
            self.locals.push(local);
        }
    }

    /// The instructions that move and copy slots: they take some and give back some of those, from the bottom up.
    fn shuffle(&mut self, opcode: u8) -> Option<()> {
        let (takes, gives): (usize, &[usize]) = match opcode {
            POP => (1, &[]),
            POP2 => (2, &[]),
            DUP => (1, &[0, 0]),
            DUP_X1 => (2, &[1, 0, 1]),
            DUP_X2 => (3, &[2, 0, 1, 2]),
            DUP2 => (2, &[0, 1, 0, 1]),
            DUP2_X1 => (3, &[1, 2, 0, 1, 2]),
            DUP2_X2 => (4, &[2, 3, 0, 1, 2, 3]),
            _ => (2, &[1, 0]),
        };
        let mut taken = [false; 4];
        for slot in taken[..takes].iter_mut().rev() {
            *slot = self.pop()?;
        }
        gives.iter().try_for_each(|&slot| self.push(taken[slot]))
    }
}
