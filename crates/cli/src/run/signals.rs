//! Semaphores and publications: what a thread has made known stands in the events for a variable that it wrote, and who comes
//! to know it reads that.
//!
//! The n-th take of a semaphore reads what the n-th post wrote, and counts that were there from the start go first. Of
//! publications, an observer reads what each publisher wrote last, once. Variables that nobody will read again are
//! used again.

use std::collections::{BTreeMap, VecDeque};

use atomvet_trace::{ThreadId, VarId};

use super::locks::forget;

/// All that was signalled and may still be heard of.
#[derive(Default)]
pub(crate) struct Signals {
    /// By address. One that is not there has no counts.
    semaphores: BTreeMap<u64, Semaphore>,
    /// By address, what each thread last published there.
    published: BTreeMap<u64, Vec<Publication>>,
    /// Those addresses, the oldest first, where they may become too many.
    ages: VecDeque<u64>,
    /// Variables that nobody will read again.
    spare: Vec<VarId>,
}

#[derive(Default)]
struct Semaphore {
    /// Counts that were there from the start.
    initial: u64,
    posts: VecDeque<VarId>,
}

/// What a thread has made known.
struct Publication {
    by: ThreadId,
    /// What those who come to know it read.
    variable: VarId,
    /// They, without repetition.
    known_to: Vec<ThreadId>,
}

impl Publication {
    fn is_news_to(&self, thread: ThreadId) -> bool {
        self.by != thread && !self.known_to.contains(&thread)
    }
}

/// Whether publications are kept however many there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// As long as their memory lives.
    All,
    /// The latest. (A JVM's program may publish the result of each of its tasks. Who has not asked for one after so many
    /// others will not be found to have waited for it.)
    Latest,
}

/// How many those are.
const LATEST: usize = 1 << 16;

impl Signals {
    /// A variable that may be written anew.
    pub(crate) fn spare(&mut self) -> Option<VarId> {
        self.spare.pop()
    }

    /// A semaphore gets a new value.
    pub(crate) fn initialise(&mut self, semaphore: u64, value: u64) {
        let new = Semaphore { initial: value, posts: VecDeque::new() };
        if let Some(old) = self.semaphores.insert(semaphore, new) {
            self.spare.extend(old.posts);
        }
    }

    /// A semaphore is counted up by who wrote `variable`.
    pub(crate) fn post(&mut self, semaphore: u64, variable: VarId) {
        self.semaphores.entry(semaphore).or_default().posts.push_back(variable);
    }

    /// A semaphore is counted down: what is read there, if anything.
    pub(crate) fn take(&mut self, address: u64) -> Option<VarId> {
        let semaphore = self.semaphores.get_mut(&address)?;
        let post = if semaphore.initial > 0 {
            semaphore.initial -= 1;
            None
        } else {
            semaphore.posts.pop_front()
        };
        if semaphore.initial == 0 && semaphore.posts.is_empty() {
            // A JVM has one for every task and every element of a queue.
            self.semaphores.remove(&address);
        }
        self.spare.extend(post);
        post
    }

    /// A thread that wrote `variable` publishes at an address, in place of what it published there before.
    pub(crate) fn publish(&mut self, address: u64, by: ThreadId, variable: VarId, keep: Keep) {
        let published = self.published.entry(address).or_default();
        let is_first = published.is_empty();
        if let Some(at) = published.iter().position(|publication| publication.by == by) {
            self.spare.push(published.swap_remove(at).variable);
        }
        published.push(Publication { by, variable, known_to: Vec::new() });
        if is_first && keep == Keep::Latest {
            self.ages.push_back(address);
            if self.ages.len() > LATEST
                && let Some(oldest) = self.ages.pop_front()
                && let Some(published) = self.published.remove(&oldest)
            {
                self.spare.extend(published.into_iter().map(|publication| publication.variable));
            }
        }
    }

    /// Whether others have published at an address what a thread does not know.
    pub(crate) fn is_news(&self, address: u64, thread: ThreadId) -> bool {
        let published = self.published.get(&address).map(Vec::as_slice).unwrap_or_default();
        published.iter().any(|publication| publication.is_news_to(thread))
    }

    /// What it reads when it comes to know that.
    pub(crate) fn observe(&mut self, address: u64, thread: ThreadId) -> impl Iterator<Item = VarId> {
        let published = self.published.get_mut(&address).into_iter().flatten();
        published.filter(move |publication| publication.is_news_to(thread)).map(move |publication| {
            publication.known_to.push(thread);
            publication.variable
        })
    }

    /// What comes to stand between two addresses is new.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        let spare = &mut self.spare;
        forget(&mut self.semaphores, start, end, |semaphore| spare.extend(semaphore.posts));
        forget(&mut self.published, start, end, |published| {
            spare.extend(published.into_iter().map(|publication| publication.variable));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_reads_its_post_and_no_other() {
        let mut signals = Signals::default();
        signals.initialise(8, 1);
        signals.post(8, VarId(0));
        signals.post(8, VarId(1));
        signals.post(16, VarId(2));
        let taken = [8, 8, 16, 8, 8].map(|semaphore| signals.take(semaphore));
        assert_eq!(taken, [None, Some(VarId(0)), Some(VarId(2)), Some(VarId(1)), None]);
        assert!(signals.semaphores.is_empty());
        assert_eq!([(); 4].map(|()| signals.spare()), [Some(VarId(1)), Some(VarId(2)), Some(VarId(0)), None]);
    }

    #[test]
    fn what_was_published_is_read_once_by_each_of_the_others() {
        let mut signals = Signals::default();
        let [a, b, c] = [0, 1, 2].map(ThreadId);
        signals.publish(8, a, VarId(0), Keep::All);
        signals.publish(8, b, VarId(1), Keep::All);
        let observed = |signals: &mut Signals, thread| signals.observe(8, thread).collect::<Vec<_>>();
        assert_eq!(observed(&mut signals, a), [VarId(1)]);
        assert_eq!(observed(&mut signals, c), [VarId(0), VarId(1)]);
        assert!(!signals.is_news(8, c));
        signals.publish(8, a, VarId(2), Keep::All);
        assert_eq!(observed(&mut signals, c), [VarId(2)]);
        assert_eq!(signals.spare(), Some(VarId(0)));
        signals.forget(0, 16);
        assert!(!signals.is_news(8, c));
    }

    #[test]
    fn only_the_latest_are_kept_where_there_are_too_many() {
        for (keep, oldest) in [(Keep::Latest, false), (Keep::All, true)] {
            let mut signals = Signals::default();
            for address in 0..=LATEST as u64 {
                signals.publish(address, ThreadId(0), VarId(address as u32), keep);
            }
            assert_eq!([0, 1].map(|address| signals.is_news(address, ThreadId(1))), [oldest, true]);
        }
    }
}
