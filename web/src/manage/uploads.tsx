/** Files on their way into an index: dropped or chosen, uploaded a few at a time, and listed with what became of them. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { address, get, send } from "../api";
import { useAppState } from "../state";
import { count } from "../text";
import { useSay } from "./frame";
import { bytes } from "./job";
import { useManaging } from "./words";

export interface Uploads {
  files: { name: string; bytes: number }[];
  folders: string[];
  formats: string[];
  max_bytes: number;
  max_files: number;
}

interface Item {
  name: string;
  bytes: number;
  state: "waiting" | "sending" | "there" | "refused";
  reason: string;
  file?: File;
}

/** Uploads at a time: enough to keep a connection busy, and few enough for a server with a rate limit. */
const AT_ONCE = 3;
/** Files that are listed before "Show more". */
const SHOWN = 200;

export const loadUploads = (index: string, signal?: AbortSignal) => get<Uploads>(address("/api/uploads", index), signal);

/** The files of an index and those on their way; `changed` is called when what a build would read is another. */
export function useUploads(uploads: Uploads | undefined, changed: () => void) {
  const words = useManaging();
  const say = useSay();
  const { index } = useAppState();
  const [items, setItems] = useState<Map<string, Item>>(new Map());
  const queue = useRef<Item[]>([]);
  const sending = useRef(0);
  const here = useRef(true);
  const removed = useRef(new Set<string>()); // a list that was asked for before may come after
  useEffect(() => () => void (here.current = false), []);
  useEffect(() => {
    if (!uploads) return;
    setItems((before) => {
      const files = uploads.files.filter(({ name }) => !removed.current.has(name));
      const next = new Map(files.map((file) => [file.name, { ...file, state: "there", reason: "" } as Item]));
      for (const item of before.values()) if (item.state !== "there") next.set(item.name, item);
      return next;
    });
  }, [uploads]);

  const put = (item: Item) => here.current && setItems((before) => new Map(before).set(item.name, item));
  const refused = (file: File, name: string): string => {
    const suffix = /\.[^.]+$/.exec(name)?.[0].toLowerCase() ?? "";
    if (!uploads!.formats.includes(suffix)) return suffix ? words("formatNotRead", suffix) : words("noSuffix");
    if (file.size > uploads!.max_bytes) return words("tooLarge", bytes(uploads!.max_bytes, words));
    return file.size ? "" : words("emptyFile");
  };
  const upload = async (item: Item): Promise<Item> => {
    for (;;) {
      const response = await fetch(address(`/api/uploads/${encodeURIComponent(item.name)}`, index.name), { method: "PUT", body: item.file! });
      if (response.status === 429) {
        await new Promise((resume) => setTimeout(resume, 1000 * Number(response.headers.get("retry-after") ?? 1)));
        continue;
      }
      const body = await response.json().catch(() => null);
      const { file: _, ...rest } = item;
      if (response.ok) return { ...rest, state: "there", reason: "" };
      return { ...rest, state: "refused", reason: body?.error?.message ?? `${response.status} ${response.statusText}` };
    }
  };
  const pump = () => {
    while (here.current && sending.current < AT_ONCE && queue.current.length) {
      const item = queue.current.shift()!;
      sending.current++;
      put({ ...item, state: "sending" });
      upload(item)
        .catch((error: unknown): Item => ({ ...item, state: "refused", reason: say(error) }))
        .then((after) => {
          sending.current--;
          put(after);
          if (after.state === "there") changed();
          pump();
        });
    }
  };
  const add = (files: [string, File][]) => {
    for (const [name] of files) removed.current.delete(name.normalize("NFC").replaceAll("/", " - "));
    const added = files
      .filter(([name]) => !/(^|\/)\./.test(name)) // hidden files, such as .DS_Store
      .map(([name, file]): Item => {
        const flat = name.normalize("NFC").replaceAll("/", " - ");
        const reason = refused(file, flat);
        return { name: flat, bytes: file.size, state: reason ? "refused" : "waiting", reason, file };
      });
    setItems((before) => new Map([...before, ...added.map((item) => [item.name, item] as const)]));
    queue.current.push(...added.filter((item) => item.state === "waiting"));
    pump();
  };
  const remove = async (item: Item) => {
    if (item.state === "there") {
      await send("DELETE", address(`/api/uploads/${encodeURIComponent(item.name)}`, index.name));
      removed.current.add(item.name);
      changed();
    }
    queue.current = queue.current.filter(({ name }) => name !== item.name);
    setItems((before) => {
      const next = new Map(before);
      next.delete(item.name);
      return next;
    });
  };
  const list = [...items.values()];
  const pending = list.filter(({ state }) => state === "waiting" || state === "sending").length;
  return { items: list, pending, add, remove };
}

