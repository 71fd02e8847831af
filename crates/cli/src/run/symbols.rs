//! From addresses of a program to names: functions, source lines, global variables.
//!
//! The program's memory map says which file an address belongs to; DWARF and the symbol table of that file, or of its
//! separate debug file, say the rest. What is not known is `module+0x…`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use addr2line::Loader;
use memmap2::Mmap;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use super::calls::{Callees, Calls};
use super::jvm::{Names, Role};
use super::signature::{self, Given};
use super::silence::has_note;
use super::unhooked;

/// The environment variable with directories of debug information, with colons between, as debuggers know them.
const DEBUG_PATH: &str = "ATOMVET_DEBUG_PATH";

/// What numbers in the records of a program mean.
pub(crate) enum Meaning {
    /// Nothing was asked yet: the process, and a path beside its ring.
    Undecided(u32, PathBuf),
    /// Addresses of a native program.
    Native(Symbols),
    /// Numbers that a JVM's agent gave.
    Jvm(Box<Names>),
}

impl Meaning {
    /// Of a process with this ring.
    pub(crate) fn new(process: u32, ring: &Path) -> Meaning {
        Meaning::Undecided(process, ring.to_owned())
    }

    #[inline]
    fn decide(&mut self) {
        if let Meaning::Undecided(process, ring) = self {
            *self = Meaning::of(*process, ring);
        }
    }

    /// An agent has begun its file before it makes the first record.
    #[cold]
    fn of(process: u32, ring: &Path) -> Meaning {
        let names = ring.with_extension("names");
        if names.exists() {
            Meaning::Jvm(Box::new(Names::new(&names)))
        } else {
            Meaning::Native(Symbols::new(process, ring.with_extension("maps")))
        }
    }

    /// The names of a JVM's program, if it is one.
    #[inline]
    pub(crate) fn jvm(&mut self) -> Option<&mut Names> {
        self.decide();
        match self {
            Meaning::Jvm(names) => Some(names),
            _ => None,
        }
    }

    fn native(&mut self) -> Option<&mut Symbols> {
        self.decide();
        match self {
            Meaning::Native(symbols) => Some(symbols),
            _ => None,
        }
    }

    /// Where a record was made.
    pub(crate) fn place(&mut self, place: u64) -> Place {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.place(place),
            (_, Meaning::Native(symbols)) => symbols.place(place),
            _ => Place { site: String::new(), function: String::new() },
        }
    }

    /// The function that starts at an address, or the block of a number.
    pub(crate) fn function_at(&mut self, start: u64) -> Function {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.block(start),
            (_, Meaning::Native(symbols)) => symbols.function_at(start),
            _ => Function::default(),
        }
    }

    /// The function around a return address.
    pub(crate) fn function_around(&mut self, returns_to: u64) -> Function {
        self.native().map_or_else(Function::default, |symbols| symbols.function_around(returns_to))
    }

    /// Whether the code of a function names another; see [`Symbols::is_named_by`].
    pub(crate) fn is_named_by(&mut self, caller: u64, callee: u64) -> bool {
        self.native().is_none_or(|symbols| symbols.is_named_by(caller, callee))
    }

    /// Whether the function around an address could be a task, by what it is given.
    pub(crate) fn may_be_task(&mut self, address: u64) -> bool {
        self.native().is_some_and(|symbols| symbols.may_be_task(address))
    }

    /// Whether code of the user's is inlined in the function around an address.
    pub(crate) fn has_users_code(&mut self, address: u64) -> bool {
        self.native().is_some_and(|symbols| symbols.has_users_code(address))
    }

    /// Whether code of the user's is at a return address.
    pub(crate) fn is_users(&mut self, returns_to: u64) -> bool {
        self.native().is_some_and(|symbols| symbols.is_users(returns_to))
    }

    /// The variable or the object at an address.
    pub(crate) fn variable(&mut self, address: u64) -> Option<String> {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.variable(address),
            (_, Meaning::Native(symbols)) => symbols.variable(address),
            _ => None,
        }
    }

    /// From here on, addresses mean what the copy of the memory map with this number says.
    pub(crate) fn renewed(&mut self, copy: u64) {
        if let Some(symbols) = self.native() {
            symbols.read_copy(copy);
        }
    }

    /// No library is at these addresses any more.
    pub(crate) fn unloaded(&mut self, start: u64, end: u64) {
        if let Some(symbols) = self.native() {
            symbols.unmap(start, end);
        }
    }

    /// Why nothing could be recorded, if that is so.
    pub(crate) fn failure(&mut self) -> Option<String> {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.failure(),
            _ => None,
        }
    }

    /// What of the program ran and was not recorded, so that the verdict does not speak of it.
    pub(crate) fn unwatched(&mut self) -> Vec<String> {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.unwatched(),
            _ => Vec::new(),
        }
    }

    /// What of the program was not instrumented.
    pub(crate) fn not_instrumented(&mut self) -> Vec<String> {
        match (self.decide(), self) {
            (_, Meaning::Jvm(names)) => names.left_alone(),
            (_, Meaning::Native(symbols)) => symbols.not_instrumented(),
            _ => Vec::new(),
        }
    }
}

