//! The debug information of a file, where more is asked than the function and line of an address: which source file was compiled
//! into which code.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use addr2line::gimli::{self, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

use super::symbols::map;

/// How sections are read.
pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Asks the debug information of a file something.
pub(crate) fn ask<T>(file: &Path, question: impl FnOnce(&gimli::Dwarf<Bytes<'_>>) -> Option<T>) -> Option<T> {
    let bytes = map(file)?;
    let file = object::File::parse(&*bytes).ok()?;
    let section = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(section).ok()?;
    question(&sections.borrow(|section| EndianSlice::new(section, LittleEndian)))
}

/// The source files that were compiled, by the code that became of each.
#[derive(Default)]
pub(crate) struct CompilationUnits(Vec<(Range<u64>, Box<str>)>);

impl CompilationUnits {
    /// Those of a file; none if it has no debug information.
    pub(crate) fn read(file: &Path) -> CompilationUnits {
        ask(file, |dwarf| {
            let mut found = Vec::new();
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                let Ok(unit) = dwarf.unit(header) else { continue };
                let Some(name) = unit.name.map(|name| name.to_string_lossy()) else { continue };
                let directory =
                    unit.comp_dir.map(|directory| directory.to_string_lossy()).unwrap_or_default();
                let name: Box<str> = Path::new(&*directory).join(&*name).to_string_lossy().into();
                let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
                while let Ok(Some(range)) = ranges.next() {
                    found.push((range.begin..range.end, name.clone()));
                }
            }
            found.sort_by_key(|(range, _)| range.start);
            Some(CompilationUnits(found))
        })
        .unwrap_or_default()
    }

    /// The source file of the code at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(range, _)| range.start <= address);
        let (range, name) = self.0.get(after.checked_sub(1)?)?;
        range.contains(&address).then_some(&**name)
    }
}
