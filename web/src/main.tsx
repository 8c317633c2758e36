/** The shell of the app: navigation, index, theme, language and shortcuts around the page of the address. */
import "./style.css"; // first: those of the pages add to it
import { render, type ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { address, get, type IndexSummary } from "./api";
import { CorrectionsPage } from "./manage/corrections";
import { IndexingPage } from "./manage/indexing";
import { useJob } from "./manage/job";
import { SnapshotsPage } from "./manage/snapshots";
import { preferredLanguage, translator, useWords, Words, type Key, type Language } from "./messages";
import { Loading, NotFound, Problem } from "./notices";
import { AskPage } from "./pages/ask";
import { DocumentPage, DocumentsPage } from "./pages/documents";
import { EntitiesPage, EntityPage, PathPage } from "./pages/entities";
import { ReportPage, ReportsPage } from "./pages/reports";
import { decoded, Link, navigate, useLocation, type Location } from "./router";
import { AppState, useLoaded } from "./state";

/** The pages of the menu; `letter` after `g` goes to one. */
const PAGES: { path: string; key: Key; letter: string }[] = [
  { path: "/", key: "ask", letter: "a" },
  { path: "/map", key: "map", letter: "m" },
  { path: "/reports", key: "reports", letter: "r" },
  { path: "/entities", key: "entities", letter: "e" },
  { path: "/documents", key: "documents", letter: "d" },
  { path: "/build", key: "manage", letter: "i" },
];
/** The pages that `/build` stands for in the menu. */
const MANAGING = ["/build", "/corrections", "/snapshots"];

type Theme = "auto" | "light" | "dark";

function App() {
  const location = useLocation();
  const [language, setLanguage] = useState<Language>(preferredLanguage);
  const [theme, setTheme] = useState<Theme>((localStorage.getItem("theme") as Theme | null) ?? "auto");
  const [open, setOpen] = useState(false);
  const [help, setHelp] = useState(false);
  const words = translator(language);
  const loaded = useLoaded<IndexSummary[]>((signal) => get("/api/indexes", signal), [location.visit], { keep: true });
  const refresh = () => get<IndexSummary[]>("/api/indexes").then(loaded.replace, () => {}); // if not now, then at the next page
  const studies = useLoaded<string[]>((signal) => get("/api/studies", signal), []).value;
  const name = location.query.get("index") ?? "";
  const suffix = name ? `?index=${encodeURIComponent(name)}` : "";
  const main = useRef<HTMLElement>(null);

  useLayoutEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem("language", language);
  }, [language]);
  useLayoutEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  useLayoutEffect(() => {
    setOpen(false);
    // a new page is read from its beginning; pages with a field or a passage to go to move the focus there
    if (location.visit) main.current?.focus({ preventScroll: true });
  }, [location.visit]);
  useTitle(main);
  useShortcuts(suffix, () => setHelp(true));

  const indexes = loaded.value ?? [];
  const index = indexes.find((row) => row.name === name) ?? indexes[0];
  const { job, follow } = useJob(index?.name, refresh);
  return (
    <Words.Provider value={words}>
      <a class="skip" href="#content">{words("skip")}</a>
      <header class={open ? "bar open" : "bar"} onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
        <Link href={`/${suffix}`} class="brand"><img src="/icon.svg" alt="" width="22" height="22" />Conspectus</Link>
        <button type="button" class="menu" aria-expanded={open} aria-controls="menu" onClick={() => setOpen(!open)}>
          {words("menu")}
        </button>
        <div class="panel" id="menu">
          <nav aria-label={words("menu")}>
            {[...PAGES, ...(studies?.length ? [STUDIES] : [])].map(({ path, key }) => (
              <Link href={path + suffix} current={isCurrent(path, location.path)}>
                {words(key)}
                {path === "/build" && job?.state === "running" && <span class="running" role="img" aria-label={words("running")} title={words("running")} />}
              </Link>
            ))}
          </nav>
          <div class="tools">
            {indexes.length > 1 && (
              <select
                class="which"
                aria-label={words("index")}
                value={index?.name}
                onChange={(event) => navigate(`/?index=${encodeURIComponent(event.currentTarget.value)}`)}
              >
                {indexes.map((row) => <option value={row.name}>{row.name}</option>)}
              </select>
            )}
            <select
              aria-label={words("theme")}
              value={theme}
              onChange={(event) => setTheme(event.currentTarget.value as Theme)}
            >
              <option value="auto">{words("themeAuto")}</option>
              <option value="light">{words("themeLight")}</option>
              <option value="dark">{words("themeDark")}</option>
            </select>
            <select
              aria-label={words("language")}
              value={language}
              onChange={(event) => setLanguage(event.currentTarget.value as Language)}
            >
              <option value="en">English</option>
              <option value="zh">中文</option>
            </select>
            <button type="button" class="quiet" aria-label={words("keysHelp")} title={words("keysHelp")} onClick={() => setHelp(true)}>?</button>
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1} ref={main}>
        {loaded.error && !loaded.value && <Problem error={loaded.error} />}
        {!loaded.value && !loaded.error && <Loading />}
        {index && (
          <AppState.Provider value={{ indexes, index, job, follow, refresh }}>
            {name && index.name !== name ? <NotFound /> : <Page location={location} index={index} />}
          </AppState.Provider>
        )}
      </main>
      {help && <KeysHelp close={() => setHelp(false)} />}
    </Words.Provider>
  );
}

