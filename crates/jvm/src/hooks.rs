//! What is called: static methods of one class, the hook class, and the code that calls them.
//!
//! Every hook has the number of its site as the last argument. What calls it has no branches and no locals: it copies
//! what the hook needs from the operand stack and leaves the rest as it was.
//!
//! | when | hook |
//! |---|---|
//! | before a field is read or written | `read(Object, int)`, `write(Object, int)`, `write(Object, Object, int)` with a reference that is written |
//! | before a static field is read or written | `readStatic(int)`, `writeStatic(int)`, `writeStatic(Object, int)` |
//! | before an object is read by a call | `readByCall(Object, int)` |
//! | before an element is read or written | `readElement(T[], int, int)`, `writeElement(T[], int, int)`, `writeElement(Object[], int, Object, int)`; `Object` instead of `T[]` for bytes and booleans, which share their instructions |
//! | after all of these, unless another one or a way out of a block or monitor follows at once | `accessed()`, with [`Order::Around`] |
//! | after a monitor is entered, before it is left | `acquired(Object, int)`, `releasing(Object, int)` |
//! | when a synchronized method begins, and at each way out | `enterSynchronized(Object, int)`, `exitSynchronized(int)` |
//! | when a block begins, and at each way out | `enter(int)`, `exit(int)` |
//! | when a call is watched: when it begins, with the object, the first argument of a static method, or the class for its initialiser | `enterCall(Object, int)` |
//! | the same with the first argument, if that is asked for | `enterCall(Object, Object, int)`, `enterCall(Object, int, int)`; and `exitCall(long, int)` |
//! | the same with an int or a long behind two references, if that is asked for | `enterCall(Object, Object, long, int)` |
//! | when it returns, with a reference or a truth value that it returns | `exitCall(int)`, `exitCall(Object, int)`, `exitCall(boolean, int)` |
//! | the same with an int that it returns, if that is asked for; its first argument may be a long | `exitCall(int, int)`; `enterCall(Object, long, int)` |
//! | when a compare-and-exchange returns, with the result and what it compared with | `exitExchange(T, T, int)` for `T` an int, long, float, double or `Object` |
//! | when it throws | `throwCall(int)` |
//! | when `clone` has returned a copy | `cloned(Object, Object)`, with the original first |
//! | before a method is called, wherever it may be | `calling(int)` |
//! | before and after a function of `java.util.function` is called, if that is asked for | `applying()`, `applied()`, without a site |
//! | when a method begins that gets an array of fields | `Field[] visible(Field[])`, without a site |
//!
//! The object of a static synchronized method is null in class files before version 49, which cannot say it.
//!
//! The access itself may throw. So a hook must begin nothing for an access that is
//! going to throw: for null, for an index out of bounds, for a reference that the array does not take. That is why
//! hooks see arrays as arrays and what is stored in them. What remains is the first use of a field, which may load
//! and initialise classes, that is, run anything. For a static field, the field is read once before the hook, so
//! that this is over; for others a hook that finds the thread's last access not finished has to finish it.
//!
//! Where accesses follow each other, with nothing between them but loads, arithmetic and the like, `accessed` is called after the
//! last one only, and not even then where the method returns: the hooks there, like all that begin something, have
//! to end what is under way. Where one of these throws, the handler begins with `accessed`.

use crate::bytes::{Error, Fault, put_u16};
use crate::opcode::*;
use crate::pool::{MemberRef, Pool};

/// The largest number of a site and one: what two short constants can push.
const SITES: u32 = 1 << 30;

/// When the pool has no more room than this, the numbers of sites are pushed without it.
const SCARCE: u16 = 512;

/// Whether hooks stand around accesses or only before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One hook before each access, another one after it.
    Around,
    /// One hook before each access.
    Before,
}

/// A method of the hook class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) name: &'static str,
    pub(crate) descriptor: &'static str,
}

const fn hook(name: &'static str, descriptor: &'static str) -> Hook {
    Hook { name, descriptor }
}

