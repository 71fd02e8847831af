//! What a trace says about itself, in both formats.

use std::io::Cursor;

use atomvet_trace::{
    Accesses, Conflicts, Conventions, Error, ErrorKind, Event, Format, Input, Names, Output, Place, Updates,
    Waits,
};

use crate::common::{Random, random_trace, read_whole, to_binary, to_text};

const RECORDED: Conventions = Conventions {
    waits: Some(Waits::Split),
    updates: Some(Updates::Commute),
    conflicts: Some(Conflicts::Locks),
    accesses: Some(Accesses::Filtered),
};

fn write(format: Format, conventions: &Conventions, names: &Names, events: &[Event]) -> Vec<u8> {
    let mut output = Output::new(format, conventions, Vec::new()).expect("memory takes it");
    output.write(names, events).expect("it can be written");
    output.finish().expect("memory takes it")
}

fn open(bytes: &[u8]) -> Result<Input, Error> {
    Input::from_reader("trace", Box::new(Cursor::new(bytes.to_vec())))
}

fn said_by(bytes: &[u8]) -> Conventions {
    open(bytes).expect("it opens").conventions()
}

#[test]
fn both_formats_keep_them() {
    let (names, events) = random_trace(&mut Random(1), 500);
    let one = Conventions { waits: Some(Waits::Whole), ..Conventions::default() };
    for conventions in [RECORDED, one, Conventions::default()] {
        for format in [Format::Text, Format::Binary] {
            let bytes = write(format, &conventions, &names, &events);
            assert_eq!(said_by(&bytes), conventions);
            let (read_names, read_events) = read_whole(bytes);
            assert_eq!(to_text(&read_names, &read_events), to_text(&names, &events));
        }
    }
}

#[test]
fn what_says_nothing_is_written_as_before() {
    let (names, events) = random_trace(&mut Random(2), 500);
    let nothing = Conventions::default();
    assert_eq!(write(Format::Text, &nothing, &names, &events), to_text(&names, &events));
    assert_eq!(write(Format::Binary, &nothing, &names, &events), to_binary(&names, &events));
}

#[test]
fn the_first_line_of_text_says_it() {
    let line = "#atomvet waits=split updates=commute conflicts=locks accesses=filtered";
    for text in [
        format!("{line}\nT1|w(x)|1\n"),
        format!("\u{feff}{line}\r\nT1|w(x)|1\n"),
        "#atomvet   waits=split  updates=commute conflicts=locks accesses=filtered \n".to_owned(),
        line.to_owned(),
    ] {
        assert_eq!(said_by(text.as_bytes()), RECORDED, "{text:?}");
    }
    for text in ["", "#", "#atomvet", "# atomvet waits=split\n", "#atomvets waits=split\nT1|w(x)|1\n"] {
        assert_eq!(said_by(text.as_bytes()), Conventions::default(), "{text:?}");
    }
}

#[test]
fn what_is_not_understood_is_an_error() {
    let place = |text: &str| open(text.as_bytes()).err().map(|error| (error.kind, error.place));
    assert_eq!(place("#atomvet waits=split colour=red\n"), Some((ErrorKind::Version, Place::Line(1, 22))));
    assert_eq!(place("#atomvet conflicts=all\n"), Some((ErrorKind::Version, Place::Line(1, 10))));
    assert_eq!(place("\u{feff}#atomvet waits\n"), Some((ErrorKind::Version, Place::Line(1, 10))));
    let long = format!("#atomvet waits=split{}updates=commute\n", " ".repeat(2000));
    assert_eq!(place(&long), Some((ErrorKind::Version, Place::Line(1, 10))));
}

#[test]
fn a_later_line_does_not_say_it() {
    for text in ["T1|w(x)|1\n#atomvet waits=split\n", "# a comment\n#atomvet waits=split\nT1|w(x)|1\n"] {
        let mut input = open(text.as_bytes()).expect("it opens");
        let mut block = Vec::new();
        let error = loop {
            match input.next_block(&mut block) {
                Ok(true) => {}
                Ok(false) => panic!("{text:?} is read to its end"),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind, error.place), (ErrorKind::Syntax, Place::Line(2, 1)), "{text:?}");
    }
}

#[test]
fn damage_and_cuts_are_told_by_the_first_block() {
    let (names, events) = random_trace(&mut Random(3), 50);
    let bytes = write(Format::Binary, &RECORDED, &names, &events);
    let length = bytes.windows(4).position(|four| four == b"EVTS").expect("a block");
    let first_error = |bytes: &[u8]| {
        let mut input = open(bytes).expect("it opens");
        assert_eq!(input.conventions(), Conventions::default());
        input.next_block(&mut Vec::new()).expect_err("it is spoilt").kind
    };
    for cut in 8..length {
        assert_eq!(first_error(&bytes[..cut]), ErrorKind::Truncated, "cut off at {cut}");
    }
    for at in 16..length {
        let mut spoilt = bytes.clone();
        spoilt[at] ^= 0x10;
        let kind = first_error(&spoilt);
        assert!(matches!(kind, ErrorKind::Syntax | ErrorKind::Truncated), "{kind:?} at {at}");
    }
}
