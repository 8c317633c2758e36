/** The list of documents, and a document with its entities marked and the cited characters highlighted. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, RefObject } from "preact";
import { address, get, moreThan, rowsOf, type DocumentPage as Page, type DocumentRow } from "../api";
import { useWords } from "../messages";
import { Loading, Problem } from "../notices";
import { Link, navigate } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { lastAnswer } from "./ask";

/** Rows of the list at a time. */
const ROWS = 100;
/** Characters of a part: a browser lays them out in a moment, with a link for every entity. */
const PART = 100_000;
/** Characters of one response of the server. */
const MAX_TEXT = 200_000;

export function DocumentsPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const wanted = query.get("q") ?? "";
  const [limit, setLimit] = useState(ROWS);
  const { value, error } = useLoaded<DocumentRow[]>(
    (signal) => rowsOf("/api/documents", index.name, wanted, limit, signal),
    [index.name, wanted, limit],
    { keep: true },
  );
  const search = (q: string) => {
    setLimit(ROWS);
    navigate(address("/documents", index.name, { q }), { replace: true });
  };
  return (
    <section class="listing">
      <header class="listhead">
        <h1>{words("documents")} <span class="note">{count(index.documents)}</span></h1>
        <input
          data-search
          type="search"
          aria-label={words("search")}
          placeholder={words("search")}
          maxLength={500}
          value={wanted}
          onInput={(event) => search(event.currentTarget.value)}
        />
      </header>
      {error && <Problem error={error} />}
      {!value && !error && <Loading />}
      {value?.length === 0 && <p class="empty">{words("noDocuments")}</p>}
      <ul class="rows">
        {value?.map((row) => (
          <li key={row.number}>
            <Link id={`document-${row.number}`} href={address(`/documents/${row.number}`, index.name)}>{row.title || row.path}</Link>
            <span class="note">{[row.date, words("sizeValue", count(row.characters))].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
      {value && value.length >= limit && (
        <button type="button" onClick={() => setLimit(moreThan(limit))}>{words("showMore")}</button>
      )}
    </section>
  );
}

export function DocumentPage({ document, query }: { document: string; query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const start = numberOf(query.get("start"));
  const end = numberOf(query.get("end"));
  const cites = start >= 0 && end > start;
  const from = query.has("from") ? Math.max(0, numberOf(query.get("from"))) : cites ? Math.floor(start / PART) * PART : 0;
  // a citation across the end of a part is shown whole
  const to = cites && start >= from && start < from + PART ? Math.min(Math.max(from + PART, end), from + MAX_TEXT) : from + PART;
  const { value, error } = useLoaded<Page>(
    (signal) => get(address(`/api/documents/${encodeURIComponent(document)}`, index.name, { start: from, end: to }), signal),
    [index.name, document, from, to],
  );
  const cited = useRef<HTMLElement>(null);
  const show = () => {
    cited.current?.focus({ preventScroll: true });
    cited.current?.scrollIntoView({ block: "center" });
  };
  useEffect(() => {
    // one comes back with the position of before; the entry of the history holds it
    if (value && window.history.state === null) show();
  }, [value, start, end]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const { document: row } = value;
  const inRange = cites && start >= value.start && start < value.end;
  const back = lastAnswer();
  const part = (at: number) =>
    address(`/documents/${encodeURIComponent(document)}`, index.name, { ...(cites ? { start, end } : {}), from: at });
  const parts = row.characters > value.end || value.start > 0;
  const pager = parts && (
    <nav class="pager" aria-label={words("range", count(value.start), count(value.end), count(row.characters))}>
      {value.start > 0 && <Link href={part(Math.max(0, from - PART))}>{words("earlierPart")}</Link>}
      <span class="note">{words("range", count(value.start), count(value.end), count(row.characters))}</span>
      {value.end < row.characters && <Link href={part(value.end)}>{words("laterPart")}</Link>}
    </nav>
  );
  return (
    <article class="document">
      <header>
        <p class="crumbs">
          {back && <Link href={back} back>{words("backToAnswer")}</Link>}
          {!back && <Link href={address("/documents", index.name)}>{words("documents")}</Link>}
        </p>
        <h1 dir="auto">{row.title || row.path}</h1>
        {cites && start < row.characters && (
          <p class="note">
            <button type="button" class="plain" onClick={() => (inRange ? show() : navigate(part(Math.floor(start / PART) * PART)))}>
              {words("cited", count(start), count(Math.min(end, row.characters)))}
            </button>
          </p>
        )}
        {cites && start >= row.characters && <p class="error" role="alert">{words("wrongSpan", count(start), count(end))}</p>}
        <Details row={row} metadata={value.metadata} />
      </header>
      {pager}
      <div class="text" lang={row.language || undefined}>{marked(value, inRange ? start : -1, Math.min(end, value.end), cited, index.name)}</div>
      {pager}
    </article>
  );
}

function numberOf(text: string | null): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : -1;
}

function Details({ row, metadata }: { row: DocumentRow; metadata: Record<string, string> }) {
  const words = useWords();
  const rows: [string, string][] = [
    [words("file"), row.path],
    ...(row.date ? [[words("date"), row.date] as [string, string]] : []),
    ...(row.language ? [[words("documentLanguage"), row.language] as [string, string]] : []),
    [words("size"), words("sizeValue", count(row.characters))],
    ...Object.entries(metadata),
  ];
  return (
    <details class="details">
      <summary>{words("metadata")}</summary>
      <dl>
        {rows.map(([name, value]) => (
          <div>
            <dt dir="auto">{name}</dt>
            <dd dir="auto">{String(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Split the text at mentions and the citation; offsets count code points, so the text is split into those. */
function marked(page: Page, start: number, end: number, cited: RefObject<HTMLElement | null>, index: string): ComponentChildren[] {
  const wide = /[\ud800-\udbff]/.test(page.text);
  const points = wide ? Array.from(page.text) : null;
  const text = (from: number, to: number) =>
    points ? points.slice(from - page.start, to - page.start).join("") : page.text.slice(from - page.start, to - page.start);
  let next = 0; // mentions are in the order of the text
  const named = (from: number, to: number): ComponentChildren[] => {
    const parts: ComponentChildren[] = [];
    let at = from;
    for (; next < page.mentions.length; next++) {
      const mention = page.mentions[next]!;
      if (mention.start >= to) break;
      const first = Math.max(mention.start, from);
      const last = Math.min(mention.end, to);
      if (first >= at && last > first) {
        parts.push(text(at, first));
        parts.push(<Link class="mention" href={address(`/entities/${mention.entity}`, index)}>{text(first, last)}</Link>);
        at = last;
      }
      if (mention.end > to) break; // its rest is marked in what follows
    }
    parts.push(text(at, to));
    return parts;
  };
  if (start < 0) return named(page.start, page.end);
  return [
    ...named(page.start, start),
    <mark id="cited" tabIndex={-1} ref={cited}>{named(start, end)}</mark>,
    ...named(end, page.end),
  ];
}