/** The menu names evaluations where the server has some. */
const STUDIES = { path: "/studies", key: "studies" as Key };

function isCurrent(path: string, at: string): boolean {
  if (path === "/") return at === "/" || at === "/ask";
  if (path === "/build") return MANAGING.includes(at);
  return at === path || at.startsWith(`${path}/`);
}

function Page({ location, index }: { location: Location; index: IndexSummary }) {
  const words = useWords();
  const [, first = "", ...rest] = location.path.split("/");
  const id = rest.map(decoded).join("/");
  const number = /^\d{1,9}$/.test(id) ? Number(id) : -1;
  const known = [...PAGES.map(({ path }) => path), ...MANAGING].includes(`/${first}`);
  const starts = known && !index.exists && location.path !== "/build";
  useEffect(() => {
    // there is nothing to look at yet; at an address of its own, so that it stays when the first build is done
    if (starts) navigate(address("/build", location.query.get("index") ?? ""), { replace: true });
  }, [starts]);
  if (starts) return null;
  switch (first) {
    case "":
    case "ask":
      if (id) return <NotFound />;
      return <AskPage key={index.name} query={location.query} />;
    case "map":
      return (
        <>
          <h1 class="hidden">{words("map")}</h1>
          <Lazy load={() => import("./pages/map")} key={location.query.get("index") ?? ""} query={location.query} />
        </>
      );
    case "reports":
      if (!id) return <ReportsPage />;
      return number < 0 ? <NotFound /> : <ReportPage number={number} />;
    case "entities":
      if (!id) return <EntitiesPage query={location.query} />;
      return number < 0 ? <NotFound /> : <EntityPage number={number} />;
    case "path":
      return <PathPage query={location.query} />;
    case "documents":
      return id ? <DocumentPage key={id} document={id} query={location.query} /> : <DocumentsPage query={location.query} />;
    case "build":
      return id ? <NotFound /> : <IndexingPage key={index.name} />;
    case "corrections":
      return id ? <NotFound /> : <CorrectionsPage key={index.name} />;
    case "snapshots":
      return id ? <NotFound /> : <SnapshotsPage key={index.name} />;
    case "studies":
      return <Lazy load={() => import("./studies/pages")} path={rest.map(decoded)} query={location.query} />;
    default:
      return <NotFound />;
  }
}

/** Pages that are loaded when they are opened: the others do without their code. */
function Lazy<P extends object>({ load, ...props }: { load: () => Promise<{ default: ComponentType<P> }> } & P) {
  const { value, error } = useLoaded(load, []);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const Loaded = value.default as unknown as ComponentType<object>;
  return <Loaded {...props} />;
}

/** The title of a page is its heading, whatever page it is and whenever that is loaded. */
function useTitle(main: { current: HTMLElement | null }) {
  useEffect(() => {
    const update = () => {
      const heading = main.current?.querySelector("h1")?.textContent?.trim();
      const title = heading ? `${heading} · Conspectus` : "Conspectus";
      if (document.title !== title) document.title = title;
    };
    const observer = new MutationObserver(update);
    observer.observe(main.current!, { childList: true, characterData: true, subtree: true });
    update();
    return () => observer.disconnect();
  }, []);
}

/** `/` goes to the search or question field, `g` and a letter to a page, `?` shows the keys. */
function useShortcuts(suffix: string, showHelp: () => void) {
  useEffect(() => {
    let go = false;
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      if (document.querySelector("dialog[open]")) return;
      const page = go && PAGES.find(({ letter }) => letter === event.key);
      go = event.key === "g";
      if (page) {
        event.preventDefault();
        navigate(page.path + suffix);
      } else if (event.key === "?") {
        event.preventDefault();
        showHelp();
      } else if (event.key === "/") {
        const field = document.querySelector<HTMLElement>("[data-search]");
        if (!field) return;
        event.preventDefault();
        field.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [suffix]);
}

function KeysHelp({ close }: { close: () => void }) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="keys" aria-labelledby="keys" ref={dialog} onClose={close}>
      <h2 id="keys">{words("keys")}</h2>
      <dl>
        <div><dt><kbd>/</kbd></dt><dd>{words("keySearch")}</dd></div>
        {PAGES.map(({ letter, key }) => (
          <div><dt><kbd>g</kbd> <kbd>{letter}</kbd></dt><dd>{words(key)}</dd></div>
        ))}
        <div><dt><kbd>Esc</kbd></dt><dd>{words("keyEscape")}</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>{words("keyHelp")}</dd></div>
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>{words("close")}</button>
    </dialog>
  );
}

render(<App />, document.getElementById("app")!);
