//! The binary format: round trips, damage, and the example of `docs/trace-formats.md`.

use std::io::Cursor;

use atomvet_trace::{
    Conventions, Error, ErrorKind, Event, Format, Input, LockId, Mode, Names, Op, Place, RegionId, SiteId,
    ThreadId, VarId, binary,
};

use crate::common::{Random, all_names, one_of_each, random_trace, read, read_whole, to_binary, to_text};

/// A small trace of three blocks, and where in the file each of them ends.
fn three_blocks() -> (Names, Vec<Event>, Vec<u8>, Vec<usize>) {
    let (mut names, mut events) = (Names::default(), Vec::new());
    let mut writer = binary::Writer::new(Vec::new()).expect("memory takes it");
    for block in 0..3 {
        let thread = names.threads.intern(&format!("T{block}"));
        let variable = names.variables.intern(&format!("x{block}"));
        let site = names.sites.intern(&format!("a.c:{block}"));
        let new =
            [Op::Begin(RegionId::NONE), Op::write(variable), Op::End].map(|op| Event { thread, op, site });
        writer.write(&names, &new).expect("memory takes it");
        writer.flush().expect("memory takes it");
        events.extend(new);
    }
    let bytes = writer.finish().expect("memory takes it");
    // Where the headers are that start with `EVTS` and `END.`.
    let starts =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"EVTS") || bytes[at..].starts_with(b"END."));
    let ends = starts.skip(1).collect();
    (names, events, bytes, ends)
}

#[test]
fn random_events_survive() {
    for seed in 1..60 {
        let mut random = Random(seed * 0x9e37_79b9);
        let count = if seed < 3 { 100_000 } else { random.below(300) };
        let (names, events) = random_trace(&mut random, count);
        let (read_names, read_events) = read_whole(to_binary(&names, &events));
        assert_eq!(read_events, events);
        assert_eq!(all_names(&read_names), all_names(&names));
    }
}

#[test]
fn blocks_and_their_events_are_numbered() {
    let (names, events) = random_trace(&mut Random(5), binary::EVENTS_PER_BLOCK + 10);
    let bytes = to_binary(&names, &events);
    let mut reader = binary::Reader::new("trace", &bytes[..]).expect("there is memory");
    let mut block = Vec::new();
    assert_eq!(reader.next_block(&mut block), Ok(true));
    assert_eq!(block.len(), binary::EVENTS_PER_BLOCK);
    assert_eq!(reader.place(3), Place::Event(3, 16));
    assert_eq!(reader.next_block(&mut block), Ok(true));
    let Place::Event(65_536, offset) = reader.place(0) else { panic!("{:?}", reader.place(0)) };
    assert!(bytes[offset as usize..].starts_with(b"EVTS"));
    assert_eq!(reader.next_block(&mut block), Ok(false));
}

#[test]
fn names_in_great_number_go_into_blocks_of_their_own() {
    let mut names = Names::default();
    names.threads.intern("T");
    names.variables.intern(&"x".repeat(binary::LONGEST_NAME));
    for variable in 0..200_000 {
        names.variables.intern(&format!("a variable with a long name {variable}"));
    }
    let events = [Event { thread: ThreadId(0), op: Op::read(VarId(200_000)), site: SiteId::NONE }];
    let (read_names, read_events) = read_whole(to_binary(&names, &events));
    assert_eq!(read_events, events);
    assert_eq!(all_names(&read_names), all_names(&names));
}

#[test]
fn a_second_reading_may_know_the_names() {
    for seed in 1..20 {
        let mut random = Random(seed * 0x9e37_79b9);
        let count = random.below(3000);
        let (names, events) = random_trace(&mut random, count);
        // Whatever is read so has its names in several blocks.
        let mut parts = binary::Writer::with_block_size(Vec::new(), &Conventions::default(), 100)
            .expect("memory takes it");
        let mut text =
            Input::from_reader("trace", Box::new(Cursor::new(to_text(&names, &events)))).expect("a text");
        let mut block = Vec::new();
        while text.next_block(&mut block).expect("a text") {
            parts.write(text.names(), &block).expect("memory takes it");
        }
        for bytes in [parts.finish().expect("memory takes it"), to_text(&names, &events)] {
            let mut input = Input::from_reader("trace", Box::new(Cursor::new(bytes))).expect("a trace");
            input.know(names.clone());
            let mut again = Vec::new();
            while input.next_block(&mut block).expect("a trace") {
                assert!(block.len() <= 100 || input.format() == Format::Text);
                again.extend_from_slice(&block);
            }
            assert_eq!(again, events);
            assert_eq!(all_names(input.names()), all_names(&names));
        }
    }
}

#[test]
fn names_that_no_event_uses_are_kept() {
    let (names, _) = one_of_each();
    let (read_names, read_events) = {
        let mut writer = binary::Writer::new(Vec::new()).expect("memory takes it");
        writer.write(&names, &[]).expect("memory takes it");
        read_whole(writer.finish().expect("memory takes it"))
    };
    assert_eq!((all_names(&read_names), read_events), (all_names(&names), vec![]));
}

#[test]
fn what_wellformedness_adds_is_taken_back() {
    let mut names = Names::default();
    names.threads.intern("T");
    names.locks.intern("l");
    let event = |op| Event { thread: ThreadId(0), op, site: SiteId::NONE };
    let (l, mode) = (LockId(0), Mode::Shared);
    let written = [Op::Reacquire(l, mode), Op::Skip, Op::Rerelease(l, mode)].map(event);
    let expected = [Op::Acquire(l, mode), Op::Release(l, mode)].map(event);
    assert_eq!(read_whole(to_binary(&names, &written)).1, expected);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let write = |names: &Names, event: Event| {
        let mut writer = binary::Writer::new(Vec::new()).expect("memory takes it");
        writer.write(names, &[event]).map_err(|error| (error.kind(), error.to_string()))
    };
    let invalid = |problem: &str| Err((std::io::ErrorKind::InvalidData, problem.to_owned()));
    let mut names = Names::default();
    let event = Event { thread: ThreadId(0), op: Op::End, site: SiteId::NONE };
    let shown = "Event { thread: Thread0, op: End, site: Site4294967295 } has an id without a name";
    assert_eq!(write(&names, event), invalid(shown));
    names.threads.intern("");
    assert_eq!(write(&names, event), invalid("a name of 0 bytes cannot be written"));
}

