//! What the code of a program or library refers to, function by function: the functions that it calls by name, or whose
//! addresses it takes. Calls through pointers name nobody.
//!
//! Nothing is disassembled. Code on x86-64 refers to a function by how far it is away, in four bytes. So every four bytes behind an
//! opcode that may have such a distance are tried, and those that hit the start of a function, an entry of the procedure
//! linkage table or a slot of the global offset table count. That something else looks like this is as unlikely as a
//! random number of 32 bits.

use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind, SymbolKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::unhooked::is_of_cpp_library;

/// The functions of a file, and what their code refers to.
pub(crate) struct Calls {
    /// The file with the code.
    code: Mmap,
    /// Its executable sections.
    sections: Vec<Section>,
    /// By where they start.
    functions: Vec<Function>,
    /// The source files that the symbol table names.
    sources: Vec<Box<str>>,
    /// What is referred to at an address: the names of functions, defined and imported.
    targets: FxHashMap<u64, Box<str>>,
}

/// A function, at addresses as the file has them.
pub(crate) struct Function {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// Its name as the linker knows it.
    pub(crate) name: Box<str>,
    /// The source file, if the function is local to its object.
    pub(crate) source: Option<Box<str>>,
}

/// What a function may call by name.
pub(crate) struct Callees {
    /// Functions of the same file, by their addresses.
    own: Vec<Range<u64>>,
    /// All of them, as the linker knows them.
    names: FxHashSet<Box<str>>,
}

impl Callees {
    /// Whether the function around an address of the same file is one of them.
    pub(crate) fn has_own(&self, address: u64) -> bool {
        self.own.iter().any(|function| function.contains(&address))
    }

    /// Whether a function of this name is one of them.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(source_name(name))
    }
}

/// The name without what compilers append to the names of clones and parts.
fn source_name(name: &str) -> &str {
    name.split('.').next().filter(|start| !start.is_empty()).unwrap_or(name)
}

struct Section {
    address: u64,
    offset: u64,
    size: u64,
}

impl Calls {
    /// Reads the code of `path`, and its symbols from `symbols`, which is the same file or its debug file.
    pub(crate) fn read(path: &Path, symbols: &Path) -> Option<Calls> {
        let (code, named) = (super::symbols::map(path)?, super::symbols::map(symbols)?);
        let file = object::File::parse(&*code).ok()?;
        let named = object::File::parse(&*named).ok()?;
        let is_code = |section: &object::Section<'_, '_>| section.kind() == SectionKind::Text;
        let sections = file.sections().filter(is_code).filter_map(|section| {
            let (offset, size) = section.file_range()?;
            Some(Section { address: section.address(), offset, size })
        });
        let mut calls = Calls {
            sections: sections.collect(),
            functions: functions(&named),
            sources: sources(&named),
            targets: imports(&file),
            code: super::symbols::map(path)?,
        };
        calls.link_stubs(&file);
        for function in &calls.functions {
            calls.targets.insert(function.start, function.name.clone());
        }
        Some(calls)
    }

