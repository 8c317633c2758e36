/** Evaluations: what was compared and how often it won, the tables of the report, and each question with its answers. */
import { get } from "../api";
import { Markdown } from "../markdown";
import { Loading, Problem } from "../notices";
import { Link } from "../router";
import { useLoaded } from "../state";
import { count } from "../text";
import { QuestionPage } from "./question";
import { useStudyWords } from "./words";
import "./studies.css";

/** A pair of conditions by one criterion: scores from 0 to 100 over questions, the interval is of the first. */
interface Compared {
  criterion: string;
  first: string;
  second: string;
  wins: number;
  ties: number;
  losses: number;
  mean_first: number;
  mean_second: number;
  low: number | null;
  high: number | null;
  p_holm: number | null;
}

export interface Study {
  name: string;
  markdown: string;
  missing: string[];
  conditions: string[];
  questions: [id: string, text: string, persona: string, task: string][];
  criteria: [name: string, description: string][];
  results: Compared[];
  outdated: number; // judgements that hold no more
}

const ALPHA = 0.05; // as the tables of the report have it
const HEATS = 4; // steps of the shade of a win rate
/** Sections of the report that this page sets itself; in the report they begin like this. */
const OWN = /^(Win rates|Questions)/;

/** `/studies`, `/studies/NAME` and `/studies/NAME/QUESTION`; the query has the conditions that are compared. */
export default function StudyPages({ path, query }: { path: string[]; query: URLSearchParams }) {
  const [name, question] = path;
  if (!name) return <StudiesPage />;
  return question ? <QuestionPage key={question} study={name} id={question} query={query} /> : <StudyPage key={name} name={name} />;
}

export const studyAddress = (...parts: string[]) => `/studies/${parts.map(encodeURIComponent).join("/")}`;

function StudiesPage() {
  const words = useStudyWords();
  const { value, error } = useLoaded<string[]>((signal) => get("/api/studies", signal), []);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  return (
    <div class="page">
      <h1>{words("studies")}</h1>
      {value.length === 0 && (
        <div class="empty">
          <p>{words("none")} {words("noneHelp")}</p>
          <pre><code>conspectus eval report STUDY{"\n"}conspectus serve --study STUDY</code></pre>
        </div>
      )}
      <ul class="rows">{value.map((name) => <li><Link href={studyAddress(name)}>{name}</Link></li>)}</ul>
    </div>
  );
}

