//! The instructions: how long they are, where they go on, what they do to the operand stack (The Java Virtual
//! Machine Specification, 6.5).

use crate::bytes::{Error, Fault, Reader};
use crate::opcode::*;
use crate::pool::Pool;

/// The bytes between a switch's opcode at this position and its table, which begins at a multiple of four.
pub(crate) fn padding(position: usize) -> usize {
    3 - position % 4
}

/// The length of the instruction at the beginning of `code`, which is at `pc` in its method.
pub(crate) fn length(code: &[u8], pc: usize, offset: usize) -> Result<usize, Error> {
    let mut reader = Reader::new(code, offset);
    let opcode = reader.u8()?;
    let wrong = |what| Err(Error { offset, what });
    let length = match opcode {
        BIPUSH | 0x12 | 0x15..=ALOAD | 0x36..=ASTORE | RET | 0xbc => 2,
        SIPUSH | LDC_W | 0x14 | IINC | IFEQ..=JSR | GETSTATIC..=INVOKESTATIC | NEW | 0xbd | 0xc0 | 0xc1 => 3,
        IFNULL | IFNONNULL => 3,
        INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
        MULTIANEWARRAY => 4,
        WIDE => match reader.u8()? {
            IINC => 6,
            0x15..=ALOAD | 0x36..=ASTORE | RET => 4,
            inner => return wrong(Fault::Opcode(inner)),
        },
        TABLESWITCH => {
            reader.take(padding(pc) + 4)?;
            let (low, high) = (reader.u32()?.cast_signed(), reader.u32()?.cast_signed());
            // Never more than a method has bytes, so that nothing below overflows.
            match i64::from(high) - i64::from(low) {
                entries @ 0..0x1_0000 => 1 + padding(pc) + 12 + 4 * (entries as usize + 1),
                _ => return wrong(Fault::Switch),
            }
        }
        LOOKUPSWITCH => {
            reader.take(padding(pc) + 4)?;
            match reader.u32()? {
                entries @ 0..0x1_0000 => 1 + padding(pc) + 8 + 8 * entries as usize,
                _ => return wrong(Fault::Switch),
            }
        }
        0..=JSR_W => 1,
        _ => return wrong(Fault::Opcode(opcode)),
    };
    Ok(length)
}

/// Whether control never goes on to the instruction that follows.
pub(crate) fn ends_a_path(opcode: u8) -> bool {
    matches!(opcode, GOTO | GOTO_W | RET | TABLESWITCH..=RETURN | ATHROW)
}

/// Where the instruction at `pc` may jump to, its own successor apart. `code` is the whole method.
pub(crate) fn jump_targets(code: &[u8], pc: usize, offset: usize) -> Result<Vec<i64>, Error> {
    let mut reader = Reader::new(&code[pc..], offset);
    let origin = i64::try_from(pc).unwrap_or(i64::MAX);
    let opcode = reader.u8()?;
    let mut targets = Vec::new();
    match opcode {
        IFEQ..=JSR | IFNULL | IFNONNULL => targets.push(origin + i64::from(reader.u16()?.cast_signed())),
        GOTO_W | JSR_W => targets.push(origin + i64::from(reader.u32()?.cast_signed())),
        TABLESWITCH | LOOKUPSWITCH => {
            reader.take(padding(pc))?;
            targets.push(origin + i64::from(reader.u32()?.cast_signed()));
            let first = reader.u32()?;
            let entries = match opcode {
                LOOKUPSWITCH => i64::from(first),
                _ => i64::from(reader.u32()?.cast_signed()) - i64::from(first.cast_signed()) + 1,
            };
            for _ in 0..entries {
                if opcode == LOOKUPSWITCH {
                    reader.u32()?;
                }
                targets.push(origin + i64::from(reader.u32()?.cast_signed()));
            }
        }
        _ => {}
    }
    Ok(targets)
}

