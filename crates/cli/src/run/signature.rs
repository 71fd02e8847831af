//! What a function is given when it is called, from its debug information: whether it could be a task, which is started by code that
//! knows nothing about it.

use std::path::Path;

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, Unit, UnitOffset};

use super::dwarf::{self, Bytes};

type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// What a function is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// Nothing, or one pointer to something of no type.
    NothingTyped,
    /// The same, but for the object whose member it is.
    OnlyItsObject,
    /// Something else.
    More,
}

/// What the function that starts at an address is given, if the debug information in `file` says it.
pub(crate) fn given(file: &Path, start: u64) -> Option<Given> {
    dwarf::ask(file, |dwarf| {
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            if let Some(function) = function_at(dwarf, &unit, start) {
                return parameters(&unit, function);
            }
        }
        None
    })
}

/// The entry of the function that starts at an address.
fn function_at(dwarf: &gimli::Dwarf<Bytes<'_>>, unit: &Unit<Bytes<'_>>, start: u64) -> Option<UnitOffset> {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let Some(low) = entry.attr_value(gimli::DW_AT_low_pc) else { continue };
        if dwarf.attr_address(unit, low).ok().flatten() == Some(start) {
            return Some(entry.offset());
        }
    }
    None
}

fn parameters(unit: &Unit<Bytes<'_>>, function: UnitOffset) -> Option<Given> {
    // If it is inlined elsewhere, what it is stands where it is described for all places.
    let function = origin(unit, function);
    let mut tree = unit.entries_tree(Some(function)).ok()?;
    let mut children = tree.root().ok()?.children();
    let (mut has_object, mut untyped, mut others) = (false, 0, 0);
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        match entry.tag() {
            gimli::DW_TAG_formal_parameter if entry.attr_value(gimli::DW_AT_artificial).is_some() => {
                has_object = true
            }
            gimli::DW_TAG_formal_parameter if is_untyped_pointer(unit, entry) => untyped += 1,
            gimli::DW_TAG_formal_parameter | gimli::DW_TAG_unspecified_parameters => others += 1,
            _ => {}
        }
    }
    Some(match (has_object, untyped, others) {
        (false, 0 | 1, 0) => Given::NothingTyped,
        (true, 0, 0) => Given::OnlyItsObject,
        _ => Given::More,
    })
}

/// What an entry refers to as its description.
fn origin(unit: &Unit<Bytes<'_>>, entry: UnitOffset) -> UnitOffset {
    let described = unit.entry(entry).ok().and_then(|entry| reference(&entry, gimli::DW_AT_abstract_origin));
    described.unwrap_or(entry)
}

fn reference(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(attribute)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// Whether something is of the type `void *`, or `const void *`.
fn is_untyped_pointer(unit: &Unit<Bytes<'_>>, entry: &Entry<'_>) -> bool {
    let unqualified = |mut at: Option<UnitOffset>| {
        while let Some(entry) = at.and_then(|offset| unit.entry(offset).ok()) {
            match entry.tag() {
                gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_restrict_type => {
                    at = reference(&entry, gimli::DW_AT_type);
                }
                _ => return Some(entry),
            }
        }
        None
    };
    let Some(pointer) = unqualified(reference(entry, gimli::DW_AT_type)) else { return false };
    pointer.tag() == gimli::DW_TAG_pointer_type
        && unqualified(reference(&pointer, gimli::DW_AT_type)).is_none()
}
