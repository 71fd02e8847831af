//! The text format: what is read, what is written, and the words for what is wrong.

use crate::common::{
    Random, Trickle, all_names, one_of_each, random_trace, read, read_whole, to_binary, to_text,
};
use atomvet_trace::{ErrorKind, Event, LockId, Mode, Names, Op, Place, SiteId, ThreadId, VarId, std_text};

/// The error of a trace, as it is shown.
fn error(text: &[u8]) -> String {
    let error = read(std::io::Cursor::new(text.to_vec())).error.expect("the trace is wrong");
    assert_eq!(error.kind, ErrorKind::Syntax);
    error.to_string()
}

/// Reads `text`, and expects that writing it gives `canonical`.
fn check(text: &str, canonical: &str) {
    let (names, events) = read_whole(text.as_bytes().to_vec());
    assert_eq!(String::from_utf8(to_text(&names, &events)).expect("text is UTF-8"), canonical);
}

#[test]
fn every_operation_is_read_and_written() {
    let text = "\
T1|begin|bank.c:12
T1|begin(deposit)|bank.c:12
T1|end|bank.c:12
T1|r(x)|bank.c:12
T1|w(x)|bank.c:12
T1|ar(x)|bank.c:12
T1|aw(x)|bank.c:12
T1|rmw(x)|bank.c:12
T1|add(x)|bank.c:12
T1|or(x)|bank.c:12
T1|and(x)|bank.c:12
T1|xor(x)|bank.c:12
T1|min(x)|bank.c:12
T1|max(x)|bank.c:12
T1|same(x)|bank.c:12
T1|acq(l)|bank.c:12
T1|rel(l)|bank.c:12
T1|racq(l)|bank.c:12
T1|rrel(l)|bank.c:12
T1|wait(l)|bank.c:12
T1|fork(T2)|bank.c:12
T1|join(T2)|bank.c:12
T1|barrier(b)|bank.c:12
T1|alloc(x)|bank.c:12
T1|free(x)|bank.c:12
T1|escape(x)|bank.c:12
";
    let (names, events) = read_whole(text.as_bytes().to_vec());
    assert_eq!((all_names(&names), events), (all_names(&one_of_each().0), one_of_each().1));
    check(text, text);
}

#[test]
fn canonical_text_comes_back_unchanged() {
    for text in [
        "",
        "T1|r(x)|0\n",
        "T1|r(x)|18446744073709551615\n",
        "a b|w( x )|dir/my file.c:12\n",
        " T|r((()))|1\n  |w(x)|2\n",
        "\\#T|begin(#)|1\n \t\\#T|r(#)|1\nT#|w(#)|1\n",
        "a\\pb|r(c\\nd\\re\\\\f)|g\\ph:1\n",
        "é|w(∀)|ü.c:3\n",
        "begin|begin(begin)|1\nend|end|1\n",
    ] {
        check(text, text);
    }
}

#[test]
fn other_spellings_are_read_too() {
    check("T1|r(x)|1", "T1|r(x)|1\n");
    check("\n# T1|r(x)|1\n  # also\n \t \nT1|r(x)|1\n\n", "T1|r(x)|1\n");
    check("T1|r(x)|1\r\n\r\nT2|w(y)|a.c:1\r\n", "T1|r(x)|1\nT2|w(y)|a.c:1\n");
    check("T1|w(x)|1\r", "T1|w(x)|1\n");
    check("T1|begin()|007\nT1|end()|000\n", "T1|begin|7\nT1|end|0\n");
    check("T1|begin(f)|1\nT1|end(f)|2\n", "T1|begin(f)|1\nT1|end|2\n");
    check("T1|r(x)|00000000000000000000000000000012\n", "T1|r(x)|12\n");
    check("\u{feff}T1|r(x)|1\nT1|r(x)|1\n", "T1|r(x)|1\nT1|r(x)|1\n");
    check("\u{feff}# comment\nT1|r(x)|1\n", "T1|r(x)|1\n");
}

#[test]
fn what_was_never_in_a_trace_is_written_sensibly() {
    let mut names = Names::default();
    names.threads.intern("T");
    names.locks.intern("l");
    let event = |op| Event { thread: ThreadId(0), op, site: SiteId::NONE };
    let (exclusive, shared) = (Mode::Exclusive, Mode::Shared);
    let events = [
        event(Op::Reacquire(LockId(0), exclusive)),
        event(Op::Skip),
        event(Op::Rerelease(LockId(0), exclusive)),
        event(Op::Reacquire(LockId(0), shared)),
        event(Op::Rerelease(LockId(0), shared)),
    ];
    let text = to_text(&names, &events);
    assert_eq!(text, b"T|acq(l)|0\nT|rel(l)|0\nT|racq(l)|0\nT|rrel(l)|0\n");

    names.sites.intern("somewhere");
    names.variables.intern("");
    let write =
        |event: Event| std_text::Writer::new(Vec::new()).write(&names, &[event]).map_err(|e| e.to_string());
    assert_eq!(
        write(Event { site: SiteId(0), ..event(Op::End) }),
        Err("the site `somewhere` is neither a number nor file:line nor module+0xoffset".to_owned())
    );
    assert_eq!(write(event(Op::read(VarId(0)))), Err("a name is empty".to_owned()));
}

