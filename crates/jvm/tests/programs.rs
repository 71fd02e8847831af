//! Java programs with hooks in all their classes: they print what they print without, the JVM verifies them, and
//! the hooks are called as often as the source says.

mod support;

use std::fs;

use atomvet_jvm::{
    ClassFile, Effect, Fault, MemberRef, Method, Options, Order, Plan, Site, Wanted, rewrite, unchanged,
};
use support::{PROGRAMS, effect, folder, programs, read_classes, rewrite_all, run_both, write_classes};

/// How often each hook is called, counted by hand in the source.
const COUNTS: [(&str, &str); 8] = [
    (
        "Switches",
        "enter=24 exit=24 readElement=7 readInt=7 readStatic=19 writeElement=7 writeInt=7 writeStatic=12 writeStaticReference=5",
    ),
    (
        "Exceptions",
        "enter=46 enterSynchronized=1 exit=46 exitSynchronized=1 read=1 readElement=15 readStatic=9 refused=10 \
         writeElement=1 writeStatic=8",
    ),
    (
        "Monitors",
        "acquired=10 enter=13 enterSynchronized=7 exit=13 exitSynchronized=7 read=10 releasing=10 write=5",
    ),
    ("Constructors", "enter=35 exit=35 read=23 write=20 writeElement=1"),
    (
        "Slots",
        "enter=7 exit=7 read=20 readByte=4 readChar=2 readDouble=2 readElement=9 readFloat=2 readInt=2 readLong=5 \
         readShort=2 readStatic=18 write=9 writeByte=4 writeChar=2 writeDouble=2 writeElement=2 writeFloat=2 \
         writeInt=2 writeLong=6 writeReference=1 writeShort=2 writeStatic=8 writeStaticReference=1",
    ),
    (
        "Calls",
        "calling=22 enter=13 enterCall=8 enterCallAt2=1 enterCallAt8=1 enterCallWith21=1 enterCallWithNull=1 \
         enterCallWithString=1 enterCallWithint[]=1 enterSynchronized=2 exit=13 exitCall=4 exitCallWith77=1 \
         exitCallWithReference=4 exitCallWithfalse=1 exitCallWithtrue=1 exitSynchronized=2 readInt=1 throwCall=1 writeInt=3",
    ),
    ("Reads", "cloned=1 enter=9 exit=9 read=1 readByCall=7 refused=1"),
    (
        "Shapes",
        "enter=38 exit=38 read=3 readStatic=10 write=2 writeElement=2 writeStatic=3 writeStaticReference=4",
    ),
];

#[test]
fn programs_behave_as_without_hooks() {
    let (rewritten, left_alone) = rewrite_all(programs(), 0);
    let left_alone: Vec<_> = left_alone
        .iter()
        .map(|left| (String::from_utf8_lossy(&left.name), matches!(left.why.what, Fault::MethodTooLarge(_))))
        .collect();
    // These are all of TooFar.
    assert_eq!(left_alone, [("<init>".into(), true), ("jumps".into(), true), ("monitors".into(), true)]);
    let counts = run_both(programs(), &rewritten, &PROGRAMS);
    for (program, expected) in COUNTS {
        let index = PROGRAMS.iter().position(|&name| name == program).unwrap();
        assert_eq!(counts[index], expected, "{program}");
    }
}

#[test]
fn nothing_inserted_is_the_same_bytes() {
    for (name, file) in programs() {
        assert!(ClassFile::parse(file).unwrap().write().unwrap() == *file, "{name}");
        assert!(unchanged(file).unwrap() == (file.clone(), Vec::new()), "{name}");
    }
}

#[test]
fn the_committed_classes_are_what_the_compiler_makes_of_the_sources() {
    let compiled = programs();
    if std::env::var_os("BLESS").is_some() {
        fs::remove_dir_all(folder("classes")).ok();
        write_classes(&folder("classes"), compiled);
    }
    let committed = read_classes(&folder("classes"));
    assert!(committed.keys().eq(compiled.keys()), "write them again with BLESS=1");
    for (name, bytes) in compiled {
        assert!(committed[name] == *bytes, "{name} is stale: write it again with BLESS=1");
    }
}

/// Collects the methods that are simple.
#[derive(Default)]
struct Simple(Vec<String>);

impl Plan for Simple {
    fn method(&mut self, method: &Method<'_>) -> Wanted {
        if method.is_simple {
            self.0.push([method.class, method.name].map(String::from_utf8_lossy).join("."));
        }
        Wanted::default()
    }

    fn site(&mut self, _: &Site<'_>) -> Option<u32> {
        None
    }

    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        effect(method)
    }
}

#[test]
fn methods_that_access_memory_once_at_most_are_simple() {
    let mut simple = Simple::default();
    for file in programs().values() {
        rewrite(file, Options { hook_class: "hooks", order: Order::Around }, &mut simple).unwrap();
    }
    let found = |class: &str| simple.0.iter().filter_map(|name| name.strip_prefix(class)).collect::<Vec<_>>();
    // They set final fields only, or read one.
    assert_eq!(found("Constructors$"), ["Inner$Innermost.<init>", "Inner$Innermost.outer", "Inner.<init>"]);
    // The area of a circle reads its radius twice, which is final.
    assert_eq!(
        found("Shapes$"),
        ["Circle.area", "Circle.radius", "Pair.first", "Pair.second", "Planet.area"]
    );
    assert_eq!(found("Switches"), [".<init>"]);
    // Those that make one call that is an access, and no others but what does nothing.
    assert_eq!(found("Reads"), [".get", ".set", ".atLeast"]);
}
