//! Whatever the bytes are, reading them as text neither panics nor loses anything: what was read
//! can be written, and reads the same again.
//! `cargo +nightly fuzz run read_text`
#![no_main]

use atomvet_trace::{Event, Names, std_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (names, events) = read(bytes);
    let text = write(&names, &events);
    let (names_again, events_again) = read(&text);
    // An error may have left a name behind that no event uses; with those gone, ids may differ.
    assert_eq!(events_again.len(), events.len());
    assert_eq!(write(&names_again, &events_again), text);
});

/// What stands before the end, or before the first error.
fn read(bytes: &[u8]) -> (Names, Vec<Event>) {
    let mut reader = std_text::Reader::new("trace", bytes);
    let (mut block, mut events) = (Vec::new(), Vec::new());
    while let Ok(true) = reader.next_block(&mut block) {
        events.extend_from_slice(&block);
    }
    (reader.into_names(), events)
}

fn write(names: &Names, events: &[Event]) -> Vec<u8> {
    let mut writer = std_text::Writer::new(Vec::new());
    writer.write(names, events).expect("what was read can be written");
    writer.finish().expect("memory takes it")
}
