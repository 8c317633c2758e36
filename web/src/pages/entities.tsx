/** The list of entities, and one entity with relationships, aliases and mentions. */
import { useState } from "preact/hooks";
import { address, get, type EntityRow, type Source } from "../api";
import { useWords } from "../messages";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";

interface Edge {
  target: string;
  description: string;
  weight: number;
  sources: Source[];
}

interface View {
  entity: EntityRow & { relationships: Edge[]; documents: { document: string; title: string; chunks: number }[] };
  targets: number[];
  joins: { name: string; rule: string; evidence: string }[];
}

export function EntitiesPage() {
  const words = useWords();
  const { index } = useAppState();
  const [wanted, setWanted] = useState("");
  const { value, error } = useLoaded<EntityRow[]>(
    (signal) => get(address("/api/entities", index.name, { q: wanted, limit: 100 }), signal),
    [index.name, wanted],
  );
  return (
    <section>
      <h1>{words("entities")}</h1>
      <input data-search type="search" aria-label={words("search")} placeholder={words("search")} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      {error && <p class="error" role="alert">{error.message}</p>}
      <ul class="rows">
        {value?.map((row) => (
          <li>
            <Link href={address(`/entities/${row.number}`, index.name)}>{row.name}</Link>
            <span class="note">{row.type} · {row.degree}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function EntityPage({ number }: { number: number }) {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<View>((signal) => get(address(`/api/entities/${number}`, index.name), signal), [index.name, number]);
  if (error) return <p class="error" role="alert">{error.message}</p>;
  if (!value) return <p class="waiting">{words("loading")}</p>;
  const { entity } = value;
  return (
    <article class="entity">
      <h1>{entity.name}</h1>
      <p class="note">{entity.type} · {entity.degree}</p>
      <p>{entity.description}</p>
      {value.joins.length > 0 && (
        <section>
          <h2>{words("aliases")}</h2>
          <ul>{value.joins.map((join) => <li>{join.name} <span class="note">{join.evidence}</span></li>)}</ul>
        </section>
      )}
      <section>
        <h2>{words("relationships")}</h2>
        <ul class="rows">
          {entity.relationships.map((edge, i) => (
            <li>
              <Link href={address(`/entities/${value.targets[i]}`, index.name)}>{edge.target}</Link>
              <span>{edge.description}</span>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>{words("mentions")}</h2>
        <ul>{entity.documents.map((row) => <li><Link href={address(`/documents/${encodeURIComponent(row.document)}`, index.name)}>{row.title || row.document}</Link></li>)}</ul>
      </section>
    </article>
  );
}
