//! Every program into which this library is loaded says so when it starts, whether it has hooks or not: the command names those of
//! which nothing else is heard. One line per program, `PROCESS FILE`, in a file beside the rings.

use core::ffi::c_int;

use atomvet_recorder::process::{Path, append, decimal, find_variable, text_length};
use atomvet_recorder::ring::{DIRECTORY, PROGRAMS};
use atomvet_recorder::sys;

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, usize, usize) = announce;

extern "C" fn announce(_count: c_int, _arguments: usize, _environment: usize) {
    const APPEND_CREATE_CLOEXEC: usize = 0o1 | 0o100 | 0o2_000 | 0o2_000_000;
    const NO_LINKS: usize = 0o400_000;
    let mut name: Path = [0; 1024];
    if !find_variable(DIRECTORY, &mut name) {
        return;
    }
    let mut end = text_length(&name);
    for part in [b"/" as &[u8], PROGRAMS.as_bytes()] {
        append(&mut name, &mut end, part);
    }
    // The number, a space, the path and the end of the line, in one piece.
    let mut line = [0; 4096];
    let mut length = 0;
    for &digit in decimal(sys::process()).iter().filter(|&&digit| digit != 0) {
        line[length] = digit;
        length += 1;
    }
    line[length] = b' ';
    length += 1;
    let room = &mut line[length..4095];
    let path = sys::call(
        sys::READLINK,
        [c"/proc/self/exe".as_ptr() as usize, room.as_mut_ptr() as usize, room.len(), 0, 0, 0],
    );
    let Ok(path) = usize::try_from(path) else { return };
    length += path;
    line[length] = b'\n';
    let flags = APPEND_CREATE_CLOEXEC | NO_LINKS;
    let file = sys::call(sys::OPEN, [name.as_ptr() as usize, flags, 0o600, 0, 0, 0]);
    let Ok(file) = usize::try_from(file) else { return };
    sys::call(sys::WRITE, [file, line.as_ptr() as usize, length + 1, 0, 0, 0]);
    sys::call(sys::CLOSE, [file, 0, 0, 0, 0, 0]);
}
