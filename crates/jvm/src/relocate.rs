//! Code with something inserted: the same instructions in the same order, and everything that speaks of their
//! positions moved along.
//!
//! ```text
//!   before                    after
//!   ─────────────             ───────────────────────────────────────────
//!                             prologue           nothing jumps here
//!   3: ifeq 9        start ─► [inserted before]  jumps, frames and lines that meant 3 mean this
//!                    at ────► ifeq …             what meant the instruction itself (`new`) means this
//!                             [inserted after]   only reached by falling through
//!   6: …             start ─► …
//!                             catch-all handler
//! ```
//!
//! What is inserted is straight-line code that leaves the operand stack as it found it (what stands before and after
//! one instruction may share a value on it) and has no locals. So every frame of the method stays true at its new
//! place and none is ever computed. Two things bring frames of their own, and both follow from what is there:
//!
//! - The catch-all handler knows nothing of the locals and has a `Throwable` on the stack.
//! - A conditional jump has two bytes for its distance. One that became too long goes to a *trampoline*, a `goto_w`
//!   to its target, which has the very frame of that target. A trampoline stands where control does not fall through,
//!   or before an instruction that has a frame, so that control can jump around it:
//!
//!   ```text
//!     …                         ifeq T'             frame of T at T'
//!     ifeq T            ──►     …
//!     …                         goto N; T': goto_w T; N: …
//!   ```
//!   It is no part of any range of handlers: those may expect locals that T does not have.
//!
//! A `goto` or `jsr` that became too long becomes `goto_w` or `jsr_w`. Cost: linear in the code, times the rounds until
//! every jump reaches (one, but for methods over 32 KB).

use crate::bytes::{Error, Fault, narrow, put_u16, put_u32};
use crate::class::{Attribute, put_attributes};
use crate::code::{Code, Handler};
use crate::frames::{self, MethodShape};
use crate::instruction;
use crate::layout::Layout;
use crate::opcode::{LOOKUPSWITCH, MONITORENTER, TABLESWITCH};
use crate::pool::Pool;
use crate::tables;

/// What is to be inserted into a method, added from its first instruction to its last.
#[derive(Debug, Default)]
pub(crate) struct Insertions {
    /// Runs once, before everything else.
    pub(crate) prologue: Vec<u8>,
    /// All that is inserted before and after instructions, one after the other.
    text: Vec<u8>,
    /// For each instruction, where its before-part and its after-part end in `text`; instructions that are missing
    /// at the end have none.
    ends: Vec<[u32; 2]>,
    /// What runs when an exception leaves the method, `athrow` included.
    pub(crate) catch_all: Option<CatchAll>,
    /// How many slots of operand stack the inserted code needs beyond what is there already.
    pub(crate) extra_stack: u16,
}

/// A handler for everything, behind the method's own.
#[derive(Debug, Default)]
pub(crate) struct CatchAll {
    /// Its code, which finds the exception on the stack and throws it again.
    pub(crate) code: Vec<u8>,
    /// The slots of operand stack it needs.
    pub(crate) stack: u16,
    /// What it covers: instructions, the second not included.
    pub(crate) ranges: Vec<(usize, usize)>,
}

impl Insertions {
    /// Whether there is nothing to insert.
    pub(crate) fn is_empty(&self) -> bool {
        self.prologue.is_empty() && self.text.is_empty() && self.catch_all.is_none()
    }

    /// Inserts before an instruction, not before one that something was inserted after already.
    pub(crate) fn before(&mut self, instruction: usize, code: &[u8]) {
        self.insert(instruction, code, 0);
    }

    /// Inserts after an instruction.
    pub(crate) fn after(&mut self, instruction: usize, code: &[u8]) {
        self.insert(instruction, code, 1);
    }

    fn insert(&mut self, instruction: usize, code: &[u8], side: usize) {
        let end = self.text.len() as u32;
        if self.ends.len() <= instruction {
            self.ends.resize(instruction + 1, [end; 2]);
        }
        debug_assert_eq!(self.ends.len(), instruction + 1, "insertions come in order");
        debug_assert!(side == 1 || self.ends[instruction][0] == end, "before comes before after");
        self.text.extend_from_slice(code);
        self.ends[instruction][side..].fill(self.text.len() as u32);
    }

