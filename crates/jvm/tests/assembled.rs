//! Code that no compiler of today writes, put into compiled classes: two calls of `super()`, subroutines, an old class
//! file. And tables that only tools read.

mod support;

use std::borrow::Cow;
use std::process::Command;

use atomvet_jvm::{ClassFile, Code, Fault, MemberRef};
use support::{programs, rewrite_all, run_both, scratch, tool, write_classes};

/// A body and what else goes into its `Code` attribute.
struct Body<'a> {
    max_stack: u16,
    max_locals: u16,
    code: &'a [u8],
    /// The content of a `StackMapTable`.
    frames: Option<&'a [u8]>,
}

/// Replaces the body of a method.
fn replace(class: &mut ClassFile<'_>, method: &[u8], body: &Body<'_>) {
    let frames_name = class.pool.add_text(b"StackMapTable").unwrap();
    let mut content = Vec::new();
    content.extend(body.max_stack.to_be_bytes());
    content.extend(body.max_locals.to_be_bytes());
    content.extend((body.code.len() as u32).to_be_bytes());
    content.extend(body.code);
    content.extend([0, 0]);
    content.extend([0, u8::from(body.frames.is_some())]);
    if let Some(frames) = body.frames {
        content.extend(frames_name.to_be_bytes());
        content.extend((frames.len() as u32).to_be_bytes());
        content.extend(frames);
    }
    let pool = &class.pool;
    let member = class.methods.iter_mut().find(|member| pool.text(member.name, 0) == Ok(method)).unwrap();
    let is_code = |name| pool.text(name, 0) == Ok(b"Code");
    member.attributes.iter_mut().find(|attribute| is_code(attribute.name)).unwrap().content =
        Cow::Owned(content);
}

/// ```text
///    aload_0; iconst_3; putfield after        a field of `this` that is not initialised
///    iload_1; ifeq L
///    aload_0; iconst_1; invokespecial Base; goto E
/// L: aload_0; iconst_2; invokespecial Base
/// E: aload_0; bipush 7; putfield after; return
/// ```
fn forked(file: &[u8]) -> Vec<u8> {
    let mut class = ClassFile::parse(file).unwrap();
    let this_class = class.this_class.to_be_bytes();
    let owner = b"Assembled$Base";
    let [s1, s2] = class
        .pool
        .add_method(MemberRef { owner, name: b"<init>", descriptor: b"(I)V" })
        .unwrap()
        .to_be_bytes();
    // The compiler's own body ends in `putfield after; return`.
    let code = class.methods[0].attributes[0].content.clone();
    let old = Code::parse(&code, 0).unwrap();
    let put = (0..old.instructions()).find(|&number| old.opcode(number) == 0xb5).unwrap();
    let [f1, f2] = [old.bytes[old.pc(put) + 1], old.bytes[old.pc(put) + 2]];
    #[rustfmt::skip]
    let code = [
        0x2a, 0x06, 0xb5, f1, f2,
        0x1b, 0x99, 0, 11, 0x2a, 0x04, 0xb7, s1, s2, 0xa7, 0, 8,
        0x2a, 0x05, 0xb7, s1, s2,
        0x2a, 0x10, 7, 0xb5, f1, f2, 0xb1,
    ];
    // At 17 the locals of the beginning, at 22 an initialised `this` and an int.
    let frames = [0, 2, 17, 255, 0, 4, 0, 2, 7, this_class[0], this_class[1], 1, 0, 0];
    replace(&mut class, b"<init>", &Body { max_stack: 2, max_locals: 2, code: &code, frames: Some(&frames) });
    class.write().unwrap()
}

/// `jsr S; jsr_w S; iload_0; ireturn; S: astore_1; count += 1; iinc 0 1; ret 1`, all in version 48.
fn old(file: &[u8]) -> Vec<u8> {
    let mut class = ClassFile::parse(file).unwrap();
    let body =
        class.methods.iter().find(|member| class.pool.text(member.name, 0) == Ok(b"subroutine")).unwrap();
    let content = body.attributes[0].content.clone();
    let old = Code::parse(&content, 0).unwrap();
    // The compiler's own body begins with `getstatic count`.
    let [f1, f2] = [old.bytes[1], old.bytes[2]];
    #[rustfmt::skip]
    let code = [
        0xa8, 0, 10, 0xc9, 0, 0, 0, 7, 0x1a, 0xac,
        0x4c, 0xb2, f1, f2, 0x04, 0x60, 0xb3, f1, f2, 0x84, 0, 1, 0xa9, 1,
    ];
    replace(&mut class, b"subroutine", &Body { max_stack: 2, max_locals: 2, code: &code, frames: None });
    class.major_version = 48;
    class.write().unwrap()
}

