//! What the tests with Java programs share: compiling, rewriting, running.
//!
//! `programs/` has the sources, `classes/` what javac 17 makes of them. The tests compile the sources anew and need a JDK 17.
//! `BLESS=1 cargo test -p atomvet-jvm` writes `classes/` again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use atomvet_jvm::{
    Effect, FieldFlags, LeftAlone, MemberRef, Method, Options, Order, Plan, Site, Wanted, rewrite,
};

/// The programs.
pub(crate) const PROGRAMS: [&str; 12] = [
    "Switches",
    "Exceptions",
    "Monitors",
    "HandOver",
    "Constructors",
    "Slots",
    "Shapes",
    "Assembled",
    "Calls",
    "Reads",
    "Far",
    "TooFar",
];

const OPTIONS: Options<'static> = Options { hook_class: "atomvet/Hooks", order: Order::Around };

/// All hooks, but no blocks of class initialisers, and calls only in the program about calls.
struct Everything {
    /// The last number of a site.
    sites: u32,
}

impl Plan for Everything {
    fn method(&mut self, method: &Method<'_>) -> Wanted {
        let calls = method.class == b"Calls";
        Wanted { block: method.name != b"<clinit>", call: calls, argument: calls, calls, ..Wanted::ALL }
    }

    fn site(&mut self, _: &Site<'_>) -> Option<u32> {
        self.sites += 1;
        Some(self.sites)
    }

    fn field(&mut self, field: &MemberRef<'_>) -> Option<FieldFlags> {
        // System.out.
        field.owner.starts_with(b"java/lang/").then_some(FieldFlags(0x0010))
    }

    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        effect(method)
    }
}

/// What calls of the JDK do in the program about reads.
pub(crate) fn effect(method: &MemberRef<'_>) -> Effect {
    let is_atomic = method.owner.starts_with(b"java/util/concurrent/atomic/Atomic");
    match method.name {
        b"get" if is_atomic => Effect::Read,
        b"set" if is_atomic => Effect::Access,
        b"max" => Effect::Nothing,
        _ => Effect::Anything,
    }
}

/// Class files by path.
pub(crate) type Classes = BTreeMap<String, Vec<u8>>;

/// A folder of this crate's tests.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A new folder for what a test writes.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

/// All class files below a folder.
pub(crate) fn read_classes(root: &Path) -> Classes {
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

/// Writes class files below a folder.
pub(crate) fn write_classes(root: &Path, classes: &Classes) {
    for (name, bytes) in classes {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A command of a JDK 17, which the committed classes were made by.
pub(crate) fn tool(name: &str) -> PathBuf {
    static COMMANDS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let commands = COMMANDS.get_or_init(|| {
        let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|jdk| jdk.path());
        let homes = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().chain(installed);
        homes.map(|home| home.join("bin")).chain([PathBuf::new()]).find(|commands| {
            let version = Command::new(commands.join("javac")).arg("-version").output();
            version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).starts_with("javac 17."))
        })
    });
    let commands = commands.as_ref();
    commands
        .expect("a JDK 17 in /usr/lib/jvm, JAVA_HOME or PATH: `cargo xtask install` installs one")
        .join(name)
}

/// The compiled programs and the hook class.
pub(crate) fn programs() -> &'static Classes {
    static CLASSES: OnceLock<Classes> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let (sources, target) = (scratch("sources"), scratch("compiled"));
        for far in [FAR, TOO_FAR] {
            fs::write(sources.join(format!("{}.java", far.name)), far.source()).unwrap();
        }
        let mut command = Command::new(tool("javac"));
        command.args(["--release", "17", "-g", "-nowarn", "-d"]).arg(&target);
        command.arg(folder("programs/atomvet/Hooks.java"));
        for name in PROGRAMS {
            let file = format!("{name}.java");
            let places = [sources.join(&file), folder("programs").join(&file)];
            command.args(places.iter().filter(|path| path.exists()));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        read_classes(&target)
    })
}

/// Puts hooks into all classes but the hook class itself. The sites are numbered from here on.
pub(crate) fn rewrite_all(classes: &Classes, sites: u32) -> (Classes, Vec<LeftAlone>) {
    let (mut plan, mut left_alone) = (Everything { sites }, Vec::new());
    let mut after = classes.clone();
    for (_, file) in after.iter_mut().filter(|(name, _)| !name.starts_with("atomvet/")) {
        let rewritten = rewrite(file, OPTIONS, &mut plan).unwrap();
        left_alone.extend(rewritten.left_alone);
        if let Some(bytes) = rewritten.bytes {
            *file = bytes;
        }
    }
    (after, left_alone)
}

/// Runs programs with and without hooks. They must print the same. Gives the counts of the hooks for each program.
pub(crate) fn run_both(before: &Classes, after: &Classes, programs: &[&str]) -> Vec<String> {
    let [without, with] = [("before", before), ("after", after)].map(|(name, classes)| {
        // Tests run side by side, each with another first program.
        let folder = scratch(&format!("{}-{name}", programs[0]));
        write_classes(&folder, classes);
        run(&folder, programs)
    });
    assert_eq!([without.len(), with.len()], [programs.len(); 2]);
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without.1, "");
        assert_eq!(with.0, without.0);
    }
    with.into_iter().map(|(_, hooks)| hooks).collect()
}

/// What each program prints, and the counts of the hooks.
fn run(classes: &Path, programs: &[&str]) -> Vec<(String, String)> {
    let mut command = Command::new(tool("java"));
    command.args(["-Xverify:all", "-XX:TieredStopAtLevel=1", "-cp"]).arg(classes);
    let output = command.arg("atomvet.Hooks").args(programs).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let split =
        |part: &str| part.split_once("\nhooks").map(|(out, hooks)| (out.to_owned(), hooks.trim().to_owned()));
    printed.split("program ").skip(1).map(|part| split(part).expect("the runner prints the counts")).collect()
}

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
