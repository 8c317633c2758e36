/**
 * Draws the map by WebGL 2: tinted discs of communities, entities as points, the strongest relationships as lines.
 *
 * What is drawn depends on the zoom: discs that are larger than a few pixels, as many points as there is room for, lines
 * only while nothing moves. Labels are drawn on a canvas above, the largest first, where they do not overlap.
 */
import type { MapData, MapNames } from "./data";

export interface View {
  x: number;
  y: number;
  /** Pixels of the screen for one unit of the map. */
  scale: number;
}

export interface Hit {
  kind: "entity" | "community";
  /** The point or the community. */
  index: number;
}

const SMALLEST_DISC = 2.5; // pixels of radius: smaller discs are a smear
const POINTS_PER_PIXEL = 1 / 900; // points of a screen: one for 30 by 30 pixels, so that a name finds room by most
const LINES = 12_000; // lines of a frame: more is grey felt
const LEVEL_COLOURS = [0.1, 0.1, 0.12]; // opacity that each further level adds
const MAX_LABELS = 160;

const DISC_VERTEX = `#version 300 es
in vec2 corner; in vec3 disc; in vec4 colour;
uniform vec2 centre; uniform vec2 zoom;
out vec2 at; out vec4 tint; out float pixels;
void main() {
  at = corner; tint = colour; pixels = disc.z * zoom.x * 1e3;
  gl_Position = vec4((disc.xy + corner * disc.z - centre) * zoom, 0.0, 1.0);
}`;
const DISC_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at; in vec4 tint; in float pixels; out vec4 shown;
void main() {
  float d = length(at);
  if (d > 1.0) discard;
  shown = vec4(tint.rgb * tint.a, tint.a);
}`;
const POINT_VERTEX = `#version 300 es
in vec2 position; in float size; in vec3 colour;
uniform vec2 centre; uniform vec2 zoom; uniform float grow;
out vec3 tint;
void main() {
  tint = colour;
  gl_Position = vec4((position - centre) * zoom, 0.0, 1.0);
  gl_PointSize = size * grow;
}`;
const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint; out vec4 shown;
void main() {
  float d = length(gl_PointCoord - 0.5);
  float a = 1.0 - smoothstep(0.38, 0.5, d);
  shown = vec4(tint * a, a);
}`;
const LINE_VERTEX = `#version 300 es
in vec2 position;
uniform vec2 centre; uniform vec2 zoom;
void main() { gl_Position = vec4((position - centre) * zoom, 0.0, 1.0); }`;
const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 colour; out vec4 shown;
void main() { shown = vec4(colour.rgb * colour.a, colour.a); }`;

function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "WebGL failed");
  return made;
}

/** A colour of a root community: hues a golden angle apart, so that neighbours in the list differ. */
export function rootColour(order: number, dark: boolean): [number, number, number] {
  const hue = (order * 137.508) % 360;
  return hslToRgb(hue, dark ? 0.45 : 0.5, dark ? 0.62 : 0.45);
}

function hslToRgb(h: number, s: number, l: number): [number, number, number] {
  const a = s * Math.min(l, 1 - l);
  const f = (n: number) => {
    const k = (n + h / 30) % 12;
    return l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return [f(0), f(8), f(4)];
}

export class MapRenderer {
  view: View = { x: 0, y: 0, scale: 300 };
  level = 1;
  focus: Hit | null = null;
  names: MapNames | null = null;
  private readonly gl: WebGL2RenderingContext;
  private readonly text: CanvasRenderingContext2D;
  private readonly programs: { disc: WebGLProgram; point: WebGLProgram; line: WebGLProgram };
  private readonly neighbours = new Map<number, number[]>();
  private discBuffer: WebGLBuffer;
  private linePositions: Float32Array;
  private roots: number[];
  private dark = false;
  private moving = 0;
  private frame = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
    readonly data: MapData,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("this browser has no WebGL 2; the list shows the same");
    this.gl = gl;
    this.text = overlay.getContext("2d")!;
    this.programs = {
      disc: program(gl, DISC_VERTEX, DISC_FRAGMENT),
      point: program(gl, POINT_VERTEX, POINT_FRAGMENT),
      line: program(gl, LINE_VERTEX, LINE_FRAGMENT),
    };
    this.discBuffer = gl.createBuffer();
    const order = new Map<number, number>();
    this.roots = [];
    for (let c = 0; c < data.communities; c++) {
      const root = data.hierarchy[4 * c + 3]!;
      if (!order.has(root)) order.set(root, order.size);
      this.roots.push(order.get(root)!);
    }
    this.linePositions = new Float32Array(4 * Math.min(data.edges, LINES));
    for (let e = 0; e < Math.min(data.edges, LINES); e++) {
      for (const side of [0, 1]) {
        const p = data.pairs[2 * e + side]!;
        this.linePositions[4 * e + 2 * side] = data.points[2 * p]!;
        this.linePositions[4 * e + 2 * side + 1] = data.points[2 * p + 1]!;
      }
    }
    for (let e = 0; e < data.edges; e++) {
      const a = data.pairs[2 * e]!;
      const b = data.pairs[2 * e + 1]!;
      this.neighbours.set(a, [...(this.neighbours.get(a) ?? []), b]);
      this.neighbours.set(b, [...(this.neighbours.get(b) ?? []), a]);
    }
    this.upload();
  }

  /** Take over a theme; colours depend on it. */
  setTheme(dark: boolean) {
    this.dark = dark;
    this.upload();
    this.draw();
  }

  /** Show the whole map. */
  fit() {
    const side = Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    this.view = { x: 0, y: 0, scale: side / 2.1 };
    this.draw();
  }

  /** Show an entity or community in the middle, as large as it can be. */
  goTo(hit: Hit) {
    this.focus = hit;
    const { points, rows, discs } = this.data;
    const side = Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    if (hit.kind === "community") {
      const [x, y, r] = discs.subarray(3 * hit.index);
      this.view = { x: x!, y: y!, scale: side / 2.4 / r! };
    } else {
      const home = rows[3 * hit.index + 2]!;
      const r = home >= 0 ? discs[3 * home + 2]! : 0.02;
      this.view = { x: points[2 * hit.index]!, y: points[2 * hit.index + 1]!, scale: side / 6 / r };
    }
    this.draw();
  }

  /** Move by pixels. */
  pan(dx: number, dy: number) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.moved();
  }

  /** Zoom by a factor around a pixel of the canvas. */
  zoom(factor: number, px: number, py: number) {
    const before = this.at(px, py);
    this.view.scale = Math.min(Math.max(this.view.scale * factor, 50), 4e6);
    const after = this.at(px, py);
    this.view.x += before.x - after.x;
    this.view.y += before.y - after.y;
    this.moved();
  }

  /** What a pixel shows: a point near it, else the innermost community that is drawn there. */
  hit(px: number, py: number): Hit | null {
    const { x, y } = this.at(px, py);
    const { points, discs, hierarchy } = this.data;
    let best = -1;
    let nearest = (9 / this.view.scale) ** 2;
    for (let p = 0; p < this.visiblePoints(); p++) {
      const d = (points[2 * p]! - x) ** 2 + (points[2 * p + 1]! - y) ** 2;
      if (d < nearest) [best, nearest] = [p, d];
    }
    if (best >= 0) return { kind: "entity", index: best };
    let inner = -1;
    for (let c = 0; c < this.data.communities; c++) {
      const level = hierarchy[4 * c]!;
      if (level > this.level || (inner >= 0 && level <= hierarchy[4 * inner]!)) continue;
      if ((discs[3 * c]! - x) ** 2 + (discs[3 * c + 1]! - y) ** 2 <= discs[3 * c + 2]! ** 2) inner = c;
    }
    return inner >= 0 ? { kind: "community", index: inner } : null;
  }

  /** Draw with the next frame. */
  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  private moved() {
    clearTimeout(this.moving);
    this.moving = window.setTimeout(() => {
      this.moving = 0;
      this.draw();
    }, 120);
    this.draw();
  }

  private at(px: number, py: number) {
    return {
      x: this.view.x + (px - this.canvas.clientWidth / 2) / this.view.scale,
      y: this.view.y - (py - this.canvas.clientHeight / 2) / this.view.scale,
    };
  }

  /** How many points are drawn: of the best connected ones, as many as the screen has room for at this zoom. */
  private visiblePoints(): number {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const shown = Math.min((w * h) / (Math.PI * this.view.scale ** 2), 1); // share of the map that is on the screen
    return Math.min(this.data.entities, Math.ceil((w * h * POINTS_PER_PIXEL) / Math.max(shown, 1e-6)));
  }

  private upload() {
    const { gl, data } = this;
    const discs = new Float32Array(7 * data.communities);
    for (let c = 0; c < data.communities; c++) {
      const colour = rootColour(this.roots[c]!, this.dark);
      const alpha = LEVEL_COLOURS[Math.min(data.hierarchy[4 * c]!, LEVEL_COLOURS.length - 1)]!;
      discs.set([...data.discs.subarray(3 * c, 3 * c + 3), ...colour, alpha], 7 * c);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.discBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, discs, gl.STATIC_DRAW);
    this.discs = discs;
    const points = new Float32Array(6 * data.entities);
    for (let p = 0; p < data.entities; p++) {
      const home = data.rows[3 * p + 2]!;
      const colour = home >= 0 ? rootColour(this.roots[home]!, this.dark) : ([0.5, 0.5, 0.5] as const);
      const size = 3 + 5 * Math.min(Math.sqrt(data.rows[3 * p + 1]! / Math.max(data.rows[1]!, 1)), 1);
      points.set([data.points[2 * p]!, data.points[2 * p + 1]!, size, ...colour], 6 * p);
    }
    this.pointBuffer ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.pointBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, points, gl.STATIC_DRAW);
    this.lineBuffer ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lineBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.linePositions, gl.STATIC_DRAW);
    this.focusBuffer ??= gl.createBuffer();
    this.corners ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
  }
  private discs = new Float32Array();
  private pointBuffer: WebGLBuffer | null = null;
  private lineBuffer: WebGLBuffer | null = null;
  private focusBuffer: WebGLBuffer | null = null;
  private corners: WebGLBuffer | null = null;

  private render() {
    const { gl, canvas } = this;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const each of [canvas, this.overlay]) {
      const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
      if (each.width !== w || each.height !== h) [each.width, each.height] = [w, h];
    }
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const zoom: [number, number] = [(2 * this.view.scale) / canvas.clientWidth, (2 * this.view.scale) / canvas.clientHeight];
    this.renderDiscs(zoom);
    if (!this.moving) this.renderLines(zoom);
    this.renderPoints(zoom, ratio);
    this.renderLabels(ratio);
  }

  private use(made: WebGLProgram, zoom: [number, number]) {
    this.gl.useProgram(made);
    this.gl.uniform2f(this.gl.getUniformLocation(made, "centre"), this.view.x, this.view.y);
    this.gl.uniform2f(this.gl.getUniformLocation(made, "zoom"), ...zoom);
  }

  private attribute(made: WebGLProgram, name: string, size: number, stride: number, offset: number, divisor = 0) {
    const at = this.gl.getAttribLocation(made, name);
    if (at < 0) return;
    this.gl.enableVertexAttribArray(at);
    this.gl.vertexAttribPointer(at, size, this.gl.FLOAT, false, 4 * stride, 4 * offset);
    this.gl.vertexAttribDivisor(at, divisor);
  }

  private renderDiscs(zoom: [number, number]) {
    const { gl, data } = this;
    const visible: number[] = [];
    const half = { x: this.canvas.clientWidth / 2 / this.view.scale, y: this.canvas.clientHeight / 2 / this.view.scale };
    for (let c = 0; c < data.communities; c++) {
      const r = data.discs[3 * c + 2]!;
      if (data.hierarchy[4 * c]! > this.level || r * this.view.scale < SMALLEST_DISC) continue;
      if (Math.abs(data.discs[3 * c]! - this.view.x) > half.x + r || Math.abs(data.discs[3 * c + 1]! - this.view.y) > half.y + r) continue;
      visible.push(c);
    }
    this.visibleDiscs = visible;
    const rows = new Float32Array(7 * visible.length);
    visible.forEach((c, i) => rows.set(this.discs.subarray(7 * c, 7 * c + 7), 7 * i));
    const made = this.programs.disc;
    this.use(made, zoom);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    this.attribute(made, "corner", 2, 2, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.discBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, rows, gl.DYNAMIC_DRAW);
    this.attribute(made, "disc", 3, 7, 0, 1);
    this.attribute(made, "colour", 4, 7, 3, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, visible.length);
  }
  private visibleDiscs: number[] = [];

  private renderLines(zoom: [number, number]) {
    const { gl } = this;
    const made = this.programs.line;
    this.use(made, zoom);
    const colour = gl.getUniformLocation(made, "colour");
    const draw = (buffer: WebGLBuffer | null, count: number, grey: number, alpha: number) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      this.attribute(made, "position", 2, 2, 0);
      gl.uniform4f(colour, grey, grey, grey, alpha);
      gl.drawArrays(gl.LINES, 0, 2 * count);
    };
    const shown = Math.min(this.linePositions.length / 4, Math.round(this.view.scale * 1.5));
    draw(this.lineBuffer, shown, this.dark ? 0.75 : 0.3, 0.1);
    if (this.focus?.kind !== "entity") return;
    const from = this.focus.index;
    const positions = (this.neighbours.get(from) ?? []).flatMap((to) => [
      this.data.points[2 * from]!, this.data.points[2 * from + 1]!, this.data.points[2 * to]!, this.data.points[2 * to + 1]!,
    ]);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.focusBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(positions), gl.DYNAMIC_DRAW);
    draw(this.focusBuffer, positions.length / 4, this.dark ? 1 : 0.1, 0.45);
  }

  private renderPoints(zoom: [number, number], ratio: number) {
    const { gl } = this;
    const made = this.programs.point;
    this.use(made, zoom);
    const grow = ratio * Math.min(Math.max(Math.sqrt(this.view.scale / 900), 0.6), 2.6);
    gl.uniform1f(gl.getUniformLocation(made, "grow"), grow);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.pointBuffer);
    this.attribute(made, "position", 2, 6, 0);
    this.attribute(made, "size", 1, 6, 2);
    this.attribute(made, "colour", 3, 6, 3);
    gl.drawArrays(gl.POINTS, 0, this.visiblePoints());
  }

  private renderLabels(ratio: number) {
    const { text, names, data } = this;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    text.setTransform(ratio, 0, 0, ratio, 0, 0);
    text.clearRect(0, 0, w, h);
    if (!names) return;
    const taken: [number, number, number, number][] = [];
    let drawn = 0;
    const place = (label: string, x: number, y: number, size: number, weight: number, width: number) => {
      text.font = `${weight} ${size}px ui-sans-serif, system-ui, sans-serif`;
      const shown = this.cut(label, width);
      if (!shown) return;
      const half = text.measureText(shown).width / 2;
      const box: [number, number, number, number] = [x - half - 3, y - size * 0.8, x + half + 3, y + size * 0.45];
      if (box[2] < 0 || box[0] > w || box[3] < 0 || box[1] > h) return;
      if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) return;
      taken.push(box);
      drawn++;
      text.textAlign = "center";
      text.lineWidth = 3;
      text.strokeStyle = this.dark ? "#14171acc" : "#fbfbf9cc";
      text.strokeText(shown, x, y);
      text.fillStyle = this.dark ? "#e6e8ea" : "#1c2024";
      text.fillText(shown, x, y);
    };
    const screen = (x: number, y: number) => [w / 2 + (x - this.view.x) * this.view.scale, h / 2 - (y - this.view.y) * this.view.scale] as const;
    if (this.focus?.kind === "entity") {
      const p = this.focus.index;
      const [x, y] = screen(data.points[2 * p]!, data.points[2 * p + 1]!);
      place(names.entities[p] ?? "", x, y - 9, 14, 700, 400);
    }
    const large = this.visibleDiscs
      .map((c) => [data.discs[3 * c + 2]! * this.view.scale, c] as const)
      .filter(([r]) => r > 45 && r < 1.2 * Math.max(w, h))
      .sort((a, b) => b[0] - a[0]);
    for (const [r, c] of large) {
      if (drawn >= MAX_LABELS) return;
      const [x, y] = screen(data.discs[3 * c]!, data.discs[3 * c + 1]! + data.discs[3 * c + 2]! * 0.72);
      place(names.communities[c] ?? "", x, y, Math.min(11 + r / 60, 17), 600, 1.5 * r);
    }
    const room = this.view.scale > 700 ? this.visiblePoints() : Math.min(this.visiblePoints(), 40);
    for (let p = 0; p < room && drawn < MAX_LABELS; p++) {
      const [x, y] = screen(data.points[2 * p]!, data.points[2 * p + 1]!);
      if (x < 0 || x > w || y < 0 || y > h) continue;
      place(names.entities[p] ?? "", x, y - 7, 12, 400, 160);
    }
  }

  /** A label that fits a width, cut at its end; empty where hardly anything would be left. */
  private cut(label: string, width: number): string {
    if (this.text.measureText(label).width <= width) return label;
    let end = label.length;
    while (end > 3 && this.text.measureText(`${label.slice(0, end)}…`).width > width) end = Math.floor(end * 0.85);
    return end > 6 ? `${label.slice(0, end).trimEnd()}…` : "";
  }
}