/** The files of what was dropped, with those of its folders by their paths. */
async function dropped(data: DataTransfer): Promise<[string, File][]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!entries.length) return [...data.files].map((file) => [file.name, file]);
  const files: [string, File][] = [];
  const walk = async (entry: FileSystemEntry, path: string): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      files.push([path + entry.name, file]);
    } else if (!entry.name.startsWith(".")) {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) break; // a reader returns a hundred at a time
        for (const each of some) await walk(each, `${path}${entry.name}/`);
      }
    }
  };
  for (const entry of entries) await walk(entry, "");
  return files;
}

/** Where files are dropped, on all of the page, and chosen. */
export function DropZone(props: { uploads: Uploads; add: (files: [string, File][]) => void; disabled: boolean }) {
  const { uploads, add, disabled } = props;
  const words = useManaging();
  const [over, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser would open the file
      event.dataTransfer!.dropEffect = disabled ? "none" : "copy";
      setOver(!disabled);
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = async (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      if (!disabled) add(await dropped(event.dataTransfer!));
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("dragleave", onLeave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("dragleave", onLeave);
      window.removeEventListener("drop", onDrop);
    };
  });
  const choose = (input: RefObject<HTMLInputElement | null>) => () => input.current?.click();
  const chosen = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    add([...(input.files ?? [])].map((file) => [file.webkitRelativePath || file.name, file]));
    input.value = ""; // so that the same file can be chosen again
  };
  return (
    <div class={over ? "drop over" : "drop"}>
      <p class="drop-here">{words(over ? "dropNow" : "dropHere")}</p>
      <p class="buttons">
        <button type="button" disabled={disabled} onClick={choose(files)}>{words("chooseFiles")}</button>
        <button type="button" disabled={disabled} onClick={choose(folder)}>{words("chooseFolder")}</button>
      </p>
      <p class="note">{words("formats", bytes(uploads.max_bytes, words))}</p>
      <input ref={files} type="file" multiple accept={uploads.formats.join(",")} hidden aria-label={words("chooseFiles")} onChange={chosen} />
      <input ref={folder} type="file" {...{ webkitdirectory: true }} hidden aria-label={words("chooseFolder")} onChange={chosen} />
      <details class="formats">
        <summary>{words("whichFormats")}</summary>
        <p class="note">{uploads.formats.join(" ")}</p>
      </details>
    </div>
  );
}

/** The files with their sizes; those that are refused come first, with the reason. */
export function FileList(props: { items: Item[]; remove: (item: Item) => Promise<void>; disabled: boolean }) {
  const words = useManaging();
  const say = useSay();
  const [shown, setShown] = useState(SHOWN);
  const [problem, setProblem] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  const rank = (item: Item) => (item.state === "refused" ? 0 : item.state === "there" ? 2 : 1);
  const collator = new Intl.Collator(words.language, { numeric: true });
  const items = [...props.items].sort((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name));
  const there = items.filter(({ state }) => state === "there");
  const refused = items.filter(({ state }) => state === "refused").length;
  const pending = items.length - there.length - refused;
  const total = there.reduce((sum, { bytes: size }) => sum + size, 0);
  const states = { waiting: words("waiting"), sending: words("sending"), there: "", refused: words("refused") };
  return (
    <section class="files">
      <h2 tabIndex={-1} ref={heading}>{words("files")} <span class="note">{there.length > 0 && words("filesOf", count(there.length), bytes(total, words))}</span></h2>
      <p class="note" role="status">
        {[pending > 0 && words("uploading", count(pending)), refused > 0 && words("refusedOf", count(refused))].filter(Boolean).join(" · ")}
      </p>
      {problem && <p class="outcome wrong" role="alert">{problem}</p>}
      <ul>
        {items.slice(0, shown).map((item) => (
          <li key={item.name} class={item.state}>
            <span class="name">{item.name}</span>
            <span class="note amount">{bytes(item.bytes, words)}</span>
            {item.state !== "there" && <span class={item.state === "refused" ? "error reason" : "note reason"}>{[states[item.state], item.reason].filter(Boolean).join(": ")}</span>}
            <button
              type="button"
              class="quiet"
              disabled={props.disabled || item.state === "sending"}
              aria-label={words("removeFile", item.name)}
              onClick={() => {
                setProblem("");
                heading.current?.focus();
                props.remove(item).catch((error: unknown) => setProblem(say(error)));
              }}
            >
              {words("remove")}
            </button>
          </li>
        ))}
      </ul>
      {items.length > shown && <button type="button" onClick={() => setShown(items.length)}>{words("allFiles", count(items.length))}</button>}
    </section>
  );
}
