//! A class with hooks in it.
//!
//! A [`Plan`] says which methods get which hooks and gives every place where one stands its number. Nothing else of the
//! class changes: no methods, no locals, no instruction, and no fields unless the plan asks for one, so that the result
//! is legal for retransformation as well. A method that cannot be rewritten stays as it was, and is named with the reason.
//!
//! In a constructor, a block begins behind the call of the other constructor: before that no handler could catch what
//! leaves the method. Fields of `this` that are written before have no hook; nobody else can see the object yet.
//!
//! One thing that the verifier allows would not pass it any more: to enter the monitor of an object between `new` and its
//! constructor's call. No compiler writes that.

use crate::bytes::{Error, Fault};
use crate::class::{ClassFile, Member};
use crate::code::Code;
use crate::constructor::Constructor;
use crate::frames::{MethodShape, Receiver};
use crate::hooks::{self, Emitter, Hook, Order, Value};
use crate::instruction;
use crate::opcode::*;
use crate::pool::{MemberRef, Pool};
use crate::relocate::{CatchAll, Insertions, relocate};
use crate::sites::{
    AddedField, ClassShape, Effect, Field, FieldFlags, FieldKind, Lines, Method, Plan, Site, Wanted, What,
};

const ACC_STATIC: u16 = 0x0008;
const ACC_SYNCHRONIZED: u16 = 0x0020;
/// Class files before this version cannot push a class.
const PUSHES_CLASSES: u16 = 49;

/// How hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The class whose static methods are called, with slashes.
    pub hook_class: &'a str,
    /// Where the hooks of accesses stand.
    pub order: Order,
}

/// What became of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The new class file; nothing if no hook was wanted anywhere.
    pub bytes: Option<Vec<u8>>,
    /// How many methods have hooks now.
    pub methods: usize,
    /// The methods that should have hooks and cannot.
    pub left_alone: Vec<LeftAlone>,
}

/// A method that stays as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// Its name, in modified UTF-8.
    pub name: Vec<u8>,
    /// Its descriptor, in modified UTF-8.
    pub descriptor: Vec<u8>,
    /// Why.
    pub why: Error,
}

/// Puts hooks into a class.
pub fn rewrite(file: &[u8], options: Options<'_>, plan: &mut dyn Plan) -> Result<Rewritten, Error> {
    let mut class = ClassFile::parse(file)?;
    let mut pool = class.pool.clone();
    let facts = ClassFacts::new(&class)?;
    let mut rewritten = Rewritten::default();
    let (mut bodies, mut known) = (Vec::new(), Vec::new());
    for member in &class.methods {
        let method = Method {
            class: facts.name,
            name: pool.text(member.name, member.offset)?,
            descriptor: pool.text(member.descriptor, member.offset)?,
            access: member.access,
            is_simple: false,
        };
        let body = code_attribute(member, &pool).and_then(|found| {
            let Some(index) = found else { return Ok(None) };
            let attribute = &member.attributes[index];
            let code = Code::parse(&attribute.content, attribute.offset)?;
            let method = Method { is_simple: is_simple(&method, &code, &facts, &pool, plan)?, ..method };
            let content = facts.body(&method, &code, options, plan, (&mut pool, &mut known))?;
            Ok(content.map(|content| (index, content)))
        });
        bodies.push(match body {
            Ok(body) => body,
            Err(why) => {
                let (name, descriptor) = (method.name.to_vec(), method.descriptor.to_vec());
                rewritten.left_alone.push(LeftAlone { name, descriptor, why });
                None
            }
        });
    }
    for (member, body) in class.methods.iter_mut().zip(bodies) {
        if let Some((attribute, content)) = body {
            member.attributes[attribute].content = content.into();
            rewritten.methods += 1;
        }
    }
    let added = plan.added_fields(&facts.shape(&class)?);
    for field in added {
        class.fields.push(hidden_field(field, &mut pool)?);
    }
    class.pool = pool;
    if rewritten.methods > 0 || !added.is_empty() {
        rewritten.bytes = Some(class.write()?);
    }
    Ok(rewritten)
}

/// A field in every object, which no serialisation takes notice of.
fn hidden_field<'a>(&(name, descriptor): &AddedField, pool: &mut Pool<'a>) -> Result<Member<'a>, Error> {
    const PRIVATE_TRANSIENT_SYNTHETIC: u16 = 0x0002 | 0x0080 | 0x1000;
    let (name, descriptor) = (pool.add_text(name)?, pool.add_text(descriptor)?);
    let access = PRIVATE_TRANSIENT_SYNTHETIC;
    Ok(Member { access, name, descriptor, attributes: Vec::new(), offset: 0 })
}