pub(crate) const READ: Hook = hook("read", "(Ljava/lang/Object;I)V");
pub(crate) const READ_BY_CALL: Hook = hook("readByCall", "(Ljava/lang/Object;I)V");
pub(crate) const WRITE: Hook = hook("write", "(Ljava/lang/Object;I)V");
pub(crate) const WRITE_REFERENCE: Hook = hook("write", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
pub(crate) const READ_STATIC: Hook = hook("readStatic", "(I)V");
pub(crate) const WRITE_STATIC: Hook = hook("writeStatic", "(I)V");
pub(crate) const WRITE_STATIC_REFERENCE: Hook = hook("writeStatic", "(Ljava/lang/Object;I)V");
pub(crate) const ACCESSED: Hook = hook("accessed", "()V");
pub(crate) const ACQUIRED: Hook = hook("acquired", "(Ljava/lang/Object;I)V");
pub(crate) const RELEASING: Hook = hook("releasing", "(Ljava/lang/Object;I)V");
pub(crate) const ENTER_SYNCHRONIZED: Hook = hook("enterSynchronized", "(Ljava/lang/Object;I)V");
pub(crate) const EXIT_SYNCHRONIZED: Hook = hook("exitSynchronized", "(I)V");
pub(crate) const ENTER: Hook = hook("enter", "(I)V");
pub(crate) const EXIT: Hook = hook("exit", "(I)V");
pub(crate) const ENTER_CALL: Hook = hook("enterCall", "(Ljava/lang/Object;I)V");
pub(crate) const ENTER_CALL_REFERENCE: Hook = hook("enterCall", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
pub(crate) const ENTER_CALL_INT: Hook = hook("enterCall", "(Ljava/lang/Object;II)V");
pub(crate) const ENTER_CALL_NUMBER: Hook = hook("enterCall", "(Ljava/lang/Object;Ljava/lang/Object;JI)V");
pub(crate) const ENTER_CALL_LONG: Hook = hook("enterCall", "(Ljava/lang/Object;JI)V");
pub(crate) const EXIT_CALL_INT: Hook = hook("exitCall", "(II)V");
pub(crate) const CALLING: Hook = hook("calling", "(I)V");
pub(crate) const APPLYING: Hook = hook("applying", "()V");
pub(crate) const APPLIED: Hook = hook("applied", "()V");
pub(crate) const THROW_CALL: Hook = hook("throwCall", "(I)V");
pub(crate) const CLONED: Hook = hook("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V");

pub(crate) const VISIBLE: Hook = hook("visible", "([Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;");

/// What is called when a watched method returns, and how many slots of its result that takes.
pub(crate) fn exit_call(descriptor: &[u8], details: bool) -> (Hook, u16) {
    let result = descriptor.iter().rposition(|&byte| byte == b')').and_then(|end| descriptor.get(end + 1));
    match result {
        Some(b'L' | b'[') => (hook("exitCall", "(Ljava/lang/Object;I)V"), 1),
        Some(b'Z') => (hook("exitCall", "(ZI)V"), 1),
        Some(b'J') if details => (hook("exitCall", "(JI)V"), 2),
        _ => (hook("exitCall", "(I)V"), 0),
    }
}

/// What is called when a compare-and-exchange returns, how many slots its result takes, and what loads a local of that type.
pub(crate) fn exit_exchange(result: u8) -> Option<(Hook, u16, u8)> {
    let (descriptor, slots, load) = match result {
        b'Z' | b'B' | b'C' | b'S' | b'I' => ("(III)V", 1, ILOAD),
        b'J' => ("(JJI)V", 2, LLOAD),
        b'F' => ("(FFI)V", 1, FLOAD),
        b'D' => ("(DDI)V", 2, DLOAD),
        b'L' | b'[' => ("(Ljava/lang/Object;Ljava/lang/Object;I)V", 1, ALOAD),
        _ => return None,
    };
    Some((hook("exitExchange", descriptor), slots, load))
}

/// Descriptors of element hooks in the order of the instructions: int, long, float, double, reference, byte, char,
/// short.
const ELEMENT: [&str; 8] = [
    "([III)V",
    "([JII)V",
    "([FII)V",
    "([DII)V",
    "([Ljava/lang/Object;II)V",
    "(Ljava/lang/Object;II)V",
    "([CII)V",
    "([SII)V",
];
const WRITE_REFERENCE_ELEMENT: Hook = hook("writeElement", "([Ljava/lang/Object;ILjava/lang/Object;I)V");

/// The type that a field's value has for the operand stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    OneSlot,
    TwoSlots,
    Reference,
}

impl Value {
    pub(crate) fn of(descriptor: &[u8], offset: usize) -> Result<Self, Error> {
        match descriptor.first() {
            Some(b'J' | b'D') => Ok(Value::TwoSlots),
            Some(b'L' | b'[') => Ok(Value::Reference),
            Some(b'B' | b'C' | b'F' | b'I' | b'S' | b'Z') => Ok(Value::OneSlot),
            _ => Err(Error { offset, what: Fault::Descriptor }),
        }
    }
}

/// Writes code that calls hooks.
#[derive(Debug)]
pub(crate) struct Emitter<'e, 'a> {
    pub(crate) pool: &'e mut Pool<'a>,
    pub(crate) hook_class: &'e str,
    /// The hooks that the class calls already, with their index in the pool.
    pub(crate) known: &'e mut Vec<(Hook, u16)>,
    pub(crate) out: Vec<u8>,
    /// The largest number of slots of operand stack that anything written so far needs on top of what is there.
    pub(crate) extra_stack: u16,
}

impl Emitter<'_, '_> {
    /// Calls a hook with what lies on the stack, of which `copied` slots come on top of what was there, and with
    /// the number of a site.
    pub(crate) fn call(&mut self, hook: Hook, copied: u16, site: u32) -> Result<(), Error> {
        let pushed = self.push_site(site)?;
        self.extra_stack = self.extra_stack.max(copied + pushed);
        self.invoke(hook)
    }

    /// Calls a hook without a site.
    pub(crate) fn invoke(&mut self, hook: Hook) -> Result<(), Error> {
        let index = match self.known.iter().find(|(known, _)| *known == hook) {
            Some(&(_, index)) => index,
            None => {
                let (owner, name, descriptor) =
                    (self.hook_class.as_bytes(), hook.name.as_bytes(), hook.descriptor.as_bytes());
                let index = self.pool.add_method(MemberRef { owner, name, descriptor })?;
                self.known.push((hook, index));
                index
            }
        };
        self.out.push(INVOKESTATIC);
        put_u16(&mut self.out, index);
        Ok(())
    }

    /// Pushes the number of a site; says how many slots that takes in between.
    fn push_site(&mut self, site: u32) -> Result<u16, Error> {
        let out = &mut self.out;
        match site {
            0..=5 => out.push(ICONST_0 + site as u8),
            6..=0x7f => out.extend_from_slice(&[BIPUSH, site as u8]),
            0x80..=0x7fff => {
                out.push(SIPUSH);
                put_u16(out, site as u16);
            }
            _ if site >= SITES => return Err(Error { offset: 0, what: Fault::SiteNumber(site) }),
            _ if self.pool.room() > SCARCE => {
                let index = self.pool.add_integer(site)?;
                out.push(LDC_W);
                put_u16(out, index);
            }
            _ => {
                out.push(SIPUSH);
                put_u16(out, (site >> 15) as u16);
                out.extend_from_slice(&[BIPUSH, 15, ISHL, SIPUSH]);
                put_u16(out, (site & 0x7fff) as u16);
                out.push(IOR);
                return Ok(2);
            }
        }
        Ok(1)
    }

    /// Before `getfield`, with the object on top.
    pub(crate) fn read_field(&mut self, site: u32) -> Result<(), Error> {
        self.out.push(DUP);
        self.call(READ, 1, site)
    }

    /// Before a call without arguments, with the object on top.
    pub(crate) fn read_by_call(&mut self, site: u32) -> Result<(), Error> {
        self.out.push(DUP);
        self.call(READ_BY_CALL, 1, site)
    }

    /// Before `putfield`, with the object and the value on top.
    pub(crate) fn write_field(&mut self, value: Value, site: u32) -> Result<(), Error> {
        match value {
            Value::Reference => {
                self.out.push(DUP2);
                self.call(WRITE_REFERENCE, 2, site)
            }
            Value::OneSlot => {
                self.out.extend_from_slice(&[SWAP, DUP_X1]);
                self.call(WRITE, 1, site)
            }
            Value::TwoSlots => {
                self.out.extend_from_slice(&[DUP2_X1, POP2, DUP_X2]);
                self.call(WRITE, 2, site)
            }
        }
    }

    /// Before `putstatic`, with the value on top.
    pub(crate) fn write_static(&mut self, value: Value, site: u32) -> Result<(), Error> {
        match value {
            Value::Reference => {
                self.out.push(DUP);
                self.call(WRITE_STATIC_REFERENCE, 1, site)
            }
            Value::OneSlot | Value::TwoSlots => self.call(WRITE_STATIC, 0, site),
        }
    }

    /// Reads a static field for nothing, so that its class is there and initialised.
    pub(crate) fn touch_static(&mut self, field: u16, value: Value) {
        self.out.push(GETSTATIC);
        put_u16(&mut self.out, field);
        self.out.push(if value == Value::TwoSlots { POP2 } else { POP });
        self.extra_stack = self.extra_stack.max(2);
    }

    /// Before an instruction that reads an element, with array and index on top.
    pub(crate) fn read_element(&mut self, opcode: u8, site: u32) -> Result<(), Error> {
        self.out.push(DUP2);
        self.call(hook("readElement", ELEMENT[usize::from(opcode - IALOAD)]), 2, site)
    }

    /// Before an instruction that writes an element, with array, index and value on top.
    pub(crate) fn write_element(&mut self, opcode: u8, site: u32) -> Result<(), Error> {
        match opcode {
            AASTORE => {
                // array index value: the first two are copied twice, once below the value and once above.
                self.out.extend_from_slice(&[DUP_X2, POP, DUP2_X1, DUP2_X1, POP2, DUP_X2]);
                self.extra_stack = self.extra_stack.max(4);
                return self.call(WRITE_REFERENCE_ELEMENT, 3, site);
            }
            LASTORE | DASTORE => self.out.extend_from_slice(&[DUP2_X2, POP2, DUP2_X2]),
            _ => self.out.extend_from_slice(&[DUP_X2, POP, DUP2_X1]),
        }
        self.call(hook("writeElement", ELEMENT[usize::from(opcode - IASTORE)]), 2, site)
    }

    /// Takes what was written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}
