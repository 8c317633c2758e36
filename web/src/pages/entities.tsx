/** The list of entities, one entity with relationships, aliases and mentions, and the path between two. */
import { useEffect, useState } from "preact/hooks";
import { address, ApiError, get, moreThan, rowsOf, type EntityRow, type Source } from "../api";
import { EntityCorrections } from "../manage/entity";
import { useWords } from "../messages";
import { Loading, Problem } from "../notices";
import { Link, navigate } from "../router";
import { useAppState, useLoaded } from "../state";
import { count, sentence } from "../text";
import "./graph.css";

interface Edge {
  source: string;
  target: string;
  description: string;
  weight: number;
  sources: Source[];
}

interface View {
  entity: EntityRow & {
    relationships: Edge[];
    sources: Source[];
    communities: { community: number; level: number; report: number | null; title: string }[];
    documents: { document: string; title: string; chunks: number }[];
  };
  targets: number[];
  joins: { name: string; rule: string; evidence: string }[];
}

const ROWS = 100;

export function EntitiesPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const wanted = query.get("q") ?? "";
  const [shown, setShown] = useState(ROWS);
  const { value, error } = useLoaded<EntityRow[]>(
    (signal) => rowsOf("/api/entities", index.name, wanted, shown, signal),
    [index.name, index.snapshot, wanted, shown],
    { keep: true },
  );
  const search = (q: string) => {
    setShown(ROWS);
    navigate(address("/entities", index.name, { q }), { replace: true });
  };
  const folded = wanted.trim().toLowerCase();
  const alias = (row: EntityRow) =>
    folded && !row.name.toLowerCase().includes(folded) ? row.aliases.find((name) => name.toLowerCase().includes(folded)) : undefined;
  return (
    <section class="listing">
      <header class="listhead">
        <h1>{words("entities")} <span class="note">{count(index.entities)}</span></h1>
        <Link class="aside" href={address("/path", index.name)}>{words("pathBetween")}</Link>
        <input data-search type="search" aria-label={words("search")} placeholder={words("search")} value={wanted} maxLength={500} onInput={(event) => search(event.currentTarget.value)} />
      </header>
      {error && <Problem error={error} />}
      {value?.length === 0 && <p class="empty">{words("noEntities")}</p>}
      <ul class="entries">
        {value?.map((row) => (
          <li>
            <span>
              <Link id={`entity-${row.number}`} href={address(`/entities/${row.number}`, index.name)}>{row.name}</Link>
              {alias(row) && <span class="note"> {words("alsoCalled", alias(row)!)}</span>}
            </span>
            <span class="note">{row.type}</span>
            <span class="note">{words("degree", count(row.degree))}</span>
          </li>
        ))}
      </ul>
      {value?.length === shown && <button type="button" onClick={() => setShown(moreThan(shown))}>{words("showMore")}</button>}
    </section>
  );
}

