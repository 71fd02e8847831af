//! Whatever a trace is wrapped in, and whatever is wrong with the wrapping.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use atomvet_trace::{Conventions, ErrorKind, Format, Input, Output, Place};

use crate::common::{Random, Trickle, all_names, random_trace, read, read_whole, to_binary, to_text};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

#[test]
fn compression_makes_no_difference() {
    let (names, events) = random_trace(&mut Random(3), 5000);
    for plain in [to_text(&names, &events), to_binary(&names, &events)] {
        let (first, second) = plain.split_at(plain.len() / 3);
        for packed in [
            gzip(&plain),
            zstd(&plain),
            gzip(&zstd(&plain)),
            zstd(&gzip(&plain)),
            [gzip(first), gzip(second)].concat(),
            [zstd(first), zstd(second)].concat(),
        ] {
            let (read_names, read_events) = read_whole(packed.clone());
            assert_eq!(read_events, events);
            assert_eq!(all_names(&read_names), all_names(&names));
            assert_eq!(read(Trickle(Cursor::new(packed), 0)).events, events);
        }
    }
}

#[test]
fn the_format_and_the_bytes_are_told() {
    let (names, events) = random_trace(&mut Random(4), 100);
    for (format, bytes) in
        [(Format::Text, to_text(&names, &events)), (Format::Binary, to_binary(&names, &events))]
    {
        let packed = gzip(&bytes);
        let length = packed.len() as u64;
        let mut input = Input::from_reader("trace", Box::new(Cursor::new(packed))).expect("it opens");
        assert_eq!(input.format(), format);
        while input.next_block(&mut Vec::new()).expect("the trace is right") {}
        assert_eq!(input.bytes_read(), length);
        assert_eq!(all_names(input.names()), all_names(&names));
        let place = input.place(0);
        assert_eq!(matches!(place, Place::Line(..)), format == Format::Text, "{place:?}");

        let mut output = Output::new(format, &Conventions::default(), Vec::new()).expect("memory takes it");
        output.write(&names, &events).expect("memory takes it");
        assert_eq!(output.finish().expect("memory takes it"), bytes);
    }
}

#[test]
fn a_compressed_trace_cut_off_gives_what_is_whole() {
    let (names, events) = random_trace(&mut Random(6), 30_000);
    let text = to_text(&names, &events);
    for (kind, packed) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
        for twentieth in 1..20 {
            let length = packed.len() * twentieth / 20;
            let outcome = read(Cursor::new(packed[..length].to_vec()));
            let count = outcome.events.len();
            assert_eq!(outcome.events, events[..count]);
            assert!(count > 0 || twentieth < 10, "half of {kind} gives something");
            let error = outcome.error.expect("something is missing");
            assert_eq!(error.kind, ErrorKind::Truncated);
            // If not even the first bytes unpack, no line was begun: where the input ends is all there is to tell.
            let place = if count == 0 { format!(": byte {length}") } else { format!(":{}:1", count + 1) };
            let expected = format!(
                "trace{place}: cannot read on after {count} events: the {kind} data ends too early; it was cut off: copy or record it again"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
    let packed = gzip(&to_binary(&names, &events));
    let error = read(Cursor::new(packed[..packed.len() - 9].to_vec())).error.expect("something is missing");
    assert_eq!(error.kind, ErrorKind::Truncated);
}

#[test]
fn damaged_compression_is_told() {
    let mut packed = gzip(&b"T1|r(x)|1\n".repeat(1000));
    let last = packed.len() - 6;
    packed[last] ^= 1;
    let error = read(Cursor::new(packed)).error.expect("the checksum is wrong");
    assert_eq!(error.kind, ErrorKind::Syntax);
    assert!(error.problem.contains("the gzip data is damaged"), "{error}");

    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("there is memory");
    encoder.include_checksum(true).expect("zstd can do that");
    encoder.write_all(b"T1|r(x)|1\n").expect("memory takes it");
    let mut packed = encoder.finish().expect("memory takes it");
    *packed.last_mut().expect("there is a checksum") ^= 1;
    let error = read(Cursor::new(packed)).error.expect("the checksum is wrong");
    assert_eq!(error.kind, ErrorKind::Syntax);
    assert!(error.problem.contains("the zstd data is damaged"), "{error}");

    let nested = gzip(&zstd(&gzip(b"T1|r(x)|1\n")));
    let error = read(Cursor::new(nested)).error.expect("too deep");
    assert_eq!(error.to_string(), "trace: found gzip inside gzip, expected a trace; unpack it first");
}

/// Gives some bytes and then fails.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_source_that_fails_is_told() {
    let outcome = read(Broken(Cursor::new(b"T1|r(x)|1\nT1|r(x)|2\nT1|r".to_vec())));
    assert_eq!(outcome.events.len(), 2);
    let error = outcome.error.expect("the source fails");
    assert_eq!(error.kind, ErrorKind::Io);
    let expected =
        "trace:3:1: cannot read on after 2 events: the disk is gone; check the file or pipe it comes from";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn files_that_cannot_be_read_are_told() {
    let error = |path: &str| Input::open(Path::new(path)).err().expect("it does not open");
    let missing = error("no/such/file");
    assert_eq!(missing.kind, ErrorKind::Io);
    assert_eq!(
        missing.to_string(),
        "no/such/file: cannot open the trace: No such file or directory (os error 2); check the name"
    );
    let directory = error("src");
    assert_eq!(directory.kind, ErrorKind::Io);
    assert_eq!(directory.to_string(), "src: found a directory, expected a trace; name the files in it");
}

#[test]
fn nothing_is_a_trace_without_events() {
    for bytes in [Vec::new(), gzip(b""), zstd(b""), b"\n# nothing\n".to_vec()] {
        assert_eq!(read_whole(bytes).1, []);
    }
}
