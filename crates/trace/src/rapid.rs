//! Traces as RAPID reads them: STD with its operations only, numbers for sites, names without blanks, no comments.
//!
//! | event | becomes |
//! |---|---|
//! | `ar`, `aw` | `r`, `w` |
//! | `rmw`, `add`, … | `r` and `w` |
//! | `wait` | `rel`, and `acq` with the thread's next event |
//! | `alloc` | the variable's later accesses have another name |
//! | `free`, `escape`, labels | nothing |
//! | `racq`, `rrel`, `barrier` | an error: RAPID has nothing that orders as they do |
//!
//! Names are as in RAPID's documentation: `T0`, `V12`, `L3`, by number.

use crate::{Event, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, VarId};

/// Translates events one by one.
#[derive(Default)]
pub struct ForRapid {
    names: Names,
    /// Per thread, the lock that it takes back with its next event.
    waits: Vec<Option<LockId>>,
    /// Per variable, how often it was allocated.
    lives: Vec<u32>,
}

impl ForRapid {
    /// The names of the translated events.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Appends what stands for the events; an error says which of them, by index, nothing stands for.
    pub fn translate(
        &mut self,
        events: &[Event],
        into: &mut Vec<Event>,
    ) -> Result<(), (usize, &'static str)> {
        for (index, event) in events.iter().enumerate() {
            let thread = self.thread(event.thread);
            let site = match event.site {
                SiteId::NONE => SiteId::NONE,
                SiteId(site) => self.names.sites.intern(&(u64::from(site) + 1).to_string()),
            };
            let mut add = |op| into.push(Event { thread, op, site });
            let waits = slot(&mut self.waits, event.thread.index()).take();
            if let Some(lock) = waits {
                add(Op::Acquire(lock, Mode::Exclusive));
            }
            match event.op {
                Op::Read(x, _) => add(Op::read(self.variable(x))),
                Op::Write(x, _) => add(Op::write(self.variable(x))),
                Op::Update(x, _) => {
                    let variable = self.variable(x);
                    add(Op::read(variable));
                    add(Op::write(variable));
                }
                Op::Acquire(l, Mode::Exclusive) | Op::Reacquire(l, Mode::Exclusive) => {
                    add(Op::Acquire(self.lock(l), Mode::Exclusive));
                }
                Op::Release(l, Mode::Exclusive) | Op::Rerelease(l, Mode::Exclusive) => {
                    add(Op::Release(self.lock(l), Mode::Exclusive));
                }
                Op::Wait(l) => {
                    let lock = self.lock(l);
                    add(Op::Release(lock, Mode::Exclusive));
                    self.waits[event.thread.index()] = Some(lock);
                }
                Op::Fork(child) => add(Op::Fork(self.thread(child))),
                Op::Join(child) => add(Op::Join(self.thread(child))),
                Op::Begin(_) => add(Op::Begin(RegionId::NONE)),
                Op::End => add(Op::End),
                Op::Alloc(x) => *slot(&mut self.lives, x.index()) += 1,
                Op::Free(_) | Op::Escape(_) | Op::Local | Op::Skip => {}
                Op::Acquire(..) | Op::Release(..) | Op::Reacquire(..) | Op::Rerelease(..) => {
                    return Err((index, "read locks"));
                }
                Op::Barrier(_) => return Err((index, "barriers")),
            }
        }
        Ok(())
    }

    fn thread(&mut self, thread: ThreadId) -> ThreadId {
        self.names.threads.intern(&format!("T{}", thread.0))
    }

    fn lock(&mut self, lock: LockId) -> LockId {
        self.names.locks.intern(&format!("L{}", lock.0))
    }

    fn variable(&mut self, variable: VarId) -> VarId {
        let life = match *slot(&mut self.lives, variable.index()) {
            0 => String::new(),
            life => format!(".{life}"),
        };
        self.names.variables.intern(&format!("V{}{life}", variable.0))
    }
}

fn slot<T: Default + Clone>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}