export function EntityPage({ number }: { number: number }) {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<View>((signal) => get(address(`/api/entities/${number}`, index.name), signal), [index.name, number]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const { entity } = value;
  return (
    <article class="page">
      <h1>{entity.name}</h1>
      <p class="facts">
        {entity.type && <span>{entity.type}</span>}
        <span>{words("degree", count(entity.degree))}</span>
        <Link href={address("/map", index.name, { level: 2, focus: `e${number}` })}>{words("onMap")}</Link>
        <Link href={address("/path", index.name, { source: entity.name })}>{words("pathTo")}</Link>
      </p>
      <div class="split">
        <div>
          <p class="reading">{entity.description}</p>
          <EntityCorrections key={`${number}`} entity={entity} joins={value.joins} />
          <section>
            <h2>{words("relationships")}</h2>
            <ul class="lines">
              {entity.relationships.map((edge, i) => (
                <li>
                  <Link href={address(`/entities/${value.targets[i]}`, index.name)}>{edge.target}</Link>
                  <Sources sources={edge.sources.slice(0, 1)} description={edge.description} />
                </li>
              ))}
            </ul>
            {entity.degree > entity.relationships.length && <p class="note">{words("more", count(entity.degree - entity.relationships.length))}</p>}
          </section>
          {entity.sources.length > 0 && (
            <section>
              <h2>{words("mentions")}</h2>
              <Sources sources={entity.sources} description="" />
            </section>
          )}
        </div>
        <aside class="beyond">
          {entity.communities.length > 0 && (
            <section>
              <h2>{words("communities")}</h2>
              <ul class="lines">
                {entity.communities.map((row) => (
                  <li>
                    {row.report === null ? <span>{row.title}</span> : <Link href={address(`/reports/${row.report}`, index.name)}>{row.title}</Link>} <span class="note">{words("level")} {row.level}</span>
                  </li>
                ))}
              </ul>
            </section>
          )}
          {entity.documents.length > 0 && (
            <section>
              <h2>{words("documents")}</h2>
              <ul class="lines">
                {entity.documents.map((row) => (
                  <li>
                    <Link href={address(`/documents/${encodeURIComponent(row.document)}`, index.name)}>{row.title || row.document}</Link>{" "}
                    <span class="note">{words("passages", count(row.chunks))}</span>
                  </li>
                ))}
              </ul>
            </section>
          )}
        </aside>
      </div>
    </article>
  );
}

/** Passages that open their document at their characters; a description where there are none. */
export function Sources({ sources, description }: { sources: Source[]; description: string }) {
  const { index } = useAppState();
  if (!sources.length) return description ? <p class="note">{description}</p> : null;
  return (
    <>
      {sources.map((source) => (
        <figure class="passage">
          <blockquote>{source.text.length > 400 ? `${source.text.slice(0, 400)}…` : source.text}</blockquote>
          <figcaption class="note">
            <Link href={address(`/documents/${source.number ?? encodeURIComponent(source.document)}`, index.name, { start: source.start, end: source.end })}>
              {source.document.split("/").pop()}{source.place && `, ${source.place}`}
            </Link>
          </figcaption>
        </figure>
      ))}
    </>
  );
}

interface Found {
  source: string;
  target: string;
  steps: Edge[];
  /** The numbers of the entities by name. */
  numbers: Record<string, number>;
}

/** How two entities are connected: the address has their names. */
export function PathPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const [source, setSource] = useState(query.get("source") ?? "");
  const [target, setTarget] = useState(query.get("target") ?? "");
  useEffect(() => {
    setSource(query.get("source") ?? "");
    setTarget(query.get("target") ?? "");
  }, [query.toString()]);
  const asked = [query.get("source") ?? "", query.get("target") ?? ""] as const;
  const { value, error } = useLoaded<Found | null>(
    (signal) => (asked[0] && asked[1] ? get(address("/api/path", index.name, { source: asked[0], target: asked[1] }), signal) : Promise.resolve(null)),
    [index.name, ...asked],
  );
  return (
    <article class="page">
      <h1>{words("pathBetween")}</h1>
      <form
        class="ends"
        onSubmit={(event) => {
          event.preventDefault();
          navigate(address("/path", index.name, { source: source.trim(), target: target.trim() }));
        }}
      >
        <EntityField label={words("from")} value={source} change={setSource} />
        <EntityField label={words("to")} value={target} change={setTarget} />
        <button type="submit" class="primary" disabled={!source.trim() || !target.trim()}>{words("findPath")}</button>
      </form>
      {error && (error instanceof ApiError && error.status === 404 ? <Unknown error={error} asked={asked} /> : <Problem error={error} />)}
      {value === undefined && !error && asked[0] && asked[1] && <Loading />}
      {value?.steps.length === 0 && <p>{words("pathNone")}</p>}
      <ol class="lines path">
        {value?.steps.map((step) => (
          <li>
            <EntityLink name={step.source} numbers={value.numbers} /> → <EntityLink name={step.target} numbers={value.numbers} />
            <Sources sources={step.sources} description={step.description} />
          </li>
        ))}
      </ol>
    </article>
  );
}

function EntityLink({ name, numbers }: { name: string; numbers: Record<string, number> }) {
  const { index } = useAppState();
  const number = numbers[name];
  return <strong>{number === undefined ? name : <Link href={address(`/entities/${number}`, index.name)}>{name}</Link>}</strong>;
}

/** A name that is not in the graph, with links to the path from or to those that are spelt like it. */
function Unknown({ error, asked: [source, target] }: { error: ApiError; asked: readonly [string, string] }) {
  const words = useWords();
  const { index } = useAppState();
  const other = (name: string) => (error.name === source ? { source: name, target } : { source, target: name });
  if (!error.near.length) return <p role="alert">{sentence(error.message)}</p>;
  return (
    <div role="alert">
      <p>{words("unknownName", error.name)}</p>
      <p class="inline">{error.near.map((name) => <Link href={address("/path", index.name, other(name))}>{name}</Link>)}</p>
    </div>
  );
}

/** A field for the name of an entity, which completes it. */
function EntityField({ label, value, change }: { label: string; value: string; change: (name: string) => void }) {
  const { index } = useAppState();
  const rows = useLoaded<EntityRow[]>(
    (signal) => (value.trim() ? get(address("/api/entities", index.name, { q: value, limit: 12 }), signal) : Promise.resolve([])),
    [index.name, value],
  );
  const list = `names-${label}`;
  return (
    <label>
      {label}
      <input type="search" autocomplete="off" list={list} value={value} onInput={(event) => change(event.currentTarget.value)} />
      <datalist id={list}>{rows.value?.map((row) => <option value={row.name} />)}</datalist>
    </label>
  );
}