#[test]
fn bytecode_that_no_compiler_writes() {
    let mut classes = programs().clone();
    classes.retain(|name, _| name.starts_with("Assembled") || name.starts_with("atomvet/"));
    for (name, assemble) in
        [("Assembled$Forked.class", forked as fn(&[u8]) -> Vec<u8>), ("Assembled$Old.class", old)]
    {
        let assembled = assemble(&classes[name]);
        assert_ne!(assembled, classes[name]);
        classes.insert(name.to_owned(), assembled);
    }
    let (rewritten, left_alone) = rewrite_all(&classes, 0);
    assert_eq!(left_alone, []);
    let counts = run_both(&classes, &rewritten, &["Assembled"]);
    // Blocks: main; twice Base and Forked; subroutine, locked, Old. What is known: `number` is final in its own class,
    // but Forked.number is not known.
    assert_eq!(
        counts,
        ["enter=8 enterSynchronized=1 exit=8 exitSynchronized=1 read=5 readStatic=4 write=3 writeStatic=2"]
    );
}

/// Fills the constant pool of a class, but for so many constants.
fn fill_pool(file: &[u8], room: u16) -> Vec<u8> {
    let mut class = ClassFile::parse(file).unwrap();
    let count = u16::from_be_bytes([file[8], file[9]]);
    for number in count..u16::MAX - room {
        class.pool.add_text(format!("filler {number}").as_bytes()).unwrap();
    }
    class.write().unwrap()
}

#[test]
fn a_constant_pool_that_is_nearly_full() {
    let mut classes = programs().clone();
    classes.retain(|name, _| name.starts_with("Slots") || name.starts_with("atomvet/"));
    let fitting = fill_pool(&classes["Slots.class"], 0);
    classes.insert("Slots.class".to_owned(), fitting);
    let (same, left_alone) = rewrite_all(&classes, 0);
    assert_eq!(same, classes);
    assert_eq!(left_alone.len(), ClassFile::parse(&classes["Slots.class"]).unwrap().methods.len());
    assert!(left_alone.iter().all(|left| left.why.what == Fault::ConstantPoolFull), "{left_alone:?}");

    // Room for the hooks and not for the numbers of the sites, which are too large to be pushed without.
    let roomy = fill_pool(&programs()["Slots.class"], 200);
    classes.insert("Slots.class".to_owned(), roomy);
    let (rewritten, left_alone) = rewrite_all(&classes, 1_000_000_000);
    assert_eq!(left_alone, []);
    let counts = run_both(&classes, &rewritten, &["Slots"]);
    assert!(counts[0].starts_with("enter=7 exit=7 read=20 readByte=4"), "{counts:?}");
}

/// What `javap` says of the type annotations with positions in the method `annotated`: what kind and on which
/// instruction.
fn annotated_instructions(classes: &support::Classes, folder: &str) -> Vec<String> {
    let folder = scratch(folder);
    write_classes(&folder, classes);
    let output =
        Command::new(tool("javap")).args(["-v", "-p", "-cp"]).arg(folder).arg("Shapes").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let method = text.split("java.lang.String annotated(").nth(1).expect("the method is there");
    let method = method.split("\n\n").next().unwrap();
    let opcode_at = |position: &str| {
        let line = method.lines().find(|line| line.trim_start().starts_with(&format!("{position}: ")));
        line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("nothing").to_owned()
    };
    let mut found = Vec::new();
    for line in method.lines() {
        let Some((before, after)) = line.split_once("offset=") else { continue };
        let position = after.split([',', '}']).next().unwrap().trim();
        let kind = before.split(':').next_back().unwrap().trim().trim_end_matches(',');
        found.push(format!("{kind} {}", opcode_at(position)));
    }
    found
}

#[test]
fn type_annotations_stay_with_their_instructions() {
    let before = annotated_instructions(programs(), "annotations-before");
    let after = annotated_instructions(&rewrite_all(programs(), 0).0, "annotations-after");
    assert_eq!(before, after);
    assert!(before.contains(&"NEW new".to_owned()), "{before:?}");
}
