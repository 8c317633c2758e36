"use strict";
// The map of an index: draws, searches and tells. `D` is what page.py packed; numbers are places in its lists.
(async () => {
const $ = (id) => document.getElementById(id);
const note = (text) => { $("note").hidden = !text; $("note").textContent = text; };

async function unpack() {
  if (!window.DecompressionStream) throw new Error("this browser cannot unpack the map; use one of 2023 or later");
  const bytes = Uint8Array.from(atob($("data").textContent), (c) => c.charCodeAt(0));
  $("data").remove();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

let D;
try { D = await unpack(); } catch (error) { note(String(error.message || error)); return; }
const E = D.entities, L = D.edges, C = D.communities, n = E.name.length;
const GREY = "#9a9a9a", MANY = 3000;
const state = { level: D.level, folded: D.folded, open: new Set(), chosen: null, over: null };
note("");

// What is on the map: entities, or discs of communities that are closed

let items = [], itemOf = new Int32Array(n), lines = [], groups = new Map();

function membersOf(community) {
  if (!groups.has("members")) {
    const lists = C.map(() => []);
    for (const home of D.home) home.forEach((c, e) => { if (c >= 0 && lists[c][lists[c].length - 1] !== e) lists[c].push(e); });
    C.map((c, i) => i).sort((a, b) => C[b].level - C[a].level).forEach((i) => {  // a leaf stands on several levels
      if (C[i].children.length) lists[i] = C[i].children.flatMap((k) => lists[k]);
      else lists[i] = [...new Set(lists[i])];
    });
    groups.set("members", lists);
  }
  return groups.get("members")[community];
}

function arrange() {
  items = []; itemOf.fill(-1);
  const home = D.home[state.level];
  const entity = (e) => {
    const c = home ? home[e] : -1;
    itemOf[e] = items.length;
    items.push({ e, c, x: E.x[e], y: E.y[e], r: E.r[e], colour: c < 0 ? GREY : C[c].colour });
  };
  if (!state.folded || !home) for (let e = 0; e < n; e++) entity(e);
  else {
    const closed = (c) => {
      if (!state.open.has(c)) {
        const [x, y, wide] = C[c].circle, r = 0.78 * wide;  // less, for neighbours to stay apart
        for (const e of membersOf(c)) itemOf[e] = items.length;
        items.push({ e: -1, c, x, y, r, colour: C[c].colour });
      } else if (C[c].children.length) C[c].children.forEach(closed);
      else membersOf(c).forEach(entity);
    };
    [...new Set(home)].filter((c) => c >= 0).forEach(closed);
    for (let e = 0; e < n; e++) if (itemOf[e] < 0 && !D.folded) entity(e);
  }
  connect();
  const cell = 40;  // a grid, to find what is under the pointer
  groups.set("grid", new Map());
  items.forEach((it, i) => {
    for (let a = Math.floor((it.x - it.r) / cell); a <= (it.x + it.r) / cell; a++)
      for (let b = Math.floor((it.y - it.r) / cell); b <= (it.y + it.r) / cell; b++) {
        const key = a + "," + b, grid = groups.get("grid");
        if (!grid.has(key)) grid.set(key, []);
        grid.get(key).push(i);
      }
  });
  order = items.map((_, i) => i).sort((a, b) => items[b].r - items[a].r);
  draw();
}
let order = [];

function connect() {  // edges between items, the strongest first, each [a, b, weight, colour]
  lines = [];
  const sums = new Map(), m = items.length;
  for (let i = 0; i < L.source.length; i++) {
    const a = itemOf[L.source[i]], b = itemOf[L.target[i]];
    if (a < 0 || b < 0 || a === b) continue;
    if (items[a].e >= 0 && items[b].e >= 0) { lines.push([a, b, L.weight[i]]); continue; }
    const key = Math.min(a, b) * m + Math.max(a, b);
    sums.set(key, (sums.get(key) || 0) + L.weight[i]);
  }
  for (const [key, w] of sums) lines.push([Math.floor(key / m), key % m, w]);
  if (sums.size) lines.sort((p, q) => q[2] - p[2]);
  for (const line of lines) line.push(items[line[0]].c === items[line[1]].c && items[line[0]].c >= 0 ? items[line[0]].colour : "");
}

// The view and the drawing

const canvas = $("map"), pen = canvas.getContext("2d");
const view = { x: 0, y: 0, scale: 1 };
let wide = 0, high = 0, ratio = 1, still = true, waiting = 0, settle = 0;

function fit() {
  const [left, top, w, h] = D.frame;
  const right = $("panel").hidden || innerWidth < 760 ? 0 : 450, lead = innerWidth < 760 ? 0 : 350;
  const free = innerWidth - right - lead > 400 ? lead : 0;
  view.scale = Math.min((innerWidth - right - free) / w, innerHeight / h);
  view.x = left + w / 2 - (free - right) / 2 / view.scale; view.y = top + h / 2;
}
function resize() {
  ratio = Math.min(devicePixelRatio || 1, 2);
  canvas.width = (wide = innerWidth) * ratio; canvas.height = (high = innerHeight) * ratio;
  draw();
}
const sx = (x) => (x - view.x) * view.scale + wide / 2, sy = (y) => (y - view.y) * view.scale + high / 2;
const draw = () => { if (!waiting) waiting = requestAnimationFrame(paint); };
function moving() {  // few edges while the view moves, all of them once it rests
  still = false; clearTimeout(settle);
  settle = setTimeout(() => { still = true; draw(); }, 140);
  draw();
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function near() {  // items joined to the chosen entity
  if (!state.chosen || state.chosen.kind !== "entity") return null;
  const me = itemOf[state.chosen.i], set = new Set([me]);
  for (const [a, b] of lines) { if (a === me) set.add(b); if (b === me) set.add(a); }
  return set;
}

function paint() {
  waiting = 0;
  const paper = css("--paper"), ink = css("--ink"), s = view.scale;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = paper; pen.fillRect(0, 0, wide, high);
  const lit = groups.has("lit") ? groups.get("lit") : groups.set("lit", near()).get("lit");
  const inCommunity = state.chosen && state.chosen.kind === "community" ? new Set(membersOf(state.chosen.i).map((e) => itemOf[e])) : null;
  const bright = lit || inCommunity;
  paintEdges(lit, bright);
  const x0 = view.x - wide / 2 / s, x1 = view.x + wide / 2 / s, y0 = view.y - high / 2 / s, y1 = view.y + high / 2 / s;
  const batches = new Map();
  for (const i of order) {
    const it = items[i];
    if (it.x + it.r < x0 || it.x - it.r > x1 || it.y + it.r < y0 || it.y - it.r > y1) continue;
    const key = it.colour + (bright && !bright.has(i) ? "-" : "");
    if (!batches.has(key)) batches.set(key, []);
    batches.get(key).push(it);
  }
  const quick = !still && items.length > MANY;  // while much moves, small discs may be squares without a rim
  const rim = quick ? 0 : Math.min(1.2, 0.35 * s);
  pen.lineWidth = rim; pen.strokeStyle = paper;
  for (const [key, some] of batches) {
    pen.globalAlpha = key.endsWith("-") ? 0.14 : 1;
    pen.fillStyle = key.slice(0, 7);
    pen.beginPath();
    for (const it of some) {
      const r = it.r * s, x = sx(it.x), y = sy(it.y);
      if (r < (quick ? 3 : 1.3)) pen.rect(x - r, y - r, 2 * r, 2 * r);
      else { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); }
    }
    pen.fill(); if (rim > 0.4) pen.stroke();
  }
  pen.globalAlpha = 1;
  for (const i of [state.over, state.chosen && state.chosen.kind === "entity" ? itemOf[state.chosen.i] : null]) {
    if (i === null || i < 0 || !items[i]) continue;
    pen.beginPath(); pen.arc(sx(items[i].x), sy(items[i].y), items[i].r * s + 2.5, 0, 7);
    pen.lineWidth = 2; pen.strokeStyle = ink; pen.stroke();
  }
  paintLabels(paper, ink, bright);
}

function paintEdges(lit, bright) {
  const most = still ? 25000 : 2000, s = view.scale, batches = new Map();
  let count = 0;
  for (const [a, b, w, colour] of lines) {
    const p = items[a], q = items[b];
    const own = lit ? (state.chosen && (itemOf[state.chosen.i] === a || itemOf[state.chosen.i] === b)) : false;
    if (!own && ++count > most) { if (!lit) break; continue; }
    const ax = sx(p.x), ay = sy(p.y), bx = sx(q.x), by = sy(q.y);
    if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > wide || Math.max(ay, by) < 0 || Math.min(ay, by) > high) continue;
    const far = bright && !own && !(bright.has(a) && bright.has(b));
    const key = (own ? "!" : far ? "-" : colour ? "=" : "~") + (w > 12 ? 3 : w > 4 ? 2 : 1) + (own ? css("--ink") : colour || GREY);
    if (!batches.has(key)) batches.set(key, []);
    batches.get(key).push(ax, ay, bx, by);
  }
  for (const [key, ends] of batches) {
    pen.strokeStyle = key.slice(2);
    pen.globalAlpha = { "!": 0.5, "-": 0.02, "=": 0.3, "~": 0.11 }[key[0]];
    pen.lineWidth = Math.min(still ? 3 : 1, Math.max(0.5, 0.3 * s * key[1]));
    pen.beginPath();
    for (let i = 0; i < ends.length; i += 4) { pen.moveTo(ends[i], ends[i + 1]); pen.lineTo(ends[i + 2], ends[i + 3]); }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function paintLabels(paper, ink, lit) {
  const family = getComputedStyle(document.body).fontFamily, s = view.scale;
  const boxes = ["header", "aside"].map((tag) => document.querySelector(tag)).filter((node) => !node.hidden)
    .map((node) => node.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom]);
  pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineJoin = "round"; pen.fillStyle = ink; pen.strokeStyle = paper;
  const put = (text, x, y, size, weight) => {
    if (x < -100 || x > wide + 100 || y < 0 || y > high) return;
    pen.font = `${weight} ${size}px ${family}`;
    const rows = wrapped(text, weight > 500 ? 20 : 44), w = Math.max(...rows.map((r) => pen.measureText(r).width)) / 2, h = rows.length * size * 0.6;
    const box = [x - w - 2, y - h, x + w + 2, y + h];
    if (boxes.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) return;
    boxes.push(box); pen.lineWidth = size / 3.5;
    rows.forEach((row, i) => { const at = y + (i - (rows.length - 1) / 2) * size * 1.18; pen.strokeText(row, x, at); pen.fillText(row, x, at); });
  };
  const named = (it, size, weight) => put(name(it), sx(it.x), sy(it.y) + it.r * s + 8, size, weight);
  if (state.over !== null && items[state.over]) { const it = items[state.over]; put(name(it), sx(it.x), sy(it.y) - it.r * s - 12, 13, 600); }
  const one = state.chosen && state.chosen.kind === "entity";
  if (one && items[itemOf[state.chosen.i]]) named(items[itemOf[state.chosen.i]], 14, 650);
  if (one) putNames(named, lit);
  pen.globalAlpha = one ? 0.45 : 1;
  putTitles(put);
  pen.globalAlpha = 1;
  if (!one) putNames(named, lit);
}
function putTitles(put) {
  const s = view.scale;
  const shown = state.folded ? items.filter((it) => it.e < 0).map((it) => it.c) : [...new Set(D.home[state.level] || [])].filter((c) => c >= 0);
  shown.sort((a, b) => C[b].circle[2] - C[a].circle[2]);
  for (const c of shown.slice(0, 400)) {
    const [x, y, r] = C[c].circle;
    if (r * s < 26) break;
    if (r * s < Math.max(wide, high) * 0.5) put(C[c].title, sx(x), sy(y), Math.max(10, Math.min(19, r * s * (state.folded ? 0.26 : 0.18))), 650);
  }
}
function putNames(put, lit) {
  const s = view.scale;
  let tried = 0;
  for (const i of order) {
    const it = items[i];
    if (it.e < 0) continue;
    if (it.r * s < 5 && !(lit && lit.size < 200 && lit.has(i))) { if (!lit) break; continue; }
    if (lit && !lit.has(i)) continue;
    if (++tried > (still ? 500 : 60)) break;
    put(it, Math.min(14, 9.5 + it.r * s * 0.12), 450);
  }
}
const name = (it) => it.e < 0 ? `${C[it.c].title} (${C[it.c].size.toLocaleString()})` : E.name[it.e];
function wrapped(text, width) {
  const rows = [""], wides = /[\u2e80-\uffdc]/.test(text) ? width / 2 : width;  // a script of wide letters, without spaces
  for (const word of text.split(/\s+/).flatMap((word) => word.length > 1.5 * wides ? word.match(new RegExp(`.{1,${wides}}`, "gu")) : [word])) {
    if (rows[rows.length - 1].length + word.length > wides && rows[rows.length - 1]) rows.push("");
    rows[rows.length - 1] += (rows[rows.length - 1] ? " " : "") + word;
  }
  return rows.length > 3 ? [...rows.slice(0, 2), rows[2] + "…"] : rows;
}

// Pointer and keys

function under(px, py) {
  const x = (px - wide / 2) / view.scale + view.x, y = (py - high / 2) / view.scale + view.y;
  const reach = 4 / view.scale;
  let best = null, least = Infinity;
  for (const i of groups.get("grid").get(Math.floor(x / 40) + "," + Math.floor(y / 40)) || []) {
    const far = Math.hypot(items[i].x - x, items[i].y - y) - items[i].r;
    if (far < reach && far < least) { least = far; best = i; }
  }
  return best;
}
function zoom(factor, px = wide / 2, py = high / 2) {
  const next = Math.min(60, Math.max(0.02, view.scale * factor));
  view.x += (px - wide / 2) * (1 / view.scale - 1 / next); view.y += (py - high / 2) * (1 / view.scale - 1 / next);
  view.scale = next; moving();
}
const held = new Map();
let dragged = 0, pinch = 0;
canvas.addEventListener("pointerdown", (ev) => { canvas.setPointerCapture(ev.pointerId); held.set(ev.pointerId, [ev.clientX, ev.clientY]); dragged = 0; pinch = 0; });
canvas.addEventListener("pointermove", (ev) => {
  const last = held.get(ev.pointerId);
  if (!last) { const i = under(ev.clientX, ev.clientY); canvas.classList.toggle("over", i !== null); if (i !== state.over) { state.over = i; draw(); } return; }
  held.set(ev.pointerId, [ev.clientX, ev.clientY]);
  if (held.size === 2) {
    const [[ax, ay], [bx, by]] = [...held.values()], now = Math.hypot(ax - bx, ay - by);
    if (pinch) zoom(now / pinch, (ax + bx) / 2, (ay + by) / 2);
    pinch = now; dragged = 99; return;
  }
  const dx = ev.clientX - last[0], dy = ev.clientY - last[1];
  dragged += Math.abs(dx) + Math.abs(dy);
  if (dragged > 4) { canvas.classList.add("held"); view.x -= dx / view.scale; view.y -= dy / view.scale; moving(); }
});
const release = (ev) => {
  held.delete(ev.pointerId); canvas.classList.remove("held");
  if (dragged > 4 || ev.type === "pointercancel") return;
  const i = under(ev.clientX, ev.clientY);
  if (i === null) { close(); return; }
  choose(items[i].e >= 0 ? "entity" : "community", items[i].e >= 0 ? items[i].e : items[i].c, false);
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("wheel", (ev) => { ev.preventDefault(); zoom(Math.exp(-ev.deltaY * (ev.deltaMode ? 0.05 : 0.0016)), ev.clientX, ev.clientY); }, { passive: false });
canvas.addEventListener("dblclick", (ev) => {
  const i = under(ev.clientX, ev.clientY);
  if (i !== null && items[i].e < 0) unfold(items[i].c); else zoom(1.8, ev.clientX, ev.clientY);
});
addEventListener("keydown", (ev) => {
  if (ev.target.tagName === "INPUT" && ev.key !== "Escape") return;
  const step = 80 / view.scale, go = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[ev.key];
  if (go) { view.x += go[0] * step; view.y += go[1] * step; moving(); }
  else if (ev.key === "+" || ev.key === "=") zoom(1.3);
  else if (ev.key === "-") zoom(1 / 1.3);
  else if (ev.key === "0") { fit(); draw(); }
  else if (ev.key === "/") { $("search").focus(); ev.preventDefault(); }
  else if (ev.key === "Escape") { $("found").hidden = true; close(); }
});

// The panel: everything is made of text nodes, nothing of markup

function make(tag, props, ...inside) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...inside.filter((x) => x !== null && x !== undefined));
  return node;
}
const link = (text, act) => { const a = make("a", { href: "#", textContent: text }); a.onclick = (ev) => { ev.preventDefault(); act(); }; return a; };
const dot = (colour) => { const d = make("span", { className: "dot" }); d.style.background = colour; return d; };
const entityLink = (e) => link(E.name[e], () => choose("entity", e, true));
const communityLink = (c) => make("span", {}, dot(C[c].colour), link(C[c].title, () => choose("community", c, true)));
const edgeOf = new Map(L.number.map((number, i) => [number, i]));

const TABLES = {
  Reports: (k) => D.reports[k] && ["report", C[D.reports[k].community].title, () => choose("community", D.reports[k].community, true)],
  Entities: (k) => E.name[k] !== undefined && ["", E.name[k], () => choose("entity", k, true)],
  Relationships: (k) => edgeOf.has(k) && ["", `${E.name[L.source[edgeOf.get(k)]]} – ${E.name[L.target[edgeOf.get(k)]]}`, () => tellEdge(edgeOf.get(k))],
  Claims: (k) => D.claims[k] && ["claim", D.claims[k][0], () => tellPlaces(D.claims[k][1], D.claims[k].slice(2))],
  Sources: (k) => D.chunks[k] && ["source", D.documents[D.chunks[k][0]][0], () => tellPlaces("", [D.chunks[k]])],
};
function said(text) {  // a text with its references as links
  const box = document.createDocumentFragment();
  for (const paragraph of text.split(/\n+/)) {
    const p = make("p", {});
    let at = 0;
    for (const block of paragraph.matchAll(/\[Data: ([^\]]*)\]/g)) {
      p.append(paragraph.slice(at, block.index)); at = block.index + block[0].length;
      const refs = make("span", { className: "refs" });
      for (const part of block[1].matchAll(/(\w+) \(([^)]*)\)/g)) for (const k of part[2].match(/\d+/g) || []) {
        const found = TABLES[part[1]] && TABLES[part[1]](+k);
        if (found) refs.append(" [", link((found[0] ? found[0] + ": " : "") + (found[1].length > 34 ? found[1].slice(0, 32) + "…" : found[1]), found[2]), "]");
      }
      p.append(refs);
    }
    p.append(paragraph.slice(at));
    box.append(p);
  }
  return box;
}
function quotation([d, start, end]) {
  const [title, text] = D.documents[d];
  if (!text) return make("p", { className: "soft" }, `${title}, characters ${start}–${end}`);
  const a = Math.max(0, start - 120), b = Math.min(text.length, end + 120), stop = Math.min(end, start + 700);
  return make("blockquote", {}, a ? "…" : "", points(text, a, start), make("mark", {}, points(text, start, stop)), stop < end ? "…" : points(text, end, b) + (b < text.length ? "…" : ""),
    make("div", {}, link(`${title}, characters ${start}–${end}`, () => tellDocument(d, start, end))));
}
const wideTexts = new Map();
function points(text, a, b) {  // our places count characters, JavaScript's those beyond the first 65,536 twice
  if (!/[\ud800-\udbff]/.test(text)) return text.slice(a, b);
  if (!wideTexts.has(text)) wideTexts.set(text, [...text]);
  return wideTexts.get(text).slice(a, b).join("");
}
function show(...inside) {
  $("text").replaceChildren(...inside.filter((x) => x)); $("panel").hidden = false; $("panel").scrollTop = 0;
}
function close() { $("panel").hidden = true; state.chosen = null; groups.delete("lit"); history.replaceState(null, "", location.pathname + location.search); draw(); }
$("close").onclick = close;

