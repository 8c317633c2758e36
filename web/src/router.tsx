/**
 * Addresses: every page has one, links are plain `<a href>`, and the browser's back button works. Going back leads to
 * where one was: the position and the focused element are kept with the entry of the history.
 */
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface Location {
  path: string;
  query: URLSearchParams;
  /** Counts changes of the page that move the focus; replacing the address is none. */
  visit: number;
}

interface Left {
  y?: number;
  focus?: string;
}

/** Milliseconds in which a page that loads may grow to the height at which it was left. */
const RESTORE_MS = 2_000;
const listeners = new Set<() => void>();
let visit = 0;
window.history.scrollRestoration = "manual";

/** The path stays encoded: a name of a file may hold any character, `/` among them, and is decoded by its page. */
export function currentLocation(): Location {
  return { path: window.location.pathname, query: new URLSearchParams(window.location.search), visit };
}

/** Decode a part of a path; one that was not encoded properly is taken as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address from which the present page was opened in this visit, "" where it was opened otherwise. */
let openedFrom = "";

/** Go back to an address: by the history where the page was opened from there, so that position and focus are too. */
function back(to: string) {
  if (openedFrom === to) window.history.back();
  else navigate(to);
}

/** Go to an address of the app; `replace` leaves no entry in the history. */
export function navigate(to: string, { replace = false } = {}) {
  if (replace) {
    window.history.replaceState(window.history.state, "", to);
  } else {
    remember();
    openedFrom = window.location.pathname + window.location.search;
    window.history.pushState(null, "", to);
    visit++;
  }
  for (const listener of listeners) listener();
  if (!replace) window.scrollTo(0, 0);
}

function remember() {
  const left: Left = { y: window.scrollY, focus: document.activeElement?.id ?? "" };
  window.history.replaceState(left, "");
}

export function useLocation(): Location {
  const [location, setLocation] = useState(currentLocation);
  useEffect(() => {
    const update = () => setLocation(currentLocation());
    const moved = (event: PopStateEvent) => {
      visit++;
      openedFrom = "";
      update();
      restore((event.state ?? {}) as Left);
    };
    listeners.add(update);
    window.addEventListener("popstate", moved);
    window.addEventListener("pagehide", remember);
    if (window.history.state) restore(window.history.state as Left); // the page was loaded again
    return () => {
      window.removeEventListener("pagehide", remember);
      listeners.delete(update);
      window.removeEventListener("popstate", moved);
    };
  }, []);
  return location;
}

/** Return to the position and the focus with which a page was left, as soon as the page is there. */
function restore({ y = 0, focus = "" }: Left) {
  const began = performance.now();
  const here = visit;
  const attempt = () => {
    if (visit !== here) return;
    const element = focus ? document.getElementById(focus) : null;
    const high = document.documentElement.scrollHeight - window.innerHeight >= y;
    if ((high && (element || !focus)) || performance.now() - began > RESTORE_MS) {
      element?.focus({ preventScroll: true });
      window.scrollTo(0, y);
    } else {
      requestAnimationFrame(attempt);
    }
  };
  requestAnimationFrame(attempt);
}

/** A link within the app; with a modifier key it opens a new tab as any link does. */
export function Link(props: {
  href: string;
  children: ComponentChildren;
  class?: string | undefined;
  current?: boolean;
  title?: string | undefined;
  id?: string;
  label?: string;
  onMarked?: (marked: boolean) => void;
  /** Whether it leads back to where one may have come from. */
  back?: boolean;
}) {
  const { onMarked } = props;
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    (event.currentTarget as HTMLElement).focus(); // to be found again on the way back; some browsers do not focus links
    (props.back ? back : navigate)(props.href);
  };
  const marking = onMarked && {
    onMouseEnter: () => onMarked(true),
    onMouseLeave: () => onMarked(false),
    onFocus: () => onMarked(true),
    onBlur: () => onMarked(false),
  };
  return (
    <a
      href={props.href}
      id={props.id}
      class={props.class}
      title={props.title}
      aria-label={props.label}
      aria-current={props.current ? "page" : undefined}
      onClick={follow}
      {...marking}
    >
      {props.children}
    </a>
  );
}
