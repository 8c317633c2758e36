/**
 * Questions and their answers, with the sources beside them.
 *
 * The address holds the questions of a conversation in their order (`/ask?q=…&q=…`, with the method of each), so that it
 * can be shared, survives a reload, and the back button leads to the exchange before. The server remembers answers; those
 * of this visit are kept here too, so that coming back from a document shows them at once.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import {
  address,
  ApiError,
  events,
  get,
  send,
  type Answer,
  type AnswerContext,
  type Citation,
  type EntityRow,
  type IndexSummary,
  type MethodRow,
  type ReportNode,
  type ReportPage,
  type Source,
} from "../api";
import { Markdown } from "../markdown";
import { useWords } from "../messages";
import { Problem } from "../notices";
import { connected, methodHelp, obstacle, reason } from "../methods";
import { Link, navigate } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { Composer, EstimateText, MethodOptions, money, useEstimate, type Turn } from "./composer";
import "./ask.css";

/** A question on its way: the text so far, and then the answer, or why there is none. */
interface Exchange {
  text: string;
  method?: string;
  why?: string;
  answer?: Answer;
  error?: Error;
  stopped?: boolean;
}

/** Characters of a source that are shown beside an answer: some five lines. */
const QUOTED = 280;
/** Passages of a citation that are shown before "more". */
const PASSAGES = 1;
/** Earlier exchanges that are sent with a question; the server reads four. */
const EARLIER = 4;

const answers = new Map<string, Answer>();

/** The address of the answer that was looked at last, so that a document can lead back to it. */
export function lastAnswer(): string {
  return sessionStorage.getItem("answer") ?? "";
}

function turnsOf(query: URLSearchParams): Turn[] {
  const methods = query.getAll("method");
  return query
    .getAll("q")
    .map((question, i) => ({ question: question.trim(), method: methods[i] ?? "" }))
    .filter(({ question }) => question);
}

function addressOf(index: string, turns: Turn[]): string {
  const query = new URLSearchParams({ index });
  const named = turns.some(({ method }) => method);
  for (const { question, method } of turns) {
    query.append("q", question);
    if (named) query.append("method", method);
  }
  return `/ask?${query}`;
}

export function AskPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const turns = turnsOf(query);
  const { exchanges, stop, again } = useExchanges(index, turns);
  const methods = useLoaded<MethodRow[]>((signal) => get(address("/api/methods", index.name), signal), [index.name]).value ?? [];
  const answered = turns.length > 0;
  const last = exchanges.at(-1);
  const busy = answered && exchanges.length <= turns.length && !(last?.answer || last?.error || last?.stopped);
  const [proposed, setProposed] = useState(""); // what costs money is looked at before it is asked
  const ask = (turn: Turn) => navigate(addressOf(index.name, [...turns, turn]));

  useEffect(() => {
    if (answered) sessionStorage.setItem("answer", window.location.pathname + window.location.search);
  }, [query.toString()]);
  const page = useRef<HTMLDivElement>(null);
  const shown = useRef(query.toString());
  useEffect(() => {
    if (shown.current === query.toString()) return;
    shown.current = query.toString();
    if (turns.length < 2 || window.history.state !== null) return; // one comes back with the position of before
    const question = page.current?.querySelector<HTMLElement>(".exchange:last-of-type h2");
    question?.focus({ preventScroll: true });
    question?.scrollIntoView();
  }, [query.toString()]);
  useEffect(() => {
    if (!busy) return;
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && stop();
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [busy]);

  if (!answered) {
    return (
      <div class="ask">
        <h1>{words("askTitle")}</h1>
        <p class="note"><bdi>{index.name}</bdi> · {words("holdings", count(index.documents), count(index.entities), count(index.reports))}</p>
        <Composer label={words("placeholder")} methods={methods} submit={ask} proposed={proposed} focused />
        <Examples submit={(question) => (index.model === "extractive" ? ask({ question, method: "" }) : setProposed(question))} />
      </div>
    );
  }
  return (
    <div class="ask answered" ref={page}>
      {exchanges.map((exchange, i) => (
        <ExchangeView
          key={JSON.stringify(turns.slice(0, i + 1))}
          turn={turns[i]!}
          number={i}
          exchange={exchange}
          methods={methods}
          stop={stop}
          again={again}
          askBy={(method) => navigate(addressOf(index.name, [...turns.slice(0, i), { ...turns[i]!, method }]))}
        />
      ))}
      {!busy && (
        <div class="followup">
          <Composer key={turns.length} label={words("followUp")} methods={methods} submit={ask} followUp />
          <p><Link href={address("/", index.name)}>{words("newQuestion")}</Link></p>
        </div>
      )}
    </div>
  );
}

