/** The corrections of an index: what the next build applies, what was applied, and the way to undo each. */
import { useRef, useState } from "preact/hooks";
import { address, get, send } from "../api";
import { Loading, Problem } from "../notices";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { Managing, usePath, useSay } from "./frame";
import { JobEnd, JobProgress, useRunning, type Job } from "./job";
import { useManaging, type ManageKey, type Managing as Words } from "./words";

export type Kind = "merge" | "split" | "rename" | "retype" | "delete" | "add-fact";

export interface Correction {
  number: number;
  kind: Kind;
  /** In English, as the command line says it. */
  text: string;
  state: "applied" | "waiting" | "failing" | "undone";
  reason: string;
  date: string;
  author: string;
  note: string;
  name?: string;
  names?: string[];
  into?: string;
  to?: string;
  type?: string;
  documents?: string[];
  source?: string;
  target?: string;
  description?: string;
}

/** What a correction takes of its kind. */
export type NewCorrection = Pick<Correction, "kind"> & Partial<Pick<Correction, "name" | "names" | "into" | "to" | "type" | "documents" | "note">>;

export const loadCorrections = (index: string, signal?: AbortSignal) => get<Correction[]>(address("/api/corrections", index), signal);
export const addCorrection = (index: string, body: NewCorrection) => send<Correction>("POST", address("/api/corrections", index), body);
export const undoCorrection = (index: string, number: number) => send<void>("DELETE", address(`/api/corrections/${number}`, index));

/** A correction as a sentence. */
export function said(row: Correction, words: Words): string {
  switch (row.kind) {
    case "merge":
      return words("saidMerge", listed((row.names ?? []).filter((name) => name !== row.into), words), row.into ?? "");
    case "split":
      return row.documents?.length
        ? words("saidSplit", row.name!, row.documents.join(words("comma")), row.into!)
        : words("saidAlias", row.into!, row.name!);
    case "rename":
      return words("saidRename", row.name!, row.to!);
    case "retype":
      return words("saidRetype", row.name!, row.type!);
    case "delete":
      return words("saidDelete", row.name!);
    default:
      return words("saidFact", row.source!, row.target!, row.description!);
  }
}

function listed(names: string[], words: Words): string {
  return names.map((name) => words("quoted", name)).join(words("comma"));
}

/** Whether a correction that the next build applies is about an entity. */
export function isAbout(row: Correction, names: string[]): boolean {
  const own = new Set(names);
  return [row.name, row.into, row.source, row.target, ...(row.names ?? [])].some((name) => name !== undefined && own.has(name));
}

