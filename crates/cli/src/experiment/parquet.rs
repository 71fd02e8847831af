//! A table as a Parquet file: plain encoding, no compression, one row group, every column optional.
//!
//! Format: <https://parquet.apache.org/docs/file-format/>. Written here because the crate `parquet` brings some forty
//! others, and this is all of the format that is needed.
//!
//! ```text
//! "PAR1" · per column: page header (Thrift), definition levels (RLE), values (PLAIN) · metadata (Thrift) · its length · "PAR1"
//! ```

use serde_json::Value;

use super::table::{COLUMNS, Type};

const MAGIC: &[u8] = b"PAR1";

/// Thrift's compact protocol: the types that are needed.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The file.
pub(crate) fn write(rows: &[Vec<Value>]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let mut chunks = Vec::new();
    for (column, &(name, kind)) in COLUMNS.iter().enumerate() {
        let offset = file.len();
        let page = page(rows.iter().map(|row| row.get(column).unwrap_or(&Value::Null)), kind);
        let mut header = Thrift::default();
        header.i32(1, 0); // a data page
        header.i32(2, page.len());
        header.i32(3, page.len());
        header.begin(5);
        header.i32(1, rows.len());
        header.i32(2, 0); // PLAIN
        header.i32(3, 3); // RLE
        header.i32(4, 3);
        header.end();
        file.extend(header.finish());
        file.extend(page);
        chunks.push((name, kind, offset, file.len() - offset));
    }
    let metadata = metadata(rows.len(), &chunks);
    file.extend_from_slice(&metadata);
    file.extend_from_slice(&u32::try_from(metadata.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend_from_slice(MAGIC);
    file
}

fn metadata(rows: usize, chunks: &[(&str, Type, usize, usize)]) -> Vec<u8> {
    let mut data = Thrift::default();
    data.i32(1, 1); // version
    data.list(2, STRUCT, chunks.len() + 1);
    data.element();
    data.binary(4, b"atomvet");
    data.i32(5, chunks.len());
    data.end();
    for &(name, kind, ..) in chunks {
        data.element();
        data.i32(1, physical(kind));
        data.i32(3, 1); // optional
        data.binary(4, name.as_bytes());
        if kind == Type::Text {
            data.i32(6, 0); // UTF8
        }
        data.end();
    }
    data.i64(3, rows);
    data.list(4, STRUCT, 1);
    data.element();
    data.list(1, STRUCT, chunks.len());
    for &(name, kind, offset, size) in chunks {
        data.element();
        data.i64(2, offset);
        data.begin(3);
        data.i32(1, physical(kind));
        data.list(2, I32, 2);
        data.zigzag(0);
        data.zigzag(3);
        data.list(3, BINARY, 1);
        data.bytes(name.as_bytes());
        data.i32(4, 0); // not compressed
        data.i64(5, rows);
        data.i64(6, size);
        data.i64(7, size);
        data.i64(9, offset);
        data.end();
        data.end();
    }
    data.i64(2, chunks.iter().map(|chunk| chunk.3).sum());
    data.i64(3, rows);
    data.end();
    data.binary(6, b"atomvet");
    data.finish()
}

/// Parquet's number of a type.
fn physical(kind: Type) -> usize {
    match kind {
        Type::Flag => 0,
        Type::Count => 2,
        Type::Real => 5,
        Type::Text => 6,
    }
}

/// The values of a column, and before them which are there.
fn page<'a>(values: impl Iterator<Item = &'a Value>, kind: Type) -> Vec<u8> {
    let (mut levels, mut plain, mut flags) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        let known = match (kind, value) {
            (Type::Text, Value::String(text)) => {
                plain.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
                plain.extend(text.as_bytes());
                true
            }
            (Type::Count, value) => value.as_u64().map(|number| plain.extend(number.to_le_bytes())).is_some(),
            (Type::Real, value) => value.as_f64().map(|number| plain.extend(number.to_le_bytes())).is_some(),
            (Type::Flag, Value::Bool(flag)) => {
                flags.push(*flag);
                true
            }
            _ => false,
        };
        levels.push(known);
    }
    plain.extend(bits(&flags));
    // One bit-packed run of groups of eight.
    let packed = bits(&levels);
    let mut run = Vec::new();
    varint(&mut run, (packed.len() as u64) << 1 | 1);
    run.extend(packed);
    let mut page = u32::try_from(run.len()).unwrap_or(0).to_le_bytes().to_vec();
    page.extend(run);
    page.extend(plain);
    page
}

fn bits(flags: &[bool]) -> Vec<u8> {
    flags
        .chunks(8)
        .map(|eight| eight.iter().zip(0..).fold(0, |byte, (flag, bit)| byte | u8::from(*flag) << bit))
        .collect()
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value.to_le_bytes()[0] & 0x7f | 0x80);
        value >>= 7;
    }
    to.push(value.to_le_bytes()[0]);
}

/// Structures in Thrift's compact protocol.
#[derive(Default)]
struct Thrift {
    out: Vec<u8>,
    /// The last field of the structure at hand.
    last: u8,
    /// Those of the structures around it.
    around: Vec<u8>,
}

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn zigzag(&mut self, value: usize) {
        varint(&mut self.out, (value as u64) << 1);
    }

    fn i32(&mut self, number: u8, value: usize) {
        self.field(number, I32);
        self.zigzag(value);
    }

    fn i64(&mut self, number: u8, value: usize) {
        self.field(number, I64);
        self.zigzag(value);
    }

    fn binary(&mut self, number: u8, value: &[u8]) {
        self.field(number, BINARY);
        self.bytes(value);
    }

    fn bytes(&mut self, value: &[u8]) {
        varint(&mut self.out, value.len() as u64);
        self.out.extend(value);
    }

    fn list(&mut self, number: u8, of: u8, length: usize) {
        self.field(number, LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | of);
        } else {
            self.out.push(0xf0 | of);
            varint(&mut self.out, length as u64);
        }
    }

    /// A structure as a field.
    fn begin(&mut self, number: u8) {
        self.field(number, STRUCT);
        self.element();
    }

    /// A structure in a list.
    fn element(&mut self) {
        self.around.push(self.last);
        self.last = 0;
    }

    fn end(&mut self) {
        self.out.push(0);
        self.last = self.around.pop().unwrap_or(0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}
