/** The snapshots that an index keeps, and the way back to one of them. */
import { useRef, useState } from "preact/hooks";
import { address, get, send, type Usage } from "../api";
import { Loading, Problem } from "../notices";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { ActionDialog, Managing } from "./frame";
import { money, useRunning } from "./job";
import { useManaging, type ManageKey, type Managing as Words } from "./words";

interface Snapshot {
  snapshot: string;
  current: boolean;
  created: string;
  before: string;
  documents: number;
  entities: number;
  relationships: number;
  reports: number;
  failures: number;
  usage: Usage;
  cost: number | null;
  changed: string[];
}

const CHANGED: Record<string, ManageKey> = {
  documents: "changedDocuments",
  corrections: "changedCorrections",
  settings: "changedSettings",
};

export function SnapshotsPage() {
  const words = useManaging();
  const { index, refresh } = useAppState();
  const running = useRunning();
  const [chosen, setChosen] = useState<Snapshot | null>(null);
  const [done, setDone] = useState("");
  const [read, setRead] = useState(0);
  const heading = useRef<HTMLParagraphElement>(null);
  const { value, error } = useLoaded<Snapshot[]>(
    (signal) => get(address("/api/snapshots", index.name), signal),
    [index.name, index.snapshot, read],
    { keep: true },
  );
  const rollBack = async () => {
    await send("POST", address(`/api/snapshots/${chosen!.snapshot}/rollback`, index.name));
    setDone(words("rolledBack", time(chosen!.created, words)));
    setRead(read + 1);
    void refresh();
    window.setTimeout(() => heading.current?.focus());
  };
  return (
    <Managing at="/snapshots" title={words("snapshots")} lead={words("snapshotsLead")}>
      <p class={done ? "outcome" : ""} role="status" tabIndex={-1} ref={heading}>{done}</p>
      {error && !value && <Problem error={error} />}
      {!value && !error && <Loading />}
      <ol class="snapshots">
        {value?.map((row) => (
          <li key={row.snapshot} aria-current={row.current ? "true" : undefined}>
            <div class="when">
              <time dateTime={row.created}>{time(row.created, words)}</time>
              <span class="note">{madeBy(row, value, words)}</span>
            </div>
            <dl class="amounts">
              {([["documentsOf", row.documents], ["entitiesOf", row.entities], ["relationshipsOf", row.relationships], ["reportsOf", row.reports]] as const).map(([key, amount]) => (
                <div><dt>{words(key)}</dt><dd>{count(amount)}</dd></div>
              ))}
            </dl>
            <div class="choice">
              {row.current && <span class="badge">{words("present")}</span>}
              {!row.current && !index.read_only && (
                <button type="button" disabled={running !== null} aria-label={`${words("rollBack")} ${time(row.created, words)}`} onClick={() => setChosen(row)}>
                  {words("rollBack")}
                </button>
              )}
            </div>
          </li>
        ))}
      </ol>
      {value?.length === 1 && <p class="note">{words("oneSnapshot")}</p>}
      {running && <p class="note">{words("waitForJob")}</p>}
      {chosen && (
        <ActionDialog title={words("rollBackTo", time(chosen.created, words))} action={words("rollBackNow")} run={rollBack} close={() => setChosen(null)}>
          <p>{words("rollBackWhat", count(chosen.documents), count(chosen.entities), count(chosen.reports))}</p>
          <p>{words("rollBackStays")}</p>
        </ActionDialog>
      )}
    </Managing>
  );
}

/** What made a snapshot, as far as the one before it is kept. */
function madeBy(row: Snapshot, rows: Snapshot[], words: Words): string {
  const known = rows.some(({ snapshot }) => snapshot === row.before);
  const changed = row.changed.flatMap((name) => (CHANGED[name] ? [words(CHANGED[name]!)] : []));
  const why = !row.before ? words("firstBuild") : changed.length ? changed.join(words("comma")) : words(known ? "builtAgain" : "built");
  return [why, ...(row.cost ? [money(row.cost, words)] : []), ...(row.failures ? [words("failuresOf", count(row.failures))] : [])].join(" · ");
}

function time(created: string, words: Words): string {
  return new Date(created).toLocaleString(words.language === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "medium" });
}
