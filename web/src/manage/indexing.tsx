/** Indexing from the browser: files, what a build of them takes, its stages, and what became of it. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { address, ApiError, send } from "../api";
import { Loading, Problem } from "../notices";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";
import { count, sentence } from "../text";
import { Managing, usePath, useSay } from "./frame";
import { duration, JobEnd, JobProgress, money, useRunning, type Failure, type Job, type Skipped } from "./job";
import { DropZone, FileList, loadUploads, useUploads, type Uploads } from "./uploads";
import { useManaging, type ManageKey } from "./words";

interface Estimated {
  preview: {
    documents: number;
    chunks: number;
    tokens: number;
    new_chunks: number;
    skipped: Skipped[];
    failures: Failure[];
    changes: { added: string[]; edited: string[]; renamed: unknown[]; deleted: string[]; unchanged: number } | null;
    rebuild_reasons: string[];
    pending: string[];
  };
  estimate: { calls: [number, number]; tokens: [number, number]; cost: [number, number] | null; likely_tokens: number; likely_cost: number | null } | null;
}

/** Tokens that are indexed in a second without a language model: the podcast corpus has a million, and takes 8 s. */
const TOKENS_PER_SECOND = 120_000;
/** What is left out on purpose is no news. */
const ON_PURPOSE = new Set(["own", "tools", "hidden", "ignored", "excluded"]);

export function IndexingPage() {
  const words = useManaging();
  const { index } = useAppState();
  const [read, setRead] = useState(0);
  const { value, error } = useLoaded<Uploads | null>(
    (signal) => (index.read_only ? Promise.resolve(null) : loadUploads(index.name, signal)),
    [index.name, index.snapshot, read],
    { keep: true },
  );
  const title = words(index.exists ? "indexingTab" : "firstTitle");
  return (
    <Managing at="/build" title={title} lead={words(index.exists ? "indexingLead" : index.read_only ? "nothingHere" : "firstLead")}>
      {error && !value && <Problem error={error} again={() => setRead(read + 1)} />}
      {value === undefined && !error && <Loading />}
      {value && <Builder uploads={value} />}
    </Managing>
  );
}