/// The class with every body taken apart and put together again, and nothing inserted: the same bytes, if the rewriter
/// is right. Bodies that cannot be taken apart stay as they are; their errors are given.
pub fn unchanged(file: &[u8]) -> Result<(Vec<u8>, Vec<Error>), Error> {
    let mut class = ClassFile::parse(file)?;
    let mut pool = class.pool.clone();
    let major_version = class.major_version;
    let shape = MethodShape { major_version, this_class: 0, descriptor: &[], receiver: Receiver::None };
    let mut errors = Vec::new();
    for member in &mut class.methods {
        let moved = code_attribute(member, &pool).and_then(|found| {
            let Some(index) = found else { return Ok(None) };
            let attribute = &member.attributes[index];
            let code = Code::parse(&attribute.content, attribute.offset)?;
            let content = relocate(&code, &Insertions::default(), &shape, &mut pool)?;
            Ok(Some((index, content)))
        });
        match moved {
            Ok(None) => {}
            Ok(Some((index, content))) => member.attributes[index].content = content.into(),
            Err(error) => errors.push(error),
        }
    }
    Ok((class.write()?, errors))
}

/// See [`Method::is_simple`].
fn is_simple(
    method: &Method<'_>,
    code: &Code<'_>,
    facts: &ClassFacts<'_>,
    pool: &Pool<'_>,
    plan: &dyn Plan,
) -> Result<bool, Error> {
    // An exception handler may stand before what it handles.
    let mut may_repeat = !code.handlers.is_empty();
    let mut accesses = 0;
    // That of a superclass may call methods that a class has overridden.
    let may_be_super = |opcode| opcode == INVOKESPECIAL && method.name == b"<init>";
    for instruction in 0..code.instructions() {
        let pc = code.pc(instruction);
        match code.opcode(instruction) {
            INVOKESPECIAL if is_plain_construction(code, instruction, pool) => {}
            opcode @ INVOKEVIRTUAL..=INVOKESTATIC if !may_be_super(opcode) => {
                match plan.effect(&called(code, instruction, pool)?) {
                    Effect::Nothing => {}
                    Effect::Access | Effect::Read => accesses += 1,
                    Effect::Anything => return Ok(false),
                }
            }
            INVOKEVIRTUAL..=INVOKEDYNAMIC | MONITORENTER | MONITOREXIT | JSR | JSR_W | RET => {
                return Ok(false);
            }
            opcode @ GETSTATIC..=PUTFIELD => {
                let field = code.operand(instruction).and_then(|(index, offset)| pool.field(index, offset));
                let flags = field.ok().and_then(|field| facts.own_field(&field));
                if opcode == PUTSTATIC || !flags.is_some_and(FieldFlags::is_final) {
                    accesses += 1;
                }
            }
            IALOAD..=SALOAD | IASTORE..=SASTORE => accesses += 1,
            _ => {}
        }
        let targets = instruction::jump_targets(code.bytes, pc, code.offset + pc)?;
        may_repeat |= targets.into_iter().any(|target| target <= pc as i64);
    }
    let is_once_at_most = accesses == 0 || accesses == 1 && !may_repeat;
    Ok(method.access & ACC_SYNCHRONIZED == 0 && is_once_at_most)
}

/// Whether an instruction calls the constructor of `java/lang/Object`, which does nothing.
fn is_plain_construction(code: &Code<'_>, instruction: usize, pool: &Pool<'_>) -> bool {
    let called = called(code, instruction, pool);
    called.is_ok_and(|method| method.owner == b"java/lang/Object" && method.name == b"<init>")
}

/// The method that an instruction calls.
fn called<'a>(code: &Code<'_>, instruction: usize, pool: &Pool<'a>) -> Result<MemberRef<'a>, Error> {
    code.operand(instruction).and_then(|(index, offset)| pool.method(index, offset))
}

/// Whether an instruction is a call that is nothing but a read.
fn is_reading_call(code: &Code<'_>, instruction: usize, pool: &Pool<'_>, plan: &dyn Plan) -> bool {
    let reads =
        |method: MemberRef<'_>| method.descriptor.starts_with(b"()") && plan.effect(&method) == Effect::Read;
    // `super.get()` is one, too.
    matches!(code.opcode(instruction), INVOKEVIRTUAL | INVOKESPECIAL)
        && called(code, instruction, pool).is_ok_and(reads)
}

