//! What the numbers in a JVM's records mean: sites, blocks, classes, fields, from the file that the agent writes beside
//! its ring (`crates/agent/src/names.rs` says how), and objects, from the records themselves.
//!
//! Lines are appended before the first record that needs them, so that the file is read on when a number is not
//! known.

mod objects;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use self::objects::{Object, Objects};
use super::symbols::{Function, Owner, Place};

/// See the head of this file.
pub(crate) struct Names {
    path: PathBuf,
    file: Option<File>,
    /// The start of a line whose end is not there yet.
    rest: Vec<u8>,
    /// The source file of the lines that follow.
    source: u32,
    sources: Vec<String>,
    /// Per site, source file and line.
    sites: FxHashMap<u32, (u32, u32)>,
    /// Per site of a method or a synchronized statement, its role and its name.
    blocks: FxHashMap<u32, (Role, String)>,
    /// Methods that make one access at most.
    simple: Vec<String>,
    classes: FxHashMap<u32, Class>,
    /// By displacement, the fields of a class's objects and its static ones.
    fields: FxHashMap<(u32, u64), String>,
    statics: FxHashMap<(u32, u64), String>,
    threads: FxHashMap<u32, String>,
    objects: Objects,
    /// The finding that is told, and what addresses and threads mean in each: by its number and the base of an object, or
    /// the index of a thread.
    finding: Option<u64>,
    found_objects: BTreeMap<(u64, u64), Object>,
    found_threads: FxHashMap<(u64, u32), String>,
    /// What could not be instrumented.
    left_alone: Vec<String>,
    /// What ran and was not recorded.
    unwatched: Vec<String>,
    /// Why the agent could not begin.
    failure: Option<String>,
}

/// When an execution of a method is a block, unless a specification says something else: see `crates/agent/src/roles.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    /// Always.
    #[default]
    Block,
    /// Unless it is the outermost one in its thread.
    UnlessEntry,
    /// Never.
    NoBlock,
    /// Of a synchronized statement: if the method around it is none.
    Statement,
}

impl Role {
    fn named(word: &str) -> Option<Role> {
        match word {
            "block" => Some(Role::Block),
            "method" => Some(Role::UnlessEntry),
            "none" => Some(Role::NoBlock),
            "statement" => Some(Role::Statement),
            _ => None,
        }
    }
}

struct Class {
    name: String,
    parent: u32,
    /// For arrays, where elements begin behind the base, and how far they are apart: 1 << shift.
    elements: Option<(u64, u32)>,
    /// How many of its objects were met.
    objects: u32,
}

/// Where elements of an array are for the recorder.
const HEADER: u64 = 16;
/// And in the checker's shadow memory: one granule each.
const ROW: (u64, u32) = (4, 2);

impl Names {
    /// Of a process whose agent writes to this file.
    pub(crate) fn new(path: &Path) -> Names {
        Names {
            path: path.to_owned(),
            file: None,
            rest: Vec::new(),
            source: 0,
            sources: vec!["?".to_owned()],
            sites: FxHashMap::default(),
            blocks: FxHashMap::default(),
            simple: Vec::new(),
            classes: FxHashMap::default(),
            fields: FxHashMap::default(),
            statics: FxHashMap::default(),
            threads: FxHashMap::default(),
            objects: Objects::default(),
            finding: None,
            found_objects: BTreeMap::new(),
            found_threads: FxHashMap::default(),
            left_alone: Vec::new(),
            unwatched: Vec::new(),
            failure: None,
        }
    }

