/** A build or an application of corrections: following it, and showing its stages and its end. */
import { useEffect, useState } from "preact/hooks";
import { address, get, send, type Usage } from "../api";
import { useAppState } from "../state";
import { count, sentence } from "../text";
import { useManaging, type Managing, type ManageKey } from "./words";

export interface Stage {
  name: string;
  total: number;
  done: number;
  remaining_seconds: number | null;
}

export interface Failure {
  stage: string;
  error: string;
  document: string;
}

export interface Skipped {
  document: string;
  reason: string;
  kind: string;
}

export interface Job {
  id: string;
  kind: "build" | "corrections";
  state: "running" | "done" | "failed" | "cancelled" | "lost";
  stages: Stage[];
  notes: string[];
  usage: Partial<Usage>;
  result: { snapshot?: string; skipped?: Skipped[]; failures?: Failure[]; notices?: string[] };
  error: string;
  started: number;
  seconds: number;
}

/**
 * Return the newest job of an index, whoever started it, and what follows another one.
 *
 * `refresh` reads the indexes again before the end of a job is shown: it is shown with counts and links of the new
 * snapshot.
 */
export function useJob(index: string | undefined, refresh: () => Promise<void>) {
  const [job, setJob] = useState<Job | null>(null);
  useEffect(() => {
    setJob(null);
    if (!index) return;
    const controller = new AbortController();
    // without it the pages do as well: whoever starts a job is told that another one is running
    get<Job[]>(address("/api/jobs", index), controller.signal).then((rows) => setJob(rows[0] ?? null), () => {});
    return () => controller.abort();
  }, [index]);
  useEffect(() => {
    if (job?.state !== "running") return;
    let followed = true;
    const source = new EventSource(`/api/jobs/${job.id}/events`);
    source.addEventListener("job", (event) => {
      const now = JSON.parse((event as MessageEvent<string>).data) as Job;
      if (now.state === "running") return setJob(now);
      source.close();
      void refresh().then(() => followed && setJob(now));
    });
    source.onerror = () => {
      // a server that was started again does not know the job; while it is away the browser asks again
      if (source.readyState === EventSource.CLOSED) setJob({ ...job, state: "lost" });
    };
    return () => {
      followed = false;
      source.close();
    };
  }, [job?.id, job?.state]);
  return { job, follow: setJob };
}

const STAGES: Record<string, ManageKey> = {
  read: "stageRead",
  lexicon: "stageLexicon",
  extract: "stageExtract",
  resolve: "stageResolve",
  merge: "stageMerge",
  communities: "stageCommunities",
  describe: "stageDescribe",
  reports: "stageReports",
  lexical: "stageLexical",
  embed: "stageEmbed",
};

/** The stages of a running job with the time that is left, and a button that cancels it. */
export function JobProgress({ job }: { job: Job }) {
  const words = useManaging();
  const [cancelling, setCancelling] = useState(false);
  const now = job.stages.length - 1;
  const name = (stage: Stage) => (STAGES[stage.name] ? words(STAGES[stage.name]!) : stage.name);
  const spent = job.usage.calls ? [
    words("calls", count(job.usage.calls)),
    words("tokens", count((job.usage.prompt_tokens ?? 0) + (job.usage.completion_tokens ?? 0))),
    ...(job.usage.cost ? [money(job.usage.cost, words)] : []),
  ] : [];
  return (
    <section class="job" aria-labelledby="job">
      <h2 id="job" tabIndex={-1}>{words(job.kind === "build" ? "indexing" : "applying")}</h2>
      {now < 0 && <p class="note">{words("starting")}</p>}
      <ol class="stages">
        {job.stages.map((stage, i) => (
          <li class={i < now ? "over" : "present"} aria-current={i === now ? "step" : undefined}>
            <span class="stage">{name(stage)}</span>
            <span class="note amount">
              {stage.total > 0 && (i < now ? count(stage.total) : words("ofTotal", count(stage.done), count(stage.total)))}
              {i === now && stage.remaining_seconds !== null && stage.done > 0 && stage.done < stage.total && ` · ${words("timeLeft", duration(stage.remaining_seconds, words))}`}
            </span>
            {i === now && <progress aria-label={name(stage)} max={stage.total || undefined} value={stage.total ? Math.min(stage.done, stage.total) : undefined} />}
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">{now >= 0 && name(job.stages[now]!)}</p>
      {spent.length > 0 && <p class="note">{spent.join(" · ")}</p>}
      <p>
        <button
          type="button"
          disabled={cancelling}
          onClick={() => {
            setCancelling(true);
            send("DELETE", `/api/jobs/${job.id}`).catch(() => setCancelling(false));
          }}
        >
          {words(cancelling ? "cancelling" : "cancel")}
        </button>{" "}
        <span class="note">{words("cancelHelp")}</span>
      </p>
    </section>
  );
}

/** How a job ended where it made nothing. */
export function JobEnd({ job }: { job: Job }) {
  const words = useManaging();
  if (job.state === "cancelled") return <p class="outcome" role="status">{words("cancelled")}</p>;
  if (job.state === "lost") return <p class="outcome wrong" role="alert">{words("lost")}</p>;
  return (
    <div class="outcome wrong" role="alert">
      <p><strong>{words("failed")}</strong></p>
      <p class="lines-kept">{sentence(job.error)}</p>
    </div>
  );
}

/** Whether a job of the index is running, so that no other one can start. */
export function useRunning(): Job | null {
  const { job } = useAppState();
  return job?.state === "running" ? job : null;
}

/** A time as people say it: "about 3 minutes"; seconds are not counted out. */
export function duration(seconds: number, words: Managing): string {
  if (seconds < 10) return words("fewSeconds");
  if (seconds < 55) return words("someSeconds", Math.ceil(seconds / 10) * 10);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return words(minutes > 1 ? "someMinutes" : "oneMinute", minutes);
  return words("someHours", (seconds / 3600).toLocaleString(words.language, { maximumFractionDigits: 1 }));
}

export function money(dollars: number, words: Managing): string {
  const shown = dollars.toLocaleString(words.language, { minimumFractionDigits: 2, maximumFractionDigits: dollars < 0.1 ? 4 : 2 });
  return words("dollars", shown);
}

export function bytes(size: number, words: Managing): string {
  const [value, unit] = size < 1000 ? [size, "B"] : size < 1e6 ? [size / 1e3, "kB"] : [size / 1e6, "MB"];
  return `${value.toLocaleString(words.language, { maximumFractionDigits: unit === "B" || value >= 100 ? 0 : 1 })} ${unit}`;
}
