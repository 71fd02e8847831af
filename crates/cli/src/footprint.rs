//! Gives memory back that was needed to get here and is not needed to go on.
//!
//! While a program is watched, two processes have to fit where one would. To understand a command line and to write a report take
//! much more code than to judge a program, about 3 MiB of it, which would stay resident all the time.

/// Gives back what can be given back. Between two stages of the work.
pub(crate) fn shrink() {
    let_go_of_code();
    let_go_of_free_memory();
}

/// The allocator keeps what was freed, in several places. For a stage that needs less, that would be too much.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn let_go_of_free_memory() {
    // SAFETY: it concerns nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators are not asked.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn let_go_of_free_memory() {}

/// Lets go of the code and the constants of this process. What is needed of them comes back from their files, a few pages
/// at a time; all of it takes less than a millisecond.
#[cfg(target_os = "linux")]
fn let_go_of_code() {
    // SAFETY: the callback keeps to what it is given, and no object is loaded or unloaded by it.
    unsafe { libc::dl_iterate_phdr(Some(let_go_of_object), std::ptr::null_mut()) };
}

/// Elsewhere no programs are run.
#[cfg(not(target_os = "linux"))]
fn let_go_of_code() {}

#[cfg(target_os = "linux")]
unsafe extern "C" fn let_go_of_object(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut std::ffi::c_void,
) -> libc::c_int {
    // SAFETY: the loader hands out objects that are loaded, with as many headers as it says.
    let (object, segments) = unsafe {
        let object = &*object;
        (object, std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)))
    };
    // SAFETY: it is a name, or nothing.
    let name = unsafe { object.dlpi_name.as_ref().map(|name| std::ffi::CStr::from_ptr(name)) };
    // The kernel's own object has no file.
    if name.is_some_and(|name| name.to_bytes().starts_with(b"linux-")) {
        return 0;
    }
    for segment in segments.iter().filter(|s| s.p_type == libc::PT_LOAD && s.p_flags & libc::PF_W == 0) {
        // A segment begins somewhere in a page; no other begins in the same one.
        let start = (object.dlpi_addr + segment.p_vaddr) & !0xfff;
        let length = object.dlpi_addr + segment.p_vaddr + segment.p_memsz - start;
        // SAFETY: nobody can have written to it, so what is in the file is what was there. Should it fail, all stays as it is.
        unsafe { libc::madvise(start as *mut std::ffi::c_void, length as usize, libc::MADV_DONTNEED) };
    }
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn code_comes_back() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
            let line = status.lines().find(|line| line.starts_with("RssFile:")).expect("it is told");
            line.split_ascii_whitespace()
                .nth(1)
                .and_then(|number| number.parse::<u64>().ok())
                .expect("a number")
        };
        let before = resident();
        super::let_go_of_code();
        assert!(resident() < before);
    }
}
