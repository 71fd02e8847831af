//! Random programs, and what is left of one made well-formed.

use std::ops::Range;

use super::program::{
    ARENA_BYTES, Action, AtomicOperation, Guard, INITIALISATIONS, LABELS, LOCKS, LockKind, Place, Program,
    SEMAPHORES, SLOT_BYTES, SLOTS, Setup, Step, Zone,
};
use super::world::World;
use crate::random::Random;
use crate::truth::Event;

/// Whether accesses may race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// Every access is ordered by synchronisation that the checker sees, or atomic.
    RaceFree,
    /// Any access at any time.
    Racy,
}

/// Which programs are generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    /// Whether they race.
    pub(super) style: Style,
    /// Whether what commutes is done to memory that is also accessed plainly.
    pub(super) updates_data: bool,
}

/// A random program. It may have a child.
pub(super) fn program(random: &mut Random, kind: Kind) -> Program {
    let child = random.chance(1, 12).then(|| Box::new(without_child(random, kind, false)));
    let has_child = child.is_some();
    Program { child, ..without_child(random, kind, has_child) }
}

fn without_child(random: &mut Random, kind: Kind, forks: bool) -> Program {
    let setup = setup(random, kind);
    let mut world = World::new(&setup);
    let length = match setup.threads {
        0..=10 => 40 + random.index(200),
        _ => 3 * setup.threads,
    };
    let mut chooser = Chooser::new(&setup, random, kind, forks);
    let mut thread = 1;
    // Most choices are impossible where they are made.
    for _ in 0..length * 40 {
        if world.steps.len() >= length {
            break;
        }
        // Threads that go on for a while make for orders that matter.
        if chooser.random.chance(1, 4) || !world.can_run(thread) {
            thread = 1 + chooser.random.index(setup.threads);
        }
        let action = chooser.action();
        world.take(Step { thread, action });
    }
    world.finish();
    let steps = std::mem::take(&mut world.steps);
    Program { setup, steps, child: None }
}

/// The events of a program, and how often its child runs.
pub(super) fn events(program: &Program) -> (Vec<Event>, usize) {
    let mut world = World::new(&program.setup);
    for &step in &program.steps {
        world.take(step);
    }
    (world.events, world.forks)
}

/// What is left of a program, without the steps that are not possible any more, brought to its end.
pub(super) fn repair(setup: &Setup, steps: Vec<Step>) -> Vec<Step> {
    let mut world = World::new(setup);
    for step in steps {
        world.take(step);
    }
    world.finish();
    world.steps
}

fn setup(random: &mut Random, kind: Kind) -> Setup {
    let threads = match random.below(40) {
        0..=23 => 2 + random.index(3),
        24..=35 => 5 + random.index(4),
        36..=38 => 9 + random.index(12),
        _ => 66 + random.index(10),
    };
    let initial = match threads {
        0..=60 => 1 + random.index(threads),
        _ => threads - 2,
    };
    let parties = 1 + random.index(initial.min(5));
    let guards = guards(random, kind.style, parties);
    let mut zones = Vec::new();
    let mut start = 0;
    let end = 16 + random.index(ARENA_BYTES - 16);
    while start < end {
        // Of any size, but often of one that is usual.
        let size = if random.chance(1, 2) { *random.choose(&[4, 8, 16, 32]) } else { 1 + random.index(40) };
        let zone = zone(random, start..(start + size).min(end), &guards);
        start = zone.end;
        zones.push(zone);
    }
    let lock_guards: Vec<Guard> =
        guards.iter().copied().filter(|guard| matches!(guard, Guard::Lock(_) | Guard::Nothing)).collect();
    let lock_guards = if lock_guards.is_empty() { vec![Guard::Lock(0)] } else { lock_guards };
    let slots = (0..SLOTS).map(|_| zone(random, 0..SLOT_BYTES, &lock_guards)).collect();
    Setup { zones, slots, threads, initial, parties }
}

fn zone(random: &mut Random, bytes: Range<usize>, guards: &[Guard]) -> Zone {
    let guard = *random.choose(guards);
    Zone { start: bytes.start, end: bytes.end, guard }
}

/// A few kinds of guards, so that threads get in each other's way.
fn guards(random: &mut Random, style: Style, parties: usize) -> Vec<Guard> {
    if style == Style::Racy {
        // Half of the racy programs race everywhere, the others here and there.
        let mut guards = vec![Guard::Nothing];
        if random.chance(1, 2) {
            guards.extend(self::guards(random, Style::RaceFree, parties));
        }
        return guards;
    }
    let count = 1 + random.index(4);
    let choose = |_| match random.below(10) {
        0..=4 => Guard::Lock(random.index(LOCKS.len())),
        5 => Guard::Semaphore,
        6 if parties > 1 => Guard::Turn,
        6 | 7 => Guard::Owner,
        _ => Guard::Atomic,
    };
    (0..count).map(choose).collect()
}

struct Chooser<'a> {
    setup: &'a Setup,
    random: &'a mut Random,
    kind: Kind,
    forks: bool,
    /// Where and how wide most accesses are, and which atomic operations there are: a few, so that threads meet.
    places: Vec<(Place, usize)>,
    operations: Vec<AtomicOperation>,
}

const WIDTHS: [usize; 7] = [1, 2, 4, 4, 8, 8, 16];

