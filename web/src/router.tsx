/** Addresses: every page has one, links are plain `<a href>`, and the browser's back button works. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface Location {
  path: string;
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

export function currentLocation(): Location {
  return { path: decodeURI(window.location.pathname), query: new URLSearchParams(window.location.search) };
}

/** Go to an address of the app; `replace` leaves no entry in the history. */
export function navigate(to: string, { replace = false } = {}) {
  window.history[replace ? "replaceState" : "pushState"](null, "", to);
  for (const listener of listeners) listener();
  if (!replace) window.scrollTo(0, 0);
}

export function useLocation(): Location {
  const [location, setLocation] = useState(currentLocation);
  useEffect(() => {
    const update = () => setLocation(currentLocation());
    listeners.add(update);
    window.addEventListener("popstate", update);
    return () => {
      listeners.delete(update);
      window.removeEventListener("popstate", update);
    };
  }, []);
  return location;
}

/** A link within the app; with a modifier key it opens a new tab as any link does. */
export function Link(props: { href: string; children: ComponentChildren; class?: string; current?: boolean; title?: string }) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(props.href);
  };
  return (
    <a
      href={props.href}
      class={props.class}
      title={props.title}
      aria-current={props.current ? "page" : undefined}
      onClick={follow}
    >
      {props.children}
    </a>
  );
}
