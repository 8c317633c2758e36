/** What a page shows while it loads, when something went wrong, and when there is nothing at its address. */
import { ApiError } from "./api";
import { useWords } from "./messages";
import { Link } from "./router";
import { sentence } from "./text";

/** Shown only after a moment, so that what loads at once does not flicker. */
export function Loading() {
  const words = useWords();
  return <p class="waiting" role="status">{words("loading")}</p>;
}

/** Say what happened and what to do; without `again` the page is loaded again. */
export function Problem({ error, again }: { error: Error; again?: () => void }) {
  const words = useWords();
  if (error instanceof ApiError && error.status === 404) return <NotFound message={error.message} />;
  return (
    <div class="problem" role="alert">
      <p>{error instanceof ApiError ? sentence(error.message) : words("unreachable")}</p>
      <button type="button" onClick={again ?? (() => window.location.reload())}>{words("again")}</button>
    </div>
  );
}

export function NotFound({ message }: { message?: string }) {
  const words = useWords();
  return (
    <section class="empty">
      <h1>{words("notFound")}</h1>
      <p>{message ? sentence(message) : words("notFoundHelp")}</p>
      <p><Link href="/">{words("toStart")}</Link></p>
    </section>
  );
}
