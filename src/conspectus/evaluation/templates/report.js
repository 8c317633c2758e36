// The report on a comparison. `D` has its rows; conditions, questions and criteria become places in their lists.
(async () => {
const note = (text) => { $("note").hidden = !text; $("note").textContent = text; };
let D;
try { D = await unpack(); } catch (error) { note(String(error.message || error)); return; }
note("");
const C = D.conditions, Q = D.questions, at = (grid, c, q) => (grid[c] && grid[c][q]) || null;
const place = (list, name) => list.findIndex((one) => (Array.isArray(one) ? one[0] : one) === name);
const number = (n) => n.toLocaleString("en");

// Rows as lists: a grid has for each condition a value for each question

const placeOf = (list) => { const map = new Map(list.map((one, n) => [Array.isArray(one) ? one[0] : one, n])); return (name) => map.get(name); };
const condition = placeOf(C), question = placeOf(Q), criterionOf = placeOf(D.criteria);
function grid(rows, value) {
  const made = C.map(() => []);
  for (const row of rows) made[condition(row.condition)][question(row.question)] = value(row);
  return made;
}
D.answers = grid(D.answers, (row) => [
  row.text, row.cited.map((one) => [one.marker, one.title, one.text, one.documents]),
  [row.units, row.context_tokens, row.calls, row.prompt_tokens, row.completion_tokens, row.seconds.toFixed(2)], row.error]);
D.claims = grid(D.claims, (row) => row.claims);
D.grounding = grid(D.grounding, (row) => row.sentences.map((one) => [one.text, one.supported, one.markers]));
D.judgements = D.judgements.map((row) => [
  criterionOf(row.criterion), condition(row.first), condition(row.second), question(row.question), row.replicate, row.winner, row.reasoning]);
D.ratings = D.ratings.map((row) => [
  row.criterion, condition(row.first), condition(row.second), question(row.question), row.rater, row.winner, row.reasoning]);

// Judgements by criterion, pair and question; a pair is [low, high] by place

const judged = new Map();
const key = (criterion, a, b) => criterion + "/" + Math.min(a, b) + "/" + Math.max(a, b);
for (const one of D.judgements) {
  const name = key(one[0], one[1], one[2]);
  if (!judged.has(name)) judged.set(name, new Map());
  const of = judged.get(name);
  if (!of.has(one[3])) of.set(one[3], []);
  of.get(one[3]).push(one);
}
const winner = (one) => (one[5] === 0 ? -1 : one[one[5]]);  // its place, -1 for a tie
function votes(criterion, a, b, q) {  // [wins of a, ties, wins of b], null where nobody judged
  const found = judged.get(key(criterion, a, b))?.get(q);
  if (!found) return null;
  const n = (who) => found.filter((one) => winner(one) === who).length;
  return [n(a), n(-1), n(b)];
}

// An answer, with what was found of it

function answer(c, q) {
  const told = at(D.answers, c, q);
  const box = el("article", { class: "answer" });
  if (!told) { box.append(el("h3", {}, C[c]), el("p", { class: "soft" }, "No answer.")); return box; }
  const [text, cited, took, error] = told;
  const read = number(took[0]) + (took[0] === 1 ? " unit" : " units") + ", " + number(took[1]) + " tokens read";
  box.append(el("h3", {}, C[c], el("small", { class: "soft" }, read)));
  if (error) { box.append(el("p", { class: "failed" }, "Failed: " + error)); return box; }
  const list = el("ul", { class: "cited" });
  const behind = el("details", {}, el("summary", {}, number(cited.length) + (cited.length === 1 ? " reference" : " references")), list);
  const fill = () => {
    if (list.childElementCount) return;
    for (const [marker, title, quoted, documents] of cited)
      list.append(el("li", { "data-marker": marker }, el("b", {}, "[" + marker + "] " + title), documents.length ? el("div", { class: "soft" }, documents.join(", ")) : null, el("blockquote", {}, quoted)));
  };
  behind.ontoggle = fill;
  const known = new Set(cited.map((one) => one[0]));
  const mark = (n) => known.has(n) && el("a", { class: "cite", tabindex: 0, role: "button", onclick: () => {
    fill(); behind.open = true;
    for (const li of list.children) li.classList.toggle("lit", +li.dataset.marker === n);
    list.querySelector(".lit")?.scrollIntoView({ block: "nearest" });
  } }, "[" + n + "]");
  box.append(markdown(text, mark));
  if (cited.length) box.append(behind);
  const claims = at(D.claims, c, q), grounding = at(D.grounding, c, q);
  if (claims) box.append(lazy(number(claims.length) + (claims.length === 1 ? " claim" : " claims"), () => facts(claims)));
  if (grounding) {
    const supported = grounding.filter((one) => one[1]).length;
    box.append(lazy(supported + " of " + grounding.length + " sentences supported", () => checked(grounding)));
  }
  if (took[2]) box.append(el("small", { class: "soft" }, [number(took[2]) + (took[2] === 1 ? " call" : " calls"), number(took[3]) + " tokens asked", number(took[4]) + " written", took[5] + " s"].join(", ")));
  return box;
}
const facts = (claims) => el("ol", { class: "facts" }, claims.map((one) => el("li", {}, one)));
const checked = (sentences) => el("ul", { class: "facts" }, sentences.map(([text, supported, markers]) => el("li", {},
  el("span", { class: supported ? "yes" : "no" }, supported ? "supported" : markers.length ? "not supported" : "cites nothing"),
  ": ", text)));

function lazy(summary, make, told = {}) {  // its inside is made when it is first opened
  const box = el("details", told, el("summary", {}, summary));
  box.addEventListener("toggle", () => { if (box.open && box.childElementCount === 1) box.append(make()); });
  return box;
}
const side = (conditions, q) => el("div", { class: "side" }, conditions.map((c) => answer(c, q)));

// Questions

const chosen = new Set(C.keys());
function asked(q) {
  const [id, , persona, task] = Q[q];
  const who = [persona, task].filter(Boolean).join(" · ");
  return el("div", {}, el("p", { class: "who" }, who, who ? " " : "", el("a", { href: to("question", id) }, "link to this question")), side([...C.keys()].filter((c) => chosen.has(c)), q), tables(q));
}
function tables(q) {  // how often the row won over the column on this question, by each criterion
  const made = D.criteria.map(([name], criterion) => {
    if (!C.some((_, a) => C.some((_, b) => a !== b && votes(criterion, a, b, q)))) return null;
    const row = (a) => el("tr", {}, el("td", { class: "text" }, C[a]), C.map((_, b) => {
      const found = a === b ? null : votes(criterion, a, b, q);
      return el("td", {}, found ? el("a", { href: to("pair", name, C[a], C[b], Q[q][0]), title: found[1] + " ties" }, found[0] + ":" + found[2]) : "");
    }));
    return el("div", { class: "wide small" }, el("table", {}, el("tr", {}, el("th", { class: "text" }, name), C.map((one) => el("th", {}, one))), C.map((_, a) => row(a))));
  }).filter(Boolean);
  return made.length ? lazy("Judgements of this question, wins of the row : wins of the column", () => el("div", {}, made)) : "";
}
const to = (...parts) => "#" + parts.map(encodeURIComponent).join("/");

const listed = Q.map(([, text], q) => lazy(text, () => asked(q), { "data-q": q }));
function list() {
  $("listed").replaceChildren(...listed);
  $("chosen").replaceChildren(...C.map((name, c) => el("label", { class: "chip" }, el("input", { type: "checkbox", checked: true, onchange: (event) => {
    if (event.target.checked) chosen.add(c); else chosen.delete(c);
    for (const box of listed) while (box.childElementCount > 1) box.lastChild.remove();
    for (const box of listed) if (box.open) box.append(asked(+box.dataset.q));
  } }), name)));
  $("questions").hidden = false;
}
$("search").oninput = () => {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  Q.forEach(([, text, persona, task], q) => { const said = [text, persona, task].join(" ").toLowerCase(); listed[q].hidden = !words.every((word) => said.includes(word)); });
};

// The panel: what is behind a cell

function show(title, ...inside) {
  $("about").textContent = title;
  $("inside").replaceChildren(...inside);
  if (!$("panel").open) $("panel").showModal();
  $("panel").scrollTop = 0;
}
function pair(name, first, second, only) {
  const criterion = place(D.criteria, name), a = C.indexOf(first), b = C.indexOf(second);
  if (criterion < 0 || a < 0 || b < 0) return;
  const found = judged.get(key(criterion, a, b)) || new Map();
  const rows = [...found.keys()].map((q) => ({ q, votes: votes(criterion, a, b, q) })).sort((x, y) => margin(y) - margin(x) || x.q - y.q);
  const score = rows.reduce((sum, row) => sum + 50 + margin(row) / 2, 0) / (rows.length || 1);
  const boxes = rows.map(({ q, votes: [won, tied, lost] }) => lazy(el("span", {}, Q[q][1], el("span", { class: "score" }, first + " " + won + " : " + lost + " " + second + (tied ? ", " + tied + " ties" : ""))), () => el("div", {}, reasons(found.get(q), a, b, q, name), side([a, b], q)), { "data-q": q }));
  show(first + " over " + second + " by " + name, el("p", { class: "soft" }, D.criteria[criterion][1]),
    el("p", {}, first + " scores " + score.toFixed(2) + " of 100 over " + rows.length + " questions; those that it wins most clearly come first."), ...boxes);
  const open = boxes.find((box) => Q[box.dataset.q][0] === only);
  if (open) { open.open = true; setTimeout(() => open.scrollIntoView(), 50); }
}
const margin = ({ votes: [won, tied, lost] }) => 100 * (won - lost) / (won + tied + lost);
function reasons(found, a, b, q, name) {
  const judge = [...found].sort((x, y) => x[4] - y[4]).map((one) => el("li", {}, el("b", {}, winner(one) < 0 ? "Tie" : C[winner(one)]), el("span", { class: "soft" }, " (" + one[4] + ", " + C[one[1]] + " shown first) "), one[6]));
  const people = D.ratings.filter((one) => one[0] === name && one[3] === q && key(0, one[1], one[2]) === key(0, a, b))
    .map((one) => el("li", {}, el("b", {}, one[5] ? C[one[one[5]]] : "Tie"), el("span", { class: "soft" }, " (" + one[4] + ") "), one[6]));
  return el("ul", { class: "votes" }, judge, people);
}
function perQuestion(title, c, grid, size, make) {
  const rows = Q.map((_, q) => ({ q, told: at(grid, c, q) })).filter((row) => row.told);
  rows.sort((x, y) => size(y.told)[0] - size(x.told)[0] || x.q - y.q);
  show(title, ...rows.map(({ q, told }) => lazy(el("span", {}, Q[q][1], el("span", { class: "score" }, size(told)[1])), () => el("div", {}, make(told), side([c], q)))));
}
function route() {
  const [what, ...parts] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (what === "pair") pair(...parts);
  else if (what === "claims" && C.includes(parts[0])) perQuestion("Claims of " + parts[0], C.indexOf(parts[0]), D.claims, (told) => [told.length, told.length + " claims"], facts);
  else if (what === "grounding" && C.includes(parts[0])) {
    const share = (sentences) => { const n = sentences.filter((one) => one[1]).length; return [sentences.length - n, n + " of " + sentences.length + " supported"]; };
    perQuestion("Sentences of " + parts[0] + ", those with most unsupported first", C.indexOf(parts[0]), D.grounding, share, checked);
  } else if (what === "question") {
    const q = place(Q, parts[0]);
    if (q >= 0) show(Q[q][1], asked(q));
  } else if ($("panel").open) $("panel").close();
}
$("close").onclick = () => $("panel").close();
$("panel").onclick = (event) => { if (event.target === $("panel")) $("panel").close(); };
$("panel").onclose = () => { if (/^#(pair|claims|grounding|question)\//.test(location.hash)) history.replaceState(null, "", location.pathname + location.search); };
document.addEventListener("click", (event) => {  // the same cell once more
  const link = event.target.closest('a[href^="#"]');
  if (link && link.getAttribute("href") === location.hash) route();
});
addEventListener("hashchange", route);
list();
route();
document.body.dataset.ready = Q.length;
})();
