/** The map of the graph of an index, with texts from the server. */
import { useMemo } from "preact/hooks";
import { address, get, type Report, type Source } from "../api";
import { readMap, type MapData, type MapNames } from "../map/data";
import { MapExplorer, type MapSource, type Quote } from "../map/explorer";
import { useWords } from "../messages";
import { navigate } from "../router";
import { useAppState, useLoaded } from "../state";

interface Edge {
  source: string;
  target: string;
  description: string;
  sources: Source[];
}

interface EntityAnswer {
  entity: { type: string; description: string; sources: Source[]; relationships: Edge[] };
  targets: number[];
}

const RELATIONS = 12; // strongest relationships of the panel; the entity's page has all

async function loadMap(index: string, signal: AbortSignal): Promise<{ data: MapData; names: MapNames }> {
  const [response, names] = await Promise.all([
    fetch(address("/api/map", index), { signal }),
    get<MapNames>(address("/api/map/names", index), signal),
  ]);
  if (!response.ok) throw new Error((await response.json()).error.message);
  return { data: readMap(await response.arrayBuffer()), names };
}

function serverSource(index: string, names: MapNames, data: MapData): MapSource {
  const numbers = new Map(names.entities.map((name, point) => [name, data.rows[3 * point]!]));
  const quote = (source: Source): Quote => ({
    title: source.document.split("/").pop() + (source.place && `, ${source.place}`),
    text: source.text,
    href: address(`/documents/${encodeURIComponent(source.document)}`, index, { start: source.start, end: source.end }),
  });
  return {
    async entity(number, signal) {
      const { entity, targets } = await get<EntityAnswer>(address(`/api/entities/${number}`, index, { relationships: RELATIONS }), signal);
      const relations = entity.relationships.map((edge, i) => ({ entity: targets[i]!, description: edge.description }));
      return { ...entity, relations, quotes: entity.sources.slice(0, 3).map(quote) };
    },
    async report(number, signal) {
      return (await get<{ report: Report }>(address(`/api/reports/${number}`, index), signal)).report;
    },
    async path(source, target, signal) {
      const name = (number: number) => names.entities[points.get(number)!]!;
      const points = new Map(Array.from({ length: data.entities }, (_, point) => [data.rows[3 * point]!, point]));
      const found = await get<{ steps: Edge[] }>(address("/api/path", index, { source: name(source), target: name(target) }), signal);
      return found.steps.map((step) => ({
        source: numbers.get(step.source)!,
        target: numbers.get(step.target)!,
        description: step.description,
        quotes: step.sources.map(quote),
      }));
    },
    entityPage: (number) => address(`/entities/${number}`, index),
    reportPage: (number) => address(`/reports/${number}`, index),
  };
}

export default function MapPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded((signal) => loadMap(index.name, signal), [index.name]);
  const source = useMemo(() => value && serverSource(index.name, value.names, value.data), [value]);
  if (!value || !source || !value.data.entities) {
    return (
      <div class="mapped">
        <div class="canvas">
          {error ? <p class="error" role="alert">{error.message}</p> : <p class="waiting" role="status">{words(value ? "noGraph" : "loading")}</p>}
        </div>
      </div>
    );
  }
  const remember = (next: URLSearchParams) => {
    const named = query.get("index");
    if (named) next.set("index", named);
    navigate(`/map?${next}`, { replace: true });
  };
  return <MapExplorer {...value} source={source} address={query} onAddress={remember} />;
}
