/** The map as a page of its own, which `conspectus map` writes: data and texts are in it, and nothing is fetched. */
import { render } from "preact";
import { preferredLanguage, translator, Words } from "../messages";
import { count, slice } from "../text";
import { readMap, type MapData, type MapNames } from "./data";
import { MapExplorer, type MapSource, type Quote, type ReportText } from "./explorer";
import "../style.css";

/** Number of a document, and the characters of it. */
type Span = [document: number, start: number, end: number];

/** Columns go in the order of the index; edges are the strongest first. */
interface Texts {
  title: string;
  level: number;
  names: MapNames;
  types: string[];
  entities: { type: number[]; description: string[]; spans: Span[][] };
  edges: { source: number[]; target: number[]; weight: number[]; description: string[]; spans: Span[][] };
  reports: ReportText[];
  documents: [title: string, text: string][];
}

const RELATIONS = 12; // strongest relationships of an entity
const QUOTES = 3;

async function unpacked(id: string): Promise<Response> {
  const node = document.getElementById(id)!;
  const bytes = Uint8Array.from(atob(node.textContent!), (letter) => letter.charCodeAt(0));
  node.remove();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

function pageSource(texts: Texts, data: MapData): MapSource {
  const { entities, edges } = texts;
  const edgesOf: number[][] = Array.from({ length: data.entities }, () => []);
  edges.source.forEach((from, i) => {
    edgesOf[from]!.push(i);
    edgesOf[edges.target[i]!]!.push(i);
  });
  const quote = ([document, start, end]: Span): Quote => {
    const [title, text] = texts.documents[document]!;
    const [from, to] = [count(start), count(end)];
    return { title: `${title}, ${from}–${to}`, text: slice(text, start, end) };
  };
  const other = (edge: number, one: number) => (edges.source[edge] === one ? edges.target[edge]! : edges.source[edge]!);
  return {
    entity: async (number) => ({
      type: texts.types[entities.type[number]!] ?? "",
      description: entities.description[number]!,
      relations: edgesOf[number]!.slice(0, RELATIONS).map((edge) => ({ entity: other(edge, number), description: edges.description[edge]! })),
      quotes: entities.spans[number]!.slice(0, QUOTES).map(quote),
    }),
    report: async (number) => texts.reports[number]!,
    path: async (source, target) => {
      let at = source;
      return shortest(source, target, edgesOf, edges.weight, other).map((edge) => {
        const step = { source: at, target: other(edge, at), description: edges.description[edge]!, quotes: edges.spans[edge]!.map(quote) };
        at = step.target;
        return step;
      });
    },
    entityPage: () => "",
    reportPage: () => "",
  };
}

/** The edges of the shortest path by Dijkstra's algorithm; a step costs 1 + 1 / weight, as in `conspectus path`. */
function shortest(source: number, target: number, edgesOf: number[][], weight: number[], other: (edge: number, one: number) => number): number[] {
  const cost = new Map([[source, 0]]);
  const by = new Map<number, number>();
  const done = new Set<number>();
  const buckets = new Map<number, number[]>([[0, [source]]]); // by cost in tenths: few enough to look for the lowest
  while (buckets.size) {
    const low = Math.min(...buckets.keys());
    const bucket = buckets.get(low)!;
    bucket.sort((a, b) => cost.get(b)! - cost.get(a)!);
    const at = bucket.pop()!;
    if (!bucket.length) buckets.delete(low);
    if (done.has(at)) continue;
    done.add(at);
    if (at === target) break;
    for (const edge of edgesOf[at]!) {
      const to = other(edge, at);
      const next = cost.get(at)! + 1 + 1 / Math.max(weight[edge]!, 1e-6);
      if (next >= (cost.get(to) ?? Infinity)) continue;
      cost.set(to, next);
      by.set(to, edge);
      const key = Math.floor(10 * next);
      if (!buckets.has(key)) buckets.set(key, []);
      buckets.get(key)!.push(to);
    }
  }
  const path: number[] = [];
  for (let at = target; at !== source && by.has(at); at = other(path[0]!, at)) path.unshift(by.get(at)!);
  return path;
}

async function main() {
  const texts = (await (await unpacked("texts")).json()) as Texts;
  const data = readMap(await (await unpacked("arrays")).arrayBuffer());
  const address = new URLSearchParams(location.hash.slice(1));
  if (!address.has("level")) address.set("level", String(texts.level));
  const remember = (next: URLSearchParams) => history.replaceState(null, "", `#${next}`);
  const language = preferredLanguage();
  document.documentElement.lang = language;
  const words = translator(language);
  render(
    <Words.Provider value={words}>
      <header class="bar">
        <strong>{texts.title}</strong>
        <span class="note">{[words("members", count(data.entities)), words("degree", count(texts.edges.source.length))].join(" · ")}</span>
      </header>
      <main id="content">
        <MapExplorer data={data} names={texts.names} source={pageSource(texts, data)} address={address} onAddress={remember} />
      </main>
    </Words.Provider>,
    document.getElementById("app")!,
  );
}

main().catch((error: Error) => {
  document.getElementById("app")!.textContent = error.message;
});
