//! Random traces with every operation and names that try to break the formats.

use std::io::{self, Read};

use atomvet_trace::{
    AccessKind, BarrierId, Error, Event, Input, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId,
    UpdateKind, VarId, binary, std_text,
};

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

pub(crate) const NASTY: [&str; 20] = [
    "x",
    " x",
    "x ",
    "  ",
    "#",
    " \t#y",
    "a|b",
    "\\",
    "\\p",
    "a\nb",
    "\r",
    "x)",
    ")(",
    "(",
    "naïve→∀",
    "\u{feff}b",
    "\0",
    "r(x)|3",
    "a name that is longer than any window of the cache",
    "end",
];
const SITES: [&str; 8] = [
    "1",
    "18446744073709551615",
    "a.c:12",
    "a b|c.c:0",
    "C:\\x\r.c:007",
    "::1",
    "\n:1",
    "a very long directory/and/file.rs:123456",
];

pub(crate) const UPDATES: [UpdateKind; 8] = [
    UpdateKind::Other,
    UpdateKind::Add,
    UpdateKind::Or,
    UpdateKind::And,
    UpdateKind::Xor,
    UpdateKind::Min,
    UpdateKind::Max,
    UpdateKind::Same,
];

/// Names with ids in order of first appearance, as every reader gives them.
pub(crate) fn random_trace(random: &mut Random, count: usize) -> (Names, Vec<Event>) {
    let mut names = Names::default();
    let events = (0..count).map(|_| random_event(random, &mut names)).collect();
    (names, events)
}

fn random_event(random: &mut Random, names: &mut Names) -> Event {
    let name = |random: &mut Random| match random.below(3) {
        0 => NASTY[random.below(NASTY.len())].to_owned(),
        1 => format!("V{}", random.below(50)),
        _ => format!("{}{}", NASTY[random.below(NASTY.len())], random.below(1000)),
    };
    let thread = names.threads.intern(&name(random));
    let what = name(random);
    let mode = if random.below(2) == 0 { Mode::Exclusive } else { Mode::Shared };
    let op = match random.below(17) {
        0..=1 => Op::read(names.variables.intern(&what)),
        2 => Op::Read(names.variables.intern(&what), AccessKind::Atomic),
        3 => Op::write(names.variables.intern(&what)),
        4 => Op::Write(names.variables.intern(&what), AccessKind::Atomic),
        5 => Op::Update(names.variables.intern(&what), UPDATES[random.below(8)]),
        6 => Op::Acquire(names.locks.intern(&what), mode),
        7 => Op::Release(names.locks.intern(&what), mode),
        8 => Op::Wait(names.locks.intern(&what)),
        9 => Op::Fork(names.threads.intern(&what)),
        10 => Op::Join(names.threads.intern(&what)),
        11 => Op::Barrier(names.barriers.intern(&what)),
        12 if random.below(2) == 0 => Op::Begin(RegionId::NONE),
        12 => Op::Begin(names.regions.intern(&what)),
        13 => Op::End,
        14 => Op::Alloc(names.variables.intern(&what)),
        15 => Op::Free(names.variables.intern(&what)),
        _ => Op::Escape(names.variables.intern(&what)),
    };
    let site = match random.below(4) {
        0 => SiteId::NONE,
        1 => names.sites.intern(&format!("{}", 1 + random.below(100))),
        2 => names.sites.intern(&format!("f.c:{}", random.below(100))),
        _ => names.sites.intern(SITES[random.below(SITES.len())]),
    };
    Event { thread, op, site }
}

pub(crate) fn to_text(names: &Names, events: &[Event]) -> Vec<u8> {
    let mut writer = std_text::Writer::new(Vec::new());
    for block in events.chunks(1000) {
        writer.write(names, block).expect("all names can be written");
    }
    writer.finish().expect("memory takes it")
}

pub(crate) fn to_binary(names: &Names, events: &[Event]) -> Vec<u8> {
    let mut writer = binary::Writer::new(Vec::new()).expect("memory takes it");
    for block in events.chunks(1000) {
        writer.write(names, block).expect("all names can be written");
    }
    writer.finish().expect("memory takes it")
}

/// All names of all kinds, in order.
pub(crate) fn all_names(names: &Names) -> Vec<Vec<String>> {
    let owned = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect::<Vec<_>>();
    vec![
        owned(&mut names.threads.iter()),
        owned(&mut names.variables.iter()),
        owned(&mut names.locks.iter()),
        owned(&mut names.barriers.iter()),
        owned(&mut names.regions.iter()),
        owned(&mut names.sites.iter()),
    ]
}

/// What was read before the end, or before an error.
pub(crate) struct Outcome {
    pub(crate) names: Names,
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<Error>,
}

/// Reads all there is. An error must come again if one asks again.
pub(crate) fn read(bytes: impl Read + Send + 'static) -> Outcome {
    let mut input = match Input::from_reader("trace", Box::new(bytes)) {
        Ok(input) => input,
        Err(error) => {
            return Outcome { names: Names::default(), events: Vec::new(), error: Some(error) };
        }
    };
    let (mut block, mut events) = (Vec::new(), Vec::new());
    let error = loop {
        match input.next_block(&mut block) {
            Ok(true) => {
                assert!(!block.is_empty());
                events.extend_from_slice(&block);
            }
            Ok(false) => {
                assert_eq!(input.next_block(&mut block), Ok(false));
                break None;
            }
            Err(error) => {
                assert_eq!(input.next_block(&mut block), Err(error.clone()));
                break Some(error);
            }
        }
    };
    Outcome { names: input.into_names(), events, error }
}

pub(crate) fn read_whole(bytes: Vec<u8>) -> (Names, Vec<Event>) {
    let read = read(io::Cursor::new(bytes));
    assert_eq!(read.error, None);
    (read.names, read.events)
}

/// Gives one byte at a time, and is interrupted now and then.
pub(crate) struct Trickle(pub(crate) io::Cursor<Vec<u8>>, pub(crate) u32);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let wanted = buffer.len().min(1);
        self.0.read(&mut buffer[..wanted])
    }
}

/// One event of each operation, over plain names.
pub(crate) fn one_of_each() -> (Names, Vec<Event>) {
    let mut names = Names::default();
    for name in ["T1", "T2"] {
        names.threads.intern(name);
    }
    names.variables.intern("x");
    names.locks.intern("l");
    names.barriers.intern("b");
    names.regions.intern("deposit");
    names.sites.intern("bank.c:12");
    let (x, l) = (VarId(0), LockId(0));
    let mut ops = vec![Op::Begin(RegionId::NONE), Op::Begin(RegionId(0)), Op::End, Op::read(x), Op::write(x)];
    ops.extend([Op::Read(x, AccessKind::Atomic), Op::Write(x, AccessKind::Atomic)]);
    ops.extend(UPDATES.map(|kind| Op::Update(x, kind)));
    for mode in [Mode::Exclusive, Mode::Shared] {
        ops.extend([Op::Acquire(l, mode), Op::Release(l, mode)]);
    }
    ops.extend([Op::Wait(l), Op::Fork(ThreadId(1)), Op::Join(ThreadId(1)), Op::Barrier(BarrierId(0))]);
    ops.extend([Op::Alloc(x), Op::Free(x), Op::Escape(x)]);
    let event = |op| Event { thread: ThreadId(0), op, site: SiteId(0) };
    (names, ops.into_iter().map(event).collect())
}
