//! What can be wrong with a line of a text trace, in words: what was found, what was expected,
//! what to do. Nothing here runs for a line that is right.

use crate::opcode::{OPERATIONS, Target};
use crate::{Error, ErrorKind, Place};

/// What is wrong with a line, and where in it.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Bytes from the start of the line.
    at: usize,
    problem: String,
    help: String,
}

impl Fault {
    #[cold]
    fn new(at: usize, problem: String, help: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { at, problem, help: help.into() })
    }

    /// The error, given the line's number and text (up to the fault, at least).
    pub(crate) fn into_error(self, file: &str, number: u64, line: &str) -> Error {
        let column = line.get(..self.at).unwrap_or(line).chars().count() as u64 + 1;
        Error {
            file: file.to_owned(),
            place: Place::Line(number, column),
            kind: ErrorKind::Syntax,
            problem: self.problem,
            help: self.help,
        }
    }

    #[cold]
    pub(crate) fn long_line(longest: usize) -> Fault {
        Fault {
            at: 0,
            problem: format!("found a line of more than {longest} bytes, expected a shorter one"),
            help: "check that this is a trace, with one event per line".to_owned(),
        }
    }

    #[cold]
    pub(crate) fn not_utf8(at: usize, byte: u8) -> Fault {
        Fault {
            at,
            problem: format!("found the byte 0x{byte:02x}, which is not UTF-8, expected text"),
            help: "convert the names to UTF-8, or check that this is a trace".to_owned(),
        }
    }

    /// Conventions that are not on the first line.
    #[cold]
    pub(crate) fn late_conventions() -> Fault {
        Fault {
            at: 0,
            problem: "found `#atomvet`, which says how the trace was recorded, expected it on the first line"
                .to_owned(),
            help: "put it there; traces recorded under different conventions cannot be concatenated"
                .to_owned(),
        }
    }

    /// A line without two `|`.
    #[cold]
    pub(crate) fn fields(line: &str) -> Box<Fault> {
        let fields = line.split('|').count();
        let found = if fields == 1 { "1 field".to_owned() } else { format!("{fields} fields") };
        let help = match fields {
            1 => "write an event as in T1|w(x)|12, or put # in front of a comment",
            _ => "add the site, or |0 if it is not known",
        };
        Fault::new(line.len(), format!("found {found}, expected 3: thread|operation|site"), help)
    }

    #[cold]
    pub(crate) fn empty_thread(at: usize) -> Box<Fault> {
        let problem = "found an empty thread name, expected at least one character";
        Fault::new(at, problem.to_owned(), "name the thread in front of the first |, as in T1|w(x)|12")
    }

    #[cold]
    pub(crate) fn unknown_operation(field: &str, at: usize) -> Box<Fault> {
        let word = field.split('(').next().unwrap_or_default();
        let mut keywords: Vec<_> = OPERATIONS.iter().map(|operation| operation.keyword).collect();
        keywords.sort_unstable();
        keywords.dedup();
        let problem = format!("found {}, expected one of {}", quote(field), keywords.join(" "));
        let help = match nearest(word) {
            Some(keyword) => format!("did you mean {keyword}?"),
            None => "write an operation as in w(x), and leave no spaces around the |".to_owned(),
        };
        Fault::new(at, problem, help)
    }

    /// An operation whose parentheses are not right.
    #[cold]
    pub(crate) fn parentheses(field: &str, code: u8, at: usize) -> Box<Fault> {
        let operation = OPERATIONS[usize::from(code)];
        let keyword = operation.keyword;
        let (expected, help) = match operation.target {
            Target::Nothing => (format!("{keyword} or {keyword}(label)"), "close the parenthesis".to_owned()),
            target => {
                let what = target.describe();
                (
                    format!("{keyword}(name)"),
                    format!("put the name of {what} in parentheses, and nothing behind them"),
                )
            }
        };
        Fault::new(at, format!("found {}, expected {expected}", quote(field)), help)
    }

    #[cold]
    pub(crate) fn empty_target(field: &str, code: u8, at: usize) -> Box<Fault> {
        let operation = OPERATIONS[usize::from(code)];
        let (keyword, what) = (operation.keyword, operation.target.describe());
        let problem = format!("found {} with an empty name, expected the name of {what}", quote(field));
        Fault::new(at, problem, format!("put the name in parentheses, as in {keyword}(x)"))
    }

    #[cold]
    pub(crate) fn escape(escaped: Option<char>, at: usize) -> Box<Fault> {
        let found = match escaped {
            Some(escaped) => quote(&format!("\\{escaped}")),
            None => "a backslash at the end of a name".to_owned(),
        };
        let problem = format!(r"found {found}, expected one of the escapes \p \n \r \\ \#");
        Fault::new(at, problem, r"write a backslash that belongs to a name as \\")
    }

    /// A third field that is no site, or more than three fields.
    #[cold]
    pub(crate) fn site(line: &str, at: usize) -> Box<Fault> {
        let field = &line[at..];
        if let Some(bar) = field.find('|') {
            let fields = line.split('|').count();
            let problem = format!("found {fields} fields, expected 3: thread|operation|site");
            return Fault::new(at + bar, problem, r"write a | that belongs to a name as \p");
        }
        let found = if field.is_empty() { "an empty site".to_owned() } else { quote(field) };
        let problem = format!("found {found}, expected a site: a number, file:line or module+0xoffset");
        Fault::new(at, problem, "write 0 if the site is not known")
    }

    #[cold]
    pub(crate) fn out_of_range(number: &str, at: usize) -> Box<Fault> {
        let problem = format!("number out of range: found {}, expected at most {}", quote(number), u64::MAX);
        Fault::new(at, problem, "write 0 if the site is not known")
    }
}

