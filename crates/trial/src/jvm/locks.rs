//! Who holds a lock, who waits for a notification, and who can take the lock next.

use std::collections::BTreeMap;

use super::program::{self, Mode};

/// The state of one lock.
#[derive(Default)]
pub(crate) struct Lock {
    /// Otherwise a thread that holds it would wait for itself.
    is_reentrant: bool,
    holder: Option<usize>,
    /// How often its holder has taken it.
    depth: usize,
    /// Who holds it in shared mode, and how often.
    readers: BTreeMap<usize, usize>,
    /// Who waits for a notification, and how often it had taken the lock.
    waiter: Option<(usize, usize)>,
    /// The waiter goes on when the lock is free.
    is_notified: bool,
    /// Notifications that nobody has used.
    signals: usize,
}

impl Lock {
    /// A lock that nobody holds.
    pub(crate) fn new(kind: program::Lock) -> Lock {
        Lock { is_reentrant: kind != program::Lock::Stamped, ..Lock::default() }
    }

    pub(crate) fn is_held_by(&self, thread: usize) -> bool {
        self.holder == Some(thread)
    }

    pub(crate) fn can_be_taken(&self, thread: usize, mode: Mode) -> bool {
        let others_read = self.readers.keys().any(|&reader| reader != thread);
        let is_read = self.readers.contains_key(&thread);
        match (self.holder, mode) {
            (Some(holder), _) => holder == thread && self.is_reentrant,
            (None, Mode::Exclusive) => !others_read && !is_read,
            (None, Mode::Shared) => !is_read || self.is_reentrant,
        }
    }

    /// Says whether the thread did not hold it before.
    pub(crate) fn take(&mut self, thread: usize, mode: Mode) -> bool {
        let times = match mode {
            Mode::Exclusive => {
                self.holder = Some(thread);
                &mut self.depth
            }
            Mode::Shared => self.readers.entry(thread).or_default(),
        };
        *times += 1;
        *times == 1
    }

    /// Says whether the thread does not hold it any more.
    pub(crate) fn release(&mut self, thread: usize, mode: Mode) -> bool {
        let times = match mode {
            Mode::Exclusive => &mut self.depth,
            Mode::Shared => self.readers.entry(thread).or_default(),
        };
        *times -= 1;
        let is_last = *times == 0;
        match mode {
            Mode::Exclusive if is_last => self.holder = None,
            Mode::Shared if is_last => {
                self.readers.remove(&thread);
            }
            _ => {}
        }
        is_last
    }

    /// At most one thread waits at a time.
    pub(crate) fn can_wait(&self, thread: usize) -> bool {
        self.is_held_by(thread)
            && !self.readers.contains_key(&thread)
            && (self.signals > 0 || self.waiter.is_none())
    }

    /// Says whether the thread waits: there was no notification before.
    pub(crate) fn wait(&mut self, thread: usize) -> bool {
        if self.signals > 0 {
            self.signals -= 1;
            return false;
        }
        self.waiter = Some((thread, self.depth));
        (self.holder, self.depth) = (None, 0);
        true
    }

    pub(crate) fn notify(&mut self) {
        if self.waiter.is_some() && !self.is_notified {
            self.is_notified = true;
        } else {
            self.signals += 1;
        }
    }

    /// Whoever was notified holds the lock again as soon as it is free: the thread that goes on.
    pub(crate) fn wake(&mut self) -> Option<usize> {
        if !self.is_notified || self.holder.is_some() {
            return None;
        }
        let (waiter, depth) = self.waiter.take()?;
        self.is_notified = false;
        (self.holder, self.depth) = (Some(waiter), depth);
        Some(waiter)
    }
}
