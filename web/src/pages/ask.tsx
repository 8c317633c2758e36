/** The question box, the answer while it is written, and its sources beside it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, events, get, type Answer, type Citation, type ReportNode } from "../api";
import { Markdown } from "../markdown";
import { useWords } from "../messages";
import { Link, navigate } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";

type Progress = { question: string; text: string; answer?: Answer; error?: string; stopped?: boolean };

export function AskPage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const { index } = useAppState();
  const asked = query.get("q") ?? "";
  const method = query.get("method") ?? "";
  const [text, setText] = useState(asked);
  const [progress, setProgress] = useState<Progress | null>(null);
  const controller = useRef<AbortController | null>(null);

  useEffect(() => {
    setText(asked);
    controller.current?.abort();
    if (!asked) {
      setProgress(null);
      return;
    }
    const abort = (controller.current = new AbortController());
    void follow(asked, method, index.name, abort, setProgress);
    return () => abort.abort();
  }, [asked, method, index.name]);

  const submit = (question: string) => {
    const trimmed = question.trim();
    if (trimmed) navigate(address("/ask", index.name, { q: trimmed, method }));
  };
  const running = progress && !progress.answer && !progress.error && !progress.stopped;
  return (
    <div class={progress ? "ask answered" : "ask"}>
      <form
        class="question"
        onSubmit={(event) => {
          event.preventDefault();
          submit(text);
        }}
      >
        <textarea
          data-search
          aria-label={words("placeholder")}
          placeholder={words("placeholder")}
          rows={2}
          maxLength={20000}
          autofocus={!asked}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              submit(text);
            }
          }}
        />
        {running ? (
          <button type="button" onClick={() => controller.current?.abort()}>{words("stop")}</button>
        ) : (
          <button type="submit" class="primary" disabled={!text.trim()}>{words("askButton")}</button>
        )}
      </form>
      {!progress && <Examples submit={submit} />}
      {progress && <AnswerView progress={progress} />}
    </div>
  );
}

/** Ask, and show what comes as it comes. */
async function follow(
  question: string,
  method: string,
  index: string,
  abort: AbortController,
  show: (progress: Progress) => void,
) {
  let text = "";
  show({ question, text });
  try {
    const body = { question, stream: true, ...(method ? { method } : {}) };
    for await (const { event, data } of events(address("/api/ask", index), body, abort.signal)) {
      if (event === "text") show({ question, text: (text += (data as { text: string }).text) });
      else if (event === "done") show({ question, text, answer: data as Answer });
      else if (event === "error") show({ question, text, error: (data as { error: Error }).error.message });
    }
  } catch (error) {
    if (abort.signal.aborted) show({ question, text, stopped: true });
    else show({ question, text, error: (error as Error).message });
  }
}

function Examples({ submit }: { submit: (question: string) => void }) {
  const words = useWords();
  const { index } = useAppState();
  const { value } = useLoaded<ReportNode[]>((signal) => get(address("/api/reports", index.name, { deepest: 0 }), signal), [index.name]);
  if (!value?.length) return null;
  const questions = ["What are the main themes?", ...value.slice(0, 3).map((report) => `What is said about ${report.title.split(",")[0]}?`)];
  return (
    <section class="examples" aria-label={words("examples")}>
      <h2>{words("examples")}</h2>
      <ul>
        {questions.map((question) => (
          <li><button type="button" onClick={() => submit(question)}>{question}</button></li>
        ))}
      </ul>
    </section>
  );
}

function AnswerView({ progress }: { progress: Progress }) {
  const words = useWords();
  const [marked, setMarked] = useState<number | null>(null);
  const { answer } = progress;
  const mark = (marker: number) => (
    <a
      class={marker === marked ? "marker marked" : "marker"}
      href={`#source-${marker}`}
      onMouseEnter={() => setMarked(marker)}
      onMouseLeave={() => setMarked(null)}
      onFocus={() => setMarked(marker)}
      onBlur={() => setMarked(null)}
    >
      {marker}
    </a>
  );
  return (
    <div class="result">
      <article class="answer" aria-live="polite" aria-busy={!answer && !progress.error}>
        <Markdown text={answer?.text ?? progress.text} mark={mark} />
        {!answer && !progress.error && !progress.stopped && <p class="waiting">{words("loading")}</p>}
        {progress.error && <p class="error" role="alert">{progress.error}</p>}
        {progress.stopped && <p class="note">{words("stopped")}</p>}
        {answer && <AnswerFoot answer={answer} />}
      </article>
      {answer && answer.citations.length > 0 && (
        <aside class="sources" aria-label={words("sources")}>
          <h2>{words("sources")}</h2>
          <ol>{answer.citations.map((citation) => <SourceView citation={citation} marked={marked === citation.marker} hover={setMarked} />)}</ol>
        </aside>
      )}
    </div>
  );
}

function AnswerFoot({ answer }: { answer: Answer }) {
  const words = useWords();
  const spent = answer.usage.calls ? `, ${words("tokens", count(answer.usage.prompt_tokens + answer.usage.completion_tokens))}` : "";
  return (
    <footer class="foot">
      {answer.notices.map((notice) => <p class="note">{notice}</p>)}
      <p class="note">
        {answer.method}{answer.why ? `: ${answer.why}` : ""} · {words("answeredIn", answer.seconds.toFixed(1))}{spent}
      </p>
      {answer.removed_references > 0 && <p class="note">{words("removed", answer.removed_references)}</p>}
    </footer>
  );
}

function SourceView(props: { citation: Citation; marked: boolean; hover: (marker: number | null) => void }) {
  const words = useWords();
  const { index } = useAppState();
  const { citation } = props;
  return (
    <li
      id={`source-${citation.marker}`}
      value={citation.marker}
      class={props.marked ? "marked" : undefined}
      onMouseEnter={() => props.hover(citation.marker)}
      onMouseLeave={() => props.hover(null)}
    >
      {citation.title && <strong>{citation.title}</strong>}
      {citation.sources.slice(0, 2).map((source) => (
        <figure>
          <blockquote>{source.text.length > 280 ? `${source.text.slice(0, 280)}…` : source.text}</blockquote>
          <figcaption>
            <Link
              href={address(`/documents/${encodeURIComponent(source.document)}`, index.name, { start: source.start, end: source.end })}
              title={words("openSource")}
            >
              {shortPath(source.document)}{source.place && `, ${source.place}`}
            </Link>
          </figcaption>
        </figure>
      ))}
    </li>
  );
}

function shortPath(path: string): string {
  return path.split("/").slice(-1)[0] ?? path;
}