#[test]
fn errors_say_where_what_and_how() {
    let good = "# é\nT1|r(x)|1\n";
    let check = |line: &str, expected: &str| {
        // Both a short text and one that the fast path reads.
        for rest in [String::new(), "\nT2|w(yyyyyyyyyy)|2".repeat(9)] {
            assert_eq!(error(format!("{good}{line}{rest}").as_bytes()), format!("trace:3:{expected}"));
        }
    };
    const ALL: &str = "acq add alloc and ar aw barrier begin end escape fork free join max min or r racq rel rmw rrel same w wait xor";
    check(
        "T1",
        "3: found 1 field, expected 3: thread|operation|site; write an event as in T1|w(x)|12, or put # in front of a comment",
    );
    check(
        "T1|r(x)",
        "8: found 2 fields, expected 3: thread|operation|site; add the site, or |0 if it is not known",
    );
    check(
        "T1|r(x)|1|2",
        r"10: found 4 fields, expected 3: thread|operation|site; write a | that belongs to a name as \p",
    );
    check(
        "é|r(x)||",
        r"8: found 4 fields, expected 3: thread|operation|site; write a | that belongs to a name as \p",
    );
    check(
        "|r(x)|1",
        "1: found an empty thread name, expected at least one character; name the thread in front of the first |, as in T1|w(x)|12",
    );
    check(
        "T1|r()|1",
        "6: found `r()` with an empty name, expected the name of a variable; put the name in parentheses, as in r(x)",
    );
    check(
        "é|acq()|1",
        "7: found `acq()` with an empty name, expected the name of a lock; put the name in parentheses, as in acq(x)",
    );
    check("T1|read(x)|1", &format!("4: found `read(x)`, expected one of {ALL}; did you mean r?"));
    check("T1|aqc(x)|1", &format!("4: found `aqc(x)`, expected one of {ALL}; did you mean acq?"));
    check("T1|Fork(x)|1", &format!("4: found `Fork(x)`, expected one of {ALL}; did you mean fork?"));
    check(
        "T1|barriers(x)|1",
        &format!("4: found `barriers(x)`, expected one of {ALL}; did you mean barrier?"),
    );
    check("T1| w(x)|1", &format!("4: found ` w(x)`, expected one of {ALL}; did you mean w?"));
    check(
        "T1||1",
        &format!(
            "4: found ``, expected one of {ALL}; write an operation as in w(x), and leave no spaces around the |"
        ),
    );
    check(
        "T1|\u{1}barrier(x)|1",
        &format!("4: found `\\u{{1}}barrier(x)`, expected one of {ALL}; did you mean barrier?"),
    );
    check(
        "T1|frobnicate(x)|1",
        &format!(
            "4: found `frobnicate(x)`, expected one of {ALL}; write an operation as in w(x), and leave no spaces around the |"
        ),
    );
    check(
        "T1|r|1",
        "4: found `r`, expected r(name); put the name of a variable in parentheses, and nothing behind them",
    );
    check(
        "T1|fork(x|1",
        "4: found `fork(x`, expected fork(name); put the name of a thread in parentheses, and nothing behind them",
    );
    check(
        "T1|r(x) |1",
        "4: found `r(x) `, expected r(name); put the name of a variable in parentheses, and nothing behind them",
    );
    check("T1|begin(x|1", "4: found `begin(x`, expected begin or begin(label); close the parenthesis");
    check(
        r"T1|r(a\qb)|1",
        r"7: found `\q`, expected one of the escapes \p \n \r \\ \#; write a backslash that belongs to a name as \\",
    );
    check(
        r"é\é|r(a)|1",
        r"2: found `\é`, expected one of the escapes \p \n \r \\ \#; write a backslash that belongs to a name as \\",
    );
    check(
        r"T\|r(a)|1",
        r"2: found a backslash at the end of a name, expected one of the escapes \p \n \r \\ \#; write a backslash that belongs to a name as \\",
    );
    check(
        "T1|end(\\x)|1",
        r"8: found `\x`, expected one of the escapes \p \n \r \\ \#; write a backslash that belongs to a name as \\",
    );
    check(
        r"T1|r(x)|\:1",
        r"9: found `\:`, expected one of the escapes \p \n \r \\ \#; write a backslash that belongs to a name as \\",
    );
    for site in ["abc", "-1", " 1", "1 ", "a.c", ":1", "a.c:", "1.5", "a.c:1:"] {
        check(
            &format!("T1|r(x)|{site}"),
            &format!(
                "9: found `{site}`, expected a site: a number, file:line or module+0xoffset; write 0 if the site is not known"
            ),
        );
    }
    check(
        "T1|r(x)|",
        "9: found an empty site, expected a site: a number, file:line or module+0xoffset; write 0 if the site is not known",
    );
    check(
        "T1|r(x)|18446744073709551616",
        "9: number out of range: found `18446744073709551616`, expected at most 18446744073709551615; write 0 if the site is not known",
    );
    check(
        "T1|r(x)|é:99999999999999999999",
        "11: number out of range: found `99999999999999999999`, expected at most 18446744073709551615; write 0 if the site is not known",
    );
    let long = "x".repeat(100);
    check(
        &format!("T1|{long}|1"),
        &format!(
            "4: found `{}…`, expected one of {ALL}; write an operation as in w(x), and leave no spaces around the |",
            &long[..40]
        ),
    );
}

