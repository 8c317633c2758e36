/** Texts of reports with their references `[Data: Reports (1); Entities (5, 7)]`, which are set as links. */
import type { ComponentChildren } from "preact";

const BLOCK = /\s*\[Data: ([^\]]*)\]/g;
const PART = /(\w+) \(([^)]*)\)/g;

/** Set paragraphs; `link` sets one reference, and returns null where it leads nowhere. */
export function Cited(props: { text: string; link: (table: string, number: number) => ComponentChildren | null }) {
  return <>{props.text.trim().split(/\n+/).map((paragraph) => <p>{cited(paragraph, props.link)}</p>)}</>;
}

function cited(text: string, link: (table: string, number: number) => ComponentChildren | null): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const block of text.matchAll(BLOCK)) {
    parts.push(text.slice(at, block.index));
    at = block.index + block[0].length;
    const links = [...block[1]!.matchAll(PART)]
      .flatMap(([, table, numbers]) => (numbers!.match(/\d+/g) ?? []).map((number) => link(table!, Number(number))))
      .filter((each) => each !== null);
    if (links.length) parts.push(<span class="refs">{links.map((each) => [" ", each])}</span>);
  }
  parts.push(text.slice(at));
  return parts;
}

/** A text without its references. */
export const uncited = (text: string) => text.replace(BLOCK, "");