    /// Reads what was appended.
    fn read_on(&mut self) {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let mut bytes = std::mem::take(&mut self.rest);
        // The directory may be gone: then numbers stay numbers.
        let _ = self.file.as_mut().map(|file| file.read_to_end(&mut bytes));
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        self.rest = bytes.split_off(whole);
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is none tells nothing.
            let _ = self.line(line);
        }
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let two = || rest.split_once(' ');
        let three = || {
            let (first, rest) = rest.split_once(' ')?;
            let (second, rest) = rest.split_once(' ')?;
            Some((first.parse::<u32>().ok()?, second, rest.to_owned()))
        };
        match kind {
            "f" => {
                self.sources.push(rest.to_owned());
                self.source = self.sources.len() as u32 - 1;
            }
            "s" => {
                let (site, line) = two()?;
                self.sites.insert(site.parse().ok()?, (self.source, line.parse().ok()?));
            }
            "b" => {
                let (site, line, rest) = three()?;
                let (role, name) = rest.split_once(' ')?;
                self.sites.insert(site, (self.source, line.parse().ok()?));
                self.blocks.insert(site, (Role::named(role)?, name.to_owned()));
            }
            "c" => {
                let (class, parent, name) = three()?;
                let parent = parent.parse().ok()?;
                self.classes.insert(class, Class { name, parent, elements: None, objects: 0 });
            }
            "a" => {
                let (class, shift, name) = three()?;
                let elements = Some((HEADER, shift.parse::<u32>().ok()?.min(3)));
                self.classes.insert(class, Class { name, parent: 0, elements, objects: 0 });
            }
            "r" => {
                let (class, name) = two()?;
                let (name, elements) = (name.to_owned(), Some(ROW));
                self.classes.insert(class.parse().ok()?, Class { name, parent: 0, elements, objects: 0 });
            }
            "j" => {
                let mut words = rest.split(' ').map(str::parse::<u64>);
                let mut next = || words.next()?.ok();
                let (finding, base) = (next()?, next()?);
                let (class, number) = (next()?.try_into().ok()?, next()?.try_into().ok()?);
                self.found_objects.insert((finding, base), Object { class, number });
            }
            "h" => {
                let (finding, rest) = two()?;
                let (index, name) = rest.split_once(' ')?;
                self.found_threads.insert((finding.parse().ok()?, index.parse().ok()?), name.to_owned());
            }
            "i" | "g" => {
                let (class, displacement, name) = three()?;
                let fields = if kind == "i" { &mut self.fields } else { &mut self.statics };
                fields.insert((class, displacement.parse().ok()?), name);
            }
            "t" => {
                let (thread, name) = two()?;
                self.threads.insert(thread.parse().ok()?, name.to_owned());
            }
            "o" => self.simple.push(rest.to_owned()),
            "x" => self.left_alone.push(rest.to_owned()),
            "u" => self.unwatched.push(rest.to_owned()),
            "e" => self.failure = Some(rest.to_owned()),
            _ => {}
        }
        Some(())
    }

    fn site(&mut self, site: u32) -> String {
        if !self.sites.contains_key(&site) {
            self.read_on();
        }
        match self.sites.get(&site) {
            // Line 0 is not known; a text trace has no other way to say so.
            Some(&(source, line)) => format!("{}:{line}", self.sources[source as usize]),
            None => format!("site {site}"),
        }
    }

    /// Where a record was made.
    pub(crate) fn place(&mut self, site: u64) -> Place {
        Place { site: self.site(site as u32), function: String::new() }
    }

    /// A block, by its site.
    pub(crate) fn block(&mut self, site: u64) -> Function {
        let at = self.site(site as u32);
        let known = self.blocks.get(&(site as u32)).cloned();
        let (role, name) = known.unwrap_or_else(|| (Role::default(), at.clone()));
        Function { name, site: at, owner: Owner::User, library: String::new(), role }
    }

    /// A thread as the program calls it.
    pub(crate) fn thread(&mut self, serial: u32) -> Option<String> {
        if !self.threads.contains_key(&serial) {
            self.read_on();
        }
        self.threads.get(&serial).cloned()
    }

    /// From now on, addresses and threads mean what they did when this finding was made.
    pub(crate) fn tell_of(&mut self, finding: u64) {
        if self.finding.is_none() {
            self.read_on();
        }
        self.finding = Some(finding);
    }

    /// A thread as the program calls it, by its index in the checker.
    pub(crate) fn thread_of_finding(&self, index: usize) -> Option<String> {
        self.found_threads
            .get(&(self.finding?, index.try_into().ok()?))
            .filter(|name| !name.is_empty())
            .cloned()
    }

    /// An object is at `base` from now on.
    pub(crate) fn object(&mut self, base: u64, what: u64) {
        let class = what as u32;
        let known = match self.classes.get_mut(&class) {
            Some(known) => known,
            None => {
                self.read_on();
                let Some(known) = self.classes.get_mut(&class) else { return };
                known
            }
        };
        let number = if what >> 32 == 0 {
            known.objects += 1;
            known.objects
        } else {
            0
        };
        self.objects.add(base, Object { class, number });
    }

    /// The variable at an address, or the object, if it is that of a lock.
    pub(crate) fn variable(&mut self, address: u64) -> Option<String> {
        let (base, Object { class, number }) = match self.finding {
            Some(finding) => {
                let (&(_, base), &object) =
                    self.found_objects.range((finding, 0)..=(finding, address)).next_back()?;
                (base, object)
            }
            None => self.objects.around(address)?,
        };
        let known = self.classes.get(&class)?;
        let displacement = address - base;
        if number == 0 && self.finding.is_some() {
            // Static fields have a place of their own, which begins with the first.
            return Some(format!("{}.{}", known.name, self.known_field(class, 0, displacement)?));
        }
        // Of all that is long, only the name itself is allocated: a program may have millions.
        let mut name = String::with_capacity(known.name.len() + 32);
        name += &known.name;
        if number != 0 {
            write!(name, "#{number}").ok()?;
        }
        match (displacement, known.elements) {
            (0, _) if number == 0 => name += ".class",
            (0, _) => {}
            (_, Some((header, shift))) => {
                write!(name, "[{}]", displacement.checked_sub(header)? >> shift).ok()?;
            }
            (_, None) => {
                name.push('.');
                self.add_field(class, number, displacement, &mut name);
            }
        }
        Some(name)
    }

    fn add_field(&mut self, class: u32, number: u32, displacement: u64, name: &mut String) {
        if self.known_field(class, number, displacement).is_none() {
            self.read_on();
        }
        match self.known_field(class, number, displacement) {
            Some(field) => name.push_str(field),
            None => *name += &format!("?{displacement}"),
        }
    }

    /// A field of an object, which its class or a superclass declares, or of a class.
    fn known_field(&self, class: u32, number: u32, displacement: u64) -> Option<&str> {
        if number == 0 {
            return self.statics.get(&(class, displacement)).map(String::as_str);
        }
        let mut class = class;
        // No hierarchy is as deep; the bound is for files that are not the agent's.
        for _ in 0..1000 {
            if let Some(name) = self.fields.get(&(class, displacement)) {
                return Some(name);
            }
            class = self.classes.get(&class)?.parent;
        }
        None
    }

    /// Methods that make one access at most, and are never announced.
    pub(crate) fn simple_methods(&mut self) -> &[String] {
        self.read_on();
        &self.simple
    }

    /// Why the agent could not begin, if that is so.
    pub(crate) fn failure(&mut self) -> Option<String> {
        self.read_on();
        self.failure.clone()
    }

    /// What ran and was not recorded.
    pub(crate) fn unwatched(&mut self) -> Vec<String> {
        self.read_on();
        self.unwatched.clone()
    }

    /// What could not be instrumented.
    pub(crate) fn left_alone(&mut self) -> Vec<String> {
        self.read_on();
        self.left_alone.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Names {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let mut names = Names::new(file.path());
        names.read_on();
        names
    }

    #[test]
    fn fields_of_objects_have_names() {
        let mut names = names("c 1 0 Base\nc 2 1 Account\ni 1 24 id\ni 2 32 balance\ng 2 16 total\n");
        names.object(1000, 2);
        names.object(2000, 2);
        names.object(3000, 2 | 1 << 32);
        let mut variable = |address| names.variable(address).unwrap();
        assert_eq!(variable(1024), "Account#1.id");
        assert_eq!(variable(2032), "Account#2.balance");
        assert_eq!(variable(2000), "Account#2");
        assert_eq!(variable(3016), "Account.total");
        assert_eq!(variable(3000), "Account.class");
        assert_eq!(names.variable(10), None);
    }

    #[test]
    fn elements_of_arrays_have_indices() {
        let mut names = names("a 1 3 int[]\na 2 0 byte[]\n");
        names.object(1000, 1);
        names.object(2000, 2);
        assert_eq!(names.variable(1000 + 16 + 4 * 8).unwrap(), "int[]#1[4]");
        assert_eq!(names.variable(2000 + 16 + 5).unwrap(), "byte[]#1[5]");
    }

    #[test]
    fn each_finding_has_names_of_its_own() {
        let mut names = names(
            "c 1 0 Account\ni 1 4 balance\ng 1 0 total\nr 2 int[]\n\
            j 0 1000 1 3\nj 0 2000 1 0\nj 7 1000 2 1\nh 0 3 pool-1\nh 7 3 pool-2\n",
        );
        names.tell_of(0);
        assert_eq!(names.variable(1004).unwrap(), "Account#3.balance");
        assert_eq!(names.variable(2000).unwrap(), "Account.total");
        assert_eq!(names.thread_of_finding(3).as_deref(), Some("pool-1"));
        names.tell_of(7);
        assert_eq!(names.variable(1008).unwrap(), "int[]#1[1]");
        assert_eq!(names.variable(999), None);
        assert_eq!(names.thread_of_finding(3).as_deref(), Some("pool-2"));
    }

    #[test]
    fn sites_and_blocks_have_lines() {
        let mut names = names(
            "f com/acme/Bank.java\ns 1 42\nb 2 40 method com.acme.Bank.pay\ns 3 0\nnonsense\nb x y z\n",
        );
        assert_eq!(names.place(1).site, "com/acme/Bank.java:42");
        let block = names.block(2);
        assert_eq!((&*block.name, &*block.site), ("com.acme.Bank.pay", "com/acme/Bank.java:40"));
        assert_eq!(block.role, Role::UnlessEntry);
        assert_eq!(names.place(3).site, "com/acme/Bank.java:0");
        assert_eq!(names.place(9).site, "site 9");
    }
}
