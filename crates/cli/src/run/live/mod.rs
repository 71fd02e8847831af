//! What the live checker has found in a process: from its table to what a report is made of.
//!
//! ```text
//! table: functions entered ──► frames (which are blocks) ──► counts
//!        findings ───────────► story (a few events each) ──► why, as for a trace ──► Examined
//! ```
//!
//! The program judges itself, so the command reads the table once, when the process is over. Whatever became of that, what
//! was found by then is in the table.

mod frames;
mod story;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use atomvet_check::{Finding, Stats};
use atomvet_live::blocks::Root;
use atomvet_live::found::Finding as Found;
use atomvet_live::table::{Counter, Table};
use atomvet_ring::{Block, ELSEWHERE, LOW};
use atomvet_trace::{Format, LockId, RegionId, SiteId, ThreadId, VarId};

use self::frames::{FIRST_THREAD, Frames};
use self::story::{Case, Cast, Story};
use super::Watched;
use super::code::Code;
use super::directory::is_over;
use super::feed::Summary;
use super::ring::flavour;
use super::symbols::Meaning;
use crate::examine::{self, Examined, Options, Verdict, Violation};
use crate::pipeline::{Pass, Repairs};
use crate::predicted::Foreseen;
use crate::refine::Entered;
use crate::spec::{Seen, Spec};
use crate::tally::Tally;

/// How a file with a table ends.
pub(super) const ENDING: &str = "live";

/// How often to ask whether a process is over. Of the program itself we are told.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(20);

/// Waits until the process of a table is over, and says what was found.
pub(super) fn judge(
    path: &Path,
    name: impl FnOnce(u32) -> String,
    options: &Options<'_>,
    spec: Option<Arc<Spec>>,
    give_up: &AtomicBool,
) -> anyhow::Result<Watched> {
    let started = Instant::now();
    let process = process_of(path).with_context(|| format!("{}: is no table of findings", path.display()))?;
    while !is_finished(path, process) && !give_up.load(Ordering::Relaxed) {
        std::thread::sleep(BETWEEN_QUESTIONS);
    }
    let cut_off = !is_finished(path, process);
    let table = read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let table =
        table.with_context(|| format!("{}: was made by another version of atomvet", path.display()))?;
    let mut told = Telling::new(&table, Meaning::new(process, path), spec.clone());
    let violations = told.tell();
    let (mut examined, mut summary, learned) = told.finish(violations, options, spec.as_deref());
    summary.cut_off = cut_off;
    examined.trace = name(process);
    examined.seconds = started.elapsed().as_secs_f64();
    Ok(Watched { process, result: Ok(examined), summary, learned: Ok(learned) })
}

/// A table; nothing if it is none of ours. Most of the file is empty.
fn read(path: &Path) -> std::io::Result<Option<Table>> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    // SAFETY: plain numbers.
    let seek = |from: u64, what| unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, what) };
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < length
        && let Ok(start) = u64::try_from(seek(at, libc::SEEK_DATA))
    {
        let end = u64::try_from(seek(start, libc::SEEK_HOLE)).unwrap_or(length);
        let mut bytes = vec![0; (end - start) as usize];
        file.read_exact_at(&mut bytes, start)?;
        parts.push((start as usize, bytes));
        at = end;
    }
    Ok(Table::read_parts(length, parts))
}

/// The process whose table is at a path.
fn process_of(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.split_once('.')?.0.parse().ok()
}

/// Whether a process has ended, or has executed another program.
fn is_finished(path: &Path, process: u32) -> bool {
    is_over(process) || next(path).is_some_and(|next| next.exists())
}

/// The table of the program that a process executes next.
fn next(path: &Path) -> Option<PathBuf> {
    let (process, number) = path.file_stem()?.to_str()?.split_once('.')?;
    Some(path.with_file_name(format!("{process}.{}.{ENDING}", number.parse::<u64>().ok()? + 1)))
}

/// What is said of a live program besides its findings.
#[derive(Clone, Default, Debug)]
pub(crate) struct Figures {
    /// Blocks with executions that were open for too long to be judged as a whole, by name.
    pub(crate) off_trial: Vec<String>,
    /// Violated executions for which the table had no room.
    pub(crate) lost_findings: u64,
    /// Entries of functions for which it had none.
    pub(crate) lost_functions: u64,
}

