"use strict";
// Everything shown comes from the data block and goes into the page as text: no markup is ever made of it.
(async () => {
const block = document.getElementById("data");
const unpacked = text => new Response(new Blob([Uint8Array.from(atob(text), c => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
const data = block.type === "application/json" ? JSON.parse(block.textContent) : await unpacked(block.textContent);
const S = i => data.strings[i];
const NS = "http://www.w3.org/2000/svg";
const PAGE = 50;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const g = (tag, attributes, ...children) => fill(document.createElementNS(NS, tag), attributes, children);
const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, one) => `${grouped(n)} ${one}${n === 1 ? "" : "s"}`;
const cut = (text, most) => { const chars = [...text]; return chars.length <= most ? text : chars.slice(0, most - 1).join("") + "…"; };

// The data block is made of numbers and indices; this gives them names.
const findings = data.findings.map((f, order) => ({
  order, print: f.p, title: S(f.t), rule: data.rules[f.r], strength: data.strengths[f.s], level: ["error", "warning", "note"][f.l],
  subject: S(f.u), site: f.w < 0 ? null : data.sites[f.w], count: f.k, traces: f.x, checkers: f.a.map(S), variables: f.v.map(S),
  files: f.f.map(S), aside: f.z ? f.z[0] : 0, asideLine: f.z ? S(f.z[1]) : "", told: f.d,
}));
const ASIDE = ["counts", "suppressed", "in the baseline", "benign"];
const place = site => site ? S(site[0]) : "";
const byPrint = new Map(findings.map(f => [f.print, f]));

// The state: what is asked for. The table is made anew from it.
const shownFirst = findings.some(f => !f.aside) ? "0" : "";
const state = { key: "order", down: false, page: 0, open: new Set(), unfolded: new Set(), block: "", variable: "", file: "", strength: "", kind: "", aside: shownFirst };
const columns = [
  { key: "title", name: "Finding", width: "30%", value: f => f.title },
  { key: "kind", name: "Kind", width: "14%", value: f => f.rule.name, wide: true },
  { key: "strength", name: "How sure", width: "15%", value: f => f.order, sorted: f => `${f.level} ${f.strength.name}` },
  { key: "variable", name: "Variables", width: "15%", value: f => f.variables.join(", "), wide: true },
  { key: "file", name: "Where", width: "18%", value: f => place(f.site), wide: true },
  { key: "count", name: "Seen", width: "8%", value: f => f.count, number: true, wide: true },
];

function chosen() {
  const has = (list, part) => !part || list.some(text => text.toLowerCase().includes(part.toLowerCase()));
  const rows = findings.filter(f => has([f.subject, f.title], state.block) && has(f.variables, state.variable) && has(f.files.concat(place(f.site)), state.file)
    && (!state.aside || String(f.aside) === state.aside) && (!state.strength || f.strength.name === state.strength) && (!state.kind || f.rule.id === state.kind));
  const column = columns.find(c => c.key === state.key);
  if (column) {
    const value = column.sorted || column.value;
    rows.sort((a, b) => { const [x, y] = [value(a), value(b)]; return (typeof x === "number" ? x - y : x < y ? -1 : x > y ? 1 : 0) || a.order - b.order; });
    if (state.down) rows.reverse();
  }
  return rows;
}

const body = h("tbody");
const heads = columns.map(column => h("th", { scope: "col", style: `width:${column.width}`, class: [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") },
  h("button", { type: "button", onclick: () => sort(column) }, column.name)));
const table = h("table", { class: "overview" }, h("caption", { class: "hidden" }, "All findings; the buttons in the headings sort"), h("thead", {}, h("tr", {}, heads)), body);
const empty = h("p", { class: "muted" }, "No finding is like that. Empty the fields above to see all of them.");
const status = h("span", { role: "status", "aria-live": "polite" });
const previous = h("button", { type: "button", onclick: () => turn(-1) }, "Previous page");
const next = h("button", { type: "button", onclick: () => turn(1) }, "Next page");
const all = h("button", { type: "button", onclick: openAll }, "Open all on this page");

function sort(column) {
  state.down = state.key === column.key ? !state.down : Boolean(column.number);
  state.key = column.key;
  state.page = 0;
  show();
}
function turn(by) { state.page += by; show(); table.scrollIntoView(); }
function openAll() { for (const f of pageOf(chosen())) state.open.add(f.print); show(); }
const pageOf = rows => rows.slice(state.page * PAGE, (state.page + 1) * PAGE);

function show() {
  const rows = chosen();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  state.page = Math.min(Math.max(state.page, 0), pages - 1);
  columns.forEach((column, i) => heads[i].setAttribute("aria-sort", state.key !== column.key ? "none" : state.down ? "descending" : "ascending"));
  body.replaceChildren(...pageOf(rows).flatMap(line));
  const of = rows.length === findings.length ? "" : ` of ${grouped(findings.length)}`;
  empty.hidden = rows.length > 0;
  status.textContent = `${plural(rows.length, "finding")}${of}` + (pages > 1 ? `, page ${state.page + 1} of ${pages}` : "");
  previous.hidden = next.hidden = pages === 1;
  previous.disabled = state.page === 0;
  next.disabled = state.page + 1 >= pages;
}

function line(f) {
  const cell = (column, ...content) => h("td", { class: [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") }, content);
  const isOpen = state.open.has(f.print);
  const button = h("button", { type: "button", class: "open", "aria-expanded": String(isOpen), "aria-controls": `d-${f.order}`, onclick: toggle }, f.title);
  const detail = h("tr", { class: "detail", id: `d-${f.order}` });
  detail.hidden = !isOpen;
  if (isOpen) detail.append(h("td", { colspan: columns.length }, article(f)));
  function toggle() {
    const opens = !state.open.delete(f.print);
    if (opens) state.open.add(f.print);
    if (opens && !detail.firstChild) detail.append(h("td", { colspan: columns.length }, article(f)));
    detail.hidden = !opens;
    button.setAttribute("aria-expanded", String(opens));
  }
  const set = f.aside ? h("div", { class: "facts" }, h("span", { class: "badge" }, ASIDE[f.aside]), " ", f.asideLine) : null;
  return [h("tr", { class: f.aside ? "aside" : null }, cell(columns[0], button, set), cell(columns[1], f.rule.name),
    cell(columns[2], h("span", { class: `badge ${f.level}`, title: f.strength.meaning }, f.strength.name)),
    cell(columns[3], f.variables.join(", ")), cell(columns[4], h("span", { class: "mono" }, place(f.site))), cell(columns[5], grouped(f.count) + "×")), detail];
}

// One finding.
function article(f) {
  const told = f.told;
  const parts = [h("p", { class: "lead" }, h("strong", {}, f.title), ". ", capital(f.rule.name) + ": ", told ? S(told.m) : f.rule.meaning, ".")];
  if (f.aside) parts.push(h("p", { class: "warn" }, "This does not count: ", f.asideLine, "."));
  if (!told) {
    parts.push(h("p", { class: "muted" }, "The details of this finding are folded to keep this file small. The JSON report has them."));
  } else {
    if (told.R.length) {
      const heading = told.U ? "Two accesses that could happen at the same time" : f.strength.name === "observed" ? "What happened, from top to bottom" : "What could happen, from top to bottom";
      const other = told.U || f.strength.name === "observed" || f.strength.name === "suspected" ? null : h("p", { class: "facts" }, "The numbers on the left are those of the recorded execution, in which the order was another.");
      parts.push(h("h3", {}, heading), other, stage(f), steps(f));
    }
    if (told.y.length) parts.push(h("h3", {}, "Why that is wrong"), h("ol", { class: "because" }, told.y.map((i, why) => h("li", { "data-why": why }, S(i)))), told.c < 0 ? null : h("p", { class: "conclusion" }, S(told.c)));
    const picture = graph(f);
    if (picture) parts.push(h("h3", {}, told.U ? "What nothing orders" : f.rule.id === "potential-deadlock" ? "Who waits for whom" : "Who would have to come before whom"), h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Graph" }, picture));
    parts.push(h("div", { class: "remedy" }, h("strong", {}, "What to do: "), S(told.h), "."));
    parts.push(...excerpts(f));
    parts.push(...told.n.map(i => h("p", { class: "facts" }, S(i))));
  }
  const traces = f.traces.map(i => data.traces[i]).join(", ");
  parts.push(h("p", { class: "facts" }, `${capital(f.strength.name)}: ${f.strength.meaning}. Seen ${plural(f.count, "time")} in ${traces}, by ${f.checkers.join(", ")}. Fingerprint `, h("a", { href: "#" + encodeURIComponent(f.print), class: "mono" }, f.print)));
  const whole = h("article", { id: f.print, tabindex: "-1", "aria-label": f.title }, parts);
  // What belongs together is lit together: an arrow, its sentence, its events and their lines.
  const light = event => lit(whole, event.target.closest ? event.target.closest("[data-why],[data-row]") : null);
  for (const kind of ["mouseover", "focusin"]) whole.addEventListener(kind, light);
  whole.addEventListener("mouseleave", () => lit(whole, null));
  return whole;
}
function lit(whole, element) {
  for (const other of whole.querySelectorAll(".lit")) other.classList.remove("lit");
  if (!element) return;
  for (const key of ["why", "row"]) {
    // A line of source may belong to several events.
    for (const value of (element.dataset[key] || "").split(" ").filter(Boolean)) for (const other of whole.querySelectorAll(`[data-${key}~="${Number(value)}"]`)) other.classList.add("lit");
  }
  const said = whole.querySelector(".said");
  if (said) said.textContent = element.dataset.told || "";
}

// The drawing, with what can be done to it.
function stage(f) {
  const frame = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Drawing" });
  const said = h("p", { class: "said mono", "aria-hidden": "true" });
  const number = (f.told.F || []).reduce((sum, fold) => sum + fold[1], 0);
  const button = number ? h("button", { type: "button", class: "unfold noprint", "aria-pressed": "false", onclick: toggle }) : null;
  function toggle() { if (!state.unfolded.delete(f.print)) state.unfolded.add(f.print); draw(); }
  function draw() {
    const unfolded = state.unfolded.has(f.print);
    frame.replaceChildren(drawing(f, unfolded));
    if (button) { button.textContent = unfolded ? "Fold what plays no part" : `Show ${plural(number, "event")} that ${number === 1 ? "plays" : "play"} no part`; button.setAttribute("aria-pressed", String(unfolded)); }
  }
  // The events are one stop for the Tab key; the arrow keys walk through them.
  frame.addEventListener("keydown", event => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const events = [...frame.querySelectorAll("g.event")];
    const at = events.indexOf(document.activeElement);
    if (!by || at < 0) return;
    event.preventDefault();
    const next = events[Math.min(Math.max(at + by, 0), events.length - 1)];
    events[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
  draw();
  return h("div", {}, frame, said, button);
}
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

// The events of a finding as a table, for those who do not see the drawing.
function steps(f) {
  const locks = f.told.R.some(row => row.length > 5);
  const heading = ["Step", "Thread", "What it does", "Where", "Event"].concat(locks ? ["Locks held"] : []);
  return h("details", { class: "steps" }, h("summary", {}, "The same as a table"), h("table", {}, h("caption", { class: "hidden" }, `The steps of: ${f.title}`), h("thead", {}, h("tr", {}, heading.map(text => h("th", { scope: "col" }, text)))),
    h("tbody", {}, f.told.R.map((row, i) => h("tr", { "data-row": i }, [String(i + 1), S(f.told.T[row[1]]), S(row[2]), row[4] < 0 ? "" : place(data.sites[row[4]]), grouped(row[0])].concat(locks ? [row.slice(5).map(S).join(", ") || "none"] : []).map(text => h("td", {}, text)))))));
}

// What both drawings are made of.
const CHAR = 7.6;
const long = text => [...text].length;
function picture(f, what, width, height, title, description) {
  const id = `${what}-${f.order}`;
  const tip = (name, orient) => g("marker", { id: `${name}-${id}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient }, g("path", { d: "M0 0L10 5L0 10z", class: "tip" }));
  return g("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-labelledby": `title-${id}`, "aria-describedby": `desc-${id}` },
    g("title", { id: `title-${id}` }, title), g("desc", { id: `desc-${id}` }, description), g("defs", {}, tip("tip", "auto-start-reverse")));
}
function arrow(f, what, path, [mx, my], label, why) {
  const end = `url(#tip-${what}-${f.order})`;
  const told = why < 0 ? label : `${why + 1}: ${label}. ${S(f.told.y[why])}`;
  return g("g", { class: "why", "data-why": why < 0 ? null : why, "data-told": told }, g("title", {}, told), g("path", { d: path, class: why < 0 ? "arrow inner" : "arrow", "marker-end": end, "marker-start": f.told.U ? end : null }),
    why < 0 ? null : g("circle", { cx: mx, cy: my, r: 9.5, class: "badge-circle" }), why < 0 ? null : g("text", { x: mx, y: my + 4, class: "badge-text" }, String(why + 1)));
}

// A space-time diagram: a column per thread, a row per event, time runs down.
function drawing(f, unfolded) {
  const { T: threads, R: rows, B: bars, A: arrows, F: folds = [], U: together } = f.told;
  const LEFT = 62, GUTTER = 74, HEAD = 40, ROW = 46, CAPTION = 22, FOLD = 20;
  const begins = new Map(bars.filter(bar => bar[4] === 1).map(bar => [bar[2], bar]));
  // What is drawn, from top to bottom: rows, and lines for what plays no part. Unfolded, those stand where they happened.
  const quiet = folds.flatMap(([row, number, events]) => {
    const told = unfolded ? events : [], hidden = number - told.length;
    const mark = hidden ? [{ row, at: told.length ? told[0][0] - .5 : null, words: `⋮ ${plural(hidden, "event")} ${told.length ? "before" : "folded"}`, event: "" }] : [];
    return mark.concat(told.map(([event, what, site]) => ({ row, at: event, words: cut(S(what), 40) + (site < 0 ? "" : `  ${cut(S(site), 30)}`), event: grouped(event) })));
  });
  const before = rows.map((row, i) => quiet.filter(line => line.at === null ? line.row === i : line.at < row[0] && (i === 0 || line.at > rows[i - 1][0])).sort((p, q) => p.at - q.at));
  const text = rows.map((row, i) => cut(begins.has(i) ? `${S(begins.get(i)[1])} begins` : S(row[2]), 40));
  const where = rows.map(row => row[4] < 0 ? "" : cut(place(data.sites[row[4]]), 42));
  const width = threads.map((name, t) => Math.max(150, 40 + CHAR * Math.max(long(cut(S(name), 24)) + 7,
    ...rows.flatMap((row, i) => row[1] === t ? [long(text[i]), long(where[i]) * .93, ...quiet.filter(line => line.row === i).map(line => long(line.words) * .93)] : []), ...bars.filter(bar => bar[0] === t && !bar[4]).map(bar => long(caption(bar))))));
  const left = []; let x = LEFT;
  for (const w of width) { left.push(x); x += w + GUTTER; }
  const total = x - GUTTER + 24;
  const top = [], start = new Map(); let y = HEAD + 12;
  // A block that began before starts with the first line that is its own, below its name.
  const opens = row => { for (const bar of bars) if (bar[2] === row && !bar[4] && !start.has(bar)) { start.set(bar, y); y += CAPTION; } };
  rows.forEach((_, i) => {
    // What nothing orders is drawn side by side.
    if (together && i) { top.push(top[0]); return; }
    for (const line of before[i]) { opens(line.row); line.y = y + 14; y += FOLD; }
    opens(i);
    top.push(y + ROW / 2);
    y += ROW;
  });
  const bottom = y + 14;
  const lane = t => left[t] + 16;
  const end = i => lane(rows[i][1]) + 16 + CHAR * Math.max(long(text[i]), long(where[i]) * .93);
  function caption(bar) { return cut(`${S(bar[1])} (began before)`, 40); }
  const svg = picture(f, "drawing", total, bottom, `${plural(threads.length, "thread")}, ${plural(rows.length, "event")}`, f.told.y.map(S).join(" "));
  threads.forEach((name, t) => {
    svg.append(g("text", { x: left[t] + 4, y: 24, class: "head" }, `thread ${cut(S(name), 24)}`), g("line", { x1: lane(t), x2: lane(t), y1: HEAD - 6, y2: bottom - 4, class: "lane" }));
  });
  svg.append(g("text", { x: 8, y: 24, class: "count" }, "event"));
  bars.forEach((bar, i) => {
    const nested = bars.slice(0, i).some(other => other[0] === bar[0] && other[2] <= bar[2] && other[3] >= bar[3]) ? 5 : 0;
    const y1 = (start.get(bar) ?? top[bar[2]] - ROW / 2) + 3, y2 = top[bar[3]] + ROW / 2 - 3;
    svg.append(g("g", {}, g("title", {}, `${S(bar[1])}, in thread ${S(threads[bar[0]])}${bar[5] ? ": not atomic" : ""}`),
      g("rect", { x: left[bar[0]] + nested, y: y1, width: width[bar[0]] - 2 * nested, height: y2 - y1, rx: 8, class: bar[5] ? "bar blamed" : bar[4] === 2 ? "bar held" : "bar" }),
      bar[4] ? null : g("text", { x: left[bar[0]] + 32, y: y1 + 17, class: "name" }, caption(bar))));
  });
  for (const { row, words, event, y: at } of quiet) {
    const column = lane(rows[row][1]);
    svg.append(g("text", { x: 8, y: at, class: "count" }, cut(event, 8)), g("circle", { cx: column, cy: at - 4, r: event ? 2.5 : 0, class: "quiet" }), g("text", { x: column + 14, y: at, class: "site" }, words));
  }
  rows.forEach((row, i) => {
    if (!(together && i)) svg.append(g("line", { x1: LEFT - 4, x2: total - 20, y1: top[i] + ROW / 2, y2: top[i] + ROW / 2, class: "rule" }));
    const locks = row.length > 5 ? `, with ${row.slice(5).map(S).join(", ")} held` : "";
    const told = `event ${grouped(row[0])}: thread ${S(threads[row[1]])} ${S(row[2])}, ${S(row[3])}${row[4] < 0 ? "" : " at " + place(data.sites[row[4]])}${locks}`;
    svg.append(g("g", { class: "event", tabindex: i ? "-1" : "0", role: "img", "aria-label": told, "data-row": i, "data-told": told }, g("title", {}, told),
      g("rect", { x: lane(row[1]) - 9, y: top[i] - ROW / 2 + 4, width: end(i) - lane(row[1]) + 5, height: ROW - 8, rx: 6, class: "halo" }),
      together && i ? null : g("text", { x: 8, y: top[i] + 4, class: "count" }, cut(together ? "" : grouped(row[0]), 8)), g("circle", { cx: lane(row[1]), cy: top[i], r: 5, class: "dot" }),
      g("text", { x: lane(row[1]) + 14, y: where[i] ? top[i] - 3 : top[i] + 4, class: begins.has(i) ? "name" : "" }, text[i]), where[i] ? g("text", { x: lane(row[1]) + 14, y: top[i] + 13, class: "site" }, where[i]) : null));
  });
  for (const [one, other, label, why] of arrows) {
    // Arrows without a direction are drawn from left to right.
    const [from, to] = together && rows[one][1] > rows[other][1] ? [other, one] : [one, other];
    const [a, b] = [rows[from][1], rows[to][1]];
    const [y1, y2] = [top[from], top[to]];
    // The number sits nearer to the tail than to the tip: where two arrows cross, both can be read.
    const on = (p, q, r, s) => together ? (p + s) / 2 : .343 * p + .441 * q + .189 * r + .027 * s;
    let path, middle;
    if (a === b) {
      const [x1, bow] = [lane(a) - 6, 22];
      path = `M${x1} ${y1}C${x1 - bow} ${y1} ${x1 - bow} ${y2} ${x1} ${y2}`;
      middle = [on(x1, x1 - bow, x1 - bow, x1), on(y1, y1, y2, y2)];
    } else {
      const right = a < b;
      const x1 = right ? end(from) : lane(a) - 8, x2 = right ? lane(b) - 8 : end(to) + 4;
      const dx = Math.max(28, Math.abs(x2 - x1) / 2);
      const [c1, c2] = right ? [x1 + dx, x2 - dx] : [x1 - dx, x2 + dx];
      path = `M${x1} ${y1}C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`;
      middle = [on(x1, c1, c2, x2), on(y1, y1, y2, y2)];
    }
    svg.append(arrow(f, "drawing", path, middle, S(label), why));
  }
  return svg;
}

// The transaction graph: a box per block, lone event or thread, the arrows of the cycle between them.
function graph(f) {
  const { N: nodes, M: nodeOf, T: threads, A: arrows } = f.told;
  const edges = arrows.map(([from, to, label, why]) => [nodeOf[from], nodeOf[to], S(label), why]).filter(([from, to]) => from !== to);
  if (!edges.length) return null;
  // Round the cycle, from the block that is not atomic.
  const order = [], rest = new Set(nodes.keys());
  const follow = node => { while (node !== undefined && rest.delete(node)) { order.push(node); node = (edges.find(([from, to]) => from === node && rest.has(to)) || [])[1]; } };
  follow(Math.max(nodes.findIndex(node => node[2]), 0));
  for (const node of nodes.keys()) follow(node);
  const lines = nodes.map(([name, thread]) => [cut(S(name), 30), `thread ${cut(S(threads[thread]), 24)}`]);
  const half = lines.map(pair => Math.max(60, CHAR * Math.max(...pair.map(long)) / 2 + 14)), TALL = 24;
  const widest = Math.max(...half);
  const labels = edges.map(edge => cut(edge[2], 40));
  const center = [];
  let width, height;
  if (nodes.length === 2) {
    const gap = Math.max(120, CHAR * Math.max(...labels.map(long)) + 50);
    const most = Math.max(...[0, 1].map(side => edges.filter(([from]) => (from === order[0]) === !side).length));
    height = 130 + 56 * (most - 1) + 20;
    center[order[0]] = [16 + half[order[0]], height / 2];
    center[order[1]] = [16 + 2 * half[order[0]] + gap + half[order[1]], height / 2];
    width = center[order[1]][0] + half[order[1]] + 16;
  } else {
    // On an ellipse, moved to where nothing is left over.
    const radius = Math.max(80, nodes.length * 30), wide = radius + widest;
    order.forEach((node, i) => { const turn = 2 * Math.PI * i / order.length - Math.PI / 2; center[node] = [wide * Math.cos(turn), radius * Math.sin(turn)]; });
    const [left, top] = [0, 1].map(axis => Math.min(...center.map(point => point[axis])));
    for (const point of center) { point[0] += widest + 16 - left; point[1] += TALL + 16 - top; }
    width = Math.max(...center.map(point => point[0])) + widest + 16;
    height = Math.max(...center.map(point => point[1])) + TALL + 24;
  }
  const svg = picture(f, "graph", width, height, f.told.U ? "Two accesses that nothing orders" : "The order that each reason asks for; it goes round in a circle", f.told.y.map(S).join(" "));
  nodes.forEach(([name, thread, blamed], i) => {
    const [x, y] = center[i];
    svg.append(g("g", {}, g("title", {}, `${S(name)}, in thread ${S(threads[thread])}${blamed ? ": not atomic" : ""}`), g("rect", { x: x - half[i], y: y - TALL, width: 2 * half[i], height: 2 * TALL, rx: 8, class: blamed ? "bar blamed" : "bar" }),
      g("text", { x, y: y - 3, class: "name middle" }, lines[i][0]), g("text", { x, y: y + 14, class: "site middle" }, lines[i][1])));
  });
  const drawn = new Map();
  edges.forEach(([from, to, , why], i) => {
    const nth = drawn.get(`${from} ${to}`) || 0;
    drawn.set(`${from} ${to}`, nth + 1);
    const [[ax, ay], [bx, by]] = [center[from], center[to]];
    if (nodes.length === 2) {
      // There above, back below, and a label for each.
      const there = ax < bx, bow = (there ? -1 : 1) * (48 + 56 * nth);
      const [x1, x2] = there ? [ax + half[from], bx - half[to]] : [ax - half[from], bx + half[to]];
      const shift = f.told.U ? 0 : bow / 4.8, y = ay + shift;
      const path = f.told.U ? `M${x1} ${ay}L${x2} ${by}` : `M${x1} ${y}C${(2 * x1 + x2) / 3} ${ay + bow} ${(x1 + 2 * x2) / 3} ${ay + bow} ${x2} ${y}`;
      const my = f.told.U ? ay : ay + .75 * bow + .25 * shift;
      svg.append(arrow(f, "graph", path, [(x1 + x2) / 2, my], edges[i][2], why), g("text", { x: (x1 + x2) / 2, y: my + (there ? -16 : 26), class: "site middle" }, labels[i]));
    } else {
      const [dx, dy] = [bx - ax, by - ay], length = Math.hypot(dx, dy) || 1;
      // From border to border, bowed to the left a little, so that there and back are two lines.
      const bow = 16 + 22 * nth, [px, py] = [dy / length * bow, -dx / length * bow];
      const border = (node, vx, vy, gap) => Math.min((half[node] + gap) / (Math.abs(vx) || 1e-9), (TALL + gap) / (Math.abs(vy) || 1e-9));
      const [cx, cy] = [(ax + bx) / 2 + px, (ay + by) / 2 + py];
      const [t, u] = [border(from, cx - ax, cy - ay, 1), border(to, cx - bx, cy - by, 3)];
      const [x1, y1, x2, y2] = [ax + (cx - ax) * t, ay + (cy - ay) * t, bx + (cx - bx) * u, by + (cy - by) * u];
      svg.append(arrow(f, "graph", `M${x1} ${y1}Q${cx} ${cy} ${x2} ${y2}`, [.25 * x1 + .5 * cx + .25 * x2, .25 * y1 + .5 * cy + .25 * y2], edges[i][2], why));
    }
  });
  return svg;
}

// The source around the events, as far as it was found.
function excerpts(f) {
  const files = new Map();
  f.told.R.forEach((row, i) => {
    const site = row[4] < 0 ? null : data.sites[row[4]];
    const source = site && data.source[site[1]];
    if (!source || !source[site[2]] && source[site[2]] !== "") return;
    if (!files.has(site[1])) files.set(site[1], new Map());
    const hits = files.get(site[1]);
    hits.set(site[2], (hits.get(site[2]) || []).concat([[i, `${i + 1}: ${S(f.told.T[row[1]])} ${S(row[2])}`]]));
  });
  if (!files.size) return [];
  const tables = [...files].map(([file, hits]) => {
    const source = data.source[file], lines = new Set();
    for (const hit of hits.keys()) for (let n = hit - 2; n <= hit + 2; n++) if (n in source) lines.add(n);
    let last = 0;
    const rows = [...lines].sort((a, b) => a - b).flatMap(n => {
      const gap = last && n > last + 1 ? [h("tr", {}, h("td", {}, "⋮"), h("td", {}, ""), h("td", {}, ""))] : [];
      last = n;
      return gap.concat(h("tr", { class: hits.has(n) ? "hit" : "", "data-row": hits.has(n) ? hits.get(n).map(([i]) => i).join(" ") : null }, h("td", {}, String(n)), h("td", {}, source[n]), h("td", {}, hits.has(n) ? "← " + hits.get(n).map(([, words]) => words).join("; ") : "")));
    });
    return h("div", { class: "excerpt", tabindex: "0", role: "group", "aria-label": `Source of ${S(file)}` }, h("table", {}, h("caption", {}, S(file)), h("tbody", {}, rows)));
  });
  return [h("h3", {}, "The source"), ...tables];
}

// The page.
function filter(key, name) {
  const list = h("datalist", { id: `list-${key}` });
  const values = new Set();
  for (const f of findings) for (const value of key === "block" ? [f.subject] : key === "variable" ? f.variables : f.files) if (values.size < 200) values.add(value);
  list.append(...[...values].sort().map(value => h("option", { value })));
  return h("label", {}, name, h("input", { type: "search", id: `filter-${key}`, list: `list-${key}`, placeholder: "any", oninput: event => { state[key] = event.target.value; state.page = 0; show(); } }), list);
}
function select(key, name, options) {
  return h("label", {}, name, h("select", { id: `filter-${key}`, onchange: event => { state[key] = event.target.value; state.page = 0; show(); } }, h("option", { value: "" }, "any"), options.map(([value, text]) => h("option", { value }, text))));
}
function goTo() {
  let print = "";
  try { print = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  const f = byPrint.get(print);
  if (!f) return;
  if (!chosen().includes(f)) { Object.assign(state, { block: "", variable: "", file: "", strength: "", kind: "", aside: "" }); for (const input of document.querySelectorAll(".filters input,.filters select")) input.value = ""; }
  state.open.add(print);
  state.page = Math.floor(chosen().indexOf(f) / PAGE);
  show();
  const shown = document.getElementById(print);
  if (shown) { shown.scrollIntoView(); shown.focus({ preventScroll: true }); }
}
if (findings.length) {
  if (findings.length <= 3) for (const f of findings) if (!f.aside) state.open.add(f.print);
  const present = list => [...new Map(list).entries()].sort();
  const numbers = ASIDE.map((_, kind) => findings.filter(f => f.aside === kind).length);
  const apart = numbers.slice(1).some(Boolean) ? select("aside", "Set aside", ASIDE.map((word, kind) => [String(kind), `${word} (${grouped(numbers[kind])})`]).filter((_, kind) => numbers[kind])) : null;
  if (apart) apart.querySelector("select").value = state.aside;
  document.getElementById("findings").append(
    h("div", { class: "filters", role: "search", "aria-label": "Filter the findings" }, filter("block", "Block"), filter("variable", "Variable"), filter("file", "File"),
      select("strength", "How sure", present(findings.map(f => [f.strength.name, f.strength.name]))), select("kind", "Kind", present(findings.map(f => [f.rule.id, f.rule.name]))), apart, all),
    table, empty, h("div", { class: "pager" }, previous, next, status));
  show();
  addEventListener("hashchange", goTo);
  addEventListener("beforeprint", openAll);
  goTo();
}
})();
