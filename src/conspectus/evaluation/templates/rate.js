// Rating blinded pairs. `D` is what people.py packed; a choice is kept under item and criterion.
(async () => {
let D;
try { D = await unpack(); } catch (error) { $("item").textContent = String(error.message || error); return; }
const CHOICES = [["1", "Answer 1"], ["tie", "No difference"], ["2", "Answer 2"]];
const COLUMNS = ["item", "criterion", "rater", "choice", "comment"];
const store = "conspectus-rating-" + D.export;
const state = { at: 0, rater: "", choices: {} };

function keep() {
  try { localStorage.setItem(store, JSON.stringify(state)); }
  catch { $("told").textContent = "This browser keeps nothing for this page: save before you close it."; }
}
try { Object.assign(state, JSON.parse(localStorage.getItem(store) || "{}")); } catch { /* nothing is kept */ }
const of = (item, criterion) => state.choices[item + "/" + criterion] || { choice: "", comment: "" };
function set(item, criterion, told) {
  state.choices[item + "/" + criterion] = { ...of(item, criterion), ...told };
  keep(); count();
}
const open = (item) => D.criteria.some(([name]) => !of(item[0], name).choice);

function count() {
  const all = D.items.length * D.criteria.length;
  const made = D.items.reduce((n, item) => n + D.criteria.filter(([name]) => of(item[0], name).choice).length, 0);
  $("bar").max = all; $("bar").value = made;
  $("told").textContent = made + " of " + all + " ratings made" + (made === all ? ": save them and send the file back." : "");
  $("open").disabled = !D.items.some(open);
  document.body.dataset.made = made;
}

function show() {
  const [id, question, first, second] = D.items[state.at];
  const answer = (n, text) => el("section", { class: "answer", tabindex: 0, "aria-label": "Answer " + n }, el("h2", {}, "Answer " + n), markdown(text));
  $("item").replaceChildren(
    el("p", { class: "question" }, question),
    el("div", { class: "pair" }, answer(1, first), answer(2, second)),
    ...D.criteria.map(([name, description]) => {
      const told = of(id, name);
      const choices = CHOICES.map(([value, said]) => el("label", {}, el("input", {
        type: "radio", name, value, checked: told.choice === value, onchange: () => set(id, name, { choice: value }),
      }), said));
      return el("fieldset", {},
        el("legend", {}, el("div", { class: "criterion" }, el("b", {}, name), el("span", {}, description))),
        el("div", { class: "choices" }, choices),
        el("input", { placeholder: "Why? (optional)", "aria-label": "Comment on " + name, value: told.comment, oninput: (event) => set(id, name, { comment: event.target.value }) }));
    }));
  $("place").textContent = "Pair " + (state.at + 1) + " of " + D.items.length;
  $("back").disabled = state.at === 0;
  $("next").disabled = state.at === D.items.length - 1;
  keep(); count(); scrollTo(0, 0);
}
const go = (place) => { if (place >= 0 && place < D.items.length) { state.at = place; show(); } };

const cell = (value) => /[",\n\r]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value;
function table() {
  const rows = [COLUMNS];
  for (const [id] of D.items) for (const [name] of D.criteria) {
    const told = of(id, name);
    if (told.choice) rows.push([id, name, state.rater, told.choice, told.comment]);
  }
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
function read(text) {  // the rows of a table, with quotation marks as we write them
  const rows = [[]];
  for (const found of text.replace(/^\ufeff/, "").matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/g)) {
    rows.at(-1).push(found[1].startsWith('"') ? found[1].slice(1, -1).replaceAll('""', '"') : found[1]);
    if (found[2] && found[2] !== ",") rows.push([]);
    if (!found[2]) break;
  }
  const [head, ...rest] = rows;
  return rest.filter((row) => row.length === head.length).map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
}
async function load(file) {
  const known = new Set(D.items.map(([id]) => id)), rows = read(await file.text()).filter((row) => known.has(row.item));
  for (const row of rows) state.choices[row.item + "/" + row.criterion] = { choice: row.choice, comment: row.comment };
  if (rows.length && rows[0].rater) { state.rater = rows[0].rater; $("rater").value = state.rater; }
  show();
  $("told").textContent = rows.length ? rows.length + " ratings read." : "The file holds no ratings of these pairs.";
}

$("rater").value = state.rater;
$("rater").oninput = (event) => { state.rater = event.target.value.trim(); keep(); };
$("save").onclick = () => {
  if (!state.rater) { $("told").textContent = "Say who you are first."; $("rater").focus(); return; }
  save("ratings-" + D.export + "-" + state.rater.replace(/[^\p{L}\p{N}]+/gu, "_") + ".csv", table(), "text/csv");
};
$("load").onchange = (event) => { if (event.target.files.length) load(event.target.files[0]); };
$("back").onclick = () => go(state.at - 1);
$("next").onclick = () => go(state.at + 1);
$("open").onclick = () => {
  const order = D.items.map((_, i) => (state.at + 1 + i) % D.items.length);
  const found = order.find((place) => open(D.items[place]));
  if (found !== undefined) go(found);
};
addEventListener("keydown", (event) => {
  if (event.target.localName === "input" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") go(state.at - 1);
  if (event.key === "ArrowRight") go(state.at + 1);
});
state.at = Math.min(Math.max(0, state.at), D.items.length - 1);
show();
window.conspectusRating = { table, read, state, go };
document.body.dataset.ready = D.items.length;
})();
