/** The REST API of the server: one typed function per route, and the stream of an answer. */

export interface IndexSummary {
  name: string;
  exists: boolean;
  read_only: boolean;
  snapshot: string;
  model: string;
  documents: number;
  entities: number;
  reports: number;
}

export interface ReportNode {
  number: number;
  community: number;
  level: number;
  title: string;
  rating: number;
  size: number;
  below: ReportNode[];
}

export interface ReportLink {
  number: number;
  title: string;
  level: number;
  rating: number;
}

export interface Finding {
  summary: string;
  explanation: string;
}

export interface Report {
  id: string;
  number: number;
  community: number;
  level: number;
  title: string;
  summary: string;
  rating: number;
  rating_explanation: string;
  findings: Finding[];
  size: number;
}

export interface EntityRow {
  number: number;
  name: string;
  type: string;
  degree: number;
  frequency: number;
  description: string;
  aliases: string[];
}

export interface ReportPage {
  report: Report;
  above: ReportLink | null;
  below: ReportLink[];
  entities: EntityRow[];
  /** The summary and the findings, with `[1]` in the place of references. */
  linked: { text: string; citations: Citation[] }[];
}

export interface Source {
  document: string;
  /** The number of the document, where the index has it. */
  number?: number | null;
  start: number;
  end: number;
  text: string;
  place: string;
}

export interface Citation {
  marker: number;
  kind: string;
  id: string;
  title: string;
  /** The number of the report or entity that it leads to. */
  number?: number | null;
  sources: Source[];
}

export interface Usage {
  calls: number;
  cached_calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: number;
}

export interface Answer {
  id: string;
  index: string;
  snapshot: string;
  question: string;
  text: string;
  method: string;
  why: string;
  citations: Citation[];
  notices: string[];
  removed_references: number;
  context_tokens: number;
  usage: Usage;
  seconds: number;
  language: string;
}

export interface DocumentRow {
  number: number;
  title: string;
  path: string;
  date: string | null;
  language: string;
  characters: number;
}

export interface DocumentPage {
  document: DocumentRow;
  metadata: Record<string, string>;
  start: number;
  end: number;
  text: string;
  mentions: { start: number; end: number; entity: number }[];
}

/** A method of answering, in a few words what it does, and what it needs that is not there. */
export interface MethodRow {
  name: string;
  help: string;
  lacks: ("model" | "vectors")[];
}

/** What an answer would take: calls and tokens as ranges; `estimate` is null where no language model would be asked. */
export interface AnswerEstimate {
  method: string;
  why: string;
  estimate: {
    calls: [low: number, high: number];
    tokens: [low: number, high: number];
    cost: [low: number, high: number] | null;
    likely_tokens: number;
    likely_cost: number | null;
  } | null;
}

/** What an answer was written from, window by window. */
export interface AnswerContext {
  tokens: number;
  windows: string[];
}

/** What the server answered instead of a result; `message` can be shown as it is. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The name that was not found, and those that are spelt like it. */
    readonly name = "",
    readonly near: string[] = [],
  ) {
    super(message);
  }
}

/** The address of a route with the index and further parameters; empty ones are left out. */
export function address(path: string, index: string, parameters: Record<string, string | number | undefined> = {}) {
  const query = new URLSearchParams();
  if (index) query.set("index", index);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ApiError(response.status, body?.error?.message ?? `${response.status} ${response.statusText}`, body?.error?.name, body?.error?.near);
}

/** Rows of one response at most. */
export const MAX_ROWS = 500;

/** The first rows of a list that match a search, in as many requests as they take. */
export async function rowsOf<T>(path: string, index: string, q: string, most: number, signal: AbortSignal): Promise<T[]> {
  const starts = Array.from({ length: Math.ceil(most / MAX_ROWS) }, (_, i) => i * MAX_ROWS);
  const part = (offset: number) => get<T[]>(address(path, index, { q, offset, limit: Math.min(MAX_ROWS, most - offset) }), signal);
  return (await Promise.all(starts.map(part))).flat();
}

/** How many rows are shown after "Show more". */
export const moreThan = (shown: number) => (shown < MAX_ROWS ? MAX_ROWS : shown + MAX_ROWS);

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await checked(await fetch(path, { signal: signal ?? null }))).json() as Promise<T>;
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await checked(await fetch(path, init));
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export interface ServerEvent {
  event: string;
  data: unknown;
}

/** Read the server-sent events of a response to POST, which `EventSource` cannot send. */
export async function* events(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await checked(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    let end: number;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const block = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      const event = /^event: (.*)$/m.exec(block)?.[1] ?? "message";
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? "null";
      yield { event, data: JSON.parse(data) };
    }
  }
}