export function CorrectionsPage() {
  const words = useManaging();
  const path = usePath();
  const say = useSay();
  const { index, job, follow } = useAppState();
  const running = useRunning();
  const [read, setRead] = useState(0);
  const [note, setNote] = useState("");
  const [problem, setProblem] = useState("");
  const [began, setBegan] = useState("");
  const first = useRef<HTMLHeadingElement>(null);
  const { value, error } = useLoaded<Correction[]>((signal) => loadCorrections(index.name, signal), [index.name, index.snapshot, read], { keep: true });
  const of = (...states: Correction["state"][]) => value?.filter((row) => states.includes(row.state)) ?? [];
  const next = of("waiting", "undone");

  const change = async (row: Correction) => {
    setProblem("");
    setBegan("");
    try {
      if (row.state === "undone") await addCorrection(index.name, remade(row));
      else await undoCorrection(index.name, row.number);
      setNote(words(row.state === "waiting" ? "removedIt" : row.state === "undone" ? "addedAgain" : "undoneIt", said(row, words)));
      setRead(read + 1);
      first.current?.focus();
    } catch (failure) {
      setProblem(say(failure));
    }
  };
  const apply = async () => {
    setProblem("");
    setNote("");
    try {
      const started = await send<Job>("POST", address("/api/corrections/apply", index.name));
      setBegan(started.id);
      follow(started);
    } catch (failure) {
      setProblem(say(failure));
    }
  };
  const ended = job && job.id === began && job.state !== "running" ? job : null;
  return (
    <Managing at="/corrections" title={words("corrections")} lead={words("correctionsLead")}>
      {error && !value && <Problem error={error} />}
      {!value && !error && <Loading />}
      {value && value.length === 0 && (
        <div class="nothing">
          <p><strong>{words("noCorrections")}</strong></p>
          <p>{words(index.read_only ? "noCorrectionsRead" : "noCorrectionsHelp")} <Link href={path("/entities")}>{words("toEntities")}</Link></p>
        </div>
      )}
      <p class={note ? "outcome" : "hidden"} role="status">{note}</p>
      {problem && <p class="outcome wrong" role="alert">{problem}</p>}
      {ended?.state === "done" && <p class="outcome" role="status">{words("appliedNow", count(index.entities), count(index.reports))}</p>}
      {ended && ended.state !== "done" && <JobEnd job={ended} />}
      {running && <JobProgress job={running} />}
      {value && (
        <>
          <section hidden={!next.length && !note}>
            <h2 tabIndex={-1} ref={first}>{words(running ? "beingApplied" : "nextBuild")} <span class="note">{count(next.length)}</span></h2>
            {next.length > 0 && <Rows rows={next} change={change} fixed={running !== null} />}
            {!next.length && <p class="note">{words("nothingWaits")}</p>}
            {next.length > 0 && !index.read_only && !running && (
              <p class="apply">
                <button type="button" class="primary" onClick={apply}>{words("applyNow")}</button>
                <span class="note">{words("applyHelp")}</span>
              </p>
            )}
          </section>
          <Section title={words("failing")} help={words("failingHelp")} rows={of("failing")} change={change} />
          <Section title={words("appliedTitle")} rows={of("applied")} change={change} />
        </>
      )}
    </Managing>
  );
}

function Section({ title, help, rows, change }: { title: string; help?: string; rows: Correction[]; change: (row: Correction) => void }) {
  if (!rows.length) return null;
  return (
    <section>
      <h2>{title} <span class="note">{count(rows.length)}</span></h2>
      {help && <p class="note">{help}</p>}
      <Rows rows={rows} change={change} />
    </section>
  );
}

const UNDO: Record<Correction["state"], ManageKey> = { waiting: "remove", applied: "undo", failing: "undo", undone: "again" };

/** What the entity of a correction is called after it. */
const nameNow = (row: Correction) => row.to ?? (row.into || (row.name ?? row.source ?? ""));

/** Rows with the way to undo each; not while a build applies them: it has read them already. */
function Rows({ rows, change, fixed = false }: { rows: Correction[]; change: (row: Correction) => void; fixed?: boolean }) {
  const words = useManaging();
  const path = usePath();
  const { index } = useAppState();
  return (
    <ul class="corrected">
      {rows.map((row) => (
        <li key={`${row.number}${row.state}`}>
          <div>
            <p class={row.state === "undone" ? "taken-back" : ""}>
              {row.state === "undone" && <span class="badge">{words("takenBack")}</span>} {said(row, words)}
            </p>
            {row.reason && <p class="error">{row.reason}</p>}
            <p class="note">
              {[words("numbered", row.number), row.date, row.author, row.note].filter(Boolean).join(" · ")}
              {row.state === "applied" && row.kind !== "delete" && <> · <Link href={path("/entities", { q: nameNow(row) })} label={`${words("show")}: ${nameNow(row)}`}>{words("show")}</Link></>}
            </p>
          </div>
          {!index.read_only && !(row.state === "undone" && row.kind === "add-fact") && (
            <button type="button" disabled={fixed} aria-label={`${words(UNDO[row.state])}: ${said(row, words)}`} onClick={() => change(row)}>{words(UNDO[row.state])}</button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** A correction that was undone, as a new one. */
function remade({ kind, name, names, into, to, type, documents, note }: Correction): NewCorrection {
  const fields = { name, names, into, to, type, documents, note };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value.length > 0);
  return { kind, ...Object.fromEntries(given) };
}
