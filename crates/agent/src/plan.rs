//! Which classes and methods get which hooks, and what every site is.
//!
//! Which methods are blocks: `roles.rs`.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use atomvet_jvm::{AddedField, ClassShape, Effect, FieldKind, MemberRef, Method, Plan, Site, Wanted, What};

use crate::calls::{self, Call};
use crate::facts::{Annotation, Facts};
use crate::hook_classes::ADDED_FIELDS;
use crate::jni::{self, Env, Object};
use crate::roles::{self, Role};
use crate::{effects, juc, names, natives, vm};

/// What is done with a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// All hooks.
    Everything,
    /// Only calls that synchronise.
    Calls,
    /// Only calls that `juc.rs` knows.
    Library,
    /// Only what reflection asks for the fields of a class.
    Reflection,
}

impl Treatment {
    /// The class whose hooks are called.
    pub(crate) fn hook_class(self) -> &'static str {
        match self {
            Treatment::Everything | Treatment::Calls | Treatment::Reflection => "java/lang/AtomvetHooks",
            Treatment::Library => "java/lang/AtomvetCalls",
        }
    }
}

/// Whose a class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Jdk,
    Application,
}

/// Whether objects of a class get a field for their number. It may not be added to a class that is loaded already, nor taken
/// away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    No,
    /// If no superclass is expected to have it.
    AtTheTop,
    /// If it has.
    AsBefore,
}

/// The class that every list of fields goes through before reflection shows it; the method is `filterFields`. Programs that
/// copy, compare or print all fields of an object must not come upon ours.
const REFLECTION: &[u8] = b"jdk/internal/reflect/Reflection";

/// Of the JDK, what hooks themselves use, and what the JVM knows too well.
const NEVER: &[&str] = &[
    "java/lang/Object",
    "java/lang/String",
    "java/lang/Class",
    "java/lang/ref/",
    "java/lang/invoke/",
    "java/lang/reflect/",
    "java/lang/Thread",
    "java/lang/System",
    "java/lang/Math",
    "java/lang/Integer",
    "java/util/Arrays",
    "java/lang/Atomvet",
    "jdk/internal/",
    "sun/",
];

/// Of what application loaders load: made by the JDK at run time, or unusual classes that are not verified; and what tests use
/// to force an interleaving, which is to be seen by nobody.
const NOT_APPLICATION: &[&str] =
    &["java/", "atomvet/steps/", "jdk/internal/", "jdk/proxy", "com/sun/proxy/", "sun/"];

/// Nothing if a class stays as it is.
pub(crate) fn treatment(class: &[u8], owner: Owner) -> Option<Treatment> {
    let options = vm::options();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| class.starts_with(prefix.as_bytes()));
    match owner {
        Owner::Application if starts(NOT_APPLICATION) => None,
        Owner::Application => (!options.leaves_out(class)).then_some(Treatment::Everything),
        Owner::Jdk if class == b"java/lang/StringBuffer" && options.includes(class) => {
            Some(Treatment::Everything)
        }
        Owner::Jdk if options.includes(class) && !starts(NEVER) => Some(Treatment::Everything),
        Owner::Jdk if class == REFLECTION => Some(Treatment::Reflection),
        Owner::Jdk if calls::concerns(class) => Some(Treatment::Calls),
        Owner::Jdk => juc::is_watched(class).then_some(Treatment::Library),
    }
}

/// A field that a site is about.
struct FieldName {
    owner: Vec<u8>,
    name: Vec<u8>,
    descriptor: Vec<u8>,
    loader: u32,
}

/// All sites so far.
struct Sites {
    /// Per site, which of the fields it is about. Site 0 is none.
    fields_of: Vec<u32>,
    fields: Vec<FieldName>,
    /// Per loader, a hash code and a weak reference as a number; loader 0 is the JVM's own.
    loaders: Vec<(i32, usize)>,
    /// Classes that have the field for a number, with their loaders.
    numbered: BTreeSet<(u32, Vec<u8>)>,
}

static SITES: Mutex<Sites> = Mutex::new(Sites {
    fields_of: Vec::new(),
    fields: Vec::new(),
    loaders: Vec::new(),
    numbered: BTreeSet::new(),
});
const NO_FIELD: u32 = u32::MAX;

