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
  files: f.f.map(S), told: f.d,
}));
const place = site => site ? S(site[0]) : "";
const byPrint = new Map(findings.map(f => [f.print, f]));

// The state: what is asked for. The table is made anew from it.
const state = { key: "order", down: false, page: 0, open: new Set(), block: "", variable: "", file: "", strength: "", kind: "" };
const columns = [
  { key: "title", name: "Finding", width: "30%", value: f => f.title },
  { key: "kind", name: "Kind", width: "14%", value: f => f.rule.name },
  { key: "strength", name: "How sure", width: "15%", value: f => f.order, sorted: f => `${f.level} ${f.strength.name}` },
  { key: "variable", name: "Variables", width: "15%", value: f => f.variables.join(", "), wide: true },
  { key: "file", name: "Where", width: "18%", value: f => place(f.site), wide: true },
  { key: "count", name: "Seen", width: "8%", value: f => f.count, number: true },
];

function chosen() {
  const has = (list, part) => !part || list.some(text => text.toLowerCase().includes(part.toLowerCase()));
  const rows = findings.filter(f => has([f.subject, f.title], state.block) && has(f.variables, state.variable) && has(f.files.concat(place(f.site)), state.file)
    && (!state.strength || f.strength.name === state.strength) && (!state.kind || f.rule.id === state.kind));
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
  return [h("tr", {}, cell(columns[0], button), cell(columns[1], f.rule.name),
    cell(columns[2], h("span", { class: `badge ${f.level}`, title: f.strength.meaning }, f.strength.name)),
    cell(columns[3], f.variables.join(", ")), cell(columns[4], h("span", { class: "mono" }, place(f.site))), cell(columns[5], grouped(f.count) + "×")), detail];
}