function Builder({ uploads }: { uploads: Uploads }) {
  const words = useManaging();
  const say = useSay();
  const { index, job, follow } = useAppState();
  const running = useRunning();
  const [options, setOptions] = useState({ model: "", budget: "", fresh: false });
  const [estimated, setEstimated] = useState<Estimated | null>(null);
  const [busy, setBusy] = useState<"" | "estimate" | "start">("");
  const [problem, setProblem] = useState("");
  const [began, setBegan] = useState("");
  const [past, setPast] = useState(""); // the job whose end is no news any more
  const panel = useRef<HTMLDivElement>(null);
  const version = useRef(0);
  const changed = () => {
    version.current++;
    setPast(running ? "" : (job?.id ?? ""));
    setEstimated(null);
    setProblem("");
  };
  const { items, pending, add, remove } = useUploads(uploads, changed);
  const there = items.filter(({ state }) => state === "there").length;
  const empty = there === 0 && uploads.folders.length === 0;

  const body = () => ({
    ...(options.model.trim() ? { model: options.model.trim() } : {}),
    ...(options.budget.trim() ? { budget: Number(options.budget) } : {}),
    ...(options.fresh ? { fresh: true } : {}),
  });
  const estimate = async (): Promise<Estimated | null> => {
    const asked = version.current;
    const seen = await send<Estimated>("POST", address("/api/builds/estimate", index.name), body());
    if (asked !== version.current) return null; // the files are others by now
    setEstimated(seen);
    return seen;
  };
  const start = async () => {
    // what costs money is started only by somebody who has seen how much
    const seen = estimated ?? (await estimate());
    if (!seen || (seen.estimate && !estimated)) return;
    const started = await send<Job>("POST", address("/api/builds", index.name), body());
    setBegan(started.id);
    setEstimated(null);
    follow(started);
  };
  const run = async (what: "estimate" | "start") => {
    setBusy(what);
    setProblem("");
    try {
      await (what === "start" ? start() : estimate());
      panel.current?.focus();
    } catch (error) {
      setProblem(error instanceof ApiError && error.status === 409 ? words("anotherRuns") : say(error));
    }
    setBusy("");
  };
  // whoever comes back later sees the end of the build that made the present snapshot
  const made = job?.kind === "build" && job.state === "done" && job.result.snapshot === index.snapshot;
  const ended = job && job.state !== "running" && job.id !== past && (job.id === began || made) ? job : null;
  const state = running ? "running" : estimated || !ended ? "idle" : ended.state;
  useEffect(() => {
    if (running) setBegan(running.id);
  }, [running?.id]);
  useLayoutEffect(() => {
    if (began && state !== "idle") panel.current?.focus();
  }, [state === "running", began]);

  const set = (next: Partial<typeof options>) => {
    changed();
    setOptions({ ...options, ...next });
  };
  const panelOf = (
    <div class="state" tabIndex={-1} ref={panel}>
      {running && <JobProgress job={running} />}
      {!running && !estimated && ended && (ended.state === "done" ? <Result job={ended} /> : <JobEnd job={ended} />)}
      {!running && estimated && <Estimate seen={estimated} />}
    </div>
  );
  return (
    <div class="building">
      {state !== "idle" && panelOf}
      {!running && <DropZone uploads={uploads} add={add} disabled={false} />}
      {items.length > 0 && <FileList items={items} remove={remove} disabled={running !== null} />}
      {uploads.folders.length > 0 && (
        <section class="folders">
          <h2>{words("folders")}</h2>
          <ul>{uploads.folders.map((folder) => <li>{folder}</li>)}</ul>
          <p class="note">{words("foldersHelp")}</p>
        </section>
      )}
      {!running && !empty && (
        <details class="options">
          <summary>{words("options")}</summary>
          <label>
            {words("model")}
            <input value={options.model} placeholder={words("modelPlaceholder")} maxLength={300} spellcheck={false} autocapitalize="off" onInput={(event) => set({ model: event.currentTarget.value })} />
          </label>
          <p class="note">{words("modelHelp")}</p>
          <label>
            {words("budget")}
            <input type="number" min="0" step="0.01" value={options.budget} onInput={(event) => set({ budget: event.currentTarget.value })} />
          </label>
          <p class="note">{words("budgetHelp")}</p>
          {index.exists && <label class="check"><input type="checkbox" checked={options.fresh} onChange={(event) => set({ fresh: event.currentTarget.checked })} /> {words("fresh")}</label>}
        </details>
      )}
      {state === "idle" && panelOf}
      {problem && <p class="outcome wrong" role="alert">{problem}</p>}
      {!running && (
        <p class="apply">
          <button type="button" class="primary" disabled={empty || pending > 0 || busy !== ""} onClick={() => run("start")}>
            {words(busy === "start" ? "starting" : estimated?.estimate ? "startPaid" : "start")}
          </button>
          <button type="button" disabled={empty || pending > 0 || busy !== ""} onClick={() => run("estimate")}>
            {words(busy === "estimate" ? "estimating" : "estimate")}
          </button>
          <span class="note">{words(empty ? "addFirst" : pending > 0 ? "waitForUploads" : index.exists ? "startHelp" : "startFirst")}</span>
        </p>
      )}
    </div>
  );
}

/** What a build would read, change, take and leave out. */
function Estimate({ seen }: { seen: Estimated }) {
  const words = useManaging();
  const { preview, estimate } = seen;
  const { changes } = preview;
  const parts = changes ? ([["added", changes.added.length], ["edited", changes.edited.length], ["renamed", changes.renamed.length], ["deleted", changes.deleted.length]] as [ManageKey, number][]).filter(([, n]) => n > 0) : [];
  const nothing = changes !== null && !parts.length && !preview.rebuild_reasons.length && !preview.pending.length;
  const range = ([low, high]: [number, number], shown: (n: number) => string) => (low === high ? shown(low) : words("range", shown(low), shown(high)));
  const round = (n: number) => count(n < 1000 ? Math.round(n) : Number(n.toPrecision(2)));
  const rows: [string, string][] = [
    [words("documentsOf"), [count(preview.documents), ...parts.map(([key, n]) => words(key, count(n)))].join(" · ")],
    [words("chunksOf"), preview.new_chunks < preview.chunks ? words("chunksNew", count(preview.chunks), count(preview.new_chunks)) : count(preview.chunks)],
    [words("tokensOf"), count(preview.tokens)],
    ...(estimate
      ? ([
          [words("callsOf"), range(estimate.calls, round)],
          [words("modelTokens"), `${words("about", round(estimate.likely_tokens))} (${range(estimate.tokens, round)})`],
          [words("cost"), estimate.cost ? `${words("about", money(estimate.likely_cost ?? estimate.cost[0], words))} (${range(estimate.cost, (n) => money(n, words))})` : words("noPrice")],
        ] as [string, string][])
      : ([
          [words("time"), nothing ? words("noTime") : duration(2 + preview.tokens / TOKENS_PER_SECOND, words)],
          [words("cost"), words("free")],
        ] as [string, string][])),
  ];
  return (
    <section class="estimate">
      <h2>{words("estimateTitle")}</h2>
      <dl>{rows.map(([name, text]) => <div><dt>{name}</dt><dd>{text}</dd></div>)}</dl>
      {nothing && <p>{words("nothingNew")}</p>}
      {preview.rebuild_reasons.length > 0 && <p class="note">{words("rebuilds", preview.rebuild_reasons.join("; "))}</p>}
      {changes && changes.deleted.length > 0 && <p class="note">{words("deletedHelp", changes.deleted.slice(0, 5).map(last).join(", "))}</p>}
      {estimate && <p>{words("paidHelp")}</p>}
      <Unread failures={preview.failures} skipped={preview.skipped} />
    </section>
  );
}

