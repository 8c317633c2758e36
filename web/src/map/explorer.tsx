/** The map with its controls, and beside it the same for the keyboard: search, what is selected, and the communities. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { useWords } from "../messages";
import { Cited } from "../references";
import { count } from "../text";
import { MapGraph, same, type Found, type Item, type MapData, type MapNames } from "./data";
import { MapRenderer } from "./renderer";
import "./map.css";

/** Characters of a document. */
export interface Quote {
  title: string;
  text: string;
  href?: string;
}

export interface Relation {
  /** Number of the entity at the other end. */
  entity: number;
  description: string;
}

export interface EntityText {
  type: string;
  description: string;
  relations: Relation[];
  quotes: Quote[];
}

export interface ReportText {
  rating: number;
  summary: string;
  findings: { summary: string; explanation: string }[];
}

export interface Step {
  /** Numbers of the entities. */
  source: number;
  target: number;
  description: string;
  quotes: Quote[];
}

/** Where the texts come from: a server, or the page itself. */
export interface MapSource {
  entity(number: number, signal: AbortSignal): Promise<EntityText>;
  report(number: number, signal: AbortSignal): Promise<ReportText>;
  path(source: number, target: number, signal: AbortSignal): Promise<Step[]>;
  /** The addresses of pages; empty where there are none. */
  entityPage(number: number): string;
  reportPage(number: number): string;
}

interface Props {
  data: MapData;
  names: MapNames;
  source: MapSource;
  /** Parameters level, focus (`e12` or `c3`) and to (`e15`). */
  address: URLSearchParams;
  onAddress: (address: URLSearchParams) => void;
}

const ROOTS = 40; // communities of the tree that are listed before "more"
const RESULTS = 30;
const MEMBERS = 24;

export function MapExplorer({ data, names, source, address, onAddress }: Props) {
  const words = useWords();
  const graph = useMemo(() => new MapGraph(data), [data]);
  const read = (name: string) => itemOf(address.get(name), graph);
  const [level, setLevel] = useState(() => Math.min(Math.max(Number(address.get("level") ?? 1) || 0, 0), data.levels - 1));
  const [focus, setFocus] = useState<Item | null>(() => read("focus"));
  const [target, setTarget] = useState<Item | null>(() => read("to"));
  const [picking, setPicking] = useState(false);
  const [steps, setSteps] = useState<Step[] | null>(null);
  const [wanted, setWanted] = useState("");
  const [problem, setProblem] = useState("");
  const [renderer, setRenderer] = useState<MapRenderer | null>(null);

  useEffect(() => {
    const next = new URLSearchParams();
    next.set("level", String(level));
    if (focus) next.set("focus", nameOf(focus, graph));
    if (target) next.set("to", nameOf(target, graph));
    onAddress(next);
  }, [level, focus, target]);
  useEffect(() => {
    if (!renderer) return;
    renderer.level = level;
    renderer.focus = focus;
    renderer.draw();
  }, [renderer, level, focus]);
  useEffect(() => {
    setSteps(null);
    setProblem("");
    if (renderer) renderer.path = [];
    if (!renderer || focus?.kind !== "entity" || !target) return;
    const abort = new AbortController();
    const point = (number: number) => graph.pointOf[number]!;
    source.path(graph.entity(focus.index), graph.entity(target.index), abort.signal).then(
      (found) => {
        if (abort.signal.aborted) return;
        setSteps(found);
        renderer.path = found.length ? [point(found[0]!.source), ...found.map((step) => point(step.target))] : [];
        if (found.length) renderer.goAlong(renderer.path);
      },
      (error: Error) => !abort.signal.aborted && setProblem(error.message),
    );
    return () => abort.abort();
  }, [renderer, focus, target]);

  const begin = (made: MapRenderer) => {
    made.level = level;
    made.focus = focus;
    if (focus) made.goTo(focus, false);
    setRenderer(made);
  };
  const select = (item: Item | null, fly: boolean) => {
    if (picking && item?.kind === "entity" && !same(item, focus)) {
      setPicking(false);
      setTarget(item);
      setWanted("");
      return;
    }
    setPicking(false);
    setTarget(null);
    setFocus(item);
    if (item && fly) {
      if (item.kind === "community") setLevel((now) => Math.max(now, Math.min(graph.level(item.index) + 1, data.levels - 1)));
      renderer?.goTo(item);
    }
  };
  const title = (item: Item) => (item.kind === "entity" ? names.entities[item.index] : names.communities[item.index]) ?? "";
  const results = wanted.trim() ? graph.find(wanted, names, RESULTS) : null;
  return (
    <div class="mapped">
      <div class="canvas">
        <Canvas graph={graph} names={names} select={select} onRenderer={begin} onProblem={setProblem} />
        <Breadcrumb graph={graph} names={names} focus={focus} go={(item) => (item ? select(item, true) : (select(null, false), renderer?.fit(true)))} />
        <div class="zoombar">
          <label>
            {words("level")}
            <input type="range" min={0} max={Math.max(data.levels - 1, 0)} value={level} aria-valuetext={words("levelOf", level, data.levels - 1)} onInput={(event) => setLevel(Number(event.currentTarget.value))} />
            <output>{level}</output>
          </label>
          <button type="button" aria-label={words("zoomIn")} title={words("zoomIn")} onClick={() => renderer?.zoom(1.5)}>+</button>
          <button type="button" aria-label={words("zoomOut")} title={words("zoomOut")} onClick={() => renderer?.zoom(1 / 1.5)}>−</button>
          <button type="button" aria-label={words("zoomFit")} title={words("zoomFit")} onClick={() => renderer?.fit(true)}>⤢</button>
        </div>
        {problem && <p class="error" role="alert">{problem}</p>}
      </div>
      <aside class="beside" aria-label={words("details")}>
        <input
          data-search
          type="search"
          aria-label={words("searchMap")}
          placeholder={words("searchMap")}
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && results?.[0]) {
              setWanted("");
              select(results[0], true);
            }
            if (event.key === "Escape") setWanted("");
          }}
        />
        {picking && (
          <p class="picking" role="status">
            {words("pathPick", focus ? title(focus) : "")} <button type="button" class="plain" onClick={() => setPicking(false)}>{words("cancel")}</button>
          </p>
        )}
        {results && <Results items={results} graph={graph} title={title} select={(item) => { setWanted(""); select(item, true); }} />}
        {!results && target && focus && (
          <PathPanel from={focus} to={target} steps={steps} graph={graph} names={names} select={select} close={() => setTarget(null)} />
        )}
        {!results && !target && focus && (
          <Selected key={nameOf(focus, graph)} item={focus} graph={graph} names={names} source={source} select={select} pick={() => setPicking(true)} />
        )}
        {!results && <Tree graph={graph} names={names} focus={focus} select={(item) => select(item, true)} />}
      </aside>
    </div>
  );
}