#[test]
fn a_file_cut_off_anywhere_gives_its_whole_blocks() {
    let (_, events, bytes, ends) = three_blocks();
    assert_eq!(read_whole(bytes.clone()).1, events);
    // Nothing at all is an empty text.
    assert_eq!(read_whole(Vec::new()).1, []);
    for length in 1..bytes.len() {
        let outcome = read(Cursor::new(bytes[..length].to_vec()));
        let whole = ends.iter().filter(|&&end| end <= length).count();
        assert_eq!(outcome.events, events[..3 * whole], "{length}");
        let error = outcome.error.expect("something is missing");
        assert_eq!((error.kind, error.place), (ErrorKind::Truncated, Place::Offset(length as u64)));
        let problem = format!("the trace ends too early, after {} whole events: found ", 3 * whole);
        assert!(error.problem.starts_with(&problem), "{error}");
    }
    let show =
        |length: usize| read(Cursor::new(bytes[..length].to_vec())).error.map(|error| error.to_string());
    let expect = |place: usize, rest: &str| {
        Some(format!(
            "trace: byte {place}: the trace ends too early, after {rest}; it was cut off: copy or record it again"
        ))
    };
    assert_eq!(show(5), expect(5, "0 whole events: found 5 of the 16 bytes of the file header"));
    let end = ends[0];
    assert_eq!(
        show(end),
        expect(end, "3 whole events: found 0 of the 48 bytes of the next block or the end marker")
    );
    let length = ends[1] - end - 48;
    let rest = format!("3 whole events: found 1 of the {length} bytes of block 1");
    assert_eq!(show(end + 49), expect(end + 49, &rest));
}

#[test]
fn no_damaged_byte_goes_unnoticed() {
    let (_, events, bytes, ends) = three_blocks();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let outcome = read(Cursor::new(damaged));
            assert!(outcome.error.is_some(), "byte {at}");
            let whole = ends.iter().filter(|&&end| end <= at).count();
            assert_eq!(outcome.events, events[..3 * whole], "byte {at}");
        }
    }
}

#[test]
fn errors_say_where_what_and_how() {
    let (_, _, bytes, ends) = three_blocks();
    let show = |bytes: Vec<u8>| -> Error {
        let mut reader = binary::Reader::new("trace", Cursor::new(bytes)).expect("there is memory");
        let mut block = Vec::new();
        loop {
            match reader.next_block(&mut block) {
                Ok(more) => assert!(more, "an error was expected"),
                Err(error) => return error,
            }
        }
    };
    let damaged = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        show(bytes)
    };
    let check = |error: Error, kind: ErrorKind, expected: &str| {
        assert_eq!((error.kind, &*error.to_string()), (kind, expected));
    };
    let syntax = ErrorKind::Syntax;
    check(
        damaged(1),
        syntax,
        "trace: byte 0: found the bytes [93, 51, 54, 56, 0d, 0a, 1a, 0a], expected [93, 41, 54, 56, 0d, 0a, 1a, 0a]; check that this is a trace that atomvet wrote",
    );
    check(
        damaged(8),
        ErrorKind::Version,
        "trace: byte 8: found version 17 of the format, expected at most 2; upgrade atomvet, or convert the trace to text with the one that wrote it",
    );
    check(
        damaged(12),
        syntax,
        "trace: byte 0: found the file header with a wrong checksum, after 0 whole events; the trace is damaged: copy or record it again",
    );
    let start = ends[0];
    check(
        damaged(start + 9),
        syntax,
        &format!(
            "trace: byte {start}: found the header of block 1 with a wrong checksum, after 3 whole events; the trace is damaged: copy or record it again"
        ),
    );
    check(
        damaged(start + 60),
        syntax,
        &format!(
            "trace: byte {}: found block 1 with a wrong checksum, after 3 whole events; the trace is damaged: copy or record it again",
            start + 48
        ),
    );
    let mut more = bytes.clone();
    more.push(0);
    check(
        show(more),
        syntax,
        &format!(
            "trace: byte {}: found more bytes behind the end marker, expected nothing; cut the file off here; traces cannot be concatenated",
            bytes.len()
        ),
    );
    let without = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
    check(
        show(without),
        syntax,
        &format!(
            "trace: byte {}: found block 2, expected block 1; part of the trace is missing: copy or record it again",
            ends[0] + 4
        ),
    );
}

/// The bytes that the documentation explains are those that are written.
#[test]
fn the_documented_example_is_true() {
    let page = include_str!("../../../../docs/trace-formats.md");
    let example = page.split("<!-- example -->").nth(1).expect("the example is marked");
    let block = |language: &str| {
        let rest = example.split(&format!("```{language}\n")).nth(1).expect("the example has both forms");
        rest.split("```").next().expect("split gives one piece at least").to_owned()
    };
    let hex: Vec<u8> = block("hex")
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits"))
        .collect();
    let text = block("text").into_bytes();
    let (names, events) = read_whole(text.clone());
    assert_eq!(to_binary(&names, &events), hex);
    let (names, events) = read_whole(hex);
    assert_eq!(to_text(&names, &events), text);
}
