//! One finding model, many renderings.
//!
//! ```text
//! JSON ──► model ──► digest: one Finding per fingerprint, in words ──► text | html | sarif | junit | dot | perfetto
//! ```
//!
//! Everything is made from the JSON contract alone, so a kept report can be rendered later and elsewhere. Names in
//! it come from traces, and traces from anywhere: [`digest`] makes them visible and short once, and each rendering
//! has one function that quotes text. Only [`sources`] reads files, and only below the folders it was given.

mod brief;
pub mod digest;
pub mod dot;
pub mod finding;
mod graph;
pub mod html;
pub mod junit;
pub mod layout;
pub mod model;
mod observed;
pub mod perfetto;
mod predicted;
pub mod rules;
pub mod sarif;
pub mod sources;
pub mod text;
pub mod visible;
mod words;

pub use brief::brief;
pub use words::HANDED_OVER;

use crate::digest::Digest;
use crate::model::Report;
use crate::sources::Sources;

/// A way to show a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people, on a terminal.
    Text,
    /// The contract itself.
    Json,
    /// One file for a browser.
    Html,
    /// For code scanning.
    Sarif,
    /// For continuous integration.
    Junit,
    /// For Graphviz: who must come before whom.
    Dot,
    /// For ui.perfetto.dev and chrome://tracing: who did what when.
    Perfetto,
}

impl Format {
    /// All of them.
    pub const ALL: &[Format] = &[
        Format::Text,
        Format::Json,
        Format::Html,
        Format::Sarif,
        Format::Junit,
        Format::Dot,
        Format::Perfetto,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Html => "html",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
            Format::Dot => "dot",
            Format::Perfetto => "perfetto",
        }
    }

    /// What the names of its files end with.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Html => "html",
            Format::Sarif => "sarif",
            Format::Junit => "junit.xml",
            Format::Dot => "dot",
            Format::Perfetto => "perfetto.json",
        }
    }
}

/// A report in a format; as text, with the usual options.
pub fn render(report: &Report, format: Format, sources: &mut Sources) -> String {
    let digest = || Digest::new(report);
    match format {
        Format::Text => text::render(report, sources, &text::Options::default()),
        Format::Json => model::write(report),
        Format::Html => html::render(&digest(), sources),
        Format::Sarif => sarif::render(&digest(), sources),
        Format::Junit => junit::render(&digest()),
        Format::Dot => dot::render(&digest()),
        Format::Perfetto => perfetto::render(&digest()),
    }
}
