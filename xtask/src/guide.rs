//! `cargo xtask guide`: the user guide as a static site.
//!
//! Starts at the guide's contents, the reference pages and the README, and takes every document of the repository that a link leads
//! to. Files keep their places, so links work in the repository as well as in the site. A link to a file or to a heading
//! that is not there, and a page of the guide that its contents do not list, are errors, with file and line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// The contents: its links to pages beside it are the chapters, in this order.
const CONTENTS: &str = "docs/guide/README.md";

/// The guide itself: every document in it has to be a chapter.
const GUIDE: &str = "docs/guide";

/// Reference pages: every document in it is one.
const REFERENCE: &str = "docs";

/// Builds the guide of this repository.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = root.join("target/guide");
    let pages = build(&root, &out)?;
    println!("{pages} pages in target/guide; start at target/guide/index.html");
    Ok(())
}

/// A document of the repository.
struct Page {
    title: String,
    /// Its text, with links to pages of the site.
    html: String,
    /// The headings that can be linked to.
    anchors: BTreeSet<String>,
    links: Vec<Link>,
}

/// A link inside the repository.
struct Link {
    line: usize,
    /// As it is written.
    written: String,
    /// The file, from the root.
    file: PathBuf,
    /// The heading.
    anchor: Option<String>,
}

/// Writes the site and says how many pages it has.
fn build(root: &Path, out: &Path) -> anyhow::Result<usize> {
    let pages = collect(root)?;
    check(root, &pages)?;
    let chapters = chapters(&pages);
    if out.exists() {
        fs::remove_dir_all(out).context("cannot clear the folder of the guide")?;
    }
    for (path, page) in &pages {
        write(&out.join(path).with_extension("html"), &layout(path, page, &pages, &chapters))?;
        for link in page.links.iter().filter(|link| root.join(&link.file).is_file() && !is_page(&link.file)) {
            let to = out.join(&link.file);
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(root.join(&link.file), to)?;
        }
    }
    write(&out.join("guide.css"), include_str!("guide.css"))?;
    let start = Path::new(CONTENTS).with_extension("html");
    let start = start.display();
    write(
        &out.join("index.html"),
        &format!(
            "<!doctype html><title>atomvet</title><meta http-equiv=\"refresh\" content=\"0; url={start}\">\n<a href=\"{start}\">The guide</a>\n"
        ),
    )?;
    Ok(pages.len())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let shown = path.display();
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(|| format!("{shown}: cannot be made"))?;
    fs::write(path, text).with_context(|| format!("{shown}: cannot be written"))
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// The documents of a folder.
fn documents(root: &Path, folder: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
        found.push(Path::new(folder).join(entry?.file_name()));
    }
    found.retain(|path| is_page(path));
    Ok(found)
}

/// The contents, the reference pages, the README, and every document to which links lead from there.
fn collect(root: &Path) -> anyhow::Result<BTreeMap<PathBuf, Page>> {
    let mut pages = BTreeMap::new();
    let mut left = documents(root, REFERENCE)?;
    left.extend([PathBuf::from(CONTENTS), PathBuf::from("README.md")]);
    while let Some(path) = left.pop() {
        if pages.contains_key(&path) {
            continue;
        }
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("{}", path.display()))?;
        let page = read(&path, &text);
        let documents = page.links.iter().map(|link| &link.file).filter(|file| is_page(file));
        left.extend(documents.filter(|file| root.join(file).is_file()).cloned());
        pages.insert(path, page);
    }
    Ok(pages)
}

