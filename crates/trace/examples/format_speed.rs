//! How fast the trace formats are read and written, and how large they are:
//! `cargo run --release -p atomvet-trace --example format_speed [EVENTS] [TRACE]`.
//! Without a trace, a synthetic one is used: 12 threads run blocks of a few dozen sites each over
//! 20,000 variables, of which few are hot.
#![expect(clippy::print_stdout, reason = "an example speaks to its user")]

use atomvet_trace::{Event, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, VarId, binary, std_text};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(n)) >> 64) as u64
    }
}

fn synthetic(events: usize) -> (Names, Vec<Event>) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut names = Names::default();
    let mut trace = Vec::with_capacity(events);
    let mut threads = vec![(0_u64, 0_u64, 0_u64); 12];
    for thread in 0..12 {
        names.threads.intern(&format!("T{thread}"));
    }
    for site in 0..3000 {
        names.sites.intern(&format!("{}", 100 + site));
    }
    for variable in 0..20_000 {
        names.variables.intern(&format!("V{variable}"));
    }
    for lock in 0..200 {
        names.locks.intern(&format!("L{lock}"));
    }
    let mut thread = 0;
    while trace.len() < events {
        if random.below(4) == 0 {
            thread = random.below(12) as usize;
        }
        let (function, step, object) = &mut threads[thread];
        if *step == 0 {
            *function = random.below(100);
            *object = random.below(2500) * random.below(2500) / 2500 * 8;
        }
        let site = SiteId((*function * 30 + *step) as u32);
        let lock = LockId((*object / 8 % 200) as u32);
        let variable = VarId((*object + random.below(8)) as u32);
        let op = match *step {
            0 => Op::Begin(RegionId::NONE),
            1 => Op::Acquire(lock, Mode::Exclusive),
            12 => Op::Release(lock, Mode::Exclusive),
            29 => Op::End,
            _ if random.below(3) == 0 => Op::write(variable),
            _ => Op::read(variable),
        };
        *step = (*step + 1) % 30;
        trace.push(Event { thread: ThreadId(thread as u32), op, site });
    }
    (names, trace)
}

/// Processor time of this thread, so that other work on the machine counts less.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.expect("schedstat starts with a number") / 1e9
}

/// The best of five runs.
fn time<T>(what: &str, events: usize, bytes: usize, work: impl Fn() -> T) -> T {
    let mut best = f64::INFINITY;
    let mut result = None;
    for _ in 0..5 {
        let start = processor_seconds();
        result = Some(work());
        best = best.min(processor_seconds() - start);
    }
    let millions = events as f64 / best / 1e6;
    println!("{what:14} {millions:7.1} million events/s  {:7.0} MB/s", bytes as f64 / best / 1e6);
    result.unwrap_or_else(work)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(5_000_000);
    let (names, events) = match arguments.next() {
        None => synthetic(count),
        Some(file) => {
            let file = std::fs::File::open(file).expect("the trace opens");
            let mut reader = std_text::Reader::new("trace", file);
            let (mut block, mut events) = (Vec::new(), Vec::new());
            while reader.next_block(&mut block).expect("the trace is right") && events.len() < count {
                events.extend_from_slice(&block);
            }
            (reader.into_names(), events)
        }
    };
    let count = events.len();

    let text_size = text(&names, &events).len();
    let text = time("text write", count, text_size, || text(&names, &events));
    time("text read", count, text.len(), || {
        let mut reader = std_text::Reader::new("trace", &text[..]);
        let (mut block, mut read) = (Vec::new(), 0);
        while reader.next_block(&mut block).expect("our own text is right") {
            read += block.len();
        }
        assert_eq!(read, count);
    });
    let packed = binary(&names, &events);
    time("binary write", count, packed.len(), || binary(&names, &events));
    time("binary read", count, packed.len(), || {
        let mut reader = binary::Reader::new("trace", &packed[..]).expect("there is memory");
        let (mut block, mut read) = (Vec::new(), 0);
        while reader.next_block(&mut block).expect("our own bytes are right") {
            read += block.len();
        }
        assert_eq!(read, count);
    });
    println!("{:.2} bytes/event as binary", packed.len() as f64 / count as f64);
    println!("{:.2} bytes/event as text", text.len() as f64 / count as f64);
}

fn text(names: &Names, events: &[Event]) -> Vec<u8> {
    let mut writer = std_text::Writer::new(Vec::new());
    for block in events.chunks(4096) {
        writer.write(names, block).expect("all names can be written");
    }
    writer.finish().expect("memory takes it")
}

fn binary(names: &Names, events: &[Event]) -> Vec<u8> {
    let mut writer = binary::Writer::new(Vec::new()).expect("there is memory");
    for block in events.chunks(4096) {
        writer.write(names, block).expect("all names can be written");
    }
    writer.finish().expect("memory takes it")
}