impl<'a> Chooser<'a> {
    fn new(setup: &'a Setup, random: &'a mut Random, kind: Kind, forks: bool) -> Chooser<'a> {
        let operations = (0..1 + random.index(4)).map(|_| *random.choose(&AtomicOperation::ALL)).collect();
        let count = 1 + random.index(6);
        let mut chooser = Chooser { setup, random, kind, forks, places: Vec::new(), operations };
        for _ in 0..1000 {
            let width = *chooser.random.choose(&WIDTHS);
            let place = chooser.place(width);
            if chooser.places.len() < count && chooser.is_usual(place, width) {
                chooser.places.push((place, width));
            }
        }
        chooser
    }

    /// Whether plain accesses may touch any of these bytes, too.
    fn is_data(&self, place: Place, width: usize) -> bool {
        let (zones, start) = match place {
            Place::Arena(offset) => (&self.setup.zones[..], offset),
            Place::Slot(slot, offset) => (&self.setup.slots[slot..=slot], offset),
        };
        let mut touched = zones.iter().filter(|zone| zone.start < start + width && start < zone.end);
        touched.any(|zone| zone.guard != Guard::Atomic)
    }

    /// Whether an access is inside one zone.
    fn is_usual(&self, place: Place, width: usize) -> bool {
        let (zones, start) = match place {
            Place::Arena(offset) => (&self.setup.zones[..], offset),
            Place::Slot(slot, offset) => (&self.setup.slots[slot..=slot], offset),
        };
        zones.iter().any(|zone| zone.start <= start && start + width <= zone.end)
    }

    fn action(&mut self) -> Action {
        match self.random.below(100) {
            0..=5 => Action::Begin(self.random.index(LABELS)),
            6..=8 => Action::End,
            9..=46 => self.synchronise(),
            47..=49 => self.rare(),
            _ => self.access(),
        }
    }

    /// One of the locks that guard something, mostly.
    fn lock(&mut self) -> usize {
        let guards = self
            .setup
            .zones
            .iter()
            .map(|zone| zone.guard)
            .chain(self.setup.slots.iter().map(|zone| zone.guard));
        let used: Vec<usize> = guards
            .filter_map(|guard| if let Guard::Lock(lock) = guard { Some(lock) } else { None })
            .collect();
        if used.is_empty() || self.random.chance(1, 8) {
            self.random.index(LOCKS.len())
        } else {
            *self.random.choose(&used)
        }
    }

    fn synchronise(&mut self) -> Action {
        let lock = self.lock();
        match self.random.below(40) {
            0..=9 => Action::Lock(lock),
            10..=18 => Action::Unlock(lock),
            19..=22 if LOCKS[lock] == LockKind::ReadWrite => Action::ReadLock(lock),
            19 => Action::TryLock(lock),
            20 => Action::FailToLock(lock),
            21..=22 => Action::Wait(lock),
            23 => Action::TimedWait(lock),
            24..=25 => Action::Signal(lock),
            26..=28 => Action::Arrive,
            29..=32 => Action::Take(self.random.index(SEMAPHORES.len())),
            33..=35 => Action::Post(self.random.index(SEMAPHORES.len())),
            36 => Action::Once(self.random.index(INITIALISATIONS)),
            37 => Action::HandOver(self.random.index(self.setup.zones.len())),
            _ => Action::TakeOver(self.random.index(self.setup.zones.len())),
        }
    }

    fn rare(&mut self) -> Action {
        match self.random.below(20) {
            0..=4 => Action::Create(1 + self.random.index(self.setup.threads)),
            5 => Action::Join(1 + self.random.index(self.setup.threads)),
            6..=9 => Action::Allocate(self.random.index(SLOTS)),
            10..=12 => Action::Free(self.random.index(SLOTS)),
            13 => Action::Reallocate(self.random.index(SLOTS)),
            14 if self.forks => Action::Fork,
            14..=16 => Action::Interrupt(1 + self.random.index(self.setup.threads)),
            _ => Action::Return,
        }
    }

    fn place(&mut self, length: usize) -> Place {
        let is_aligned = self.random.chance(2, 3);
        let alignment = if is_aligned { length.next_power_of_two().min(16) } else { 1 };
        if self.random.chance(1, 4) {
            Place::Slot(self.random.index(SLOTS), self.random.index(SLOT_BYTES / alignment) * alignment)
        } else {
            let end = self.setup.zones.last().map_or(1, |zone| zone.end);
            Place::Arena(self.random.index(end.div_ceil(alignment)) * alignment)
        }
    }

    fn access(&mut self) -> Action {
        let width = *self.random.choose(&WIDTHS);
        let (place, width) = if self.places.is_empty() || self.random.chance(1, 3) {
            (self.place(width), width)
        } else {
            *self.random.choose(&self.places)
        };
        match self.random.below(20) {
            0..=5 => Action::Read(place, width),
            6..=10 => Action::Write(place, width),
            11..=12 => {
                let most = *self.random.choose(&[8, 40]);
                let length = 1 + self.random.index(most);
                let place = self.place(length);
                match self.random.below(3) {
                    0 => Action::Set(place, length),
                    1 => Action::Copy(place, self.place(length), length),
                    _ => Action::Set(place, width),
                }
            }
            _ => {
                let operation = match *self.random.choose(&self.operations) {
                    update if update.commutes() && !self.kind.updates_data && self.is_data(place, width) => {
                        AtomicOperation::Exchange
                    }
                    operation => operation,
                };
                Action::Atomic(operation, place, width, self.random.index(4))
            }
        }
    }
}