/** Ask the questions one after another, each with those before it; show what comes as it comes. */
function useExchanges(index: IndexSummary, turns: Turn[]) {
  const keys = turns.map((_, i) => JSON.stringify([index.name, index.snapshot, turns.slice(0, i + 1)]));
  const [live, setLive] = useState<Record<string, Exchange>>({});
  const [attempt, setAttempt] = useState(0);
  const controller = useRef<AbortController | null>(null);
  const all = keys.at(-1) ?? "";

  useEffect(() => {
    const abort = (controller.current = new AbortController());
    const run = async () => {
      const earlier: { question: string; answer: string }[] = [];
      for (const [i, turn] of turns.entries()) {
        const key = keys[i]!;
        const show = (exchange: Exchange) => setLive((before) => ({ ...before, [key]: exchange }));
        const answer = answers.get(key) ?? (await follow(turn, earlier.slice(-EARLIER), index.name, abort.signal, show));
        if (!answer) return;
        answers.set(key, answer);
        earlier.push({ question: answer.question, answer: answer.text });
      }
    };
    void run();
    return () => abort.abort();
  }, [all, attempt]);

  const exchanges: Exchange[] = [];
  for (const key of keys) {
    const answer = answers.get(key);
    exchanges.push(answer ? { text: answer.text, answer } : (live[key] ?? { text: "" }));
    if (!answer) break;
  }
  return {
    exchanges,
    stop: () => controller.current?.abort(),
    again: () => setAttempt(attempt + 1),
  };
}

/** Ask a question and show what comes; return the answer, or nothing where it was stopped or failed. */
async function follow(
  turn: Turn,
  earlier: { question: string; answer: string }[],
  index: string,
  signal: AbortSignal,
  show: (exchange: Exchange) => void,
): Promise<Answer | undefined> {
  let exchange: Exchange = { text: "" };
  const update = (change: Partial<Exchange>) => show((exchange = { ...exchange, ...change }));
  update({});
  try {
    const body = {
      question: turn.question,
      stream: true,
      ...(turn.method ? { method: turn.method } : {}),
      ...(earlier.length ? { earlier } : {}),
    };
    for await (const { event, data } of events(address("/api/ask", index), body, signal)) {
      if (event === "method") update(data as { method: string; why: string });
      else if (event === "text") update({ text: exchange.text + (data as { text: string }).text });
      else if (event === "done") {
        update({ answer: data as Answer });
        return data as Answer;
      } else if (event === "error") {
        update({ error: new ApiError(500, (data as { error: Error }).error.message) });
        return;
      } else if (event === "cancelled") {
        update({ stopped: true });
        return;
      }
    }
    update({ error: new TypeError("the stream ended before the answer") });
  } catch (error) {
    update(signal.aborted ? { stopped: true } : { error: error as Error });
  }
  return;
}