/// Which attribute of a method is its body.
fn code_attribute(member: &Member<'_>, pool: &Pool<'_>) -> Result<Option<usize>, Error> {
    let mut found = None;
    for (index, attribute) in member.attributes.iter().enumerate() {
        if pool.text(attribute.name, attribute.offset)? == b"Code" {
            if found.is_some() {
                return Err(Error { offset: attribute.offset, what: Fault::TwoBodies });
            }
            found = Some(index);
        }
    }
    Ok(found)
}

/// What the methods of a class have in common.
struct ClassFacts<'a> {
    name: &'a [u8],
    this_class: u16,
    super_class: u16,
    major_version: u16,
    /// The class's own fields, by name and descriptor.
    fields: Vec<(&'a [u8], &'a [u8], FieldFlags)>,
}

impl<'a> ClassFacts<'a> {
    fn new(class: &ClassFile<'a>) -> Result<Self, Error> {
        let mut fields = Vec::new();
        for field in &class.fields {
            let name = class.pool.text(field.name, field.offset)?;
            let descriptor = class.pool.text(field.descriptor, field.offset)?;
            fields.push((name, descriptor, FieldFlags(field.access)));
        }
        fields.sort_unstable_by_key(|&(name, descriptor, _)| (name, descriptor));
        let ClassFile { this_class, super_class, major_version, .. } = *class;
        Ok(Self { name: class.name()?, this_class, super_class, major_version, fields })
    }

    /// What a plan is told of the class.
    fn shape(&self, class: &ClassFile<'a>) -> Result<ClassShape<'a>, Error> {
        let super_name = match self.super_class {
            0 => &b""[..],
            index => class.pool.class_name(index, 0)?,
        };
        Ok(ClassShape { name: self.name, super_name, access: class.access })
    }

    /// A new body, or nothing if no hook is wanted.
    fn body(
        &self,
        method: &Method<'a>,
        code: &Code<'_>,
        options: Options<'_>,
        plan: &mut dyn Plan,
        (pool, known): (&mut Pool<'a>, &mut Vec<(Hook, u16)>),
    ) -> Result<Option<Vec<u8>>, Error> {
        let wanted = plan.method(method);
        if wanted == Wanted::default() {
            return Ok(None);
        }
        // `java/lang/Object` has nobody to call first, so its constructor is like any method.
        let constructor = match method.name {
            b"<init>" if self.super_class != 0 => Some(Constructor::analyse(code, pool)?),
            _ => None,
        };
        let receiver = match (method.access & ACC_STATIC != 0, &constructor) {
            (true, _) => Receiver::None,
            (false, None) => Receiver::Initialized,
            (false, Some(_)) => Receiver::Uninitialized,
        };
        let hook_class = options.hook_class;
        let mut writer = BodyWriter {
            facts: self,
            method,
            code,
            order: options.order,
            wanted,
            lines: Lines::new(code, pool)?,
            emitter: Emitter { pool, hook_class, known, out: Vec::new(), extra_stack: 0 },
            insertions: Insertions::default(),
            under_way: None,
            plan,
        };
        writer.write(constructor.as_ref())?;
        let insertions = writer.finish();
        if insertions.is_empty() {
            return Ok(None);
        }
        let (major_version, this_class) = (self.major_version, self.this_class);
        let shape = MethodShape { major_version, this_class, descriptor: method.descriptor, receiver };
        relocate(code, &insertions, &shape, pool).map(Some)
    }

    /// What the class file itself says of a field.
    fn own_field(&self, field: &MemberRef<'_>) -> Option<FieldFlags> {
        if field.owner != self.name {
            return None;
        }
        let key = (field.name, field.descriptor);
        let found = self.fields.binary_search_by_key(&key, |&(name, descriptor, _)| (name, descriptor));
        found.ok().map(|index| self.fields[index].2)
    }
}

/// Whether the end of an access may be told after this instruction: it takes no time worth speaking of and goes on to the next one, or it is
/// a return whose hooks tell.
fn may_be_under_way(opcode: u8, returns_end_accesses: bool) -> bool {
    match opcode {
        NOP..=SIPUSH | ILOAD..=DCMPG => true,
        GETFIELD | PUTFIELD | ARRAYLENGTH | CHECKCAST | INSTANCEOF => true,
        IRETURN..=RETURN => returns_end_accesses,
        _ => false,
    }
}

/// How control may come to an instruction, other than from the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    No,
    Jump,
    /// It is the first one of a handler that covers accesses.
    Exception,
}

/// The same for each instruction.
fn arrivals(code: &Code<'_>, is_reading_call: impl Fn(usize) -> bool) -> Result<Vec<Arrival>, Error> {
    let mut arrivals = vec![Arrival::No; code.instructions()];
    // For each instruction, how many accesses come before it.
    let (mut accesses, mut count) = (Vec::with_capacity(arrivals.len() + 1), 0);
    for instruction in 0..code.instructions() {
        accesses.push(count);
        let opcode = code.opcode(instruction);
        let is_access = matches!(opcode, GETSTATIC..=PUTFIELD | IALOAD..=SALOAD | IASTORE..=SASTORE);
        count += usize::from(is_access || is_reading_call(instruction));
        let pc = code.pc(instruction);
        for target in instruction::jump_targets(code.bytes, pc, code.offset + pc)? {
            arrivals[code.target(target, code.offset + pc)?] = Arrival::Jump;
        }
    }
    accesses.push(count);
    for handler in &code.handlers {
        let number = |pc: u16| code.number(i64::from(pc), code.offset);
        if accesses[number(handler.from)?] < accesses[number(handler.to)?] {
            arrivals[code.target(i64::from(handler.handler), code.offset)?] = Arrival::Exception;
        }
    }
    Ok(arrivals)
}

/// Whether a method begins with an object that is not initialised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Method,
    Constructor,
}