function tellEntity(e) {
  const rows = [];
  for (let i = 0; i < L.source.length; i++) if (L.source[i] === e || L.target[i] === e) rows.push(i);
  const held = [...new Set(D.home.map((home) => home[e]))].filter((c) => c >= 0);
  const list = make("ul", {}), more = (from) => {
    for (const i of rows.slice(from, from + 20)) list.append(make("li", {}, entityLink(L.source[i] === e ? L.target[i] : L.source[i]), " ", link(`(${L.weight[i]})`, () => tellEdge(i)),
      L.at[i].length ? null : make("div", { className: "soft", textContent: L.said[i] })));  // of a given graph: no text says it
    if (rows.length > from + 20) { const li = make("li", {}, link(`${rows.length - from - 20} more`, () => { li.remove(); more(from + 20); })); list.append(li); }
  };
  more(0);
  show(make("h2", { textContent: E.name[e] }), make("div", { className: "soft", textContent: [D.types[E.type[e]], counted(rows.length, "relationship")].filter((x) => x).join(", ") }),
    said(E.said[e]), make("h3", { textContent: "In" }), held.length ? make("ul", {}, ...held.map((c) => make("li", {}, communityLink(c)))) : make("p", { className: "soft", textContent: "no community" }),
    E.at[e].length ? make("h3", { textContent: "Told in" }) : null, ...E.at[e].map(quotation), make("h3", { textContent: "Relationships" }), list);
}
function tellEdge(i) {
  show(make("h2", {}, entityLink(L.source[i]), " – ", entityLink(L.target[i])), make("div", { className: "soft", textContent: `weight ${L.weight[i]}` }), said(L.said[i]), ...L.at[i].map(quotation));
}
function tellPlaces(text, places) { show(text ? said(text) : null, ...places.map(quotation)); }
function tellDocument(d, start, end) {
  const [title, text] = D.documents[d], mark = make("mark", {}, points(text, start, end));
  const from = state.chosen, back = from && link(`← ${from.kind === "entity" ? E.name[from.i] : C[from.i].title}`, () => choose(from.kind, from.i, false));
  show(back ? make("p", {}, back) : null, make("h2", { textContent: title }), make("pre", {}, points(text, 0, start), mark, points(text, end, text.length)));
  mark.scrollIntoView({ block: "center" });
}
function tellCommunity(c) {
  const it = C[c], report = D.reports[it.report];
  const best = membersOf(c).slice().sort((a, b) => E.degree[b] - E.degree[a]).slice(0, 15);
  show(make("h2", {}, dot(it.colour), it.title), make("div", { className: "soft", textContent: `level ${it.level}, ${counted(it.size, "thing")}` + (report ? `, rated ${report.rating} of 10` : ", without a report") }),
    state.folded ? make("p", {}, link(state.open.has(c) ? "Close it on the map" : "Open it on the map", () => { state.open.has(c) ? fold(c) : unfold(c); tellCommunity(c); })) : null,
    it.parent >= 0 ? make("p", {}, "Part of ", communityLink(it.parent)) : null,
    report ? said(report.summary) : null,
    ...(report ? report.findings.flatMap(([head, text]) => [make("h3", { textContent: head }), said(text)]) : []),
    it.children.length ? make("h3", { textContent: "Parts" }) : null, it.children.length ? make("ul", {}, ...it.children.map((k) => make("li", {}, communityLink(k)))) : null,
    make("h3", { textContent: "Best connected" }), make("p", {}, ...best.flatMap((e, i) => [i ? ", " : "", entityLink(e)])));
}

