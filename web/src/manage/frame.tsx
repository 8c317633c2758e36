/** What the pages that change an index share: their tabs, dialogs, and what a read-only server says. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { address, ApiError } from "../api";
import { useWords } from "../messages";
import { Link } from "../router";
import { useAppState } from "../state";
import { useManaging, type ManageKey } from "./words";
import "./manage.css";

const TABS: { path: string; key: ManageKey }[] = [
  { path: "/build", key: "indexingTab" },
  { path: "/corrections", key: "corrections" },
  { path: "/snapshots", key: "snapshots" },
];

/** A page with the tabs of all that change an index; a folder without an index has but one of them. */
export function Managing(props: { at: string; title: string; lead: ComponentChildren; children: ComponentChildren }) {
  const words = useManaging();
  const { index } = useAppState();
  return (
    <div class="managing">
      {index.exists && (
        <nav class="tabs" aria-label={useWords()("manage")}>
          {TABS.map(({ path, key }) => <Link href={address(path, named(index.name))} current={path === props.at}>{words(key)}</Link>)}
        </nav>
      )}
      <h1>{props.title}</h1>
      <p class="lead">{props.lead}</p>
      {index.read_only && <p class="readonly">{words("readOnly")}</p>}
      {props.children}
    </div>
  );
}

/** The name of an index where addresses say it: a server of one index does without. */
function named(name: string): string {
  return new URLSearchParams(window.location.search).has("index") ? name : "";
}

/** Where the pages of an index are, from those that change it. */
export function usePath(): (path: string, parameters?: Record<string, string | number>) => string {
  const { index } = useAppState();
  return (path, parameters = {}) => address(path, named(index.name), parameters);
}

/** Say an error of the server, or that there is none to answer. */
export function useSay(): (error: unknown) => string {
  const words = useWords();
  return (error) => {
    if (!(error instanceof ApiError)) return words("unreachable");
    const text = error.message;
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?。]$/.test(text) ? "" : "."}`;
  };
}

/**
 * A dialog that does something when its form is sent, and stays open with the reason where that fails.
 *
 * The browser keeps the focus within it, closes it with Escape, and returns the focus to where it was.
 */
export function ActionDialog(props: {
  title: string;
  action: string;
  run: () => Promise<void>;
  close: () => void;
  ready?: boolean;
  danger?: boolean;
  children: ComponentChildren;
}) {
  const words = useManaging();
  const say = useSay();
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="action" aria-labelledby="action" ref={dialog} onClose={props.close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (busy || props.ready === false) return;
          setBusy(true);
          setProblem("");
          try {
            await props.run();
            dialog.current?.close();
          } catch (error) {
            setProblem(say(error));
          }
          setBusy(false);
        }}
      >
        <h2 id="action">{props.title}</h2>
        {props.children}
        <p class="error" role="alert">{problem}</p>
        <div class="buttons">
          <button type="submit" class={props.danger ? "danger" : "primary"} disabled={busy || props.ready === false}>{props.action}</button>
          <button type="button" onClick={() => dialog.current?.close()}>{words("cancel")}</button>
        </div>
      </form>
    </dialog>
  );
}
