//! The end of a program, waited for without asking again and again.

use std::process::Child;
use std::time::Duration;

/// The end of a child. Nothing where the system has no such thing, or has run out of it.
pub(crate) struct Ending(Option<Descriptor>);

/// How long to sleep where an end cannot be waited for.
const NAP: Duration = Duration::from_millis(2);

impl Ending {
    /// Of a child that was not waited for.
    pub(crate) fn of(child: &Child) -> Ending {
        Ending(Descriptor::of(child.id()))
    }

    /// Waits so long at most, or until it has come.
    pub(crate) fn wait(&self, most: Duration) {
        if !self.0.as_ref().is_some_and(|descriptor| descriptor.wait(most)) {
            std::thread::sleep(most.min(NAP));
        }
    }
}

#[cfg(target_os = "linux")]
struct Descriptor(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Descriptor {
    fn of(process: u32) -> Option<Descriptor> {
        use std::os::fd::FromRawFd;
        // SAFETY: plain numbers go in, and a descriptor that nobody else owns comes out, if any.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
        // SAFETY: as above.
        Some(Descriptor(unsafe { std::os::fd::OwnedFd::from_raw_fd(descriptor) }))
    }

    /// False if it cannot be waited for.
    fn wait(&self, most: Duration) -> bool {
        use std::os::fd::AsRawFd;
        let mut ended = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut ended, 1, most.as_millis() as libc::c_int) >= 0 }
    }
}

#[cfg(not(target_os = "linux"))]
struct Descriptor;

#[cfg(not(target_os = "linux"))]
impl Descriptor {
    fn of(_process: u32) -> Option<Descriptor> {
        None
    }

    fn wait(&self, _most: Duration) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_not_missed() {
        let mut child = std::process::Command::new("true").spawn().expect("every system has it");
        let ending = Ending::of(&child);
        while child.try_wait().expect("it is ours").is_none() {
            ending.wait(Duration::from_secs(60));
        }
        // It stays over.
        ending.wait(NAP);
    }
}