/// The files that a process has mapped, and what is known about them.
pub(crate) struct Symbols {
    process: u32,
    /// Where the process leaves copies of its memory map.
    copy: PathBuf,
    /// Mapped stretches, by their start.
    mapped: BTreeMap<u64, Mapped>,
    modules: Vec<Module>,
    /// Paths below this are shown without it.
    here: Option<PathBuf>,
    /// What functions call by name, by the modules and addresses that were asked for; nothing where that is not known.
    callees: FxHashMap<(usize, u64), Option<Callees>>,
    /// Whether functions of the system have code of the user's inlined, likewise.
    users_code: FxHashMap<(usize, u64), bool>,
}

#[derive(Clone)]
struct Mapped {
    end: u64,
    offset: u64,
    module: usize,
}

/// What becomes of stretches that were mapped before, where a memory map says something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stale {
    /// They are no longer.
    Replaced,
    /// They are what the records mean.
    Kept,
}

struct Module {
    path: PathBuf,
    /// It comes with the system.
    is_system: bool,
    /// Read when it is first needed: most libraries never are.
    contents: OnceCell<Contents>,
}

/// What a file says about itself. Of the system's files, little more than the first is ever asked for.
#[derive(Default)]
struct Contents {
    /// Stretches of the file and where the file wants them.
    segments: Vec<(u64, u64, u64)>,
    /// The file with the rest, which may be another.
    path: PathBuf,
    loader: OnceCell<Option<Loader>>,
    data: OnceCell<Data>,
    /// It calls the hooks. Not known of the system's.
    instrumented: bool,
}

/// The global variables of a file.
#[derive(Default)]
struct Data {
    file: Option<Mmap>,
    /// By their addresses, which are all different.
    variables: Vec<Variable>,
}

struct Variable {
    start: u64,
    size: u64,
    /// Where in the file its name is, which ends with a zero.
    name: usize,
}

/// A function; one of nobody's, of which nothing is known, if nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Function {
    /// Its name, without parameters.
    pub(crate) name: String,
    /// Where it begins, as `file:line` or `module+0x…`.
    pub(crate) site: String,
    /// Whose it is.
    pub(crate) owner: Owner,
    /// The file of the program or library that it is in; empty if that is not known.
    pub(crate) library: String,
    /// When a method of a JVM's is a block.
    pub(crate) role: Role,
}

/// Whose code a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Owner {
    /// The user's.
    User,
    /// The compiler's or the system's: headers, libraries, generated functions.
    #[default]
    System,
}

/// Where an access is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// As `file:line` or `module+0x…`.
    pub(crate) site: String,
    /// The innermost function, inlined or not; empty if it is not known.
    pub(crate) function: String,
}

impl Symbols {
    /// Of a process that leaves copies of its memory map at `copy`.
    pub(crate) fn new(process: u32, copy: PathBuf) -> Symbols {
        let here = std::env::current_dir().ok();
        let mut symbols = Symbols {
            process,
            copy,
            mapped: BTreeMap::new(),
            modules: Vec::new(),
            here,
            callees: FxHashMap::default(),
            users_code: FxHashMap::default(),
        };
        symbols.read_copy(0);
        symbols
    }

    /// Reads a copy of the memory map that the process has made when it loaded a library.
    fn read_copy(&mut self, number: u64) {
        let copy = match number {
            0 => self.copy.clone(),
            _ => self.copy.with_extension(format!("maps{number}")),
        };
        self.read(&copy, Stale::Replaced);
        if number > 0 {
            // It is not needed again, and a program may load libraries for ever. Should it stay, it goes with its directory.
            let _ = std::fs::remove_file(copy);
        }
    }

    /// Looks for what was mapped unnoticed, by libraries that call no hooks. The program is ahead of its records: what they know
    /// of may have made room for other libraries already.
    fn look_again(&mut self) {
        self.read(&PathBuf::from(format!("/proc/{}/maps", self.process)), Stale::Kept);
    }

