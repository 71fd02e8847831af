//! Whatever the bytes are, reading them as a binary trace does not panic, and what was read can
//! be written and reads the same again.
//!
//! Checksums would keep a fuzzer out, so the bytes are taken apart here: what they say of a block
//! is put into a file whose checksums are right. The first byte chooses between that and the
//! bytes as they are.
//! `cargo +nightly fuzz run read_binary`
#![no_main]

use atomvet_trace::{Event, Names, binary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let file = if kind % 4 == 0 { rest.to_vec() } else { file_around(rest) };
    let (names, events) = read(&file);
    let mut writer = binary::Writer::new(Vec::new()).expect("memory takes it");
    writer.write(&names, &events).expect("what was read can be written");
    let written = writer.finish().expect("memory takes it");
    let (names_again, events_again) = read(&written);
    assert_eq!(events_again, events);
    assert!(names_again.variables.iter().eq(names.variables.iter()));
    assert!(names_again.sites.iter().eq(names.sites.iter()));
});

/// A file whose blocks have the event count, name count and payload that the bytes say.
fn file_around(mut rest: &[u8]) -> Vec<u8> {
    let mut file = binary::seal::file_header().to_vec();
    let (mut number, mut first) = (0, 0);
    while let Some((&[events, names, length], payload)) = rest.split_first_chunk::<3>() {
        let payload = payload.get(..usize::from(length)).unwrap_or(payload);
        rest = &rest[3 + payload.len()..];
        file.extend(binary::seal::block(number, u32::from(events), u32::from(names), first, payload));
        number += 1;
        first += u64::from(events);
    }
    file.extend(binary::seal::end(number, first));
    file
}

/// What stands before the end, or before the first error.
fn read(bytes: &[u8]) -> (Names, Vec<Event>) {
    let mut reader = binary::Reader::new("trace", bytes).expect("there is memory");
    let (mut block, mut events) = (Vec::new(), Vec::new());
    while let Ok(true) = reader.next_block(&mut block) {
        events.extend_from_slice(&block);
    }
    (reader.into_names(), events)
}
