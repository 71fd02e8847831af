//! Blocks that no writer of ours makes, with checksums that are right.

use xxhash_rust::xxh3::xxh3_64;

use super::{BlockHeader, END, EVENTS, LARGEST_PAYLOAD, Reader, Writer, file_header};
use crate::{ErrorKind, Event, Names, Op, Place, SiteId};

/// One event `T|r(x)|0`.
const PAYLOAD: [u8; 14] = [1, 1, b'T', 1, 1, b'x', 0, 0, 0, 0, 2, 0, 0, 0];

fn header(payload: &[u8], packed: &[u8]) -> BlockHeader {
    BlockHeader {
        tag: EVENTS,
        number: 0,
        events: 1,
        names: 2,
        packed: packed.len() as u32,
        unpacked: payload.len() as u32,
        first: 0,
        checksum: xxh3_64(packed),
    }
}

/// Reads a file of one block that is as `change` makes it, and says how it ends.
fn outcome(payload: &[u8], change: impl Fn(&mut BlockHeader)) -> Result<(), (Place, String)> {
    let packed = zstd::bulk::compress(payload, 1).expect("there is memory");
    let mut header = header(payload, &packed);
    change(&mut header);
    let end = BlockHeader {
        tag: END,
        number: 1,
        events: 0,
        names: 0,
        packed: 0,
        unpacked: 0,
        first: 1,
        checksum: xxh3_64(&[]),
    };
    let bytes = [&file_header(1)[..], &header.to_bytes(), &packed, &end.to_bytes()].concat();
    let mut reader = Reader::new("trace", &bytes[..]).expect("there is memory");
    let mut block = Vec::new();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Syntax);
                assert!(block.is_empty());
                return Err((error.place, error.problem));
            }
        }
    }
}

fn check_payload(payload: &[u8], place: Place, expected: &str) {
    assert_eq!(outcome(payload, |_| {}), Err((place, expected.to_owned())));
}

fn check_header(change: impl Fn(&mut BlockHeader), offset: u64, expected: &str) {
    assert_eq!(outcome(&PAYLOAD, change), Err((Place::Offset(offset), expected.to_owned())));
}

#[test]
fn the_block_itself_is_right() {
    assert_eq!(outcome(&PAYLOAD, |_| {}), Ok(()));
}

#[test]
fn headers_are_not_believed() {
    check_header(|h| h.tag = *b"JUNK", 16, "found a block `JUNK`, expected `EVTS` or `END.`");
    check_header(|h| h.number = 1, 20, "found block 1, expected block 0");
    check_header(|h| h.first = 1, 40, "found event number 1, expected 0");
    check_header(|h| h.events = 65_537, 24, "found 65537 events in a block, expected at most 65536");
    check_header(|h| h.unpacked = u32::MAX, 36, "found 4294967295 unpacked bytes, expected at most 8388608");
    check_header(|h| h.packed = u32::MAX, 32, "found 4294967295 packed bytes, expected at most 8421376");
    check_header(|h| h.unpacked = 13, 64, "found a block that does not unpack to 13 bytes");
    check_header(|h| h.unpacked = 15, 64, "found a block that does not unpack to 15 bytes");
    check_header(|h| h.names = 3, 16, "block 0: found 2 new names, expected 3");
    check_header(|h| h.events = 2, 16, "block 0: found 0 bytes left, expected 1 or more");
    check_header(|h| h.tag = END, 16, "found an end marker with contents, expected an empty one");
}

#[test]
fn a_bomb_does_not_go_off() {
    let zeros = vec![0; 4 * LARGEST_PAYLOAD];
    let expected = "found a block that does not unpack to 8388608 bytes";
    let result = outcome(&zeros, |header| header.unpacked = LARGEST_PAYLOAD as u32);
    assert_eq!(result, Err((Place::Offset(64), expected.to_owned())));
}