    /// What stands before an instruction and what after it.
    pub(crate) fn around(&self, instruction: usize) -> (&[u8], &[u8]) {
        let Some(&[before, after]) = self.ends.get(instruction) else { return (&[], &[]) };
        let begin = if instruction == 0 { 0 } else { self.ends[instruction - 1][1] };
        (&self.text[begin as usize..before as usize], &self.text[before as usize..after as usize])
    }
}

/// The content of the `Code` attribute with the insertions in it.
pub(crate) fn relocate(
    code: &Code<'_>,
    insertions: &Insertions,
    shape: &MethodShape<'_>,
    pool: &mut Pool<'_>,
) -> Result<Vec<u8>, Error> {
    let layout = Layout::new(code, insertions, pool)?;
    let too_deep = |value| narrow(value, code.offset, Fault::MethodTooDeep);
    let handler_stack = insertions.catch_all.as_ref().map_or(0, |handler| handler.stack);
    let max_stack = usize::from(code.max_stack) + usize::from(insertions.extra_stack);

    let mut out = Vec::new();
    put_u16(&mut out, too_deep(max_stack)?.max(handler_stack));
    put_u16(&mut out, code.max_locals);
    put_u32(&mut out, layout.size() as u32);
    let begin = out.len();
    instructions(&mut out, code, insertions, &layout)?;
    debug_assert_eq!(out.len() - begin, layout.size());

    let (handlers, first_of) = handlers(code, insertions, &layout)?;
    put_u16(&mut out, too_deep(handlers.len())?);
    for handler in handlers {
        for value in [handler.from, handler.to, handler.handler, handler.catches] {
            put_u16(&mut out, value);
        }
    }

    let needs_frames = shape.major_version >= 50;
    let catch_all_frame = insertions.catch_all.is_some() && needs_frames;
    let mut has_frames = false;
    let mut attributes = code.attributes.clone();
    for attribute in &mut attributes {
        let content = &attribute.content;
        let moved = match pool.text(attribute.name, attribute.offset)? {
            b"LineNumberTable" => tables::lines(content, attribute.offset, &layout)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                tables::variables(content, attribute.offset, &layout)?
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                tables::type_annotations(content, attribute.offset, &layout, &first_of)?
            }
            b"StackMapTable" if needs_frames => {
                has_frames = true;
                frames::relocate(content, attribute.offset, &layout, shape, catch_all_frame, pool)?
            }
            _ => continue,
        };
        attribute.content = moved.into();
    }
    if catch_all_frame && !has_frames {
        let content = frames::catch_all_only(&layout, pool)?;
        let name = pool.add_text(b"StackMapTable")?;
        attributes.push(Attribute { name, content: content.into(), offset: code.offset });
    }
    put_attributes(&mut out, &attributes)?;
    Ok(out)
}

fn instructions(
    out: &mut Vec<u8>,
    code: &Code<'_>,
    insertions: &Insertions,
    layout: &Layout<'_>,
) -> Result<(), Error> {
    out.extend_from_slice(&insertions.prologue);
    for instruction in 0..code.instructions() {
        layout.put_trampolines(out, instruction);
        let (before, after) = insertions.around(instruction);
        out.extend_from_slice(before);
        put_instruction(out, code, layout, instruction)?;
        out.extend_from_slice(after);
    }
    layout.put_trampolines(out, code.instructions());
    if let Some(catch_all) = &insertions.catch_all {
        out.extend_from_slice(&catch_all.code);
    }
    Ok(())
}

fn put_instruction(
    out: &mut Vec<u8>,
    code: &Code<'_>,
    layout: &Layout<'_>,
    instruction: usize,
) -> Result<(), Error> {
    let bytes = code.instruction(instruction);
    if layout.put_jump(out, instruction) {
        return Ok(());
    }
    if !matches!(bytes[0], TABLESWITCH | LOOKUPSWITCH) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    let (pc, offset) = (code.pc(instruction), code.offset + code.pc(instruction));
    let (old, new) = (instruction::padding(pc), instruction::padding(layout.at(instruction)));
    // Old compilers left something in the padding: keep it where its size stays.
    out.push(bytes[0]);
    out.extend_from_slice(if old == new { &bytes[1..1 + old] } else { &[0; 3][..new] });
    // A word for the default, then the bounds or the number of pairs, then jumps or pairs of key and jump.
    let (header, stride) = if bytes[0] == TABLESWITCH { (2, 1) } else { (1, 2) };
    let mut targets = instruction::jump_targets(code.bytes, pc, offset)?.into_iter();
    for (word, value) in bytes[1 + old..].chunks_exact(4).enumerate() {
        let jumps = word == 0 || (word > header && (word - header) % stride == 0);
        match if jumps { targets.next() } else { None } {
            Some(target) => {
                let distance =
                    layout.start(code.target(target, offset)?) as i64 - layout.at(instruction) as i64;
                put_u32(out, (distance as i32).cast_unsigned());
            }
            None => out.extend_from_slice(value),
        }
    }
    Ok(())
}