function itemOf(name: string | null, graph: MapGraph): Item | null {
  const number = Number(name?.slice(1) || NaN);
  if (name?.[0] === "e" && number < graph.data.entities && number >= 0) return { kind: "entity", index: graph.pointOf[number]! };
  if (name?.[0] === "c" && number < graph.data.communities && number >= 0) return { kind: "community", index: number };
  return null;
}

function nameOf(item: Item, graph: MapGraph): string {
  return item.kind === "entity" ? `e${graph.entity(item.index)}` : `c${item.index}`;
}

// The canvases

function Canvas(props: {
  graph: MapGraph;
  names: MapNames;
  select: (item: Item | null, fly: boolean) => void;
  onRenderer: (renderer: MapRenderer) => void;
  onProblem: (message: string) => void;
}) {
  const words = useWords();
  const { graph, names } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const renderer = useRef<MapRenderer | null>(null);
  const pointers = useRef(new Map<number, [number, number]>());
  const travelled = useRef(0);

  useEffect(() => {
    try {
      const made = (renderer.current = new MapRenderer(canvas.current!, overlay.current!, graph, names));
      const release = follow(made, canvas.current!);
      made.fit();
      props.onRenderer(made);
      return () => {
        release();
        made.stop();
      };
    } catch (error) {
      props.onProblem((error as Error).message);
      return;
    }
  }, [graph, names]);

  const hover = (item: Item | null, x = 0, y = 0) => {
    const made = renderer.current;
    if (!made || !tip.current) return;
    tip.current.hidden = !item;
    if (item) {
      const entity = item.kind === "entity";
      tip.current.replaceChildren(
        entity ? names.entities[item.index]! : names.communities[item.index]!,
        Object.assign(document.createElement("small"), {
          textContent: entity ? words("degree", count(graph.degree(item.index))) : words("members", count(graph.size[item.index]!)),
        }),
      );
      const left = Math.min(x + 14, overlay.current!.clientWidth - tip.current.offsetWidth - 4);
      tip.current.style.transform = `translate(${Math.max(left, 4)}px, ${y > 70 ? y - tip.current.offsetHeight - 10 : y + 18}px)`;
    }
    if (!same(item, made.hover)) {
      made.hover = item;
      made.draw();
    }
  };
  const move = (event: PointerEvent) => {
    const made = renderer.current;
    const last = pointers.current.get(event.pointerId);
    if (!made) return;
    const now: [number, number] = [event.offsetX, event.offsetY];
    if (!last) return event.pointerType === "mouse" && hover(made.hit(...now), ...now);
    pointers.current.set(event.pointerId, now);
    const [dx, dy] = [now[0] - last[0], now[1] - last[1]];
    travelled.current += Math.abs(dx) + Math.abs(dy);
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (at: [number, number]) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      made.pan(dx / 2, dy / 2);
      made.zoom(apart(now) / apart(last), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (travelled.current > 4) {
      hover(null);
      made.pan(dx, dy);
    }
  };
  const up = (event: PointerEvent) => {
    if (!pointers.current.delete(event.pointerId) || pointers.current.size || event.type === "pointercancel") return;
    if (travelled.current <= 4) props.select(renderer.current?.hit(event.offsetX, event.offsetY) ?? null, false);
  };
  return (
    <>
      <canvas ref={canvas} aria-hidden="true" />
      <canvas
        ref={overlay}
        tabIndex={0}
        role="application"
        aria-label={words("mapHelp")}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          if (!pointers.current.size) travelled.current = 0;
          pointers.current.set(event.pointerId, [event.offsetX, event.offsetY]);
        }}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onPointerLeave={() => hover(null)}
        onDblClick={(event) => renderer.current?.zoom(2, event.offsetX, event.offsetY)}
        onWheel={(event) => {
          event.preventDefault();
          renderer.current?.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : event.ctrlKey ? 0.01 : 0.002)), event.offsetX, event.offsetY);
        }}
        onKeyDown={(event) => keyed(event, renderer.current, () => props.select(null, false))}
      />
      <div ref={tip} class="tip" role="tooltip" hidden />
    </>
  );
}

