//! Atomic operations: stamped under the stripe of their granule before they take effect.
//!
//! Updates of one kind commute (additions, say): they are kept aside (`older.rs`) and conflict with each other only once
//! somebody has read the value.

use crate::access::{Access, Operation};
use crate::accesses::{each_granule, load, mark, read_stamps};
use crate::engine::{Engine, Findings};
use crate::epoch::{Bytes, Stamp};
use crate::rule::{slot_of, slots_to_check};
use crate::thread::Thread;

impl<F: Findings> Engine<F> {
    /// An atomic operation on up to 16 aligned bytes. It is stamped before it takes effect, and nobody else who calls this
    /// comes between the two. `expected` says what the operation is going to be, `operate` performs it.
    pub fn atomic<T>(
        &self,
        thread: &Thread,
        access: &Access,
        expected: impl FnOnce() -> Operation,
        operate: impl FnOnce() -> T,
    ) -> T {
        let _held = self.data.lock(self.data.granule(access.address));
        let operation = match expected() {
            update if update.commutes() && !self.commuting_updates => Operation::Update,
            operation => operation,
        };
        let access = Access { operation, ..*access };
        self.one_event(thread, &access, |granule, bytes, access| match access.operation {
            Operation::Read => {
                self.data.older().note_read(granule, bytes);
                self.read_held(thread, &self.data, granule, bytes, access);
            }
            operation if operation.commutes() => self.update_bytes(thread, granule, bytes, access),
            operation => {
                if operation == Operation::Update {
                    self.data.older().note_read(granule, bytes);
                }
                self.write_held(thread, &self.data, granule, bytes, access);
            }
        });
        operate()
    }

    /// Whether an atomic load by the thread repeats one that is stamped. If it is asked after the load, the load saw no later
    /// write: a writer takes the stamp away before its write takes effect.
    #[inline(always)]
    pub fn repeats_load(&self, thread: &Thread, access: &Access) -> bool {
        let (slot, now) = (slot_of(thread.index()), thread.now());
        let mut repeats = true;
        each_granule(&self.data, access, |granule, bytes, _| {
            repeats &= load(self.data.read(slot, granule)).covers_read(now, bytes);
        });
        repeats
    }

    /// Updates of one kind do not conflict with each other until somebody reads the value (`docs/event-model.md`): until then
    /// each thread's last one is kept aside, and from then on they are writes.
    fn update_bytes(&self, thread: &Thread, granule: usize, bytes: Bytes, access: &Access) {
        let read = self.bytes_read(granule, bytes);
        let others = Bytes(bytes.0 & !read.0);
        loop {
            let before = thread.now();
            if read != Bytes(0) {
                let update = Access { operation: Operation::Update, ..*access };
                self.write_held(thread, &self.data, granule, read, &update);
            }
            if others != Bytes(0) {
                self.update_held(thread, granule, others, access);
            }
            // One event has one time.
            if thread.now() == before {
                return;
            }
        }
    }

    fn update_held(&self, thread: &Thread, granule: usize, bytes: Bytes, access: &Access) {
        let shadow = &self.data;
        let write = shadow.write(granule);
        loop {
            let accessor = thread.accessor();
            let news = accessor.news(load(write), bytes);
            let news = news.or_else(|| self.news_aside(thread, shadow, granule, access.operation, bytes));
            if let Some(epoch) = news {
                self.depend(thread, epoch, access);
                continue;
            }
            self.remember(thread, access);
            shadow.older().add(granule, access.operation, Stamp::new(thread.now(), bytes));
            // The mark makes the last writer's next write look at the updates.
            mark(write, Stamp::OLDER | Stamp::mark_of(accessor.slot()));
            return;
        }
    }

    /// Which of these bytes had their value read since they began their life: by a load, or by a plain read that is still
    /// stamped.
    fn bytes_read(&self, granule: usize, bytes: Bytes) -> Bytes {
        let older = self.data.older();
        let slots = slots_to_check(load(self.data.write(granule)), self.threads().slots_in_use());
        let aside = older.all(granule).filter(|(operation, _)| *operation == Operation::Read);
        let stamped =
            read_stamps(&self.data, granule, slots).into_iter().chain(aside.map(|(_, stamp)| stamp));
        let read = stamped.fold(older.bytes_read(granule).0, |read, stamp| read | stamp.all_bytes().0);
        let read = Bytes(read & bytes.0);
        older.note_read(granule, read);
        read
    }
}
