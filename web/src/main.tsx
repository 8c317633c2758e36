/** The shell of the app: navigation, index, theme, language and shortcuts around the page of the address. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type IndexSummary } from "./api";
import { preferredLanguage, translator, Words, type Key, type Language } from "./messages";
import { AskPage } from "./pages/ask";
import { DocumentPage, DocumentsPage } from "./pages/documents";
import { EntitiesPage, EntityPage } from "./pages/entities";
import { ReportPage, ReportsPage } from "./pages/reports";
import { MapPage } from "./pages/map";
import { Link, navigate, useLocation, type Location } from "./router";
import { AppState, useLoaded } from "./state";
import "./style.css";

const PAGES: { path: string; key: Key }[] = [
  { path: "/", key: "ask" },
  { path: "/map", key: "map" },
  { path: "/reports", key: "reports" },
  { path: "/entities", key: "entities" },
  { path: "/documents", key: "documents" },
];

type Theme = "auto" | "light" | "dark";

function App() {
  const location = useLocation();
  const [language, setLanguage] = useState<Language>(preferredLanguage);
  const [theme, setTheme] = useState<Theme>((localStorage.getItem("theme") as Theme | null) ?? "auto");
  const words = translator(language);
  const loaded = useLoaded<IndexSummary[]>((signal) => get("/api/indexes", signal), []);

  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem("language", language);
  }, [language]);
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  useShortcuts();

  const indexes = loaded.value ?? [];
  const name = location.query.get("index") ?? "";
  const index = indexes.find((row) => row.name === name) ?? indexes[0];
  const suffix = name ? `?index=${encodeURIComponent(name)}` : "";
  return (
    <Words.Provider value={words}>
      <a class="skip" href="#content">{words("skip")}</a>
      <header class="bar">
        <Link href={`/${suffix}`} class="brand"><img src="/icon.svg" alt="" width="22" height="22" />Conspectus</Link>
        <nav aria-label={words("menu")}>
          {PAGES.map(({ path, key }) => (
            <Link href={path + suffix} current={path === "/" ? location.path === "/" : location.path.startsWith(path)}>
              {words(key)}
            </Link>
          ))}
        </nav>
        <div class="tools">
          {indexes.length > 1 && (
            <select
              aria-label="Index"
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
        </div>
      </header>
      <main id="content">
        {loaded.error && <p class="error" role="alert">{loaded.error.message}</p>}
        {index && (
          <AppState.Provider value={{ indexes, index }}>
            <Page location={location} />
          </AppState.Provider>
        )}
      </main>
    </Words.Provider>
  );
}

function Page({ location }: { location: Location }) {
  const [, first = "", ...rest] = location.path.split("/");
  const id = rest.join("/");
  switch (first) {
    case "":
    case "ask":
      return <AskPage key={location.query.get("index") ?? ""} query={location.query} />;
    case "map":
      return <MapPage key={location.query.get("index") ?? ""} query={location.query} />;
    case "reports":
      return id ? <ReportPage number={Number(id)} /> : <ReportsPage />;
    case "entities":
      return id ? <EntityPage number={Number(id)} /> : <EntitiesPage />;
    case "documents":
      return id ? <DocumentPage document={id} query={location.query} /> : <DocumentsPage />;
    default:
      return <NotFound />;
  }
}

function NotFound() {
  const heading = useRef<HTMLHeadingElement>(null);
  return <h1 ref={heading}>404</h1>;
}

/** `/` goes to the search or question field. */
function useShortcuts() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      const field = document.querySelector<HTMLElement>("[data-search]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

render(<App />, document.getElementById("app")!);