/** Draw again when the theme or the size changes; returns what ends that. */
function follow(renderer: MapRenderer, canvas: HTMLCanvasElement): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
    const chosen = document.documentElement.dataset["theme"];
    renderer.setTheme(chosen === "dark" || (chosen !== "light" && dark.matches));
  };
  theme();
  dark.addEventListener("change", theme);
  const themes = new MutationObserver(theme);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const resized = new ResizeObserver(() => renderer.draw());
  resized.observe(canvas);
  return () => {
    dark.removeEventListener("change", theme);
    themes.disconnect();
    resized.disconnect();
  };
}

function keyed(event: KeyboardEvent, renderer: MapRenderer | null, close: () => void) {
  const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
  if (step) renderer?.pan(step[0]!, step[1]!);
  else if (event.key === "+" || event.key === "=") renderer?.zoom(1.3);
  else if (event.key === "-") renderer?.zoom(1 / 1.3);
  else if (event.key === "0") renderer?.fit(true);
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
}

function Breadcrumb(props: { graph: MapGraph; names: MapNames; focus: Item | null; go: (item: Item | null) => void }) {
  const words = useWords();
  if (!props.focus) return null;
  const chain = props.graph.around(props.focus);
  return (
    <nav class="crumbs" aria-label={words("breadcrumb")}>
      <button type="button" class="plain" onClick={() => props.go(null)}>{words("mapAll")}</button>
      {chain.map((c) => (
        <button type="button" class="plain" title={props.names.communities[c]} onClick={() => props.go({ kind: "community", index: c })}>{props.names.communities[c]}</button>
      ))}
      {props.focus.kind === "entity" && <span>{props.names.entities[props.focus.index]}</span>}
    </nav>
  );
}

// Beside the map