/// Reads a document: makes its headings linkable and its links those of the site.
fn read(path: &Path, text: &str) -> Page {
    let mut page =
        Page { title: String::new(), html: String::new(), anchors: BTreeSet::new(), links: Vec::new() };
    let mut events = Vec::new();
    // The place among the events and the text of the heading that is being read.
    let mut heading: Option<(usize, String)> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for (mut event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match &mut event {
            Event::Start(Tag::Heading { .. }) => heading = Some((events.len(), String::new())),
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, words)) = &mut heading {
                    words.push_str(part);
                }
            }
            Event::End(TagEnd::Heading(level)) => {
                if let Some((place, words)) = heading.take() {
                    let anchor = unique(&slug(&words), &mut page.anchors);
                    if *level == HeadingLevel::H1 && page.title.is_empty() {
                        page.title = words;
                    }
                    if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(place) {
                        *id = Some(CowStr::from(anchor));
                    }
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                if let Some(link) = inside(path, dest_url, line_of(text, range.start)) {
                    *dest_url = CowStr::from(in_site(&link));
                    page.links.push(link);
                }
            }
            _ => {}
        }
        events.push(event);
    }
    html::push_html(&mut page.html, events.into_iter());
    page
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The link, if it stays in the repository.
fn inside(from: &Path, written: &str, line: usize) -> Option<Link> {
    if written.contains("://") || written.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) =
        written.split_once('#').map_or((written, None), |(file, anchor)| (file, Some(anchor)));
    let mut target = if file.is_empty() { from.to_owned() } else { PathBuf::new() };
    if !file.is_empty() {
        let folder = from.parent().unwrap_or(Path::new(""));
        for part in folder.join(file).components() {
            match part {
                Component::ParentDir if target.pop() => {}
                // One that leaves the repository stays as it is, and is found missing.
                part => target.push(part),
            }
        }
    }
    Some(Link { line, written: written.to_owned(), file: target, anchor: anchor.map(str::to_owned) })
}

/// What the link is in the site: pages have another ending there.
fn in_site(link: &Link) -> String {
    let (file, anchor) = link
        .written
        .split_once('#')
        .map_or((link.written.as_str(), String::new()), |(f, a)| (f, format!("#{a}")));
    match file.strip_suffix(".md") {
        Some(stem) => format!("{stem}.html{anchor}"),
        None => link.written.clone(),
    }
}

