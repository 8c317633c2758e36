/** What every page knows: the indexes that are served, and the one that is looked at. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { IndexSummary } from "./api";
import type { Job } from "./manage/job";

export interface State {
  indexes: IndexSummary[];
  index: IndexSummary;
  /** The newest job of the index, which may have ended. */
  job: Job | null;
  /** Follow a job that was started; the indexes are read again at its end. */
  follow: (job: Job | null) => void;
  /** Read the indexes again: a build, a correction or a rollback made another snapshot. */
  refresh: () => Promise<void>;
}

export const AppState = createContext<State | null>(null);
export const useAppState = () => useContext(AppState)!;

export type Loaded<T> = { value?: T; error?: Error };
/** What was loaded, and what puts a newer value in its stead. */
export type Replaceable<T> = Loaded<T> & { replace: (value: T) => void };

/**
 * Load something when the page or one of its inputs changes; what is no longer wanted is given up.
 *
 * `keep` shows the value before until the next one is there: a list that is searched does not jump at every key.
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: unknown[], { keep = false } = {}): Replaceable<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  useEffect(() => {
    const controller = new AbortController();
    if (!keep) setLoaded({});
    load(controller.signal).then(
      (value) => !controller.signal.aborted && setLoaded({ value }),
      (error: Error) => !controller.signal.aborted && setLoaded((before) => (keep && before.value ? { value: before.value, error } : { error })),
    );
    return () => controller.abort();
  }, inputs);
  return { ...loaded, replace: (value: T) => setLoaded({ value }) };
}
