//! `atomvet cc` and `atomvet c++`: a compiler that makes programs which can be watched.
//!
//! The arguments go to gcc, g++, clang or clang++ as they are, followed by those that instrument accesses, keep the
//! boundaries of functions that are inlined, and link hooks that do nothing (`crates/runtime-live/src/linked`). The result depends on
//! no file of ours and runs like any other program; under `atomvet run` the hooks call the runtime.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::run::library::Library;
use crate::status::Status;
use crate::{bounded, say};

/// Which language a compiler is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// `atomvet cc`.
    C,
    /// `atomvet c++`.
    Cpp,
}

/// Options of `cc` and `c++`: the compiler's.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// All arguments go to the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Gcc,
    Clang,
}

/// If the command line is that of a compiler, becomes the compiler. It has options of its own for help and version, so
/// this comes before ours are looked for.
pub(crate) fn intercept() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let language = match arguments.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cpp,
        _ => return None,
    };
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.is_empty() {
        return None;
    }
    Some(become_compiler(language, &arguments))
}

fn become_compiler(language: Language, arguments: &[OsString]) -> ExitCode {
    let (variable, usual) = match language {
        Language::C => ("ATOMVET_CC", "gcc"),
        Language::Cpp => ("ATOMVET_CXX", "g++"),
    };
    let compiler = std::env::var_os(variable).filter(|name| !name.is_empty()).unwrap_or_else(|| usual.into());
    let mut command = Command::new(&compiler);
    command.args(arguments);
    match Library::unpack() {
        Ok(library) => {
            let arguments = &expanded(arguments, 0)[..];
            if is_static(arguments) {
                say::note(
                    "-static: compiled without hooks, because no runtime can be loaded into a static program; leave out -static to check it",
                );
            }
            command.args(added(family(&compiler), arguments, &library));
        }
        Err(error) => say::note(format!("{error:#}; compiled without hooks")),
    }
    let error = command.exec();
    let compiler = compiler.to_string_lossy();
    say::error(format!("{compiler}: cannot be run: {error}; set {variable} to the compiler to use"));
    Status::BadInput.into()
}

/// Compilers are often called otherwise than they are, so they are asked.
fn family(compiler: &OsStr) -> Family {
    let name = compiler.to_string_lossy();
    if name.contains("clang") {
        return Family::Clang;
    }
    if name.contains("gcc") || name.contains("g++") {
        return Family::Gcc;
    }
    let answer = Command::new(compiler).arg("--version").output().map(|o| o.stdout).unwrap_or_default();
    if String::from_utf8_lossy(&answer).contains("clang") { Family::Clang } else { Family::Gcc }
}

/// What stands in response files, `@FILE`, in their place. Compilers split them at white space, outside of quotes; a file that
/// cannot be read is an argument like any other.
fn expanded(arguments: &[OsString], depth: usize) -> Vec<OsString> {
    /// Files may name files, but not for ever.
    const DEEPEST: usize = 8;
    let mut all = Vec::new();
    for argument in arguments {
        let file = argument.to_str().and_then(|text| text.strip_prefix('@')).filter(|_| depth < DEEPEST);
        match file.and_then(|file| bounded::text(Path::new(file))) {
            Some(text) => all.extend(expanded(&words(&text), depth + 1)),
            None => all.push(argument.clone()),
        }
    }
    all
}

