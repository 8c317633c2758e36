/** The list of documents, and a document with its entities marked and the cited characters highlighted. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { address, get, type DocumentPage as Page, type DocumentRow } from "../api";
import { useWords } from "../messages";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";

export function DocumentsPage() {
  const words = useWords();
  const { index } = useAppState();
  const [wanted, setWanted] = useState("");
  const { value, error } = useLoaded<DocumentRow[]>(
    (signal) => get(address("/api/documents", index.name, { q: wanted, limit: 200 }), signal),
    [index.name, wanted],
  );
  return (
    <section>
      <h1>{words("documents")}</h1>
      <input data-search type="search" aria-label={words("search")} placeholder={words("search")} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      {error && <p class="error" role="alert">{error.message}</p>}
      <ul class="rows">
        {value?.map((row) => (
          <li>
            <Link href={address(`/documents/${row.number}`, index.name)}>{row.title || row.path}</Link>
            <span class="note">{[row.date, row.path].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function DocumentPage({ document, query }: { document: string; query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const start = Number(query.get("start") ?? -1);
  const end = Number(query.get("end") ?? -1);
  const { value, error } = useLoaded<Page>(
    (signal) => get(address(`/api/documents/${encodeURIComponent(document)}`, index.name), signal),
    [index.name, document],
  );
  const cited = useRef<HTMLElement>(null);
  useEffect(() => cited.current?.scrollIntoView({ block: "center" }), [value, start, end]);
  if (error) return <p class="error" role="alert">{error.message}</p>;
  if (!value) return <p class="waiting">{words("loading")}</p>;
  const { document: row } = value;
  return (
    <article class="document">
      <h1>{row.title || row.path}</h1>
      <p class="note">
        {[row.date, row.path].filter(Boolean).join(" · ")}
        {start >= 0 && ` · ${words("characters", count(start), count(end))}`}
      </p>
      <div class="text" dir="auto">{marked(value, start, end, cited, index.name)}</div>
    </article>
  );
}

/** Split the text at mentions and the citation; offsets count code points, so the text is split into those. */
function marked(page: Page, start: number, end: number, cited: { current: HTMLElement | null }, index: string): ComponentChildren[] {
  const points = Array.from(page.text);
  const text = (from: number, to: number) => points.slice(from - page.start, to - page.start).join("");
  const named = (from: number, to: number): ComponentChildren[] => {
    const parts: ComponentChildren[] = [];
    let at = from;
    for (const mention of page.mentions) {
      if (mention.start < at || mention.end > to) continue;
      parts.push(text(at, mention.start));
      parts.push(<Link class="mention" href={address(`/entities/${mention.entity}`, index)}>{text(mention.start, mention.end)}</Link>);
      at = mention.end;
    }
    parts.push(text(at, to));
    return parts;
  };
  if (start < page.start || end <= start || end > page.end) return named(page.start, page.end);
  return [
    ...named(page.start, start),
    <mark id="cited" ref={cited}>{text(start, end)}</mark>,
    ...named(end, page.end),
  ];
}
