//! What a thread knows of the others: per thread index, the last time whose events happen before its own next one.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};

use crate::epoch::{Epoch, INDEXES};
use crate::memory::Words;

/// A vector clock. Only its thread changes it; pages of indexes that were never met take no memory.
#[derive(Debug)]
pub struct Clock {
    times: Words,
    /// A bit for each index that was learned of since [`Clock::take_news`].
    news: [AtomicU64; INDEXES / 64],
    /// How many words of `news` may have a bit.
    news_end: AtomicUsize,
}

impl Clock {
    /// One that knows nothing; none if there is no memory.
    pub fn new() -> Option<Clock> {
        let news = [const { AtomicU64::new(0) }; INDEXES / 64];
        Some(Clock { times: Words::reserve(INDEXES)?, news, news_end: AtomicUsize::new(0) })
    }

    /// The last known time of a thread; 0 if none.
    #[inline(always)]
    pub fn of(&self, index: usize) -> u64 {
        self.times[index].load(Relaxed)
    }

    /// Whether the epoch is known.
    #[inline(always)]
    pub fn knows(&self, epoch: Epoch) -> bool {
        self.of(epoch.index()) >= epoch.time()
    }

    /// Learns of an epoch.
    pub fn learn(&self, epoch: Epoch) {
        if self.knows(epoch) {
            return;
        }
        let (word, bit) = (epoch.index() / 64, epoch.index() % 64);
        self.times[epoch.index()].store(epoch.time(), Relaxed);
        self.news[word].store(self.news[word].load(Relaxed) | 1 << bit, Relaxed);
        self.news_end.store(self.news_end.load(Relaxed).max(word + 1), Relaxed);
    }

    /// Everything that was learned since this was last asked, each thread once.
    pub fn take_news(&self, mut each: impl FnMut(Epoch)) {
        for word in 0..self.news_end.load(Relaxed) {
            let mut bits = self.news[word].load(Relaxed);
            self.news[word].store(0, Relaxed);
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                each(Epoch::new(index, self.of(index)));
                bits &= bits - 1;
            }
        }
        self.news_end.store(0, Relaxed);
    }

    /// Everything that is known, of indexes below `end`.
    pub fn known(&self, end: usize) -> impl Iterator<Item = Epoch> {
        let times = self.times[..end].iter().enumerate();
        times.map(|(index, time)| Epoch::new(index, time.load(Relaxed))).filter(|epoch| epoch.time() > 0)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.times.clear(0, INDEXES);
    }
}