/// The words of a response file.
fn words(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            _ if c.is_whitespace() && quote.is_none() => words.extend(word.take().map(OsString::from)),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

/// Whether a program is to be made into which no runtime can be loaded.
fn is_static(arguments: &[OsString]) -> bool {
    arguments.iter().any(|a| a == "-static" || a == "-static-pie")
}

/// The arguments behind those of the user.
fn added(family: Family, arguments: &[OsString], library: &Library) -> Vec<OsString> {
    let has = |wanted: &[&str]| arguments.iter().any(|a| wanted.iter().any(|w| a == w));
    // Programs without the usual libraries cannot have ours either, nor can those for other machines or sanitizers.
    let others = ["-fsanitize=address", "-fsanitize=memory", "-fsanitize=hwaddress", "-fsanitize=leak"];
    if has(&["-nostdlib", "-nodefaultlibs", "-ffreestanding", "-m32", "-mx32"])
        || arguments.iter().any(|a| others.iter().any(|other| a.to_string_lossy().starts_with(other)))
    {
        return Vec::new();
    }
    let mut added: Vec<OsString> = Vec::new();
    let mut add = |arguments: &[&str]| added.extend(arguments.iter().map(OsString::from));
    let directory = library.directory.to_string_lossy();
    // A dash alone is standard input.
    let has_input = arguments.iter().any(|a| a == "-" || !a.to_string_lossy().starts_with('-'));
    let links = has_input && !has(&["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"]);
    if is_static(arguments) {
        // Objects may have hooks all the same, if they were compiled without that option.
        if links {
            add(&[&format!("-Wl,{directory}/hooks-static.o")]);
        }
        return added;
    }
    add(&["-isystem", &directory]);
    if !arguments.iter().any(|a| a.to_string_lossy().starts_with("-g")) {
        add(&["-g"]);
    }
    // The hooks of -finstrument-functions survive inlining, those of the sanitizer do not.
    add(&["-fsanitize=thread", "-finstrument-functions"]);
    match family {
        Family::Gcc => add(&[
            "--param",
            "tsan-instrument-func-entry-exit=0",
            "-finstrument-functions-exclude-file-list=/usr/include,/usr/lib",
        ]),
        Family::Clang => add(&[
            // Without this the read of `x++` is left out, and with it what we look for.
            "-mllvm",
            "-tsan-instrument-read-before-write",
            "-mllvm",
            "-tsan-instrument-func-entry-exit=0",
            "-fno-sanitize-link-runtime",
            "-Qunused-arguments",
        ]),
    }
    if links {
        // No library of ours: what is linked runs without us, anywhere.
        let hooks = if has(&["-shared"]) { "hooks-shared.o" } else { "hooks.o" };
        add(&[&format!("-Wl,{directory}/{hooks}"), "-ldl"]);
        if family == Family::Gcc {
            // Where gcc finds an empty archive in place of ThreadSanitizer's runtime.
            add(&[&format!("-L{directory}")]);
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_to(family: Family, arguments: &str) -> String {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let library = Library { directory: "/lib/av".into() };
        let added: Vec<String> = added(family, &expanded(&arguments, 0), &library)
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect();
        added.join(" ")
    }

    #[test]
    fn only_links_get_the_hooks() {
        for family in [Family::Gcc, Family::Clang] {
            assert!(added_to(family, "-O2 a.c -o a").contains("-Wl,/lib/av/hooks.o"));
            assert!(added_to(family, "-O2 -shared a.c -o a.so").contains("-Wl,/lib/av/hooks-shared.o"));
            assert!(!added_to(family, "-O2 -c a.c").contains("hooks"));
            assert!(!added_to(family, "--version").contains("hooks"));
        }
    }

    #[test]
    fn what_cannot_have_a_library_is_left_alone() {
        assert_eq!(added_to(Family::Gcc, "-static -c a.c"), "");
        assert_eq!(added_to(Family::Gcc, "-static a.o"), "-Wl,/lib/av/hooks-static.o");
        assert_eq!(added_to(Family::Clang, "-nostdlib -c a.c"), "");
        assert_eq!(added_to(Family::Gcc, "-fsanitize=address,undefined -c a.c"), "");
        assert_eq!(added_to(Family::Gcc, "-m32 -c a.c"), "");
    }

    #[test]
    fn response_files_are_looked_into() {
        let directory = tempfile::tempdir().expect("a directory");
        let (inner, outer) = (directory.path().join("inner"), directory.path().join("outer"));
        std::fs::write(&inner, "-c 'a file.c'\n").expect("a file");
        std::fs::write(&outer, format!("-O2 \"@{}\" -DX=\\\"y\\\"", inner.display())).expect("a file");
        let outer = format!("@{}", outer.display());
        assert!(!added_to(Family::Clang, &outer).contains("hooks.o"));
        assert_eq!(expanded(&[outer.into()], 0), ["-O2", "-c", "a file.c", "-DX=\"y\""]);
        assert_eq!(expanded(&["@/nowhere".into()], 0), ["@/nowhere"]);
    }

    #[test]
    fn debug_information_is_added_unless_asked_for() {
        assert!(added_to(Family::Gcc, "-c a.c").contains(" -g "));
        assert!(!added_to(Family::Gcc, "-g3 -c a.c").contains(" -g "));
    }
}