// Choosing, opening, searching

function unfold(c) { for (let at = c; at >= 0; at = C[at].parent) state.open.add(at); groups.delete("lit"); arrange(); }
function fold(c) { state.open.delete(c); C[c].children.forEach((k) => state.open.delete(k)); groups.delete("lit"); arrange(); }
function choose(kind, i, go) {
  state.chosen = { kind, i }; groups.delete("lit");
  history.replaceState(null, "", "#" + kind[0] + i);
  if (kind === "entity") {
    if (itemOf[i] < 0 || items[itemOf[i]].e !== i) { for (const home of D.home) if (home[i] >= 0) state.open.add(home[i]); const c = D.home.length ? D.home[D.home.length - 1][i] : -1; if (c >= 0) unfold(c); }
    tellEntity(i);
  } else tellCommunity(i);
  if (go) {
    const [x, y, r] = kind === "entity" ? [E.x[i], E.y[i], 60] : C[i].circle;
    view.scale = Math.min(kind === "entity" ? Math.max(view.scale, 3) : 8, 0.36 * Math.min(wide, high) / Math.max(r, 8));
    const small = wide <= 760;  // the panel covers what is right of the middle, or below it
    view.x = x + (small ? 0 : 40) / view.scale; view.y = y + (small ? 0.16 * high : 0) / view.scale;
  }
  moving();
}
const counted = (k, noun) => `${k.toLocaleString()} ${noun}${k === 1 ? "" : "s"}`;
const bare = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const names = E.name.map(bare), titles = C.map((c) => bare(c.title));
$("search").oninput = () => {
  const asked = bare($("search").value.trim()), hits = [];
  if (asked) {
    titles.forEach((t, c) => { const at = t.indexOf(asked); if (at >= 0 && D.reports[C[c].report]) hits.push([at ? 2 : 1, -C[c].size, "community", c]); });
    names.forEach((t, e) => { const at = t.indexOf(asked); if (at >= 0) hits.push([t === asked ? 0 : at ? 2 : 1, -E.degree[e], "entity", e]); });
  }
  hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  $("found").replaceChildren(...hits.slice(0, 40).map(([, , kind, i]) => {
    const b = make("button", { type: "button" }, kind === "entity" ? E.name[i] : C[i].title, make("small", { textContent: kind === "entity" ? D.types[E.type[i]] : `report, level ${C[i].level}` }));
    b.onclick = () => { $("found").hidden = true; choose(kind, i, true); };
    return make("li", {}, b);
  }), ...(asked && !hits.length ? [make("li", { className: "soft", textContent: "Nothing of that name." })] : []));
  $("found").hidden = !asked;
};
$("search").onkeydown = (ev) => { if (ev.key === "Enter") { const first = $("found").querySelector("button"); if (first) first.click(); } };

$("level").max = Math.max(0, D.levels - 1); $("level").value = state.level;
const tellLevel = () => { $("shown").textContent = D.levels ? `${state.level} of ${D.levels - 1}` : "none"; };
$("level").oninput = () => { state.level = +$("level").value; state.open.clear(); tellLevel(); groups.delete("lit"); arrange(); };
$("folded").checked = state.folded;
$("folded").onchange = () => { state.folded = $("folded").checked; groups.delete("lit"); arrange(); };
$("whole").onclick = () => { fit(); draw(); };
addEventListener("resize", resize);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

tellLevel(); fit(); arrange(); resize();
const asked = /^#([ec])(\d+)$/.exec(location.hash);
if (asked && (asked[1] === "e" ? E.name : C)[+asked[2]] !== undefined) choose(asked[1] === "e" ? "entity" : "community", +asked[2], true);
paint();
document.documentElement.dataset.ready = String(items.length);
window.conspectusMap = { state, view, items: () => items, paint, moving, arrange, choose };  // for tests and tinkering
})();