/// The code at the ends of a method.
struct Ends {
    /// Whether what is before a return ends an access that is under way.
    end_accesses: bool,
    entry: Vec<u8>,
    /// Before it returns.
    exit: Vec<u8>,
    /// Before an exception leaves it.
    throwing: Vec<u8>,
}

/// Collects what is inserted into one method.
struct BodyWriter<'w, 'a> {
    facts: &'w ClassFacts<'a>,
    method: &'w Method<'a>,
    code: &'w Code<'w>,
    order: Order,
    wanted: Wanted,
    lines: Lines,
    emitter: Emitter<'w, 'a>,
    insertions: Insertions,
    /// The last access that has a hook, unless its end is told.
    under_way: Option<usize>,
    plan: &'w mut dyn Plan,
}

impl BodyWriter<'_, '_> {
    fn finish(self) -> Insertions {
        let mut insertions = self.insertions;
        insertions.extra_stack = self.emitter.extra_stack;
        insertions
    }

    fn site(&mut self, pc: usize, what: What<'_>) -> Option<u32> {
        self.plan.site(&Site { method: self.method, line: self.lines.at(pc), what })
    }

    fn write(&mut self, constructor: Option<&Constructor>) -> Result<(), Error> {
        if self.wanted.fields {
            return self.filter_fields();
        }
        let kind = if constructor.is_some() { Kind::Constructor } else { Kind::Method };
        let Ends { end_accesses, entry, exit, throwing } = self.ends(kind)?;
        if kind == Kind::Method {
            self.insertions.prologue.clone_from(&entry);
        }
        let arrivals = arrivals(self.code, |instruction| self.is_reading_call(instruction))?;
        for (instruction, arrival) in arrivals.into_iter().enumerate() {
            if arrival != Arrival::No || !may_be_under_way(self.code.opcode(instruction), end_accesses) {
                self.end_access()?;
            }
            // Nobody comes here, and the verifier may know nothing of the operand stack.
            if constructor.is_some_and(|constructor| !constructor.is_reached(instruction)) {
                continue;
            }
            if arrival == Arrival::Exception && self.order == Order::Around && self.wanted.accesses {
                self.emitter.invoke(hooks::ACCESSED)?;
                self.insertions.before(instruction, &self.emitter.take());
            }
            let raw = constructor.is_some_and(|constructor| constructor.is_on_raw_this(instruction));
            match self.code.opcode(instruction) {
                GETSTATIC..=PUTFIELD if self.wanted.accesses && !raw => self.field_access(instruction)?,
                IALOAD..=SALOAD | IASTORE..=SASTORE if self.wanted.elements => {
                    self.element_access(instruction)?
                }
                MONITORENTER | MONITOREXIT if self.wanted.monitors && !raw => self.monitor(instruction)?,
                IRETURN..=RETURN => {
                    self.under_way = None;
                    self.insertions.before(instruction, &exit);
                }
                INVOKEVIRTUAL | INVOKESPECIAL
                    if self.wanted.accesses && self.is_reading_call(instruction) =>
                {
                    self.reading_call(instruction)?
                }
                opcode @ INVOKEVIRTUAL..=INVOKEINTERFACE => {
                    if self.wanted.calls {
                        self.calling(instruction)?;
                    }
                    if opcode == INVOKEINTERFACE && self.wanted.functions {
                        self.function(instruction)?;
                    }
                    let is_super = constructor.is_some_and(|found| found.is_super_call(instruction));
                    if opcode == INVOKESPECIAL && is_super {
                        self.insertions.after(instruction, &entry);
                    } else if opcode != INVOKESTATIC && self.wanted.accesses {
                        self.copy_of_object(instruction)?;
                    }
                }
                _ => {}
            }
        }
        self.end_access()?;
        if !throwing.is_empty() {
            let ranges = match constructor {
                Some(constructor) => constructor.ranges_after_super(),
                None => vec![(0, self.code.instructions())],
            };
            if !ranges.is_empty() {
                let code = [&throwing[..], &[ATHROW]].concat();
                self.insertions.catch_all =
                    Some(CatchAll { code, stack: 1 + self.emitter.extra_stack, ranges });
            }
        }
        Ok(())
    }

