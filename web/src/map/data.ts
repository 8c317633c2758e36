/** The map's data: arrays of 32-bit numbers after a JSON header, as `/api/map` sends them. */

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
}

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