#[test]
fn payloads_are_not_believed() {
    let block = Place::Offset(16);
    let event = Place::Event(0, 16);
    let with = |at: usize, byte: u8| {
        let mut payload = PAYLOAD;
        payload[at] = byte;
        payload
    };
    check_payload(&with(10, 26), event, "found operation code 26, expected at most 25");
    check_payload(&with(10, 11), event, "found target 0 of `acq`, expected a lock of the 0 named so far");
    check_payload(&with(1, 0), block, "block 0: found a name of 0 bytes, expected 1 to 1048576");
    check_payload(&with(2, 0xff), block, "block 0: found a name that is not UTF-8, expected text");
    check_payload(&with(11, 5), block, "block 0: found a column of 5 bytes per event, expected at most 4");
    check_payload(&with(13, 1), block, "block 0: found 0 bytes left, expected 1 or more");
    check_payload(&PAYLOAD[..13], block, "block 0: found 0 bytes left, expected 1 or more");
    check_payload(&[1, 9, b'T'], block, "block 0: found 1 bytes left, expected 9 or more");
    check_payload(&[2, 1, b'T', 1, b'T'], block, "block 0: found the name `T` twice, expected it once");
    check_payload(&[0xff; 9], block, "block 0: found a number of more than 5 bytes, expected fewer");
    let large = [0xff, 0xff, 0xff, 0xff, 0x7f];
    check_payload(&large, block, "block 0: found the number 34359738367, expected at most 4294967295");
    let mut more = PAYLOAD.to_vec();
    more.push(0);
    check_payload(&more, block, "block 0: found 1 bytes behind the last column, expected none");
    let names = &PAYLOAD[..10];
    let columns = |rest: &[u8]| [names, rest].concat();
    let thread = columns(&[2, 1, 1, 0, 0]);
    check_payload(&thread, event, "found thread 1, expected one of the 1 named so far");
    let target = columns(&[2, 0, 4, 0, 0, 0, 1, 0]);
    check_payload(&target, event, "found target 16777216 of `r`, expected a variable of the 1 named so far");
    let end_with_target = columns(&[1, 0, 1, 1, 0]);
    check_payload(&end_with_target, event, "found target 1 of `end`, expected 0");
    let site = columns(&[2, 0, 0, 3, 1, 0, 0]);
    check_payload(&site, event, "found site 1, expected one of the 0 named so far");
}

/// The length of a trace of 200,000 events, of which the first so many bytes are stored as they are; it is read back.
fn length_with_stored(block_size: usize, bytes: u64) -> usize {
    let mut names = Names::default();
    let thread = names.threads.intern("T");
    let variables: Vec<_> = (0..300).map(|i| names.variables.intern(&format!("x{i}"))).collect();
    let write = |i: usize| Event { thread, op: Op::write(variables[i % 300]), site: SiteId::NONE };
    let events: Vec<Event> = (0..200_000).map(write).collect();
    let writer = Writer::with_block_size(Vec::new(), &crate::Conventions::default(), block_size)
        .expect("there is memory");
    let mut writer = writer.store_first(bytes);
    writer.write(&names, &events).expect("all names are known");
    let written = writer.finish().expect("there is memory");
    let mut reader = Reader::new("trace", &written[..]).expect("there is memory");
    let (mut block, mut read) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).expect("what was written can be read") {
        read.extend_from_slice(&block);
    }
    assert!(read == events);
    written.len()
}

#[test]
fn the_first_bytes_may_be_stored_as_they_are() {
    // A write takes three bytes here: its operation and two planes of targets. The larger blocks are larger than those of zstd.
    for block_size in [1 << 13, 1 << 16] {
        let [none, some, all] = [0, 250_000, u64::MAX].map(|bytes| length_with_stored(block_size, bytes));
        assert!(none < 20_000, "{none}");
        assert!((150_000..270_000).contains(&some), "{some}");
        assert!((600_000..610_000).contains(&all), "{all}");
    }
}
