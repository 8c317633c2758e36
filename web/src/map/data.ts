/** The map's data: arrays of 32-bit numbers after a JSON header, as `/api/map` and the offline page have them. */

export interface MapData {
  communities: number;
  entities: number;
  edges: number;
  levels: number;
  /** Rows x, y, radius of each community. */
  discs: Float32Array;
  /** Rows level, parent (-1 for roots), report (-1 for none), root of each community. */
  hierarchy: Int32Array;
  /** Rows x, y of each entity, the best connected first. */
  points: Float32Array;
  /** Rows entity number, degree, innermost community of each point. */
  rows: Int32Array;
  /** Pairs of points, the strongest relationships first. */
  pairs: Uint32Array;
}

export interface MapNames {
  /** Title of each community. */
  communities: string[];
  /** Name of each point, in the order of the points. */
  entities: string[];
  /** Other names of points. */
  aliases: [point: number, name: string][];
}

/** A point or a community of the map. */
export interface Item {
  kind: "entity" | "community";
  index: number;
}

/** What was found by a name, and the other name by which it was, where it was not its own. */
export interface Found extends Item {
  alias?: string;
}

export const same = (a: Item | null, b: Item | null) => a?.kind === b?.kind && a?.index === b?.index;

/** Read the arrays; raises where the lengths do not match the header. */
export function readMap(buffer: ArrayBuffer): MapData {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as {
    communities: number;
    entities: number;
    edges: number;
    levels: number;
  };
  let at = 4 + length;
  const take = (count: number) => {
    const part = buffer.slice(at, at + 4 * count);
    if (part.byteLength !== 4 * count) throw new Error("the map is not complete");
    at += 4 * count;
    return part;
  };
  return {
    ...head,
    discs: new Float32Array(take(3 * head.communities)),
    hierarchy: new Int32Array(take(4 * head.communities)),
    points: new Float32Array(take(2 * head.entities)),
    rows: new Int32Array(take(3 * head.entities)),
    pairs: new Uint32Array(take(2 * head.edges)),
  };
}

/** What can be asked of a map: who is whose parent, child, member and neighbour, and where a name is. */
export class MapGraph {
  /** Communities within each community, the largest first; those of -1 are the roots. */
  readonly children = new Map<number, number[]>();
  /** The point of each entity number. */
  readonly pointOf: Int32Array;
  /** The number of entities in each community. */
  readonly size: Int32Array;
  private readonly starts: Uint32Array;
  private readonly ends: Uint32Array;
  /** Names as they are searched: those of the points, then their aliases. */
  private folded: string[] | null = null;

  constructor(readonly data: MapData) {
    const { communities, entities, edges, hierarchy, rows, pairs } = data;
    for (let c = 0; c < communities; c++) {
      const parent = hierarchy[4 * c + 1]!;
      if (!this.children.has(parent)) this.children.set(parent, []);
      this.children.get(parent)!.push(c);
    }
    this.pointOf = new Int32Array(entities);
    for (let p = 0; p < entities; p++) this.pointOf[rows[3 * p]!] = p;
    this.size = new Int32Array(communities);
    for (let p = 0; p < entities; p++) {
      for (let c = rows[3 * p + 2]!; c >= 0; c = hierarchy[4 * c + 1]!) this.size[c]!++;
    }
    for (const list of this.children.values()) list.sort((a, b) => this.size[b]! - this.size[a]! || a - b);
    this.starts = new Uint32Array(entities + 1);
    for (let i = 0; i < 2 * edges; i++) this.starts[pairs[i]! + 1]!++;
    for (let p = 0; p < entities; p++) this.starts[p + 1]! += this.starts[p]!;
    this.ends = new Uint32Array(2 * edges);
    const next = this.starts.slice();
    for (let i = 0; i < 2 * edges; i++) this.ends[next[pairs[i]!]!++] = pairs[i ^ 1]!;
  }

  level = (community: number) => this.data.hierarchy[4 * community]!;
  parent = (community: number) => this.data.hierarchy[4 * community + 1]!;
  report = (community: number) => this.data.hierarchy[4 * community + 2]!;
  degree = (point: number) => this.data.rows[3 * point + 1]!;
  entity = (point: number) => this.data.rows[3 * point]!;

  /** The points at the other ends of a point's relationships, the strongest first. */
  neighbours(point: number): Uint32Array {
    return this.ends.subarray(this.starts[point], this.starts[point + 1]);
  }

  /** The community that holds an item, and those around it, the root first; a community is the last itself. */
  around(item: Item): number[] {
    const chain: number[] = [];
    let at = item.kind === "community" ? item.index : this.data.rows[3 * item.index + 2]!;
    for (; at >= 0; at = this.parent(at)) chain.unshift(at);
    return chain;
  }

  /** The best connected points in a community. */
  members(community: number, most: number): number[] {
    const leaves = new Set<number>();
    const open = [community];
    for (let c = open.pop(); c !== undefined; c = open.pop()) {
      leaves.add(c);
      open.push(...(this.children.get(c) ?? []));
    }
    const points: number[] = [];
    for (let p = 0; p < this.data.entities && points.length < most; p++) {
      if (leaves.has(this.data.rows[3 * p + 2]!)) points.push(p);
    }
    return points;
  }

  /** Communities and points whose name or alias contains a text: those that begin with it first, then the best connected. */
  find(text: string, names: MapNames, most: number): Found[] {
    const wanted = fold(text);
    if (!wanted) return [];
    this.folded ??= [...names.entities, ...names.aliases.map(([, alias]) => alias)].map(fold);
    const ranked: Found[][] = [[], [], []];
    this.folded.forEach((name, i) => {
      const at = name.indexOf(wanted);
      if (at < 0) return;
      const other = names.aliases[i - names.entities.length];
      ranked[name === wanted ? 0 : at === 0 ? 1 : 2]!.push({ kind: "entity", index: other?.[0] ?? i, ...(other && { alias: other[1] }) });
    });
    const found = new Map<number, Found>();
    for (const list of ranked) {
      list.sort((a, b) => a.index - b.index || Number(Boolean(a.alias)) - Number(Boolean(b.alias)));
      for (const item of list) if (!found.has(item.index)) found.set(item.index, item);
    }
    const titles: Found[] = [];
    names.communities.forEach((title, index) => {
      if (titles.length < 5 && fold(title).includes(wanted)) titles.push({ kind: "community", index });
    });
    return [...found.values()].slice(0, most - titles.length).concat(titles);
  }
}

const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