    /// All functions, by where they start.
    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The source files that the symbol table names, whether functions of theirs are known or not.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| &**source)
    }

    /// The function around an address.
    pub(crate) fn around(&self, address: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address - function.start < function.size).then_some(function)
    }

    /// What the function around an address may call by name: what its code refers to, itself or by way of functions of the C++
    /// library. Nothing if no function is known there.
    pub(crate) fn callees(&self, address: u64) -> Option<Callees> {
        let caller = self.around(address)?;
        let mut names: FxHashSet<&str> = FxHashSet::default();
        let mut unread = vec![source_name(&caller.name)];
        while let Some(name) = unread.pop() {
            for part in self.functions.iter().filter(|part| source_name(&part.name) == name) {
                for name in self.named_by(part).into_iter().map(source_name) {
                    if names.insert(name) && is_of_cpp_library(name) {
                        unread.push(name);
                    }
                }
            }
        }
        let own = self.functions.iter().filter(|function| names.contains(source_name(&function.name)));
        let own = own.map(|function| function.start..function.start + function.size).collect();
        Some(Callees { own, names: names.into_iter().map(Box::from).collect() })
    }

    /// The names that a function's code refers to.
    pub(crate) fn named_by(&self, function: &Function) -> FxHashSet<&str> {
        let code = self.bytes(function.start, function.size);
        let references = (1..code.len().saturating_sub(3)).filter(|&at| may_refer(&code[..at]));
        let target = |at: usize| {
            let distance = i32::from_le_bytes(code[at..at + 4].try_into().ok()?);
            let behind = function.start + at as u64 + 4;
            let name = self.targets.get(&behind.wrapping_add_signed(i64::from(distance)))?;
            Some(&**name)
        };
        references.filter_map(target).collect()
    }

    fn bytes(&self, start: u64, size: u64) -> &[u8] {
        let holds =
            |section: &&Section| start >= section.address && start + size <= section.address + section.size;
        let Some(section) = self.sections.iter().find(holds) else { return &[] };
        let from = (start - section.address + section.offset) as usize;
        self.code.get(from..from + size as usize).unwrap_or_default()
    }

    /// Adds the entries of the procedure linkage table: each jumps through the slot of an import.
    fn link_stubs(&mut self, file: &object::File<'_>) {
        const JUMP_THROUGH: [u8; 2] = [0xff, 0x25];
        const ENTRY: u64 = 8;
        let mut stubs = Vec::new();
        for section in file.sections() {
            let Ok(name) = section.name() else { continue };
            let (start, size) = (section.address(), section.size());
            if !name.starts_with(".plt") {
                continue;
            }
            for entry in (start..start + size).step_by(ENTRY as usize) {
                let code = self.bytes(entry, (2 * ENTRY).min(start + size - entry));
                let Some(at) = code.windows(2).position(|bytes| bytes == JUMP_THROUGH) else { continue };
                let Some(distance) = code.get(at + 2..at + 6).and_then(|bytes| bytes.try_into().ok()) else {
                    continue;
                };
                let behind = entry + at as u64 + 6;
                let slot = behind.wrapping_add_signed(i64::from(i32::from_le_bytes(distance)));
                if let Some(name) = self.targets.get(&slot) {
                    stubs.push((entry, name.clone()));
                }
            }
        }
        self.targets.extend(stubs);
    }
}

/// Whether the four bytes behind these may say how far away something is: of a call, a jump, or an operand.
fn may_refer(before: &[u8]) -> bool {
    const CALL: u8 = 0xe8;
    const JUMP: u8 = 0xe9;
    /// The byte that says what operands are, where one of them is relative to the next instruction.
    const RELATIVE: [u8; 2] = [0xc7, 0x05];
    match before {
        [.., 0x0f, conditional] if conditional & 0xf0 == 0x80 => true,
        [.., last] => matches!(*last, CALL | JUMP) || last & RELATIVE[0] == RELATIVE[1],
        [] => false,
    }
}

fn sources(file: &object::File<'_>) -> Vec<Box<str>> {
    let files = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::File);
    files.filter_map(|symbol| symbol.name().ok()).filter(|name| !name.is_empty()).map(Box::from).collect()
}

fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut source: Option<Box<str>> = None;
    let mut functions = Vec::new();
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() == SymbolKind::File {
            source = (!name.is_empty()).then(|| name.into());
        } else if symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0 {
            let source = source.clone().filter(|_| symbol.is_local());
            functions.push(Function {
                start: symbol.address(),
                size: symbol.size(),
                name: name.into(),
                source,
            });
        }
    }
    functions.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
    functions.dedup_by_key(|function| function.start);
    functions
}

/// The slots that the loader fills with addresses of functions of other libraries.
fn imports(file: &object::File<'_>) -> FxHashMap<u64, Box<str>> {
    let relocations = file.dynamic_relocations().into_iter().flatten();
    let names = relocations.filter_map(|(slot, relocation)| {
        let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
        let symbol = file.dynamic_symbol_table()?.symbol_by_index(symbol).ok()?;
        let name = symbol.name().ok()?;
        (!name.is_empty()).then(|| (slot, name.into()))
    });
    names.collect()
}