    fn filter_fields(&mut self) -> Result<(), Error> {
        self.emitter.out.push(ALOAD_1);
        self.emitter.invoke(hooks::VISIBLE)?;
        self.emitter.out.push(ASTORE_1);
        self.emitter.extra_stack = self.emitter.extra_stack.max(1);
        self.insertions.prologue = self.emitter.take();
        Ok(())
    }

    /// What runs when the method begins and on every way out. What comes first when it begins comes last on the way out.
    fn ends(&mut self, kind: Kind) -> Result<Ends, Error> {
        let wanted = self.wanted;
        let block = if wanted.block { self.site(0, What::Block) } else { None };
        let monitor = match self.method.access & ACC_SYNCHRONIZED != 0 && wanted.monitors {
            true => self.site(0, What::SynchronizedMethod),
            false => None,
        };
        let call = if wanted.call && kind == Kind::Method { self.site(0, What::Call) } else { None };
        if let Some(site) = block {
            self.emitter.call(hooks::ENTER, 0, site)?;
        }
        if let Some(site) = monitor {
            self.push_own_monitor();
            self.emitter.call(hooks::ENTER_SYNCHRONIZED, 1, site)?;
        }
        if let Some(site) = call {
            let (hook, pushed) = self.push_call()?;
            self.emitter.call(hook, pushed, site)?;
        }
        let entry = self.emitter.take();
        if let Some(site) = call {
            self.exit_call(site)?;
        }
        let exit_call = self.emitter.take();
        if let Some(site) = call {
            self.emitter.call(hooks::THROW_CALL, 0, site)?;
        }
        let throw_call = self.emitter.take();
        if let Some(site) = monitor {
            self.emitter.call(hooks::EXIT_SYNCHRONIZED, 0, site)?;
        }
        if let Some(site) = block {
            self.emitter.call(hooks::EXIT, 0, site)?;
        }
        let rest = self.emitter.take();
        let end_accesses = block.is_some() || monitor.is_some();
        let (exit, throwing) = ([exit_call, rest.clone()].concat(), [throw_call, rest].concat());
        Ok(Ends { end_accesses, entry, exit, throwing })
    }

    /// Before a watched method returns.
    fn exit_call(&mut self, site: u32) -> Result<(), Error> {
        let descriptor = self.method.descriptor;
        let result =
            descriptor.iter().rposition(|&byte| byte == b')').and_then(|end| descriptor.get(end + 1));
        let dup = |slots| if slots == 2 { DUP2 } else { DUP };
        if self.wanted.exchange
            && let Some((hook, slots, load)) = result.and_then(|&result| hooks::exit_exchange(result))
            && let Some(local) = self.compared_local()?
        {
            self.emitter.out.extend_from_slice(&[dup(slots), load, local]);
            return self.emitter.call(hook, 2 * slots, site);
        }
        let (hook, slots) = match result {
            Some(b'I') if self.wanted.int_result => (hooks::EXIT_CALL_INT, 1),
            _ => hooks::exit_call(descriptor, self.wanted.argument),
        };
        if slots > 0 {
            self.emitter.out.push(dup(slots));
        }
        self.emitter.call(hook, slots, site)
    }

