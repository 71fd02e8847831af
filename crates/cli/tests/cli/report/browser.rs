//! The page with a browser's eyes. A script that stands for a user is added to the page, and says what it saw.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::many::{in_a_million_events, many};
use super::{kept, rendered, set_aside};
use crate::common::{Files, LOST, atomvet_with, trace};

pub(crate) fn browser() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut candidates = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates
        .find(|candidate| candidate.is_file())
        .expect("Chromium is needed to test the HTML report: run `cargo xtask install`")
}

fn run(browser: &Path, files: &Files, page: &str, arguments: &[&str]) -> Vec<u8> {
    let path = files.add("page.html", page.as_bytes());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(arguments)
        .arg(format!("--user-data-dir={}", files.at("profile")))
        .arg(format!("file://{path}"))
        .stderr(Stdio::null())
        .output();
    output.expect("the browser runs").stdout
}

/// Opens a page, lets a script use it, and returns what that says.
pub(crate) fn used(browser: &Path, page: &str, script: &str) -> Value {
    let page = page.replace("</body>", &format!("<script>{script}</script></body>"));
    let arguments = ["--dump-dom", "--virtual-time-budget=10000"];
    let dom = run(browser, &Files::new(&[]), &page, &arguments);
    let dom = String::from_utf8_lossy(&dom).into_owned();
    said(&dom)
}

