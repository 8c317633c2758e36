/** The map of the graph, with the same communities and entities as a list for the keyboard. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, get, type EntityRow } from "../api";
import { readMap, type MapData, type MapNames } from "../map/data";
import { MapRenderer, type Hit } from "../map/renderer";
import { useWords } from "../messages";
import { Link, navigate } from "../router";
import { useAppState, useLoaded } from "../state";

async function loadMap(index: string, signal: AbortSignal): Promise<MapData> {
  const response = await fetch(address("/api/map", index), { signal });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return readMap(await response.arrayBuffer());
}

export function MapPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<MapRenderer | null>(null);
  const [problem, setProblem] = useState("");
  const [focus, setFocus] = useState<Hit | null>(null);
  const [level, setLevel] = useState(Number(query.get("level") ?? 1));
  const [wanted, setWanted] = useState("");
  const map = useLoaded<MapData>((signal) => loadMap(index.name, signal), [index.name]);
  const names = useLoaded<MapNames>((signal) => get(address("/api/map/names", index.name), signal), [index.name]);
  const rows = useLoaded<EntityRow[]>((signal) => get(address("/api/entities", index.name, { q: wanted, limit: 40 }), signal), [index.name, wanted]);

  useEffect(() => {
    if (!map.value || !canvas.current || !overlay.current) return;
    try {
      const made = (renderer.current = new MapRenderer(canvas.current, overlay.current, map.value));
      made.level = level;
      const dark = matchMedia("(prefers-color-scheme: dark)");
      const theme = () => {
        const chosen = document.documentElement.dataset["theme"];
        made.setTheme(chosen === "dark" || (chosen !== "light" && dark.matches));
      };
      theme();
      made.fit();
      dark.addEventListener("change", theme);
      const themes = new MutationObserver(theme);
      themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      const resized = new ResizeObserver(() => made.draw());
      resized.observe(canvas.current);
      return () => {
        dark.removeEventListener("change", theme);
        themes.disconnect();
        resized.disconnect();
      };
    } catch (error) {
      setProblem((error as Error).message);
      return;
    }
  }, [map.value]);
  useEffect(() => {
    if (renderer.current && names.value) {
      renderer.current.names = names.value;
      renderer.current.draw();
    }
  }, [names.value, map.value]);
  useEffect(() => {
    if (renderer.current) {
      renderer.current.level = level;
      renderer.current.draw();
    }
  }, [level]);

  const select = (hit: Hit | null) => {
    setFocus(hit);
    if (!renderer.current) return;
    renderer.current.focus = hit;
    renderer.current.draw();
  };
  const find = (row: EntityRow) => {
    if (!map.value) return;
    for (let p = 0; p < map.value.entities; p++) {
      if (map.value.rows[3 * p] === row.number) {
        renderer.current?.goTo({ kind: "entity", index: p });
        setFocus({ kind: "entity", index: p });
        return;
      }
    }
  };
  const levels = map.value?.levels ?? 1;
  return (
    <div class="mapped">
      <div class="canvas">
        <canvas ref={canvas} aria-hidden="true" />
        <canvas
          ref={overlay}
          tabIndex={0}
          role="application"
          aria-label={words("map")}
          onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
          onPointerMove={(event) => event.buttons & 1 && renderer.current?.pan(event.movementX, event.movementY)}
          onClick={(event) => select(renderer.current?.hit(event.offsetX, event.offsetY) ?? null)}
          onWheel={(event) => {
            event.preventDefault();
            renderer.current?.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
          }}
          onKeyDown={(event) => {
            const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
            const { clientWidth: w, clientHeight: h } = event.currentTarget;
            if (step) renderer.current?.pan(step[0]!, step[1]!);
            else if (event.key === "+" || event.key === "=") renderer.current?.zoom(1.3, w / 2, h / 2);
            else if (event.key === "-") renderer.current?.zoom(1 / 1.3, w / 2, h / 2);
            else if (event.key === "0") renderer.current?.fit();
            else return;
            event.preventDefault();
          }}
        />
        {(problem || map.error) && <p class="error" role="alert">{problem || map.error?.message}</p>}
        {!map.value && !map.error && <p class="waiting">{words("loading")}</p>}
        <label class="levels">
          {words("level")} {level}
          <input type="range" min={0} max={Math.max(levels - 1, 0)} value={level} onInput={(event) => setLevel(Number(event.currentTarget.value))} />
        </label>
      </div>
      <aside class="beside">
        <input data-search type="search" aria-label={words("search")} placeholder={words("search")} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        {focus && map.value && names.value && <Selected hit={focus} data={map.value} names={names.value} index={index.name} />}
        <ul class="rows">
          {rows.value?.map((row) => (
            <li>
              <button type="button" class="plain" onClick={() => find(row)}>{row.name}</button>
              <span class="note">{row.degree}</span>
            </li>
          ))}
        </ul>
      </aside>
    </div>
  );
}

function Selected({ hit, data, names, index }: { hit: Hit; data: MapData; names: MapNames; index: string }) {
  const words = useWords();
  if (hit.kind === "entity") {
    const number = data.rows[3 * hit.index]!;
    return (
      <p class="selected">
        <Link href={address(`/entities/${number}`, index)}>{names.entities[hit.index]}</Link>
        <button type="button" onClick={() => navigate(address("/ask", index, { q: `${names.entities[hit.index]}?` }))}>{words("ask")}</button>
      </p>
    );
  }
  const report = data.hierarchy[4 * hit.index + 2]!;
  return (
    <p class="selected">
      {report >= 0 ? <Link href={address(`/reports/${report}`, index)}>{names.communities[hit.index]}</Link> : names.communities[hit.index]}
    </p>
  );
}