/// The exception table, and which of its entries is the first that comes from each entry there was.
fn handlers(
    code: &Code<'_>,
    insertions: &Insertions,
    layout: &Layout<'_>,
) -> Result<(Vec<Handler>, Vec<u16>), Error> {
    let mut all = Vec::new();
    let mut first_of = Vec::new();
    for handler in &code.handlers {
        first_of.push(narrow(all.len(), code.offset, Fault::MethodTooDeep)?);
        let from = code.number(handler.from.into(), code.offset)?;
        let to = code.number(handler.to.into(), code.offset)?;
        let target = code.target(handler.handler.into(), code.offset)?;
        // What follows a monitorenter protects the monitor, so it has to cover the hook behind it as well.
        let begin = match from.checked_sub(1) {
            Some(before) if from < to && code.opcode(before) == MONITORENTER => layout.at(before) + 1,
            _ => layout.start(from),
        };
        put_ranges(&mut all, layout, begin, (from, to), layout.start(target), handler.catches);
    }
    if let Some(catch_all) = &insertions.catch_all {
        for &range in &catch_all.ranges {
            put_ranges(&mut all, layout, layout.start(range.0), range, layout.catch_all(), 0);
        }
    }
    Ok((all, first_of))
}

/// One range of instructions, which begins at a position, without the trampolines in it.
fn put_ranges(
    all: &mut Vec<Handler>,
    layout: &Layout<'_>,
    mut begin: usize,
    (from, to): (usize, usize),
    handler: usize,
    catches: u16,
) {
    let mut put = |begin: usize, end: usize| {
        all.push(Handler { from: begin as u16, to: end as u16, handler: handler as u16, catches });
    };
    for boundary in layout.boundaries_with_trampolines(from, to) {
        if begin < layout.end_before(boundary) {
            put(begin, layout.end_before(boundary));
        }
        begin = layout.start(boundary);
    }
    put(begin, layout.end_before(to));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Reader;
    use crate::class::ClassFile;
    use crate::frames::Receiver;
    use crate::opcode::{GOTO_W, IFEQ, IFNONNULL, IFNULL, JSR_W};

    const NOP: u8 = 0;

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }
    }

    /// Every instruction is there, every jump leads to where it led, maybe by a trampoline and past what was inserted,
    /// and handlers cover what they covered, but no trampoline.
    fn check(code: &Code<'_>, content: &[u8], layout: &Layout<'_>) {
        let new = Code::parse(content, 0).unwrap();
        let lands_at = |mut position: usize| {
            if layout.trampolines().iter().any(|there| there.position == position) {
                assert_eq!(new.bytes[position], GOTO_W);
                position = instruction::jump_targets(new.bytes, position, 0).unwrap()[0] as usize;
            }
            position + new.bytes[position..].iter().take_while(|&&byte| byte == NOP).count()
        };
        for number in 0..code.instructions() {
            let (old_pc, new_pc) = (code.pc(number), layout.at(number));
            let opcode = code.opcode(number);
            let old_targets = instruction::jump_targets(code.bytes, old_pc, 0).unwrap();
            let new_targets = instruction::jump_targets(new.bytes, new_pc, 0).unwrap();
            match new.bytes[new_pc] {
                GOTO_W | JSR_W => {}
                same => assert_eq!(same, opcode),
            }
            if !matches!(opcode, IFEQ..=LOOKUPSWITCH | IFNULL..=IFNONNULL | GOTO_W | JSR_W) {
                assert_eq!(new.instruction(new.number(new_pc as i64, 0).unwrap()), code.instruction(number));
            }
            assert_eq!(old_targets.len(), new_targets.len());
            for (old, new) in old_targets.into_iter().zip(new_targets) {
                assert_eq!(lands_at(new as usize), layout.at(code.number(old, 0).unwrap()));
            }
        }
        let range = |handler: &Handler| usize::from(handler.from)..usize::from(handler.to);
        for there in layout.trampolines() {
            assert!(!new.handlers.iter().any(|handler| range(handler).contains(&there.position)));
        }
        // Each instruction has the same handlers in the same order; of those that were split, one covers it.
        for number in 0..code.instructions() {
            let handlers =
                |handlers: &[Handler], at: usize, place: &dyn Fn(u16) -> usize| -> Vec<(usize, u16)> {
                    let covering = handlers.iter().filter(|handler| range(handler).contains(&at));
                    covering.map(|handler| (place(handler.handler), handler.catches)).collect()
                };
            let moved = |handler: u16| layout.start(code.number(handler.into(), 0).unwrap());
            assert_eq!(
                handlers(&new.handlers, layout.at(number), &usize::from),
                handlers(&code.handlers, code.pc(number), &moved)
            );
        }
    }

    /// Inserts into a method as much as fits, again and again; says how often it did, and how often with trampolines.
    fn insert_at_random(
        class: &ClassFile<'_>,
        shape: &MethodShape<'_>,
        code: &Code<'_>,
        random: &mut Random,
    ) -> [usize; 2] {
        let mut done = [0; 2];
        let large = (100_000 / code.instructions()).max(1);
        for most in [1, 4, large, large, large, large] {
            let mut insertions = Insertions::default();
            insertions.prologue.resize(random.below(9), NOP);
            for number in 0..code.instructions() {
                insertions.before(number, &vec![NOP; random.below(most)]);
                if !instruction::ends_a_path(code.opcode(number)) {
                    insertions.after(number, &vec![NOP; random.below(most.min(50))]);
                }
            }
            let mut pool = class.pool.clone();
            match relocate(code, &insertions, shape, &mut pool) {
                Ok(content) => {
                    let layout = Layout::new(code, &insertions, &pool).unwrap();
                    check(code, &content, &layout);
                    done[0] += 1;
                    done[1] += usize::from(!layout.trampolines().is_empty());
                }
                // A short method may have no place on the way; what hooks insert is far shorter than this.
                Err(error) if error.what == Fault::JumpTooFar => assert!(most > 1000, "{error}: {most}"),
                Err(error) => assert!(matches!(error.what, Fault::MethodTooLarge(_)), "{error}"),
            }
        }
        done
    }

    #[test]
    fn whatever_is_inserted_jumps_lead_to_where_they_led() {
        let mut random = Random(1);
        let mut done = [0; 2];
        let entries = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/classes")).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let Ok(file) = std::fs::read(path) else { continue };
            let class = ClassFile::parse(&file).unwrap();
            for method in &class.methods {
                let descriptor = class.pool.text(method.descriptor, 0).unwrap();
                let receiver = if method.access & 8 == 0 { Receiver::Initialized } else { Receiver::None };
                let (major_version, this_class) = (class.major_version, class.this_class);
                let shape = MethodShape { major_version, this_class, descriptor, receiver };
                for attribute in &method.attributes {
                    if class.pool.text(attribute.name, 0) == Ok(b"Code") {
                        let code = Code::parse(&attribute.content, attribute.offset).unwrap();
                        let [all, with_trampolines] = insert_at_random(&class, &shape, &code, &mut random);
                        done = [done[0] + all, done[1] + with_trampolines];
                    }
                }
            }
        }
        assert!(done[0] > 500 && done[1] >= 5, "{done:?}");
    }

    #[test]
    fn a_switch_that_moves_keeps_its_table() {
        // iconst_0; tableswitch with one case, both to the return behind it.
        let mut bytes = vec![0x03, TABLESWITCH, 0, 0];
        for word in [19_u32, 5, 5, 19] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.push(0xb1);
        let mut content = vec![0, 1, 0, 0, 0, 0, 0, bytes.len() as u8];
        content.extend(&bytes);
        content.extend([0; 4]);
        let code = Code::parse(&content, 0).unwrap();
        let empty = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let mut reader = Reader::new(&empty, 0);
        reader.take(8).unwrap();
        let mut pool = Pool::parse(&mut reader, &empty).unwrap();
        for inserted in 0..5 {
            let mut insertions = Insertions::default();
            insertions.before(1, &vec![NOP; inserted]);
            let (descriptor, receiver) = (b"()V", Receiver::None);
            let shape = MethodShape { major_version: 48, this_class: 0, descriptor, receiver };
            let moved = relocate(&code, &insertions, &shape, &mut pool).unwrap();
            check(&code, &moved, &Layout::new(&code, &insertions, &pool).unwrap());
        }
    }
}