function Results(props: { items: Found[]; graph: MapGraph; title: (item: Item) => string; select: (item: Item) => void }) {
  const words = useWords();
  if (!props.items.length) return <p class="note" role="status">{words("nothingFound")}</p>;
  return (
    <ul class="results">
      {props.items.map((item) => (
        <li>
          <button type="button" class="plain" onClick={() => props.select(item)}>{props.title(item)}</button>
          <span class="note">
            {item.alias && `${words("alsoCalled", item.alias)} · `}
            {item.kind === "entity" ? words("degree", count(props.graph.degree(item.index))) : words("members", count(props.graph.size[item.index]!))}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface PanelProps {
  item: Item;
  graph: MapGraph;
  names: MapNames;
  source: MapSource;
  select: (item: Item | null, fly: boolean) => void;
  pick: () => void;
}

function Selected(props: PanelProps) {
  const heading = useRef<HTMLElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <section class="selected" ref={heading} tabIndex={-1} aria-live="polite">
      {props.item.kind === "entity" ? <EntityPanel {...props} /> : <CommunityPanel {...props} />}
    </section>
  );
}

/** A text that is loaded when its panel opens. */
function useText<T>(load: (signal: AbortSignal) => Promise<T>): { value?: T; error?: Error } {
  const [text, setText] = useState<{ value?: T; error?: Error }>({});
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => !abort.signal.aborted && setText({ value }),
      (error: Error) => !abort.signal.aborted && setText({ error }),
    );
    return () => abort.abort();
  }, []);
  return text;
}

function EntityPanel({ item, graph, names, source, select, pick }: PanelProps) {
  const words = useWords();
  const number = graph.entity(item.index);
  const { value, error } = useText((signal) => source.entity(number, signal));
  const page = source.entityPage(number);
  const aliases = useMemo(() => names.aliases.filter(([point]) => point === item.index).map(([, alias]) => alias), [names, item.index]);
  return (
    <>
      <h2>{names.entities[item.index]}</h2>
      <p class="note">{[value?.type, words("degree", count(graph.degree(item.index)))].filter(Boolean).join(" · ")}</p>
      {aliases.length > 0 && <p class="note">{words("alsoCalled", aliases.join(", "))}</p>}
      <p class="actions">
        {page && <a href={page}>{words("openEntity")}</a>}
        <button type="button" class="plain" onClick={pick}>{words("pathTo")}</button>
      </p>
      {error && <p class="error" role="alert">{error.message}</p>}
      {value && <p class="said">{value.description}</p>}
      {value && value.relations.length > 0 && (
        <>
          <h3>{words("strongest")}</h3>
          <ul class="results">
            {value.relations.map((relation) => (
              <li>
                <EntityButton number={relation.entity} graph={graph} names={names} select={select} />
                <span class="note">{relation.description}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {value && <Quotes quotes={value.quotes} />}
    </>
  );
}

function CommunityPanel({ item, graph, names, source, select }: PanelProps) {
  const words = useWords();
  const report = graph.report(item.index);
  const { value, error } = useText((signal) => (report >= 0 ? source.report(report, signal) : Promise.resolve(null)));
  const members = useMemo(() => graph.members(item.index, MEMBERS), [item]);
  const page = report >= 0 ? source.reportPage(report) : "";
  const link = reference(graph, names, select);
  return (
    <>
      <h2>{names.communities[item.index]}</h2>
      <p class="note">
        {[`${words("level")} ${graph.level(item.index)}`, words("members", count(graph.size[item.index]!)), value && `${words("rating")} ${value.rating.toFixed(1)}`].filter(Boolean).join(" · ")}
      </p>
      {page && <p class="actions"><a href={page}>{words("openReport")}</a></p>}
      {error && <p class="error" role="alert">{error.message}</p>}
      {value && <div class="said"><Cited text={value.summary} link={link} /></div>}
      {value && value.findings.length > 0 && (
        <details>
          <summary>{words("findings")} <span class="note">{value.findings.length}</span></summary>
          {value.findings.map((finding) => <div class="said"><h3>{finding.summary}</h3><Cited text={finding.explanation} link={link} /></div>)}
        </details>
      )}
      <h3>{words("bestConnected")}</h3>
      <p class="inline">{members.map((index) => <EntityButton number={graph.entity(index)} graph={graph} names={names} select={select} />)}</p>
    </>
  );
}

function EntityButton(props: { number: number; graph: MapGraph; names: MapNames; select: (item: Item, fly: boolean) => void }) {
  const index = props.graph.pointOf[props.number];
  if (index === undefined) return null;
  return <button type="button" class="plain" onClick={() => props.select({ kind: "entity", index }, true)}>{props.names.entities[index]}</button>;
}

/** References of reports that are on the map: entities and other reports. */
function reference(graph: MapGraph, names: MapNames, select: (item: Item, fly: boolean) => void) {
  return (table: string, number: number): ComponentChildren | null => {
    if (table === "Entities" && number < graph.data.entities) return <EntityButton number={number} graph={graph} names={names} select={select} />;
    if (table !== "Reports") return null;
    for (let index = 0; index < graph.data.communities; index++) {
      if (graph.report(index) === number) {
        return <button type="button" class="plain" onClick={() => select({ kind: "community", index }, true)}>{names.communities[index]}</button>;
      }
    }
    return null;
  };
}

function Quotes({ quotes }: { quotes: Quote[] }) {
  const words = useWords();
  if (!quotes.length) return null;
  return (
    <>
      <h3>{words("sources")}</h3>
      {quotes.every(({ text }) => !text) && <p class="note">{words("noTexts")}</p>}
      {quotes.map((quote) => (
        <figure class="quote">
          {quote.text && <blockquote>{quote.text.length > 320 ? `${quote.text.slice(0, 320)}…` : quote.text}</blockquote>}
          <figcaption class="note">{quote.href ? <a href={quote.href}>{quote.title}</a> : quote.title}</figcaption>
        </figure>
      ))}
    </>
  );
}

function PathPanel(props: {
  from: Item;
  to: Item;
  steps: Step[] | null;
  graph: MapGraph;
  names: MapNames;
  select: (item: Item | null, fly: boolean) => void;
  close: () => void;
}) {
  const words = useWords();
  const { graph, names, select, steps } = props;
  const button = (number: number) => <EntityButton number={number} graph={graph} names={names} select={select} />;
  return (
    <section class="selected" aria-live="polite">
      <h2>{names.entities[props.from.index]} → {names.entities[props.to.index]}</h2>
      <p class="actions"><button type="button" class="plain" onClick={props.close}>{words("close")}</button></p>
      {!steps && <p class="note">{words("loading")}</p>}
      {steps?.length === 0 && <p>{words("pathNone")}</p>}
      <ol class="steps">
        {steps?.map((step) => (
          <li>
            {button(step.source)} → {button(step.target)}
            {step.quotes.slice(0, 1).map((quote) => (
              <figure class="quote">
                <blockquote>{quote.text || step.description}</blockquote>
                <figcaption class="note">{quote.href ? <a href={quote.href}>{quote.title}</a> : quote.title}</figcaption>
              </figure>
            ))}
            {!step.quotes.length && <p class="note">{step.description}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The communities as a tree: arrow keys move, open and close; Enter shows one on the map. */
function Tree(props: { graph: MapGraph; names: MapNames; focus: Item | null; select: (item: Item) => void }) {
  const words = useWords();
  const { graph, names } = props;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [shown, setShown] = useState(ROOTS);
  const [current, setCurrent] = useState(-1);
  const list = useRef<HTMLUListElement>(null);
  const rows: number[] = [];
  const add = (c: number) => {
    rows.push(c);
    if (open.has(c)) graph.children.get(c)?.forEach(add);
  };
  const roots = graph.children.get(-1) ?? [];
  roots.slice(0, shown).forEach(add);
  const active = rows.includes(current) ? current : rows[0];
  const toggle = (c: number) => setOpen((now) => {
    const next = new Set(now);
    if (!next.delete(c)) next.add(c);
    return next;
  });
  const goTo = (c: number | undefined) => {
    if (c === undefined) return;
    setCurrent(c);
    list.current?.querySelector<HTMLElement>(`[data-community="${c}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent, c: number) => {
    const at = rows.indexOf(c);
    const parent = graph.parent(c);
    const inner = graph.children.has(c);
    if (event.key === "ArrowDown") goTo(rows[at + 1]);
    else if (event.key === "ArrowUp") goTo(rows[at - 1]);
    else if (event.key === "Home") goTo(rows[0]);
    else if (event.key === "End") goTo(rows.at(-1));
    else if (event.key === "ArrowRight" && inner) open.has(c) ? goTo(rows[at + 1]) : toggle(c);
    else if (event.key === "ArrowLeft") inner && open.has(c) ? toggle(c) : parent >= 0 && goTo(parent);
    else if (event.key === "Enter" || event.key === " ") props.select({ kind: "community", index: c });
    else return;
    event.preventDefault();
  };
  return (
    <section class="communities">
      <h2>{words("communities")} <span class="note">{count(graph.data.communities)}</span></h2>
      <ul role="tree" aria-label={words("communities")} ref={list}>
        {rows.map((c) => (
          <li
            key={c}
            role="treeitem"
            data-community={c}
            aria-level={graph.level(c) + 1}
            aria-expanded={graph.children.has(c) ? open.has(c) : undefined}
            aria-selected={props.focus?.kind === "community" && props.focus.index === c}
            tabIndex={c === active ? 0 : -1}
            style={{ paddingInlineStart: `${graph.level(c) * 1.1}rem` }}
            onKeyDown={(event) => onKey(event, c)}
            onClick={() => {
              setCurrent(c);
              props.select({ kind: "community", index: c });
            }}
          >
            <span
              class={graph.children.has(c) ? "twist" : "twist none"}
              aria-hidden="true"
              onClick={(event) => {
                event.stopPropagation();
                toggle(c);
              }}
            />
            <span>{names.communities[c]}</span>
            <span class="note">{count(graph.size[c]!)}</span>
          </li>
        ))}
      </ul>
      {roots.length > shown && <button type="button" class="plain" onClick={() => setShown(shown + 5 * ROOTS)}>{words("more", count(roots.length - shown))}</button>}
    </section>
  );
}
