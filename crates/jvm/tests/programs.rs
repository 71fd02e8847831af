//! Java programs with hooks in all their classes: they print what they print without, the JVM verifies them, and
//! the hooks are called as often as the source says.
//!
//! `programs/` has the sources, `classes/` what javac 17 makes of them. With a JDK the sources are compiled anew; with
//! only a JRE the committed classes run; with neither, what can be said without is checked, and the test says so.
//! `BLESS=1 cargo test -p atomvet-jvm` writes `classes/` again.

#![expect(clippy::print_stdout, reason = "a test that cannot run all of its parts says so")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use atomvet_jvm::{
    ClassFile, Fault, FieldFlags, LeftAlone, MemberRef, Method, Options, Order, Plan, Site, Wanted, What,
    rewrite, unchanged,
};

const OPTIONS: Options<'static> = Options { hook_class: "atomvet/Hooks", order: Order::Around };

/// All hooks, except blocks of `main`, whose hooks the runner would see as not finished.
#[derive(Default)]
struct Everything {
    next: u32,
    /// What was asked for: method, line and what.
    sites: Vec<String>,
}

impl Plan for Everything {
    fn method(&mut self, method: &Method<'_>) -> Wanted {
        Wanted { block: method.name != b"<clinit>", ..Wanted::ALL }
    }

    fn site(&mut self, site: &Site<'_>) -> Option<u32> {
        let what = match site.what {
            What::Read(field) | What::Write(field) => {
                let flags = match field.flags {
                    Some(flags) if flags.is_volatile() => " volatile",
                    Some(_) => "",
                    None => " unknown",
                };
                format!("{}{flags}", String::from_utf8_lossy(field.reference.name))
            }
            other => format!("{other:?}"),
        };
        let method = String::from_utf8_lossy(site.method.name);
        self.sites.push(format!("{method} {} {what}", site.line.unwrap_or(0)));
        self.next += 1;
        Some(self.next)
    }

    fn field(&mut self, field: &MemberRef<'_>) -> Option<FieldFlags> {
        // System.out.
        field.owner.starts_with(b"java/lang/").then_some(FieldFlags(0x0010))
    }
}

type Classes = BTreeMap<String, Vec<u8>>;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A new folder for what a test writes.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

fn read_classes(root: &Path) -> Classes {
    let mut classes = Classes::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "class") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                classes.insert(name, fs::read(path).unwrap());
            }
        }
    }
    classes
}