/// What the trace says, short enough to show and without control characters.
fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(|c| {
            // A backslash of the trace is shown as it stands there.
            let plain = (!c.is_control()).then_some(c);
            plain.into_iter().chain(c.escape_default().filter(move |_| c.is_control()))
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The keyword that was probably meant.
fn nearest(word: &str) -> Option<&'static str> {
    const OTHER_WORDS: [(&str, &[&str]); 14] = [
        ("r", &["read", "rd", "load"]),
        ("w", &["write", "wr", "store"]),
        ("ar", &["atomic_read", "atomic_load", "aload"]),
        ("aw", &["atomic_write", "atomic_store", "astore"]),
        ("rmw", &["cas", "xchg", "update", "exchange"]),
        ("acq", &["acquire", "lock"]),
        ("rel", &["release", "unlock"]),
        ("racq", &["rdlock", "acqr", "racquire"]),
        ("rrel", &["rdunlock", "relr", "rrelease"]),
        ("fork", &["start", "spawn", "create"]),
        ("begin", &["enter", "atomic_begin"]),
        ("end", &["exit", "leave", "atomic_end"]),
        ("alloc", &["malloc", "new"]),
        ("free", &["delete", "dealloc"]),
    ];
    let word = word.trim().to_lowercase();
    let keywords = || OPERATIONS.iter().map(|operation| operation.keyword);
    if let Some(same) = keywords().find(|&keyword| keyword == word) {
        return Some(same);
    }
    if let Some((keyword, _)) = OTHER_WORDS.iter().find(|(_, others)| others.contains(&&*word)) {
        return Some(keyword);
    }
    // One letter too much, too few, wrong or swapped, in words where that says something.
    keywords()
        .filter(|keyword| keyword.len() >= 3 && word.len() >= 3)
        .find(|keyword| one_slip(keyword, &word))
}

/// Whether two words differ by one letter, or by two neighbours that changed places.
fn one_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same_start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same_start..], &b[same_start..]);
    match (a, b) {
        ([_, a_rest @ ..], [_, b_rest @ ..]) if a_rest == b_rest => true,
        ([_, a_rest @ ..], b) if a_rest == b => true,
        (a, [_, b_rest @ ..]) if a == b_rest => true,
        ([x, y, a_rest @ ..], [u, v, b_rest @ ..]) => x == v && y == u && a_rest == b_rest,
        _ => false,
    }
}