fn with_sites<R>(act: impl FnOnce(&mut Sites) -> R) -> R {
    act(&mut SITES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The field of a site: class, name and descriptor.
pub(crate) fn field_of(site: i32) -> Option<[Vec<u8>; 3]> {
    with_sites(|sites| {
        let field = sites.fields.get(*sites.fields_of.get(site as usize)? as usize)?;
        let owner = field.owner.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect();
        Some([owner, field.name.clone(), field.descriptor.clone()])
    })
}

/// The loader of a site's class, as a weak reference; null for the JVM's own.
pub(crate) fn loader_of(site: i32) -> Object {
    with_sites(|sites| {
        let field = *sites.fields_of.get(site as usize)?;
        let loader = sites.fields.get(field as usize)?.loader;
        Some(sites.loaders.get((loader as usize).checked_sub(1)?)?.1 as Object)
    })
    .unwrap_or(core::ptr::null_mut())
}

/// The number of a loader.
fn loader_number(env: Env, loader: Object) -> u32 {
    if loader.is_null() {
        return 0;
    }
    let hash = jni::hash_code(vm::ti(), loader);
    let known = with_sites(|sites| sites.loaders.clone());
    let found =
        known.iter().position(|&(other, weak)| other == hash && jni::is_same(env, weak as Object, loader));
    if let Some(found) = found {
        return found as u32 + 1;
    }
    let weak = jni::new_weak_global(env, loader);
    with_sites(|sites| {
        sites.loaders.push((hash, weak as usize));
        sites.loaders.len() as u32
    })
}

/// The plan for one class.
pub(crate) struct ClassPlan {
    treatment: Treatment,
    loader: u32,
    /// `s` and `b` lines, behind the file.
    lines: String,
    /// The fields of this class's sites, by class, name and descriptor.
    fields: HashMap<[Vec<u8>; 3], u32>,
    /// The role of the method at hand; nothing if it has no hooks where it begins and ends.
    role: Option<Role>,
    /// What an annotation says about it.
    annotation: Option<Annotation>,
    /// Whether it is a class initialiser.
    in_initialiser: bool,
    numbered: Numbered,
    facts: Facts,
}

impl ClassPlan {
    /// For a class whose source is in this file.
    pub(crate) fn new(
        env: Env,
        treatment: Treatment,
        loader: Object,
        source: &str,
        numbered: Numbered,
        facts: Facts,
    ) -> ClassPlan {
        let lines = format!("f {source}\n");
        let (loader, fields) = (loader_number(env, loader), HashMap::new());
        ClassPlan {
            treatment,
            loader,
            lines,
            fields,
            role: None,
            annotation: None,
            in_initialiser: false,
            numbered,
            facts,
        }
    }

    /// Makes the sites known. Before the class can run.
    pub(crate) fn publish(&self) {
        names::write(&self.lines);
    }

    /// Says once that a class makes accesses that are not seen.
    fn unseen(&mut self, class: &[u8], how: &str) {
        let line = format!("x {}: its accesses by {how} are not seen", names::class_name(class));
        if !self.lines.lines().any(|there| there == line) {
            self.lines += &line;
            self.lines.push('\n');
        }
    }

    fn field(&mut self, reference: &MemberRef<'_>) -> u32 {
        let MemberRef { owner, name, descriptor } = *reference;
        let key = [owner, name, descriptor].map(<[u8]>::to_vec);
        let loader = self.loader;
        *self.fields.entry(key).or_insert_with_key(|[owner, name, descriptor]| {
            let (owner, name, descriptor) = (owner.clone(), name.clone(), descriptor.clone());
            with_sites(|sites| {
                sites.fields.push(FieldName { owner, name, descriptor, loader });
                sites.fields.len() as u32 - 1
            })
        })
    }
}

fn new_site(field: u32) -> u32 {
    with_sites(|sites| {
        if sites.fields_of.is_empty() {
            sites.fields_of.push(NO_FIELD);
        }
        sites.fields_of.push(field);
        sites.fields_of.len() as u32 - 1
    })
}

const ACC_SYNCHRONIZED: u16 = 0x0020;

/// A method as the report calls it.
fn method_name(method: &Method<'_>) -> String {
    format!("{}.{}", names::class_name(method.class), names::text(method.name))
}

/// Words of the sites of synchronized statements: they are blocks always, or if the method around them is the outermost
/// of its thread.
const STATEMENT: i64 = 2;
const STATEMENT_IF_OUTERMOST: i64 = 3;

impl Plan for ClassPlan {
    fn method(&mut self, method: &Method<'_>) -> Wanted {
        self.in_initialiser = method.name == b"<clinit>";
        self.role = None;
        if self.treatment == Treatment::Calls {
            let call = calls::meaning(method.class, method.name, method.descriptor).is_some();
            return Wanted { call, ..Wanted::default() };
        }
        if self.treatment == Treatment::Reflection {
            let descriptor = b"(Ljava/lang/Class;[Ljava/lang/reflect/Field;)[Ljava/lang/reflect/Field;";
            let fields = method.name == b"filterFields" && method.descriptor == descriptor;
            return Wanted { fields, ..Wanted::default() };
        }
        if self.treatment == Treatment::Library {
            return juc::wanted(method.class, method.name, method.descriptor);
        }
        self.annotation = self.facts.annotation(method.name, method.descriptor);
        self.role = roles::role(method, self.annotation, vm::options().blocks);
        if self.role.is_none() && method.is_simple {
            self.lines += &format!("o {}\n", method_name(method));
        }
        Wanted { block: self.role.is_some(), call: self.in_initialiser, argument: false, ..Wanted::ALL }
    }

    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        match self.treatment {
            Treatment::Everything => effects::effect(method),
            Treatment::Calls | Treatment::Library | Treatment::Reflection => Effect::Anything,
        }
    }

    fn added_fields(&mut self, class: &ClassShape<'_>) -> &'static [AddedField] {
        const ACC_INTERFACE: u16 = 0x0200;
        let wanted = match self.numbered {
            Numbered::No => false,
            Numbered::AsBefore => {
                with_sites(|sites| sites.numbered.contains(&(self.loader, class.name.to_vec())))
            }
            // Fields of records are final, and the compiler promises that there are no others.
            Numbered::AtTheTop => {
                class.access & ACC_INTERFACE == 0
                    && class.super_name != b"java/lang/Record"
                    && treatment(class.super_name, Owner::Application).is_none()
            }
        };
        if wanted {
            with_sites(|sites| sites.numbered.insert((self.loader, class.name.to_vec())));
        }
        if wanted { ADDED_FIELDS } else { &[] }
    }

    fn site(&mut self, site: &Site<'_>) -> Option<u32> {
        let of_library = match (site.what, self.treatment) {
            (What::Calling(method), _) => {
                if let Some(how) = juc::unseen(method.owner, method.name) {
                    self.unseen(site.method.class, how);
                }
                Some(juc::calling(method.owner, method.name)?)
            }
            (What::Call, Treatment::Library) => {
                let is_synchronized = site.method.access & ACC_SYNCHRONIZED != 0;
                let Method { class, name, descriptor, .. } = *site.method;
                Some(juc::meaning(class, name, descriptor, is_synchronized)?)
            }
            (What::Acquire | What::Release, Treatment::Library) => Some(0),
            (_, Treatment::Library) => return None,
            _ => None,
        };
        let field = match site.what {
            What::Read(field) | What::Write(field) => self.field(&field.reference),
            _ => NO_FIELD,
        };
        let number = new_site(field);
        let line = site.line.unwrap_or(0);
        let method = || method_name(site.method);
        let statement = || method() + " synchronized";
        let (word, block) = match site.what {
            _ if of_library.is_some() => (of_library.unwrap_or(0), None),
            What::Block => (0, self.role.map(|role| (role, method()))),
            What::Acquire if self.annotation != Some(Annotation::NotAtomic) => match self.role {
                Some(Role::Block) => (0, None),
                Some(Role::UnlessEntry) => (STATEMENT_IF_OUTERMOST, Some((Role::Statement, statement()))),
                _ => (STATEMENT, Some((Role::Statement, statement()))),
            },
            What::Call if self.in_initialiser => (Call::Initialise.number(), None),
            What::Call => {
                let call = calls::meaning(site.method.class, site.method.name, site.method.descriptor);
                (call.map_or(-1, Call::number), None)
            }
            // What a class initialiser writes to its own class's fields is seen by others only when it is done. Nothing
            // is known of the flags of fields that another class declares.
            What::Write(field)
                if self.in_initialiser && field.kind == FieldKind::Static && field.flags.is_some() =>
            {
                (-1, None)
            }
            _ => (0, None),
        };
        if number as usize >= natives::MOST_SITES || word != 0 && !natives::set_site(number, word) {
            return None;
        }
        // A text in memory can be written.
        let _ = match block {
            Some((role, name)) => writeln!(self.lines, "b {number} {line} {} {name}", role.word()),
            None => writeln!(self.lines, "s {number} {line}"),
        };
        Some(number)
    }
}
