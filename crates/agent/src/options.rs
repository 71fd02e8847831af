//! What the agent is told: `-agentpath:FILE=include=java.util.Vector,exclude=org.h2.test.*,…`.
//!
//! | option | meaning |
//! |---|---|
//! | `include=PATTERN` | also classes of the JDK that match, in place |
//! | `only=PATTERN` | of the application's classes, only those that match |
//! | `exclude=PATTERN` | no class that matches |
//! | `blocks=papers` | the papers' rule of what is a block: see `roles.rs` |
//! | `elements=N` | of every array, only the first N elements |
//! | `empty` | hooks that do nothing, to measure what they cost |
//! | `verbose` | says on standard error what was rewritten |
//!
//! A pattern is a class, `java.util.Vector`, or ends in a star, `java.util.*`, which stands for any text. Options may be
//! repeated.

use crate::roles::Rule;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    include: Vec<Vec<u8>>,
    only: Vec<Vec<u8>>,
    exclude: Vec<Vec<u8>>,
    /// What is a block.
    pub(crate) blocks: Rule,
    /// How many elements of an array are watched.
    pub(crate) elements: Option<u32>,
    /// Hooks do nothing.
    pub(crate) empty: bool,
    /// Says more.
    pub(crate) verbose: bool,
}

impl Options {
    /// Reads options; what cannot be read is told in one line.
    pub(crate) fn parse(text: &str) -> Result<Options, String> {
        let mut options = Options::default();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let pattern = || match value {
                "" => Err(format!("option {name} needs a pattern, such as {name}=java.util.Vector")),
                _ => Ok(value.replace('.', "/").into_bytes()),
            };
            match name {
                "include" => options.include.push(pattern()?),
                "only" => options.only.push(pattern()?),
                "exclude" => options.exclude.push(pattern()?),
                "blocks" => {
                    options.blocks = match value {
                        "papers" => Rule::Papers,
                        _ => return Err(format!("option blocks knows papers, not {value:?}")),
                    }
                }
                "elements" => {
                    let number = value.parse();
                    options.elements =
                        Some(number.map_err(|_| format!("option elements needs a number, not {value:?}"))?);
                }
                "empty" => options.empty = true,
                "verbose" => options.verbose = true,
                _ => {
                    return Err(format!(
                        "unknown option {name:?}; there are include, only, exclude, blocks, elements, empty and verbose"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Whether a class of the JDK is asked for. Names have slashes.
    pub(crate) fn includes(&self, class: &[u8]) -> bool {
        any(&self.include, class) && !any(&self.exclude, class)
    }

    /// Whether a class of the application's is left out.
    pub(crate) fn leaves_out(&self, class: &[u8]) -> bool {
        any(&self.exclude, class) || !self.only.is_empty() && !any(&self.only, class)
    }
}

/// A pattern also stands for the classes inside of the one it names.
fn any(patterns: &[Vec<u8>], class: &[u8]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix(b"*") {
        Some(start) => class.starts_with(start),
        None => {
            class.strip_prefix(&pattern[..]).is_some_and(|rest| matches!(rest.first(), None | Some(b'$')))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_classes_and_packages() {
        let options =
            Options::parse("include=java.util.Vector,include=java.util.concurrent.*,exclude=a.B").unwrap();
        assert!(options.includes(b"java/util/Vector"));
        assert!(options.includes(b"java/util/Vector$Itr"));
        assert!(!options.includes(b"java/util/VectorX"));
        assert!(options.includes(b"java/util/concurrent/locks/Lock"));
        assert!(options.leaves_out(b"a/B") && !options.leaves_out(b"a/C"));
    }

    #[test]
    fn only_leaves_out_the_rest() {
        let options = Options::parse("only=com.acme.*").unwrap();
        assert!(options.leaves_out(b"org/h2/Driver") && !options.leaves_out(b"com/acme/Bank"));
    }

    #[test]
    fn mistakes_are_told() {
        assert!(Options::parse("includes=a").unwrap_err().contains("unknown option \"includes\""));
        assert!(Options::parse("elements=many").unwrap_err().contains("needs a number"));
        assert!(Options::parse("blocks=some").unwrap_err().contains("knows papers"));
        assert!(Options::parse("include").unwrap_err().contains("needs a pattern"));
    }
}