/** Questions as somebody would ask them, from the people and subjects of the most important reports. */
function Examples({ submit }: { submit: (question: string) => void }) {
  const words = useWords();
  const { index } = useAppState();
  const { value } = useLoaded<EntityRow[]>(async (signal) => {
    const reports = await get<ReportNode[]>(address("/api/reports", index.name, { deepest: 0 }), signal);
    const pages = await Promise.all(
      reports.slice(0, 3).map((report) => get<ReportPage>(address(`/api/reports/${report.number}`, index.name), signal)),
    );
    return pages.flatMap((page) => subjects(page));
  }, [index.name]);
  const questions = [words("exampleThemes")];
  if (value) {
    const people = unique(value.filter((row) => row.type === "person"));
    // names read better than common nouns, which lack their article
    const others = unique(value.filter((row) => row.type !== "person")).sort((a, b) => Number(isCommon(a)) - Number(isCommon(b)));
    if (others[0]) questions.push(words("exampleAbout", others[0]));
    if (people[0]) questions.push(words("examplePerson", people[0]));
    if (people[1] && people[2]) questions.push(words("exampleBoth", people[1], people[2]));
    else if (others[1]) questions.push(words("exampleAbout", others[1]));
  }
  return (
    <section class="examples" aria-label={words("examples")}>
      <h2>{words("examples")}</h2>
      <ul>
        {questions.map((question) => (
          <li><button type="button" class="plain" onClick={() => submit(question)}>{question}</button></li>
        ))}
      </ul>
    </section>
  );
}

/** The entities of a report that its title names, then its best connected ones; names that read well in a question. */
function subjects({ report, entities }: ReportPage): EntityRow[] {
  const title = report.title.toLowerCase();
  const readable = entities.filter(({ name }) => name.length > 2 && name.length <= 40 && !/[<>{}[\]\\|=]/.test(name));
  const named = readable.filter(({ name }) => title.includes(name.toLowerCase()));
  return [...named, ...readable.filter((row) => !named.includes(row)).slice(0, 3)];
}

function isCommon(name: string): boolean {
  return /^\p{Ll}/u.test(name);
}

function unique(rows: EntityRow[]): string[] {
  return [...new Set(rows.map(({ name }) => name))];
}

function ExchangeView(props: {
  turn: Turn;
  number: number;
  exchange: Exchange;
  methods: MethodRow[];
  stop: () => void;
  again: () => void;
  askBy: (method: string) => void;
}) {
  const words = useWords();
  const { index } = useAppState();
  const { turn, number, exchange } = props;
  const { answer } = exchange;
  const [marked, setMarked] = useState<number | null>(null);
  const aside = useRef<HTMLElement>(null);
  const busy = !answer && !exchange.error && !exchange.stopped;
  const method = props.methods.find(({ name }) => name === turn.method);
  const impossible = method && obstacle(words, method);
  const Heading = number === 0 ? "h1" : "h2";
  const SourcesHeading = number === 0 ? "h2" : "h3";
  const cited = useMemo(() => new Map(answer?.citations.map((citation) => [citation.marker, citation])), [answer]);

  const markFromText = (marker: number | null) => {
    setMarked(marker);
    if (marker !== null) bringIntoView(aside, `source-${number}-${marker}`);
  };
  const mark = (marker: number, occurrence: number) => {
    const citation = cited.get(marker);
    const source = citation?.sources[0];
    const style = marker === marked ? "marker marked" : "marker";
    if (!citation || !source) return <span class={style}>{marker}</span>;
    return (
      <Link
        id={`marker-${number}-${occurrence}`}
        class={style}
        href={sourceAddress(source, index.name)}
        label={`${words("sources")} ${marker}: ${citation.title}`}
        onMarked={(on) => markFromText(on ? marker : null)}
      >
        {marker}
      </Link>
    );
  };
  return (
    <section class="exchange" aria-busy={busy}>
      <header>
        <Heading dir="auto" tabIndex={-1}>{turn.question}</Heading>
        <MethodLine turn={turn} exchange={exchange} methods={props.methods} />
      </header>
      <article class="answer" lang={answer?.language || undefined}>
        <Markdown text={answer?.text ?? exchange.text} mark={mark} top={number === 0 ? 2 : 3} />
        {busy && (
          <div class="progress">
            <p class="waiting" role="status">{words("answering")}</p>
            <button type="button" onClick={props.stop}>{words("stop")}</button>
          </div>
        )}
        {exchange.error && !impossible && <Problem error={exchange.error} again={props.again} />}
        {exchange.error && impossible && (
          <div class="problem" role="alert">
            <p>{words("cannotAnswer", turn.method, impossible)}</p>
          </div>
        )}
        {exchange.stopped && (
          <div class="problem">
            <p role="status">{words("stopped")}</p>
            <button type="button" onClick={props.again}>{words("again")}</button>
          </div>
        )}
        {answer && <AnswerFoot answer={answer} turn={turn} methods={props.methods} askBy={props.askBy} />}
      </article>
      <aside class="sources" aria-label={`${words("sources")}: ${turn.question}`} ref={aside}>
        {answer && (
          <>
            <SourcesHeading>{words("sources")} <span class="note">{count(answer.citations.length)}</span></SourcesHeading>
            <p class="hidden" role="status">{words("answered", count(answer.citations.length))}</p>
            {answer.citations.length === 0 && <p class="note">{words("noSources")}</p>}
            <ol>
              {answer.citations.map((citation) => (
                <SourceView
                  key={citation.marker}
                  id={`source-${number}-${citation.marker}`}
                  citation={citation}
                  marked={marked === citation.marker}
                  hover={setMarked}
                />
              ))}
            </ol>
          </>
        )}
      </aside>
    </section>
  );
}

