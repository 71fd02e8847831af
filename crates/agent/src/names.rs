//! What numbers in the records mean: a file beside the ring, lines that are only ever appended, each before the
//! first record that needs it.
//!
//! | line | meaning |
//! |---|---|
//! | `f FILE` | the source file of the lines that follow |
//! | `s SITE LINE` | a place in it |
//! | `b SITE LINE ROLE NAME` | a method, or a synchronized statement, and when it is a block: see `roles.rs` |
//! | `o NAME` | a method that is atomic by itself, since it makes one access at most, and is never announced |
//! | `c CLASS PARENT NAME` | a class; parent 0 is none |
//! | `a CLASS SHIFT NAME` | a class of arrays, whose elements are 1 << SHIFT bytes apart |
//! | `i CLASS DISPLACEMENT NAME` | a field of its objects |
//! | `g CLASS DISPLACEMENT NAME` | a static field |
//! | `t SERIAL NAME` | a thread |
//! | `x WHAT` | something that could not be instrumented, and why |
//! | `u WHAT` | something that runs and is not recorded, so that the verdict does not speak of it |
//! | `e WHY` | nothing can be: the agent could not begin |
//!
//! Whoever writes, writes whole lines at once, beginning with an `f` where one is needed.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::process;

static FILE: Mutex<Option<File>> = Mutex::new(None);

/// Makes the file; called before the first record.
pub(crate) fn open() {
    let path = process::file_beside(b".names");
    let Ok(path) = core::ffi::CStr::from_bytes_until_nul(&path) else { return };
    let path = std::ffi::OsStr::new(std::str::from_utf8(path.to_bytes()).unwrap_or_default());
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = File::create(path).ok();
}

/// Appends lines.
pub(crate) fn write(lines: &str) {
    if let Some(file) = &mut *FILE.lock().unwrap_or_else(PoisonError::into_inner) {
        // If there is no more room, numbers stay numbers.
        let _ = file.write_all(lines.as_bytes());
    }
}

/// Text of a class file in one line.
pub(crate) fn text(modified_utf8: &[u8]) -> String {
    String::from_utf8_lossy(modified_utf8).replace(['\n', '\r'], "?")
}

/// The name of a class as in the source, from `com/acme/Bank`.
pub(crate) fn class_name(internal: &[u8]) -> String {
    text(internal).replace('/', ".")
}

/// The name of a type, from `[Lcom/acme/Bank;`, and how far apart the elements are, if it is an array.
pub(crate) fn type_name(signature: &[u8]) -> (String, Option<u32>) {
    let dimensions = signature.iter().take_while(|&&byte| byte == b'[').count();
    let element = &signature[dimensions..];
    let name = match element {
        b"Z" => "boolean".to_owned(),
        b"B" => "byte".to_owned(),
        b"C" => "char".to_owned(),
        b"S" => "short".to_owned(),
        b"I" => "int".to_owned(),
        b"J" => "long".to_owned(),
        b"F" => "float".to_owned(),
        b"D" => "double".to_owned(),
        _ => {
            let name = element.strip_prefix(b"L").unwrap_or(element);
            class_name(name.strip_suffix(b";").unwrap_or(name))
        }
    };
    let shift = match (dimensions, element) {
        (0, _) => None,
        (1, b"Z" | b"B") => Some(0),
        (1, b"C" | b"S") => Some(1),
        _ => Some(3),
    };
    (name + &"[]".repeat(dimensions), shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_the_source() {
        assert_eq!(type_name(b"Lcom/acme/Bank$Account;"), ("com.acme.Bank$Account".to_owned(), None));
        assert_eq!(type_name(b"[I"), ("int[]".to_owned(), Some(3)));
        assert_eq!(type_name(b"[[B"), ("byte[][]".to_owned(), Some(3)));
        assert_eq!(type_name(b"[C"), ("char[]".to_owned(), Some(1)));
    }
}