fn write_classes(root: &Path, classes: &Classes) {
    for (name, bytes) in classes {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The major version of a Java command, if it can be run.
fn version(command: &str) -> Option<String> {
    let output = Command::new(command).arg("-version").output().ok()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let number = text.split(['"', ' ', '.', '\n']).find(|part| part.parse::<u32>().is_ok())?;
    Some(number.to_owned())
}

fn compile(sources: &[PathBuf], target: &Path) -> Classes {
    let mut command = Command::new("javac");
    let output =
        command.args(["--release", "17", "-g", "-nowarn", "-d"]).arg(target).args(sources).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read_classes(target)
}

/// The compiled programs and the hook class: made anew if there is a javac, else those that are committed.
fn programs() -> &'static Classes {
    static PROGRAM_CLASSES: OnceLock<Classes> = OnceLock::new();
    PROGRAM_CLASSES.get_or_init(|| {
        if version("javac").is_none() {
            println!("there is no javac: using the classes that are committed");
            return read_classes(&folder("classes"));
        }
        let sources = scratch("sources");
        for (name, source) in [("Far", FAR.source()), ("TooFar", TOO_FAR.source())] {
            fs::write(sources.join(format!("{name}.java")), source).unwrap();
        }
        let mut files = vec![folder("programs/atomvet/Hooks.java")];
        for (name, _) in PROGRAMS {
            let file = format!("{name}.java");
            files.extend(
                [sources.join(&file), folder("programs").join(&file)]
                    .into_iter()
                    .filter(|path| path.exists()),
            );
        }
        compile(&files, &scratch("compiled"))
    })
}

fn rewrite_all(classes: &Classes, plan: &mut Everything) -> (Classes, Vec<LeftAlone>) {
    let mut left_alone = Vec::new();
    let rewritten = classes.iter().map(|(name, file)| {
        if name.starts_with("atomvet/") {
            return (name.clone(), file.clone());
        }
        let rewritten = rewrite(file, OPTIONS, plan).unwrap();
        left_alone.extend(rewritten.left_alone);
        (name.clone(), rewritten.bytes.unwrap_or_else(|| file.clone()))
    });
    (rewritten.collect(), left_alone)
}

/// What the programs print, and the counts of the hooks for each.
fn run(classes: &Path) -> Vec<(String, String)> {
    let mut command = Command::new("java");
    command.args(["-Xverify:all", "-XX:TieredStopAtLevel=1", "-cp"]).arg(classes);
    let output = command.arg("atomvet.Hooks").args(PROGRAMS.map(|(name, _)| name)).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let parts = printed.split("program ").skip(1);
    let split =
        |part: &str| part.split_once("\nhooks").map(|(out, hooks)| (out.to_owned(), hooks.trim().to_owned()));
    parts.map(|part| split(part).expect("the runner prints the counts")).collect()
}

/// The programs, and how often each hook is called, counted by hand in the source. Where two threads take turns, or
/// where there is too much to count, nobody knows.
const PROGRAMS: [(&str, Option<&str>); 9] = [
    (
        "Switches",
        Some(
            "enter=24 exit=24 readElement=7 readInt=7 readStatic=19 writeElement=7 writeInt=7 writeStatic=12",
        ),
    ),
    (
        "Exceptions",
        Some(
            "enter=46 enterSynchronized=1 exit=46 exitSynchronized=1 read=1 readElement=15 readStatic=9 refused=10 \
             writeElement=1 writeStatic=8",
        ),
    ),
    (
        "Monitors",
        Some(
            "acquired=10 enter=13 enterSynchronized=7 exit=13 exitSynchronized=7 read=10 releasing=10 write=5",
        ),
    ),
    ("HandOver", None),
    ("Constructors", Some("enter=35 exit=35 read=23 write=20 writeElement=1")),
    (
        "Slots",
        Some(
            "enter=7 exit=7 read=20 readByte=4 readChar=2 readDouble=2 readElement=9 readFloat=2 readInt=2 readLong=5 \
             readShort=2 readStatic=18 write=9 writeByte=4 writeChar=2 writeDouble=2 writeElement=2 writeFloat=2 \
             writeInt=2 writeLong=6 writeReference=1 writeShort=2 writeStatic=8 writeStaticReference=1",
        ),
    ),
    ("Shapes", Some("enter=38 exit=38 read=3 readStatic=10 write=2 writeElement=2 writeStatic=3")),
    ("Far", None),
    ("TooFar", None),
];

/// A program whose jumps become too long for two bytes when hooks are inserted.
struct FarJumps {
    name: &'static str,
    /// How many times a static field is updated in each of the long stretches: 8 bytes of code, 34 with hooks.
    updates: usize,
}

const FAR: FarJumps = FarJumps { name: "Far", updates: 1000 };
const TOO_FAR: FarJumps = FarJumps { name: "TooFar", updates: 2000 };

impl FarJumps {
    fn source(&self) -> String {
        let stretch = "x += 1;\n".repeat(self.updates);
        let name = self.name;
        format!(
            "public class {name} {{
    static int x;

    {name}(int count) {{
        super();
        while (count-- > 0) {{
            if (count == 2) continue;
            {stretch}
        }}
    }}

    /** Forward and backward, several jumps to one target, in the range of a handler that needs a local. */
    static long jumps(int n, String text) {{
        long result = 0;
        do {{
            int local = n * 3;
            try {{
                if (n > 3 && n < 50 && n != 7 && text != null) {{
                    String more = text + local;
                    {stretch}
                    result += 100 / (n - 5) + more.length();
                }}
            }} catch (ArithmeticException thrown) {{
                result += 1000 + local;
            }}
            result++;
        }} while (++n < 10);
        return result;
    }}

    static synchronized int monitors(Object lock, int n) {{
        int result = 0;
        for (int round = 0; round < n; round++) {{
            synchronized (lock) {{
                switch (round) {{
                    case 0: continue;
                    case 1: result += 5; break;
                    case 7: return result;
                    default:
                        if (lock == null) break;
                        {stretch}
                        if (round == 5) throw new IllegalStateException(\"five\" + result);
                }}
                result += round;
            }}
        }}
        return result;
    }}

    public static void main(String[] arguments) {{
        new {name}(4);
        System.out.println(x);
        System.out.println(jumps(0, \"text\") + \" \" + jumps(4, null) + \" \" + x);
        System.out.println(monitors(new Object(), 4) + \" \" + x);
        try {{
            monitors(new Object(), 6);
        }} catch (IllegalStateException thrown) {{
            System.out.println(thrown.getMessage() + x);
        }}
    }}
}}
"
        )
    }
}

#[test]
fn programs_behave_as_without_hooks() {
    let classes = programs();
    let (rewritten, left_alone) = rewrite_all(classes, &mut Everything::default());
    let left_alone: Vec<_> = left_alone
        .iter()
        .map(|left| (String::from_utf8_lossy(&left.name), matches!(left.why.what, Fault::MethodTooLarge(_))))
        .collect();
    assert_eq!(left_alone, [("<init>".into(), true), ("jumps".into(), true), ("monitors".into(), true)]);
    if version("java").is_none() {
        println!("there is no JVM: the programs were rewritten but did not run");
        return;
    }
    let (before, after) = (scratch("before"), scratch("after"));
    write_classes(&before, classes);
    write_classes(&after, &rewritten);
    let (without, with) = (run(&before), run(&after));
    assert_eq!([without.len(), with.len()], [PROGRAMS.len(); 2]);
    for ((program, expected), (without, with)) in PROGRAMS.iter().zip(without.iter().zip(&with)) {
        assert_eq!(without.1, "", "{program}");
        assert_eq!(with.0, without.0, "{program}");
        if let Some(expected) = expected {
            assert_eq!(with.1, *expected, "{program}");
        }
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
    match version("javac").as_deref() {
        Some("17") => {
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
        other => println!("the committed classes are javac 17's, and here is {other:?}: not compared"),
    }
}