/// What the script said.
fn said(dom: &str) -> Value {
    let said = dom.split("<pre id=\"said\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let said = said.unwrap_or_else(|| panic!("the script did not end: {}", &dom[..dom.len().min(2000)]));
    serde_json::from_str(&said.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")).expect("JSON")
}

const USER: &str = r##"
function use() {
const said = { errors: [] };
addEventListener("error", e => said.errors.push(String(e.message)));
const rows = () => document.querySelectorAll("table.overview > tbody > tr:not(.detail)").length;
const first = () => document.querySelector(".open").textContent;
said.rows = rows(); said.first = first();
const heads = [...document.querySelectorAll("table.overview > thead th")];
heads[0].querySelector("button").click(); heads[0].querySelector("button").click();
said.sort = heads[0].getAttribute("aria-sort"); said.last = first();
const input = document.getElementById("filter-variable");
input.value = "[17]"; input.dispatchEvent(new Event("input"));
said.filtered = rows(); said.found = first();
input.value = ""; input.dispatchEvent(new Event("input"));
document.querySelector(".open").click();
said.expanded = document.querySelector(".open").getAttribute("aria-expanded");
said.svg = document.querySelectorAll("article svg .dot").length; said.arrows = document.querySelectorAll("article svg .arrow").length;
said.status = document.querySelector("[role=status]").textContent;
document.querySelectorAll(".pager button")[1].click();
said.second = document.querySelector("[role=status]").textContent;
const pre = document.createElement("pre"); pre.id = "said"; pre.textContent = JSON.stringify(said); document.body.append(pre);
}
// The data is unpacked a moment after the page is there.
(function wait() { document.querySelector(".open") ? use() : setTimeout(wait, 10); })();
"##;

#[test]
fn a_browser_sorts_filters_and_opens() {
    let browser = browser();
    let report = atomvet_with(&["check", "--format", "json", "-"], many(5000).as_bytes()).ends_with(1).out;
    let said = used(&browser, &rendered(&report, "html"), USER);
    assert_eq!(said["errors"], json!([]));
    assert_eq!((&said["rows"], &said["first"]), (&json!(50), &json!("Account.deposit_0 is not atomic")));
    assert_eq!(
        (&said["sort"], &said["last"]),
        (&json!("descending"), &json!("Account.deposit_999 is not atomic"))
    );
    assert_eq!((&said["filtered"], &said["found"]), (&json!(1), &json!("Account.deposit_17 is not atomic")));
    assert_eq!((&said["expanded"], &said["svg"], &said["arrows"]), (&json!("true"), &json!(4), &json!(4)));
    assert_eq!(said["status"], "5,000 findings, page 1 of 100");
    assert_eq!(said["second"], "5,000 findings, page 2 of 100");
}

#[test]
fn a_browser_runs_nothing_that_a_name_says() {
    let browser = browser();
    let mut value: Value = serde_json::from_str(&kept(&trace(LOST), "regiontrack")).expect("JSON");
    let text = value.to_string().replace("deposit", "<img src=x onerror=evil()><script>evil()</script>");
    value = serde_json::from_str(&text).expect("JSON");
    let script = r#"
      let ran = 0; globalThis.evil = () => ran++;
      setTimeout(() => { const pre = document.createElement("pre"); pre.id = "said";
        pre.textContent = JSON.stringify({ ran, images: document.images.length, shown: document.querySelector(".open").textContent.includes("<img") });
        document.body.append(pre); }, 50);"#;
    let said = used(&browser, &rendered(&value.to_string(), "html"), script);
    assert_eq!(said, json!({"ran": 0, "images": 0, "shown": true}));
}

/// Links, what is set aside, what is folded, the keyboard, and what a screen reader is told.
const ALL_KEYS: &str = r##"
function use() {
const said = { errors: [] };
addEventListener("error", e => said.errors.push(String(e.message)));
const all = selector => [...document.querySelectorAll(selector)];
const one = selector => document.querySelector(selector);
const titles = () => all("table.overview > tbody > tr:not(.detail) .open").map(e => e.textContent);
said.counting = titles().length;
const apart = document.getElementById("filter-aside");
said.choices = [...apart.options].map(option => option.textContent);
apart.value = "1"; apart.dispatchEvent(new Event("change"));
said.suppressed = all("tr.aside .facts").map(e => e.textContent);
apart.value = "0"; apart.dispatchEvent(new Event("change"));
// A link to what is not shown shows it.
location.hash = "SUPPRESSED";
setTimeout(() => {
  const article = document.getElementById("SUPPRESSED");
  said.linked = Boolean(article && document.activeElement === article);
  location.hash = "FOLDED";
  setTimeout(() => {
    const article = document.getElementById("FOLDED");
    const inside = selector => [...article.querySelectorAll(selector)];
    const quiet = () => inside("svg circle.quiet").filter(e => e.getAttribute("r") > 0).length;
    const button = inside(".unfold")[0];
    said.unfold = [button.textContent, quiet()];
    button.click();
    said.unfolded = [button.getAttribute("aria-pressed"), quiet()];
    const events = inside("g.event");
    events[0].focus();
    events[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    said.walked = document.activeElement === events[1] && events[1].getAttribute("tabindex") === "0";
    said.told = inside(".said")[0].textContent === events[1].getAttribute("aria-label");
    inside("ol.because li")[0].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    said.lit = inside("svg g.why.lit").length;
    said.labelled = all("svg").every(svg => ["aria-labelledby", "aria-describedby"].every(name => svg.querySelector("#" + svg.getAttribute(name))?.textContent.length > 10));
    said.captions = all("table").every(table => table.caption);
    said.landmarks = ["header", "main", "footer", "[role=search]"].every(one);
    said.heads = all("table.overview > thead th").every(th => th.scope === "col" && th.hasAttribute("aria-sort") && th.querySelector("button"));
    said.named = all("input,select").every(e => e.closest("label"));
    const ids = all("[id]").map(e => e.id);
    said.unique = new Set(ids).size === ids.length;
    dispatchEvent(new Event("beforeprint"));
    said.printed = all("article").length;
    const pre = document.createElement("pre"); pre.id = "said"; pre.textContent = JSON.stringify(said); document.body.append(pre);
  }, 100);
}, 100);
}
(function wait() { document.querySelector(".open") ? use() : setTimeout(wait, 10); })();
"##;

#[test]
fn a_browser_links_unfolds_and_tells_everybody() {
    let browser = browser();
    let report = set_aside();
    let value: Value = serde_json::from_str(&report).expect("JSON");
    let print = |trace: usize| {
        value["traces"][trace]["checkers"][0]["violations"][0]["fingerprint"].as_str().expect("a fingerprint")
    };
    let script = ALL_KEYS.replace("SUPPRESSED", print(1)).replace("FOLDED", print(0));
    let said = used(&browser, &rendered(&report, "html"), &script);
    let expected = json!({
        "errors": [], "counting": 2,
        "choices": ["any", "counts (2)", "suppressed (1)", "in the baseline (1)", "benign (1)"],
        "suppressed": ["suppressed suppressed by atomvet.toml:12: a <hint> only; see issue 7"],
        "linked": true, "unfold": ["Show 5 events that play no part", 0], "unfolded": ["true", 5],
        "walked": true, "told": true, "lit": 2, "labelled": true, "captions": true, "landmarks": true,
        "heads": true, "named": true, "unique": true, "printed": 5,
    });
    assert_eq!(said, expected);
}

/// Real time can only be told to somebody outside: with virtual time, waiting takes none, and without it the browser ends once a
/// page is loaded. So the page waits for a picture from here until it has said how long it took.
fn told_in_real_time(browser: &Path, page: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!(
        r#"<img src="http://127.0.0.1:{port}/hold" alt=""><script>(function wait() {{
          if (!document.querySelector(".open")) return setTimeout(wait, 1);
          requestAnimationFrame(() => requestAnimationFrame(() => {{
            new Image().src = "http://127.0.0.1:{port}/shown/" + document.querySelectorAll(".open").length + "/" + Math.ceil(performance.now());
          }}));
        }})();</script></body>"#
    );
    let policy = page.find("<meta http-equiv").expect("a policy");
    let after = policy + page[policy..].find('>').expect("its end") + 1;
    // The policy forbids what this needs.
    let page = format!("{}{}", &page[..policy], &page[after..]).replace("</body>", &script);
    let (told, shown) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            let told = told.clone();
            let Ok(mut other) = stream.try_clone() else { continue };
            // Kept open until the page was shown, which ends this thread's work and lets the page load.
            held.push(stream);
            std::thread::spawn(move || {
                let mut line = [0; 200];
                let read = other.read(&mut line).unwrap_or(0);
                let line = String::from_utf8_lossy(&line[..read]).into_owned();
                if let Some(rest) = line.strip_prefix("GET /shown/") {
                    let _ = told.send(rest.split(' ').next().unwrap_or_default().to_owned());
                }
            });
        }
    });
    let files = Files::new(&[]);
    let path = files.add("page.html", page.as_bytes());
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", files.at("profile")))
        .arg(format!("file://{path}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let said = shown.recv_timeout(Duration::from_secs(60));
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    said.expect("the page was shown")
}

#[test]
fn a_browser_opens_five_thousand_findings_in_less_than_two_seconds() {
    let browser = browser();
    let report = atomvet_with(&["check", "--format", "json", "-"], in_a_million_events().as_bytes());
    let page = rendered(&report.ends_with(1).out, "html");
    assert!(page.len() < 5_000_000 && !page.contains("To keep this file small"), "{}", page.len());
    // From the start of loading to the second frame with the table in it. The best of a few: the machine may be busy.
    let mut took = Vec::new();
    for _ in 0..4 {
        let said = told_in_real_time(&browser, &page);
        let (rows, milliseconds) = said.split_once('/').expect("two numbers");
        assert_eq!(rows, "50");
        took.push(milliseconds.parse::<u32>().expect("a number"));
        if took.last() < Some(&2000) {
            return;
        }
    }
    panic!("it took {took:?} ms");
}

#[test]
fn a_browser_draws_it_light_dark_narrow_and_on_paper() {
    let browser = browser();
    // Where a developer finds the pictures.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&folder).expect("made");
    let page = rendered(&set_aside(), "html").replace(
        "</body>",
        "<script>setTimeout(() => dispatchEvent(new Event(\"beforeprint\")), 200)</script></body>",
    );
    let taken = |name: &str, arguments: &[&str]| {
        let path = folder.join(name);
        // What an earlier run left must not stand for what this one did.
        let _ = std::fs::remove_file(&path);
        let kind = if name.ends_with("pdf") { "print-to-pdf" } else { "screenshot" };
        let to = format!("--{kind}={}", path.display());
        let arguments: Vec<&str> =
            arguments.iter().copied().chain([to.as_str(), "--virtual-time-budget=5000"]).collect();
        run(&browser, &Files::new(&[]), &page, &arguments);
        std::fs::read(path).expect("the browser has written it")
    };
    let light = taken("light.png", &["--window-size=1300,2400", "--blink-settings=preferredColorScheme=1"]);
    let dark = taken("dark.png", &["--window-size=1300,2400", "--blink-settings=preferredColorScheme=0"]);
    let narrow = taken("narrow.png", &["--window-size=420,2400"]);
    assert!(light != dark && light.len() > 50_000 && dark.len() > 50_000 && narrow.len() > 30_000);
    assert!(taken("paper.pdf", &[]).starts_with(b"%PDF"));
}