    fn read(&mut self, map: &Path, stale: Stale) {
        // The process may have ended.
        let text = std::fs::read_to_string(map).unwrap_or_default();
        for line in text.lines() {
            self.add(line, stale);
        }
    }

    /// What was mapped between two addresses no longer is.
    fn unmap(&mut self, start: u64, end: u64) {
        while let Some(mapped) = self.overlapping(start, end) {
            self.mapped.remove(&mapped);
        }
    }

    /// The start of a mapped stretch that has addresses between two.
    fn overlapping(&self, start: u64, end: u64) -> Option<u64> {
        let (last, mapped) = self.mapped.range(..end).next_back()?;
        (mapped.end > start).then_some(*last)
    }

    /// One line of a memory map: `start-end rights offset device inode path`.
    fn add(&mut self, line: &str, stale: Stale) -> Option<()> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
        let at = line.find(" /")?;
        let path = Path::new(line[at + 1..].trim_end_matches(" (deleted)"));
        if path.starts_with("/dev") || path.extension().is_some_and(|e| e == "ring" || e == "live") {
            return None;
        }
        let module = match self.modules.iter().position(|module| module.path == path) {
            Some(module) => module,
            None => {
                let (is_system, contents) = (is_system(path), OnceCell::new());
                self.modules.push(Module { path: path.to_owned(), is_system, contents });
                self.modules.len() - 1
            }
        };
        match stale {
            Stale::Replaced => self.unmap(start, end),
            Stale::Kept if self.overlapping(start, end).is_some() => return None,
            Stale::Kept => {}
        }
        self.mapped.insert(start, Mapped { end, offset, module });
        Some(())
    }

    /// The file of an address, and where in it the file wants that address.
    fn locate(&mut self, address: u64) -> Option<(usize, u64)> {
        let found = |symbols: &Symbols| {
            let (start, mapped) = symbols.mapped.range(..=address).next_back()?;
            (address < mapped.end).then(|| (mapped.module, address - start + mapped.offset))
        };
        let (module, in_file) = found(self).or_else(|| {
            self.look_again();
            found(self)
        })?;
        Some((module, self.modules[module].virtual_address(in_file)))
    }

    /// Where a return address is: the call before it.
    pub(crate) fn place(&mut self, returns_to: u64) -> Place {
        let Some((module, address)) = self.locate(returns_to.wrapping_sub(1)) else {
            return Place { site: format!("?+{returns_to:#x}"), function: String::new() };
        };
        let module = &self.modules[module];
        let mut function = String::new();
        if let Some(loader) = module.loader()
            && let Ok(mut frames) = loader.find_frames(address)
        {
            // The innermost line of the user's own: a lock is taken where a guard is made, not in the library's header.
            let mut innermost = None;
            while let Ok(Some(frame)) = frames.next() {
                if let Some(name) = &frame.function
                    && let Ok(raw) = name.raw_name()
                    && function.is_empty()
                {
                    function = demangle(&raw);
                }
                if let Some(location) = frame.location
                    && let (Some(file), Some(line)) = (location.file, location.line)
                    && line > 0
                {
                    let site = format!("{}:{line}", self.shown(file));
                    if !is_system(Path::new(file)) && !file.ends_with("/atomvet.h") {
                        return Place { site, function };
                    }
                    innermost.get_or_insert(site);
                }
            }
            if let Some(site) = innermost {
                return Place { site, function };
            }
        }
        if function.is_empty()
            && let Some(name) = module.loader().and_then(|loader| loader.find_symbol(address))
        {
            function = demangle(name);
        }
        Place { site: module.offset(address), function }
    }

    /// Whether code of the user's is at a return address, perhaps inlined.
    pub(crate) fn is_users(&mut self, returns_to: u64) -> bool {
        let Some((module, address)) = self.locate(returns_to.wrapping_sub(1)) else { return false };
        let module = &self.modules[module];
        if module.is_system {
            return false;
        }
        let Some(loader) = module.loader() else { return false };
        let Ok(mut frames) = loader.find_frames(address) else { return false };
        while let Ok(Some(frame)) = frames.next() {
            if frame
                .location
                .and_then(|location| location.file)
                .is_some_and(|file| !is_system(Path::new(file)))
            {
                return true;
            }
        }
        false
    }

    /// Whether the code of the function around `caller` names the function around `callee`, itself or by way of the C++ library. True
    /// if that is not known.
    pub(crate) fn is_named_by(&mut self, caller: u64, callee: u64) -> bool {
        let (Some(caller), Some(callee)) = (self.locate(caller), self.locate(callee)) else { return true };
        let Symbols { modules, callees, .. } = self;
        let callees = callees.entry(caller).or_insert_with(|| {
            let module = &modules[caller.0];
            Calls::read(&module.path, &module.contents().path)?.callees(caller.1)
        });
        let Some(callees) = callees else { return true };
        if caller.0 == callee.0 {
            return callees.has_own(callee.1);
        }
        let name = modules[callee.0].loader().and_then(|loader| loader.find_symbol(callee.1));
        name.is_none_or(|name| callees.has(name))
    }

    /// Whether the function around an address could be a task, by what it is given: nothing, or a pointer to something of no
    /// type. What is called with more than that was written for its caller. False if that is not known.
    pub(crate) fn may_be_task(&mut self, address: u64) -> bool {
        let Some((module, address)) = self.locate(address) else { return false };
        let contents = self.modules[module].contents();
        let Some(symbol) = contents.loader().and_then(|loader| loader.find_symbol_info(address)) else {
            return false;
        };
        match signature::given(&contents.path, symbol.address()) {
            Some(Given::NothingTyped) => true,
            // A closure; other member functions are operations on their object.
            Some(Given::OnlyItsObject) => demangle(symbol.name()).contains("operator()"),
            Some(Given::More) | None => false,
        }
    }

    /// Whether code of the user's is inlined in the function around an address.
    pub(crate) fn has_users_code(&mut self, address: u64) -> bool {
        let Some(place) = self.locate(address) else { return false };
        let Symbols { modules, users_code, .. } = self;
        *users_code.entry(place).or_insert_with(|| {
            let module = &modules[place.0];
            let function = Calls::read(&module.path, &module.contents().path).and_then(|calls| {
                calls.around(place.1).map(|function| function.start..function.start + function.size)
            });
            let lines = function
                .zip(module.loader())
                .and_then(|(function, loader)| loader.find_location_range(function.start, function.end).ok());
            let is_users = |file: &str| !is_system(Path::new(file));
            lines.is_some_and(|mut lines| lines.any(|(_, _, location)| location.file.is_some_and(is_users)))
        })
    }

    /// The function that starts at an address.
    pub(crate) fn function_at(&mut self, start: u64) -> Function {
        self.function(start)
    }

    /// The function around a return address.
    pub(crate) fn function_around(&mut self, returns_to: u64) -> Function {
        self.function(returns_to.wrapping_sub(1))
    }

    fn function(&mut self, address: u64) -> Function {
        let Some((module, address)) = self.locate(address) else {
            let name = format!("?+{address:#x}");
            return Function { site: name.clone(), name, owner: Owner::User, ..Function::default() };
        };
        let module = &self.modules[module];
        let mut name = None;
        let mut site = None;
        let mut file_name = None;
        if let Some(loader) = module.loader()
            && let Ok(mut frames) = loader.find_frames(address)
        {
            // The outermost: the function itself, not what is inlined at its start.
            while let Ok(Some(frame)) = frames.next() {
                name = frame.function.and_then(|name| Some(demangle(&name.raw_name().ok()?)));
                if let Some(location) = frame.location
                    && let (Some(file), Some(line)) = (location.file, location.line)
                {
                    file_name = Some(file.to_owned());
                    site = (line > 0).then(|| format!("{}:{line}", self.shown(file)));
                }
            }
        }
        let symbol = module.loader().and_then(|loader| loader.find_symbol(address)).map(demangle);
        name = match (name, symbol) {
            // Of functions in unnamed namespaces, only the symbol has the whole name.
            (Some(name), Some(symbol)) if symbol.strip_suffix(&name).is_some_and(|s| s.ends_with("::")) => {
                Some(symbol)
            }
            (name, symbol) => name.or(symbol),
        };
        let owner = match (&file_name, &name) {
            (_, Some(name)) if is_generated(name) => Owner::System,
            (Some(file), _) if is_system(Path::new(file)) => Owner::System,
            (None, _) if is_system(&module.path) => Owner::System,
            (None, Some(name)) if name.starts_with("std::") || name.starts_with("__gnu_cxx::") => {
                Owner::System
            }
            _ => Owner::User,
        };
        let offset = module.offset(address);
        let site = site.unwrap_or_else(|| offset.clone());
        let library = module.path.to_string_lossy().into_owned();
        Function { name: name.unwrap_or(offset), site, owner, library, ..Function::default() }
    }

    /// The global variable at an address, with what is added to its start.
    pub(crate) fn variable(&mut self, address: u64) -> Option<String> {
        let (module, address) = self.locate_known(address)?;
        let data = self.modules[module].contents().data();
        let after = data.variables.partition_point(|variable| variable.start <= address);
        let variable = data.variables.get(after.checked_sub(1)?)?;
        match address - variable.start {
            0 => Some(data.name(variable)),
            offset if offset < variable.size => Some(format!("{}+{offset}", data.name(variable))),
            _ => None,
        }
    }

    /// As [`Symbols::locate`], for addresses most of which belong to no file at all.
    fn locate_known(&self, address: u64) -> Option<(usize, u64)> {
        // Variables without initial values stand behind what is mapped of their file, in memory of no name.
        let (start, mapped) = self.mapped.range(..=address).next_back()?;
        let behind = if self.modules[mapped.module].is_system { 1 << 20 } else { 1 << 30 };
        (address < mapped.end + behind).then(|| {
            let in_file = address - start + mapped.offset;
            (mapped.module, self.modules[mapped.module].virtual_address(in_file))
        })
    }

    /// Files with code that the program has loaded but that call no hooks, without the system's.
    pub(crate) fn not_instrumented(&self) -> Vec<String> {
        let of_user = self
            .modules
            .iter()
            .filter(|m| !is_system(&m.path) && !m.contents().instrumented && m.loader().is_some());
        let names = of_user.filter_map(|m| Some(m.path.file_name()?.to_string_lossy().into_owned()));
        let partly = self.modules.iter().filter(|m| !is_system(&m.path) && m.contents().instrumented);
        let sources = partly.flat_map(|module| self.sources_without_hooks(module));
        names.chain(sources).collect()
    }

    /// The source files in a module with hooks that have none.
    fn sources_without_hooks(&self, module: &Module) -> Vec<String> {
        unhooked::sources(&module.path, &module.contents().path).iter().map(|file| self.shown(file)).collect()
    }

    /// A path as people want to read it.
    fn shown(&self, file: &str) -> String {
        let path = Path::new(file);
        let short = self.here.as_ref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
        // Compilers write `./` wherever a path was given so. (What `..` means depends on links: it stays.)
        let short: PathBuf = short.components().filter(|part| *part != Component::CurDir).collect();
        short.to_string_lossy().into_owned()
    }
}