/** Scroll the column of sources, and nothing else, until one of them is seen. */
function bringIntoView(column: RefObject<HTMLElement | null>, id: string) {
  const box = column.current;
  const row = document.getElementById(id);
  if (!box || !row || box.scrollHeight <= box.clientHeight) return;
  const top = row.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - 24;
}

function sourceAddress(source: Source, index: string): string {
  return address(`/documents/${encodeURIComponent(source.number ?? source.document)}`, index, { start: source.start, end: source.end });
}

/** How the question is answered, and why so. */
function MethodLine({ turn, exchange, methods }: { turn: Turn; exchange: Exchange; methods: MethodRow[] }) {
  const words = useWords();
  const method = exchange.answer?.method ?? exchange.method ?? turn.method;
  const why = exchange.answer?.why ?? exchange.why;
  if (!method) return <p class="note">{" "}</p>;
  const row = methods.find(({ name }) => name === method);
  return (
    <p class="note">
      {words("by", method)}
      {row && ` (${methodHelp(words, row)})`}
      {why && `: ${reason(words, why)}`}
    </p>
  );
}

function AnswerFoot(props: { answer: Answer; turn: Turn; methods: MethodRow[]; askBy: (method: string) => void }) {
  const words = useWords();
  const { answer } = props;
  const { usage } = answer;
  const { index } = useAppState();
  const pair = connected(answer.question, answer.why);
  const facts = [
    words("answeredIn", answer.seconds.toFixed(1)),
    usage.calls > 0 && words("calls", count(usage.calls)),
    usage.calls === 0 && usage.cached_calls > 0 && words("estimateNone"),
    usage.calls > 0 && words("tokens", count(usage.prompt_tokens + usage.completion_tokens)),
    usage.cost > 0 && words("cost", money(usage.cost)),
    answer.removed_references === 1 && words("removedOne"),
    answer.removed_references > 1 && words("removed", count(answer.removed_references)),
  ];
  return (
    <footer class="foot">
      {answer.notices.map((notice) => <p class="note" dir="auto">{notice}</p>)}
      {pair && <p><Link href={address("/path", index.name, { source: pair[0], target: pair[1] })}>{words("pathOf", ...pair)}</Link></p>}
      <p class="note">{facts.filter(Boolean).join(" · ")}</p>
      <div class="more">
        <ContextView answer={answer} turn={props.turn} />
        {props.methods.length > 0 && <AskAgain {...props} />}
      </div>
    </footer>
  );
}

