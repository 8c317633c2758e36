/**
 * Answers and reports are Markdown with citations `[1]`. Only what they use is set: headings, paragraphs, nested lists,
 * quotations, tables, code, bold and emphasis. Everything else, HTML, links and images among it, stays text.
 */
import type { ComponentChildren } from "preact";

/** What stands in the place of a citation marker; `occurrence` counts the markers of the text, so that each has an id. */
export type Mark = (marker: number, occurrence: number) => ComponentChildren;

/** How texts are set: their inline parts, and the element of a heading by its number of `#`. */
interface Style {
  inline: (text: string) => ComponentChildren[];
  heading: (level: number) => "h2" | "h3" | "h4";
}

const INLINE =
  /\\([\\`*_[\]|#~$>-])|\*\*(?=\S)(.+?\S?)\*\*(?!\*)|(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])|`([^`\n]+)`|\[(\d{1,4}(?:, ?\d{1,4})*)\]/gs;
const BULLET = /^(\s*)[-*+•]\s+/;
const NUMBER = /^(\s*)(\d{1,9})[.)]\s+/;
const MAX_DEPTH = 12; // quotations and lists of hostile texts may be nested without end

/** Set inline text: **bold**, *emphasis*, `code`, escapes, and whatever `mark` makes of citation markers. */
function inline(mark: Mark): Style["inline"] {
  let occurrence = 0;
  const set = (text: string, depth = 0): ComponentChildren[] => {
    const parts: ComponentChildren[] = [];
    let last = 0;
    for (const match of text.matchAll(INLINE)) {
      const [whole, escaped, bold, emphasis, code, markers] = match;
      const before = text.slice(last, match.index);
      parts.push(markers === undefined ? before : before.trimEnd()); // a marker does not begin a line
      last = match.index + whole.length;
      if (escaped !== undefined) parts.push(escaped);
      else if (code !== undefined) parts.push(<code>{code}</code>);
      else if (markers !== undefined) for (const marker of markers.split(",")) parts.push(mark(Number(marker), occurrence++));
      else if (depth > 3) parts.push(whole);
      else if (bold !== undefined) parts.push(<strong>{set(bold, depth + 1)}</strong>);
      else parts.push(<em>{set(emphasis ?? "", depth + 1)}</em>);
    }
    parts.push(text.slice(last));
    return parts;
  };
  return (text) => set(text);
}

/**
 * Set Markdown; without `mark`, citation markers stay as they are written.
 *
 * `top` is the level of its highest headings: one below the heading that they stand under.
 */
export function Markdown(props: { text: string; mark?: Mark; top?: 2 | 3 }) {
  const highest = Math.min(...Array.from(props.text.matchAll(/^ {0,3}(#{1,6})\s/gm), (match) => match[1]!.length));
  const top = props.top ?? 2;
  const set: Style = {
    inline: inline(props.mark ?? ((marker) => `[${marker}]`)),
    heading: (level) => `h${level > highest ? top + 1 : top}` as "h2" | "h3" | "h4",
  };
  return <>{blocks(props.text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), set, 0)}</>;
}

/** Set lines as blocks; each kind of block takes the lines that belong to it. */
function blocks(lines: string[], set: Style, depth: number): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  const take = (belongs: (line: string) => boolean) => {
    const from = at;
    while (at < lines.length && belongs(lines[at]!)) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (!line.trim()) at++;
    else if (heading) {
      const Level = set.heading(heading[1]!.length);
      parts.push(<Level dir="auto">{set.inline(heading[2]!)}</Level>);
      at++;
    } else if (/^\s*(```|~~~)/.test(line)) {
      const fence = line.trim().slice(0, 3);
      at++;
      const code = take((row) => !row.trim().startsWith(fence));
      at++;
      parts.push(<pre tabIndex={0}><code>{code.join("\n")}</code></pre>);
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      parts.push(<hr />);
      at++;
    } else if (/^ {0,3}>/.test(line) && depth < MAX_DEPTH) {
      const quoted = take((row) => /^ {0,3}>/.test(row)).map((row) => row.replace(/^ {0,3}> ?/, ""));
      parts.push(<blockquote dir="auto">{blocks(quoted, set, depth + 1)}</blockquote>);
    } else if (isTable(lines, at)) {
      parts.push(table(take((row) => row.includes("|") && Boolean(row.trim())), set));
    } else if ((BULLET.test(line) || NUMBER.test(line)) && depth < MAX_DEPTH) {
      const [rows, next] = listLines(lines, at);
      at = next;
      parts.push(list(rows, set, depth));
    } else {
      const from = at++;
      take((row) => Boolean(row.trim()) && !startsBlock(row));
      parts.push(<p dir="auto">{broken(lines.slice(from, at), set)}</p>);
    }
  }
  return parts;
}

function startsBlock(line: string): boolean {
  return /^ {0,3}(#{1,6}\s|>|```|~~~)/.test(line) || BULLET.test(line) || NUMBER.test(line);
}

/** Lines of a paragraph, each on a line of its own: reports put a statement on each. */
function broken(lines: string[], set: Style): ComponentChildren[] {
  return lines.flatMap((line, i) => (i ? [<br />, ...set.inline(line.trim())] : set.inline(line.trim())));
}

/** The lines of a list: its items, what is indented below them, and empty lines between them. */
function listLines(lines: string[], from: number): [string[], number] {
  const indent = /^\s*/.exec(lines[from]!)![0].length;
  const ordered = NUMBER.test(lines[from]!);
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const next = lines[at + 1];
    if (!line.trim()) {
      if (next === undefined || !next.trim()) break;
      const deeper = /^\s*/.exec(next)![0].length > indent;
      if (!deeper && !(ordered ? NUMBER : BULLET).test(next)) break;
      continue;
    }
    const itsIndent = /^\s*/.exec(line)![0].length;
    const item = BULLET.test(line) || NUMBER.test(line);
    if (item && itsIndent <= indent && NUMBER.test(line) !== ordered) break;
    if (!item && itsIndent <= indent && (startsBlock(line) || !lines[at - 1]!.trim())) break;
  }
  return [lines.slice(from, at), at];
}

function list(lines: string[], set: Style, depth: number): ComponentChildren {
  const indent = /^\s*/.exec(lines[0]!)![0].length;
  const number = NUMBER.exec(lines[0]!);
  const items: string[][] = [];
  let width = 0;
  for (const line of lines) {
    const head = BULLET.exec(line) ?? NUMBER.exec(line);
    if (head && head[1]!.length <= indent + 1) {
      width = head[0].length;
      items.push([line.slice(width)]);
    } else {
      const spaces = /^\s*/.exec(line)![0].length;
      items.at(-1)!.push(line.slice(Math.min(spaces, Math.max(indent + 2, Math.min(width, spaces)))));
    }
  }
  const content = items.map((item) => <li dir="auto">{itemBlocks(item, set, depth)}</li>);
  return number ? <ol start={Number(number[2])}>{content}</ol> : <ul>{content}</ul>;
}

/** The first paragraph of an item stands in the item itself; what follows it is set as blocks. */
function itemBlocks(lines: string[], set: Style, depth: number): ComponentChildren[] {
  let end = 1;
  while (end < lines.length && lines[end]!.trim() && !startsBlock(lines[end]!)) end++;
  if (startsBlock(lines[0]!)) return blocks(lines, set, depth + 1);
  return [...broken(lines.slice(0, end), set), ...blocks(lines.slice(end), set, depth + 1)];
}

function isTable(lines: string[], at: number): boolean {
  const rule = lines[at + 1];
  return lines[at]!.includes("|") && rule !== undefined && rule.includes("-") && /^\s*\|?[\s:|-]+\|?\s*$/.test(rule) && rule.includes("|");
}

function table(lines: string[], set: Style): ComponentChildren {
  const cells = (line: string) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim());
  const [head, rule, ...rows] = lines;
  const style = cells(rule!).map((cell) => (cell.endsWith(":") && !cell.startsWith(":") ? "end" : undefined)); // figures
  return (
    <div class="table" tabIndex={0} role="group">
      <table>
        <thead><tr>{cells(head!).map((cell, i) => <th scope="col" dir="auto" class={style[i]}>{set.inline(cell)}</th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{cells(row).map((cell, i) => <td dir="auto" class={style[i]}>{set.inline(cell)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}