impl Module {
    fn contents(&self) -> &Contents {
        self.contents.get_or_init(|| Contents::read(&self.path))
    }

    fn loader(&self) -> Option<&Loader> {
        self.contents().loader()
    }

    fn virtual_address(&self, in_file: u64) -> u64 {
        let segments = &self.contents().segments;
        let after = segments.partition_point(|(offset, ..)| *offset <= in_file);
        // The segment that holds it; offsets of neighbours may overlap by the rest of a page.
        let segment = segments[..after].iter().rev().find(|(offset, size, _)| in_file - offset < *size);
        match segment.or_else(|| segments[..after].last()) {
            Some((offset, _, address)) => in_file - offset + address,
            None => in_file,
        }
    }

    fn offset(&self, address: u64) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}+{address:#x}")
    }
}

impl Contents {
    fn read(path: &Path) -> Contents {
        let mut contents = Contents { path: path.to_owned(), ..Contents::default() };
        let Some(bytes) = map(path) else { return contents };
        let Ok(file) = object::File::parse(&*bytes) else { return contents };
        contents.segments = (file.segments())
            .map(|segment| {
                let (offset, size) = segment.file_range();
                (offset, size.max(segment.size()), segment.address())
            })
            .collect();
        contents.segments.sort_unstable();
        // Nobody asks for lines of the system's, and to read all that is known about libc takes longer than many programs.
        if is_system(path) {
            return contents;
        }
        let is_hook = |symbol: &object::Symbol<'_, '_>| {
            let name = symbol.name().unwrap_or_default();
            unhooked::is_hook(name)
        };
        contents.instrumented =
            has_note(&file) || file.dynamic_symbols().chain(file.symbols()).any(|s| is_hook(&s));
        contents.path = debug_file(path, &file).unwrap_or(contents.path);
        // All is read at once: a library may be gone when more of it is asked for.
        contents.loader();
        contents.data();
        contents
    }

