//! The files of a jar, which is a zip archive: as much of the format as jars use.

use std::io::Read as _;

use anyhow::{Context, bail};

/// Gives every file that ends in `.class` to `each`, with its name.
pub(crate) fn classes(archive: &[u8], mut each: impl FnMut(&str, Vec<u8>)) -> anyhow::Result<()> {
    // The directory is at the end, found by a signature that only a comment may follow.
    let end = archive.windows(4).rposition(|window| window == b"PK\x05\x06").context("not a zip archive")?;
    let mut count = number(archive, end + 10, 2)?;
    let mut at = number(archive, end + 16, 4)?;
    while count > 0 {
        count -= 1;
        if archive.get(at..at + 4) != Some(b"PK\x01\x02") {
            bail!("the directory of the archive is damaged");
        }
        let method = number(archive, at + 10, 2)?;
        let size = number(archive, at + 20, 4)?;
        let [name_length, extra_length, comment_length] =
            [number(archive, at + 28, 2)?, number(archive, at + 30, 2)?, number(archive, at + 32, 2)?];
        let local = number(archive, at + 42, 4)?;
        let name = archive.get(at + 46..at + 46 + name_length).context("the archive ends early")?;
        at += 46 + name_length + extra_length + comment_length;
        let name = String::from_utf8_lossy(name);
        if !name.ends_with(".class") {
            continue;
        }
        let begin = local + 30 + number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
        let packed = archive.get(begin..begin + size).context("the archive ends early")?;
        let mut content = Vec::new();
        match method {
            0 => content.extend_from_slice(packed),
            8 => drop(flate2::read::DeflateDecoder::new(packed).read_to_end(&mut content)?),
            other => bail!("{name} is packed by method {other}"),
        }
        each(&name, content);
    }
    Ok(())
}

fn number(archive: &[u8], at: usize, length: usize) -> anyhow::Result<usize> {
    let bytes = archive.get(at..at + length).context("the archive ends early")?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}