#[test]
fn what_is_not_utf8_is_told_where_it_stands() {
    let text = b"T1|r(x)|1\n\nT2|w(\xc3\xa9\xff)|1\nT3|bad\n";
    let expected = "trace:3:7: found the byte 0xff, which is not UTF-8, expected text; convert the names to UTF-8, or check that this is a trace";
    assert_eq!(error(text), expected);
    assert_eq!(read(std::io::Cursor::new(text.to_vec())).events.len(), 1);
    // What is wrong first is told first.
    assert!(error(b"T1\nT2|w(\xff)|1\n").starts_with("trace:1:3: found 1 field"));
    // A character that the end cuts off.
    assert!(error(b"T1|w(\xc3").starts_with("trace:1:6: found the byte 0xc3"));
}

#[test]
fn lines_may_be_long_but_not_endless() {
    let longest = std_text::LONGEST_LINE;
    let name = "x".repeat(longest - "T|r()|1\n".len());
    check(&format!("T|w(y)|1\nT|r({name})|1\n"), &format!("T|w(y)|1\nT|r({name})|1\n"));
    let text = format!("T|w(y)|1\nT|r(xx{name})|1\n");
    let expected = "trace:2:1: found a line of more than 1048576 bytes, expected a shorter one; check that this is a trace, with one event per line";
    assert_eq!(error(text.as_bytes()), expected);
}

#[test]
fn events_know_their_lines() {
    let mut text = String::from("# head\n\n");
    let mut lines = Vec::new();
    let mut random = Random(7);
    for line in 3..60_000 {
        if random.below(5) == 0 {
            text.push_str("#\n");
        } else {
            text.push_str("T1|w(x)|12\n");
            lines.push(line);
        }
    }
    let mut reader = std_text::Reader::new("trace", text.as_bytes());
    let (mut block, mut found) = (Vec::new(), Vec::new());
    let mut blocks = 0;
    while reader.next_block(&mut block).expect("the trace is right") {
        found.extend((0..block.len()).map(|index| reader.place(index)));
        blocks += 1;
    }
    assert!(blocks > 1);
    assert_eq!(found, lines.iter().map(|&line| Place::Line(line, 1)).collect::<Vec<_>>());
}

#[test]
fn random_events_survive_text() {
    for seed in 1..60 {
        let mut random = Random(seed * 0x9e37_79b9);
        let count = if seed == 1 { 100_000 } else { random.below(300) };
        let (names, events) = random_trace(&mut random, count);
        let text = to_text(&names, &events);
        let (read_names, read_events) = read_whole(text.clone());
        assert_eq!(read_events, events);
        assert_eq!(all_names(&read_names), all_names(&names));
        assert_eq!(to_text(&read_names, &read_events), text);
        // Through the other format.
        let (names, events) = read_whole(to_binary(&read_names, &read_events));
        assert_eq!(to_text(&names, &events), text);
    }
}

#[test]
fn a_trickle_reads_the_same() {
    let (names, events) = random_trace(&mut Random(99), 500);
    for bytes in [to_text(&names, &events), to_binary(&names, &events)] {
        let outcome = read(Trickle(std::io::Cursor::new(bytes), 0));
        assert_eq!((outcome.error, outcome.events), (None, events.clone()));
        assert_eq!(all_names(&outcome.names), all_names(&names));
    }
}

#[test]
fn a_place_without_debug_information_is_a_site() {
    for site in ["libx.so.1+0x1f3a", "a b+0x0", "odd+0x1+0x2"] {
        let line = format!("T|w(x)|{site}\n");
        check(&line, &line);
    }
}