    fn loader(&self) -> Option<&Loader> {
        self.loader.get_or_init(|| Loader::new(&self.path).ok()).as_ref()
    }

    fn data(&self) -> &Data {
        self.data.get_or_init(|| Data::read(&self.path))
    }
}

impl Data {
    fn read(path: &Path) -> Data {
        let Some(bytes) = map(path) else { return Data::default() };
        let Ok(file) = object::File::parse(&*bytes) else { return Data::default() };
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let variables = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.address() != 0)
            .filter_map(|symbol| {
                // Names are parts of the file.
                let name = (symbol.name().ok()?.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
                Some(Variable { start: symbol.address(), size: symbol.size(), name })
            });
        let mut variables: Vec<Variable> = variables.collect();
        let data = Data { file: Some(bytes), variables: Vec::new() };
        variables.sort_unstable_by(|a, b| {
            let by_place = (a.start, a.size).cmp(&(b.start, b.size));
            // Few have several names.
            by_place.then_with(|| data.name(a).cmp(&data.name(b)))
        });
        variables.dedup_by_key(|variable| variable.start);
        Data { variables, ..data }
    }

    fn name(&self, variable: &Variable) -> String {
        let file = self.file.as_deref().unwrap_or_default();
        let rest = file.get(variable.name..).unwrap_or_default();
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        demangle(&String::from_utf8_lossy(name))
    }
}

