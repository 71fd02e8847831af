//! What a class file says about itself that decides which of its methods are blocks: its source file, and annotations
//! called `Atomic` and `NotAtomic`, of whatever package (The Java Virtual Machine Specification, 4.7.10, 4.7.16).

use atomvet_jvm::{Attribute, ClassFile, Pool};

/// What an annotation says about a method, or all methods of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotation {
    Atomic,
    NotAtomic,
}

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// As the compiler calls it, without a path.
    pub(crate) source: Option<Vec<u8>>,
    of_class: Option<Annotation>,
    /// Name and descriptor of annotated methods.
    of_methods: Vec<(Vec<u8>, Vec<u8>, Annotation)>,
}

impl Facts {
    /// Reads them; of a class file that cannot be read nothing is known.
    pub(crate) fn read(file: &[u8]) -> Facts {
        let Ok(class) = ClassFile::parse(file) else { return Facts::default() };
        let pool = &class.pool;
        let source = class.attributes.iter().find(|attribute| is(pool, attribute, b"SourceFile"));
        let source = source.and_then(|attribute| {
            let index = attribute.content.get(..2)?.try_into().ok()?;
            Some(pool.text(u16::from_be_bytes(index), 0).ok()?.to_vec())
        });
        let of_methods = class.methods.iter().filter_map(|method| {
            let annotation = annotation(pool, &method.attributes)?;
            let text = |index| pool.text(index, 0).ok().map(<[u8]>::to_vec);
            Some((text(method.name)?, text(method.descriptor)?, annotation))
        });
        let of_methods = of_methods.collect();
        Facts { source, of_class: annotation(pool, &class.attributes), of_methods }
    }

    /// What is said about a method.
    pub(crate) fn annotation(&self, name: &[u8], descriptor: &[u8]) -> Option<Annotation> {
        let own = self.of_methods.iter().find(|(n, d, _)| n == name && d == descriptor);
        own.map(|(.., annotation)| *annotation).or(self.of_class)
    }
}

fn is(pool: &Pool<'_>, attribute: &Attribute<'_>, name: &[u8]) -> bool {
    pool.text(attribute.name, 0).is_ok_and(|text| text == name)
}

fn annotation(pool: &Pool<'_>, attributes: &[Attribute<'_>]) -> Option<Annotation> {
    let kinds: [&[u8]; 2] = [b"RuntimeVisibleAnnotations", b"RuntimeInvisibleAnnotations"];
    attributes.iter().filter(|attribute| kinds.iter().any(|kind| is(pool, attribute, kind))).find_map(
        |attribute| {
            let mut reader = Reader(&attribute.content);
            let count = reader.u16()?;
            (0..count).find_map(|_| {
                let descriptor = pool.text(reader.u16()?, 0).ok()?;
                reader.skip_pairs(0)?;
                let descriptor = descriptor.strip_prefix(b"L")?;
                let name =
                    descriptor.strip_suffix(b";")?.rsplit(|&byte| matches!(byte, b'/' | b'$')).next()?;
                match name {
                    b"Atomic" => Some(Annotation::Atomic),
                    b"NotAtomic" => Some(Annotation::NotAtomic),
                    _ => None,
                }
            })
        },
    )
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u8(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.u8()?, self.u8()?]))
    }

    /// Names and values of an annotation.
    fn skip_pairs(&mut self, depth: u32) -> Option<()> {
        for _ in 0..self.u16()? {
            self.u16()?;
            self.skip_value(depth)?;
        }
        Some(())
    }

    fn skip_value(&mut self, depth: u32) -> Option<()> {
        // Annotations in annotations: nobody nests them as deep, and the stack is not ours.
        const DEEP: u32 = 32;
        if depth > DEEP {
            return None;
        }
        match self.u8()? {
            b'e' => {
                self.u16()?;
                self.u16()?;
            }
            b'@' => {
                self.u16()?;
                self.skip_pairs(depth + 1)?;
            }
            b'[' => {
                for _ in 0..self.u16()? {
                    self.skip_value(depth + 1)?;
                }
            }
            _ => {
                self.u16()?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_skipped() {
        // Two pairs: an array of an enum constant and a string, and an annotation without values.
        let bytes = [0, 2, 0, 1, b'[', 0, 2, b'e', 0, 1, 0, 2, b's', 0, 3, 0, 4, b'@', 0, 5, 0, 0, 9];
        let mut reader = Reader(&bytes);
        assert_eq!(reader.skip_pairs(0), Some(()));
        assert_eq!(reader.0, [9]);
        assert_eq!(Reader(&[0, 1, 0, 1]).skip_pairs(0), None);
    }

    #[test]
    fn what_is_no_class_file_says_nothing() {
        assert_eq!(Facts::read(b"\xca\xfe\xba\xbe"), Facts::default());
    }
}