/// A table on its way to a report.
struct Telling<'a> {
    table: &'a Table,
    frames: Frames,
    story: Story,
    counts: Vec<atomvet_live::entered::Entered>,
    /// How often blocks were entered, and how often they were violated.
    entered: Entered,
    seen: BTreeMap<String, Seen>,
    off_trial: BTreeSet<String>,
    blocks: u64,
    /// A thread other than the first has entered a block.
    blocks_in_threads: bool,
}

impl<'a> Telling<'a> {
    fn new(table: &'a Table, symbols: Meaning, spec: Option<Arc<Spec>>) -> Telling<'a> {
        let entered = table.entered();
        let mut code = Code::new(spec);
        for function in entered.iter().map(|entered| entered.function) {
            if flavour(function) == Block::Label
                && let Some(text) = table.label(function & LOW)
            {
                code.know_label(function & LOW, text);
            }
        }
        Telling {
            table,
            frames: Frames::new(symbols, code, &entered),
            counts: entered,
            story: Story::default(),
            entered: Entered::default(),
            seen: BTreeMap::new(),
            off_trial: BTreeSet::new(),
            blocks: 0,
            blocks_in_threads: false,
        }
    }

    /// Counts what was entered and tells what was found, by the libraries that were loaded at the time.
    fn tell(&mut self) -> Vec<Violation> {
        let (mut entered, mut found) = (std::mem::take(&mut self.counts), self.table.findings());
        entered.sort_by_key(|entered| entered.maps);
        found.sort_by_key(|found| found.maps);
        let mut findings = Vec::new();
        let (mut entered, mut found) = (entered.into_iter().peekable(), found.into_iter().peekable());
        while let Some(maps) =
            [entered.peek().map(|e| e.maps), found.peek().map(|f| f.maps)].into_iter().flatten().min()
        {
            self.frames.renew(maps);
            while let Some(entered) = entered.next_if(|entered| entered.maps <= maps) {
                self.count(&entered);
            }
            while let Some(found) = found.next_if(|found| found.maps <= maps) {
                findings.extend(self.found(&found));
            }
        }
        self.fold(findings)
    }

    fn count(&mut self, entered: &atomvet_live::entered::Entered) {
        let (root, stack) = self.frames.stack(entered.path);
        let Some((region, site)) = stack.last().and_then(|frame| frame.block) else { return };
        let name = self.frames.names.block(region, site);
        if entered.off_trial > 0 {
            self.off_trial.insert(name.clone());
        }
        self.entered.add(region, site, entered.count);
        self.blocks += entered.count;
        // The stacks of a JVM's threads are alike, and words of methods say whose they are.
        let is_elsewhere = entered.function & ELSEWHERE != 0 && self.frames.symbols.jvm().is_some();
        self.blocks_in_threads |= root == Some(Root::Other) || is_elsewhere;
        self.seen.entry(name.clone()).or_insert(Seen { name, entered: 0, violated: 0 }).entered +=
            entered.count;
    }

    /// A finding of the table, if its function is a block; otherwise the block around it that is the innermost, if the finding
    /// said that it is.
    fn found(&mut self, found: &Found) -> Option<Told> {
        if let Some(names) = self.frames.symbols.jvm() {
            names.tell_of(found.number);
        }
        let stack = self.frames.open(found);
        let open: Vec<(RegionId, SiteId)> = stack.iter().filter_map(|frame| frame.block).collect();
        if stack.last().is_some_and(|frame| frame.block.is_some()) {
            let is_whole = found.is_whole;
            let finding = self.story.tell(&Case { found, open }, &mut self.frames)?;
            return Some(Told::Finding(finding, is_whole));
        }
        let &(region, site) = open.last()?;
        let closing = self.frames.site(found.closes_at);
        found.is_innermost.then_some(Told::Innermost(region, site, closing))
    }

    /// One violation per fingerprint.
    fn fold(&mut self, told: Vec<Told>) -> Vec<Violation> {
        let mut violations: Vec<(Violation, bool)> = Vec::new();
        let mut by_fingerprint: HashMap<u64, usize> = HashMap::new();
        let mut innermost = BTreeSet::new();
        for told in told {
            let (finding, is_whole) = match told {
                Told::Finding(finding, is_whole) => (finding, is_whole),
                Told::Innermost(region, site, closing) => {
                    innermost.insert((region, site, closing));
                    continue;
                }
            };
            if let Some(block) = finding.block
                && let Some(seen) = self.seen.get_mut(&self.frames.names.block(block.region, block.site))
            {
                seen.violated += finding.count;
            }
            let fingerprint = examine::fingerprint(&finding, &self.frames.names);
            let place = *by_fingerprint.entry(fingerprint).or_insert(violations.len());
            let Some((known, known_whole)) = violations.get_mut(place) else {
                violations.push((Violation::new(finding, fingerprint), is_whole));
                continue;
            };
            let (count, is_innermost) =
                (known.finding.count + finding.count, known.finding.innermost || finding.innermost);
            if is_whole && !*known_whole {
                (*known, *known_whole) = (Violation::new(finding, fingerprint), true);
            }
            (known.finding.count, known.finding.innermost) = (count, is_innermost);
        }
        for (violation, _) in &mut violations {
            let Finding { block, event, .. } = violation.finding;
            violation.finding.innermost |=
                block.is_some_and(|block| innermost.contains(&(block.region, block.site, event.site)));
        }
        violations.into_iter().map(|(violation, _)| violation).collect()
    }

    fn finish(
        mut self,
        violations: Vec<Violation>,
        options: &Options<'_>,
        spec: Option<&Spec>,
    ) -> (Examined, Summary, Vec<Seen>) {
        let table = self.table;
        if let Some(names) = self.frames.symbols.jvm() {
            self.frames.code.simple_methods(names.simple_methods());
        }
        let thread_entries = self.frames.thread_entries();
        let started = table.get(Counter::Threads);
        let active = table.active_threads() as u64;
        // A thread that is started and comes to no function of the program's does nothing that is seen.
        let threads = if active < 2 { active } else { started.max(active) };
        let summary = Summary {
            lost_in_handlers: table.get(Counter::LostInHandlers),
            lost_threads: table.get(Counter::LostThreads),
            unwatched: self.frames.symbols.unwatched(),
            not_instrumented: self.frames.symbols.not_instrumented(),
            thread_entries: thread_entries.clone(),
            failure: self.frames.symbols.failure(),
            live: Some(Figures {
                off_trial: self.off_trial.into_iter().collect(),
                lost_findings: table.get(Counter::LostFindings),
                lost_functions: table.get(Counter::LostFunctions),
            }),
            ..Summary::of_live(table.get(Counter::Splits), self.blocks_in_threads)
        };
        let pass = Pass {
            names: self.frames.names,
            format: Format::Binary,
            tally: Tally::of_live(threads, self.blocks),
            repairs: Repairs::default(),
            used: spec.map(Spec::met).unwrap_or_default(),
            ignored_accesses: 0,
            partial: None,
            thread_entries,
        };
        let first_cycle = violations.iter().map(|violation| violation.finding.event.at).min();
        let verdict = Verdict {
            info: options.algorithms[0].info,
            first_cycle,
            violations,
            set_aside: Vec::new(),
            foreseen: Foreseen { complete: true, ..Foreseen::default() },
            stats: Stats::default(),
            seconds: 0.0,
            peak_bytes: 0,
        };
        let examined = examine::told(pass, verdict, self.entered, &self.story.events, options);
        (examined, summary, self.seen.into_values().collect())
    }
}

/// What becomes of a finding of the table.
enum Told {
    /// It is one of the report's, and whether its witness is whole.
    Finding(Finding, bool),
    /// It is about a function that is no block, and inside this one nothing else is violated by that event.
    Innermost(RegionId, SiteId, SiteId),
}

impl Cast for Frames {
    fn thread(&mut self, index: usize) -> ThreadId {
        let serial = index.saturating_sub(FIRST_THREAD) as u32;
        let called = self.symbols.jvm().and_then(|names| names.thread_of_finding(index));
        let native = || if serial == 0 { "main".to_owned() } else { format!("T{serial}") };
        self.names.threads.intern(&called.unwrap_or_else(native))
    }

    fn variable(&mut self, address: u64) -> VarId {
        let name = self.symbols.variable(address).unwrap_or_else(|| format!("{address:#x}"));
        self.names.variables.intern(&name)
    }

    fn lock(&mut self, address: u64) -> LockId {
        let name = self.symbols.variable(address).unwrap_or_else(|| format!("{address:#x}"));
        self.names.locks.intern(&name)
    }

    fn site(&mut self, place: u64) -> SiteId {
        self.code.site(place, &mut self.names, &mut self.symbols).site
    }

    fn block(&mut self, path: u64, place: u64) -> Option<(RegionId, SiteId)> {
        self.around(path, place)
    }
}