function StudyPage({ name }: { name: string }) {
  const words = useStudyWords();
  const { value, error } = useLoaded<Study>((signal) => get(`/api${studyAddress(name)}`, signal), [name]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const judged = value.results.reduce((sum, row) => sum + row.wins + row.ties + row.losses, 0);
  const sections = sectionsOf(value.markdown).filter(([title]) => !OWN.test(title));
  const contents: [id: string, title: string][] = [
    ["win-rates", words("winRates")],
    ["questions", words("questions")],
    ...sections.map(([title], i): [string, string] => [`section-${i}`, title]),
  ];
  return (
    <div class="study">
      <h1>{value.name}</h1>
      <p class="facts">
        <span>{words("sizes", count(value.questions.length), count(value.conditions.length))}</span>
        {judged > 0 && <span>{words("judgements", count(judged))}</span>}
      </p>
      <nav class="contents" aria-label={words("onThisPage")}>
        <h2>{words("onThisPage")}</h2>
        <ul>{contents.map(([id, title]) => <li><a href={`#${id}`} onClick={(event) => show(event, id)}>{title}</a></li>)}</ul>
      </nav>
      <div class="sections">
        <section id="win-rates" tabIndex={-1}>
          <h2>{words("winRates")}</h2>
          <p class="note">{value.results.length ? words("winHelp") : value.outdated ? words("outdated", count(value.outdated)) : words("noRates")}</p>
          {value.criteria.map(([criterion, description]) => (
            <Criterion name={criterion} description={description} rows={value.results.filter((row) => row.criterion === criterion)} conditions={value.conditions} />
          ))}
        </section>
        <section id="questions" tabIndex={-1}>
          <h2>{words("questions")} <span class="note">{count(value.questions.length)}</span></h2>
          <ol class="lines numbered">
            {value.questions.map(([id, text]) => <li><Link id={`question-${id}`} href={studyAddress(name, id)}><bdi>{text}</bdi></Link></li>)}
          </ol>
        </section>
        {sections.map(([title, text], i) => (
          <section id={`section-${i}`} tabIndex={-1}>
            <h2>{title}</h2>
            <Section text={text} />
          </section>
        ))}
      </div>
    </div>
  );
}

/** Go to a section of the page, without an entry in the history. */
function show(event: Event, id: string) {
  event.preventDefault();
  const section = document.getElementById(id);
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

/** A section of the report; code, which are settings, opens on demand. */
function Section({ text }: { text: string }) {
  const parts = text.split(/^### (?=[^\n]*\n+```)/m);
  return (
    <div class="tables">
      <Markdown text={parts[0]!} top={3} />
      {parts.slice(1).map((part) => {
        const [title, ...rest] = part.split("\n");
        return <details class="details"><summary>{title}</summary><Markdown text={rest.join("\n")} top={3} /></details>;
      })}
    </div>
  );
}

/** Titles and texts of the sections of the report. */
function sectionsOf(markdown: string): [title: string, text: string][] {
  return markdown.split(/^## /m).slice(1).map((part) => {
    const end = part.indexOf("\n");
    return [part.slice(0, end).replace(/ \((Tables?|Figure) [^)]*\)$/, ""), part.slice(end).trim()];
  });
}

function Criterion(props: { name: string; description: string; rows: Compared[]; conditions: string[] }) {
  const { name, rows } = props;
  const present = props.conditions.filter((condition) => rows.some((row) => row.first === condition || row.second === condition));
  if (!rows.length) return null;
  return (
    <section class="criterion">
      <header>
        <h3>{name.charAt(0).toUpperCase() + name.slice(1)}</h3>
        <p class="note">{props.description}</p>
      </header>
      <div class="table" tabIndex={0} role="group" aria-label={name}>
        <table class="matrix">
          <thead><tr><td />{present.map((column) => <th scope="col">{column}</th>)}</tr></thead>
          <tbody>
            {present.map((row) => (
              <tr><th scope="row">{row}</th>{present.map((column) => <Cell row={row} column={column} rows={rows} />)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      <ul class="pairs">{rows.map((row) => <Pair row={row} />)}</ul>
    </section>
  );
}

/** The win rate of one condition over another: the further from 50, the deeper its shade. */
function Cell({ row, column, rows }: { row: string; column: string; rows: Compared[] }) {
  const found = rows.find(({ first, second }) => (first === row && second === column) || (first === column && second === row));
  if (row === column) return <td class="same">–</td>;
  if (!found) return <td />;
  const rate = found.first === row ? found.mean_first : found.mean_second;
  const heat = Math.min(HEATS, Math.ceil((HEATS * Math.abs(rate - 50)) / 50));
  const significant = found.p_holm !== null && found.p_holm < ALPHA;
  return <td class={`${rate > 50 ? "win" : "loss"} heat${heat}`}>{significant ? <strong>{rate.toFixed(0)}</strong> : rate.toFixed(0)}</td>;
}

/** How one pair divides its judgements, as a bar with the interval of the first. */
function Pair({ row }: { row: Compared }) {
  const words = useStudyWords();
  const ahead = row.mean_first >= row.mean_second;
  const [low, high] = [row.low ?? row.mean_first, row.high ?? row.mean_first];
  const label = words("wins", row.first, row.second, row.mean_first.toFixed(0), low.toFixed(0), high.toFixed(0));
  return (
    <li title={label}>
      <span class={ahead ? "ahead" : undefined}>{row.first} <b>{row.mean_first.toFixed(0)}</b></span>
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={label}>
        <rect class="rest" width="100" height="12" />
        <rect class="share" width={row.mean_first} height="12" />
        <path class="half" d="M50 0V12" />
        <path class="interval" d={`M${low} 6H${high}M${low} 3V9M${high} 3V9`} />
      </svg>
      <span class={ahead ? undefined : "ahead"}><b>{row.mean_second.toFixed(0)}</b> {row.second}</span>
    </li>
  );
}
