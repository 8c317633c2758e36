/**
 * Draws the map by WebGL 2: tinted discs of communities, entities as points, the strongest relationships as lines.
 *
 * What is drawn depends on the zoom: discs that are larger than a few pixels, as many points as there is room for, lines
 * only while nothing moves. Labels, and what is selected, are drawn on a canvas above.
 */
import type { Item, MapGraph, MapNames } from "./data";

interface View {
  x: number;
  y: number;
  /** Pixels of the screen for one unit of the map. */
  scale: number;
}

const SMALLEST_DISC = 2; // pixels of radius: smaller discs are a smear
const POINTS_PER_PIXEL = 1 / 650; // points of a screen: one for 25 by 25 pixels, so that a name finds room by most
const LINES = 12_000; // lines of a frame: more is grey felt
const MAX_LABELS = 140;
const MAX_LABELS_MOVING = 50; // text is the slow part of a frame without a graphics card
const COLOURED = 0.05; // share of the map's radius from which a root community has a hue of its own
const FLIGHT = 500; // milliseconds

const DISC_VERTEX = `#version 300 es
in vec2 corner; in vec3 disc; in vec4 colour;
uniform vec2 centre; uniform vec2 zoom; uniform float pixel;
out vec2 at; out vec4 tint; out float radius;
void main() {
  radius = disc.z * pixel; tint = colour;
  at = corner * (radius + 1.0);
  gl_Position = vec4((disc.xy + at / pixel - centre) * zoom, 0.0, 1.0);
}`;
const DISC_FRAGMENT = `#version 300 es
precision highp float;
in vec2 at; in vec4 tint; in float radius; out vec4 shown;
void main() {
  float edge = radius - length(at);
  float rim = smoothstep(1.6, 0.6, edge) * min(radius / 12.0, 1.0);
  float a = mix(tint.a, min(tint.a * 2.6, 0.6), rim) * clamp(edge + 0.5, 0.0, 1.0);
  if (a <= 0.0) discard;
  shown = vec4(tint.rgb * a, a);
}`;
const POINT_VERTEX = `#version 300 es
in vec2 position; in float size; in vec3 colour;
uniform vec2 centre; uniform vec2 zoom; uniform float grow;
out vec3 tint; out float wide;
void main() {
  tint = colour; wide = max(size * grow, 3.0) + 1.0;
  gl_Position = vec4((position - centre) * zoom, 0.0, 1.0);
  gl_PointSize = wide;
}`;
const POINT_FRAGMENT = `#version 300 es
precision highp float;
in vec3 tint; in float wide; out vec4 shown;
void main() {
  float a = clamp(wide * (0.5 - length(gl_PointCoord - 0.5)), 0.0, 1.0) * 0.9;
  if (a <= 0.0) discard;
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

/** A colour of a root community: hues a golden angle apart, so that neighbours in size differ; -1 is grey. */
function rootColour(order: number, dark: boolean): [number, number, number] {
  const [h, s, l] = [(168 + order * 137.508) % 360, order < 0 ? 0 : dark ? 0.42 : 0.46, dark ? 0.64 : 0.43];
  const a = s * Math.min(l, 1 - l);
  const f = (n: number) => {
    const k = (n + h / 30) % 12;
    return l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return [f(0), f(8), f(4)];
}

type Box = [left: number, top: number, right: number, bottom: number];

export class MapRenderer {
  view: View = { x: 0, y: 0, scale: 300 };
  /** The deepest level whose discs are drawn. */
  level = 1;
  focus: Item | null = null;
  hover: Item | null = null;
  /** Points of a path, from its start to its end. */
  path: number[] = [];
  /** Frames since the start, for whoever wants to know whether the map is drawn. */
  frames = 0;
  private readonly gl: WebGL2RenderingContext;
  private readonly text: CanvasRenderingContext2D;
  private readonly programs: { disc: WebGLProgram; point: WebGLProgram; line: WebGLProgram };
  private readonly buffers: { discs: WebGLBuffer; points: WebGLBuffer; lines: WebGLBuffer; corners: WebGLBuffer };
  private readonly widths = new Map<string, number>();
  private readonly lines: number;
  private colourOf: Int32Array;
  private discs = new Float32Array();
  private visible: number[] = [];
  private dark = false;
  private moving = 0;
  private frame = 0;
  private flight = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
    private readonly graph: MapGraph,
    private readonly names: MapNames,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("this browser has no WebGL 2; the list beside shows the same");
    this.gl = gl;
    this.text = overlay.getContext("2d")!;
    this.programs = {
      disc: program(gl, DISC_VERTEX, DISC_FRAGMENT),
      point: program(gl, POINT_VERTEX, POINT_FRAGMENT),
      line: program(gl, LINE_VERTEX, LINE_FRAGMENT),
    };
    this.buffers = { discs: gl.createBuffer(), points: gl.createBuffer(), lines: gl.createBuffer(), corners: gl.createBuffer() };
    const { data } = graph;
    const order = new Map((graph.children.get(-1) ?? []).map((c, i) => [c, data.discs[3 * c + 2]! < COLOURED ? -1 : i]));
    this.colourOf = Int32Array.from({ length: data.communities }, (_, c) => order.get(data.hierarchy[4 * c + 3]!) ?? -1);
    this.lines = Math.min(data.edges, LINES);
    const positions = new Float32Array(4 * this.lines);
    for (let i = 0; i < 2 * this.lines; i++) positions.set(data.points.subarray(2 * data.pairs[i]!, 2 * data.pairs[i]! + 2), 2 * i);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.lines);
    gl.bufferData(gl.ARRAY_BUFFER, positions, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
  }

  /** Take over a theme; colours depend on it. */
  setTheme(dark: boolean) {
    this.dark = dark;
    this.upload();
    this.draw();
  }

  /** Forget what is under way. */
  stop() {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.flight);
    clearTimeout(this.moving);
  }

  /** Show the whole map. */
  fit(fly = false) {
    this.show({ x: 0, y: 0, scale: Math.min(this.canvas.clientWidth, this.canvas.clientHeight) / 2.06 }, fly);
  }

  /** Show an entity or community in the middle, as large as it can be. */
  goTo(item: Item, fly = true) {
    const { points, rows, discs } = this.graph.data;
    const side = Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    if (item.kind === "community") {
      const [x, y, r] = discs.subarray(3 * item.index);
      this.show({ x: x!, y: y!, scale: Math.min(side / 2.3 / r!, 4e5) }, fly);
    } else {
      const home = rows[3 * item.index + 2]!;
      const r = home >= 0 ? discs[3 * home + 2]! : 0.02;
      this.show({ x: points[2 * item.index]!, y: points[2 * item.index + 1]!, scale: Math.min(side / 7 / r, 4e5) }, fly);
    }
  }

  /** Show all points of a path. */
  goAlong(path: number[]) {
    const { points } = this.graph.data;
    const [xs, ys] = [path.map((p) => points[2 * p]!), path.map((p) => points[2 * p + 1]!)];
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const scale = Math.min(w / Math.max(right - left, 1e-3), h / Math.max(high - low, 1e-3)) / 1.6;
    this.show({ x: (left + right) / 2, y: (low + high) / 2, scale: Math.min(scale, 4e4) }, true);
  }

  /** Move by pixels. */
  pan(dx: number, dy: number) {
    cancelAnimationFrame(this.flight);
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.moved();
  }

  /** Zoom by a factor around a pixel of the canvas. */
  zoom(factor: number, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    cancelAnimationFrame(this.flight);
    const before = this.at(px, py);
    this.view.scale = Math.min(Math.max(this.view.scale * factor, 60), 4e6);
    const after = this.at(px, py);
    this.view.x += before.x - after.x;
    this.view.y += before.y - after.y;
    this.moved();
  }

  /** What a pixel shows: a point near it, else the innermost community that is drawn there. */
  hit(px: number, py: number): Item | null {
    const { x, y } = this.at(px, py);
    const { points, discs } = this.graph.data;
    let best = -1;
    let nearest = (10 / this.view.scale) ** 2;
    for (let p = 0; p < this.shownPoints(); p++) {
      const d = (points[2 * p]! - x) ** 2 + (points[2 * p + 1]! - y) ** 2;
      if (d < nearest) [best, nearest] = [p, d];
    }
    if (best >= 0) return { kind: "entity", index: best };
    let inner = -1;
    for (const c of this.visible) {
      if (inner >= 0 && this.graph.level(c) <= this.graph.level(inner)) continue;
      if ((discs[3 * c]! - x) ** 2 + (discs[3 * c + 1]! - y) ** 2 <= discs[3 * c + 2]! ** 2) inner = c;
    }
    return inner >= 0 ? { kind: "community", index: inner } : null;
  }

  /** The pixel of a position of the map. */
  screen(x: number, y: number): [number, number] {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [w / 2 + (x - this.view.x) * this.view.scale, h / 2 - (y - this.view.y) * this.view.scale];
  }

  /** Draw with the next frame. */
  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  private show(view: View, fly: boolean) {
    cancelAnimationFrame(this.flight);
    if (!fly || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = view;
      this.draw();
      return;
    }
    const from = { ...this.view };
    const began = performance.now();
    const step = (now: number) => {
      const t = Math.min(Math.max((now - began) / FLIGHT, 0), 1);
      const eased = t * t * (3 - 2 * t);
      const scale = from.scale * (view.scale / from.scale) ** eased;
      // the place moves as the scale does, so that the target stays in sight while the map grows
      const share = from.scale === view.scale ? eased : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / view.scale);
      this.view = { x: from.x + (view.x - from.x) * share, y: from.y + (view.y - from.y) * share, scale };
      this.moved();
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  private moved() {
    clearTimeout(this.moving);
    this.moving = window.setTimeout(() => {
      this.moving = 0;
      this.draw();
    }, 140);
    this.draw();
  }

  private at(px: number, py: number) {
    return {
      x: this.view.x + (px - this.canvas.clientWidth / 2) / this.view.scale,
      y: this.view.y - (py - this.canvas.clientHeight / 2) / this.view.scale,
    };
  }

  /** How many points are drawn: of the best connected ones, as many as the screen has room for at this zoom. */
  private shownPoints(): number {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const share = Math.min((w * h) / (Math.PI * this.view.scale ** 2), 1); // of the map, what is on the screen
    return Math.min(this.graph.data.entities, Math.ceil((w * h * POINTS_PER_PIXEL) / Math.max(share, 1e-6)));
  }

  private upload() {
    const { gl, graph: { data } } = this;
    this.discs = new Float32Array(7 * data.communities);
    const colours = new Map<number, [number, number, number]>();
    const colour = (order: number) => {
      if (!colours.has(order)) colours.set(order, rootColour(order, this.dark));
      return colours.get(order)!;
    };
    for (let c = 0; c < data.communities; c++) {
      this.discs.set(data.discs.subarray(3 * c, 3 * c + 3), 7 * c);
      this.discs.set(colour(this.colourOf[c]!), 7 * c + 3);
      this.discs[7 * c + 6] = this.dark ? 0.13 : 0.11;
    }
    const points = new Float32Array(6 * data.entities);
    const most = Math.max(data.rows[1] ?? 1, 1);
    for (let p = 0; p < data.entities; p++) {
      const home = data.rows[3 * p + 2]!;
      points[6 * p] = data.points[2 * p]!;
      points[6 * p + 1] = data.points[2 * p + 1]!;
      points[6 * p + 2] = 4 + 10 * Math.sqrt(data.rows[3 * p + 1]! / most);
      points.set(colour(home >= 0 ? this.colourOf[home]! : -1), 6 * p + 3);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.points);
    gl.bufferData(gl.ARRAY_BUFFER, points, gl.STATIC_DRAW);
  }

  private render() {
    const { gl, canvas } = this;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const each of [canvas, this.overlay]) {
      const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
      if (each.width !== w || each.height !== h) [each.width, each.height] = [w, h];
    }
    if (!canvas.width || !canvas.height) return;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const zoom: [number, number] = [(2 * this.view.scale) / canvas.clientWidth, (2 * this.view.scale) / canvas.clientHeight];
    this.renderDiscs(zoom, ratio);
    if (!this.moving) this.renderLines(zoom);
    this.renderPoints(zoom, ratio);
    this.renderOverlay(ratio);
    this.frames++;
    this.overlay.dataset["frames"] = String(this.frames);
  }

  private use(made: WebGLProgram, zoom: [number, number]) {
    this.gl.useProgram(made);
    this.gl.uniform2f(this.gl.getUniformLocation(made, "centre"), this.view.x, this.view.y);
    this.gl.uniform2f(this.gl.getUniformLocation(made, "zoom"), ...zoom);
  }

  private attribute(made: WebGLProgram, name: string, size: number, stride: number, offset: number, divisor = 0) {
    const at = this.gl.getAttribLocation(made, name);
    this.gl.enableVertexAttribArray(at);
    this.gl.vertexAttribPointer(at, size, this.gl.FLOAT, false, 4 * stride, 4 * offset);
    this.gl.vertexAttribDivisor(at, divisor);
  }

  private renderDiscs(zoom: [number, number], ratio: number) {
    const { gl, graph: { data } } = this;
    this.visible = [];
    const half = { x: this.canvas.clientWidth / 2 / this.view.scale, y: this.canvas.clientHeight / 2 / this.view.scale };
    for (let c = 0; c < data.communities; c++) {
      const r = data.discs[3 * c + 2]!;
      if (data.hierarchy[4 * c]! > this.level || r * this.view.scale < SMALLEST_DISC) continue;
      if (Math.abs(data.discs[3 * c]! - this.view.x) > half.x + r || Math.abs(data.discs[3 * c + 1]! - this.view.y) > half.y + r) continue;
      this.visible.push(c);
    }
    const rows = new Float32Array(7 * this.visible.length);
    this.visible.forEach((c, i) => rows.set(this.discs.subarray(7 * c, 7 * c + 7), 7 * i));
    const made = this.programs.disc;
    this.use(made, zoom);
    gl.uniform1f(gl.getUniformLocation(made, "pixel"), this.view.scale * ratio);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.corners);
    this.attribute(made, "corner", 2, 2, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.discs);
    gl.bufferData(gl.ARRAY_BUFFER, rows, gl.DYNAMIC_DRAW);
    this.attribute(made, "disc", 3, 7, 0, 1);
    this.attribute(made, "colour", 4, 7, 3, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.visible.length);
  }

  private renderLines(zoom: [number, number]) {
    const { gl } = this;
    const made = this.programs.line;
    this.use(made, zoom);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.lines);
    this.attribute(made, "position", 2, 2, 0);
    const grey = this.dark ? 0.75 : 0.3;
    const faint = Math.min(Math.max(1800 / this.view.scale, 0.3), 1); // from near, most lines only pass by
    gl.uniform4f(gl.getUniformLocation(made, "colour"), grey, grey, grey, (this.focus || this.path.length ? 0.05 : 0.09) * faint);
    gl.drawArrays(gl.LINES, 0, 2 * Math.min(this.lines, Math.round(this.view.scale)));
  }

  private renderPoints(zoom: [number, number], ratio: number) {
    const { gl } = this;
    const made = this.programs.point;
    this.use(made, zoom);
    gl.uniform1f(gl.getUniformLocation(made, "grow"), ratio * Math.min(Math.max(Math.sqrt(this.view.scale / 900), 0.7), 1.8));
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.points);
    this.attribute(made, "position", 2, 6, 0);
    this.attribute(made, "size", 1, 6, 2);
    this.attribute(made, "colour", 3, 6, 3);
    gl.drawArrays(gl.POINTS, 0, this.shownPoints());
  }

  // The canvas above: what is selected, and labels

  private renderOverlay(ratio: number) {
    const { text } = this;
    text.setTransform(ratio, 0, 0, ratio, 0, 0);
    text.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    text.lineJoin = "round";
    const accent = this.dark ? "#5eead4" : "#0f766e";
    if (this.path.length) this.line(this.path, accent, 3);
    else if (this.focus?.kind === "entity") {
      const from = this.focus.index;
      text.globalAlpha = 0.45;
      for (const to of this.graph.neighbours(from).subarray(0, 400)) this.line([from, to], accent, 1);
      text.globalAlpha = 1;
    }
    for (const [item, width] of [[this.hover, 1.5], [this.focus, 2.5]] as const) if (item) this.ring(item, accent, width);
    for (const index of this.path) this.ring({ kind: "entity", index }, accent, 2.5);
    this.renderLabels();
  }

  private point(p: number): [number, number] {
    return this.screen(this.graph.data.points[2 * p]!, this.graph.data.points[2 * p + 1]!);
  }

  private line(points: number[], colour: string, width: number) {
    const { text } = this;
    text.strokeStyle = colour;
    text.lineWidth = width;
    text.beginPath();
    points.forEach((p, i) => text[i ? "lineTo" : "moveTo"](...this.point(p)));
    text.stroke();
  }

  private ring(item: Item, colour: string, width: number) {
    const { text, graph: { data } } = this;
    const c = 3 * item.index;
    const [x, y] = item.kind === "entity" ? this.point(item.index) : this.screen(data.discs[c]!, data.discs[c + 1]!);
    const r = item.kind === "entity" ? 8 : data.discs[c + 2]! * this.view.scale;
    text.strokeStyle = colour;
    text.lineWidth = width;
    text.beginPath();
    text.arc(x, y, r, 0, 7);
    text.stroke();
  }

  private renderLabels() {
    const { names, graph: { data } } = this;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    // what stands above the map: where one is, and the controls
    const taken: Box[] = [[0, h - 54, 330, h], ...(this.focus ? [[0, 0, w, 36] as Box] : [])];
    const most = this.moving ? MAX_LABELS_MOVING : MAX_LABELS;
    const entity = (p: number, size = 12, weight = 400) => {
      const [x, y] = this.point(p);
      if (x > 0 && x < w && y > 0 && y < h) this.label([short(names.entities[p] ?? "")], x, y - 10, size, weight, taken);
    };
    for (const p of this.path) entity(p, 14, 700);
    if (this.focus?.kind === "entity") {
      entity(this.focus.index, 14, 700);
      if (!this.path.length) for (const p of this.graph.neighbours(this.focus.index).subarray(0, 24)) entity(p, 12, 500);
    }
    const large = this.visible
      .map((c) => [data.discs[3 * c + 2]! * this.view.scale, c] as const)
      .filter(([r]) => r > 30 && r < 0.62 * Math.max(w, h))
      .sort((a, b) => b[0] - a[0]);
    for (const [r, c] of large) {
      if (taken.length >= most) return;
      const size = Math.round(Math.min(10 + r / 28, 18));
      const open = this.graph.level(c) < this.level && this.graph.children.has(c); // its parts have titles of their own
      const rows = this.wrap(names.communities[c] ?? "", size, 1.55 * r, r > 52 ? 3 : 2);
      if (!rows || (r < 60 && rows.at(-1)!.endsWith("…"))) continue; // a small disc has a title once there is room
      const [middle, y] = this.screen(data.discs[3 * c]!, data.discs[3 * c + 1]! + (open ? 0.6 : 0.12) * data.discs[3 * c + 2]!);
      const wide = Math.max(...rows.map((row) => this.width(row, titleFont(size)))) / 2 + 8;
      const x = Math.min(Math.max(middle, wide), w - wide); // a title of a disc that is cut off is not
      if (Math.abs(x - middle) > 0.5 * r) continue;
      this.label(rows, x, y - ((rows.length - 1) * size) / 2, size, 650, taken);
    }
    const room = this.view.scale > 650 ? this.shownPoints() : Math.min(this.shownPoints(), 60);
    for (let p = 0; p < room && taken.length < most; p++) entity(p);
  }

  /** Write lines around a position, unless a label is there already. */
  private label(rows: string[], x: number, y: number, size: number, weight: number, taken: Box[]) {
    const { text } = this;
    const font = `${weight} ${size}px ui-sans-serif, system-ui, sans-serif`;
    const half = Math.max(...rows.map((row) => this.width(row, font))) / 2;
    const line = size * 1.18;
    const box: Box = [x - half - 4, y - size * 0.85, x + half + 4, y + line * (rows.length - 1) + size * 0.5];
    if (box[2] < 0 || box[0] > this.canvas.clientWidth || box[3] < 0 || box[1] > this.canvas.clientHeight) return;
    if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) return;
    taken.push(box);
    text.font = font;
    text.textAlign = "center";
    text.lineWidth = 3;
    text.strokeStyle = this.dark ? "#1b1f23d0" : "#ffffffd0";
    text.fillStyle = this.dark ? "#e6e8ea" : "#1c2024";
    rows.forEach((row, i) => {
      text.strokeText(row, x, y + i * line);
      text.fillText(row, x, y + i * line);
    });
  }

  private width(label: string, font: string): number {
    const key = font + label;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.text.font = font;
      this.widths.set(key, (width = this.text.measureText(label).width));
      if (this.widths.size > 20_000) this.widths.clear();
    }
    return width;
  }

  /** A title in lines of a width, cut after some; null where hardly anything would be left. */
  private wrap(title: string, size: number, width: number, most: number): string[] | null {
    const font = titleFont(size);
    const fits = (row: string) => this.width(row, font) <= width;
    const rows: string[] = [];
    for (const part of title.match(/[\u2e80-\u9fff\uf900-\ufaff]|[^\s\u2e80-\u9fff\uf900-\ufaff]+\s*/g) ?? []) {
      const last = rows.at(-1);
      if (last !== undefined && fits((last + part).trimEnd())) rows[rows.length - 1] = last + part;
      else if (!fits(part.trimEnd()) && !rows.length) return null;
      else if (rows.length === most || !fits(part.trimEnd())) {
        let end = (last ?? "").trimEnd().replace(/[,，、;:]$/, "");
        while (end.length > 1 && !fits(`${end}…`)) end = end.slice(0, -1);
        rows[rows.length - 1] = `${end}…`;
        break;
      } else rows.push(part);
    }
    return rows.map((row) => row.trimEnd());
  }
}

const titleFont = (size: number) => `650 ${size}px ui-sans-serif, system-ui, sans-serif`;
const short = (name: string) => (name.length > 34 ? `${name.slice(0, 32).trimEnd()}…` : name);