    /// The local with the last argument but one, if it can be loaded.
    fn compared_local(&self) -> Result<Option<u8>, Error> {
        let parameters = instruction::parameters(self.method.descriptor, self.code.offset)?.0;
        let Some(before) = parameters.len().checked_sub(2) else { return Ok(None) };
        let slots = |parameter: &&[u8]| if matches!(parameter.first(), Some(b'J' | b'D')) { 2 } else { 1 };
        let receiver = usize::from(self.method.access & ACC_STATIC == 0);
        let local = receiver + parameters[..before].iter().map(slots).sum::<usize>();
        Ok(u8::try_from(local).ok())
    }

    /// Pushes what a synchronized method locks, if it is one.
    fn push_own_monitor(&mut self) {
        let out = &mut self.emitter.out;
        match (self.method.access & ACC_STATIC != 0, self.facts.major_version) {
            (false, _) => out.push(ALOAD_0),
            (true, PUSHES_CLASSES..) => {
                out.push(LDC_W);
                out.extend_from_slice(&self.facts.this_class.to_be_bytes());
            }
            (true, _) => out.push(ACONST_NULL),
        }
    }

    /// Pushes the object that a method is called on, or the first argument of a static method, or null if that is no
    /// reference, or the class if it is its initialiser; then what is wanted of the other arguments. Returns the hook that
    /// takes it.
    fn push_call(&mut self) -> Result<(Hook, u16), Error> {
        let parameters = instruction::parameters(self.method.descriptor, self.code.offset)?.0;
        let first = parameters.first().and_then(|parameter| parameter.first());
        let is_static = self.method.access & ACC_STATIC != 0;
        let is_reference = !is_static || matches!(first, Some(b'L' | b'['));
        match self.method.name {
            b"<clinit>" => self.push_own_monitor(),
            _ => self.emitter.out.push(if is_reference { ALOAD_0 } else { ACONST_NULL }),
        }
        if self.wanted.number && is_reference {
            let mut further =
                parameters.iter().skip(usize::from(is_static)).map(|parameter| parameter.first());
            if let (Some(Some(b'L' | b'[')), number) = (further.next(), further.next().flatten()) {
                self.emitter.out.push(ALOAD_1);
                match number {
                    Some(b'I') => self.emitter.out.extend_from_slice(&[ILOAD_2, I2L]),
                    Some(b'J') => self.emitter.out.push(LLOAD_2),
                    _ => return Ok((hooks::ENTER_CALL_REFERENCE, 2)),
                }
                return Ok((hooks::ENTER_CALL_NUMBER, 4));
            }
        }
        Ok(match first {
            Some(b'L' | b'[') if self.wanted.argument && !is_static => {
                self.emitter.out.push(ALOAD_1);
                (hooks::ENTER_CALL_REFERENCE, 2)
            }
            Some(b'J') if self.wanted.long_argument && !is_static => {
                self.emitter.out.push(LLOAD_1);
                (hooks::ENTER_CALL_LONG, 3)
            }
            Some(b'I') if self.wanted.argument && !is_static => {
                self.emitter.out.push(ILOAD_1);
                (hooks::ENTER_CALL_INT, 2)
            }
            _ => (hooks::ENTER_CALL, 1),
        })
    }

    fn calling(&mut self, instruction: usize) -> Result<(), Error> {
        let method = called(self.code, instruction, self.emitter.pool)?;
        let Some(site) = self.site(self.code.pc(instruction), What::Calling(method)) else { return Ok(()) };
        self.emitter.call(hooks::CALLING, 0, site)?;
        self.insertions.before(instruction, &self.emitter.take());
        Ok(())
    }

    fn function(&mut self, instruction: usize) -> Result<(), Error> {
        if called(self.code, instruction, self.emitter.pool)?.owner.starts_with(b"java/util/function/") {
            self.emitter.invoke(hooks::APPLYING)?;
            self.insertions.before(instruction, &self.emitter.take());
            self.emitter.invoke(hooks::APPLIED)?;
            self.insertions.after(instruction, &self.emitter.take());
        }
        Ok(())
    }