/// The anchor that a heading has where repositories are shown: lower case, spaces to hyphens, and of the
/// rest only letters, digits, hyphens and underscores.
fn slug(words: &str) -> String {
    let kept = words.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The second heading of one name gets a number, and so on.
fn unique(slug: &str, anchors: &mut BTreeSet<String>) -> String {
    let numbered = (1..).map(|number| format!("{slug}-{number}"));
    let anchor = std::iter::once(slug.to_owned()).chain(numbered).find(|anchor| !anchors.contains(anchor));
    let anchor = anchor.unwrap_or_default();
    anchors.insert(anchor.clone());
    anchor
}

/// Everything that leads nowhere, and every page to which nothing leads.
fn check(root: &Path, pages: &BTreeMap<PathBuf, Page>) -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (path, page) in pages {
        for Link { line, written, file, anchor } in &page.links {
            let place = format!("{}:{line}: the link {written:?}", path.display());
            if file.starts_with("..") || !root.join(file).exists() {
                wrong.push(format!("{place} leads to no file"));
            } else if let (Some(anchor), Some(target)) = (anchor, pages.get(file))
                && !target.anchors.contains(anchor)
            {
                let known: Vec<&str> = target.anchors.iter().map(String::as_str).collect();
                wrong.push(format!("{place} leads to no heading; there are {}", known.join(", ")));
            }
        }
    }
    let chapters = chapters(pages);
    for path in documents(root, GUIDE)? {
        if !chapters.contains(&path) {
            wrong.push(format!("{}: is not in the contents, {CONTENTS}", path.display()));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// The guide's pages in the order of the contents, which come first.
fn chapters(pages: &BTreeMap<PathBuf, Page>) -> Vec<PathBuf> {
    let contents = PathBuf::from(CONTENTS);
    let folder = contents.parent().map(Path::to_owned);
    let mut chapters = vec![contents.clone()];
    for link in pages.get(&contents).map(|page| &page.links[..]).unwrap_or_default() {
        let beside = link.file.parent().map(Path::to_owned) == folder;
        if beside && is_page(&link.file) && !chapters.contains(&link.file) {
            chapters.push(link.file.clone());
        }
    }
    chapters
}

/// A whole page of the site.
fn layout(path: &Path, page: &Page, pages: &BTreeMap<PathBuf, Page>, chapters: &[PathBuf]) -> String {
    let up = "../".repeat(path.components().count() - 1);
    let link = |to: &Path, more: &str| {
        let title = pages.get(to).map_or("", |page| &page.title);
        format!("<a href=\"{up}{}\"{more}>{}</a>", to.with_extension("html").display(), escaped(title))
    };
    let mut navigation = String::new();
    let references: Vec<PathBuf> =
        pages.keys().filter(|path| path.parent() == Some(Path::new(REFERENCE))).cloned().collect();
    for (heading, listed) in [("Guide", chapters), ("Reference", &references)] {
        // Writing to a string does not fail.
        let _ = write!(navigation, "<h2>{heading}</h2>\n<ul>\n");
        for to in listed {
            let current = if to == path { " aria-current=\"page\"" } else { "" };
            let _ = writeln!(navigation, "<li>{}</li>", link(to, current));
        }
        navigation.push_str("</ul>\n");
    }
    let mut turn = String::new();
    if let Some(at) = chapters.iter().position(|chapter| chapter == path) {
        let before = at.checked_sub(1).and_then(|before| chapters.get(before));
        let before = before.map_or_else(String::new, |to| format!("← {}", link(to, " rel=\"prev\"")));
        let after =
            chapters.get(at + 1).map_or_else(String::new, |to| format!("{} →", link(to, " rel=\"next\"")));
        turn = format!("<div class=\"turn\"><span>{before}</span><span>{after}</span></div>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} – atomvet</title>\n<link rel=\"stylesheet\" href=\"{up}guide.css\">\n\
         <a class=\"skip\" href=\"#text\">To the text</a>\n<div class=\"columns\">\n\
         <nav aria-label=\"Pages\">\n{navigation}</nav>\n<main id=\"text\">\n{}{turn}</main>\n</div>\n</html>\n",
        escaped(&page.title),
        page.html,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a repository of these files.
    fn built(files: &[(&str, &str)]) -> (tempfile::TempDir, anyhow::Result<usize>) {
        let root = tempfile::tempdir().expect("a folder");
        write(&root.path().join("README.md"), "# Readme\n").expect("written");
        for (path, text) in files {
            write(&root.path().join(path), text).expect("written");
        }
        let result = build(root.path(), &root.path().join("out"));
        (root, result)
    }

    #[test]
    fn links_lead_to_pages_of_the_site() {
        let (root, result) = built(&[
            (CONTENTS, "# Guide\n\n- [First](first.md)\n- [`Ref` & more](../ref.md#a-b-c)\n"),
            (
                "docs/guide/first.md",
                "# First `<steps>`\n\n[back](README.md#guide) [file](ci.yml) [out](https://x.org)\n",
            ),
            ("docs/guide/ci.yml", "on: push\n"),
            ("docs/ref.md", "# Ref\n## A, `b` (c)!\n## A b c\n[here](#a-b-c-1)\n"),
        ]);
        assert_eq!(result.expect("all is well"), 4);
        let page = |path: &str| fs::read_to_string(root.path().join("out").join(path)).expect(path);
        let first = page("docs/guide/first.html");
        assert!(first.contains("<a href=\"README.html#guide\">back</a>"), "{first}");
        assert!(first.contains("<title>First &lt;steps&gt; – atomvet</title>"), "{first}");
        assert!(
            first.contains("← <a href=\"../../docs/guide/README.html\" rel=\"prev\">Guide</a>"),
            "{first}"
        );
        assert!(page("docs/ref.html").contains("<h2 id=\"a-b-c-1\">"));
        assert_eq!(page("docs/guide/ci.yml"), "on: push\n");
        assert!(page("index.html").contains("docs/guide/README.html"));
    }

    #[test]
    fn what_leads_nowhere_is_an_error_with_its_place() {
        let (_root, result) = built(&[
            (CONTENTS, "# Guide\n\n[a](none.md)\n[b](../ref.md#no)\n[c](../../../etc/passwd)\n"),
            ("docs/ref.md", "# Ref\n"),
            ("docs/guide/lonely.md", "# Lonely\n"),
        ]);
        let error = result.expect_err("three links are wrong").to_string();
        let expected = [
            "docs/guide/README.md:3: the link \"none.md\" leads to no file",
            "docs/guide/README.md:4: the link \"../ref.md#no\" leads to no heading; there are ref",
            "docs/guide/README.md:5: the link \"../../../etc/passwd\" leads to no file",
            "docs/guide/lonely.md: is not in the contents, docs/guide/README.md",
        ];
        assert_eq!(error.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_guide_of_this_repository_builds() {
        let out = tempfile::tempdir().expect("a folder");
        let pages = build(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &out.path().join("guide"));
        assert!(pages.expect("every link leads somewhere") > 12);
    }
}