/** What was built: the counts of the index, where to go next, and what was not read. */
function Result({ job }: { job: Job }) {
  const words = useManaging();
  const path = usePath();
  const { index } = useAppState();
  const { usage } = job;
  const spent = usage.calls ? [words("calls", count(usage.calls)), words("tokens", count((usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0))), ...(usage.cost ? [money(usage.cost, words)] : [])] : [];
  const amounts: [ManageKey, number][] = [["documentsOf", index.documents], ["entitiesOf", index.entities], ["reportsOf", index.reports]];
  return (
    <section class="result">
      <h2>{words(job.kind === "build" ? "upToDate" : "appliedTitle")}</h2>
      <dl class="amounts">{amounts.map(([key, amount]) => <div><dt>{words(key)}</dt><dd>{count(amount)}</dd></div>)}</dl>
      <p class="note">{[words("took", job.seconds.toLocaleString(words.language, { maximumFractionDigits: 1 })), ...spent].join(" · ")}</p>
      <p class="next">
        <Link href={path("/")} class="button">{words("goAsk")}</Link>
        <Link href={path("/reports")}>{words("goReports")}</Link>
        <Link href={path("/map")}>{words("goMap")}</Link>
      </p>
      {(job.result.notices ?? []).length > 0 && <ul class="notices">{job.result.notices!.map((text) => <li class="note">{sentence(text)}</li>)}</ul>}
      <Unread failures={job.result.failures ?? []} skipped={job.result.skipped ?? []} />
    </section>
  );
}

const ADVICE: Record<string, ManageKey> = { read: "adviceRead", extract: "adviceModel", describe: "adviceModel", reports: "adviceModel", embed: "adviceModel" };

/** Documents that could not be read or only in part, by document, with what to do about each kind of failure. */
function Unread({ failures, skipped }: { failures: Failure[]; skipped: Skipped[] }) {
  const words = useManaging();
  const left = skipped.filter(({ kind }) => !ON_PURPOSE.has(kind));
  const onPurpose = skipped.length - left.length;
  const byDocument = new Map<string, Failure[]>();
  for (const row of failures) byDocument.set(row.document || row.stage, [...(byDocument.get(row.document || row.stage) ?? []), row]);
  const advice = [...new Set(failures.map(({ stage }) => ADVICE[stage] ?? (stage.startsWith("correction") ? "adviceCorrection" : "adviceModel")))];
  return (
    <>
      {byDocument.size > 0 && (
        <section class="unread">
          <h3>{words("failures")} <span class="note">{count(byDocument.size)}</span></h3>
          <dl>
            {[...byDocument].slice(0, 100).map(([document, rows]) => (
              <div>
                <dt title={document}>{last(document)}</dt>
                {rows.slice(0, 3).map((row) => <dd>{sentence(row.error)}</dd>)}
                {rows.length > 3 && <dd>{words("moreOf", count(rows.length - 3))}</dd>}
              </div>
            ))}
          </dl>
          {byDocument.size > 100 && <p class="note">{words("moreOf", count(byDocument.size - 100))}</p>}
          {advice.map((key) => <p class="note">{words(key as ManageKey)}</p>)}
        </section>
      )}
      {left.length > 0 && (
        <section class="unread">
          <h3>{words("skipped")} <span class="note">{count(left.length)}</span></h3>
          <dl>{left.slice(0, 100).map((row) => <div><dt title={row.document}>{last(row.document)}</dt><dd>{sentence(row.reason)}</dd></div>)}</dl>
          {left.length > 100 && <p class="note">{words("moreOf", count(left.length - 100))}</p>}
        </section>
      )}
      {onPurpose > 0 && <p class="note">{words("onPurpose", count(onPurpose))}</p>}
    </>
  );
}

function last(path: string): string {
  return path.split(/[/\\]/).pop() || path;
}