/// How many slots of the operand stack an instruction takes and how many it gives, other than those that load and
/// store references or move slots about: `constructor.rs` looks at these one by one.
pub(crate) fn stack_effect(
    code: &[u8],
    pc: usize,
    offset: usize,
    pool: &Pool<'_>,
) -> Result<(usize, usize), Error> {
    let mut reader = Reader::new(&code[pc..], offset);
    let opcode = reader.u8()?;
    Ok(match opcode {
        0x00 | IINC | GOTO | RET | RETURN | GOTO_W => (0, 0),
        ACONST_NULL..=0x08 | 0x0b..=0x0d | BIPUSH..=LDC_W => (0, 1),
        0x09 | 0x0a | 0x0e | 0x0f | 0x14 => (0, 2),
        0x15 | 0x17 | ALOAD | 0x1a..=0x1d | 0x22..=0x25 | ALOAD_0..=0x2d => (0, 1),
        0x16 | 0x18 | 0x1e..=0x21 | 0x26..=0x29 => (0, 2),
        IALOAD | 0x30 | 0x32..=SALOAD => (2, 1),
        0x2f | 0x31 => (2, 2),
        0x36 | 0x38 | ASTORE | 0x3b..=0x3e | 0x43..=0x46 | ASTORE_0..=0x4e => (1, 0),
        0x37 | 0x39 | 0x3f..=0x42 | 0x47..=0x4a => (2, 0),
        IASTORE | 0x51 | AASTORE..=SASTORE => (3, 0),
        LASTORE | DASTORE => (4, 0),
        POP => (1, 0),
        POP2 => (2, 0),
        DUP..=SWAP => return Err(Error { offset, what: Fault::ConstructorStack }),
        // Arithmetic: int, long, float, double in turn; shifts of longs take an int.
        0x60..=0x73 => {
            if opcode % 2 == 0 {
                (2, 1)
            } else {
                (4, 2)
            }
        }
        0x74 | 0x76 => (1, 1),
        0x75 | 0x77 => (2, 2),
        ISHL | 0x7a | 0x7c | 0x7e | IOR | 0x82 => (2, 1),
        0x79 | 0x7b | 0x7d => (3, 2),
        0x7f | 0x81 | 0x83 => (4, 2),
        // Conversions.
        0x85 | 0x87 | 0x8c | 0x8d => (1, 2),
        0x86 | 0x8b | 0x91..=0x93 => (1, 1),
        0x88 | 0x89 | 0x8e | 0x90 => (2, 1),
        0x8a | 0x8f => (2, 2),
        // Comparisons and jumps.
        0x94 | 0x97 | 0x98 => (4, 1),
        0x95 | 0x96 => (2, 1),
        IFEQ..=0x9e | IFNULL | IFNONNULL | TABLESWITCH | LOOKUPSWITCH => (1, 0),
        0x9f..=IF_ACMPNE => (2, 0),
        JSR | JSR_W => (0, 1),
        IRETURN | 0xae | 0xb0 | ATHROW | MONITORENTER | MONITOREXIT => (1, 0),
        0xad | 0xaf => (2, 0),
        GETSTATIC..=PUTFIELD => {
            let slots = slots(pool.field(reader.u16()?, offset)?.descriptor, offset)?;
            match opcode {
                GETSTATIC => (0, slots),
                PUTSTATIC => (slots, 0),
                GETFIELD => (1, slots),
                _ => (1 + slots, 0),
            }
        }
        INVOKEVIRTUAL..=INVOKEINTERFACE => {
            let (arguments, result) = call_slots(pool.method(reader.u16()?, offset)?.descriptor, offset)?;
            (arguments + usize::from(opcode != INVOKESTATIC), result)
        }
        INVOKEDYNAMIC => call_slots(pool.dynamic_descriptor(reader.u16()?, offset)?, offset)?,
        NEW => (0, 1),
        0xbc..=0xbe | 0xc0 | 0xc1 => (1, 1),
        WIDE => match reader.u8()? {
            0x15 | 0x17 | ALOAD => (0, 1),
            0x16 | 0x18 => (0, 2),
            0x36 | 0x38 | ASTORE => (1, 0),
            0x37 | 0x39 => (2, 0),
            _ => (0, 0),
        },
        MULTIANEWARRAY => {
            reader.u16()?;
            (usize::from(reader.u8()?), 1)
        }
        _ => return Err(Error { offset, what: Fault::Opcode(opcode) }),
    })
}

/// The slots that a value of this descriptor takes.
pub(crate) fn slots(descriptor: &[u8], offset: usize) -> Result<usize, Error> {
    match descriptor.first() {
        Some(b'J' | b'D') => Ok(2),
        Some(b'B' | b'C' | b'F' | b'I' | b'S' | b'Z' | b'L' | b'[') => Ok(1),
        Some(b'V') => Ok(0),
        _ => Err(Error { offset, what: Fault::Descriptor }),
    }
}

/// The descriptors of a method's parameters, in order.
pub(crate) fn parameters(descriptor: &[u8], offset: usize) -> Result<(Vec<&[u8]>, &[u8]), Error> {
    let wrong = Error { offset, what: Fault::Descriptor };
    let Some(mut rest) = descriptor.strip_prefix(b"(") else { return Err(wrong) };
    let mut parameters = Vec::new();
    loop {
        if let Some(result) = rest.strip_prefix(b")") {
            return Ok((parameters, result));
        }
        let dimensions = rest.iter().take_while(|&&byte| byte == b'[').count();
        let length = match rest.get(dimensions) {
            Some(b'L') => match rest.iter().position(|&byte| byte == b';') {
                Some(end) if end > dimensions => end + 1,
                _ => return Err(wrong),
            },
            Some(b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z') => dimensions + 1,
            _ => return Err(wrong),
        };
        let (parameter, after) = rest.split_at(length);
        parameters.push(parameter);
        rest = after;
    }
}

/// The slots of a method's arguments and of its result.
pub(crate) fn call_slots(descriptor: &[u8], offset: usize) -> Result<(usize, usize), Error> {
    let (parameters, result) = parameters(descriptor, offset)?;
    let mut arguments = 0;
    for parameter in parameters {
        arguments += slots(parameter, offset)?;
    }
    Ok((arguments, slots(result, offset)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_as_long_as_its_table_and_its_padding() {
        let mut table = vec![TABLESWITCH, 0, 0, 0];
        for value in [16_u32, 1, 2, 4, 5] {
            table.extend(value.to_be_bytes());
        }
        assert_eq!(length(&table, 0, 0), Ok(24));
        assert_eq!(jump_targets(&table, 0, 0), Ok(vec![16, 4, 5]));
        let mut huge = vec![TABLESWITCH, 0, 0, 0];
        for value in [16_u32, 0x8000_0000, 0x7fff_ffff] {
            huge.extend(value.to_be_bytes());
        }
        assert_eq!(length(&huge, 0, 7), Err(Error { offset: 7, what: Fault::Switch }));
    }

    #[test]
    fn parameters_are_split_where_they_end() {
        let (list, result) = parameters(b"(I[[JLa/B;[LC;D)V", 0).unwrap();
        assert_eq!(list, [&b"I"[..], b"[[J", b"La/B;", b"[LC;", b"D"]);
        assert_eq!(result, b"V");
        for wrong in [&b""[..], b"(", b"(L", b"([", b"(;)V", b"(V)V", b"I"] {
            assert!(parameters(wrong, 0).is_err(), "{wrong:?}");
        }
    }
}
