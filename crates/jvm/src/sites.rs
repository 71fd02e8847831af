//! What the rewriter asks the one who uses it: which methods get hooks, and which number each place has.

use crate::bytes::{Error, Reader};
use crate::code::Code;
use crate::pool::{MemberRef, Pool};

/// Decides where hooks stand. All text is modified UTF-8.
pub trait Plan {
    /// Which hooks a method gets.
    fn method(&mut self, method: &Method<'_>) -> Wanted;

    /// The number of a place, below 2^30, or nothing if there should be no hook. What a method that is left alone in
    /// the end was asked for stays unused.
    fn site(&mut self, site: &Site<'_>) -> Option<u32>;

    /// What is known of a field of another class, or of a superclass.
    fn field(&mut self, field: &MemberRef<'_>) -> Option<FieldFlags> {
        let _ = field;
        None
    }

    /// What calls of a method do, as an instruction names it.
    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        let _ = method;
        Effect::Anything
    }

    /// Fields that every object of this class should have, private, transient and synthetic. Not legal for a class that is
    /// loaded already, unless it has them.
    fn added_fields(&mut self, class: &ClassShape<'_>) -> &'static [AddedField] {
        let _ = class;
        &[]
    }
}

/// The name and the descriptor of a field that is added.
pub type AddedField = (&'static [u8], &'static [u8]);

/// What a call does, whichever method of that name is called in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nobody knows.
    Anything,
    /// Nothing that other threads could see, nor that depends on what they do.
    Nothing,
    /// It accesses one variable, once.
    Access,
    /// It reads the object that it is called on, once, and has no arguments: the hooks are those of a read, where the call is.
    Read,
}

/// A class that may get a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassShape<'a> {
    /// Its name, with slashes.
    pub name: &'a [u8],
    /// The name of its superclass; empty if it has none.
    pub super_name: &'a [u8],
    /// Public, interface and so on, as in the class file.
    pub access: u16,
}

/// The hooks of a method; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// At fields.
    pub accesses: bool,
    /// At elements of arrays.
    pub elements: bool,
    /// At monitors, and at the method's own if it is synchronized.
    pub monitors: bool,
    /// Where it begins and at every way out.
    pub block: bool,
    /// The same with what it is called on and what it returns; not for constructors.
    pub call: bool,
    /// With `call`, and not for static methods: the first argument as well, if it is a reference or an int,
    /// and the result if it is a long.
    pub argument: bool,
    /// With `call`, for methods that begin with two references, be one of them the object they are called on: the second
    /// as well, and the int or long that follows.
    pub number: bool,
    /// With `call`, for a method that returns an int: that as well.
    pub int_result: bool,
    /// With `call`, for a method whose first argument is a long: that as well.
    pub long_argument: bool,
    /// With `call`, for a compare-and-exchange: when it returns, the result and the last argument but one, with which
    /// the variable was compared.
    pub exchange: bool,
    /// Before it calls other methods.
    pub calls: bool,
    /// Before and after it calls a function of `java.util.function`.
    pub functions: bool,
    /// Of a static method whose second argument is an array of `java.lang.reflect.Field`: when it begins, a hook
    /// replaces that array. Nothing else is wanted then.
    pub fields: bool,
}

impl Wanted {
    /// All hooks of a program's own methods.
    pub const ALL: Self = Self {
        accesses: true,
        elements: true,
        monitors: true,
        block: true,
        call: true,
        argument: true,
        number: true,
        int_result: false,
        long_argument: false,
        exchange: false,
        calls: true,
        functions: false,
        fields: false,
    };
}

/// A method that may get hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method<'a> {
    /// Its class, with slashes.
    pub class: &'a [u8],
    /// Its name; `<init>` is a constructor, `<clinit>` the class initialiser.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Public, static, synchronized and so on, as in the class file.
    pub access: u16,
    /// Whether it has no monitors, calls nothing of which nobody knows what it does (see [`Effect`]), and accesses memory once at
    /// most, final fields of its own class apart.
    pub is_simple: bool,
}

/// A place for a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// The method it is in.
    pub method: &'a Method<'a>,
    /// The line in the source, if the class file says it.
    pub line: Option<u16>,
    /// What happens there.
    pub what: What<'a>,
}

/// What happens at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A field is read.
    Read(Field<'a>),
    /// A field is written.
    Write(Field<'a>),
    /// An object is read by a call; see [`Effect::Read`].
    ReadByCall(MemberRef<'a>),
    /// An element of an array is read.
    ReadElement,
    /// An element of an array is written.
    WriteElement,
    /// A monitor is entered.
    Acquire,
    /// A monitor is left.
    Release,
    /// A synchronized method begins, and ends.
    SynchronizedMethod,
    /// A method begins, and ends.
    Block,
    /// A method begins, and ends, and it matters on what.
    Call,
    /// A method is about to be called. The class that declares it may be a superclass of the one that is named.
    Calling(MemberRef<'a>),
}

/// A field as an instruction names it. The class that declares it may be a superclass of the one that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub reference: MemberRef<'a>,
    /// Whose it is.
    pub kind: FieldKind,
    /// What is known of it.
    pub flags: Option<FieldFlags>,
}

/// Whose a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// An object's.
    Instance,
    /// A class's.
    Static,
}

/// The access flags of a field, as in the class file that declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldFlags(pub u16);

impl FieldFlags {
    /// Whether it is written only once.
    pub fn is_final(self) -> bool {
        self.0 & 0x0010 != 0
    }
}

/// The lines of a method: position and line, by position.
#[derive(Debug)]
pub(crate) struct Lines(Vec<(u16, u16)>);

impl Lines {
    pub(crate) fn new(code: &Code<'_>, pool: &Pool<'_>) -> Result<Self, Error> {
        let mut lines = Vec::new();
        for attribute in &code.attributes {
            if pool.text(attribute.name, attribute.offset)? == b"LineNumberTable" {
                let mut reader = Reader::new(&attribute.content, attribute.offset);
                for _ in 0..reader.u16()? {
                    lines.push((reader.u16()?, reader.u16()?));
                }
            }
        }
        lines.sort_unstable();
        Ok(Self(lines))
    }

    /// The line that the instruction at this position is of.
    pub(crate) fn at(&self, pc: usize) -> Option<u16> {
        let after = self.0.partition_point(|&(from, _)| usize::from(from) <= pc);
        Some(self.0[after.checked_sub(1)?].1)
    }
}
