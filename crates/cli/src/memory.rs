//! The memory ceiling: `--memory`, by default half of what the machine has available.
//!
//! The allocator (`meter.rs`) counts every byte that is in use.
//!
//! | in use | what happens |
//! |---|---|
//! | above the limit | [`is_exceeded`]: the work at hand stops soon, and what was found is reported, with status 2 |
//! | above twice the limit | the process ends at once with one line and status 2: a single step asked for too much |
//!
//! A table that grows asks for twice its size and fills it later. So the resident memory stays near the limit even
//! where the count goes above it, and by default the machine has room for twice the limit.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::grid;
use crate::status::Status;

/// Bytes in use in the whole process.
static IN_USE: AtomicI64 = AtomicI64::new(0);

/// Bytes that may be in use.
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);

/// The process is about to end for lack of memory.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The default is never less.
const LEAST_DEFAULT: i64 = 256 << 20;

/// A number of bytes, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size(i64);

impl Size {
    /// How many bytes.
    pub(crate) fn bytes(self) -> i64 {
        self.0
    }
}

/// Sets the limit: as given, or a share of what is available.
pub(crate) fn limit(given: Option<Size>) {
    let limit = given
        .map_or_else(|| available().map(|available| (available / 2).max(LEAST_DEFAULT)), |size| Some(size.0));
    LIMIT.store(limit.unwrap_or(i64::MAX), Ordering::Relaxed);
}

/// Whether more memory is in use than there may be.
#[inline]
pub(crate) fn is_exceeded() -> bool {
    IN_USE.load(Ordering::Relaxed) > LIMIT.load(Ordering::Relaxed)
}

/// The limit in words.
pub(crate) fn limit_text() -> String {
    grid::bytes(u64::try_from(LIMIT.load(Ordering::Relaxed)).unwrap_or(0))
}

/// Counts bytes that are taken, or given back if there are less than none. For the allocator.
#[inline]
pub(crate) fn count(bytes: i64) {
    let in_use = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if bytes > 0 && in_use > LIMIT.load(Ordering::Relaxed).saturating_mul(2) {
        end_at_once(bytes, "would be twice the limit of --memory");
    }
}

/// The system has no memory left for so many bytes. For the allocator, which must not unwind.
#[cold]
pub(crate) fn refused(bytes: i64) {
    end_at_once(bytes, "were refused by the system");
}

/// Ends the process with one line, unless it is about to end already. Takes little memory itself.
#[cold]
fn end_at_once(bytes: i64, why: &str) {
    if ENDING.swap(true, Ordering::Relaxed) {
        return;
    }
    crate::say::last_words(format!(
        "out of memory: {bytes} bytes more {why}; raise --memory (now {}), free memory, or choose an algorithm that keeps \
         less (`atomvet list` tells what each keeps)",
        limit_text()
    ));
    crate::interrupt::remove_half_written();
    // SAFETY: it only ends the process. Destructors and exit handlers might allocate, or wait for the thread at hand.
    unsafe { libc::_exit(i32::from(Status::BadInput.code())) }
}

/// Parses a size: a number of bytes, or with K, M, G or T behind it (powers of 1024).
pub(crate) fn size(text: &str) -> Result<Size, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => {
            return Err(
                "is no size; give bytes, or a number with K, M, G or T behind it, such as 2G".to_owned()
            );
        }
    };
    let number: i64 =
        digits.parse().map_err(|_| "is no size; give a number such as 500M or 2G".to_owned())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes >= LEAST_GIVEN);
    bytes.map(Size).ok_or_else(|| "must be from 16M to 8388607T".to_owned())
}

/// Less would not do for anything.
const LEAST_GIVEN: i64 = 16 << 20;

/// How many bytes this process could take without harm: what the machine, its control group and `ulimit -v` leave.
#[cfg(target_os = "linux")]
fn available() -> Option<i64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo")?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.split_ascii_whitespace().next()?.parse::<i64>().ok()?.checked_mul(1024)?;
    let group = read("/proc/self/cgroup").and_then(|groups| {
        let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        let number = |file: &str| read(&format!("/sys/fs/cgroup{group}/{file}"))?.trim().parse::<i64>().ok();
        Some(number("memory.max")? - number("memory.current")?)
    });
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it writes to the structure that it is given.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    let own = (asked == 0).then(|| i64::try_from(limit.rlim_cur).ok()).flatten();
    [Some(machine), group, own].into_iter().flatten().min()
}

/// Elsewhere there is no limit but the one that is given.
#[cfg(not(target_os = "linux"))]
fn available() -> Option<i64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_powers_of_1024() {
        for (text, bytes) in [
            ("16777216", 16 << 20),
            ("512M", 512 << 20),
            ("2g", 2 << 30),
            ("1GiB", 1 << 30),
            ("3GB", 3 << 30),
        ] {
            assert_eq!(size(text), Ok(Size(bytes)), "{text}");
        }
        for wrong in ["", "M", "12", "1K", "-1G", "1.5G", "1X", "99999999999T", "1G G", "½G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_machine_tells_what_is_available() {
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
