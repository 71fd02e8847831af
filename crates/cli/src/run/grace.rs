//! How a watched program is ended once the command was asked to end: SIGTERM after half of the grace period, SIGKILL after all of it.
//!
//! The program means its process and every descendant in the same session: none of them outlives the command. A process
//! that has called `setsid`, as daemons do, has detached itself and is left alone.
//!
//! A terminal and `timeout` signal the program as well as the command, so the program has half of the period before it is
//! signalled from here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::interrupt;

/// What has been done to end the program.
pub(crate) struct Grace {
    /// The program's process, and when it was started: once it was waited for, its number may be another's.
    program: u32,
    started: Option<u64>,
    /// The whole period.
    period: Duration,
    /// The attached processes that were seen since the first signal, each with when it was started.
    seen: BTreeMap<u32, u64>,
    done: Done,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Done {
    Nothing,
    Looked,
    Terminated,
    Killed,
}

/// How long a killed process may take to be gone.
const DYING: Duration = Duration::from_millis(500);

impl Grace {
    /// For a program that has just been started.
    pub(crate) fn new(program: u32, period: Duration) -> Grace {
        let started = stat(program).map(|stat| stat.started);
        Grace { program, started, period, seen: BTreeMap::new(), done: Done::Nothing }
    }

    /// Does what is due. To be called again and again while the program runs.
    pub(crate) fn pursue(&mut self) {
        let Some(asked) = interrupt::asked() else { return };
        let due = match asked {
            asked if asked >= self.period => Done::Killed,
            asked if asked >= self.period / 2 => Done::Terminated,
            _ => Done::Looked,
        };
        if self.done >= due {
            return;
        }
        self.done = due;
        self.look();
        match due {
            Done::Terminated => self.signal(libc::SIGTERM),
            Done::Killed => self.signal(libc::SIGKILL),
            Done::Nothing | Done::Looked => {}
        }
    }

    /// Whether the program had to be killed.
    pub(crate) fn was_killed(&self) -> bool {
        self.done == Done::Killed
    }

    /// Whether the program was killed long enough ago that waiting for it is in vain.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.done == Done::Killed && interrupt::asked() > Some(self.period + DYING)
    }

    /// Whether the program's own process has ended, but others of it have to be waited for.
    pub(crate) fn has_others(&self) -> bool {
        self.done >= Done::Looked
            && !self.is_hopeless()
            && self.seen.iter().any(|(&process, &started)| is_alive(process, started))
    }

    /// Adds the program's process and its attached descendants, as they are now, to those that were seen.
    fn look(&mut self) {
        let all = processes();
        if all.get(&self.program).map(|stat| stat.started) != self.started {
            return;
        }
        let session_of = |process: u32| all.get(&process).map(|stat| stat.session);
        let sessions = [session_of(std::process::id()), session_of(self.program)];
        let mut work = vec![self.program];
        // Read one after the other, processes may seem to be their own ancestors.
        let mut visited = BTreeSet::new();
        while let Some(process) = work.pop() {
            if !visited.insert(process) {
                continue;
            }
            let children = all.iter().filter(|(_, stat)| stat.parent == process).map(|(&child, _)| child);
            work.extend(children);
            if let Some(stat) = all.get(&process)
                && (process == self.program || sessions.contains(&Some(stat.session)))
            {
                self.seen.insert(process, stat.started);
            }
        }
    }

    fn signal(&self, signal: i32) {
        for (&process, &started) in &self.seen {
            if is_alive(process, started)
                && let Ok(process) = libc::pid_t::try_from(process)
            {
                // SAFETY: plain numbers. The process was alive a moment ago, so the number is still its own.
                unsafe { libc::kill(process, signal) };
            }
        }
    }
}

/// What Linux says about a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stat {
    state: u8,
    parent: u32,
    session: u32,
    /// Ticks since the system's start.
    started: u64,
}

/// `PID (NAME) STATE PARENT GROUP SESSION …`, where the name may have anything in it.
fn parse(stat: &str) -> Option<Stat> {
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

fn stat(process: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn processes() -> BTreeMap<u32, Stat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|process| Some((process, stat(process)?))).collect()
}

/// Whether a process still runs, and is the same one.
fn is_alive(process: u32, started: u64) -> bool {
    stat(process).is_some_and(|stat| stat.started == started && !matches!(stat.state, b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_be_anything() {
        let text = "7 (a) b) S 3 4 5 0 -1 4194560 142 0 0 0 3 1 0 0 20 0 1 0 5747859 0 0";
        let expected = Stat { state: b'S', parent: 3, session: 5, started: 5_747_859 };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let own = stat(std::process::id()).expect("this process runs");
        assert!(is_alive(std::process::id(), own.started));
        assert!(!is_alive(std::process::id(), own.started + 1));
    }
}