/// A file in memory.
pub(crate) fn map(path: &Path) -> Option<Mmap> {
    let file = std::fs::File::open(path).ok()?;
    // SAFETY: should somebody change the file meanwhile, its names are wrong. (It is mapped by the program itself.)
    unsafe { Mmap::map(&file) }.ok()
}

/// Where the debug information of a file is, if it is in a file of its own.
fn debug_file(path: &Path, file: &object::File<'_>) -> Option<PathBuf> {
    let mut places = Vec::new();
    if let Ok(Some(id)) = file.build_id()
        && let Some((first, rest)) = id.split_first()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let below = format!(".build-id/{first:02x}/{rest}.debug");
        places.extend(debug_roots().map(|root| root.join(&below)));
    }
    if let Ok(Some((name, _))) = file.gnu_debuglink()
        && let Ok(name) = std::str::from_utf8(name)
        && let Some(beside) = path.parent()
    {
        places.extend([beside.join(name), beside.join(".debug").join(name)]);
        let below = beside.strip_prefix("/").unwrap_or(beside).join(name);
        places.extend(debug_roots().map(|root| root.join(&below)));
    }
    places.into_iter().find(|debug| debug.is_file() && debug != path)
}

/// Where debug information is collected: where the user says, and where distributions put it.
fn debug_roots() -> impl Iterator<Item = PathBuf> {
    let named = std::env::var_os(DEBUG_PATH).unwrap_or_default();
    let named: Vec<PathBuf> = std::env::split_paths(&named).filter(|root| root.is_absolute()).collect();
    named.into_iter().chain([PathBuf::from("/usr/lib/debug")])
}

/// A name as in the source.
pub(crate) fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if is_outlined(name) {
        return name.to_owned();
    }
    if !name.starts_with("_Z") {
        // What the compiler made of a function, by cloning or splitting it, is still that function.
        return name.split('.').next().filter(|start| !start.is_empty()).unwrap_or(name).to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    cpp_demangle::Symbol::new(name)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .map_or_else(|| name.to_owned(), without_tags)
}

/// Without the marks of versions of the ABI, `name[abi:cxx11]`, which no source has and not all compilers write.
fn without_tags(mut name: String) -> String {
    while let Some(start) = name.find("[abi:")
        && let Some(length) = name[start..].find(']')
    {
        name.replace_range(start..=start + length, "");
    }
    name
}

/// Functions that nobody wrote.
fn is_generated(name: &str) -> bool {
    name.starts_with("_GLOBAL__") || name.starts_with("__static_initialization") || is_outlined(name)
}

/// What gcc makes of the body of a parallel region: `main._omp_fn.0`.
pub(crate) fn is_outlined(name: &str) -> bool {
    name.contains("_omp_fn")
}

/// Code that comes with the system.
pub(crate) fn is_system(path: &Path) -> bool {
    let below = ["/usr/include", "/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/share"];
    let is_runtime = path.file_name().is_some_and(|name| name == "libtsan.so.2");
    is_runtime
        || below.iter().any(|directory| path.starts_with(directory))
        || path.components().any(|c| c.as_os_str() == "c++")
            && path.components().any(|c| c.as_os_str() == "include")
}