/** The same question by another method; where that costs money, what it would take stands beside. */
function AskAgain(props: { turn: Turn; methods: MethodRow[]; askBy: (method: string) => void }) {
  const words = useWords();
  const { index } = useAppState();
  const [method, setMethod] = useState(props.turn.method);
  const other = method !== props.turn.method;
  const estimated = useEstimate(other && index.model !== "extractive" ? props.turn.question : "", method);
  return (
    <form
      class="again note"
      onSubmit={(event) => {
        event.preventDefault();
        props.askBy(method);
      }}
    >
      <label>
        {words("askAgainBy")}{" "}
        <select value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
          <MethodOptions methods={props.methods} />
        </select>
      </label>
      <button type="submit" class="small" disabled={!other}>{words("askAgain")}</button>
      {other && index.model !== "extractive" && <span class="takes" role="status"><EstimateText estimated={estimated} /></span>}
    </form>
  );
}

/** What the answer was written from, gathered again when it is wanted. */
function ContextView({ answer, turn }: { answer: Answer; turn: Turn }) {
  const words = useWords();
  const [open, setOpen] = useState(false);
  return (
    <div class="context">
      <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        {words(open ? "hideContext" : "showContext")}
      </button>
      {open && <ContextText answer={answer} turn={turn} />}
    </div>
  );
}

function ContextText({ answer, turn }: { answer: Answer; turn: Turn }) {
  const words = useWords();
  const { value, error } = useLoaded<AnswerContext>(
    () => send("POST", address("/api/ask/context", answer.index), { question: answer.question, method: turn.method || answer.method }),
    [answer.id],
  );
  if (error) return <p class="error" role="alert">{error instanceof ApiError ? error.message : words("unreachable")}</p>;
  if (!value) return <p class="waiting" role="status">{words("loading")}</p>;
  return (
    <>
      <p class="note">{words("contextSize", count(value.tokens))}</p>
      {value.windows.map((window) => <pre tabIndex={0} dir="auto">{window}</pre>)}
    </>
  );
}

function SourceView(props: { id: string; citation: Citation; marked: boolean; hover: (marker: number | null) => void }) {
  const words = useWords();
  const { index } = useAppState();
  const [open, setOpen] = useState(false);
  const { citation } = props;
  const shown = open ? citation.sources : citation.sources.slice(0, PASSAGES);
  const hidden = citation.sources.length - shown.length;
  return (
    <li
      id={props.id}
      value={citation.marker}
      class={props.marked ? "marked" : undefined}
      onMouseEnter={() => props.hover(citation.marker)}
      onMouseLeave={() => props.hover(null)}
      onFocusCapture={() => props.hover(citation.marker)}
      onBlurCapture={() => props.hover(null)}
    >
      <span class="number" aria-hidden="true">{citation.marker}</span>
      <div>
        {citation.kind === "report" && citation.title && (
          <p class="title" dir="auto">
            {citation.number == null ? citation.title : <Link href={address(`/reports/${citation.number}`, index.name)}>{citation.title}</Link>}
          </p>
        )}
        {shown.map((source, i) => <Passage id={`${props.id}-${i}`} source={source} />)}
        {hidden > 0 && (
          <button type="button" class="plain" onClick={() => setOpen(true)}>{words("moreSources", count(hidden))}</button>
        )}
      </div>
    </li>
  );
}

function Passage({ id, source }: { id: string; source: Source }) {
  const words = useWords();
  const { index } = useAppState();
  const points = Array.from(source.text.slice(0, 4 * QUOTED).replace(/\s*\n\s*/g, "\n")); // empty lines would be most of a card
  const quoted = points.length > QUOTED ? `${points.slice(0, QUOTED).join("")}…` : points.join("");
  return (
    <figure>
      <blockquote dir="auto">{quoted}</blockquote>
      <figcaption>
        <Link id={id} href={sourceAddress(source, index.name)} title={words("openSource")}>
          <bdi>{shortPath(source.document)}</bdi>{source.place && `, ${source.place}`}
        </Link>
      </figcaption>
    </figure>
  );
}

function shortPath(path: string): string {
  return path.split("/").at(-1) || path;
}