    fn field_access(&mut self, instruction: usize) -> Result<(), Error> {
        let opcode = self.code.opcode(instruction);
        let (index, offset) = self.code.operand(instruction)?;
        let reference = self.emitter.pool.field(index, offset)?;
        let value = Value::of(reference.descriptor, offset)?;
        let kind =
            if matches!(opcode, GETSTATIC | PUTSTATIC) { FieldKind::Static } else { FieldKind::Instance };
        let flags = match self.facts.own_field(&reference) {
            Some(flags) => Some(flags),
            None => self.plan.field(&reference),
        };
        // A final field is written before anybody else sees it; but what a static one refers to is everybody's.
        let publishes = opcode == PUTSTATIC && value == Value::Reference;
        if flags.is_some_and(FieldFlags::is_final) && !publishes {
            return Ok(());
        }
        let field = Field { reference, kind, flags };
        let what =
            if matches!(opcode, GETSTATIC | GETFIELD) { What::Read(field) } else { What::Write(field) };
        let Some(site) = self.site(self.code.pc(instruction), what) else { return Ok(()) };
        if kind == FieldKind::Static && self.order == Order::Around {
            self.emitter.touch_static(index, value);
        }
        match opcode {
            GETSTATIC => self.emitter.call(hooks::READ_STATIC, 0, site)?,
            PUTSTATIC => self.emitter.write_static(value, site)?,
            GETFIELD => self.emitter.read_field(site)?,
            _ => self.emitter.write_field(value, site)?,
        }
        self.begin_access(instruction);
        Ok(())
    }

    fn is_reading_call(&self, instruction: usize) -> bool {
        is_reading_call(self.code, instruction, self.emitter.pool, self.plan)
    }

    fn reading_call(&mut self, instruction: usize) -> Result<(), Error> {
        let method = called(self.code, instruction, self.emitter.pool)?;
        let site = self.site(self.code.pc(instruction), What::ReadByCall(method));
        let Some(site) = site else { return Ok(()) };
        self.emitter.read_by_call(site)?;
        self.begin_access(instruction);
        Ok(())
    }

    fn element_access(&mut self, instruction: usize) -> Result<(), Error> {
        let opcode = self.code.opcode(instruction);
        let reads = opcode <= SALOAD;
        let what = if reads { What::ReadElement } else { What::WriteElement };
        let Some(site) = self.site(self.code.pc(instruction), what) else { return Ok(()) };
        if reads {
            self.emitter.read_element(opcode, site)?;
        } else {
            self.emitter.write_element(opcode, site)?;
        }
        self.begin_access(instruction);
        Ok(())
    }

    /// Inserts what was written before an access, which also ends the one before.
    fn begin_access(&mut self, instruction: usize) {
        self.insertions.before(instruction, &self.emitter.take());
        self.under_way = Some(instruction);
    }

    /// Inserts the end of the access under way behind it.
    fn end_access(&mut self) -> Result<(), Error> {
        if let Some(instruction) = self.under_way.take()
            && self.order == Order::Around
        {
            self.emitter.invoke(hooks::ACCESSED)?;
            self.insertions.after(instruction, &self.emitter.take());
        }
        Ok(())
    }

    /// Copies have the same fields as the original, the added one as well.
    fn copy_of_object(&mut self, instruction: usize) -> Result<(), Error> {
        let method = called(self.code, instruction, self.emitter.pool)?;
        let is_array = method.owner.starts_with(b"[");
        if method.name == b"clone" && method.descriptor.starts_with(b"()L") && !is_array {
            // original copy, of which the copy stays.
            self.insertions.before(instruction, &[DUP]);
            self.emitter.out.push(DUP_X1);
            self.emitter.extra_stack = self.emitter.extra_stack.max(2);
            self.emitter.invoke(hooks::CLONED)?;
            self.insertions.after(instruction, &self.emitter.take());
        }
        Ok(())
    }

    fn monitor(&mut self, instruction: usize) -> Result<(), Error> {
        let enters = self.code.opcode(instruction) == MONITORENTER;
        let what = if enters { What::Acquire } else { What::Release };
        let Some(site) = self.site(self.code.pc(instruction), what) else { return Ok(()) };
        if enters {
            self.insertions.before(instruction, &[DUP]);
            self.emitter.call(hooks::ACQUIRED, 1, site)?;
            self.insertions.after(instruction, &self.emitter.take());
        } else {
            self.emitter.out.push(DUP);
            self.emitter.call(hooks::RELEASING, 1, site)?;
            self.insertions.before(instruction, &self.emitter.take());
        }
        Ok(())
    }
}
