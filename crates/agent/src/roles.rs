//! Which methods count as blocks, as far as the class file tells. The command knows the rest: whether a method is a
//! thread's entry, and what a specification says.
//!
//! | rule | blocks |
//! |---|---|
//! | every method (the default) | all methods and constructors, private ones, `run` and lambdas included, but for a thread's entry: a `run`, `call` or lambda that a thread or an executor calls directly |
//! | the papers' (`blocks=papers`) | methods that are not private, and private ones if they are synchronized; not `run`, not `call`, and none that the compiler made up |
//!
//! A method with a name of its own is a block also where a thread starts in it (`new Thread(account::deposit)`): it is
//! an operation as well. Under both rules `main`, class initialisers and accessors for inner classes are blocks only where a specification
//! names them, and a synchronized statement is a block if the method around it is none. Annotations called `Atomic` and
//! `NotAtomic` say otherwise. Two kinds of methods get no hooks at all: bridges, which only call the method that the
//! programmer wrote, and what is atomic by itself, methods that make one access at most (see `effects.rs`).

use atomvet_jvm::Method;

use crate::facts::Annotation;

/// When an execution of a method is a block, unless a specification says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Always.
    Block,
    /// Unless it is the thread's entry.
    UnlessEntry,
    /// Never.
    NoBlock,
    /// Of a synchronized statement: if the method around it is none.
    Statement,
}

impl Role {
    /// As in the file of names.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Role::Block => "block",
            Role::UnlessEntry => "method",
            Role::NoBlock => "none",
            Role::Statement => "statement",
        }
    }
}

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rule {
    #[default]
    EveryMethod,
    Papers,
}

const ACC_PRIVATE: u16 = 0x0002;
const ACC_SYNCHRONIZED: u16 = 0x0020;
const ACC_BRIDGE: u16 = 0x0040;
const ACC_SYNTHETIC: u16 = 0x1000;

/// The role of a method; nothing if it gets no hooks where it begins and ends.
pub(crate) fn role(method: &Method<'_>, annotation: Option<Annotation>, rule: Rule) -> Option<Role> {
    let is = |flag| method.access & flag != 0;
    if annotation == Some(Annotation::Atomic) && method.name != b"<clinit>" {
        return Some(Role::Block);
    }
    if method.is_simple || is(ACC_BRIDGE) && is(ACC_SYNTHETIC) {
        return None;
    }
    let is_accessor = is(ACC_SYNTHETIC) && method.name.starts_with(b"access$");
    if annotation == Some(Annotation::NotAtomic)
        || is_accessor
        || method.name == b"<clinit>"
        || is_main(method)
    {
        return Some(Role::NoBlock);
    }
    let may_be_entry = is_task(method) || is(ACC_SYNTHETIC);
    let is_hidden = is(ACC_PRIVATE) && !is(ACC_SYNCHRONIZED);
    Some(match rule {
        Rule::EveryMethod if may_be_entry => Role::UnlessEntry,
        Rule::Papers if may_be_entry || is_hidden => Role::NoBlock,
        Rule::EveryMethod | Rule::Papers => Role::Block,
    })
}

/// What a program starts with. Launchers call that of another class.
fn is_main(method: &Method<'_>) -> bool {
    method.name == b"main" && matches!(method.descriptor, b"([Ljava/lang/String;)V" | b"()V")
}

/// What threads are made for.
fn is_task(method: &Method<'_>) -> bool {
    match method.name {
        b"run" => method.descriptor == b"()V",
        b"call" => method.descriptor.starts_with(b"()"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: u16 = 0x0001;
    const STATIC: u16 = 0x0008;

    fn roles(name: &str, descriptor: &str, access: u16) -> [Option<Role>; 2] {
        let method = Method {
            class: b"Bank",
            name: name.as_bytes(),
            descriptor: descriptor.as_bytes(),
            access,
            is_simple: false,
        };
        [Rule::EveryMethod, Rule::Papers].map(|rule| role(&method, None, rule))
    }

    #[test]
    fn private_methods_tasks_and_lambdas_are_blocks_but_not_to_the_papers() {
        let both = [Some(Role::Block); 2];
        let not_papers = [Some(Role::Block), Some(Role::NoBlock)];
        let unless_entry = [Some(Role::UnlessEntry), Some(Role::NoBlock)];
        assert_eq!(roles("deposit", "(I)V", PUBLIC), both);
        assert_eq!(roles("<init>", "()V", PUBLIC), both);
        assert_eq!(roles("deposit", "(I)V", ACC_PRIVATE | ACC_SYNCHRONIZED), both);
        assert_eq!(roles("deposit", "(I)V", ACC_PRIVATE), not_papers);
        assert_eq!(roles("<init>", "()V", ACC_PRIVATE), not_papers);
        assert_eq!(roles("run", "()V", PUBLIC), unless_entry);
        assert_eq!(roles("call", "()Ljava/lang/Integer;", PUBLIC), unless_entry);
        assert_eq!(roles("lambda$main$0", "()V", ACC_PRIVATE | STATIC | ACC_SYNTHETIC), unless_entry);
        assert_eq!(roles("run", "(I)V", PUBLIC), both);
    }

    #[test]
    fn what_only_a_specification_makes_a_block() {
        let neither = [Some(Role::NoBlock); 2];
        assert_eq!(roles("main", "([Ljava/lang/String;)V", PUBLIC | STATIC), neither);
        assert_eq!(roles("<clinit>", "()V", STATIC), neither);
        assert_eq!(roles("access$008", "(LBank;)I", STATIC | ACC_SYNTHETIC), neither);
        assert_eq!(roles("call", "()Ljava/lang/Object;", PUBLIC | ACC_SYNTHETIC | ACC_BRIDGE), [None; 2]);
    }

    #[test]
    fn annotations_win() {
        let method =
            Method { class: b"Bank", name: b"run", descriptor: b"()V", access: PUBLIC, is_simple: false };
        for rule in [Rule::EveryMethod, Rule::Papers] {
            assert_eq!(role(&method, Some(Annotation::Atomic), rule), Some(Role::Block));
            assert_eq!(role(&method, Some(Annotation::NotAtomic), rule), Some(Role::NoBlock));
            let simple = Method { is_simple: true, ..method };
            assert_eq!(role(&simple, None, rule), None);
        }
    }
}
