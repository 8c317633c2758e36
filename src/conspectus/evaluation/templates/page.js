"use strict";
// What all pages share: finding and making elements, unpacking the data, Markdown without any markup of its own.
const $ = (id) => document.getElementById(id);

function el(tag, told = {}, ...inside) {  // told: attributes; on…: what is done; inside: texts and elements
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(told)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.flat().filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

async function unpack() {
  if (!window.DecompressionStream) throw new Error("This browser cannot unpack the data; use one of 2023 or later.");
  const bytes = Uint8Array.from(atob($("data").textContent), (c) => c.charCodeAt(0));
  $("data").remove();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const INLINE = /\*\*(.+?)\*\*|__(.+?)__|`([^`]+)`|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])|(?<!\\)\[(\d+)\]/g;

function inline(text, mark) {  // mark: makes an element of the number of a reference
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(end, found.index));
    end = found.index + found[0].length;
    if (found[5]) parts.push((mark && mark(+found[5])) || found[0]);
    else if (found[3]) parts.push(el("code", {}, found[3]));
    else parts.push(el(found[4] ? "em" : "strong", {}, inline(found[1] || found[2] || found[4], mark)));
  }
  parts.push(text.slice(end));
  return parts;
}

function markdown(text, mark) {
  const root = el("div", { class: "md" });
  let list = null, rows = null, paragraph = null;
  const close = () => { list = rows = paragraph = null; };
  for (const line of text.split("\n")) {
    const said = line.trim();
    const heading = /^#{1,6}\s+(.*)$/.exec(said);
    const item = /^([-*+•]|\d{1,3}[.)])\s+(.*)$/.exec(said);
    const cells = /^\|(.*)\|$/.exec(said);
    if (!said || /^(-{3,}|\*{3,})$/.test(said)) close();
    else if (heading) { close(); root.append(el("h4", {}, inline(heading[1], mark))); }
    else if (item) {
      const kind = /\d/.test(item[1]) ? "ol" : "ul";
      if (!list || list.localName !== kind) { close(); root.append(list = el(kind, kind === "ol" ? { start: parseInt(item[1]) } : {})); }
      list.append(el("li", {}, inline(item[2], mark)));
      paragraph = null;
    } else if (cells) {
      if (!rows) { close(); root.append(rows = el("table")); }
      if (!/^[\s|:-]+$/.test(cells[1])) rows.append(el("tr", {}, cells[1].split("|").map((c) => el("td", {}, inline(c.trim(), mark)))));
    } else if (said.startsWith(">")) { close(); root.append(el("blockquote", {}, inline(said.replace(/^>\s*/, ""), mark))); }
    else if (list && /^\s/.test(line)) list.lastChild.append(el("br"), ...inline(said, mark));
    else if (paragraph) paragraph.append(el("br"), ...inline(said, mark));
    else { close(); root.append(paragraph = el("p", {}, inline(said, mark))); }
  }
  return root;
}

function save(name, text, type) {  // hand a text over as a file
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
