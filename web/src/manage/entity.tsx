/** Corrections of one entity: merging, renaming, its type, deleting it, and aliases that are not its own. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { address, get, type EntityRow } from "../api";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { addCorrection, isAbout, loadCorrections, said, undoCorrection, type NewCorrection } from "./corrections";
import { ActionDialog, usePath, useSay } from "./frame";
import { useRunning } from "./job";
import { useManaging, type ManageKey, type Managing as Words } from "./words";
import "./manage.css";

type Asked = "merge" | "rename" | "retype" | "delete" | { alias: string };

interface Join {
  name: string;
  rule: string;
  evidence: string;
}

const RULES: Record<string, ManageKey> = {
  acronym: "ruleBrackets",
  gloss: "ruleBrackets",
  "title or legal form": "ruleTitle",
  initials: "ruleInitials",
  "last name": "ruleLastName",
  "short name": "ruleShortName",
  "short form": "ruleShortForm",
};

function why(join: Join | undefined, words: Words): string {
  if (!join) return words("ruleSpelling");
  const number = /\d+/.exec(join.evidence)?.[0] ?? "1"; // of sources, or of the correction
  if (join.rule === "person") return words("rulePerson", number);
  // the evidence is in English, and more exact than what is said of its rule
  const known = RULES[join.rule];
  return known && !(words.language === "en" && join.evidence) ? words(known, number) : join.evidence || join.rule;
}

/** The aliases of an entity, why each was joined, and the corrections that the next build makes of it. */
export function EntityCorrections({ entity, joins }: { entity: EntityRow; joins: Join[] }) {
  const words = useManaging();
  const say = useSay();
  const path = usePath();
  const { index } = useAppState();
  const running = useRunning() !== null;
  const [asked, setAsked] = useState<Asked | null>(null);
  const [read, setRead] = useState(0);
  const [note, setNote] = useState("");
  const [problem, setProblem] = useState("");
  const status = useRef<HTMLDivElement>(null);
  const { value } = useLoaded((signal) => loadCorrections(index.name, signal), [index.name, index.snapshot, read], { keep: true });
  const names = [entity.name, ...entity.aliases];
  const waiting = (value ?? []).filter((row) => (row.state === "waiting" || row.state === "undone") && isAbout(row, names));
  const joinOf = new Map(joins.map((join) => [join.name, join]));

  const add = async (body: NewCorrection) => {
    await addCorrection(index.name, body);
    setNote(words("saved"));
    setProblem("");
    setRead(read + 1);
    window.setTimeout(() => status.current?.focus()); // after the dialog has given the focus back
  };
  const undo = async (number: number) => {
    try {
      await undoCorrection(index.name, number);
      setNote(words("undone"));
      setProblem("");
      setRead(read + 1);
      status.current?.focus();
    } catch (error) {
      setProblem(say(error));
    }
  };
  const close = () => setAsked(null);
  return (
    <>
      <div class="correcting" ref={status} tabIndex={-1} aria-label={words("corrections")} role="group">
        {!index.read_only && (
          <div class="buttons">
            <span class="note">{words("correct")}</span>
            {(["merge", "rename", "retype", "delete"] as const).map((kind) => (
              <button type="button" class="quiet" onClick={() => setAsked(kind)}>{words(`${kind}Button`)}</button>
            ))}
          </div>
        )}
        <p class="hidden" role="status">{note}</p>
        {problem && <p class="outcome wrong" role="alert">{problem}</p>}
        {waiting.length > 0 && (
          <div class="outcome">
            <p><strong>{words(running ? "beingApplied" : "waitsHere")}</strong> <Link href={path("/corrections")}>{words("toCorrections")}</Link></p>
            <ul class="corrected">
              {waiting.map((row) => (
                <li key={`${row.number}${row.state}`}>
                  <p class={row.state === "undone" ? "taken-back" : ""}>{row.state === "undone" && <span class="badge">{words("takenBack")}</span>} {said(row, words)}</p>
                  {row.state === "waiting" && !index.read_only && (
                    <button type="button" disabled={running} aria-label={`${words("undo")}: ${said(row, words)}`} onClick={() => undo(row.number)}>{words("undo")}</button>
                  )}
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {entity.aliases.length > 0 && (
        <section>
          <h2>{words("aliases")}</h2>
          <ul class="aliases">
            {entity.aliases.map((alias) => {
              const join = joinOf.get(alias);
              const made = join?.rule === "person" ? /^correction (\d+)/.exec(join.evidence)?.[1] : undefined;
              const applied = made && (value ?? []).some((row) => row.number === Number(made) && row.state !== "undone");
              return (
                <li>
                  <span class="alias">{alias}</span>
                  <span class="note">{why(join, words)}</span>
                  {!index.read_only && applied && (
                    <button type="button" class="quiet" aria-label={words("undoNumber", made)} onClick={() => undo(Number(made))}>{words("undo")}</button>
                  )}
                  {!index.read_only && join && join.rule !== "person" && !waiting.some((row) => row.kind === "split" && row.into === alias) && (
                    <button type="button" class="quiet" aria-label={words("splitLabel", alias)} onClick={() => setAsked({ alias })}>{words("splitButton")}</button>
                  )}
                </li>
              );
            })}
          </ul>
        </section>
      )}
      {asked === "merge" && <MergeDialog entity={entity} add={add} close={close} />}
      {asked === "rename" && <NameDialog entity={entity} kind="rename" add={add} close={close} />}
      {asked === "retype" && <NameDialog entity={entity} kind="retype" add={add} close={close} />}
      {asked === "delete" && (
        <ActionDialog danger title={words("deleteTitle", entity.name)} action={words("save")} run={() => add({ kind: "delete", name: entity.name })} close={close}>
          <p>{words("deleteWhat", count(entity.degree))}</p>
          <When />
        </ActionDialog>
      )}
      {asked !== null && typeof asked === "object" && (
        <ActionDialog title={words("splitTitle", asked.alias, entity.name)} action={words("save")} run={() => add({ kind: "split", name: entity.name, into: asked.alias })} close={close}>
          <p>{words("splitWhy", why(joinOf.get(asked.alias), words))}</p>
          <p>{words("splitWhat", asked.alias)}</p>
          <When />
        </ActionDialog>
      )}
    </>
  );
}

/** When it takes effect: nothing changes at once. */
function When() {
  return <p class="note">{useManaging()("when")}</p>;
}

interface Dialog {
  entity: EntityRow;
  add: (body: NewCorrection) => Promise<void>;
  close: () => void;
}

function NameDialog({ entity, kind, add, close }: Dialog & { kind: "rename" | "retype" }) {
  const words = useManaging();
  const { index } = useAppState();
  const before = kind === "rename" ? entity.name : entity.type;
  const [value, setValue] = useState(before);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const rows = useLoaded<EntityRow[]>(
    (signal) => (kind === "retype" ? get(address("/api/entities", index.name, { limit: 500 }), signal) : Promise.resolve([])),
    [index.name],
  );
  const types = [...new Set(rows.value?.map((row) => row.type).filter(Boolean))].sort();
  useEffect(() => input.current?.select(), []);
  const text = value.trim();
  const body: NewCorrection = kind === "rename" ? { kind, name: entity.name, to: text } : { kind, name: entity.name, type: text };
  return (
    <ActionDialog title={words(`${kind}Title`, entity.name)} action={words("save")} ready={text !== "" && text !== before} run={() => add(body)} close={close}>
      <label>
        {words(kind === "rename" ? "newName" : "newType")}
        <input ref={input} value={value} maxLength={500} autocomplete="off" list={kind === "retype" ? list : undefined} onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      {kind === "retype" && <datalist id={list}>{types.map((type) => <option value={type} />)}</datalist>}
      <p>{words(`${kind}What`, entity.name)}</p>
      <When />
    </ActionDialog>
  );
}

/** Rows that the picker shows. */
const CHOICES = 8;

function MergeDialog({ entity, add, close }: Dialog) {
  const words = useManaging();
  const { index } = useAppState();
  const [wanted, setWanted] = useState("");
  const [active, setActive] = useState(0);
  const [chosen, setChosen] = useState<EntityRow | null>(null);
  const [into, setInto] = useState(entity.name);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const { value } = useLoaded<EntityRow[]>(
    (signal) => get(address("/api/entities", index.name, { q: wanted.trim(), limit: CHOICES + 1 }), signal),
    [index.name, wanted],
    { keep: true },
  );
  const rows = (value ?? []).filter((row) => row.number !== entity.number).slice(0, CHOICES);
  const choose = (row: EntityRow) => {
    setChosen(row);
    // the name that is used more stays, unless somebody says otherwise
    setInto(row.frequency > entity.frequency ? row.name : entity.name);
  };
  const again = () => {
    setChosen(null);
    window.setTimeout(() => field.current?.focus());
  };
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (chosen) first.current?.focus();
    else field.current?.focus();
  }, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setActive(rows.length ? (active + step + rows.length) % rows.length : 0);
    } else if (event.key === "Enter") {
      event.preventDefault(); // it chooses; sending comes after
      if (rows[active]) choose(rows[active]);
    }
  };
  return (
    <ActionDialog
      title={words("mergeTitle", entity.name)}
      action={words("save")}
      ready={chosen !== null}
      run={() => add({ kind: "merge", names: into === entity.name ? [entity.name, chosen!.name] : [chosen!.name, entity.name], into })}
      close={close}
    >
      {!chosen && (
        <>
          <label for={`${id}q`}>{words("mergeWith")}</label>
          <input
            id={`${id}q`}
            ref={field}
            type="text"
            role="combobox"
            aria-expanded={rows.length > 0}
            aria-controls={`${id}list`}
            aria-autocomplete="list"
            aria-activedescendant={rows[active] ? `${id}-${rows[active].number}` : undefined}
            autocomplete="off"
            maxLength={500}
            placeholder={words("searchName")}
            value={wanted}
            onInput={(event) => {
              setWanted(event.currentTarget.value);
              setActive(0);
            }}
            onKeyDown={onKey}
          />
          <ul class="picker" id={`${id}list`} role="listbox" aria-label={words("mergeWith")}>
            {rows.map((row, i) => (
              <li id={`${id}-${row.number}`} role="option" aria-selected={i === active} onClick={() => choose(row)} onMouseMove={() => setActive(i)}>
                <span>{row.name}</span>
                <span class="note">{[row.type, words("relations", count(row.degree))].filter(Boolean).join(" · ")}</span>
              </li>
            ))}
          </ul>
          {value && rows.length === 0 && <p class="note" role="status">{words("nobody")}</p>}
        </>
      )}
      {chosen && (
        <fieldset>
          <legend>{words("whichName")}</legend>
          {[entity.name, chosen.name].map((name) => (
            <label class="check">
              <input ref={into === name ? first : undefined} type="radio" name={`${id}into`} checked={into === name} onChange={() => setInto(name)} /> {name}
            </label>
          ))}
          <button type="button" class="plain" onClick={again}>{words("chooseOther")}</button>
        </fieldset>
      )}
      <p>{chosen ? words("mergeWhat", into === entity.name ? chosen.name : entity.name) : words("mergeHelp")}</p>
      <When />
    </ActionDialog>
  );
}