// One finding.
function article(f) {
  const told = f.told;
  const parts = [h("p", { class: "lead" }, h("strong", {}, f.title), ". ", capital(f.rule.name) + ": ", told ? S(told.m) : f.rule.meaning, ".")];
  if (!told) {
    parts.push(h("p", { class: "muted" }, "The details of this finding are folded to keep this file small. The JSON report has them."));
  } else {
    if (told.R.length) {
      parts.push(h("h3", {}, f.strength.name === "observed" ? "What happened, from top to bottom" : "What could happen, from top to bottom"), h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Drawing" }, drawing(f)), steps(f));
    }
    if (told.y.length) parts.push(h("h3", {}, "Why that is wrong"), h("ol", { class: "because" }, told.y.map(i => h("li", {}, S(i)))), told.c < 0 ? null : h("p", { class: "conclusion" }, S(told.c)));
    parts.push(h("div", { class: "remedy" }, h("strong", {}, "What to do: "), S(told.h), "."));
    parts.push(...excerpts(f));
    parts.push(...told.n.map(i => h("p", { class: "facts" }, S(i))));
  }
  const traces = f.traces.map(i => data.traces[i]).join(", ");
  parts.push(h("p", { class: "facts" }, `${capital(f.strength.name)}: ${f.strength.meaning}. Seen ${plural(f.count, "time")} in ${traces}, by ${f.checkers.join(", ")}. Fingerprint `, h("a", { href: "#" + encodeURIComponent(f.print), class: "mono" }, f.print)));
  return h("article", { id: f.print, tabindex: "-1", "aria-label": f.title }, parts);
}
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

// The events of a finding as a table, for those who do not see the drawing.
function steps(f) {
  const locks = f.told.R.some(row => row.length > 5);
  const heading = ["Step", "Thread", "What it does", "Where", "Event"].concat(locks ? ["Locks held"] : []);
  return h("details", { class: "steps" }, h("summary", {}, "The same as a table"), h("table", {}, h("thead", {}, h("tr", {}, heading.map(text => h("th", { scope: "col" }, text)))),
    h("tbody", {}, f.told.R.map((row, i) => h("tr", {}, [String(i + 1), S(f.told.T[row[1]]), S(row[2]), row[4] < 0 ? "" : place(data.sites[row[4]]), grouped(row[0])].concat(locks ? [row.slice(5).map(S).join(", ") || "none"] : []).map(text => h("td", {}, text)))))));
}

// A space-time diagram: a column per thread, a row per event, time runs down.
function drawing(f) {
  const { T: threads, R: rows, B: bars, A: arrows } = f.told;
  const CHAR = 7.6, LEFT = 62, GUTTER = 74, HEAD = 40, ROW = 46, CAPTION = 22;
  const begins = new Map(bars.filter(bar => bar[4]).map(bar => [bar[2], bar]));
  const text = rows.map((row, i) => cut(begins.has(i) ? `${S(begins.get(i)[1])} begins` : S(row[2]), 40));
  const where = rows.map(row => row[4] < 0 ? "" : cut(place(data.sites[row[4]]), 42));
  const width = threads.map((name, t) => Math.max(150, 40 + CHAR * Math.max([...cut(S(name), 24)].length + 7,
    ...rows.flatMap((row, i) => row[1] === t ? [[...text[i]].length, [...where[i]].length * .93] : []), ...bars.filter(bar => bar[0] === t && !bar[4]).map(bar => [...caption(bar)].length))));
  const left = []; let x = LEFT;
  for (const w of width) { left.push(x); x += w + GUTTER; }
  const total = x - GUTTER + 24;
  const top = []; let y = HEAD + 12;
  rows.forEach((_, i) => { if (bars.some(bar => bar[2] === i && !bar[4])) y += CAPTION; top.push(y + ROW / 2); y += ROW; });
  const bottom = y + 14;
  const lane = t => left[t] + 16;
  const end = i => lane(rows[i][1]) + 16 + CHAR * Math.max([...text[i]].length, [...where[i]].length * .93);
  function caption(bar) { return cut(`${S(bar[1])} (began before)`, 40); }
  const svg = g("svg", { width: total, height: bottom, viewBox: `0 0 ${total} ${bottom}`, role: "img", "aria-label": `${plural(threads.length, "thread")}, ${plural(rows.length, "event")}. ${f.told.y.map(S).join(" ")}` });
  const marker = `tip-${f.order}`;
  svg.append(g("defs", {}, g("marker", { id: marker, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, g("path", { d: "M0 0L10 5L0 10z", class: "tip" }))));
  threads.forEach((name, t) => {
    svg.append(g("text", { x: left[t] + 4, y: 24, class: "head" }, `thread ${cut(S(name), 24)}`), g("line", { x1: lane(t), x2: lane(t), y1: HEAD - 6, y2: bottom - 4, class: "lane" }));
  });
  svg.append(g("text", { x: 8, y: 24, class: "count" }, "event"));
  const used = new Map();
  for (const bar of bars) {
    const depth = used.get(bar[0] + ":" + bar[2]) || 0;
    used.set(bar[0] + ":" + bar[2], depth + 1);
    const nested = bars.some(other => other !== bar && other[0] === bar[0] && other[2] <= bar[2] && other[3] >= bar[3] && bars.indexOf(other) < bars.indexOf(bar)) ? 5 : 0;
    const y1 = top[bar[2]] - ROW / 2 + 3 - (bar[4] ? 0 : CAPTION), y2 = top[bar[3]] + ROW / 2 - 3;
    svg.append(g("g", {}, g("title", {}, `${S(bar[1])}, in thread ${S(threads[bar[0]])}${bar[5] ? ": not atomic" : ""}`),
      g("rect", { x: left[bar[0]] + nested, y: y1, width: width[bar[0]] - 2 * nested, height: y2 - y1, rx: 8, class: bar[5] ? "bar blamed" : "bar" }),
      bar[4] ? null : g("text", { x: left[bar[0]] + 32, y: y1 + 17, class: "name" }, caption(bar))));
  }
  rows.forEach((row, i) => {
    svg.append(g("line", { x1: LEFT - 4, x2: total - 20, y1: top[i] + ROW / 2, y2: top[i] + ROW / 2, class: "rule" }));
    const locks = row.length > 5 ? `\nlocks held: ${row.slice(5).map(S).join(", ")}` : "";
    svg.append(g("g", { class: "event" }, g("title", {}, `event ${grouped(row[0])}: thread ${S(threads[row[1]])} ${S(row[2])}\n${S(row[3])}${row[4] < 0 ? "" : " at " + place(data.sites[row[4]])}${locks}`),
      g("text", { x: 8, y: top[i] + 4, class: "count" }, cut(grouped(row[0]), 8)), g("circle", { cx: lane(row[1]), cy: top[i], r: 5, class: "dot" }),
      g("text", { x: lane(row[1]) + 14, y: where[i] ? top[i] - 3 : top[i] + 4, class: begins.has(i) ? "name" : "" }, text[i]), where[i] ? g("text", { x: lane(row[1]) + 14, y: top[i] + 13, class: "site" }, where[i]) : null));
  });
  for (const [from, to, label, why] of arrows) {
    const [a, b] = [rows[from][1], rows[to][1]];
    const [y1, y2] = [top[from], top[to]];
    // The number sits nearer to the tail than to the tip: where two arrows cross, both can be read.
    const on = (p, q, r, s) => .343 * p + .441 * q + .189 * r + .027 * s;
    let path, mx, my;
    if (a === b) {
      const [x1, bow] = [lane(a) - 6, 22];
      path = `M${x1} ${y1}C${x1 - bow} ${y1} ${x1 - bow} ${y2} ${x1} ${y2}`;
      [mx, my] = [on(x1, x1 - bow, x1 - bow, x1), on(y1, y1, y2, y2)];
    } else {
      const right = a < b;
      const x1 = right ? end(from) : lane(a) - 8, x2 = right ? lane(b) - 8 : end(to) + 4;
      const dx = Math.max(28, Math.abs(x2 - x1) / 2);
      const [c1, c2] = right ? [x1 + dx, x2 - dx] : [x1 - dx, x2 + dx];
      path = `M${x1} ${y1}C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`;
      [mx, my] = [on(x1, c1, c2, x2), on(y1, y1, y2, y2)];
    }
    svg.append(g("g", { class: "why" }, g("title", {}, why < 0 ? S(label) : `${S(label)}\n${S(f.told.y[why])}`), g("path", { d: path, class: why < 0 ? "arrow inner" : "arrow", "marker-end": `url(#${marker})` }),
      why < 0 ? null : g("circle", { cx: mx, cy: my, r: 9.5, class: "badge-circle" }), why < 0 ? null : g("text", { x: mx, y: my + 4, class: "badge-text" }, String(why + 1))));
  }
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
    hits.set(site[2], (hits.get(site[2]) || []).concat(`${i + 1}: ${S(f.told.T[row[1]])} ${S(row[2])}`));
  });
  if (!files.size) return [];
  const tables = [...files].map(([file, hits]) => {
    const source = data.source[file], lines = new Set();
    for (const hit of hits.keys()) for (let n = hit - 2; n <= hit + 2; n++) if (n in source) lines.add(n);
    let last = 0;
    const rows = [...lines].sort((a, b) => a - b).flatMap(n => {
      const gap = last && n > last + 1 ? [h("tr", {}, h("td", {}, "⋮"), h("td", {}, ""), h("td", {}, ""))] : [];
      last = n;
      return gap.concat(h("tr", { class: hits.has(n) ? "hit" : "" }, h("td", {}, String(n)), h("td", {}, source[n]), h("td", {}, hits.has(n) ? "← " + hits.get(n).join("; ") : "")));
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
  if (!chosen().includes(f)) { Object.assign(state, { block: "", variable: "", file: "", strength: "", kind: "" }); for (const input of document.querySelectorAll(".filters input,.filters select")) input.value = ""; }
  state.open.add(print);
  state.page = Math.floor(chosen().indexOf(f) / PAGE);
  show();
  const shown = document.getElementById(print);
  if (shown) { shown.scrollIntoView(); shown.focus({ preventScroll: true }); }
}
if (findings.length) {
  if (findings.length <= 3) for (const f of findings) state.open.add(f.print);
  const present = list => [...new Map(list).entries()].sort();
  document.getElementById("findings").append(
    h("div", { class: "filters", role: "search", "aria-label": "Filter the findings" }, filter("block", "Block"), filter("variable", "Variable"), filter("file", "File"),
      select("strength", "How sure", present(findings.map(f => [f.strength.name, f.strength.name]))), select("kind", "Kind", present(findings.map(f => [f.rule.id, f.rule.name]))), all),
    table, h("div", { class: "pager" }, previous, next, status));
  show();
  addEventListener("hashchange", goTo);
  addEventListener("beforeprint", openAll);
  goTo();
}
})();
